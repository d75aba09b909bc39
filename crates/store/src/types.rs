//! Types of requirements and of relationships. Both are few, and administrators edit them.

use schemars::JsonSchema;
use serde::Serialize;

use crate::db::Tx;
use crate::error::Result;
use crate::model::Time;
use crate::values;

pub use words::name::{fold, same as same_name};

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

/// What the two have in common.
pub trait Type: Clone + PartialEq + Serialize {
    /// What it is, as history calls it.
    const KIND: &'static str;

    /// All of them, in the order in which they were made.
    fn all(tx: &mut Tx<'_>) -> Result<Vec<Self>>;
    /// Adds one.
    fn insert(&self, tx: &mut Tx<'_>) -> Result<()>;
    /// Writes one that was changed; false when another change was faster.
    fn update(&self, tx: &mut Tx<'_>) -> Result<bool>;
    /// Removes one that nothing has; false when another change was faster.
    fn delete(&self, tx: &mut Tx<'_>) -> Result<bool>;
    /// How many have this type, deleted ones included.
    fn n_uses(&self, tx: &mut Tx<'_>) -> Result<i64>;

    /// The UUID.
    fn id(&self) -> &str;
    /// The name.
    fn name(&self) -> &str;
    /// Goes up by one with each change.
    fn version(&self) -> i64;
    /// Makes it the next version.
    fn go_on(&mut self, now: Time);
}

/// Whether relationships of this type must not form a circle.
pub fn is_acyclic(tx: &mut Tx<'_>, id: &str) -> Result<bool> {
    let sql = "select acyclic from relationship_type where id = ?1";
    Ok(tx.row(sql, values![id], |row| row.get(0))?.unwrap_or_default())
}

/// What every type has, whatever it is of.
macro_rules! common {
    () => {
        fn id(&self) -> &str {
            &self.id
        }

        fn name(&self) -> &str {
            &self.name
        }

        fn version(&self) -> i64 {
            self.version
        }

        fn go_on(&mut self, now: Time) {
            self.version += 1;
            self.updated_at = now;
        }
    };
}

impl Type for RequirementType {
    const KIND: &'static str = "requirement_type";

    common!();

    fn all(tx: &mut Tx<'_>) -> Result<Vec<Self>> {
        let sql = "select id, name, description, version, created_at, updated_at from requirement_type
                   order by created_at, id";
        tx.rows(sql, &[], |row| {
            Ok(RequirementType {
                id: row.get(0)?,
                name: row.get(1)?,
                description: row.get(2)?,
                version: row.get(3)?,
                created_at: row.get(4)?,
                updated_at: row.get(5)?,
            })
        })
    }

    fn insert(&self, tx: &mut Tx<'_>) -> Result<()> {
        let RequirementType { id, name, description, version, created_at, updated_at } = self;
        let sql = "insert into requirement_type (id, name, name_folded, description, version, created_at, updated_at)
                   values (?1, ?2, ?3, ?4, ?5, ?6, ?7)";
        tx.execute(sql, values![id, name, &fold(name), description, *version, *created_at, *updated_at])?;
        Ok(())
    }

    fn update(&self, tx: &mut Tx<'_>) -> Result<bool> {
        let RequirementType { id, name, description, version, updated_at, .. } = self;
        let sql = "update requirement_type set name = ?2, name_folded = ?3, description = ?4, version = ?5,
                       updated_at = ?6
                   where id = ?1 and version = ?5 - 1";
        Ok(tx.execute(sql, values![id, name, &fold(name), description, *version, *updated_at])? == 1)
    }

    fn delete(&self, tx: &mut Tx<'_>) -> Result<bool> {
        let sql = "delete from requirement_type where id = ?1 and version = ?2";
        Ok(tx.execute(sql, values![&self.id, self.version])? == 1)
    }

    fn n_uses(&self, tx: &mut Tx<'_>) -> Result<i64> {
        let sql = "select count(*) from entity where type_id = ?1";
        Ok(tx.row(sql, values![&self.id], |row| row.get(0))?.unwrap_or_default())
    }
}

impl Type for RelationshipType {
    const KIND: &'static str = "relationship_type";

    common!();

    fn all(tx: &mut Tx<'_>) -> Result<Vec<Self>> {
        let sql = "select id, name, inverse_name, acyclic, description, version, created_at, updated_at
                   from relationship_type order by created_at, id";
        tx.rows(sql, &[], |row| {
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
        })
    }

    fn insert(&self, tx: &mut Tx<'_>) -> Result<()> {
        let RelationshipType {
            id,
            name,
            inverse_name,
            acyclic,
            description,
            version,
            created_at,
            updated_at,
        } = self;
        let sql = "insert into relationship_type (id, name, name_folded, inverse_name, acyclic, description, version,
                       created_at, updated_at)
                   values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)";
        let folded = fold(name);
        let values = values![
            id,
            name,
            &folded,
            inverse_name,
            *acyclic,
            description,
            *version,
            *created_at,
            *updated_at
        ];
        tx.execute(sql, values)?;
        Ok(())
    }

    fn update(&self, tx: &mut Tx<'_>) -> Result<bool> {
        let RelationshipType { id, name, inverse_name, acyclic, description, version, updated_at, .. } = self;
        let sql = "update relationship_type set name = ?2, name_folded = ?3, inverse_name = ?4, acyclic = ?5,
                       description = ?6, version = ?7, updated_at = ?8
                   where id = ?1 and version = ?7 - 1";
        let folded = fold(name);
        let values = values![id, name, &folded, inverse_name, *acyclic, description, *version, *updated_at];
        Ok(tx.execute(sql, values)? == 1)
    }

    fn delete(&self, tx: &mut Tx<'_>) -> Result<bool> {
        let sql = "delete from relationship_type where id = ?1 and version = ?2";
        Ok(tx.execute(sql, values![&self.id, self.version])? == 1)
    }

    fn n_uses(&self, tx: &mut Tx<'_>) -> Result<i64> {
        let sql = "select count(*) from relationship where type_id = ?1";
        Ok(tx.row(sql, values![&self.id], |row| row.get(0))?.unwrap_or_default())
    }
}
