//! Snapshots: the citations in a repository at a commit. The head of a ref is the snapshot that answers are based on.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::Serialize;

use crate::db::{Columns, Holds, Tx};
use crate::error::{Error, Result};
use crate::model::Time;
use crate::value::{Row, Value};
use crate::values;

/// What an annotation in code says about a unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum CitationKind {
    /// The code does what the unit asks for.
    Code,
    /// A test shows that it does.
    Test,
    /// It is not done on purpose.
    Exception,
    /// It is still to be done.
    Todo,
    /// It follows from how the code is built, and needs no test.
    Implication,
    /// The report of a test says that the test shows it, and not the code of the test.
    Verifies,
}

impl CitationKind {
    /// All of them.
    pub const ALL: [CitationKind; 6] = [
        CitationKind::Code,
        CitationKind::Test,
        CitationKind::Exception,
        CitationKind::Todo,
        CitationKind::Implication,
        CitationKind::Verifies,
    ];

    /// The name in the store and in what is pushed.
    pub const fn name(self) -> &'static str {
        match self {
            CitationKind::Code => "code",
            CitationKind::Test => "test",
            CitationKind::Exception => "exception",
            CitationKind::Todo => "todo",
            CitationKind::Implication => "implication",
            CitationKind::Verifies => "verifies",
        }
    }

    /// Whether it says that a test verifies the unit.
    pub const fn is_test(self) -> bool {
        matches!(self, CitationKind::Test | CitationKind::Verifies)
    }

    /// The kind with this name.
    pub fn from_name(name: &str) -> Option<CitationKind> {
        CitationKind::ALL.into_iter().find(|kind| kind.name() == name)
    }
}

/// A snapshot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snapshot {
    /// The UUID.
    pub id: String,
    /// The repository's id.
    pub repository_id: String,
    /// The ref that it was pushed for.
    pub ref_name: String,
    /// The commit, unless there is none yet.
    pub commit_id: Option<String>,
    /// Whether files differed from that commit.
    pub is_dirty: bool,
    /// The hash of all that was pushed.
    pub digest: String,
    /// How much is known of who pushed it.
    pub trust: String,
    /// How many files were looked at.
    pub n_files: i64,
    /// How many citations there are.
    pub n_citations: i64,
    /// Who pushed it.
    pub actor_id: Option<String>,
    /// With which token.
    pub token_id: Option<String>,
    /// When.
    pub created_at: Time,
}

/// A file of a snapshot.
#[derive(Clone, Debug)]
pub struct TracedFile {
    /// Its path from the repository's root, with `/`.
    pub path: String,
    /// The hash of its content.
    pub blob: String,
    /// The ids of the entities that it cites.
    pub entities: Vec<String>,
}

/// A citation of a unit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Citation {
    /// The snapshot's id.
    pub snapshot_id: String,
    /// The id of the entity that it cites.
    pub entity_id: String,
    /// The file.
    pub path: String,
    /// The first line of the annotation.
    pub line: i64,
    /// The last line of the annotation.
    pub last_line: i64,
    /// The hash of the unit that it quotes; empty where it cites all of them.
    pub unit_hash: String,
    /// What it says about the unit.
    pub kind: CitationKind,
    /// The version that it pins.
    pub pin: Option<i64>,
    /// The function or test that it is in.
    pub symbol: Option<String>,
    /// The first and last line of that function, or of the annotation.
    pub covered: (i64, i64),
    /// The hash of the file's content.
    pub blob: String,
    /// The test case that it is in.
    pub case_id: Option<String>,
}

impl Citation {
    /// Where it is in the store, within its snapshot.
    pub fn key(&self) -> (&str, &str, i64, &str) {
        (&self.entity_id, &self.path, self.line, &self.unit_hash)
    }
}

/// Adds a snapshot that is not visible yet.
pub fn begin(tx: &mut Tx<'_>, new: &Snapshot) -> Result<()> {
    let sql = "insert into trace_snapshot (id, repository_id, ref, commit_id, is_dirty, digest, trust, n_files, n_citations,
                   actor_id, token_id, is_complete, created_at)
               values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, 0, ?12) on conflict do nothing";
    let values = values![
        &new.id,
        &new.repository_id,
        &new.ref_name,
        &new.commit_id,
        new.is_dirty,
        &new.digest,
        &new.trust,
        new.n_files,
        new.n_citations,
        &new.actor_id,
        &new.token_id,
        new.created_at,
    ];
    tx.execute(sql, values)?;
    Ok(())
}

const FILES: Columns = Columns {
    table: "trace_file",
    columns: &[
        ("snapshot_id", Holds::Text),
        ("path", Holds::Text),
        ("blob", Holds::Text),
        ("entities", Holds::Text),
    ],
};

const CITATIONS: Columns = Columns {
    table: "citation",
    columns: &[
        ("snapshot_id", Holds::Text),
        ("entity_id", Holds::Text),
        ("path", Holds::Text),
        ("line", Holds::Number),
        ("unit_hash", Holds::Text),
        ("last_line", Holds::Number),
        ("kind", Holds::Text),
        ("pin", Holds::Number),
        ("symbol", Holds::Text),
        ("first_covered", Holds::Number),
        ("last_covered", Holds::Number),
        ("blob", Holds::Text),
        ("case_id", Holds::Text),
    ],
};

/// Adds files to a snapshot that is being pushed.
pub fn add_files(tx: &mut Tx<'_>, snapshot_id: &str, files: &[TracedFile]) -> Result<()> {
    let entities: Vec<String> = files.iter().map(|file| file.entities.join(",")).collect();
    let rows = files.iter().zip(&entities).map(|(file, entities)| {
        [snapshot_id.into(), (&file.path).into(), (&file.blob).into(), entities.into()]
    });
    tx.insert_rows(&FILES, rows)?;
    Ok(())
}

/// Adds citations to a snapshot that is being pushed. Sorted by key this is much faster.
pub fn add_citations(tx: &mut Tx<'_>, citations: &[Citation]) -> Result<()> {
    let rows = citations.iter().map(|citation| {
        [
            Value::from(&citation.snapshot_id),
            (&citation.entity_id).into(),
            (&citation.path).into(),
            citation.line.into(),
            (&citation.unit_hash).into(),
            citation.last_line.into(),
            citation.kind.name().into(),
            citation.pin.into(),
            (&citation.symbol).into(),
            citation.covered.0.into(),
            citation.covered.1.into(),
            (&citation.blob).into(),
            (&citation.case_id).into(),
        ]
    });
    tx.insert_rows(&CITATIONS, rows)?;
    Ok(())
}

/// Makes a snapshot the visible head of its ref.
pub fn make_head(tx: &mut Tx<'_>, snapshot: &Snapshot, now: Time) -> Result<()> {
    tx.execute("update trace_snapshot set is_complete = 1 where id = ?1", values![&snapshot.id])?;
    let sql = "insert into trace_head (repository_id, ref, snapshot_id, is_counted, updated_at) values (?1, ?2, ?3, 0, ?4)
               on conflict (repository_id, ref) do update set snapshot_id = excluded.snapshot_id, is_counted = 0,
                   updated_at = excluded.updated_at";
    tx.execute(sql, values![&snapshot.repository_id, &snapshot.ref_name, &snapshot.id, now])?;
    Ok(())
}

/// Records whether `verification` is up to date with a head and later runs.
pub fn note_counted(tx: &mut Tx<'_>, repository_id: &str, ref_name: &str, is_counted: bool) -> Result<()> {
    let sql = "update trace_head set is_counted = ?3 where repository_id = ?1 and ref = ?2";
    tx.execute(sql, values![repository_id, ref_name, is_counted])?;
    Ok(())
}

/// Whether `verification` is up to date with a head and later runs.
pub fn is_counted(tx: &mut Tx<'_>, repository_id: &str, ref_name: &str) -> Result<bool> {
    let sql = "select is_counted from trace_head where repository_id = ?1 and ref = ?2";
    Ok(tx.row(sql, values![repository_id, ref_name], |row| row.get(0))?.unwrap_or(true))
}

macro_rules! select_snapshot {
    ($rest:literal) => {
        concat!(
            "select s.id, s.repository_id, s.ref, s.commit_id, s.is_dirty, s.digest, s.trust, s.n_files, s.n_citations,
                    s.actor_id, s.token_id, s.created_at from ",
            $rest
        )
    };
}

/// The head of a ref.
pub fn head(tx: &mut Tx<'_>, repository_id: &str, ref_name: &str) -> Result<Option<Snapshot>> {
    let sql = select_snapshot!(
        "trace_head h join trace_snapshot s on s.id = h.snapshot_id where h.repository_id = ?1 and h.ref = ?2"
    );
    tx.row(sql, values![repository_id, ref_name], read_snapshot)
}

/// All heads of a repository, by ref.
pub fn heads(tx: &mut Tx<'_>, repository_id: &str) -> Result<Vec<Snapshot>> {
    let sql = select_snapshot!(
        "trace_head h join trace_snapshot s on s.id = h.snapshot_id where h.repository_id = ?1 order by h.ref"
    );
    tx.rows(sql, values![repository_id], read_snapshot)
}

/// Snapshots of a repository that are neither a head nor pinned, and were started before a time: newer ones may still be
/// in progress.
pub fn superseded(tx: &mut Tx<'_>, repository_id: &str, before: Time) -> Result<Vec<String>> {
    let sql = "select s.id from trace_snapshot s where s.repository_id = ?1
                   and (s.created_at < ?2 or s.is_complete = 1)
                   and not exists (select 1 from trace_head h where h.snapshot_id = s.id)
                   and not exists (select 1 from baseline_snapshot b where b.snapshot_id = s.id)
               order by s.created_at limit 20";
    tx.rows(sql, values![repository_id, before], |row| row.get(0))
}

/// All snapshots of a repository.
pub fn all(tx: &mut Tx<'_>, repository_id: &str) -> Result<Vec<String>> {
    let sql = "select id from trace_snapshot where repository_id = ?1";
    tx.rows(sql, values![repository_id], |row| row.get(0))
}

/// Removes the heads of a repository, and the pins of its snapshots.
pub fn remove_heads(tx: &mut Tx<'_>, repository_id: &str) -> Result<()> {
    tx.execute("delete from trace_head where repository_id = ?1", values![repository_id])?;
    let pins = "delete from baseline_snapshot where snapshot_id in
                    (select id from trace_snapshot where repository_id = ?1)";
    tx.execute(pins, values![repository_id])?;
    Ok(())
}

/// Removes some rows of an unused snapshot, and at last the snapshot itself. Returns whether it is gone.
pub fn remove_some(tx: &mut Tx<'_>, id: &str, limit: i64) -> Result<bool> {
    let citations = if tx.is_postgres() {
        "delete from citation where ctid = any(array(select ctid from citation where snapshot_id = ?1 limit ?2))"
    } else {
        "delete from citation where (snapshot_id, entity_id, path, line, unit_hash) in
             (select snapshot_id, entity_id, path, line, unit_hash from citation where snapshot_id = ?1 limit ?2)"
    };
    if tx.execute(citations, values![id, limit])? as i64 >= limit {
        return Ok(false);
    }
    let files = if tx.is_postgres() {
        "delete from trace_file where ctid = any(array(select ctid from trace_file where snapshot_id = ?1 limit ?2))"
    } else {
        "delete from trace_file where (snapshot_id, path) in
             (select snapshot_id, path from trace_file where snapshot_id = ?1 limit ?2)"
    };
    if tx.execute(files, values![id, limit])? as i64 >= limit {
        return Ok(false);
    }
    let itself = "delete from trace_snapshot where id = ?1
                      and not exists (select 1 from trace_head h where h.snapshot_id = ?1)
                      and not exists (select 1 from baseline_snapshot b where b.snapshot_id = ?1)";
    tx.execute(itself, values![id])?;
    Ok(true)
}

macro_rules! citations {
    ($from:literal) => {
        concat!(
            "select c.snapshot_id, c.entity_id, c.path, c.line, c.last_line, c.unit_hash, c.kind, c.pin, c.symbol,
                    c.first_covered, c.last_covered, c.blob, c.case_id from ",
            $from
        )
    };
}

/// The citations of entities in a snapshot, by entity, path and line.
pub fn citations_of(tx: &mut Tx<'_>, snapshot_id: &str, entity_ids: &[&str]) -> Result<Vec<Citation>> {
    let sql = if tx.is_postgres() {
        citations!(
            // The offset keeps the order of the join, as in `entity::of_numbers`.
            "unnest(string_to_array(?2, ',')) wanted (id) cross join lateral (select * from citation
                 where snapshot_id = ?1 and entity_id = wanted.id offset 0) c
             order by c.entity_id, c.path, c.line"
        )
    } else {
        citations!(
            "json_each(?2) wanted cross join citation c on c.snapshot_id = ?1 and c.entity_id = wanted.value
             order by c.entity_id, c.path, c.line"
        )
    };
    let ids = tx.list(entity_ids);
    tx.rows(sql, values![snapshot_id, &ids], read_citation)
}

/// The citations in a file of a snapshot, by line.
pub fn citations_in(tx: &mut Tx<'_>, snapshot_id: &str, path: &str) -> Result<Vec<Citation>> {
    let entities = cited_in(tx, snapshot_id, &[path])?;
    let ids: Vec<&str> = entities.iter().map(String::as_str).collect();
    let mut found = citations_of(tx, snapshot_id, &ids)?;
    found.retain(|citation| citation.path == path);
    found.sort_by_key(|citation| citation.line);
    Ok(found)
}

/// The ids of entities that a snapshot cites, after a given one.
pub fn cited_after(tx: &mut Tx<'_>, snapshot_id: &str, entity_id: &str, limit: i64) -> Result<Vec<String>> {
    let sql = "select distinct entity_id from citation where snapshot_id = ?1 and entity_id > ?2
               order by entity_id limit ?3";
    tx.rows(sql, values![snapshot_id, entity_id, limit], |row| row.get(0))
}

/// The number of a snapshot's citations of entities in these projects.
pub fn count_in_projects(tx: &mut Tx<'_>, snapshot_id: &str, project_ids: &[&str]) -> Result<i64> {
    let sql = if tx.is_postgres() {
        "select count(*) from citation c join entity e on e.id = c.entity_id
         where c.snapshot_id = ?1 and e.project_id = any (string_to_array(?2, ','))"
    } else {
        "select count(*) from citation c cross join entity e on e.id = c.entity_id
         where c.snapshot_id = ?1 and e.project_id in (select value from json_each(?2))"
    };
    let project_ids = tx.list(project_ids);
    Ok(tx.row(sql, values![snapshot_id, &project_ids], |row| row.get(0))?.unwrap_or_default())
}

/// The ids of entities that some files of a snapshot cite.
pub fn cited_in(tx: &mut Tx<'_>, snapshot_id: &str, paths: &[&str]) -> Result<Vec<String>> {
    let sql = if tx.is_postgres() {
        "select f.entities from json_array_elements_text(cast(?2 as json)) wanted (path)
         join trace_file f on f.snapshot_id = ?1 and f.path = wanted.path"
    } else {
        "select f.entities from json_each(?2) wanted
         cross join trace_file f on f.snapshot_id = ?1 and f.path = wanted.value"
    };
    let paths = serde_json::json!(paths).to_string();
    let found: Vec<String> = tx.rows(sql, values![snapshot_id, &paths], |row| row.get(0))?;
    let ids = found.iter().flat_map(|entities| entities.split(',')).filter(|id| !id.is_empty());
    let ids: BTreeSet<&str> = ids.collect();
    Ok(ids.into_iter().map(str::to_owned).collect())
}

fn read_snapshot(row: &Row<'_>) -> Result<Snapshot> {
    Ok(Snapshot {
        id: row.get(0)?,
        repository_id: row.get(1)?,
        ref_name: row.get(2)?,
        commit_id: row.get(3)?,
        is_dirty: row.get(4)?,
        digest: row.get(5)?,
        trust: row.get(6)?,
        n_files: row.get(7)?,
        n_citations: row.get(8)?,
        actor_id: row.get(9)?,
        token_id: row.get(10)?,
        created_at: row.get(11)?,
    })
}

fn read_citation(row: &Row<'_>) -> Result<Citation> {
    let kind = row.text(6)?;
    Ok(Citation {
        snapshot_id: row.get(0)?,
        entity_id: row.get(1)?,
        path: row.get(2)?,
        line: row.get(3)?,
        last_line: row.get(4)?,
        unit_hash: row.get(5)?,
        kind: CitationKind::from_name(kind)
            .ok_or_else(|| Error::internal(format!("unknown kind of citation {kind}")))?,
        pin: row.get(7)?,
        symbol: row.get(8)?,
        covered: (row.get(9)?, row.get(10)?),
        blob: row.get(11)?,
        case_id: row.get(12)?,
    })
}
