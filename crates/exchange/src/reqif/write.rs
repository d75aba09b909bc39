//! Writes ReqIF: objects as a stream, then relations and the outline, which the schema requires last.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::io::{self, Write};

use super::text::{escape, identifier};
use crate::kind::{FieldShape, Form, RecordKind, Shape};
use crate::record::{Field, Record};

/// The maximum text length that exports declare to other tools; nothing here truncates.
const TEXT_MAX_CHARS: u32 = 1_000_000;
/// When the types got their current form; they do not change between exports.
const TYPES_CHANGED: &str = "2026-11-01T00:00:00Z";
/// For objects without a time.
const NO_TIME: &str = "1970-01-01T00:00:00Z";

pub fn write(time: &str, records: impl Iterator<Item = Record>, out: &mut impl Write) -> io::Result<()> {
    let mut records = records.peekable();
    let title = match records.peek() {
        Some(first) if first.kind == RecordKind::Project => first.text("name").unwrap_or("Requirements"),
        _ => "Requirements",
    };
    out.write_all(head(title, known_time(Some(time))).as_bytes())?;

    let mut outline = Outline::default();
    let mut relations = Vec::new();
    out.write_all(b"      <SPEC-OBJECTS>\n")?;
    for (index, record) in records.enumerate() {
        if record.kind == RecordKind::Relationship {
            relations.push((index, record));
            continue;
        }
        let identifier = object_identifier(&record, index);
        out.write_all(object(&record, &identifier).as_bytes())?;
        outline.add(&record, identifier);
    }
    out.write_all(b"      </SPEC-OBJECTS>\n      <SPEC-RELATIONS>\n")?;
    for (index, record) in relations {
        out.write_all(relation(&record, &object_identifier(&record, index)).as_bytes())?;
    }
    out.write_all(b"      </SPEC-RELATIONS>\n")?;
    outline.write(out)?;
    out.write_all(b"    </REQ-IF-CONTENT>\n  </CORE-CONTENT>\n</REQ-IF>\n")
}

fn head(title: &str, time: &str) -> String {
    let mut escaped_title = String::new();
    escape(title, &mut escaped_title);
    let mut head = format!(
        r#"<?xml version="1.0" encoding="UTF-8"?>
<REQ-IF xmlns="http://www.omg.org/spec/ReqIF/20110401/reqif.xsd" xmlns:xhtml="http://www.w3.org/1999/xhtml">
  <THE-HEADER>
    <REQ-IF-HEADER IDENTIFIER="header.spexus">
      <CREATION-TIME>{time}</CREATION-TIME>
      <REQ-IF-TOOL-ID>spexus</REQ-IF-TOOL-ID>
      <REQ-IF-VERSION>1.0</REQ-IF-VERSION>
      <SOURCE-TOOL-ID>spexus</SOURCE-TOOL-ID>
      <TITLE>{escaped_title}</TITLE>
    </REQ-IF-HEADER>
  </THE-HEADER>
  <CORE-CONTENT>
    <REQ-IF-CONTENT>
      <DATATYPES>
        <DATATYPE-DEFINITION-BOOLEAN IDENTIFIER="data.flag" LONG-NAME="flag" LAST-CHANGE="{TYPES_CHANGED}"/>
        <DATATYPE-DEFINITION-INTEGER IDENTIFIER="data.number" LONG-NAME="number" LAST-CHANGE="{TYPES_CHANGED}" MIN="{}" MAX="{}"/>
        <DATATYPE-DEFINITION-STRING IDENTIFIER="data.text" LONG-NAME="text" LAST-CHANGE="{TYPES_CHANGED}" MAX-LENGTH="{TEXT_MAX_CHARS}"/>
        <DATATYPE-DEFINITION-XHTML IDENTIFIER="data.prose" LONG-NAME="prose" LAST-CHANGE="{TYPES_CHANGED}"/>
      </DATATYPES>
      <SPEC-TYPES>
"#,
        i64::MIN,
        i64::MAX,
    );
    for shape in RecordKind::all().map(RecordKind::shape) {
        let tag =
            if shape.kind == RecordKind::Relationship { "SPEC-RELATION-TYPE" } else { "SPEC-OBJECT-TYPE" };
        head.push_str(&spec_type(shape, tag));
    }
    _ = write!(
        head,
        r#"        <SPECIFICATION-TYPE IDENTIFIER="type.specification" LONG-NAME="specification" LAST-CHANGE="{TYPES_CHANGED}"/>
      </SPEC-TYPES>
"#
    );
    head
}

fn spec_type(shape: &Shape, tag: &str) -> String {
    let kind = shape.name;
    let mut text = format!(
        r#"        <{tag} IDENTIFIER="type.{kind}" LONG-NAME="{kind}" LAST-CHANGE="{TYPES_CHANGED}">
          <SPEC-ATTRIBUTES>
"#
    );
    for field in shape.fields().filter(|field| !is_end(shape.kind, field)) {
        let (data, data_tag) = data_type(field.form);
        let (name, long_name) = (field.name, long_name(field));
        _ = writeln!(
            text,
            r#"            <ATTRIBUTE-DEFINITION-{data_tag} IDENTIFIER="field.{kind}.{name}" LONG-NAME="{long_name}" LAST-CHANGE="{TYPES_CHANGED}"><TYPE><DATATYPE-DEFINITION-{data_tag}-REF>{data}</DATATYPE-DEFINITION-{data_tag}-REF></TYPE></ATTRIBUTE-DEFINITION-{data_tag}>"#
        );
    }
    _ = write!(text, "          </SPEC-ATTRIBUTES>\n        </{tag}>\n");
    text
}

/// The standard names of fields, where they exist.
fn long_name(field: &FieldShape) -> &'static str {
    match field.form {
        Form::Title => "ReqIF.Name",
        Form::Prose => "ReqIF.Text",
        _ if field.name == "reference_id" => "ReqIF.ForeignID",
        _ => field.name,
    }
}

fn data_type(form: Form) -> (&'static str, &'static str) {
    match form {
        Form::Title | Form::Text => ("data.text", "STRING"),
        Form::Prose => ("data.prose", "XHTML"),
        Form::Number => ("data.number", "INTEGER"),
        Form::Flag => ("data.flag", "BOOLEAN"),
    }
}

/// Whether a field is an end of a relation, which ReqIF represents separately.
fn is_end(kind: RecordKind, field: &FieldShape) -> bool {
    kind == RecordKind::Relationship && ["source", "target"].contains(&field.name)
}

fn object(record: &Record, identifier: &str) -> String {
    format!(
        r#"        <SPEC-OBJECT IDENTIFIER="{identifier}" LAST-CHANGE="{}">
          <TYPE><SPEC-OBJECT-TYPE-REF>type.{}</SPEC-OBJECT-TYPE-REF></TYPE>
{}        </SPEC-OBJECT>
"#,
        last_change(record),
        record.kind.name(),
        values(record)
    )
}

fn relation(record: &Record, identifier: &str) -> String {
    let end = |name| record.text(name).map(super::text::identifier).unwrap_or_default();
    format!(
        r#"        <SPEC-RELATION IDENTIFIER="{identifier}" LAST-CHANGE="{}">
          <TYPE><SPEC-RELATION-TYPE-REF>type.relationship</SPEC-RELATION-TYPE-REF></TYPE>
          <SOURCE><SPEC-OBJECT-REF>{}</SPEC-OBJECT-REF></SOURCE>
          <TARGET><SPEC-OBJECT-REF>{}</SPEC-OBJECT-REF></TARGET>
{}        </SPEC-RELATION>
"#,
        last_change(record),
        end("source"),
        end("target"),
        values(record)
    )
}

fn values(record: &Record) -> String {
    let mut text = String::from("          <VALUES>\n");
    for (shape, field) in record.fields().filter(|(shape, _)| !is_end(record.kind, shape)) {
        let (_, tag) = data_type(shape.form);
        let definition = format!(
            "<DEFINITION><ATTRIBUTE-DEFINITION-{tag}-REF>field.{}.{}</ATTRIBUTE-DEFINITION-{tag}-REF></DEFINITION>",
            record.kind.name(),
            shape.name
        );
        _ = write!(text, "            <ATTRIBUTE-VALUE-{tag}");
        match field {
            Field::Text(prose) if shape.form == Form::Prose => {
                _ = write!(text, ">{definition}<THE-VALUE>{}</THE-VALUE>", xhtml(prose));
            }
            Field::Text(line) => {
                text.push_str(" THE-VALUE=\"");
                escape(line, &mut text);
                _ = write!(text, "\">{definition}");
            }
            Field::Number(_) | Field::Flag(_) => _ = write!(text, " THE-VALUE=\"{field}\">{definition}"),
        }
        _ = writeln!(text, "</ATTRIBUTE-VALUE-{tag}>");
    }
    text.push_str("          </VALUES>\n");
    text
}

/// A text as XHTML. Line breaks are elements, for tools without styles; the style preserves other white space.
fn xhtml(prose: &str) -> String {
    let mut text = format!("<xhtml:div style=\"{}\">", super::read::EXACT_STYLE);
    for (index, line) in prose.split('\n').enumerate() {
        if index > 0 {
            text.push_str("<xhtml:br/>");
        }
        escape(line, &mut text);
    }
    text.push_str("</xhtml:div>");
    text
}

/// The same in every export if the record has a reference or an id.
fn object_identifier(record: &Record, index: usize) -> String {
    match (record.text("reference_id"), record.text("id")) {
        (Some(reference), _) => identifier(reference),
        (None, Some(id)) => format!("{}.{}", record.kind.name(), identifier(id)),
        (None, None) => format!("{}.{index}", record.kind.name()),
    }
}

fn last_change(record: &Record) -> &str {
    known_time(record.text("updated_at").or(record.text("created_at")))
}

/// The time, if it has the form of XML Schema.
fn known_time(time: Option<&str>) -> &str {
    let is_known = |time: &&str| {
        let shape: String = time.chars().map(|char| if char.is_ascii_digit() { '0' } else { char }).collect();
        let (seconds, fraction) = shape.split_at_checked(19).unwrap_or_default();
        let number = |range| time.get(range).and_then(|digits: &str| digits.parse().ok()).unwrap_or(99);
        seconds == "0000-00-00T00:00:00"
            && fraction.strip_suffix('Z').is_some_and(|fraction| {
                fraction.is_empty()
                    || (fraction.starts_with(".0") && fraction[1..].chars().all(|char| char == '0'))
            })
            && (1..=9999).contains(&number(0..4))
            && (1..=12).contains(&number(5..7))
            && (1..=31).contains(&number(8..10))
            && number(11..13) < 24
            && number(14..16) < 60
            && number(17..19) < 60
    };
    time.filter(is_known).unwrap_or(NO_TIME)
}

/// The outline of the specification, collected until all objects have been written.
#[derive(Default)]
struct Outline {
    nodes: Vec<Node>,
    by_reference: HashMap<(RecordKind, String), usize>,
}

struct Node {
    identifier: String,
    /// The parent. The kinds make three levels, whatever the references say.
    parent: Option<(RecordKind, String)>,
}

impl Outline {
    fn add(&mut self, record: &Record, identifier: String) {
        let parent = match record.kind {
            RecordKind::Epic | RecordKind::SteeringDocument => None,
            RecordKind::UserStory => record.text("epic").map(|epic| (RecordKind::Epic, epic.to_owned())),
            RecordKind::AcceptanceCriteria | RecordKind::Requirement => {
                record.text("user_story").map(|story| (RecordKind::UserStory, story.to_owned()))
            }
            _ => return,
        };
        if let Some(reference) = record.text("reference_id") {
            self.by_reference.insert((record.kind, reference.to_owned()), self.nodes.len());
        }
        self.nodes.push(Node { identifier, parent });
    }

    fn write(&self, out: &mut impl Write) -> io::Result<()> {
        let mut children: HashMap<usize, Vec<usize>> = HashMap::new();
        let mut roots = Vec::new();
        for (index, node) in self.nodes.iter().enumerate() {
            match node.parent.as_ref().and_then(|parent| self.by_reference.get(parent)) {
                Some(parent) => children.entry(*parent).or_default().push(index),
                // The parent is not part of this export.
                None => roots.push(index),
            }
        }
        write!(
            out,
            r#"      <SPECIFICATIONS>
        <SPECIFICATION IDENTIFIER="specification.requirements" LONG-NAME="Requirements" LAST-CHANGE="{NO_TIME}">
          <TYPE><SPECIFICATION-TYPE-REF>type.specification</SPECIFICATION-TYPE-REF></TYPE>
          <CHILDREN>
"#
        )?;
        for root in roots {
            self.write_node(root, &children, 12, out)?;
        }
        out.write_all(b"          </CHILDREN>\n        </SPECIFICATION>\n      </SPECIFICATIONS>\n")
    }

    fn write_node(
        &self,
        index: usize,
        children: &HashMap<usize, Vec<usize>>,
        indent: usize,
        out: &mut impl Write,
    ) -> io::Result<()> {
        let identifier = &self.nodes[index].identifier;
        write!(
            out,
            r#"{:indent$}<SPEC-HIERARCHY IDENTIFIER="place.{identifier}" LAST-CHANGE="{NO_TIME}"><OBJECT><SPEC-OBJECT-REF>{identifier}</SPEC-OBJECT-REF></OBJECT>"#,
            ""
        )?;
        if let Some(children_of_this) = children.get(&index) {
            writeln!(out, "<CHILDREN>")?;
            for child in children_of_this {
                self.write_node(*child, children, indent + 2, out)?;
            }
            write!(out, "{:indent$}</CHILDREN>", "")?;
        }
        writeln!(out, "</SPEC-HIERARCHY>")
    }
}
