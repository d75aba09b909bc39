//! The threats to many entities: open ones, or those with a decision.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use store::model::Kind;
use store::thread::text::{self, CitableText};
use store::thread::threat;

use super::state::{self, ItemThreat, ThreatState};
use crate::context::Cx;
use crate::error::{Error, Result};
use crate::input::{Id, Limit, Text};
use crate::operation::{Columns, Command, Effect, Operation, Output, Route, Shape, Tool, command, get, tool};
use crate::page::Cursor;
use crate::thread::judge;

/// How many things are looked at with the same statements.
const ITEMS_AT_ONCE: i64 = 250;
/// How many are looked at before a page ends, whether it is full or not.
const ITEMS_MAX: usize = 1_000;
const LIMIT: i64 = 50;
/// The name of the list in its cursors.
const LIST: &str = "threats";

/// List the threats to the user stories and requirements of a project, or of an epic or a user story.
///
/// Without `state` it lists the open ones (without a valid decision) and those that apply but whose
/// criteria are not closed by evidence.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ListThreats {
    /// Only those in this state.
    state: Option<ThreatState>,
    /// The project: a key or an id; default: the default project.
    project: Option<Text<1, 64>>,
    /// Only those below this epic or user story, such as `EP-001`.
    epic: Option<Id>,
    /// Only those of this pattern, such as `TMKB-AUTHZ-001`.
    pattern: Option<Text<1, 200>>,
    /// How many items to return; default 50.
    limit: Option<Limit>,
    /// Continue after a page: its `next_cursor`.
    cursor: Option<Cursor>,
}

/// A list of threats.
#[derive(Serialize, JsonSchema)]
pub struct Threats {
    /// The threats, by creation of the threatened entity.
    data: Vec<ListedThreat>,
    /// How many user stories and requirements were examined for this page.
    n_items: usize,
    /// How many of them no pattern fits.
    n_without_pattern: usize,
    /// What the library covers, if no pattern fits some of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<String>,
    /// The start of the next page, if there may be more.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<String>,
}

impl Output for Threats {}

/// A threat to an entity.
#[derive(Serialize, JsonSchema)]
struct ListedThreat {
    /// The threatened entity.
    reference_id: String,
    /// Its kind.
    kind: Kind,
    /// Its title.
    title: String,
    #[serde(flatten)]
    threat: ItemThreat,
}

impl Operation for ListThreats {
    type Output = Threats;
    const NAME: &'static str = "list_threats";
    const COMMANDS: &'static [Command] = &[command("threat list")];
    const ROUTES: &'static [Route] = &[get("/threats")];
    const TOOLS: &'static [Tool] =
        &[tool("thread", r#"{"epic": "EP-001"}"#).also(&["open_threats", "list_open_threats"])];
    const EFFECT: Effect = Effect::Reads;
    const SHAPE: Option<Shape> = Some(Shape::Page("data", ""));
    const LOOKS_BESIDE: bool = true;
    const COLUMNS: &'static [Columns] =
        &[(None, &["state", "severity", "reference_id", "title", "pattern", "name", "why_open"])];

    fn run(&self, cx: &mut Cx<'_, '_>) -> Result<Threats> {
        // Decisions are known even without a library.
        let library = cx.request.threats.clone();
        let pattern = match (&self.pattern, &library) {
            (Some(id), Some(library)) => {
                Some(library.pattern(id.as_str()).map_err(|unknown| unknown.about("pattern"))?.id)
            }
            (id, _) => id.as_ref().map(String::from),
        };
        let scope = self.scope(cx)?;
        let coverage = library.map(|library| library.coverage()).transpose()?;
        let mut found = self.found(cx, &scope, pattern.as_deref())?;
        found.note = match coverage {
            None => Some("no threat library is at hand here, and so nothing is proposed".to_owned()),
            Some(coverage) if found.n_without_pattern > 0 => Some(format!(
                "no pattern is about {} of {} user stories and requirements; the library {coverage}",
                found.n_without_pattern, found.n_items
            )),
            Some(_) => None,
        };
        Ok(found)
    }
}

/// What is looked at: a project, or what is below something in it.
struct ThreatScope {
    project_id: String,
    below: Option<(String, Kind)>,
}

impl ListThreats {
    /// Examines the entities until a page is full.
    fn found(&self, cx: &mut Cx<'_, '_>, scope: &ThreatScope, pattern: Option<&str>) -> Result<Threats> {
        let limit = self.limit.map_or(LIMIT, |limit| limit.0) as usize;
        let mut after: String =
            self.cursor.as_ref().map(|cursor| cursor.place(LIST)).transpose()?.unwrap_or_default();
        let heads = judge::heads(cx, &scope.project_id, None)?;
        let mut found =
            Threats { data: Vec::new(), n_items: 0, n_without_pattern: 0, note: None, next_cursor: None };
        loop {
            let texts = self.some(cx, scope, &after)?;
            let is_last = (texts.len() as i64) < ITEMS_AT_ONCE;
            let Some(last) = texts.last().map(|text| text.id.clone()) else { return Ok(found) };
            let threats = state::of_texts(cx, &heads, &texts)?;
            for (text, threats) in texts.into_iter().zip(threats).filter(|(text, _)| !text.is_deleted) {
                found.n_items += 1;
                found.n_without_pattern +=
                    usize::from(threats.iter().all(|threat| threat.reasons.is_empty()));
                let wanted = threats.into_iter().filter(|threat| self.wants(threat, pattern));
                found.data.extend(wanted.map(|threat| ListedThreat {
                    reference_id: text.reference_id.clone(),
                    kind: text.kind,
                    title: text.title.clone(),
                    threat,
                }));
                // Pages end between entities, so that the threats to one are on one page.
                if found.data.len() >= limit {
                    found.next_cursor = (!is_last || text.id != last).then(|| Cursor::at(LIST, &text.id));
                    return Ok(found);
                }
            }
            if is_last {
                return Ok(found);
            }
            if found.n_items >= ITEMS_MAX {
                found.next_cursor = Some(Cursor::at(LIST, &last));
                return Ok(found);
            }
            after = last;
        }
    }

    fn scope(&self, cx: &mut Cx<'_, '_>) -> Result<ThreatScope> {
        let named = self.project.as_ref().map(Text::as_str);
        let Some(epic) = &self.epic else {
            return Ok(ThreatScope { project_id: cx.project("project", named)?.id, below: None });
        };
        let entity = cx.live_entity("epic", epic)?;
        if !matches!(entity.kind, Kind::Epic | Kind::UserStory) {
            let message = format!(
                "expected an epic or a user story, and {} is {}",
                entity.reference_id,
                entity.kind.with_article()
            );
            return Err(Error::field("epic", message));
        }
        if named.is_some() && cx.project("project", named)?.id != entity.project_id {
            let message = format!("{} is not in this project", entity.reference_id);
            return Err(Error::field("epic", message));
        }
        Ok(ThreatScope { project_id: entity.project_id, below: Some((entity.id, entity.kind)) })
    }

    /// The next entities that may have threats in the requested state.
    fn some(&self, cx: &mut Cx<'_, '_>, scope: &ThreatScope, after: &str) -> Result<Vec<CitableText>> {
        let only_decided = self.state.is_some_and(|state| state != ThreatState::Open);
        match &scope.below {
            Some((id, kind)) => Ok(text::threatened_below(cx.tx, id, *kind, after, ITEMS_AT_ONCE)?),
            // Few of many have a decision.
            None if only_decided => {
                let ids = threat::decided_after(cx.tx, &scope.project_id, after, ITEMS_AT_ONCE)?;
                let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
                let mut texts = text::of_ids(cx.tx, &ids)?;
                texts.sort_by(|one, other| one.id.cmp(&other.id));
                Ok(texts)
            }
            None => Ok(text::threatened_after(cx.tx, &scope.project_id, after, ITEMS_AT_ONCE)?),
        }
    }

    fn wants(&self, threat: &ItemThreat, pattern: Option<&str>) -> bool {
        let is_wanted = |state: ThreatState| threat.state == state && !threat.unsure;
        let fits = self.state.map_or_else(|| threat.is_open(), is_wanted);
        fits && pattern.is_none_or(|pattern| threat.pattern == pattern)
    }
}
