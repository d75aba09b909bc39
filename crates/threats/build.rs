//! Preprocesses the data of the crate at build time, so that programs start fast: patterns become JSON, examples terms
//! and vectors.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::{env, fs, io};

use pattern::Pattern;

#[allow(dead_code, reason = "the crate uses more of it")]
#[path = "src/field.rs"]
mod field;
#[allow(dead_code, reason = "the crate uses more of it")]
#[path = "src/load.rs"]
mod load;
#[allow(dead_code, reason = "the crate uses more of it")]
#[path = "src/meaning.rs"]
mod meaning;
#[allow(dead_code, reason = "the crate uses more of it")]
#[path = "src/pattern.rs"]
mod pattern;
#[allow(dead_code, reason = "the crate uses more of it")]
#[path = "src/terms.rs"]
mod terms;
#[allow(dead_code, reason = "the crate uses more of it")]
#[path = "src/text.rs"]
mod text;

fn main() -> io::Result<()> {
    let root = PathBuf::from(env::var("CARGO_MANIFEST_DIR").expect("cargo sets it"));
    let out = PathBuf::from(env::var("OUT_DIR").expect("cargo sets it"));
    for file in [
        "build.rs",
        "src/field.rs",
        "src/load.rs",
        "src/meaning.rs",
        "src/pattern.rs",
        "src/terms.rs",
        "src/text.rs",
        "src/stop_words.txt",
        "vectors/stems.txt",
        "vectors/vectors.bin",
    ] {
        println!("cargo::rerun-if-changed={}", root.join(file).display());
    }
    let patterns = patterns(&root.join("patterns"))?;
    fs::write(out.join("patterns.rs"), table(&patterns))?;
    fs::write(out.join("examples.rs"), examples(&root.join("src"), &patterns)?)
}

/// Reads the patterns with their relative paths, in path order.
fn patterns(root: &Path) -> io::Result<Vec<(String, Pattern)>> {
    let mut files = Vec::new();
    if root.is_dir() {
        collect(root, &mut files)?;
    }
    files.sort();
    let mut patterns = Vec::new();
    for file in &files {
        let name = file.strip_prefix(root).expect("it was found below the root");
        let name = name.to_string_lossy().replace('\\', "/");
        let pattern = load::parse(&name, &fs::read_to_string(file)?).map_err(io::Error::other)?;
        patterns.push((name, pattern));
    }
    Ok(patterns)
}

/// Writes patterns as `(relative path, JSON)` pairs: JSON is read ten times as fast as YAML.
fn table(patterns: &[(String, Pattern)]) -> String {
    let rows = patterns.iter().map(|(name, pattern)| {
        let json = serde_json::to_string(pattern).expect("a pattern is plain data");
        format!("    ({name:?}, {json:?}),\n")
    });
    format!("&[\n{}]", rows.collect::<String>())
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    println!("cargo::rerun-if-changed={}", folder.display());
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            collect(&path, files)?;
        } else if path.extension().is_some_and(|extension| extension == "yaml") {
            files.push(path);
        }
    }
    Ok(())
}

/// Writes the examples, which are lines, the expressions, which have commas in between, and the texts of patterns.
fn examples(root: &Path, patterns: &[(String, Pattern)]) -> io::Result<String> {
    let mut vocabulary = Vocabulary::default();
    let mut examples = Texts::default();
    let mut subjects_of: Vec<Vec<String>> = Vec::new();
    let mut subjects_of_terms: HashMap<u32, HashSet<String>> = HashMap::new();
    for (name, is_expression) in [("examples.txt", false), ("expressions.txt", true)] {
        let path = root.join(name);
        println!("cargo::rerun-if-changed={}", path.display());
        let source = fs::read_to_string(path)?;
        let mut subjects: Vec<String> = Vec::new();
        for line in source.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
            if let Some(names) = line.strip_suffix(':').filter(|_| !line.starts_with(' ')) {
                subjects = names.split(", ").filter(|name| *name != "-").map(str::to_owned).collect();
                continue;
            }
            let texts = if is_expression { expressions(line) } else { vec![line.trim()] };
            for text in texts {
                let (terms, meaning) = vocabulary.read(text);
                for (term, _) in terms.iter().filter(|_| !is_expression) {
                    subjects_of_terms.entry(*term).or_default().extend(subjects.iter().cloned());
                }
                examples.add(text, &terms, Some(meaning).filter(|_| !is_expression));
                subjects_of.push(subjects.clone());
            }
        }
    }
    let mut own_texts = Texts::default();
    for (_, text) in patterns.iter().flat_map(|(_, pattern)| field::texts(pattern)) {
        let (terms, meaning) = vocabulary.read(text);
        own_texts.add(text, &terms, Some(meaning));
    }

    let subjects: BTreeSet<&String> = subjects_of.iter().flatten().collect();
    let subjects: Vec<&String> = subjects.into_iter().collect();
    let place =
        |subject: &String| subjects.binary_search(&subject).expect("they were gathered from these") as u8;
    let example_subjects: Vec<u8> = subjects_of.iter().flatten().map(place).collect();
    let subject_starts = starts(subjects_of.iter().map(Vec::len));
    let n_subjects: Vec<usize> = (0..vocabulary.keys.len() as u32)
        .map(|term| subjects_of_terms.get(&term).map_or(0, HashSet::len))
        .collect();
    let mut sorted: Vec<usize> = (0..vocabulary.keys.len()).collect();
    sorted.sort_by_key(|term| &vocabulary.keys[*term]);
    let (terms, examples, own_texts) = (strings(&vocabulary.keys), examples.written(), own_texts.written());
    Ok(format!(
        "/// Every term of every example and of the texts below.\npub static TERMS: Strings = {terms};\n\n\
         /// Their indexes in the order of the terms.\npub static SORTED: &[u32] = &{sorted:?};\n\n\
         /// For each of them how many subjects have examples with it.\npub static N_SUBJECTS: &[u8] = &{n_subjects:?};\n\n\
         /// What examples are about, as keywords of patterns have it, in order.\npub static SUBJECTS: &[&str] = &{subjects:?};\n\n\
         static EXAMPLE_SUBJECTS: &[u8] = &{example_subjects:?};\nstatic SUBJECT_STARTS: &[u32] = &{subject_starts:?};\n\n\
         /// The examples: sentences, then expressions.\nstatic EXAMPLES: Texts = {examples};\n\n\
         /// The texts of the patterns that come with the program.\npub static OWN_TEXTS: Texts = {own_texts};\n"
    ))
}

/// Texts that were cut into terms.
#[derive(Default)]
struct Texts {
    texts: Vec<String>,
    counts: Vec<Vec<(u32, u8)>>,
    meanings: Vec<meaning::Meaning>,
}

impl Texts {
    fn add(&mut self, text: &str, counts: &[(u32, u8)], meaning: Option<meaning::Meaning>) {
        assert!(
            meaning.is_none() || self.meanings.len() == self.texts.len(),
            "texts with a meaning come first"
        );
        self.texts.push(text.to_owned());
        self.counts.push(counts.to_vec());
        self.meanings.extend(meaning);
    }

    fn written(&self) -> String {
        let counts = self.counts.iter().flatten();
        let counts: String =
            counts.map(|(term, count)| format!("Counted({}),", (term << 8) | u32::from(*count))).collect();
        let (texts, starts) = (strings(&self.texts), starts(self.counts.iter().map(Vec::len)));
        let meanings = &self.meanings;
        format!(
            "Texts {{ texts: {texts}, counts: &[{counts}], starts: &{starts:?}, meanings: &{meanings:?} }}"
        )
    }
}

/// Writes strings as one text with the places where they start.
fn strings(strings: &[String]) -> String {
    let (text, starts) = (strings.concat(), starts(strings.iter().map(String::len)));
    format!("Strings {{ text: {text:?}, starts: &{starts:?} }}")
}

/// Where things of these lengths start, one after the other, and where the last ends.
fn starts(lengths: impl Iterator<Item = usize>) -> Vec<usize> {
    let mut starts = vec![0];
    for length in lengths {
        starts.push(starts[starts.len() - 1] + length);
    }
    starts
}

/// Numbers terms in the order of their occurrence.
#[derive(Default)]
struct Vocabulary {
    keys: Vec<String>,
    numbers: HashMap<String, u32>,
}

impl Vocabulary {
    /// Counts the terms of a text, sorted by number, and returns its meaning.
    fn read(&mut self, text: &str) -> (Vec<(u32, u8)>, meaning::Meaning) {
        let terms = terms::terms(text, &text::words(text).words);
        let meaning = meaning::of(terms.iter().map(|term| term.key.as_str()));
        let mut counts: BTreeMap<u32, u8> = BTreeMap::new();
        for term in terms {
            let number = *self.numbers.entry(term.key).or_insert_with_key(|key| {
                self.keys.push(key.clone());
                self.keys.len() as u32 - 1
            });
            let count = counts.entry(number).or_default();
            *count = count.saturating_add(1);
        }
        (counts.into_iter().collect(), meaning)
    }
}

/// Splits a line at its commas, except those in backticks.
fn expressions(line: &str) -> Vec<&str> {
    let mut is_code = false;
    let parts = line.split(move |character| {
        is_code ^= character == '`';
        character == ',' && !is_code
    });
    parts.map(|part| part.trim().trim_matches('`')).filter(|part| !part.is_empty()).collect()
}
