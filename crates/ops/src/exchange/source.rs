//! Chooses the reader for a file: our own export, a table of another tool, or plain Markdown.

use std::io::{self, Read};

use ::exchange::{
    Format, Known, Mapping, Reading, Record, TableFormat, TableOptions, decoded, is_own_csv, is_prose,
    read_each, read_prose, read_table,
};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use store::alias::{SCHEME_MAX_CHARS, is_scheme};

use crate::error::{Error, Result};
use crate::input::Text;

/// The format of a file to import.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum ImportFormat {
    /// An export of ours.
    Json,
    /// A table: an export of ours, or of another tool.
    #[serde(alias = "tsv")]
    Csv,
    /// A workbook of Excel, of which the first sheet is read.
    Xlsx,
    /// An export of ours, or any text with headings and lists.
    #[serde(alias = "md")]
    Markdown,
    /// An export of a requirements tool.
    Reqif,
}

impl ImportFormat {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            ImportFormat::Json => "json",
            ImportFormat::Csv => "csv",
            ImportFormat::Xlsx => "xlsx",
            ImportFormat::Markdown => "markdown",
            ImportFormat::Reqif => "reqif",
        }
    }

    /// The bytes of a file in an argument: text, or base64 for binary formats.
    pub(super) fn bytes(self, content: String) -> Result<Vec<u8>> {
        if self != ImportFormat::Xlsx {
            return Ok(content.into_bytes());
        }
        let plain: String = content.split_whitespace().collect();
        STANDARD.decode(plain).map_err(|error| {
            Error::field(
                "content",
                format!("expected the workbook in base64, or as the body of the request: {error}"),
            )
        })
    }
}

/// How a file is read.
#[derive(Clone, Debug)]
pub(super) struct Source {
    format: ImportFormat,
    /// The caller's mapping of columns, if given.
    mapping: Option<Mapping>,
    scheme: Option<String>,
}

impl Source {
    /// Checks the caller's arguments about a file.
    pub fn new(format: ImportFormat, map: Option<&str>, scheme: Option<&Text<1, 40>>) -> Result<Source> {
        let mapping = map.map(Mapping::parse).transpose().map_err(|message| Error::field("map", message))?;
        if mapping.is_some() && !matches!(format, ImportFormat::Csv | ImportFormat::Xlsx) {
            let message = format!("is for tables (csv, xlsx), and this file is {}", format.name());
            return Err(Error::field("map", message));
        }
        let scheme = scheme.map(|scheme| scheme.as_str().to_owned());
        if let Some(wrong) = scheme.as_deref().filter(|scheme| !is_scheme(scheme)) {
            let message = format!(
                "expected up to {SCHEME_MAX_CHARS} small letters, digits, - and _, a letter first, such as jira, found {wrong:?}"
            );
            return Err(Error::field("scheme", message));
        }
        Ok(Source { format, mapping, scheme })
    }

    /// The tool that assigned the external ids, unless a table says so.
    pub fn scheme(&self) -> &str {
        self.scheme.as_deref().unwrap_or(self.format.name())
    }

    /// Reads the file.
    pub fn read(
        &self,
        file: &mut dyn Read,
        known: Known<'_>,
        each: &mut dyn FnMut(Record, bool) -> io::Result<()>,
    ) -> io::Result<Reading> {
        let options = || TableOptions {
            mapping: self.mapping.clone().unwrap_or_default(),
            scheme: self.scheme.clone(),
        };
        match self.format {
            ImportFormat::Json => read_each(Format::Json, file, each),
            ImportFormat::Reqif => read_each(Format::Reqif, file, each),
            ImportFormat::Xlsx => {
                let mut bytes = Vec::new();
                file.read_to_end(&mut bytes)?;
                match ::exchange::own_workbook(&bytes).filter(|_| self.mapping.is_none()) {
                    Some(csv) => read_each(Format::Csv, &mut csv.as_slice(), each),
                    None => read_table(TableFormat::Xlsx, &mut bytes.as_slice(), &options(), known, each),
                }
            }
            ImportFormat::Csv => {
                let mut text = decoded(file)?;
                let (is_own, head) = is_own_csv(&mut text)?;
                let mut whole = head.as_slice().chain(text);
                if is_own && self.mapping.is_none() {
                    return read_each(Format::Csv, &mut whole, each);
                }
                read_table(TableFormat::Csv, &mut whole, &options(), known, each)
            }
            ImportFormat::Markdown => {
                let mut text = Vec::new();
                decoded(file)?.read_to_end(&mut text)?;
                match std::str::from_utf8(&text) {
                    Ok(plain) if is_prose(plain) => read_prose(&mut text.as_slice(), self.scheme(), each),
                    _ => read_each(Format::Markdown, &mut text.as_slice(), each),
                }
            }
        }
    }
}
