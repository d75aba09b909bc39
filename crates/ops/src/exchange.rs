//! Import and export of requirements. The crate `exchange` has the formats; this module maps their records to the
//! store.

mod acyclic;
mod aliases;
mod entities;
mod entities_written;
pub mod export;
mod fetched;
mod fields;
mod for_reading;
pub mod import;
pub mod imports;
mod leaves;
mod links;
mod made;
mod names;
mod naming;
mod notes;
mod plan;
pub mod preview;
mod prompts;
mod records;
mod remarks;
mod report;
mod rows;
mod setup;
mod shelf;
mod slices;
mod source;
mod specification;
mod taken_back;
mod things;
mod understood;
pub mod undo;
mod work;

use ::exchange::Format;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The format of a file.
#[derive(Clone, Copy, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum FormatName {
    /// For programs, and for comparing two exports.
    Json,
    /// For spreadsheets.
    Csv,
    /// For editors and review.
    #[serde(alias = "md")]
    Markdown,
    /// For other requirements tools.
    Reqif,
}

impl FormatName {
    fn format(self) -> Format {
        match self {
            FormatName::Json => Format::Json,
            FormatName::Csv => Format::Csv,
            FormatName::Markdown => Format::Markdown,
            FormatName::Reqif => Format::Reqif,
        }
    }

    /// The file extension of this format.
    fn extension(self) -> &'static str {
        match self {
            FormatName::Markdown => "md",
            other => other.format().name(),
        }
    }
}
