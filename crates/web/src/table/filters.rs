//! Filters: whatever the list operation offers for a kind. Each that is given is a chip, which takes it away.

use std::sync::LazyLock;

use maud::{Markup, html};
use ops::{Arguments, known};
use serde_json::{Map, Value, json};

use super::{HITS, ROWS, Table, address};
use crate::page::{Asked, Question};
use crate::pages::statuses;
use crate::parts::{PRIORITIES, hidden, kind_words, sentence, text};

/// Arguments of the list that do not filter.
const NOT_FILTERS: [&str; 7] = ["kind", "project", "include_deleted", "sort", "limit", "offset", "cursor"];

/// The arguments of the list and of the search, which every row of every table is asked for with.
static LIST: LazyLock<Arguments> = LazyLock::new(|| Arguments::new(known::LIST_ENTITIES.input_schema()));
static SEARCH: LazyLock<Arguments> = LazyLock::new(|| Arguments::new(known::SEARCH_GLOBAL.input_schema()));

/// The filters that a kind has: the arguments that its route takes.
fn names(kind: &str) -> Vec<&'static str> {
    let route = known::LIST_ENTITIES.routes.iter().find(|route| route.bind.contains(&("kind", kind)));
    let offered = LIST.properties().map(|(name, _)| name).filter(|name| !NOT_FILTERS.contains(name));
    offered.filter(|name| route.is_none_or(|route| route.takes(name))).collect()
}

/// What a filter is called where words are searched for; none where it does not work then.
fn when_searching(name: &str) -> Option<&str> {
    let names = [name, name.strip_suffix("_id").unwrap_or(name)];
    names.into_iter().find(|name| SEARCH.property(name).is_some())
}

/// The filters of an address that a search does not know.
pub fn left_out(asked: &Asked) -> Vec<String> {
    if asked.first("query").is_none() {
        return Vec::new();
    }
    let mut given = names(asked.parameter("kind"));
    given.retain(|name| asked.first(name).is_some() && when_searching(name).is_none());
    given.iter().map(|name| words(name).to_lowercase()).collect()
}

/// The rows that an address asks for.
pub fn question(asked: &Asked, kind: &str) -> Question {
    let is_search = asked.first("query").is_some();
    let operation = if is_search { known::SEARCH_GLOBAL } else { known::LIST_ENTITIES };
    let schema: &Arguments = if is_search { &SEARCH } else { &LIST };
    let mut arguments = Map::new();
    let own = names(kind);
    for (name, value) in asked.query.iter().filter(|(_, value)| !value.is_empty()) {
        let name = match name.as_str() {
            "cursor" => Some("cursor"),
            "sort" => (!is_search).then_some("sort"),
            "query" => Some("query"),
            filter if !own.contains(&filter) => None,
            filter if is_search => when_searching(filter),
            filter => Some(filter),
        };
        match name {
            // A comma is part of what is searched for.
            Some("query") => _ = arguments.insert("query".into(), json!(value)),
            Some(name) => schema.add(&mut arguments, name, value),
            None => {}
        }
    }
    arguments.insert("project".into(), json!(asked.parameter("key")));
    arguments.insert("limit".into(), json!(if is_search { HITS } else { ROWS }));
    match is_search {
        true => arguments.insert("entity_types".into(), json!([kind])),
        false => arguments.insert("kind".into(), json!(kind)),
    };
    Question::needed("rows", operation, Value::Object(arguments))
}

/// A filter as people call it.
fn words(name: &str) -> String {
    match name {
        "created_from" => "Created since".to_owned(),
        "created_to" => "Created until".to_owned(),
        "updated_from" => "Changed since".to_owned(),
        "updated_to" => "Changed until".to_owned(),
        "acceptance_criteria_id" => "Criterion".to_owned(),
        name => sentence(name.strip_suffix("_id").unwrap_or(name)),
    }
}

impl Table<'_> {
    /// The chips, what to search for, and what more can be filtered by.
    pub fn filters(&self) -> Markup {
        let asked = self.view.asked;
        let names = names(self.kind.name());
        let given: Vec<(&str, &str)> =
            address::lasting(asked).filter(|(name, _)| names.contains(name)).collect();
        html! {
            div.toolbar {
                form.find method="get" action=(asked.path) role="search" aria-label="Table" {
                    @for (name, value) in address::lasting(asked).filter(|(name, _)| *name != "query") { (hidden(name, value)) }
                    input type="search" name="query" value=(asked.first("query").unwrap_or_default())
                        placeholder={ "Find a " (kind_words(self.kind.name())) } aria-label="Find";
                }
                (self.filter_menu(&names))
                (self.column_menu())
            }
            @if !given.is_empty() || asked.first("query").is_some() {
                ul.chips aria-label="Filters" {
                    @if let Some(query) = asked.first("query") { (self.chip("query", query)) }
                    @for (name, value) in given { (self.chip(name, value)) }
                    li { a.quiet href=(address::of(asked, address::lasting(asked).filter(|(name, _)| ["columns", "sort"].contains(name)))) { "Clear" } }
                }
            }
        }
    }

    /// A filter that is given.
    fn chip(&self, name: &str, value: &str) -> Markup {
        let heading = if name == "query" { "Words".to_owned() } else { words(name) };
        let number = value.parse::<usize>().ok().filter(|_| name == "priority");
        let shown =
            number.and_then(|number| PRIORITIES.get(number.wrapping_sub(1))).map_or(value, |name| name);
        html! {
            li.chip {
                span.muted { (heading) } " " (shown)
                a.remove href=(address::without(self.view.asked, name, value)) aria-label={ "Remove the filter " (heading) " " (shown) } {
                    span aria-hidden="true" { "×" }
                }
            }
        }
    }

    /// The filters that can be added.
    fn filter_menu(&self, names: &[&str]) -> Markup {
        let asked = self.view.asked;
        html! {
            details.menu.choose {
                summary { "Filter" }
                form.sheet.fields method="get" action=(asked.path) {
                    @for (name, value) in address::lasting(asked) { (hidden(name, value)) }
                    @for name in names {
                        label { span { (words(name)) } (self.field(name)) }
                    }
                    button { "Add" }
                }
            }
        }
    }

    /// A field for the value of a filter.
    fn field(&self, name: &str) -> Markup {
        let choices: Vec<(String, String)> = match name {
            "status" => statuses(self.view).into_iter().map(|name| (name.clone(), name)).collect(),
            "priority" => {
                (1..).zip(PRIORITIES).map(|(number, name)| (number.to_string(), name.to_owned())).collect()
            }
            "type" => {
                let types =
                    self.view.answers.get("types").and_then(|types| types["requirement_types"].as_array());
                let names = types.into_iter().flatten().map(|one| text(one, "name").to_owned());
                names.map(|name| (name.clone(), name)).collect()
            }
            _ => Vec::new(),
        };
        let list = ["assignee", "creator"].contains(&name).then_some("people");
        let kind = if name.starts_with("created_") || name.starts_with("updated_") { "date" } else { "text" };
        let placeholder = match name {
            "epic_id" => Some("EP-001"),
            "user_story_id" => Some("US-001"),
            "acceptance_criteria_id" => Some("AC-001"),
            "steering_document_id" => Some("STD-001"),
            _ => None,
        };
        html! {
            @if choices.is_empty() {
                input type=(kind) name=(name) list=[list] placeholder=[placeholder] autocomplete="off";
            } @else {
                select name=(name) {
                    option value="" {}
                    @for (value, words) in &choices { option value=(value) { (words) } }
                }
            }
        }
    }
}
