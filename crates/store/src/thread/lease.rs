//! Leases: who works on what, and until when.
//!
//! No time of a server is used in a statement here. Expiry is decided by the database's clock, so
//! a server with a wrong clock can neither take over a valid lease nor keep an expired one.

use crate::db::Tx;
use crate::error::Result;
use crate::model::{Kind, Time, reference_id};
use crate::value::Row;
use crate::values;

/// How long a lease is valid without renewal.
pub const LEASE_S: i64 = 30 * 60;
/// How long it is valid in total.
pub const TOTAL_S: i64 = 8 * 3600;
/// How many leases a holder may have.
pub const LEASES_MAX: i64 = 3;

const SECOND: i64 = 1_000_000;

/// A lease, valid or not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lease {
    /// The entity's id.
    pub entity_id: String,
    /// The entity's reference id.
    pub reference_id: String,
    /// The project's id.
    pub project_id: String,
    /// The entity's title.
    pub title: String,
    /// The fence: increases by one whenever the entity is leased.
    pub fence: i64,
    /// The token, or the user if there was none.
    pub holder: String,
    /// The user's id.
    pub user_id: String,
    /// The user's name.
    pub username: String,
    /// The token's name, where there was one.
    pub token: Option<String>,
    /// Files and folders, as JSON.
    pub paths: String,
    /// The version of the text that the holder last got.
    pub content_version: i64,
    /// When it was leased, by the database's clock.
    pub taken_at: Time,
    /// When it expires, by the same clock.
    pub expires_at: Time,
    /// The name of the administrator who broke it.
    pub broken_by: Option<String>,
    /// Whether it is valid, by the same clock.
    pub holds: bool,
}

impl Lease {
    /// The latest time to which it can be renewed.
    pub fn ends_at(&self) -> Time {
        self.taken_at.plus_seconds(TOTAL_S)
    }
}

/// The request for a lease.
#[derive(Clone, Debug)]
pub struct NewLease<'a> {
    /// The entity's id.
    pub entity_id: &'a str,
    /// The project's id.
    pub project_id: &'a str,
    /// The id of the entity's story.
    pub story_id: Option<&'a str>,
    /// The token, or the user where there is none.
    pub holder: &'a str,
    /// The user's id.
    pub user_id: &'a str,
    /// The token's id.
    pub token_id: Option<&'a str>,
    /// Files and folders, as JSON.
    pub paths: &'a str,
    /// The version of the text.
    pub content_version: i64,
}

/// The database's clock, in microseconds: the time at which the statement began.
macro_rules! now {
    (postgres) => {
        "cast(extract(epoch from statement_timestamp()) * 1000000 as bigint)"
    };
    (sqlite) => {
        "cast(unixepoch('subsec') * 1000000 as integer)"
    };
}

/// A statement for each engine, with the clock between the parts.
macro_rules! clocked {
    ($tx:expr, $first:expr $(, $more:expr)*) => {
        if $tx.is_postgres() {
            concat!($first $(, now!(postgres), $more)*)
        } else {
            concat!($first $(, now!(sqlite), $more)*)
        }
    };
}

/// Locks out other leases in a project, and of the same holder, until the commit, because overlaps and the number of leases of a
/// holder involve several rows.
pub fn lock(tx: &mut Tx<'_>, holder: &str, project_id: &str) -> Result<()> {
    tx.lock(&format!("leases of {holder}"))?;
    tx.lock(&format!("leases in {project_id}"))
}

/// Leases an entity, if it is free and the holder has not too many leases. One statement decides and writes.
pub fn take(tx: &mut Tx<'_>, new: &NewLease<'_>) -> Result<bool> {
    let sql = clocked!(
        tx,
        "insert into lease (entity_id, project_id, story_id, fence, holder, user_id, token_id, paths, content_version, taken_at,
             expires_at)
         select cast(?1 as text), cast(?2 as text), cast(?3 as text), 1, cast(?4 as text), cast(?5 as text), cast(?6 as text),
                cast(?7 as text), cast(?8 as bigint), ",
        ", cast(?9 as bigint) + ",
        " where (select count(*) from lease mine where mine.holder = ?4 and mine.expires_at > ",
        ") < cast(?10 as bigint)
         on conflict (entity_id) do update set project_id = excluded.project_id, story_id = excluded.story_id,
             fence = lease.fence + 1, holder = excluded.holder, user_id = excluded.user_id, token_id = excluded.token_id,
             paths = excluded.paths, content_version = excluded.content_version, taken_at = excluded.taken_at,
             expires_at = excluded.expires_at, broken_by = null
         where lease.expires_at <= ",
        ""
    );
    let values = values![
        new.entity_id,
        new.project_id,
        new.story_id,
        new.holder,
        new.user_id,
        new.token_id,
        new.paths,
        new.content_version,
        LEASE_S * SECOND,
        LEASES_MAX,
    ];
    Ok(tx.execute(sql, values)? == 1)
}

/// Renews a valid lease, but not beyond [`TOTAL_S`] since it was leased.
pub fn renew(tx: &mut Tx<'_>, lease: &Lease, paths: &str) -> Result<bool> {
    let sql = clocked!(
        tx,
        "update lease set paths = ?3, expires_at = case when cast(?4 as bigint) + ",
        " < taken_at + ?5 then cast(?4 as bigint) + ",
        " else taken_at + ?5 end where entity_id = ?1 and fence = ?2 and expires_at > ",
        ""
    );
    let values = values![&lease.entity_id, lease.fence, paths, LEASE_S * SECOND, TOTAL_S * SECOND];
    Ok(tx.execute(sql, values)? == 1)
}

/// Ends a valid lease, for its holder or for the administrator who breaks it.
pub fn end(tx: &mut Tx<'_>, lease: &Lease, broken_by: Option<&str>) -> Result<bool> {
    let sql = clocked!(
        tx,
        "update lease set broken_by = ?3, expires_at = ",
        " where entity_id = ?1 and fence = ?2 and expires_at > ",
        ""
    );
    Ok(tx.execute(sql, values![&lease.entity_id, lease.fence, broken_by])? == 1)
}

/// Records that the holder got the current text.
pub fn note_told(tx: &mut Tx<'_>, entity_id: &str, fence: i64, content_version: i64) -> Result<()> {
    let sql = "update lease set content_version = ?3 where entity_id = ?1 and fence = ?2";
    tx.execute(sql, values![entity_id, fence, content_version])?;
    Ok(())
}

/// The columns of a lease `l`, with the clock in between.
macro_rules! select {
    ($tx:expr, $rest:expr $(, $more:expr)*) => {
        clocked!(
            $tx,
            "select l.entity_id, p.key, e.kind, e.number, coalesce(e.title, ''), l.project_id, l.fence, l.holder, l.user_id,
                    coalesce(u.username, ''), t.name, l.paths, l.content_version, l.taken_at, l.expires_at, b.username,
                    cast(case when l.expires_at > ",
            concat!(
                " then 1 else 0 end as bigint)
                 from lease l join entity e on e.id = l.entity_id join project p on p.id = e.project_id
                 left join user_account u on u.id = l.user_id left join token t on t.id = l.token_id
                 left join user_account b on b.id = l.broken_by ",
                $rest
            )
            $(, $more)*
        )
    };
}

/// The lease of an entity, valid or not.
pub fn of_entity(tx: &mut Tx<'_>, entity_id: &str) -> Result<Option<Lease>> {
    let sql = select!(tx, "where l.entity_id = ?1");
    tx.row(sql, values![entity_id], read)
}

/// The valid leases of a project, the first to expire first.
pub fn in_project(tx: &mut Tx<'_>, project_id: &str, limit: i64, offset: i64) -> Result<Vec<Lease>> {
    let sql = select!(
        tx,
        "where l.project_id = ?1 and l.expires_at > ",
        " order by l.expires_at, l.entity_id limit ?2 offset ?3"
    );
    tx.rows(sql, values![project_id, limit, offset], read)
}

/// The number of valid leases in a project.
pub fn count_in_project(tx: &mut Tx<'_>, project_id: &str) -> Result<i64> {
    let sql = clocked!(tx, "select count(*) from lease l where l.project_id = ?1 and l.expires_at > ", "");
    Ok(tx.row(sql, values![project_id], |row| row.get(0))?.unwrap_or_default())
}

/// The leases of a holder, the first to expire first.
pub fn held_by(tx: &mut Tx<'_>, holder: &str) -> Result<Vec<Lease>> {
    let sql = select!(tx, "where l.holder = ?1 and l.expires_at > ", " order by l.expires_at, l.entity_id");
    tx.rows(sql, values![holder], read)
}

/// The story of a holder's last lease.
pub fn last_story(tx: &mut Tx<'_>, holder: &str) -> Result<Option<String>> {
    let sql =
        "select l.story_id from lease l where l.holder = ?1 order by l.expires_at desc, l.entity_id limit 1";
    Ok(tx.row(sql, values![holder], |row| row.get::<Option<String>>(0))?.flatten())
}

fn read(row: &Row<'_>) -> Result<Lease> {
    let kind = crate::entity::read_kind(row.text(2)?)?;
    Ok(Lease {
        entity_id: row.get(0)?,
        reference_id: reference_id(row.text(1)?, kind, row.get(3)?),
        project_id: row.get(5)?,
        title: row.get(4)?,
        fence: row.get(6)?,
        holder: row.get(7)?,
        user_id: row.get(8)?,
        username: row.get(9)?,
        token: row.get(10)?,
        paths: row.get(11)?,
        content_version: row.get(12)?,
        taken_at: row.get(13)?,
        expires_at: row.get(14)?,
        broken_by: row.get(15)?,
        holds: row.get(16)?,
    })
}

/// What may be leased.
pub const KIND: Kind = Kind::Requirement;
