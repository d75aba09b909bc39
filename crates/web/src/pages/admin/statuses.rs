//! `/admin/statuses`: the statuses of each kind, how work ends with them, and which may follow which.

use maud::{Markup, html};
use ops::known;
use serde_json::{Map, Value, json};

use crate::form::{Field, form};
use crate::page::{Answers, Asked, Page, Question, Shown, View};
use crate::parts::{hidden, kind_plural, post, text};

pub const PAGE: Page = Page { path: "/admin/statuses", nav: None, ask, show };

fn ask(_: &Asked, answers: &Answers) -> Vec<Question> {
    if answers.has("models") {
        return Vec::new();
    }
    vec![Question::needed("models", known::LIST_STATUS_MODELS, json!({}))]
}

fn show(view: &View<'_>) -> Shown {
    let changed = view.asked.first("change").filter(|_| view.me.may(known::UPDATE_STATUS_MODEL));
    let body = html! {
        div.page {
            h1 { "Statuses" }
            @for model in view.answers.list("models") {
                section {
                    h2 { (kind_plural(text(model, "entity_kind"))) }
                    @if changed == Some(text(model, "entity_kind")) { (change(model)) } @else { (shown(view, model)) }
                }
            }
        }
    };
    Shown { title: "Statuses".to_owned(), project: None, body }
}

fn statuses(model: &Value) -> &[Value] {
    model["statuses"].as_array().map(Vec::as_slice).unwrap_or_default()
}

fn may_follow(model: &Value, from: &str, to: &str) -> bool {
    let listed = model["transitions"].as_array().into_iter().flatten();
    listed.into_iter().any(|one| text(one, "from") == from && text(one, "to") == to)
}

fn shown(view: &View<'_>, model: &Value) -> Markup {
    let all = statuses(model);
    let is_free = model["transitions"].as_array().is_none_or(Vec::is_empty);
    html! {
        ul.rows {
            @for status in all {
                @let after = all.iter().map(|to| text(to, "name")).filter(|to| may_follow(model, text(status, "name"), to));
                li.row {
                    svg.swatch viewBox="0 0 10 10" aria-hidden="true" { circle cx="5" cy="5" r="5" fill=(text(status, "colour")) {} }
                    b { (text(status, "name")) }
                    @if status["initial"] == true { span.via { "default" } }
                    @if status["final"] == true { span.via { "final: " (text(status, "outcome")) } }
                    @if !is_free { span.title.muted { "then " (after.collect::<Vec<_>>().join(", ")) } }
                }
            }
        }
        @if is_free { p.muted { "Every status may follow every other." } }
        @if view.me.may(known::UPDATE_STATUS_MODEL) {
            p.actions { a.button href={ (PAGE.path) "?change=" (text(model, "entity_kind")) } { "Change" } }
        }
    }
}

/// A form for all of a model: its rows, and a box for each pair that may follow.
fn change(model: &Value) -> Markup {
    let all = statuses(model);
    let mut values = Map::new();
    values.insert("statuses".into(), model["statuses"].clone());
    post(
        known::UPDATE_STATUS_MODEL,
        PAGE.path,
        html! {
            (hidden("kind", text(model, "entity_kind")))
            (hidden("expected_version", &model["version"].to_string()))
            (form(known::UPDATE_STATUS_MODEL, &[Field::new("statuses"), Field::new("renamed")], &values, None))
            fieldset.field {
                legend { "Which may follow which" }
                p.help { "Without any, every status may follow every other." }
                div.scrolled tabindex="0" role="region" aria-label="Transitions" {
                    table.records.matrix {
                        thead { tr { th { "From" } @for to in all { th { (text(to, "name")) } } } }
                        tbody {
                            @for from in all {
                                @let from = text(from, "name");
                                tr {
                                    th scope="row" { (from) }
                                    @for to in all {
                                        @let to = text(to, "name");
                                        td {
                                            @if from != to {
                                                input type="checkbox" name="transitions" value=(json!({"from": from, "to": to}))
                                                    checked[may_follow(model, from, to)] aria-label={ "From " (from) " to " (to) };
                                            }
                                        }
                                    }
                                }
                            }
                        }
                    }
                }
            }
            p.actions { button.primary { "Save" } a.quiet.button href=(PAGE.path) { "Cancel" } }
        },
    )
}
