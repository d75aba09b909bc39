//! `spexus show`: asks for all that the page of an item shows.

use ops::{Entry, known};
use serde_json::{Value, json};
use store::model::Kind;

use super::Exit;
use super::commands::{CommandProblem, Place};
use super::print::{self, ItemAnswers, Look};

/// How much of each list is shown.
const ROWS: usize = 20;

/// Prints an item.
pub fn run(place: &Place, arguments: Value) -> Result<Exit, CommandProblem> {
    let entity = place.call(known::GET_ENTITY, arguments)?;
    let answers = ask(place, entity);
    Ok(print::paged(&print::item_page(Look::of_stdout(), &answers)))
}

/// Asks for what is around an item. What cannot be read is left out: the item itself was there.
fn ask(place: &Place, entity: Value) -> ItemAnswers {
    let ask = |entry: &'static Entry, arguments: Value| place.call(entry, arguments).unwrap_or_default();
    let reference = entity["reference_id"].as_str().unwrap_or_default().to_owned();
    let kind = entity["kind"].as_str().and_then(Kind::from_stored);
    let about = json!({"reference": reference});
    let mut answers = ItemAnswers { path: ask(known::GET_PATH, about.clone()), ..ItemAnswers::default() };
    answers.comments = ask(known::LIST_COMMENTS, json!({"reference": reference, "limit": ROWS}));
    for (_, below) in web::BELOW.iter().filter(|(above, _)| Some(*above) == kind) {
        let above = kind.map(Kind::name).unwrap_or_default();
        let mut filter = json!({"kind": below.name(), "limit": ROWS});
        filter[format!("{above}_id")] = json!(reference);
        let mut page = ask(known::LIST_ENTITIES, filter);
        page["filter"] = json!(format!("--{} {reference}", above.replace('_', "-")));
        answers.below.push((*below, page));
    }
    if kind == Some(Kind::Requirement) {
        answers.relationships =
            ask(known::LIST_RELATIONSHIPS, json!({"requirement_id": reference, "limit": ROWS}));
        let rows = answers.relationships["data"].as_array().cloned().unwrap_or_default();
        for row in rows {
            let other = if row["source"] == *reference { &row["target"] } else { &row["source"] };
            answers.related.push(ask(known::GET_ENTITY, json!({"reference": other})));
        }
    }
    if kind.is_some_and(|kind| !matches!(kind, Kind::SteeringDocument)) {
        answers.thread = ask(known::GET_THREAD, json!({"from": reference, "direction": "down", "limit": 1}));
    }
    answers.entity = entity;
    answers
}
