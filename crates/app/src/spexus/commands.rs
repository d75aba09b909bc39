//! Runs the command of an operation: on the local store, or on a server with `--server`.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use clap::ArgMatches;
use ops::{
    Arguments, Call, Credentials, Engine, Entry, Error, ErrorKind, FieldError, OnProgress, Progress, known,
};
use serde_json::Value;
use store::Store;
use store::model::{Reference, Via};
use tracing::level_filters::LevelFilter;

use super::bar::Bar;
use super::config::{self, StoreConfig};
use super::gather::{self, Gathered, gather};
use super::remote::Remote;
use super::target::Target;
use super::{Exit, auth, credentials, now, print, several, show};
use crate::managed::{PROJECT_FILE, origin};
use crate::tmkb::Patterns;

/// Runs the operation that some words name.
pub fn run(first: &str, matches: &ArgMatches) -> Exit {
    let mut words = vec![first.to_owned()];
    let mut leaf = matches;
    while let Some((word, sub)) = leaf.subcommand() {
        words.push(word.to_owned());
        leaf = sub;
    }
    let words = words.join(" ");
    let found = ops::OPERATIONS.iter().find_map(|entry| {
        entry.commands.iter().find(|command| command.words == words).map(|command| (entry, command))
    });
    let Some((entry, command)) = found else {
        print::tell(&format!("there is no command {words}"));
        return Exit::Usage;
    };
    let as_json = leaf.get_flag("json");
    let is_file = entry.answers_file && !as_json;
    let is = |known: &Entry| entry.name == known.name;
    let result = gather(entry, command, leaf).and_then(|gathered| {
        if is_file {
            return export(entry, gathered.arguments, leaf);
        }
        let gathered =
            if is(known::CLEAR_SUSPECT_LINK) { several::links_of(gathered, leaf)? } else { gathered };
        if !gathered.several.is_empty() {
            return several::call(entry, command, gathered, leaf).map(Finish::Answer);
        }
        if is(known::LOGIN) && auth::is_for_server(leaf) {
            return auth::login(gathered.arguments, leaf).map(Finish::Exit);
        }
        if is(known::LOGOUT) && auth::is_for_server(leaf) {
            return auth::logout(leaf).map(Finish::Exit);
        }
        if is(known::GET_ENTITY) && !as_json {
            return show::run(&place(leaf)?, gathered.arguments).map(Finish::Exit);
        }
        call(entry, gathered, leaf).map(Finish::Answer)
    });
    ended(entry, result, as_json)
}

/// Tells what came of a command, and returns the exit code.
pub fn ended(entry: &'static Entry, result: Result<Finish, CommandProblem>, as_json: bool) -> Exit {
    match result {
        Ok(Finish::Answer(answer)) => finish(entry, &answer, as_json),
        Ok(Finish::Exit(exit)) => exit,
        Err(CommandProblem::Refused(error)) => {
            print::error(&error, as_json);
            if let Some(hint) = hint(&error).filter(|_| !as_json) {
                print::tell(&hint);
            }
            exit_of(entry, &error)
        }
        Err(problem) => told(problem),
    }
}

/// Tells why a command has no answer, and returns the exit code.
pub fn told(problem: CommandProblem) -> Exit {
    match problem {
        CommandProblem::Refused(error) => {
            print::error(&error, false);
            Exit::Refused
        }
        CommandProblem::Usage(message) => {
            print::tell(&message);
            Exit::Usage
        }
    }
}

/// An argument that makes no sense is wrong usage. What stands in a file or in a list of operations is not: there the
/// command was right, and the content is refused.
fn exit_of(entry: &Entry, error: &Error) -> Exit {
    let known = Arguments::new(entry.input_schema());
    let is_content = |FieldError { field, .. }: &FieldError| {
        let name = field.split(['[', '.']).next().unwrap_or_default();
        match known.property(name) {
            Some(schema) => name != field && gather::is_json(schema),
            // `arguments` is all of them together.
            None => field != "arguments",
        }
    };
    let all_content = !error.fields.is_empty() && error.fields.iter().all(is_content);
    if error.kind == ErrorKind::ValidationError && !all_content { Exit::Usage } else { Exit::Refused }
}

/// How to bring back what was deleted.
fn hint(error: &Error) -> Option<String> {
    let can_be_restored = error.message.ends_with("it can be restored");
    let name = error.message.split(' ').next().filter(|_| can_be_restored)?;
    let Reference::Numbered { kind, .. } = Reference::parse(name)? else { return None };
    Some(format!("spexus {} restore {name} brings it back", kind.name().replace('_', "-")))
}

/// Why a command has no answer.
pub enum CommandProblem {
    /// The operation refused.
    Refused(Error),
    /// It could not be asked.
    Usage(String),
}

impl fmt::Display for CommandProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CommandProblem::Refused(error) => f.write_str(&error.message),
            CommandProblem::Usage(message) => f.write_str(message),
        }
    }
}

impl From<Error> for CommandProblem {
    fn from(error: Error) -> Self {
        CommandProblem::Refused(error)
    }
}

/// What came of a command.
pub enum Finish {
    /// An answer to print.
    Answer(Value),
    /// Nothing is left to print.
    Exit(Exit),
}

fn call(entry: &'static Entry, gathered: Gathered, matches: &ArgMatches) -> Result<Value, CommandProblem> {
    place(matches)?.call_with(entry, gathered.arguments, gathered.upload)
}

/// Writes an export to a file or to standard output, as it comes.
fn export(entry: &'static Entry, arguments: Value, matches: &ArgMatches) -> Result<Finish, CommandProblem> {
    let mut target = Target::new(super::arguments::file(matches, "output"));
    let done = match place(matches)? {
        Place::Server(remote) => remote.download(entry, arguments, &mut target).map(drop),
        Place::Store { engine, credentials, .. } => {
            let call = Call::new(entry, arguments, credentials, ops::Request::new(Via::Cli, now()));
            let sink: Box<dyn ops::Sink> = Box::new(target.clone());
            let reply = engine.wait(Call { progress: Some(progress()), sink: Some(sink), ..call });
            reply.result.map(drop).map_err(CommandProblem::Refused)
        }
    };
    match target.finish() {
        // That it could not be written is why the export failed.
        Some(exit) => Ok(Finish::Exit(exit)),
        None => done.map(|()| Finish::Exit(Exit::Done)),
    }
}

/// Where operations run.
pub enum Place {
    /// On a server.
    Server(Remote),
    /// On the local store.
    Store {
        /// What runs them.
        engine: Engine,
        /// Who acts.
        credentials: Credentials,
        /// Where the server of the store is reached, if there is one.
        public_url: String,
    },
}

impl Place {
    /// Runs an operation that takes no file.
    pub fn call(&self, entry: &'static Entry, arguments: Value) -> Result<Value, CommandProblem> {
        self.call_with(entry, arguments, None)
    }

    /// Runs an operation with the file that it takes.
    pub fn call_with(
        &self,
        entry: &'static Entry,
        arguments: Value,
        upload: Option<ops::Upload>,
    ) -> Result<Value, CommandProblem> {
        match self {
            Place::Server(remote) => remote.call(entry, arguments, upload),
            Place::Store { engine, credentials, public_url } => {
                let request = ops::Request::new(Via::Cli, now());
                let call = Call::new(entry, arguments, credentials.clone(), request);
                let reply = engine.wait(Call { progress: Some(progress()), upload, ..call });
                let answer = reply.result?;
                let mut answer = serde_json::from_str(&answer.json)
                    .map_err(|error| CommandProblem::Usage(error.to_string()))?;
                entry.complete_path(&mut answer, public_url);
                Ok(answer)
            }
        }
    }
}

/// Checks the server that the file of a project names, which nobody has checked. It is asked only if the user has named the
/// same one: tokens are for one origin.
pub fn check_server(matches: &ArgMatches, named: Option<&str>) -> Result<(), CommandProblem> {
    let mut settings = config::settings(matches);
    let server: Option<String> = settings.optional("SPEXUS_SERVER");
    let own = server.as_deref().map(|server| origin(server).unwrap_or_else(|_| server.to_owned()));
    match (named, own) {
        (Some(named), None) if credentials::find(named).is_some() => Ok(()),
        (Some(named), None) => {
            let message = format!(
                "{PROJECT_FILE} names the server {named}, which is not known here; if you trust it, log in with `spexus auth login --server {named}`, or pass --server and --token"
            );
            Err(CommandProblem::Usage(message))
        }
        (Some(named), Some(own)) if named != own => {
            let message = format!(
                "{PROJECT_FILE} names the server {named}, and your token is for {own}; it is not sent elsewhere"
            );
            Err(CommandProblem::Usage(message))
        }
        _ => Ok(()),
    }
}

/// Where the operations of a command run.
pub fn place(matches: &ArgMatches) -> Result<Place, CommandProblem> {
    place_of(matches, None)
}

/// The same in a project that names a server: [`check_server`] has found that the user is logged in there, or asks it anyway.
pub fn place_of(matches: &ArgMatches, project_server: Option<&str>) -> Result<Place, CommandProblem> {
    let mut settings = config::settings(matches);
    crate::logging::start_with_time(&mut settings, LevelFilter::WARN);
    let server = config::server(&mut settings);
    let server = server
        .or_else(|| project_server.filter(|named| credentials::find(named).is_some()).map(str::to_owned));
    let token: Option<String> = settings.optional("SPEXUS_TOKEN");
    let token = token.or_else(|| Some(credentials::find(server.as_deref()?)?.secret));
    let acting: Option<String> = settings.optional("SPEXUS_AS");
    let config::Config { store, http, .. } = config::read(&mut settings);
    settings.check().map_err(|problems| CommandProblem::Usage(problems.to_string()))?;
    match server {
        Some(server) => Ok(Place::Server(Remote::new(&server, token)?)),
        None => {
            let (store, credentials) = (open(&store)?, Credentials::Local(acting));
            let engine = Engine::new(store).knowing(Arc::new(Patterns::default()));
            let (asked, by) = (engine.clone(), credentials.clone());
            let engine = engine.beside(Arc::new(move || crate::managed::look_from_here(&asked, &by)));
            Ok(Place::Store { engine, credentials, public_url: http.public_url })
        }
    }
}

/// Whether there is something to ask: a server, or a store, which this does not make.
pub fn has_store(matches: &ArgMatches, names_server: bool) -> Result<(), String> {
    let mut settings = config::settings(matches);
    let is_remote = names_server || config::server(&mut settings).is_some();
    let config::Config { store, .. } = config::read(&mut settings);
    match !is_remote && store.location.is_missing() {
        true => Err(format!("there is no store at {}", store.location)),
        false => Ok(()),
    }
}

/// Draws how far long work has come.
fn progress() -> OnProgress {
    let bar = Mutex::new(Bar::new());
    Box::new(move |Progress { n_done, n_total, doing }| {
        let mut bar = bar.lock().unwrap_or_else(PoisonError::into_inner);
        bar.draw(doing, n_done as u64, n_total.map(|n_total| n_total as u64));
    })
}

/// A command asks one thing after the other.
const CONNECTIONS: usize = 2;

/// Opens the local store, with its first start behind it.
pub fn open(config: &StoreConfig) -> Result<Store, CommandProblem> {
    let refused = |message: String| CommandProblem::Usage(format!("{}: {message}", config.location));
    let store = config.open(CONNECTIONS).map_err(CommandProblem::Usage)?;
    let request = ops::Request::new(Via::Cli, now());
    let first = ops::first_start(&store, &request).map_err(|error| refused(error.to_string()))?;
    if let Some(first) = first {
        // Not on stdout, where scripts read the answer.
        print::tell(&format!("A new store is at {}. Its administrator, shown once:", config.location));
        print::tell(&format!(
            "  user {}  password {}  token {}",
            first.username, first.password, first.token
        ));
    }
    Ok(store)
}

fn finish(entry: &Entry, answer: &Value, as_json: bool) -> Exit {
    let printed = if as_json { print::json(answer) } else { print::answer(entry, answer) };
    if printed != Exit::Done && entry.writes() {
        print::tell("the change was made, but its output could not be written");
    }
    printed.and(if has_findings(answer) { Exit::Refused } else { Exit::Done })
}

/// Whether something that was only tried would fail: rows of an import, operations of a list.
fn has_findings(answer: &Value) -> bool {
    let problems = answer["problems"].as_array().is_some_and(|problems| !problems.is_empty());
    answer["dry_run"] == true && (problems || answer["failed"].as_u64().is_some_and(|failed| failed > 0))
}
