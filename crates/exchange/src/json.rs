//! JSON: one object with a list of records, one field per line, so that two exports can be compared.

use std::cell::Cell;
use std::fmt;
use std::io::{self, Read, Write};

use serde::de::{
    Deserialize as _, DeserializeSeed, Deserializer, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor,
};
use serde_json::value::RawValue;

use crate::members::Members;
use crate::reading::{Draft, Gathering, Given, RECORD_MAX_BYTES, Value, shortened};
use crate::record::{Field, Place, Record};
use crate::text::{Lines, NOT_UTF8, TextReader};

const VERSION: u32 = 1;

pub fn write(records: impl Iterator<Item = Record>, out: &mut impl Write) -> io::Result<()> {
    write!(out, "{{\n  \"format\": \"spexus\",\n  \"version\": {VERSION},\n  \"records\": [")?;
    let mut separator = "";
    for record in records {
        write!(out, "{separator}\n    {{\n      \"kind\": \"{}\"", record.kind.name())?;
        for (shape, field) in record.fields() {
            write!(out, ",\n      \"{}\": ", shape.name)?;
            match field {
                Field::Text(text) => serde_json::to_writer(&mut *out, text)?,
                Field::Number(_) | Field::Flag(_) => write!(out, "{field}")?,
            }
        }
        out.write_all(b"\n    }")?;
        separator = ",";
    }
    out.write_all(b"\n  ]\n}\n")
}

pub fn read(input: &mut dyn Read, reading: &mut Gathering<'_>) -> io::Result<()> {
    let progress = Progress::default();
    progress.line.set(1);
    let bytes = Bytes { text: TextReader::new(input), progress: &progress, ends_line: false };
    let mut json = serde_json::Deserializer::from_reader(bytes);
    let file = Part { wanted: Wanted::File, progress: &progress, reading };
    let error = match file.deserialize(&mut json).and_then(|found| json.end().map(|()| found)) {
        Ok(None) => return Ok(()),
        Ok(Some(found)) => {
            let message = format!("expected an object with `records`, or a list of records, found {found}");
            reading.problem(&Place::line(1), None, message);
            return Ok(());
        }
        Err(error) => error,
    };
    if reading.has_failed() {
        return Ok(());
    }
    reading.is_incomplete = true;
    let place = Place::line(progress.line.get());
    match progress.fault.take() {
        Some(Fault::NotText) => reading.problem(&place, None, NOT_UTF8),
        Some(Fault::TooLong) => {
            let message = format!("expected records of at most {} MiB, found more", RECORD_MAX_BYTES >> 20);
            reading.problem(&place, None, message);
        }
        Some(Fault::Unread(error)) => return Err(error),
        None => {
            let cause = error.to_string();
            let cause = cause.split(" at line ").next().unwrap_or_default();
            let message = format!("expected JSON, found a mistake at column {}: {cause}", error.column());
            reading.problem(&Place::line(error.line().max(1) as u64), None, message);
        }
    }
    Ok(())
}

/// The reading position.
#[derive(Default)]
struct Progress {
    /// The line of the last byte read.
    line: Cell<u64>,
    /// How many bytes of the current record were read.
    n_bytes: Cell<usize>,
    fault: Cell<Option<Fault>>,
}

/// Why reading ended before the end of the file.
enum Fault {
    NotText,
    TooLong,
    Unread(io::Error),
}

/// The bytes of a file one by one, for the parser.
struct Bytes<'a> {
    text: TextReader<'a>,
    progress: &'a Progress,
    ends_line: bool,
}

impl Read for Bytes<'_> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let Progress { line, n_bytes, fault } = self.progress;
        n_bytes.set(n_bytes.get() + 1);
        let next = match self.text.next() {
            Ok(next) if n_bytes.get() <= RECORD_MAX_BYTES => next,
            Ok(_) => {
                fault.set(Some(Fault::TooLong));
                return Err(io::ErrorKind::FileTooLarge.into());
            }
            Err(error) => {
                line.set(line.get() + u64::from(self.ends_line));
                let is_text = error.kind() != io::ErrorKind::InvalidData;
                fault.set(Some(if is_text { Fault::Unread(error) } else { Fault::NotText }));
                return Err(io::ErrorKind::InvalidData.into());
            }
        };
        let (Some(byte), Some(place)) = (next, out.first_mut()) else { return Ok(0) };
        line.set(line.get() + u64::from(self.ends_line));
        self.ends_line = byte == b'\n';
        *place = byte;
        Ok(1)
    }
}

/// A value that is skipped without keeping it in memory. Returns its kind if it was not the expected one.
struct Part<'a, 'g> {
    wanted: Wanted,
    progress: &'a Progress,
    reading: &'a mut Gathering<'g>,
}

#[derive(Clone, Copy, PartialEq)]
enum Wanted {
    File,
    Records,
    Nothing,
}

impl<'de> DeserializeSeed<'de> for Part<'_, '_> {
    type Value = Option<String>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Option<String>, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Part<'_, '_> {
    type Value = Option<String>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a value")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Option<String>, A::Error> {
        if self.wanted == Wanted::File {
            return read_file(members, self.progress, self.reading).map(|()| None);
        }
        while members.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Some("an object".to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Option<String>, A::Error> {
        // A person or another program may write a bare list.
        if self.wanted != Wanted::Nothing {
            return read_records(items, self.progress, self.reading).map(|()| None);
        }
        while items.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Some("a list".to_owned()))
    }

    fn visit_str<E>(self, text: &str) -> Result<Option<String>, E> {
        let text = serde_json::to_string(text).unwrap_or_default();
        Ok(Some(shortened(&text).into_owned()))
    }

    fn visit_bool<E>(self, flag: bool) -> Result<Option<String>, E> {
        Ok(Some(flag.to_string()))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Option<String>, E> {
        Ok(Some(number.to_string()))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Option<String>, E> {
        Ok(Some(number.to_string()))
    }

    fn visit_f64<E>(self, number: f64) -> Result<Option<String>, E> {
        Ok(Some(format!("{number:?}")))
    }

    fn visit_unit<E>(self) -> Result<Option<String>, E> {
        Ok(Some("null".to_owned()))
    }
}

fn read_file<'de, A: MapAccess<'de>>(
    mut members: A,
    progress: &Progress,
    reading: &mut Gathering<'_>,
) -> Result<(), A::Error> {
    let mut has_records = false;
    progress.n_bytes.set(0);
    while let Some(name) = members.next_key::<String>()? {
        let wanted = if name == "records" { Wanted::Records } else { Wanted::Nothing };
        let found = members.next_value_seed(Part { wanted, progress, reading })?;
        let place = Place::line(progress.line.get());
        has_records |= name == "records";
        let message = match (&*name, found) {
            ("format", Some(found)) if found != "\"spexus\"" => format!("expected \"spexus\", found {found}"),
            ("version", Some(found)) if found != VERSION.to_string() => {
                format!("expected {VERSION}, found {found}")
            }
            ("records", Some(found)) => format!("expected a list, found {found}"),
            ("format" | "version" | "records", _) => continue,
            _ => "unknown key; expected `format`, `version` and `records`".to_owned(),
        };
        reading.problem(&place, Some(&name), message);
    }
    if !has_records {
        reading.problem(&Place::line(1), Some("records"), "expected a list of records, found nothing");
    }
    Ok(())
}

fn read_records<'de, A: SeqAccess<'de>>(
    mut items: A,
    progress: &Progress,
    reading: &mut Gathering<'_>,
) -> Result<(), A::Error> {
    let mut index = 0;
    while let Some((line, record)) = items.next_element_seed(OneRecord(progress))? {
        read_record(index, line, &record, reading);
        if reading.has_failed() {
            return Err(A::Error::custom("nobody takes the records"));
        }
        index += 1;
    }
    Ok(())
}

/// The text of a record, and its first line.
struct OneRecord<'a>(&'a Progress);

impl<'de> DeserializeSeed<'de> for OneRecord<'_> {
    type Value = (u64, Box<RawValue>);

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        // The parser has read the first byte.
        self.0.n_bytes.set(1);
        let line = self.0.line.get();
        Ok((line, Box::deserialize(deserializer)?))
    }
}

fn read_record(index: usize, line: u64, record: &RawValue, reading: &mut Gathering<'_>) {
    let text = record.get();
    let mut lines = Lines::new(text.as_bytes());
    let place = Place::item(format!("records[{index}]"), line);
    let Ok(Members::<&RawValue>(pairs)) = serde_json::from_str(text) else {
        let message = format!("expected an object with `kind` and fields, found {}", found(record));
        return reading.problem(&place, None, message);
    };
    let mut draft = Draft::new(place, "");
    for (name, value) in pairs {
        if name == "kind" {
            draft.kind = serde_json::from_str(value.get()).unwrap_or_else(|_| value.get().to_owned());
            continue;
        }
        let line = Some(line + lines.at(offset(text, value)) - 1);
        if value.get() != "null" {
            draft.values.push(Given { name, value: understood(value), line });
        }
    }
    reading.check(draft);
}

fn understood(value: &RawValue) -> Value {
    let text = value.get();
    let field = match text.as_bytes().first() {
        Some(b'"') => serde_json::from_str(text).map(Field::Text),
        Some(b't' | b'f') => serde_json::from_str(text).map(Field::Flag),
        _ => serde_json::from_str(text).map(Field::Number),
    };
    field.map_or_else(|_| Value::Other(found(value)), Value::Typed)
}

fn found(value: &RawValue) -> String {
    match value.get().as_bytes().first() {
        Some(b'[') => "a list".to_owned(),
        Some(b'{') => "an object".to_owned(),
        _ => shortened(value.get()).into_owned(),
    }
}

/// The offset of a slice within the text.
fn offset(text: &str, part: &RawValue) -> usize {
    (part.get().as_ptr() as usize).saturating_sub(text.as_ptr() as usize)
}
