//! The report of an import: the outcomes of rows, or its problems.

use std::collections::HashMap;

use ::exchange::{FileProblem, PROBLEMS_MAX, RecordKind, TableNotes};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::json;

use super::plan::{Outcome, Plan};
use super::work::Work;
use crate::context::to_value;
use crate::error::{Error, FieldError, Result};
use crate::operation::Output;

/// The result of an import, or its preview.
#[derive(Clone, Serialize, JsonSchema)]
pub struct ImportReport {
    /// The id of the import, for undoing it; absent if nothing was changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) import_id: Option<String>,
    /// Whether it was a dry run, which changes nothing.
    pub(super) dry_run: bool,
    /// How many rows created an entity.
    created: usize,
    /// How many rows changed an entity.
    updated: usize,
    /// How many rows equal what is stored.
    unchanged: usize,
    /// How many rows have problems.
    wrong: usize,
    /// How many rows were skipped because they are deleted.
    left_out: usize,
    /// Problems to correct. With any problem, nothing is imported.
    problems: Vec<RowProblem>,
    /// How many further problems there are.
    problems_more: usize,
    /// What was left out or guessed in a file of another tool, and fields in the file that an import does not change.
    notes: Vec<RowProblem>,
    /// The rows with changes or problems; the first thousand of each.
    rows: Vec<ReportedRow>,
}

impl Output for ImportReport {}

/// A message about a row.
#[derive(Clone, Serialize, JsonSchema)]
#[schemars(inline)]
pub(super) struct RowProblem {
    /// Its place in the file: `row 3 (line 3)`.
    pub row: String,
    /// The field.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub field: Option<String>,
    /// The problem, and what was expected.
    pub message: String,
}

/// The outcome of a row.
#[derive(Clone, Serialize, JsonSchema)]
#[schemars(inline)]
pub(super) struct ReportedRow {
    #[serde(skip)]
    index: usize,
    #[serde(skip)]
    #[schemars(skip)]
    record_kind: RecordKind,
    /// Its place in the file.
    row: String,
    /// The kind.
    kind: &'static str,
    /// `created`, `updated` or `wrong`.
    outcome: Outcome,
    /// Its title in the file.
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<String>,
    /// The changed fields.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    changes: Vec<&'static str>,
    /// The problem.
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<String>,
    /// Its reference id; not known yet for what a dry run would create.
    #[serde(skip_serializing_if = "Option::is_none")]
    reference_id: Option<String>,
}

/// How many rows of each outcome a report lists.
const ROWS_MAX: usize = 1_000;
/// How much of a title it shows.
const TITLE_MAX_CHARS: usize = 120;

impl ImportReport {
    /// Reports the plan for the rows of a file.
    pub(super) fn new(plan: Plan<'_>, work: &mut Work, dry_run: bool) -> Result<ImportReport> {
        let count = |wanted| plan.outcomes.iter().filter(|outcome| **outcome == wanted).count();
        let (created, updated) = (count(Outcome::Created), count(Outcome::Updated));
        let (unchanged, left_out) = (count(Outcome::Unchanged), count(Outcome::LeftOut));
        let wrong = count(Outcome::Wrong);
        let mut n_listed = [0; 3];
        let mut rows = Vec::new();
        for (index, outcome) in plan.outcomes.iter().enumerate() {
            let listed = [Outcome::Created, Outcome::Updated, Outcome::Wrong]
                .iter()
                .position(|known| known == outcome);
            let Some(n_listed) =
                listed.map(|place| &mut n_listed[place]).filter(|n_listed| **n_listed < ROWS_MAX)
            else {
                continue;
            };
            *n_listed += 1;
            let kind = plan.rows.kind(index);
            let row = plan.rows.get(index)?;
            let title = row.text("title").or(row.text("description")).or(row.text("name"));
            let is_wrong = *outcome == Outcome::Wrong;
            rows.push(ReportedRow {
                index,
                record_kind: kind,
                row: row.place(),
                kind: kind.name(),
                outcome: *outcome,
                title: title.map(|title| words::cut(title, TITLE_MAX_CHARS).to_owned()),
                changes: if *outcome == Outcome::Updated { work.changes(index, kind)? } else { Vec::new() },
                why: None,
                reference_id: if is_wrong { None } else { work.reference(index, kind)? },
            });
        }
        let reading = &plan.rows.reading;
        let of_file = reading.problems.iter().map(|told| in_words_of(reading.table.as_ref(), problem(told)));
        let mut problems: Vec<RowProblem> = of_file.collect();
        let mut notes: Vec<RowProblem> = reading.notes.iter().map(problem).collect();
        notes.extend(plan.notes().map(|note| in_words_of(reading.table.as_ref(), note)));
        let table = reading.table.as_ref();
        problems.extend(plan.problems.into_iter().map(|problem| in_words_of(table, problem)));
        let mut why: HashMap<String, String> = HashMap::new();
        for problem in &problems {
            let text =
                problem.field.iter().map(|field| format!("{field}: ")).collect::<String>() + &problem.message;
            why.entry(problem.row.clone()).and_modify(|all| *all = format!("{all}; {text}")).or_insert(text);
        }
        for row in rows.iter_mut().filter(|row| row.outcome == Outcome::Wrong) {
            row.why = why.get(&row.row).cloned();
        }
        let problems_more = plan.n_problems_more + problems.len().saturating_sub(PROBLEMS_MAX);
        problems.truncate(PROBLEMS_MAX);
        Ok(ImportReport {
            import_id: None,
            dry_run,
            created,
            updated,
            unchanged,
            wrong,
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

    /// Whether there are no problems.
    pub(super) fn is_sound(&self) -> bool {
        self.problems.is_empty()
    }

    /// Adds the reference ids of the listed rows.
    pub(super) fn fill(&mut self, work: &mut Work) -> Result<()> {
        for row in self.rows.iter_mut().filter(|row| row.outcome != Outcome::Wrong) {
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
        // The outcomes of other rows did not happen.
        let report = ImportReport { created: 0, updated: 0, rows: Vec::new(), ..self };
        Ok(Error { message, ..error }.with(json!({ "report": to_value(&report)? })))
    }
}

/// Names the column of a table that a field comes from.
fn in_words_of(table: Option<&TableNotes>, problem: RowProblem) -> RowProblem {
    let column = table
        .and_then(|table| table.columns.iter().find(|(field, _)| problem.field.as_deref() == Some(field)));
    match column {
        Some((_, column)) => RowProblem { field: Some(column.clone()), ..problem },
        None => problem,
    }
}

fn problem(told: &FileProblem) -> RowProblem {
    RowProblem { row: told.place.to_string(), field: told.field.clone(), message: told.message.clone() }
}
