//! Decisions about threats to requirements and user stories, and the criteria against them.

use crate::db::Tx;
use crate::error::{Error, Result};
use crate::model::Time;
use crate::value::{Row, Value};
use crate::values;

/// The decision about a pattern and an entity; there is at most one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ThreatLink {
    /// The UUID.
    pub id: String,
    /// The project's id.
    pub project_id: String,
    /// The id of the requirement or the user story.
    pub entity_id: String,
    /// The pattern's id.
    pub pattern: String,
    /// The version of the pattern at that time.
    pub pattern_version: String,
    /// Its name at that time.
    pub name: String,
    /// Its severity at that time.
    pub severity: String,
    /// What was decided.
    pub decision: Decision,
    /// The reason.
    pub reason: Option<String>,
    /// The common words of text and pattern.
    pub signs: Vec<String>,
    /// The owner of an accepted risk.
    pub owner_id: Option<String>,
    /// The owner's name.
    pub owner: Option<String>,
    /// Until when it is accepted.
    pub review_by: Option<Time>,
    /// The version of the text at that time.
    pub content_version: i64,
    /// Who decided.
    pub actor_id: String,
    /// The name of who decided.
    pub actor: String,
    /// The number of decisions so far.
    pub version: i64,
    /// When it was first decided.
    pub created_at: Time,
    /// When it was last decided.
    pub updated_at: Time,
}

/// The decisions about a threat.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// It applies.
    Applies,
    /// It does not apply.
    NotApplicable,
    /// It applies, but the risk is accepted for a while.
    RiskAccepted,
}

impl Decision {
    /// All decisions.
    pub const ALL: [Decision; 3] = [Decision::Applies, Decision::NotApplicable, Decision::RiskAccepted];

    /// Its name in the store and in arguments.
    pub const fn name(self) -> &'static str {
        match self {
            Decision::Applies => "applies",
            Decision::NotApplicable => "not_applicable",
            Decision::RiskAccepted => "risk_accepted",
        }
    }

    fn read(name: &str) -> Result<Decision> {
        let found = Decision::ALL.into_iter().find(|decision| decision.name() == name);
        found.ok_or_else(|| Error::internal(format!("there is no decision {name:?}")))
    }
}

/// Adds a decision.
pub fn insert(tx: &mut Tx<'_>, new: &ThreatLink) -> Result<()> {
    let sql = "insert into threat_link (id, project_id, entity_id, pattern, pattern_version, name, severity, decision, reason,
                   signs, owner_id, review_by, content_version, actor_id, version, created_at, updated_at)
               values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17)";
    let values = values![
        &new.id,
        &new.project_id,
        &new.entity_id,
        &new.pattern,
        &new.pattern_version,
        &new.name,
        &new.severity,
        new.decision.name(),
        &new.reason,
        Value::List(&new.signs),
        &new.owner_id,
        new.review_by,
        new.content_version,
        &new.actor_id,
        new.version,
        new.created_at,
        new.updated_at,
    ];
    tx.execute(sql, values)?;
    Ok(())
}

/// Changes a decision; false if another change was faster.
pub fn update(tx: &mut Tx<'_>, new: &ThreatLink) -> Result<bool> {
    let sql = "update threat_link set pattern_version = ?2, name = ?3, severity = ?4, decision = ?5, reason = ?6, signs = ?7,
                   owner_id = ?8, review_by = ?9, content_version = ?10, actor_id = ?11, version = ?12, updated_at = ?13
               where id = ?1 and version = ?12 - 1";
    let values = values![
        &new.id,
        &new.pattern_version,
        &new.name,
        &new.severity,
        new.decision.name(),
        &new.reason,
        Value::List(&new.signs),
        &new.owner_id,
        new.review_by,
        new.content_version,
        &new.actor_id,
        new.version,
        new.updated_at,
    ];
    Ok(tx.execute(sql, values)? == 1)
}

macro_rules! select {
    ($from:literal) => {
        concat!(
            "select t.id, t.project_id, t.entity_id, t.pattern, t.pattern_version, t.name, t.severity, t.decision, t.reason, t.signs,
                    t.owner_id, owner.username, t.review_by, t.content_version, t.actor_id, coalesce(actor.username, ''), t.version,
                    t.created_at, t.updated_at
             from ",
            $from,
            " left join user_account owner on owner.id = t.owner_id left join user_account actor on actor.id = t.actor_id "
        )
    };
}

/// The decision about a pattern and an entity.
pub fn find(tx: &mut Tx<'_>, entity_id: &str, pattern: &str) -> Result<Option<ThreatLink>> {
    let sql = concat!(select!("threat_link t"), "where t.entity_id = ?1 and t.pattern = ?2");
    tx.row(sql, values![entity_id, pattern], read)
}

/// The decisions about entities, in the order of their patterns.
pub fn of_entities(tx: &mut Tx<'_>, entity_ids: &[&str]) -> Result<Vec<ThreatLink>> {
    let sql = if tx.is_postgres() {
        concat!(
            select!(
                "unnest(string_to_array(?1, ',')) wanted (id) join threat_link t on t.entity_id = wanted.id"
            ),
            "order by t.pattern, t.id"
        )
    } else {
        concat!(
            select!("json_each(?1) wanted cross join threat_link t on t.entity_id = wanted.value"),
            "order by t.pattern, t.id"
        )
    };
    let ids = tx.list(entity_ids);
    tx.rows(sql, values![&ids], read)
}

/// The decisions about a pattern, oldest first.
pub fn of_pattern(tx: &mut Tx<'_>, pattern: &str, limit: i64) -> Result<Vec<ThreatLink>> {
    let sql = concat!(select!("threat_link t"), "where t.pattern = ?1 order by t.id limit ?2");
    tx.rows(sql, values![pattern, limit], read)
}

/// The ids of a project's entities with decisions after a given id, sorted.
pub fn decided_after(tx: &mut Tx<'_>, project_id: &str, after: &str, limit: i64) -> Result<Vec<String>> {
    let sql = "select distinct t.entity_id from threat_link t where t.project_id = ?1 and t.entity_id > ?2
               order by t.entity_id limit ?3";
    tx.rows(sql, values![project_id, after, limit], |row| row.get(0))
}

/// Records that a criterion is against a threat, if that is new.
pub fn add_criterion(tx: &mut Tx<'_>, link_id: &str, criterion_id: &str, now: Time) -> Result<()> {
    let sql = "insert into threat_criterion (link_id, criterion_id, created_at) values (?1, ?2, ?3) on conflict do nothing";
    tx.execute(sql, values![link_id, criterion_id, now])?;
    Ok(())
}

/// The existing criteria of decisions, as pairs of the decision's id and the criterion's.
pub fn criteria_of(tx: &mut Tx<'_>, link_ids: &[&str]) -> Result<Vec<(String, String)>> {
    let sql = if tx.is_postgres() {
        "select c.link_id, c.criterion_id from unnest(string_to_array(?1, ',')) wanted (id)
         join threat_criterion c on c.link_id = wanted.id join entity e on e.id = c.criterion_id
         where e.deleted_at is null order by c.link_id, e.number"
    } else {
        "select c.link_id, c.criterion_id from json_each(?1) wanted
         cross join threat_criterion c on c.link_id = wanted.value cross join entity e on e.id = c.criterion_id
         where e.deleted_at is null order by c.link_id, e.number"
    };
    let ids = tx.list(link_ids);
    tx.rows(sql, values![&ids], |row| Ok((row.get(0)?, row.get(1)?)))
}

/// The existing criteria of a story against a pattern, whatever it threatens in the story.
pub fn criteria_in_story(tx: &mut Tx<'_>, story_id: &str, pattern: &str) -> Result<Vec<String>> {
    let sql = "select distinct e.id, e.number from entity e join threat_criterion c on c.criterion_id = e.id
               join threat_link t on t.id = c.link_id
               where e.parent_id = ?1 and e.kind = 'acceptance_criteria' and e.deleted_at is null and t.pattern = ?2
               order by e.number";
    tx.rows(sql, values![story_id, pattern], |row| row.get(0))
}

/// The decisions of criteria, as pairs of the criterion's id and the decision.
pub fn against(tx: &mut Tx<'_>, criterion_ids: &[&str]) -> Result<Vec<(String, ThreatLink)>> {
    macro_rules! with_criterion {
        ($from:literal) => {
            concat!(
                "select t.id, t.project_id, t.entity_id, t.pattern, t.pattern_version, t.name, t.severity, t.decision, t.reason,
                        t.signs, t.owner_id, owner.username, t.review_by, t.content_version, t.actor_id,
                        coalesce(actor.username, ''), t.version, t.created_at, t.updated_at, c.criterion_id
                 from ",
                $from,
                " left join user_account owner on owner.id = t.owner_id left join user_account actor on actor.id = t.actor_id
                 order by c.criterion_id, t.pattern, t.id"
            )
        };
    }
    let sql = if tx.is_postgres() {
        with_criterion!(
            "unnest(string_to_array(?1, ',')) wanted (id) join threat_criterion c on c.criterion_id = wanted.id
             join threat_link t on t.id = c.link_id"
        )
    } else {
        with_criterion!(
            "json_each(?1) wanted cross join threat_criterion c on c.criterion_id = wanted.value
             cross join threat_link t on t.id = c.link_id"
        )
    };
    let ids = tx.list(criterion_ids);
    tx.rows(sql, values![&ids], |row| Ok((row.get(19)?, read(row)?)))
}

/// Removes the decisions about a purged entity: reasons and signs may quote its text.
pub fn purge(tx: &mut Tx<'_>, entity_id: &str) -> Result<()> {
    tx.execute("delete from threat_link where entity_id = ?1", values![entity_id])?;
    tx.execute("delete from threat_criterion where criterion_id = ?1", values![entity_id])?;
    Ok(())
}

/// Serializes changes of the threats to a story and its requirements, so that criteria are not created twice.
pub fn lock(tx: &mut Tx<'_>, story_id: &str) -> Result<()> {
    tx.lock(&format!("threats to {story_id}"))
}

fn read(row: &Row<'_>) -> Result<ThreatLink> {
    let signs: Option<String> = row.get(9)?;
    Ok(ThreatLink {
        id: row.get(0)?,
        project_id: row.get(1)?,
        entity_id: row.get(2)?,
        pattern: row.get(3)?,
        pattern_version: row.get(4)?,
        name: row.get(5)?,
        severity: row.get(6)?,
        decision: Decision::read(row.text(7)?)?,
        reason: row.get(8)?,
        signs: signs.and_then(|signs| serde_json::from_str(&signs).ok()).unwrap_or_default(),
        owner_id: row.get(10)?,
        owner: row.get(11)?,
        review_by: row.get(12)?,
        content_version: row.get(13)?,
        actor_id: row.get(14)?,
        actor: row.get(15)?,
        version: row.get(16)?,
        created_at: row.get(17)?,
        updated_at: row.get(18)?,
    })
}
