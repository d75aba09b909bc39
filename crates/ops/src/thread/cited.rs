//! The current and earlier texts of requirements and criteria, for citations in code.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use store::entity::Entity;
use store::model::{DEFAULT_PROJECT_KEY, Kind, Reference};
use store::status::{self, StatusOutcome};
use store::{project, revision};

use crate::context::Cx;
use crate::error::{Error, Result};
use crate::input::Id;
use crate::operation::{Command, Effect, Operation, Output, Route, command, get};

/// The maximal number of references in a call.
const REFERENCES_MAX: usize = 100;
/// The maximal number of earlier texts of a requirement.
const EARLIER_MAX: usize = 50;
/// The maximal number of changes of a requirement that are searched.
const STEPS_MAX: i64 = 1_000;

/// Read current and earlier texts of requirements and acceptance criteria, to check citations of them in code.
///
/// A missing requirement and one that you cannot see have the same answer.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CitedTexts {
    /// Reference ids, such as `REQ-012` or `SHOP-AC-003`; 100 at most.
    references: Vec<Id>,
}

/// The texts, in the order of the references.
#[derive(Serialize, JsonSchema)]
pub struct Cited {
    items: Vec<CitedItem>,
}

/// The answer for a reference.
#[derive(Serialize, JsonSchema)]
pub struct CitedItem {
    /// The reference id.
    reference_id: String,
    /// Its text; absent if it does not exist or you cannot see it.
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<CitedText>,
    /// The last reference of its kind, if the requested number is higher.
    #[serde(skip_serializing_if = "Option::is_none")]
    last: Option<String>,
}

/// The text of a requirement or a criterion.
#[derive(Serialize, JsonSchema)]
pub struct CitedText {
    /// The key of its project.
    project: String,
    /// `requirement` or `acceptance_criteria`.
    kind: Kind,
    /// The title; empty for a criterion.
    title: String,
    /// The text, in Markdown.
    description: String,
    /// The version in which title, text or type changed last.
    content_version: i64,
    /// The newest version.
    version: i64,
    /// Why it no longer applies: `deleted` or `obsolete`.
    #[serde(skip_serializing_if = "Option::is_none")]
    gone: Option<&'static str>,
    /// Its earlier texts, oldest first.
    earlier: Vec<EarlierWording>,
}

/// An earlier text of a requirement.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct EarlierWording {
    /// The version in which it was written.
    version: i64,
    /// The title.
    title: String,
    /// The text, in Markdown.
    description: String,
}

impl Output for Cited {}

impl Operation for CitedTexts {
    type Output = Cited;
    const NAME: &'static str = "cited_texts";
    const COMMANDS: &'static [Command] = &[command("cited-texts")];
    const ROUTES: &'static [Route] = &[get("/cited-texts")];
    const EFFECT: Effect = Effect::Reads;

    fn run(&self, cx: &mut Cx<'_, '_>) -> Result<Cited> {
        if self.references.len() > REFERENCES_MAX {
            let message =
                format!("expected at most {REFERENCES_MAX} references, found {}", self.references.len());
            return Err(Error::field("references", message));
        }
        let mut statuses = BTreeMap::new();
        let mut items = Vec::with_capacity(self.references.len());
        for reference in &self.references {
            items.push(item(cx, &reference.0, &mut statuses)?);
        }
        Ok(Cited { items })
    }
}

/// The final statuses of a kind that do not mean done.
type Statuses = BTreeMap<Kind, status::StatusModel>;

fn item(cx: &mut Cx<'_, '_>, reference: &Reference, statuses: &mut Statuses) -> Result<CitedItem> {
    let found = cx.find_entity(reference)?;
    let citable = found.filter(|found| matches!(found.kind, Kind::Requirement | Kind::AcceptanceCriteria));
    let Some(entity) = citable else {
        let last = match reference {
            Reference::Numbered { project, kind, number } => cx
                .last_of(project.as_deref(), *kind)?
                .filter(|last| matches!(last, Reference::Numbered { number: last, .. } if last < number)),
            Reference::Id(_) => None,
        };
        let last = last.map(|last| last.to_string());
        return Ok(CitedItem { reference_id: reference.to_string(), text: None, last });
    };
    let gone = match entity.deleted_at {
        Some(_) => Some("deleted"),
        None => is_obsolete(cx, &entity, statuses)?.then_some("obsolete"),
    };
    let project = project::find(cx.tx, &entity.project_id)?;
    let text = CitedText {
        project: project.map_or_else(|| DEFAULT_PROJECT_KEY.to_owned(), |project| project.key),
        kind: entity.kind,
        title: entity.title.clone().unwrap_or_default(),
        description: entity.description.clone().unwrap_or_default(),
        content_version: entity.content_version,
        version: entity.version,
        gone,
        earlier: earlier(cx, &entity)?,
    };
    Ok(CitedItem { reference_id: entity.reference_id, text: Some(text), last: None })
}

fn is_obsolete(cx: &mut Cx<'_, '_>, entity: &Entity, statuses: &mut Statuses) -> Result<bool> {
    let Some(name) = entity.status.as_deref().filter(|_| entity.kind.has_status()) else { return Ok(false) };
    let model = match statuses.entry(entity.kind) {
        Entry::Occupied(known) => known.into_mut(),
        Entry::Vacant(unknown) => unknown.insert(status::of(cx.tx, entity.kind)?),
    };
    let outcome = model.status(name).and_then(|status| status.outcome);
    Ok(matches!(outcome, Some(StatusOutcome::Obsolete | StatusOutcome::Cancelled)))
}

/// The earlier texts of an entity, from its history.
fn earlier(cx: &mut Cx<'_, '_>, entity: &Entity) -> Result<Vec<EarlierWording>> {
    if entity.content_version <= 1 {
        return Ok(Vec::new());
    }
    let mut then = EarlierWording {
        version: 0,
        title: entity.title.clone().unwrap_or_default(),
        description: entity.description.clone().unwrap_or_default(),
    };
    let mut found: Vec<EarlierWording> = Vec::new();
    revision::each_after(cx.tx, &entity.id, 0, STEPS_MAX, |version, changes| {
        let changes: Map<String, Value> = serde_json::from_str(changes).unwrap_or_default();
        let before = |name: &str| Some(changes.get(name)?.get(0)?.as_str().unwrap_or_default().to_owned());
        let (title, description) = (before("title"), before("description"));
        if (title.is_some() || description.is_some()) && found.len() <= EARLIER_MAX {
            found.push(EarlierWording { version, ..then.clone() });
            then.title = title.unwrap_or_else(|| then.title.clone());
            then.description = description.unwrap_or_else(|| then.description.clone());
        }
    })?;
    // The first of them is the current one.
    let mut earlier: Vec<EarlierWording> = found.into_iter().skip(1).collect();
    earlier.reverse();
    Ok(earlier)
}
