//! The plan of an import: what each row does, and all mistakes, before anything is written.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::rc::Rc;

use ::exchange::{PROBLEMS_MAX, RecordKind};
use schemars::JsonSchema;
use serde::Serialize;
use store::alias::{Alias, Aliased};
use store::import;
use store::model::{Kind, NUMBER_MAX, Time};
use store::project::{self, Project};
use store::status::{self, StatusModel};
use store::types::{RelationshipType, RequirementType, Type};
use uuid::Uuid;

use super::fetched::Fetched;
use super::names::Names;
use super::notes::Note;
use super::report::RowProblem;
use super::rows::{Row, Rows};
use super::shelf::Items;
use super::things::Planned;
use crate::context::Cx;
use crate::error::{Error, Result};
use crate::operation::Effect;

/// The rows of a file and their outcomes. Data per row is small; the rest is on shelves.
pub(super) struct Plan<'r> {
    pub(super) rows: &'r mut Rows,
    /// The outcome of each row.
    pub outcomes: Vec<Outcome>,
    /// The names of entities that are not on the shelf.
    pub references: BTreeMap<usize, String>,
    pub problems: Vec<RowProblem>,
    pub n_problems_more: usize,
    pub(super) notes: Vec<Note>,
    /// The entities that rows create, change or are about.
    pub(super) items: Items,
    /// The rows whose entities are written, parents before children.
    pub(super) changed: Vec<u32>,
    /// The numbers in the file.
    pub(super) brought: Brought,
    pub projects: HashMap<String, Project>,
    pub requirement_types: Vec<RequirementType>,
    pub relationship_types: Vec<RelationshipType>,
    pub models: HashMap<Kind, StatusModel>,
    /// Why the caller lacks the rights of administrators.
    no_administrator: Option<String>,
    pub caller: (String, String),
    /// The project of references without a key.
    pub(super) project_key: String,
    /// Whether rows are missing because they could not be read at all.
    pub(super) is_incomplete: bool,
    /// Invalid values that may be names of rows.
    pub(super) lost: HashSet<String>,
    /// The planned rows of entities and comments, by name.
    pub(super) names: Names,
    pub(super) users: HashMap<String, Option<(String, String)>>,
    /// The stored entities that the current rows name.
    pub(super) fetched: Fetched,
    /// The entities stored under the external ids of the current rows.
    pub(super) aliases: HashMap<Alias, Aliased>,
    /// Recently named entities.
    pub(super) recent: HashMap<usize, Rc<Planned>>,
    /// The ids of what the import has written before it stopped, sorted.
    done: Vec<u128>,
    /// The import that this is the plan of.
    pub import: Purpose,
}

/// The numbers in the file, by kind and project.
pub(super) type Brought = BTreeMap<(String, Kind), Vec<i64>>;

/// The purpose of a plan.
#[derive(Clone)]
pub(super) struct Purpose {
    /// The id of the import.
    pub id: String,
    /// Whether some of its rows were done before.
    pub is_resumed: bool,
    /// Whether the planning transaction also writes, so that it takes locks.
    pub writes: bool,
}

/// The outcome of a row.
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

    /// Whether references to such a row are ignored.
    pub fn is_without(self) -> bool {
        matches!(self, Outcome::Wrong | Outcome::LeftOut)
    }
}

/// The part of an import's id in which the ids of its entities differ.
const ROW_BITS: u128 = (1 << 48) - 1;
/// Rows are checked in batches of this size, so that one query fetches the entities that all rows of a batch refer to.
const BATCH_ROWS: usize = 200;
/// A version that cannot be reached by changes.
const VERSION_MAX: i64 = 1_000_000_000;
/// The largest number that users may import: new entities get higher ones, which nobody wants to type.
/// Administrators may use numbers up to the maximum.
const NUMBER_ANYONE_MAX: i64 = 999_999_999;

impl<'r> Plan<'r> {
    /// Begins with the rows of a file.
    pub fn new(
        cx: &mut Cx<'_, '_>,
        rows: &'r mut Rows,
        project: Project,
        import: Purpose,
    ) -> Result<Plan<'r>> {
        let caller = cx.caller()?;
        let projects = project::list(cx.tx, caller.viewer(), i64::from(i32::MAX), 0)?;
        let mut models = HashMap::new();
        for kind in Kind::ALL.into_iter().filter(|kind| kind.has_status()) {
            models.insert(kind, status::of(cx.tx, kind)?);
        }
        let mut done = Vec::new();
        if import.is_resumed {
            import::each_written_id(cx.tx, &import.id, |id| done.push(number_of(id)))?;
            done.sort_unstable();
            done.dedup();
        }
        let outcome = |is_sound: &bool| if *is_sound { Outcome::Unchanged } else { Outcome::Wrong };
        let mut plan = Plan {
            outcomes: rows.are_sound().iter().map(outcome).collect(),
            references: BTreeMap::new(),
            problems: Vec::new(),
            n_problems_more: 0,
            notes: Vec::new(),
            items: Items::with_room(rows.len()),
            changed: Vec::new(),
            brought: Brought::new(),
            projects: projects.into_iter().map(|project| (project.key.clone(), project)).collect(),
            requirement_types: RequirementType::all(cx.tx)?,
            relationship_types: RelationshipType::all(cx.tx)?,
            models,
            no_administrator: caller.may(Effect::Administers).err().map(|error| error.message),
            caller: (caller.user_id.clone(), caller.username.clone()),
            project_key: project.key,
            is_incomplete: rows.reading.is_incomplete,
            lost: HashSet::new(),
            names: Names::with_room(rows.n_names),
            users: HashMap::new(),
            fetched: Fetched::default(),
            aliases: HashMap::new(),
            recent: HashMap::new(),
            done,
            import,
            rows,
        };
        plan.lost = plan.rows.reading.lost.iter().map(|name| plan.key(name)).collect();
        Ok(plan)
    }

    /// The id of a new entity without one in its row. It is derived from the import and the row, so that a resumed
    /// import finds what the row has created.
    pub fn new_id(&self, row: usize) -> String {
        let import = number_of(&self.import.id);
        let low = (import + row as u128 + 1) & ROW_BITS;
        Uuid::from_u128(import & !ROW_BITS | low).to_string()
    }

    /// The row that creates an entity with this id, if any.
    pub(super) fn row_of_new_id(&self, id: &str) -> Option<usize> {
        let (import, id) = (number_of(&self.import.id), number_of(id));
        let row = id.wrapping_sub(import).wrapping_sub(1) & ROW_BITS;
        (id & !ROW_BITS == import & !ROW_BITS && row < self.rows.len() as u128).then_some(row as usize)
    }

    /// Whether a resumed import has written this before it stopped.
    pub fn is_done(&self, id: &str) -> bool {
        self.done.binary_search(&number_of(id)).is_ok()
    }

    /// Calls `plan` with the rows of a kind that are not deleted, in the order of the file.
    pub fn each_row<'a, 't>(
        &mut self,
        cx: &mut Cx<'a, 't>,
        kind: RecordKind,
        look: impl FnMut(&mut Cx<'a, 't>, &mut Plan<'r>, &Row) -> Result<()>,
    ) -> Result<()> {
        let indexes = self.rows.of_kind(kind);
        self.each_of(cx, &indexes, look)
    }

    /// Calls `plan` with some rows, in this order. Deleted entities are left out.
    pub fn each_of<'a, 't>(
        &mut self,
        cx: &mut Cx<'a, 't>,
        indexes: &[u32],
        mut look: impl FnMut(&mut Cx<'a, 't>, &mut Plan<'r>, &Row) -> Result<()>,
    ) -> Result<()> {
        for batch in indexes.chunks(BATCH_ROWS) {
            let rows: Vec<Row> =
                batch.iter().map(|index| self.rows.get(*index as usize)).collect::<Result<_>>()?;
            self.fetch(cx, &rows)?;
            for row in &rows {
                if self.is_left_out(row) { self.leave_out(row) } else { look(cx, self, row)? }
            }
        }
        Ok(())
    }

    /// Whether a row is a deleted entity.
    pub fn is_left_out(&self, row: &Row) -> bool {
        let shape = self.rows.kind(row.index).shape();
        shape.field("deleted_at").is_some() && row.text("deleted_at").is_some()
    }

    /// Leaves a row out.
    pub fn leave_out(&mut self, row: &Row) {
        self.decide(row, Outcome::LeftOut);
        self.forget(row);
    }

    /// Reports a problem of a row.
    pub fn wrong(&mut self, row: &Row, field: &str, message: impl Into<String>) {
        self.outcomes[row.index] = Outcome::Wrong;
        // The missing or invalid entity was reported already.
        if !row.is_sound && row.field(field).is_none() {
            return;
        }
        if !self.lists_more() {
            self.n_problems_more += 1;
            return;
        }
        self.problems.push(RowProblem {
            row: row.place(),
            field: Some(field.to_owned()),
            message: message.into(),
        });
    }

    /// Whether the next problem is listed, or only counted.
    pub fn lists_more(&self) -> bool {
        self.problems.len() < PROBLEMS_MAX
    }

    /// Reports an error as a problem of a row.
    pub fn wrong_by(&mut self, row: &Row, field: &str, error: Error) {
        match error.fields.into_iter().next() {
            Some(told) => self.wrong(row, field, told.message),
            None => self.wrong(row, field, error.message),
        }
    }

    /// The value that a check accepts, or none and a problem.
    pub fn checked<T>(&mut self, row: &Row, field: &str, checked: Result<T, String>) -> Option<T> {
        match checked {
            Ok(value) => Some(value),
            Err(message) => {
                self.wrong(row, field, message);
                None
            }
        }
    }

    /// Records the outcome of a row. A wrong row stays wrong.
    pub fn decide(&mut self, row: &Row, outcome: Outcome) {
        if !self.is_wrong(row) {
            self.outcomes[row.index] = outcome;
        }
    }

    pub fn is_wrong(&self, row: &Row) -> bool {
        self.outcomes[row.index] == Outcome::Wrong
    }

    /// Whether the caller has the rights of administrators.
    pub fn is_by_administrator(&self) -> bool {
        self.no_administrator.is_none()
    }

    /// Reports a problem unless the caller is an administrator.
    pub fn needs_administrator(&mut self, row: &Row, field: &str) -> bool {
        match self.no_administrator.clone() {
            None => true,
            Some(why) => {
                self.wrong(row, field, why);
                false
            }
        }
    }

    /// A time in a row.
    pub fn time(&mut self, row: &Row, field: &str) -> Option<Time> {
        let text = row.text(field)?;
        let time = Time::parse(text);
        if time.is_none() {
            self.wrong(row, field, format!("expected a time such as 2026-11-15T08:00:00Z, found {text:?}"));
        }
        time
    }

    /// The version in a row.
    pub fn version(&mut self, row: &Row) -> Option<i64> {
        let version = row.number("version")?;
        if !(1..=VERSION_MAX).contains(&version) {
            self.wrong(row, "version", format!("expected 1 to {VERSION_MAX}, found {version}"));
            return None;
        }
        Some(version)
    }

    /// Whether a new entity may have its number from the file.
    pub fn may_bring(&mut self, row: &Row, number: i64) -> bool {
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

/// A UUID as a number.
pub(super) fn number_of(id: &str) -> u128 {
    Uuid::parse_str(id).unwrap_or_default().as_u128()
}
