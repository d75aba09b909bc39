//! Opens a store: migrates its schema first, and rebuilds its search index before or during use.

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
    /// Opens a store, creates it if it is missing, and updates its schema and its search index.
    pub fn open(location: &Location, options: Options, now: Time) -> Result<Store> {
        let store = Store::open_with_schema(location, options, now)?;
        search::rebuild_if_old(&store)?;
        Ok(store)
    }

    /// Like [`Store::open`], for servers: a large search index is rebuilt while serving.
    pub fn open_to_serve(location: &Location, options: Options, now: Time) -> Result<Store> {
        let store = Store::open_with_schema(location, options, now)?;
        search::rebuild_beside(&store)?;
        Ok(store)
    }

    /// Like [`Store::open_to_serve`]. None if there is no store: then nothing is created.
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

    /// Opens a store, creates it if it is missing, and migrates its schema, but not its search index: servers of
    /// the previous version still search in it.
    pub fn open_with_schema(location: &Location, options: Options, now: Time) -> Result<Store> {
        let store = Store::open_as_it_is(location, options)?;
        migrate::run(&store, location, now)?;
        cluster::notice_move(&store, now)?;
        store.sum_up();
        Ok(store)
    }

    /// Sums up pending counts in the background: without a running server, nobody else does.
    fn sum_up(&self) {
        if self.is_remote() {
            // Totals are correct without it, and the next process that opens the store tries again.
            self.run(super::Mode::Aside, tally::fold, |_: Result<bool>| {});
        }
    }

    /// The store while somebody else has it open.
    pub(crate) fn downgrade(&self) -> WeakStore {
        WeakStore {
            engine: Arc::downgrade(&self.engine),
            options: self.options.clone(),
            signal: self.signal.clone(),
        }
    }
}

/// A weak reference to a store.
pub(crate) struct WeakStore {
    engine: Weak<Engine>,
    options: Options,
    signal: Arc<Signal>,
}

impl WeakStore {
    /// None if it was closed.
    pub(crate) fn upgrade(&self) -> Option<Store> {
        let engine = self.engine.upgrade()?;
        Some(Store { engine, options: self.options.clone(), signal: self.signal.clone() })
    }
}
