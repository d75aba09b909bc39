//! Test runs: which tests ran, how they ended, and what they executed of the code that cites the same unit.

use crate::db::{Columns, Holds, Tx};
use crate::error::Result;
use crate::model::Time;
use crate::value::{Row, Value};
use crate::values;

/// A run of tests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TestRun {
    /// The UUID, ordered by time.
    pub id: String,
    /// The repository's id.
    pub repository_id: String,
    /// The ref that it ran on.
    pub ref_name: String,
    /// The commit that it ran on.
    pub commit_id: Option<String>,
    /// The hash of all that was pushed.
    pub digest: String,
    /// The tools that reported it.
    pub tool: String,
    /// The trust of its origin.
    pub trust: String,
    /// How the run ended.
    pub exit_status: Option<i64>,
    /// Whether the reports are complete.
    pub is_whole: bool,
    /// How many test cases it has.
    pub n_cases: i64,
    /// Who pushed it.
    pub actor_id: Option<String>,
    /// The token.
    pub token_id: Option<String>,
    /// When.
    pub created_at: Time,
}

/// A test case before it is stored.
#[derive(Clone, Debug)]
pub struct NewResult {
    /// The case's id, derived from repository, path and symbol.
    pub case_id: String,
    /// The file that the test is in.
    pub path: String,
    /// Its name.
    pub symbol: String,
    /// The hash of the file's content.
    pub blob: String,
    /// Its result.
    pub outcome: String,
    /// The number of attempts.
    pub n_attempts: i64,
    /// Its duration.
    pub duration_ms: Option<i64>,
}

/// What a test executed of the code that cites a unit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Execution {
    /// The case's id.
    pub case_id: String,
    /// The run's id.
    pub run_id: String,
    /// The entity.
    pub entity_id: String,
    /// The unit; empty for all of them.
    pub unit_hash: String,
    /// The file of the code.
    pub path: String,
    /// The hash of its content.
    pub blob: String,
    /// `proven`, `witnessed` or `none`.
    pub how: String,
}

/// The result of a test case in a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TestResult {
    /// The case's id.
    pub case_id: String,
    /// The hash of the content that the test's file had.
    pub blob: String,
    /// Its result.
    pub outcome: String,
    /// The number of attempts.
    pub n_attempts: i64,
    /// The run.
    pub run: TestRun,
}

/// Adds a run that is not visible yet.
pub fn begin(tx: &mut Tx<'_>, new: &TestRun) -> Result<()> {
    let sql = "insert into test_run (id, repository_id, ref, commit_id, digest, tool, trust, exit_status, is_whole, n_cases,
                   actor_id, token_id, is_complete, created_at)
               values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, 0, ?13) on conflict do nothing";
    let values = values![
        &new.id,
        &new.repository_id,
        &new.ref_name,
        &new.commit_id,
        &new.digest,
        &new.tool,
        &new.trust,
        new.exit_status,
        new.is_whole,
        new.n_cases,
        &new.actor_id,
        &new.token_id,
        new.created_at,
    ];
    tx.execute(sql, values)?;
    Ok(())
}

const CASES: Columns = Columns {
    table: "test_case",
    columns: &[
        ("id", Holds::Text),
        ("repository_id", Holds::Text),
        ("path", Holds::Text),
        ("symbol", Holds::Text),
    ],
};
const RESULTS: Columns = Columns {
    table: "test_result",
    columns: &[
        ("case_id", Holds::Text),
        ("blob", Holds::Text),
        ("run_id", Holds::Text),
        ("outcome", Holds::Text),
        ("n_attempts", Holds::Number),
        ("duration_ms", Holds::Number),
    ],
};
const EXECUTIONS: Columns = Columns {
    table: "execution",
    columns: &[
        ("case_id", Holds::Text),
        ("run_id", Holds::Text),
        ("entity_id", Holds::Text),
        ("unit_hash", Holds::Text),
        ("path", Holds::Text),
        ("blob", Holds::Text),
        ("how", Holds::Text),
    ],
};

/// Adds results to a run that is being pushed.
pub fn add_results(tx: &mut Tx<'_>, run: &TestRun, results: &[NewResult]) -> Result<()> {
    let cases = results.iter().map(|result| {
        [
            Value::from(&result.case_id),
            (&run.repository_id).into(),
            (&result.path).into(),
            (&result.symbol).into(),
        ]
    });
    tx.insert_rows(&CASES, cases)?;
    let rows = results.iter().map(|result| {
        [
            Value::from(&result.case_id),
            (&result.blob).into(),
            (&run.id).into(),
            (&result.outcome).into(),
            result.n_attempts.into(),
            result.duration_ms.into(),
        ]
    });
    tx.insert_rows(&RESULTS, rows)?;
    Ok(())
}

/// Adds what the tests of a run executed.
pub fn add_executions(tx: &mut Tx<'_>, executions: &[Execution]) -> Result<()> {
    let rows = executions.iter().map(|execution| {
        [
            Value::from(&execution.case_id),
            (&execution.run_id).into(),
            (&execution.entity_id).into(),
            (&execution.unit_hash).into(),
            (&execution.path).into(),
            (&execution.blob).into(),
            (&execution.how).into(),
        ]
    });
    tx.insert_rows(&EXECUTIONS, rows)?;
    Ok(())
}

/// Marks a run as complete and visible.
pub fn complete(tx: &mut Tx<'_>, id: &str) -> Result<()> {
    tx.execute("update test_run set is_complete = 1 where id = ?1", values![id])?;
    Ok(())
}

macro_rules! select_run {
    ($rest:literal) => {
        concat!(
            "select u.id, u.repository_id, u.ref, u.commit_id, u.digest, u.tool, u.trust, u.exit_status, u.is_whole, u.n_cases,
                    u.actor_id, u.token_id, u.created_at ",
            $rest
        )
    };
}
/// The number of these columns.
const RUN_COLUMNS: usize = 13;

/// The newest complete run of a ref.
pub fn newest(tx: &mut Tx<'_>, repository_id: &str, ref_name: &str) -> Result<Option<TestRun>> {
    let sql = select_run!(
        "from test_run u where u.repository_id = ?1 and u.ref = ?2 and u.is_complete = 1
         order by u.created_at desc, u.id desc limit 1"
    );
    tx.row(sql, values![repository_id, ref_name], read_run)
}

/// The complete runs of a repository, newest first.
pub fn list(tx: &mut Tx<'_>, repository_id: &str, limit: i64, offset: i64) -> Result<(Vec<TestRun>, i64)> {
    let sql = select_run!(
        "from test_run u where u.repository_id = ?1 and u.is_complete = 1
         order by u.created_at desc, u.id desc limit ?2 offset ?3"
    );
    let found = tx.rows(sql, values![repository_id, limit, offset], read_run)?;
    let count = "select count(*) from test_run where repository_id = ?1 and is_complete = 1";
    let total = tx.row(count, values![repository_id], |row| row.get(0))?;
    Ok((found, total.unwrap_or_default()))
}

/// The results of cases in complete runs, newest first.
pub fn results_of(tx: &mut Tx<'_>, case_ids: &[&str]) -> Result<Vec<TestResult>> {
    let sql = if tx.is_postgres() {
        select_run!(
            ", r.case_id, r.blob, r.outcome, r.n_attempts
             from unnest(string_to_array(?1, ',')) wanted (id) join test_result r on r.case_id = wanted.id
             join test_run u on u.id = r.run_id and u.is_complete = 1 order by r.run_id desc"
        )
    } else {
        select_run!(
            ", r.case_id, r.blob, r.outcome, r.n_attempts
             from json_each(?1) wanted cross join test_result r on r.case_id = wanted.value
             cross join test_run u on u.id = r.run_id and u.is_complete = 1 order by r.run_id desc"
        )
    };
    let ids = tx.list(case_ids);
    tx.rows(sql, values![&ids], |row| {
        Ok(TestResult {
            case_id: row.get(RUN_COLUMNS)?,
            blob: row.get(RUN_COLUMNS + 1)?,
            outcome: row.get(RUN_COLUMNS + 2)?,
            n_attempts: row.get(RUN_COLUMNS + 3)?,
            run: read_run(row)?,
        })
    })
}

/// What cases have executed of the code that cites some entities.
pub fn executions_of(tx: &mut Tx<'_>, case_ids: &[&str], entity_ids: &[&str]) -> Result<Vec<Execution>> {
    let sql = if tx.is_postgres() {
        "select x.case_id, x.run_id, x.entity_id, x.unit_hash, x.path, x.blob, x.how
         from unnest(string_to_array(?1, ',')) wanted (id) join execution x on x.case_id = wanted.id
         where x.entity_id in (select unnest(string_to_array(?2, ',')))"
    } else {
        "select x.case_id, x.run_id, x.entity_id, x.unit_hash, x.path, x.blob, x.how
         from json_each(?1) wanted cross join execution x on x.case_id = wanted.value
         where x.entity_id in (select value from json_each(?2))"
    };
    let (cases, entities) = (tx.list(case_ids), tx.list(entity_ids));
    tx.rows(sql, values![&cases, &entities], |row| {
        Ok(Execution {
            case_id: row.get(0)?,
            run_id: row.get(1)?,
            entity_id: row.get(2)?,
            unit_hash: row.get(3)?,
            path: row.get(4)?,
            blob: row.get(5)?,
            how: row.get(6)?,
        })
    })
}

/// Superseded runs of a repository: those of a ref with runs of enough newer commits, or very many newer runs, and
/// interrupted ones. A commit may have many runs, as of a matrix of jobs, which do not supersede each other.
pub fn superseded(
    tx: &mut Tx<'_>,
    repository_id: &str,
    (n_commits, n_runs): (i64, i64),
    before: Time,
) -> Result<Vec<String>> {
    let sql = "select u.id from test_run u where u.repository_id = ?1 and (
                   (u.is_complete = 0 and u.created_at < ?4)
                   or exists (select 1 from (
                           select count(*) as runs,
                                  count(distinct case when coalesce(newer.commit_id, newer.id) <> coalesce(u.commit_id, u.id)
                                                      then coalesce(newer.commit_id, newer.id) end) as commits
                           from test_run newer where newer.repository_id = ?1 and newer.ref = u.ref
                               and newer.is_complete = 1 and newer.created_at > u.created_at) counted
                       where counted.commits >= ?2 or counted.runs >= ?3))
               order by u.created_at limit 20";
    tx.rows(sql, values![repository_id, n_commits, n_runs, before], |row| row.get(0))
}

/// All runs of a repository.
pub fn all(tx: &mut Tx<'_>, repository_id: &str) -> Result<Vec<String>> {
    tx.rows("select id from test_run where repository_id = ?1", values![repository_id], |row| row.get(0))
}

/// Removes some rows of a run, and at last the run itself. Returns whether it is gone.
pub fn remove_some(tx: &mut Tx<'_>, id: &str, limit: i64) -> Result<bool> {
    // A run without all of its results must not be visible.
    tx.execute("update test_run set is_complete = 0 where id = ?1 and is_complete = 1", values![id])?;
    let results = if tx.is_postgres() {
        "delete from test_result where ctid = any(array(select ctid from test_result where run_id = ?1 limit ?2))"
    } else {
        "delete from test_result where (case_id, blob, run_id) in
             (select case_id, blob, run_id from test_result where run_id = ?1 limit ?2)"
    };
    if tx.execute(results, values![id, limit])? as i64 >= limit {
        return Ok(false);
    }
    let executions = if tx.is_postgres() {
        "delete from execution where ctid = any(array(select ctid from execution where run_id = ?1 limit ?2))"
    } else {
        "delete from execution where (case_id, run_id, entity_id, unit_hash, path) in
             (select case_id, run_id, entity_id, unit_hash, path from execution where run_id = ?1 limit ?2)"
    };
    if tx.execute(executions, values![id, limit])? as i64 >= limit {
        return Ok(false);
    }
    tx.execute("delete from test_run where id = ?1", values![id])?;
    Ok(true)
}

fn read_run(row: &Row<'_>) -> Result<TestRun> {
    Ok(TestRun {
        id: row.get(0)?,
        repository_id: row.get(1)?,
        ref_name: row.get(2)?,
        commit_id: row.get(3)?,
        digest: row.get(4)?,
        tool: row.get(5)?,
        trust: row.get(6)?,
        exit_status: row.get(7)?,
        is_whole: row.get(8)?,
        n_cases: row.get(9)?,
        actor_id: row.get(10)?,
        token_id: row.get(11)?,
        created_at: row.get(12)?,
    })
}
