//! `/p/{key}/board/{kind}`: a column for each status. A card is dragged to another one, or a status is chosen on it.

use maud::{Markup, html};
use ops::{Entry, known};
use serde_json::{Map, Value, json};
use store::model::Kind;

use super::list::{has_status, statuses};
use crate::page::{Answers, Asked, Page, Question, Shown, View};
use crate::parts::{
    Combobox, PRIORITIES, combobox, hidden, kind_plural, link, post, priority, state_class, text, title,
};

pub const PAGE: Page = Page { path: "/p/{key}/board/{kind}", nav: Some(("Board", 'b')), ask, show };

/// Cards of a column before more are asked for.
const CARDS: usize = 50;
/// Orders of the cards: the value, and its words.
const ORDERS: [(&str, &str); 3] =
    [("number", "Oldest first"), ("priority", "Priority"), ("updated", "Changed last")];

fn ask(asked: &Asked, answers: &Answers) -> Vec<Question> {
    let kind = asked.parameter("kind");
    let Some(model) = answers.get("statuses") else {
        let about = json!({"kind": kind});
        return if answers.has("statuses") {
            Vec::new()
        } else {
            vec![Question::needed("statuses", known::GET_STATUS_MODEL, about)]
        };
    };
    if answers.has("cards") {
        return Vec::new();
    }
    let names = model["statuses"].as_array().into_iter().flatten().map(|status| text(status, "name"));
    names.filter(|name| is_shown(asked, name)).map(|name| cards_of(asked, kind, name)).collect()
}

/// Whether a column is shown: all are, unless more of one was asked for.
fn is_shown(asked: &Asked, status: &str) -> bool {
    asked.first("column").is_none_or(|column| column == status)
}

fn cards_of(asked: &Asked, kind: &str, status: &str) -> Question {
    let mut about = Map::new();
    for name in ["assignee", "type", "cursor"] {
        about.extend(asked.first(name).map(|value| (name.to_owned(), json!(value))));
    }
    let priorities: Vec<i64> = asked.all("priority").filter_map(|value| value.parse().ok()).collect();
    if !priorities.is_empty() {
        about.insert("priority".into(), json!(priorities));
    }
    about.insert("project".into(), json!(asked.parameter("key")));
    about.insert("status".into(), json!([status]));
    about.insert("limit".into(), json!(CARDS));
    match asked.first("query") {
        Some(query) => {
            about.insert("query".into(), json!(query));
            about.insert("entity_types".into(), json!([kind]));
            Question::needed("cards", known::SEARCH_GLOBAL, Value::Object(about))
        }
        None => {
            about.insert("kind".into(), json!(kind));
            about.extend(asked.first("sort").map(|sort| ("sort".to_owned(), json!(sort))));
            Question::needed("cards", known::LIST_ENTITIES, Value::Object(about))
        }
    }
}

fn show(view: &View<'_>) -> Shown {
    let (key, kind) = (view.asked.parameter("key"), view.asked.parameter("kind"));
    let statuses = statuses(view);
    let columns = statuses.iter().filter(|name| is_shown(view.asked, name)).zip(view.answers.all("cards"));
    let body = html! {
        div.page.full {
            div.heading {
                h1 { (kind_plural(kind)) }
                p.actions { a.button href={ "/p/" (key) "/new/" (kind) } data-key="c" { "Create" } }
            }
            nav.kinds aria-label="Kind" {
                @for known in Kind::ALL.into_iter().filter(|kind| has_status(*kind)).map(Kind::name) {
                    a href={ "/p/" (key) "/board/" (known) } aria-current=[(known == kind).then_some("page")] { (kind_plural(known)) }
                }
            }
            (filters(view))
            div.board tabindex="0" role="region" aria-label="Board" {
                @for (status, page) in columns { (column(view, kind, status, page)) }
            }
        }
    };
    Shown {
        title: format!("Board of {}", kind_plural(kind).to_lowercase()),
        project: Some(key.to_owned()),
        body,
    }
}

fn filters(view: &View<'_>) -> Markup {
    let asked = view.asked;
    let is_chosen = |name: &str, value: &str| asked.all(name).any(|chosen| chosen == value);
    let assignee = Combobox {
        name: "assignee",
        what: "user",
        label: "Assignee",
        value: asked.first("assignee").unwrap_or_default(),
        hint: "Assignee",
        ..Combobox::default()
    };
    html! {
        form.filters method="get" action=(asked.path) {
            input type="search" name="query" value=(asked.first("query").unwrap_or_default()) placeholder="Find a card" aria-label="Find";
            select name="priority" aria-label="Priority" data-submit {
                option value="" { "Any priority" }
                @for (name, number) in PRIORITIES.iter().zip(1..) {
                    option value=(number) selected[is_chosen("priority", &number.to_string())] { (name) }
                }
            }
            (combobox(&assignee))
            select name="sort" aria-label="Order" data-submit {
                @for (value, words) in ORDERS { option value=(value) selected[is_chosen("sort", value)] { (words) } }
            }
            button { "Show" }
            @if !asked.query.is_empty() { a.quiet href=(asked.path) { "Clear" } }
        }
    }
}

fn column(view: &View<'_>, kind: &str, status: &str, page: &Value) -> Markup {
    let cards = page["data"].as_array().map(Vec::as_slice).unwrap_or_default();
    let update = known::WRITES.iter().find(|(known, ..)| known.name() == kind).map(|(_, _, update)| *update);
    let board = Board {
        kind,
        update: update.filter(|update| view.me.may(update)),
        next: view.asked.here(),
        status,
        targets: targets(view, status),
    };
    html! {
        section.board-column data-status=(status) aria-label=(status) {
            h2 { i.mark.{ (state_class(status)) } aria-hidden="true" {} " " (status) " " span.count { (page["total_count"]) } }
            ol.rows.cards {
                @for card in cards { (board.card(card)) }
                @if let Some(cursor) = page["next_cursor"].as_str() { (more(view.asked, status, cursor)) }
            }
        }
    }
}

/// A link to the next cards of a column. With scripts they take its place, otherwise the column is shown alone.
fn more(asked: &Asked, status: &str, cursor: &str) -> Markup {
    let column = Asked {
        query: asked.query.iter().filter(|(name, _)| name != "column").cloned().collect(),
        ..asked.clone()
    };
    let address = column.with("cursor", Some(cursor));
    let address = format!("{address}&column={}", crate::page::encode(status));
    html! {
        li.more {
            a.quiet href=(address) hx-get=(address) hx-select=".cards > li" hx-target="closest li" hx-swap="outerHTML" hx-push-url="false" {
                "More of " (status)
            }
        }
    }
}

/// The statuses that may follow one.
fn targets(view: &View<'_>, status: &str) -> Vec<String> {
    let transitions = view.answers.get("statuses").and_then(|model| model["transitions"].as_array());
    let transitions = transitions.map(Vec::as_slice).unwrap_or_default();
    let may_follow = |name: &String| {
        let is_named = |one: &Value| text(one, "from") == status && text(one, "to") == name;
        name != status && (transitions.is_empty() || transitions.iter().any(is_named))
    };
    statuses(view).into_iter().filter(may_follow).collect()
}

/// What the cards of a column share.
struct Board<'a> {
    kind: &'a str,
    update: Option<&'static Entry>,
    next: String,
    status: &'a str,
    targets: Vec<String>,
}

impl Board<'_> {
    fn card(&self, card: &Value) -> Markup {
        let reference = text(card, "reference_id");
        let may_move = self.update.filter(|_| !self.targets.is_empty());
        html! {
            li.board-card id={ "card-" (reference) } tabindex="0" draggable=[may_move.map(|_| "true")]
                data-targets=[may_move.map(|_| self.targets.join("\n"))] {
                div.card-line { (link(reference)) span.card-end { (priority(&card["priority"])) } }
                p { (title(card)) }
                div.card-line {
                    @if let Some(update) = may_move { (self.choice(update, card, reference)) }
                    span.card-end.muted.small { (text(card, "assignee")) }
                }
            }
        }
    }

    /// The status to choose, of those that may follow.
    fn choice(&self, update: &Entry, card: &Value, reference: &str) -> Markup {
        post(
            update,
            &self.next,
            html! {
                (hidden(&format!("{}_id", self.kind), reference))
                @if let Some(version) = card["version"].as_i64() { (hidden("expected_version", &version.to_string())) }
                select.bare name="status" aria-label={ "Status of " (reference) } data-submit data-key="s" {
                    option value=(self.status) selected { (self.status) }
                    @for target in &self.targets { option value=(target) { (target) } }
                }
                button.quiet.no-script { "Set" }
            },
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pages::testing::shown;

    fn model() -> Value {
        json!({
            "statuses": [{"name": "Draft"}, {"name": "Active"}, {"name": "Done"}],
            "transitions": [{"from": "Draft", "to": "Active"}, {"from": "Active", "to": "Done"}],
        })
    }

    fn cards(references: &[&str]) -> Value {
        let data: Vec<Value> =
            references.iter().map(|name| json!({"reference_id": name, "title": "T", "version": 7})).collect();
        json!({"data": data, "total_count": 99, "next_cursor": "abc"})
    }

    #[test]
    fn only_statuses_that_may_follow_are_targets() {
        let answers = [
            ("statuses", model()),
            ("cards", cards(&["REQ-001"])),
            ("cards", cards(&[])),
            ("cards", cards(&["REQ-002"])),
        ];
        let html = shown(&PAGE, "/p/DEFAULT/board/requirement?priority=1", &answers);
        for part in [
            "data-targets=\"Active\"",
            "name=\"expected_version\" value=\"7\"",
            "name=\"_next\" value=\"/p/DEFAULT/board/requirement?priority=1\"",
            "priority=1&amp;cursor=abc&amp;column=Draft",
        ] {
            assert!(html.contains(part), "{part}: {html}");
        }
        // Nothing may follow what is done, so its card stays.
        assert_eq!(html.matches("draggable").count(), 1, "{html}");
    }

    #[test]
    fn more_of_one_column_asks_for_that_alone() {
        let parameters = [("key", "DEFAULT"), ("kind", "requirement")];
        let asked = Asked {
            parameters: parameters.map(|(name, value)| (name.to_owned(), value.to_owned())).into(),
            query: vec![("column".into(), "Active".into()), ("cursor".into(), "abc".into())],
            ..Asked::default()
        };
        let mut answers = Answers::default();
        answers.add("statuses", Ok(model()));
        let asked: Vec<Value> =
            ask(&asked, &answers).into_iter().map(|question| question.arguments).collect();
        assert_eq!(asked.len(), 1);
        assert_eq!((&asked[0]["status"], &asked[0]["cursor"]), (&json!(["Active"]), &json!("abc")));
    }
}
