//! Completes a query: reference ids, titles, and the names in filters.

use words::{Place, Query, score};

use super::documents::{documents, newest, of_texts};
use super::filter::SearchFilter;
use crate::db::Tx;
use crate::entity::{Entity, read, select_entity};
use crate::error::Result;
use crate::member;
use crate::model::{DEFAULT_PROJECT_KEY, Kind};
use crate::project::{self, Projects};
use crate::values;

/// How many titles, the newest ones, are ranked.
const TITLES_MAX: i64 = 100;
/// How many digits are added to the given ones.
const DIGITS_MORE: u32 = 3;

/// A completion.
#[derive(Debug)]
pub enum Suggestion {
    /// An entity with a matching reference id.
    Reference(Box<Entity>),
    /// An entity with these words in its title.
    Title(Box<Entity>),
    /// A status.
    Status(String),
    /// A requirement type.
    Type(String),
    /// The name of a user.
    User(String),
}

/// Completes a text with entities and names of some projects.
pub fn suggest(tx: &mut Tx<'_>, text: &str, projects: &Projects, limit: usize) -> Result<Vec<Suggestion>> {
    let mut found: Vec<Suggestion> = Vec::new();
    for entity in references(tx, text, projects, limit)? {
        found.push(Suggestion::Reference(Box::new(entity)));
    }
    found.extend(names(tx, text, limit)?);
    found.truncate(limit);
    if let Ok(query) = Query::parse(text) {
        let known: Vec<String> = found.iter().filter_map(Suggestion::entity_id).map(str::to_owned).collect();
        let titles =
            titles(tx, &query, projects, limit)?.into_iter().filter(|entity| !known.contains(&entity.id));
        found.extend(titles.map(|entity| Suggestion::Title(Box::new(entity))));
    }
    found.truncate(limit);
    Ok(found)
}

impl Suggestion {
    fn entity_id(&self) -> Option<&str> {
        match self {
            Suggestion::Reference(entity) | Suggestion::Title(entity) => Some(&entity.id),
            _ => None,
        }
    }
}

/// The existing entities whose reference id starts with the text, an exact match first. Without a key, `EP-1` is in
/// the named project.
fn references(tx: &mut Tx<'_>, text: &str, projects: &Projects, limit: usize) -> Result<Vec<Entity>> {
    let upper = text.trim().to_ascii_uppercase();
    let Some((head, digits)) = upper.rsplit_once('-') else { return Ok(Vec::new()) };
    let (key, prefix) = match head.rsplit_once('-') {
        Some((key, prefix)) => (key, prefix),
        None => match projects {
            Projects::One(id) => (id.as_str(), head),
            _ => (DEFAULT_PROJECT_KEY, head),
        },
    };
    let kind = Kind::ALL.into_iter().find(|kind| !prefix.is_empty() && kind.prefix() == prefix);
    let is_number = digits.len() <= 12 && digits.bytes().all(|byte| byte.is_ascii_digit());
    let Some(kind) = kind.filter(|_| is_number) else { return Ok(Vec::new()) };
    let Some(project) = project::find(tx, key)? else { return Ok(Vec::new()) };
    let is_searched = match projects {
        Projects::All => true,
        Projects::One(id) => *id == project.id,
        Projects::VisibleTo(viewer) => member::role(tx, viewer, &project.id)?.is_some(),
    };
    if !is_searched {
        return Ok(Vec::new());
    }
    let mut ranges: Vec<(i64, i64)> = Vec::new();
    match digits.parse::<i64>() {
        Err(_) => ranges.push((1, i64::MAX)),
        Ok(number) => {
            ranges.push((number, number + 1));
            // Written with three digits, `01` is the prefix of 010 to 019, and `1` that of 100 to 199.
            let typed = digits.len() as u32;
            let fewest = if digits.starts_with('0') {
                3_u32.saturating_sub(typed)
            } else {
                1.max(3_u32.saturating_sub(typed))
            };
            let most = if digits.starts_with('0') { fewest } else { DIGITS_MORE };
            ranges.extend((fewest.max(1)..=most).map(|more| {
                let width = 10_i64.pow(more);
                (number * width, (number + 1) * width)
            }));
        }
    }
    let mut found: Vec<Entity> = Vec::new();
    for (from, to) in ranges {
        let room = limit.saturating_sub(found.len()) as i64;
        let sql = select_entity!(
            "where e.project_id = ?1 and e.kind = ?2 and e.deleted_at is null
               and e.number >= ?3 and e.number < ?4 order by e.number limit ?5"
        );
        let entities = tx.rows(sql, values![&project.id, kind.name(), from, to, room], read)?;
        let entities = entities.into_iter().filter(|new| found.iter().all(|known| known.id != new.id));
        let entities: Vec<Entity> = entities.collect();
        found.extend(entities);
    }
    Ok(found)
}

/// Statuses, types and users with a prefix, in any case.
fn names(tx: &mut Tx<'_>, text: &str, limit: usize) -> Result<Vec<Suggestion>> {
    let folded = words::name::fold(text);
    if folded.is_empty() {
        return Ok(Vec::new());
    }
    let length = folded.chars().count() as i64;
    let values = values![&folded, length, limit as i64];
    let name = |row: &crate::value::Row<'_>| row.get::<String>(0);
    let statuses = "select min(name) from status where substr(name_folded, 1, cast(?2 as integer)) = ?1
                    group by name_folded order by 1 limit ?3";
    let mut found: Vec<Suggestion> =
        tx.rows(statuses, values, name)?.into_iter().map(Suggestion::Status).collect();
    let types = "select name from requirement_type where substr(name_folded, 1, cast(?2 as integer)) = ?1
                 order by name limit ?3";
    found.extend(tx.rows(types, values, name)?.into_iter().map(Suggestion::Type));
    let users = "select username from user_account
                 where disabled = 0 and substr(username_folded, 1, cast(?2 as integer)) = ?1
                 order by username_folded limit ?3";
    found.extend(tx.rows(users, values, name)?.into_iter().map(Suggestion::User));
    Ok(found)
}

/// The existing entities with these words in the title, the best match first.
fn titles(tx: &mut Tx<'_>, query: &Query, projects: &Projects, limit: usize) -> Result<Vec<Entity>> {
    let kinds = Kind::ALL.into_iter().filter(|kind| !matches!(kind, Kind::Comment | Kind::Prompt)).collect();
    let filter = SearchFilter { kinds, projects: projects.clone(), ..SearchFilter::default() };
    let expression = filter.marks(tx)?.among(query.expression(Place::Title), None);
    let mut ranked = newest(tx, &expression, &filter, TITLES_MAX)?;
    let scores = of_texts(tx, &ranked, |title, _| score(query, title, ""))?;
    let score = |number: &i64| scores.get(number).copied().unwrap_or_default();
    ranked.sort_by(|one, other| score(other).total_cmp(&score(one)).then(other.cmp(one)));
    ranked.truncate(limit);
    let mut documents = documents(tx, &ranked)?;
    documents.sort_by_key(|document| ranked.iter().position(|number| *number == document.number));
    Ok(documents.into_iter().map(|document| document.entity).collect())
}
