//! `/suggest/{what}`: what a field may be completed with, as options for a list under it.

use maud::html;
use ops::known;
use serde_json::{Value, json};

use crate::page::{Answers, Asked, Page, Question, Shown, View};
use crate::parts::{text, title};

pub const PAGE: Page = Page { path: "/suggest/{what}", nav: None, ask, show };

/// Fields that name a person.
pub const USER: &str = "user";
/// How many a list has; whoever misses one types more of it.
const OPTIONS_MAX: usize = 20;

fn ask(asked: &Asked, answers: &Answers) -> Vec<Question> {
    let what = asked.parameter("what");
    if answers.has("options") {
        return Vec::new();
    }
    let typed = asked.first("query").unwrap_or_default().trim();
    let question = if what == USER {
        Question::optional("options", known::LIST_USER_DIRECTORY, json!({"limit": 100}))
    } else if typed.is_empty() {
        let newest = json!({"kind": what, "sort": "updated", "limit": OPTIONS_MAX});
        Question::optional("options", known::LIST_ENTITIES, newest)
    } else {
        let about = json!({"query": typed, "entity_types": [what], "limit": OPTIONS_MAX});
        Question::optional("options", known::SEARCH_GLOBAL, about)
    };
    let named = crate::parts::kind_of(typed).filter(|kind| kind.name() == what);
    let named = named.map(|_| Question::optional("named", known::GET_ENTITY, json!({"reference": typed})));
    named.into_iter().chain([question]).collect()
}

fn show(view: &View<'_>) -> Shown {
    let typed = view.asked.first("query").unwrap_or_default().trim().to_lowercase();
    let options: Vec<(String, String)> = match view.asked.parameter("what") {
        USER => {
            let names = view.answers.list("options").iter().map(|user| text(user, "username"));
            let fitting = names.filter(|name| name.to_lowercase().contains(&typed));
            fitting.take(OPTIONS_MAX).map(|name| (name.to_owned(), String::new())).collect()
        }
        _ => view.answers.get("named").into_iter().chain(view.answers.list("options")).map(entity).collect(),
    };
    let body = html! {
        @for (value, words) in options { option value=(value) { (words) } }
    };
    Shown { title: "Suggestions".to_owned(), project: None, body }
}

fn entity(entity: &Value) -> (String, String) {
    (text(entity, "reference_id").to_owned(), title(entity))
}
