//! Repositories whose code cites requirements: their projects, and what closes a unit there.

use schemars::JsonSchema;
use serde::Serialize;

use super::identity;
use crate::db::{Columns, Holds, Shape, Tx};
use crate::error::Result;
use crate::model::Time;
use crate::project::Projects;
use crate::types::fold;
use crate::value::{Row, Value};
use crate::values;

/// A repository.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Repository {
    /// The UUID.
    pub id: String,
    /// Its name, such as `github.com/acme/shop`.
    pub name: String,
    /// The keys of the projects whose requirements it may cite.
    pub projects: Vec<String>,
    /// The ids of these projects.
    #[serde(skip)]
    pub project_ids: Vec<String>,
    /// The ref that reports and pages are about, such as `refs/heads/main`.
    pub main_ref: String,
    /// The least verdict that closes a unit: `passed`, `witnessed` or `proven`.
    pub closes_at: String,
    /// The least trust of a run that closes a unit: `local`, `token` or `oidc`.
    pub trust_min: String,
    /// The refs whose runs close units; the main ref when there are none.
    pub closing_refs: Vec<String>,
    /// Who proves the identity of its CI runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub issuer: Option<String>,
    /// The number that this issuer gives the repository.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub external_id: Option<String>,
    /// Goes up by one with each change.
    pub version: i64,
    /// When it was made known.
    pub created_at: Time,
    /// When it was last changed.
    pub updated_at: Time,
}

impl Repository {
    /// Whether runs of a ref may close units.
    pub fn is_closing_ref(&self, name: &str) -> bool {
        match self.closing_refs.is_empty() {
            true => name == self.main_ref,
            false => self.closing_refs.iter().any(|known| known == name),
        }
    }
}

macro_rules! select {
    ($rest:literal) => {
        concat!(
            "select r.id, r.name, r.main_ref, r.closes_at, r.trust_min, r.closing_refs, r.issuer, r.external_id,
                    r.version, r.created_at, r.updated_at,
                    (select string_agg(p.key || ' ' || p.id, ',' order by p.key)
                         from repository_project of join project p on p.id = of.project_id where of.repository_id = r.id)
             from repository r ",
            $rest
        )
    };
}

/// The repository with an id or a name.
pub fn find(tx: &mut Tx<'_>, name: &str) -> Result<Option<Repository>> {
    let sql = select!("where r.id = ?1 or r.name_folded = ?2");
    tx.row(sql, values![name, &fold(name)], read)
}

/// The repository with a number at an issuer.
pub fn find_by_identity(tx: &mut Tx<'_>, issuer: &str, external_id: &str) -> Result<Option<Repository>> {
    let sql = select!("where r.issuer = ?1 and r.external_id = ?2");
    tx.row(sql, values![issuer, external_id], read)
}

/// Repositories of some projects, by name, and their number.
pub fn list(tx: &mut Tx<'_>, projects: &Projects, limit: i64, offset: i64) -> Result<(Vec<Repository>, i64)> {
    let mut shape = Shape::new(select!(""));
    restrict(&mut shape, projects);
    shape.add(" order by r.name_folded limit ? offset ?", values![limit, offset]);
    let found = tx.shaped_rows(&shape, read)?;
    let mut count = Shape::new("select count(*) from repository r");
    restrict(&mut count, projects);
    let total = tx.shaped_rows(&count, |row| row.get(0))?;
    Ok((found, total.into_iter().next().unwrap_or_default()))
}

/// A repository is listed where one of its projects is.
fn restrict<'a>(shape: &mut Shape<'a>, projects: &'a Projects) {
    if *projects == Projects::All {
        return;
    }
    shape.add(" where r.id in (select repository_id from repository_project", &[]);
    projects.restrict(shape, "project_id");
    shape.add(")", &[]);
}

/// The repositories that may cite requirements of a project.
pub fn of_project(tx: &mut Tx<'_>, project_id: &str) -> Result<Vec<Repository>> {
    let sql = select!(
        "join repository_project rp on rp.repository_id = r.id where rp.project_id = ?1 order by r.name_folded"
    );
    tx.rows(sql, values![project_id], read)
}

/// Adds a repository.
pub fn insert(tx: &mut Tx<'_>, new: &Repository) -> Result<()> {
    let sql = "insert into repository (id, name, name_folded, main_ref, closes_at, trust_min, closing_refs, issuer, external_id,
                   version, created_at, updated_at)
               values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, 1, ?10, ?10)";
    let folded = fold(&new.name);
    let values = values![
        &new.id,
        &new.name,
        &folded,
        &new.main_ref,
        &new.closes_at,
        &new.trust_min,
        Value::List(&new.closing_refs),
        &new.issuer,
        &new.external_id,
        new.created_at,
    ];
    tx.execute(sql, values)?;
    set_projects(tx, new)
}

/// Stores a changed repository; false if another change was faster.
pub fn update(tx: &mut Tx<'_>, new: &Repository) -> Result<bool> {
    let sql =
        "update repository set name = ?2, name_folded = ?3, main_ref = ?4, closes_at = ?5, trust_min = ?6,
                   closing_refs = ?7, issuer = ?8, external_id = ?9, version = ?10, updated_at = ?11
               where id = ?1 and version = ?10 - 1";
    let folded = fold(&new.name);
    let values = values![
        &new.id,
        &new.name,
        &folded,
        &new.main_ref,
        &new.closes_at,
        &new.trust_min,
        Value::List(&new.closing_refs),
        &new.issuer,
        &new.external_id,
        new.version,
        new.updated_at,
    ];
    if tx.execute(sql, values)? == 0 {
        return Ok(false);
    }
    set_projects(tx, new)?;
    identity::narrow(tx, &new.id)?;
    Ok(true)
}

const PROJECTS: Columns = Columns {
    table: "repository_project",
    columns: &[("repository_id", Holds::Text), ("project_id", Holds::Text)],
};

fn set_projects(tx: &mut Tx<'_>, repository: &Repository) -> Result<()> {
    tx.execute("delete from repository_project where repository_id = ?1", values![&repository.id])?;
    let id = repository.id.as_str();
    tx.insert_rows(
        &PROJECTS,
        repository.project_ids.iter().map(|project_id| [Value::from(id), Value::from(project_id)]),
    )?;
    Ok(())
}

/// Removes a repository without pushed data.
pub fn delete(tx: &mut Tx<'_>, id: &str) -> Result<()> {
    tx.execute("delete from test_case where repository_id = ?1", values![id])?;
    // Its tokens can no longer read its projects, unless these belong to another of their repositories.
    tx.execute("delete from repository_project where repository_id = ?1", values![id])?;
    identity::narrow(tx, id)?;
    tx.execute("delete from repository where id = ?1", values![id])?;
    Ok(())
}

fn read(row: &Row<'_>) -> Result<Repository> {
    let projects: Option<String> = row.get(11)?;
    let projects =
        projects.as_deref().unwrap_or_default().split(',').filter_map(|project| project.split_once(' '));
    let (projects, project_ids) = projects.map(|(key, id)| (key.to_owned(), id.to_owned())).unzip();
    Ok(Repository {
        id: row.get(0)?,
        name: row.get(1)?,
        projects,
        project_ids,
        main_ref: row.get(2)?,
        closes_at: row.get(3)?,
        trust_min: row.get(4)?,
        closing_refs: row.get(5)?,
        issuer: row.get(6)?,
        external_id: row.get(7)?,
        version: row.get(8)?,
        created_at: row.get(9)?,
        updated_at: row.get(10)?,
    })
}
