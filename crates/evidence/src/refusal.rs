//! Why a report is rejected, and where in it.

use std::fmt;

/// A report that is rejected as a whole. Displays as `name:line: reason`, or `name: reason` without a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The name of the report, as the caller gave it.
    pub report: String,
    /// The line, from 1.
    pub line: Option<u64>,
    /// The problem, and what was expected.
    pub reason: String,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(f, "{}:{line}: {}", self.report, self.reason),
            None => write!(f, "{}: {}", self.report, self.reason),
        }
    }
}

impl std::error::Error for Refusal {}

/// A problem at a byte offset, before the report's name is known.
#[derive(Debug)]
pub(crate) struct Wrong {
    pub offset: Option<usize>,
    pub reason: String,
}

impl Wrong {
    pub fn at(offset: usize, reason: impl Into<String>) -> Wrong {
        Wrong { offset: Some(offset), reason: reason.into() }
    }

    pub fn whole(reason: impl Into<String>) -> Wrong {
        Wrong { offset: None, reason: reason.into() }
    }

    /// For parsers without offsets: the first occurrence of the offending text.
    pub fn where_found(bytes: &[u8], text: &str, reason: impl Into<String>) -> Wrong {
        Wrong { offset: memchr::memmem::find(bytes, text.as_bytes()), reason: reason.into() }
    }

    pub fn into_refusal(self, report: &str, bytes: &[u8]) -> Refusal {
        let line = self.offset.map(|offset| {
            let before = &bytes[..offset.min(bytes.len())];
            1 + memchr::memchr_iter(b'\n', before).count() as u64
        });
        Refusal { report: report.to_owned(), line, reason: self.reason }
    }
}

pub(crate) type Read<T> = Result<T, Wrong>;
