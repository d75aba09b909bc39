//! Folds names again that earlier versions only lower-cased, so that `Straße` and `STRASSE` are equal there, too.

use super::Slice;
use crate::db::Tx;
use crate::error::Result;
use crate::values;

/// The key of a row, and the statement that changes its folded name unless another row has it then.
const TABLES: &[(&str, &str)] = &[
    (
        "select id, name from requirement_type",
        "update requirement_type set name_folded = ?2
         where id = ?1 and not exists (select 1 from requirement_type where name_folded = ?2 and id <> ?1)",
    ),
    (
        "select id, name from relationship_type",
        "update relationship_type set name_folded = ?2
         where id = ?1 and not exists (select 1 from relationship_type where name_folded = ?2 and id <> ?1)",
    ),
    (
        "select entity_kind || '/' || name, name from status",
        "update status set name_folded = ?2
         where entity_kind || '/' || name = ?1 and not exists (
             select 1 from status other
             where other.entity_kind = status.entity_kind and other.name_folded = ?2 and other.name <> status.name)",
    ),
    (
        "select id, name from prompt where deleted_at is null",
        "update prompt set name_folded = ?2
         where id = ?1
           and not exists (select 1 from prompt where name_folded = ?2 and id <> ?1 and deleted_at is null)",
    ),
];

/// Folds all names of types, statuses and prompts, which are few.
pub(super) fn fold_again(tx: &mut Tx<'_>, _position: &str) -> Result<Slice> {
    let mut n_rows = 0;
    for (select, update) in TABLES {
        let rows: Vec<(String, String)> = tx.rows(select, &[], |row| Ok((row.get(0)?, row.get(1)?)))?;
        for (id, name) in rows {
            n_rows += tx.execute(update, values![&id, &words::name::fold(&name)])?;
        }
    }
    Ok(Slice { next: None, n_rows })
}
