//! What a checkout says about managed requirements: which lines cite them, in which functions and tests.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use evidence::{CodePlace, How, Language, Results, Symbol, TestPlace, enclosing, symbols};
use ops::thread::{PushedCitation, PushedExecution, PushedFile, PushedTest};
use trace::managed::{ManagedName, SCHEME};
use trace::model::{ManagedCitation, Model};
use trace::project::read_if_there;
use trace::text::fingerprint;
use trace::{Annotation, AnnotationKind};

use super::ProjectFile;
use super::reports::Reports;

/// The hash of a content that is not known any more.
const UNKNOWN_BLOB: &str = "0000000000000000";

/// A checkout.
pub struct Checkout {
    root: PathBuf,
    files: BTreeMap<String, Source>,
    citations: Vec<Cited>,
    /// All tests, by which reports are matched.
    pub tests: Vec<TestPlace>,
    /// The position of each of them, by its name with its file.
    test_positions: HashMap<String, usize>,
    /// Files that could not be read, and why.
    pub unreadable: Vec<String>,
}

struct Source {
    blob: String,
    symbols: Vec<Symbol>,
}

/// A citation, and where it is.
struct Cited {
    path: String,
    pushed: PushedCitation,
    /// The position of the test that it is in.
    test: Option<usize>,
    /// The lines that run if the function runs that it is in.
    body: Vec<u32>,
}

impl Checkout {
    /// Reads what a model says of a project below a folder.
    pub fn read(root: &Path, model: &Model, file: &ProjectFile) -> Checkout {
        let mut unreadable = Vec::new();
        let texts = model.setting.sources.iter().filter_map(|path| {
            let text = read_if_there(root, path.as_ref().as_ref());
            let text = text.map_err(|reason| unreadable.push(format!("{path}: {reason}"))).ok()??;
            Some((path, text))
        });
        let checkout = Checkout::of_texts(root, model, file, texts);
        Checkout { unreadable, ..checkout }
    }

    /// The same where the texts of its files are known, which need not be those on disk.
    pub fn of_texts<'t>(
        root: &Path,
        model: &Model,
        file: &ProjectFile,
        texts: impl Iterator<Item = (&'t Arc<str>, impl AsRef<str>)>,
    ) -> Checkout {
        let mut checkout = Checkout {
            root: root.to_owned(),
            files: BTreeMap::new(),
            citations: Vec::new(),
            tests: Vec::new(),
            test_positions: HashMap::new(),
            unreadable: Vec::new(),
        };
        let mut packages = Packages { root: root.to_owned(), known: HashMap::new() };
        let aliases: HashMap<&str, &str> =
            file.tests.iter().map(|(reported, test)| (test.as_str(), reported.as_str())).collect();
        for (path, text) in texts {
            checkout.add(path, text.as_ref(), &mut packages, &aliases);
        }
        for citation in model.managed_citations() {
            checkout.cite(&citation);
        }
        for (path, annotation) in unknown(model) {
            checkout.cite_unknown(path, annotation, &file.project);
        }
        checkout
    }

    fn add(&mut self, path: &Arc<str>, text: &str, packages: &mut Packages, aliases: &HashMap<&str, &str>) {
        let symbols = Language::of(path).map(|language| symbols(language, text)).unwrap_or_default();
        for symbol in symbols.iter().filter(|symbol| symbol.is_test) {
            let name = format!("{path}::{symbol}");
            self.test_positions.entry(name.clone()).or_insert(self.tests.len());
            self.tests.push(TestPlace {
                file: path.to_string(),
                symbol: symbol.clone(),
                package: packages.of(path),
                alias: aliases.get(name.as_str()).map(|alias| (*alias).to_owned()),
            });
        }
        let source = Source { blob: fingerprint(text), symbols };
        self.files.insert(path.to_string(), source);
    }

    fn cite(&mut self, citation: &ManagedCitation<'_>) {
        let Some(kind) = kind(citation.annotation.kind) else { return };
        let path = citation.file.path().to_string();
        let (line, last_line) = (citation.annotation.line, citation.annotation.last_line);
        let symbol = self.files.get(&path).and_then(|source| enclosing(&source.symbols, line));
        let pushed = PushedCitation {
            line,
            last_line,
            kind: kind.to_owned(),
            reference: reference(&citation.name),
            units: units(citation),
            pin: citation.name.version.and_then(|version| u32::try_from(version).ok()),
            symbol: symbol.map(Symbol::to_string),
            covered: symbol
                .map(|symbol| ((*symbol.lines.start()).min(line), (*symbol.lines.end()).max(last_line))),
        };
        let body = symbol.map(|symbol| symbol.body.clone()).unwrap_or_default();
        let test = symbol.filter(|symbol| symbol.is_test && kind == "test");
        let test = test.and_then(|symbol| self.test_positions.get(&format!("{path}::{symbol}")).copied());
        self.citations.push(Cited { path, pushed, test, body });
    }

    /// A citation of what nobody has found. Whoever gets it says the same of it.
    fn cite_unknown(&mut self, path: &str, annotation: &Annotation, project: &str) {
        let (Some(kind), Ok(name)) = (kind(annotation.kind), ManagedName::parse(&annotation.target)) else {
            return;
        };
        let pushed = PushedCitation {
            line: annotation.line,
            last_line: annotation.last_line,
            kind: kind.to_owned(),
            reference: reference(&name.within(project)),
            units: Vec::new(),
            pin: None,
            symbol: None,
            covered: None,
        };
        self.citations.push(Cited { path: path.to_owned(), pushed, test: None, body: Vec::new() });
    }

    /// Adds what reports themselves link tests to, with properties `verifies`. Returns what cannot be linked, and why.
    pub fn link(&mut self, results: &Results, project: &str) -> Vec<String> {
        let mut problems = Vec::new();
        for (index, (place, result)) in self.tests.iter().zip(&results.tests).enumerate() {
            for link in &result.verifies {
                let target = if link.contains("://") { link.clone() } else { format!("{SCHEME}{link}") };
                let name = match ManagedName::parse(&target) {
                    Ok(name) => name.within(project),
                    Err(error) => {
                        let message = error.message;
                        problems
                            .push(format!("{}::{} verifies {link:?}: {message}", place.file, place.symbol));
                        continue;
                    }
                };
                let (first, last) = (*place.symbol.lines.start(), *place.symbol.lines.end());
                let pushed = PushedCitation {
                    line: first,
                    last_line: first,
                    kind: "verifies".to_owned(),
                    reference: reference(&name),
                    units: Vec::new(),
                    pin: name.version.and_then(|version| u32::try_from(version).ok()),
                    symbol: Some(place.symbol.to_string()),
                    covered: Some((first, last)),
                };
                let body = place.symbol.body.clone();
                self.citations.push(Cited { path: place.file.clone(), pushed, test: Some(index), body });
            }
        }
        problems
    }

    /// The paths of all files.
    pub fn paths(&self) -> Vec<&str> {
        self.files.keys().map(String::as_str).collect()
    }

    /// How many citations there are.
    pub fn n_citations(&self) -> usize {
        self.citations.len()
    }

    /// The files as they are pushed.
    pub fn pushed_files(&self) -> Vec<PushedFile> {
        let mut files: BTreeMap<&str, PushedFile> = self
            .files
            .iter()
            .map(|(path, source)| {
                let file =
                    PushedFile { path: path.clone(), blob: source.blob.clone(), citations: Vec::new() };
                (path.as_str(), file)
            })
            .collect();
        for cited in &self.citations {
            if let Some(file) = files.get_mut(cited.path.as_str()) {
                file.citations.push(cited.pushed.clone());
            }
        }
        files.into_values().collect()
    }

    /// The files with citations that have changed after a run was reported.
    pub fn changed_since(&self, reports: &Reports) -> BTreeSet<&str> {
        let cited = self.citations.iter().map(|cited| cited.path.as_str()).collect::<BTreeSet<_>>();
        cited.into_iter().filter(|path| reports.is_older_than(&self.root.join(path))).collect()
    }

    /// The tests that cite something and have run, as they are pushed. What they ran of a file that has changed since is not known.
    pub fn pushed_tests(&self, results: &Results, reports: &Reports) -> Vec<PushedTest> {
        let changed = self.changed_since(reports);
        let mut cited_by: BTreeMap<usize, Vec<&Cited>> = BTreeMap::new();
        let mut code: HashMap<&str, Vec<&Cited>> = HashMap::new();
        for cited in &self.citations {
            if let Some(test) = cited.test {
                cited_by.entry(test).or_default().push(cited);
            } else if cited.pushed.kind == "code" {
                code.entry(&cited.pushed.reference).or_default().push(cited);
            }
        }
        let ran = cited_by
            .into_iter()
            .filter(|(test, _)| results.tests[*test].outcome != evidence::Outcome::NotRun);
        ran.map(|(test, cited)| self.pushed_test(test, &cited, &code, &changed, results)).collect()
    }

    fn pushed_test(
        &self,
        test: usize,
        cited: &[&Cited],
        code: &HashMap<&str, Vec<&Cited>>,
        changed: &BTreeSet<&str>,
        results: &Results,
    ) -> PushedTest {
        let (place, result) = (&self.tests[test], &results.tests[test]);
        let mut executes: BTreeMap<(String, String, String), Option<How>> = BTreeMap::new();
        for cited in cited {
            for code in code.get(cited.pushed.reference.as_str()).into_iter().flatten() {
                let lines = CodePlace { file: code.path.clone(), body: code.body.clone() };
                // Where retries leave no trace, a pass may have been a second attempt, and shows nothing of the code.
                let how = results.executes(test, &lines).filter(|_| result.shows_retries);
                for unit in shared_units(&cited.pushed, &code.pushed) {
                    let key = (cited.pushed.reference.clone(), unit, code.path.clone());
                    let best = executes.entry(key).or_default();
                    *best = (*best).max(how);
                }
            }
        }
        let executes = executes.into_iter().map(|((reference, unit, path), how)| PushedExecution {
            reference,
            unit,
            blob: self.blob(&path, changed),
            path,
            how: match how {
                Some(How::ThisTest) => "proven",
                Some(How::SameRun) => "witnessed",
                None => "none",
            }
            .to_owned(),
        });
        PushedTest {
            path: place.file.clone(),
            blob: self.blob(&place.file, changed),
            symbol: place.symbol.to_string(),
            outcome: result.outcome,
            attempts: result.n_attempts,
            duration_ms: result.duration_ms,
            executes: executes.collect(),
        }
    }
}

impl Checkout {
    /// The hash of a file's content as it was when its tests ran.
    fn blob(&self, path: &str, changed: &BTreeSet<&str>) -> String {
        let known = self.files.get(path).filter(|_| !changed.contains(path));
        known.map_or_else(|| UNKNOWN_BLOB.to_owned(), |source| source.blob.clone())
    }
}

/// The units that both cite; an empty name stands for all of them.
fn shared_units(test: &PushedCitation, code: &PushedCitation) -> Vec<String> {
    match (test.units.is_empty(), code.units.is_empty()) {
        (true, true) => vec![String::new()],
        (true, false) => code.units.clone(),
        (false, true) => test.units.clone(),
        (false, false) => test.units.iter().filter(|unit| code.units.contains(unit)).cloned().collect(),
    }
}

/// The citations of managed requirements that were not found.
fn unknown(model: &Model) -> impl Iterator<Item = (&str, &Annotation)> {
    let all = model.files().iter().flat_map(|file| file.annotations().map(move |found| (file, found)));
    all.filter(|(_, (_, link))| link.target.is_none())
        .map(|(file, (annotation, _))| (file.path().as_ref(), annotation))
}

/// The hashes of the units that a citation quotes. What quotes an earlier text has those that it had; what no text has said has
/// one that no unit has.
fn units(citation: &ManagedCitation<'_>) -> Vec<String> {
    let quote = &citation.annotation.quote;
    let found = if citation.units.is_empty() { &citation.earlier } else { &citation.units };
    match (found.is_empty(), quote.is_empty()) {
        (_, true) => Vec::new(),
        (true, false) => {
            vec![fingerprint(&quote.split_whitespace().collect::<Vec<_>>().join(" "))]
        }
        (false, false) => found.iter().map(|unit| unit.hash.clone()).collect(),
    }
}

fn kind(kind: AnnotationKind) -> Option<&'static str> {
    match kind {
        AnnotationKind::Spec => None,
        AnnotationKind::Test => Some("test"),
        AnnotationKind::Citation => Some("code"),
        AnnotationKind::Exception => Some("exception"),
        AnnotationKind::Todo => Some("todo"),
        AnnotationKind::Implication => Some("implication"),
    }
}

/// What a name is called outside of its project.
fn reference(name: &ManagedName) -> String {
    ManagedName { version: None, ..name.clone() }.reference_id()
}

/// The packages of folders, by their manifests.
struct Packages {
    root: PathBuf,
    known: HashMap<PathBuf, Option<String>>,
}

impl Packages {
    /// The package that a file belongs to: the name in `Cargo.toml`, or the import path of Go.
    fn of(&mut self, path: &str) -> Option<String> {
        let folder = Path::new(path).parent()?.to_owned();
        if let Some(known) = self.known.get(&folder) {
            return known.clone();
        }
        let found = self.look(&folder);
        self.known.insert(folder, found.clone());
        found
    }

    fn look(&self, folder: &Path) -> Option<String> {
        for above in folder.ancestors() {
            if let Ok(Some(manifest)) = read_if_there(&self.root, &above.join("Cargo.toml")) {
                let table: toml::Table = manifest.parse().ok()?;
                if let Some(name) = table.get("package").and_then(|package| package.get("name")?.as_str()) {
                    return Some(name.to_owned());
                }
            }
            if let Ok(Some(module)) = read_if_there(&self.root, &above.join("go.mod")) {
                let name = module.lines().find_map(|line| line.trim().strip_prefix("module "))?.trim();
                let below = folder.strip_prefix(above).ok()?.to_string_lossy().replace('\\', "/");
                return Some(if below.is_empty() { name.to_owned() } else { format!("{name}/{below}") });
            }
        }
        None
    }
}
