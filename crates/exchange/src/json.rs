//! JSON: one object with a list of records, one field a line, so that two exports compare well.

use std::io::{self, Write};

use serde_json::value::RawValue;

use crate::members::Members;
use crate::reading::{Draft, Given, Lines, Reading, Value, shortened};
use crate::record::{Field, Place, Record};

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

pub fn read(text: &str, reading: &mut Reading) {
    let mut lines = Lines::new(text.as_bytes());
    let whole: &RawValue = match serde_json::from_str(text) {
        Ok(whole) => whole,
        Err(error) => {
            let cause = error.to_string();
            let cause = cause.split(" at line ").next().unwrap_or_default();
            let message = format!("expected JSON, found a mistake at column {}: {cause}", error.column());
            return reading.problem(&Place::line(error.line().max(1) as u64), None, message);
        }
    };
    // A bare list is what a person writes, or another program.
    if whole.get().starts_with('[') {
        return read_records(text, whole, &mut lines, reading);
    }
    let Ok(Members::<&RawValue>(pairs)) = serde_json::from_str(whole.get()) else {
        let message =
            format!("expected an object with `records`, or a list of records, found {}", found(whole));
        return reading.problem(&Place::line(1), None, message);
    };
    let mut has_records = false;
    for (name, value) in pairs {
        let place = Place::line(lines.at(offset(text, value)));
        match &*name {
            "format" if value.get() != "\"spexus\"" => {
                let message = format!("expected \"spexus\", found {}", found(value));
                reading.problem(&place, Some(&name), message);
            }
            "version" if value.get() != VERSION.to_string() => {
                let message = format!("expected {VERSION}, found {}", found(value));
                reading.problem(&place, Some(&name), message);
            }
            "format" | "version" => {}
            "records" if value.get().starts_with('[') => {
                has_records = true;
                read_records(text, value, &mut lines, reading);
            }
            "records" => {
                has_records = true;
                reading.problem(&place, Some(&name), format!("expected a list, found {}", found(value)));
            }
            _ => {
                let message = "unknown key; expected `format`, `version` and `records`";
                reading.problem(&place, Some(&name), message);
            }
        }
    }
    if !has_records {
        reading.problem(&Place::line(1), Some("records"), "expected a list of records, found nothing");
    }
}

fn read_records(text: &str, list: &RawValue, lines: &mut Lines<'_>, reading: &mut Reading) {
    let records: Vec<&RawValue> = serde_json::from_str(list.get()).expect("its syntax was checked");
    for (index, record) in records.into_iter().enumerate() {
        let place = Place::item(format!("records[{index}]"), lines.at(offset(text, record)));
        let Ok(Members::<&RawValue>(pairs)) = serde_json::from_str(record.get()) else {
            let message = format!("expected an object with `kind` and fields, found {}", found(record));
            reading.problem(&place, None, message);
            continue;
        };
        let mut draft = Draft::new(place, "");
        for (name, value) in pairs {
            if name == "kind" {
                draft.kind = serde_json::from_str(value.get()).unwrap_or_else(|_| value.get().to_owned());
                continue;
            }
            let line = Some(lines.at(offset(text, value)));
            if value.get() != "null" {
                draft.values.push(Given { name, value: understood(value), line });
            }
        }
        reading.check(draft);
    }
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

/// Where a part that was borrowed from the text begins.
fn offset(text: &str, part: &RawValue) -> usize {
    (part.get().as_ptr() as usize).saturating_sub(text.as_ptr() as usize)
}
