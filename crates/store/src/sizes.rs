//! Makes PostgreSQL analyse its tables after many writes. Until autovacuum does so, which may take a minute, it
//! plans for the previous sizes of tables, and scans whole tables for single rows.

use crate::db::{Mode, Store, Tx};
use crate::error::Result;

/// After how many new rows it is worthwhile.
pub const MANY_ROWS: usize = 10_000;

/// What has grown.
#[derive(Clone, Copy, Debug)]
pub enum Grown {
    /// Entities and their dependents.
    Entities,
    /// Pushed data.
    Thread,
}

/// Analyses tables. SQLite needs nothing, because its plans do not depend on sizes.
pub fn look(tx: &mut Tx<'_>, grown: Grown) -> Result<()> {
    if !tx.is_postgres() {
        return Ok(());
    }
    tx.script(match grown {
        Grown::Entities => {
            "analyze entity; analyze entity_alias; analyze relationship; analyze comment; analyze revision;
             analyze search_document; analyze search_text"
        }
        Grown::Thread => {
            "analyze trace_file; analyze citation; analyze test_result; analyze execution; analyze verification"
        }
    })
}

/// Analyses tables with many new rows, unless another server does. Tables that belong to another role are left to
/// autovacuum.
pub fn look_where_much_is_new(store: &Store) -> Result<()> {
    store.wait(Mode::Aside, |tx| {
        let is_free = "select 1 where pg_try_advisory_xact_lock(1936745848, 3)";
        if !tx.is_postgres() || tx.row(is_free, &[], |_| Ok(()))?.is_none() {
            return Ok(());
        }
        tx.script(
            "set local statement_timeout = 0;
             do $$ declare grown regclass; begin
                 for grown in
                     select s.relid from pg_stat_user_tables s join pg_class c on c.oid = s.relid
                     where s.schemaname = current_schema() and pg_has_role(c.relowner, 'usage')
                         and s.n_mod_since_analyze > 500 + s.n_live_tup / 2
                 loop
                     execute format('analyze %s', grown);
                 end loop;
             end $$",
        )
    })
}
