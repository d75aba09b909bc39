//! `/r/{reference}/impact`: what is affected if something changes, step by step to the right, and what it is for to the left; as
//! columns with lines between them or as a list.

use std::collections::HashMap;

use maud::{Markup, html};
use ops::known;
use serde_json::{Value, json};

use crate::page::{Answers, Asked, Page, Question, Shown, View};
use crate::parts::{kind_plural, kind_words, link, status, text, title};

pub const PAGE: Page = Page { path: "/r/{reference}/impact", nav: None, ask, show };

/// How many steps are followed, and how many can be asked for.
const DEPTH: u64 = 3;
const DEPTH_MAX: u64 = 6;
/// How many things a page shows; the others are counted.
const SHOWN_MAX: usize = 500;
/// The height of a box and of the space below it, as in the style.
const ROW_PX: usize = 56;
/// The width of the space between two columns.
const GAP_PX: usize = 48;

fn depth(asked: &Asked) -> u64 {
    let wanted = asked.first("depth").and_then(|depth| depth.parse().ok());
    wanted.unwrap_or(DEPTH).clamp(1, DEPTH_MAX)
}

fn ask(asked: &Asked, answers: &Answers) -> Vec<Question> {
    if answers.has("impact") {
        return Vec::new();
    }
    let reference = asked.parameter("reference");
    let about = json!({"reference": reference, "depth": depth(asked)});
    vec![
        Question::needed("entity", known::GET_ENTITY, json!({"reference": reference})),
        Question::needed("impact", known::IMPACT_ANALYSIS, about),
    ]
}

fn show(view: &View<'_>) -> Shown {
    let null = Value::Null;
    let entity = view.answers.get("entity").unwrap_or(&null);
    let impact = view.answers.get("impact").unwrap_or(&null);
    let reference = text(entity, "reference_id");
    let affected = impact["affected"].as_array().map(Vec::as_slice).unwrap_or_default();
    let shown = &affected[..affected.len().min(SHOWN_MAX)];
    let above = impact["above"].as_array().map(Vec::as_slice).unwrap_or_default();
    let is_list = view.asked.first("as") == Some("list");
    let body = html! {
        div.page.wide {
            div.heading { h1 { "Impact of " (link(reference)) } p.muted { (title(entity)) } }
            (choices(view, is_list))
            (touched(reference, impact))
            @if affected.is_empty() {
                p.message {
                    "Nothing is affected: nothing is below " (reference) ", and no requirement rests on it. "
                    a href={ "/r/" (reference) } { "Open " (reference) }
                }
            } @else {
                p.muted {
                    "If it changes, these may have to change too: " (counted(&impact["counts"])) "."
                    @if shown.len() < affected.len() || impact["truncated"] == true { " The nearest " (shown.len()) " are shown." }
                }
            }
            @match is_list {
                true => { (list_above(above)) (list(shown)) }
                false => @if !above.is_empty() || !shown.is_empty() { (columns(entity, above, shown)) }
            }
        }
    };
    Shown { title: format!("Impact of {reference}"), project: Some(text(entity, "project").to_owned()), body }
}

/// How much of something is in code and tests, which a change may make stale.
fn in_code(reference: &str, thread: &Value) -> Markup {
    html! {
        a href={ "/r/" (reference) "/code" } { "code cites " (thread["with_code"]) " of " (thread["units"]) }
        ", " a href={ "/r/" (reference) "/tests" } { "tests " (thread["with_tests"]) }
    }
}

/// What a change touches beyond texts.
fn touched(reference: &str, impact: &Value) -> Markup {
    let is_cited = impact["thread"].is_object();
    let number = |name: &str| impact[name].as_u64().unwrap_or_default();
    let n_others = number("n_cited").saturating_sub(u64::from(is_cited));
    let n_verified = number("n_verified").saturating_sub(u64::from(impact["thread"]["verified"] == true));
    html! {
        @if is_cited { p { "A change makes citations of its sentences stale: " (in_code(reference, &impact["thread"])) "." } }
        @if n_others > 0 { p.muted { "Code or tests cite " (n_others) " of what is affected; " (n_verified) " of it is verified." } }
    }
}

/// How far to look, and how to show it.
fn choices(view: &View<'_>, is_list: bool) -> Markup {
    let depth = depth(view.asked);
    html! {
        form.filters method="get" action=(view.asked.path) {
            @if is_list { input type="hidden" name="as" value="list"; }
            select name="depth" aria-label="How far" data-submit {
                @for steps in 1..=DEPTH_MAX {
                    option value=(steps) selected[steps == depth] { (steps) @if steps == 1 { " step" } @else { " steps" } }
                }
            }
            button.no-script { "Show" }
            nav.kinds aria-label="View" {
                a href=(view.asked.with("as", None)) aria-current=[(!is_list).then_some("page")] { "Columns" }
                a href=(view.asked.with("as", Some("list"))) aria-current=[is_list.then_some("page")] { "List" }
            }
        }
    }
}

/// `3 requirements, 1 user story`.
fn counted(counts: &Value) -> String {
    let counts = counts.as_object().into_iter().flatten();
    let words = counts.map(|(kind, count)| match count.as_u64() {
        Some(1) => format!("1 {}", kind_words(kind)),
        _ => format!("{count} {}", kind_plural(kind).to_lowercase()),
    });
    words.collect::<Vec<_>>().join(", ")
}

fn list(affected: &[Value]) -> Markup {
    let steps = affected.chunk_by(|one, next| one["depth"] == next["depth"]);
    html! {
        @for step in steps {
            @let depth = &step[0]["depth"];
            h2 { (depth) @if *depth == 1 { " step away" } @else { " steps away" } " " span.count { (step.len()) } }
            (rows(step))
        }
    }
}

/// What it is for, which may no longer be met.
fn list_above(above: &[Value]) -> Markup {
    html! { @if !above.is_empty() { h2 { "What it is for " span.count { (above.len()) } } (rows(above)) } }
}

fn rows(some: &[Value]) -> Markup {
    html! {
        ul.rows {
            @for one in some {
                li.row {
                    (link(text(one, "reference_id")))
                    a.title href={ "/r/" (text(one, "reference_id")) } { (text(one, "title")) }
                    (status(text(one, "status")))
                    span.muted.small { (reason(one)) }
                    @if one["thread"].is_object() { span.small { (in_code(text(one, "reference_id"), &one["thread"])) } }
                }
            }
        }
    }
}

/// Why something is affected, in words.
fn reason(one: &Value) -> String {
    let because = text(one, "because").replace('_', " ");
    if one["suspect"] == true { format!("{because} (suspect)") } else { because }
}

/// A column of boxes, each with the row of the box before that it hangs on.
struct Column<'a> {
    boxes: Vec<(usize, &'a Value)>,
}

/// The columns after the first, each ordered by what its boxes hang on, so that few lines cross.
fn by_step(affected: &[Value]) -> Vec<Column<'_>> {
    let mut rows: HashMap<&str, usize> = HashMap::new();
    let mut columns = Vec::new();
    for step in affected.chunk_by(|one, next| one["depth"] == next["depth"]) {
        let before = |one: &Value| {
            let way = one["way"].as_array()?;
            rows.get(way.get(way.len().checked_sub(2)?)?.as_str()?).copied()
        };
        let mut boxes: Vec<(usize, &Value)> =
            step.iter().map(|one| (before(one).unwrap_or_default(), one)).collect();
        boxes.sort_by_key(|(row, _)| *row);
        rows = boxes.iter().enumerate().map(|(row, (_, one))| (text(one, "reference_id"), row)).collect();
        columns.push(Column { boxes });
    }
    columns
}

fn columns(entity: &Value, above: &[Value], affected: &[Value]) -> Markup {
    let mut before = 1;
    html! {
        // Wide as it may be, it scrolls by itself, with the keyboard too.
        div.steps tabindex="0" role="region" aria-label="What it is for, and what is affected, by step" {
            @if !above.is_empty() {
                section.step {
                    h2 { "What it is for " span.count { (above.len()) } }
                    ol { @for one in above { li { (node(one)) } } }
                }
                (lines((0..above.len()).map(|row| (row, 0, false)), above.len()))
            }
            section.step {
                h2 { "This" }
                ol { li { (node(entity)) } }
            }
            @for (column, step) in by_step(affected).iter().zip(1..) {
                @let n_rows = std::mem::replace(&mut before, column.boxes.len()).max(column.boxes.len());
                @let pairs = column.boxes.iter().enumerate().map(|(row, (from, one))| (*from, row, one["suspect"] == true));
                (lines(pairs, n_rows))
                section.step {
                    h2 { (step) @if step == 1 { " step" } @else { " steps" } " " span.count { (column.boxes.len()) } }
                    ol { @for (_, one) in &column.boxes { li { (node(one)) } } }
                }
            }
        }
    }
}

fn node(one: &Value) -> Markup {
    let reference = text(one, "reference_id");
    html! {
        a.node.suspected[one["suspect"] == true] href={ "/r/" (reference) } {
            span.node-head {
                span.reference { (reference) } " " (status(text(one, "status")))
                @if one["suspect"] == true { " " span.suspect { "suspect" } }
            }
            span.node-title { (title(one)) }
        }
    }
}

/// The lines from rows of a column to rows of the next, and whether each is suspect.
fn lines(pairs: impl Iterator<Item = (usize, usize, bool)>, n_rows: usize) -> Markup {
    let height = ROW_PX * n_rows;
    let middle = |row: usize| ROW_PX * row + (ROW_PX - 8) / 2;
    let half = GAP_PX / 2;
    html! {
        svg.lines width=(GAP_PX) height=(height) viewBox={ "0 0 " (GAP_PX) " " (height) } aria-hidden="true" {
            @for (from, to, is_suspect) in pairs.map(|(from, to, is_suspect)| (middle(from), middle(to), is_suspect)) {
                path.suspected[is_suspect] d={ "M0 " (from) "C" (half) " " (from) " " (half) " " (to) " " (GAP_PX) " " (to) } {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pages::testing::shown;

    fn hit(reference: &str, depth: u64, way: &[&str]) -> Value {
        json!({"reference_id": reference, "title": "T", "depth": depth, "way": way, "because": "REQ-002 depends_on REQ-001"})
    }

    #[test]
    fn boxes_stand_beside_what_they_hang_on() {
        let affected = vec![
            hit("A", 1, &["R", "A"]),
            hit("B", 1, &["R", "B"]),
            hit("C", 2, &["R", "B", "C"]),
            hit("D", 2, &["R", "A", "D"]),
            hit("E", 3, &["R", "B", "C", "E"]),
        ];
        let names: Vec<Vec<(usize, &str)>> = by_step(&affected)
            .iter()
            .map(|column| column.boxes.iter().map(|(row, one)| (*row, text(one, "reference_id"))).collect())
            .collect();
        assert_eq!(names, [vec![(0, "A"), (0, "B")], vec![(0, "D"), (1, "C")], vec![(1, "E")]]);
    }

    #[test]
    fn code_that_a_change_touches_is_named() {
        let thread = json!({"units": 3, "with_code": 2, "with_tests": 1});
        let mut affected = hit("REQ-002", 1, &["REQ-001", "REQ-002"]);
        affected["thread"] = json!({"units": 1, "with_code": 1, "with_tests": 0});
        let impact = json!({"counts": {"requirement": 1}, "affected": [affected], "thread": thread, "n_cited": 2, "n_verified": 1});
        let entity = json!({"reference_id": "REQ-001", "title": "Root", "project": "DEFAULT"});
        let html = shown(&PAGE, "/r/REQ-001/impact?as=list", &[("entity", entity), ("impact", impact)]);
        for part in [
            "code cites 2 of 3",
            "code cites 1 of 1",
            "cite 1 of what is affected; 1 of it is verified",
            "href=\"/r/REQ-002/tests\"",
        ] {
            assert!(html.contains(part), "{part}: {html}");
        }
    }

    #[test]
    fn the_same_is_shown_as_columns_and_as_a_list() {
        let impact = json!({
            "counts": {"requirement": 2}, "truncated": false,
            "above": [{"reference_id": "US-001", "title": "S", "depth": 1, "because": "REQ-001 belongs_to US-001"}],
            "affected": [hit("REQ-002", 1, &["REQ-001", "REQ-002"]), hit("REQ-003", 2, &["REQ-001", "REQ-002", "REQ-003"])],
        });
        let entity = json!({"reference_id": "REQ-001", "title": "Root", "project": "DEFAULT"});
        let answers = [("entity", entity), ("impact", impact)];
        let columns = shown(&PAGE, "/r/REQ-001/impact?depth=2", &answers);
        for part in [
            "<svg class=\"lines\"",
            "2 requirements",
            "What it is for",
            "href=\"/r/US-001\"",
            "href=\"/r/REQ-003\"",
            "value=\"2\" selected",
            "as=list",
        ] {
            assert!(columns.contains(part), "{part}: {columns}");
        }
        let list = shown(&PAGE, "/r/REQ-001/impact?as=list", &answers);
        assert!(list.contains("2 steps away") && list.contains("depends on REQ-001"), "{list}");
        assert!(list.contains("REQ-001 belongs to US-001"), "{list}");
        assert!(!list.contains("<svg class=\"lines\""), "{list}");
    }

    #[test]
    fn a_depth_is_kept_within_bounds() {
        for (query, expected) in [("", 3), ("9", 6), ("0", 1), ("x", 3), ("5", 5)] {
            let asked = Asked { query: vec![("depth".into(), query.into())], ..Asked::default() };
            assert_eq!(depth(&asked), expected, "{query}");
        }
    }
}
