//! The audit trail: revisions and authentication events in one list, newest first.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value as Json};

use crate::db::{Shape, Tx};
use crate::entity::read_kind;
use crate::error::{Error, Result};
use crate::model::{Kind, Time, reference_id};
use crate::project::Projects;
use crate::tally::{self, Dimension, Total};
use crate::value::Row;
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
    /// The name of that token, unless it was revoked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub token: Option<String>,
    /// The surface.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub via: Option<String>,
    /// The kind of what changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub entity_kind: Option<String>,
    /// The id of what changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub entity_id: Option<String>,
    /// The key of the project that it is in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    /// The reference id of what changed; of a comment, what it is about; of a relationship, where it starts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reference_id: Option<String>,
    /// What it is called: a title or the beginning of a text, the name of a user, token, project or type; of a relationship, its type
    /// and where it leads. What is gone has the name that it had.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Its version after the change.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<i64>,
    /// The fields that changed, each as `[before, after]`. Long text is cut; the history of an entity has all of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub changes: Option<Map<String, Json>>,
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
pub struct AuditFilter {
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

/// The position of an entry in the trail: its time in microseconds, and its id.
pub type Place = (i64, String);

/// A page of the audit trail after a position, newest first: the first of the revisions and of the events together.
pub fn list(
    tx: &mut Tx<'_>,
    filter: &AuditFilter,
    after: Option<&Place>,
    limit: i64,
    offset: i64,
) -> Result<Vec<AuditEntry>> {
    let reach = limit.saturating_add(offset);
    let mut shape = Shape::new(
        "select trail.id, event, actor_id, coalesce(tried, u.username), token_id, via, trail.entity_kind, trail.entity_id,
                trail.version, trail.changes, address, trail.created_at, request_id, used.name, p.key,
                e.kind, e.number, pr.number, coalesce(e.title, substr(e.description, 1, 100)),
                coalesce(su.username, st.name, sp.name, pr.title, qt.name, lt.name), rt.name, te.number
         from (select * from (
             select t.id, t.operation as event, t.actor_id, cast(null as text) as tried, t.token_id, t.via, t.entity_kind,
                    t.entity_id, t.project_id, t.version,
                    t.changes, cast(null as text) as address, t.created_at, t.request_id",
    );
    filter.of_revisions(&mut shape, after);
    shape.add(" order by t.created_at desc, t.id desc limit ?) revised", values![reach]);
    if filter.has_events() {
        shape.select(
        " union all select * from (
             select t.id, t.event, t.user_id, t.username, null, null, null, null, null, cast(null as bigint), null, t.address, t.created_at,
                    t.request_id",
    );
        filter.of_events(&mut shape, after);
        shape.add(" order by t.created_at desc, t.id desc limit ?) authenticated", values![reach]);
    }
    shape.add(NAMED, &[]);
    shape.add(" order by trail.created_at desc, trail.id desc limit ? offset ?", values![limit, offset]);
    tx.shaped_rows(&shape, read)
}

/// Adds the condition on the changed entity. Ids are unique across all kinds.
const NAMED: &str = ") trail left join user_account u on u.id = trail.actor_id
    left join token used on used.id = trail.token_id
    left join project p on p.id = trail.project_id
    left join comment c on trail.entity_kind = 'comment' and c.id = trail.entity_id
    left join relationship l on trail.entity_kind = 'relationship' and l.id = trail.entity_id
    left join relationship_type rt on rt.id = l.type_id
    left join entity te on te.id = l.target_id
    left join entity e on e.id = coalesce(c.entity_id, l.source_id, trail.entity_id)
    left join prompt pr on pr.id = trail.entity_id
    left join user_account su on su.id = trail.entity_id
    left join token st on st.id = trail.entity_id
    left join project sp on sp.id = trail.entity_id
    left join requirement_type qt on qt.id = trail.entity_id
    left join relationship_type lt on lt.id = trail.entity_id";

fn read(row: &Row<'_>) -> Result<AuditEntry> {
    let changes = row.get::<Option<String>>(9)?;
    let entity_kind: Option<String> = row.get(6)?;
    let entity_id: Option<String> = row.get(7)?;
    let project: Option<String> = row.get(14)?;
    let key = project.as_deref().unwrap_or_default();
    let reference = match (row.get::<Option<String>>(15)?, row.get::<Option<i64>>(16)?) {
        (Some(kind), Some(number)) => Some(reference_id(key, read_kind(&kind)?, number)),
        _ => row.get::<Option<i64>>(17)?.map(|number| reference_id(key, Kind::Prompt, number)),
    };
    let title: Option<String> = row.get(18)?;
    let name = match (row.get::<Option<String>>(20)?, row.get::<Option<i64>>(21)?) {
        (Some(type_name), Some(target)) => {
            Some(format!("{type_name} {}", reference_id(key, Kind::Requirement, target)))
        }
        _ => title.or(row.get::<Option<String>>(19)?).or_else(|| name_in(changes.as_deref()?)),
    };
    // A status model is named by its kind.
    let name = name.or_else(|| entity_id.clone().filter(|_| entity_kind.as_deref() == Some("status_model")));
    Ok(AuditEntry {
        id: row.get(0)?,
        event: row.get(1)?,
        actor_id: row.get(2)?,
        actor: row.get(3)?,
        token_id: row.get(4)?,
        token: row.get(13)?,
        via: row.get(5)?,
        entity_kind,
        entity_id,
        project,
        reference_id: reference,
        name,
        version: row.get(8)?,
        changes: changes
            .map(|changes| serde_json::from_str(&changes).map_err(Error::internal))
            .transpose()?,
        address: row.get(10)?,
        created_at: row.get(11)?,
        request_id: row.get(12)?,
    })
}

/// The name that an entity had or got in a change.
fn name_in(changes: &str) -> Option<String> {
    let changes: Map<String, Json> = serde_json::from_str(changes).ok()?;
    let pair = ["username", "name", "key"].into_iter().find_map(|field| changes.get(field)?.as_array())?;
    pair.iter().rev().find_map(|name| name.as_str()).map(str::to_owned)
}

/// The number of entries in a trail.
pub fn count(tx: &mut Tx<'_>, filter: &AuditFilter) -> Result<Total> {
    let AuditFilter { actor_id, entity_id, event, from, to } = filter;
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

impl AuditFilter {
    /// Adds the conditions on revisions `t`.
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

    /// Whether it can include authentication events, none of which changes an entity.
    fn has_events(&self) -> bool {
        self.entity_id.is_none()
    }

    /// Adds the conditions on authentication events `t`.
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

/// Records an authentication event.
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

/// Deletes some of all but the last failed authentications, and returns how many. Anonymous callers cause them, so they must
/// not fill
/// the store.
pub fn forget_refusals(tx: &mut Tx<'_>, limit: i64) -> Result<u64> {
    let sql = "delete from authentication_event where id in (
                   select id from authentication_event
                   where event in ('login_failed', 'password_refused', 'token_refused', 'link_refused')
                   order by created_at desc, id desc limit ?2 offset ?1)";
    tx.execute(sql, values![REFUSALS_MAX, limit])
}
