//! What an import is going to do, before anything is written: which rows mean what, and what is wrong with them.

use std::collections::{HashMap, HashSet};

use ::exchange::{Kind as RecordKind, PROBLEMS_MAX, Reading, Record};
use schemars::JsonSchema;
use serde::Serialize;
use store::entity::{self, Entity, Filter, Page, Sort};
use store::model::{DEFAULT_PROJECT_KEY, Kind, NUMBER_MAX, Reference, Time};
use store::project::{self, Project, Projects};
use store::status::{self, StatusModel};
use store::types::{RelationshipType, RequirementType, Type};
use store::{import, user};
use uuid::Uuid;

use super::import::Problem;
use super::notes::{Note, what_to_do};
use crate::context::Cx;
use crate::error::{Error, Result};
use crate::operation::Effect;

/// The rows of a file and what becomes of them.
pub(super) struct Plan<'r> {
    pub records: &'r [Record],
    /// How many rows could be read without mistakes. Those behind them are checked as far as they were understood.
    n_sound: usize,
    /// What becomes of each row.
    pub outcomes: Vec<Outcome>,
    /// What each row's thing is called here, where that is known.
    pub references: Vec<Option<String>>,
    pub problems: Vec<Problem>,
    pub n_problems_more: usize,
    pub(super) notes: Vec<Note>,
    /// Everything that rows are or name: entities of the file, and those of the store that it mentions.
    pub entities: Vec<Planned>,
    pub projects: HashMap<String, Project>,
    pub requirement_types: Vec<RequirementType>,
    pub relationship_types: Vec<RelationshipType>,
    pub models: HashMap<Kind, StatusModel>,
    /// Why the caller may not do what administrators may.
    no_administrator: Option<String>,
    pub caller: (String, String),
    /// What references without a key belong to.
    project_key: String,
    /// Whether rows are missing here because they could not be read at all.
    is_incomplete: bool,
    /// What rows may be called that were not understood.
    lost: HashSet<String>,
    names: HashMap<String, usize>,
    /// Names of rows that are left out, or that something is wrong with.
    without: HashMap<String, Outcome>,
    users: HashMap<String, Option<(String, String)>>,
    known: Option<Known>,
    /// The ids of what the import has written before it stopped.
    done: HashSet<String>,
    /// The import that this is the plan of.
    pub import: Purpose,
}

/// What a plan is made for.
#[derive(Clone)]
pub(super) struct Purpose {
    /// The id of the import.
    pub id: String,
    /// Whether some of its rows were done before.
    pub is_resumed: bool,
    /// Whether the transaction that plans also writes, so that it takes locks.
    pub writes: bool,
}

/// An entity that a row makes, changes or names.
pub(super) struct Planned {
    /// The row that it comes from.
    pub row: Option<usize>,
    /// What is stored.
    pub before: Option<Entity>,
    /// What it will be.
    pub entity: Entity,
    /// Whether it is new and the file says its number.
    pub brings_number: bool,
}

impl Planned {
    /// The version that it has after the import.
    pub fn version_after(&self) -> i64 {
        match &self.before {
            Some(before) if *before != self.entity => before.version + 1,
            _ => self.entity.version,
        }
    }
}

/// What becomes of a row.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub(super) enum Outcome {
    Created,
    Updated,
    Unchanged,
    LeftOut,
    Wrong,
}

impl Outcome {
    pub fn changes(self) -> bool {
        matches!(self, Outcome::Created | Outcome::Updated)
    }
}

/// What is stored, where it is cheaper to know it all than to ask for each row.
#[derive(Default)]
struct Known {
    ids: HashMap<(String, Kind, i64), String>,
    /// Everything by id; none where only the id is known.
    entities: HashMap<String, Option<Entity>>,
}

impl Known {
    fn load(cx: &mut Cx<'_, '_>, projects: &[Project], n_rows: usize) -> Result<Known> {
        let mut known = Known::default();
        for project in projects {
            for (kind, number, id) in entity::keys_of_project(cx.tx, &project.id)? {
                known.entities.insert(id.clone(), None);
                known.ids.insert((project.key.clone(), kind, number), id);
            }
        }
        if known.ids.len() > n_rows * STORED_PER_ROW_MAX {
            return Ok(known);
        }
        for project in projects {
            let filter = Filter {
                projects: Projects::One(project.id.clone()),
                include_deleted: true,
                ..Filter::default()
            };
            for entity in entity::list(cx.tx, &filter, Sort::Number, &Page::first(i64::MAX))? {
                known.entities.insert(entity.id.clone(), Some(entity));
            }
        }
        Ok(known)
    }
}

/// The part of an import's id in which the ids of what its rows make differ from it.
const ROW_BITS: u128 = (1 << 48) - 1;
/// From so many rows on it is cheaper to know what is stored than to ask for each.
const ASK_MAX: usize = 500;
/// Where there is so much more than a file tells of, only names are kept in mind.
const STORED_PER_ROW_MAX: usize = 4;
/// A version that nothing reaches by being changed.
const VERSION_MAX: i64 = 1_000_000_000;
/// The largest number that anyone may bring along: what is made afterwards gets higher ones, and nobody likes to type them.
/// Administrators may go up to the largest that there is.
const NUMBER_ANYONE_MAX: i64 = 999_999_999;

impl<'r> Plan<'r> {
    /// Begins with the records of a reading, the last of which have mistakes.
    pub fn new(
        cx: &mut Cx<'_, '_>,
        reading: &'r Reading,
        n_sound: usize,
        project: Project,
        import: Purpose,
    ) -> Result<Plan<'r>> {
        let records = &reading.records[..];
        let caller = cx.caller()?;
        let projects = project::list(cx.tx, caller.viewer(), i64::from(i32::MAX), 0)?;
        let mut models = HashMap::new();
        for kind in Kind::ALL.into_iter().filter(|kind| kind.has_status()) {
            models.insert(kind, status::of(cx.tx, kind)?);
        }
        let known = match records.len() {
            0..ASK_MAX => None,
            n_rows => Some(Known::load(cx, &projects, n_rows)?),
        };
        let done = match import.is_resumed {
            true => import::written_ids(cx.tx, &import.id)?.into_iter().collect(),
            false => HashSet::new(),
        };
        let mut outcomes = vec![Outcome::Unchanged; n_sound];
        outcomes.resize(records.len(), Outcome::Wrong);
        let mut plan = Plan {
            records,
            n_sound,
            outcomes,
            references: vec![None; records.len()],
            problems: Vec::new(),
            n_problems_more: 0,
            notes: Vec::new(),
            entities: Vec::new(),
            projects: projects.into_iter().map(|project| (project.key.clone(), project)).collect(),
            requirement_types: RequirementType::all(cx.tx)?,
            relationship_types: RelationshipType::all(cx.tx)?,
            models,
            no_administrator: caller.may(Effect::Administers).err().map(|error| error.message),
            caller: (caller.user_id.clone(), caller.username.clone()),
            project_key: project.key,
            is_incomplete: reading.is_incomplete,
            lost: HashSet::new(),
            names: HashMap::new(),
            without: HashMap::new(),
            users: HashMap::new(),
            known,
            done,
            import,
        };
        plan.lost = reading.lost.iter().map(|name| plan.key(name)).collect();
        Ok(plan)
    }

    /// The id of something new that a row makes and gives no id. It follows from the import and the row, so that a resumed
    /// import finds what the row has made.
    pub fn new_id(&self, row: usize) -> String {
        let import = Uuid::parse_str(&self.import.id).unwrap_or_default().as_u128();
        let low = (import + row as u128 + 1) & ROW_BITS;
        Uuid::from_u128(import & !ROW_BITS | low).to_string()
    }

    /// Whether a resumed import has written this before it stopped.
    pub fn is_done(&self, id: &str) -> bool {
        self.done.contains(id)
    }

    /// The rows of a kind that tell of something that is not deleted, in the order of the file.
    pub fn rows(&mut self, kind: RecordKind) -> Vec<usize> {
        let mut rows = Vec::new();
        for (row, record) in self.records.iter().enumerate().filter(|(_, record)| record.kind == kind) {
            let is_deleted =
                kind.shape().field("deleted_at").is_some() && record.text("deleted_at").is_some();
            if is_deleted {
                self.decide(row, Outcome::LeftOut);
                self.forget(row);
            } else {
                rows.push(row);
            }
        }
        rows
    }

    /// What a row says in a field that holds text.
    pub fn text(&self, row: usize, field: &str) -> Option<&'r str> {
        let records = self.records;
        records[row].text(field)
    }

    /// Notes that something is wrong with a row.
    pub fn wrong(&mut self, row: usize, field: &str, message: impl Into<String>) {
        self.outcomes[row] = Outcome::Wrong;
        // That it is not there, or was not understood, has been told.
        if row >= self.n_sound && self.records[row].field(field).is_none() {
            return;
        }
        if !self.lists_more() {
            self.n_problems_more += 1;
            return;
        }
        self.problems.push(Problem {
            row: self.records[row].place.to_string(),
            field: Some(field.to_owned()),
            message: message.into(),
        });
    }

    /// Whether the next problem is listed, and not only counted.
    pub fn lists_more(&self) -> bool {
        self.problems.len() < PROBLEMS_MAX
    }

    /// Notes what an error says about a row.
    pub fn wrong_by(&mut self, row: usize, field: &str, error: Error) {
        match error.fields.into_iter().next() {
            Some(told) => self.wrong(row, field, told.message),
            None => self.wrong(row, field, error.message),
        }
    }

    /// The value that a check accepts; a problem, and nothing, where it does not.
    pub fn checked<T>(&mut self, row: usize, field: &str, checked: Result<T, String>) -> Option<T> {
        match checked {
            Ok(value) => Some(value),
            Err(message) => {
                self.wrong(row, field, message);
                None
            }
        }
    }

    /// Notes what a row does. What is wrong stays wrong.
    pub fn decide(&mut self, row: usize, outcome: Outcome) {
        if self.outcomes[row] != Outcome::Wrong {
            self.outcomes[row] = outcome;
        }
    }

    pub fn is_wrong(&self, row: usize) -> bool {
        self.outcomes[row] == Outcome::Wrong
    }

    /// Whether the caller may do what administrators may.
    pub fn is_by_administrator(&self) -> bool {
        self.no_administrator.is_none()
    }

    /// Notes a problem unless the caller is an administrator.
    pub fn needs_administrator(&mut self, row: usize, field: &str) -> bool {
        match self.no_administrator.clone() {
            None => true,
            Some(why) => {
                self.wrong(row, field, why);
                false
            }
        }
    }

    /// Remembers that a row names something that will not be there, so that others are not blamed for naming it.
    pub fn forget(&mut self, row: usize) {
        let outcome = self.outcomes[row];
        for name in self.names_of(row) {
            self.without.entry(name).or_insert(outcome);
        }
    }

    /// Whether a row names something that will not be there, which has been told already.
    pub fn is_without(&mut self, row: usize, name: &str) -> bool {
        match self.without.get(name).copied() {
            Some(outcome) => {
                self.decide(row, outcome);
                true
            }
            None if self.is_incomplete || self.lost.contains(name) => {
                self.outcomes[row] = Outcome::Wrong;
                true
            }
            None => false,
        }
    }

    /// Adds what a row makes or changes under its names. A name that stands in the file twice is a problem.
    pub fn add(&mut self, row: usize, planned: Planned) {
        let index = self.entities.len();
        for name in self.names_of(row) {
            if let Some(other) = self.names.insert(name, index)
                && let Some(other) = self.entities[other].row
                && other != row
            {
                let message = format!("is in the file twice: it stands at {} too", self.records[other].place);
                let record = &self.records[row];
                let field = if record.text("reference_id").is_some() { "reference_id" } else { "id" };
                self.wrong(row, field, message);
            }
        }
        self.names.insert(planned.entity.id.clone(), index);
        self.entities.push(planned);
    }

    fn names_of(&self, row: usize) -> Vec<String> {
        let record = &self.records[row];
        // Asking a kind for a field that it does not have is no mistake here.
        let texts = ["reference_id", "id"].into_iter().filter_map(|field| record.text(field));
        let mut names: Vec<String> = texts.map(|text| self.key(text)).collect();
        names.dedup();
        names
    }

    /// A reference that means the same for everyone, if it is one; a name within the file otherwise.
    fn key(&self, text: &str) -> String {
        match self.reference(text) {
            Some(reference) => reference.to_string(),
            None => format!("={}", text.trim()),
        }
    }

    /// What a text names in the store: references without a key are of the import's project.
    pub fn reference(&self, text: &str) -> Option<Reference> {
        match Reference::parse(text)? {
            Reference::Numbered { project: None, kind, number } if kind != Kind::Prompt => {
                let key = Some(self.project_key.clone()).filter(|key| key != DEFAULT_PROJECT_KEY);
                Some(Reference::Numbered { project: key, kind, number })
            }
            other => Some(other),
        }
    }

    /// The project that new things at the root belong to.
    pub fn project(&self) -> Project {
        self.projects[&self.project_key].clone()
    }

    /// What a field names, in the file or in the store. None when it is noted why not.
    pub fn named(
        &mut self,
        cx: &mut Cx<'_, '_>,
        row: usize,
        field: &str,
        kind: Option<Kind>,
    ) -> Result<Option<usize>> {
        let Some(text) = self.text(row, field) else { return Ok(None) };
        let key = self.key(text);
        if let Some(outcome) = self.without.get(&key) {
            let outcome = *outcome;
            self.decide(row, outcome);
            return Ok(None);
        }
        let index = match self.names.get(&key) {
            Some(index) => *index,
            None => {
                let reference = self.reference(text);
                let found = reference.map(|reference| self.stored(cx, &reference)).transpose()?.flatten();
                let Some(found) = found else {
                    if self.is_incomplete || self.lost.contains(&key) {
                        self.outcomes[row] = Outcome::Wrong;
                    } else {
                        let what = kind.map_or("such thing", Kind::words);
                        self.wrong(
                            row,
                            field,
                            format!("there is no {what} {text:?}, neither in the file nor here"),
                        );
                    }
                    return Ok(None);
                };
                if let Some(deleted_at) = found.deleted_at {
                    let message = format!("{} was deleted at {deleted_at}", found.reference_id);
                    self.wrong(row, field, message + what_to_do(found.purged_at));
                    return Ok(None);
                }
                self.names.insert(key, self.entities.len());
                self.entities.push(Planned {
                    row: None,
                    before: Some(found.clone()),
                    entity: found,
                    brings_number: false,
                });
                self.entities.len() - 1
            }
        };
        let found = self.entities[index].entity.kind;
        if let Some(kind) = kind.filter(|kind| *kind != found) {
            let (expected, is) = (kind.with_article(), found.with_article());
            self.wrong(row, field, format!("expected {expected}, and {text} is {is}"));
            return Ok(None);
        }
        Ok(Some(index))
    }

    /// What is stored under a reference, as far as the caller sees it.
    pub fn stored(&self, cx: &mut Cx<'_, '_>, reference: &Reference) -> Result<Option<Entity>> {
        let Some(known) = &self.known else { return cx.find_entity(reference) };
        let id = match reference {
            Reference::Id(id) => Some(id),
            Reference::Numbered { project, kind, number } => {
                let key = project.as_deref().unwrap_or(DEFAULT_PROJECT_KEY).to_owned();
                known.ids.get(&(key, *kind, *number))
            }
        };
        match id.and_then(|id| known.entities.get(id)) {
            None => Ok(None),
            Some(Some(entity)) => Ok(cx.sees(&entity.project_id)?.then(|| entity.clone())),
            Some(None) => cx.find_entity(reference),
        }
    }

    /// The user whom a field names. Who is not known is a problem.
    pub fn user(&mut self, cx: &mut Cx<'_, '_>, row: usize, field: &str) -> Result<Option<(String, String)>> {
        let Some(name) = self.text(row, field) else { return Ok(None) };
        let found = self.known_user(cx, name)?;
        if found.is_none() {
            self.wrong(row, field, format!("there is no user {name:?}"));
        }
        Ok(found)
    }

    /// The id and the name of a user who is called by either.
    pub(super) fn known_user(&mut self, cx: &mut Cx<'_, '_>, name: &str) -> Result<Option<(String, String)>> {
        let folded = words::name::fold(name);
        if let Some(found) = self.users.get(&folded) {
            return Ok(found.clone());
        }
        let found = user::find(cx.tx, name)?.map(|user| (user.id, user.username));
        self.users.insert(folded, found.clone());
        Ok(found)
    }

    /// A time that a row says.
    pub fn time(&mut self, row: usize, field: &str) -> Option<Time> {
        let text = self.text(row, field)?;
        let time = Time::parse(text);
        if time.is_none() {
            self.wrong(row, field, format!("expected a time such as 2026-11-15T08:00:00Z, found {text:?}"));
        }
        time
    }

    /// The version that a row says.
    pub fn version(&mut self, row: usize) -> Option<i64> {
        let version = self.records[row].number("version")?;
        if !(1..=VERSION_MAX).contains(&version) {
            self.wrong(row, "version", format!("expected 1 to {VERSION_MAX}, found {version}"));
            return None;
        }
        Some(version)
    }

    /// The id that a row says, in its canonical form.
    pub fn id(&mut self, row: usize) -> Option<String> {
        let text = self.text(row, "id")?;
        match Reference::parse(text) {
            Some(Reference::Id(id)) => Some(id),
            _ => {
                self.wrong(row, "id", format!("expected a UUID, found {text:?}"));
                None
            }
        }
    }

    /// Whether another row is about the entity with this id.
    pub fn is_in_file(&self, id: &str) -> bool {
        let planned = self.names.get(id).map(|index| &self.entities[*index]);
        planned.is_some_and(|planned| planned.row.is_some() && planned.entity.id == id)
    }

    /// What an entity of the file or of the store is called, as well as that is known yet.
    pub fn name(&self, cx: &mut Cx<'_, '_>, id: &str) -> Result<String> {
        let Some(planned) = self.names.get(id).map(|index| &self.entities[*index]) else {
            let stored = self.stored(cx, &Reference::Id(id.to_owned()))?;
            return Ok(stored.map_or_else(|| id.to_owned(), |stored| stored.reference_id));
        };
        Ok(match planned.row {
            Some(row) if planned.entity.reference_id.is_empty() => {
                let record = &self.records[row];
                record.text("reference_id").map_or_else(|| record.place.to_string(), str::to_owned)
            }
            _ => planned.entity.reference_id.clone(),
        })
    }

    /// Whether something new may bring its number along.
    pub fn may_bring(&mut self, row: usize, number: i64) -> bool {
        let message = match &self.no_administrator {
            _ if number > NUMBER_MAX => format!("expected a number up to {NUMBER_MAX}, found {number}"),
            Some(why) if number > NUMBER_ANYONE_MAX => {
                format!("expected a number up to {NUMBER_ANYONE_MAX}, found {number}; beyond it {why}")
            }
            _ => return true,
        };
        self.wrong(row, "reference_id", message);
        false
    }
}
