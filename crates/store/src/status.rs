//! Status models: which statuses a kind of entity has, and which may follow which.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::db::Tx;
use crate::error::{Error, Result};
use crate::model::{Kind, Time};
use crate::types::{fold, same_name};
use crate::values;

/// The statuses of a kind of entity.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct StatusModel {
    /// The kind.
    pub entity_kind: Kind,
    /// The statuses, in their order.
    pub statuses: Vec<Status>,
    /// Which status may follow which; none stored means that all may.
    pub transitions: Vec<Transition>,
    /// Goes up by one with each change.
    pub version: i64,
    /// When it was last changed.
    pub updated_at: Time,
}

/// A status.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Status {
    /// The name.
    pub name: String,
    /// The colour to show it in, such as `#2563eb`.
    #[serde(default = "grey")]
    pub colour: String,
    /// Whether new entities get it; exactly one status is the initial one.
    #[serde(default)]
    pub initial: bool,
    /// Whether work ends with it.
    #[serde(default, rename = "final")]
    pub is_final: bool,
    /// How work ends with it, where it is final. When absent it is what the status had before, or what its name suggests.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<StatusOutcome>,
}

/// How work ends with a final status.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum StatusOutcome {
    /// It was done.
    Done,
    /// It was given up before it was done.
    Cancelled,
    /// It is no longer wanted.
    Obsolete,
}

impl StatusOutcome {
    /// All outcomes.
    pub const ALL: [StatusOutcome; 3] =
        [StatusOutcome::Done, StatusOutcome::Cancelled, StatusOutcome::Obsolete];

    /// The name in the store and in arguments.
    pub const fn name(self) -> &'static str {
        match self {
            StatusOutcome::Done => "done",
            StatusOutcome::Cancelled => "cancelled",
            StatusOutcome::Obsolete => "obsolete",
        }
    }

    /// The outcome with this name.
    pub fn from_name(name: &str) -> Option<StatusOutcome> {
        StatusOutcome::ALL.into_iter().find(|outcome| outcome.name() == name)
    }

    /// The outcome that the name of a final status suggests.
    pub fn suggested_by(name: &str) -> StatusOutcome {
        match fold(name).as_str() {
            "cancelled" | "canceled" | "rejected" | "declined" | "abandoned" | "withdrawn" | "duplicate"
            | "won't do" | "wontfix" => StatusOutcome::Cancelled,
            "obsolete" | "deprecated" | "superseded" | "retired" => StatusOutcome::Obsolete,
            _ => StatusOutcome::Done,
        }
    }

    /// The stored outcome of a status; none if it is not final. Servers of the previous version store no outcome.
    pub(crate) fn read(name: &str, is_final: bool, stored: Option<&str>) -> Option<StatusOutcome> {
        let stored = stored.and_then(StatusOutcome::from_name);
        is_final.then(|| stored.unwrap_or_else(|| StatusOutcome::suggested_by(name)))
    }
}

/// A change of status that is allowed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Transition {
    /// The status before.
    pub from: String,
    /// The status after.
    pub to: String,
}

fn grey() -> String {
    "#6b7280".to_owned()
}

impl StatusModel {
    /// The status with a name in any spelling: any case, `in_progress` and `inprogress` for `In Progress`, `canceled`, too.
    pub fn status(&self, text: &str) -> Option<&Status> {
        let text = if text.trim().eq_ignore_ascii_case("canceled") { "cancelled" } else { text };
        self.statuses.iter().find(|status| same_name(&status.name, text))
    }

    /// The status of new entities.
    pub fn initial(&self) -> Option<&Status> {
        self.statuses.iter().find(|status| status.initial)
    }

    /// Whether one status may follow another.
    pub fn allows(&self, from: &str, to: &str) -> bool {
        self.transitions.is_empty()
            || from == to
            || self.transitions.iter().any(|transition| transition.from == from && transition.to == to)
    }
}

/// The model of a kind.
pub fn model(tx: &mut Tx<'_>, kind: Kind) -> Result<Option<StatusModel>> {
    let head = "select version, updated_at from status_model where entity_kind = ?1";
    let Some((version, updated_at)) =
        tx.row(head, values![kind.name()], |row| Ok((row.get(0)?, row.get(1)?)))?
    else {
        return Ok(None);
    };
    let statuses = "select name, colour, is_initial, is_final, outcome from status where entity_kind = ?1 order by position, name";
    let statuses = tx.rows(statuses, values![kind.name()], |row| {
        let (name, is_final): (String, bool) = (row.get(0)?, row.get(3)?);
        let outcome = StatusOutcome::read(&name, is_final, row.get::<Option<String>>(4)?.as_deref());
        Ok(Status { name, colour: row.get(1)?, initial: row.get(2)?, is_final, outcome })
    })?;
    let transitions = "select from_status, to_status from status_transition where entity_kind = ?1
                       order by from_status, to_status";
    let transitions = tx.rows(transitions, values![kind.name()], |row| {
        Ok(Transition { from: row.get(0)?, to: row.get(1)? })
    })?;
    Ok(Some(StatusModel { entity_kind: kind, statuses, transitions, version, updated_at }))
}

/// The model of a kind that has statuses.
pub fn of(tx: &mut Tx<'_>, kind: Kind) -> Result<StatusModel> {
    model(tx, kind)?.ok_or_else(|| Error::internal(format!("{kind} has no status model")))
}

/// Stores a changed model; `renamed` pairs old and new names, and updates entities. False if another change was
/// faster.
pub fn replace(tx: &mut Tx<'_>, model: &StatusModel, renamed: &[(String, String)]) -> Result<bool> {
    let kind = model.entity_kind.name();
    let sql =
        "update status_model set version = ?2, updated_at = ?3 where entity_kind = ?1 and version = ?2 - 1";
    if tx.execute(sql, values![kind, model.version, model.updated_at])? != 1 {
        return Ok(false);
    }
    tx.execute("delete from status_transition where entity_kind = ?1", values![kind])?;
    tx.execute("update status set is_initial = 0 where entity_kind = ?1", values![kind])?;
    for (old, new) in renamed {
        let sql = "update status set name = ?3, name_folded = ?4 where entity_kind = ?1 and name = ?2";
        tx.execute(sql, values![kind, old, new, &fold(new)])?;
    }
    let before: Vec<String> =
        tx.rows("select name from status where entity_kind = ?1", values![kind], |row| row.get(0))?;
    for name in before.iter().filter(|name| model.statuses.iter().all(|status| status.name != **name)) {
        tx.execute("delete from status where entity_kind = ?1 and name = ?2", values![kind, name])?;
    }
    for (position, status) in model.statuses.iter().enumerate() {
        let sql = "insert into status (entity_kind, name, name_folded, colour, is_initial, is_final, position, outcome, mark)
                   values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8,
                           (select coalesce(max(mark), 0) + 1 from status where entity_kind = ?1))
                   on conflict (entity_kind, name) do update set colour = ?4, is_initial = ?5, is_final = ?6, position = ?7, outcome = ?8";
        let Status { name, colour, initial, is_final, outcome } = status;
        let outcome = outcome.map(StatusOutcome::name);
        let position = position as i64 + 1;
        tx.execute(sql, values![kind, name, &fold(name), colour, *initial, *is_final, position, outcome])?;
    }
    for Transition { from, to } in &model.transitions {
        let sql = "insert into status_transition (entity_kind, from_status, to_status) values (?1, ?2, ?3)
                   on conflict do nothing";
        tx.execute(sql, values![kind, from, to])?;
    }
    Ok(true)
}

/// How many entities, deleted ones included, have a status.
pub fn count(tx: &mut Tx<'_>, kind: Kind, name: &str) -> Result<i64> {
    let sql = "select count(*) from entity where kind = ?1 and status = ?2";
    Ok(tx.row(sql, values![kind.name(), name], |row| row.get(0))?.unwrap_or_default())
}
