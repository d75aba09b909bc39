//! `/admin/types`: the types of requirements and of relationships.

use maud::{Markup, html};
use ops::{Entry, known};
use serde_json::{Value, json};

use crate::page::{Answers, Asked, Page, Question, Shown, View, encode};
use crate::parts::text;

pub const PAGE: Page = Page { path: "/admin/types", nav: None, ask, show };

/// A family of types, with what makes, changes and removes one, and the argument that names it.
struct Family {
    heading: &'static str,
    list: &'static str,
    argument: &'static str,
    fields: &'static [&'static str],
    operations: [&'static Entry; 3],
}

const FAMILIES: [Family; 2] = [
    Family {
        heading: "Types of requirements",
        list: "requirement_types",
        argument: "requirement_type",
        fields: &["name", "description"],
        operations: [
            known::CREATE_REQUIREMENT_TYPE,
            known::UPDATE_REQUIREMENT_TYPE,
            known::DELETE_REQUIREMENT_TYPE,
        ],
    },
    Family {
        heading: "Types of relationships",
        list: "relationship_types",
        argument: "relationship_type",
        fields: &["name", "inverse_name", "acyclic", "description"],
        operations: [
            known::CREATE_RELATIONSHIP_TYPE,
            known::UPDATE_RELATIONSHIP_TYPE,
            known::DELETE_RELATIONSHIP_TYPE,
        ],
    },
];

fn ask(_: &Asked, answers: &Answers) -> Vec<Question> {
    if answers.has("types") {
        return Vec::new();
    }
    vec![Question::needed("types", known::LIST_TYPES, json!({}))]
}

fn show(view: &View<'_>) -> Shown {
    let null = Value::Null;
    let types = view.answers.get("types").unwrap_or(&null);
    let body = html! {
        div.page {
            h1 { "Types" }
            @for family in &FAMILIES { (shown(view, family, types[family.list].as_array().map(Vec::as_slice).unwrap_or_default())) }
        }
    };
    Shown { title: "Types".to_owned(), project: None, body }
}

fn shown(view: &View<'_>, family: &Family, types: &[Value]) -> Markup {
    let [create, update, delete] = family.operations;
    let address = |entry: &Entry| format!("/operations/{}?_next={}", entry.name, PAGE.path);
    let change = |one: &Value| {
        let given = family.fields.iter().map(|field| match &one[*field] {
            Value::String(text) => format!("&{field}={}", encode(text)),
            Value::Bool(flag) => format!("&{field}={flag}"),
            _ => String::new(),
        });
        format!(
            "{}&{}={}{}",
            address(update),
            family.argument,
            encode(text(one, "name")),
            given.collect::<String>()
        )
    };
    html! {
        section {
            h2 { (family.heading) }
            ul.rows {
                @for one in types {
                    li.row {
                        b { (text(one, "name")) }
                        @if !text(one, "inverse_name").is_empty() { span.muted { "backwards " (text(one, "inverse_name")) } }
                        @if one["acyclic"] == true { span.via { "no cycles" } }
                        span.title.muted { (text(one, "description")) }
                        @if view.me.may(update) {
                            span.buttons {
                                a.quiet.button href=(change(one)) aria-label={ "Change " (text(one, "name")) } { "Change" }
                                @let delete = format!("{}&{}={}", address(delete), family.argument, encode(text(one, "name")));
                                a.quiet.danger.button href=(delete) aria-label={ "Delete " (text(one, "name")) } { "Delete…" }
                            }
                        }
                    }
                }
            }
            @if view.me.may(create) { p.actions { a.button href=(address(create)) { "Add a type" } } }
        }
    }
}
