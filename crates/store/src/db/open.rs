//! Opening a store: its schema is brought up to date first, and its search index before or beside what comes next.

use std::sync::{Arc, Weak};

use super::signal::Signal;
use super::{Engine, Location, Options, Store};
use crate::cluster;
use crate::error::Result;
use crate::migrate;
use crate::model::Time;
use crate::search;
use crate::tally;

impl Store {
    /// Opens a store, creates it if it is not there, and brings its schema and its search index up to date.
    pub fn open(location: &Location, options: Options, now: Time) -> Result<Store> {
        let store = Store::open_with_schema(location, options, now)?;
        search::rebuild_if_old(&store)?;
        Ok(store)
    }

    /// Like [`Store::open`], for whoever serves: a large search index is brought up to date beside that.
    pub fn open_to_serve(location: &Location, options: Options, now: Time) -> Result<Store> {
        let store = Store::open_with_schema(location, options, now)?;
        search::rebuild_beside(&store)?;
        Ok(store)
    }

    /// Like [`Store::open_to_serve`]. None when there is no store: then nothing is created.
    pub fn open_existing(location: &Location, options: Options, now: Time) -> Result<Option<Store>> {
        if location.is_missing() {
            return Ok(None);
        }
        let store = Store::open_as_it_is(location, options)?;
        if store.migrations()?.iter().all(|migration| migration.state == migrate::State::Pending) {
            return Ok(None);
        }
        migrate::run(&store, location, now)?;
        cluster::notice_move(&store, now)?;
        store.sum_up();
        search::rebuild_beside(&store)?;
        Ok(Some(store))
    }

    /// Opens a store, creates it if it is not there, and brings its schema up to date, but not its search index: servers of
    /// the version before still search in it.
    pub fn open_with_schema(location: &Location, options: Options, now: Time) -> Result<Store> {
        let store = Store::open_as_it_is(location, options)?;
        migrate::run(&store, location, now)?;
        cluster::notice_move(&store, now)?;
        store.sum_up();
        Ok(store)
    }

    /// Sums up some of what writers have counted, beside whatever comes next: where no server runs, nobody else does.
    fn sum_up(&self) {
        if self.is_remote() {
            // Totals are right without it, and the next one who opens the store tries again.
            self.run(super::Mode::Aside, tally::fold, |_: Result<bool>| {});
        }
    }

    /// The store as long as somebody else has it open.
    pub(crate) fn downgrade(&self) -> WeakStore {
        WeakStore {
            engine: Arc::downgrade(&self.engine),
            options: self.options.clone(),
            signal: self.signal.clone(),
        }
    }
}

/// A store that does not stay open for this.
pub(crate) struct WeakStore {
    engine: Weak<Engine>,
    options: Options,
    signal: Arc<Signal>,
}

impl WeakStore {
    /// None when it was closed.
    pub(crate) fn upgrade(&self) -> Option<Store> {
        let engine = self.engine.upgrade()?;
        Some(Store { engine, options: self.options.clone(), signal: self.signal.clone() })
    }
}
