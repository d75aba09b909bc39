//! Finds and ranks. The engines find, the newest documents first and never more than a bound; the ranks are ours.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};

use words::{Expression, Place, Query, score};

use super::filter::{Filter, id_mark};
use crate::comment::{self, Comment};
use crate::db::Tx;
use crate::entity::{self, Entity};
use crate::error::{Error, Result};
use crate::model::Reference;
use crate::values;

/// Of more than can be counted, so many are ranked: those with all words in the title, and then the newest.
const RANKED_MAX: usize = 250;
/// Up to here documents are counted and ranked, and from here on it is only known that there are more.
const COUNTED_MAX: i64 = 500;
/// Nobody turns pages further than this.
const REACHED_MAX: i64 = 10_000;
/// How many reference ids of a query are looked up.
const REFERENCES_MAX: usize = 8;

/// In which order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sort {
    /// The best answer first.
    #[default]
    Relevance,
    /// The newest first.
    Created,
    /// What changed last first.
    Updated,
    /// The most important first, then the newest. What has no priority comes last.
    Priority,
}

/// What was found.
#[derive(Debug)]
pub struct Found {
    /// The documents on this page.
    pub hits: Vec<Hit>,
    /// How many there are on all pages.
    pub total: i64,
    /// Whether there are no more than that.
    pub is_exact: bool,
}

/// A document that was found.
#[derive(Debug)]
pub struct Hit {
    /// What was found, or what the comment is on.
    pub entity: Entity,
    /// The comment, if it is one.
    pub comment: Option<Comment>,
    /// How well it answers the query.
    pub score: f32,
}

/// Searches. What a reference id in the query names comes first if it passes the filter, whatever else was typed.
pub fn search(
    tx: &mut Tx<'_>,
    query: &Query,
    filter: &Filter,
    sort: Sort,
    limit: i64,
    offset: i64,
) -> Result<Found> {
    let reach = offset.saturating_add(limit).clamp(COUNTED_MAX, REACHED_MAX);
    let complete = query.complete();
    // A common word need not be taken for the beginning of others, of which an index would have to list all documents.
    let first = complete.as_ref().unwrap_or(query);
    let mut search =
        Search { query: first, filter, marks: filter.expressions(tx)?, terms: ByNumber::default() };
    let mut found = search.find(tx, sort, reach + 1)?;
    if complete.is_some() && found.len() as i64 <= COUNTED_MAX {
        search.query = query;
        found = search.find(tx, sort, reach + 1)?;
    }
    // The order must not depend on which page is asked for, so neither may what is ranked.
    let is_all = found.len() as i64 <= COUNTED_MAX;
    let is_exact = found.len() as i64 <= reach;
    if sort == Sort::Updated && !is_exact {
        found = search.last_changed(tx, reach + 1)?;
    }
    found.truncate(reach as usize);
    search.keep_matches(tx, &mut found)?;
    let mut total = found.len() as i64;
    match sort {
        Sort::Created => found.sort_by_key(|document| Reverse((document.created_at, document.number))),
        Sort::Updated => found.sort_by_key(|document| Reverse((document.updated_at, document.number))),
        Sort::Priority => {}
        Sort::Relevance => search.rank(tx, &mut found, is_all)?,
    }
    let mut order: Vec<i64> = found.iter().map(|document| document.number).collect();
    for (place, (number, is_match)) in search.named(tx)?.into_iter().enumerate() {
        total += i64::from(!is_match);
        order.retain(|other| *other != number);
        order.insert(place.min(order.len()), number);
    }
    let page = order.into_iter().skip(offset as usize).take(limit as usize).collect();
    Ok(Found { hits: search.load(tx, page)?, total, is_exact })
}

type ByNumber<T> = HashMap<i64, T, foldhash::fast::RandomState>;

/// A document without its text.
pub(super) struct Document {
    pub(super) number: i64,
    created_at: i64,
    updated_at: i64,
}

struct Search<'a> {
    query: &'a Query,
    filter: &'a Filter,
    marks: Vec<Expression>,
    /// Terms that were loaded, by the number of the document.
    terms: ByNumber<(String, String)>,
}

impl Search<'_> {
    fn find(&self, tx: &mut Tx<'_>, sort: Sort, limit: i64) -> Result<Vec<Document>> {
        match sort {
            Sort::Priority => self.by_priority(tx, limit),
            _ => self.newest(tx, Place::Anywhere, None, limit),
        }
    }

    /// The newest documents that the index finds.
    fn newest(
        &self,
        tx: &mut Tx<'_>,
        place: Place,
        mark: Option<Expression>,
        limit: i64,
    ) -> Result<Vec<Document>> {
        let expression = self.expression(place, mark);
        newest(tx, &expression, self.filter, limit)
    }

    fn expression(&self, place: Place, mark: Option<Expression>) -> Expression {
        let words = self.query.expression(place);
        let marks = self.marks.iter().cloned().chain(mark);
        let mut all: Vec<Expression> = marks.collect();
        if all.is_empty() {
            return words;
        }
        // What is excluded goes last: engines begin with what is wanted.
        match words {
            Expression::Without(wanted, excluded) => {
                all.push(*wanted);
                Expression::Without(Box::new(Expression::All(all)), excluded)
            }
            words => {
                all.push(words);
                Expression::All(all)
            }
        }
    }

    /// The newest documents of each priority, the most important first.
    fn by_priority(&self, tx: &mut Tx<'_>, limit: i64) -> Result<Vec<Document>> {
        let marks: Vec<Expression> =
            (1..=4).map(|priority| Expression::Term(format!("fp{priority}"))).collect();
        let mut found = Vec::new();
        for mark in &marks {
            let room = limit - found.len() as i64;
            if room > 0 {
                found.extend(self.newest(tx, Place::Anywhere, Some(mark.clone()), room)?);
            }
        }
        let room = limit - found.len() as i64;
        if room > 0 {
            let all = self.expression(Place::Anywhere, None);
            let others = Expression::Without(Box::new(all), Box::new(Expression::Any(marks)));
            found.extend(newest(tx, &others, self.filter, room)?);
        }
        Ok(found)
    }

    /// The documents that changed last. This has to look at all that match.
    fn last_changed(&self, tx: &mut Tx<'_>, limit: i64) -> Result<Vec<Document>> {
        let expression = self.expression(Place::Anywhere, None);
        let sql = if tx.is_postgres() {
            "select number, created_at, updated_at from search_document
             where terms @@ (select cast(cast(?1 as text) as tsquery)) and (is_deleted = 0 or ?2 = 1)
               and (created_at >= ?3 or ?3 is null) and (created_at <= ?4 or ?4 is null)
             order by updated_at desc, number desc limit ?5"
        } else {
            "select d.number, d.created_at, d.updated_at
             from search_index cross join search_document d indexed by search_document_state on d.number = search_index.rowid
             where search_index match ?1 and (d.is_deleted = 0 or ?2 = 1)
               and (d.created_at >= ?3 or ?3 is null) and (d.created_at <= ?4 or ?4 is null)
             order by d.updated_at desc, d.number desc limit ?5"
        };
        documents(tx, sql, &expression, self.filter, limit)
    }

    /// Removes what does not match after all.
    fn keep_matches(&mut self, tx: &mut Tx<'_>, found: &mut Vec<Document>) -> Result<()> {
        if self.query.is_loose() {
            self.load_terms(tx, found.iter().map(|document| document.number))?;
            found.retain(|document| {
                let terms = self.terms.get(&document.number);
                terms.is_some_and(|(title, body)| self.query.matches(title, body))
            });
        }
        Ok(())
    }

    /// Puts the best answers first. Of more than can be ranked, the others follow from the newest to the oldest.
    fn rank(&mut self, tx: &mut Tx<'_>, found: &mut Vec<Document>, is_all: bool) -> Result<()> {
        let is_wanted = self.query.clauses.iter().any(|clause| !clause.is_excluded);
        if !is_all && is_wanted {
            let mut titled = self.newest(tx, Place::Title, None, RANKED_MAX as i64)?;
            self.keep_matches(tx, &mut titled)?;
            let known: HashSet<i64> = titled.iter().map(|document| document.number).collect();
            titled.extend(found.drain(..).filter(|document| !known.contains(&document.number)));
            *found = titled;
        }
        let n_ranked = found.len().min(if is_all { COUNTED_MAX as usize } else { RANKED_MAX });
        self.load_terms(tx, found[..n_ranked].iter().map(|document| document.number))?;
        let scores: ByNumber<f32> =
            found[..n_ranked].iter().map(|document| (document.number, self.score(document.number))).collect();
        found[..n_ranked].sort_by(|one, other| {
            let by_score = scores[&other.number].total_cmp(&scores[&one.number]);
            by_score.then(other.number.cmp(&one.number))
        });
        Ok(())
    }

    fn score(&self, number: i64) -> f32 {
        // Where nothing is wanted, nothing fits better than something else: the newest come first.
        if self.query.clauses.iter().all(|clause| clause.is_excluded) {
            return 0.0;
        }
        self.terms.get(&number).map_or(0.0, |(title, body)| score(self.query, title, body))
    }

    /// The documents that reference ids in the query name, and whether they match all of it.
    fn named(&mut self, tx: &mut Tx<'_>) -> Result<Vec<(i64, bool)>> {
        let mut named = Vec::new();
        for reference in self.query.references.iter().take(REFERENCES_MAX) {
            let Some(reference) = Reference::parse(&reference.to_string()) else { continue };
            let reference = self.within_project(tx, reference)?;
            let Some(entity) = entity::find(tx, &reference)? else { continue };
            let mark = Expression::Term(id_mark("fi", &entity.id));
            let all = self.marks.iter().cloned().chain([mark]).collect();
            for document in newest(tx, &Expression::All(all), self.filter, 1)? {
                self.load_terms(tx, [document.number].into_iter())?;
                let terms = self.terms.get(&document.number);
                let is_match = terms.is_some_and(|(title, body)| self.query.matches(title, body));
                if named.iter().all(|(number, _)| *number != document.number) {
                    named.push((document.number, is_match));
                }
            }
        }
        Ok(named)
    }

    /// In a project's own search, its ids need no key.
    fn within_project(&self, tx: &mut Tx<'_>, reference: Reference) -> Result<Reference> {
        match (reference, &self.filter.project_id) {
            (Reference::Numbered { project: None, kind, number }, Some(id)) => {
                let found = crate::project::find(tx, id)?;
                let project = found.map(|project| project.key);
                Ok(Reference::Numbered { project, kind, number })
            }
            (reference, _) => Ok(reference),
        }
    }

    fn load_terms(&mut self, tx: &mut Tx<'_>, numbers: impl Iterator<Item = i64>) -> Result<()> {
        let missing: Vec<i64> = numbers.filter(|number| !self.terms.contains_key(number)).collect();
        if missing.is_empty() {
            return Ok(());
        }
        self.terms.extend(terms_of(tx, &missing)?);
        Ok(())
    }

    /// The documents of a page, in its order, with what is shown of them.
    fn load(&mut self, tx: &mut Tx<'_>, page: Vec<i64>) -> Result<Vec<Hit>> {
        if page.is_empty() {
            return Ok(Vec::new());
        }
        self.load_terms(tx, page.iter().copied())?;
        let ids = ids(tx, &page)?;
        let quoted = |id: &str| format!("\"{id}\"");
        let entity_ids: HashSet<String> = ids.values().map(|(_, entity_id)| quoted(entity_id)).collect();
        let entities = entity::of_ids(tx, &list_of(tx, entity_ids))?;
        let entities: HashMap<&str, &Entity> =
            entities.iter().map(|entity| (entity.id.as_str(), entity)).collect();
        let comment_ids: Vec<String> =
            ids.values().filter(|(id, entity_id)| id != entity_id).map(|(id, _)| quoted(id)).collect();
        let comments =
            if comment_ids.is_empty() { Vec::new() } else { comment::of_ids(tx, &list_of(tx, comment_ids))? };
        let comments: HashMap<&str, &Comment> =
            comments.iter().map(|comment| (comment.id.as_str(), comment)).collect();
        let hit = |number: &i64| {
            let (id, entity_id) = ids.get(number)?;
            Some(Hit {
                entity: (*entities.get(entity_id.as_str())?).clone(),
                comment: comments.get(id.as_str()).map(|comment| (*comment).clone()),
                score: self.score(*number),
            })
        };
        let hits: Vec<Hit> = page.iter().filter_map(hit).collect();
        if hits.len() == page.len() {
            Ok(hits)
        } else {
            Err(Error::internal("the search found what is not there"))
        }
    }
}

/// The newest documents with some terms, the newest first.
pub(super) fn newest(
    tx: &mut Tx<'_>,
    expression: &Expression,
    filter: &Filter,
    limit: i64,
) -> Result<Vec<Document>> {
    let sql = if tx.is_postgres() { NEWEST_POSTGRES } else { NEWEST_SQLITE };
    documents(tx, sql, expression, filter, limit)
}

/// FTS5 goes from the newest to the oldest by itself, and stops when there are enough. Of each document only what is in a
/// small index is looked at: documents themselves are large, and each would be on a page of its own.
const NEWEST_SQLITE: &str = "select d.number, d.created_at, d.updated_at
     from search_index cross join search_document d indexed by search_document_state on d.number = search_index.rowid
     where search_index match ?1 and (d.is_deleted = 0 or ?2 = 1)
       and (d.created_at >= ?3 or ?3 is null) and (d.created_at <= ?4 or ?4 is null)
     order by search_index.rowid desc limit ?5";

/// The newest documents of which something is true. The query is hidden from the planner, and so is that only some are
/// wanted: it would rather read every document than believe that the index is quick with a common word.
macro_rules! newest_of {
    ($true:literal) => {
        concat!(
            "select number, created_at, updated_at from (
                 select number, created_at, updated_at from search_document where ",
            $true,
            " and (is_deleted = 0 or ?2 = 1)
                 and (created_at >= ?3 or ?3 is null) and (created_at <= ?4 or ?4 is null)
                 offset 0) found
             order by number desc limit ?5"
        )
    };
}

/// A GIN index finds all or nothing. So it is first asked for the last blocks of documents within the time asked for,
/// which is enough for a word that occurs everywhere; a rare one is then looked for in all. (Many blocks at once are no
/// way between: the index is slow with alternatives.)
const NEWEST_POSTGRES: &str = concat!(
    "with last_block as materialized (
         select coalesce(case when cast(?4 as bigint) is null then (select max(number) from search_document)
                              else (select number from search_document where created_at <= ?4
                                    order by created_at desc limit 1) end, 0) / 4096 as block
     ), recent as materialized (",
    newest_of!(
        "terms @@ (select cast('(' || cast(?1 as text) || ') & (''fb' || block || ''' | ''fb' || (block - 1) || ''')'
                               as tsquery) from last_block)"
    ),
    ")
     select number, created_at, updated_at from recent where (select count(*) from recent) = ?5
     union all
     (",
    newest_of!(
        "(select count(*) from recent) < ?5
         and terms @@ (select cast(cast(?1 as text) as tsquery))"
    ),
    ")"
);

/// The terms of titles and bodies, by the number of the document.
pub(super) fn terms_of(tx: &mut Tx<'_>, numbers: &[i64]) -> Result<ByNumber<(String, String)>> {
    let sql = if tx.is_postgres() {
        "select number, title, body from search_text
         where number = any(cast(string_to_array(?1, ',') as bigint[]))"
    } else {
        "select number, title, body from search_text where number in (select value from json_each(?1))"
    };
    pairs(tx, sql, numbers)
}

/// The ids of documents and of the entities that they are or are on.
pub(super) fn ids(tx: &mut Tx<'_>, numbers: &[i64]) -> Result<ByNumber<(String, String)>> {
    let sql = if tx.is_postgres() {
        "select number, id, entity_id from search_document
         where number = any(cast(string_to_array(?1, ',') as bigint[]))"
    } else {
        "select number, id, entity_id from search_document where number in (select value from json_each(?1))"
    };
    pairs(tx, sql, numbers)
}

fn pairs(tx: &mut Tx<'_>, sql: &'static str, numbers: &[i64]) -> Result<ByNumber<(String, String)>> {
    let list = list_of(tx, numbers);
    let rows = tx.rows(sql, values![&list], |row| Ok((row.get(0)?, (row.get(1)?, row.get(2)?))))?;
    Ok(rows.into_iter().collect())
}

fn documents(
    tx: &mut Tx<'_>,
    sql: &'static str,
    expression: &Expression,
    filter: &Filter,
    limit: i64,
) -> Result<Vec<Document>> {
    let text = if tx.is_postgres() { expression.tsquery() } else { expression.fts5() };
    let values = values![&text, filter.include_deleted, filter.created_from, filter.created_to, limit];
    tx.rows(sql, values, |row| {
        Ok(Document { number: row.get(0)?, created_at: row.get(1)?, updated_at: row.get(2)? })
    })
}

/// Numbers or quoted ids as each engine takes a list.
pub(super) fn list_of(tx: &Tx<'_>, items: impl IntoIterator<Item = impl ToString>) -> String {
    let list = items.into_iter().map(|item| item.to_string()).collect::<Vec<_>>().join(",");
    if tx.is_postgres() { list.replace('"', "") } else { format!("[{list}]") }
}
