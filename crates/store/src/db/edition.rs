//! Which edition of a SQLite database is current, found out without a query: what was read before is still true as long as
//! the edition is the same. SQLite keeps the head of its journal in the file `-shm` beside the database, in two copies that
//! every commit of every process changes; reading them is one call of the system, where the smallest query needs several
//! locks. The layout is the one that SQLite documents as the format of the WAL index.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

use rusqlite::Connection;

/// The length of one copy.
const HEAD: usize = 48;
/// What the first four bytes say, in the order of the machine.
const FORMAT: u32 = 3_007_000;
/// Where it counts commits, and where it says that the head was written.
const N_COMMITS: usize = 8;
const IS_WRITTEN: usize = 12;

/// Whether commits show in the head. There are file systems where a file that is mapped into memory and the same file when
/// it is read are two things, so it is believed when it has shown a commit of this process.
const UNKNOWN: u8 = 0;
const SHOWS: u8 = 1;
const DEAF: u8 = 2;

/// An edition of the database. After every commit it is another one, and never one that was before: it holds the number of
/// the last page that was written, a checksum of all of them, and a count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Edition([u8; HEAD]);

impl Edition {
    /// Before the first commit, and when SQLite has put an empty journal together anew, there is no count, and the head is
    /// the same whatever is in the database.
    fn is_counted(&self) -> bool {
        self.0[N_COMMITS..IS_WRITTEN] != [0; IS_WRITTEN - N_COMMITS]
    }
}

/// The head of a database's journal.
pub(super) struct Head {
    database: PathBuf,
    /// Opened when it is there: a new database has none before the first write.
    file: OnceLock<File>,
    /// An edition as it is written, and an earlier one which says the same to those who read.
    same: Mutex<Option<(Edition, Edition)>>,
    /// Whether commits show in it.
    trust: AtomicU8,
}

impl Head {
    /// The head of the journal of a database with this connection. Where there is no such journal, no edition is known.
    pub(super) fn of(database: &Path, connection: &Connection) -> Head {
        let mode = connection.pragma_query_value(None, "journal_mode", |row| row.get::<_, String>(0));
        let has_journal = mode.is_ok_and(|mode| mode == "wal");
        Head {
            // SQLite follows links before it adds the ending.
            database: database.canonicalize().unwrap_or_else(|_| database.to_owned()),
            file: OnceLock::new(),
            same: Mutex::default(),
            trust: AtomicU8::new(if has_journal { UNKNOWN } else { DEAF }),
        }
    }

    fn file(&self) -> Option<&File> {
        if self.file.get().is_none() {
            let mut path = self.database.clone().into_os_string();
            path.push("-shm");
            if let Err(second) = self.file.set(File::open(path).ok()?) {
                // Another thread was faster. Why it must not be closed, see below.
                std::mem::forget(second);
            }
        }
        self.file.get()
    }

    /// The current edition, unless somebody is just writing it down.
    pub(super) fn edition(&self) -> Option<Edition> {
        if self.trust.load(Ordering::Relaxed) != SHOWS {
            return None;
        }
        self.written().filter(Edition::is_counted).map(|written| self.told(written))
    }

    /// The edition that readers are told.
    fn told(&self, written: Edition) -> Edition {
        match *self.same.lock().unwrap_or_else(PoisonError::into_inner) {
            Some((known, told)) if known == written => told,
            _ => written,
        }
    }

    /// The current edition as SQLite has written it.
    fn written(&self) -> Option<Edition> {
        let mut copies = [0; 2 * HEAD];
        read(self.file()?, &mut copies)?;
        let (first, second) = copies.split_at(HEAD);
        let (format, _) = first.split_first_chunk::<4>()?;
        let is_valid = u32::from_ne_bytes(*format) == FORMAT && first[IS_WRITTEN] == 1 && first == second;
        Some(Edition(first.try_into().ok()?)).filter(|_| is_valid)
    }

    /// Lets readers take one edition for an earlier one, because nothing that they read is different in it.
    fn note_same(&self, earlier: Option<Edition>, later: Option<Edition>) {
        let (Some(earlier), Some(later)) = (earlier.filter(Edition::is_counted), later) else { return };
        let told = self.told(earlier);
        *self.same.lock().unwrap_or_else(PoisonError::into_inner) = Some((later, told));
    }

    /// Learns from a commit whether it shows: the head before and after it, and whether it must have written something.
    fn learn(&self, before: Option<Edition>, after: Option<Edition>, has_changed: bool) {
        match (before, after) {
            (Some(before), Some(after)) if before != after => {
                let _ = self.trust.compare_exchange(UNKNOWN, SHOWS, Ordering::Relaxed, Ordering::Relaxed);
            }
            (Some(_), Some(_)) if has_changed => self.trust.store(DEAF, Ordering::Relaxed),
            _ => {}
        }
    }
}

/// The edition when a transaction has begun to write.
pub(super) struct Began {
    edition: Option<Edition>,
    version: Option<i64>,
}

impl Began {
    /// To be called when nobody else can write any more. What is likely to change something needs no more than the edition.
    pub(super) fn now(connection: &Connection, head: &Head, is_aside: bool) -> Began {
        Began { edition: head.written(), version: is_aside.then(|| version(connection)).flatten() }
    }

    /// After a commit, which may have changed what readers see.
    pub(super) fn committed(self, head: &Head, has_changed: bool) {
        head.learn(self.edition, head.written(), has_changed);
    }

    /// After a commit that has changed nothing that readers see: the edition is the same to them, unless it is somebody
    /// else's already.
    pub(super) fn committed_aside(self, connection: &Connection, head: &Head) {
        let edition = head.written();
        if self.version.is_some() && version(connection) == self.version {
            head.note_same(self.edition, edition);
            head.learn(self.edition, edition, false);
        }
    }
}

/// A number that changes when another connection has committed something.
fn version(connection: &Connection) -> Option<i64> {
    connection.prepare_cached("pragma data_version").ok()?.query_row([], |row| row.get(0)).ok()
}

#[cfg(unix)]
fn read(file: &File, copies: &mut [u8]) -> Option<()> {
    std::os::unix::fs::FileExt::read_exact_at(file, copies, 0).ok()
}

/// Elsewhere nobody promises that what others have mapped into memory is what is read.
#[cfg(not(unix))]
fn read(_: &File, _: &mut [u8]) -> Option<()> {
    None
}

impl Drop for Head {
    /// A process that closes a file gives up all its locks on it, those of SQLite too. So it stays open while SQLite uses
    /// it for another store of this process: then it still has a name.
    fn drop(&mut self) {
        #[cfg(unix)]
        if let Some(file) = self.file.take()
            && !file.metadata().is_ok_and(|data| std::os::unix::fs::MetadataExt::nlink(&data) == 0)
        {
            std::mem::forget(file);
        }
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::path::PathBuf;

    use tempfile::TempDir;

    use crate::{Location, Mode, Options, Store, Tx, idempotency, model::Time};

    fn open(path: PathBuf) -> Store {
        let (location, now) = (Location::Sqlite(path), Time::from_microseconds(0));
        Store::open(&location, Options::default(), now).expect("a store")
    }

    /// A store, open twice, as two processes would.
    fn two_stores(folder: &TempDir) -> (Store, Store) {
        let path = folder.path().join("spexus.db");
        let (one, other) = (open(path.clone()), open(path));
        write(&other, "first");
        (one, other)
    }

    fn write(store: &Store, key: &'static str) {
        write_as(Mode::Write, store, key);
    }

    fn write_as(mode: Mode, store: &Store, key: &'static str) {
        let now = Time::from_microseconds(0);
        let body = move |tx: &mut Tx<'_>| idempotency::claim(tx, "user", "operation", key, "hash", now);
        assert!(store.wait(mode, body).expect("a write"));
    }

    #[test]
    fn every_commit_of_every_store_is_another_edition() {
        let folder = tempfile::tempdir().expect("a folder");
        let (one, other) = two_stores(&folder);
        let mut seen = Vec::new();
        for (index, key) in ["a", "b", "c", "d"].into_iter().enumerate() {
            write(if index % 2 == 0 { &one } else { &other }, key);
            let edition = one.edition().expect("an edition");
            assert_eq!(other.edition(), Some(edition));
            assert!(!seen.contains(&edition));
            seen.push(edition);
        }
        drop(other);
        write(&one, "e");
        assert!(one.edition().is_some_and(|edition| !seen.contains(&edition)));
    }

    #[test]
    fn what_is_written_aside_leaves_the_edition_as_it_is() {
        let folder = tempfile::tempdir().expect("a folder");
        let (one, other) = two_stores(&folder);
        write(&one, "a");
        let edition = one.edition();
        assert!(edition.is_some() && other.edition() == edition);
        for key in ["b", "c", "d"] {
            write_as(Mode::Aside, &one, key);
            assert_eq!(one.edition(), edition);
            assert_ne!(other.edition(), edition, "another process cannot know what was written");
        }
        write(&other, "e");
        let later = one.edition();
        assert!(later.is_some() && later != edition);
        write_as(Mode::Aside, &one, "f");
        assert_eq!(one.edition(), later);
        write(&one, "g");
        assert!(one.edition().is_some() && one.edition() != later && one.edition() != edition);
    }

    #[test]
    fn a_head_that_does_not_show_commits_is_not_believed() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("spexus.db");
        let store = open(path.clone());
        let head = super::Head::of(&path, &rusqlite::Connection::open(&path).expect("a connection"));
        write(&store, "a");
        let before = head.written();
        assert!(before.is_some());
        assert_eq!(head.edition(), None, "before it has shown anything");
        write(&store, "b");
        head.learn(before, head.written(), true);
        assert!(head.edition().is_some());
        head.learn(head.written(), head.written(), false);
        assert!(head.edition().is_some());
        head.learn(head.written(), head.written(), true);
        assert_eq!(head.edition(), None);
        head.learn(before, head.written(), true);
        assert_eq!(head.edition(), None, "it has missed one");

        let elsewhere = rusqlite::Connection::open(folder.path().join("plain.db")).expect("a connection");
        assert_eq!(super::Head::of(&path, &elsewhere).edition(), None, "without this journal");
    }

    /// A head without a count is the same for every database, so it must not be taken for an edition.
    #[test]
    fn a_store_that_is_opened_again_has_an_edition_after_its_first_commit() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("spexus.db");
        write(&open(path.clone()), "a");
        let store = open(path);
        assert_eq!(store.edition(), None);
        write_as(Mode::Aside, &store, "b");
        let edition = store.edition();
        assert!(edition.is_some_and(|edition| edition.is_counted()));
        write_as(Mode::Aside, &store, "c");
        assert_eq!(store.edition(), edition);
    }

    #[test]
    fn a_database_behind_a_link_has_editions() {
        let folder = tempfile::tempdir().expect("a folder");
        let link = folder.path().join("link.db");
        std::fs::create_dir(folder.path().join("real")).expect("a folder");
        std::os::unix::fs::symlink(folder.path().join("real/spexus.db"), &link).expect("a link");
        let store = open(link);
        let before = store.edition();
        write(&store, "a");
        assert!(before.is_some() && store.edition().is_some() && store.edition() != before);
    }
}
