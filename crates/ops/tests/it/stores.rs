//! Runs a test on SQLite and on PostgreSQL, with a fresh store each, and calls operations in it.

use std::sync::atomic::{AtomicI64, Ordering};

use ops::{Call, Credentials, Engine, Error, Reply, Request};
use private_postgres::Server;
use serde_json::Value;
use store::model::{Time, Via};
use store::{Location, Options, Store};

/// A fresh store with its first start behind it.
pub struct World {
    /// The door.
    pub engine: Engine,
    /// What the first start has made.
    pub first: ops::First,
    clock: AtomicI64,
    location: Location,
}

/// Runs `test` on a fresh SQLite store and, where there is one, on a fresh PostgreSQL database.
pub fn on_every_store(test: impl Fn(&World)) {
    let folder = tempfile::tempdir().expect("a folder");
    test(&World::open(&Location::Sqlite(folder.path().join("spexus.db"))));
    let Some(server) = Server::shared() else { return };
    let database = server.database();
    test(&World::open(&Location::parse(&database.url()).expect("a URL")));
}

impl World {
    /// Opens a store.
    pub fn open(location: &Location) -> World {
        let start = Time::parse("2026-11-15T08:00:00Z").expect("a time");
        let options = Options { connections: 4, ..Options::default() };
        let store =
            Store::open(location, options, start).unwrap_or_else(|error| panic!("{location}: {error}"));
        let first =
            ops::first_start(&store, &request(start)).expect("a first start").expect("an empty store");
        World {
            engine: Engine::new(store),
            first,
            clock: AtomicI64::new(start.microseconds()),
            location: location.clone(),
        }
    }

    /// Opens the same store once more, as another server would.
    pub fn open_again(&self) -> World {
        World::open_filled(&self.location, self.first.token.clone())
    }

    /// Opens a store that had its first start, of which a token is known.
    pub fn open_filled(location: &Location, token: String) -> World {
        let now = Time::parse("2026-11-15T09:00:00Z").expect("a time");
        let options = Options { connections: 4, ..Options::default() };
        let store = Store::open(location, options, now).unwrap_or_else(|error| panic!("{location}: {error}"));
        let first = ops::First { username: "admin".to_owned(), password: String::new(), token };
        let clock = AtomicI64::new(now.microseconds());
        World { engine: Engine::new(store), first, clock, location: location.clone() }
    }

    /// Calls an operation as the administrator.
    pub fn call(&self, name: &str, arguments: Value) -> Result<Value, Error> {
        self.call_as(Credentials::Bearer(self.first.token.clone()), name, arguments)
    }

    /// Calls an operation with credentials. Each call is a millisecond later than the one before.
    pub fn call_as(&self, credentials: Credentials, name: &str, arguments: Value) -> Result<Value, Error> {
        self.reply(credentials, name, arguments, None)
            .result
            .map(|answer| serde_json::from_str(&answer.json).expect("JSON"))
    }

    /// Calls an operation and returns everything about the reply.
    pub fn reply(&self, credentials: Credentials, name: &str, arguments: Value, key: Option<&str>) -> Reply {
        let now = Time::from_microseconds(self.clock.fetch_add(1_000, Ordering::Relaxed));
        let entry = ops::find(name).unwrap_or_else(|| panic!("no operation is called {name}"));
        let idempotency_key = key.map(str::to_owned);
        self.engine.wait(Call { entry, arguments, credentials, request: request(now), idempotency_key })
    }

    /// Calls an operation that must succeed.
    #[track_caller]
    pub fn ok(&self, name: &str, arguments: Value) -> Value {
        self.call(name, arguments)
            .unwrap_or_else(|error| panic!("{name}: {:?} {error} {:?}", error.kind, error.fields))
    }

    /// Calls an operation that must fail, and returns its kind and message.
    #[track_caller]
    pub fn refused(&self, name: &str, arguments: Value) -> String {
        match self.call(name, arguments) {
            Ok(answer) => panic!("{name} was not refused: {answer}"),
            Err(error) => format!("{}: {error}", error.kind.code()),
        }
    }
}

fn request(now: Time) -> Request {
    Request { via: Via::Rest, now, request_id: Some("test".to_owned()), address: None }
}
