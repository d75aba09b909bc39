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
    test(&World::open(&Location::parse(database.url()).expect("a URL")));
}

/// Runs `test` on two stores that share a database, as two servers do.
pub fn on_two_servers(test: impl Fn(&World, &World)) {
    let both = |location: &Location| {
        let one = World::open(location);
        let other = one.open_again();
        test(&one, &other);
    };
    let folder = tempfile::tempdir().expect("a folder");
    both(&Location::Sqlite(folder.path().join("spexus.db")));
    let Some(server) = Server::shared() else { return };
    let database = server.database();
    both(&Location::parse(database.url()).expect("a URL"));
}

/// Runs `test` on two fresh stores: from SQLite to SQLite, and where there is one, to and from PostgreSQL.
pub fn on_every_pair(test: impl Fn(&World, &World)) {
    let folder = tempfile::tempdir().expect("a folder");
    let file = |name: &str| World::open(&Location::Sqlite(folder.path().join(name)));
    test(&file("one.db"), &file("two.db"));
    let Some(server) = Server::shared() else { return };
    let (one, two) = (server.database(), server.database());
    let [one, two] =
        [&one, &two].map(|database| World::open(&Location::parse(database.url()).expect("a URL")));
    test(&one, &file("three.db"));
    test(&file("four.db"), &two);
}

impl World {
    /// Opens a store.
    pub fn open(location: &Location) -> World {
        World::open_with(location, 4)
    }

    /// Opens a store with so many connections.
    pub fn open_with(location: &Location, connections: usize) -> World {
        let start = Time::parse("2026-11-15T08:00:00Z").expect("a time");
        let options = Options { connections, ..Options::default() };
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
        self.beside(&self.location)
    }

    /// Opens another store that has the same users, because it is the same or a copy.
    pub fn beside(&self, location: &Location) -> World {
        let options = Options { connections: 4, ..Options::default() };
        let store = Store::open(location, options, self.now()).expect("a store");
        let ops::First { username, password, token } = &self.first;
        let first =
            ops::First { username: username.clone(), password: password.clone(), token: token.clone() };
        let clock = AtomicI64::new(self.now().microseconds());
        World { engine: Engine::new(store), first, clock, location: location.clone() }
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

    /// Where the store is.
    pub fn location(&self) -> &Location {
        &self.location
    }

    /// The time of the next call.
    pub fn now(&self) -> Time {
        Time::from_microseconds(self.clock.load(Ordering::Relaxed))
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
        let entry = ops::find(name).unwrap_or_else(|| panic!("no operation is called {name}"));
        self.engine.wait(Call { credentials, ..self.the_call(entry, arguments, key) })
    }

    /// A call by the administrator, a millisecond later than the one before.
    pub fn the_call(&self, entry: &'static ops::Entry, arguments: Value, key: Option<&str>) -> Call {
        let now = Time::from_microseconds(self.clock.fetch_add(1_000, Ordering::Relaxed));
        let credentials = Credentials::Bearer(self.first.token.clone());
        let idempotency_key = key.map(str::to_owned);
        Call { idempotency_key, ..Call::new(entry, arguments, credentials, request(now)) }
    }

    /// The number that a query answers.
    pub fn count(&self, sql: &'static str) -> i64 {
        let counted =
            self.engine.store().wait(store::Mode::Snapshot, move |tx| tx.row(sql, &[], |row| row.get(0)));
        counted.expect("a count").unwrap_or_default()
    }

    /// Lets time pass.
    pub fn pass_seconds(&self, seconds: i64) {
        self.clock.fetch_add(seconds * 1_000_000, Ordering::Relaxed);
    }

    /// Makes a user, and returns what they show.
    pub fn member(&self, name: &str, role: &str) -> Credentials {
        let email = format!("{name}@example.org");
        self.ok("create_user", serde_json::json!({ "username": name, "email": email, "role": role }));
        Credentials::Local(Some(name.to_owned()))
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
    Request {
        via: Via::Rest,
        now,
        request_id: Some("test".to_owned()),
        address: Some("192.0.2.7".to_owned()),
        user_agent: Some("test".to_owned()),
        checkout: None,
        threats: None,
    }
}
