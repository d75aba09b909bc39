//! The rules of the gate, and what a change made worse. Nothing here reads anything: two sides go in, findings come out.

use std::collections::HashMap;

/// What the gate looks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Rule {
    /// A citation quotes or pins an earlier text.
    StaleCitation,
    /// A citation names or quotes what there is not.
    BrokenCitation,
    /// The last citation of an active requirement is gone.
    RemovedCitation,
    /// Changed lines of cited code were not executed.
    UntestedChange,
    /// No passing test shows that a cited requirement holds, or not as well as the policy asks for.
    MissingEvidence,
    /// What tests showed was of another content.
    OldEvidence,
    /// A test passed only when it was tried again.
    FlakyEvidence,
    /// A test failed.
    FailedEvidence,
    /// A threat that somebody has decided about is open.
    OpenThreat,
    /// The change weakens what it is checked by.
    WeakenedPolicy,
    /// Changed code cites a requirement: for information.
    Touched,
    /// Nobody has decided about a threat to what the change touches: for information.
    NewThreat,
}

impl Rule {
    /// All of them, in the order in which they are reported.
    pub const ALL: [Rule; 12] = [
        Rule::WeakenedPolicy,
        Rule::BrokenCitation,
        Rule::StaleCitation,
        Rule::RemovedCitation,
        Rule::FailedEvidence,
        Rule::FlakyEvidence,
        Rule::MissingEvidence,
        Rule::OldEvidence,
        Rule::UntestedChange,
        Rule::OpenThreat,
        Rule::NewThreat,
        Rule::Touched,
    ];

    /// The name by which people and tools know it.
    pub const fn name(self) -> &'static str {
        match self {
            Rule::StaleCitation => "stale-citation",
            Rule::BrokenCitation => "broken-citation",
            Rule::RemovedCitation => "removed-citation",
            Rule::UntestedChange => "untested-change",
            Rule::MissingEvidence => "missing-evidence",
            Rule::OldEvidence => "old-evidence",
            Rule::FlakyEvidence => "flaky-evidence",
            Rule::FailedEvidence => "failed-evidence",
            Rule::OpenThreat => "open-threat",
            Rule::WeakenedPolicy => "weakened-policy",
            Rule::NewThreat => "new-threat",
            Rule::Touched => "touched",
        }
    }

    /// What it is about, in a sentence.
    pub const fn about(self) -> &'static str {
        match self {
            Rule::StaleCitation => "A citation quotes or pins a text that the requirement had before",
            Rule::BrokenCitation => "A citation names or quotes what there is not",
            Rule::RemovedCitation => "The change removes the last citation of a requirement that still holds",
            Rule::UntestedChange => {
                "The change adds lines to cited code that the reported test run did not execute"
            }
            Rule::MissingEvidence => {
                "Nothing that ran shows that the cited requirement holds, or less than the policy asks for"
            }
            Rule::OldEvidence => "The tests ran on another content of these files or of the requirement",
            Rule::FlakyEvidence => "A test of the requirement passed only when it was tried again",
            Rule::FailedEvidence => "A test of the requirement failed",
            Rule::OpenThreat => {
                "A threat to the requirement applies and evidence does not close it, or its decision no longer holds"
            }
            Rule::NewThreat => "Nobody has decided about a threat to what the change touches",
            Rule::WeakenedPolicy => "The change weakens the policy or leaves out what it is checked by",
            Rule::Touched => "The change touches code or tests that cite the requirement",
        }
    }

    /// The rule with a name.
    pub fn named(name: &str) -> Option<Rule> {
        Rule::ALL.into_iter().find(|rule| rule.name() == name)
    }

    /// Whether it never fails by itself.
    pub const fn is_information(self) -> bool {
        matches!(self, Rule::Touched | Rule::NewThreat)
    }
}

/// Something that holds on one side of a change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fact {
    /// Which rule it breaks.
    pub rule: Rule,
    /// What it is about, whichever file and line it is in: facts with the same key on both sides are one.
    pub key: String,
    /// The file, relative to the project.
    pub path: String,
    /// The line, from 1 on; 0 if all of the file is meant.
    pub line: u32,
    /// Whether the change has that line.
    pub is_changed: bool,
    /// What it is about: `REQ-027`, or a section of a specification.
    pub subject: String,
    /// What is wrong.
    pub message: String,
    /// What to do about it.
    pub help: Vec<String>,
}

/// What is worse after a change: the facts that were not there before. Of several that are alike, those on changed lines are
/// told first, so that each is about what the change has.
pub fn worse(before: &[Fact], after: Vec<Fact>) -> Vec<Fact> {
    let mut known: HashMap<(Rule, &str), usize> = HashMap::new();
    for fact in before {
        *known.entry((fact.rule, &fact.key)).or_default() += 1;
    }
    // Those that are as they were take what is known first.
    let mut order: Vec<usize> = (0..after.len()).collect();
    order.sort_by_key(|index| after[*index].is_changed);
    let mut is_new = vec![false; after.len()];
    for index in order {
        let fact = &after[index];
        match known.get_mut(&(fact.rule, fact.key.as_str())) {
            Some(count) if *count > 0 => *count -= 1,
            _ => is_new[index] = true,
        }
    }
    let new = after.into_iter().zip(is_new).filter(|(_, is_new)| *is_new);
    let mut new: Vec<Fact> = new.map(|(fact, _)| fact).collect();
    let place = |rule: Rule| Rule::ALL.iter().position(|known| *known == rule);
    new.sort_by(|one, other| {
        (place(one.rule), &one.path, one.line, &one.key).cmp(&(
            place(other.rule),
            &other.path,
            other.line,
            &other.key,
        ))
    });
    new
}

/// How evidence for a unit stands, best first: a change makes it worse if it moves down.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Standing {
    /// Evidence closes it, or nothing cites it.
    Closed,
    /// Tests passed, which is less than the policy asks for.
    Weak,
    /// Tests ran on another content.
    Old,
    /// No test shows anything.
    Missing,
    /// A test passed only when it was tried again.
    Flaky,
    /// A test failed.
    Failed,
}

impl Standing {
    /// How a verdict stands, by its name.
    pub fn of(verdict: &str, closes: bool) -> Standing {
        match verdict {
            // Whatever a policy says, these never close anything.
            "failed" => Standing::Failed,
            "flaky" => Standing::Flaky,
            _ if closes => Standing::Closed,
            "passed" | "witnessed" | "proven" => Standing::Weak,
            "old" => Standing::Old,
            _ => Standing::Missing,
        }
    }

    /// The rule that a change breaks which moves a unit from one standing to another.
    pub fn broken(before: Standing, after: Standing) -> Option<Rule> {
        if after <= before { None } else { after.rule() }
    }

    /// The rule for a unit that has to be closed and stands like this.
    pub fn rule(self) -> Option<Rule> {
        match self {
            Standing::Closed => None,
            Standing::Weak | Standing::Missing => Some(Rule::MissingEvidence),
            Standing::Old => Some(Rule::OldEvidence),
            Standing::Flaky => Some(Rule::FlakyEvidence),
            Standing::Failed => Some(Rule::FailedEvidence),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fact(key: &str, place: &str) -> Fact {
        let (place, is_changed) = match place.strip_suffix('!') {
            Some(place) => (place, true),
            None => (place, false),
        };
        let (path, line) = place.split_once(':').unwrap();
        Fact {
            rule: Rule::StaleCitation,
            key: key.to_owned(),
            path: path.to_owned(),
            line: line.parse().unwrap(),
            is_changed,
            subject: String::new(),
            message: String::new(),
            help: Vec::new(),
        }
    }

    #[track_caller]
    fn check(before: &[(&str, &str)], after: &[(&str, &str)], expected: &[&str]) {
        let facts = |facts: &[(&str, &str)]| -> Vec<Fact> {
            facts.iter().map(|(key, place)| fact(key, place)).collect()
        };
        let found = worse(&facts(before), facts(after));
        let found: Vec<String> =
            found.iter().map(|fact| format!("{} {}:{}", fact.key, fact.path, fact.line)).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn only_what_was_not_there_before_is_worse() {
        check(&[], &[("a", "x.rs:1!")], &["a x.rs:1"]);
        check(&[("a", "x.rs:1")], &[("a", "x.rs:1")], &[]);
        check(&[("a", "x.rs:1")], &[], &[]);
        // It moved, within its file or with it.
        check(&[("a", "x.rs:1")], &[("a", "x.rs:9!")], &[]);
        check(&[("a", "x.rs:1")], &[("a", "y.rs:1!")], &[]);
        // A copied citation: the finding is about the copy.
        check(&[("a", "x.rs:1")], &[("a", "x.rs:1"), ("a", "b.rs:5!")], &["a b.rs:5"]);
        check(&[("a", "x.rs:1")], &[("a", "b.rs:5!"), ("a", "x.rs:1")], &["a b.rs:5"]);
        check(&[("a", "x.rs:1"), ("a", "y.rs:1")], &[("a", "x.rs:1"), ("b", "y.rs:1!")], &["b y.rs:1"]);
        check(
            &[],
            &[("b", "y.rs:2!"), ("a", "y.rs:1!"), ("a", "x.rs:7!")],
            &["a x.rs:7", "a y.rs:1", "b y.rs:2"],
        );
    }

    #[test]
    fn evidence_is_worse_if_it_shows_less_than_before() {
        use Standing::*;
        for (before, after, expected) in [
            (Closed, Closed, None),
            (Closed, Weak, Some(Rule::MissingEvidence)),
            (Closed, Old, Some(Rule::OldEvidence)),
            (Closed, Missing, Some(Rule::MissingEvidence)),
            (Closed, Flaky, Some(Rule::FlakyEvidence)),
            (Closed, Failed, Some(Rule::FailedEvidence)),
            (Old, Weak, None),
            (Old, Old, None),
            (Missing, Old, None),
            (Missing, Missing, None),
            (Missing, Flaky, Some(Rule::FlakyEvidence)),
            (Missing, Failed, Some(Rule::FailedEvidence)),
            (Flaky, Failed, Some(Rule::FailedEvidence)),
            (Failed, Failed, None),
            (Failed, Missing, None),
        ] {
            assert_eq!(Standing::broken(before, after), expected, "{before:?} to {after:?}");
        }
        assert_eq!(Standing::of("witnessed", true), Closed);
        assert_eq!(Standing::of("passed", false), Weak);
        assert_eq!(Standing::of("failed", true), Failed, "whatever else is said");
        assert_eq!(Standing::of("skipped", false), Missing);
    }

    #[test]
    fn every_rule_has_a_name_of_its_own() {
        for rule in Rule::ALL {
            assert_eq!(Rule::named(rule.name()), Some(rule));
        }
        assert_eq!(Rule::named("everything"), None);
    }
}
