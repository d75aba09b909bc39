//! Measures how well the search finds the right threat patterns, beside two peers, on labelled queries.
//!
//! `bench-threats [--tune | --frozen-2] [FOLDER…]`: patterns from folders in place of the built-in ones; `--tune` shows
//! only the splits that may be tuned on, and lists what our search gets wrong there. `--frozen-2` shows the split of
//! that name alone: it stays an honest judge while few look, and each look is recorded in `docs/figures.md`.

#![allow(clippy::print_stdout, reason = "a command that prints a table")]

mod peers;

use std::path::Path;
use std::time::{Duration, Instant};

use serde::Deserialize;
use threats::{Library, Pattern, Query};

use peers::{PlainBm25, Tmkb};

static QUERIES: &str = include_str!("queries.yaml");
/// By other authors than the queries; thresholds were chosen on it.
static VALIDATION: &str = include_str!("validation.yaml");
/// By writers who had read no pattern file: the name of the split, questions, labels.
static FROZEN: [(&str, &str, &str); 2] = [
    ("frozen", include_str!("frozen-questions.tsv"), include_str!("frozen-labels.tsv")),
    (JUDGE, include_str!("frozen-2-questions.tsv"), include_str!("frozen-2-labels.tsv")),
];
/// Never tuned on.
const JUDGE: &str = "frozen-2";
/// The splits that may be tuned on.
const TUNABLE: &[&str] = &["tune", "validation", "held-out", "frozen"];
/// How many answers count.
const ANSWERS_MAX: usize = 3;
const ROUNDS: u32 = 20;

fn main() {
    let mut folders = Vec::new();
    let mut tuning = false;
    let mut splits = TUNABLE;
    for argument in std::env::args().skip(1) {
        match argument.as_str() {
            "--tune" => tuning = true,
            "--frozen-2" => splits = &[JUDGE],
            folder => folders.push(folder.to_owned()),
        }
    }

    let sources: Vec<(String, String)> = folders.iter().flat_map(|folder| files(Path::new(folder))).collect();
    let start = Instant::now();
    let library = if sources.is_empty() {
        Library::builtin(&["all"]).expect("`all` is known")
    } else {
        let (library, problems) = Library::load(sources);
        problems.iter().for_each(|problem| println!("{problem}"));
        library
    };
    let loading = start.elapsed();
    let mut set: QuerySet = serde_saphyr::from_str(QUERIES).expect("the query file is well-formed");
    let validation: QuerySet =
        serde_saphyr::from_str(VALIDATION).expect("the validation file is well-formed");
    for (index, query) in validation.queries.into_iter().enumerate() {
        let id = format!("V{:03}", index + 1);
        set.queries.push(Labelled { id, split: "validation".to_owned(), ..query });
    }

    // The labels have a column for the built-in pack and one for the public files.
    let column = if folders.is_empty() { 1 } else { 2 };
    set.queries.extend(
        FROZEN.iter().flat_map(|(split, questions, labels)| frozen(split, questions, labels, column)),
    );
    // Elsewhere the labels are for the built-in pack. A query about none of the patterns at hand says nothing of them.
    set.queries.retain_mut(|query| {
        let is_irrelevant = query.relevant.is_empty();
        query.relevant.retain(|id| library.get(id).is_ok());
        is_irrelevant || !query.relevant.is_empty()
    });

    println!(
        "{} patterns, {} queries, first {ANSWERS_MAX} answers\n",
        library.patterns().len(),
        set.queries.len()
    );
    let tmkb = Tmkb::new(library.patterns());
    let bm25 = PlainBm25::new(library.patterns());
    let systems: [(&str, Search<'_>); 3] = [
        ("spexus", &|context| ours(&library, context)),
        ("tmkb 0.1.0", &|context| tmkb.search(context)),
        ("plain BM25", &|context| bm25.search(context)),
    ];
    for split in splits {
        println!(
            "{split:<12}{:<14}{:>8}{:>12}{:>8}{:>8}{:>16}",
            "", "queries", "P@1", "R@3", "MRR", "false answers"
        );
        for class in CLASSES.iter().copied().chain([""]) {
            let queries: Vec<&Labelled> =
                set.queries.iter().filter(|query| query.split == *split && query.is_in(class)).collect();
            let figures = systems.map(|(name, search)| (name, Figures::of(&queries, search)));
            for (name, figures) in &figures {
                println!("{:<12}{name:<14}{figures}", if class.is_empty() { "all" } else { class });
            }
            if class.is_empty() {
                for (name, peer) in &figures[1..] {
                    println!("{:<12}÷ {name:<12}{}", "", figures[0].1.ratio(peer));
                }
            }
        }
        println!();
    }

    println!("loading {loading:.1?}; a query {:.1?}", each(&library, &set));
    if tuning {
        list_misses(&library, &set);
    }
}

/// Finds the ids of patterns, best first.
type Search<'a> = &'a dyn Fn(&str) -> Vec<String>;

const CLASSES: [&str; 5] = ["task", "requirement", "identifier", "question", "irrelevant"];

#[derive(Deserialize)]
struct QuerySet {
    queries: Vec<Labelled>,
}

#[derive(Deserialize)]
struct Labelled {
    #[serde(default)]
    id: String,
    class: String,
    #[serde(default)]
    split: String,
    text: String,
    relevant: Vec<String>,
}

impl Labelled {
    fn is_in(&self, class: &str) -> bool {
        class.is_empty() || self.class == class
    }
}

/// Lists the frozen questions with the labels of a column. Those that no pattern is about, though they are inside the
/// field, are left out.
fn frozen(split: &str, questions: &'static str, labels: &'static str, column: usize) -> Vec<Labelled> {
    fn rows(text: &'static str) -> impl Iterator<Item = Vec<&'static str>> {
        text.lines().filter(|line| !line.starts_with('#')).map(|line| line.split('\t').collect())
    }
    let labels: Vec<Vec<&str>> = rows(labels).collect();
    let label = |id: &str| labels.iter().find(|row| row[0] == id).map_or("-", |row| row[column]);
    let questions = rows(questions).filter(|row| label(row[0]) != "-");
    let labelled = questions.map(|row| {
        let label = label(row[0]);
        let (class, relevant) = match label {
            "none" => ("irrelevant", Vec::new()),
            ids => ("task", ids.split(' ').map(str::to_owned).collect()),
        };
        Labelled {
            id: row[0].to_owned(),
            class: class.to_owned(),
            split: split.to_owned(),
            text: row[2].to_owned(),
            relevant,
        }
    });
    labelled.collect()
}

/// Sums over queries; irrelevant ones count for false answers alone.
#[derive(Default)]
struct Figures {
    n_relevant: f64,
    n_irrelevant: f64,
    first: f64,
    recall: f64,
    reciprocal: f64,
    n_false: f64,
}

impl Figures {
    fn of(queries: &[&Labelled], search: Search<'_>) -> Figures {
        let mut figures = Figures::default();
        for query in queries {
            let found = search(&query.text);
            if query.relevant.is_empty() {
                figures.n_irrelevant += 1.0;
                figures.n_false += f64::from(!found.is_empty());
                continue;
            }
            figures.n_relevant += 1.0;
            let rank = found.iter().position(|id| query.relevant.contains(id));
            figures.first += f64::from(rank == Some(0));
            figures.reciprocal += rank.map_or(0.0, |rank| 1.0 / (rank + 1) as f64);
            let n_found = found.iter().take(ANSWERS_MAX).filter(|id| query.relevant.contains(id)).count();
            figures.recall += n_found as f64 / query.relevant.len().min(ANSWERS_MAX) as f64;
        }
        figures
    }

    fn ratio(&self, peer: &Figures) -> String {
        let of = |ours: f64, theirs: f64| format!("×{:.2}", ours / theirs);
        let (n, m) = (self.n_relevant, peer.n_relevant);
        format!(
            "{:>8}{:>12}{:>8}{:>8}{:>16}",
            "",
            of(self.first / n, peer.first / m),
            of(self.recall / n, peer.recall / m),
            of(self.reciprocal / n, peer.reciprocal / m),
            format!("{} for {}", self.n_false, peer.n_false),
        )
    }
}

impl std::fmt::Display for Figures {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:>8}", self.n_relevant + self.n_irrelevant)?;
        if self.n_relevant > 0.0 {
            let n = self.n_relevant;
            write!(f, "{:>12.3}{:>8.3}{:>8.3}", self.first / n, self.recall / n, self.reciprocal / n)?;
        } else {
            write!(f, "{:>12}{:>8}{:>8}", "", "", "")?;
        }
        if self.n_irrelevant > 0.0 {
            write!(f, "{:>16}", format!("{} of {}", self.n_false, self.n_irrelevant))?;
        }
        Ok(())
    }
}

fn ours(library: &Library, context: &str) -> Vec<String> {
    let hits = library.search(&Query { context, ..Query::default() });
    hits.into_iter().map(|hit| hit.pattern.id.clone()).collect()
}

fn each(library: &Library, set: &QuerySet) -> Duration {
    let start = Instant::now();
    for _ in 0..ROUNDS {
        for query in &set.queries {
            std::hint::black_box(library.search(&Query { context: &query.text, ..Query::default() }));
        }
    }
    start.elapsed() / ROUNDS / set.queries.len() as u32
}

fn list_misses(library: &Library, set: &QuerySet) {
    for query in set.queries.iter().filter(|query| TUNABLE.contains(&query.split.as_str())) {
        let hits = library.search(&Query { context: &query.text, ..Query::default() });
        let known: Vec<&Pattern> = query.relevant.iter().filter_map(|id| library.get(id).ok()).collect();
        let first = hits.first().map(|hit| hit.pattern);
        let right = match first {
            None => query.relevant.is_empty(),
            Some(first) => known.contains(&first),
        };
        let complete = known.iter().all(|pattern| hits.iter().take(3).any(|hit| hit.pattern == *pattern));
        if right && complete {
            continue;
        }
        let mark = if right { "incomplete" } else { "MISS" };
        println!(
            "\n{} {} {mark}: {}\n  wanted {}",
            query.id,
            query.class,
            query.text,
            query.relevant.join(" ")
        );
        for hit in hits.iter().take(5) {
            let reasons: Vec<String> = hit.reasons.iter().map(ToString::to_string).collect();
            println!("  {} {:>6} {}", hit.pattern.id, hit.score, reasons.join("; "));
        }
    }
}

fn files(folder: &Path) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display())) {
        let path = entry.expect("it can be listed").path();
        if path.is_dir() {
            found.extend(files(&path));
        } else if path.extension().is_some_and(|extension| extension == "yaml") {
            found.push((path.display().to_string(), std::fs::read_to_string(&path).expect("it is text")));
        }
    }
    found
}
