//! Commands that change several things at once: all of them, or none.

use clap::{Arg, ArgMatches, Command};
use ops::{Arguments, Entry, Error, known};
use serde_json::{Map, Value, json};
use store::model::{Kind, Reference};

use super::commands::{self, CommandProblem, Finish, Place, place};
use super::gather::Gathered;
use super::{Exit, flag};

/// The commands that set a field of several things.
pub fn commands() -> [Command; 2] {
    let references = || {
        Arg::new("references")
            .value_name("REFERENCE")
            .required(true)
            .num_args(1..)
            .help("What to change, such as REQ-001 REQ-002")
    };
    let dry_run = || flag("dry-run").help("Change nothing, and say what would come of it");
    [
        Command::new("status")
            .about("Set the status of epics, user stories or requirements")
            .arg(Arg::new("value").value_name("STATUS").required(true).help("The status, in any case"))
            .arg(references())
            .arg(dry_run()),
        Command::new("assign")
            .about("Assign epics, user stories or requirements to somebody")
            .arg(Arg::new("value").value_name("USER").required(true).help("A user, me or nobody"))
            .arg(references())
            .arg(dry_run()),
    ]
}

/// Sets the status.
pub fn status(matches: &ArgMatches) -> Exit {
    set(matches, "status", |_, value| Ok(json!(value)))
}

/// Sets the assignee.
pub fn assign(matches: &ArgMatches) -> Exit {
    set(matches, "assignee_id", |place, value| match value {
        "nobody" => Ok(Value::Null),
        "me" => Ok(place.call(known::WHO_AM_I, json!({}))?["id"].clone()),
        name => Ok(json!(name)),
    })
}

fn set(
    matches: &ArgMatches,
    field: &'static str,
    value: impl FnOnce(&Place, &str) -> Result<Value, CommandProblem>,
) -> Exit {
    let result = (|| {
        let place = place(matches)?;
        let text = matches.get_one::<String>("value").map(String::as_str).unwrap_or_default();
        let value = value(&place, text)?;
        let references: Vec<String> =
            matches.get_many::<String>("references").into_iter().flatten().cloned().collect();
        let steps: Result<Vec<Value>, CommandProblem> =
            references.iter().map(|reference| step(reference, field, &value)).collect();
        at_once(&place, &references, steps?, matches.get_flag("dry-run"))
    })();
    commands::ended(known::BULK_UPDATE, result.map(Finish::Answer), matches.get_flag("json"))
}

/// The change of a field of one thing, as an operation.
fn step(reference: &str, field: &str, value: &Value) -> Result<Value, CommandProblem> {
    let (kind, update) = update_of(reference)?;
    let arguments = Arguments::new(update.input_schema());
    if arguments.property(field).is_none() {
        let name = field.trim_end_matches("_id");
        let message = format!("{reference} is {}, which has no {name}", kind.with_article());
        return Err(Error::field("references", message).into());
    }
    let id = update.positional.first().copied().unwrap_or_default();
    Ok(json!({"operation": update.name, "arguments": {id: reference, field: value}}))
}

/// The operation that changes what a reference id names.
pub fn update_of(reference: &str) -> Result<(Kind, &'static Entry), CommandProblem> {
    let kind = match Reference::parse(reference) {
        Some(Reference::Numbered { kind, .. }) => Some(kind),
        _ => None,
    };
    let found =
        known::WRITES.iter().find(|(of, ..)| Some(*of) == kind).map(|(kind, _, update)| (*kind, *update));
    found.ok_or_else(|| {
        let message = format!("expected a reference id such as EP-001 or REQ-012, found {reference:?}");
        Error::field("reference", message).into()
    })
}

/// Runs an operation once for each value that a command got.
pub fn call(
    entry: &'static Entry,
    command: &ops::Command,
    gathered: Gathered,
    matches: &ArgMatches,
) -> Result<Value, CommandProblem> {
    let Value::Object(arguments) = gathered.arguments else { return Ok(Value::Null) };
    let name = command.several.unwrap_or_default();
    let is_dry_run = arguments.get("dry_run") == Some(&json!(true));
    let step = |value: &String| {
        let own = Map::from_iter([(name.to_owned(), json!(value))]);
        let all: Map<String, Value> = arguments.clone().into_iter().chain(own).collect();
        json!({"operation": entry.name, "arguments": all})
    };
    let steps = gathered.several.iter().map(step).collect();
    at_once(&place(matches)?, &gathered.several, steps, is_dry_run)
}

/// Runs steps, each of which is about the thing with a name.
fn at_once(
    place: &Place,
    names: &[String],
    steps: Vec<Value>,
    is_dry_run: bool,
) -> Result<Value, CommandProblem> {
    let done = place.call(known::BULK_UPDATE, json!({"operations": steps, "dry_run": is_dry_run}));
    done.map_err(|problem| match problem {
        CommandProblem::Refused(error) => CommandProblem::Refused(named(error, names)),
        other => other,
    })
}

/// An error that names the thing in place of the step: nobody wrote a list of operations.
fn named(mut error: Error, names: &[String]) -> Error {
    for (index, name) in names.iter().enumerate() {
        let step = format!("operations[{index}]");
        error.message = error.message.replace(&step, name);
        for field in &mut error.fields {
            field.field = field.field.replace(&step, name);
        }
    }
    error
}

/// In place of requirements, the suspect links that start from them.
pub fn links_of(gathered: Gathered, matches: &ArgMatches) -> Result<Gathered, CommandProblem> {
    let first = gathered.arguments.get("id").and_then(Value::as_str).map(str::to_owned);
    let named: Vec<String> = first.into_iter().chain(gathered.several.iter().cloned()).collect();
    let is_requirement = |name: &String| matches!(Reference::parse(name), Some(Reference::Numbered { .. }));
    if !named.iter().any(is_requirement) {
        return Ok(gathered);
    }
    let place = place(matches)?;
    let mut ids = Vec::new();
    for name in named {
        if is_requirement(&name) { ids.extend(suspects_of(&place, &name)?) } else { ids.push(name) }
    }
    Ok(Gathered { several: ids, ..gathered })
}

/// The ids of the suspect links that start from a requirement.
fn suspects_of(place: &Place, requirement: &str) -> Result<Vec<String>, CommandProblem> {
    let mut ids = Vec::new();
    let mut arguments = json!({"requirement_id": requirement, "limit": 100});
    let own = place.call(known::GET_ENTITY, json!({"reference": requirement}))?["reference_id"].clone();
    loop {
        let page = place.call(known::LIST_RELATIONSHIPS, arguments.clone())?;
        let rows = page["data"].as_array().into_iter().flatten();
        let suspect = rows.filter(|row| row["suspect"] == true && row["source"] == own);
        ids.extend(suspect.filter_map(|row| row["id"].as_str()).map(str::to_owned));
        match &page["next_cursor"] {
            Value::String(cursor) => arguments["cursor"] = json!(cursor),
            _ if ids.is_empty() => {
                let message = format!("{} has no suspect links", own.as_str().unwrap_or(requirement));
                return Err(Error::conflict(message).into());
            }
            _ => return Ok(ids),
        }
    }
}
