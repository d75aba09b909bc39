//! The schema and how it comes to be: migrations in one dialect, run in order at start, forward only, and checked by name
//! and hash. Two servers that start at once run them once.

use serde::Serialize;

use crate::db::{Mode, Store, Tx};
use crate::error::{Error, ErrorKind, Result};
use crate::model::Time;
use crate::user;
use crate::values;

/// A step of the schema.
struct Step {
    name: &'static str,
    sql: &'static str,
}

/// With this one names came to be folded, where before they were only in lower case.
const TOKENS: &str = "0007_tokens";

const STEPS: &[Step] = &[
    Step { name: "0001_start", sql: include_str!("../migrations/0001_start.sql") },
    Step { name: "0002_search", sql: include_str!("../migrations/0002_search.sql") },
    Step { name: "0003_change_order", sql: include_str!("../migrations/0003_change_order.sql") },
    Step { name: "0004_mcp", sql: include_str!("../migrations/0004_mcp.sql") },
    Step { name: "0005_search_text", sql: include_str!("../migrations/0005_search_text.sql") },
    Step { name: "0006_search_speed", sql: include_str!("../migrations/0006_search_speed.sql") },
    Step { name: TOKENS, sql: include_str!("../migrations/0007_tokens.sql") },
    Step { name: "0008_streams", sql: include_str!("../migrations/0008_streams.sql") },
    Step { name: "0009_sessions", sql: include_str!("../migrations/0009_sessions.sql") },
    Step { name: "0010_members", sql: include_str!("../migrations/0010_members.sql") },
    Step { name: "0013_imports", sql: include_str!("../migrations/0013_imports.sql") },
];

/// A migration and whether the store has it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Migration {
    /// Its name.
    pub name: String,
    /// Whether it has run, will run, or does not fit.
    pub state: State,
}

/// How a migration of the program and the store's record of it compare.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// It has run.
    Applied,
    /// It runs at the next start.
    Pending,
    /// It has run with another text than this program knows.
    Altered,
    /// A newer program has run it.
    Unknown,
}

impl Store {
    /// What the store's schema lacks, or has that this program does not know.
    pub fn migrations(&self) -> Result<Vec<Migration>> {
        self.wait(Mode::Snapshot, compare)
    }
}

/// Brings the schema up to date.
pub(crate) fn run(store: &Store, now: Time) -> Result<()> {
    let migrations = store.migrations()?;
    check(&migrations)?;
    if migrations.iter().all(|migration| migration.state == State::Applied) {
        return Ok(());
    }
    store.wait(Mode::Write, move |tx| {
        lock(tx)?;
        // Another server may have been faster.
        let migrations = compare(tx)?;
        check(&migrations)?;
        for (step, migration) in STEPS.iter().zip(&migrations) {
            if migration.state == State::Pending {
                apply(tx, step, now)?;
                if step.name == TOKENS {
                    user::fold_again(tx)?;
                }
            }
        }
        Ok(())
    })
}

fn check(migrations: &[Migration]) -> Result<()> {
    let find = |state| migrations.iter().find(|migration| migration.state == state);
    if let Some(migration) = find(State::Unknown) {
        let message = format!(
            "the store was written by a newer version (it has the migration {}, which this one does not know); \
             use that version or a backup from before",
            migration.name
        );
        return Err(Error::new(ErrorKind::Schema, message));
    }
    if let Some(migration) = find(State::Altered) {
        let message = format!("the store's migration {} is not the one of this version", migration.name);
        return Err(Error::new(ErrorKind::Schema, message));
    }
    Ok(())
}

/// Checks the migrations of a backup by name and hash, and says whether it has all of them.
pub(crate) fn check_backup(applied: Vec<(String, String)>) -> Result<bool> {
    let migrations = judge(applied);
    let find = |state| migrations.iter().find(|migration| migration.state == state);
    if let Some(migration) = find(State::Unknown) {
        let message = format!(
            "was made by a newer version (it has the migration {}, which this one does not know); use that version",
            migration.name
        );
        return Err(Error::new(ErrorKind::Schema, message));
    }
    if let Some(migration) = find(State::Altered) {
        let message = format!("has a migration {} that is not the one of this version", migration.name);
        return Err(Error::new(ErrorKind::Schema, message));
    }
    Ok(find(State::Pending).is_none())
}

fn compare(tx: &mut Tx<'_>) -> Result<Vec<Migration>> {
    Ok(judge(applied(tx)?))
}

fn judge(applied: Vec<(String, String)>) -> Vec<Migration> {
    let mut migrations: Vec<Migration> = STEPS
        .iter()
        .map(|step| {
            let state = match applied.iter().find(|(name, _)| name == step.name) {
                None => State::Pending,
                Some((_, hash)) if *hash == hash_of(step) => State::Applied,
                Some(_) => State::Altered,
            };
            Migration { name: step.name.to_owned(), state }
        })
        .collect();
    let unknown = applied.into_iter().filter(|(name, _)| STEPS.iter().all(|step| step.name != name));
    migrations.extend(unknown.map(|(name, _)| Migration { name, state: State::Unknown }));
    migrations
}

fn applied(tx: &mut Tx<'_>) -> Result<Vec<(String, String)>> {
    let exists = if tx.is_postgres() {
        "select 1::bigint from pg_tables where schemaname = current_schema() and tablename = 'migration'"
    } else {
        "select 1 from sqlite_schema where type = 'table' and name = 'migration'"
    };
    if tx.row(exists, &[], |row| row.get::<i64>(0))?.is_none() {
        return Ok(Vec::new());
    }
    tx.rows("select name, hash from migration order by name", &[], |row| Ok((row.get(0)?, row.get(1)?)))
}

/// Keeps other servers out until the end of the transaction. SQLite's only writer needs no lock.
fn lock(tx: &mut Tx<'_>) -> Result<()> {
    if tx.is_postgres() {
        // Whatever number, as long as every version uses the same: it is `spexus` in ASCII.
        tx.script("select pg_advisory_xact_lock(126918102873459)")?;
    }
    tx.script("create table if not exists migration (name text primary key, hash text not null, applied_at bigint not null)")
}

fn apply(tx: &mut Tx<'_>, step: &Step, now: Time) -> Result<()> {
    let sql = in_dialect(step.sql, tx.is_postgres()).replace("{now}", &now.microseconds().to_string());
    tx.script(&sql)
        .map_err(|error| Error::new(error.kind, format!("migration {}: {}", step.name, error.message)))?;
    let record = "insert into migration (name, hash, applied_at) values (?1, ?2, ?3)";
    tx.execute(record, values![step.name, &hash_of(step), now])?;
    Ok(())
}

/// Chooses between the engines: `{sequence}` is a number that the engine counts up, lines between `-- sqlite` or
/// `-- postgres` and `-- both` are for one engine. Text compares byte by byte on both.
fn in_dialect(sql: &str, postgres: bool) -> String {
    let mut chosen = String::with_capacity(sql.len());
    let mut wanted = true;
    for line in sql.lines() {
        match line.trim() {
            "-- sqlite" => wanted = !postgres,
            "-- postgres" => wanted = postgres,
            "-- both" => wanted = true,
            _ if wanted => {
                chosen.push_str(line);
                chosen.push('\n');
            }
            _ => {}
        }
    }
    if postgres {
        let sequence = "bigint generated always as identity primary key";
        chosen.replace(" text", " text collate \"C\"").replace("{sequence}", sequence)
    } else {
        chosen.replace("{sequence}", "integer primary key autoincrement")
    }
}

fn hash_of(step: &Step) -> String {
    blake3::hash(step.sql.as_bytes()).to_hex().to_string()
}

#[cfg(test)]
mod tests {
    use super::{STEPS, check_backup, hash_of};

    #[test]
    fn backups_of_older_versions_are_taken_and_of_newer_ones_are_not() {
        let all: Vec<(String, String)> =
            STEPS.iter().map(|step| (step.name.to_owned(), hash_of(step))).collect();
        assert_eq!(check_backup(all.clone()), Ok(true));
        assert_eq!(check_backup(all[..all.len() - 1].to_vec()), Ok(false));
        let newer = all.iter().cloned().chain([("9999_later".to_owned(), String::new())]).collect();
        assert!(check_backup(newer).is_err_and(|error| error.message.contains("newer version")));
        let altered = all.iter().map(|(name, _)| (name.clone(), "x".to_owned())).collect();
        assert!(check_backup(altered).is_err_and(|error| error.message.contains("is not the one")));
    }
}
