//! Writes documents: their terms, including those for filters. That happens in the
//! transaction that writes the entity or comment.

use words::{Terms, terms};

use super::filter::{day_marks, id_mark, kind_mark};
use crate::comment::{self, Comment};
use crate::db::{Mode, Store, Tx};
use crate::entity::{self, Entity};
use crate::error::{Error, Result};
use crate::model::{Kind, Reference, Time};
use crate::values;

/// Indexes a new or changed entity.
pub(crate) fn put_entity(tx: &mut Tx<'_>, entity: &Entity) -> Result<()> {
    let title = match &entity.title {
        Some(title) => format!("{} {title}", entity.reference_id),
        None => entity.reference_id.clone(),
    };
    let mut marks = marks_of(entity, entity.kind, &entity.id, entity.created_at);
    marks.push(id_mark("fc", &entity.creator_id));
    marks.extend(entity.assignee_id.as_deref().map(|id| id_mark("fa", id)));
    marks.extend(entity.type_id.as_deref().map(|id| id_mark("ft", id)));
    marks.extend(entity.priority.map(|priority| format!("fp{priority}")));
    let document = NewDocument {
        id: &entity.id,
        entity,
        created_at: entity.created_at,
        updated_at: entity.updated_at,
        is_deleted: entity.deleted_at.is_some(),
        terms: terms(&title, &entity.body()),
        marks,
        status: entity.status.as_deref(),
    };
    document.put(tx)
}

/// Indexes a new or changed comment.
pub(crate) fn put_comment(tx: &mut Tx<'_>, comment: &Comment) -> Result<()> {
    let Some(entity) = entity::find(tx, &Reference::Id(comment.entity_id.clone()))? else {
        return Err(Error::internal(format!("the comment {} is on nothing", comment.id)));
    };
    let mut marks = marks_of(&entity, Kind::Comment, &comment.id, comment.created_at);
    marks.push(id_mark("fc", &comment.author_id));
    let document = NewDocument {
        id: &comment.id,
        entity: &entity,
        created_at: comment.created_at,
        updated_at: comment.updated_at,
        is_deleted: comment.deleted_at.is_some(),
        terms: terms("", &comment.content),
        marks,
        status: None,
    };
    document.put(tx)
}

/// Indexes everything below a moved entity again, including comments.
pub fn moved(tx: &mut Tx<'_>, entity_id: &str) -> Result<()> {
    let sql = "with recursive down (id) as (
                   select id from entity where id = ?1
                   union all
                   select child.id from entity child join down on child.parent_id = down.id
               )
               select d.id, d.entity_id from search_document d join down on down.id = d.entity_id order by d.number";
    let documents = tx.rows(sql, values![entity_id], |row| Ok((row.get(0)?, row.get(1)?)))?;
    for (id, entity_id) in documents {
        put_again(tx, id, entity_id)?;
    }
    Ok(())
}

/// Hides the documents of a deletion.
pub(crate) fn mark_deleted(tx: &mut Tx<'_>, deletion_id: &str) -> Result<()> {
    set_deleted(tx, deletion_id, true)
}

/// Shows the documents of a restored deletion.
pub(crate) fn mark_restored(tx: &mut Tx<'_>, deletion_id: &str) -> Result<()> {
    set_deleted(tx, deletion_id, false)
}

fn set_deleted(tx: &mut Tx<'_>, deletion_id: &str, is_deleted: bool) -> Result<()> {
    let sql = "update search_document set is_deleted = ?2
               where id in (select id from entity where deletion_id = ?1
                            union all select id from comment where deletion_id = ?1)";
    tx.execute(sql, values![deletion_id, is_deleted])?;
    Ok(())
}

/// Removes a comment, or an entity and its comments.
pub(crate) fn remove(tx: &mut Tx<'_>, id: &str) -> Result<()> {
    let sql = if tx.is_postgres() {
        "delete from search_text where number in (select number from search_document where entity_id = ?1 or id = ?1)"
    } else {
        "delete from search_index where rowid in (select number from search_document where entity_id = ?1 or id = ?1)"
    };
    tx.execute(sql, values![id])?;
    tx.execute("delete from search_document where entity_id = ?1 or id = ?1", values![id])?;
    if !tx.is_postgres() {
        // The index marks deleted terms and drops them when its segments are merged. A small index is merged here, which takes
        // a fraction of a second; `tidy_some` finishes the merge of a large one.
        tx.execute("insert into search_index (search_index, rank) values ('merge', -4000)", &[])?;
    }
    Ok(())
}

/// Merges all segments, so that searches read few of them.
pub fn tidy(store: &Store) -> Result<()> {
    while store.wait(Mode::Aside, tidy_some)? {}
    Ok(())
}

/// Merges some segments. Returns whether there is more to do.
/// SQLite does so by itself if there are very many.
pub(crate) fn tidy_some(tx: &mut Tx<'_>) -> Result<bool> {
    if tx.is_postgres() {
        enter_waiting(tx)?;
        return Ok(false);
    }
    let n_changes = |tx: &mut Tx<'_>| tx.row("select total_changes()", &[], |row| row.get::<i64>(0));
    let before = n_changes(tx)?;
    // This many pages take a few milliseconds.
    tx.execute("insert into search_index (search_index, rank) values ('merge', 100)", &[])?;
    // The statement counts as a change even where it has nothing to do.
    Ok(n_changes(tx)? > before.map(|before| before + 1))
}

/// Moves pending documents into PostgreSQL's index, unless another server does. If the index belongs to another
/// role, only autovacuum may.
fn enter_waiting(tx: &mut Tx<'_>) -> Result<()> {
    let sql = "select 1 where pg_try_advisory_xact_lock(1936745848, 2)";
    if tx.row(sql, &[], |_| Ok(()))?.is_some() {
        tx.script("set local statement_timeout = 0")?;
        let sql = "select gin_clean_pending_list(cast(oid as regclass)) from pg_class
                   where oid = to_regclass('search_document_terms') and pg_has_role(relowner, 'usage')";
        tx.each(sql, &[], |_| Ok(()))?;
    }
    Ok(())
}

/// Indexes a document with the current state of its entity or comment.
pub(super) fn put_again(tx: &mut Tx<'_>, id: String, entity_id: String) -> Result<()> {
    if id == entity_id {
        let found = entity::find(tx, &Reference::Id(id))?.filter(|entity| entity.purged_at.is_none());
        return found.map_or(Ok(()), |entity| put_entity(tx, &entity));
    }
    let found = comment::find(tx, &id)?;
    found.map_or(Ok(()), |comment| put_comment(tx, &comment))
}

/// A document before it is stored.
struct NewDocument<'a> {
    id: &'a str,
    /// Its entity, or the entity of the comment.
    entity: &'a Entity,
    created_at: Time,
    updated_at: Time,
    is_deleted: bool,
    terms: Terms,
    marks: Vec<String>,
    status: Option<&'a str>,
}

impl NewDocument<'_> {
    fn put(&self, tx: &mut Tx<'_>) -> Result<()> {
        let Terms { title, body } = &self.terms;
        let postings = format!("{} {}", self.terms.postings(), self.marks.join(" "));
        let kind = self.entity.kind;
        let status_mark = format!(" {}", status_mark(kind));
        let story = self.entity.user_story_id.as_deref();
        let values = values![
            self.id,
            &self.entity.id,
            self.created_at,
            self.updated_at,
            self.is_deleted,
            title,
            body,
            &postings,
            story,
            &status_mark,
            kind.name(),
            self.status,
        ];
        tx.gather_document(values)
    }
}

/// The prefix of the term for a status of a kind; the number in the status model follows.
pub(super) fn status_mark(kind: Kind) -> String {
    format!("fs{}", kind.prefix().to_ascii_lowercase())
}

/// The filters for entities and their comments.
fn marks_of(entity: &Entity, kind: Kind, id: &str, created_at: Time) -> Vec<String> {
    let mut marks = vec![kind_mark(kind), id_mark("fi", id), id_mark("fj", &entity.project_id)];
    marks.extend(day_marks(created_at));
    // An epic is part of itself, and so is a story.
    let epic = if entity.kind == Kind::Epic { Some(&entity.id) } else { entity.epic_id.as_ref() };
    let story = if entity.kind == Kind::UserStory { Some(&entity.id) } else { entity.user_story_id.as_ref() };
    marks.extend(epic.map(|id| id_mark("fe", id)));
    marks.extend(story.map(|id| id_mark("fu", id)));
    marks
}
