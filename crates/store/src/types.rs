//! Types of requirements and of relationships. Both are few, and administrators edit them.

use schemars::JsonSchema;
use serde::Serialize;

use crate::db::Tx;
use crate::error::Result;
use crate::model::Time;
use crate::value::Row;
use crate::values;

/// A type of requirements.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct RequirementType {
    /// The UUID.
    pub id: String,
    /// The name.
    pub name: String,
    /// What it is for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Goes up by one with each change.
    pub version: i64,
    /// When it was made.
    pub created_at: Time,
    /// When it was last changed.
    pub updated_at: Time,
}

/// A type of relationships between requirements.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct RelationshipType {
    /// The UUID.
    pub id: String,
    /// The name, read from source to target: `depends_on`.
    pub name: String,
    /// The name read the other way round: `is_depended_on_by`.
    pub inverse_name: String,
    /// Whether such relationships must not form a circle.
    pub acyclic: bool,
    /// What it is for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Goes up by one with each change.
    pub version: i64,
    /// When it was made.
    pub created_at: Time,
    /// When it was last changed.
    pub updated_at: Time,
}

/// Names are equal when they differ in case, hyphens, underscores or blanks only.
pub fn fold(name: &str) -> String {
    name.trim().to_lowercase()
}

/// Whether two names of types or statuses mean the same to a person.
pub fn same_name(one: &str, other: &str) -> bool {
    let letters = |text: &str| -> String {
        text.chars().filter(|c| !matches!(c, ' ' | '_' | '-')).flat_map(char::to_lowercase).collect()
    };
    letters(one) == letters(other)
}

/// All types of requirements, in the order in which they were made.
pub fn requirement_types(tx: &mut Tx<'_>) -> Result<Vec<RequirementType>> {
    let sql = "select id, name, description, version, created_at, updated_at from requirement_type order by created_at, id";
    tx.rows(sql, &[], read_requirement_type)
}

/// All types of relationships, in the order in which they were made.
pub fn relationship_types(tx: &mut Tx<'_>) -> Result<Vec<RelationshipType>> {
    let sql = "select id, name, inverse_name, acyclic, description, version, created_at, updated_at
               from relationship_type order by created_at, id";
    tx.rows(sql, &[], read_relationship_type)
}

/// Adds a type of requirements.
pub fn insert_requirement_type(tx: &mut Tx<'_>, new: &RequirementType) -> Result<()> {
    let RequirementType { id, name, description, version, created_at, updated_at } = new;
    let sql =
        "insert into requirement_type (id, name, name_folded, description, version, created_at, updated_at)
               values (?1, ?2, ?3, ?4, ?5, ?6, ?7)";
    tx.execute(sql, values![id, name, &fold(name), description, *version, *created_at, *updated_at])?;
    Ok(())
}

/// Writes a changed type of requirements; false when another change was faster.
pub fn update_requirement_type(tx: &mut Tx<'_>, changed: &RequirementType) -> Result<bool> {
    let RequirementType { id, name, description, version, updated_at, .. } = changed;
    let sql = "update requirement_type set name = ?2, name_folded = ?3, description = ?4, version = ?5, updated_at = ?6
               where id = ?1 and version = ?5 - 1";
    Ok(tx.execute(sql, values![id, name, &fold(name), description, *version, *updated_at])? == 1)
}

/// Adds a type of relationships.
pub fn insert_relationship_type(tx: &mut Tx<'_>, new: &RelationshipType) -> Result<()> {
    let RelationshipType { id, name, inverse_name, acyclic, description, version, created_at, updated_at } =
        new;
    let sql =
        "insert into relationship_type (id, name, name_folded, inverse_name, acyclic, description, version,
                   created_at, updated_at)
               values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)";
    let folded = fold(name);
    let values =
        values![id, name, &folded, inverse_name, *acyclic, description, *version, *created_at, *updated_at];
    tx.execute(sql, values)?;
    Ok(())
}

/// Writes a changed type of relationships; false when another change was faster.
pub fn update_relationship_type(tx: &mut Tx<'_>, changed: &RelationshipType) -> Result<bool> {
    let RelationshipType { id, name, inverse_name, acyclic, description, version, updated_at, .. } = changed;
    let sql = "update relationship_type set name = ?2, name_folded = ?3, inverse_name = ?4, acyclic = ?5,
                   description = ?6, version = ?7, updated_at = ?8
               where id = ?1 and version = ?7 - 1";
    let folded = fold(name);
    let values = values![id, name, &folded, inverse_name, *acyclic, description, *version, *updated_at];
    Ok(tx.execute(sql, values)? == 1)
}

/// Whether relationships of this type must not form a circle.
pub fn is_acyclic(tx: &mut Tx<'_>, id: &str) -> Result<bool> {
    let sql = "select acyclic from relationship_type where id = ?1";
    Ok(tx.row(sql, values![id], |row| row.get(0))?.unwrap_or_default())
}

/// How many requirements, deleted ones included, have this type.
pub fn count_requirements(tx: &mut Tx<'_>, id: &str) -> Result<i64> {
    let sql = "select count(*) from entity where type_id = ?1";
    Ok(tx.row(sql, values![id], |row| row.get(0))?.unwrap_or_default())
}

/// How many relationships, deleted ones included, have this type.
pub fn count_relationships(tx: &mut Tx<'_>, id: &str) -> Result<i64> {
    let sql = "select count(*) from relationship where type_id = ?1";
    Ok(tx.row(sql, values![id], |row| row.get(0))?.unwrap_or_default())
}

/// Removes a type of requirements that none has.
pub fn delete_requirement_type(tx: &mut Tx<'_>, id: &str) -> Result<()> {
    tx.execute("delete from requirement_type where id = ?1", values![id])?;
    Ok(())
}

/// Removes a type of relationships that none has.
pub fn delete_relationship_type(tx: &mut Tx<'_>, id: &str) -> Result<()> {
    tx.execute("delete from relationship_type where id = ?1", values![id])?;
    Ok(())
}

fn read_requirement_type(row: &Row<'_>) -> Result<RequirementType> {
    Ok(RequirementType {
        id: row.get(0)?,
        name: row.get(1)?,
        description: row.get(2)?,
        version: row.get(3)?,
        created_at: row.get(4)?,
        updated_at: row.get(5)?,
    })
}

fn read_relationship_type(row: &Row<'_>) -> Result<RelationshipType> {
    Ok(RelationshipType {
        id: row.get(0)?,
        name: row.get(1)?,
        inverse_name: row.get(2)?,
        acyclic: row.get(3)?,
        description: row.get(4)?,
        version: row.get(5)?,
        created_at: row.get(6)?,
        updated_at: row.get(7)?,
    })
}
