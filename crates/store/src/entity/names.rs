//! Entities by name, in an order that creates and deletes do not change.

use std::collections::HashMap;

use super::read_kind;
use crate::db::Tx;
use crate::error::Result;
use crate::model::{Kind, reference_id};
use crate::project::{Projects, in_projects};
use crate::values;

/// The columns of an entity in answers that list many.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Named {
    /// The UUID.
    pub id: String,
    /// What it is.
    pub kind: Kind,
    /// The reference id, such as `REQ-012`.
    pub reference_id: String,
    /// The title, or the text where it has none.
    pub label: String,
    /// The status.
    pub status: Option<String>,
}

/// The UUIDs with a prefix, of entities in these projects.
pub fn ids_beginning(tx: &mut Tx<'_>, prefix: &str, projects: &Projects, limit: i64) -> Result<Vec<String>> {
    let sql = concat!(
        "select id from entity where id >= ?1 and id < ?2 and ",
        in_projects!("project_id", "?4", "?5", "?6"),
        "order by id limit ?3"
    );
    // No character of a UUID comes after `g`.
    let end = format!("{prefix}g");
    let [project, user, token] = projects.values();
    tx.rows(sql, values![prefix, end.as_str(), limit, project, user, token], |row| row.get(0))
}

/// The reference ids of entities, deleted or not, by their UUIDs.
pub fn references(tx: &mut Tx<'_>, ids: &[&str]) -> Result<HashMap<String, String>> {
    macro_rules! select_of {
        ($ids:literal) => {
            concat!(
                "select e.id, p.key, e.kind, e.number from entity e join project p on p.id = e.project_id where e.id ",
                $ids
            )
        };
    }
    let sql = if tx.is_postgres() {
        select_of!("in (select unnest(string_to_array(?1, ',')))")
    } else {
        select_of!("in (select value from json_each(?1))")
    };
    let ids = tx.list(ids);
    let found = tx.rows(sql, values![&ids], |row| {
        let kind = read_kind(&row.get::<String>(2)?)?;
        Ok((row.get(0)?, reference_id(&row.get::<String>(1)?, kind, row.get(3)?)))
    })?;
    Ok(found.into_iter().collect())
}

/// The existing entities of a kind after a project and a number: project by project, by number.
pub fn names(
    tx: &mut Tx<'_>,
    kind: Kind,
    projects: &Projects,
    after: Option<(String, i64)>,
    limit: i64,
) -> Result<Vec<Named>> {
    let sql = "select e.id, e.kind, p.key, e.number, coalesce(e.title, e.description, ''), e.status
               from entity e join project p on p.id = e.project_id
               where e.project_id = ?1 and e.kind = ?2 and e.deleted_at is null and e.number > ?3
               order by e.number limit ?4";
    let mut place = match after {
        Some(place) => Some(place),
        None => next_project(tx, kind, projects, "")?,
    };
    let mut found = Vec::new();
    while let Some((project, number)) = place {
        let wanted = limit - found.len() as i64;
        found.extend(tx.rows(sql, values![&project, kind.name(), number, wanted], |row| {
            let kind = read_kind(&row.get::<String>(1)?)?;
            Ok(Named {
                id: row.get(0)?,
                kind,
                reference_id: reference_id(&row.get::<String>(2)?, kind, row.get(3)?),
                label: row.get(4)?,
                status: row.get(5)?,
            })
        })?);
        if found.len() as i64 >= limit {
            break;
        }
        place = next_project(tx, kind, projects, &project)?;
    }
    Ok(found)
}

/// The next project that has something of a kind, by id, and the number before its first.
fn next_project(
    tx: &mut Tx<'_>,
    kind: Kind,
    projects: &Projects,
    after: &str,
) -> Result<Option<(String, i64)>> {
    let sql = concat!(
        "select p.id from project p
         where p.id > ?1 and exists
             (select 1 from entity e where e.project_id = p.id and e.kind = ?2 and e.deleted_at is null) and ",
        in_projects!("p.id", "?3", "?4", "?5"),
        "order by p.id limit 1"
    );
    let [project, user, token] = projects.values();
    tx.row(sql, values![after, kind.name(), project, user, token], |row| Ok((row.get(0)?, 0)))
}
