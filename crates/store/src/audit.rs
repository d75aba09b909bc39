//! The audit trail: revisions and events of authentication in one list, the newest first.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::value::RawValue;

use crate::db::{Shape, Tx};
use crate::error::{Error, Result};
use crate::model::Time;
use crate::project::Projects;
use crate::tally::{self, Dimension, Total};
use crate::values;

/// An entry of the audit trail: a revision, or an event of authentication.
#[derive(Debug, Serialize, JsonSchema)]
pub struct AuditEntry {
    /// The UUID.
    pub id: String,
    /// What happened: the operation, or `login`, `login_failed`, `link_used`, `link_refused`, `password_changed`, `password_refused`,
    /// `token_refused`.
    pub event: String,
    /// Who did it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub actor_id: Option<String>,
    /// The name of who did it, or that was tried.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub actor: Option<String>,
    /// The token that it was done with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub token_id: Option<String>,
    /// The surface.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub via: Option<String>,
    /// The kind of what changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub entity_kind: Option<String>,
    /// The id of what changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub entity_id: Option<String>,
    /// Its version after the change.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<i64>,
    /// The fields that changed, each as `[before, after]`, of what has no history to be asked for: users, tokens, projects,
    /// types, status models and relationships.
    #[schemars(with = "Option<std::collections::BTreeMap<String, Vec<serde_json::Value>>>")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub changes: Option<Box<RawValue>>,
    /// The network address that it came from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub address: Option<String>,
    /// When.
    pub created_at: Time,
    /// The request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request_id: Option<String>,
}

/// Which entries of the audit trail to list.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    /// The id of who did it.
    pub actor_id: Option<String>,
    /// The id of what changed.
    pub entity_id: Option<String>,
    /// The event.
    pub event: Option<String>,
    /// Not before.
    pub from: Option<Time>,
    /// Not after.
    pub to: Option<Time>,
}

/// The place of an entry in the trail: when it happened, in microseconds, and its id.
pub type Place = (i64, String);

/// A page of the audit trail after a place, the newest first: the first of the revisions and of the events together.
pub fn list(
    tx: &mut Tx<'_>,
    filter: &Filter,
    after: Option<&Place>,
    limit: i64,
    offset: i64,
) -> Result<Vec<AuditEntry>> {
    let reach = limit.saturating_add(offset);
    let mut shape = Shape::new(
        "select trail.id, event, actor_id, coalesce(name, u.username), token_id, via, entity_kind, entity_id,
                trail.version, changes, address, trail.created_at, request_id
         from (select * from (
             select t.id, t.operation as event, t.actor_id, cast(null as text) as name, t.token_id, t.via, t.entity_kind,
                    t.entity_id, t.version,
                    case when t.entity_kind in ('epic', 'user_story', 'acceptance_criteria', 'requirement',
                                                'steering_document', 'comment', 'prompt') then null else t.changes end
                    as changes, cast(null as text) as address, t.created_at, t.request_id",
    );
    filter.of_revisions(&mut shape, after);
    shape.add(" order by t.created_at desc, t.id desc limit ?) revised", values![reach]);
    if filter.has_events() {
        shape.select(
        " union all select * from (
             select t.id, t.event, t.user_id, t.username, null, null, null, null, cast(null as bigint), null, t.address, t.created_at,
                    t.request_id",
    );
        filter.of_events(&mut shape, after);
        shape.add(" order by t.created_at desc, t.id desc limit ?) authenticated", values![reach]);
    }
    shape.add(") trail left join user_account u on u.id = trail.actor_id", &[]);
    shape.add(" order by trail.created_at desc, trail.id desc limit ? offset ?", values![limit, offset]);
    tx.shaped_rows(&shape, |row| {
        Ok(AuditEntry {
            id: row.get(0)?,
            event: row.get(1)?,
            actor_id: row.get(2)?,
            actor: row.get(3)?,
            token_id: row.get(4)?,
            via: row.get(5)?,
            entity_kind: row.get(6)?,
            entity_id: row.get(7)?,
            version: row.get(8)?,
            changes: row
                .get::<Option<String>>(9)?
                .map(|changes| RawValue::from_string(changes).map_err(Error::internal))
                .transpose()?,
            address: row.get(10)?,
            created_at: row.get(11)?,
            request_id: row.get(12)?,
        })
    })
}

/// How many entries a trail has.
pub fn count(tx: &mut Tx<'_>, filter: &Filter) -> Result<Total> {
    let Filter { actor_id, entity_id, event, from, to } = filter;
    if actor_id.is_none() && entity_id.is_none() && event.is_none() && from.is_none() && to.is_none() {
        let mut count = 0;
        for kind in ["revision", "authentication_event"] {
            count += tally::sum(tx, kind, &Projects::All, Dimension::All, &[])?;
        }
        return Ok(Total::exact(count));
    }
    let mut shape = Shape::new("select 1");
    filter.of_revisions(&mut shape, None);
    if filter.has_events() {
        shape.select(" union all select 1");
        filter.of_events(&mut shape, None);
    }
    tally::counted(tx, shape)
}

impl Filter {
    /// Goes on with the revisions `t` that it is about.
    fn of_revisions<'a>(&'a self, shape: &mut Shape<'a>, after: Option<&'a Place>) {
        shape.add(" from revision t", &[]);
        if let Some(actor_id) = &self.actor_id {
            shape.condition("t.actor_id = ?", values![actor_id]);
        }
        if let Some(entity_id) = &self.entity_id {
            shape.condition("t.entity_id = ?", values![entity_id]);
        }
        if let Some(event) = &self.event {
            shape.condition("t.operation = ?", values![event]);
        }
        self.restrict(shape, after);
    }

    /// Whether it can be about events of authentication, none of which changes an entity.
    fn has_events(&self) -> bool {
        self.entity_id.is_none()
    }

    /// Goes on with the events of authentication `t` that it is about.
    fn of_events<'a>(&'a self, shape: &mut Shape<'a>, after: Option<&'a Place>) {
        shape.add(" from authentication_event t", &[]);
        if let Some(actor_id) = &self.actor_id {
            shape.condition("t.user_id = ?", values![actor_id]);
        }
        if let Some(event) = &self.event {
            shape.condition("t.event = ?", values![event]);
        }
        self.restrict(shape, after);
    }

    fn restrict<'a>(&self, shape: &mut Shape<'a>, after: Option<&'a Place>) {
        if let Some(from) = self.from {
            shape.condition("t.created_at >= ?", values![from]);
        }
        if let Some(to) = self.to {
            shape.condition("t.created_at <= ?", values![to]);
        }
        if let Some((time, id)) = after {
            let condition = "t.created_at <= ? and (t.created_at < ? or t.id < ?)";
            shape.condition(condition, values![*time, *time, id]);
        }
    }
}

/// An event of authentication to be written.
#[derive(Clone, Debug, Default)]
pub struct NewEvent {
    /// Who it is, where that is known.
    pub user_id: Option<String>,
    /// The name that was given.
    pub username: Option<String>,
    /// What happened.
    pub event: &'static str,
    /// From where.
    pub address: Option<String>,
    /// In which request.
    pub request_id: Option<String>,
}

/// Writes an event of authentication.
pub fn note_authentication(tx: &mut Tx<'_>, id: &str, event: &NewEvent, now: Time) -> Result<()> {
    let sql =
        "insert into authentication_event (id, user_id, username, event, address, created_at, request_id)
               values (?1, ?2, ?3, ?4, ?5, ?6, ?7)";
    let NewEvent { user_id, username, event, address, request_id } = event;
    tx.execute(sql, values![id, user_id, username, *event, address, now, request_id])?;
    Ok(())
}

/// How many failed authentications are kept.
const REFUSALS_MAX: i64 = 10_000;

/// Forgets some of all but the last failed authentications, and returns how many. Strangers cause them, so they must not fill
/// the store.
pub fn forget_refusals(tx: &mut Tx<'_>, limit: i64) -> Result<u64> {
    let sql = "delete from authentication_event where id in (
                   select id from authentication_event
                   where event in ('login_failed', 'password_refused', 'token_refused', 'link_refused')
                   order by created_at desc, id desc limit ?2 offset ?1)";
    tx.execute(sql, values![REFUSALS_MAX, limit])
}
