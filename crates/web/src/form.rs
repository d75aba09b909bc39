//! Forms, made from what operations say of their arguments: choices become a select, long texts an area that grows, the doc comment
//! help.

use maud::{Markup, html};
use ops::{Arguments, Entry};
use serde_json::{Map, Value};

use crate::page::Problem;
use crate::pages::USER;
use crate::parts::sentence;

/// A field of a form.
pub struct Field<'a> {
    /// The argument.
    pub name: &'a str,
    /// What stands above it; the name in words when absent.
    pub label: Option<&'a str>,
    /// What can be chosen, where the schema does not say: a value and its words.
    pub choices: Vec<(String, String)>,
}

impl<'a> Field<'a> {
    /// A field as the schema describes it.
    pub fn new(name: &'a str) -> Field<'a> {
        Field { name, label: None, choices: Vec::new() }
    }

    /// A field with something to choose.
    pub fn choosing(name: &'a str, choices: Vec<(String, String)>) -> Field<'a> {
        Field { name, label: None, choices }
    }

    /// The same field with another label.
    #[must_use]
    pub fn labelled(mut self, label: &'a str) -> Field<'a> {
        self.label = Some(label);
        self
    }
}

/// Arguments with long texts.
const LONG: [&str; 4] = ["description", "content", "rationale", "operations"];
/// Arguments that nobody should read over a shoulder.
const SECRET: [&str; 4] = ["password", "current_password", "new_password", "token"];

/// The fields of an operation, with values and what is wrong with them.
pub fn form(
    entry: &Entry,
    fields: &[Field<'_>],
    values: &Map<String, Value>,
    problem: Option<&Problem>,
) -> Markup {
    let known = Arguments::new(entry.input_schema());
    html! {
        @for field in fields {
            @if let Some(schema) = known.property(field.name) {
                (one(field, schema, known.is_required(field.name), values.get(field.name), problem))
            }
        }
    }
}

fn one(
    field: &Field<'_>,
    schema: &Value,
    is_required: bool,
    value: Option<&Value>,
    problem: Option<&Problem>,
) -> Markup {
    let name = field.name;
    let wrong = problem.and_then(|problem| problem.fields.iter().find(|(wrong, _)| wrong == name));
    let label = field.label.map_or_else(|| words(name), str::to_owned);
    let help = help(schema, &label);
    let shown = value.map(written).unwrap_or_default();
    let choices = if field.choices.is_empty() { choices(name, schema) } else { field.choices.clone() };
    let help_id = format!("help-{name}");
    html! {
        div.field.wrong[wrong.is_some()] {
            label for={ "field-" (name) } {
                (label) @if is_required { span.required title="required" { " *" } }
            }
            @if is_flag(schema) {
                input id={ "field-" (name) } type="checkbox" name=(name) value="true" checked[shown == "true"]
                    aria-describedby=(help_id);
            } @else if !choices.is_empty() {
                select id={ "field-" (name) } name=(name) required[is_required] aria-describedby=(help_id) {
                    @if !is_required || shown.is_empty() { option value="" { "" } }
                    @for (value, words) in &choices {
                        option value=(value) selected[*value == shown] { (words) }
                    }
                }
            } @else if LONG.contains(&name) {
                textarea id={ "field-" (name) } name=(name) rows="6" required[is_required] aria-describedby=(help_id)
                    aria-invalid=[wrong.map(|_| "true")] data-markdown[name != "operations"] { (shown) }
            } @else if let Some(what) = named_by(name) {
                input id={ "field-" (name) } type="text" name=(name) value=(shown) required[is_required] autocomplete="off"
                    list={ "options-" (name) } data-suggest={ "/suggest/" (what) } aria-describedby=(help_id) aria-invalid=[wrong.map(|_| "true")];
                datalist id={ "options-" (name) } {}
            } @else {
                input id={ "field-" (name) } type=(kind(name)) name=(name) value=(shown) required[is_required]
                    autocomplete=(autocomplete(name)) aria-describedby=(help_id) aria-invalid=[wrong.map(|_| "true")];
            }
            @if let Some((_, message)) = wrong { p.error { (message) } }
            p.help id=(help_id) hidden[help.is_empty()] { (help) }
        }
    }
}

/// What the schema says of a field. What people see by themselves is left out: that an empty field is cleared, and what its label says.
fn help(schema: &Value, label: &str) -> String {
    let said = schema["description"].as_str().unwrap_or_default().replace('\n', " ");
    let said = said.replace("Null clears it.", "").trim().to_owned();
    if said.eq_ignore_ascii_case(&format!("The {label}.")) { String::new() } else { said }
}

/// What an argument names, where that can be completed: a kind, or a user.
fn named_by(name: &str) -> Option<&'static str> {
    if matches!(name, "assignee_id" | "assignee" | "user" | "author" | "creator") {
        return Some(USER);
    }
    let kinds = store::model::Kind::ALL.into_iter().map(store::model::Kind::name);
    kinds.into_iter().find(|kind| name.strip_suffix("_id").is_some_and(|name| name.ends_with(kind)))
}

fn kind(name: &str) -> &'static str {
    if SECRET.contains(&name) { "password" } else { "text" }
}

fn autocomplete(name: &str) -> &'static str {
    match name {
        "username" => "username",
        "password" | "current_password" => "current-password",
        "new_password" => "new-password",
        _ => "off",
    }
}

/// A name as people write it.
fn words(name: &str) -> String {
    sentence(name.trim_end_matches("_id"))
}

/// A value as it stands in a field.
fn written(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        Value::Array(items) => items.iter().map(written).collect::<Vec<_>>().join(", "),
        other => other.to_string(),
    }
}

fn is_flag(schema: &Value) -> bool {
    match &schema["type"] {
        Value::Array(types) => types.iter().any(|kind| kind == "boolean"),
        kind => kind == "boolean",
    }
}

/// What a schema lets one choose from.
fn choices(name: &str, schema: &Value) -> Vec<(String, String)> {
    if name == "priority" {
        let named = crate::parts::PRIORITIES.iter().zip(1..);
        return named.map(|(word, number)| (number.to_string(), (*word).to_owned())).collect();
    }
    let alternatives = ["anyOf", "oneOf"].iter().filter_map(|keyword| schema[*keyword].as_array()).flatten();
    let own = std::iter::once(schema).chain(alternatives);
    let listed = own.flat_map(|one| one["enum"].as_array().into_iter().flatten().chain(one.get("const")));
    listed.filter_map(Value::as_str).map(|value| (value.to_owned(), words(value))).collect()
}

#[cfg(test)]
mod tests {
    use ops::known;
    use serde_json::json;

    use super::*;

    #[test]
    fn a_form_shows_what_was_typed_and_what_is_wrong_with_it() {
        let values = json!({"name": "x\"><script>", "scopes": ["read"]});
        let Value::Object(values) = values else { unreachable!() };
        let problem = Problem {
            status: 400,
            message: String::new(),
            fields: vec![("name".into(), "is taken".into())],
            retry_after_s: None,
        };
        let html =
            form(known::CREATE_TOKEN, &[Field::new("name"), Field::new("scopes")], &values, Some(&problem));
        let html = html.into_string();
        assert!(html.contains("value=\"x&quot;&gt;&lt;script&gt;\""), "{html}");
        assert!(html.contains("<p class=\"error\">is taken</p>"), "{html}");
        assert!(html.contains("What it is for"), "{html}");
    }
}
