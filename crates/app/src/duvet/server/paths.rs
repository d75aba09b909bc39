//! Citations by their ids, and the lines of code around them. Nothing outside of the project is read.

use std::path::Path;

use trace::index::Model;

/// A line longer than this is cut.
const LINE_CHARACTERS_MAX: usize = 500;

/// Finds the file and line of a citation, also of one that is wrong.
pub fn citation(model: &Model, id: &str) -> Option<(String, u32)> {
    if let Some(citation) = model.citation(id) {
        return Some((citation.path.to_string(), citation.annotation.line));
    }
    let (path, line) = id.rsplit_once(':')?;
    let line: u32 = line.parse().ok()?;
    let is_there = |problem: &trace::Diagnostic| {
        problem.places.iter().any(|place| &*place.path == path && place.line == line)
    };
    model.problems().any(is_there).then(|| (path.to_owned(), line))
}

/// Returns the lines around one of a file that the index knows.
pub fn lines(root: &Path, path: &str, line: u32, n_around: usize) -> Result<Vec<String>, String> {
    let text = trace::project::read_inside(root, Path::new(path))?;
    let line = line as usize;
    let first = line.saturating_sub(n_around).max(1);
    let wanted = text.lines().skip(first - 1).take(line + n_around + 1 - first);
    Ok(wanted.map(cut).collect())
}

fn cut(line: &str) -> String {
    match line.char_indices().nth(LINE_CHARACTERS_MAX) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line.to_owned(),
    }
}
