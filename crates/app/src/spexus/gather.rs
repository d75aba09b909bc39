//! What flags, files and standard input say becomes the arguments of an operation.

use std::fs::File;
use std::io::{self, BufRead as _, IsTerminal as _, Read as _, Write as _};

use clap::ArgMatches;
use ops::{Arguments, Entry, FileArguments, Upload};
use serde_json::{Map, Value, json};

use super::commands::CommandProblem;

/// What a command says: the arguments of an operation, and the file that it takes beside them.
pub struct Gathered {
    pub arguments: Value,
    pub upload: Option<Upload>,
    /// Values of the argument of which the command takes several, when it got more than one.
    pub several: Vec<String>,
}

/// The flag of an argument that needs none.
pub fn flag_of(name: &str) -> String {
    format!("{name}-flag")
}

/// Priorities by their numbers: `high` and `P2` are 2. Whether a number is one of them, the operation decides.
pub fn priorities(text: &str) -> Result<String, CommandProblem> {
    const NAMES: [&str; 4] = ["critical", "high", "medium", "low"];
    let number = |word: &str| match exchange::priority(word) {
        Some(number) => Ok(number.to_string()),
        None if word.trim().parse::<i64>().is_ok() => Ok(word.to_owned()),
        None => {
            let nearest = nearest::nearest(word, NAMES);
            let meant = nearest.map(|name| format!("; did you mean {name}?")).unwrap_or_default();
            let names = NAMES.join(", ");
            Err(CommandProblem::Usage(format!(
                "priority: expected {names}, or 1 to 4, found {word:?}{meant}"
            )))
        }
    };
    Ok(text.split(',').map(number).collect::<Result<Vec<_>, _>>()?.join(","))
}

/// The arguments of an operation.
pub fn gather(
    entry: &Entry,
    command: &ops::Command,
    matches: &ArgMatches,
) -> Result<Gathered, CommandProblem> {
    let known = Arguments::new(entry.input_schema());
    let (mut arguments, mut upload) = (Map::new(), None);
    let mut several = Vec::new();
    for (name, schema) in known.properties() {
        let flag = flag_of(name);
        let forms = [name, flag.as_str()];
        let given: Vec<&String> = forms
            .iter()
            .flat_map(|form| matches.try_get_many::<String>(form).ok().flatten())
            .flatten()
            .collect();
        if command.several == Some(name) && given.len() > 1 {
            several = given.into_iter().cloned().collect();
            continue;
        }
        // The default is in the place of an argument whose flag is given.
        let flag_is_given = matches.try_get_one::<String>(&flag).is_ok_and(|given| given.is_some());
        for text in given.into_iter().skip(usize::from(flag_is_given && command.default_of(name).is_some())) {
            match text.as_str() {
                "null" if takes_null(entry, schema) => {
                    arguments.insert(name.to_owned(), Value::Null);
                }
                QUOTED_NULL if takes_null(entry, schema) => known.add(&mut arguments, name, "null"),
                text if is_json(schema) => {
                    arguments.insert(name.to_owned(), json_of(name, text)?);
                }
                text if name == "priority" => known.add(&mut arguments, name, &priorities(text)?),
                text => known.add(&mut arguments, name, text),
            }
        }
        if let Ok(Some(path)) = matches.try_get_one::<String>(&format!("{name}-file")) {
            arguments.insert(name.to_owned(), json!(read(path)?));
        }
        if let Ok(Some(true)) = matches.try_get_one::<bool>(&format!("{name}-stdin")) {
            arguments.insert(name.to_owned(), json!(secret(name)?));
        }
    }
    for (name, value) in command.bind {
        known.add(&mut arguments, name, value);
    }
    if let Some(FileArguments { content, format }) = entry.takes_file
        && let Some(Value::String(path)) = arguments.get(content).cloned()
    {
        let is_only_one = known.property(format).is_some_and(|schema| ops::choices(schema).len() == 1);
        if !arguments.contains_key(format) && !is_only_one {
            arguments.insert(format.to_owned(), json!(format_of(&path)?));
        }
        arguments.insert(content.to_owned(), json!(""));
        upload = Some(take(&path).map_err(|error| unread(&path, &error))?);
    }
    Ok(Gathered { arguments: Value::Object(arguments), upload, several })
}

/// The word null itself, where the bare word clears a field.
pub const QUOTED_NULL: &str = "\"null\"";

/// Whether null clears an argument. It does not where something is looked for: there it would be no filter at all, and
/// everything would be found. Nor in a list, whose values are words.
pub fn takes_null(entry: &Entry, schema: &Value) -> bool {
    entry.writes() && ops::may_be(schema, "null") && !ops::may_be(schema, "array")
}

/// Whether an argument can only be written as JSON: an object, or a list of them.
pub fn is_json(schema: &Value) -> bool {
    ops::may_be(schema, "object") || ops::may_be(schema, "array") && ops::may_be(&schema["items"], "object")
}

/// JSON that stands on the command line, in a file or in a pipe.
fn json_of(name: &str, text: &str) -> Result<Value, CommandProblem> {
    let (origin, written) = match text.strip_prefix('@') {
        Some(path) => (path, read(path)?),
        None if text == "-" => ("standard input", read("-")?),
        None => ("the command line", text.to_owned()),
    };
    serde_json::from_str(&written).map_err(|error| {
        let flag = name.replace('_', "-");
        let hint = match text.strip_prefix('@') {
            None if text != "-" && std::path::Path::new(text).exists() => {
                format!("; did you mean the file, @{text}?")
            }
            _ => String::new(),
        };
        CommandProblem::Usage(format!("--{flag} (from {origin}): expected JSON, @FILE or -: {error}{hint}"))
    })
}

fn format_of(path: &str) -> Result<&'static str, CommandProblem> {
    match path.rsplit_once('.').map(|(_, extension)| extension.to_ascii_lowercase()).as_deref() {
        Some("json") => Ok("json"),
        Some("csv" | "tsv" | "txt") => Ok("csv"),
        Some("xlsx" | "xlsm") => Ok("xlsx"),
        Some("md" | "markdown") => Ok("markdown"),
        Some("reqif" | "xml") => Ok("reqif"),
        _ => Err(CommandProblem::Usage(
            "--format: is required, for the file's name does not tell it (json, csv, xlsx, markdown, reqif)"
                .to_owned(),
        )),
    }
}

/// A secret: asked for where somebody types, otherwise the next line of standard input.
fn secret(name: &str) -> Result<String, CommandProblem> {
    let problem = |why: &str| CommandProblem::Usage(format!("--{}-stdin: {why}", name.replace('_', "-")));
    let stdin = io::stdin();
    if stdin.is_terminal() {
        let words = name.replace('_', " ");
        let _ = write!(io::stderr(), "{}{}: ", words[..1].to_uppercase(), &words[1..]);
        return rpassword::read_password().map_err(|error| problem(&error.to_string()));
    }
    let mut line = String::new();
    match stdin.lock().read_line(&mut line) {
        Ok(0) => Err(problem("expected a line on standard input, which has ended")),
        Ok(_) => Ok(line.trim_end_matches(['\r', '\n']).to_owned()),
        Err(error) => Err(problem(&error.to_string())),
    }
}

fn read(path: &str) -> Result<String, CommandProblem> {
    let mut text = String::new();
    let result = if path == "-" {
        io::stdin().read_to_string(&mut text).map(|_| ())
    } else {
        std::fs::read_to_string(path).map(|read| text = read)
    };
    result.map(|()| text).map_err(|error| unread(path, &error))
}

/// Takes a file of any size.
fn take(path: &str) -> io::Result<Upload> {
    let mut upload = Upload::new();
    if path == "-" {
        io::copy(&mut io::stdin().lock(), &mut upload)?;
    } else {
        io::copy(&mut File::open(path)?, &mut upload)?;
    }
    Ok(upload)
}

fn unread(path: &str, error: &io::Error) -> CommandProblem {
    CommandProblem::Usage(format!("{path}: {error}"))
}
