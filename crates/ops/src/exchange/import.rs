//! A file becomes part of the store: read, compared with what is there, and written only if nothing is wrong with it.

use std::sync::{Mutex, MutexGuard, PoisonError};

use ::exchange::{Kind as RecordKind, PROBLEMS_MAX, Problem as FileProblem, Reading};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use store::import::{self, Import, ImportState};
use store::model::Reference;
use store::project::Project;
use store::{Mode, prompt, relationship};

use super::FormatName;
use super::plan::{Outcome, Plan, Purpose};
use super::slices::Applying;
use super::work::Work;
use crate::context::{Cx, to_value};
use crate::error::{Error, FieldError, Kind as ErrorKind, Result};
use crate::input::{Id, Text};
use crate::operation::{Command, Effect, FileArguments, Operation, Output, Route, Tool, command, post, tool};

/// Import requirements and all that belongs to them from JSON, CSV, Markdown or ReqIF.
///
/// Everything is checked before anything is written, and with a mistake nothing is. Up to 10,000 rows are written at once;
/// a larger file in slices, between which others can write. An import that stopped can be resumed or undone.
///
/// A row whose `reference_id` exists changes that thing, where it differs; an empty field leaves what is there. A row
/// without one makes something new, with the next number. All mistakes are told at once, each with its row and field.
/// With `dry_run` nothing is changed, and the answer says what would be.
///
/// Projects, types, statuses and prompts can only be changed by administrators, and so can what others have written.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ImportFile {
    /// The format.
    format: FormatName,
    /// What is in the file.
    content: String,
    /// The project, a key or an id, for what is new, and for references without a key. The default project when absent.
    project: Option<Text<1, 64>>,
    /// Say what would happen, change nothing.
    #[serde(default)]
    dry_run: bool,
    /// The id of an import that has stopped: go on with it. The file must be the same.
    resume: Option<Id>,
    #[serde(skip)]
    #[schemars(skip)]
    file: Option<File>,
    /// An import with many rows, which is applied in slices.
    #[serde(skip)]
    #[schemars(skip)]
    applying: Option<Mutex<Applying>>,
}

/// What an import did, or would do.
#[derive(Clone, Serialize, JsonSchema)]
pub struct ImportReport {
    /// The id of the import, by which it can be undone; none where nothing was changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) import_id: Option<String>,
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
#[derive(Clone, Serialize, JsonSchema)]
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

/// How many records a file may have. All of them are kept in memory until they are written.
const RECORDS_MAX: usize = 1_000_000;
/// How many rows a report lists.
const ROWS_MAX: usize = 1_000;

/// How many rows are imported in one transaction. A file with more is applied in slices.
const ROWS_AT_ONCE_MAX: usize = 10_000;

impl Operation for ImportFile {
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
    const IS_UNBOUNDED: bool = true;

    fn prepare(&mut self, cx: &mut Cx<'_, '_>) -> Result<()> {
        // It may be prepared once more, when the connection to the database was lost.
        if self.file.is_none() {
            self.file = Some(self.read()?);
        }
        if let Some(file) = self.file.as_ref().filter(|file| self.is_sliced(file)) {
            self.applying = Some(Mutex::new(self.begin(cx, file)?));
            self.file = None;
        }
        Ok(())
    }

    fn mode(&self) -> Option<Mode> {
        self.dry_run.then_some(Mode::LongSnapshot)
    }

    fn n_parts(&self) -> usize {
        self.applying().map_or(0, |applying| applying.n_slices())
    }

    fn part(&self, cx: &mut Cx<'_, '_>, index: usize) -> Result<()> {
        self.applying().map_or(Ok(()), |mut applying| applying.slice(cx, index))
    }

    fn interrupted(&self, error: Error, index: usize) -> Error {
        match self.applying() {
            Some(applying) => applying.interrupted(error, index),
            None => error,
        }
    }

    fn run(&self, cx: &mut Cx<'_, '_>) -> Result<ImportReport> {
        if let Some(mut applying) = self.applying() {
            return applying.finish(cx);
        }
        let Some(file) = &self.file else {
            return Err(Error::new(ErrorKind::InternalError, "the file was not read"));
        };
        let (project, resumed) = self.target(cx, &file.file_hash)?;
        if !self.dry_run {
            // Imports into one project wait for each other: each would find that what it has read was changed by the other.
            lock(cx, &file.reading, &project)?;
        }
        let id = resumed.as_ref().map_or_else(|| cx.new_id(), |import| import.id.clone());
        let purpose = Purpose { id, is_resumed: resumed.is_some(), writes: !self.dry_run };
        let Decided { mut work, mut report, listed, is_sound } = self.decide(cx, file, &project, &purpose)?;
        if self.dry_run || !is_sound {
            return if self.dry_run { Ok(report) } else { Err(report.refusal()?) };
        }
        if report.changes_something() {
            let import = self.new_import(cx, file, &project, purpose.id)?;
            let finished = Import { state: ImportState::Finished, rows_done: import.rows_total, ..import };
            import::insert(cx.tx, &finished)?;
            cx.import_id = Some(finished.id.clone());
            report.import_id = Some(finished.id);
        }
        cx.steps.begin("writing rows", Some(2 * file.n_rows));
        work.write(cx, 0..work.len())?;
        cx.steps.reach(2 * file.n_rows);
        report.fill(&listed, &work);
        Ok(report)
    }
}

/// Types of relationships stay as they are while rows rely on them.
fn lock(cx: &mut Cx<'_, '_>, reading: &Reading, project: &Project) -> Result<()> {
    cx.tx.lock(&lock_name(&project.id))?;
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

/// The lock that imports into a project take.
pub(super) fn lock_name(project_id: &str) -> String {
    format!("import into {project_id}")
}

/// A file that was read.
struct File {
    reading: Reading,
    /// How many records have no mistakes; the others stand behind them.
    n_sound: usize,
    n_rows: usize,
    file_hash: String,
}

/// What was decided about the rows of a file.
struct Decided {
    work: Work,
    report: ImportReport,
    /// The rows that the report lists.
    listed: Vec<usize>,
    is_sound: bool,
}

impl ImportFile {
    fn applying(&self) -> Option<MutexGuard<'_, Applying>> {
        let applying = self.applying.as_ref()?;
        Some(applying.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Reads the file, of which there is one copy.
    fn read(&mut self) -> Result<File> {
        let content = std::mem::take(&mut self.content);
        let file_hash = blake3::hash(content.as_bytes()).to_hex().to_string();
        let mut reading = ::exchange::read(self.format.format(), content.as_bytes());
        drop(content);
        let n_sound = reading.records.len();
        reading.records.append(&mut reading.unsound);
        if reading.records.len() > RECORDS_MAX {
            let message = format!("the file has more than {RECORDS_MAX} records; import it in parts");
            return Err(Error::new(ErrorKind::TooLarge, message));
        }
        Ok(File { file_hash, n_rows: reading.records.len(), n_sound, reading })
    }

    fn is_sliced(&self, file: &File) -> bool {
        !self.dry_run && (file.n_rows > ROWS_AT_ONCE_MAX || self.resume.is_some())
    }

    /// Plans an import that is applied in slices.
    fn begin(&self, cx: &mut Cx<'_, '_>, file: &File) -> Result<Applying> {
        let (project, resumed) = self.target(cx, &file.file_hash)?;
        let is_resumed = resumed.is_some();
        let id = resumed.as_ref().map_or_else(|| cx.new_id(), |import| import.id.clone());
        let purpose = Purpose { id: id.clone(), is_resumed, writes: false };
        let Decided { work, report, listed, is_sound } = self.decide(cx, file, &project, &purpose)?;
        if !is_sound {
            return Err(report.refusal()?);
        }
        let import = match resumed {
            Some(resumed) => resumed,
            None => self.new_import(cx, file, &project, id)?,
        };
        Ok(Applying { import, is_resumed, work, report, listed, met: cx.met.clone() })
    }

    /// The project, and the import that is resumed.
    fn target(&self, cx: &mut Cx<'_, '_>, file_hash: &str) -> Result<(Project, Option<Import>)> {
        let named = self.project.as_ref().map(Text::as_str);
        let Some(resume) = &self.resume else { return Ok((cx.project("project", named)?, None)) };
        let found = match &resume.0 {
            Reference::Id(id) => import::find(cx.tx, id)?,
            Reference::Numbered { .. } => None,
        };
        let caller = cx.caller()?;
        let Some(found) = found.filter(|found| found.actor_id == caller.user_id) else {
            return Err(Error::not_found("import of yours", &resume.0).about("resume"));
        };
        if found.state != ImportState::Unfinished {
            let is = match found.state {
                ImportState::Finished => "is finished",
                _ => "was taken back",
            };
            return Err(Error::conflict(format!("the import {} {is}", found.id)).about("resume"));
        }
        if found.file_hash != file_hash {
            let message = format!("is not the file of the import {}", found.id);
            return Err(Error::field("content", message));
        }
        let project = cx.project("project", Some(named.unwrap_or(&found.project_id)))?;
        if project.id != found.project_id {
            return Err(Error::field("project", format!("the import {} is into another one", found.id)));
        }
        Ok((project, Some(found)))
    }

    fn new_import(&self, cx: &Cx<'_, '_>, file: &File, project: &Project, id: String) -> Result<Import> {
        let caller = cx.caller()?;
        Ok(Import {
            id,
            project_id: project.id.clone(),
            project: Some(project.key.clone()),
            actor_id: caller.user_id.clone(),
            actor: Some(caller.username.clone()),
            format: self.format.format().name().to_owned(),
            file_hash: file.file_hash.clone(),
            rows_total: file.n_rows as i64,
            rows_done: 0,
            state: ImportState::Unfinished,
            undo_cursor: None,
            created_at: cx.now(),
            updated_at: cx.now(),
        })
    }

    /// Decides what becomes of every row, and changes nothing.
    fn decide(
        &self,
        cx: &mut Cx<'_, '_>,
        file: &File,
        project: &Project,
        purpose: &Purpose,
    ) -> Result<Decided> {
        let reading = &file.reading;
        let mut plan = Plan::new(cx, reading, file.n_sound, project.clone(), purpose.clone())?;
        // Most of a file is rows that are looked at one by one, and the ones that change something are written one by one. The
        // others are done with their neighbours.
        let n_total = if self.dry_run { file.n_rows } else { 2 * file.n_rows };
        cx.steps.begin("checking rows", Some(n_total));
        let work = Work::decide(cx, &mut plan)?;
        cx.steps.reach(file.n_rows);
        let is_sound = plan.problems.is_empty() && reading.problems.is_empty();
        let changed = plan.outcomes.iter().enumerate().filter(|(_, outcome)| outcome.changes());
        let listed: Vec<usize> = changed.take(ROWS_MAX).map(|(row, _)| row).collect();
        let report = self.report(reading, plan, &work, &listed);
        Ok(Decided { work, report, listed, is_sound })
    }

    fn report(&self, reading: &Reading, plan: Plan<'_>, work: &Work, listed: &[usize]) -> ImportReport {
        let count = |wanted| plan.outcomes.iter().filter(|outcome| **outcome == wanted).count();
        let rows = listed.iter().map(|row| Row {
            row: reading.records[*row].place.to_string(),
            kind: reading.records[*row].kind.name(),
            outcome: plan.outcomes[*row],
            reference_id: work.references[*row].clone(),
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
            import_id: None,
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
    fn changes_something(&self) -> bool {
        self.created + self.updated > 0
    }

    /// Says what the listed rows are called now.
    pub(super) fn fill(&mut self, listed: &[usize], work: &Work) {
        for (row, index) in self.rows.iter_mut().zip(listed) {
            row.reference_id.clone_from(&work.references[*index]);
        }
    }

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
