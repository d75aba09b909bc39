//! What an import answers: what became of the rows, or what is wrong with them.

use ::exchange::{Kind as RecordKind, PROBLEMS_MAX, Problem as FileProblem};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::json;

use super::plan::{Outcome, Plan};
use super::work::Work;
use crate::context::to_value;
use crate::error::{Error, FieldError, Result};
use crate::operation::Output;

/// What an import did, or would do.
#[derive(Clone, Serialize, JsonSchema)]
pub struct ImportReport {
    /// The id of the import, by which it can be undone; none where nothing was changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) import_id: Option<String>,
    /// Whether nothing was changed because it was only tried.
    pub(super) dry_run: bool,
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
    rows: Vec<ReportedRow>,
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
pub(super) struct ReportedRow {
    #[serde(skip)]
    index: usize,
    #[serde(skip)]
    #[schemars(skip)]
    record_kind: RecordKind,
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

/// How many rows a report lists.
const ROWS_MAX: usize = 1_000;

impl ImportReport {
    /// Tells what was decided about the rows of a file.
    pub(super) fn new(plan: Plan<'_>, work: &mut Work, dry_run: bool) -> Result<ImportReport> {
        let count = |wanted| plan.outcomes.iter().filter(|outcome| **outcome == wanted).count();
        let (created, updated) = (count(Outcome::Created), count(Outcome::Updated));
        let (unchanged, left_out) = (count(Outcome::Unchanged), count(Outcome::LeftOut));
        let changed = plan.outcomes.iter().enumerate().filter(|(_, outcome)| outcome.changes());
        let mut rows = Vec::new();
        for (index, outcome) in changed.take(ROWS_MAX) {
            let kind = plan.rows.kind(index);
            rows.push(ReportedRow {
                index,
                record_kind: kind,
                row: plan.rows.get(index)?.place(),
                kind: kind.name(),
                outcome: *outcome,
                reference_id: work.reference(index, kind)?,
            });
        }
        let reading = &plan.rows.reading;
        let mut problems: Vec<Problem> = reading.problems.iter().map(problem).collect();
        let mut notes: Vec<Problem> = reading.notes.iter().map(problem).collect();
        notes.extend(plan.notes());
        problems.extend(plan.problems);
        let problems_more = plan.n_problems_more + problems.len().saturating_sub(PROBLEMS_MAX);
        problems.truncate(PROBLEMS_MAX);
        Ok(ImportReport {
            import_id: None,
            dry_run,
            created,
            updated,
            unchanged,
            left_out,
            problems,
            problems_more,
            notes,
            rows,
        })
    }

    /// Whether the import changes something.
    pub(super) fn changes_something(&self) -> bool {
        self.created + self.updated > 0
    }

    /// Whether nothing has to be corrected.
    pub(super) fn is_sound(&self) -> bool {
        self.problems.is_empty()
    }

    /// Says what the listed rows are called now.
    pub(super) fn fill(&mut self, work: &mut Work) -> Result<()> {
        for row in &mut self.rows {
            row.reference_id = work.reference(row.index, row.record_kind)?;
        }
        Ok(())
    }

    /// The error for a file with problems.
    pub(super) fn refusal(self) -> Result<Error> {
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
