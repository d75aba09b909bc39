//! The starting point of a thread in code: a file, a line of it, or a function or test in it.

use store::thread::snapshot::Citation;

/// A starting point in code.
pub(super) struct Start<'a> {
    pub(super) path: &'a str,
    within: Within<'a>,
}

enum Within<'a> {
    File,
    Line(i64),
    Symbol(&'a str),
}

impl<'a> Start<'a> {
    /// Parses `src/a.rs`, `src/a.rs:42` or `tests/a.rs::name`.
    pub(super) fn parse(text: &'a str) -> Start<'a> {
        let text = text.trim().trim_start_matches("./");
        if let Some((path, symbol)) = text.split_once("::").filter(|(path, _)| path.contains(['.', '/'])) {
            return Start { path, within: Within::Symbol(symbol) };
        }
        match text.rsplit_once(':').and_then(|(path, line)| Some((path, line.parse().ok()?))) {
            Some((path, line)) => Start { path, within: Within::Line(line) },
            None => Start { path: text, within: Within::File },
        }
    }

    /// Whether it is a whole file.
    pub(super) fn is_file(&self) -> bool {
        matches!(self.within, Within::File)
    }

    /// Whether a citation in its file is at the place.
    pub(super) fn is_at(&self, citation: &Citation) -> bool {
        match self.within {
            Within::File => true,
            Within::Line(line) => {
                let (first, last) = citation.covered;
                (first..=last).contains(&line) || (citation.line..=citation.last_line).contains(&line)
            }
            Within::Symbol(name) => {
                citation.symbol.as_deref().is_some_and(|symbol| symbol == name || is_end(symbol, name))
            }
        }
    }

    /// Explains why nothing was found.
    pub(super) fn why_nothing(&self, n_heads: usize, places: &mut [(i64, String)]) -> String {
        if n_heads == 0 {
            return "no repository that you see has pushed citations; `spexus push` does from a checkout"
                .to_owned();
        }
        let path = self.path;
        if places.is_empty() && self.is_file() && !path.contains(['.', '/']) {
            return format!(
                "{path} is not a file; a test or a function is named with its file: tests/kettle.rs::boils"
            );
        }
        if places.is_empty() {
            return format!(
                "nothing in {path} cites a requirement; paths begin at the root of the repository"
            );
        }
        match self.within {
            Within::Line(line) => {
                places.sort_by_key(|(place, _)| (place - line).abs());
                format!(
                    "nothing cites a requirement there; the nearest citation is {}:{}",
                    self.path, places[0].0
                )
            }
            _ => format!("nothing of that name in {} cites a requirement", self.path),
        }
    }
}

/// Whether a name is the end of a symbol, with any separators: `TestKettle::boils[2]` of `TestKettle.boils`.
fn is_end(symbol: &str, name: &str) -> bool {
    let plain = name.strip_suffix(']').and_then(|name| name.rsplit_once('[')).map_or(name, |(name, _)| name);
    let parts = |text: &str| -> Vec<String> {
        let parts = text.split("::").flat_map(|part| part.split(" > ")).flat_map(|part| part.split('.'));
        parts.map(|part| part.trim().to_owned()).collect()
    };
    parts(symbol).ends_with(&parts(plain))
}
