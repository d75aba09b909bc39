//! Comments on entities, in threads, possibly anchored to a passage of the text.

use schemars::JsonSchema;
use serde::Serialize;

use crate::db::{Shape, Tx};
use crate::deletion::Deletion;
use crate::entity::{Entity, read_kind};
use crate::error::Result;
use crate::model::{Kind, Time, reference_id};
use crate::project::Projects;
use crate::search;
use crate::tally::{self, Dimension, Total};
use crate::value::{Row, Value};
use crate::values;

/// A comment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Comment {
    /// The UUID.
    pub id: String,
    /// The project's UUID.
    #[serde(skip)]
    pub project_id: String,
    /// The UUID of what it is on.
    pub entity_id: String,
    /// The reference id of what it is on.
    pub entity: String,
    /// The kind of what it is on.
    pub entity_kind: Kind,
    /// The comment that it answers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent_id: Option<String>,
    /// Who wrote it.
    pub author_id: String,
    /// The name of who wrote it.
    pub author: String,
    /// The text, in Markdown.
    pub content: String,
    /// The passage of the description that it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quote: Option<String>,
    /// Where the passage begins, in characters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub anchor_start: Option<i64>,
    /// Where it ends.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub anchor_end: Option<i64>,
    /// Whether the passage is no longer in the text.
    pub detached: bool,
    /// Whether it is settled.
    pub resolved: bool,
    /// Goes up by one with each change.
    pub version: i64,
    /// When it was written.
    pub created_at: Time,
    /// When it was last changed.
    pub updated_at: Time,
    /// When it was deleted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deleted_at: Option<Time>,
    /// The deletion that it went with.
    #[serde(skip)]
    pub deletion_id: Option<String>,
    /// When its text was erased for good.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub purged_at: Option<Time>,
}

macro_rules! select {
    ($rest:expr) => {
        concat!(
            "select c.id, c.project_id, c.entity_id, p.key, e.kind, e.number, c.parent_id, c.author_id, u.username,
                    c.content, c.quote, c.anchor_start, c.anchor_end, c.detached, c.resolved, c.version, c.created_at,
                    c.updated_at, c.deleted_at, c.deletion_id, c.purged_at
             from comment c join entity e on e.id = c.entity_id join project p on p.id = c.project_id
             join user_account u on u.id = c.author_id ",
            $rest
        )
    };
}

/// Which comments to list.
#[derive(Clone, Debug, Default)]
pub struct CommentFilter {
    /// The id of the entity.
    pub entity_id: Option<String>,
    /// The id of the author.
    pub author_id: Option<String>,
    /// Settled or not.
    pub resolved: Option<bool>,
    /// In which projects.
    pub projects: Projects,
    /// Include deleted ones.
    pub include_deleted: bool,
}

/// The comment with this id, deleted or not.
pub fn find(tx: &mut Tx<'_>, id: &str) -> Result<Option<Comment>> {
    tx.row(select!("where c.id = ?1"), values![id], read)
}

/// The comments with these ids.
pub(crate) fn of_ids(tx: &mut Tx<'_>, ids: &[&str]) -> Result<Vec<Comment>> {
    let sql = if tx.is_postgres() {
        select!("where c.id in (select unnest(string_to_array(?1, ',')))")
    } else {
        select!("where c.id in (select value from json_each(?1))")
    };
    let ids = tx.list(ids);
    tx.rows(sql, values![&ids], read)
}

impl CommentFilter {
    /// Adds the conditions on comments `c`.
    fn restrict<'a>(&'a self, shape: &mut Shape<'a>) {
        if let Some(entity_id) = &self.entity_id {
            shape.condition("c.entity_id = ?", values![entity_id]);
        }
        if let Some(author_id) = &self.author_id {
            shape.condition("c.author_id = ?", values![author_id]);
        }
        if let Some(resolved) = self.resolved {
            shape.condition("c.resolved = ?", values![resolved]);
        }
        if !self.include_deleted {
            shape.condition("c.deleted_at is null", &[]);
        }
        self.projects.restrict(shape, "c.project_id");
    }
}

/// The position of a comment: its creation time in microseconds, and its id.
pub type Place = (i64, String);

/// A page of comments after a position, oldest first.
pub fn list(
    tx: &mut Tx<'_>,
    filter: &CommentFilter,
    after: Option<&Place>,
    limit: i64,
    offset: i64,
) -> Result<Vec<Comment>> {
    let mut shape = Shape::new(select!(""));
    filter.restrict(&mut shape);
    if let Some((time, id)) = after {
        let condition = "c.created_at >= ? and (c.created_at > ? or c.id > ?)";
        shape.condition(condition, values![*time, *time, id]);
    }
    shape.add(" order by c.created_at, c.id limit ? offset ?", values![limit, offset]);
    tx.shaped_rows(&shape, read)
}

/// The number on all pages.
pub fn count(tx: &mut Tx<'_>, filter: &CommentFilter) -> Result<Total> {
    let CommentFilter { entity_id, author_id, resolved, projects, include_deleted } = filter;
    if entity_id.is_none() && author_id.is_none() && !include_deleted {
        let wanted = resolved.map(|resolved| Value::Text(if resolved { "1" } else { "0" }));
        let wanted = wanted.as_slice();
        return tally::sum(tx, "comment", projects, Dimension::Resolved, wanted).map(Total::exact);
    }
    let mut shape = Shape::new("select 1 from comment c");
    filter.restrict(&mut shape);
    tally::counted(tx, shape)
}

/// Comments of an entity that are or were anchored to its text. Including deleted ones, which may be restored.
pub fn anchored(tx: &mut Tx<'_>, entity_id: &str) -> Result<Vec<Comment>> {
    tx.rows(select!("where c.entity_id = ?1 and c.quote is not null"), values![entity_id], read)
}

/// Adds a comment.
pub fn insert(tx: &mut Tx<'_>, new: &Comment) -> Result<()> {
    let sql =
        "insert into comment (project_id, id, entity_id, entity_kind, parent_id, author_id, content, quote,
                   anchor_start, anchor_end, detached, resolved, version, created_at, updated_at)
               values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15)";
    let values = values![
        &new.project_id,
        &new.id,
        &new.entity_id,
        new.entity_kind.name(),
        &new.parent_id,
        &new.author_id,
        &new.content,
        &new.quote,
        new.anchor_start,
        new.anchor_end,
        new.detached,
        new.resolved,
        new.version,
        new.created_at,
        new.updated_at,
    ];
    tx.execute(sql, values)?;
    search::put_comment(tx, new)
}

/// Stores a changed comment; false if another change was faster.
pub fn update(tx: &mut Tx<'_>, changed: &Comment) -> Result<bool> {
    let sql = "update comment set content = ?2, resolved = ?3, version = ?4, updated_at = ?5
               where id = ?1 and version = ?4 - 1";
    let values =
        values![&changed.id, &changed.content, changed.resolved, changed.version, changed.updated_at];
    let is_written = tx.execute(sql, values)? == 1;
    if is_written {
        search::put_comment(tx, changed)?;
    }
    Ok(is_written)
}

/// Moves the anchor of a comment after the text has changed. This is not a change of the comment.
pub fn move_anchor(tx: &mut Tx<'_>, id: &str, anchor: Option<(i64, i64)>) -> Result<()> {
    let sql = "update comment set anchor_start = ?2, anchor_end = ?3, detached = ?4 where id = ?1";
    let (start, end) = anchor.unzip();
    tx.execute(sql, values![id, start, end, anchor.is_none()])?;
    Ok(())
}

/// Locks the comments on an entity against replies and deletions until the commit.
pub fn lock_threads(tx: &mut Tx<'_>, entity_id: &str) -> Result<()> {
    tx.lock(&format!("comments on {entity_id}"))
}

/// The comment `?1` and all live answers to it.
macro_rules! with_thread {
    ($rest:literal) => {
        concat!(
            "with recursive thread (id) as (
                 select id from comment where id = ?1
                 union all
                 select c.id from comment c join thread on c.parent_id = thread.id where c.deleted_at is null
             ) ",
            $rest
        )
    };
}

/// Marks a comment and its replies as deleted; false if another change was faster.
pub fn delete(tx: &mut Tx<'_>, gone: &Comment, deletion: &Deletion) -> Result<bool> {
    deletion.note(tx, &gone.project_id, &gone.id)?;
    let sql = with_thread!(
        "update comment set deleted_at = ?2, deletion_id = ?3, version = version + 1, updated_at = ?2
         where deleted_at is null and id in (select id from thread)"
    );
    tx.execute(sql, values![&gone.id, deletion.at, &deletion.id])?;
    search::mark_deleted(tx, &deletion.id)?;
    Ok(find(tx, &gone.id)?.is_some_and(|found| found.deletion_id.as_ref() == Some(&deletion.id)))
}

/// The number of existing replies to a comment, including indirect ones.
pub fn count_answers(tx: &mut Tx<'_>, id: &str) -> Result<usize> {
    let count: i64 = tx
        .row(with_thread!("select count(*) from thread"), values![id], |row| row.get(0))?
        .unwrap_or_default();
    Ok(usize::try_from(count - 1).unwrap_or_default())
}

/// Erases the text of a deleted comment.
pub fn purge(tx: &mut Tx<'_>, id: &str, now: Time) -> Result<()> {
    let sql = "update comment set content = '(purged)', quote = null, anchor_start = null, anchor_end = null,
                   purged_at = ?2, version = version + 1, updated_at = ?2
               where id = ?1";
    tx.execute(sql, values![id, now])?;
    search::remove(tx, id)
}

/// The comments of a deletion.
pub fn of_deletion(tx: &mut Tx<'_>, deletion_id: &str) -> Result<Vec<Comment>> {
    tx.rows(select!("where c.deletion_id = ?1 order by c.created_at, c.id"), values![deletion_id], read)
}

/// A page of a project's comments that were not purged, by time. Comments on purged entities are left
/// out, and without `include_deleted` also deleted ones.
pub fn page_of_project(
    tx: &mut Tx<'_>,
    project_id: &str,
    include_deleted: bool,
    (time, id): (Time, &str),
    limit: i64,
) -> Result<Vec<Comment>> {
    let sql = select!(
        "where c.project_id = ?1 and (c.created_at, c.id) > (?3, ?4) and (c.deleted_at is null or ?2 = 1)
           and c.purged_at is null and e.purged_at is null
         order by c.created_at, c.id limit ?5"
    );
    tx.rows(sql, values![project_id, include_deleted, time, id, limit], read)
}

/// The position of a passage in a text, in characters: the occurrence nearest to the previous one. Quotes come from the
/// rendered text, so
/// they may lack Markdown syntax, and all white space is equal.
pub fn locate(entity: &Entity, quote: &str, near: Option<i64>) -> Option<(i64, i64)> {
    let text = entity.description.as_deref()?;
    let near = near.unwrap_or(0);
    let length = quote.chars().count() as i64;
    let starts = text.match_indices(quote).map(|(bytes, _)| text[..bytes].chars().count() as i64);
    if let Some(start) = starts.min_by_key(|start| (start - near).abs()) {
        return Some((start, start + length));
    }
    let (text, wanted) = (seen(text), seen(quote));
    if wanted.is_empty() || wanted.len() > text.len() {
        return None;
    }
    let is_same = |window: &[(char, i64)]| window.iter().zip(&wanted).all(|(one, other)| one.0 == other.0);
    let places = text.windows(wanted.len()).filter(|window| is_same(window));
    let places = places.map(|window| (window[0].1, window[window.len() - 1].1 + 1));
    places.min_by_key(|(start, _)| (start - near).abs())
}

/// The visible characters of a text, each with its position: without Markdown syntax and URLs of links, and with single
/// spaces between words.
fn seen(text: &str) -> Vec<(char, i64)> {
    let mut seen: Vec<(char, i64)> = Vec::new();
    let mut is_address = false;
    let mut last = None;
    for (place, character) in text.chars().enumerate() {
        let place = place as i64;
        match character {
            '(' if last == Some(']') => is_address = true,
            ')' if is_address => is_address = false,
            _ if is_address => {}
            '*' | '_' | '`' | '#' | '>' | '[' | ']' | '~' | '|' | '\\' => {}
            blank if blank.is_whitespace() => {
                if seen.last().is_some_and(|(before, _)| *before != ' ') {
                    seen.push((' ', place));
                }
            }
            character => seen.push((character, place)),
        }
        last = Some(character);
    }
    while seen.last().is_some_and(|(character, _)| *character == ' ') {
        seen.pop();
    }
    seen
}

fn read(row: &Row<'_>) -> Result<Comment> {
    let entity_kind = read_kind(&row.get::<String>(4)?)?;
    let key: String = row.get(3)?;
    Ok(Comment {
        id: row.get(0)?,
        project_id: row.get(1)?,
        entity_id: row.get(2)?,
        entity: reference_id(&key, entity_kind, row.get(5)?),
        entity_kind,
        parent_id: row.get(6)?,
        author_id: row.get(7)?,
        author: row.get(8)?,
        content: row.get(9)?,
        quote: row.get(10)?,
        anchor_start: row.get(11)?,
        anchor_end: row.get(12)?,
        detached: row.get(13)?,
        resolved: row.get(14)?,
        version: row.get(15)?,
        created_at: row.get(16)?,
        updated_at: row.get(17)?,
        deleted_at: row.get(18)?,
        deletion_id: row.get(19)?,
        purged_at: row.get(20)?,
    })
}
