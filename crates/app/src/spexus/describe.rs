//! Every operation as a command: its words, what it takes, and what help says of it.

use std::ffi::OsStr;

use clap::builder::{PossibleValue, StringValueParser, TypedValueParser};
use clap::{Arg, ArgAction, Command, Id, ValueHint};
use ops::{Arguments, Entry};
use serde_json::Value;

use super::gather;

/// Texts that are longer than this may come from a file.
const LONG: u64 = 5_000;

/// Adds the commands of all operations.
pub fn add(mut root: Command) -> Command {
    for entry in ops::OPERATIONS {
        for command in entry.commands {
            let words: Vec<&'static str> = command.words.split(' ').collect();
            root = place(root, &words, |leaf| describe(leaf, entry, command));
        }
    }
    root
}

/// Finds or makes the command at the end of some words.
fn place(root: Command, words: &[&'static str], make: impl FnOnce(Command) -> Command) -> Command {
    let [word, rest @ ..] = words else { return make(root) };
    let root = match root.find_subcommand(word) {
        Some(_) => root,
        None => root.subcommand(named(word)),
    };
    root.mut_subcommand(word, |sub| {
        if rest.is_empty() {
            return make(sub);
        }
        let sub = match sub.get_about() {
            Some(_) => sub,
            None => sub.about(about(word)).subcommand_required(true).arg_required_else_help(true),
        };
        place(sub, rest, make)
    })
}

/// Other names of commands and groups: those that help shows, and those that people try.
const ALIASES: [(&str, &[&str], &[&str]); 9] = [
    ("epic", &[], &["epics"]),
    ("user-story", &["story"], &["stories", "user-stories"]),
    ("acceptance-criteria", &["criterion"], &["criteria", "acceptance-criterion", "ac"]),
    ("requirement", &["req"], &["requirements", "reqs"]),
    ("steering-document", &["steering"], &["steering-documents"]),
    ("comment", &[], &["comments"]),
    ("list", &["ls"], &[]),
    ("create", &[], &["new"]),
    ("delete", &["rm"], &["remove"]),
];

fn named(word: &'static str) -> Command {
    let command = Command::new(word);
    match ALIASES.iter().find(|(name, ..)| *name == word) {
        Some((_, shown, hidden)) => command.visible_aliases(*shown).aliases(*hidden),
        None => command,
    }
}

/// What the commands of a group are for.
fn about(group: &str) -> &'static str {
    match group {
        "epic" => "Epics, the large pieces of work: make, list, show, change, delete, restore",
        "user-story" => "User stories, each of an epic: make, list, show, change, delete, restore",
        "acceptance-criteria" => {
            "Acceptance criteria, each of a user story: make, list, show, change, delete, restore"
        }
        "requirement" => {
            "Requirements, each of a user story: make, list, search, show, change, delete, restore"
        }
        "steering-document" => "Steering documents, and the epics that they are linked with",
        "comment" => "Comments on anything: add, list, show, change, delete, restore",
        "relationship" => "Relationships between requirements: make, list, delete",
        "suspect-link" => "Relationships whose target has changed since: list, and confirm",
        "report" => "Reports: how far the work is, and what the tree lacks",
        "prompt" => "Prompts for agents: make, list, show, change, activate, delete, restore",
        "requirement-type" => "Types of requirements: list, show, make, change, delete",
        "relationship-type" => "Types of relationships: list, show, make, change, delete",
        "status-model" => "Statuses of each kind, and which may follow which: list, show, change",
        "project" => "Projects: make, list, show, change, delete",
        "user" => "Users: make, list, show, change, disable, delete",
        "token" => "Personal access tokens: make, list, show, change, revoke",
        "auth" => "Who you are: log in and out, change the password, end sessions",
        "session" => "Sessions: list, revoke",
        "matrix" => "Which requirements are covered by what: show, export",
        "view" => "Saved views of tables, under a name: list, save, delete",
        "imports" => "Imports that were made: list, show, undo",
        "repository" => "Repositories whose code cites requirements: make known, list, show, change, delete",
        "trace" => "What code cites, as `spexus push` writes it",
        "evidence" => "What tests and people have shown",
        "change" => "What evidence says before and after a change",
        "stale-citation" => "Citations in code that no longer quote the present text",
        "work" => "Leased work: list, see what comes next, renew, finish, release, break",
        "baseline" => "Named states of a project: pin, list, compare, export, delete",
        "threat" => "Threats to requirements and user stories: propose, decide, list",
        "identity" => "The identity of a CI run: exchange it for a token",
        _ => "",
    }
}

fn describe(mut leaf: Command, entry: &'static Entry, command: &'static ops::Command) -> Command {
    let arguments = Arguments::new(entry.input_schema());
    leaf = match command.summary {
        Some(summary) => leaf.about(summary),
        None => leaf.about(entry.summary()).long_about(joined(&entry.documentation())),
    };
    let must = |name: &str| arguments.is_required(name) && command.default_of(name).is_none();
    let mut usage = format!("spexus {} [OPTIONS]", command.words);
    for (name, schema) in arguments.properties() {
        if !command.takes(name) || entry.positional.contains(&name) {
            continue;
        }
        // The name of a file tells its format.
        let is_told = entry.takes_file.is_some_and(|file| file.format == name);
        let is_required = must(name) && !is_told;
        if is_required {
            let (long, value) = (long_name(name), name.to_uppercase());
            usage.push_str(&match takes_file(schema) {
                true => format!(" <--{long} <{value}>|--{long}-file <FILE>>"),
                false => format!(" --{long} <{value}>"),
            });
        }
        leaf = option(leaf, command, name, schema, is_required);
    }
    let positional = entry.positional.iter().copied().filter(|name| command.takes(name));
    for (index, name) in positional.enumerate() {
        let schema = arguments.property(name).cloned().unwrap_or_default();
        leaf = in_place(leaf, entry, command, (index + 1, name), &schema, must(name));
        usage.push_str(&place_in_usage(entry, command, name, &schema, must(name)));
    }
    leaf = leaf.override_usage(usage);
    let clears = |(name, schema): (&str, &Value)| {
        command.takes(name) && gather::takes_null(entry, schema) && text_of(schema).contains("null")
    };
    if arguments.properties().any(clears) {
        leaf = leaf.after_help(format!(
            "The value null clears a field; '{}' is the word itself.",
            gather::QUOTED_NULL
        ));
    }
    if entry.answers_file {
        leaf = leaf
            .arg(Arg::new("output").long("output").short('o').value_name("FILE").help("Write to this file"));
    }
    leaf
}

/// Adds an argument that needs no flag. It may be given with its flag as well.
fn in_place(
    leaf: Command,
    entry: &Entry,
    command: &ops::Command,
    (place, name): (usize, &'static str),
    schema: &Value,
    is_required: bool,
) -> Command {
    let arg = Arg::new(name).index(place);
    if is_file(entry, name) {
        return leaf
            .arg(arg.value_name("FILE").help("The file, or - for standard input").required(is_required));
    }
    let mut arg = arg.value_name(name.to_uppercase()).help(text_of(schema));
    if let Some(default) = command.default_of(name) {
        arg = arg.default_value(default);
    }
    if command.several == Some(name) {
        arg = arg.num_args(1..).help(format!("{} Several may be given.", text_of(schema)));
    }
    let flag = Arg::new(gather::flag_of(name)).long(long_name(name)).value_name(name.to_uppercase());
    let flag = flag.hide(true).allow_hyphen_values(true);
    with_twins(leaf, vec![arg, with_old_name(flag, name)], name, schema, is_required)
}

/// What usage says of an argument that needs no flag. Left to itself, it would show all its forms.
fn place_in_usage(
    entry: &Entry,
    command: &ops::Command,
    name: &str,
    schema: &Value,
    is_required: bool,
) -> String {
    let value = name.to_uppercase();
    let more = if command.several == Some(name) { "..." } else { "" };
    match (is_required, takes_file(schema) && !is_file(entry, name)) {
        (true, true) => format!(" <{value}|--{}-file <FILE>>", long_name(name)),
        (true, false) => format!(" <{value}>{more}"),
        (false, _) => format!(" [{value}]{more}"),
    }
}

fn is_file(entry: &Entry, name: &str) -> bool {
    entry.takes_file.is_some_and(|file| file.content == name)
}

/// The flag of an argument: `--epic` for `epic_id`, because names are given as often as ids. `--token` is a flag of all commands.
fn long_name(name: &str) -> String {
    name.strip_suffix("_id").filter(|name| *name != "token").unwrap_or(name).replace('_', "-")
}

/// Also takes the flag with the whole name, and a short name where a group of commands has one.
fn with_old_name(arg: Arg, name: &str) -> Arg {
    let (long, whole) = (long_name(name), name.replace('_', "-"));
    let arg = if whole == long { arg } else { arg.alias(whole) };
    match ALIASES.iter().find(|(word, ..)| *word == long) {
        Some((_, [short, ..], _)) => arg.visible_alias(*short),
        _ => arg,
    }
}

fn option(leaf: Command, command: &ops::Command, name: &str, schema: &Value, required: bool) -> Command {
    // Names of arguments live as long as the program; there are a few hundred of them.
    let long = long_name(name);
    let mut arg = Arg::new(name.to_owned()).long(long.clone()).help(text_of(schema));
    arg = with_old_name(arg, name);
    if ops::may_be(schema, "boolean") {
        arg = arg.num_args(0..=1).require_equals(true).default_missing_value("true").value_name("true|false");
    } else if gather::is_json(schema) {
        let about = format!("{} As JSON; @FILE reads it from a file, - from standard input", text_of(schema));
        arg = arg.value_name("JSON|@FILE|-").help(about);
    } else if ops::may_be(schema, "array") {
        arg = arg.action(ArgAction::Append).value_name("VALUE");
        // One of several is given by its own name, too; `status` is one already.
        let short = || long.strip_suffix('s').filter(|singular| !singular.ends_with('u')).map(str::to_owned);
        if let Some(singular) = long.strip_suffix("ies").map(|stem| format!("{stem}y")).or_else(short) {
            arg = arg.visible_alias(singular);
        }
    } else {
        arg = arg.value_name(name.to_uppercase()).allow_hyphen_values(true);
    }
    let choices: Vec<String> = ops::choices(schema).into_iter().map(str::to_owned).collect();
    if !choices.is_empty() {
        arg = arg.value_parser(Choices(choices));
    }
    if let Some(default) = command.default_of(name) {
        arg = arg.default_value(default);
    }
    with_twins(leaf, vec![arg], name, schema, required)
}

/// Adds the forms of an argument, and beside a long text or a secret another that reads it from a file or from standard input.
fn with_twins(mut leaf: Command, mut forms: Vec<Arg>, name: &str, schema: &Value, required: bool) -> Command {
    let long = long_name(name);
    if name.ends_with("password") {
        forms.push(
            Arg::new(format!("{name}-stdin"))
                .long(format!("{long}-stdin"))
                .action(ArgAction::SetTrue)
                .help("Read it as a line of standard input; on a terminal, ask for it"),
        );
    } else if takes_file(schema) {
        forms.push(
            Arg::new(format!("{name}-file"))
                .long(format!("{long}-file"))
                .value_name("FILE")
                .value_hint(ValueHint::FilePath)
                .help("Read it from a file, or - for standard input"),
        );
    }
    // One of them, and not two. The first is required, unless one that it conflicts with is given.
    let ids: Vec<Id> = forms.iter().map(|form| form.get_id().clone()).collect();
    for (index, form) in forms.into_iter().enumerate() {
        let others = ids.iter().enumerate().filter(|(other, _)| *other != index).map(|(_, id)| id.clone());
        leaf = leaf.arg(form.conflicts_with_all(others).required(required && index == 0));
    }
    leaf
}

fn takes_file(schema: &Value) -> bool {
    schema["maxLength"].as_u64().is_some_and(|length| length >= LONG)
}

/// Words that help and completions show. The operation itself says which it takes, and what may be meant by another.
#[derive(Clone)]
struct Choices(Vec<String>);

impl TypedValueParser for Choices {
    type Value = String;

    fn parse_ref(
        &self,
        command: &Command,
        argument: Option<&Arg>,
        value: &OsStr,
    ) -> Result<String, clap::Error> {
        StringValueParser::new().parse_ref(command, argument, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new(self.0.iter().map(PossibleValue::new)))
    }
}

fn text_of(schema: &Value) -> String {
    schema["description"].as_str().unwrap_or_default().replace('\n', " ")
}

/// A text in which lines are broken where they are long: the terminal breaks them anew. Lists stay lists.
fn joined(text: &str) -> String {
    let paragraphs = text.split("\n\n").map(|paragraph| {
        if paragraph.contains("\n- ") { paragraph.to_owned() } else { paragraph.replace('\n', " ") }
    });
    paragraphs.collect::<Vec<_>>().join("\n\n")
}
