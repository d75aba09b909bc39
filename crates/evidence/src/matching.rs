//! Finds the test in a source file that a reported case is about. Two matches are an error, never a guess.

use std::collections::HashMap;
use std::fmt;

use crate::report::{Form, Scope, TestName};
use crate::symbols::{HOLE, Language, Symbol};

/// How many candidates a message names.
const NAMED_MAX: usize = 3;

/// A test in a source file. Callers pass all tests of the repository, not only those that cite something: otherwise
/// tests with the same name could not be distinguished.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TestPlace {
    /// The file, relative to the repository, with `/`.
    pub file: String,
    /// The test.
    pub symbol: Symbol,
    /// The package of the file, if a manifest says so: the name in `Cargo.toml`, the import path of Go.
    pub package: Option<String>,
    /// The name of the test in reports, if configured.
    pub alias: Option<String>,
}

/// Why no test was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unmatched {
    /// No test has the name; the nearest one, if any is similar.
    NoMatch(Option<String>),
    /// Several tests have it.
    Ambiguous(Vec<String>),
    /// The line that the report names is inside a test of another name.
    Disagreement(String),
}

/// Finds the test of a case, or all tests below it for a case that concerns several.
///
/// File and line are tried first, then the path of symbols or titles, then configured names.
pub fn matched(name: &TestName, scope: Scope, places: &[TestPlace]) -> Result<Vec<usize>, Unmatched> {
    Index::new(places).matched(name, scope)
}

/// The separators that tools put between titles.
const JOINS: [&str; 4] = [" > ", " ", " › ", "."];

/// Test places by the last part of their name, for reports with many cases.
pub(crate) struct Index<'a> {
    places: &'a [TestPlace],
    full: Vec<Vec<&'a str>>,
    by_last: HashMap<&'a str, Vec<usize>>,
    by_file: HashMap<&'a str, Vec<usize>>,
    by_alias: HashMap<&'a str, Vec<usize>>,
    /// Titles as tools join them.
    by_titles: HashMap<String, Vec<usize>>,
    /// Titles with parameters, which cannot be looked up.
    patterns: Vec<usize>,
}

impl<'a> Index<'a> {
    pub fn new(places: &'a [TestPlace]) -> Index<'a> {
        let mut index = Index {
            places,
            full: places.iter().map(full_path).collect(),
            by_last: Default::default(),
            by_file: Default::default(),
            by_alias: Default::default(),
            by_titles: Default::default(),
            patterns: Vec::new(),
        };
        for (at, place) in places.iter().enumerate() {
            index.by_file.entry(&place.file).or_default().push(at);
            if let Some(alias) = &place.alias {
                index.by_alias.entry(alias).or_default().push(at);
            }
            if place.symbol.is_pattern {
                index.patterns.push(at);
            } else if place.symbol.is_title {
                for separator in JOINS {
                    index.by_titles.entry(place.symbol.path.join(separator)).or_default().push(at);
                }
            }
            if let Some(last) = place.symbol.path.last() {
                index.by_last.entry(last).or_default().push(at);
            }
        }
        index
    }

    pub fn matched(&self, name: &TestName, scope: Scope) -> Result<Vec<usize>, Unmatched> {
        let found = match scope {
            Scope::Test => self.test(name).map(|at| vec![at]),
            Scope::Group => self.group(name),
        };
        match found {
            Err(Unmatched::NoMatch(_) | Unmatched::Ambiguous(_)) if scope == Scope::Test => {
                let shown = name.to_string();
                let plain = TestName { file: None, package: None, ..name.clone() }.to_string();
                let aliased = self.by_alias.get(&*shown).or_else(|| self.by_alias.get(&*plain));
                match aliased.map(Vec::as_slice) {
                    Some([only]) => Ok(vec![*only]),
                    Some(several) => Err(self.ambiguous(several)),
                    None => found,
                }
            }
            found => found,
        }
    }

    fn test(&self, name: &TestName) -> Result<usize, Unmatched> {
        let tests_of = |file: &String| self.by_file.get(&**file).map(Vec::as_slice).unwrap_or_default();
        let in_file = name.file.as_ref().map(tests_of);
        if let (Some(in_file), Some(line)) = (in_file, name.line) {
            let mut here: Vec<usize> =
                in_file.iter().copied().filter(|at| self.places[*at].symbol.lines.contains(&line)).collect();
            // Tests nest: the innermost one is meant.
            here.sort_by_key(|at| {
                let lines = &self.places[*at].symbol.lines;
                lines.end() - lines.start()
            });
            if let Some(innermost) = here.first() {
                let agreeing = here.iter().copied().filter(|at| self.is_named(*at, name));
                return match agreeing.collect::<Vec<_>>()[..] {
                    [] => Err(Unmatched::Disagreement(self.shown(*innermost))),
                    [only] => Ok(only),
                    ref several => Err(self.ambiguous(several)),
                };
            }
        }
        let mut candidates: Vec<usize> = match in_file {
            Some(in_file) => in_file.iter().copied().filter(|at| self.is_named(*at, name)).collect(),
            None => self.named(name).into_iter().filter(|at| self.is_named(*at, name)).collect(),
        };
        if candidates.is_empty() && name.form == Form::Titles && name.path.len() > 1 {
            // A subtest with a computed title: its result belongs to the enclosing test.
            let outer =
                TestName { path: name.path[..name.path.len() - 1].to_vec(), line: None, ..name.clone() };
            candidates.extend(self.test(&outer).ok());
            if let [only] = candidates[..] {
                return Ok(only);
            }
        }
        match candidates[..] {
            [only] if name.line.is_some() && in_file.is_some() => {
                // The name exists, but the report puts it on a line outside of any test.
                let lines = &self.places[only].symbol.lines;
                Err(Unmatched::Disagreement(format!(
                    "{} at lines {} to {}",
                    self.shown(only),
                    lines.start(),
                    lines.end()
                )))
            }
            [only] => Ok(only),
            [] => Err(self.none(name)),
            ref several => Err(self.ambiguous(several)),
        }
    }

    /// The places whose last part may match a name.
    fn named(&self, name: &TestName) -> Vec<usize> {
        let mut found: Vec<usize> = match name.form {
            Form::Titles | Form::Joined(_) => {
                let titles = self.by_titles.get(&name.path.join(" > ")).into_iter().flatten();
                let joined = name.path.last().and_then(|last| self.by_titles.get(last)).into_iter().flatten();
                titles.chain(joined).chain(&self.patterns).copied().collect()
            }
            // A name derived from a function's: `boils::case_1`.
            Form::Rust => name.path.iter().rev().take(3).flat_map(|part| self.last(part)).copied().collect(),
            Form::Go => name.path.first().into_iter().flat_map(|part| self.last(part)).copied().collect(),
            Form::Dotted => name.path.last().into_iter().flat_map(|part| self.last(part)).copied().collect(),
            Form::Unknown => {
                let last = name.path.last().map(|part| last_word(part));
                let last = last.into_iter().flat_map(|part| self.last(part));
                let joined = name.path.last().and_then(|last| self.by_titles.get(last)).into_iter().flatten();
                last.chain(joined).chain(&self.patterns).copied().collect()
            }
        };
        found.sort_unstable();
        found.dedup();
        found
    }

    fn last(&self, part: &str) -> &[usize] {
        self.by_last.get(part).map(Vec::as_slice).unwrap_or_default()
    }

    /// Returns whether a place may have a name, by its path alone.
    fn is_named(&self, at: usize, name: &TestName) -> bool {
        let (place, full) = (&self.places[at], &self.full[at]);
        let path: Vec<&str> = name.path.iter().map(String::as_str).collect();
        match name.form {
            Form::Dotted => !place.symbol.is_title && is_dotted(place, full, &path, name.file.is_some()),
            Form::Rust => is_rust(place, full, &path, name.package.as_deref()),
            Form::Go => is_go(place, &path, name.package.as_deref()),
            Form::Titles => place.symbol.is_title && is_titled(&place.symbol, &path),
            Form::Joined(separator) => {
                place.symbol.is_title && is_pattern(&place.symbol.path.join(separator), &path.join(separator))
            }
            Form::Unknown => {
                let joined = path.join(".");
                let parts: Vec<&str> =
                    joined.split(['.', '/', '$', ':']).filter(|part| !part.is_empty()).collect();
                let is_symbol = !place.symbol.is_title
                    && (is_dotted(place, full, &parts, false)
                        || (Language::of(&place.file) == Some(Language::Rust) && ends_with(&parts, full)));
                let last = path.last().copied().unwrap_or_default();
                let is_title = place.symbol.is_title
                    && JOINS.iter().any(|separator| is_pattern(&place.symbol.path.join(separator), last));
                is_symbol || is_title
            }
        }
    }

    /// All tests of a file, class, package or suite.
    fn group(&self, name: &TestName) -> Result<Vec<usize>, Unmatched> {
        let path: Vec<&str> = name.path.iter().map(String::as_str).collect();
        let is_below = |at: &usize| {
            let (place, full) = (&self.places[*at], &self.full[*at]);
            if name.file.as_ref().is_some_and(|file| *file != place.file) {
                return false;
            }
            match name.form {
                _ if path.is_empty() && name.file.is_some() => true,
                Form::Go => is_go_package(place, name.package.as_deref()),
                Form::Titles => place.symbol.is_title && is_start(&place.symbol.path, &path),
                Form::Joined(separator) => {
                    // vitest names a suite without its parents.
                    let (title, suites) = (path.join(separator), &place.symbol.path);
                    let inner =
                        |n: usize| (0..n).any(|from| is_pattern(&suites[from..n].join(separator), &title));
                    place.symbol.is_title && (1..=suites.len()).any(inner)
                }
                Form::Dotted | Form::Rust | Form::Unknown => {
                    !path.is_empty()
                        && (1..=full.len())
                            .any(|n| full[..n].ends_with(&path) && n >= full.len() - place.symbol.path.len())
                }
            }
        };
        let found: Vec<usize> = (0..self.places.len()).filter(is_below).collect();
        if found.is_empty() { Err(self.none(name)) } else { Ok(found) }
    }

    fn none(&self, name: &TestName) -> Unmatched {
        let last = name.path.last().map_or("", |part| last_word(part));
        let lasts = self.places.iter().filter_map(|place| place.symbol.path.last());
        let nearest = nearest::nearest(last, lasts.map(String::as_str));
        let at = nearest.and_then(|nearest| self.last(nearest).first());
        Unmatched::NoMatch(at.map(|at| self.shown(*at)))
    }

    fn ambiguous(&self, several: &[usize]) -> Unmatched {
        Unmatched::Ambiguous(several.iter().map(|at| self.shown(*at)).collect())
    }

    fn shown(&self, at: usize) -> String {
        let place = &self.places[at];
        format!("{}:{} {}", place.file, place.symbol.lines.start(), place.symbol)
    }
}

/// The path of a test, including what the path of its file adds.
fn full_path(place: &TestPlace) -> Vec<&str> {
    let symbol = place.symbol.path.iter().map(String::as_str);
    let (folders, stem) = split(&place.file);
    match Language::of(&place.file) {
        Some(Language::Rust) => rust_modules(&folders, stem).into_iter().chain(symbol).collect(),
        // A Java class is a symbol with the name of its file.
        Some(Language::Java) => folders.into_iter().chain(symbol).collect(),
        Some(Language::Python) if stem == "__init__" => folders.into_iter().chain(symbol).collect(),
        Some(Language::Python) => folders.into_iter().chain([stem]).chain(symbol).collect(),
        _ => symbol.collect(),
    }
}

/// The folders of a file and its name without the ending.
fn split(file: &str) -> (Vec<&str>, &str) {
    let mut parts: Vec<&str> = file.split('/').collect();
    let name = parts.pop().unwrap_or_default();
    (parts, name.rsplit_once('.').map_or(name, |(stem, _)| stem))
}

/// The modules of a Rust file, relative to the root of its crate.
fn rust_modules<'a>(folders: &[&'a str], stem: &'a str) -> Vec<&'a str> {
    let root = folders.iter().rposition(|folder| matches!(*folder, "src" | "tests" | "benches" | "examples"));
    let Some(root) = root else {
        return if is_rust_root(stem) { Vec::new() } else { vec![stem] };
    };
    let mut modules: Vec<&str> = folders[root + 1..].to_vec();
    let is_own_crate = folders[root] != "src" || modules.first() == Some(&"bin");
    if folders[root] == "src" && modules.first() == Some(&"bin") {
        modules.remove(0);
    }
    // Each file next to the root is a separate crate, and so is each folder with a `main.rs`.
    if is_own_crate {
        if modules.is_empty() {
            return Vec::new();
        }
        modules.remove(0);
    }
    if !(stem == "mod" || modules.is_empty() && is_rust_root(stem)) {
        modules.push(stem);
    }
    modules
}

fn is_rust_root(stem: &str) -> bool {
    matches!(stem, "lib" | "main" | "mod")
}

fn is_rust(place: &TestPlace, full: &[&str], path: &[&str], package: Option<&str>) -> bool {
    if Language::of(&place.file) != Some(Language::Rust) || !is_rust_binary(place, package) {
        return false;
    }
    // Macros for parameters create a module with the name of the function, and a function for each case.
    full == path || (place.symbol.has_parameters && path.len() > full.len() && path.starts_with(full))
}

/// nextest writes `package`, `package::test_binary` or `package::bin/name`.
fn is_rust_binary(place: &TestPlace, binary: Option<&str>) -> bool {
    let Some(binary) = binary else { return true };
    let (package, target) = binary.split_once("::").unwrap_or((binary, ""));
    if place.package.as_deref().is_some_and(|known| known != package) {
        return false;
    }
    let (folders, stem) = split(&place.file);
    let root = folders.iter().rposition(|folder| matches!(*folder, "src" | "tests" | "benches" | "examples"));
    let Some(root) = root else { return true };
    let (kind, name) = match target.split_once('/') {
        None if target.is_empty() => return folders[root] == "src" && folders.get(root + 1) != Some(&"bin"),
        None => ("tests", target),
        Some(("bin", _)) => return folders[root] == "src",
        Some(("example", name)) => ("examples", name),
        Some(("bench", name)) => ("benches", name),
        Some(_) => return true,
    };
    let crate_name = folders.get(root + 1).copied().unwrap_or(stem);
    folders[root] == kind && crate_name == name
}

fn is_go(place: &TestPlace, path: &[&str], package: Option<&str>) -> bool {
    let is_function = place.symbol.path.len() == 1
        && path.first() == place.symbol.path.first().map(String::as_str).as_ref();
    Language::of(&place.file) == Some(Language::Go) && is_function && is_go_package(place, package)
}

fn is_go_package(place: &TestPlace, package: Option<&str>) -> bool {
    match (package, &place.package) {
        (Some(package), Some(known)) => package == known,
        (Some(package), None) => {
            let (folders, _) = split(&place.file);
            let package: Vec<&str> = package.split('/').collect();
            ends_with(&package, &folders)
        }
        (None, _) => true,
    }
}

/// Python and Java: the report's path is the end of the whole path, and has at least the file and the symbol.
fn is_dotted(place: &TestPlace, full: &[&str], path: &[&str], knows_file: bool) -> bool {
    let says_file = !knows_file && Language::of(&place.file) != Some(Language::Java);
    let needed = place.symbol.path.len() + usize::from(says_file);
    // If the file is known, the report's path may start in a folder above or below ours.
    path.len() >= needed.min(full.len()) && (ends_with(full, path) || (knows_file && ends_with(path, full)))
}

fn is_titled(symbol: &Symbol, path: &[&str]) -> bool {
    symbol.path.len() == path.len() && is_start(&symbol.path, path)
}

fn is_start(titles: &[String], path: &[&str]) -> bool {
    titles.len() >= path.len() && titles.iter().zip(path).all(|(title, part)| is_pattern(title, part))
}

fn ends_with(path: &[&str], end: &[&str]) -> bool {
    path.ends_with(end)
}

fn last_word(name: &str) -> &str {
    name.rsplit(['.', ':', '/']).next().unwrap_or(name)
}

/// Compares a title with a text, where a hole matches anything.
fn is_pattern(title: &str, text: &str) -> bool {
    let mut pieces = title.split(HOLE);
    let first = pieces.next().unwrap_or_default();
    let Some(mut rest) = text.strip_prefix(first) else { return false };
    let Some(last) = pieces.next_back() else { return rest.is_empty() };
    for piece in pieces {
        match rest.find(piece) {
            Some(at) => rest = &rest[at + piece.len()..],
            None => return false,
        }
    }
    rest.ends_with(last)
}

impl fmt::Display for Unmatched {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Unmatched::NoMatch(None) => write!(f, "no test has this name"),
            Unmatched::NoMatch(Some(nearest)) => write!(f, "no test has this name; did you mean {nearest}?"),
            Unmatched::Ambiguous(places) => {
                let n_more = places.len().saturating_sub(NAMED_MAX);
                write!(f, "several match: {}", places[..places.len() - n_more].join(", "))?;
                if n_more > 0 { write!(f, " and {n_more} more") } else { Ok(()) }
            }
            Unmatched::Disagreement(place) => write!(f, "name and line disagree: {place}"),
        }
    }
}
