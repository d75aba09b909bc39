//! The reference manual, made from the list of operations. A test keeps `docs/reference/` current.

use std::fmt::Write as _;

use ops::{Arguments, Effect, Entry};
use serde_json::Value;

/// The manual of all operations, in Markdown.
pub fn operations() -> String {
    let mut text = String::from(
        "# Operations\n\nEvery operation of Spexus with its routes, commands and tools. This page is generated from `crates/ops`.\n\
         Ids may be UUIDs or reference ids in any case. REST paths are below `/api/v1`.\n\n",
    );
    for entry in ops::OPERATIONS {
        describe(&mut text, entry);
    }
    text.truncate(text.trim_end().len());
    text.push('\n');
    text
}

fn describe(text: &mut String, entry: &Entry) {
    let arguments = Arguments::new(entry.input_schema());
    let _ = writeln!(text, "## {}\n\n{}\n", entry.name, entry.documentation());
    for route in entry.routes {
        let _ = writeln!(text, "- `{} {}`", route.method.name(), route.path);
    }
    for command in entry.commands {
        let places = entry.positional.iter().copied().filter(|name| command.takes(name));
        let places: String = places.map(|name| place(entry, name, arguments.is_required(name))).collect();
        let _ = writeln!(text, "- `spexus {}{places}`", command.words);
    }
    for tool in entry.tools.iter().filter(|tool| tool.name.is_none()) {
        let _ = writeln!(text, "- tool `{}` in the set `{}`", entry.name, tool.set);
    }
    let _ = writeln!(text, "\n{}\n", needs(entry.effect));
    if arguments.properties().next().is_none() {
        return;
    }
    text.push_str("| argument | type | |\n|---|---|---|\n");
    for (name, schema) in arguments.properties() {
        let required = if arguments.is_required(name) { ", required" } else { "" };
        let about = schema["description"].as_str().unwrap_or_default().replace('\n', " ").replace('|', "\\|");
        let _ = writeln!(text, "| `{name}` | {}{required} | {about} |", type_of(schema).replace('|', "\\|"));
    }
    text.push('\n');
}

/// An argument without a flag, as usage shows it.
fn place(entry: &Entry, name: &str, is_required: bool) -> String {
    let name =
        if entry.takes_file.is_some_and(|file| file.content == name) { "FILE" } else { name }.to_uppercase();
    if is_required { format!(" {name}") } else { format!(" [{name}]") }
}

fn needs(effect: Effect) -> String {
    if effect == Effect::Public {
        return "Anybody may.".to_owned();
    }
    let (role, scope) = ops::needed(effect);
    format!("Needs the role {} and the scope `{}`, or more.", role.name(), scope.name())
}

/// What a schema asks for, in a few words.
pub fn type_of(schema: &Value) -> String {
    let alternatives = ["anyOf", "oneOf"].iter().find_map(|keyword| schema[*keyword].as_array());
    if let Some(alternatives) = alternatives {
        let mut words: Vec<String> =
            alternatives.iter().filter(|one| one["type"] != "null").map(type_of).collect();
        words.dedup();
        return words.join(" or ");
    }
    if let Some(values) = schema["enum"].as_array() {
        let values = values.iter().filter_map(Value::as_str).map(|value| format!("`{value}`"));
        return values.collect::<Vec<_>>().join(", ");
    }
    if let Some(value) = schema["const"].as_str() {
        return format!("`{value}`");
    }
    let names: Vec<&str> = match &schema["type"] {
        Value::String(name) => vec![name],
        Value::Array(names) => {
            names.iter().filter_map(Value::as_str).filter(|name| *name != "null").collect()
        }
        _ => vec!["any"],
    };
    let number = |name: &str| schema[name].as_i64();
    match names.first().copied() {
        Some("string") => match (number("minLength"), number("maxLength")) {
            (None | Some(0), Some(max)) => format!("text, up to {max} characters"),
            (Some(min), Some(max)) if max > 64 => format!("text, {min} to {max} characters"),
            _ => "text".to_owned(),
        },
        Some("integer") => match (number("minimum"), number("maximum")) {
            (Some(min), Some(max)) => format!("number, {min} to {max}"),
            (Some(min), None) => format!("number, at least {min}"),
            _ => "number".to_owned(),
        },
        Some("boolean") => "true or false".to_owned(),
        Some("array") => format!("list of {}", type_of(&schema["items"])),
        Some(other) => other.to_owned(),
        None => "any".to_owned(),
    }
}
