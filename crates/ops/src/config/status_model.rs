//! Status models.

use schemars::JsonSchema;
use serde::Deserialize;
use store::model::Kind;
use store::status::{self, Status, StatusModel, StatusOutcome, Transition};
use store::types::same_name;

use super::{record, status_models};
use crate::context::{Cx, check_version, overtaken};
use crate::error::{Error, Result};
use crate::input::{KindName, Limit, Offset, Text, Version};
use crate::operation::{Columns, Command, Effect, Operation, Output, Route, command, get, put};
use crate::page::{Cursor, Page, page, window_from};

impl Output for StatusModel {
    fn version(&self) -> Option<i64> {
        Some(self.version)
    }
}

/// List the status models: which statuses epics, user stories and requirements have.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ListStatusModels {
    /// How many items to return; default 50.
    limit: Option<Limit>,
    /// How many items to skip.
    offset: Option<Offset>,
    /// Continue after a page: its `next_cursor`.
    cursor: Option<Cursor>,
}

impl Operation for ListStatusModels {
    type Output = Page<StatusModel>;
    const NAME: &'static str = "list_status_models";
    const COMMANDS: &'static [Command] = &[command("status-model list")];
    const ROUTES: &'static [Route] = &[get("/config/status-models")];
    const EFFECT: Effect = Effect::Reads;
    const COLUMNS: &'static [Columns] = &[(None, &["entity_kind", "statuses", "version"])];

    fn run(&self, cx: &mut Cx<'_, '_>) -> Result<Page<StatusModel>> {
        let all = status_models(cx)?;
        let (total, window) = (all.len() as i64, window_from(self.limit, self.offset, self.cursor.as_ref())?);
        let shown = all.into_iter().skip(window.1 as usize).take(window.0 as usize).collect();
        Ok(page(shown, total, window))
    }
}

/// Read the status model of a kind.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GetStatusModel {
    /// The kind: `epic`, `user_story` or `requirement`.
    kind: KindName,
}

impl Operation for GetStatusModel {
    type Output = StatusModel;
    const NAME: &'static str = "get_status_model";
    const COMMANDS: &'static [Command] = &[command("status-model show")];
    const ROUTES: &'static [Route] = &[get("/config/status-models/{kind}")];
    const EFFECT: Effect = Effect::Reads;
    const POSITIONAL: &'static [&'static str] = &["kind"];

    fn run(&self, cx: &mut Cx<'_, '_>) -> Result<StatusModel> {
        find(cx, self.kind.0)
    }
}

/// Replace the status model of a kind.
///
/// Exactly one status is the initial one. A status in use cannot be removed; rename it with `renamed`, which updates the
/// entities. Without transitions every status may follow every other. The `outcome` of a final status decides what reports
/// count as done: cancelled or obsolete work does not.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct UpdateStatusModel {
    /// The kind: `epic`, `user_story` or `requirement`.
    kind: KindName,
    /// The statuses, in their order: `[{"name": "Draft", "initial": true}, {"name": "Done", "final": true, "colour": "#15803d"},
    /// {"name": "Dropped", "final": true, "outcome": "cancelled"}]`.
    statuses: Vec<Status>,
    /// The allowed transitions: `[{"from": "Draft", "to": "Done"}]`. A renamed status may have either name.
    #[serde(default)]
    transitions: Vec<Transition>,
    /// Renamed statuses: `[{"from": "Draft", "to": "Idea"}]`.
    #[serde(default)]
    renamed: Vec<Renamed>,
    /// Reject the change if the current version differs.
    expected_version: Option<Version>,
}

/// A renamed status.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
struct Renamed {
    /// The current name.
    from: Text<1, 50>,
    /// The new name, which must be in `statuses`.
    to: Text<1, 50>,
}

/// The maximal number of statuses in a model.
const STATUSES_MAX: usize = 30;

impl Operation for UpdateStatusModel {
    type Output = StatusModel;
    const NAME: &'static str = "update_status_model";
    const COMMANDS: &'static [Command] = &[command("status-model update")];
    const ROUTES: &'static [Route] = &[put("/config/status-models/{kind}")];
    const EFFECT: Effect = Effect::Administers;
    const POSITIONAL: &'static [&'static str] = &["kind"];

    fn run(&self, cx: &mut Cx<'_, '_>) -> Result<StatusModel> {
        let before = find(cx, self.kind.0)?;
        let name = format!("the status model of {}", self.kind.0.words());
        check_version(self.expected_version, &name, before.version, &before)?;
        check_statuses(&self.statuses)?;
        let renamed = self.check_renamed(&before)?;
        // A renamed status may have either name.
        let now = |name: &String| {
            let is_gone = self.statuses.iter().all(|status| status.name != *name);
            let pair = renamed.iter().find(|(from, _)| is_gone && same_name(from, name));
            pair.map_or_else(|| name.clone(), |(_, to)| to.clone())
        };
        let transitions: Vec<Transition> = self
            .transitions
            .iter()
            .map(|one| Transition { from: now(&one.from), to: now(&one.to) })
            .collect();
        check_transitions(&self.statuses, &transitions)?;
        for gone in before.statuses.iter().filter(|old| self.statuses.iter().all(|new| new.name != old.name))
        {
            if renamed.iter().any(|(from, _)| *from == gone.name) {
                continue;
            }
            let used = status::count(cx.tx, self.kind.0, &gone.name)?;
            if used > 0 {
                let message =
                    format!("{used} entities (deleted ones included) have the status {}", gone.name);
                return Err(Error::conflict(message));
            }
        }
        let after = StatusModel {
            entity_kind: self.kind.0,
            statuses: with_outcomes(&self.statuses, &before, &renamed),
            transitions,
            version: before.version,
            updated_at: before.updated_at,
        };
        replace(cx, &before, after, &renamed)?;
        find(cx, self.kind.0)
    }
}

/// Stores a changed model.
pub(crate) fn replace(
    cx: &mut Cx<'_, '_>,
    before: &StatusModel,
    mut after: StatusModel,
    renamed: &[(String, String)],
) -> Result<()> {
    after.version = before.version + 1;
    after.updated_at = cx.now();
    if !status::replace(cx.tx, &after, renamed)? {
        return Err(overtaken(&format!("the status model of {}", after.entity_kind.words())));
    }
    record(cx, "status_model", after.entity_kind.name(), after.version, Some(before), Some(&after))
}

impl UpdateStatusModel {
    fn check_renamed(&self, before: &StatusModel) -> Result<Vec<(String, String)>> {
        let mut renamed = Vec::new();
        for (index, Renamed { from, to }) in self.renamed.iter().enumerate() {
            let place = |field: &str| format!("renamed[{index}].{field}");
            let Some(old) = before.status(from.as_str()) else {
                let names = before.statuses.iter().map(|status| status.name.as_str());
                return Err(Error::not_allowed(&place("from"), from.as_str(), names));
            };
            if self.statuses.iter().all(|status| status.name != to.as_str()) {
                let names = self.statuses.iter().map(|status| status.name.as_str());
                return Err(Error::not_allowed(&place("to"), to.as_str(), names));
            }
            let clashes = before
                .statuses
                .iter()
                .any(|other| other.name != old.name && same_name(&other.name, to.as_str()));
            if clashes {
                return Err(Error::field(
                    &place("to"),
                    format!("{:?} is the name of another status", to.as_str()),
                ));
            }
            renamed.push((old.name.clone(), to.into()));
        }
        Ok(renamed)
    }
}

/// Statuses with the outcome of each final one: as given, as before, or derived from its name.
fn with_outcomes(statuses: &[Status], before: &StatusModel, renamed: &[(String, String)]) -> Vec<Status> {
    let settled = |status: &Status| {
        let old_name =
            renamed.iter().find(|(_, to)| *to == status.name).map_or(&status.name, |(from, _)| from);
        let old = before.statuses.iter().find(|old| old.name == *old_name).and_then(|old| old.outcome);
        let by_name = || StatusOutcome::suggested_by(&status.name);
        let outcome = status.is_final.then(|| status.outcome.or(old).unwrap_or_else(by_name));
        Status { outcome, ..status.clone() }
    };
    statuses.iter().map(settled).collect()
}

/// Checks the statuses of a model.
pub(crate) fn check_statuses(statuses: &[Status]) -> Result<()> {
    let wrong = |message: String| Err(Error::field("statuses", message));
    if statuses.is_empty() || statuses.len() > STATUSES_MAX {
        return wrong(format!("expected 1 to {STATUSES_MAX} statuses, found {}", statuses.len()));
    }
    for (index, status) in statuses.iter().enumerate() {
        if let Err(message) = Text::<1, 50>::new(status.name.clone()) {
            return Err(Error::field(&format!("statuses[{index}].name"), message));
        }
        let is_colour = status.colour.len() == 7
            && status.colour.starts_with('#')
            && status.colour.bytes().skip(1).all(|byte| byte.is_ascii_hexdigit());
        if !is_colour {
            let message = format!("expected a colour such as #2563eb, found {:?}", status.colour);
            return Err(Error::field(&format!("statuses[{index}].colour"), message));
        }
        if status.outcome.is_some() && !status.is_final {
            let message = format!("only a final status has one, and {} is not final", status.name);
            return Err(Error::field(&format!("statuses[{index}].outcome"), message));
        }
        if statuses[..index].iter().any(|other| same_name(&other.name, &status.name)) {
            return wrong(format!("duplicate status {:?}", status.name));
        }
    }
    match statuses.iter().filter(|status| status.initial).count() {
        1 => Ok(()),
        count => wrong(format!("expected one initial status, found {count}")),
    }
}

/// Checks the transitions of a model.
pub(crate) fn check_transitions(statuses: &[Status], transitions: &[Transition]) -> Result<()> {
    if transitions.len() > STATUSES_MAX * STATUSES_MAX {
        return Err(Error::field("transitions", "there are more than pairs of statuses"));
    }
    for (index, Transition { from, to }) in transitions.iter().enumerate() {
        for (field, name) in [("from", from), ("to", to)] {
            if statuses.iter().all(|status| status.name != *name) {
                let names = statuses.iter().map(|status| status.name.as_str());
                return Err(Error::not_allowed(&format!("transitions[{index}].{field}"), name, names));
            }
        }
    }
    Ok(())
}

fn find(cx: &mut Cx<'_, '_>, kind: Kind) -> Result<StatusModel> {
    match status::model(cx.tx, kind)? {
        Some(model) => Ok(model),
        None => {
            let kinds = Kind::ALL.into_iter().filter(|kind| kind.has_status());
            Err(Error::not_allowed("kind", kind.name(), kinds.map(Kind::name)))
        }
    }
}
