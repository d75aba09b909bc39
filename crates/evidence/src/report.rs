//! The contents of a report, independent of the tool.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::outcome::Outcome;

/// The contents of a report of a test or coverage tool.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// The tool that wrote it.
    pub tool: Tool,
    /// Test cases, each once, with all attempts at it.
    pub cases: Vec<Case>,
    /// Which lines were executed.
    pub coverage: Vec<FileLines>,
    /// The tests that lines in `coverage` refer to by index, if the format has coverage for each test.
    pub contexts: Vec<TestName>,
    /// Why the run is incomplete, if it is. Such a run closes nothing.
    pub incomplete: Option<String>,
    /// The BLAKE3 digest of its bytes, in hexadecimal.
    pub digest: String,
}

/// The tool that wrote a report.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[allow(missing_docs)]
pub enum Tool {
    Pytest,
    Nextest,
    VitestJunit,
    VitestJson,
    JestJunit,
    JestJson,
    NodeTest,
    Mocha,
    Behave,
    Surefire,
    GoJunit,
    GoTest,
    Libtest,
    Lcov,
    LlvmCov,
    Cobertura,
    Jacoco,
    CoveragePy,
    /// JUnit of a tool that was not recognised.
    #[default]
    Junit,
}

impl Tool {
    /// Returns whether the report shows retries. If not, a pass may be flaky, so such a
    /// report proves no more than `passed`.
    pub fn shows_retries(self) -> bool {
        !matches!(self, Tool::VitestJunit | Tool::JestJunit | Tool::Mocha | Tool::Behave | Tool::Junit)
    }

    /// The name for messages.
    pub fn as_str(self) -> &'static str {
        match self {
            Tool::Pytest => "pytest",
            Tool::Nextest => "cargo nextest",
            Tool::VitestJunit => "vitest (JUnit)",
            Tool::VitestJson => "vitest (JSON)",
            Tool::JestJunit => "jest (JUnit)",
            Tool::JestJson => "jest (JSON)",
            Tool::NodeTest => "node:test",
            Tool::Mocha => "mocha",
            Tool::Behave => "behave",
            Tool::Surefire => "Surefire",
            Tool::GoJunit => "go test (JUnit)",
            Tool::GoTest => "go test",
            Tool::Libtest => "cargo test",
            Tool::Lcov => "LCOV",
            Tool::LlvmCov => "llvm-cov",
            Tool::Cobertura => "Cobertura",
            Tool::Jacoco => "JaCoCo",
            Tool::CoveragePy => "coverage.py",
            Tool::Junit => "JUnit",
        }
    }
}

/// One test case. Each set of parameters is a case; they are combined when they are matched with a test.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Case {
    /// Its name in the report.
    pub name: TestName,
    /// Whether it is a test, or a failure that concerns several.
    pub scope: Scope,
    /// The result of each attempt, in order.
    pub attempts: Vec<Outcome>,
    /// The result, with attempts and subtests combined.
    pub outcome: Outcome,
    /// The duration of all attempts, if reported.
    pub duration_ms: Option<u64>,
    /// Why it failed or was skipped, cut to `MESSAGE_CHARS_MAX`.
    pub message: Option<String>,
    /// The values of properties `verifies`, such as `REQ-027`.
    pub verifies: Vec<String>,
}

/// What a case represents.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Scope {
    /// One test.
    #[default]
    Test,
    /// All tests of a file, class, package or suite: a failed hook, set-up, import or build.
    Group,
}

/// The name of a test in a report.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct TestName {
    /// The file, relative to the repository.
    pub file: Option<String>,
    /// The line, from 1.
    pub line: Option<u32>,
    /// The package or binary within which names are unique.
    pub package: Option<String>,
    /// Suites or modules and the name, without parameters. One part if the tool joins titles.
    pub path: Vec<String>,
    /// How the path is compared with the symbols of a source file.
    pub form: Form,
    /// The parameters or the subtest, as the report writes them.
    pub parameters: Option<String>,
}

/// How a tool names tests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Form {
    /// Modules and classes with dots: Python and Java.
    Dotted,
    /// Modules of Rust.
    Rust,
    /// A function of a Go package.
    Go,
    /// Titles, each a part of the path.
    Titles,
    /// Titles joined by a text that may occur in titles, too.
    Joined(&'static str),
    /// The tool was not recognised: any of the above.
    #[default]
    Unknown,
}

/// The executable lines of a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FileLines {
    /// The path, relative to the repository; the end of one if `is_suffix`.
    pub file: String,
    /// Whether the format knows only the end of the path, as JaCoCo does. `Results` looks for the one file that has it.
    pub is_suffix: bool,
    /// Each executable line, in order, and whether it was executed.
    pub lines: Vec<(u32, bool)>,
    /// Each line and the index of a context that executed it, in order.
    pub by_context: Vec<(u32, u32)>,
}

impl fmt::Display for TestName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let separator = match self.form {
            Form::Dotted | Form::Unknown => ".",
            Form::Rust => "::",
            Form::Go => "/",
            Form::Titles | Form::Joined(_) => " > ",
        };
        match (&self.package, &self.file) {
            (Some(package), _) => write!(f, "{package} ")?,
            (None, Some(file)) => write!(f, "{file} ")?,
            (None, None) => {}
        }
        f.write_str(&self.path.join(separator))?;
        match &self.parameters {
            Some(parameters) => write!(f, " [{parameters}]"),
            None => Ok(()),
        }
    }
}
