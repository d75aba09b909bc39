//! Looks at a folder for `duvet init`: which languages its code is in, where, and what it may have to fulfil.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use trace::{Format, Specification, extract, meaning};

use super::arguments::Languages;

/// What a folder has.
#[derive(Debug, Default)]
pub struct Survey {
    /// Patterns of source code.
    pub sources: Vec<FoundSource>,
    /// Specifications.
    pub specifications: Vec<SpecificationFile>,
}

/// A pattern of source code.
#[derive(Debug)]
pub struct FoundSource {
    pub pattern: String,
    pub marks: Marks,
    /// How many files it matches.
    pub n_files: usize,
    /// One of them.
    pub example: Option<String>,
}

/// A specification.
#[derive(Debug)]
pub struct SpecificationFile {
    pub name: String,
    /// How many requirements it has, if it is there.
    pub n_requirements: Option<usize>,
    /// The target and the first line of one.
    pub sample: Option<(String, String)>,
}

/// The marks of annotations: of their own lines, and of quotes.
pub type Marks = (&'static str, &'static str);

/// What needs not be said in a configuration.
pub const USUAL_MARKS: Marks = ("//=", "//#");
const STARS: Marks = ("*=", "*#");
const HASHES: Marks = ("##=", "##%");
const DASHES: Marks = ("--=", "--#");

type Wanted = fn(&Languages) -> bool;

/// The extensions of languages, where their code usually is, and the marks of annotations.
const LANGUAGES: &[(Wanted, &[&str], &str, Marks)] = &[
    (|languages| languages.c, &["c", "h"], "src/**/*.c", STARS),
    (|languages| languages.cryptoverif, &["cv"], "**/*.cv", STARS),
    (|languages| languages.go, &["go"], "src/**/*.go", USUAL_MARKS),
    (|languages| languages.java, &["java"], "src/**/*.java", USUAL_MARKS),
    (|languages| languages.javascript, &["js", "mjs", "jsx"], "src/**/*.js", USUAL_MARKS),
    (|languages| languages.proverif, &["pv"], "**/*.pv", STARS),
    (|languages| languages.python, &["py"], "src/**/*.py", HASHES),
    (|languages| languages.typescript, &["ts", "tsx"], "src/**/*.ts", USUAL_MARKS),
    (|languages| languages.ruby, &["rb"], "lib/**/*.rb", HASHES),
    (|languages| languages.rust, &["rs"], "src/**/*.rs", USUAL_MARKS),
    // No flag asks for these.
    (|_| false, &["cc", "cpp", "cxx", "hpp"], "src/**/*.cpp", USUAL_MARKS),
    (|_| false, &["cs", "dart", "kt", "php", "scala", "swift", "zig"], "src/**/*.kt", USUAL_MARKS),
    (|_| false, &["ex", "exs"], "lib/**/*.ex", HASHES),
    (|_| false, &["hs", "lua"], "src/**/*.hs", DASHES),
];

/// What is not the project's own code, or not written by hand.
const OTHERS: &[&str] = &[
    "target",
    "node_modules",
    "vendor",
    "third_party",
    "venv",
    "env",
    "dist",
    "build",
    "out",
    "__pycache__",
];
/// Documents of nearly every project, which require nothing of its code.
const USUAL_DOCUMENTS: &[&str] = &[
    "readme",
    "changelog",
    "contributing",
    "license",
    "code_of_conduct",
    "security",
    "authors",
    "architecture",
];
/// What is looked at, and no more.
const FILES_MAX: usize = 50_000;
const DEPTH_MAX: usize = 16;
const DOCUMENT_SIZE_MAX_BYTES: u64 = 4 << 20;
/// With code in more folders than this, one pattern is for all of them.
const FOLDERS_MAX: usize = 6;
const SPECIFICATIONS_MAX: usize = 20;

impl Survey {
    /// Looks at a folder. Languages and specifications that are named are taken, others are looked for.
    pub fn of(root: &Path, wanted: &Languages, named: &[String]) -> Survey {
        let files = files(root);
        let sources = sources(root, &files, wanted);
        let specifications = match named {
            [] => documents(root, &files),
            _ => named.iter().map(|name| read(root, name)).collect(),
        };
        Survey { sources, specifications }
    }
}

/// Lists files, relative to the root, in order. Hidden folders and links are left out.
fn files(root: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![(PathBuf::new(), 0)];
    while let Some((folder, depth)) = folders.pop() {
        let Ok(entries) = fs::read_dir(root.join(&folder)) else { continue };
        for entry in entries.flatten() {
            let (name, path) = (entry.file_name(), folder.join(entry.file_name()));
            let name = name.to_string_lossy();
            let Ok(kind) = entry.file_type() else { continue };
            if kind.is_dir() && !name.starts_with('.') && !OTHERS.contains(&&*name) && depth < DEPTH_MAX {
                folders.push((path, depth + 1));
            } else if kind.is_file() && found.len() < FILES_MAX {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

fn sources(root: &Path, files: &[PathBuf], wanted: &Languages) -> Vec<FoundSource> {
    let is_chosen = *wanted != Languages::default();
    let of_language = |extensions: &[&str], marks: Marks| -> Vec<FoundSource> {
        extensions.iter().flat_map(|extension| patterns(files, extension, marks)).collect()
    };
    let mut found = Vec::new();
    for (is_wanted, extensions, usual, marks) in LANGUAGES {
        if is_chosen && !is_wanted(wanted) {
            continue;
        }
        let sources = of_language(extensions, *marks);
        if sources.is_empty() && is_chosen {
            found.push(FoundSource::usual(usual, *marks));
        }
        found.extend(sources);
    }
    if found.is_empty() {
        // There is no code yet; the files of build tools tell what it will be.
        let detected = detect(root);
        let will_be = LANGUAGES.iter().filter(|(is_wanted, ..)| is_wanted(&detected));
        found.extend(will_be.map(|(_, _, usual, marks)| FoundSource::usual(usual, *marks)));
    }
    found
}

impl FoundSource {
    fn usual(pattern: &str, marks: Marks) -> FoundSource {
        FoundSource { pattern: pattern.to_owned(), marks, n_files: 0, example: None }
    }
}

/// Finds patterns for the files of an extension: one for each folder at the top that has any.
fn patterns(files: &[PathBuf], extension: &str, marks: Marks) -> Vec<FoundSource> {
    let of_language = files.iter().filter(|path| path.extension().is_some_and(|own| own == extension));
    let mut folders: BTreeMap<Option<String>, Vec<&PathBuf>> = BTreeMap::new();
    for path in of_language {
        let mut parts = path.iter();
        let top = parts.next().filter(|_| parts.next().is_some());
        folders.entry(top.map(|top| top.to_string_lossy().into_owned())).or_default().push(path);
    }
    let source = |pattern: String, files: &[&PathBuf]| FoundSource {
        pattern,
        marks,
        n_files: files.len(),
        example: files.first().map(|path| path.display().to_string()),
    };
    if folders.len() > FOLDERS_MAX {
        let all: Vec<&PathBuf> = folders.into_values().flatten().collect();
        return vec![source(format!("**/*.{extension}"), &all)];
    }
    let pattern = |(folder, files): (Option<String>, Vec<&PathBuf>)| {
        let is_flat = files.iter().all(|path| path.iter().count() == 2);
        let pattern = match folder.as_deref().map(glob_escape) {
            None => format!("*.{extension}"),
            Some(folder) if is_flat => format!("{folder}/*.{extension}"),
            Some(folder) => format!("{folder}/**/*.{extension}"),
        };
        source(pattern, &files)
    };
    folders.into_iter().map(pattern).collect()
}

/// A folder may be called `[x]`.
fn glob_escape(name: &str) -> String {
    name.chars().fold(String::new(), |text, character| match character {
        '*' | '?' | '[' | ']' => text + &format!("[{character}]"),
        _ => text + &character.to_string(),
    })
}

/// Finds documents that require something.
fn documents(root: &Path, files: &[PathBuf]) -> Vec<SpecificationFile> {
    let is_document = |path: &&PathBuf| {
        let lower =
            |part: Option<&std::ffi::OsStr>| part.unwrap_or_default().to_string_lossy().to_lowercase();
        let is_usual = USUAL_DOCUMENTS.contains(&&*lower(path.file_stem()));
        ["md", "markdown", "txt"].contains(&&*lower(path.extension())) && !is_usual
    };
    let is_small = |path: &&PathBuf| {
        fs::metadata(root.join(path)).is_ok_and(|metadata| metadata.len() <= DOCUMENT_SIZE_MAX_BYTES)
    };
    let documents = files.iter().filter(is_document).filter(is_small);
    let documents = documents.map(|path| read(root, &path.to_string_lossy()));
    let requiring = documents.filter(|found| found.n_requirements.is_some_and(|n| n > 0));
    requiring.take(SPECIFICATIONS_MAX).collect()
}

/// Counts the requirements of a specification that is there.
fn read(root: &Path, name: &str) -> SpecificationFile {
    let mut found = SpecificationFile { name: name.to_owned(), n_requirements: None, sample: None };
    let Ok(text) = fs::read_to_string(root.join(name)) else {
        return found;
    };
    let specification = Specification::parse(text.into(), name, Format::Auto);
    let mut n_requirements = 0;
    for section in &specification.sections {
        let requirements = extract::requirements(&specification, section);
        for requirement in requirements {
            let spans = requirement.spans.into();
            let meant = meaning::requirements(&specification, section, &spans, requirement.level);
            n_requirements += meant.len();
            if let (Some((spans, _)), None) = (meant.first(), &found.sample) {
                let quote: Vec<&str> = spans.iter().map(|span| span.of_text(&specification.text)).collect();
                found.sample = Some((format!("{name}#{}", section.id), quote.join(" ")));
            }
        }
    }
    found.n_requirements = Some(n_requirements);
    found
}

/// Guesses the languages from the files that their build tools leave.
fn detect(root: &Path) -> Languages {
    let any = |names: &[&str]| names.iter().any(|name| root.join(name).exists());
    Languages {
        c: any(&["CMakeLists.txt"]),
        go: any(&["go.mod"]),
        java: any(&["pom.xml", "build.gradle", "build.gradle.kts"]),
        javascript: any(&["package.json"]),
        python: any(&["requirements.txt", "pyproject.toml", "setup.py"]),
        typescript: any(&["tsconfig.json"]),
        ruby: any(&["Gemfile"]),
        rust: any(&["Cargo.toml"]),
        ..Languages::default()
    }
}
