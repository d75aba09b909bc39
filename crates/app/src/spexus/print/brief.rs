//! One line for one thing: what is printed of something that was just made or changed.

use serde_json::{Map, Value};
use store::model::Kind;

use super::change;
use super::table::{cell, plain};

/// The line of an entity or a relationship: `EP-004 Checkout (Backlog, medium)`; none for anything else.
pub fn thing(answer: &Map<String, Value>) -> Option<String> {
    let text = |name: &str| answer.get(name).and_then(Value::as_str);
    if let (Some(source), Some(kind), Some(target), Some(id)) =
        (text("source"), text("type"), text("target"), text("id"))
    {
        let gone = if answer.get("deleted_at").is_some_and(Value::is_string) { ", deleted" } else { "" };
        return Some(format!("{source} {kind} {target} ({id}{gone})"));
    }
    if let (Some(entity), Some(author), Some(id), Some(_)) =
        (text("entity"), text("author"), text("id"), text("content"))
    {
        return Some(format!("comment of {author} on {entity} ({id})"));
    }
    let kind = Kind::from_stored(text("kind")?)?;
    let (reference, _) = (text("reference_id")?, answer.get("version")?);
    let says = answer.get("title").or(answer.get("description")).map(|says| cell(Some(says)));
    let priority = answer.get("priority").and_then(Value::as_i64).map(change::priority);
    let parent = kind.parent().and_then(|parent| text(parent.name())).filter(|_| !kind.has_status());
    let deleted = answer.get("deleted_at").is_some_and(Value::is_string).then(|| "deleted".to_owned());
    let about = [text("status").map(str::to_owned), priority, parent.map(str::to_owned), deleted];
    let about: Vec<String> = about.into_iter().flatten().collect();
    let about = if about.is_empty() { String::new() } else { format!(" ({})", about.join(", ")) };
    Some(format!("{reference} {}{about}", says.unwrap_or_default()))
}

/// The lines of many operations that were run at once: what each has answered, or why it failed.
pub fn steps(answer: &Map<String, Value>) -> Option<Vec<String>> {
    let results = answer.get("results")?.as_array()?;
    let line = |step: &Value| match (&step["answer"], &step["error"]) {
        (_, Value::Object(error)) => error.get("message").map(plain),
        (Value::Object(answer), _) => thing(answer).or_else(|| deleted(answer)),
        _ => None,
    };
    let mut lines: Vec<String> = results.iter().map(line).collect::<Option<_>>()?;
    if answer.get("dry_run") == Some(&Value::Bool(true)) {
        lines.push("Nothing was changed: this was a dry run.".to_owned());
    }
    Some(lines)
}

/// What a delete has taken away, or would.
fn deleted(answer: &Map<String, Value>) -> Option<String> {
    let reference = answer.get("reference_id")?.as_str()?;
    let is_deleted = answer.get("deleted")?.as_bool()?;
    let with_it: Vec<String> = answer
        .get("with_it")?
        .as_object()?
        .iter()
        .filter(|(_, count)| count.as_i64() != Some(0))
        .map(|(name, count)| counted(count.as_i64().unwrap_or_default(), &name.replace('_', " ")))
        .collect();
    let with_it = if with_it.is_empty() { String::new() } else { format!(", with {}", with_it.join(", ")) };
    Some(format!("{reference} {}{with_it}", if is_deleted { "is deleted" } else { "would be deleted" }))
}

/// A count with the name of what is counted, in the singular for one.
fn counted(count: i64, plural: &str) -> String {
    let singular = match plural {
        "acceptance criteria" => "acceptance criterion".to_owned(),
        _ if plural.ends_with("ies") => format!("{}y", &plural[..plural.len() - 3]),
        _ => plural.trim_end_matches('s').to_owned(),
    };
    format!("{count} {}", if count == 1 { singular.as_str() } else { plural })
}
