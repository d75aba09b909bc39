//! Exports as a file. The same state always gives the same bytes, whenever and by whomever it is exported. Records are
//! written as they are read, so that a file of any size takes little memory.

use std::io::{self, Write as _};

use ::exchange::Record;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use store::model::Kind;
use store::{Mode, project};

use super::records::{Records, Scope};
use super::{FormatName, for_reading, specification};
use crate::context::Cx;
use crate::error::{Error, ErrorKind, Result};
use crate::input::{Id, Text};
use crate::operation::{Command, Effect, Operation, Output, Route, Shape, Tool, command, get, tool};
use crate::sink::{Memory, Sink};

/// Export requirements and everything related as JSON, CSV, Markdown or ReqIF, or as a specification in HTML.
///
/// Without a project or an epic it exports everything: projects, types, statuses, epics and everything below, relationships,
/// steering documents, comments and prompts. All formats except HTML can be imported again; HTML has what readers need:
/// the tree with its texts, and the links. See the guide on import and export.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Export {
    /// The format.
    format: ExportFormat,
    /// Only this project: a key or an id.
    project: Option<Text<1, 64>>,
    /// Only this epic and everything below it, such as `EP-001`.
    epic: Option<Id>,
    /// The columns of a CSV file, such as `reference_id,title,status`; `all` is everything, including comments, relationships,
    /// types and
    /// prompts. Default: epics, stories, criteria, requirements and documents with the columns that people read.
    columns: Option<Text<1, 1000>>,
    /// Markdown for people: the tree in order, without internal ids, versions and times. It cannot be imported again.
    #[serde(default)]
    for_reading: bool,
    /// Include deleted entities, with the time of deletion. Purged ones are left out.
    #[serde(default)]
    include_deleted: bool,
}

/// The format of an exported file.
#[derive(Clone, Copy, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub(crate) enum ExportFormat {
    /// For programs, and for comparing two exports.
    Json,
    /// For spreadsheets.
    Csv,
    /// For editors and review.
    #[serde(alias = "md")]
    Markdown,
    /// For other requirements tools.
    Reqif,
    /// For readers: a specification in one file, which cannot be imported.
    Html,
}

impl ExportFormat {
    /// The same as a format that can be imported.
    fn records(self) -> Option<FormatName> {
        match self {
            ExportFormat::Json => Some(FormatName::Json),
            ExportFormat::Csv => Some(FormatName::Csv),
            ExportFormat::Markdown => Some(FormatName::Markdown),
            ExportFormat::Reqif => Some(FormatName::Reqif),
            ExportFormat::Html => None,
        }
    }

    fn media_type(self) -> &'static str {
        self.records().map_or("text/html; charset=utf-8", |format| format.format().media_type())
    }

    pub(crate) fn extension(self) -> &'static str {
        self.records().map_or("html", FormatName::extension)
    }
}

/// A file.
#[derive(Serialize, JsonSchema)]
pub struct ExportedFile {
    /// The format.
    format: ExportFormat,
    /// Its media type.
    content_type: &'static str,
    /// Its name.
    file_name: String,
    /// Its content. Empty if the file is sent separately.
    content: String,
}

/// The maximal size of a file within an answer.
const CONTENT_MAX_BYTES: usize = 64 << 20;
/// How much is written at once.
const BUFFER_BYTES: usize = 64 << 10;

impl Output for ExportedFile {}

impl Operation for Export {
    type Output = ExportedFile;
    const NAME: &'static str = "export";
    const COMMANDS: &'static [Command] = &[command("export")];
    const ROUTES: &'static [Route] = &[get("/export")];
    const TOOLS: &'static [Tool] = &[tool("bulk", r#"{"format": "markdown", "epic": "EP-001"}"#)];
    const EFFECT: Effect = Effect::Reads;
    const SHAPE: Option<Shape> = Some(Shape::File);
    const ANSWERS_FILE: bool = true;
    const MODE: Option<Mode> = Some(Mode::LongSnapshot);
    const IS_UNBOUNDED: bool = true;

    fn run(&self, cx: &mut Cx<'_, '_>) -> Result<ExportedFile> {
        let columns = self.columns()?;
        let (scope, name) = self.scope(cx)?;
        if self.include_deleted && self.format.records().is_none() {
            let message = "is not possible with html, which shows what there is now";
            return Err(Error::field("include_deleted", message));
        }
        let mut time = String::new();
        if let Some(FormatName::Reqif) = self.format.records() {
            // Its header has a time: the newest in the file, which is known only after reading all of it.
            let mut records = Records::new(cx, &scope, true)?;
            records.by_ref().for_each(drop);
            time = records.finish()?.to_string();
        }
        write_file(cx, self.format, &name, |cx, mut out| {
            let Some(format) = self.format.records() else {
                return specification::write(cx, &scope, &mut out);
            };
            if self.for_reading {
                return for_reading::write(cx, &scope, &mut out);
            }
            let mut records = Records::new(cx, &scope, false)?;
            let written = match &columns {
                Some(columns) => {
                    ::exchange::write_columns(columns, records.by_ref().filter(is_entity), &mut out)
                }
                None => ::exchange::write(format.format(), &time, records.by_ref(), &mut out),
            };
            records.finish()?;
            Ok(written)
        })
    }
}

/// Creates a file and returns it, or only its description if the transport receives the file as it is written.
pub(crate) fn write_file(
    cx: &mut Cx<'_, '_>,
    format: ExportFormat,
    name: &str,
    write: impl FnOnce(&mut Cx<'_, '_>, &mut dyn io::Write) -> Result<io::Result<()>>,
) -> Result<ExportedFile> {
    let mut memory = Memory { bytes: Vec::new(), bytes_max: CONTENT_MAX_BYTES };
    let sink: &mut dyn Sink = match cx.sink.take() {
        Some(sink) => sink,
        None => &mut memory,
    };
    sink.restart().map_err(unwritten)?;
    let mut out = io::BufWriter::with_capacity(BUFFER_BYTES, sink);
    let written = write(cx, &mut out);
    let flushed = out.flush();
    drop(out.into_parts());
    written?.and(flushed).map_err(unwritten)?;
    cx.steps.end("writing the file");
    Ok(ExportedFile {
        format,
        content_type: format.media_type(),
        file_name: format!("{name}.{}", format.extension()),
        content: String::from_utf8(memory.bytes)
            .map_err(|error| Error::new(ErrorKind::InternalError, error.to_string()))?,
    })
}

/// The columns that people read.
const PERSONS: [&str; 11] = [
    "kind",
    "reference_id",
    "epic",
    "user_story",
    "title",
    "description",
    "type",
    "status",
    "priority",
    "assignee",
    "labels",
];

/// Whether a record is an entity with a reference id.
fn is_entity(record: &Record) -> bool {
    super::entities::is_entity(record.kind)
}

impl Export {
    /// The columns of a table; none for a complete file.
    fn columns(&self) -> Result<Option<Vec<&'static str>>> {
        let format = self.format.extension();
        if self.for_reading && !matches!(self.format, ExportFormat::Markdown) {
            return Err(Error::field("for_reading", format!("is for Markdown, and the format is {format}")));
        }
        let asked = self.columns.as_ref().map(Text::as_str);
        if !matches!(self.format, ExportFormat::Csv) {
            return match asked {
                None | Some("all") => Ok(None),
                Some(_) => Err(Error::field("columns", format!("are for csv, and the format is {format}"))),
            };
        }
        let Some(asked) = asked else { return Ok(Some(PERSONS.to_vec())) };
        if asked.trim() == "all" {
            return Ok(None);
        }
        let known = ::exchange::columns();
        let mut columns: Vec<&'static str> = vec!["kind"];
        for name in asked.split(',').map(str::trim).filter(|name| !name.is_empty()) {
            let plain = words::name::plain(name);
            match known.iter().find(|column| **column == plain) {
                Some(column) if columns.contains(column) => {}
                Some(column) => columns.push(column),
                None => return Err(Error::not_allowed("columns", name, known)),
            }
        }
        Ok(Some(columns))
    }

    /// What is exported, and the name of the file.
    fn scope(&self, cx: &mut Cx<'_, '_>) -> Result<(Scope, String)> {
        let named = self.project.as_ref().map(|project| cx.project("project", Some(project.as_str())));
        let named = named.transpose()?;
        let scope = |projects, epic| Scope {
            projects,
            epic,
            include_deleted: self.include_deleted,
            has_prompts: self.epic.is_none() && self.project.is_none(),
        };
        if let Some(epic) = &self.epic {
            let epic = cx.entity("epic", epic, Kind::Epic)?;
            if named.is_some_and(|project| project.id != epic.project_id) {
                return Err(Error::field("epic", format!("{} is in another project", epic.reference_id)));
            }
            let project = cx.project("project", Some(&epic.project_id))?;
            let name = epic.reference_id.clone();
            return Ok((scope(vec![project], Some(epic)), name));
        }
        if let Some(project) = named {
            let name = project.key.clone();
            return Ok((scope(vec![project], None), name));
        }
        let projects = project::list(cx.tx, cx.caller()?.viewer(), i64::from(i32::MAX), 0)?;
        Ok((scope(projects, None), "requirements".to_owned()))
    }
}

/// The error for a file that could not be written.
fn unwritten(error: io::Error) -> Error {
    if error.kind() == io::ErrorKind::FileTooLarge {
        let message = format!(
            "the file has more than {} MiB, which is too large for a part of an answer; export a project or an epic at \
             a time, or get the file by itself from /api/v1/export or on the command line",
            CONTENT_MAX_BYTES >> 20
        );
        return Error::new(ErrorKind::TooLarge, message);
    }
    Error {
        cause: Some(error.to_string()),
        ..Error::new(ErrorKind::Unavailable, "the file could not be written")
    }
}
