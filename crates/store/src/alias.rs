//! External ids: names of entities in other tools, with a scheme such as `jira`.

use std::collections::HashMap;

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::json;

use crate::db::Tx;
use crate::error::Result;
use crate::model::{Kind, Time};
use crate::values;

/// What another tool calls something.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct Alias {
    /// The tool or the list that the id is from, such as `jira`.
    pub scheme: String,
    /// What it is called there.
    pub external_id: String,
}

/// The longest name of a scheme.
pub const SCHEME_MAX_CHARS: usize = 40;
/// The longest external id.
pub const EXTERNAL_ID_MAX_CHARS: usize = 250;

impl Alias {
    /// Parses `jira:SHOP-12`. None without a scheme, if either part is too long, and for URLs: `https` is not a scheme.
    pub fn parse(text: &str) -> Option<Alias> {
        let (scheme, external_id) = text.split_once(':')?;
        let alias = Alias { scheme: scheme.to_owned(), external_id: external_id.trim().to_owned() };
        (!external_id.starts_with("//") && alias.is_valid()).then_some(alias)
    }

    /// Whether both parts can be stored.
    pub fn is_valid(&self) -> bool {
        let is_short = (1..=EXTERNAL_ID_MAX_CHARS).contains(&self.external_id.chars().count());
        is_scheme(&self.scheme) && is_short && !self.external_id.contains(char::is_control)
    }

    /// The same as text.
    pub fn text(&self) -> String {
        format!("{}:{}", self.scheme, self.external_id)
    }
}

/// Whether a text can be the name of a scheme: lower-case letters, digits, `-` and `_`, a letter first.
pub fn is_scheme(text: &str) -> bool {
    let is_within = |char: char| char.is_ascii_lowercase() || char.is_ascii_digit() || "-_".contains(char);
    text.starts_with(|first: char| first.is_ascii_lowercase())
        && text.len() <= SCHEME_MAX_CHARS
        && text.chars().all(is_within)
}

/// What is stored under an alias.
#[derive(Clone, Debug)]
pub struct Aliased {
    /// The entity's id.
    pub entity_id: String,
    /// The entity's kind.
    pub kind: Kind,
    /// The import that brought the alias along.
    pub import_id: Option<String>,
}

/// The entities with some aliases in a project.
pub fn find(tx: &mut Tx<'_>, project_id: &str, wanted: &[Alias]) -> Result<HashMap<Alias, Aliased>> {
    if wanted.is_empty() {
        return Ok(HashMap::new());
    }
    let sql = if tx.is_postgres() {
        "select a.scheme, a.external_id, a.entity_id, a.entity_kind, a.import_id
         from json_array_elements(cast(?2 as json)) wanted
         join entity_alias a on a.project_id = ?1 and a.scheme = wanted ->> 0 and a.external_id = wanted ->> 1"
    } else {
        "select a.scheme, a.external_id, a.entity_id, a.entity_kind, a.import_id
         from json_each(?2) wanted
         cross join entity_alias a on a.project_id = ?1 and a.scheme = json_extract(wanted.value, '$[0]')
              and a.external_id = json_extract(wanted.value, '$[1]')"
    };
    let pairs: Vec<(&str, &str)> =
        wanted.iter().map(|alias| (alias.scheme.as_str(), alias.external_id.as_str())).collect();
    let list = json!(pairs).to_string();
    let found = tx.rows(sql, values![project_id, &list], |row| {
        let alias = Alias { scheme: row.get(0)?, external_id: row.get(1)? };
        let kind = crate::entity::read_kind(row.text(3)?)?;
        Ok((alias, Aliased { entity_id: row.get(2)?, kind, import_id: row.get(4)? }))
    })?;
    Ok(found.into_iter().collect())
}

/// The aliases of entities, by the id of the entity, sorted.
pub fn of_entities(tx: &mut Tx<'_>, ids: &[&str]) -> Result<HashMap<String, Vec<Alias>>> {
    let sql = if tx.is_postgres() {
        "select entity_id, scheme, external_id from entity_alias where entity_id in (select unnest(string_to_array(?1, ',')))"
    } else {
        "select entity_id, scheme, external_id from entity_alias where entity_id in (select value from json_each(?1))"
    };
    let ids = tx.list(ids);
    let mut found: HashMap<String, Vec<Alias>> = HashMap::new();
    tx.each(sql, values![&ids], |row| {
        let alias = Alias { scheme: row.get(1)?, external_id: row.get(2)? };
        found.entry(row.get(0)?).or_default().push(alias);
        Ok(())
    })?;
    found.values_mut().for_each(|aliases| aliases.sort());
    Ok(found)
}

/// The ids of entities with one of these external ids, in any project; the first few.
pub fn called(tx: &mut Tx<'_>, external_ids: &[String]) -> Result<Vec<String>> {
    let sql = if tx.is_postgres() {
        "select entity_id from entity_alias
         where external_id = any(array(select json_array_elements_text(cast(?1 as json)))) limit 20"
    } else {
        "select entity_id from entity_alias where external_id in (select value from json_each(?1)) limit 20"
    };
    let list = json!(external_ids).to_string();
    tx.rows(sql, values![&list], |row| row.get(0))
}

/// An alias on its way into the store.
#[derive(Serialize)]
pub struct NewAlias<'a> {
    /// The entity's project.
    pub project_id: &'a str,
    /// The entity's id.
    pub entity_id: &'a str,
    /// The entity's kind.
    pub entity_kind: &'a str,
    /// See [`Alias::scheme`].
    pub scheme: &'a str,
    /// See [`Alias::external_id`].
    pub external_id: &'a str,
    /// Whether the entity is made with it.
    pub with_entity: bool,
}

/// Adds aliases. Returns how many are new: an alias that another entity has got meanwhile stays there.
pub fn insert(tx: &mut Tx<'_>, new: &[NewAlias<'_>], import_id: Option<&str>, now: Time) -> Result<u64> {
    if new.is_empty() {
        return Ok(0);
    }
    let sql = if tx.is_postgres() {
        "insert into entity_alias (project_id, scheme, external_id, entity_id, entity_kind, with_entity, import_id, created_at)
         select a ->> 'project_id', a ->> 'scheme', a ->> 'external_id', a ->> 'entity_id', a ->> 'entity_kind',
                case when a ->> 'with_entity' = 'true' then 1 else 0 end, cast(?2 as text), cast(?3 as bigint)
         from json_array_elements(cast(?1 as json)) a on conflict do nothing"
    } else {
        "insert into entity_alias (project_id, scheme, external_id, entity_id, entity_kind, with_entity, import_id, created_at)
         select json_extract(value, '$.project_id'), json_extract(value, '$.scheme'), json_extract(value, '$.external_id'),
                json_extract(value, '$.entity_id'), json_extract(value, '$.entity_kind'), json_extract(value, '$.with_entity'), ?2, ?3
         from json_each(?1) where true on conflict do nothing"
    };
    let list = json!(new).to_string();
    tx.execute(sql, values![&list, import_id, now])
}

/// Removes the aliases that an import added to some entities.
pub fn remove(tx: &mut Tx<'_>, import_id: &str, entity_ids: &[&str]) -> Result<()> {
    let sql = if tx.is_postgres() {
        "delete from entity_alias where entity_id in (select unnest(string_to_array(?2, ','))) and import_id = ?1"
    } else {
        "delete from entity_alias where entity_id in (select value from json_each(?2)) and import_id = ?1"
    };
    let ids = tx.list(entity_ids);
    tx.execute(sql, values![import_id, &ids])?;
    Ok(())
}

/// Removes the aliases that an import added to entities that existed before it.
pub fn remove_from_others(tx: &mut Tx<'_>, import_id: &str) -> Result<()> {
    let sql = "delete from entity_alias where import_id = ?1 and with_entity = 0";
    tx.execute(sql, values![import_id])?;
    Ok(())
}
