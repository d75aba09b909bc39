//! Forms, made from what operations say of their arguments: choices become a select, long texts an area that grows, the doc comment
//! help.

use maud::{Markup, html};
use ops::{Arguments, Entry};
use serde_json::{Map, Value};

use crate::page::Problem;
use crate::pages::USER;
use crate::parts::{coded, sentence};

/// A field of a form.
pub struct Field<'a> {
    /// The argument.
    pub name: &'a str,
    /// What stands above it; the name in words when absent.
    pub label: Option<&'a str>,
    /// What can be chosen, where the schema does not say: a value and its words.
    pub choices: Vec<(String, String)>,
    /// Whether it is what somebody wants to write first.
    pub is_first: bool,
}

impl<'a> Field<'a> {
    /// A field as the schema describes it.
    pub fn new(name: &'a str) -> Field<'a> {
        Field { name, label: None, choices: Vec::new(), is_first: false }
    }

    /// A field with something to choose.
    pub fn choosing(name: &'a str, choices: Vec<(String, String)>) -> Field<'a> {
        Field { name, label: None, choices, is_first: false }
    }

    /// The same field with another label.
    #[must_use]
    pub fn labelled(mut self, label: &'a str) -> Field<'a> {
        self.label = Some(label);
        self
    }

    /// The same field with the focus when the page is opened.
    #[must_use]
    pub fn first(mut self) -> Field<'a> {
        self.is_first = true;
        self
    }
}

/// Arguments with long texts.
const LONG: [&str; 5] = ["description", "content", "rationale", "operations", "what"];
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
                @if entry.takes_file.is_some_and(|file| file.content == field.name) { (file(field.name)) }
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
    // What nobody should read is typed again.
    let shown = value.filter(|_| !SECRET.contains(&name)).map(written).unwrap_or_default();
    let choices = if field.choices.is_empty() { choices(name, schema) } else { field.choices.clone() };
    // How a value is written is of no use to whoever chooses from a list.
    let is_chosen = name == "priority" || !field.choices.is_empty();
    let help = if is_chosen { String::new() } else { help(schema, &label) };
    let help_id = format!("help-{name}");
    html! {
        div.field.wrong[wrong.is_some()] {
            // What has several boxes has several labels.
            @let labelled = if rows_of(schema).is_some() { None } else { Some(format!("field-{name}")) };
            label for=[labelled] {
                (label) @if is_required { span.required title="required" { " *" } }
            }
            @if is_flag(schema) {
                input id={ "field-" (name) } type="checkbox" name=(name) value="true" checked[shown == "true"]
                    aria-describedby=(help_id);
            } @else if let Some(items) = rows_of(schema) {
                (rows(name, items, value, help_id.as_str()))
            } @else if ops::may_be(schema, "array") && !choices.is_empty() && field.choices.is_empty() {
                div.options role="group" aria-describedby=(help_id) {
                    @for (option, words) in &choices {
                        label { input type="checkbox" name=(name) value=(option) checked[is_among(value, option)]; " " (words) }
                    }
                }
            } @else if !choices.is_empty() {
                select id={ "field-" (name) } name=(name) required[is_required] aria-describedby=(help_id) {
                    @if !is_required || shown.is_empty() { option value="" { "" } }
                    @for (value, words) in &choices {
                        option value=(value) selected[*value == shown] { (words) }
                    }
                }
            } @else if is_json(schema) {
                textarea.code id={ "field-" (name) } name=(name) rows="6" required[is_required] spellcheck="false" aria-describedby=(help_id)
                    aria-invalid=[wrong.map(|_| "true")] placeholder="JSON" { (value.filter(|value| !value.is_string()).map_or(shown, Value::to_string)) }
            } @else if LONG.contains(&name) {
                textarea id={ "field-" (name) } name=(name) rows="6" required[is_required] autofocus[field.is_first] aria-describedby=(help_id)
                    aria-invalid=[wrong.map(|_| "true")] data-markdown[name != "operations"] { (shown) }
            } @else if let Some(what) = named_by(name) {
                input id={ "field-" (name) } type="text" name=(name) value=(shown) required[is_required] autocomplete="off"
                    list={ "options-" (name) } data-suggest={ "/suggest/" (what) } aria-describedby=(help_id) aria-invalid=[wrong.map(|_| "true")];
                datalist id={ "options-" (name) } {}
            } @else {
                input id={ "field-" (name) } type=(kind(name)) name=(name) value=(shown) required[is_required] autofocus[field.is_first]
                    autocomplete=(autocomplete(name)) aria-describedby=(help_id) aria-invalid=[wrong.map(|_| "true")];
            }
            @if let Some((_, message)) = wrong { p.error { (message) } }
            p.help id=(help_id) hidden[help.is_empty()] { (coded(&help)) }
        }
    }
}

/// A file to be put into a field. Without scripts, its text can be pasted there.
fn file(name: &str) -> Markup {
    html! {
        div.field.scripted-only {
            label for={ "file-" (name) } { "File" }
            input id={ "file-" (name) } type="file" data-file=(name);
        }
    }
}

/// The columns of a list of plain objects, which is filled in row by row.
fn rows_of(schema: &Value) -> Option<&Map<String, Value>> {
    let columns = schema["items"]["properties"].as_object()?;
    let is_plain = |schema: &Value| {
        !ops::may_be(schema, "object") && !ops::may_be(schema, "array") && !schema["type"].is_null()
    };
    columns.values().all(|schema| is_plain(schema) || !choices("", schema).is_empty()).then_some(columns)
}

/// How many rows are offered beyond those that there are.
const ROWS_MORE: usize = 3;

/// The rows of a list, and some more. The name of a field says which row it is in: `statuses.0.name`.
fn rows(name: &str, columns: &Map<String, Value>, value: Option<&Value>, help_id: &str) -> Markup {
    let null = Value::Null;
    let given = value.and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    html! {
        div.scrolled tabindex="0" role="region" aria-label=(words(name)) aria-describedby=(help_id) {
            table.records.fill {
                thead { tr { @for column in columns.keys() { th { (words(column)) } } } }
                tbody {
                    @for index in 0..given.len() + ROWS_MORE {
                        tr { @for (column, schema) in columns {
                            td { (cell(&format!("{name}.{index}.{column}"), &format!("{} {}", words(column), index + 1), schema,
                                given.get(index).map_or(&null, |row| &row[column.as_str()]))) }
                        } }
                    }
                }
            }
        }
    }
}

fn cell(name: &str, label: &str, schema: &Value, value: &Value) -> Markup {
    let shown = written(value);
    let choices = choices("", schema);
    html! {
        @if is_flag(schema) {
            input type="checkbox" name=(name) value="true" aria-label=(label) checked[shown == "true"];
        } @else if !choices.is_empty() {
            select name=(name) aria-label=(label) {
                option value="" { "" }
                @for (value, words) in &choices { option value=(value) selected[*value == shown] { (words) } }
            }
        } @else {
            input type="text" name=(name) aria-label=(label) value=(shown) autocomplete="off";
        }
    }
}

/// Whether a value can only be written as JSON.
fn is_json(schema: &Value) -> bool {
    ops::may_be(schema, "object") || ops::may_be(&schema["items"], "object")
}

fn is_among(value: Option<&Value>, option: &str) -> bool {
    match value {
        Some(Value::Array(items)) => items.iter().any(|item| item == option),
        Some(Value::String(text)) => text.split(',').any(|part| part.trim() == option),
        _ => false,
    }
}

/// The roles that somebody can have, the least first.
pub fn roles() -> [&'static str; 3] {
    use store::model::Role;
    [Role::Commenter, Role::User, Role::Administrator].map(Role::name)
}

/// What the schema says of a field. What people see by themselves is left out: that an empty field is cleared, and what its label says.
fn help(schema: &Value, label: &str) -> String {
    let said = schema["description"].as_str().unwrap_or_default().replace('\n', " ");
    let said =
        said.replace("Null clears it.", "").replace("; null clears it", "").replace("; null for nobody", "");
    let said = said.trim().to_owned();
    // How a list is written as JSON is of no use to whoever fills in rows.
    let said = match (rows_of(schema), said.split_once(": `[")) {
        (Some(_), Some((before, _))) => format!("{before}."),
        _ => said,
    };
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
    ops::choices(schema).into_iter().map(|value| (value.to_owned(), words(value))).collect()
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
        assert!(html.contains("Its name, unique among"), "{html}");
    }

    #[test]
    fn a_password_is_not_repeated() {
        let values = Map::from_iter([("new_password".to_owned(), json!("very secret"))]);
        let html = form(known::CHANGE_PASSWORD, &[Field::new("new_password")], &values, None).into_string();
        assert!(html.contains("type=\"password\"") && !html.contains("very secret"), "{html}");
    }
}
