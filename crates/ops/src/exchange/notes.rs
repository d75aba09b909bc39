//! Notes of an import about valid rows: what it does not change. Each kind of note is reported once, with
//! the first row that it applies to.

use store::model::Time;

use super::plan::Plan;
use super::report::RowProblem;
use super::rows::Row;
use crate::context::Cx;
use crate::error::Result;

/// A difference that is ignored: reported once per field, because a file may have it in every row.
pub(super) struct Note {
    /// The first of the rows.
    row: String,
    field: &'static str,
    what: &'static str,
    /// The value in that row.
    example: String,
    n_more: usize,
}

/// The note for a field that an import does not change.
pub(super) const NOT_CHANGED: &str = "is not changed by an import";

/// The note for an id that another entity has.
pub(super) const TAKEN: &str = "is taken, so another one is given";

/// The stored values that stay, whatever a row says.
pub(super) struct Kept<'a> {
    pub name: &'a str,
    /// The field with the creator.
    pub maker: &'static str,
    pub maker_id: Option<&'a str>,
    pub created_at: Time,
}

/// How much of a value a note shows.
const TOLD_MAX_CHARS: usize = 60;

impl Plan<'_> {
    /// Notes that a value differs from a row and stays.
    pub fn note(&mut self, row: &Row, field: &'static str, what: &'static str, example: impl Into<String>) {
        match self.notes.iter_mut().find(|note| note.field == field && note.what == what) {
            Some(note) => note.n_more += 1,
            None => {
                self.notes.push(Note { row: row.place(), field, what, example: example.into(), n_more: 0 });
            }
        }
    }

    /// Notes that a stored field stays unchanged.
    pub fn note_unchanged(&mut self, row: &Row, field: &'static str, name: &str, stored: &str, told: &str) {
        let told = words::cut(told, TOLD_MAX_CHARS);
        self.note(row, field, NOT_CHANGED, format!("{name} has {stored}, and the file says {told}"));
    }

    /// The notes, as a report lists them.
    pub fn notes(&self) -> impl Iterator<Item = RowProblem> {
        self.notes.iter().map(|note| {
            let more = match note.n_more {
                0 => String::new(),
                1 => " (and one more row)".to_owned(),
                n_more => format!(" (and {n_more} more rows)"),
            };
            RowProblem {
                row: note.row.clone(),
                field: Some(note.field.to_owned()),
                message: format!("{}: {}{more}", note.what, note.example),
            }
        })
    }

    /// Notes if a row has another creator or creation time than the stored entity.
    pub fn note_kept(&mut self, cx: &mut Cx<'_, '_>, row: &Row, kept: &Kept<'_>) -> Result<()> {
        if let Some(told) = row.text(kept.maker)
            && let found = self.known_user(cx, told)?
            && found.as_ref().map(|(id, _)| id.as_str()) != kept.maker_id
        {
            let maker = match kept.maker_id {
                Some(id) => self.known_user(cx, id)?.map_or_else(|| id.to_owned(), |(_, name)| name),
                None => "none".to_owned(),
            };
            self.note_unchanged(row, kept.maker, kept.name, &maker, told);
        }
        if let Some(told) = self.time(row, "created_at").filter(|told| *told != kept.created_at) {
            let (stored, told) = (kept.created_at.to_string(), told.to_string());
            self.note_unchanged(row, "created_at", kept.name, &stored, &told);
        }
        // The time of the change is that of the import.
        self.time(row, "updated_at");
        Ok(())
    }

    /// Rejects a row with changes that was written for an older version: it would undo
    /// the changes of others.
    pub fn check_version(&mut self, row: &Row, name: &str, stored: i64) {
        match self.version(row) {
            Some(version) if version < stored => {
                let message = format!(
                    "{name} has version {stored}, and the file says {version}: it was changed meanwhile; leave the version \
                     out to write over it"
                );
                self.wrong(row, "version", message);
            }
            Some(version) if version > stored => {
                self.note_unchanged(row, "version", name, &stored.to_string(), &version.to_string());
            }
            _ => {}
        }
    }

    /// Notes if a row without changes has another version.
    pub fn note_version(&mut self, row: &Row, name: &str, stored: i64) {
        if let Some(version) = self.version(row).filter(|version| *version != stored) {
            self.note_unchanged(row, "version", name, &stored.to_string(), &version.to_string());
        }
    }
}

/// The problem of a row whose reference and id name different entities.
pub(super) fn is_of_another(other: &str, name: &str) -> String {
    format!("this is the id of {other}, and the row is about {name}")
}

/// The advice for a deleted entity.
pub(super) fn what_to_do(purged_at: Option<Time>) -> &'static str {
    match purged_at {
        None => "; restore it first",
        Some(_) => " and purged, so it cannot be restored",
    }
}
