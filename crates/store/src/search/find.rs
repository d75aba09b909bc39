//! Finds and ranks. The engines find, the newest documents first and up to a limit; the ranking is ours.

use std::cmp::Reverse;
use std::collections::HashSet;

use words::{Clause, Expression, Place, Query, score};

use super::documents::{ByNumber, FoundDocument, documents, last_changed, newest, of_texts, times};
use super::filter::{Marks, SearchFilter, id_mark};
use crate::alias;
use crate::comment::{self, Comment};
use crate::db::Tx;
use crate::entity::{self, Entity};
use crate::error::{Error, Result};
use crate::model::Reference;
use crate::project::Projects;

/// How many of very many matches are ranked: those with all words in the title, and then the newest.
const RANKED_MAX: usize = 250;
/// How many of these are found by title: the usual size of a page.
const TITLED_MAX: i64 = 50;
/// Up to here documents are counted and ranked; beyond, it is only known that there are more.
const COUNTED_MAX: i64 = 500;
/// The last position of a page.
const REACHED_MAX: i64 = 10_000;
/// How many reference ids of a query are looked up.
const REFERENCES_MAX: usize = 8;

/// The order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sort {
    /// The best match first.
    #[default]
    Relevance,
    /// By creation, newest first.
    Created,
    /// By last change, newest first.
    Updated,
    /// The most important first, then the newest. Documents without a priority come last.
    Priority,
}

/// The results.
#[derive(Debug)]
pub struct SearchResults {
    /// The documents on this page.
    pub hits: Vec<Hit>,
    /// The number on all pages.
    pub total: i64,
    /// Whether that number is exact.
    pub is_exact: bool,
}

/// A result.
#[derive(Debug)]
pub struct Hit {
    /// The entity, or the entity of the comment.
    pub entity: Entity,
    /// The comment, if it is one.
    pub comment: Option<Comment>,
    /// Its rank.
    pub score: f32,
}

/// Searches. The entities of reference ids in the query come first if they pass the filter, whatever else the query has.
pub fn search(
    tx: &mut Tx<'_>,
    query: &Query,
    filter: &SearchFilter,
    sort: Sort,
    limit: i64,
    offset: i64,
) -> Result<SearchResults> {
    let reach = offset.saturating_add(limit).clamp(COUNTED_MAX, REACHED_MAX);
    let complete = query.complete();
    // A common word is taken as complete, because the index would have to list all documents of its many continuations.
    let first = complete.as_ref().unwrap_or(query);
    let mut search = Search { query: first, filter, marks: filter.marks(tx)?, judged: ByNumber::default() };
    let mut found = search.find(tx, sort, reach + 1)?;
    if complete.is_some() && found.len() as i64 <= COUNTED_MAX {
        search.query = query;
        found = search.find(tx, sort, reach + 1)?;
    }
    // The order must not depend on the page, so neither may the ranked set.
    let is_all = found.len() as i64 <= COUNTED_MAX;
    let is_exact = found.len() as i64 <= reach;
    if sort == Sort::Updated && !is_exact {
        let expression = search.marks.among(search.query.expression(Place::Anywhere), None);
        found = last_changed(tx, &expression, filter, reach + 1)?;
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
    Ok(SearchResults { hits: search.load(tx, page)?, total, is_exact })
}

struct Search<'a> {
    query: &'a Query,
    filter: &'a SearchFilter,
    marks: Marks,
    /// The match of each read text, by the number of the document.
    judged: ByNumber<Judged>,
}

/// How the text of a document matches the query.
#[derive(Clone, Copy)]
struct Judged {
    score: f32,
    /// Set if the index alone is inconclusive.
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
        let expression = self.marks.among(self.query.expression(Place::Anywhere), mark);
        newest(tx, &expression, self.filter, limit)
    }

    /// The newest documents with all words in the title.
    fn titled(&mut self, tx: &mut Tx<'_>) -> Result<Vec<i64>> {
        // Exclusions are slow to search, and can be checked in the texts of these few.
        let wanted = self.query.wanted();
        let words = wanted.as_ref().unwrap_or(self.query).expression(Place::Title);
        let mut titled = newest(tx, &self.marks.among(words, None), self.filter, TITLED_MAX)?;
        if wanted.is_some() || self.query.is_loose() {
            self.keep_matches(tx, &mut titled)?;
        }
        Ok(titled)
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
            let all = self.marks.among(self.query.expression(Place::Anywhere), None);
            let others = Expression::Without(Box::new(all), Box::new(Expression::Any(marks)));
            found.extend(newest(tx, &others, self.filter, room)?);
        }
        Ok(found)
    }

    /// Removes documents that do not match.
    fn keep_matches(&mut self, tx: &mut Tx<'_>, found: &mut Vec<i64>) -> Result<()> {
        self.judge(tx, found)?;
        found.retain(|number| self.judged.get(number).is_some_and(|judged| judged.is_match));
        Ok(())
    }

    /// Sorts the best matches first. Of more than can be ranked, the others follow from the newest to the oldest.
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

    /// The documents of reference ids and external ids in the query, and whether they match all of it.
    fn named(&mut self, tx: &mut Tx<'_>) -> Result<Vec<(i64, bool)>> {
        let mut named = Vec::new();
        let mut ids = Vec::new();
        for reference in self.query.references.iter().take(REFERENCES_MAX) {
            let Some(reference) = Reference::parse(&reference.to_string()) else { continue };
            let reference = self.within_project(tx, reference)?;
            ids.extend(entity::find(tx, &reference)?.map(|entity| entity.id));
        }
        if !self.filter.external_ids.is_empty() {
            ids.extend(alias::called(tx, &self.filter.external_ids)?);
        }
        for id in ids {
            let this = self.marks.among(Expression::Term(id_mark("fi", &id)), None);
            for number in newest(tx, &this, self.filter, 1)? {
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
        match (reference, &self.filter.projects) {
            (Reference::Numbered { project: None, kind, number }, Projects::One(id)) => {
                let found = crate::project::find(tx, id)?;
                let project = found.map(|project| project.key);
                Ok(Reference::Numbered { project, kind, number })
            }
            (reference, _) => Ok(reference),
        }
    }

    /// Reads the texts of documents that were not read yet.
    fn judge(&mut self, tx: &mut Tx<'_>, numbers: &[i64]) -> Result<()> {
        let query = self.query;
        let missing: Vec<i64> =
            numbers.iter().copied().filter(|number| !self.judged.contains_key(number)).collect();
        // Without words nothing ranks higher than anything else: the newest come first.
        let is_excluded = |clause: &Clause| clause.is_excluded;
        let is_wanted = !query.clauses.iter().all(is_excluded);
        let is_in_doubt = query.is_loose()
            || !query.references.is_empty()
            || !self.filter.external_ids.is_empty()
            || query.clauses.iter().any(is_excluded);
        self.judged.extend(of_texts(tx, &missing, |title, body| Judged {
            score: if is_wanted { score(query, title, body) } else { 0.0 },
            is_match: is_in_doubt && query.matches(title, body),
        })?);
        Ok(())
    }

    /// The documents of a page, in order, with the displayed fields.
    fn load(&mut self, tx: &mut Tx<'_>, page: Vec<i64>) -> Result<Vec<Hit>> {
        self.judge(tx, &page)?;
        let documents = documents(tx, &page)?;
        let comments = documents.iter().filter(|document| document.id != document.entity.id);
        let comments: Vec<&str> = comments.map(|document| document.id.as_str()).collect();
        let mut comments = if comments.is_empty() { Vec::new() } else { comment::of_ids(tx, &comments)? };
        let mut hits: ByNumber<Hit> = ByNumber::default();
        for FoundDocument { number, id, entity } in documents {
            let comment = comments.iter().position(|comment| comment.id == id);
            let comment = comment.map(|index| comments.swap_remove(index));
            hits.insert(number, Hit { entity, comment, score: self.score(number) });
        }
        let hits: Option<Vec<Hit>> = page.iter().map(|number| hits.remove(number)).collect();
        hits.ok_or_else(|| Error::internal("the search found what is not there"))
    }
}
