//! Citations by their ids, and the lines of code around them. Nothing outside of the project is read.

use std::path::Path;

use mcp::{Failure, Kind};
use trace::Annotation;
use trace::model::{Citation, Model};

/// A line longer than this is cut.
pub const LINE_CHARACTERS_MAX: usize = 500;

/// A citation and its file as it is now.
pub struct Code {
    /// The file, relative to the project.
    pub path: String,
    /// The first line of the citation.
    pub line: u32,
    text: String,
}

impl Code {
    /// Finds a citation by its id, also one that is wrong. There is nothing if there is no such citation.
    pub fn find(root: &Path, model: &Model, id: &str) -> Result<Option<Code>, Failure> {
        if let Some(citation) = model.citation(id) {
            return Code::of(root, &citation).map(Some);
        }
        let Some((path, line)) = id.rsplit_once(':') else { return Ok(None) };
        let Ok(line) = line.parse::<u32>() else { return Ok(None) };
        let is_there = |problem: &trace::Diagnostic| {
            problem.places.iter().any(|place| &*place.path == path && place.line == line)
        };
        if !model.problems().any(is_there) {
            return Ok(None);
        }
        let text = read(root, path)?;
        Ok(Some(Code { path: path.to_owned(), line, text }))
    }

    /// Reads the file of a citation. One that was changed a moment ago, so that the citation stands elsewhere now, is
    /// a conflict: whoever asks again gets what is known by then.
    pub fn of(root: &Path, citation: &Citation) -> Result<Code, Failure> {
        let text = read(root, citation.path())?;
        if !is_in(&text, citation.annotation()) {
            let message = format!("{} has just changed; ask again", citation.path());
            return Err(Failure::new(Kind::Conflict, message));
        }
        Ok(Code { path: citation.path().to_string(), line: citation.annotation().line, text })
    }

    /// All lines of its comment.
    pub fn comment(&self, annotation: &Annotation) -> String {
        let n_lines = (annotation.last_line - annotation.line + 1) as usize;
        let lines = self.text.lines().skip(annotation.line as usize - 1).take(n_lines);
        lines.map(str::trim).collect::<Vec<_>>().join("\n")
    }

    /// The lines around it, none longer than so many characters.
    pub fn lines(&self, n_around: usize, n_characters_max: usize) -> Vec<String> {
        let line = self.line as usize;
        let first = line.saturating_sub(n_around).max(1);
        let wanted = self.text.lines().skip(first - 1).take(line + n_around + 1 - first);
        wanted.map(|line| cut(line, n_characters_max)).collect()
    }
}

fn read(root: &Path, path: &str) -> Result<String, Failure> {
    trace::project::read_inside(root, Path::new(path))
        .map_err(|problem| Failure::new(Kind::Unavailable, format!("{path} cannot be read: {problem}")))
}

/// Tells whether an annotation still stands where it was found.
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
