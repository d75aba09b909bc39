//! JUnit XML, which differs between tools.

use super::xml::{self, Element, Part};
use super::{Cases, links, message, seconds};
use crate::outcome::{self, Outcome};
use crate::path::Source;
use crate::refusal::{Read, Wrong};
use crate::report::{Case, Form, Report, Scope, TestName, Tool};

/// Words in the reason of a skip that mean that the test was not selected.
const FILTERS: [&str; 6] = [
    "does not match pattern",
    "does not match the provided",
    "default filter",
    "different partition",
    "filtered out",
    "deselected",
];

pub fn read(source: &Source<'_>, text: &str) -> Read<Report> {
    let mut reader = Junit::new(source);
    xml::each(text, |part| reader.take(part))?;
    reader.done()
}

struct Junit<'s> {
    source: &'s Source<'s>,
    tool: Tool,
    /// Whether the root is `<testsuites>`.
    has_suites: bool,
    suites: Vec<Suite>,
    case: Option<Open>,
    cases: Cases,
    incomplete: Option<String>,
    counts: Counts,
}

#[derive(Default)]
struct Suite {
    name: String,
    file: Option<String>,
    has_failed: bool,
}

/// The counts in comments of node:test, and the found numbers. A test with subtests is written like a suite, without its own
/// failure, which only the counts show.
#[derive(Default)]
struct Counts {
    /// Tests that failed or were cancelled, and suites that are not tests.
    said_failed: u64,
    said_suites: u64,
    failed_cases: u64,
    failed_suites: u64,
}

/// A test case whose element has not ended.
struct Open {
    element: Attributes,
    attempts: Vec<Outcome>,
    message: Option<String>,
    verifies: Vec<String>,
    is_empty: bool,
    has_failure: bool,
    /// A failure that the skip declares as expected.
    is_expected: bool,
}

#[derive(Default)]
struct Attributes {
    name: String,
    classname: String,
    file: Option<String>,
    line: Option<u32>,
    time: Option<String>,
    status: Option<String>,
}

impl<'s> Junit<'s> {
    fn new(source: &'s Source<'s>) -> Self {
        Junit {
            source,
            tool: Tool::Junit,
            has_suites: false,
            suites: Vec::new(),
            case: None,
            cases: Cases::default(),
            incomplete: None,
            counts: Counts::default(),
        }
    }

    fn take(&mut self, part: Part<'_>) -> Result<(), String> {
        match part {
            Part::Start(element) => self.start(&element),
            Part::End(name, text) => self.end(name, &text),
            Part::Comment(comment) => {
                self.comment(comment);
                Ok(())
            }
        }
    }

    fn start(&mut self, element: &Element<'_>) -> Result<(), String> {
        if element.name == "testsuites" || element.name == "testsuite" {
            self.recognise(element);
        }
        match (element.name, &mut self.case) {
            ("testsuite", None) => {
                let name = element.get("name").unwrap_or_default().to_owned();
                let file = element.get("file").map(str::to_owned);
                let file = file.or_else(|| self.suites.last().and_then(|suite| suite.file.clone()));
                self.suites.push(Suite { name, file, has_failed: false });
            }
            ("testcase", None) => {
                let line = match element.get("line") {
                    Some(_) => Some(element.number("line")?),
                    None => None,
                };
                let text = |name| element.get(name).map(str::to_owned);
                self.case = Some(Open {
                    element: Attributes {
                        name: element.required("name")?.to_owned(),
                        classname: text("classname").unwrap_or_default(),
                        file: text("file"),
                        line,
                        time: text("time"),
                        status: text("status"),
                    },
                    attempts: Vec::new(),
                    message: None,
                    verifies: Vec::new(),
                    is_empty: true,
                    has_failure: false,
                    is_expected: false,
                });
            }
            ("testcase" | "testsuite", Some(_)) => {
                return Err(format!("<{}> inside of <testcase>", element.name));
            }
            ("property", Some(open)) if element.get("name") == Some("verifies") => {
                open.verifies.extend(links(element.get("value").unwrap_or_default()));
            }
            ("property", None) if matches!(element.get("name"), Some("go.version")) => {
                self.tool = Tool::GoJunit
            }
            // A test with several failed subtests has several failures, and is one attempt.
            ("failure" | "error", Some(open)) if open.has_failure => {}
            ("failure" | "error", Some(open)) => {
                open.has_failure = true;
                open.failed(element);
            }
            ("rerunFailure" | "rerunError", Some(open)) => open.failed(element),
            ("flakyFailure" | "flakyError", Some(open)) => {
                open.failed(element);
                // There is no element for the attempt that passed.
                open.attempts.retain(|attempt| *attempt != Outcome::Passed);
                open.attempts.push(Outcome::Passed);
            }
            ("skipped", Some(open)) => open.skipped(element),
            _ => {}
        }
        Ok(())
    }

    fn end(&mut self, name: &str, text: &str) -> Result<(), String> {
        match (name, &mut self.case) {
            ("testsuite", None) => {
                let has_failed = self.suites.pop().is_some_and(|suite| suite.has_failed);
                self.counts.failed_suites += u64::from(has_failed);
            }
            ("testcase", Some(_)) => {
                if let Some(open) = self.case.take() {
                    self.add(open)?;
                }
            }
            ("failure" | "error" | "skipped", Some(open)) if open.message.is_none() => {
                open.message = message(text);
            }
            _ => {}
        }
        Ok(())
    }

    fn comment(&mut self, comment: &str) {
        let mut words = comment.split_whitespace();
        let (Some(word), Some(count), None) = (words.next(), words.next(), words.next()) else { return };
        let Ok(count) = count.parse::<u64>() else { return };
        match word {
            "fail" | "cancelled" => self.counts.said_failed = self.counts.said_failed.saturating_add(count),
            "suites" => self.counts.said_suites = count,
            _ => {}
        }
    }

    fn recognise(&mut self, element: &Element<'_>) {
        let name = element.get("name").unwrap_or_default();
        let is_root = element.name == "testsuites";
        self.has_suites |= is_root;
        let found = match name {
            "pytest tests" | "pytest" => Tool::Pytest,
            "nextest-run" if is_root => Tool::Nextest,
            "vitest tests" if is_root => Tool::VitestJunit,
            "jest tests" if is_root => Tool::JestJunit,
            "Mocha Tests" => Tool::Mocha,
            _ if element.get("noNamespaceSchemaLocation").is_some_and(|at| at.contains("surefire")) => {
                Tool::Surefire
            }
            _ => return,
        };
        if self.tool == Tool::Junit {
            self.tool = found;
        }
    }

    fn add(&mut self, mut open: Open) -> Result<(), String> {
        // Tools without a name in the report are recognised by the form of a case.
        if self.tool == Tool::Junit {
            let is_begun = self.cases.cases.is_empty();
            if open.element.classname == "test" && open.element.status.is_none() && is_begun {
                self.tool = Tool::NodeTest;
            } else if open.element.status.as_deref().is_some_and(is_behave_status) && is_begun {
                self.tool = Tool::Behave;
            }
        }
        let time = open.element.time.as_deref().and_then(seconds);
        let is_not_run = match self.tool {
            // Tests left out by `--bail` or a killed worker are empty and have no duration.
            Tool::VitestJunit => open.is_empty && open.element.time.as_deref() == Some("0"),
            _ => matches!(open.element.status.as_deref(), Some("notrun" | "untested")),
        };
        if self.tool == Tool::VitestJunit && is_not_run {
            self.incomplete.get_or_insert_with(|| "vitest stopped before all tests had run".to_owned());
        }
        if self.tool == Tool::VitestJunit && open.element.classname == "vitest unhandled errors" {
            self.incomplete = Some("vitest had an error outside of tests".to_owned());
            return Ok(());
        }
        if open.is_expected {
            open.attempts = vec![Outcome::Skipped];
        }
        if open.attempts.is_empty() {
            open.attempts.push(if is_not_run { Outcome::NotRun } else { Outcome::Passed });
        }
        let (name, scope) = self.named(&open.element)?;
        let outcome = match open.attempts.contains(&Outcome::Skipped) {
            // One element has several only for subtests.
            true => outcome::of_parts(open.attempts.iter().copied()),
            false => outcome::of_attempts(&open.attempts),
        };
        let attempts = if open.attempts.contains(&Outcome::Skipped) { vec![outcome] } else { open.attempts };
        let case = Case {
            name,
            scope,
            attempts,
            outcome,
            duration_ms: time,
            message: open.message,
            verifies: open.verifies,
        };
        if outcome == Outcome::Failed {
            self.counts.failed_cases += 1;
            self.suites.iter_mut().for_each(|suite| suite.has_failed = true);
        }
        if self.tool == Tool::Pytest
            && let Some(known) = self.cases.known(0, &case.name)
        {
            // pytest-rerunfailures writes a failed attempt as an empty case, which looks like a pass.
            if let Some(last) = known.attempts.last_mut().filter(|last| **last == Outcome::Passed) {
                *last = Outcome::Failed;
            }
            if known.outcome > Outcome::Skipped {
                known.outcome = Outcome::Failed;
            }
        }
        self.cases.add(0, case)?;
        Ok(())
    }

    fn named(&self, element: &Attributes) -> Result<(TestName, Scope), String> {
        let (class, name) = (element.classname.trim(), element.name.as_str());
        let suite_file = self.suites.last().and_then(|suite| suite.file.as_deref());
        let file =
            element.file.as_deref().or(suite_file).map(|file| self.source.test_file(file)).transpose()?;
        let mut named = TestName { file, line: element.line, ..TestName::default() };
        let mut scope = Scope::Test;
        match self.tool {
            Tool::Pytest => {
                named.form = Form::Dotted;
                // xunit1 counts lines from 0.
                named.line = named.line.map(|line| line.saturating_add(1));
                let (plain, parameters) = match name.find('[') {
                    Some(at) if name.ends_with(']') => (&name[..at], Some(&name[at + 1..name.len() - 1])),
                    _ => (name, None),
                };
                named.parameters = parameters.map(str::to_owned);
                named.path = dotted(class);
                if class.is_empty() {
                    // A module that failed to import.
                    scope = Scope::Group;
                    named.path = dotted(plain);
                } else {
                    named.path.push(plain.to_owned());
                }
            }
            Tool::Nextest => {
                named.form = Form::Rust;
                named.package = Some(class.to_owned());
                named.path = name.split("::").map(str::to_owned).collect();
            }
            Tool::Surefire => {
                named.form = Form::Dotted;
                named.path = class.split(['.', '$']).map(str::to_owned).collect();
                let end = name.find(['(', '{', '[']).unwrap_or(name.len());
                let (plain, parameters) = name.split_at(end);
                if !parameters.is_empty() {
                    named.parameters = Some(parameters.to_owned());
                }
                if plain.trim().is_empty() || class.rsplit(['.', '$']).next() == Some(plain) || class == name
                {
                    scope = Scope::Group;
                } else {
                    named.path.push(plain.trim().to_owned());
                }
            }
            Tool::GoJunit => {
                named.form = Form::Go;
                named.package = Some(self.suites.last().map_or(class, |suite| &suite.name).to_owned());
                let (function, subtest) = name.split_once('/').unwrap_or((name, ""));
                named.path = vec![function.to_owned()];
                named.parameters = (!subtest.is_empty()).then(|| subtest.to_owned());
            }
            Tool::VitestJunit => {
                named.form = Form::Joined(" > ");
                let file =
                    if class.is_empty() { self.suites.last().map_or("", |suite| &suite.name) } else { class };
                if !file.is_empty() {
                    named.file = Some(self.source.test_file(file)?);
                }
                if name == class {
                    scope = Scope::Group;
                } else {
                    named.path = vec![name.to_owned()];
                }
            }
            Tool::JestJunit if class == "Test suite failed to run" => {
                named.file = Some(self.source.test_file(name)?);
                scope = Scope::Group;
            }
            Tool::JestJunit => {
                named.form = Form::Joined(" ");
                named.path = vec![name.trim().to_owned()];
            }
            Tool::Mocha => {
                named.form = Form::Joined(" ");
                // mocha-junit-reporter has all titles in the name, the reporter `xunit` some in the class.
                let full = if self.has_suites { name.to_owned() } else { format!("{class} {name}") };
                named.path = vec![full.trim().to_owned()];
                if let Some((before, _)) =
                    full.split_once(" \"before ").or_else(|| full.split_once(" \"after "))
                {
                    scope = Scope::Group;
                    named.path = vec![before.trim().to_owned()];
                }
            }
            Tool::NodeTest => {
                named.form = Form::Titles;
                named.path =
                    self.suites.iter().map(|suite| suite.name.clone()).chain([name.to_owned()]).collect();
                let is_file =
                    [".js", ".mjs", ".cjs", ".ts", ".mts", ".cts"].iter().any(|end| name.ends_with(end));
                if self.suites.is_empty() && is_file {
                    // A file that ended before it reported its tests.
                    scope = Scope::Group;
                    named.path.clear();
                    named.file = Some(self.source.test_file(name)?);
                }
            }
            Tool::Behave => {
                let (plain, parameters) = name.split_once(" -- @").unwrap_or((name, ""));
                named.path = dotted(class).into_iter().chain([plain.to_owned()]).collect();
                named.parameters = (!parameters.is_empty()).then(|| parameters.trim().to_owned());
            }
            _ => {
                named.path = if class.is_empty() { Vec::new() } else { vec![class.to_owned()] };
                named.path.push(name.to_owned());
            }
        }
        Ok((named, scope))
    }

    fn done(mut self) -> Read<Report> {
        if self.tool == Tool::NodeTest && self.counts.has_unnamed_failure() {
            self.incomplete = Some("a test with subtests failed that the report does not name".to_owned());
        }
        if self.cases.cases.is_empty() && self.incomplete.is_none() {
            return Err(Wrong::whole("the report has no test case"));
        }
        Ok(Report {
            tool: self.tool,
            cases: self.cases.cases,
            incomplete: self.incomplete,
            ..Report::default()
        })
    }
}

impl Counts {
    /// Suites with a failure that are tests count as failed, too. The report does not say which ones.
    fn has_unnamed_failure(&self) -> bool {
        let failed_parents = self.failed_suites.saturating_sub(self.said_suites);
        self.said_failed > self.failed_cases + failed_parents
    }
}

impl Open {
    fn failed(&mut self, element: &Element<'_>) {
        self.is_empty = false;
        // Only a skip says so, and it comes first.
        if self.is_expected {
            return;
        }
        self.attempts.push(Outcome::Failed);
        if self.message.is_none() {
            self.message = element.get("message").and_then(message);
        }
    }

    fn skipped(&mut self, element: &Element<'_>) {
        self.is_empty = false;
        let reason = element.get("message").unwrap_or_default();
        self.is_expected |= matches!(element.get("type"), Some("todo" | "pytest.xfail"));
        let is_filtered = FILTERS.iter().any(|filter| reason.contains(filter));
        self.attempts.push(if is_filtered { Outcome::NotRun } else { Outcome::Skipped });
        if self.message.is_none() {
            self.message = message(reason);
        }
    }
}

fn dotted(path: &str) -> Vec<String> {
    path.split('.').filter(|part| !part.is_empty()).map(str::to_owned).collect()
}

fn is_behave_status(status: &str) -> bool {
    matches!(status, "passed" | "failed" | "skipped" | "untested" | "undefined" | "error" | "hook_error")
}
