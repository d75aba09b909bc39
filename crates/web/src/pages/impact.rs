//! `/r/{reference}/impact`: what is affected if something changes, step by step, as columns with lines between them or as a list.

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
    let is_list = view.asked.first("as") == Some("list");
    let body = html! {
        div.page.wide {
            div.heading { h1 { "Impact of " (link(reference)) } p.muted { (title(entity)) } }
            (choices(view, is_list))
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
                @if is_list { (list(shown)) } @else { (columns(entity, shown)) }
            }
        }
    };
    Shown { title: format!("Impact of {reference}"), project: Some(text(entity, "project").to_owned()), body }
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
            ul.rows {
                @for one in step {
                    li.row {
                        (link(text(one, "reference_id")))
                        a.title href={ "/r/" (text(one, "reference_id")) } { (text(one, "title")) }
                        (status(text(one, "status")))
                        span.muted.small { (reason(one)) }
                    }
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

fn columns(entity: &Value, affected: &[Value]) -> Markup {
    let mut before = 1;
    html! {
        // Wide as it may be, it scrolls by itself, with the keyboard too.
        div.steps tabindex="0" role="region" aria-label="What is affected, by step" {
            section.step {
                h2 { "This" }
                ol { li { (node(entity)) } }
            }
            @for (column, step) in by_step(affected).iter().zip(1..) {
                (lines(column, std::mem::replace(&mut before, column.boxes.len())))
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

/// The lines from a column to the next, beside it.
fn lines(column: &Column<'_>, n_before: usize) -> Markup {
    let height = ROW_PX * n_before.max(column.boxes.len());
    let middle = |row: usize| ROW_PX * row + (ROW_PX - 8) / 2;
    let half = GAP_PX / 2;
    html! {
        svg.lines width=(GAP_PX) height=(height) viewBox={ "0 0 " (GAP_PX) " " (height) } aria-hidden="true" {
            @for (row, (before, one)) in column.boxes.iter().enumerate() {
                @let (from, to) = (middle(*before), middle(row));
                path.suspected[one["suspect"] == true]
                    d={ "M0 " (from) "C" (half) " " (from) " " (half) " " (to) " " (GAP_PX) " " (to) } {}
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
    fn the_same_is_shown_as_columns_and_as_a_list() {
        let impact = json!({
            "counts": {"requirement": 2}, "truncated": false,
            "affected": [hit("REQ-002", 1, &["REQ-001", "REQ-002"]), hit("REQ-003", 2, &["REQ-001", "REQ-002", "REQ-003"])],
        });
        let entity = json!({"reference_id": "REQ-001", "title": "Root", "project": "DEFAULT"});
        let answers = [("entity", entity), ("impact", impact)];
        let columns = shown(&PAGE, "/r/REQ-001/impact?depth=2", &answers);
        for part in [
            "<svg class=\"lines\"",
            "2 requirements",
            "href=\"/r/REQ-003\"",
            "value=\"2\" selected",
            "as=list",
        ] {
            assert!(columns.contains(part), "{part}: {columns}");
        }
        let list = shown(&PAGE, "/r/REQ-001/impact?as=list", &answers);
        assert!(list.contains("2 steps away") && list.contains("depends on REQ-001"), "{list}");
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
