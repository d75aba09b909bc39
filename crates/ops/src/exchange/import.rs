//! A file becomes part of the store: read, compared with what is there, and written only if nothing is wrong with it.

use ::exchange::{Kind as RecordKind, PROBLEMS_MAX, Problem as FileProblem, Reading};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use store::project::Project;
use store::{Mode, prompt, relationship};

use super::plan::{Outcome, Plan};
use super::{FormatName, RECORDS_MAX, entities, links, prompts, remarks, setup};
use crate::context::{Cx, to_value};
use crate::error::{Error, FieldError, Kind as ErrorKind, Result};
use crate::input::Text;
use crate::operation::{Command, Effect, FileArguments, Operation, Output, Route, Tool, command, post, tool};

/// Import requirements and all that belongs to them from JSON, CSV, Markdown or ReqIF: everything, or nothing.
///
/// A row whose `reference_id` exists changes that thing, where it differs; an empty field leaves what is there. A row
/// without one makes something new, with the next number. All mistakes are told at once, each with its row and field.
/// With `dry_run` nothing is changed, and the answer says what would be.
///
/// Projects, types, statuses and prompts can only be changed by administrators, and so can what others have written.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Import {
    /// The format.
    format: FormatName,
    /// What is in the file.
    content: String,
    /// The project, a key or an id, for what is new, and for references without a key. The default project when absent.
    project: Option<Text<1, 64>>,
    /// Say what would happen, change nothing.
    #[serde(default)]
    dry_run: bool,
    #[serde(skip)]
    #[schemars(skip)]
    reading: Option<Reading>,
    /// How many records have no mistakes; the others stand behind them.
    #[serde(skip)]
    #[schemars(skip)]
    n_sound: usize,
}

/// What an import did, or would do.
#[derive(Serialize, JsonSchema)]
pub struct ImportReport {
    /// Whether nothing was changed because it was only tried.
    dry_run: bool,
    /// How many rows made something new.
    created: usize,
    /// How many rows changed something.
    updated: usize,
    /// How many rows say what is there already.
    unchanged: usize,
    /// How many rows were left out, because they tell of something deleted.
    left_out: usize,
    /// What has to be corrected. While there is anything, nothing is imported.
    problems: Vec<Problem>,
    /// How many further problems there are.
    problems_more: usize,
    /// What was left out or guessed in a file of another tool, and which fields an import does not change as the file says.
    notes: Vec<Problem>,
    /// What became of the rows that change something; the first thousand.
    rows: Vec<Row>,
}

impl Output for ImportReport {}

/// Something about a row.
#[derive(Clone, Serialize, JsonSchema)]
#[schemars(inline)]
pub(super) struct Problem {
    /// Where in the file: `row 3 (line 3)`.
    pub row: String,
    /// Which field.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub field: Option<String>,
    /// What is wrong, and what was expected.
    pub message: String,
}

/// What became of a row.
#[derive(Serialize, JsonSchema)]
#[schemars(inline)]
struct Row {
    /// Where in the file.
    row: String,
    /// What it is.
    kind: &'static str,
    /// `created` or `updated`.
    outcome: Outcome,
    /// What it is called here; not known yet for what a trial would create.
    #[serde(skip_serializing_if = "Option::is_none")]
    reference_id: Option<String>,
}

/// How large a file may be.
const CONTENT_MAX_BYTES: usize = 50 << 20;
/// How many rows a report lists.
const ROWS_MAX: usize = 1_000;

impl Operation for Import {
    type Output = ImportReport;
    const NAME: &'static str = "import";
    const COMMANDS: &'static [Command] = &[command("import")];
    const ROUTES: &'static [Route] = &[post("/import")];
    const TOOLS: &'static [Tool] = &[tool(
        "bulk",
        r#"{"format": "csv", "content": "kind,title,priority\nepic,Returns,3\n", "dry_run": true}"#,
    )];
    const EFFECT: Effect = Effect::Writes;
    const TAKES_FILE: Option<FileArguments> = Some(FileArguments { content: "content", format: "format" });
    const MODE: Option<Mode> = Some(Mode::Long);
    const POSITIONAL: &'static [&'static str] = &["content"];
    const PREPARES: bool = true;

    fn prepare(&mut self, _: &mut Cx<'_, '_>) -> Result<()> {
        if self.content.len() > CONTENT_MAX_BYTES {
            let message = format!("the file has more than {} MiB", CONTENT_MAX_BYTES >> 20);
            return Err(Error::new(ErrorKind::TooLarge, message));
        }
        let content = std::mem::take(&mut self.content);
        let mut reading = ::exchange::read(self.format.format(), content.as_bytes());
        self.n_sound = reading.records.len();
        reading.records.append(&mut reading.unsound);
        if reading.records.len() > RECORDS_MAX {
            let message = format!("the file has more than {RECORDS_MAX} records; import it in parts");
            return Err(Error::new(ErrorKind::TooLarge, message));
        }
        self.reading = Some(reading);
        Ok(())
    }

    fn run(&self, cx: &mut Cx<'_, '_>) -> Result<ImportReport> {
        let Some(reading) = &self.reading else {
            return Err(Error::new(ErrorKind::InternalError, "the file was not read"));
        };
        let project = cx.project("project", self.project.as_ref().map(Text::as_str))?;
        if !self.dry_run {
            lock(cx, reading, &project)?;
        }
        let mut plan = Plan::new(cx, reading, self.n_sound, project)?;
        // Most of a file is rows that are looked at one by one, and the ones that change something are written one by one. The
        // others are done with their neighbours.
        let n_rows = reading.records.len();
        let n_total = if self.dry_run { n_rows } else { 2 * n_rows };
        cx.steps.begin("checking rows", Some(n_total));
        let setup = setup::plan(cx, &mut plan)?;
        entities::plan(cx, &mut plan)?;
        let links = links::plan(cx, &mut plan)?;
        let remarks = remarks::plan(cx, &mut plan)?;
        let prompts = prompts::plan(cx, &mut plan)?;
        cx.steps.reach(n_rows);
        let sound = plan.problems.is_empty() && reading.problems.is_empty();
        if sound && !self.dry_run {
            cx.steps.begin("writing rows", Some(n_total));
            setup.write(cx)?;
            entities::write(cx, &mut plan)?;
            links.write(cx, &plan)?;
            remarks.write(cx, &plan)?;
            prompts.write(cx, &mut plan)?;
            cx.steps.reach(n_total);
        }
        let report = self.report(reading, plan);
        if sound || self.dry_run { Ok(report) } else { Err(report.refusal()?) }
    }
}

/// Imports into one project wait for each other: each would find that what it has read was changed by the other. Types of
/// relationships stay as they are while rows rely on them.
fn lock(cx: &mut Cx<'_, '_>, reading: &Reading, project: &Project) -> Result<()> {
    cx.tx.lock(&format!("import into {}", project.id))?;
    let has = |kind| reading.records.iter().any(|record| record.kind == kind);
    if has(RecordKind::RelationshipType) {
        relationship::lock_types(cx.tx)?;
    }
    if has(RecordKind::Relationship) {
        relationship::lock_circles(cx.tx, &project.id)?;
    }
    if has(RecordKind::Prompt) {
        prompt::lock_active(cx.tx)?;
    }
    Ok(())
}

impl Import {
    fn report(&self, reading: &Reading, plan: Plan<'_>) -> ImportReport {
        let count = |wanted| plan.outcomes.iter().filter(|outcome| **outcome == wanted).count();
        let changed = plan.outcomes.iter().enumerate().filter(|(_, outcome)| outcome.changes());
        let rows = changed.take(ROWS_MAX).map(|(row, outcome)| Row {
            row: reading.records[row].place.to_string(),
            kind: reading.records[row].kind.name(),
            outcome: *outcome,
            reference_id: plan.references[row].clone(),
        });
        let rows = rows.collect();
        let (created, updated) = (count(Outcome::Created), count(Outcome::Updated));
        let (unchanged, left_out) = (count(Outcome::Unchanged), count(Outcome::LeftOut));
        let mut problems: Vec<Problem> = reading.problems.iter().map(problem).collect();
        let mut notes: Vec<Problem> = reading.notes.iter().map(problem).collect();
        notes.extend(plan.notes());
        problems.extend(plan.problems);
        let problems_more = plan.n_problems_more + problems.len().saturating_sub(PROBLEMS_MAX);
        problems.truncate(PROBLEMS_MAX);
        ImportReport {
            dry_run: self.dry_run,
            created,
            updated,
            unchanged,
            left_out,
            problems,
            problems_more,
            notes,
            rows,
        }
    }
}

impl ImportReport {
    /// The error for a file with problems.
    fn refusal(self) -> Result<Error> {
        let fields: Vec<FieldError> = self
            .problems
            .iter()
            .map(|problem| FieldError {
                field: match &problem.field {
                    Some(field) => format!("{}: {field}", problem.row),
                    None => problem.row.clone(),
                },
                message: problem.message.clone(),
                allowed: Vec::new(),
            })
            .collect();
        let error = Error::fields(fields);
        let message = format!("nothing was imported: {}", error.message);
        // What would have become of the other rows did not.
        let report = ImportReport { created: 0, updated: 0, rows: Vec::new(), ..self };
        Ok(Error { message, ..error }.with(json!({ "report": to_value(&report)? })))
    }
}

fn problem(told: &FileProblem) -> Problem {
    Problem { row: told.place.to_string(), field: told.field.clone(), message: told.message.clone() }
}
