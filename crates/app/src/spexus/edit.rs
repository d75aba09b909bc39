//! `spexus edit`: opens an item in an editor, and saves what was changed. What somebody else saves meanwhile is merged, or shown.

use std::path::PathBuf;

use clap::{Arg, ArgMatches, Command};
use ops::{Arguments, Entry, ErrorKind, known};
use serde_json::{Map, Value, json};
use web::conflict::{Resolution, resolve};

use super::commands::{self, CommandProblem, Finish, Place, place};
use super::print::{field_text, tell};
use super::{Exit, several, shell};

/// How often the editor is opened again because somebody else was faster.
const ROUNDS_MAX: usize = 5;

/// Fields on a line of their own, each with the argument that sets it.
const LINES: [(&str, &str); 6] = [
    ("title", "title"),
    ("status", "status"),
    ("priority", "priority"),
    ("assignee", "assignee_id"),
    ("type", "type_id"),
    ("labels", "labels"),
];
/// Fields with text of any length.
const TEXTS: [&str; 2] = ["description", "rationale"];

/// The command.
pub fn command() -> Command {
    Command::new("edit")
        .about("Open an item in your editor, and save what you change")
        .long_about(
            "Open an item in your editor, and save what you change.\n\nThe editor is VISUAL or EDITOR. Nothing is overwritten: changes of others are \
             merged with yours, and where both changed the same words, the editor opens again with both.",
        )
        .arg(Arg::new("reference").value_name("REFERENCE").required(true).help("The item, such as REQ-012"))
}

/// Edits.
pub fn run(matches: &ArgMatches) -> Exit {
    let reference = matches.get_one::<String>("reference").map(String::as_str).unwrap_or_default();
    let as_json = matches.get_flag("json");
    match several::update_of(reference) {
        Ok((_, update)) => {
            let result = place(matches).and_then(|place| edit(&place, update, reference));
            commands::ended(update, result, as_json)
        }
        Err(problem) => commands::told(problem),
    }
}

fn edit(place: &Place, update: &'static Entry, reference: &str) -> Result<Finish, CommandProblem> {
    let known_fields = Arguments::new(update.input_schema());
    let mut theirs = place.call(known::GET_ENTITY, json!({"reference": reference}))?;
    let mut base = fields(&theirs, &known_fields);
    let draft = Draft::new(reference, &theirs)?;
    draft.write(&base, &heading(&theirs, None))?;
    for _ in 0..ROUNDS_MAX {
        draft.open()?;
        let mine = match draft.read(&base) {
            Ok(mine) => mine,
            Err(message) => return Err(draft.keep(message)),
        };
        let changed: Map<String, Value> =
            mine.iter().filter(|(name, value)| base.get(*name) != Some(*value)).map(owned).collect();
        if changed.is_empty() {
            tell("nothing was changed");
            return Ok(Finish::Exit(Exit::Done));
        }
        let before = theirs["version"].clone();
        let mut send = changed.clone();
        // Several others may be faster, one after the other.
        loop {
            match save(place, update, &known_fields, &theirs, &send) {
                Ok(answer) => {
                    if theirs["version"] != before {
                        tell("somebody else has changed other fields meanwhile; both changes are kept");
                    }
                    return Ok(Finish::Answer(answer));
                }
                Err(CommandProblem::Refused(error)) if error.kind == ErrorKind::StaleVersion => {}
                Err(problem) => return Err(draft.keep(problem.to_string())),
            }
            theirs = place.call(known::GET_ENTITY, json!({"reference": reference}))?;
            let now = fields(&theirs, &known_fields);
            match resolve(&changed, &base, &now) {
                Resolution::Send(fields) => send = fields,
                Resolution::Ask(clashes) => {
                    let mut next = now.clone();
                    for (name, value) in &changed {
                        let clash = clashes.iter().find(|clash| clash.name == *name);
                        let both = clash.map(|clash| match &clash.merged {
                            Some(merged) => merged.clone(),
                            None => both(&clash.theirs, &clash.mine, TEXTS.contains(&name.as_str())),
                        });
                        next.insert(name.clone(), both.map_or_else(|| value.clone(), |both| json!(both)));
                    }
                    base = now;
                    draft.write(
                        &next,
                        &heading(
                            &theirs,
                            Some(&clashes.iter().map(|clash| clash.name.as_str()).collect::<Vec<_>>()),
                        ),
                    )?;
                    tell("somebody else has changed the same meanwhile; the editor opens with both");
                    break;
                }
            }
        }
    }
    Err(draft.keep(format!("{reference} was changed {ROUNDS_MAX} times while you edited it")))
}

fn owned((name, value): (&String, &Value)) -> (String, Value) {
    (name.clone(), value.clone())
}

/// Marks around two versions of the same text.
const MARKS: [&str; 3] = ["<<<<<<< theirs", "=======", ">>>>>>> yours"];

/// Two versions, between which the user decides.
fn both(theirs: &str, mine: &str, is_text: bool) -> String {
    match is_text {
        true => format!("{}\n{theirs}\n{}\n{mine}\n{}", MARKS[0], MARKS[1], MARKS[2]),
        false => mine.to_owned(),
    }
}

/// Sends what was changed, for the version that it was changed in.
fn save(
    place: &Place,
    update: &'static Entry,
    known_fields: &Arguments,
    entity: &Value,
    changed: &Map<String, Value>,
) -> Result<Value, CommandProblem> {
    let mut arguments = Map::new();
    for (name, value) in changed {
        let text = value.as_str().unwrap_or_default();
        match LINES.iter().find(|(line, _)| line == name).map_or(name.as_str(), |(_, argument)| argument) {
            "labels" if text.is_empty() => drop(arguments.insert("labels".into(), json!([]))),
            argument if text.is_empty() && is_optional(known_fields, argument) => {
                arguments.insert(argument.into(), Value::Null);
            }
            "priority" => known_fields.add(&mut arguments, "priority", &super::gather::priorities(text)?),
            argument => known_fields.add(&mut arguments, argument, text),
        }
    }
    let id = update.positional.first().copied().unwrap_or_default();
    arguments.insert(id.to_owned(), entity["reference_id"].clone());
    arguments.insert("expected_version".to_owned(), entity["version"].clone());
    place.call(update, Value::Object(arguments))
}

fn is_optional(known_fields: &Arguments, argument: &str) -> bool {
    known_fields.property(argument).is_some_and(|schema| ops::may_be(schema, "null"))
}

/// The fields that can be edited, as text.
fn fields(entity: &Value, known_fields: &Arguments) -> Map<String, Value> {
    let lines = LINES.iter().filter(|(_, argument)| known_fields.property(argument).is_some());
    let texts = TEXTS.iter().filter(|name| known_fields.property(name).is_some());
    let names = lines.map(|(name, _)| *name).chain(texts.copied());
    names.map(|name| (name.to_owned(), json!(field_text(name, &entity[name])))).collect()
}

/// What stands above the fields.
fn heading(entity: &Value, clashes: Option<&[&str]>) -> String {
    let reference = entity["reference_id"].as_str().unwrap_or_default();
    let about = match clashes {
        None => format!(
            "# {reference}, version {}. Save and close to store your changes; without changes nothing happens.",
            entity["version"]
        ),
        Some(names) => format!(
            "# Somebody else has changed {} meanwhile (now version {}). Look at what is below, and save and close to store it.",
            names.join(" and "),
            entity["version"]
        ),
    };
    format!(
        "{about}\n# Lines before the first text that begin with # are left out. An empty field is cleared.\n"
    )
}

/// The file that is edited.
struct Draft {
    folder: tempfile::TempDir,
    path: PathBuf,
    /// What stands before the name of a text; no line of a text begins like it.
    mark: String,
}

impl Draft {
    fn new(reference: &str, entity: &Value) -> Result<Draft, CommandProblem> {
        let folder = tempfile::Builder::new().prefix("spexus-edit-").tempdir();
        let folder = folder.map_err(|error| CommandProblem::Usage(format!("a temporary file: {error}")))?;
        let path = folder.path().join(format!("{}.md", reference.to_ascii_uppercase()));
        let mut mark = "---".to_owned();
        while TEXTS
            .iter()
            .any(|name| entity[*name].as_str().is_some_and(|text| text.contains(&format!("{mark} "))))
        {
            mark.push('-');
        }
        Ok(Draft { folder, path, mark })
    }

    fn write(&self, fields: &Map<String, Value>, heading: &str) -> Result<(), CommandProblem> {
        let mut text = heading.to_owned();
        let value = |name: &str| fields.get(name).and_then(Value::as_str);
        for (name, _) in LINES {
            if let Some(value) = value(name) {
                text.push_str(&format!("{name}: {}\n", value.replace('\n', " ")));
            }
        }
        for name in TEXTS {
            if let Some(value) = value(name) {
                text.push_str(&format!("\n{} {name}\n{}\n", self.mark, value.trim_end_matches('\n')));
            }
        }
        std::fs::write(&self.path, text).map_err(|error| self.failed(&error))
    }

    /// Opens the editor, and waits until it is closed.
    fn open(&self) -> Result<(), CommandProblem> {
        let chosen = ["VISUAL", "EDITOR"].iter().filter_map(|name| std::env::var(name).ok());
        let editor = chosen.into_iter().find(|editor| !editor.trim().is_empty());
        let editor = editor.unwrap_or_else(|| if cfg!(windows) { "notepad" } else { "vi" }.to_owned());
        match shell(&editor).arg(&self.path).status() {
            Ok(status) if status.success() => Ok(()),
            Ok(status) => {
                let message = format!(
                    "the editor ended with {status}; nothing was changed (VISUAL or EDITOR: {editor})"
                );
                Err(CommandProblem::Usage(message))
            }
            Err(error) => {
                Err(CommandProblem::Usage(format!("the editor (VISUAL or EDITOR: {editor}): {error}")))
            }
        }
    }

    /// The fields that the file has now, of those that it had.
    fn read(&self, fields: &Map<String, Value>) -> Result<Map<String, Value>, String> {
        let text = std::fs::read_to_string(&self.path)
            .map_err(|error| format!("{}: {error}", self.path.display()))?;
        let mut found = Map::new();
        let mut current: Option<(&str, Vec<&str>)> = None;
        let finish = |current: Option<(&str, Vec<&str>)>, found: &mut Map<String, Value>| {
            if let Some((name, lines)) = current {
                found.insert(name.to_owned(), json!(lines.join("\n").trim_end_matches('\n')));
            }
        };
        for (index, line) in text.lines().enumerate() {
            let begins = line.strip_prefix(&self.mark).and_then(|rest| rest.strip_prefix(' ')).map(str::trim);
            if let Some(name) = TEXTS.iter().find(|name| begins == Some(**name)) {
                finish(current.take(), &mut found);
                current = Some((name, Vec::new()));
                continue;
            }
            match &mut current {
                Some((_, lines)) => lines.push(line),
                None if line.trim().is_empty() || line.starts_with('#') => {}
                None => {
                    let name = line.split_once(':').map(|(name, value)| (name.trim(), value.trim()));
                    let field = name.filter(|(name, _)| fields.contains_key(*name) && !TEXTS.contains(name));
                    let Some((name, value)) = field else {
                        let known: Vec<&str> = LINES
                            .iter()
                            .map(|(name, _)| *name)
                            .filter(|name| fields.contains_key(*name))
                            .collect();
                        return Err(format!(
                            "line {}: expected one of {} and a colon, found {line:?}",
                            index + 1,
                            known.join(", ")
                        ));
                    };
                    found.insert(name.to_owned(), json!(value));
                }
            }
        }
        finish(current, &mut found);
        if MARKS.iter().any(|mark| *mark != "=======" && text.lines().any(|line| line == *mark)) {
            return Err(format!("the text still has both versions ({} … {})", MARKS[0], MARKS[2]));
        }
        // A field whose line was removed stays as it is.
        for (name, value) in fields {
            found.entry(name).or_insert_with(|| value.clone());
        }
        Ok(found)
    }

    /// Keeps the file, so that nothing typed is lost, and says where.
    fn keep(self, message: String) -> CommandProblem {
        let path = self.path.clone();
        let _ = self.folder.keep();
        CommandProblem::Usage(format!("{message}\nwhat you wrote is kept in {}", path.display()))
    }

    fn failed(&self, error: &std::io::Error) -> CommandProblem {
        CommandProblem::Usage(format!("{}: {error}", self.path.display()))
    }
}
