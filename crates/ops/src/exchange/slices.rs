//! A large import as it is written: in slices of rows, each in its own transaction, so that other writers get
//! their turn in between.

use std::ops::Range;

use serde_json::json;
use store::import::{self, Import};
use store::sizes::{self, Grown};

use super::import::lock_name;
use super::report::ImportReport;
use super::work::Work;
use crate::context::{Cx, Met};
use crate::error::{Error, ErrorKind, Result};

/// The number of rows in a slice: other writers wait for at most one slice.
const SLICE_ROWS: usize = 100;
/// The slices after which an initially empty store has become ten times as large.
const GROWN_AT: [usize; 4] = [5, 50, 500, 5_000];

/// An import that is written in slices, each in its own transaction.
pub(super) struct Applying {
    pub import: Import,
    pub is_resumed: bool,
    pub work: Work,
    pub report: ImportReport,
    /// The caller's roles in the projects of the rows.
    pub met: Met,
}

impl Applying {
    /// The number of slices.
    pub fn n_slices(&self) -> usize {
        self.work.len().div_ceil(SLICE_ROWS).max(1)
    }

    /// Writes a slice. The import must be where the previous slice left it; otherwise somebody else has resumed it.
    pub fn slice(&mut self, cx: &mut Cx<'_, '_>, index: usize) -> Result<()> {
        let steps = index * SLICE_ROWS..((index + 1) * SLICE_ROWS).min(self.work.len());
        self.write_slice(cx, steps).map_err(|error| match error.lost_race {
            // The plan does not fit any more, so a retry would fail as well.
            true => Error { kind: ErrorKind::Conflict, retry_after_s: None, lost_race: false, ..error },
            false => error,
        })
    }

    /// Adds to an error that it has stopped the import, and what to do. Before the first slice of a new import
    /// nothing was changed.
    pub fn interrupted(&self, error: Error, index: usize) -> Error {
        match index > 0 || self.is_resumed {
            true => stopped(error, &self.import, self.rows_done(index * SLICE_ROWS)),
            false => error,
        }
    }

    fn write_slice(&mut self, cx: &mut Cx<'_, '_>, steps: Range<usize>) -> Result<()> {
        let (id, n_rows) = (self.import.id.clone(), self.import.rows_total as usize);
        cx.import_id = Some(id.clone());
        cx.steps.begin("writing rows", Some(2 * n_rows));
        cx.steps.reach(n_rows + self.rows_done(steps.start) as usize);
        if !cx.sees(&self.import.project_id)? {
            return Err(Error::not_found("project", &self.import.project_id));
        }
        cx.tx.lock(&lock_name(&self.import.project_id))?;
        if steps.start == 0 && !self.is_resumed {
            let Import { actor_id, project_id, file_hash, .. } = &self.import;
            if let Some(other) = import::unfinished(cx.tx, actor_id, project_id, file_hash)? {
                return Err(begun_before(&other));
            }
            import::insert(cx.tx, &self.import)?;
        }
        let (from, to) = (self.rows_done(steps.start), self.rows_done(steps.end));
        if !import::advance(cx.tx, &id, from, to, cx.now())? {
            return Err(Error::conflict(format!("the import {id} goes on elsewhere, or was taken back")));
        }
        if GROWN_AT.contains(&(steps.start / SLICE_ROWS)) {
            sizes::look(cx.tx, Grown::Entities)?;
        }
        self.work.write(cx, steps)
    }

    /// The number of done rows after a number of steps.
    fn rows_done(&self, n_steps: usize) -> i64 {
        (self.import.rows_done + n_steps as i64).min(self.import.rows_total)
    }

    pub fn finish(&mut self, cx: &mut Cx<'_, '_>) -> Result<ImportReport> {
        cx.met.extend(self.met.clone());
        let n_done = self.rows_done(self.work.len());
        if !import::finish(cx.tx, &self.import.id, n_done, cx.now())? {
            let message = format!("the import {} goes on elsewhere, or was taken back", self.import.id);
            return Err(Error::conflict(message));
        }
        let n_rows = self.import.rows_total as usize;
        cx.steps.begin("writing rows", Some(2 * n_rows));
        cx.steps.reach(2 * n_rows);
        self.report.fill(&mut self.work)?;
        self.report.import_id = Some(self.import.id.clone());
        Ok(self.report.clone())
    }
}

/// Adds to an error that it has stopped an import, and what to do.
fn stopped(error: Error, import: &Import, n_done: i64) -> Error {
    let Import { id, rows_total, .. } = import;
    let message = format!(
        "{}; the import {id} has stopped after {n_done} of {rows_total} rows: resume it with the same file, or undo it",
        error.message
    );
    let more = json!({ "import_id": id, "rows_done": n_done, "rows_total": rows_total });
    Error { message, ..error }.with(more)
}

/// The error for a file of which some rows were imported before: importing it again would duplicate them.
fn begun_before(other: &Import) -> Error {
    let Import { id, rows_done, rows_total, .. } = other;
    let message = format!(
        "this file is being imported, or its import has stopped: {rows_done} of {rows_total} rows are done by the \
         import {id}; resume it with the same file, or undo it"
    );
    let more = json!({ "import_id": id, "rows_done": rows_done, "rows_total": rows_total });
    Error::conflict(message).with(more)
}
