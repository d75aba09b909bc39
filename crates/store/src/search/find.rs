//! Finds and ranks. The engines find, the newest documents first and never more than a bound; the ranks are ours.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};

use words::{Clause, Expression, Place, Query, score};

use super::filter::{Filter, id_mark};
use crate::comment::{self, Comment};
use crate::db::Tx;
use crate::entity::{self, Entity, select_entity};
use crate::error::{Error, Result};
use crate::model::Reference;
use crate::value::Row;
use crate::values;

/// Of more than can be counted, so many are ranked: those with all words in the title, and then the newest.
const RANKED_MAX: usize = 250;
/// So many of these are looked for by the title: as many as a page usually has.
const TITLED_MAX: i64 = 50;
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
        Search { query: first, filter, marks: filter.expressions(tx)?, judged: ByNumber::default() };
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
    if search.query.is_loose() {
        search.keep_matches(tx, &mut found)?;
    }
    let mut total = found.len() as i64;
    match sort {
        Sort::Created | Sort::Updated => {
            let times = times(tx, &found)?;
            let time = |number: &i64| {
                times.get(number).map(|(created_at, updated_at)| match sort {
                    Sort::Created => *created_at,
                    _ => *updated_at,
                })
            };
            found.sort_by_cached_key(|number| Reverse((time(number), *number)));
        }
        Sort::Priority => {}
        Sort::Relevance => search.rank(tx, &mut found, is_all)?,
    }
    for (place, (number, is_match)) in search.named(tx)?.into_iter().enumerate() {
        total += i64::from(!is_match);
        found.retain(|other| *other != number);
        found.insert(place.min(found.len()), number);
    }
    let page = found.into_iter().skip(offset as usize).take(limit as usize).collect();
    Ok(Found { hits: search.load(tx, page)?, total, is_exact })
}

type ByNumber<T> = HashMap<i64, T, foldhash::fast::RandomState>;

struct Search<'a> {
    query: &'a Query,
    filter: &'a Filter,
    marks: Vec<Expression>,
    /// What the texts that were read say, by the number of the document.
    judged: ByNumber<Judged>,
}

/// What the text of a document says of the query.
#[derive(Clone, Copy)]
struct Judged {
    score: f32,
    /// Known where it is in doubt.
    is_match: bool,
}

impl Search<'_> {
    fn find(&self, tx: &mut Tx<'_>, sort: Sort, limit: i64) -> Result<Vec<i64>> {
        match sort {
            Sort::Priority => self.by_priority(tx, limit),
            _ => self.newest(tx, None, limit),
        }
    }

    /// The newest documents that the index finds.
    fn newest(&self, tx: &mut Tx<'_>, mark: Option<Expression>, limit: i64) -> Result<Vec<i64>> {
        let expression = self.among(self.query.expression(Place::Anywhere), mark);
        newest(tx, &expression, self.filter, limit)
    }

    /// The newest documents that have all words in the title.
    fn titled(&mut self, tx: &mut Tx<'_>) -> Result<Vec<i64>> {
        // What is excluded takes long to look for, and can as well be seen from the texts of these few.
        let wanted = self.query.wanted();
        let words = wanted.as_ref().unwrap_or(self.query).expression(Place::Title);
        let mut titled = newest(tx, &self.among(words, None), self.filter, TITLED_MAX)?;
        if wanted.is_some() || self.query.is_loose() {
            self.keep_matches(tx, &mut titled)?;
        }
        Ok(titled)
    }

    /// Words within what the filter lets pass.
    fn among(&self, words: Expression, mark: Option<Expression>) -> Expression {
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
    fn by_priority(&self, tx: &mut Tx<'_>, limit: i64) -> Result<Vec<i64>> {
        let marks: Vec<Expression> =
            (1..=4).map(|priority| Expression::Term(format!("fp{priority}"))).collect();
        let mut found = Vec::new();
        for mark in &marks {
            let room = limit - found.len() as i64;
            if room > 0 {
                found.extend(self.newest(tx, Some(mark.clone()), room)?);
            }
        }
        let room = limit - found.len() as i64;
        if room > 0 {
            let all = self.among(self.query.expression(Place::Anywhere), None);
            let others = Expression::Without(Box::new(all), Box::new(Expression::Any(marks)));
            found.extend(newest(tx, &others, self.filter, room)?);
        }
        Ok(found)
    }

    /// The documents that changed last. This has to look at all that match.
    fn last_changed(&self, tx: &mut Tx<'_>, limit: i64) -> Result<Vec<i64>> {
        let expression = self.among(self.query.expression(Place::Anywhere), None);
        let sql = if tx.is_postgres() {
            "select number from search_document
             where terms @@ (select cast(cast(?1 as text) as tsquery)) and (is_deleted = 0 or ?2 = 1)
               and (created_at >= ?3 or ?3 is null) and (created_at <= ?4 or ?4 is null)
             order by updated_at desc, number desc limit ?5"
        } else {
            "select d.number
             from search_index cross join search_document d indexed by search_document_state on d.number = search_index.rowid
             where search_index match ?1 and (d.is_deleted = 0 or ?2 = 1)
               and (d.created_at >= ?3 or ?3 is null) and (d.created_at <= ?4 or ?4 is null)
             order by d.updated_at desc, d.number desc limit ?5"
        };
        numbers(tx, sql, &expression, self.filter, limit)
    }

    /// Removes what does not match after all.
    fn keep_matches(&mut self, tx: &mut Tx<'_>, found: &mut Vec<i64>) -> Result<()> {
        self.judge(tx, found)?;
        found.retain(|number| self.judged.get(number).is_some_and(|judged| judged.is_match));
        Ok(())
    }

    /// Puts the best answers first. Of more than can be ranked, the others follow from the newest to the oldest.
    fn rank(&mut self, tx: &mut Tx<'_>, found: &mut Vec<i64>, is_all: bool) -> Result<()> {
        let is_wanted = self.query.clauses.iter().any(|clause| !clause.is_excluded);
        if !is_all && is_wanted {
            let mut titled = self.titled(tx)?;
            let known: HashSet<i64> = titled.iter().copied().collect();
            titled.extend(found.drain(..).filter(|number| !known.contains(number)));
            *found = titled;
        }
        let n_ranked = found.len().min(if is_all { COUNTED_MAX as usize } else { RANKED_MAX });
        let ranked = &mut found[..n_ranked];
        self.judge(tx, ranked)?;
        ranked.sort_by(|one, other| {
            let by_score = self.score(*other).total_cmp(&self.score(*one));
            by_score.then(other.cmp(one))
        });
        Ok(())
    }

    fn score(&self, number: i64) -> f32 {
        self.judged.get(&number).map_or(0.0, |judged| judged.score)
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
            for number in newest(tx, &Expression::All(all), self.filter, 1)? {
                self.judge(tx, &[number])?;
                let is_match = self.judged.get(&number).is_some_and(|judged| judged.is_match);
                if named.iter().all(|(other, _)| *other != number) {
                    named.push((number, is_match));
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

    /// Reads the texts of documents, as far as that was not done.
    fn judge(&mut self, tx: &mut Tx<'_>, numbers: &[i64]) -> Result<()> {
        let query = self.query;
        let missing: Vec<i64> =
            numbers.iter().copied().filter(|number| !self.judged.contains_key(number)).collect();
        // Where nothing is wanted, nothing fits better than something else: the newest come first.
        let is_excluded = |clause: &Clause| clause.is_excluded;
        let is_wanted = !query.clauses.iter().all(is_excluded);
        let is_in_doubt =
            query.is_loose() || !query.references.is_empty() || query.clauses.iter().any(is_excluded);
        self.judged.extend(of_texts(tx, &missing, |title, body| Judged {
            score: if is_wanted { score(query, title, body) } else { 0.0 },
            is_match: is_in_doubt && query.matches(title, body),
        })?);
        Ok(())
    }

    /// The documents of a page, in its order, with what is shown of them.
    fn load(&mut self, tx: &mut Tx<'_>, page: Vec<i64>) -> Result<Vec<Hit>> {
        self.judge(tx, &page)?;
        let documents = documents(tx, &page)?;
        let comments = documents.iter().filter(|document| document.id != document.entity.id);
        let comments: Vec<String> = comments.map(|document| format!("\"{}\"", document.id)).collect();
        let mut comments =
            if comments.is_empty() { Vec::new() } else { comment::of_ids(tx, &list_of(tx, comments))? };
        let mut hits: ByNumber<Hit> = ByNumber::default();
        for Document { number, id, entity } in documents {
            let comment = comments.iter().position(|comment| comment.id == id);
            let comment = comment.map(|index| comments.swap_remove(index));
            hits.insert(number, Hit { entity, comment, score: self.score(number) });
        }
        let hits: Option<Vec<Hit>> = page.iter().map(|number| hits.remove(number)).collect();
        hits.ok_or_else(|| Error::internal("the search found what is not there"))
    }
}

/// The newest documents with some terms, the newest first.
pub(super) fn newest(
    tx: &mut Tx<'_>,
    expression: &Expression,
    filter: &Filter,
    limit: i64,
) -> Result<Vec<i64>> {
    let is_any_time = filter.created_from.is_none() && filter.created_to.is_none();
    let sql = match () {
        () if tx.is_postgres() => NEWEST_POSTGRES,
        () if is_any_time && !filter.include_deleted => {
            let text = expression.fts5();
            return tx.rows(NEWEST_LIVE_SQLITE, values![&text, limit], |row| row.get(0));
        }
        () => NEWEST_SQLITE,
    };
    numbers(tx, sql, expression, filter, limit)
}

/// FTS5 goes from the newest to the oldest by itself, and stops when there are enough. Of each document only what is in a
/// small index is looked at: documents themselves are large, and each would be on a page of its own.
const NEWEST_SQLITE: &str = "select d.number
     from search_index cross join search_document d indexed by search_document_state on d.number = search_index.rowid
     where search_index match ?1 and (d.is_deleted = 0 or ?2 = 1)
       and (d.created_at >= ?3 or ?3 is null) and (d.created_at <= ?4 or ?4 is null)
     order by search_index.rowid desc limit ?5";

/// What most searches ask for needs even less: an index of the few documents that are deleted.
const NEWEST_LIVE_SQLITE: &str = "select rowid from search_index
     where search_index match ?1
       and not exists (select 1 from search_document d indexed by search_document_deleted
                       where d.number = search_index.rowid and d.is_deleted = 1)
     order by rowid desc limit ?2";

/// The newest documents of which something is true. The query is hidden from the planner, and so is that only some are
/// wanted: it would rather read every document than believe that the index is quick with a common word.
macro_rules! newest_of {
    ($($true:expr),+ $(,)?) => {
        concat!(
            "select number from (
                 select number from search_document where ",
            $($true,)+
            " and (is_deleted = 0 or ?2 = 1)
                 and (created_at >= ?3 or ?3 is null) and (created_at <= ?4 or ?4 is null)
                 offset 0) found
             order by number desc limit ?5"
        )
    };
}

/// The last documents: those in a block of a power of two, and in the one before it. Each is marked with its blocks.
macro_rules! last_of {
    ($power:literal) => {
        concat!(
            "terms @@ (select cast('(' || cast(?1 as text) || ') & (''fb' || ",
            $power,
            " || 'x' || (number >> ",
            $power,
            ") || ''' | ''fb' || ",
            $power,
            " || 'x' || ((number >> ",
            $power,
            ") - 1) || ''')' as tsquery) from last_one)"
        )
    };
}

/// A GIN index finds all or nothing. So it is first asked for the last few thousand documents within the time asked for,
/// which are enough for a word that occurs everywhere. From how many there are follows among how many the wanted number
/// will be, with some to spare, and these come next; for a rare word, all. (Many blocks at once are no way between: the
/// index is slow with alternatives.)
const NEWEST_POSTGRES: &str = concat!(
    "with last_one as materialized (
         select coalesce(case when cast(?4 as bigint) is null then (select max(number) from search_document)
                              else (select number from search_document where created_at <= ?4
                                    order by created_at desc limit 1) end, 0) as number
     ), few as materialized (",
    newest_of!(last_of!("12")),
    "), next as materialized (
         select n_found = ?5 as is_enough,
             (select min(power) from generate_series(13, 21) power, last_one
              where (n_found << power) * 3 > ?5 * 4 * (4096 + number % 4096) and (cast(2 as bigint) << power) < number)
             as power
         from (select count(*) as n_found from few) counted
     ), more as materialized (",
    newest_of!(
        "(select not is_enough and power is not null from next) and ",
        last_of!("(select power from next)")
    ),
    ")
     select number from few where (select is_enough from next)
     union all
     select number from more where (select count(*) from more) = ?5
     union all
     (",
    newest_of!(
        "(select not is_enough from next) and (select count(*) from more) < ?5
         and terms @@ (select cast(cast(?1 as text) as tsquery))"
    ),
    ")"
);

/// A statement on the documents whose numbers are in a list.
macro_rules! of_numbers {
    ($tx:ident, $select:expr) => {
        if $tx.is_postgres() {
            concat!($select, "where d.number = any(cast(string_to_array(?1, ',') as bigint[]))")
        } else {
            concat!($select, "where d.number in (select value from json_each(?1))")
        }
    };
}

/// What is made of the terms of title and body, by the number of the document.
pub(super) fn of_texts<T>(
    tx: &mut Tx<'_>,
    numbers: &[i64],
    make: impl Fn(&str, &str) -> T,
) -> Result<ByNumber<T>> {
    let sql = of_numbers!(tx, "select d.number, d.title, d.body from search_text d ");
    by_number(tx, sql, numbers, |row| Ok(make(row.text(1)?, row.text(2)?)))
}

/// When documents were made and changed.
fn times(tx: &mut Tx<'_>, numbers: &[i64]) -> Result<ByNumber<(i64, i64)>> {
    let sql = of_numbers!(tx, "select d.number, d.created_at, d.updated_at from search_document d ");
    by_number(tx, sql, numbers, |row| Ok((row.get(1)?, row.get(2)?)))
}

fn by_number<T>(
    tx: &mut Tx<'_>,
    sql: &'static str,
    numbers: &[i64],
    read: impl Fn(&Row<'_>) -> Result<T>,
) -> Result<ByNumber<T>> {
    if numbers.is_empty() {
        return Ok(ByNumber::default());
    }
    let list = list_of(tx, numbers);
    Ok(tx.rows(sql, values![&list], |row| Ok((row.get(0)?, read(row)?)))?.into_iter().collect())
}

/// A document and what it is, or is on.
pub(super) struct Document {
    pub(super) number: i64,
    id: String,
    pub(super) entity: Entity,
}

/// The documents with these numbers, in no order.
pub(super) fn documents(tx: &mut Tx<'_>, numbers: &[i64]) -> Result<Vec<Document>> {
    if numbers.is_empty() {
        return Ok(Vec::new());
    }
    let sql = of_numbers!(
        tx,
        select_entity!(and ", d.number, d.id", "join search_document d on d.entity_id = e.id ")
    );
    tx.rows(sql, values![&list_of(tx, numbers)], |row| {
        Ok(Document { number: row.get(26)?, id: row.get(27)?, entity: entity::read(row)? })
    })
}

fn numbers(
    tx: &mut Tx<'_>,
    sql: &'static str,
    expression: &Expression,
    filter: &Filter,
    limit: i64,
) -> Result<Vec<i64>> {
    let text = if tx.is_postgres() { expression.tsquery() } else { expression.fts5() };
    let values = values![&text, filter.include_deleted, filter.created_from, filter.created_to, limit];
    tx.rows(sql, values, |row| row.get(0))
}

/// Numbers or quoted ids as each engine takes a list.
pub(super) fn list_of(tx: &Tx<'_>, items: impl IntoIterator<Item = impl ToString>) -> String {
    let list = items.into_iter().map(|item| item.to_string()).collect::<Vec<_>>().join(",");
    if tx.is_postgres() { list.replace('"', "") } else { format!("[{list}]") }
}
