//! Schema migrations in one dialect, run in order at start, forward only, and verified by name
//! and hash. Servers that start at once run each of them once, and servers of the previous version keep working.

mod folding;
mod script;
#[cfg(test)]
mod tests;
mod upgrade;

use serde::Serialize;

use self::upgrade::Upgrade;
use crate::db::{Location, Mode, Store, Tx};
use crate::error::{Error, ErrorKind, Result};
use crate::model::Time;
use crate::{relationship, report, tally, user};

/// A migration: its parts run one after the other (see `migrate/script.rs`), then its backfills.
struct Step {
    name: &'static str,
    sql: &'static str,
    backfills: &'static [Backfill],
}

/// Fills the additions of a migration, in slices.
struct Backfill {
    /// Its name for people: `counted entities`.
    name: &'static str,
    /// Does the slice at a position, which is empty at first, in its own transaction that should take
    /// no longer than a request. Servers of the previous version may write at the same time.
    slice: fn(&mut Tx<'_>, &str) -> Result<Slice>,
}

/// The result of a slice.
pub(crate) struct Slice {
    /// The start of the next one. None at the end.
    pub(crate) next: Option<String>,
    /// How many rows it has filled.
    pub(crate) n_rows: u64,
}

const STEPS: &[Step] = &[
    step("0001_start", include_str!("../migrations/0001_start.sql")),
    step("0002_search", include_str!("../migrations/0002_search.sql")),
    step("0003_change_order", include_str!("../migrations/0003_change_order.sql")),
    step("0004_mcp", include_str!("../migrations/0004_mcp.sql")),
    step("0005_search_text", include_str!("../migrations/0005_search_text.sql")),
    step("0006_search_speed", include_str!("../migrations/0006_search_speed.sql")),
    Step {
        // Since then names are folded; before, they were only lower-cased.
        backfills: &[Backfill { name: "folded names", slice: user::fold_again }],
        ..step("0007_tokens", include_str!("../migrations/0007_tokens.sql"))
    },
    step("0008_streams", include_str!("../migrations/0008_streams.sql")),
    step("0009_sessions", include_str!("../migrations/0009_sessions.sql")),
    step("0010_members", include_str!("../migrations/0010_members.sql")),
    Step {
        backfills: &[Backfill { name: "counted entities", slice: tally::backfill }],
        ..step("0011_lists", include_str!("../migrations/0011_lists.sql"))
    },
    step("0012_cluster", include_str!("../migrations/0012_cluster.sql")),
    step("0013_imports", include_str!("../migrations/0013_imports.sql")),
    step("0014_search_rebuild", include_str!("../migrations/0014_search_rebuild.sql")),
    Step {
        backfills: &[Backfill {
            name: "folded names of types, statuses and prompts",
            slice: folding::fold_again,
        }],
        ..step("0015_fields", include_str!("../migrations/0015_fields.sql"))
    },
    Step {
        backfills: &[Backfill { name: "suspect relationships", slice: relationship::find_suspects }],
        ..step("0016_suspects", include_str!("../migrations/0016_suspects.sql"))
    },
    step("0017_search_waiting", include_str!("../migrations/0017_search_waiting.sql")),
    step("0018_links", include_str!("../migrations/0018_links.sql")),
    step("0019_views", include_str!("../migrations/0019_views.sql")),
    Step {
        backfills: &[Backfill { name: "entities by week", slice: report::burn_up::backfill }],
        ..step("0020_weeks", include_str!("../migrations/0020_weeks.sql"))
    },
    step("0021_aliases", include_str!("../migrations/0021_aliases.sql")),
    step("0022_deletions", include_str!("../migrations/0022_deletions.sql")),
    step("0023_thread", include_str!("../migrations/0023_thread.sql")),
    step("0024_work", include_str!("../migrations/0024_work.sql")),
    step("0025_threats", include_str!("../migrations/0025_threats.sql")),
];

/// A migration without backfills.
const fn step(name: &'static str, sql: &'static str) -> Step {
    Step { name, sql, backfills: &[] }
}

/// A migration and its state in the store.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Migration {
    /// Its name.
    pub name: String,
    /// Its state.
    pub state: State,
}

/// The state of a migration of the program in the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// It was run.
    Applied,
    /// It runs at the next start.
    Pending,
    /// It was run with another text than this program's.
    Altered,
    /// A newer program has run it.
    Unknown,
}

impl Store {
    /// The differences between the store's schema and this program's.
    pub fn migrations(&self) -> Result<Vec<Migration>> {
        self.wait(Mode::Snapshot, |tx| compare(tx, STEPS))
    }
}

/// Migrates the schema.
pub(crate) fn run(store: &Store, location: &Location, now: Time) -> Result<()> {
    run_steps(store, location, STEPS, now)
}

fn run_steps(store: &Store, location: &Location, steps: &'static [Step], now: Time) -> Result<()> {
    let migrations = store.wait(Mode::Snapshot, |tx| compare(tx, steps))?;
    check(&migrations)?;
    let count = |state| migrations.iter().filter(|migration| migration.state == state).count();
    let store = match count(State::Pending) {
        0 => return Ok(()),
        n_pending if n_pending == migrations.len() => store.clone(),
        _ => Store::open_as_it_is(location, upgrade::options(store.options()))?,
    };
    Upgrade::new(store, steps, now).run()
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

/// Verifies the migrations of a backup by name and hash, and returns whether it has all of them.
pub(crate) fn check_backup(applied: Vec<(String, String)>) -> Result<bool> {
    let migrations = judge(applied, STEPS);
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

fn compare(tx: &mut Tx<'_>, steps: &[Step]) -> Result<Vec<Migration>> {
    Ok(judge(applied(tx)?, steps))
}

fn judge(applied: Vec<(String, String)>, steps: &[Step]) -> Vec<Migration> {
    let mut migrations: Vec<Migration> = steps
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
    let unknown = applied.into_iter().filter(|(name, _)| steps.iter().all(|step| step.name != name));
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

fn hash_of(step: &Step) -> String {
    blake3::hash(step.sql.as_bytes()).to_hex().to_string()
}
