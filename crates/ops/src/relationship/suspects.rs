//! Suspect relationships, and the changes that made them suspect.

use std::collections::{BTreeMap, HashMap};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use store::entity::{self, Entity, FIELDS};
use store::model::Time;
use store::relationship::{self, Relationship};
use store::revision;
use store::tally::Total;

use crate::context::Cx;
use crate::error::Result;
use crate::input::{Limit, Offset, Text};
use crate::operation::{Columns, Command, Effect, Operation, Route, Tool, command, get, tool};
use crate::page::{Cursor, Page, page_after, window};

/// List suspect relationships: the target's text has changed since they were created or confirmed.
///
/// With `details`, each has the text of its source and the changes in its target, which is all that is needed to
/// confirm it, to change the source, or to delete the relationship.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ListSuspectLinks {
    /// The key or id of a project.
    project: Option<Text<1, 64>>,
    /// Include the text of the source, and the target's fields before and after the change. A page then has at most 20 items.
    #[serde(default)]
    details: bool,
    /// How many items to return; default 50.
    limit: Option<Limit>,
    /// How many items to skip.
    offset: Option<Offset>,
    /// Continue after a page: its `next_cursor`.
    cursor: Option<Cursor>,
}

/// A suspect relationship.
#[derive(Serialize, JsonSchema)]
pub struct SuspectLink {
    #[serde(flatten)]
    link: Relationship,
    /// When the target changed.
    suspect_since: Time,
    /// The source and the target.
    #[serde(flatten)]
    details: Option<Details>,
}

/// The ends of a suspect relationship.
#[derive(Serialize, JsonSchema)]
struct Details {
    /// The source requirement.
    source_says: Says,
    /// The target requirement, in its current state.
    target_says: Says,
    /// The target's fields that differ from what was confirmed, each as `[then, now]`.
    changes: BTreeMap<String, [Value; 2]>,
}

/// The state of a requirement.
#[derive(Clone, Serialize, JsonSchema)]
struct Says {
    /// The title.
    title: String,
    /// The text, cut if it is long.
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<String>,
    /// The status.
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<String>,
    /// The version.
    version: i64,
}

/// The name of the list in its cursors.
const LIST: &str = "suspects";
/// The maximal page size with details.
const DETAILED_MAX: i64 = 20;
/// How much of a text is shown; the target's changes are shown completely.
const TEXT_MAX_CHARS: usize = 5_000;
/// A target with more changes than this since a link was confirmed is compared with an older change.
const STEPS_MAX: i64 = 200;

impl Operation for ListSuspectLinks {
    type Output = Page<SuspectLink>;
    const NAME: &'static str = "list_suspect_links";
    const COMMANDS: &'static [Command] = &[command("suspect-link list").defaulting(&[("details", "true")])];
    const ROUTES: &'static [Route] = &[get("/suspect-links")];
    const TOOLS: &'static [Tool] = &[tool("bulk", r#"{"project": "DEFAULT", "details": true, "limit": 5}"#)
        .also(&["suspects", "list_suspects", "get_suspect_links"])];
    const EFFECT: Effect = Effect::Reads;
    const COLUMNS: &'static [Columns] =
        &[(None, &["id", "source", "type", "target", "changes", "suspect_since"])];

    fn run(&self, cx: &mut Cx<'_, '_>) -> Result<Page<SuspectLink>> {
        let projects = cx.projects("project", self.project.as_ref().map(Text::as_str))?;
        let (limit, offset) = window(self.limit, self.offset);
        let limit = if self.details { limit.min(DETAILED_MAX) } else { limit };
        let after = self.cursor.as_ref().map(|cursor| cursor.place(LIST)).transpose()?;
        let (found, total) = relationship::suspects(cx.tx, &projects, after.as_ref(), limit + 1, offset)?;
        let found =
            found.into_iter().map(|(link, suspect_since)| SuspectLink { link, suspect_since, details: None });
        let mut page =
            page_after(found.collect(), Total::exact(total), (limit, offset), |last: &SuspectLink| {
                Cursor::at(LIST, &(last.suspect_since.microseconds(), &last.link.id))
            });
        if self.details {
            add_details(cx, &mut page.data)?;
        }
        Ok(page)
    }
}

/// Adds the ends of links.
fn add_details(cx: &mut Cx<'_, '_>, links: &mut [SuspectLink]) -> Result<()> {
    let mut ids: Vec<&str> =
        links.iter().flat_map(|one| [&*one.link.source_id, &*one.link.target_id]).collect();
    ids.sort_unstable();
    ids.dedup();
    let ends = entity::of_ids(cx.tx, &ids)?;
    let ends: HashMap<&str, &Entity> = ends.iter().map(|end| (end.id.as_str(), end)).collect();
    for suspect in links {
        let SuspectLink { link, details, .. } = suspect;
        if let (Some(source), Some(target)) = (ends.get(&*link.source_id), ends.get(&*link.target_id)) {
            let changes = changes_since(cx, target, link.target_version)?;
            *details = Some(Details { source_says: says(source), target_says: says(target), changes });
        }
    }
    Ok(())
}

fn says(entity: &Entity) -> Says {
    let description = entity.description.as_deref().map(|text| words::cut(text, TEXT_MAX_CHARS).to_owned());
    Says {
        title: entity.label().to_owned(),
        description,
        status: entity.status.clone(),
        version: entity.version,
    }
}

/// The fields that make links suspect and differ from a version, with their values then and now.
fn changes_since(cx: &mut Cx<'_, '_>, entity: &Entity, version: i64) -> Result<BTreeMap<String, [Value; 2]>> {
    let fields = FIELDS.iter().filter(|field| field.nature.makes_suspect);
    let type_name = entity.type_name.clone().map_or(Value::Null, Value::String);
    let now: Vec<(&str, Value)> =
        fields.map(|field| (field.name, field.json(entity))).chain([("type", type_name)]).collect();
    let mut then: Vec<Value> = now.iter().map(|(_, value)| value.clone()).collect();
    revision::each_after(cx.tx, &entity.id, version, STEPS_MAX, |_, changes| {
        let changes: Map<String, Value> = serde_json::from_str(changes).unwrap_or_default();
        for ((name, _), then) in now.iter().zip(&mut then) {
            if let Some(pair) = changes.get(*name) {
                *then = pair[0].clone();
            }
        }
    })?;
    let pairs = now.into_iter().zip(then).filter(|((_, now), then)| now != then);
    Ok(pairs.map(|((name, now), then)| (name.to_owned(), [then, now])).collect())
}
