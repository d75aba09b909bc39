//! Types of requirements and of relationships. Both are few, and administrators edit them.

use schemars::JsonSchema;
use serde::Serialize;

use crate::db::Tx;
use crate::error::Result;
use crate::model::Time;
use crate::value::{Row, Value};
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
    /// The statements about it.
    const SQL: Statements;

    /// Reads one from a row of the statement that finds all.
    fn read(row: &Row<'_>) -> Result<Self>;
    /// What is written of it, with its name folded.
    fn values<'a>(&'a self, folded: &'a str) -> Vec<Value<'a>>;

    /// The UUID.
    fn id(&self) -> &str;
    /// The name.
    fn name(&self) -> &str;
    /// Goes up by one with each change.
    fn version(&self) -> i64;
    /// Gives it another name.
    fn rename(&mut self, name: String);
    /// Makes it the next version.
    fn go_on(&mut self, now: Time);

    /// All of them, in the order in which they were made.
    fn all(tx: &mut Tx<'_>) -> Result<Vec<Self>> {
        tx.rows(Self::SQL.all, &[], Self::read)
    }

    /// Adds one.
    fn insert(&self, tx: &mut Tx<'_>) -> Result<()> {
        tx.execute(Self::SQL.insert, &self.values(&fold(self.name())))?;
        Ok(())
    }

    /// Writes one that was changed; false when another change was faster.
    fn update(&self, tx: &mut Tx<'_>) -> Result<bool> {
        Ok(tx.execute(Self::SQL.update, &self.values(&fold(self.name())))? == 1)
    }

    /// Removes one that nothing has; false when another change was faster.
    fn delete(&self, tx: &mut Tx<'_>) -> Result<bool> {
        Ok(tx.execute(Self::SQL.delete, values![self.id(), self.version()])? == 1)
    }

    /// How many have this type, deleted ones included.
    fn n_uses(&self, tx: &mut Tx<'_>) -> Result<i64> {
        Ok(tx.row(Self::SQL.n_uses, values![self.id()], |row| row.get(0))?.unwrap_or_default())
    }
}

/// The statements about types of a table.
pub struct Statements {
    all: &'static str,
    insert: &'static str,
    update: &'static str,
    delete: &'static str,
    n_uses: &'static str,
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

        fn rename(&mut self, name: String) {
            self.name = name;
        }

        fn go_on(&mut self, now: Time) {
            self.version += 1;
            self.updated_at = now;
        }
    };
}

impl Type for RequirementType {
    const KIND: &'static str = "requirement_type";
    const SQL: Statements = Statements {
        all: "select id, name, description, version, created_at, updated_at from requirement_type
              order by created_at, id",
        insert: "insert into requirement_type (id, name, name_folded, description, version, created_at, updated_at)
                 values (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
        update: "update requirement_type set name = ?2, name_folded = ?3, description = ?4, version = ?5,
                     created_at = ?6, updated_at = ?7
                 where id = ?1 and version = ?5 - 1",
        delete: "delete from requirement_type where id = ?1 and version = ?2",
        n_uses: "select count(*) from entity where type_id = ?1",
    };

    common!();

    fn read(row: &Row<'_>) -> Result<Self> {
        Ok(RequirementType {
            id: row.get(0)?,
            name: row.get(1)?,
            description: row.get(2)?,
            version: row.get(3)?,
            created_at: row.get(4)?,
            updated_at: row.get(5)?,
        })
    }

    fn values<'a>(&'a self, folded: &'a str) -> Vec<Value<'a>> {
        let RequirementType { id, name, description, version, created_at, updated_at } = self;
        values![id, name, folded, description, *version, *created_at, *updated_at].to_vec()
    }
}

impl Type for RelationshipType {
    const KIND: &'static str = "relationship_type";
    const SQL: Statements = Statements {
        all: "select id, name, description, version, created_at, updated_at, inverse_name, acyclic
              from relationship_type order by created_at, id",
        insert: "insert into relationship_type (id, name, name_folded, description, version, created_at, updated_at,
                     inverse_name, acyclic)
                 values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
        update: "update relationship_type set name = ?2, name_folded = ?3, description = ?4, version = ?5,
                     created_at = ?6, updated_at = ?7, inverse_name = ?8, acyclic = ?9
                 where id = ?1 and version = ?5 - 1",
        delete: "delete from relationship_type where id = ?1 and version = ?2",
        n_uses: "select count(*) from relationship where type_id = ?1",
    };

    common!();

    fn read(row: &Row<'_>) -> Result<Self> {
        Ok(RelationshipType {
            id: row.get(0)?,
            name: row.get(1)?,
            description: row.get(2)?,
            version: row.get(3)?,
            created_at: row.get(4)?,
            updated_at: row.get(5)?,
            inverse_name: row.get(6)?,
            acyclic: row.get(7)?,
        })
    }

    fn values<'a>(&'a self, folded: &'a str) -> Vec<Value<'a>> {
        let RelationshipType { id, name, description, version, created_at, updated_at, .. } = self;
        let common = values![id, name, folded, description, *version, *created_at, *updated_at];
        [&common[..], values![&self.inverse_name, self.acyclic]].concat()
    }
}

/// Whether relationships of this type must not form a circle.
pub fn is_acyclic(tx: &mut Tx<'_>, id: &str) -> Result<bool> {
    let sql = "select acyclic from relationship_type where id = ?1";
    Ok(tx.row(sql, values![id], |row| row.get(0))?.unwrap_or_default())
}
