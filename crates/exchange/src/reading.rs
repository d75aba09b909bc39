//! The result of reading a file, and the checks that all formats share.

use std::borrow::Cow;
use std::fmt;
use std::io;

use crate::kind::{FieldShape, RecordKind, plain_name};
use crate::record::{Field, Place, Record};

/// How many problems and notes are listed.
pub const PROBLEMS_MAX: usize = 1_000;
/// How much of a wrong value a message shows, and the longest value that is compared with the valid ones.
const SHOWN_MAX_CHARS: usize = 40;
/// The longest value that is stored as a possible name.
const NAME_MAX_BYTES: usize = 200;

/// How many invalid values are stored. In a file with more of them any name may be one.
const LOST_MAX: usize = 10_000;
/// The maximal size of a record; a file may have any size.
pub(crate) const RECORD_MAX_BYTES: usize = 8 << 20;

/// The contents of a file, and its mistakes.
#[derive(Debug, Default)]
pub struct Reading {
    /// The records without problems, in the order of the file. Empty if each was passed on when it was read.
    pub records: Vec<Record>,
    /// Records with problems, as far as they could be read, so that all mistakes can be reported at once. Empty as above.
    pub unsound: Vec<Record>,
    /// Mistakes to correct.
    pub problems: Vec<FileProblem>,
    /// What was left out or guessed without being a mistake: files of other tools contain more than we support.
    pub notes: Vec<FileProblem>,
    /// Whether there may be records of which not even the names could be read.
    pub is_incomplete: bool,
    /// Values that could not be read. One may be the name of a record, to which others may refer correctly.
    pub lost: Vec<String>,
    /// How a table of another tool was understood.
    pub table: Option<TableNotes>,
}

/// How a table of another tool was understood.
#[derive(Clone, Debug, Default)]
pub struct TableNotes {
    /// The name of the tool that assigned the external ids.
    pub scheme: String,
    /// The fields, and the columns that they come from.
    pub columns: Vec<(&'static str, String)>,
}

/// Takes a record as soon as it is read, and whether it has no problems.
pub(crate) type Each<'a> = &'a mut dyn FnMut(Record, bool) -> io::Result<()>;

/// The state of reading a file. Records are passed on.
pub(crate) struct Gathering<'a> {
    each: Each<'a>,
    /// Why a record could not be passed on. Reading stops.
    failed: Option<io::Error>,
    problems: Vec<FileProblem>,
    notes: Vec<FileProblem>,
    pub is_incomplete: bool,
    lost: Vec<String>,
    pub table: Option<TableNotes>,
    n_problems_more: usize,
    n_notes_more: usize,
}

/// A message about one place in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileProblem {
    /// The place.
    pub place: Place,
    /// The field or column, as spelled in the file.
    pub field: Option<String>,
    /// What was wrong, what was expected, and the nearest valid value.
    pub message: String,
}

impl fmt::Display for FileProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.field {
            Some(field) => write!(f, "{}: {field}: {}", self.place, self.message),
            None => write!(f, "{}: {}", self.place, self.message),
        }
    }
}

/// A record as a format found it, not yet validated.
pub(crate) struct Draft {
    pub place: Place,
    pub kind: String,
    pub values: Vec<Given>,
    /// Whether it has no problem so far; the rest is checked anyway.
    pub is_sound: bool,
}

impl Draft {
    pub fn new(place: Place, kind: &str) -> Draft {
        Draft { place, kind: kind.to_owned(), values: Vec::new(), is_sound: true }
    }
}

/// A value with its name in the file.
pub(crate) struct Given {
    pub name: String,
    pub value: Value,
    /// The line of the value, if it differs from the record's.
    pub line: Option<u64>,
}

pub(crate) enum Value {
    /// From a format with text only.
    Spelled(String),
    /// From a format that distinguishes text from numbers.
    Typed(Field),
    /// Neither, as written in the file.
    Other(String),
}

impl<'a> Gathering<'a> {
    pub fn new(each: Each<'a>) -> Gathering<'a> {
        Gathering {
            each,
            failed: None,
            problems: Vec::new(),
            notes: Vec::new(),
            is_incomplete: false,
            lost: Vec::new(),
            table: None,
            n_problems_more: 0,
            n_notes_more: 0,
        }
    }

    /// Whether records can no longer be passed on.
    pub fn has_failed(&self) -> bool {
        self.failed.is_some()
    }

    /// Validates a draft: it becomes a record, or problems.
    pub(crate) fn check(&mut self, draft: Draft) {
        let Some(kind) = self.kind(&draft.place, &draft.kind) else {
            return draft.values.iter().for_each(|given| self.lose(&given.value.name()));
        };
        let mut record = Record::new(kind);
        record.place = draft.place;
        let mut is_sound = draft.is_sound;
        let mut seen: Vec<&str> = Vec::new();
        for Given { name, value, line } in draft.values {
            let place = Place { line: line.or(record.place.line), ..record.place.clone() };
            let name_perhaps = value.name();
            let checked = match kind.shape().field(&plain_name(&name)) {
                Some(shape) if seen.contains(&shape.name) => Err("expected once, found twice".to_owned()),
                Some(shape) => {
                    seen.push(shape.name);
                    value.check(shape).map(|field| record.set(shape.name, Some(field)))
                }
                None => Err(unknown_field(kind, &name)),
            };
            if let Err(message) = checked {
                self.problem(&place, Some(&name), message);
                self.lose(&name_perhaps);
                is_sound = false;
            }
        }
        for shape in kind.shape().fields().filter(|shape| shape.required && !seen.contains(&shape.name)) {
            let message =
                format!("expected {}, found nothing: {} needs it", shape.form.expected(), kind.name());
            self.problem(&record.place, Some(shape.name), message);
            is_sound = false;
        }
        if !self.has_failed() {
            self.failed = (self.each)(record, is_sound).err();
        }
    }

    fn kind(&mut self, place: &Place, name: &str) -> Option<RecordKind> {
        let found = RecordKind::find(name);
        if found.is_none() {
            let message = match nearest::nearest(name, RecordKind::all().map(RecordKind::name)) {
                _ if name.trim().is_empty() => format!("expected one of {}, found nothing", kinds()),
                Some(right) => format!("unknown kind {}; did you mean `{right}`?", shown(name)),
                None => format!("unknown kind {}; expected one of {}", shown(name), kinds()),
            };
            self.problem(place, Some("kind"), message);
        }
        found
    }

    pub(crate) fn problem(&mut self, place: &Place, field: Option<&str>, message: impl Into<String>) {
        list(&mut self.problems, &mut self.n_problems_more, place, field, message.into());
    }

    pub(crate) fn note(&mut self, place: &Place, field: Option<&str>, message: impl Into<String>) {
        list(&mut self.notes, &mut self.n_notes_more, place, field, message.into());
    }

    /// Stores a value that could not be read.
    pub(crate) fn lose(&mut self, value: &str) {
        if self.lost.len() == LOST_MAX {
            self.is_incomplete = true;
        } else if !value.is_empty() && value.len() <= NAME_MAX_BYTES {
            self.lost.push(value.to_owned());
        }
    }

    /// Reports how much was not listed.
    pub(crate) fn finish(mut self) -> io::Result<Reading> {
        if let Some(error) = self.failed {
            return Err(error);
        }
        for (listed, n_more) in
            [(&mut self.problems, self.n_problems_more), (&mut self.notes, self.n_notes_more)]
        {
            if n_more > 0 {
                let message = format!("{n_more} more like these are not listed");
                listed.push(FileProblem { place: Place::default(), field: None, message });
            }
        }
        let Gathering { problems, notes, is_incomplete, lost, table, .. } = self;
        Ok(Reading { problems, notes, is_incomplete, lost, table, ..Reading::default() })
    }
}

fn list(
    listed: &mut Vec<FileProblem>,
    n_more: &mut usize,
    place: &Place,
    field: Option<&str>,
    message: String,
) {
    if listed.len() == PROBLEMS_MAX {
        *n_more += 1;
        return;
    }
    let field = field.map(|field| shortened(field).into_owned());
    listed.push(FileProblem { place: place.clone(), field, message });
}

impl Value {
    /// The value, if it could be a name.
    fn name(&self) -> String {
        match self {
            Value::Spelled(text) | Value::Typed(Field::Text(text)) if text.len() <= NAME_MAX_BYTES => {
                text.clone()
            }
            Value::Typed(Field::Number(number)) => number.to_string(),
            _ => String::new(),
        }
    }

    fn check(self, shape: &FieldShape) -> Result<Field, String> {
        let found = match &self {
            Value::Spelled(text) | Value::Typed(Field::Text(text)) => shown(text),
            Value::Typed(field) => field.to_string(),
            Value::Other(found) => found.clone(),
        };
        let field = match self {
            Value::Spelled(text) => Field::parse(shape.form, text),
            Value::Typed(field) if field.fits(shape.form) => Ok(field),
            Value::Typed(_) | Value::Other(_) => Err(shape.form.expected().to_owned()),
        };
        match field {
            // No database can store it, so it is reported here, with its place.
            Ok(Field::Text(text)) if text.contains('\0') => {
                Err("expected text, found a NUL character".into())
            }
            Ok(field) => Ok(field),
            Err(expected) => Err(format!("expected {expected}, found {found}")),
        }
    }
}

fn unknown_field(kind: RecordKind, name: &str) -> String {
    let kind_name = kind.name();
    let names = || kind.shape().fields().map(|field| field.name);
    match nearest::nearest(name, names()) {
        Some(right) => format!("unknown field of {kind_name}; did you mean `{right}`?"),
        None => format!("unknown field of {kind_name}; it has {}", names().collect::<Vec<_>>().join(", ")),
    }
}

fn kinds() -> String {
    RecordKind::all().map(RecordKind::name).collect::<Vec<_>>().join(", ")
}

/// A value as messages show it: quoted, on one line, not too long.
pub(crate) fn shown(text: &str) -> String {
    format!("{:?}", shortened(text))
}

/// A text, shortened if it is long.
pub(crate) fn shortened(text: &str) -> Cow<'_, str> {
    match text.char_indices().nth(SHOWN_MAX_CHARS) {
        Some((end, _)) => format!("{}…", &text[..end]).into(),
        None => text.into(),
    }
}
