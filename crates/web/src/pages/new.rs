//! `/p/{key}/new/{kind}`: makes something new.

use maud::html;
use ops::known;
use serde_json::{Map, Value, json};
use store::model::Kind;

use crate::form::{Field, form};
use crate::page::{Answers, Asked, Page, Question, Shown, View};
use crate::parts::{hidden, kind_of, kind_words, post, text, title};

pub const PAGE: Page = Page { path: "/p/{key}/new/{kind}", nav: None, ask, show };

fn ask(asked: &Asked, answers: &Answers) -> Vec<Question> {
    if answers.has("types") {
        return Vec::new();
    }
    let key = asked.parameter("key");
    let mut questions = vec![Question::optional("types", known::LIST_TYPES, json!({}))];
    if let Some(above) = parent(asked.parameter("kind")) {
        // What is not itself above says what is: a criterion or another requirement belongs to a story.
        if let Some(given) = asked.first("under").filter(|given| kind_of(given) != Some(above)) {
            questions.push(Question::optional("beside", known::GET_ENTITY, json!({"reference": given})));
        }
        let parents = json!({"kind": above.name(), "project": key, "sort": "updated", "limit": 100});
        questions.push(Question::optional("parents", known::LIST_ENTITIES, parents));
    }
    questions
}

/// What a new thing has, unless somebody chooses another: Medium.
const PRIORITY: u64 = 3;
/// The argument that names the criterion which a requirement serves.
const CRITERION: &str = "acceptance_criteria_id";

/// The criterion that something is, or serves, as a choice.
fn criterion(beside: &Value) -> (String, String) {
    if text(beside, "kind") == Kind::AcceptanceCriteria.name() {
        return choice(beside);
    }
    let served = text(beside, Kind::AcceptanceCriteria.name()).to_owned();
    (served.clone(), served)
}

/// The kind that things of a kind are under.
pub fn parent(kind: &str) -> Option<Kind> {
    match kind {
        "user_story" => Some(Kind::Epic),
        "acceptance_criteria" | "requirement" => Some(Kind::UserStory),
        _ => None,
    }
}

fn show(view: &View<'_>) -> Shown {
    let (key, kind) = (view.asked.parameter("key"), view.asked.parameter("kind"));
    let words = kind_words(kind);
    let create = known::WRITES.iter().find(|(known, ..)| known.name() == kind).map(|(_, create, _)| *create);
    let parent_argument = parent(kind).map(|kind| format!("{}_id", kind.name()));
    let mut values = Map::new();
    let beside = view.answers.get("beside");
    let above = match beside {
        Some(beside) => {
            parent(kind).map(|above| text(beside, above.name())).filter(|above| !above.is_empty())
        }
        None => view.asked.first("under"),
    };
    if let (Some(argument), Some(above)) = (&parent_argument, above) {
        values.insert(argument.clone(), json!(above));
    }
    let mut parents: Vec<(String, String)> = view.answers.list("parents").iter().map(choice).collect();
    if let Some(above) = above.filter(|above| parents.iter().all(|(known, _)| known != above)) {
        parents.insert(0, (above.to_owned(), above.to_owned()));
    }
    // Most things are neither urgent nor special; whoever knows better chooses it.
    values.insert("priority".to_owned(), json!(PRIORITY));
    let types = types(view);
    values.extend(types.first().map(|(name, _)| ("type_id".to_owned(), json!(name))));
    let mut fields = Vec::new();
    if let Some(argument) = &parent_argument {
        fields.push(Field::choosing(argument, parents));
    }
    if let Some(criterion) =
        beside.map(criterion).filter(|_| kind == Kind::Requirement.name()).filter(|one| !one.0.is_empty())
    {
        values.insert(CRITERION.to_owned(), json!(criterion.0));
        fields.push(Field::choosing(CRITERION, vec![criterion]).labelled("Acceptance criterion"));
    }
    // A criterion has no title: its text is what it is.
    if kind == Kind::AcceptanceCriteria.name() {
        fields.push(Field::new("description").first());
    } else {
        fields.extend([Field::new("title").first(), Field::new("description")]);
    }
    fields.push(Field::choosing("type_id", types));
    fields.push(Field::new("priority"));
    fields.push(Field::new("rationale"));
    fields.push(Field::new("labels"));
    let body = html! {
        div.page {
            h1 { "New " (words) }
            @match create {
                Some(create) if view.me.may(create) => (post(create, "/r/{reference_id}", html! {
                    @if parent_argument.is_none() { (hidden("project", key)) }
                    (form(create, &fields, &values, None))
                    p.actions { button.primary { "Create" } a.quiet href={ "/p/" (key) } { "Cancel" } }
                })),
                Some(_) => p { "Your role does not allow it: creating needs the role User." },
                None => p { "There is no such kind." },
            }
        }
    };
    Shown { title: format!("New {words}"), project: Some(key.to_owned()), body }
}

/// Requirement types to choose from.
pub fn types(view: &View<'_>) -> Vec<(String, String)> {
    let types = view.answers.get("types").and_then(|types| types["requirement_types"].as_array());
    types
        .into_iter()
        .flatten()
        .map(|one| (text(one, "name").to_owned(), text(one, "name").to_owned()))
        .collect()
}

fn choice(entity: &Value) -> (String, String) {
    let reference = text(entity, "reference_id");
    (reference.to_owned(), format!("{reference} {}", title(entity)))
}
