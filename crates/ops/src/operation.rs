//! What an operation is. Everything the product can do implements [`Operation`]; transports see only [`Entry`].

use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, generate::SchemaSettings};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use store::Mode;

use crate::context::Cx;
use crate::error::{Error, FieldError, Result};

/// Something the product can do: its arguments, and how it runs. The doc comment of the type is its documentation, the
/// doc comments of its fields document the arguments.
pub trait Operation: DeserializeOwned + JsonSchema + Send + 'static {
    /// What it answers.
    type Output: Output;
    /// The name for agents and logs: `create_epic`.
    const NAME: &'static str;
    /// The commands that run it: `epic create`.
    const COMMANDS: &'static [Command];
    /// The routes that run it.
    const ROUTES: &'static [Route];
    /// The set of tools that shows it to agents, if any.
    const TOOLSET: Option<&'static str> = None;
    /// What it does to the store, and so who may.
    const EFFECT: Effect;
    /// How it uses the database; none follows the effect.
    const MODE: Option<Mode> = None;
    /// Arguments that the command line takes without a flag, in order.
    const POSITIONAL: &'static [&'static str] = &[];
    /// Whether [`Operation::prepare`] does something.
    const PREPARES: bool = false;

    /// Whether it works through files of any size, so that it may take longer than other requests.
    const IS_UNBOUNDED: bool = false;
    /// Whether the answer holds a secret, which must not be kept to answer the same request again.
    const ANSWERS_SECRET: bool = false;
    /// The argument by which callers prove once more who they are. A wrong one is a failed authentication; and nothing that
    /// could be guessed from is kept of the request, to answer it again.
    const PROOF: Option<&'static str> = None;

    /// Does what is slow (parsing) before the transaction that writes. It may read.
    fn prepare(&mut self, _: &mut Cx<'_, '_>) -> Result<()> {
        Ok(())
    }

    /// Whether [`Operation::compute`] has something to do.
    fn computes(&self) -> bool {
        false
    }

    /// Hashes passwords, between [`Operation::prepare`] and [`Operation::run`]: outside of any transaction and off the
    /// store's threads, a few at a time.
    fn compute(&mut self) -> Result<()> {
        Ok(())
    }

    /// How it uses the database with these arguments, where that is not [`Operation::MODE`]. What only reads is not kept for
    /// an idempotency key.
    fn mode(&self) -> Option<Mode> {
        None
    }

    /// How many parts are done before [`Operation::run`], each in a transaction of its own, so that other writers get
    /// their turn in between. Asked after [`Operation::prepare`].
    fn n_parts(&self) -> usize {
        0
    }

    /// Does a part. May be called again for the same part when another transaction was faster.
    fn part(&self, _: &mut Cx<'_, '_>, _index: usize) -> Result<()> {
        Ok(())
    }

    /// Adds to the error of a part what the parts before it have done, which stays.
    fn interrupted(&self, error: Error, _index: usize) -> Error {
        error
    }

    /// Does it. May be called again when another transaction was faster.
    fn run(&self, cx: &mut Cx<'_, '_>) -> Result<Self::Output>;
}

/// An answer. Transports ask it for its version and its name.
pub trait Output: Serialize + JsonSchema {
    /// The version of what is answered, for `ETag`.
    fn version(&self) -> Option<i64> {
        None
    }

    /// The name of what is answered, for `Location`.
    fn reference(&self) -> Option<&str> {
        None
    }
}

/// What an operation does to the store, and so who may run it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Effect {
    /// Anybody may, without saying who they are.
    Public,
    /// Reads.
    Reads,
    /// Writes what every user may write: comments.
    Comments,
    /// Writes.
    Writes,
    /// Deletes.
    Destroys,
    /// Changes who is a member of a project.
    Manages,
    /// Changes what administrators look after.
    Administers,
    /// Changes the caller's own account.
    OwnsAccount,
}

impl Effect {
    /// All effects.
    pub const ALL: [Effect; 8] = [
        Effect::Public,
        Effect::Reads,
        Effect::Comments,
        Effect::Writes,
        Effect::Destroys,
        Effect::Manages,
        Effect::Administers,
        Effect::OwnsAccount,
    ];

    /// Whether it is done within projects, each of which may give the caller another role.
    pub const fn is_within_project(self) -> bool {
        matches!(self, Effect::Reads | Effect::Comments | Effect::Writes | Effect::Destroys | Effect::Manages)
    }
}

/// An HTTP method.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[allow(missing_docs)]
pub enum Method {
    Get,
    Post,
    Put,
    Patch,
    Delete,
}

impl Method {
    /// The name in a request.
    pub const fn name(self) -> &'static str {
        match self {
            Method::Get => "GET",
            Method::Post => "POST",
            Method::Put => "PUT",
            Method::Patch => "PATCH",
            Method::Delete => "DELETE",
        }
    }
}

/// A way to an operation over HTTP. Parts of the path in braces are arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Route {
    /// The method.
    pub method: Method,
    /// The path below `/api/v1`.
    pub path: &'static str,
    /// Arguments that the route itself decides.
    pub bind: &'static [(&'static str, &'static str)],
    /// Arguments that make no sense on it: filters that its kind does not have.
    pub without: &'static [&'static str],
    /// The status of success.
    pub status: u16,
}

impl Route {
    /// Binds arguments: the route of a kind decides the kind.
    #[must_use]
    pub const fn with(mut self, bind: &'static [(&'static str, &'static str)]) -> Route {
        self.bind = bind;
        self
    }

    /// Leaves arguments out that would be refused.
    #[must_use]
    pub const fn without(mut self, names: &'static [&'static str]) -> Route {
        self.without = names;
        self
    }

    /// Whether a request may say an argument, in the path or elsewhere.
    pub fn takes(&self, name: &str) -> bool {
        !self.without.contains(&name) && self.bind.iter().all(|(bound, _)| *bound != name)
    }

    /// The names of the arguments in the path.
    pub fn parameters(&self) -> impl Iterator<Item = &'static str> {
        self.path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'))
    }
}

/// `GET path`.
pub const fn get(path: &'static str) -> Route {
    Route { method: Method::Get, path, bind: &[], without: &[], status: 200 }
}

/// `POST path`, which makes something new.
pub const fn create(path: &'static str) -> Route {
    Route { method: Method::Post, path, bind: &[], without: &[], status: 201 }
}

/// `POST path`, which does something.
pub const fn post(path: &'static str) -> Route {
    Route { method: Method::Post, path, bind: &[], without: &[], status: 200 }
}

/// `PUT path`.
pub const fn put(path: &'static str) -> Route {
    Route { method: Method::Put, path, bind: &[], without: &[], status: 200 }
}

/// `PATCH path`.
pub const fn patch(path: &'static str) -> Route {
    Route { method: Method::Patch, path, bind: &[], without: &[], status: 200 }
}

/// `DELETE path`.
pub const fn delete(path: &'static str) -> Route {
    Route { method: Method::Delete, path, bind: &[], without: &[], status: 200 }
}

/// A way to an operation on the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Command {
    /// Its words.
    pub words: &'static str,
    /// Arguments that the command itself decides.
    pub bind: &'static [(&'static str, &'static str)],
    /// Arguments that the command does not take.
    pub without: &'static [&'static str],
    /// What it does, where that is not what the operation says.
    pub summary: Option<&'static str>,
}

/// A command.
pub const fn command(words: &'static str) -> Command {
    Command { words, bind: &[], without: &[], summary: None }
}

impl Command {
    /// Binds arguments: the command of a kind decides the kind.
    #[must_use]
    pub const fn with(mut self, bind: &'static [(&'static str, &'static str)]) -> Command {
        self.bind = bind;
        self
    }

    /// Leaves arguments out.
    #[must_use]
    pub const fn without(mut self, names: &'static [&'static str]) -> Command {
        self.without = names;
        self
    }

    /// Says what the command does, where it does not do all that the operation can.
    #[must_use]
    pub const fn about(mut self, summary: &'static str) -> Command {
        self.summary = Some(summary);
        self
    }

    /// Whether it takes an argument.
    pub fn takes(&self, name: &str) -> bool {
        !self.without.contains(&name) && self.bind.iter().all(|(bound, _)| *bound != name)
    }
}

/// An operation without its types.
pub struct Entry {
    /// See [`Operation::NAME`].
    pub name: &'static str,
    /// See [`Operation::COMMANDS`].
    pub commands: &'static [Command],
    /// See [`Operation::ROUTES`].
    pub routes: &'static [Route],
    /// See [`Operation::TOOLSET`].
    pub toolset: Option<&'static str>,
    /// See [`Operation::EFFECT`].
    pub effect: Effect,
    /// How it uses the database.
    pub mode: Mode,
    /// See [`Operation::POSITIONAL`].
    pub positional: &'static [&'static str],
    /// See [`Operation::PREPARES`].
    pub prepares: bool,
    /// See [`Operation::IS_UNBOUNDED`].
    pub is_unbounded: bool,
    /// See [`Operation::ANSWERS_SECRET`].
    pub answers_secret: bool,
    /// See [`Operation::PROOF`].
    pub proof: Option<&'static str>,
    input: fn(&mut SchemaGenerator) -> Schema,
    output: fn(&mut SchemaGenerator) -> Schema,
    parse: fn(&Value) -> Result<Box<dyn Prepared>>,
}

/// The entry of an operation.
pub const fn entry<T: Operation>() -> Entry {
    let mode = match (T::MODE, T::EFFECT) {
        (Some(mode), _) => mode,
        (None, Effect::Reads) => Mode::Snapshot,
        (None, _) => Mode::Write,
    };
    Entry {
        name: T::NAME,
        commands: T::COMMANDS,
        routes: T::ROUTES,
        toolset: T::TOOLSET,
        effect: T::EFFECT,
        mode,
        positional: T::POSITIONAL,
        prepares: T::PREPARES,
        is_unbounded: T::IS_UNBOUNDED,
        answers_secret: T::ANSWERS_SECRET,
        proof: T::PROOF,
        input: T::json_schema,
        output: |generator| generator.subschema_for::<T::Output>(),
        parse: |arguments| match read::<T>(arguments) {
            Ok(operation) => Ok(Box::new(operation)),
            Err(error) => Err(error),
        },
    }
}

/// Arguments that were understood, ready to run.
pub(crate) trait Prepared: Send {
    fn prepare(&mut self, cx: &mut Cx<'_, '_>) -> Result<()>;
    fn computes(&self) -> bool;
    fn compute(&mut self) -> Result<()>;
    fn mode(&self) -> Option<Mode>;
    fn n_parts(&self) -> usize;
    fn part(&self, cx: &mut Cx<'_, '_>, index: usize) -> Result<()>;
    fn interrupted(&self, error: Error, index: usize) -> Error;
    fn run(&self, cx: &mut Cx<'_, '_>) -> Result<Answer>;
}

impl<T: Operation> Prepared for T {
    fn prepare(&mut self, cx: &mut Cx<'_, '_>) -> Result<()> {
        Operation::prepare(self, cx)
    }

    fn computes(&self) -> bool {
        Operation::computes(self)
    }

    fn compute(&mut self) -> Result<()> {
        Operation::compute(self)
    }

    fn mode(&self) -> Option<Mode> {
        Operation::mode(self)
    }

    fn n_parts(&self) -> usize {
        Operation::n_parts(self)
    }

    fn part(&self, cx: &mut Cx<'_, '_>, index: usize) -> Result<()> {
        Operation::part(self, cx, index)
    }

    fn interrupted(&self, error: Error, index: usize) -> Error {
        Operation::interrupted(self, error, index)
    }

    fn run(&self, cx: &mut Cx<'_, '_>) -> Result<Answer> {
        let output = Operation::run(self, cx)?;
        let json = serde_json::to_string(&output).map_err(|error| {
            Error::new(crate::Kind::InternalError, format!("the answer cannot be written: {error}"))
        })?;
        Ok(Answer { json, version: output.version(), reference: output.reference().map(str::to_owned) })
    }
}

/// What an operation answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The answer, as JSON.
    pub json: String,
    /// The version of what was answered.
    pub version: Option<i64>,
    /// The name of what was answered.
    pub reference: Option<String>,
}

impl Entry {
    /// Its name and its effect, which a context needs to know.
    pub(crate) const fn doing(&self) -> (&'static str, Effect) {
        (self.name, self.effect)
    }

    /// Whether it changes the store.
    pub const fn writes(&self) -> bool {
        matches!(self.mode, Mode::Write | Mode::Long)
    }

    /// Whether an `Idempotency-Key` makes the same call twice happen once.
    pub const fn takes_key(&self) -> bool {
        self.writes() && !self.answers_secret && self.proof.is_none()
    }

    /// The schema of the arguments, complete in itself.
    pub fn input_schema(&self) -> Value {
        let mut generator = SchemaSettings::draft2020_12()
            .with(|settings| settings.inline_subschemas = true)
            .into_generator();
        (self.input)(&mut generator).to_value()
    }

    /// The schema of the arguments, with shared parts in the generator.
    pub fn input_schema_with(&self, generator: &mut SchemaGenerator) -> Schema {
        (self.input)(generator)
    }

    /// The schema of the answer, with shared parts in the generator.
    pub fn output_schema_with(&self, generator: &mut SchemaGenerator) -> Schema {
        (self.output)(generator)
    }

    /// The schema of the answer, complete in itself.
    pub fn output_schema(&self) -> Value {
        let settings = SchemaSettings::draft2020_12().with(|settings| settings.inline_subschemas = true);
        let mut generator = settings.for_serialize().into_generator();
        (self.output)(&mut generator).to_value()
    }

    /// The documentation: the doc comment of the operation.
    pub fn documentation(&self) -> String {
        let schema = self.input_schema();
        schema.get("description").and_then(Value::as_str).unwrap_or_default().to_owned()
    }

    /// The first paragraph of the documentation, on one line.
    pub fn summary(&self) -> String {
        let text = self.documentation();
        text.split("\n\n").next().unwrap_or_default().replace('\n', " ")
    }

    pub(crate) fn parse(&self, arguments: &Value) -> Result<Box<dyn Prepared>> {
        (self.parse)(arguments)
    }
}

impl fmt::Debug for Entry {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name)
    }
}

fn read<T: DeserializeOwned>(arguments: &Value) -> Result<T> {
    serde_path_to_error::deserialize(arguments).map_err(|error| {
        let path = error.path().to_string();
        Error::fields(vec![explain(&path, &error.into_inner().to_string())])
    })
}

/// Turns the words of the deserializer into ours, and names the field.
fn explain(path: &str, message: &str) -> FieldError {
    let quoted: Vec<&str> = message.split('`').skip(1).step_by(2).collect();
    let within = |name: &str| if path == "." { name.to_owned() } else { format!("{path}.{name}") };
    if let (true, Some(name)) = (message.starts_with("missing field"), quoted.first()) {
        return FieldError { field: within(name), message: "is required".to_owned(), allowed: Vec::new() };
    }
    if let (true, Some((name, known))) = (message.starts_with("unknown field"), quoted.split_first()) {
        let nearest = nearest(name, known).map(|name| format!("; did you mean {name}?")).unwrap_or_default();
        let parent = path.rsplit_once('.').map(|(parent, _)| format!("{parent}.")).unwrap_or_default();
        let field = if path.ends_with(name) { path.to_owned() } else { format!("{parent}{name}") };
        let allowed = known.iter().map(|&name| name.to_owned()).collect();
        return FieldError { field, message: format!("is not known here{nearest}"), allowed };
    }
    if let (true, Some((name, known))) = (message.starts_with("unknown variant"), quoted.split_first()) {
        let allowed: Vec<String> = known.iter().map(|&name| name.to_owned()).collect();
        let message = format!("expected one of {}, found {name:?}", allowed.join(", "));
        return FieldError { field: path.to_owned(), message, allowed };
    }
    let message = match message.split_once(", expected ") {
        Some((found, expected)) => {
            let found = found.trim_start_matches("invalid type: ").trim_start_matches("invalid value: ");
            format!("expected {}, found {}", wanted(expected), plainly(found))
        }
        None => message.to_owned(),
    };
    let field = if path == "." { "arguments" } else { path };
    FieldError { field: field.to_owned(), message, allowed: Vec::new() }
}

/// What the deserializer waits for, as a person would say it.
fn wanted(expected: &str) -> &str {
    match expected {
        "string or map" | "a string" | "a borrowed string" => "a text",
        "a sequence" => "a list",
        "a boolean" => "true or false",
        "map" | "a map" => "an object",
        other => other,
    }
}

/// A value as a person would write it: `9` for `integer `9``.
fn plainly(found: &str) -> &str {
    for kind in ["integer ", "floating point ", "boolean ", "string "] {
        if let Some(value) = found.strip_prefix(kind) {
            return value.trim_matches('`');
        }
    }
    match found {
        "map" => "an object",
        "sequence" => "a list",
        other => other,
    }
}

/// The nearest of some names, if one is near.
pub fn nearest<'a>(name: &str, known: &[&'a str]) -> Option<&'a str> {
    let distance = |other: &str| strsim::damerau_levenshtein(name, other);
    // Who says `type` means `type_id`.
    if let Some(longer) = known.iter().find(|other| other.strip_suffix("_id") == Some(name)) {
        return Some(longer);
    }
    known
        .iter()
        .copied()
        .min_by_key(|other| distance(other))
        .filter(|other| distance(other) <= 1 + name.len() / 4)
}

#[cfg(test)]
mod tests {
    use super::explain;

    #[test]
    fn errors_name_the_field_and_what_was_expected() {
        for (path, message, expected) in [
            (".", "missing field `title`", "title: is required"),
            (
                "titel",
                "unknown field `titel`, expected `title` or `priority`",
                "titel: is not known here; did you mean title?",
            ),
            (
                "priority",
                "invalid value: integer `9`, expected a whole number from 1 to 4",
                "priority: expected a whole number from 1 to 4, found 9",
            ),
            (
                "sort",
                "unknown variant `x`, expected one of `title`, `number`",
                "sort: expected one of title, number, found \"x\"",
            ),
            ("role", "invalid type: null, expected string or map", "role: expected a text, found null"),
            (
                "scopes",
                "invalid type: string \"read\", expected a sequence",
                "scopes: expected a list, found \"read\"",
            ),
            ("operations[2]", "missing field `operation`", "operations[2].operation: is required"),
        ] {
            let error = explain(path, message);
            assert_eq!(format!("{}: {}", error.field, error.message), expected);
        }
    }
}
