//! Imports a file: read it, compare it with the store, and write it only if it has no mistakes.

use std::sync::{Mutex, MutexGuard, PoisonError};

use ::exchange::RecordKind;
use schemars::JsonSchema;
use serde::Deserialize;
use store::import::{self, Import, ImportState};
use store::model::Reference;
use store::project::Project;
use store::{Mode, prompt, relationship};

use super::aliases::Stored;
use super::plan::{Plan, Purpose};
use super::report::ImportReport;
use super::rows::Rows;
use super::slices::Applying;
use super::source::{ImportFormat, Source};
use super::work::Work;
use crate::context::Cx;
use crate::error::{Error, ErrorKind, Result};
use crate::input::{Id, Text};
use crate::operation::{Command, Effect, FileArguments, Operation, Route, Tool, command, post, tool};
use crate::upload::Upload;

/// Import requirements and everything related from JSON, CSV, Excel, Markdown or ReqIF.
///
/// A table of another tool (Jira, Linear, GitHub, Azure DevOps, Excel) is imported unchanged: its columns are recognised by
/// their names, or mapped with `map`, and its values recognised by name. Plain Markdown becomes epics, user stories and
/// requirements by its headings and lists. The ids of the other tool are stored and matched by the next import, so that
/// importing the same
/// file twice changes nothing.
///
/// Everything is checked before anything is written, and a file with a mistake changes nothing. Up to 10,000 rows are written
/// in one
/// transaction, a larger file in slices, between which others can write. A stopped import can be resumed or undone.
///
/// A row with an existing `reference_id` updates that entity where it differs; an empty field changes nothing. A row
/// without one creates an entity with the next number. All mistakes are reported at once, each with its row and field.
/// With `dry_run` nothing is changed, and the answer says what would be.
///
/// Only administrators can change projects, types, statuses and prompts, or what others have created.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ImportFile {
    /// The format.
    format: ImportFormat,
    /// The content of the file; a workbook in base64.
    content: String,
    /// The meaning of columns in another tool's table, such as `Summary=title,Prio=priority`. Other columns are guessed by name;
    /// `Created=-` leaves one out. The fields are title, description, rationale, labels, priority, status, assignee, type,
    /// external_id, other_id, parent, epic and user_story.
    map: Option<Text<0, 10000>>,
    /// The name of the tool that assigned the external ids, such as `jira`. Guessed by default.
    scheme: Option<Text<1, 40>>,
    /// The project, a key or an id, for new entities, and for references without a key. Default: the default project.
    project: Option<Text<1, 64>>,
    /// Report what would happen, without changing anything.
    #[serde(default)]
    dry_run: bool,
    /// The id of a stopped import to continue. The file must be the same.
    resume: Option<Id>,
    /// Whether the file was passed to its reader, which takes it once.
    #[serde(skip)]
    #[schemars(skip)]
    is_taken: bool,
    #[serde(skip)]
    #[schemars(skip)]
    rows: Option<Mutex<Rows>>,
    /// An import with many rows, which is written in slices.
    #[serde(skip)]
    #[schemars(skip)]
    applying: Option<Mutex<Applying>>,
}

/// How many rows are imported in one transaction. A larger file is written in slices.
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
        // It may be prepared again if the connection to the database was lost.
        if self.rows.is_none() {
            if std::mem::replace(&mut self.is_taken, true) {
                let message = "the connection to the database was lost while the file was read; try again";
                return Err(Error::new(ErrorKind::Unavailable, message));
            }
            let upload = cx.upload.take();
            self.rows = Some(Mutex::new(self.read(cx, upload)?));
        }
        let begun =
            self.rows().filter(|rows| self.is_sliced(rows.len())).map(|mut rows| self.begin(cx, &mut rows));
        if let Some(begun) = begun {
            self.applying = Some(Mutex::new(begun?));
            self.rows = None;
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
        let Some(mut rows) = self.rows() else {
            return Err(Error::new(ErrorKind::InternalError, "the file was not read"));
        };
        let (project, resumed) = self.target(cx, &rows.hash)?;
        if !self.dry_run {
            // Imports into one project are serialized: otherwise each would find its data changed by the other.
            lock(cx, &rows, &project)?;
        }
        let id = resumed.as_ref().map_or_else(|| cx.new_id(), |import| import.id.clone());
        let purpose = Purpose { id, is_resumed: resumed.is_some(), writes: !self.dry_run };
        let (mut work, mut report) = self.decide(cx, &mut rows, &project, &purpose)?;
        if self.dry_run || !report.is_sound() {
            return if self.dry_run { Ok(report) } else { Err(report.refusal()?) };
        }
        if report.changes_something() {
            let import = self.new_import(cx, &rows, &project, purpose.id)?;
            let finished = Import { state: ImportState::Finished, rows_done: import.rows_total, ..import };
            import::insert(cx.tx, &finished)?;
            cx.import_id = Some(finished.id.clone());
            report.import_id = Some(finished.id);
        }
        cx.steps.begin("writing rows", Some(2 * rows.len()));
        work.write(cx, 0..work.len())?;
        cx.steps.reach(2 * rows.len());
        report.fill(&mut work)?;
        Ok(report)
    }
}

/// Types of relationships must not change while rows depend on them.
fn lock(cx: &mut Cx<'_, '_>, rows: &Rows, project: &Project) -> Result<()> {
    cx.tx.lock(&lock_name(&project.id))?;
    if rows.has(RecordKind::RelationshipType) {
        relationship::lock_types(cx.tx)?;
    }
    if rows.has(RecordKind::Relationship) {
        relationship::lock_circles(cx.tx, &project.id)?;
    }
    if rows.has(RecordKind::Prompt) {
        prompt::lock_active(cx.tx)?;
    }
    Ok(())
}

/// The lock that imports into a project take.
pub(super) fn lock_name(project_id: &str) -> String {
    format!("import into {project_id}")
}

impl ImportFile {
    fn applying(&self) -> Option<MutexGuard<'_, Applying>> {
        let applying = self.applying.as_ref()?;
        Some(applying.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn rows(&self) -> Option<MutexGuard<'_, Rows>> {
        let rows = self.rows.as_ref()?;
        Some(rows.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Reads the file: as it was sent, or from an argument.
    fn read(&mut self, cx: &mut Cx<'_, '_>, upload: Option<Upload>) -> Result<Rows> {
        let source = Source::new(self.format, self.map.as_ref().map(Text::as_str), self.scheme.as_ref())?;
        let named = self.project.as_ref().map(Text::as_str);
        let project = cx.project("project", named)?;
        let resumed = self.resume.as_ref().map(|resume| resume.0.to_string());
        let mut stored =
            Stored { cx, project_id: &project.id, without_import: resumed.as_deref(), error: None };
        let rows = match upload {
            Some(upload) => {
                let hash = upload.hash();
                Rows::read(&source, &mut upload.into_reader(), hash, &mut |scheme, ids| {
                    stored.kinds(scheme, ids)
                })
            }
            None => {
                let content = self.format.bytes(std::mem::take(&mut self.content))?;
                let hash = blake3::hash(&content).to_hex().to_string();
                Rows::read(&source, &mut content.as_slice(), hash, &mut |scheme, ids| {
                    stored.kinds(scheme, ids)
                })
            }
        };
        stored.error.map_or(rows, Err)
    }

    fn is_sliced(&self, n_rows: usize) -> bool {
        !self.dry_run && (n_rows > ROWS_AT_ONCE_MAX || self.resume.is_some())
    }

    /// Plans an import that is written in slices.
    fn begin(&self, cx: &mut Cx<'_, '_>, rows: &mut Rows) -> Result<Applying> {
        let (project, resumed) = self.target(cx, &rows.hash)?;
        let is_resumed = resumed.is_some();
        let id = resumed.as_ref().map_or_else(|| cx.new_id(), |import| import.id.clone());
        let purpose = Purpose { id: id.clone(), is_resumed, writes: false };
        let (work, report) = self.decide(cx, rows, &project, &purpose)?;
        if !report.is_sound() {
            return Err(report.refusal()?);
        }
        let import = match resumed {
            Some(resumed) => resumed,
            None => self.new_import(cx, rows, &project, id)?,
        };
        Ok(Applying { import, is_resumed, work, report, met: cx.met.clone() })
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

    fn new_import(&self, cx: &Cx<'_, '_>, rows: &Rows, project: &Project, id: String) -> Result<Import> {
        let caller = cx.caller()?;
        Ok(Import {
            id,
            project_id: project.id.clone(),
            project: Some(project.key.clone()),
            actor_id: caller.user_id.clone(),
            actor: Some(caller.username.clone()),
            format: self.format.name().to_owned(),
            file_hash: rows.hash.clone(),
            rows_total: rows.len() as i64,
            rows_done: 0,
            state: ImportState::Unfinished,
            undo_cursor: None,
            created_at: cx.now(),
            updated_at: cx.now(),
        })
    }

    /// Plans every row, without changing anything.
    fn decide(
        &self,
        cx: &mut Cx<'_, '_>,
        rows: &mut Rows,
        project: &Project,
        purpose: &Purpose,
    ) -> Result<(Work, ImportReport)> {
        let n_rows = rows.len();
        let mut plan = Plan::new(cx, rows, project.clone(), purpose.clone())?;
        // Most of the progress is reading and writing rows one by one. Other steps are counted with
        // adjacent rows.
        let n_total = if self.dry_run { n_rows } else { 2 * n_rows };
        cx.steps.begin("checking rows", Some(n_total));
        let mut work = Work::decide(cx, &mut plan)?;
        cx.steps.reach(n_rows);
        let report = ImportReport::new(plan, &mut work, self.dry_run)?;
        Ok((work, report))
    }
}
