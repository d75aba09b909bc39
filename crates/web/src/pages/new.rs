//! `/p/{key}/new/{kind}`: makes something new.

use maud::html;
use ops::known;
use serde_json::{Map, Value, json};
use store::model::Kind;

use crate::form::{Field, form};
use crate::page::{Answers, Asked, Page, Question, Shown, View};
use crate::parts::{hidden, kind_words, post, text, title};

pub const PAGE: Page = Page { path: "/p/{key}/new/{kind}", nav: None, ask, show };

fn ask(asked: &Asked, answers: &Answers) -> Vec<Question> {
    if answers.has("types") {
        return Vec::new();
    }
    let key = asked.parameter("key");
    let mut questions = vec![Question::optional("types", known::LIST_TYPES, json!({}))];
    if let Some(above) = parent(asked.parameter("kind")) {
        let parents = json!({"kind": above.name(), "project": key, "sort": "updated", "limit": 100});
        questions.push(Question::optional("parents", known::LIST_ENTITIES, parents));
    }
    questions
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
    if let (Some(argument), Some(given)) = (&parent_argument, view.asked.first("under")) {
        values.insert(argument.clone(), json!(given));
    }
    let mut parents: Vec<(String, String)> = view.answers.list("parents").iter().map(choice).collect();
    if let Some(given) =
        view.asked.first("under").filter(|given| parents.iter().all(|(known, _)| known != given))
    {
        parents.insert(0, (given.to_owned(), given.to_owned()));
    }
    let mut fields = Vec::new();
    if let Some(argument) = &parent_argument {
        fields.push(Field::choosing(argument, parents));
    }
    // A criterion has no title: its text is what it is.
    if kind == Kind::AcceptanceCriteria.name() {
        fields.push(Field::new("description").first());
    } else {
        fields.extend([Field::new("title").first(), Field::new("description")]);
    }
    fields.push(Field::choosing("type_id", types(view)));
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
