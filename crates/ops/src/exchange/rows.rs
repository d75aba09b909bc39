//! The rows of a file, which is read once and stored on a shelf.

use std::io::{self, Read};

use ::exchange::{Field, Known, Reading, Record, RecordKind};

use super::entities::is_entity;
use super::shelf::{Place, Shelf, unusable};
use super::source::Source;
use crate::error::{Error, ErrorKind, Result};

/// The rows of a file.
pub(super) struct Rows {
    shelf: Shelf,
    /// The position of each row on the shelf.
    places: Vec<Place>,
    kinds: Vec<RecordKind>,
    /// Whether each row was read without mistakes. The others are checked as far as possible.
    is_sound: Vec<bool>,
    /// The maximal number of names in the rows.
    pub n_names: usize,
    /// The messages about the file from reading it; the records are here.
    pub reading: Reading,
    /// The hash of the file.
    pub hash: String,
    /// The tool that assigned the external ids.
    pub scheme: String,
}

/// A row of a file.
pub(super) struct Row {
    /// Its index.
    pub index: usize,
    pub is_sound: bool,
    record: Record,
}

impl Rows {
    /// Reads a file. `known` returns the entities stored under external ids.
    pub fn read(source: &Source, file: &mut dyn Read, hash: String, known: Known<'_>) -> Result<Rows> {
        let mut rows = Rows {
            shelf: Shelf::default(),
            places: Vec::new(),
            kinds: Vec::new(),
            is_sound: Vec::new(),
            n_names: 0,
            reading: Reading::default(),
            hash,
            scheme: source.scheme().to_owned(),
        };
        let reading = source.read(file, known, &mut |record, is_sound| rows.add(&record, is_sound));
        rows.reading = reading.map_err(|error| match error.kind() {
            io::ErrorKind::FileTooLarge => {
                Error::new(ErrorKind::TooLarge, "the file has too many rows; import it in parts")
            }
            _ => unusable(&error),
        })?;
        if let Some(table) = &rows.reading.table {
            rows.scheme.clone_from(&table.scheme);
        }
        Ok(rows)
    }

    fn add(&mut self, record: &Record, is_sound: bool) -> io::Result<()> {
        // Large files number rows in 32 bits.
        if self.len() == u32::MAX as usize - 1 {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        self.places.push(self.shelf.add(record)?);
        self.kinds.push(record.kind);
        self.is_sound.push(is_sound);
        if is_entity(record.kind) || record.kind == RecordKind::Comment {
            // A stored entity has an id, which is another name of it.
            let aliases = record.text("aliases").map_or(0, |aliases| aliases.lines().count());
            self.n_names += 1 + usize::from(record.text("reference_id").is_some()) + aliases;
        }
        Ok(())
    }

    pub fn len(&self) -> usize {
        self.places.len()
    }

    pub fn has(&self, kind: RecordKind) -> bool {
        self.kinds.contains(&kind)
    }

    pub fn kind(&self, index: usize) -> RecordKind {
        self.kinds[index]
    }

    /// Whether each row was read without mistakes.
    pub fn are_sound(&self) -> &[bool] {
        &self.is_sound
    }

    /// The rows of a kind, in the order of the file.
    pub fn of_kind(&self, kind: RecordKind) -> Vec<u32> {
        let of_kind = self.kinds.iter().zip(0..).filter(|(of, _)| **of == kind);
        of_kind.map(|(_, index)| index).collect()
    }

    /// A row.
    pub fn get(&mut self, index: usize) -> Result<Row> {
        let record = self.shelf.get(self.places[index])?;
        Ok(Row { index, is_sound: self.is_sound[index], record })
    }
}

impl Row {
    /// A text field.
    pub fn text(&self, field: &str) -> Option<&str> {
        self.record.text(field)
    }

    /// A number field.
    pub fn number(&self, field: &str) -> Option<i64> {
        self.record.number(field)
    }

    /// A boolean field.
    pub fn flag(&self, field: &str) -> Option<bool> {
        self.record.flag(field)
    }

    pub fn field(&self, name: &str) -> Option<&Field> {
        self.record.field(name)
    }

    /// Its place in the file.
    pub fn place(&self) -> String {
        self.record.place.to_string()
    }
}
