//! `/p/{key}/matrix`: requirements against what covers them, with the gaps, each of which can be closed in its cell.

use maud::{Markup, html};
use ops::known;
use serde_json::{Value, json};
use store::model::Kind;

use crate::page::{Answers, Asked, Page, Question, Shown, View};
use crate::parts::{Combobox, combobox, hidden, link, post, status, text, title};

pub const PAGE: Page = Page { path: "/p/{key}/matrix", nav: Some(("Matrix", 'm')), ask, show };

/// Requirements of one page.
const ROWS: usize = 50;
/// Links that a cell shows; the others are counted.
const CELL_MAX: usize = 8;
/// What requirements can be held against: the value, and its words.
const AGAINST: [(&str, &str); 2] = [(CRITERIA, "Acceptance criteria"), (RELATIONS, "Relations")];
const CRITERIA: &str = "criteria";
const RELATIONS: &str = "relations";

fn against(asked: &Asked) -> &str {
    asked.first("against").unwrap_or(CRITERIA)
}

fn has_gaps_only(asked: &Asked) -> bool {
    asked.first("only") == Some("gaps")
}

fn ask(asked: &Asked, answers: &Answers) -> Vec<Question> {
    if answers.has("matrix") {
        // Stories are told by their titles, which the matrix does not have.
        let is_asked = against(asked) != CRITERIA || answers.has("story");
        let stories = stories(answers.list("matrix")).into_iter().filter(|_| !is_asked);
        let story = |story: &str| Question::optional("story", known::GET_ENTITY, json!({"reference": story}));
        return stories.map(story).collect();
    }
    let mut about = json!({
        "project": asked.parameter("key"), "against": against(asked), "only_gaps": has_gaps_only(asked), "limit": ROWS,
    });
    if let Some(cursor) = asked.first("cursor") {
        about["cursor"] = json!(cursor);
    }
    vec![Question::needed("matrix", known::GET_MATRIX, about)]
}

fn show(view: &View<'_>) -> Shown {
    let key = view.asked.parameter("key");
    let null = Value::Null;
    let matrix = view.answers.get("matrix").unwrap_or(&null);
    let rows = view.answers.list("matrix");
    let columns = matrix["columns"].as_array().map(Vec::as_slice).unwrap_or_default();
    let body = html! {
        div.page.wide {
            div.heading {
                h1 { "Matrix" }
                p.count { @if matrix["total_count_exact"] == false { "more than " } (matrix["total_count"]) }
                p.actions { a.button href=(file(view.asked)) download { "CSV" } }
            }
            (choices(view.asked))
            @if rows.is_empty() {
                (nothing(view))
            } @else {
                @if against(view.asked) == RELATIONS { (by_relations(view, columns, rows)) } @else { (by_criteria(view, columns, rows)) }
                @if let Some(cursor) = matrix["next_cursor"].as_str() {
                    p.actions { a.button href=(view.asked.with("cursor", Some(cursor))) { "Next " (ROWS) } }
                }
            }
        }
    };
    Shown { title: "Matrix".to_owned(), project: Some(key.to_owned()), body }
}

/// The address of all of it as a file.
fn file(asked: &Asked) -> String {
    let path = known::EXPORT_MATRIX.routes.first().map(|route| route.path).unwrap_or_default();
    let path = path.replace("{project}", asked.parameter("key"));
    format!(
        "/api/v1{path}?against={}&only_gaps={}",
        crate::page::encode(against(asked)),
        has_gaps_only(asked)
    )
}

/// What to hold requirements against, and which of them.
fn choices(asked: &Asked) -> Markup {
    let path = |against: &str, only: &str| format!("{}?against={against}{only}", asked.path);
    let is_current = |is_current: bool| is_current.then_some("page");
    let (current, only) = (against(asked), has_gaps_only(asked));
    html! {
        div.filters {
            nav.kinds aria-label="Against" {
                @for (value, words) in AGAINST {
                    a href=(path(value, if only { "&only=gaps" } else { "" })) aria-current=[is_current(value == current)] { (words) }
                }
            }
            nav.kinds aria-label="Which" {
                a href=(path(current, "")) aria-current=[is_current(!only)] { "All" }
                a href=(path(current, "&only=gaps")) aria-current=[is_current(only)] { "Only gaps" }
            }
        }
    }
}

fn nothing(view: &View<'_>) -> Markup {
    let asked = view.asked;
    html! {
        p.message {
            @if has_gaps_only(asked) {
                "No gap: every requirement is covered. " a href=(asked.with("only", None)) { "Show all" }
            } @else {
                "There is no requirement yet. "
                @if view.me.may_create("requirement") { a href={ "/p/" (asked.parameter("key")) "/new/requirement" } { "Create a requirement" } }
            }
        }
    }
}

/// What changes requirements, if whoever looks may.
fn may_update(view: &View<'_>) -> Option<&'static ops::Entry> {
    let update =
        known::WRITES.iter().find(|(kind, ..)| *kind == Kind::Requirement).map(|(_, _, update)| *update);
    update.filter(|update| view.me.may(update))
}

/// A requirement at the beginning of its row.
fn requirement(row: &Value) -> Markup {
    let reference = text(row, "reference_id");
    html! {
        th scope="row" {
            (link(reference)) " " span.cell-title { (text(row, "title")) } " " (status(text(row, "status")))
            @if row["gap"] == true { " " span.gap { "gap" } }
        }
    }
}

/// The stories of some rows, in their order.
fn stories(rows: &[Value]) -> Vec<&str> {
    let mut stories: Vec<&str> = Vec::new();
    for row in rows {
        if !stories.contains(&text(row, "user_story")) {
            stories.push(text(row, "user_story"));
        }
    }
    stories
}

/// A requirement can only serve a criterion of its own story, so that each story has a table of its own.
fn by_criteria(view: &View<'_>, columns: &[Value], rows: &[Value]) -> Markup {
    let titled = |story: &str| {
        let found = view.answers.all("story").find(|found| text(found, "reference_id") == story);
        found.map(title).unwrap_or_default()
    };
    html! {
        @for story in stories(rows) {
            @let of_story = |one: &&Value| text(one, "user_story") == story;
            @let criteria: Vec<&Value> = columns.iter().filter(of_story).collect();
            section.matrix-part {
                h2 { (link(story)) " " (titled(story)) }
                @if criteria.is_empty() { p.muted.small { "It has no acceptance criterion. " (new_criterion(view, story)) } }
                div.matrix-scroll tabindex="0" role="region" aria-label={ "Requirements of " (story) } {
                    table.matrix {
                        thead { tr {
                            th scope="col" { "Requirement" }
                            @for criterion in &criteria {
                                th scope="col" title=(text(criterion, "title")) { (link(text(criterion, "name"))) }
                            }
                            (thread_columns())
                        } }
                        tbody {
                            @for row in rows.iter().filter(of_story) {
                                tr { (requirement(row)) @for criterion in &criteria { td { (criterion_cell(view, row, text(criterion, "name"))) } } (thread_cells(row)) }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// The last columns: how many sentences of a requirement code and tests cite.
fn thread_columns() -> Markup {
    html! { th scope="col" { "Code" } th scope="col" { "Tests" } }
}

fn thread_cells(row: &Value) -> Markup {
    let (reference, thread) = (text(row, "reference_id"), &row["thread"]);
    let mark = match (&thread["verified"], &thread["failed"]) {
        (Value::Bool(true), _) => "done",
        (_, Value::Bool(true)) => "failed",
        _ => "in-progress",
    };
    let is_missing = |name: &str| thread[name].as_u64().is_none_or(|count| count == 0);
    let none = |path: &str, what: &str| {
        html! { a.muted href={ "/r/" (reference) (path) } aria-label={ "none: no " (what) " cites " (reference) } { "none" } }
    };
    let share = |name: &str, path: &str, what: &str| {
        html! {
            a href={ "/r/" (reference) (path) } aria-label={ (thread[name]) " of " (thread["units"]) " sentences of " (reference) " have a citation in " (what) } {
                (thread[name]) " of " (thread["units"])
            }
        }
    };
    html! {
        td.of-thread { @if is_missing("with_code") { (none("/code", "code")) } @else { (share("with_code", "/code", "code")) } }
        td.of-thread {
            // What was tried by hand is verified without a test.
            @if is_missing("with_tests") && thread["verified"] != true { (none("/tests", "test")) } @else {
                i.mark.{ (mark) } aria-hidden="true" {} " " (share("with_tests", "/tests", "tests"))
                @if thread["verified"] == true { " verified" } @else if thread["failed"] == true { " failed" }
            }
        }
    }
}

fn new_criterion(view: &View<'_>, story: &str) -> Markup {
    html! {
        @if may_update(view).is_some() {
            a href={ "/p/" (view.asked.parameter("key")) "/new/acceptance_criteria?under=" (story) } { "Add one" }
        }
    }
}

fn criterion_cell(view: &View<'_>, row: &Value, criterion: &str) -> Markup {
    let reference = text(row, "reference_id");
    let covers = row["covered_by"].as_array().into_iter().flatten();
    if covers.into_iter().any(|cover| text(cover, "column") == criterion) {
        return html! { span.covered role="img" aria-label={ (reference) " serves " (criterion) } { "●" } };
    }
    match may_update(view).filter(|_| row["gap"] == true) {
        Some(update) => post(
            update,
            &view.asked.here(),
            html! {
                (hidden("requirement_id", reference))
                (hidden("expected_version", &row["version"].to_string()))
                (hidden("acceptance_criteria_id", criterion))
                button.add aria-label={ (reference) " serves " (criterion) } { "+" }
            },
        ),
        None => html! {},
    }
}

fn by_relations(view: &View<'_>, types: &[Value], rows: &[Value]) -> Markup {
    html! {
        div.matrix-scroll tabindex="0" role="region" aria-label="Requirements and their relations" {
            table.matrix.relations {
                thead { tr {
                    th scope="col" { "Requirement" }
                    @for one in types { th scope="col" { (text(one, "name").replace('_', " ")) } }
                    (thread_columns())
                } }
                tbody {
                    @for row in rows {
                        tr { (requirement(row)) @for one in types { td { (relation_cell(view, row, one)) } } (thread_cells(row)) }
                    }
                }
            }
        }
    }
}

fn relation_cell(view: &View<'_>, row: &Value, relation: &Value) -> Markup {
    let (reference, name) = (text(row, "reference_id"), text(relation, "name"));
    let words = name.replace('_', " ");
    let covers = row["covered_by"].as_array().into_iter().flatten();
    let covers: Vec<&Value> = covers.filter(|cover| text(cover, "column") == name).collect();
    let cell = format!("{reference} {name}");
    html! {
        @for cover in covers.iter().take(CELL_MAX) {
            @let other = text(cover, "reference_id");
            span.cover {
                @if cover["backwards"] == true {
                    span.muted title={ (reference) " " (text(relation, "title").replace('_', " ")) " " (other) } { "← " }
                }
                (link(other))
                @if cover["suspect"] == true { span.suspect title="suspect: the target has changed since" { " ?" } }
            }
            " "
        }
        @if covers.len() > CELL_MAX { a href={ "/r/" (reference) "#links" } { (covers.len() - CELL_MAX) " more" } " " }
        @if view.me.may(known::CREATE_RELATIONSHIP) {
            @if view.asked.first("add") == Some(&cell) {
                (new_relation(view, reference, name, &words))
            } @else {
                @let address = view.asked.with("add", Some(&cell));
                a.add href=(address) hx-get=(address) hx-push-url="false" aria-label={ "Add: " (reference) " " (words) " …" } { "+" }
            }
        }
    }
}

/// The form for a missing link, in its cell.
fn new_relation(view: &View<'_>, reference: &str, name: &str, words: &str) -> Markup {
    let back = view.asked.with("add", None);
    let label = format!("{reference} {words}");
    let target = Combobox {
        name: "target_requirement_id",
        what: "requirement",
        label: &label,
        hint: "REQ-001 or words",
        is_required: true,
        ..Combobox::default()
    };
    html! {
        div.cell-form data-focus {
            (post(known::CREATE_RELATIONSHIP, &back, html! {
                (hidden("source_requirement_id", reference))
                (hidden("relationship_type_id", name))
                (combobox(&target))
                div.inline { button { "Link" } a.quiet href=(back) hx-get=(back) hx-push-url="false" data-cancel { "Cancel" } }
            }))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pages::testing::shown;

    fn row(reference: &str, story: &str, covers: &Value) -> Value {
        json!({"reference_id": reference, "title": "T", "user_story": story, "version": 3,
               "gap": covers.as_array().is_some_and(Vec::is_empty), "covered_by": covers})
    }

    #[test]
    fn a_gap_can_be_closed_in_its_cell() {
        let covered = json!([{"column": "AC-001", "reference_id": "AC-001"}]);
        let mut matrix = json!({
            "total_count": 3,
            "columns": [{"name": "AC-001", "title": "Given", "user_story": "US-001"}, {"name": "AC-002", "title": "x", "user_story": "US-001"}],
            "data": [row("REQ-001", "US-001", &covered), row("REQ-002", "US-001", &json!([])), row("REQ-003", "US-002", &json!([]))],
        });
        matrix["data"][0]["thread"] = json!({"units": 3, "with_code": 2, "with_tests": 1, "closed": 0, "failed": true, "verified": false});
        let html = shown(&PAGE, "/p/DEFAULT/matrix?only=gaps", &[("matrix", matrix)]);
        for part in [
            "aria-label=\"REQ-001 serves AC-001\">●",
            "aria-label=\"none: no code cites REQ-002\">none",
            "2 of 3</a>",
            "1 of 3</a> failed",
            "name=\"acceptance_criteria_id\" value=\"AC-002\"",
            "name=\"_next\" value=\"/p/DEFAULT/matrix?only=gaps\"",
            "has no acceptance criterion",
            "/api/v1/projects/DEFAULT/matrix.csv?against=criteria&amp;only_gaps=true",
        ] {
            assert!(html.contains(part), "{part}: {html}");
        }
        assert_eq!(
            html.matches("/do/update_requirement\" hx-post").count(),
            2,
            "only the gap has forms: {html}"
        );
    }

    #[test]
    fn relations_have_one_form_where_it_was_asked_for() {
        let cover =
            json!({"column": "depends_on", "reference_id": "REQ-009", "backwards": true, "suspect": true});
        let covers = json!(vec![cover; CELL_MAX + 3]);
        let matrix = json!({
            "total_count": 1, "columns": [{"name": "depends_on", "title": "is_depended_on_by"}, {"name": "blocks", "title": "is_blocked_by"}],
            "data": [row("REQ-001", "US-001", &covers)],
        });
        let path = "/p/DEFAULT/matrix?against=relations&add=REQ-001%20blocks";
        let html = shown(&PAGE, path, &[("matrix", matrix)]);
        for part in [
            "REQ-001 is depended on by REQ-009",
            "value=\"blocks\"",
            "add=REQ-001%20depends_on",
            "#links\">3 more</a>",
            "class=\"suspect\"",
        ] {
            assert!(html.contains(part), "{part}: {html}");
        }
        assert_eq!(html.matches("/do/create_relationship\" hx-post").count(), 1, "{html}");
    }
}
