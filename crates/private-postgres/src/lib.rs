//! A real PostgreSQL for tests: found on the machine, started in a separate folder, removed when the test process ends.
//!
//! ```no_run
//! let Some(server) = private_postgres::Server::shared() else { return };
//! let database = server.database();
//! // database.url() is an empty database until `database` is dropped
//! ```

mod binaries;
mod database;
mod private;
mod process;
mod watchdog;

use std::{
    env,
    path::{Path, PathBuf},
    sync::OnceLock,
};

use crate::private::Private;

use postgres::NoTls;

pub use crate::database::Database;

/// A program of PostgreSQL, such as `pg_dump`. Only for callers with a private server, where it was found.
pub fn program(name: &str) -> PathBuf {
    binaries::find().expect("PostgreSQL").join(name)
}

/// A PostgreSQL server, in which every test has its own database.
pub struct Server {
    /// As a superuser, to its database `postgres`.
    admin: postgres::Config,
    url: String,
    /// None for the server of TEST_POSTGRES, which is not ours.
    private: Option<Private>,
}

/// The settings of a test's own server.
#[derive(Clone, Copy)]
pub struct Options {
    /// Whether commits are synced to disk. Killed processes lose nothing without it, only a power failure does.
    pub fsync: bool,
    /// At least 4, because PostgreSQL reserves three for superusers. Tests are superusers, and may use them all.
    pub max_connections: u16,
    /// Whether TCP connections must be encrypted, with a certificate for `localhost` and 127.0.0.1.
    pub tls: bool,
    /// Further lines of postgresql.conf, such as `("deadlock_timeout", "'10ms'")`.
    pub settings: &'static [(&'static str, &'static str)],
}

impl Default for Options {
    fn default() -> Self {
        Self { fsync: false, max_connections: 100, tls: false, settings: &[] }
    }
}

impl Server {
    /// The server that all tests of this process share: the one of TEST_POSTGRES, or a private one. Without either,
    /// `skipped:` is printed and the test returns; with SPEXUS_REQUIRE_TOOLS=1, as in the test command, it fails.
    #[track_caller]
    pub fn shared() -> Option<&'static Self> {
        static SHARED: OnceLock<Result<Server, String>> = OnceLock::new();
        let found = SHARED.get_or_init(|| match env::var("TEST_POSTGRES") {
            Ok(url) if !url.is_empty() => Ok(Self::of_someone_else(&url)),
            _ => Private::start_new(Options::default()).map(Self::from),
        });
        match found {
            Ok(server) => Some(server),
            Err(reason) => skip(reason),
        }
    }

    /// A server that a test may kill, stop and start, and that is removed when it is dropped. Always a private one, so
    /// without binaries a test is skipped as in [`Server::shared`].
    #[track_caller]
    pub fn own(options: Options) -> Option<Self> {
        match Private::start_new(options) {
            Ok(private) => Some(private.into()),
            Err(reason) => skip(&reason),
        }
    }

    /// Creates an empty database, with UTF-8 and sorted by code points.
    pub fn database(&self) -> Database {
        Database::create(&self.admin, &self.url)
    }

    /// Its address: `host:port`.
    pub fn address(&self) -> &str {
        self.url.split(['@', '/']).nth(3).expect("a URL")
    }

    /// A standby that replicates this server. None if [`Server::own`] returns none.
    #[track_caller]
    pub fn standby(&self) -> Option<Self> {
        match self.private.as_ref()?.start_standby() {
            Ok(private) => Some(private.into()),
            Err(reason) => skip(&reason),
        }
    }

    /// Promotes a standby to primary.
    pub fn promote(&self) {
        let mut client = self.admin.connect(NoTls).expect("a server that runs");
        client.batch_execute("select pg_promote()").expect("a standby");
    }

    /// Starts PgBouncer in front of the server, in transaction pooling with this many connections, and further settings such as
    /// `ignore_startup_parameters = options`. Returns `host:port`. Without PgBouncer a test is skipped as in
    /// [`Server::shared`].
    #[track_caller]
    pub fn pooler(&mut self, n_connections: u16, settings: &str) -> Option<String> {
        match self.private_mut().start_pooler(n_connections, settings) {
            Ok(address) => Some(address),
            Err(reason) => skip(&reason),
        }
    }

    /// Kills all of the server's processes at once, as a crash would.
    pub fn kill(&mut self) {
        self.private_mut().kill();
    }

    /// Stops the server cleanly; clients are disconnected.
    pub fn stop(&mut self) {
        self.private_mut().stop();
    }

    /// Starts a killed or stopped server again, with its data and on its port.
    pub fn start(&mut self) {
        self.private_mut().start();
    }

    /// The certificate to trust for a server with TLS, as PEM.
    pub fn certificate(&self) -> Option<&str> {
        self.private.as_ref()?.certificate()
    }

    /// The folder of a private server, which has its unix socket.
    pub fn folder(&self) -> Option<&Path> {
        Some(self.private.as_ref()?.folder())
    }

    /// The log of a private server since it was created.
    pub fn log(&self) -> Option<String> {
        Some(self.private.as_ref()?.log())
    }

    fn of_someone_else(url: &str) -> Self {
        let admin =
            url.parse().unwrap_or_else(|error| panic!("TEST_POSTGRES: expected postgres://…: {error}"));
        Self { admin, url: url.to_owned(), private: None }
    }

    fn private_mut(&mut self) -> &mut Private {
        self.private.as_mut().expect("the server of TEST_POSTGRES is only ever shared, not owned")
    }
}

impl From<Private> for Server {
    fn from(private: Private) -> Self {
        Self { admin: private.admin(), url: private.url(), private: Some(private) }
    }
}

#[track_caller]
fn skip<Found>(reason: &str) -> Option<Found> {
    assert!(env::var("SPEXUS_REQUIRE_TOOLS").as_deref() != Ok("1"), "{reason}");
    eprintln!("skipped: {reason}");
    None
}
