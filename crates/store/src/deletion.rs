//! Deletions. Everything that a deletion removes refers to it, so that all of it can be restored at once.

use schemars::JsonSchema;
use serde::Serialize;

use crate::db::{Shape, Tx};
use crate::entity::read_kind;
use crate::error::Result;
use crate::model::{Time, reference_id};
use crate::tally::{self, Total};
use crate::value::Row;
use crate::values;

/// A deletion that is being made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Deletion {
    /// The UUID.
    pub id: String,
    /// Who deletes.
    pub actor_id: String,
    /// When.
    pub at: Time,
}

impl Deletion {
    /// Records the root. It must be recorded before anything refers to it.
    pub fn note(&self, tx: &mut Tx<'_>, project_id: &str, root_id: &str) -> Result<()> {
        let sql = "insert into deletion (id, project_id, root_id, actor_id, deleted_at) values (?1, ?2, ?3, ?4, ?5)";
        tx.execute(sql, values![&self.id, project_id, root_id, &self.actor_id, self.at])?;
        Ok(())
    }
}

/// A deletion that can be taken back: what it began with, and what went with that.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct DeletedThing {
    /// The UUID of the deletion.
    pub id: String,
    /// The kind of what was deleted: `epic`, `requirement`, `comment`.
    pub kind: String,
    /// Its reference id; of a comment, what it is about.
    pub reference_id: String,
    /// The id of the comment, where it is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub comment_id: Option<String>,
    /// Its title, or the beginning of its text.
    pub title: String,
    /// Its version.
    pub version: i64,
    /// How many entities went in all, itself included; none for a comment.
    pub n_entities: i64,
    /// The reference ids of the first of them.
    pub references: Vec<String>,
    /// The name of who deleted it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deleted_by: Option<String>,
    /// When.
    pub deleted_at: Time,
    /// When its text was erased for good, if it was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub purged_at: Option<Time>,
}

/// The position of a deletion: its time in microseconds, and its id.
pub type Place = (i64, String);

/// How many reference ids are listed for each.
const REFERENCES_MAX: i64 = 10;

/// The deletions of a project that were not restored. The root refers to the deletion while it is deleted by it.
const OPEN: &str = " from deletion d
    left join entity e on e.id = d.root_id and e.deletion_id = d.id
    left join comment c on c.id = d.root_id and c.deletion_id = d.id";

/// A page of the deletions of a project after a position, newest first.
pub fn list(
    tx: &mut Tx<'_>,
    project_id: &str,
    after: Option<&Place>,
    limit: i64,
    offset: i64,
) -> Result<Vec<DeletedThing>> {
    let mut shape = Shape::new(
        "select page.id, p.key, a.kind, a.number, page.comment_id, page.title, page.version, u.username, page.deleted_at, page.purged_at
         from (select d.id, d.project_id, coalesce(e.id, c.entity_id) as about_id, c.id as comment_id,
                      coalesce(e.title, substr(e.description, 1, 100), substr(c.content, 1, 100)) as title,
                      coalesce(e.version, c.version) as version, d.actor_id, d.deleted_at,
                      coalesce(e.purged_at, c.purged_at) as purged_at",
    );
    shape.add(OPEN, &[]);
    restrict(&mut shape, project_id);
    if let Some((time, id)) = after {
        let condition = "d.deleted_at <= ? and (d.deleted_at < ? or d.id < ?)";
        shape.condition(condition, values![*time, *time, id]);
    }
    shape.add(" order by d.deleted_at desc, d.id desc limit ? offset ?", values![limit, offset]);
    shape.add(
        ") page join project p on p.id = page.project_id join entity a on a.id = page.about_id
         left join user_account u on u.id = page.actor_id order by page.deleted_at desc, page.id desc",
        &[],
    );
    let mut found = tx.shaped_rows(&shape, read)?;
    for (key, deleted) in &mut found {
        let sql =
            "select kind, number from entity where deletion_id = ?1 order by created_at, number limit ?2";
        deleted.references = tx.rows(sql, values![&deleted.id, REFERENCES_MAX], |row| {
            Ok(reference_id(key, read_kind(row.text(0)?)?, row.get(1)?))
        })?;
        let sql = "select count(*) from entity where deletion_id = ?1";
        deleted.n_entities = tx.row(sql, values![&deleted.id], |row| row.get(0))?.unwrap_or_default();
    }
    Ok(found.into_iter().map(|(_, deleted)| deleted).collect())
}

/// The number of deletions on all pages.
pub fn count(tx: &mut Tx<'_>, project_id: &str) -> Result<Total> {
    let mut shape = Shape::new("select 1");
    shape.add(OPEN, &[]);
    restrict(&mut shape, project_id);
    tally::counted(tx, shape)
}

fn restrict<'a>(shape: &mut Shape<'a>, project_id: &'a str) {
    shape.condition("d.project_id = ?", values![project_id]);
    shape.condition("coalesce(e.id, c.id) is not null", &[]);
}

fn read(row: &Row<'_>) -> Result<(String, DeletedThing)> {
    let key: String = row.get(1)?;
    let kind = read_kind(row.text(2)?)?;
    let comment_id: Option<String> = row.get(4)?;
    let deleted = DeletedThing {
        id: row.get(0)?,
        kind: if comment_id.is_some() { "comment" } else { kind.name() }.to_owned(),
        reference_id: reference_id(&key, kind, row.get(3)?),
        comment_id,
        title: row.get::<Option<String>>(5)?.unwrap_or_default(),
        version: row.get(6)?,
        n_entities: 0,
        references: Vec::new(),
        deleted_by: row.get(7)?,
        deleted_at: row.get(8)?,
        purged_at: row.get(9)?,
    };
    Ok((key, deleted))
}
