//! The kettle projects: one for each tool, with the same tests in nine fates.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use evidence::{CodePlace, Language, Outcome, Report, Results, Source, TestPlace, symbols};

/// Where recordings say that the repository was.
pub const ROOT: &str = "/kettle";

/// A kettle project with its tests, and what reports of one run say about them.
pub struct Kettle {
    pub places: Vec<TestPlace>,
    pub results: Results,
    folder: PathBuf,
}

impl Kettle {
    pub fn new(name: &str, reports: &[Report], exit_status: Option<i32>) -> Kettle {
        let folder = folder(name);
        let files = files(&folder);
        let places = tests(&folder, &files);
        let names: Vec<&str> = files.iter().map(String::as_str).collect();
        let results = Results::new(reports, &places, &names, exit_status);
        Kettle { places, results, folder }
    }

    /// The tests with a word in their names.
    pub fn tests(&self, word: &str) -> Vec<usize> {
        let names = self.places.iter().map(|place| place.symbol.to_string().to_lowercase());
        names.enumerate().filter(|(_, name)| name.contains(word)).map(|(at, _)| at).collect()
    }

    /// What came of the tests with a word in their names, all of which must agree to have passed.
    pub fn outcome(&self, word: &str) -> Outcome {
        let tests = self.tests(word);
        assert!(!tests.is_empty(), "no test about {word} in {}", self.folder.display());
        evidence::of_parts(tests.into_iter().map(|at| self.results.tests[at].outcome))
    }

    /// The code of a function, as something that cites a unit.
    pub fn code(&self, file: &str, function: &str) -> CodePlace {
        let text = fs::read_to_string(self.folder.join(file)).expect("a source file");
        let language = Language::of(file).expect("a known language");
        let symbol = symbols(language, &text).into_iter().find(|symbol| symbol.to_string() == function);
        CodePlace { file: file.to_owned(), body: symbol.expect("the function").body }
    }

    /// Everything that was found, a line for each test.
    pub fn shown(&self) -> String {
        let mut shown = String::new();
        for (place, result) in self.places.iter().zip(&self.results.tests) {
            let attempts = match result.n_attempts {
                0 | 1 => String::new(),
                several => format!(" ({several} attempts)"),
            };
            if result.outcome != Outcome::NotRun {
                writeln!(shown, "{}: {}{attempts}", place.symbol, result.outcome.as_str()).expect("memory");
            }
        }
        for problem in &self.results.problems {
            writeln!(shown, "! {}: {}", problem.name, problem.reason).expect("memory");
        }
        if let Some(reason) = &self.results.incomplete {
            writeln!(shown, "incomplete: {reason}").expect("memory");
        }
        shown
    }
}

pub fn folder(kettle: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/kettle").join(kettle)
}

fn tests(folder: &Path, files: &[String]) -> Vec<TestPlace> {
    let mut places = Vec::new();
    for file in files {
        let Some(language) = Language::of(file) else { continue };
        let text = fs::read_to_string(folder.join(file)).expect("a source file");
        let tests = symbols(language, &text).into_iter().filter(|symbol| symbol.is_test);
        let package = (language == Language::Go).then(|| match file.rsplit_once('/') {
            Some((folder, _)) => format!("example.com/kettle/{folder}"),
            None => "example.com/kettle".to_owned(),
        });
        let place = |symbol| TestPlace { file: file.clone(), symbol, package: package.clone(), alias: None };
        places.extend(tests.map(place));
    }
    places
}

/// All files below a folder, relative to it.
fn files(root: &Path) -> Vec<String> {
    fn below(folder: &Path, root: &Path, found: &mut Vec<String>) {
        for entry in fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("readable").path();
            if path.is_dir() {
                below(&path, root, found);
            } else {
                found.push(path.strip_prefix(root).expect("below").to_str().expect("UTF-8").to_owned());
            }
        }
    }
    let mut found = Vec::new();
    below(root, root, &mut found);
    found.sort();
    found
}

pub fn recorded(name: &str) -> Vec<u8> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/recorded").join(name);
    fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Reads recordings.
pub fn read(names: &[&str]) -> Vec<Report> {
    let read = |name: &&str| {
        let source = Source { name, root: ROOT, folder: "" };
        evidence::read(&source, &recorded(name)).unwrap_or_else(|refusal| panic!("{refusal}"))
    };
    names.iter().map(read).collect()
}
