//! The terms of the domain: kinds, references, roles.

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Serialize, Serializer};

pub use crate::time::Time;

/// What an entity is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// A large goal.
    Epic,
    /// What someone wants from an epic, and why.
    UserStory,
    /// How to tell that a story is done.
    AcceptanceCriteria,
    /// What the product must do.
    Requirement,
    /// What to keep in mind while working on an epic.
    SteeringDocument,
    /// A text for agents.
    Prompt,
    /// A remark on an entity.
    Comment,
}

impl Kind {
    /// All kinds, in the order in which lists show them.
    pub const ALL: [Kind; 7] = [
        Kind::Epic,
        Kind::UserStory,
        Kind::AcceptanceCriteria,
        Kind::Requirement,
        Kind::SteeringDocument,
        Kind::Prompt,
        Kind::Comment,
    ];

    /// The name in the store, in answers and in arguments.
    pub const fn name(self) -> &'static str {
        match self {
            Kind::Epic => "epic",
            Kind::UserStory => "user_story",
            Kind::AcceptanceCriteria => "acceptance_criteria",
            Kind::Requirement => "requirement",
            Kind::SteeringDocument => "steering_document",
            Kind::Prompt => "prompt",
            Kind::Comment => "comment",
        }
    }

    /// The name in a sentence.
    pub const fn words(self) -> &'static str {
        match self {
            Kind::UserStory => "user story",
            Kind::AcceptanceCriteria => "acceptance criterion",
            Kind::SteeringDocument => "steering document",
            other => other.name(),
        }
    }

    /// The name in a sentence, with its article.
    pub const fn with_article(self) -> &'static str {
        match self {
            Kind::Epic => "an epic",
            Kind::UserStory => "a user story",
            Kind::AcceptanceCriteria => "an acceptance criterion",
            Kind::Requirement => "a requirement",
            Kind::SteeringDocument => "a steering document",
            Kind::Prompt => "a prompt",
            Kind::Comment => "a comment",
        }
    }

    /// The prefix of its reference ids; comments have none.
    pub const fn prefix(self) -> &'static str {
        match self {
            Kind::Epic => "EP",
            Kind::UserStory => "US",
            Kind::AcceptanceCriteria => "AC",
            Kind::Requirement => "REQ",
            Kind::SteeringDocument => "STD",
            Kind::Prompt => "PROMPT",
            Kind::Comment => "",
        }
    }

    /// The kind with this name, in any case; plural, hyphens and spaces are accepted.
    pub fn from_name(text: &str) -> Option<Kind> {
        let folded = words::name::plain(text);
        Kind::ALL.into_iter().find(|kind| {
            let name = kind.name();
            folded == name
                || folded.strip_suffix('s') == Some(name)
                || (*kind == Kind::UserStory
                    && matches!(folded.as_str(), "user_stories" | "story" | "stories"))
                || (*kind == Kind::AcceptanceCriteria
                    && matches!(folded.as_str(), "acceptance_criterion" | "criterion" | "criteria"))
                || (*kind == Kind::Requirement && matches!(folded.as_str(), "req" | "reqs"))
        })
    }

    /// The kind with this name in the store.
    pub fn from_stored(name: &str) -> Option<Kind> {
        Kind::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// The kind of its parent.
    pub const fn parent(self) -> Option<Kind> {
        match self {
            Kind::UserStory => Some(Kind::Epic),
            Kind::AcceptanceCriteria | Kind::Requirement => Some(Kind::UserStory),
            _ => None,
        }
    }

    /// Whether it has a status from a status model.
    pub const fn has_status(self) -> bool {
        matches!(self, Kind::Epic | Kind::UserStory | Kind::Requirement)
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

impl Serialize for Kind {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

impl JsonSchema for Kind {
    fn schema_name() -> Cow<'static, str> {
        "Kind".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "enum": Kind::ALL.map(Kind::name) })
    }
}

/// How someone names an entity: by its UUID or by its reference id.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Reference {
    /// A UUID, in its canonical form.
    Id(String),
    /// `REQ-012`, or `ABC-REQ-012` outside the default project.
    Numbered {
        /// The project's key, in capitals; none for the default project.
        project: Option<String>,
        /// What it names.
        kind: Kind,
        /// The number.
        number: i64,
    },
}

impl Reference {
    /// Parses a UUID or a reference id in any case.
    pub fn parse(text: &str) -> Option<Reference> {
        let text = text.trim();
        if text.len() > 64 {
            return None;
        }
        if let Ok(id) = uuid::Uuid::try_parse(text) {
            return Some(Reference::Id(id.to_string()));
        }
        let upper = text.to_ascii_uppercase();
        let (head, digits) = upper.rsplit_once('-')?;
        if digits.is_empty() || digits.len() > 18 || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        let number: i64 = digits.parse().ok()?;
        let (project, prefix) = match head.rsplit_once('-') {
            Some((project, prefix)) => (Some(project), prefix),
            None => (None, head),
        };
        let kind = Kind::ALL.into_iter().find(|kind| !prefix.is_empty() && kind.prefix() == prefix)?;
        let project = match project {
            Some(key) if !is_project_key(key) => return None,
            Some(DEFAULT_PROJECT_KEY) | None => None,
            Some(key) => Some(key.to_owned()),
        };
        (number > 0).then_some(Reference::Numbered { project, kind, number })
    }
}

impl fmt::Display for Reference {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Reference::Id(id) => formatter.write_str(id),
            Reference::Numbered { project, kind, number } => formatter.write_str(&reference_id(
                project.as_deref().unwrap_or(DEFAULT_PROJECT_KEY),
                *kind,
                *number,
            )),
        }
    }
}

/// The largest number in a reference id, for creates and imports alike, so that everything can be imported again.
pub const NUMBER_MAX: i64 = 999_999_999_999;

/// The key of the project that exists from the first start; its reference ids have no key.
pub const DEFAULT_PROJECT_KEY: &str = "DEFAULT";
/// The id of that project, the same in every store.
pub const DEFAULT_PROJECT_ID: &str = "00000000-0000-7000-8000-000000000001";

/// Writes a reference id: `EP-001`, `ABC-EP-1000`.
pub fn reference_id(project_key: &str, kind: Kind, number: i64) -> String {
    let prefix = kind.prefix();
    if project_key == DEFAULT_PROJECT_KEY || project_key.is_empty() {
        format!("{prefix}-{number:03}")
    } else {
        format!("{project_key}-{prefix}-{number:03}")
    }
}

/// Whether a text can be the key of a project: 2 to 10 capitals and digits, a letter first, and not the prefix of a
/// reference id.
pub fn is_project_key(text: &str) -> bool {
    (2..=10).contains(&text.len())
        && text.bytes().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit())
        && text.as_bytes()[0].is_ascii_uppercase()
        && Kind::ALL.iter().all(|kind| kind.prefix() != text)
}

/// What a user may do at most.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Role {
    /// Reads and comments.
    Commenter,
    /// Writes too.
    User,
    /// Everything.
    Administrator,
}

impl Role {
    /// All roles, the weakest first.
    pub const ALL: [Role; 3] = [Role::Commenter, Role::User, Role::Administrator];

    /// The name in the store and in answers.
    pub const fn name(self) -> &'static str {
        match self {
            Role::Commenter => "Commenter",
            Role::User => "User",
            Role::Administrator => "Administrator",
        }
    }

    /// The role with this name, in any case.
    pub fn from_name(text: &str) -> Option<Role> {
        let text = text.trim();
        Role::ALL.into_iter().find(|role| role.name().eq_ignore_ascii_case(text))
    }
}

impl Serialize for Role {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

impl JsonSchema for Role {
    fn schema_name() -> Cow<'static, str> {
        "Role".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "enum": Role::ALL.map(Role::name) })
    }
}

/// Which surface a change came through.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Via {
    /// The REST interface.
    Rest,
    /// The Model Context Protocol.
    Mcp,
    /// The web page.
    Web,
    /// The command line.
    Cli,
}

impl Via {
    /// The name in revisions.
    pub const fn name(self) -> &'static str {
        match self {
            Via::Rest => "rest",
            Via::Mcp => "mcp",
            Via::Web => "web",
            Via::Cli => "cli",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Kind, Reference};

    #[test]
    fn references_are_read_in_any_case() {
        for (text, expected) in [
            ("req-12", Some("REQ-012")),
            (" EP-0001 ", Some("EP-001")),
            ("EP-1000", Some("EP-1000")),
            ("abc-us-7", Some("ABC-US-007")),
            ("default-us-7", Some("US-007")),
            ("PROMPT-1", Some("PROMPT-001")),
            ("0193B5B2-6F0C-7A3E-8000-0123456789AB", Some("0193b5b2-6f0c-7a3e-8000-0123456789ab")),
            ("EP-0", None),
            ("EP-", None),
            ("EP-1x", None),
            ("-1", None),
            ("US-EP-1", None),
            ("EP-99999999999999999999", None),
            ("ЭП-1", None),
            ("", None),
        ] {
            assert_eq!(Reference::parse(text).map(|found| found.to_string()).as_deref(), expected, "{text}");
        }
    }

    #[test]
    fn kinds_are_read_as_people_write_them() {
        assert_eq!(Kind::from_name("User Stories"), Some(Kind::UserStory));
        assert_eq!(Kind::from_name("acceptance-criterion"), Some(Kind::AcceptanceCriteria));
        assert_eq!(Kind::from_name("steering-documents"), Some(Kind::SteeringDocument));
        assert_eq!(Kind::from_name("tale"), None);
    }
}
