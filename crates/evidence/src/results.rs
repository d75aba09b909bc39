//! Matches the reports of one run with the tests of a repository, and derives verdicts.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use crate::matching::{Index, TestPlace, Unmatched};
use crate::outcome::{self, Outcome};
use crate::report::{Report, Scope};
use crate::verdict::Verdict;

/// How many problems are kept; a report of another repository has one for each case.
const PROBLEMS_MAX: usize = 1_000;

/// The reports of one run, matched with the tests of a repository.
#[derive(Debug, Default)]
pub struct Results {
    /// For each test place, in the given order.
    pub tests: Vec<TestResult>,
    /// Cases and files that could not be matched.
    pub problems: Vec<Problem>,
    /// Why the run is incomplete, if it is. Such a run closes nothing.
    pub incomplete: Option<String>,
    /// For each test, results from reports that show retries, and from others.
    said: Vec<(Outcome, Outcome)>,
    executed: HashMap<String, BTreeSet<u32>>,
    executed_by: HashMap<usize, HashMap<String, BTreeSet<u32>>>,
}

/// The result of one test in a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TestResult {
    /// The result: attempts, parameters, subtests and reports combined.
    pub outcome: Outcome,
    /// The number of attempts, the maximum of all parameters; 0 if it has not run.
    pub n_attempts: u32,
    /// Their duration, if reported.
    pub duration_ms: Option<u64>,
    /// Whether a report that shows retries has this result.
    pub shows_retries: bool,
    /// The requirements to which the report itself links the test, with properties `verifies`.
    pub verifies: BTreeSet<String>,
}

/// A case or a file that could not be matched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Its name in the report.
    pub name: String,
    /// Why not.
    pub reason: Unmatched,
}

/// Code that cites a unit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CodePlace {
    /// The file, relative to the repository.
    pub file: String,
    /// The lines of its body, as `Symbol::body` has them.
    pub body: Vec<u32>,
}

/// How it is known that a test executed some code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum How {
    /// It was executed in the same run, by any test.
    SameRun,
    /// Coverage for each test shows it.
    ThisTest,
}

impl Results {
    /// Matches reports with all tests of a repository. `files` are all files, to complete the paths of formats
    /// that have only their ends. `exit_status` is the exit status of the run, if known.
    pub fn new(
        reports: &[Report],
        places: &[TestPlace],
        files: &[&str],
        exit_status: Option<i32>,
    ) -> Results {
        let mut results = Results {
            tests: vec![TestResult::default(); places.len()],
            said: vec![Default::default(); places.len()],
            ..Results::default()
        };
        let index = Index::new(places);
        let around = enclosing_tests(places);
        let ends = Ends::new(files);
        let mut digests = BTreeSet::new();
        for report in reports {
            // The same file given twice is one report.
            if !report.digest.is_empty() && !digests.insert(&report.digest) {
                continue;
            }
            results.add_cases(report, &index, &around);
            results.add_coverage(report, &index, &around, &ends);
            if results.incomplete.is_none() {
                results.incomplete.clone_from(&report.incomplete);
            }
        }
        for ((result, said), place) in results.tests.iter_mut().zip(&results.said).zip(places) {
            result.outcome = match *said {
                (Outcome::NotRun, other) => other,
                // jest-junit writes todo tests as passed, which its JSON does not. A failure counts.
                (known, other) if other > Outcome::Passed => known.max(other),
                (known, _) => known,
            };
            if place.symbol.expects_failure && result.outcome == Outcome::Passed {
                result.outcome = Outcome::Skipped;
            }
        }
        let has_failed =
            reports.iter().flat_map(|report| &report.cases).any(|case| case.outcome == Outcome::Failed);
        match exit_status {
            Some(status) if status != 0 && !has_failed && results.incomplete.is_none() => {
                results.incomplete = Some(format!("it ended with {status}, though no test failed"));
            }
            _ => {}
        }
        results
    }

    /// Returns how it is known that a test executed a place, if it is.
    pub fn executes(&self, test: usize, place: &CodePlace) -> Option<How> {
        let hits = |files: &HashMap<String, BTreeSet<u32>>| {
            files.get(&place.file).is_some_and(|lines| place.body.iter().any(|line| lines.contains(line)))
        };
        if self.executed_by.get(&test).is_some_and(hits) {
            return Some(How::ThisTest);
        }
        hits(&self.executed).then_some(How::SameRun)
    }

    /// The verdict of a unit: `tests` cite it, and so do `places`.
    pub fn verdict(&self, tests: &[usize], places: &[CodePlace]) -> Verdict {
        let cited = || tests.iter().filter_map(|test| Some((*test, self.tests.get(*test)?)));
        let outcome = outcome::of_tests(cited().map(|(_, result)| result.outcome));
        if outcome != Outcome::Passed {
            return outcome.into();
        }
        let passing = || cited().filter(|(_, result)| result.outcome == Outcome::Passed);
        // If retries leave no trace, any pass may be a second attempt.
        if passing().any(|(_, result)| !result.shows_retries) {
            return Verdict::Passed;
        }
        let pairs = passing().flat_map(|(test, _)| places.iter().map(move |place| (test, place)));
        match pairs.filter_map(|(test, place)| self.executes(test, place)).max() {
            Some(How::ThisTest) => Verdict::Proven,
            Some(How::SameRun) => Verdict::Witnessed,
            None => Verdict::Passed,
        }
    }

    fn add_cases(&mut self, report: &Report, index: &Index<'_>, around: &[Vec<usize>]) {
        let mut parts: BTreeMap<usize, Vec<Outcome>> = BTreeMap::new();
        for case in &report.cases {
            let (matched, scope) = match index.matched(&case.name, case.scope) {
                Ok(matched) => (matched, case.scope),
                Err(reason) => {
                    // A failed hook is written like a test with the name of its suite.
                    let suite = match (&reason, case.outcome) {
                        (Unmatched::NoMatch(_), Outcome::Failed) => {
                            index.matched(&case.name, Scope::Group).ok()
                        }
                        _ => None,
                    };
                    match suite {
                        Some(tests) => (tests, Scope::Group),
                        None => {
                            // One of several tests has failed; none may stay closed, because it is unknown which one.
                            if case.outcome >= Outcome::Flaky && !matches!(reason, Unmatched::NoMatch(_)) {
                                let (name, outcome) = (&case.name, case.outcome.as_str());
                                self.incomplete.get_or_insert_with(|| {
                                    format!("{name} is {outcome}, and which test it is is not known")
                                });
                            }
                            self.problem(case.name.to_string(), reason);
                            continue;
                        }
                    }
                }
            };
            for test in matched {
                // A subtest is part of its enclosing tests.
                let affected = around[test].iter().filter(|_| scope == Scope::Test);
                for test in affected.copied().chain([test]) {
                    parts.entry(test).or_default().push(case.outcome);
                    let result = &mut self.tests[test];
                    if case.outcome > Outcome::Skipped {
                        result.shows_retries |= report.tool.shows_retries();
                        result.n_attempts = result.n_attempts.max(case.attempts.len().max(1) as u32);
                    }
                    if let Some(duration) = case.duration_ms {
                        let so_far = result.duration_ms.unwrap_or_default();
                        result.duration_ms = Some(so_far.saturating_add(duration));
                    }
                    result.verifies.extend(case.verifies.iter().cloned());
                }
            }
        }
        for (test, parts) in parts {
            let said = match report.tool.shows_retries() {
                true => &mut self.said[test].0,
                false => &mut self.said[test].1,
            };
            *said = outcome::of_tests([*said, outcome::of_parts(parts)]);
        }
    }

    fn add_coverage(&mut self, report: &Report, index: &Index<'_>, around: &[Vec<usize>], ends: &Ends<'_>) {
        let contexts: Vec<Option<usize>> = report
            .contexts
            .iter()
            .map(|name| match index.matched(name, Scope::Test) {
                Ok(matched) => matched.first().copied(),
                Err(reason) => {
                    self.problem(name.to_string(), reason);
                    None
                }
            })
            .collect();
        for covered in &report.coverage {
            let file = match covered.is_suffix {
                false => covered.file.clone(),
                true => match ends.only(&covered.file) {
                    Ok(file) => file.to_owned(),
                    Err(reason) => {
                        self.problem(covered.file.clone(), reason);
                        continue;
                    }
                },
            };
            let hit = covered.lines.iter().filter(|(_, was_hit)| *was_hit).map(|(line, _)| *line);
            self.executed.entry(file.clone()).or_default().extend(hit);
            for (line, context) in &covered.by_context {
                let Some(test) = contexts.get(*context as usize).copied().flatten() else { continue };
                for test in around[test].iter().copied().chain([test]) {
                    let files = self.executed_by.entry(test).or_default();
                    // A file has many lines for one name.
                    match files.get_mut(&file) {
                        Some(lines) => lines.insert(*line),
                        None => files.entry(file.clone()).or_default().insert(*line),
                    };
                }
            }
        }
    }

    fn problem(&mut self, name: String, reason: Unmatched) {
        if self.problems.len() < PROBLEMS_MAX {
            self.problems.push(Problem { name, reason });
        }
    }
}

/// For each test, the tests that it is a part of.
fn enclosing_tests(places: &[TestPlace]) -> Vec<Vec<usize>> {
    let mut by_file: HashMap<&str, Vec<usize>> = HashMap::new();
    for (at, place) in places.iter().enumerate() {
        by_file.entry(&place.file).or_default().push(at);
    }
    let mut around = vec![Vec::new(); places.len()];
    for mut tests in by_file.into_values() {
        // Outer tests first; those that have ended are popped.
        let lines = |at: usize| &places[at].symbol.lines;
        tests.sort_by_key(|at| (*lines(*at).start(), std::cmp::Reverse(*lines(*at).end())));
        let mut open: Vec<usize> = Vec::new();
        for at in tests {
            while open.last().is_some_and(|outer| lines(*outer).end() < lines(at).end()) {
                open.pop();
            }
            around[at].clone_from(&open);
            open.push(at);
        }
    }
    around
}

/// Files by their names, to find the one whose path ends in a given way.
struct Ends<'a> {
    by_name: HashMap<&'a str, Vec<&'a str>>,
}

impl<'a> Ends<'a> {
    fn new(files: &[&'a str]) -> Ends<'a> {
        let mut by_name: HashMap<&str, Vec<&str>> = HashMap::new();
        for file in files {
            by_name.entry(file.rsplit('/').next().unwrap_or(file)).or_default().push(file);
        }
        Ends { by_name }
    }

    fn only(&self, end: &str) -> Result<&'a str, Unmatched> {
        let name = end.rsplit('/').next().unwrap_or(end);
        let same_name = self.by_name.get(name).map(Vec::as_slice).unwrap_or_default();
        let ending =
            |file: &&&str| file.strip_suffix(end).is_some_and(|rest| rest.is_empty() || rest.ends_with('/'));
        let found: Vec<&str> = same_name.iter().filter(ending).copied().collect();
        match found[..] {
            [only] => Ok(only),
            [] => Err(Unmatched::NoMatch(None)),
            _ => Err(Unmatched::Ambiguous(found.into_iter().map(str::to_owned).collect())),
        }
    }
}
