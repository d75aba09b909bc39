//! Conflicts between reports: the values, and their lines in the reports.

use std::collections::BTreeMap;
use std::ops::Range;

use super::Input;
use crate::diagnostic::{Code, Diagnostic, Place, Severity};
use crate::report::json_v2::document::ReportV2;
use crate::report::json_v2::{locate, point_at};
use crate::text::Span;

/// The path of keys to things of a kind.
pub type Keys<'a> = &'a [&'a str];

pub const REPOSITORY: Keys<'_> = &["repositories"];
pub const INLINE: Keys<'_> = &["sources", "https://awslabs.github.io/duvet/v2/sources.json#inline"];
pub const LINKED: Keys<'_> = &["sources", "https://awslabs.github.io/duvet/v2/sources.json#linked"];
pub const SPECIFICATION: Keys<'_> =
    &["annotations", "https://awslabs.github.io/duvet/v2/annotations.json#specification"];
pub const SECTION: Keys<'_> = &["annotations", "https://awslabs.github.io/duvet/v2/annotations.json#section"];
pub const REQUIREMENT: Keys<'_> =
    &["annotations", "https://awslabs.github.io/duvet/v2/annotations.json#requirement"];
pub const CITE: Keys<'_> = &["annotations", "https://awslabs.github.io/duvet/v2/annotations.json#cite"];

/// Limited because locating a conflict parses a report again, and long lists are not read.
const SHOWN_MAX: usize = 20;
/// Longer values are not repeated.
const VALUE_SIZE_MAX_BYTES: usize = 80;

/// The conflicts so far.
pub struct Conflicts<'a> {
    inputs: &'a [Input],
    /// The position of the report that is being merged.
    pub current: usize,
    errors: Listed,
    warnings: Listed,
}

#[derive(Default)]
struct Listed {
    shown: Vec<Diagnostic>,
    n_more: usize,
}

/// Fields, and whether they are equal.
type Fields<'a> = &'a [(&'a str, bool)];

impl<'a> Conflicts<'a> {
    /// Starts without any.
    pub fn new(inputs: &'a [Input]) -> Conflicts<'a> {
        Conflicts { inputs, current: 0, errors: Listed::default(), warnings: Listed::default() }
    }

    /// Checks fields on which reports must agree.
    pub fn check(&mut self, keys: Keys<'_>, id: &str, fields: Fields<'_>) {
        self.add(Severity::Error, keys, id, fields, "make all reports from one state of the code");
    }

    /// Checks the fields behind the id.
    pub fn check_hashed(&mut self, keys: Keys<'_>, id: &str, fields: Fields<'_>) {
        let help = "the id is made from it, so one of the reports was changed by hand, or two ids are equal by chance";
        self.add(Severity::Error, keys, id, fields, help);
    }

    /// Checks fields on which reports may disagree.
    pub fn warn(&mut self, keys: Keys<'_>, id: &str, fields: Fields<'_>) {
        let help = "the first in the alphabet is kept, and all tags";
        self.add(Severity::Warning, keys, id, fields, help);
    }

    /// Returns the warnings if there are no errors.
    pub fn finish(self) -> Result<Vec<Diagnostic>, Vec<Diagnostic>> {
        let errors = self.errors.all(Diagnostic::error);
        if errors.is_empty() { Ok(self.warnings.all(Diagnostic::warning)) } else { Err(errors) }
    }

    fn add(&mut self, severity: Severity, keys: Keys<'_>, id: &str, fields: Fields<'_>, help: &str) {
        for (field, _) in fields.iter().filter(|(_, is_same)| !is_same) {
            let listed = if severity == Severity::Error { &self.errors } else { &self.warnings };
            let is_shown = listed.shown.len() < SHOWN_MAX;
            let diagnostic = is_shown.then(|| self.describe(severity, keys, id, field).help(help));
            let listed = if severity == Severity::Error { &mut self.errors } else { &mut self.warnings };
            match diagnostic {
                Some(diagnostic) => listed.shown.push(diagnostic),
                None => listed.n_more += 1,
            }
        }
    }

    /// Describes a field of a thing that differs from what one of the reports before says, or the thing itself.
    fn describe(&self, severity: Severity, keys: Keys<'_>, id: &str, field: &str) -> Diagnostic {
        let mut keys = [keys, &[id, field]].concat();
        keys.retain(|key| !key.is_empty());
        let new = Said::find(self.inputs, self.current..self.current + 1, &keys);
        let old = Said::find(self.inputs, 0..self.current, &keys);
        let what = if field.is_empty() { id.to_owned() } else { format!("{field} of {id}") };
        let message = match (new.value(), old.value()) {
            (Some(new_value), Some(old_value)) => {
                format!("{what} is {new_value} in {}, and {old_value} in {}", new.path(), old.path())
            }
            _ => format!("{what} differs between {} and {}", old.path(), new.path()),
        };
        let places = [new.place("this"), old.place("and this")];
        let diagnostic = Diagnostic::error(Code::Conflict, message);
        Diagnostic { severity, places: places.into(), ..diagnostic }
    }
}

impl Listed {
    fn all(mut self, diagnostic: fn(Code, String) -> Diagnostic) -> Vec<Diagnostic> {
        if self.n_more > 0 {
            let message = format!("{} more such differences are not shown", self.n_more);
            self.shown.push(diagnostic(Code::Conflict, message));
        }
        self.shown
    }
}

/// What a report says of a field, and where.
struct Said<'a> {
    input: &'a Input,
    span: Span,
    /// Whether the field itself is there, not only what should have it.
    is_whole: bool,
}

impl<'a> Said<'a> {
    /// Finds the first report with the most complete field.
    fn find(inputs: &'a [Input], range: Range<usize>, keys: Keys<'_>) -> Said<'a> {
        let mut best = (0, Said { input: &inputs[range.start], span: Span::default(), is_whole: false });
        for input in &inputs[range] {
            if let Some((depth, span)) = locate(&input.text, keys).filter(|(depth, _)| *depth > best.0) {
                best = (depth, Said { input, span, is_whole: depth == keys.len() });
            }
        }
        best.1
    }

    fn path(&self) -> &str {
        &self.input.path
    }

    fn value(&self) -> Option<&str> {
        let value = self.span.of_text(&self.input.text);
        match self.is_whole {
            true => Some(value).filter(|value| value.len() <= VALUE_SIZE_MAX_BYTES && !value.contains('\n')),
            false => Some("not there"),
        }
    }

    fn place(&self, label: &str) -> Place {
        point_at(&self.input.path, &self.input.text, self.span, label)
    }
}

/// Finds files in several reports without a repository, which may or may not be the same.
pub fn shared_files(inputs: &[Input], documents: &[ReportV2<'_>]) -> Vec<Diagnostic> {
    let mut first: BTreeMap<&str, usize> = BTreeMap::new();
    let mut diagnostics = Vec::new();
    for (index, document) in documents.iter().enumerate() {
        let mut shared = Vec::new();
        for (id, file) in document.sources.linked.iter().filter(|(_, file)| file.repository.is_none()) {
            match first.get(&**id) {
                Some(earlier) => shared.push((id, &file.file_name, *earlier)),
                None => drop(first.insert(id, index)),
            }
        }
        let Some((id, name, earlier)) = shared.first() else {
            continue;
        };
        let keys = [LINKED, &[id, "file_name"]].concat();
        let said = |index: usize| Said::find(inputs, index..index + 1, &keys);
        let (new, old) = (said(index), said(*earlier));
        let more = match shared.len() - 1 {
            0 => String::new(),
            1 => ", and so is another file".to_owned(),
            n => format!(", and so are {n} other files"),
        };
        let message = format!("{name} is in {} and in {} without a repository{more}", old.path(), new.path());
        let diagnostic = Diagnostic::error(Code::Conflict, message)
            .at(new.place("which file of this name?"))
            .at(old.place("the same, or another?"))
            .help("say where the files of each project can be looked at: `blob-link` of `[[source]]`, or --blob-link");
        diagnostics.push(diagnostic);
    }
    diagnostics
}
