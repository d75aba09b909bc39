//! PostgreSQL: threads with a connection each take calls from one queue. A lost connection is reopened, and a
//! call is retried until its deadline unless its commit was sent.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::{Arc, Once};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::job::{Attempt, Job};
use super::queue::Queue;
use super::signal::Signal;
use super::{Connection as TxConnection, Failure, Mode, Options, Tx};
use crate::error::{Error, ErrorKind, Result};

use self::connect::Connector;
pub(super) use self::connection::Array;
pub(crate) use self::connection::Connection;
pub(super) use self::lease::Leases;
use self::notify::{Notifier, listen};
use self::translate::{CLOSED, LOST_RACE, READ_ONLY};

mod connect;
mod connection;
mod copy;
mod lease;
mod notify;
mod translate;

pub(super) type Outcome<T> = std::result::Result<T, (Error, Option<Failure>)>;

/// A transaction that lost a race is retried until its deadline, and at least this many times, because it may have waited for
/// most of its time before it ran.
const RACES_MIN: u32 = 12;
/// The pause before the second attempt; it doubles up to the longest. After a lost race the pause is shorter, because
/// the winner has usually committed by then.
const PAUSE_FIRST: Duration = Duration::from_millis(2);
const PAUSE_LONGEST: Duration = Duration::from_millis(250);
const RACE_PAUSE_LONGEST: Duration = Duration::from_millis(32);
/// A transaction that may record a change takes this lock in shared mode, before it has a number.
const LOCK_OF_WRITERS: &str = "; select pg_advisory_xact_lock_shared(1936745848, 1)";

/// The number of the oldest open transaction that may record a change, or that of the next transaction. A snapshot contains the
/// open transactions of the whole cluster. One is ignored only if its backend is seen without the writers' lock in
/// the same read of the locks, and belongs to another program or another database: earlier versions take no
/// lock, and a transaction that ended after the snapshot was taken is no longer in the locks.
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

pub(super) struct Engine {
    queue: Arc<Queue>,
    threads: Vec<JoinHandle<()>>,
    notifier: Arc<Notifier>,
    /// Opens the listening connection.
    listener: Arc<Connector>,
    /// Whether there is a URL for it.
    has_listen_url: bool,
    signal: Arc<Signal>,
    /// Set while a thread listens for notifications of other processes.
    listening: Once,
}

impl Engine {
    pub(super) fn open(url: &str, options: &Options, signal: Arc<Signal>) -> Result<Engine> {
        let connector = Arc::new(Connector::new(url, options)?);
        let listener = match &options.listen_url {
            Some(url) => Arc::new(Connector::new(url, options)?),
            None => connector.clone(),
        };
        // The first connection is opened here, so that a wrong URL is reported at once.
        let first = connector.connect()?;
        let can_lease = !first.is_pooled || options.listen_url.is_some();
        let leases = Arc::new(Leases::new(can_lease.then(|| listener.clone())));
        let mut first = Some(Connection::new(first, leases.clone()));
        let queue = Arc::new(Queue::new());
        let notifier = Arc::new(Notifier::new(queue.clone(), Arc::downgrade(&signal)));
        let mut engine = Engine {
            queue,
            threads: Vec::new(),
            notifier: notifier.clone(),
            listener,
            has_listen_url: options.listen_url.is_some(),
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

    /// Listens for notifications of other processes, from the first call on. A pooler would deliver them to another client.
    pub(super) fn listen(&self) -> Result<()> {
        if !self.has_listen_url && self.listener.is_pooled() {
            let message = "a connection pooler passes no notifications on; give a URL around it to listen on";
            return Err(Error::new(ErrorKind::Unavailable, message));
        }
        let mut result = Ok(());
        self.listening.call_once(|| {
            result = listen(self.listener.clone(), self.notifier.clone(), Arc::downgrade(&self.signal));
        });
        result
    }

    /// Runs a statement on a separate connection, so that no pooled transaction blocks it.
    pub(super) fn run_outside_transaction(&self, sql: &str) -> Result<()> {
        let mut connected = self.listener.connect()?;
        connected.client.batch_execute(sql).map_err(|error| translate::translate(&error).0)
    }

    pub(super) fn submit(&self, job: Box<dyn Job>) {
        self.queue.push(job);
    }

    pub(super) fn waiting(&self) -> usize {
        self.queue.len()
    }
}

/// Waiting calls are still run; accepted calls are never dropped.
impl Drop for Engine {
    fn drop(&mut self) {
        self.notifier.close();
        self.queue.close();
        for thread in self.threads.drain(..) {
            // The last clone of a store may be dropped on one of its own threads, which cannot wait for itself.
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
            // Attempts during an outage do not count as lost races.
            let pause = match error.kind {
                ErrorKind::Unavailable | ErrorKind::ReadOnly if has_time(outage_pause) => {
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

    /// Runs the job once. An error means that it had no effect (or, if it says so, that the outcome is unknown).
    fn attempt(&mut self, job: &mut dyn Job) -> Result<()> {
        let connection = match &mut self.connection {
            Some(connection) if !connection.client.is_closed() => connection,
            slot => slot.insert(Connection::new(self.connector.connect()?, self.leases.clone())),
        };
        let settings = self.connector.settings();
        let begin = match job.mode() {
            Mode::Point => None,
            Mode::Snapshot | Mode::LongSnapshot => {
                Some(format!("begin isolation level repeatable read read only{settings}"))
            }
            // Read committed, because serializable transactions abort each other for shared pages.
            Mode::Aside => Some(format!("begin isolation level read committed{settings}")),
            Mode::Write | Mode::Long => {
                Some(format!("begin isolation level read committed{settings}{LOCK_OF_WRITERS}"))
            }
        };
        if let Some(begin) = &begin
            && let Err((error, _)) = connection.script(begin)
        {
            self.connection = None;
            return Err(Error { kind: ErrorKind::Unavailable, ..error });
        }
        // A started write is finished; a read is stopped when it is cancelled.
        let only_reads = matches!(job.mode(), Mode::Point | Mode::Snapshot | Mode::LongSnapshot);
        let can_stop = only_reads && !self.connector.is_pooled();
        // PgBouncer 1.18 crashes if the sender of a cancel request does not wait for the answer.
        let cancel = job.cancel().filter(|_| can_stop).cloned();
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
                // A cancel request may still be on its way, and must not hit another client's statement.
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
            // The next connection goes to a writable server, if there is one.
            Attempt::Again(Failure::ReadOnly) => {
                self.connection = None;
                Err(Error::new(ErrorKind::ReadOnly, READ_ONLY))
            }
        }
    }

    fn commit(&mut self) -> Result<()> {
        let Some(connection) = &mut self.connection else { return Ok(()) };
        connection.script("commit").map_err(|(error, failure)| match failure {
            Some(Failure::LostRace) => Error { kind: ErrorKind::Contention, ..error },
            Some(Failure::Disconnected | Failure::ReadOnly) => {
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

/// A random part of a pause, at least half of it, so that the losers of one race do not meet again.
fn jittered(pause: Duration) -> Duration {
    let random = RandomState::new().build_hasher().finish() as u32;
    pause.mul_f64(0.5 + 0.5 * f64::from(random) / f64::from(u32::MAX))
}
