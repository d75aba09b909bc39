//! Previews a file to import: its columns, their guessed meaning, and some rows.

use std::io::Read;

use ::exchange::{Mapping, TableFormat, TablePreview, Target, preview_table};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::source::ImportFormat;
use crate::context::Cx;
use crate::error::{Error, ErrorKind, Result};
use crate::input::Text;
use crate::operation::{Command, Effect, FileArguments, Operation, Output, Route, command, post};

/// Preview a table before it is imported: the guessed meaning of its columns, and some of its rows.
///
/// Formats without columns have none of them in the answer.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PreviewImport {
    /// The format.
    format: ImportFormat,
    /// The content of the file; a workbook in base64.
    content: String,
    /// The meaning of columns, as in an import.
    map: Option<Text<0, 10000>>,
    #[serde(skip)]
    #[schemars(skip)]
    preview: Option<TablePreview>,
}

/// The preview of a file.
#[derive(Serialize, JsonSchema)]
pub struct ImportPreview {
    /// Whether it is the table of another tool, whose columns can be mapped.
    is_table: bool,
    /// The tool that it probably comes from.
    #[serde(skip_serializing_if = "Option::is_none")]
    scheme: Option<String>,
    /// How many rows the table has.
    rows: usize,
    /// The columns.
    columns: Vec<ImportColumn>,
    /// The possible meanings of a column.
    fields: Vec<&'static str>,
    /// Why the table cannot be read, if so.
    problems: Vec<String>,
}

/// A column of a table.
#[derive(Serialize, JsonSchema)]
#[schemars(inline)]
pub struct ImportColumn {
    /// Its name.
    name: String,
    /// Its guessed meaning; none if it is left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    field: Option<&'static str>,
    /// Its values in the first rows.
    samples: Vec<String>,
}

impl Output for ImportPreview {}

impl Operation for PreviewImport {
    type Output = ImportPreview;
    const NAME: &'static str = "preview_import";
    const COMMANDS: &'static [Command] = &[command("imports preview")];
    const ROUTES: &'static [Route] = &[post("/imports/preview")];
    const EFFECT: Effect = Effect::Reads;
    const TAKES_FILE: Option<FileArguments> = Some(FileArguments { content: "content", format: "format" });
    const POSITIONAL: &'static [&'static str] = &["content"];
    const PREPARES: bool = true;
    const IS_UNBOUNDED: bool = true;

    fn prepare(&mut self, cx: &mut Cx<'_, '_>) -> Result<()> {
        if self.preview.is_some() {
            return Ok(());
        }
        let mapping = self.map.as_ref().map(|map| Mapping::parse(map.as_str())).transpose();
        let mapping = mapping.map_err(|message| Error::field("map", message))?.unwrap_or_default();
        let format = match self.format {
            ImportFormat::Csv => TableFormat::Csv,
            ImportFormat::Xlsx => TableFormat::Xlsx,
            _ => return Ok(()),
        };
        let mut file: Box<dyn Read> = match cx.upload.take() {
            Some(upload) => Box::new(upload.into_reader()),
            None => Box::new(std::io::Cursor::new(self.format.bytes(std::mem::take(&mut self.content))?)),
        };
        let preview = preview_table(format, &mut file, &mapping).map_err(|error| {
            let unavailable = Error::new(ErrorKind::Unavailable, "the file could not be read");
            Error { cause: Some(error.to_string()), ..unavailable }
        })?;
        self.preview = Some(preview);
        Ok(())
    }

    fn run(&self, _: &mut Cx<'_, '_>) -> Result<ImportPreview> {
        let Some(preview) = &self.preview else {
            return Ok(ImportPreview {
                is_table: false,
                scheme: None,
                rows: 0,
                columns: Vec::new(),
                fields: Vec::new(),
                problems: Vec::new(),
            });
        };
        let column = |column: &::exchange::PreviewedColumn| ImportColumn {
            name: column.name.clone(),
            field: column.target.map(Target::name),
            samples: column.samples.clone(),
        };
        Ok(ImportPreview {
            is_table: !preview.is_ours,
            scheme: Some(preview.scheme.clone()),
            rows: preview.n_rows,
            columns: preview.columns.iter().map(column).collect(),
            fields: Target::ALL.map(Target::name).to_vec(),
            problems: preview.problems.iter().map(ToString::to_string).collect(),
        })
    }
}
