//! The same fate has the same verdict, whatever tool reports it.

use evidence::{ClosesAt, Outcome, Policy, Provenance, Trust};

use crate::kettle::{self, Kettle};

/// What the kettles do, and what must be found: pass, fail, skip, retry, parametrised, subtest, filtered out and timeout.
/// A crash is in reports of its own.
const FATES: [(&str, Outcome); 11] = [
    ("boils", Outcome::Passed),
    ("overflows", Outcome::Failed),
    ("descales", Outcome::Skipped),
    ("whistles", Outcome::Flaky),
    ("heats", Outcome::Passed),
    ("leaks", Outcome::Failed),
    ("pours", Outcome::Passed),
    ("drips", Outcome::Failed),
    ("idles", Outcome::Skipped),
    ("cools", Outcome::NotRun),
    ("hangs", Outcome::Failed),
];

/// The reports of each tool, the fates that its kettle does not have, and what its reports say otherwise.
pub struct Told {
    pub kettle: &'static str,
    pub reports: &'static [&'static str],
    /// Tools without retries or subtests cannot have them.
    pub without: &'static [&'static str],
    pub otherwise: &'static [(&'static str, Outcome)],
}

pub const PYTEST: Told =
    Told { kettle: "pytest", reports: &["pytest-xunit1.xml"], without: &[], otherwise: &[] };
/// `-t` makes a skip of what it leaves out, and nothing tells the two apart.
pub const VITEST: Told = Told {
    kettle: "vitest",
    reports: &["vitest.json"],
    without: &["drips", "idles"],
    otherwise: &[("cools", Outcome::Skipped)],
};
/// A retry leaves no trace here, so that such a pass closes no higher than `passed`.
pub const VITEST_JUNIT: Told = Told {
    reports: &["vitest.xml"],
    otherwise: &[("cools", Outcome::Skipped), ("whistles", Outcome::Passed)],
    ..VITEST
};
pub const NODE: Told =
    Told { kettle: "node", reports: &["node.xml"], without: &["whistles"], otherwise: &[] };
pub const CARGO: Told = Told {
    kettle: "cargo",
    reports: &["libtest.json"],
    without: &["whistles", "pours", "drips", "idles", "hangs"],
    otherwise: &[],
};

const TOLD: [Told; 13] = [
    PYTEST,
    Told { reports: &["pytest-xunit2.xml"], ..PYTEST },
    VITEST,
    VITEST_JUNIT,
    Told { reports: &["vitest.xml", "vitest.json"], ..VITEST },
    Told { kettle: "jest", reports: &["jest.json"], ..VITEST },
    Told { kettle: "jest", reports: &["jest.xml"], ..VITEST_JUNIT },
    Told {
        kettle: "mocha",
        reports: &["mocha.xml"],
        without: &["drips", "idles"],
        // The reporter leaves out what is skipped; the other one leaves out nothing but what was filtered out.
        otherwise: &[("whistles", Outcome::Passed), ("descales", Outcome::NotRun)],
    },
    Told {
        kettle: "mocha",
        reports: &["mocha-xunit.xml"],
        without: &["drips", "idles"],
        otherwise: &[("whistles", Outcome::Passed)],
    },
    NODE,
    CARGO,
    Told {
        kettle: "cargo",
        reports: &["nextest.xml"],
        without: &["pours", "drips", "idles"],
        otherwise: &[],
    },
    Told {
        kettle: "maven",
        reports: &["surefire-kettle.xml", "surefire-socket.xml"],
        // The recorded version tries again only with JUnit 4, whose kettle is a test of its own.
        without: &["whistles", "drips", "idles"],
        otherwise: &[],
    },
];

#[test]
fn the_same_fate_has_the_same_outcome_in_all_tools() {
    for told in TOLD {
        let kettle = Kettle::new(told.kettle, &kettle::read(told.reports), Some(1));
        told.check(&kettle);
    }
    let go = Told {
        kettle: "go",
        reports: &["go.json"],
        without: &["whistles", "drips", "hangs"],
        otherwise: &[],
    };
    go.check(&Kettle::new("go", &kettle::read(go.reports), Some(1)));
    let timeout = Kettle::new("go", &kettle::read(&["go-timeout.json"]), Some(1));
    assert_eq!(timeout.outcome("hangs"), Outcome::Failed);
    let rerun = Kettle::new("junit4", &kettle::read(&["surefire-rerun.xml"]), Some(1));
    assert_eq!(rerun.outcome("whistles"), Outcome::Flaky);
}

#[test]
fn a_crash_closes_nothing_in_any_tool() {
    let crashes = [
        ("vitest", "vitest-crash.json", Outcome::NotRun),
        ("vitest", "vitest-crash.xml", Outcome::NotRun),
        ("node", "node-crash.xml", Outcome::Failed),
        ("cargo", "libtest-crash.json", Outcome::Failed),
        ("cargo", "nextest.xml", Outcome::Failed),
        ("go", "go-crash.json", Outcome::Failed),
    ];
    for (name, report, expected) in crashes {
        let kettle = Kettle::new(name, &kettle::read(&[report]), None);
        assert_eq!(kettle.outcome("explodes"), expected, "{report}");
        assert!(!closes(&kettle, "explodes"), "{report}");
    }
    // pytest, jest, mocha and Surefire write no report: nothing is known, and nothing can be green by accident.
    let nothing = evidence::read(&evidence::Source { name: "report.xml", root: "", folder: "" }, b"");
    assert_eq!(nothing.expect_err("nothing to read").to_string(), "report.xml: the report is empty");
}

#[test]
fn a_run_that_ended_badly_without_a_failed_test_is_incomplete() {
    let kettle = Kettle::new("go", &kettle::read(&["go-twice.json"]), Some(0));
    assert!(closes(&kettle, "boils"));
    let kettle = Kettle::new("go", &kettle::read(&["go-twice.json"]), Some(2));
    let reason = kettle.results.incomplete.as_deref();
    assert_eq!(reason, Some("it ended with 2, though no test failed"));
    assert!(!closes(&kettle, "boils"));
}

impl Told {
    /// Looks at each fate: what came of it, and that nothing closes but a pass.
    pub fn check(&self, kettle: &Kettle) {
        for (fate, usual) in FATES.into_iter().filter(|(fate, _)| !self.without.contains(fate)) {
            let other = self.otherwise.iter().find(|(other, _)| *other == fate);
            let expected = other.map_or(usual, |(_, expected)| *expected);
            assert_eq!(kettle.outcome(fate), expected, "{fate} in {:?}\n{}", self.reports, kettle.shown());
            assert_eq!(closes(kettle, fate), expected == Outcome::Passed, "{fate} in {:?}", self.reports);
        }
        assert_eq!(kettle.results.incomplete, None, "{:?}", self.reports);
        assert_eq!(kettle.results.problems, [], "{:?}", self.reports);
    }
}

fn closes(kettle: &Kettle, fate: &str) -> bool {
    let policy = Policy { closes_at: ClosesAt::Passed, ..Policy::default() };
    let run =
        Provenance { trust: Trust::Local, reference: None, incomplete: kettle.results.incomplete.as_deref() };
    let verdicts = kettle.tests(fate).into_iter().map(|test| kettle.results.verdict(&[test], &[]));
    verdicts.into_iter().all(|verdict| policy.closes(verdict, &run).is_ok())
}
