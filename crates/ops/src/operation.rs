//! Operations. Everything the product can do implements [`Operation`]; transports see only [`Entry`].

mod argument;
mod mistake;
mod surface;

use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, generate::SchemaSettings};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use store::Mode;
use store::model::Kind;

use self::argument::read;
use crate::context::Cx;
use crate::error::{Error, Result};
use crate::identity::Issuers;

pub use self::surface::{
    Change, Columns, Command, FileArguments, Method, Route, SessionChange, Shape, Tool, command, create,
    delete, get, patch, post, put, tool,
};

/// An operation of the product: its arguments, and how it runs. The doc comment of the type is its documentation, the
/// doc comments of its fields document the arguments.
pub trait Operation: DeserializeOwned + JsonSchema + Send + 'static {
    /// Its answer.
    type Output: Output;
    /// The name for agents and logs: `create_epic`.
    const NAME: &'static str;
    /// The commands that run it: `epic create`.
    const COMMANDS: &'static [Command];
    /// The routes that run it.
    const ROUTES: &'static [Route];
    /// The tools for agents. The first has its name.
    const TOOLS: &'static [Tool] = &[];
    /// Its effect on the store, which determines the required rights.
    const EFFECT: Effect;
    /// Its transaction mode; by default derived from the effect.
    const MODE: Option<Mode> = None;
    /// Positional arguments of the command line, in order.
    const POSITIONAL: &'static [&'static str] = &[];
    /// Whether [`Operation::prepare`] does something.
    const PREPARES: bool = false;

    /// Its effect on existing entities; by default derived from the route's method.
    const CHANGE: Change = Change::by(Self::ROUTES);
    /// The structure of its answer; by default derived from the arguments.
    const SHAPE: Option<Shape> = None;
    /// The columns of its answer as a table. They are chosen here and not by the data, so that all pages have the same;
    /// without any, a table shows all that fit.
    const COLUMNS: &'static [Columns] = &[];
    /// The arguments that are a file, if any.
    const TAKES_FILE: Option<FileArguments> = None;
    /// Whether the answer is a file: its `content`, in a `format`, with a `file_name`.
    const ANSWERS_FILE: bool = false;
    /// The field of the answer with a path of the web application. Surfaces complete it to a URL.
    const ANSWERS_PATH: Option<&'static str> = None;
    /// Its effect on the caller's session.
    const SESSION: Option<SessionChange> = None;

    /// Whether it processes files of any size, so that it may take longer than other requests.
    const IS_UNBOUNDED: bool = false;
    /// Whether it uses the caller's checkout, if that is on this machine.
    const LOOKS_BESIDE: bool = false;
    /// Whether the answer has a secret, so that it must not be stored for repeated requests.
    const ANSWERS_SECRET: bool = false;
    /// The argument with which callers authenticate again. A wrong one is a failed authentication, and nothing
    /// that would help guessing is stored for repeated requests.
    const PROOF: Option<&'static str> = None;

    /// Does slow work (parsing) before the writing transaction. It may read.
    fn prepare(&mut self, _: &mut Cx<'_, '_>) -> Result<()> {
        Ok(())
    }

    /// Whether [`Operation::compute`] does something.
    fn computes(&self) -> bool {
        false
    }

    /// Hashes passwords or requests an issuer's keys, between [`Operation::prepare`] and [`Operation::run`]: outside of any
    /// transaction and of the store's threads, a few at a time.
    fn compute(&mut self, _: &Issuers) -> Result<()> {
        Ok(())
    }

    /// The transaction mode with these arguments, if it is not [`Operation::MODE`]. Answers of reads are not stored for
    /// an idempotency key.
    fn mode(&self) -> Option<Mode> {
        None
    }

    /// The number of parts before [`Operation::run`], each in its own transaction, so that other writers get
    /// their turn in between. Called after [`Operation::prepare`].
    fn n_parts(&self) -> usize {
        0
    }

    /// Runs a part. May be called again for the same part if another transaction was faster.
    fn part(&self, _: &mut Cx<'_, '_>, _index: usize) -> Result<()> {
        Ok(())
    }

    /// Adds to the error of a part what earlier parts have done, which stays.
    fn interrupted(&self, error: Error, _index: usize) -> Error {
        error
    }

    /// Runs the operation. May be called again if another transaction was faster.
    fn run(&self, cx: &mut Cx<'_, '_>) -> Result<Self::Output>;
}

/// An answer, from which transports read version and name.
pub trait Output: Serialize + JsonSchema {
    /// The version of the answer, for `ETag`.
    fn version(&self) -> Option<i64> {
        None
    }

    /// The name of the answer, for `Location`.
    fn reference(&self) -> Option<&str> {
        None
    }
}

/// Implements this for a type with a version and a name in these fields.
macro_rules! versioned_output {
    ($type:ty, $($version:ident).+, $($name:ident).+) => {
        impl $crate::operation::Output for $type {
            fn version(&self) -> Option<i64> {
                Some(self.$($version).+)
            }

            fn reference(&self) -> Option<&str> {
                Some(&self.$($name).+)
            }
        }
    };
}

pub(crate) use versioned_output;

/// The effect of an operation on the store, which determines the required rights.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Effect {
    /// Public: no authentication.
    Public,
    /// Reads.
    Reads,
    /// Writes what every user may write: comments.
    Comments,
    /// Writes.
    Writes,
    /// Deletes.
    Destroys,
    /// Pushes what the code and the tests of a repository show.
    Pushes,
    /// Changes the members of a project, or ends somebody else's lease.
    Manages,
    /// Changes what administrators manage.
    Administers,
    /// Changes the caller's own account.
    OwnsAccount,
}

impl Effect {
    /// All effects.
    pub const ALL: [Effect; 9] = [
        Effect::Public,
        Effect::Reads,
        Effect::Comments,
        Effect::Writes,
        Effect::Destroys,
        Effect::Pushes,
        Effect::Manages,
        Effect::Administers,
        Effect::OwnsAccount,
    ];

    /// Whether it happens within projects, in which the caller may have different roles.
    pub const fn is_within_project(self) -> bool {
        !matches!(self, Effect::Public | Effect::Administers | Effect::OwnsAccount)
    }
}

/// An operation with its types erased.
pub struct Entry {
    /// See [`Operation::NAME`].
    pub name: &'static str,
    /// See [`Operation::COMMANDS`].
    pub commands: &'static [Command],
    /// See [`Operation::ROUTES`].
    pub routes: &'static [Route],
    /// See [`Operation::TOOLS`].
    pub tools: &'static [Tool],
    /// See [`Operation::EFFECT`].
    pub effect: Effect,
    /// Its transaction mode.
    pub mode: Mode,
    /// See [`Operation::POSITIONAL`].
    pub positional: &'static [&'static str],
    /// See [`Operation::PREPARES`].
    pub prepares: bool,
    /// See [`Operation::CHANGE`].
    pub change: Change,
    /// See [`Operation::COLUMNS`].
    pub columns: &'static [Columns],
    /// See [`Operation::TAKES_FILE`].
    pub takes_file: Option<FileArguments>,
    /// See [`Operation::ANSWERS_FILE`].
    pub answers_file: bool,
    /// See [`Operation::ANSWERS_PATH`].
    pub answers_path: Option<&'static str>,
    /// See [`Operation::SESSION`].
    pub session: Option<SessionChange>,
    /// See [`Operation::IS_UNBOUNDED`].
    pub is_unbounded: bool,
    /// See [`Operation::LOOKS_BESIDE`].
    pub looks_beside: bool,
    /// See [`Operation::ANSWERS_SECRET`].
    pub answers_secret: bool,
    /// See [`Operation::PROOF`].
    pub proof: Option<&'static str>,
    shape: Option<Shape>,
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
        tools: T::TOOLS,
        effect: T::EFFECT,
        mode,
        positional: T::POSITIONAL,
        prepares: T::PREPARES,
        change: T::CHANGE,
        columns: T::COLUMNS,
        takes_file: T::TAKES_FILE,
        answers_file: T::ANSWERS_FILE,
        answers_path: T::ANSWERS_PATH,
        session: T::SESSION,
        is_unbounded: T::IS_UNBOUNDED,
        looks_beside: T::LOOKS_BESIDE,
        answers_secret: T::ANSWERS_SECRET,
        proof: T::PROOF,
        shape: T::SHAPE,
        input: T::json_schema,
        output: |generator| generator.subschema_for::<T::Output>(),
        parse: |arguments| match read::<T>(arguments) {
            Ok(operation) => Ok(Box::new(operation)),
            Err(error) => Err(error),
        },
    }
}

/// Parsed arguments, ready to run.
pub(crate) trait Prepared: Send {
    fn prepare(&mut self, cx: &mut Cx<'_, '_>) -> Result<()>;
    fn computes(&self) -> bool;
    fn compute(&mut self, issuers: &Issuers) -> Result<()>;
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

    fn compute(&mut self, issuers: &Issuers) -> Result<()> {
        Operation::compute(self, issuers)
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
            Error::new(crate::ErrorKind::InternalError, format!("the answer cannot be written: {error}"))
        })?;
        Ok(Answer { json, version: output.version(), reference: output.reference().map(str::to_owned) })
    }
}

/// The answer of an operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The answer, as JSON.
    pub json: String,
    /// Its version.
    pub version: Option<i64>,
    /// Its name.
    pub reference: Option<String>,
}

impl Entry {
    /// Its name and its effect, for contexts.
    pub(crate) const fn doing(&self) -> (&'static str, Effect) {
        (self.name, self.effect)
    }

    /// Whether it changes the store.
    pub const fn writes(&self) -> bool {
        matches!(self.mode, Mode::Write | Mode::Long)
    }

    /// Whether an `Idempotency-Key` makes a repeated call execute once.
    pub const fn takes_key(&self) -> bool {
        self.writes() && !self.answers_secret && self.proof.is_none()
    }

    /// Completes the path in an answer to the URL of a page of a server.
    pub fn complete_path(&self, answer: &mut Value, server: &str) {
        let path = self.answers_path.and_then(|field| answer.get_mut(field));
        if let Some(Value::String(path)) =
            path.filter(|path| path.as_str().is_some_and(|path| path.starts_with('/')))
        {
            path.insert_str(0, server);
        }
    }

    /// Whether a set of tools has it under its own name.
    pub fn is_in_set(&self, set: &str) -> bool {
        self.tools.iter().any(|tool| tool.name.is_none() && tool.set == set)
    }

    /// The structure of its answer. An operation with a limit returns a page.
    pub fn shape(&self) -> Shape {
        let is_page = || self.input_schema()["properties"].get("offset").is_some();
        let by_arguments = || if is_page() { Shape::Page("data", "/total_count") } else { Shape::Thing };
        self.shape.unwrap_or_else(by_arguments)
    }

    /// The columns of its answer as a table of entities of a kind, if defined.
    pub fn columns_of(&self, kind: Option<&str>) -> Option<&'static [&'static str]> {
        let fits = |of: &Option<Kind>| of.is_none_or(|of| kind == Some(of.name()));
        self.columns.iter().find(|(of, _)| fits(of)).map(|(_, columns)| *columns)
    }

    /// The schema of the arguments, self-contained.
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

    /// The schema of the answer, self-contained.
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

    /// Whether it changes nothing with these arguments: it never does, or it is a dry run.
    pub fn only_reads(&self, arguments: &Value) -> bool {
        let reads = |mode: Mode| matches!(mode, Mode::Point | Mode::Snapshot | Mode::LongSnapshot);
        !self.writes() || self.parse(arguments).is_ok_and(|operation| operation.mode().is_some_and(reads))
    }

    pub(crate) fn parse(&self, arguments: &Value) -> Result<Box<dyn Prepared>> {
        (self.parse)(arguments)
    }
}

impl PartialEq for Entry {
    fn eq(&self, other: &Entry) -> bool {
        self.name == other.name
    }
}

impl fmt::Debug for Entry {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name)
    }
}
