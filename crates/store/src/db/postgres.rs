//! PostgreSQL: threads with a connection each take calls from one queue. A connection that is lost is made anew, and a
//! call is retried until its deadline as long as its commit was not sent.

use std::collections::HashMap;
use std::error::Error as _;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::{Arc, Once};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use postgres::types::private::BytesMut;
use postgres::types::{IsNull, ToSql, Type, to_sql_checked};
use postgres::{Client, Statement};

use super::job::{Attempt, Job};
use super::queue::Queue;
use super::signal::Signal;
use super::{Connection as TxConnection, Failure, Mode, Options, Tx};
use crate::error::{Error, ErrorKind, Result};
use crate::value::{Row, Value};

use self::connect::Connector;
pub(super) use self::lease::Leases;
use self::notify::{Notifier, listen};

mod connect;
mod copy;
mod lease;
mod notify;

pub(super) type Outcome<T> = std::result::Result<T, (Error, Option<Failure>)>;

/// A transaction that lost a race is run again until its deadline, and at least so many times: it may have waited for
/// most of its time before it ran at all.
const RACES_MIN: u32 = 12;
/// The pause before the second attempt; it doubles up to the longest. Who lost a race pauses for a shorter time, because
/// the winner has usually committed by then.
const PAUSE_FIRST: Duration = Duration::from_millis(2);
const PAUSE_LONGEST: Duration = Duration::from_millis(250);
const RACE_PAUSE_LONGEST: Duration = Duration::from_millis(32);
/// Prepared statements that a connection keeps.
const STATEMENTS_MAX: usize = 512;

/// Whoever may note a change says so with a lock that all of them share, before the transaction has a number.
const BEGIN_WRITER: &str =
    "begin isolation level read committed; select pg_advisory_xact_lock_shared(1936745848, 1)";

/// The number of the oldest open transaction that may note a change, or that of the next transaction. A snapshot knows the
/// open transactions of the whole cluster. One is passed over only if its backend is seen without the lock of writers in
/// the same look at the locks, and belongs to another program or works in another database: earlier versions take no
/// lock, and a transaction that ended after the snapshot was taken is not in the locks any more.
pub(super) const OLDEST_OPEN_WRITER: &str = "
    with held as materialized (
        select pid, locktype, mode, cast(cast(transactionid as text) as bigint) as xid, database, classid, objid, objsubid
        from pg_locks
    ), here as materialized (
        select oid, datname from pg_database where datname = current_database()
    )
    select coalesce(min(open.number), cast(cast(pg_snapshot_xmax(pg_current_snapshot()) as text) as bigint))
    from (select cast(cast(xid as text) as bigint) as number
          from pg_snapshot_xip(pg_current_snapshot()) as running (xid)) open
    where not exists (
        select 1 from held join pg_stat_activity backend on backend.pid = held.pid cross join here
        where held.locktype = 'transactionid' and held.mode = 'ExclusiveLock' and held.xid = open.number % 4294967296
          and (backend.datname <> here.datname or backend.application_name <> 'spexus')
          and not exists (
              select 1 from held writer
              where writer.pid = held.pid and writer.locktype = 'advisory' and writer.database = here.oid
                and writer.classid = 1936745848 and writer.objid = 1 and writer.objsubid = 2))";

/// The message for a lost connection.
const CLOSED: &str = "the database closed the connection";
/// What the caller is told in the end.
const LOST_RACE: &str = "others keep changing the same things at the same time; try again";

pub(super) struct Engine {
    queue: Arc<Queue>,
    threads: Vec<JoinHandle<()>>,
    notifier: Arc<Notifier>,
    connector: Arc<Connector>,
    signal: Arc<Signal>,
    /// Set while a thread listens to what other processes say.
    listening: Once,
}

impl Engine {
    pub(super) fn open(url: &str, options: &Options, signal: Arc<Signal>) -> Result<Engine> {
        let connector = Arc::new(Connector::new(url, options)?);
        let leases = Arc::new(Leases::new(connector.clone()));
        // The first connection is made here, so that a wrong URL is told at once.
        let mut first = Some(Connection::new(connector.connect()?, leases.clone()));
        let queue = Arc::new(Queue::new());
        let notifier = Arc::new(Notifier::new(queue.clone()));
        let mut engine = Engine {
            queue,
            threads: Vec::new(),
            notifier: notifier.clone(),
            connector: connector.clone(),
            signal,
            listening: Once::new(),
        };
        for _ in 0..options.connections.max(1) {
            let queue = engine.queue.clone();
            let mut worker = Worker {
                connector: connector.clone(),
                leases: leases.clone(),
                connection: first.take(),
                notifier: notifier.clone(),
            };
            let thread = std::thread::Builder::new()
                .name("store worker".to_owned())
                .spawn(move || {
                    while let Some(job) = queue.pop() {
                        worker.run(job);
                    }
                })
                .map_err(|error| {
                    Error::new(ErrorKind::Unavailable, format!("no thread for the store: {error}"))
                })?;
            engine.threads.push(thread);
        }
        Ok(engine)
    }

    /// Listens to what other processes say, from the first call on.
    pub(super) fn listen(&self) -> Result<()> {
        let mut result = Ok(());
        self.listening.call_once(|| result = listen(self.connector.clone(), Arc::downgrade(&self.signal)));
        result
    }

    /// Runs a statement on a connection of its own, which no transaction of a pool can be in the way of.
    pub(super) fn run_outside_transaction(&self, sql: &str) -> Result<()> {
        let mut client = self.connector.connect()?;
        client.batch_execute(sql).map_err(|error| translate(&error).0)
    }

    pub(super) fn submit(&self, job: Box<dyn Job>) {
        self.queue.push(job);
    }

    pub(super) fn waiting(&self) -> usize {
        self.queue.len()
    }
}

/// What waits is still run; nothing that was accepted is dropped.
impl Drop for Engine {
    fn drop(&mut self) {
        self.notifier.close();
        self.queue.close();
        for thread in self.threads.drain(..) {
            // The last clone of a store may go on one of its own threads, which cannot wait for itself.
            if thread.thread().id() != std::thread::current().id() {
                let _ = thread.join();
            }
        }
    }
}

struct Worker {
    connector: Arc<Connector>,
    leases: Arc<Leases>,
    connection: Option<Connection>,
    notifier: Arc<Notifier>,
}

impl Worker {
    fn run(&mut self, mut job: Box<dyn Job>) {
        let mut n_races = 0;
        let mut outage_pause = PAUSE_FIRST;
        let mut race_pause = PAUSE_FIRST;
        loop {
            let error = match self.attempt(&mut *job) {
                Ok(()) => return job.finish(),
                Err(error) => error,
            };
            let has_time = |pause| Instant::now() + pause < job.deadline();
            // Attempts during an outage are not lost races, and do not use them up.
            let pause = match error.kind {
                ErrorKind::Unavailable if has_time(outage_pause) => {
                    let pause = outage_pause;
                    outage_pause = (pause * 2).min(PAUSE_LONGEST);
                    pause
                }
                ErrorKind::Contention if n_races + 1 < RACES_MIN || has_time(race_pause) => {
                    n_races += 1;
                    let pause = race_pause;
                    race_pause = (pause * 2).min(RACE_PAUSE_LONGEST);
                    pause
                }
                _ => {
                    job.fail(error);
                    return job.finish();
                }
            };
            std::thread::sleep(jittered(pause));
        }
    }

    /// Runs the job once. An error means that nothing of it happened (or, if it says so, that nobody knows).
    fn attempt(&mut self, job: &mut dyn Job) -> Result<()> {
        let connection = match &mut self.connection {
            Some(connection) if !connection.client.is_closed() => connection,
            slot => slot.insert(Connection::new(self.connector.connect()?, self.leases.clone())),
        };
        let begin = match job.mode() {
            Mode::Point => None,
            Mode::Snapshot => Some("begin isolation level repeatable read read only"),
            // Read committed: serializable transactions fail each other for pages that they share.
            Mode::Aside => Some("begin isolation level read committed"),
            Mode::Write | Mode::Long => Some(BEGIN_WRITER),
        };
        if let Some(begin) = begin
            && let Err((error, _)) = connection.script(begin)
        {
            self.connection = None;
            return Err(Error { kind: ErrorKind::Unavailable, ..error });
        }
        // What writes is finished once it has begun; what reads is stopped when nobody waits for it.
        let cancel = job.cancel().filter(|_| matches!(job.mode(), Mode::Point | Mode::Snapshot)).cloned();
        if let Some(cancel) = &cancel {
            let (token, connector) = (connection.client.cancel_token(), self.connector.clone());
            cancel.arm(move || connector.interrupt(token));
        }
        let mut tx = Tx::new(TxConnection::Postgres(connection));
        let attempt = job.attempt(&mut tx);
        let has_changed = tx.has_changed;
        if let Some(cancel) = &cancel {
            cancel.disarm();
            if cancel.is_cancelled() {
                // The order to stop may still be on its way, and must not meet somebody else's statement.
                self.connection = None;
                return Ok(());
            }
        }
        if begin.is_none() && !matches!(attempt, Attempt::Again(_)) {
            return Ok(());
        }
        match attempt {
            Attempt::Keep => {
                self.commit()?;
                if has_changed {
                    self.notifier.notify();
                }
                Ok(())
            }
            Attempt::Undo => {
                if connection.script("rollback").is_err() {
                    self.connection = None;
                }
                Ok(())
            }
            Attempt::Again(Failure::LostRace) => {
                if connection.script("rollback").is_err() {
                    self.connection = None;
                }
                Err(Error::new(ErrorKind::Contention, LOST_RACE))
            }
            Attempt::Again(Failure::Disconnected) => {
                self.connection = None;
                Err(Error::new(ErrorKind::Unavailable, CLOSED))
            }
        }
    }

    fn commit(&mut self) -> Result<()> {
        let Some(connection) = &mut self.connection else { return Ok(()) };
        connection.script("commit").map_err(|(error, failure)| match failure {
            Some(Failure::LostRace) => Error { kind: ErrorKind::Contention, ..error },
            Some(Failure::Disconnected) => {
                self.connection = None;
                let message =
                    "the connection was lost during the commit; the change may or may not have been made";
                Error::new(ErrorKind::Unknown, message)
            }
            None => {
                self.connection = None;
                error
            }
        })
    }
}

/// A random part of a pause, at least half of it, so that those who lost the same race do not meet again.
fn jittered(pause: Duration) -> Duration {
    let random = RandomState::new().build_hasher().finish() as u32;
    pause.mul_f64(0.5 + 0.5 * f64::from(random) / f64::from(u32::MAX))
}

/// A connection with its prepared statements.
pub(crate) struct Connection {
    client: Client,
    statements: HashMap<Box<str>, Statement, foldhash::fast::RandomState>,
    leases: Arc<Leases>,
}

impl Connection {
    fn new(client: Client, leases: Arc<Leases>) -> Connection {
        Connection { client, statements: HashMap::default(), leases }
    }

    pub(super) fn leases(&self) -> &Arc<Leases> {
        &self.leases
    }

    pub(super) fn each(
        &mut self,
        sql: &str,
        values: &[Value<'_>],
        mut read: impl FnMut(&Row<'_>) -> Result<()>,
    ) -> Outcome<()> {
        let statement = self.prepare(sql)?;
        let parameters: Vec<&(dyn ToSql + Sync)> =
            values.iter().map(|value| value as &(dyn ToSql + Sync)).collect();
        let rows = self.client.query(&statement, &parameters).map_err(|error| translate(&error))?;
        for row in &rows {
            read(&Row::Postgres(row)).map_err(|error| (error, None))?;
        }
        Ok(())
    }

    pub(super) fn execute(&mut self, sql: &'static str, values: &[Value<'_>]) -> Outcome<u64> {
        let statement = self.prepare(sql)?;
        let parameters: Vec<&(dyn ToSql + Sync)> =
            values.iter().map(|value| value as &(dyn ToSql + Sync)).collect();
        self.client.execute(&statement, &parameters).map_err(|error| translate(&error))
    }

    pub(super) fn script(&mut self, sql: &str) -> Outcome<()> {
        self.client.batch_execute(sql).map_err(|error| translate(&error))
    }

    fn prepare(&mut self, sql: &str) -> Outcome<Statement> {
        if let Some(statement) = self.statements.get(sql) {
            return Ok(statement.clone());
        }
        let statement = self.client.prepare(&dollars(sql)).map_err(|error| translate(&error))?;
        // Filters have more shapes than a connection can keep. Whichever are in use come back.
        if self.statements.len() >= STATEMENTS_MAX {
            self.statements.clear();
        }
        self.statements.insert(sql.into(), statement.clone());
        Ok(statement)
    }
}

/// Turns `?1` into `$1`. Our statements hold no question mark elsewhere.
fn dollars(sql: &str) -> String {
    sql.replace('?', "$")
}

impl ToSql for Value<'_> {
    fn to_sql(
        &self,
        kind: &Type,
        out: &mut BytesMut,
    ) -> std::result::Result<IsNull, Box<dyn std::error::Error + Sync + Send>> {
        match self {
            Value::Null => Ok(IsNull::Yes),
            Value::Number(number) => match *kind {
                Type::INT4 => i32::try_from(*number)?.to_sql(kind, out),
                _ => number.to_sql(kind, out),
            },
            Value::Text(text) => text.to_sql(kind, out),
        }
    }

    fn accepts(_: &Type) -> bool {
        true
    }

    to_sql_checked!();
}

fn translate(error: &postgres::Error) -> (Error, Option<Failure>) {
    let Some(told) = error.as_db_error() else {
        let cause = error.source().map(|cause| format!(": {cause}")).unwrap_or_default();
        let unavailable = Error::new(ErrorKind::Unavailable, CLOSED).because(format!("{error}{cause}"));
        // Everything that is not an answer of the server is taken for the loss of the connection.
        return (unavailable, Some(Failure::Disconnected));
    };
    let text = told.message().to_owned();
    let (kind, failure) = match told.code().code() {
        "23505" => (ErrorKind::Taken, None),
        "23503" => (ErrorKind::Referenced, None),
        code if code.starts_with("23") => (ErrorKind::Refused, None),
        "40001" | "40P01" | "55P03" => (ErrorKind::Contention, Some(Failure::LostRace)),
        "57014" => (ErrorKind::Timeout, None),
        "57P01" | "57P02" | "57P03" | "57P04" | "57P05" | "25P03" => {
            (ErrorKind::Unavailable, Some(Failure::Disconnected))
        }
        code if code.starts_with("08") => (ErrorKind::Unavailable, Some(Failure::Disconnected)),
        "53100" => (ErrorKind::Full, None),
        "53300" | "53200" => (ErrorKind::Unavailable, None),
        "25006" => (ErrorKind::ReadOnly, None),
        "28000" | "28P01" | "3D000" => (ErrorKind::Schema, None),
        _ => (ErrorKind::Internal, None),
    };
    let message = match kind {
        ErrorKind::Full => "the disk of the database is full",
        ErrorKind::ReadOnly => "the database cannot be written to",
        ErrorKind::Timeout => "the query took too long",
        ErrorKind::Contention => LOST_RACE,
        ErrorKind::Unavailable if failure.is_some() => CLOSED,
        ErrorKind::Unavailable => "the database has no connection or memory to spare",
        _ => return (Error::new(kind, text), failure),
    };
    (Error::new(kind, message).because(text), failure)
}
