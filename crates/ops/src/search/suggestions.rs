//! Completes a search query while it is typed.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use store::model::Kind;
use store::search::{Suggestion, suggest};

use super::parse;
use crate::context::Cx;
use crate::error::Result;
use crate::input::{Number, Text};
use crate::operation::{Command, Effect, Operation, Output, Route, command, get};

/// The default number of suggestions.
const LIMIT: i64 = 10;

/// Complete a query while it is typed: reference ids, titles, statuses, types and users.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SearchSuggestions {
    /// The text so far: 1 to 1,000 characters.
    query: String,
    /// The key or id of a project.
    project: Option<Text<1, 64>>,
    /// How many to return; default 10.
    limit: Option<Number<1, 50>>,
}

/// Completions, the most likely first.
#[derive(Serialize, JsonSchema)]
pub struct Suggestions {
    /// The suggestions.
    data: Vec<Suggested>,
}

impl Output for Suggestions {}

/// A suggestion.
#[derive(Serialize, JsonSchema)]
pub struct Suggested {
    /// The text to insert instead.
    text: String,
    /// The kind of suggestion.
    of: Of,
    /// The entity's reference id.
    #[serde(skip_serializing_if = "Option::is_none")]
    reference_id: Option<String>,
    /// The entity's kind.
    #[serde(skip_serializing_if = "Option::is_none")]
    kind: Option<Kind>,
    /// The entity's title.
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<String>,
}

/// The kind of a suggestion.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Of {
    /// A reference id.
    Reference,
    /// A title.
    Title,
    /// A status.
    Status,
    /// A requirement type.
    Type,
    /// A user.
    User,
}

impl Operation for SearchSuggestions {
    type Output = Suggestions;
    const NAME: &'static str = "search_suggestions";
    const COMMANDS: &'static [Command] = &[command("suggest")];
    const ROUTES: &'static [Route] = &[get("/search/suggestions")];
    const EFFECT: Effect = Effect::Reads;
    const POSITIONAL: &'static [&'static str] = &["query"];

    fn run(&self, cx: &mut Cx<'_, '_>) -> Result<Suggestions> {
        parse(&self.query)?;
        let limit = self.limit.map_or(LIMIT, |limit| limit.0) as usize;
        let projects = cx.projects("project", self.project.as_ref().map(Text::as_str))?;
        let found = suggest(cx.tx, &self.query, &projects, limit)?;
        Ok(Suggestions { data: found.into_iter().map(suggested).collect() })
    }
}

fn suggested(suggestion: Suggestion) -> Suggested {
    let (text, of, entity) = match suggestion {
        Suggestion::Reference(entity) => (entity.reference_id.clone(), Of::Reference, Some(entity)),
        Suggestion::Title(entity) => {
            (entity.title.clone().unwrap_or_else(|| entity.reference_id.clone()), Of::Title, Some(entity))
        }
        Suggestion::Status(name) => (name, Of::Status, None),
        Suggestion::Type(name) => (name, Of::Type, None),
        Suggestion::User(name) => (name, Of::User, None),
    };
    let (reference_id, kind, title) = match entity {
        Some(entity) => (Some(entity.reference_id), Some(entity.kind), entity.title),
        None => (None, None, None),
    };
    Suggested { text, of, reference_id, kind, title }
}
