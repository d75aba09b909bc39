//! Citations by id, and the code around them. Nothing outside of the project is read.

use std::path::Path;

use mcp::{Failure, FailureKind};
use trace::Annotation;
use trace::model::{Citation, Model, Named};

use super::rows::note_on_line;

/// Longer lines are cut.
pub const LINE_CHARACTERS_MAX: usize = 500;

/// A citation and the current content of its file.
pub struct Code {
    /// The file, relative to the project.
    pub path: String,
    /// The first line of the citation.
    pub line: u32,
    text: String,
}

impl Code {
    /// Finds a citation by its id, also an invalid one, or by a nearby line, which a note then says.
    pub fn find(root: &Path, model: &Model, id: &str) -> Result<Option<(Code, Option<String>)>, Failure> {
        if let Some(wrong) = Code::wrong(root, model, id)? {
            return Ok(Some((wrong, None)));
        }
        match model.named(id) {
            Some(Named::Citation(citation)) => {
                Ok(Some((Code::of(root, &citation)?, note_on_line(id, &citation))))
            }
            _ => Ok(None),
        }
    }

    /// Finds an invalid citation by its place.
    fn wrong(root: &Path, model: &Model, id: &str) -> Result<Option<Code>, Failure> {
        let Some((path, line)) = id.rsplit_once(':') else { return Ok(None) };
        let Ok(line) = line.parse::<u32>() else { return Ok(None) };
        let path = within(root, path);
        let is_there = |problem: &trace::Diagnostic| {
            problem.places.iter().any(|place| *place.path == path && place.line == line)
        };
        if !model.problems().any(is_there) || model.citation(&format!("{path}:{line}")).is_some() {
            return Ok(None);
        }
        let text = read(root, &path)?;
        Ok(Some(Code { path, line, text }))
    }

    /// Reads the file of a citation. If it has just changed, so that the citation is elsewhere, this is
    /// a conflict: a retry sees the new state.
    pub fn of(root: &Path, citation: &Citation) -> Result<Code, Failure> {
        let text = read(root, citation.path())?;
        if !is_in(&text, citation.annotation()) {
            let message = format!("{} has just changed; ask again", citation.path());
            return Err(Failure::new(FailureKind::Conflict, message));
        }
        Ok(Code { path: citation.path().to_string(), line: citation.annotation().line, text })
    }

    /// All lines of its comment.
    pub fn comment(&self, annotation: &Annotation) -> String {
        let n_lines = (annotation.last_line - annotation.line + 1) as usize;
        let lines = self.text.lines().skip(annotation.line as usize - 1).take(n_lines);
        lines.map(str::trim).collect::<Vec<_>>().join("\n")
    }

    /// Some lines with their numbers, from 1 on.
    pub fn numbered(&self, first: usize, last: usize) -> impl Iterator<Item = (usize, String)> {
        let lines = self.text.lines().enumerate().skip(first - 1).take(last + 1 - first);
        lines.map(|(index, line)| (index + 1, cut(line, LINE_CHARACTERS_MAX)))
    }

    /// The lines around it, each cut to a number of characters.
    pub fn lines(&self, n_around: usize, n_characters_max: usize) -> Vec<String> {
        let line = self.line as usize;
        let first = line.saturating_sub(n_around).max(1);
        let wanted = self.text.lines().skip(first - 1).take(line + n_around + 1 - first);
        wanted.map(|line| cut(line, n_characters_max)).collect()
    }
}

/// A path as the project writes it: relative to its folder, with slashes.
pub fn within(root: &Path, path: &str) -> String {
    let slashed = path.replace('\\', "/");
    let path = Path::new(&slashed);
    let path = path.strip_prefix(root).or_else(|_| path.strip_prefix(".")).unwrap_or(path);
    path.to_string_lossy().into_owned()
}

fn read(root: &Path, path: &str) -> Result<String, Failure> {
    trace::project::read_inside(root, Path::new(path)).map_err(|problem| {
        Failure::new(FailureKind::Unavailable, format!("{path} cannot be read: {problem}"))
    })
}

/// Returns whether an annotation is still where it was found.
fn is_in(text: &str, annotation: &Annotation) -> bool {
    let target = text.get(annotation.places.target.range());
    // In a requirement file it may be written with escapes.
    target.is_some_and(|target| target.contains(&*annotation.target) || target.contains('\\'))
}

fn cut(line: &str, n_characters_max: usize) -> String {
    match line.char_indices().nth(n_characters_max) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line.to_owned(),
    }
}
