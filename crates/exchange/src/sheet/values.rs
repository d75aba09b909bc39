//! The meaning of words in cells: priorities, and kinds of rows.

use crate::kind::{RecordKind, plain_name};

/// The meaning of a word.
pub(super) enum Understood<T> {
    /// The word is known.
    As(T),
    /// The word is similar to a known one.
    Nearly(T, &'static str),
    /// The word means that there is no value.
    Nothing,
    /// The word is unknown.
    Unknown,
}

const PRIORITIES: [(i64, &[&str]); 4] = [
    (
        1,
        &[
            "critical",
            "urgent",
            "highest",
            "blocker",
            "must",
            "must_have",
            "very_high",
            "p0",
            "p1",
            "mandatory",
        ],
    ),
    (2, &["high", "major", "important", "should", "should_have", "p2"]),
    (3, &["medium", "normal", "moderate", "could", "could_have", "default", "average", "p3"]),
    (
        4,
        &[
            "low",
            "lowest",
            "minor",
            "trivial",
            "won't",
            "won't_have",
            "wont_have",
            "nice_to_have",
            "optional",
            "very_low",
            "p4",
            "p5",
        ],
    ),
];
const NO_PRIORITY: [&str; 7] = ["none", "no_priority", "-", "n/a", "unset", "not_set", "0"];

/// The number of a priority that somebody calls by its name or number: 1 for `critical`, 2 for `high` and `P2`.
pub fn plain_priority(text: &str) -> Option<i64> {
    match priority(text) {
        Understood::As(number) => Some(number),
        _ => None,
    }
}

/// A priority by its name or number: 1 critical to 4 low.
pub(super) fn priority(text: &str) -> Understood<i64> {
    let name = plain_name(text);
    if NO_PRIORITY.contains(&name.as_str()) {
        return Understood::Nothing;
    }
    let named =
        |name: &str| PRIORITIES.iter().find(|(_, names)| names.contains(&name)).map(|(number, _)| *number);
    if let Some(number) = named(&name) {
        return Understood::As(number);
    }
    // `1 - High`, `2 (major)`, `3.0` as spreadsheets write it.
    let digits: String = text.trim().chars().take_while(char::is_ascii_digit).collect();
    let behind = text.trim()[digits.len()..].trim_start_matches(".0").trim_start();
    if let Ok(number @ 1..=4) = digits.parse()
        && !behind.starts_with(|first: char| first.is_alphanumeric() || first == '.')
    {
        return Understood::As(number);
    }
    let words = PRIORITIES.iter().flat_map(|(_, names)| names.iter().copied());
    match nearest::nearest(&name, words) {
        Some(word) => named(word).map_or(Understood::Unknown, |number| Understood::Nearly(number, word)),
        None => Understood::Unknown,
    }
}

const KINDS: [(RecordKind, &[&str]); 5] = [
    (RecordKind::Epic, &["epic", "initiative", "theme", "capability", "portfolio_epic"]),
    (
        RecordKind::UserStory,
        &[
            "story",
            "user_story",
            "feature",
            "product_backlog_item",
            "pbi",
            "backlog_item",
            "enabler",
            "use_case",
        ],
    ),
    (
        RecordKind::Requirement,
        &[
            "requirement",
            "task",
            "sub_task",
            "subtask",
            "bug",
            "issue",
            "improvement",
            "new_feature",
            "spike",
            "defect",
            "change_request",
            "technical_task",
            "technical_story",
            "chore",
            "incident",
            "service_request",
            "problem",
            "enhancement",
            "ticket",
        ],
    ),
    (RecordKind::AcceptanceCriteria, &["acceptance_criteria", "acceptance_criterion", "criterion"]),
    (RecordKind::SteeringDocument, &["steering_document"]),
];

/// The kind of a row by its type. None if the type is something else, such as a requirement's type.
pub(super) fn kind(text: &str) -> Option<RecordKind> {
    let name = plain_name(text);
    KINDS.iter().find(|(_, names)| names.contains(&name.as_str())).map(|(kind, _)| *kind)
}
