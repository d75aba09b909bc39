//! Backup files: written under a temporary name, checked, synced, and then renamed.

use std::fmt;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rusqlite::backup::{Backup, StepResult};
use rusqlite::{Connection, OpenFlags};

use super::Progress;
use crate::db::translate_sqlite;
use crate::error::{Error, ErrorKind, Result};
use crate::migrate;

/// Pages copied between two calls of the progress.
const PAGES: i32 = 1_024;
/// The suffix of unfinished files.
const PARTIAL: &str = ".partial";
/// The suffixes of SQLite's temporary files.
const COMPANIONS: [&str; 3] = ["-wal", "-shm", "-journal"];

/// An unfinished file. It is removed when it is dropped; the name of a file left by a killed process shows that it is
/// unfinished.
pub(super) struct Partial {
    path: PathBuf,
}

impl Partial {
    /// An unused name in the folder of the final file.
    pub fn beside(path: &Path) -> Result<Partial> {
        let Some(name) = path.file_name() else {
            return Err(Error::new(
                ErrorKind::Refused,
                format!("{} is not the name of a file", path.display()),
            ));
        };
        let mut name = name.to_owned();
        name.push(format!(".{}{PARTIAL}", &uuid::Uuid::now_v7().simple().to_string()[16..]));
        let partial = Partial { path: path.with_file_name(name) };
        begin(partial.path())?;
        Ok(partial)
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Renames the file, after everything is on the disk.
    pub fn keep_as(self, path: &Path) -> Result<()> {
        let sync = |path: &Path| File::open(path).and_then(|file| file.sync_all());
        sync(&self.path).map_err(|error| failed(&self.path, "cannot be synced", &error))?;
        fs::rename(&self.path, path).map_err(|error| failed(path, "cannot be given its name", &error))?;
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        sync(folder).map_err(|error| failed(folder, "cannot be synced", &error))
    }
}

impl Drop for Partial {
    fn drop(&mut self) {
        remove(&self.path);
    }
}

/// Creates an empty file, replacing an unfinished one. Only its owner may read it, because it contains hashes of passwords and
/// tokens.
pub(super) fn begin(path: &Path) -> Result<()> {
    remove(path);
    let mut options = File::options();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path).map_err(|error| failed(path, "cannot be made", &error))?;
    Ok(())
}

/// Whether the name of a file says that it is unfinished. Its content may look complete, and lack rows.
pub(super) fn is_partial(path: &Path) -> bool {
    path.to_string_lossy().ends_with(PARTIAL)
}

fn remove(path: &Path) {
    // A missing file need not be removed; one that cannot be removed still has a telling name.
    let _ = fs::remove_file(path);
    for companion in COMPANIONS {
        let mut name = path.as_os_str().to_owned();
        name.push(companion);
        let _ = fs::remove_file(PathBuf::from(name));
    }
}

/// Copies one state of a database, page by page, to a new self-contained file.
pub(super) fn copy(from: &Path, to: &Path, mut progress: impl FnMut(Progress)) -> Result<()> {
    let source = SqliteFile::open_to_read(from)?;
    let mut target = SqliteFile::open_to_write(to)?;
    target.run("pragma synchronous = off")?;
    // While this transaction is open, others may write without restarting the copy with each write.
    source.run("begin")?;
    source.number("select count(*) from sqlite_schema")?;
    {
        let backup = Backup::new(&source.connection, &mut target.connection).map_err(told_of(from))?;
        loop {
            let step = backup.step(PAGES).map_err(told_of(from))?;
            let told = backup.progress();
            let (total, left) = (told.pagecount.max(0) as u64, told.remaining.max(0) as u64);
            progress(Progress { done: total - left.min(total), total });
            match step {
                StepResult::Done => break,
                StepResult::More => {}
                _ => std::thread::sleep(Duration::from_millis(5)),
            }
        }
    }
    source.run("rollback")?;
    target.run("pragma journal_mode = delete")
}

/// Replaces the content of a database that others may have open.
pub(super) fn copy_into(from: &Path, to: &Path, wait_max: Duration) -> Result<()> {
    let source = SqliteFile::open_to_read(from)?;
    let mut target = SqliteFile::open_to_write(to)?;
    let deadline = Instant::now() + wait_max;
    let backup = Backup::new(&source.connection, &mut target.connection).map_err(told_of(to))?;
    loop {
        match backup.step(-1).map_err(told_of(to))? {
            StepResult::Done => return Ok(()),
            StepResult::More => {}
            _ if Instant::now() > deadline => {
                let message = format!("{}: others keep it locked", to.display());
                return Err(Error::new(ErrorKind::Unavailable, message));
            }
            _ => std::thread::sleep(Duration::from_millis(20)),
        }
    }
}

/// Checks that a file is a complete store of this version or an older one, and returns whether it is of this one.
pub(super) fn check(path: &Path) -> Result<bool> {
    if !path.is_file() {
        return Err(Error::new(ErrorKind::Schema, format!("there is no file {}", path.display())));
    }
    let wrong = |message: String| Error::new(ErrorKind::Schema, format!("{} {message}", path.display()));
    let sqlite = SqliteFile::open_to_read(path)?;
    let is_store =
        "select count(*) from sqlite_schema where type = 'table' and name in ('migration', 'entity')";
    if sqlite.number(is_store)? != 2 {
        return Err(wrong("is not a backup of a requirements store".to_owned()));
    }
    let applied = sqlite.texts("select name from migration order by name")?;
    let hashes = sqlite.texts("select hash from migration order by name")?;
    let is_current = migrate::check_backup(applied.into_iter().zip(hashes).collect())
        .map_err(|error| wrong(error.message))?;
    let found = sqlite.texts("pragma integrity_check(1)")?;
    if found != ["ok"] {
        return Err(wrong(format!("is damaged: {}", found.first().map_or("", String::as_str))));
    }
    let strays = sqlite.number("select count(*) from pragma_foreign_key_check")?;
    if strays > 0 {
        return Err(wrong(format!("is damaged: {strays} rows refer to others that are not there")));
    }
    Ok(is_current)
}

/// Whether a file is empty: no tables, or a store before its first start.
pub(super) fn is_empty(path: &Path) -> Result<bool> {
    if path.metadata().is_ok_and(|file| file.len() == 0) {
        return Ok(true);
    }
    let sqlite = SqliteFile::open_to_read(path)?;
    let tables = sqlite.number("select count(*) from sqlite_schema where type = 'table'")?;
    let of_store = "select count(*) from sqlite_schema where type = 'table' and name in ('migration', 'user_account', 'entity')";
    if tables == 0 {
        return Ok(true);
    }
    Ok(sqlite.number(of_store)? == 3 && sqlite.count("user_account")? == 0 && sqlite.count("entity")? == 0)
}

/// A file that is read or written as a whole, without the threads of a store.
pub(super) struct SqliteFile {
    pub connection: Connection,
    path: PathBuf,
}

impl SqliteFile {
    pub fn open_to_read(path: &Path) -> Result<SqliteFile> {
        SqliteFile::open(path, OpenFlags::SQLITE_OPEN_READ_ONLY)
    }

    pub fn open_to_write(path: &Path) -> Result<SqliteFile> {
        SqliteFile::open(path, OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE)
    }

    fn open(path: &Path, flags: OpenFlags) -> Result<SqliteFile> {
        let connection = Connection::open_with_flags(path, flags | OpenFlags::SQLITE_OPEN_NO_MUTEX)
            .and_then(|connection| connection.busy_timeout(Duration::from_secs(5)).map(|()| connection))
            .map_err(told_of(path))?;
        Ok(SqliteFile { connection, path: path.to_owned() })
    }

    pub fn run(&self, sql: &str) -> Result<()> {
        self.connection.execute_batch(sql).map_err(self.told())
    }

    pub fn number(&self, sql: &str) -> Result<u64> {
        let number = self.connection.query_row(sql, [], |row| row.get::<_, i64>(0)).map_err(self.told())?;
        Ok(number.max(0) as u64)
    }

    pub fn count(&self, table: &str) -> Result<u64> {
        self.number(&format!("select count(*) from {table}"))
    }

    pub fn texts(&self, sql: &str) -> Result<Vec<String>> {
        let mut statement = self.connection.prepare(sql).map_err(self.told())?;
        let texts = statement.query_map([], |row| row.get(0)).map_err(self.told())?;
        texts.collect::<rusqlite::Result<_>>().map_err(self.told())
    }

    pub fn told(&self) -> impl Fn(rusqlite::Error) -> Error + '_ {
        told_of(&self.path)
    }
}

/// Adds the name of the file to an error.
fn told_of(path: &Path) -> impl Fn(rusqlite::Error) -> Error + '_ {
    move |error| {
        let error = translate_sqlite(error);
        Error::new(error.kind, format!("{}: {}", path.display(), error.message))
    }
}

pub(super) fn failed(path: &Path, what: &str, error: &impl fmt::Display) -> Error {
    Error::new(ErrorKind::Unavailable, format!("{} {what}: {error}", path.display()))
}
