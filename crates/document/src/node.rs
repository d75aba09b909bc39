//! What a specification consists of, in the order in which it is read, and how it is numbered.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// An epic, a user story, a criterion or a requirement at its place in a specification.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Node {
    /// The section number, such as `2.1.3`. Acceptance criteria have none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub number: Option<String>,
    /// The reference id, such as `REQ-012`.
    pub reference_id: String,
    /// The kind.
    pub kind: NodeKind,
    /// Increases by one with each change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<i64>,
    /// The title; acceptance criteria have none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The status.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<String>,
    /// The meaning of the status.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<NodeState>,
    /// 1 critical, 2 high, 3 medium, 4 low.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub priority: Option<i64>,
    /// The name of a requirement's type.
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub type_name: Option<String>,
    /// The reference id of the criterion that a requirement belongs to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub acceptance_criteria: Option<String>,
    /// The text, in Markdown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Why it is wanted, in Markdown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rationale: Option<String>,
}

impl Node {
    /// A node with only a name, for an outline.
    pub fn named(kind: NodeKind, reference_id: &str, title: &str) -> Node {
        Node {
            number: None,
            reference_id: reference_id.to_owned(),
            kind,
            version: None,
            title: Some(title.to_owned()),
            status: None,
            state: None,
            priority: None,
            type_name: None,
            acceptance_criteria: None,
            description: None,
            rationale: None,
        }
    }
}

/// The kinds of nodes in a specification.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
#[allow(missing_docs)]
pub enum NodeKind {
    Epic,
    UserStory,
    AcceptanceCriteria,
    Requirement,
}

/// The meaning of a status, whatever its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum NodeState {
    /// It has the initial status.
    NotBegun,
    /// It has begun and not ended.
    InProgress,
    /// It is done.
    Done,
    /// It was cancelled, or is obsolete.
    GivenUp,
}

impl NodeState {
    /// The class of its mark in `design::STATES`.
    pub const fn class(self) -> &'static str {
        match self {
            NodeState::NotBegun => "waiting",
            NodeState::InProgress => "needs-tests",
            NodeState::Done => "done",
            NodeState::GivenUp => "quoted",
        }
    }
}

/// A section number: of an epic, a story in it, a requirement in that. Zero is a level without a number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SectionNumber([i64; 3]);

impl fmt::Display for SectionNumber {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let levels: Vec<String> = self.0.iter().filter(|level| **level > 0).map(i64::to_string).collect();
        formatter.write_str(&levels.join("."))
    }
}

/// Numbers nodes in reading order. It can start anywhere.
#[derive(Clone, Copy, Debug, Default)]
pub struct Numbering(SectionNumber);

impl Numbering {
    /// The numbering after a place: the number of epics read, of stories in the last epic, and of requirements in the
    /// last story.
    pub fn after(n_epics: i64, n_stories: i64, n_requirements: i64) -> Numbering {
        Numbering(SectionNumber([n_epics, n_stories, n_requirements]))
    }

    /// The number of the next node, if its kind has numbers.
    pub fn next(&mut self, kind: NodeKind) -> Option<SectionNumber> {
        let [epic, story, requirement] = self.0.0;
        self.0.0 = match kind {
            NodeKind::Epic => [epic + 1, 0, 0],
            NodeKind::UserStory => [epic, story + 1, 0],
            NodeKind::AcceptanceCriteria => return None,
            NodeKind::Requirement => [epic, story, requirement + 1],
        };
        Some(self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::NodeKind::{AcceptanceCriteria, Epic, Requirement, UserStory};
    use super::*;

    #[test]
    fn sections_are_numbered_in_the_order_of_the_tree() {
        let kinds = [
            Epic,
            UserStory,
            AcceptanceCriteria,
            Requirement,
            Requirement,
            UserStory,
            Requirement,
            Epic,
            UserStory,
        ];
        let mut numbering = Numbering::default();
        let numbers =
            kinds.map(|kind| numbering.next(kind).map(|number| number.to_string()).unwrap_or_default());
        assert_eq!(numbers, ["1", "1.1", "", "1.1.1", "1.1.2", "1.2", "1.2.1", "2", "2.1"]);
        let mut later = Numbering::after(3, 2, 7);
        assert_eq!(later.next(Requirement).map(|number| number.to_string()).as_deref(), Some("3.2.8"));
        assert_eq!(later.next(UserStory).map(|number| number.to_string()).as_deref(), Some("3.3"));
    }
}
