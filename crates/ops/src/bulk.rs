//! Many operations in one transaction: all or none.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use store::Mode;

use crate::caller::Caller;
use crate::context::{Cx, Met};
use crate::error::{Error, FieldError, Result};
use crate::operation::{Command, Effect, Entry, Operation, Output, Route, Shape, Tool, command, post, tool};

/// Run up to 500 operations in one transaction: all of them or none.
///
/// Each operation is validated as if it were called alone. The first failure undoes the others, and the error names its
/// place: `operations[3].title`. With `dry_run` everything is run and rolled back, and the answer has the result or the error
/// of each operation.
///
/// An operation can use the answers of earlier ones: an argument `"$0.id"` becomes the field `id` of the
/// answer of the first operation; `"$2.epic.id"` reads nested objects. A text that begins like this is written with
/// a second dollar: `"$$0.id"`.
///
/// Operations on accounts and tokens cannot be part of it, nor can imports, exports and bulk operations.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Bulk {
    /// The operations, in order: `[{"operation": "create_epic", "arguments": {"title": "Checkout", "priority": 2}}, …]`.
    #[schemars(length(min = 1, max = 500))]
    operations: Vec<Step>,
    /// Run everything and roll it back.
    #[serde(default)]
    dry_run: bool,
}

/// One of the operations.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
struct Step {
    /// The operation's name, such as `create_epic`.
    operation: String,
    /// Its arguments.
    #[serde(default)]
    arguments: Map<String, Value>,
}

/// The results of a list of operations.
#[derive(Serialize, JsonSchema)]
pub struct BulkDone {
    /// Whether everything was rolled back because of `dry_run`.
    dry_run: bool,
    /// How many operations failed; none unless it was a dry run.
    failed: usize,
    /// The result of each operation, in order.
    results: Vec<StepDone>,
}

impl Output for BulkDone {}

/// The result of one operation: an answer or an error.
#[derive(Serialize, JsonSchema)]
#[schemars(inline)]
struct StepDone {
    /// The operation.
    operation: String,
    /// Its answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    answer: Option<Value>,
    /// Why it failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<StepError>,
}

/// Why an operation failed.
#[derive(Serialize, JsonSchema)]
#[schemars(inline)]
struct StepError {
    /// For programs.
    code: String,
    /// For people.
    message: String,
    /// The invalid arguments.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    details: Vec<FieldError>,
}

/// The maximal number of operations in one call.
const STEPS_MAX: usize = 500;

impl Operation for Bulk {
    type Output = BulkDone;
    const NAME: &'static str = "bulk_update";
    const COMMANDS: &'static [Command] = &[command("bulk")];
    const ROUTES: &'static [Route] = &[post("/bulk")];
    const TOOLS: &'static [Tool] = &[tool(
        "bulk",
        r#"{"operations": [{"operation": "update_requirement", "arguments": {"requirement_id": "REQ-001", "priority": 2}}, {"operation": "update_requirement", "arguments": {"requirement_id": "REQ-002", "priority": 2}}], "dry_run": true}"#,
    )];
    // It may delete; the rights of the caller are checked for each part.
    const EFFECT: Effect = Effect::Destroys;
    const SHAPE: Option<Shape> = Some(Shape::Steps);
    const MODE: Option<Mode> = Some(Mode::Long);

    fn mode(&self) -> Option<Mode> {
        let only_reads = |step: &Step| crate::find(&step.operation).is_none_or(|entry| !entry.writes());
        self.operations.iter().all(only_reads).then_some(Mode::Snapshot)
    }

    fn run(&self, cx: &mut Cx<'_, '_>) -> Result<BulkDone> {
        if self.operations.is_empty() || self.operations.len() > STEPS_MAX {
            let message = format!("expected 1 to {STEPS_MAX} operations, found {}", self.operations.len());
            return Err(Error::field("operations", message));
        }
        let doing = if self.dry_run { "trying operations" } else { "running operations" };
        cx.steps.begin(doing, Some(self.operations.len()));
        if self.dry_run {
            return self.rehearse(cx);
        }
        let mut answers = Vec::new();
        for (index, step) in self.operations.iter().enumerate() {
            let answer = step.run(cx, &answers).map_err(|error| error.within(&place(index)))?;
            answers.push(Some(answer));
            cx.steps.advance();
        }
        Ok(self.done(answers.into_iter().map(|answer| Ok(answer.unwrap_or_default()))))
    }
}

impl Bulk {
    /// Runs every operation, and rolls all back.
    fn rehearse(&self, cx: &mut Cx<'_, '_>) -> Result<BulkDone> {
        let (request, caller) = (cx.request, cx.caller()?);
        let doing = (Bulk::NAME, Bulk::EFFECT);
        let mut met = Met::default();
        cx.tx.count_inside();
        let tried = cx.tx.savepoint(|tx| {
            let mut answers = Vec::new();
            let mut outcomes = Vec::new();
            for (index, step) in self.operations.iter().enumerate() {
                let outcome = tx.savepoint(|tx| {
                    let mut cx = Cx::new(tx, request, doing, Some(caller));
                    let outcome = step.run(&mut cx, &answers);
                    met.extend(cx.met);
                    outcome
                });
                match &outcome {
                    Err(error) if error.lost_race || !error.kind.is_callers() => {
                        return Err(Stop::Failed(error.clone()));
                    }
                    outcome => answers.push(outcome.as_ref().ok().cloned()),
                }
                outcomes.push(outcome.map_err(|error| error.within(&place(index))));
                cx.steps.advance();
            }
            Err::<(), Stop>(Stop::Tried(outcomes))
        });
        cx.met.extend(met);
        match tried {
            Err(Stop::Tried(outcomes)) => Ok(self.done(outcomes.into_iter())),
            Err(Stop::Failed(error)) => Err(error),
            Ok(()) => Ok(self.done(std::iter::empty())),
        }
    }

    fn done(&self, outcomes: impl Iterator<Item = Result<Value>>) -> BulkDone {
        let results: Vec<StepDone> = self
            .operations
            .iter()
            .zip(outcomes)
            .map(|(step, outcome)| {
                let (answer, error) = match outcome {
                    Ok(answer) => (Some(answer), None),
                    Err(error) => (None, Some(error)),
                };
                let error = error.map(|error| StepError {
                    code: error.kind.code().to_owned(),
                    message: error.message,
                    details: error.fields,
                });
                StepDone { operation: step.operation.clone(), answer, error }
            })
            .collect();
        let failed = results.iter().filter(|result| result.error.is_some()).count();
        BulkDone { dry_run: self.dry_run, failed, results }
    }
}

/// Ends a dry run, so that everything is rolled back.
enum Stop {
    Tried(Vec<Result<Value>>),
    Failed(Error),
}

impl From<store::Error> for Stop {
    fn from(error: store::Error) -> Stop {
        Stop::Failed(error.into())
    }
}

impl Step {
    /// Runs it with the answers of earlier ones; `None` for one that failed.
    fn run(&self, cx: &mut Cx<'_, '_>, answers: &[Option<Value>]) -> Result<Value> {
        let caller = cx.caller()?;
        let entry = self.entry(caller)?;
        let arguments = self
            .arguments
            .iter()
            .map(|(name, value)| Ok((name.clone(), filled(name, value, answers)?)))
            .collect::<Result<Map<String, Value>>>()?;
        let operation = entry.parse(&Value::Object(arguments))?;
        let answer = cx.within(entry.doing(), |cx| operation.run(cx))?;
        serde_json::from_str(&answer.json)
            .map_err(|error| Error::new(crate::ErrorKind::InternalError, error.to_string()))
    }

    fn entry(&self, caller: &Caller) -> Result<&'static Entry> {
        let Some(entry) = crate::find(&self.operation) else {
            let names: Vec<&str> = crate::OPERATIONS.iter().map(|entry| entry.name).collect();
            let near = nearest::nearest(&self.operation, names.iter().copied())
                .map(|name| format!("; did you mean {name}?"));
            let message = format!("there is no such operation{}", near.unwrap_or_default());
            return Err(Error::field("operation", message));
        };
        let of_account = matches!(entry.effect, Effect::OwnsAccount | Effect::Public);
        if of_account || entry.prepares || entry.answers_secret || entry.is_in_set("bulk") {
            return Err(Error::field("operation", format!("{} cannot be part of a list", entry.name)));
        }
        caller.may(entry.effect)?;
        Ok(entry)
    }
}

fn place(index: usize) -> String {
    format!("operations[{index}]")
}

/// An argument with references to earlier answers replaced by their values.
fn filled(field: &str, value: &Value, answers: &[Option<Value>]) -> Result<Value> {
    match value {
        Value::String(text) => match Mention::of(text) {
            Mention::None => Ok(value.clone()),
            Mention::Escaped(text) => Ok(Value::String(text.to_owned())),
            Mention::Answer { index, path } => {
                looked_up(index, path, answers).map_err(|message| Error::field(field, message))
            }
        },
        Value::Array(items) => {
            let items = items.iter().enumerate();
            items.map(|(index, item)| filled(&format!("{field}[{index}]"), item, answers)).collect()
        }
        Value::Object(fields) => {
            let fields = fields.iter();
            let fields = fields
                .map(|(name, value)| Ok((name.clone(), filled(&format!("{field}.{name}"), value, answers)?)));
            fields.collect::<Result<Map<_, _>>>().map(Value::Object)
        }
        _ => Ok(value.clone()),
    }
}

/// A reference to an earlier answer.
#[derive(Debug, PartialEq, Eq)]
enum Mention<'a> {
    None,
    Escaped(&'a str),
    Answer { index: usize, path: &'a str },
}

impl Mention<'_> {
    fn of(text: &str) -> Mention<'_> {
        let Some(rest) = text.strip_prefix('$') else { return Mention::None };
        let (digits, path) = rest.trim_start_matches('$').split_once('.').unwrap_or_default();
        let is_name = |part: &str| {
            !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
        };
        match digits.parse() {
            Ok(index)
                if digits.bytes().all(|byte| byte.is_ascii_digit())
                    && path.starts_with(|char: char| char.is_ascii_alphabetic())
                    && path.split('.').all(is_name) =>
            {
                if rest.starts_with('$') {
                    Mention::Escaped(rest)
                } else {
                    Mention::Answer { index, path }
                }
            }
            _ => Mention::None,
        }
    }
}

fn looked_up(index: usize, path: &str, answers: &[Option<Value>]) -> Result<Value, String> {
    let answer = match answers.get(index) {
        Some(Some(answer)) => answer,
        Some(None) => return Err(format!("operations[{index}] failed, so it has no answer to use")),
        None => return Err(format!("expected an earlier operation, found operations[{index}]")),
    };
    let found = path.split('.').try_fold(answer, |value, part| match value {
        Value::Array(items) => items.get(part.parse::<usize>().ok()?),
        value => value.get(part),
    });
    found.cloned().ok_or_else(|| format!("the answer of operations[{index}] has no {path}"))
}

#[cfg(test)]
mod tests {
    use super::Mention;

    #[test]
    fn only_whole_texts_of_the_right_form_mention_answers() {
        for (text, expected) in [
            ("$0.id", Mention::Answer { index: 0, path: "id" }),
            ("$12.epic.id", Mention::Answer { index: 12, path: "epic.id" }),
            ("$$0.id", Mention::Escaped("$0.id")),
            ("$$$0.id", Mention::Escaped("$$0.id")),
            ("$0", Mention::None),
            ("$0.", Mention::None),
            ("$5.00", Mention::None),
            ("$5.00 a month", Mention::None),
            ("$x.id", Mention::None),
            ("costs $0.id", Mention::None),
            ("$+1.id", Mention::None),
            ("$", Mention::None),
        ] {
            assert_eq!(Mention::of(text), expected, "{text}");
        }
    }
}
