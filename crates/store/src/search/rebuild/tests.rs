//! Rebuilding the index while others work, on both stores.

use std::time::{Duration, Instant};

use private_postgres::Server;
use words::Query;

use super::{Indexing, Rebuild, SLICE, indexing, rebuild_within};
use crate::db::{Location, Mode, Options, Store, Tx};
use crate::entity;
use crate::error::Result;
use crate::model::{Reference, Time};
use crate::project::Projects;
use crate::search::{SearchFilter, Sort, put_entity, search};
use crate::values;

/// Several slices.
const N_EPICS: i64 = 3 * SLICE + 50;

#[test]
fn a_large_index_is_brought_up_to_date_beside_serving() {
    on_every_store(|store, _| {
        outdate(store);
        assert_eq!(n_found(store, "pot"), 0);
        rebuild_within(store, Duration::ZERO).expect("a thread");
        // What is written in the meantime is found at once, and stays so.
        store.wait(Mode::Write, |tx| insert(tx, N_EPICS + 1, "Kettle")).expect("an epic");
        assert_eq!(n_found(store, "kettle"), 1);
        let started = Instant::now();
        while progress(store).is_some() {
            assert!(started.elapsed() < Duration::from_secs(60), "{:?}", progress(store));
            std::thread::sleep(Duration::from_millis(10));
        }
        assert_eq!((n_found(store, "pot"), n_found(store, "kettle")), (N_EPICS, 1));
    });
}

/// A server of the previous version writes its terms, perhaps after the document's turn.
#[test]
fn what_an_older_server_writes_meanwhile_is_indexed_at_the_end() {
    on_every_store(|store, _| {
        outdate(store);
        let mut rebuild = Rebuild::default();
        for _ in 0..3 {
            rebuild.step(store).expect("a step");
        }
        let written_by_old = |tx: &mut Tx<'_>| -> Result<()> {
            insert(tx, N_EPICS + 1, "Pot")?;
            tx.execute(
                "update search_document set updated_at = ?1 where number <= 10",
                values![N_EPICS + 1],
            )?;
            erase(tx, "number <= 10 or number > (select last_number from search_state)")
        };
        store.wait(Mode::Write, written_by_old).expect("a write");
        while rebuild.step(store).expect("a step").is_some() {}
        assert_eq!((n_found(store, "pot"), progress(store)), (N_EPICS + 1, None));
    });
}

#[test]
fn an_interrupted_rebuild_goes_on_where_it_was() {
    on_every_store(|store, location| {
        outdate(store);
        let mut rebuild = Rebuild::default();
        for _ in 0..3 {
            rebuild.step(store).expect("a step");
        }
        let total = N_EPICS;
        assert_eq!(progress(store), Some(Indexing { done: 2 * SLICE, total }));
        assert_eq!(n_found(store, "pot"), 2 * SLICE);
        // Proves that the first documents are not indexed twice: their terms were removed, and stay so.
        store.wait(Mode::Write, |tx| erase(tx, &format!("number <= {SLICE}"))).expect("no terms");
        let again = Store::open(location, Options::default(), Time::from_microseconds(0)).expect("a store");
        assert_eq!(progress(&again), None);
        assert_eq!(n_found(&again, "pot"), N_EPICS - SLICE);
    });
}

#[test]
fn servers_share_the_work_and_index_what_has_no_document() {
    on_every_store(|store, location| {
        store.wait(Mode::Write, super::clear).expect("an empty index");
        std::thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    Store::open(location, Options::default(), Time::from_microseconds(0)).expect("a store")
                });
            }
        });
        assert_eq!(progress(store), None);
        assert_eq!(n_found(store, "pot"), N_EPICS);
    });
}

fn on_every_store(test: impl Fn(&Store, &Location)) {
    let filled = |location: &Location| {
        let options = Options { connections: 4, ..Options::default() };
        let store = Store::open(location, options, Time::from_microseconds(0)).expect("a store");
        let user = "insert into user_account (id, username, username_folded, email, email_folded, role, disabled, version,
                        created_at, updated_at)
                    values ('u', 'ann', 'ann', 'a@b.c', 'a@b.c', 'User', 0, 1, 0, 0)";
        store.wait(Mode::Write, |tx| tx.execute(user, &[])).expect("a user");
        store
            .wait(Mode::Write, |tx| (1..=N_EPICS).try_for_each(|number| insert(tx, number, "Pot")))
            .expect("epics");
        test(&store, location);
    };
    let folder = tempfile::tempdir().expect("a folder");
    filled(&Location::Sqlite(folder.path().join("spexus.db")));
    let Some(server) = Server::shared() else { return };
    let database = server.database();
    filled(&Location::parse(database.url()).expect("a URL"));
}

fn insert(tx: &mut Tx<'_>, number: i64, title: &str) -> Result<()> {
    let id = uuid::Uuid::from_u128(number as u128).to_string();
    let sql = "insert into entity (project_id, id, kind, number, title, priority, status, creator_id, version,
                   content_version, created_at, updated_at)
               values ('00000000-0000-7000-8000-000000000001', ?1, 'epic', ?2, ?3, 1, 'Backlog', 'u', 1, 1, ?2, ?2)";
    tx.execute(sql, values![&id, number, title])?;
    let entity = entity::find(tx, &Reference::Id(id))?.expect("it was inserted");
    put_entity(tx, &entity)
}

/// Leaves the index as a version with other terms has written it.
fn outdate(store: &Store) {
    let outdate = |tx: &mut Tx<'_>| -> Result<()> {
        tx.execute("update search_state set version = 0, target = null", &[])?;
        erase(tx, "number > 0")
    };
    store.wait(Mode::Write, outdate).expect("an old index");
}

/// Replaces the terms of some documents.
fn erase(tx: &mut Tx<'_>, which: &str) -> Result<()> {
    if tx.is_postgres() {
        return tx.script(&format!("update search_document set terms = '' where {which}"));
    }
    tx.script(&format!(
        "insert or replace into search_index (rowid, terms) select number, 'old' from search_document where {which}"
    ))
}

fn progress(store: &Store) -> Option<Indexing> {
    store.wait(Mode::Point, indexing).expect("a state")
}

fn n_found(store: &Store, words: &str) -> i64 {
    let query = Query::parse(words).expect("a query");
    let filter = SearchFilter { projects: Projects::All, ..SearchFilter::default() };
    let found = store.wait(Mode::Snapshot, move |tx| search(tx, &query, &filter, Sort::Created, 1, 2_000));
    found.expect("an answer").total
}
