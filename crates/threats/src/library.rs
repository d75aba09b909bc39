//! A set of patterns: loaded once, then queried.

use std::collections::HashMap;
use std::fmt;
use std::sync::OnceLock;

use crate::coverage;
use crate::evidence::Index;
use crate::load::{self, PatternProblem};
use crate::pattern::Pattern;
use crate::search::{self, FoundPatterns, Hit, Query};
use crate::validate;

/// The default packs.
pub const PACKS_DEFAULT: &[&str] = &["authorization"];
/// How many ids are suggested for an unknown one.
const SUGGESTIONS_MAX: usize = 3;

/// The built-in patterns: `(pack/file, JSON)` in path order.
static BUILTIN: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/patterns.rs"));

/// A set of patterns in the order of their ids.
#[derive(Debug)]
pub struct Library {
    patterns: Vec<Pattern>,
    /// The file of each pattern, by id; built-in ones have none.
    origins: HashMap<String, Origin>,
    /// Created on first use, because not every command searches.
    index: OnceLock<Index>,
}

/// The file of a pattern.
#[derive(Debug)]
struct Origin {
    file: String,
    /// The lines of the pattern's own keys, from 1.
    lines: HashMap<String, u64>,
}

impl Library {
    /// Loads `(name, text)` pairs in the order of their names. Unusable files become problems; the rest is loaded.
    pub fn load<N, T>(sources: impl IntoIterator<Item = (N, T)>) -> (Library, Vec<PatternProblem>)
    where
        N: Into<String>,
        T: AsRef<str>,
    {
        let mut sources: Vec<(String, T)> =
            sources.into_iter().map(|(name, text)| (name.into(), text)).collect();
        sources.sort_by(|(first, _), (second, _)| first.cmp(second));

        let mut patterns: Vec<Pattern> = Vec::new();
        let mut origins: HashMap<String, Origin> = HashMap::new();
        let mut problems = Vec::new();
        for (file, text) in sources {
            let pattern = match load::parse(&file, text.as_ref()) {
                Ok(pattern) => pattern,
                Err(problem) => {
                    problems.push(problem);
                    continue;
                }
            };
            match patterns.iter().find(|other| same_id(&other.id, &pattern.id)) {
                Some(first) => problems.push(duplicate(file, &pattern.id, &origins[&first.id].file)),
                None => {
                    let lines = load::lines_of_keys(text.as_ref());
                    origins.insert(pattern.id.clone(), Origin { file, lines });
                    patterns.push(pattern);
                }
            }
        }
        (Library::of(patterns, origins), problems)
    }

    /// Adds built-in packs. If a pattern of a file has the same id, the file's is used.
    pub fn with_packs(self, packs: &[&str]) -> Result<(Library, Vec<PatternProblem>), UnknownPack> {
        let added = Library::builtin(packs)?;
        let Library { mut patterns, origins, .. } = self;
        let mut problems = Vec::new();
        for pattern in added.patterns {
            match patterns.iter().find(|own| same_id(&own.id, &pattern.id)) {
                Some(own) => {
                    let first = origins.get(&own.id).map_or("another pack", |origin| &origin.file);
                    problems.push(duplicate("built-in pattern".to_owned(), &pattern.id, first));
                }
                None => patterns.push(pattern),
            }
        }
        Ok((Library::of(patterns, origins), problems))
    }

    /// Removes the patterns that fail validation, and reports each with its file and line.
    pub fn without_invalid(self) -> (Library, Vec<PatternProblem>) {
        let mut problems = Vec::new();
        let mut invalid: Vec<String> = Vec::new();
        for (pattern, findings) in validate::all(&self) {
            let mut fatal = findings.iter().filter(|finding| finding.is_fatal());
            let Some(first) = fatal.next() else { continue };
            let more = match fatal.count() {
                0 => String::new(),
                n_more => format!("; {n_more} more, see `tmkb validate`"),
            };
            let origin = self.origins.get(&pattern.id);
            let key = first.field.split(['.', '[']).next().unwrap_or_default();
            problems.push(PatternProblem {
                file: origin.map_or_else(|| pattern.id.clone(), |origin| origin.file.clone()),
                // A missing key has no line; the pattern begins where its id is.
                line: origin
                    .and_then(|origin| origin.lines.get(key).or_else(|| origin.lines.get("id")).copied()),
                column: None,
                message: format!("{} is not served: {} - {}{more}", pattern.id, first.field, first.message),
            });
            invalid.push(pattern.id.clone());
        }
        if invalid.is_empty() {
            return (self, problems);
        }
        let Library { mut patterns, origins, .. } = self;
        patterns.retain(|pattern| !invalid.contains(&pattern.id));
        (Library::of(patterns, origins), problems)
    }

    /// Loads built-in packs; `all` means every one.
    pub fn builtin(packs: &[&str]) -> Result<Library, UnknownPack> {
        let known = self::packs();
        if let Some(unknown) = packs.iter().find(|pack| **pack != "all" && !known.contains(pack)) {
            return Err(UnknownPack { name: (*unknown).to_owned(), known });
        }
        let wanted = |name: &str| packs.iter().any(|pack| *pack == "all" || *pack == pack_of(name));
        let patterns = BUILTIN.iter().filter(|(name, _)| wanted(name));
        let patterns =
            patterns.map(|(_, json)| serde_json::from_str(json).expect("written when this was built"));
        Ok(Library::of(patterns.collect(), HashMap::new()))
    }

    fn of(mut patterns: Vec<Pattern>, origins: HashMap<String, Origin>) -> Library {
        patterns.sort_by(|first, second| first.id.cmp(&second.id));
        Library { patterns, origins, index: OnceLock::new() }
    }

    /// Prepares the search, which the first query does otherwise.
    pub fn prepare(&self) -> &Self {
        self.index();
        self
    }

    fn index(&self) -> &Index {
        self.index.get_or_init(|| Index::new(&self.patterns))
    }

    /// Lists all patterns in the order of their ids.
    pub fn patterns(&self) -> &[Pattern] {
        &self.patterns
    }

    /// Finds a pattern by its id, in upper or lower case.
    pub fn get(&self, id: &str) -> Result<&Pattern, UnknownPattern> {
        let found = self.patterns.iter().find(|pattern| same_id(&pattern.id, id.trim()));
        found.ok_or_else(|| UnknownPattern { id: id.to_owned(), nearest: self.nearest(id) })
    }

    /// Ranks the patterns that fit a context; see [`crate::search`].
    pub fn search(&self, query: &Query<'_>) -> Vec<Hit<'_>> {
        self.ask(query).hits
    }

    /// The same, with what the library covers if nothing fits or the result is unsure.
    pub fn ask(&self, query: &Query<'_>) -> FoundPatterns<'_> {
        search::search(&self.patterns, self.index(), query)
    }

    /// Says what the patterns are about: `covers authorization (24 patterns, Python/Flask)`.
    pub fn coverage(&self) -> String {
        coverage::describe(&self.patterns)
    }

    /// Lists the languages that a query may ask for, sorted.
    pub fn languages(&self) -> Vec<String> {
        let mut languages: Vec<String> = Vec::new();
        for pattern in &self.patterns {
            let language = pattern.language.to_lowercase();
            if language.is_empty() || language == "any" {
                let examples = pattern.mitigations.iter().flat_map(|mitigation| &mitigation.code_examples);
                languages.extend(examples.map(|example| example.language.to_lowercase()));
            } else {
                languages.push(language);
            }
        }
        languages.retain(|language| !language.is_empty() && language != "any");
        languages.sort();
        languages.dedup();
        languages
    }

    /// Lists the frameworks that a query may ask for, sorted, and `any` last.
    pub fn frameworks(&self) -> Vec<String> {
        let mut frameworks: Vec<String> =
            self.patterns.iter().map(|pattern| pattern.framework.to_lowercase()).collect();
        frameworks.retain(|framework| !framework.is_empty() && framework != "any");
        frameworks.sort();
        frameworks.dedup();
        frameworks.push("any".to_owned());
        frameworks
    }

    /// Lists the ids nearest to the given one, best first.
    pub fn nearest(&self, id: &str) -> Vec<String> {
        let ids = self.patterns.iter().map(|pattern| pattern.id.as_str());
        nearest::several(id, ids, SUGGESTIONS_MAX).into_iter().map(str::to_owned).collect()
    }
}

/// Lists the packs that come with the program.
pub fn packs() -> Vec<&'static str> {
    let mut packs: Vec<&str> = BUILTIN.iter().map(|(name, _)| pack_of(name)).collect();
    packs.dedup();
    packs
}

/// No pattern has this id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownPattern {
    /// The requested id.
    pub id: String,
    /// Similar ids, best first.
    pub nearest: Vec<String>,
}

impl fmt::Display for UnknownPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "pattern not found: {}", self.id)?;
        match self.nearest.as_slice() {
            [] => Ok(()),
            nearest => write!(f, "; did you mean {}?", nearest.join(", ")),
        }
    }
}

impl std::error::Error for UnknownPattern {}

/// No pack has this name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownPack {
    /// The requested name.
    pub name: String,
    /// The existing packs.
    pub known: Vec<&'static str>,
}

impl fmt::Display for UnknownPack {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "packs: expected all or some of {}, found {:?}", self.known.join(", "), self.name)
    }
}

impl std::error::Error for UnknownPack {}

fn duplicate(file: String, id: &str, first: &str) -> PatternProblem {
    let message = format!("threat_pattern.id: {id} is already taken by {first}, which is kept");
    PatternProblem { file, line: None, column: None, message }
}

fn same_id(first: &str, second: &str) -> bool {
    first.eq_ignore_ascii_case(second)
}

fn pack_of(name: &str) -> &str {
    name.split('/').next().unwrap_or(name)
}
