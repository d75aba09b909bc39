//! What a large checkout pushes: files that cite requirements of all projects, half of them in code and half in tests, and runs of
//! these tests.

use std::fmt::Write as _;

use bench_shared::fill::{Layout, key};
use bench_shared::text;
use ops::thread::{PushedCitation, PushedExecution, PushedFile, PushedTest};
use trace::managed::{Granularity, units};

/// Citations of a file.
const PER_FILE: u64 = 20;
const LINES_PER_CITATION: u64 = 10;

/// A checkout of which every requirement has the same number of citations.
#[derive(Clone, Copy)]
pub struct Pushed {
    pub layout: Layout,
    pub n_citations: u64,
}

impl Pushed {
    /// How many tests there are: every second citation is one.
    pub fn n_tests(self) -> u64 {
        self.n_citations / 2
    }

    /// The requirement that a test and the code before it cite, by its project and its number in it.
    pub fn requirement(self, test: u64) -> (u64, u64) {
        let number = test % (self.layout.n_projects * self.layout.n_requirements);
        (number / self.layout.n_requirements, 1 + number % self.layout.n_requirements)
    }

    /// Its reference with the key of the project, which citations always have.
    pub fn reference(self, test: u64) -> String {
        let (project, number) = self.requirement(test);
        format!("{}-REQ-{number:03}", key(project))
    }

    /// The file that a citation is in, and its first line there.
    pub fn place(self, citation: u64) -> (String, u64) {
        let file = citation / PER_FILE;
        (format!("src/part{:02}/file{file}.py", file % 100), 1 + citation % PER_FILE * LINES_PER_CITATION)
    }

    /// The hash of the text that a test and its code quote.
    fn unit(self, test: u64) -> String {
        let (project, number) = self.requirement(test);
        // As the store was filled.
        let description = text::description(project * self.layout.n_requirements + number - 1);
        let units = units(&description, Granularity::Sentences);
        units.into_iter().next().map(|unit| unit.hash).unwrap_or_default()
    }

    /// The lines of a push of the citations. Every `edition` has other contents of the files.
    pub fn trace(self, edition: u64) -> String {
        let mut lines = String::new();
        for first in (0..self.n_citations).step_by(PER_FILE as usize) {
            let citations =
                (first..self.n_citations.min(first + PER_FILE)).map(|citation| self.citation(citation));
            let (path, _) = self.place(first);
            let file = PushedFile { blob: blob(&path, edition), path, citations: citations.collect() };
            push_line(&mut lines, &file);
        }
        lines
    }

    fn citation(self, citation: u64) -> PushedCitation {
        let test = citation / 2;
        let (_, line) = self.place(citation);
        PushedCitation {
            line: line as u32,
            last_line: line as u32 + 1,
            kind: if citation.is_multiple_of(2) { "code" } else { "test" }.to_owned(),
            reference: self.reference(test),
            units: vec![self.unit(test)],
            pin: None,
            symbol: Some(symbol(citation)),
            covered: Some((line as u32 + 2, (line + LINES_PER_CITATION) as u32 - 1)),
        }
    }

    /// The lines of a push of a run. Some tests of every run fail.
    pub fn run(self, run: u64, edition: u64) -> String {
        let mut lines = String::new();
        for test in 0..self.n_tests() {
            let (path, _) = self.place(2 * test + 1);
            let (code, _) = self.place(2 * test);
            let executed = PushedExecution {
                reference: self.reference(test),
                unit: self.unit(test),
                blob: blob(&code, edition),
                path: code,
                how: "proven".to_owned(),
            };
            let outcome = if (test + run).is_multiple_of(50) {
                evidence::Outcome::Failed
            } else {
                evidence::Outcome::Passed
            };
            let result = PushedTest {
                blob: blob(&path, edition),
                path,
                symbol: symbol(2 * test + 1),
                outcome,
                attempts: 1,
                duration_ms: Some(run + 1),
                executes: vec![executed],
            };
            push_line(&mut lines, &result);
        }
        lines
    }
}

pub fn symbol(citation: u64) -> String {
    if citation.is_multiple_of(2) { format!("part_{citation}") } else { format!("test_part_{citation}") }
}

/// The hash of a content that nobody has.
fn blob(path: &str, edition: u64) -> String {
    let sum = path
        .bytes()
        .fold(edition, |sum, byte| sum.wrapping_mul(1_099_511_628_211).wrapping_add(u64::from(byte)));
    format!("{sum:040x}")
}

fn push_line(lines: &mut String, line: &impl serde::Serialize) {
    let line = serde_json::to_string(line).expect("it is a plain structure");
    let _ = writeln!(lines, "{line}");
}
