//! Baselines: named states of a project, to compare and to export.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use store::entity::{self, Entity};
use store::model::{Kind, Reference};
use store::thread::baseline::{self, Baseline, Pair};

use crate::context::{Cx, Subject, to_value};
use crate::entity::history::fields_at;
use crate::error::{Error, Result};
use crate::exchange::export::{ExportFormat, ExportedFile, write_file};
use crate::input::{Limit, Offset, Text};
use crate::operation::{
    Columns, Command, Effect, Operation, Output, Route, Shape, Tool, command, create, delete, get, tool,
};
use crate::page::{Cursor, Page, page, window_from};

impl Output for Baseline {
    fn reference(&self) -> Option<&str> {
        Some(&self.id)
    }
}

/// The maximal number of baselines in a project.
const BASELINES_MAX: i64 = 100;

/// Pin the current state of a project under a name: the version of everything in it, what is verified, and the citations of its
/// repositories.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PinBaseline {
    /// The project: a key or an id; default: the default project.
    project: Option<Text<1, 64>>,
    /// Its name, such as `Release 1.2`.
    name: Text<1, 100>,
    /// Its purpose.
    note: Option<Text<0, 2_000>>,
}

impl Operation for PinBaseline {
    type Output = Baseline;
    const NAME: &'static str = "pin_baseline";
    const COMMANDS: &'static [Command] = &[command("baseline pin")];
    const ROUTES: &'static [Route] = &[create("/baselines")];
    const TOOLS: &'static [Tool] = &[tool("thread", r#"{"name": "Release 1.0"}"#)];
    const EFFECT: Effect = Effect::Writes;
    const MODE: Option<store::Mode> = Some(store::Mode::Long);
    const POSITIONAL: &'static [&'static str] = &["name"];

    fn run(&self, cx: &mut Cx<'_, '_>) -> Result<Baseline> {
        let project = cx.project("project", self.project.as_ref().map(Text::as_str))?;
        let name = self.name.as_str().trim();
        if baseline::find(cx.tx, &project.id, name)?.is_some() {
            let message = format!("{} has a baseline named {name:?} already", project.key);
            return Err(Error::conflict(message).about("name"));
        }
        let (_, n_baselines) = baseline::list(cx.tx, &project.id, 1, 0)?;
        if n_baselines >= BASELINES_MAX {
            let message = format!("{} has {BASELINES_MAX} baselines already; delete one first", project.key);
            return Err(Error::conflict(message));
        }
        let caller = cx.caller()?;
        let mut new = Baseline {
            id: cx.new_id(),
            project_id: project.id,
            project: project.key,
            name: name.to_owned(),
            note: self.note.as_ref().map(String::from),
            n_entities: 0,
            n_verified: 0,
            actor: Some(caller.username.clone()),
            created_at: cx.now(),
        };
        (new.n_entities, new.n_verified) = baseline::pin(cx.tx, &new, &caller.user_id)?;
        record(cx, None, Some(&new))?;
        Ok(new)
    }
}

/// List the baselines of a project, newest first.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ListBaselines {
    /// The project: a key or an id; default: the default project.
    project: Option<Text<1, 64>>,
    /// How many items to return; default 50.
    limit: Option<Limit>,
    /// How many items to skip.
    offset: Option<Offset>,
    /// Continue after a page: its `next_cursor`.
    cursor: Option<Cursor>,
}

impl Operation for ListBaselines {
    type Output = Page<Baseline>;
    const NAME: &'static str = "list_baselines";
    const COMMANDS: &'static [Command] = &[command("baseline list")];
    const ROUTES: &'static [Route] = &[get("/baselines")];
    const TOOLS: &'static [Tool] = &[tool("thread", "{}").showing(&["project", "limit", "cursor"])];
    const EFFECT: Effect = Effect::Reads;
    const COLUMNS: &'static [Columns] =
        &[(None, &["name", "n_entities", "n_verified", "actor", "created_at", "note"])];

    fn run(&self, cx: &mut Cx<'_, '_>) -> Result<Page<Baseline>> {
        let project = cx.project("project", self.project.as_ref().map(Text::as_str))?;
        let window = window_from(self.limit, self.offset, self.cursor.as_ref())?;
        let (found, total) = baseline::list(cx.tx, &project.id, window.0, window.1)?;
        Ok(page(found, total, window))
    }
}

/// Delete a baseline. The entities stay unchanged.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DeleteBaseline {
    /// The project: a key or an id; default: the default project.
    project: Option<Text<1, 64>>,
    /// Its name or id.
    baseline: Text<1, 100>,
}

impl Operation for DeleteBaseline {
    type Output = Baseline;
    const NAME: &'static str = "delete_baseline";
    const COMMANDS: &'static [Command] = &[command("baseline delete")];
    const ROUTES: &'static [Route] = &[delete("/baselines/{baseline}")];
    const EFFECT: Effect = Effect::Destroys;
    const POSITIONAL: &'static [&'static str] = &["baseline"];

    fn run(&self, cx: &mut Cx<'_, '_>) -> Result<Baseline> {
        let project = cx.project("project", self.project.as_ref().map(Text::as_str))?;
        let found = find(cx, "baseline", &project.id, self.baseline.as_str())?;
        baseline::delete(cx.tx, &found.id)?;
        record(cx, Some(&found), None)?;
        Ok(found)
    }
}

/// Compare a baseline with another one, or with the present: what was added, removed or changed, and what became verified or no
/// longer is.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CompareBaselines {
    /// The project: a key or an id; default: the default project.
    project: Option<Text<1, 64>>,
    /// The name or id of the earlier baseline.
    from: Text<1, 100>,
    /// The name or id of the later one; default: the present.
    to: Option<Text<1, 100>>,
    /// How many differences to return; default 50.
    limit: Option<Limit>,
    /// How many items to skip.
    offset: Option<Offset>,
    /// Continue after a page: its `next_cursor`.
    cursor: Option<Cursor>,
}

/// The differences between two states of a project.
#[derive(Serialize, JsonSchema)]
pub struct Comparison {
    /// The earlier baseline.
    from: String,
    /// The later one; absent for the present.
    #[serde(skip_serializing_if = "Option::is_none")]
    to: Option<String>,
    /// How many were added.
    added: i64,
    /// How many were removed.
    removed: i64,
    /// How many have a different text.
    reworded: i64,
    /// How many became verified.
    newly_verified: i64,
    /// How many are no longer verified.
    no_longer_verified: i64,
    /// The differences.
    data: Vec<Difference>,
    /// Their number.
    total_count: i64,
    /// The maximal number of items on this page.
    limit: i64,
    /// The number of skipped items.
    offset: i64,
    /// The start of the next page, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<String>,
}

impl Output for Comparison {}

/// A difference.
#[derive(Serialize, JsonSchema)]
struct Difference {
    /// The reference id.
    reference_id: String,
    /// The kind.
    kind: Kind,
    /// Its current title, or the beginning of its text.
    title: String,
    /// `added`, `removed`, `reworded`, `changed` or `verification`.
    what: &'static str,
    /// The version in the earlier state.
    #[serde(skip_serializing_if = "Option::is_none")]
    version_before: Option<i64>,
    /// The version in the later state.
    #[serde(skip_serializing_if = "Option::is_none")]
    version_after: Option<i64>,
    /// The text in the earlier state, if it differs.
    #[serde(skip_serializing_if = "Option::is_none")]
    text_before: Option<String>,
    /// The text in the later state, if it differs.
    #[serde(skip_serializing_if = "Option::is_none")]
    text_after: Option<String>,
    /// Whether it was verified in the earlier state, if that differs.
    #[serde(skip_serializing_if = "Option::is_none")]
    was_verified: Option<bool>,
}

impl Operation for CompareBaselines {
    type Output = Comparison;
    const NAME: &'static str = "compare_baselines";
    const COMMANDS: &'static [Command] = &[command("baseline compare")];
    const ROUTES: &'static [Route] = &[get("/baselines/{from}/compare")];
    const TOOLS: &'static [Tool] =
        &[tool("thread", r#"{"from": "Release 1.0"}"#)
            .showing(&["project", "from", "to", "limit", "cursor"])];
    const EFFECT: Effect = Effect::Reads;
    const SHAPE: Option<Shape> = Some(Shape::Page("data", "/total_count"));
    const POSITIONAL: &'static [&'static str] = &["from", "to"];

    fn run(&self, cx: &mut Cx<'_, '_>) -> Result<Comparison> {
        let project = cx.project("project", self.project.as_ref().map(Text::as_str))?;
        let from = find(cx, "from", &project.id, self.from.as_str())?;
        let to = self.to.as_ref().map(|to| find(cx, "to", &project.id, to.as_str())).transpose()?;
        let (limit, offset) = window_from(self.limit, self.offset, self.cursor.as_ref())?;
        let pairs = baseline::compare(cx.tx, &project.id, &from.id, to.as_ref().map(|to| to.id.as_str()))?;
        let count =
            |is_wanted: &dyn Fn(&Pair) -> bool| pairs.iter().filter(|pair| is_wanted(pair)).count() as i64;
        let verified = |state: Option<(i64, i64, bool)>| state.is_some_and(|(_, _, is_verified)| is_verified);
        let total = pairs.len() as i64;
        let shown = pairs.iter().skip(offset as usize).take(limit as usize);
        let mut data = Vec::new();
        for pair in shown {
            data.push(difference(cx, pair)?);
        }
        let next = page(vec![(); data.len()], total, (limit, offset));
        Ok(Comparison {
            from: from.name,
            to: to.map(|to| to.name),
            added: count(&|pair| pair.before.is_none()),
            removed: count(&|pair| pair.after.is_none()),
            reworded: count(&Pair::has_other_text),
            newly_verified: count(&|pair| !verified(pair.before) && verified(pair.after)),
            no_longer_verified: count(&|pair| verified(pair.before) && !verified(pair.after)),
            data,
            total_count: total,
            limit,
            offset,
            next_cursor: next.next_cursor,
        })
    }
}

fn difference(cx: &mut Cx<'_, '_>, pair: &Pair) -> Result<Difference> {
    let version = |state: Option<(i64, i64, bool)>| state.map(|(version, _, _)| version);
    let what = match (pair.before, pair.after) {
        (None, _) => "added",
        (_, None) => "removed",
        _ if pair.has_other_text() => "reworded",
        (Some(before), Some(after)) if before.0 != after.0 => "changed",
        _ => "verification",
    };
    let (text_before, text_after) = match pair.has_other_text() {
        true => {
            let mut texts = [None, None];
            for (text, state) in texts.iter_mut().zip([pair.before, pair.after]) {
                *text = version(state).map(|version| text_at(cx, &pair.entity_id, version)).transpose()?;
            }
            let [before, after] = texts;
            (before, after)
        }
        false => (None, None),
    };
    Ok(Difference {
        reference_id: pair.reference_id.clone(),
        kind: pair.kind,
        title: pair.title.clone(),
        what,
        version_before: version(pair.before),
        version_after: version(pair.after),
        text_before,
        text_after,
        was_verified: match (pair.before, pair.after) {
            (Some(before), Some(after)) if before.2 != after.2 => Some(before.2),
            _ => None,
        },
    })
}

/// Export a baseline: the text of each requirement at that time, and whether it was verified.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ExportBaseline {
    /// The project: a key or an id; default: the default project.
    project: Option<Text<1, 64>>,
    /// The name or id of the baseline.
    baseline: Text<1, 100>,
    /// The format of the file: `json` or `markdown`.
    format: ExportFormat,
}

impl Operation for ExportBaseline {
    type Output = ExportedFile;
    const NAME: &'static str = "export_baseline";
    const COMMANDS: &'static [Command] = &[command("baseline export")];
    const ROUTES: &'static [Route] = &[get("/baselines/{baseline}/export")];
    const EFFECT: Effect = Effect::Reads;
    const SHAPE: Option<Shape> = Some(Shape::File);
    const ANSWERS_FILE: bool = true;
    const MODE: Option<store::Mode> = Some(store::Mode::LongSnapshot);
    const POSITIONAL: &'static [&'static str] = &["baseline"];

    fn run(&self, cx: &mut Cx<'_, '_>) -> Result<ExportedFile> {
        if !matches!(self.format, ExportFormat::Json | ExportFormat::Markdown) {
            return Err(Error::not_allowed("format", self.format.extension(), ["json", "markdown"]));
        }
        let project = cx.project("project", self.project.as_ref().map(Text::as_str))?;
        let found = find(cx, "baseline", &project.id, self.baseline.as_str())?;
        let is_plain = |char: char| char.is_ascii_alphanumeric() || "-_.".contains(char);
        let stem: String = found.name.chars().map(|char| if is_plain(char) { char } else { '-' }).collect();
        write_file(cx, self.format, &format!("{}-{stem}", found.project), |cx, out| {
            let mut pinned = Vec::new();
            for (entity_id, version, is_verified) in baseline::entities(cx.tx, &found.id)? {
                let Some(entity) = entity::find(cx.tx, &Reference::Id(entity_id))? else { continue };
                let then = fields_at(cx, &entity, version)?;
                pinned.push(Pinned::new(&entity, &then, version, is_verified));
            }
            let content = match self.format {
                ExportFormat::Markdown => markdown(&found, &pinned),
                _ => format!("{:#}\n", serde_json::json!({ "baseline": found, "entities": pinned })),
            };
            Ok(out.write_all(content.as_bytes()))
        })
    }
}

/// An entity as it was when a baseline was pinned.
#[derive(Serialize)]
struct Pinned {
    reference_id: String,
    kind: Kind,
    version: i64,
    title: Option<String>,
    description: Option<String>,
    status: Option<String>,
    verified: bool,
}

impl Pinned {
    fn new(entity: &Entity, then: &Map<String, Value>, version: i64, verified: bool) -> Pinned {
        let at = |name: &str, now: Option<&str>| match then.get(name) {
            Some(text) => text.as_str().map(str::to_owned),
            None => now.map(str::to_owned),
        };
        Pinned {
            reference_id: entity.reference_id.clone(),
            kind: entity.kind,
            version,
            title: at("title", entity.title.as_deref()),
            description: at("description", entity.description.as_deref()),
            status: at("status", entity.status.as_deref()),
            verified,
        }
    }
}

fn markdown(baseline: &Baseline, pinned: &[Pinned]) -> String {
    let mut text = format!("# {} {}\n\n", baseline.project, baseline.name);
    text += &format!(
        "Pinned {}. {} of {} verified.\n",
        baseline.created_at, baseline.n_verified, baseline.n_entities
    );
    for pinned in pinned {
        let title = pinned.title.as_deref().unwrap_or_default();
        text += &format!("\n## {} {title}\n\n", pinned.reference_id);
        let status = pinned.status.as_deref().map(|status| format!("{status}, ")).unwrap_or_default();
        let verified = if pinned.verified { ", verified" } else { "" };
        text += &format!("_{status}version {}{verified}_\n", pinned.version);
        if let Some(description) = &pinned.description {
            text += &format!("\n{description}\n");
        }
    }
    text
}

/// The text of an entity in a version.
fn text_at(cx: &mut Cx<'_, '_>, entity_id: &str, version: i64) -> Result<String> {
    let Some(entity) = entity::find(cx.tx, &Reference::Id(entity_id.to_owned()))? else {
        return Ok(String::new());
    };
    let then = fields_at(cx, &entity, version)?;
    let pinned = Pinned::new(&entity, &then, version, false);
    let texts = [pinned.title, pinned.description];
    Ok(texts.into_iter().flatten().filter(|text| !text.is_empty()).collect::<Vec<_>>().join("\n\n"))
}

fn find(cx: &mut Cx<'_, '_>, field: &str, project_id: &str, name: &str) -> Result<Baseline> {
    if let Some(found) = baseline::find(cx.tx, project_id, name)? {
        return Ok(found);
    }
    let (known, _) = baseline::list(cx.tx, project_id, 20, 0)?;
    Err(Error::not_allowed(field, name, known.into_iter().map(|known| known.name)))
}

fn record(cx: &mut Cx<'_, '_>, before: Option<&Baseline>, after: Option<&Baseline>) -> Result<()> {
    let Some(about) = after.or(before) else { return Ok(()) };
    let subject = Subject {
        project_id: Some(&about.project_id),
        kind: "baseline",
        id: &about.id,
        reference_id: None,
        version: 1,
    };
    let before = before.map(to_value).transpose()?;
    let after = after.map(to_value).transpose()?;
    cx.record(&subject, before.as_ref(), after.as_ref())
}
