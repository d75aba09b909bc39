//! Texts of managed requirements from the store or a server as they are now, and from what was pulled where these cannot be
//! reached.

use std::fmt;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use ops::{Call, Credentials, Engine};
use serde_json::Value;
use store::model::Via;
use store::revision::{self, Place};
use store::{Mode, Store};
use trace::managed::{Lookup, ManagedName, ManagedTexts};

use super::cited;
use super::pulled::Pulled;
use crate::spexus::now;

/// Runs an operation, wherever the requirements are.
pub type Source = Box<dyn Fn(&'static ops::Entry, Value) -> Result<Value, String> + Send + Sync>;

/// Tells a number that changes with every change of the store.
pub type Edition = Box<dyn Fn() -> u64 + Send + Sync>;

/// Texts as they are now.
pub struct Live {
    source: Source,
    edition: Edition,
    pulled: Pulled,
    /// Why the source could not be asked last.
    problem: Mutex<Option<String>>,
}

impl fmt::Debug for Live {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Live").field("pulled", &self.pulled).finish_non_exhaustive()
    }
}

impl Live {
    /// Texts of a source; those that were pulled take its place where it cannot be reached.
    pub fn new(source: Source, edition: Edition, pulled: Pulled) -> Live {
        Live { source, edition, pulled, problem: Mutex::default() }
    }

    /// Looks up requirements as they are now, or says why that cannot be.
    pub fn look_up_now(&self, names: &[ManagedName]) -> Result<Vec<Lookup>, String> {
        cited::ask(names, &self.source)
    }
}

impl ManagedTexts for Live {
    fn project(&self) -> &str {
        self.pulled.project()
    }

    fn look_up(&self, names: &[ManagedName]) -> Vec<Lookup> {
        let (found, problem) = match self.look_up_now(names) {
            Ok(found) => (found, None),
            Err(problem) => (self.pulled.look_up(names), Some(problem)),
        };
        *self.problem.lock().unwrap_or_else(PoisonError::into_inner) = problem;
        found
    }

    fn edition(&self) -> u64 {
        (self.edition)()
    }

    fn is_live(&self) -> bool {
        true
    }

    fn files(&self, names: &[ManagedName]) -> Vec<PathBuf> {
        self.pulled.files(names)
    }

    fn notes(&self) -> Vec<String> {
        let problem = self.problem.lock().unwrap_or_else(PoisonError::into_inner);
        let note = |problem: &String| {
            format!("managed requirements cannot be asked for, and what was pulled last is used: {problem}")
        };
        problem.iter().map(note).collect()
    }
}

/// Runs an operation on the store of an engine.
pub fn ask_store(
    engine: &Engine,
    credentials: Credentials,
    via: Via,
    entry: &'static ops::Entry,
    arguments: Value,
) -> Result<Value, String> {
    let call = Call::new(entry, arguments, credentials, ops::Request::new(via, now()));
    let answer = engine.wait(call).result.map_err(|error| error.message)?;
    serde_json::from_str(&answer.json).map_err(|error| error.to_string())
}

/// Counts the changes of a store that were seen.
#[derive(Debug, Default)]
pub struct Seen(Mutex<(Place, u64)>);

/// Tells a number that changes when the store does.
pub fn store_edition(store: &Store, seen: &Seen) -> u64 {
    let place = store.wait(Mode::Point, revision::newest_place).unwrap_or_default();
    let mut seen = seen.0.lock().unwrap_or_else(PoisonError::into_inner);
    if seen.0 != place {
        *seen = (place, seen.1 + 1);
    }
    seen.1
}
