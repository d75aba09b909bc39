//! A record that is exchanged, and its place in the file.

use std::collections::BTreeMap;
use std::fmt;

use crate::kind::{FieldShape, Form, RecordKind};

/// A record: fields of its kind, each of the right form. An absent field is null.
///
/// Two records are equal if their fields are, regardless of their places.
#[derive(Clone, Debug)]
pub struct Record {
    /// The kind.
    pub kind: RecordKind,
    /// Its place in the file that it was read from.
    pub place: Place,
    fields: BTreeMap<&'static str, Field>,
}

/// The value of a field.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say it")]
pub enum Field {
    Text(String),
    Number(i64),
    Flag(bool),
}

/// The place of something, as a person finds it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// The name in the format: `row 3`, `records[2]`, a ReqIF identifier.
    pub item: Option<String>,
    /// The line in the file, from 1.
    pub line: Option<u64>,
}

impl Record {
    /// A record without fields.
    pub fn new(kind: RecordKind) -> Record {
        Record { kind, place: Place::default(), fields: BTreeMap::new() }
    }

    /// The record with one more field.
    ///
    /// # Panics
    /// If the kind has no such field, or one of another form: names are literals in code.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl Into<Field>) -> Record {
        self.set(name, Some(value));
        self
    }

    /// Sets a field, or clears it. Panics as [`Record::with`] does.
    pub fn set(&mut self, name: &str, value: Option<impl Into<Field>>) {
        let Some(shape) = self.kind.shape().field(name) else {
            panic!("{} has no field {name}", self.kind.name());
        };
        match value.map(Into::into) {
            Some(value) => {
                assert!(
                    value.fits(shape.form),
                    "{}.{name} is not of the form {:?}",
                    self.kind.name(),
                    shape.form
                );
                self.fields.insert(shape.name, value);
            }
            None => _ = self.fields.remove(name),
        }
    }

    /// A text field.
    pub fn text(&self, name: &str) -> Option<&str> {
        match self.fields.get(name) {
            Some(Field::Text(text)) => Some(text),
            _ => None,
        }
    }

    /// A number field.
    pub fn number(&self, name: &str) -> Option<i64> {
        match self.fields.get(name) {
            Some(Field::Number(number)) => Some(*number),
            _ => None,
        }
    }

    /// A boolean field.
    pub fn flag(&self, name: &str) -> Option<bool> {
        match self.fields.get(name) {
            Some(Field::Flag(flag)) => Some(*flag),
            _ => None,
        }
    }

    /// The field with this name.
    pub fn field(&self, name: &str) -> Option<&Field> {
        self.fields.get(name)
    }

    /// The present fields, in the order of the kind's table.
    pub fn fields(&self) -> impl Iterator<Item = (&'static FieldShape, &Field)> {
        self.kind.shape().fields().filter_map(|shape| Some((shape, self.fields.get(shape.name)?)))
    }
}

impl PartialEq for Record {
    fn eq(&self, other: &Record) -> bool {
        (self.kind, &self.fields) == (other.kind, &other.fields)
    }
}

impl Field {
    /// Parses a field of a format with text only.
    pub(crate) fn parse(form: Form, text: String) -> Result<Field, String> {
        let word = text.trim();
        let field = match form {
            Form::Title | Form::Text | Form::Prose => Some(Field::Text(text)),
            Form::Number => word.parse().ok().map(Field::Number),
            // Spreadsheets write TRUE.
            Form::Flag => word.to_ascii_lowercase().parse().ok().map(Field::Flag),
        };
        field.ok_or_else(|| form.expected().to_owned())
    }

    pub(crate) fn fits(&self, form: Form) -> bool {
        match self {
            Field::Text(_) => matches!(form, Form::Title | Form::Text | Form::Prose),
            Field::Number(_) => form == Form::Number,
            Field::Flag(_) => form == Form::Flag,
        }
    }
}

impl Form {
    pub(crate) fn expected(self) -> &'static str {
        match self {
            Form::Title | Form::Text | Form::Prose => "text",
            Form::Number => "a whole number",
            Form::Flag => "true or false",
        }
    }
}

/// The text of a value, for formats with text only.
impl fmt::Display for Field {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Field::Text(text) => f.write_str(text),
            Field::Number(number) => write!(f, "{number}"),
            Field::Flag(flag) => write!(f, "{flag}"),
        }
    }
}

impl From<&str> for Field {
    fn from(text: &str) -> Field {
        Field::Text(text.to_owned())
    }
}

impl From<String> for Field {
    fn from(text: String) -> Field {
        Field::Text(text)
    }
}

impl From<i64> for Field {
    fn from(number: i64) -> Field {
        Field::Number(number)
    }
}

impl From<bool> for Field {
    fn from(flag: bool) -> Field {
        Field::Flag(flag)
    }
}

impl Place {
    pub(crate) fn line(line: u64) -> Place {
        Place { item: None, line: Some(line) }
    }

    pub(crate) fn item(item: impl Into<String>, line: u64) -> Place {
        Place { item: Some(item.into()), line: Some(line) }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.item, self.line) {
            (Some(item), Some(line)) => write!(f, "{item} (line {line})"),
            (Some(item), None) => f.write_str(item),
            (None, Some(line)) => write!(f, "line {line}"),
            (None, None) => f.write_str("the file"),
        }
    }
}
