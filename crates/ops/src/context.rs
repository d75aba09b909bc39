//! The context of an operation: the transaction, the caller, and functions to find and record things.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::{Map, Value, json};
use store::entity::{Entity, TypeName};
use store::model::{Kind, NUMBER_MAX, Reference, Role, Time};
use store::project::{Project, Projects};
use store::revision::{self, New};
use store::thread::{manual, threat};
use store::{Tx, entity, idempotency, member, project, user};

use crate::caller::{Caller, Request, needed};
use crate::engine;
use crate::error::{Error, ErrorKind, Result};
use crate::input::{Id, Version};
use crate::operation::Effect;
use crate::progress::{OnProgress, Steps};
use crate::sink::Sink;
use crate::upload::Upload;
use crate::versioned::Versioned as _;

/// The context of a run.
pub struct Cx<'a, 't> {
    /// The transaction.
    pub tx: &'a mut Tx<'t>,
    /// The circumstances.
    pub request: &'a Request,
    /// The operation that runs.
    pub operation: &'static str,
    /// The progress. An operation within another one reports none.
    pub steps: Steps<'a>,
    effect: Effect,
    caller: Option<&'a Caller>,
    /// The projects that were used so far.
    pub met: Met,
    /// The import that makes the changes, for the history.
    pub import_id: Option<String>,
    /// Receives a file that is too large for an answer.
    pub sink: Option<&'a mut dyn Sink>,
    /// A file that is too large for an argument; the operation takes it when it prepares.
    pub upload: Option<Upload>,
}

/// The caller's roles in projects by id; `None` for a hidden project.
pub type Met = BTreeMap<String, Option<Role>>;

impl<'a, 't> Cx<'a, 't> {
    /// A context for a caller, or for none if the operation is public.
    pub fn new(
        tx: &'a mut Tx<'t>,
        request: &'a Request,
        (operation, effect): (&'static str, Effect),
        caller: Option<&'a Caller>,
    ) -> Self {
        let steps = Steps::default();
        Cx {
            tx,
            request,
            operation,
            steps,
            effect,
            caller,
            met: Met::new(),
            import_id: None,
            sink: None,
            upload: None,
        }
    }

    /// Runs `part` as a separate operation within this one, with its own effect.
    pub fn within<T>(
        &mut self,
        operation: (&'static str, Effect),
        part: impl FnOnce(&mut Cx<'_, '_>) -> Result<T>,
    ) -> Result<T> {
        let mut cx = Cx::new(self.tx, self.request, operation, self.caller);
        let result = part(&mut cx);
        let met = cx.met;
        self.met.extend(met);
        result
    }

    /// The same context, with a listener for progress.
    #[must_use]
    pub fn telling(mut self, listener: Option<&'a OnProgress>) -> Self {
        self.steps = Steps::told(listener);
        self
    }

    /// The same context, with a destination for a file.
    #[must_use]
    pub fn writing_to(mut self, sink: Option<&'a mut (dyn Sink + 'static)>) -> Self {
        self.sink = sink.map(|sink| sink as &mut dyn Sink);
        self
    }

    /// The caller.
    pub fn caller(&self) -> Result<&'a Caller> {
        self.caller.ok_or_else(|| Error::new(ErrorKind::Unauthenticated, "a token is required"))
    }

    /// Whether some projects are hidden from the caller.
    pub fn is_limited(&self) -> bool {
        self.caller.is_some_and(|caller| caller.viewer().is_some())
    }

    /// The caller's role in a project; none if it is hidden.
    pub fn role_in(&mut self, project_id: &str) -> Result<Option<Role>> {
        if let Some(role) = self.met.get(project_id) {
            return Ok(*role);
        }
        let caller = self.caller()?;
        let role = match caller.viewer() {
            None => Some(caller.role),
            Some(viewer) => member::role(self.tx, viewer, project_id)?,
        };
        self.met.insert(project_id.to_owned(), role);
        Ok(role)
    }

    /// Whether the caller can see a project. An error if they can, but lack the right for this operation.
    ///
    /// Everything that finds an entity calls this before it reveals anything about it.
    pub fn sees(&mut self, project_id: &str) -> Result<bool> {
        let Some(held) = self.role_in(project_id)? else { return Ok(false) };
        let (needed, _) = needed(self.effect);
        self.caller()?.has_role(needed, held, " in this project")?;
        Ok(true)
    }

    /// The ids of the projects that the operation used so far.
    pub fn projects_met(&self) -> String {
        self.met.keys().map(String::as_str).collect::<Vec<_>>().join(" ")
    }

    /// The projects that a list, a report or a search covers: the named one, or all visible ones.
    pub fn projects(&mut self, field: &str, name: Option<&str>) -> Result<Projects> {
        if name.is_some() {
            return Ok(Projects::One(self.project(field, name)?.id));
        }
        match self.caller()?.viewer() {
            Some(viewer) => Ok(Projects::VisibleTo(viewer.clone())),
            // Queries on a single project need no sorting.
            None => Ok(project::only(self.tx)?.map_or(Projects::All, Projects::One)),
        }
    }

    /// The time of the request.
    pub fn now(&self) -> Time {
        self.request.now
    }

    /// A new id, ordered by time.
    pub fn new_id(&self) -> String {
        new_id(self.now())
    }

    /// Takes the next reference number of a kind in a project.
    pub fn next_number(&mut self, project_id: &str, kind: Kind) -> Result<i64> {
        let number = self.tx.next_number(project_id, kind.name())?;
        check_number(kind, number)?;
        Ok(number)
    }

    /// Takes the next `count` reference numbers of a kind in a project.
    pub fn next_numbers(&mut self, project_id: &str, kind: Kind, count: usize) -> Result<Vec<i64>> {
        let numbers = self.tx.next_numbers(project_id, kind.name(), count)?;
        numbers.iter().try_for_each(|number| check_number(kind, *number))?;
        Ok(numbers)
    }

    /// Erases what history and stored answers contain about a purged entity.
    pub fn erase(&mut self, id: &str) -> Result<()> {
        self.tx.note_erased();
        revision::purge(self.tx, id)?;
        manual::purge(self.tx, id)?;
        threat::purge(self.tx, id)?;
        Ok(idempotency::replace(self.tx, id, &engine::erased()?)?)
    }

    /// The existing entity of a kind that an argument names.
    pub fn entity(&mut self, field: &str, id: &Id, kind: Kind) -> Result<Entity> {
        let found = self.any_of_kind(field, id, kind)?;
        found.live().map_err(|error| error.about(field))
    }

    /// The entity of a kind that an argument names, deleted or not.
    pub fn any_of_kind(&mut self, field: &str, id: &Id, kind: Kind) -> Result<Entity> {
        let found = self.any_entity(field, id)?;
        of_kind(field, found, kind)
    }

    /// The existing user story that an argument names, and the requirement type with exactly this id or name, if there is one.
    pub fn story_and_type(
        &mut self,
        field: &str,
        id: &Id,
        type_name: &str,
    ) -> Result<(Entity, Option<TypeName>)> {
        let found = entity::find_with_type(self.tx, &id.0, type_name)?;
        let (found, known_type) = found.map_or((None, None), |(found, known)| (Some(found), known));
        let found = self.visible(field, id, found)?;
        let story = of_kind(field, found, Kind::UserStory)?;
        let story = story.live().map_err(|error| error.about(field))?;
        Ok((story, known_type))
    }

    /// The existing entity of any kind that an argument names.
    pub fn live_entity(&mut self, field: &str, id: &Id) -> Result<Entity> {
        self.any_entity(field, id).and_then(|found| found.live().map_err(|error| error.about(field)))
    }

    /// The entity that an argument names, deleted or not.
    pub fn any_entity(&mut self, field: &str, id: &Id) -> Result<Entity> {
        let found = entity::find(self.tx, &id.0)?;
        self.visible(field, id, found)
    }

    /// The entity that was found for an argument, if the caller can see it.
    fn visible(&mut self, field: &str, id: &Id, found: Option<Entity>) -> Result<Entity> {
        match found {
            Some(found) if self.sees(&found.project_id)? => Ok(found),
            _ if matches!(id.0, Reference::Numbered { kind: Kind::Prompt, .. }) => {
                let message =
                    format!("expected something such as EP-001 or REQ-012, and {} is a prompt", id.0);
                Err(Error::field(field, message))
            }
            _ => {
                let (what, hint) = match &id.0 {
                    Reference::Id(id) => ("entity", self.near_id(id)?),
                    Reference::Numbered { project, kind, number } => {
                        let elsewhere = match project {
                            None => self.elsewhere(*kind, *number)?,
                            Some(_) => None,
                        };
                        let last = self.last_of(project.as_deref(), *kind)?;
                        let hint = match elsewhere {
                            Some(elsewhere) => Some(format!("; did you mean \"{elsewhere}\"?")),
                            None => last.map(|last| format!("; the last one is {last}")),
                        };
                        (kind.words(), hint)
                    }
                };
                let missing = Error::not_found(what, &id.0);
                let hint = hint.unwrap_or_default();
                Err(Error {
                    fields: vec![crate::FieldError {
                        field: field.to_owned(),
                        message: "does not exist".to_owned(),
                        allowed: Vec::new(),
                    }],
                    message: missing.message.clone() + &hint,
                    ..missing
                })
            }
        }
    }

    /// The entity with a reference, deleted or not, if the caller can see it.
    pub fn find_entity(&mut self, reference: &Reference) -> Result<Option<Entity>> {
        match entity::find(self.tx, reference)? {
            Some(found) if self.sees(&found.project_id)? => Ok(Some(found)),
            _ => Ok(None),
        }
    }

    /// The project with a key or an id, if the caller can see it.
    pub fn find_project(&mut self, name: &str) -> Result<Option<Project>> {
        match project::find(self.tx, name)? {
            Some(found) if self.sees(&found.id)? => Ok(Some(found)),
            _ => Ok(None),
        }
    }

    /// The project that an argument names, or the default one.
    pub fn project(&mut self, field: &str, name: Option<&str>) -> Result<Project> {
        let name = name.unwrap_or(store::model::DEFAULT_PROJECT_KEY);
        match self.find_project(name)? {
            Some(project) => Ok(project),
            None => {
                let mut known = self.project_keys()?;
                // The nearest name must be among those that the error lists.
                let near = nearest::nearest(name, known.iter().map(String::as_str)).map(str::to_owned);
                known.sort_by_key(|key| Some(key) != near.as_ref());
                known.truncate(PROJECTS_TOLD);
                Err(Error::not_allowed(field, name, known))
            }
        }
    }

    /// The id and the name of the user whom an argument names. The user must not be disabled.
    pub fn assignee(&mut self, field: &str, who: &str) -> Result<(String, String)> {
        match user::find(self.tx, who)? {
            Some(user) if !user.disabled => Ok((user.id, user.username)),
            Some(user) => Err(Error::field(field, format!("the user {} is disabled", user.username))),
            None => Err(self.no_user(field, who)?),
        }
    }

    /// Records a change of an entity with a version.
    pub fn record(
        &mut self,
        what: &Subject<'_>,
        before: Option<&Value>,
        after: Option<&Value>,
    ) -> Result<()> {
        let changes = difference(before, after);
        self.record_changes(what, &changes)
    }

    /// Records a change with known fields.
    pub fn record_changes(&mut self, what: &Subject<'_>, changes: &Map<String, Value>) -> Result<()> {
        let changes = serde_json::to_string(changes).map_err(internal)?;
        let (id, import_id) = (self.new_id(), self.import_id.clone());
        let new = New {
            id: &id,
            project_id: what.project_id,
            entity_kind: what.kind,
            entity_id: what.id,
            reference_id: what.reference_id,
            version: what.version,
            actor_id: self.caller.map(|caller| caller.user_id.as_str()),
            token_id: self.caller.and_then(|caller| caller.token_id.as_deref()),
            via: self.request.via,
            operation: self.operation,
            changes: &changes,
            now: self.request.now,
            request_id: self.request.request_id.as_deref(),
            import_id: import_id.as_deref(),
        };
        revision::insert(self.tx, &new)?;
        Ok(())
    }
}

/// An entity with a larger number could not be imported again.
fn check_number(kind: Kind, number: i64) -> Result<()> {
    if number <= NUMBER_MAX {
        return Ok(());
    }
    let (prefix, words) = (kind.prefix(), kind.words());
    let message = format!(
        "no number is left for a new {words}: an import has brought along the largest, {prefix}-{NUMBER_MAX}; \
         use another project"
    );
    Err(Error::conflict(message))
}

/// The subject of a revision.
pub struct Subject<'a> {
    /// The project, if there is one.
    pub project_id: Option<&'a str>,
    /// The kind: `epic`, `user`, `relationship`.
    pub kind: &'a str,
    /// The id.
    pub id: &'a str,
    /// The reference id, if it has one.
    pub reference_id: Option<&'a str>,
    /// The version after the change.
    pub version: i64,
}

/// A UUID of version 7 for a time. Ids that a thread makes for the same time are in the order of their creation, and so are the
/// revisions of a transaction.
pub fn new_id(now: Time) -> String {
    let milliseconds = now.microseconds().max(0) as u64 / 1_000;
    let mut bytes = random();
    bytes[..4].copy_from_slice(&counter(milliseconds));
    uuid::Builder::from_unix_timestamp_millis(milliseconds, &bytes).into_uuid().to_string()
}

/// A counter of the thread for a time, in the bits that follow the time in a UUID: 12 after its version, 14 after its variant.
fn counter(milliseconds: u64) -> [u8; 4] {
    thread_local!(static LAST: Cell<(u64, u32)> = const { Cell::new((0, 0)) });
    let number = LAST.with(|last| {
        let (time, number) = last.get();
        let number = if time == milliseconds { number.wrapping_add(1) } else { 0 };
        last.set((milliseconds, number));
        number
    });
    let [_, _, high, low] = (number >> 14 & 0xfff).to_be_bytes();
    let [_, _, next, last] = (number & 0x3fff).to_be_bytes();
    [high, low, next, last]
}

/// Ten random bytes. Many are requested from the system at once, because every request needs an id.
fn random() -> [u8; 10] {
    const STOCK: usize = 200 * 10;
    thread_local! {
        static LEFT: RefCell<(Box<[u8; STOCK]>, usize)> = RefCell::new((Box::new([0; STOCK]), STOCK));
    }
    LEFT.with_borrow_mut(|(stock, used)| {
        if *used == STOCK {
            getrandom::fill(&mut stock[..]).expect("the system has random bytes");
            *used = 0;
        }
        let mut bytes = [0; 10];
        bytes.copy_from_slice(&stock[*used..*used + 10]);
        *used += 10;
        bytes
    })
}

/// Rejects an entity of another kind.
fn of_kind(field: &str, found: Entity, kind: Kind) -> Result<Entity> {
    if found.kind == kind {
        return Ok(found);
    }
    let (expected, is) = (kind.with_article(), found.kind.with_article());
    let message = format!("expected {expected}, and {} is {is}", found.reference_id);
    Err(Error::field(field, message))
}

/// Checks the version that the caller expects.
pub fn check_version(
    expected: Option<Version>,
    name: &str,
    current: i64,
    state: &impl Serialize,
) -> Result<()> {
    check_version_of("expected_version", expected, name, current, state)
}

/// Checks the version that the caller expects in an argument with this name.
pub fn check_version_of(
    field: &str,
    expected: Option<Version>,
    name: &str,
    current: i64,
    state: &impl Serialize,
) -> Result<()> {
    match expected.map(|version| version.0) {
        Some(expected) if expected != current => {
            let reason =
                if expected < current { "it was changed meanwhile" } else { "there is none such yet" };
            let message = format!(
                "{name} has version {current}, not {expected}: {reason}; if your change still fits, send {field} {current}"
            );
            let error = Error::new(ErrorKind::StaleVersion, message).about(field);
            Err(error.with(json!({ "current": to_value(state)? })))
        }
        _ => Ok(()),
    }
}

/// The error for a concurrent change between reading and writing. The operation is run again, and then
/// sees the new version.
pub fn overtaken(name: &str) -> Error {
    let message = format!("{name} was changed by somebody else at the same moment; try again");
    Error { retry_after_s: Some(1), lost_race: true, ..Error::new(ErrorKind::Unavailable, message) }
}

/// A value as JSON.
pub fn to_value(value: &impl Serialize) -> Result<Value> {
    serde_json::to_value(value).map_err(internal)
}

/// How many projects an error lists.
const PROJECTS_TOLD: usize = 20;

/// Fields that change with every change, or follow from others, are left out of a history.
const SILENT: &[&str] =
    &["version", "created_at", "updated_at", "epic", "user_story", "acceptance_criteria", "suspect"];

/// The fields in which two states differ, each as `[before, after]`.
pub fn difference(before: Option<&Value>, after: Option<&Value>) -> Map<String, Value> {
    let empty = Map::new();
    let before = before.and_then(Value::as_object).unwrap_or(&empty);
    let after = after.and_then(Value::as_object).unwrap_or(&empty);
    let mut changes = Map::new();
    for name in before.keys().chain(after.keys()) {
        let (old, new) = (before.get(name).unwrap_or(&Value::Null), after.get(name).unwrap_or(&Value::Null));
        if old != new && !SILENT.contains(&name.as_str()) && !changes.contains_key(name) {
            changes.insert(name.clone(), json!([old, new]));
        }
    }
    changes
}

/// The error for a value that is not JSON.
pub(crate) fn internal(error: serde_json::Error) -> Error {
    Error::new(ErrorKind::InternalError, error.to_string())
}
