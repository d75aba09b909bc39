//! `/r/{reference}/edit`: the text and fields of one thing.

use maud::html;
use ops::known;
use serde_json::{Map, Value, json};

use super::list::statuses;
use super::new::types;
use crate::conflict::base;
use crate::form::{Field, form};
use crate::page::{Answers, Asked, Page, Question, Shown, View, own_path};
use crate::parts::{hidden, post, text, title};

pub const PAGE: Page = Page { path: "/r/{reference}/edit", nav: None, ask, show };

fn ask(asked: &Asked, answers: &Answers) -> Vec<Question> {
    let Some(entity) = answers.get("entity") else {
        let about = json!({"reference": asked.parameter("reference")});
        return if answers.has("entity") {
            Vec::new()
        } else {
            vec![Question::needed("entity", known::GET_ENTITY, about)]
        };
    };
    if answers.has("types") {
        return Vec::new();
    }
    vec![
        Question::optional("types", known::LIST_TYPES, json!({})),
        Question::optional("statuses", known::GET_STATUS_MODEL, json!({"kind": entity["kind"]})),
    ]
}

fn show(view: &View<'_>) -> Shown {
    let null = Value::Null;
    let entity = view.answers.get("entity").unwrap_or(&null);
    let (reference, kind) = (text(entity, "reference_id"), text(entity, "kind"));
    let update = known::WRITES.iter().find(|(known, ..)| known.name() == kind).map(|(_, _, update)| *update);
    let mut values = Map::new();
    for (argument, field) in [
        ("title", "title"),
        ("description", "description"),
        ("rationale", "rationale"),
        ("labels", "labels"),
        ("status", "status"),
        ("priority", "priority"),
        ("assignee_id", "assignee"),
        ("type_id", "type"),
    ] {
        values.insert(argument.to_owned(), entity[field].clone());
    }
    let choices = statuses(view).into_iter().map(|name| (name.clone(), name)).collect();
    let mut fields = vec![Field::new("title"), Field::new("description"), Field::new("rationale")];
    // In place of the text, the other fields stay beside it.
    if view.asked.first("only") != Some("text") {
        fields.extend([
            Field::choosing("status", choices),
            Field::new("priority"),
            Field::choosing("type_id", types(view)).labelled("Type"),
            Field::new("assignee_id").labelled("Assignee"),
            Field::new("labels"),
        ]);
    }
    values.retain(|name, _| fields.iter().any(|field| field.name == name));
    // Whoever came from elsewhere goes back there.
    let back = view.asked.first("next").and_then(own_path);
    let here = back.map_or_else(|| format!("/r/{reference}"), str::to_owned);
    let body = html! {
        div.page {
            h1 { "Edit " (reference) }
            @match update {
                Some(update) if view.me.may(update) => div #edit {
                    (post(update, &here, html! {
                        (hidden(&format!("{kind}_id"), reference))
                        (hidden("expected_version", &entity["version"].to_string()))
                        (base(&values))
                        div data-draft={ "edit " (reference) } { (form(update, &fields, &values, None)) }
                        p.actions { button.primary { "Save" } a.quiet href=(here) hx-get=(here) data-cancel { "Cancel" } }
                    }))
                },
                _ => p { "Your role does not allow it: changing needs the role User." },
            }
        }
    };
    Shown {
        title: format!("Edit {reference} {}", title(entity)),
        project: Some(text(entity, "project").to_owned()),
        body,
    }
}
