//! Rebuilds the index after a change of the terms, while others read and write: in slices, each a short
//! transaction that records its progress. Until its turn a document is found by its old terms.

#[cfg(test)]
mod tests;

use std::time::{Duration, Instant};

use words::VERSION;

use super::index::{put_again, tidy};
use crate::db::{Mode, Store, Tx, WeakStore};
use crate::error::Result;
use crate::value::Value;
use crate::values;

/// How many documents are indexed in one transaction, for which other writers wait.
const SLICE: i64 = 200;
/// How many ids of missing documents are kept in memory, because finding a few takes as long.
const FOUND_AT_ONCE: i64 = 20_000;
/// The pause between two slices, in which others can write: half of a slice's duration.
const PAUSE: (Duration, Duration) = (Duration::from_millis(1), Duration::from_millis(200));
/// How often to check the progress of another server.
const TURN_PAUSE: Duration = Duration::from_millis(500);
/// How long opening a store waits, so that a small store is complete at once.
const OPENING_MAX: Duration = Duration::from_secs(1);
/// How often progress is reported.
const TOLD_EVERY: Duration = Duration::from_secs(10);

/// The progress of rebuilding the index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Indexing {
    /// How many documents have the current terms.
    pub done: i64,
    /// How many there are.
    pub total: i64,
}

/// Whether the index is being rebuilt: some documents are found only by terms of an earlier version.
pub fn indexing(tx: &mut Tx<'_>) -> Result<Option<Indexing>> {
    let state = state(tx)?;
    let is_current = state.version == i64::from(VERSION);
    Ok((!is_current).then_some(Indexing { done: state.n_done, total: state.n_all }))
}

/// Rebuilds the index if it has older terms, and waits for it.
pub(crate) fn rebuild_if_old(store: &Store) -> Result<()> {
    Rebuild::default().run(store, Duration::MAX).map(drop)
}

/// Starts rebuilding the index if it has older terms. Longer work continues on a thread while the store is open.
pub(crate) fn rebuild_beside(store: &Store) -> Result<()> {
    rebuild_within(store, OPENING_MAX)
}

fn rebuild_within(store: &Store, time_max: Duration) -> Result<()> {
    let mut rebuild = Rebuild::default();
    if rebuild.run(store, time_max)? {
        return Ok(());
    }
    let (weak, notice) = (store.downgrade(), store.options().notice);
    let go_on = move || {
        if let Err(error) = rebuild.run_while_open(&weak) {
            notice(&format!(
                "the search index could not be brought up to date: {error}; the next start goes on"
            ));
        }
    };
    // Without a thread the next start continues.
    let _ = std::thread::Builder::new().name("search index".to_owned()).spawn(go_on);
    Ok(())
}

/// Deletes all documents, so that [`rebuild_if_old`] indexes everything.
pub(crate) fn clear(tx: &mut Tx<'_>) -> Result<()> {
    if tx.is_postgres() {
        tx.script("truncate search_text, search_document")?;
    } else {
        tx.execute("insert into search_index (search_index) values ('delete-all')", &[])?;
        tx.execute("delete from search_document", &[])?;
    }
    tx.execute("update search_state set version = 0, target = null", &[])?;
    Ok(())
}

/// The progress in the store.
struct State {
    version: i64,
    target: Option<i64>,
    reached: i64,
    last_number: i64,
    n_done: i64,
    n_all: i64,
}

fn state(tx: &mut Tx<'_>) -> Result<State> {
    let sql = "select version, target, coalesce(reached, 0), coalesce(last_number, 0), coalesce(n_done, 0), coalesce(n_all, 0)
               from search_state";
    let found = tx.row(sql, &[], |row| {
        Ok(State {
            version: row.get(0)?,
            target: row.get(1)?,
            reached: row.get(2)?,
            last_number: row.get(3)?,
            n_done: row.get(4)?,
            n_all: row.get(5)?,
        })
    })?;
    Ok(found.unwrap_or(State { version: 0, target: None, reached: 0, last_number: 0, n_done: 0, n_all: 0 }))
}

/// The state in this process.
#[derive(Default)]
struct Rebuild {
    /// Entities without a document, up to a position.
    missing: Vec<Made>,
    /// That position.
    looked_at: Option<(i64, String)>,
    told: Option<Instant>,
}

/// When something was created, its id, and the id of its entity.
type Made = (i64, String, String);

/// The outcome of a step.
enum Turn {
    Done,
    /// Another server is working.
    Busy(Indexing),
    /// Some documents were indexed.
    Slice(Indexing),
    /// All documents have the current terms; missing documents are still to be found.
    Missing,
}

impl Rebuild {
    /// Continues until the store is closed.
    fn run_while_open(&mut self, weak: &WeakStore) -> Result<()> {
        while let Some(store) = weak.upgrade() {
            let Some(pause) = self.step(&store)? else { break };
            drop(store);
            std::thread::sleep(pause);
        }
        Ok(())
    }

    /// Returns whether everything is done; the time is limited.
    fn run(&mut self, store: &Store, time_max: Duration) -> Result<bool> {
        let started = Instant::now();
        while let Some(pause) = self.step(store)? {
            if started.elapsed() >= time_max {
                return Ok(false);
            }
            std::thread::sleep(pause);
        }
        Ok(true)
    }

    /// Does a step, and returns the pause after it. None when everything is done.
    fn step(&mut self, store: &Store) -> Result<Option<Duration>> {
        let started = Instant::now();
        Ok(match self.turn(store)? {
            Turn::Done => {
                if self.told.is_some() {
                    (store.options().notice)("the search index is up to date");
                }
                None
            }
            Turn::Busy(indexing) => {
                self.tell(store, indexing);
                Some(TURN_PAUSE)
            }
            Turn::Slice(indexing) => {
                self.tell(store, indexing);
                Some((started.elapsed() / 2).clamp(PAUSE.0, PAUSE.1))
            }
            Turn::Missing => Some(Duration::ZERO),
        })
    }

    /// A rebuild that takes only a moment is not reported.
    fn tell(&mut self, store: &Store, Indexing { done, total }: Indexing) {
        if self.told.is_none_or(|told| told.elapsed() >= TOLD_EVERY) && total > SLICE {
            self.told = Some(Instant::now());
            (store.options().notice)(&format!(
                "the search index is being brought up to date: {done} of {total} documents"
            ));
        }
    }

    fn turn(&mut self, store: &Store) -> Result<Turn> {
        if store.wait(Mode::Point, indexing)?.is_none() {
            return Ok(Turn::Done);
        }
        match store.wait(Mode::Long, index_again)? {
            Turn::Missing => self.index_missing(store),
            turn => Ok(turn),
        }
    }

    /// Indexes entities without a document, by creation.
    fn index_missing(&mut self, store: &Store) -> Result<Turn> {
        if self.missing.is_empty() {
            let after = self.looked_at.clone().unwrap_or((i64::MIN, String::new()));
            self.missing = store.wait(Mode::Snapshot, move |tx| never_indexed(tx, &after))?;
            let Some((created_at, id, _)) = self.missing.last() else {
                let turn = store.wait(Mode::Long, index_changed)?;
                if matches!(turn, Turn::Done) {
                    tidy(store)?;
                }
                return Ok(turn);
            };
            self.looked_at = Some((*created_at, id.clone()));
        }
        let n_some = self.missing.len().min(SLICE as usize);
        let some = self.missing[..n_some].to_vec();
        let turn = store.wait(Mode::Long, move |tx| index_some(tx, &some))?;
        if matches!(turn, Turn::Slice(_)) {
            self.missing.drain(..n_some);
        }
        Ok(turn)
    }
}

/// Indexes the next documents with older terms.
fn index_again(tx: &mut Tx<'_>) -> Result<Turn> {
    let is_claimed = claim(tx)?;
    let state = state(tx)?;
    let progress = |n_more| Indexing { done: state.n_done + n_more, total: state.n_all };
    match () {
        () if state.version == i64::from(VERSION) => return Ok(Turn::Done),
        () if !is_claimed => return Ok(Turn::Busy(progress(0))),
        () if state.target != Some(i64::from(VERSION)) => return begin(tx),
        () if state.reached >= state.last_number => return Ok(Turn::Missing),
        () => {}
    }
    // Writers of these wait until this is committed, and then index their change.
    let sql = if tx.is_postgres() {
        "select number, id, entity_id from search_document where number > ?1 and number <= ?2 order by number limit ?3 for update"
    } else {
        "select number, id, entity_id from search_document where number > ?1 and number <= ?2 order by number limit ?3"
    };
    let (reached, n_more) = put_documents(tx, sql, values![state.reached, state.last_number, SLICE])?;
    let reached = reached.unwrap_or(state.last_number);
    tx.execute("update search_state set reached = ?1, n_done = n_done + ?2", values![reached, n_more])?;
    Ok(Turn::Slice(progress(n_more)))
}

/// Indexes documents again that were changed in the meantime, because servers of the previous version use its terms. What
/// such servers write after this keeps the old terms until the next change.
fn index_changed(tx: &mut Tx<'_>) -> Result<Turn> {
    let is_claimed = claim(tx)?;
    let state = state(tx)?;
    let progress = Indexing { done: state.n_done, total: state.n_all };
    if !is_claimed {
        return Ok(Turn::Busy(progress));
    }
    let sql = if tx.is_postgres() {
        "select number, id, entity_id from search_document
         where number > (select reached_changed from search_state) and updated_at >= (select changed_since from search_state)
         order by number limit ?1 for update"
    } else {
        "select number, id, entity_id from search_document indexed by search_document_state
         where number > (select reached_changed from search_state) and updated_at >= (select changed_since from search_state)
         order by number limit ?1"
    };
    let (reached, n_documents) = put_documents(tx, sql, values![SLICE])?;
    if n_documents < SLICE {
        finish(tx)?;
        return Ok(Turn::Done);
    }
    tx.execute("update search_state set reached_changed = ?1", values![reached])?;
    Ok(Turn::Slice(progress))
}

/// Indexes documents again. Returns the number of the last one, and their count.
fn put_documents(tx: &mut Tx<'_>, sql: &'static str, values: &[Value<'_>]) -> Result<(Option<i64>, i64)> {
    let documents: Vec<(i64, String, String)> =
        tx.rows(sql, values, |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
    let reached = documents.last().map(|(number, ..)| *number);
    let n_documents = documents.len() as i64;
    for (_, id, entity_id) in documents {
        put_again(tx, id, entity_id)?;
    }
    Ok((reached, n_documents))
}

fn begin(tx: &mut Tx<'_>) -> Result<Turn> {
    let sql = "update search_state set target = ?1, reached = 0, n_done = 0, reached_changed = 0,
                   last_number = (select max(number) from search_document),
                   changed_since = coalesce((select max(updated_at) from search_document), 0),
                   n_all = (select count(*) from entity where purged_at is null)
                         + (select count(*) from comment where purged_at is null)";
    tx.execute(sql, values![i64::from(VERSION)])?;
    let total = state(tx)?.n_all;
    if total == 0 {
        finish(tx)?;
        return Ok(Turn::Done);
    }
    Ok(Turn::Slice(Indexing { done: 0, total }))
}

fn index_some(tx: &mut Tx<'_>, made: &[Made]) -> Result<Turn> {
    let is_claimed = claim(tx)?;
    let state = state(tx)?;
    let progress = |n_more| Indexing { done: state.n_done + n_more, total: state.n_all };
    if !is_claimed {
        return Ok(Turn::Busy(progress(0)));
    }
    let mut n_more = 0;
    for (_, id, entity_id) in made {
        if tx.is_postgres() {
            // Writers have to wait, as above, although there is no document yet.
            tx.each("select 1 from entity where id = ?1 for share", values![id], |_| Ok(()))?;
            tx.each("select 1 from comment where id = ?1 for share", values![id], |_| Ok(()))?;
        }
        // Another server may have been faster.
        if tx.row("select 1 from search_document where id = ?1", values![id], |_| Ok(()))?.is_none() {
            put_again(tx, id.clone(), entity_id.clone())?;
            n_more += 1;
        }
    }
    tx.execute("update search_state set n_done = n_done + ?1", values![n_more])?;
    Ok(Turn::Slice(progress(n_more)))
}

fn finish(tx: &mut Tx<'_>) -> Result<()> {
    let sql = "update search_state set version = target, target = null where target = ?1";
    tx.execute(sql, values![i64::from(VERSION)])?;
    Ok(())
}

/// Locks out other servers until the commit, unless one of them is faster.
fn claim(tx: &mut Tx<'_>) -> Result<bool> {
    if !tx.is_postgres() {
        return Ok(true);
    }
    tx.script("set local statement_timeout = 0; set local work_mem = '64MB'")?;
    let sql = "select cast(pg_try_advisory_xact_lock(hashtextextended('search index', 0)) as int)::bigint";
    Ok(tx.row(sql, &[], |row| row.get::<i64>(0))? == Some(1))
}

/// Entities without a document after a position, by creation. Finding a few takes as long as finding many.
fn never_indexed(tx: &mut Tx<'_>, after: &(i64, String)) -> Result<Vec<Made>> {
    if tx.is_postgres() {
        tx.script("set local statement_timeout = 0")?;
    }
    let sql = "select created_at, id, entity_id from (
                   select created_at, id, id as entity_id from entity where purged_at is null
                   union all
                   select created_at, id, entity_id from comment where purged_at is null
               ) made
               where (created_at, id) > (?1, ?2) and not exists (select 1 from search_document d where d.id = made.id)
               order by created_at, id limit ?3";
    tx.rows(sql, values![after.0, &after.1, FOUND_AT_ONCE], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))
}
