//! `/p/{key}/board/{kind}`: a column for each status. A card is dragged to another one, or a status is chosen on it.

use maud::{Markup, html};
use ops::{Entry, known};
use serde_json::{Map, Value, json};
use store::model::Kind;

use super::list::{has_status, statuses};
use crate::conflict::BASE;
use crate::page::{Answers, Asked, Page, Question, Shown, View, encode};
use crate::parts::{
    Combobox, PRIORITIES, combobox, hidden, kind_plural, link, post, priority, state_class, text, title,
};

pub const PAGE: Page = Page { path: "/p/{key}/board/{kind}", nav: Some(("Board", 'b')), ask, show };

/// Cards of a column before more are asked for, and how many more that brings.
const CARDS: usize = 50;
/// Cards of all columns together.
const CARDS_MAX: usize = 500;
/// Says in the address how many pages of cards a column shows: `pages=Draft:3`.
const PAGES: &str = "pages";
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
    let columns = pages(asked, names);
    let pages = columns.iter().flat_map(|(name, n_pages)| (0..*n_pages).map(move |page| (*name, page)));
    pages.map(|(name, page)| cards_of(asked, kind, name, page)).collect()
}

/// How many pages of cards each column shows, so that all together are not more than a page can hold.
fn pages<'a>(asked: &Asked, statuses: impl Iterator<Item = &'a str>) -> Vec<(&'a str, usize)> {
    let statuses: Vec<&str> = statuses.collect();
    let mut n_left = (CARDS_MAX / CARDS).saturating_sub(statuses.len());
    let wanted = |status: &str| {
        let named = asked.all(PAGES).filter_map(|value| value.rsplit_once(':'));
        named.filter(|(name, _)| *name == status).find_map(|(_, count)| count.parse::<usize>().ok())
    };
    let more_of = |status: &&'a str| {
        let more = wanted(status).unwrap_or(1).saturating_sub(1).min(n_left);
        n_left -= more;
        (*status, 1 + more)
    };
    statuses.iter().map(more_of).collect()
}

fn cards_of(asked: &Asked, kind: &str, status: &str, page: usize) -> Question {
    let mut about = Map::new();
    for name in ["assignee", "type"] {
        about.extend(asked.first(name).map(|value| (name.to_owned(), json!(value))));
    }
    let priorities: Vec<i64> = asked.all("priority").filter_map(|value| value.parse().ok()).collect();
    if !priorities.is_empty() {
        about.insert("priority".into(), json!(priorities));
    }
    about.insert("project".into(), json!(asked.parameter("key")));
    about.insert("status".into(), json!([status]));
    about.insert("limit".into(), json!(CARDS));
    about.insert("offset".into(), json!(page * CARDS));
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
    let columns = pages(view.asked, statuses.iter().map(String::as_str));
    let may_grow = columns.iter().map(|(_, n_pages)| n_pages).sum::<usize>() < CARDS_MAX / CARDS;
    let mut answers = view.answers.all("cards");
    let columns: Vec<Column<'_>> = columns
        .iter()
        .map(|(status, n_pages)| Column {
            status,
            pages: answers.by_ref().take(*n_pages).collect(),
            may_grow,
        })
        .collect();
    let body = html! {
        div.page.full {
            div.heading {
                h1 { (kind_plural(kind)) }
                @if view.me.may_create(kind) { p.actions { a.button href={ "/p/" (key) "/new/" (kind) } data-key="c" { "Create" } } }
            }
            nav.kinds aria-label="Kind" {
                @for known in Kind::ALL.into_iter().filter(|kind| has_status(*kind)).map(Kind::name) {
                    a href={ "/p/" (key) "/board/" (known) } aria-current=[(known == kind).then_some("page")] { (kind_plural(known)) }
                }
            }
            (filters(view))
            div.board tabindex="0" role="region" aria-label="Board" {
                @for one in &columns { (column(view, kind, one)) }
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

/// A status with the pages of its cards.
struct Column<'a> {
    status: &'a str,
    pages: Vec<&'a Value>,
    /// Whether the board can hold more cards.
    may_grow: bool,
}

fn column(view: &View<'_>, kind: &str, Column { status, pages, may_grow }: &Column<'_>) -> Markup {
    let cards = pages.iter().flat_map(|page| page["data"].as_array().into_iter().flatten());
    let total = pages.first().map(|page| &page["total_count"]).unwrap_or(&Value::Null);
    let has_more = pages.last().is_some_and(|page| page["next_cursor"].is_string());
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
            h2 { i.mark.{ (state_class(status)) } aria-hidden="true" {} " " (status) " " span.count { (total) } }
            ol.rows.cards {
                @for card in cards { (board.card(card)) }
                @if has_more { li.more { (more(view.asked, kind, status, may_grow.then_some(pages.len() + 1))) } }
            }
        }
    }
}

/// A link to the board with more cards of a column. How many there are is in the address, so that they are still there after a
/// change. A board that is full leads to the table.
fn more(asked: &Asked, kind: &str, status: &str, n_pages: Option<usize>) -> Markup {
    let Some(n_pages) = n_pages else {
        let list = format!("/p/{}/list/{kind}?status={}", encode(asked.parameter("key")), encode(status));
        return html! { a.quiet href=(list) { "Open the table of " (status) } };
    };
    let of_others = asked.query.iter().filter(|(name, value)| {
        name != PAGES || value.rsplit_once(':').is_none_or(|(column, _)| column != status)
    });
    let wanted = (PAGES.to_owned(), format!("{status}:{n_pages}"));
    let query = of_others.cloned().chain([wanted]).collect();
    let address = Asked { query, ..asked.clone() }.here();
    html! { a.quiet href=(address) hx-get=(address) { "More of " (status) } }
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
            li.board-card id={ "card-" (reference) } data-version={ (reference) "@" (card["version"]) } tabindex="0" draggable=[may_move.map(|_| "true")]
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
                @if let Some(version) = card["version"].as_i64() {
                    (hidden("expected_version", &version.to_string())) (hidden(&format!("{BASE}status"), self.status))
                }
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
            "priority=1&amp;pages=Draft%3A2",
        ] {
            assert!(html.contains(part), "{part}: {html}");
        }
        // Nothing may follow what is done, so its card stays.
        assert_eq!(html.matches("draggable").count(), 1, "{html}");
    }

    #[test]
    fn an_address_says_how_many_cards_a_column_shows() {
        let shown = |pages: &[&str]| {
            let query = pages.iter().map(|value| (PAGES.to_owned(), (*value).to_owned())).collect();
            let asked = Asked { query, ..Asked::default() };
            super::pages(&asked, ["Draft", "Active", "Done"].into_iter())
        };
        assert_eq!(shown(&[]), [("Draft", 1), ("Active", 1), ("Done", 1)]);
        assert_eq!(shown(&["Active:3", "Nothing:9"]), [("Draft", 1), ("Active", 3), ("Done", 1)]);
        assert_eq!(shown(&["Active:x", "Draft:0", "Done"]), [("Draft", 1), ("Active", 1), ("Done", 1)]);
        assert_eq!(
            shown(&["Active:7", "Done:99"]),
            [("Draft", 1), ("Active", 7), ("Done", 2)],
            "500 cards in all"
        );
    }

    #[test]
    fn a_column_has_all_its_pages_and_a_full_board_leads_to_the_table() {
        let page = |reference: &str| cards(&[reference]);
        let all = |n_draft: usize| {
            let mut answers = vec![("statuses", model())];
            answers.extend((0..n_draft).map(|number| ("cards", page(&format!("REQ-{number:03}")))));
            answers.extend([("cards", cards(&["REQ-800"])), ("cards", cards(&[]))]);
            answers
        };
        let html = shown(&PAGE, "/p/DEFAULT/board/requirement?pages=Draft:3", &all(3));
        assert_eq!(html.matches("class=\"board-card\"").count(), 4, "{html}");
        assert!(html.contains("pages=Draft%3A4\""), "{html}");
        assert!(html.contains("pages=Draft%3A3&amp;pages=Active%3A2\""), "{html}");
        let html = shown(&PAGE, "/p/DEFAULT/board/requirement?pages=Draft:8", &all(8));
        assert!(html.contains("/p/DEFAULT/list/requirement?status=Draft\""), "{html}");
    }
}
