//! Fills a store with requirements through the operations themselves, so that it is what the server would have made.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use anyhow::Context;
use ops::{Call, Credentials, Engine, ErrorKind, Request};
use serde_json::{Value, json};
use store::model::{Time, Via};
use store::{Location, Mode, Options, Store, search, tally};

use crate::text::{self, PER_STORY};

/// So many are made in one transaction.
const TOGETHER: u64 = 500;
/// So many threads fill projects: PostgreSQL takes that many at once, and SQLite finds the next ones prepared.
const THREADS: usize = 4;
const TIDY_EVERY: Duration = Duration::from_secs(1);
/// How often something is tried again that others were in the way of.
const ATTEMPTS_MAX: usize = 20;
/// Stories of an epic.
pub const PER_EPIC: u64 = 10;

/// What a store is filled with: projects of the same size. Every story has a criterion.
#[derive(Clone, Copy)]
pub struct Layout {
    pub n_projects: u64,
    /// Requirements of a project.
    pub n_requirements: u64,
}

impl Layout {
    /// Spreads requirements over projects, in whole stories, of which each project has some.
    pub fn new(n_requirements: u64, n_projects: u64) -> Layout {
        const STORIES_MIN: u64 = 20;
        let n_projects = n_projects.max(1);
        let n_stories = (n_requirements / n_projects / PER_STORY).max(STORIES_MIN);
        Layout { n_projects, n_requirements: n_stories * PER_STORY }
    }

    pub fn n_stories(&self) -> u64 {
        self.n_requirements / PER_STORY
    }

    pub fn n_epics(&self) -> u64 {
        self.n_stories().div_ceil(PER_EPIC)
    }

    /// How many entities there are in all projects.
    pub fn n_entities(&self) -> u64 {
        self.n_projects * (self.n_epics() + 2 * self.n_stories() + self.n_requirements)
    }
}

/// The key of a project. The first is the one that every store has.
pub fn key(project: u64) -> String {
    if project == 0 { "DEFAULT".to_owned() } else { format!("P{project:04}") }
}

/// A reference id in a project: those of the first have no key.
pub fn reference(project: u64, kind: &str, number: u64) -> String {
    if project == 0 { format!("{kind}-{number:03}") } else { format!("{}-{kind}-{number:03}", key(project)) }
}

/// Makes projects, and in each epics, stories, criteria and requirements. Returns the token of the first start.
pub fn fill(database: &str, layout: Layout) -> anyhow::Result<String> {
    let now = Time::from_microseconds(1_790_000_000_000_000);
    let location = Location::parse(database).map_err(anyhow::Error::msg)?;
    let store = Store::open(&location, Options::default(), now)?;
    let request = Request::new(Via::Rest, now);
    let first = ops::first_start(&store, &request)?.context("the store is not empty")?;
    let engine = Engine::new(store.clone());
    let filling = Filling { engine, request, token: first.token.clone() };
    filling.all(
        "create_project",
        layout.n_projects - 1,
        |number| json!({"key": key(number + 1), "name": format!("Project {}", number + 1)}),
    )?;
    let next = AtomicU64::new(0);
    std::thread::scope(|scope| {
        let threads = [(); THREADS].map(|()| {
            scope.spawn(|| -> anyhow::Result<()> {
                loop {
                    let project = next.fetch_add(1, Ordering::Relaxed);
                    if project >= layout.n_projects {
                        return Ok(());
                    }
                    filling.project(project, layout)?;
                }
            })
        });
        while store.is_remote() && threads.iter().any(|thread| !thread.is_finished()) {
            // What a server does beside its writers.
            while store.wait(Mode::Aside, tally::fold)? {}
            search::tidy(&store)?;
            std::thread::sleep(TIDY_EVERY);
        }
        threads.into_iter().try_for_each(|thread| thread.join().expect("no thread panics"))
    })?;
    // What a server does as soon as nobody writes.
    while store.wait(Mode::Aside, tally::fold)? {}
    search::tidy(&store)?;
    Ok(first.token)
}

struct Filling {
    engine: Engine,
    request: Request,
    token: String,
}

impl Filling {
    fn project(&self, project: u64, layout: Layout) -> anyhow::Result<()> {
        let of = |kind: &str, number: u64| reference(project, kind, number);
        // Every project has other words.
        let first = project * layout.n_requirements;
        self.all("create_epic", layout.n_epics(), |number| {
            json!({"project": key(project), "title": text::title(first + number), "priority": 1 + number % 4})
        })?;
        self.all("create_user_story", layout.n_stories(), |number| {
            json!({"epic_id": of("EP", 1 + number / PER_EPIC), "title": text::title(first + number), "priority": 2,
                   "description": "As a user, I want all of it, so that I can look."})
        })?;
        self.all("create_acceptance_criteria", layout.n_stories(), |number| {
            json!({"user_story_id": of("US", 1 + number), "description": text::title(first + number)})
        })?;
        self.all("create_requirement", layout.n_requirements, |number| {
            json!({"user_story_id": of("US", 1 + number / PER_STORY), "type_id": "Functional",
                   "priority": 1 + number % 4, "title": text::title(first + number),
                   "description": text::description(first + number)})
        })
    }

    fn all(&self, name: &str, n_calls: u64, arguments: impl Fn(u64) -> Value) -> anyhow::Result<()> {
        let entry = ops::find("bulk_update").context("no operation makes several things at once")?;
        for first in (0..n_calls).step_by(TOGETHER as usize) {
            let steps = (first..n_calls.min(first + TOGETHER))
                .map(|number| json!({"operation": name, "arguments": arguments(number)}));
            let arguments = json!({"operations": steps.collect::<Vec<_>>()});
            for attempt in 1.. {
                let credentials = Credentials::Bearer(self.token.clone());
                let call = Call::new(entry, arguments.clone(), credentials, self.request.clone());
                match self.engine.wait(call).result {
                    Ok(_) => break,
                    Err(error) if is_in_the_way(error.kind) && attempt < ATTEMPTS_MAX => {}
                    Err(error) => anyhow::bail!("{name}: {error} {:?}", error.fields),
                }
            }
        }
        Ok(())
    }
}

fn is_in_the_way(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::Conflict | ErrorKind::Unavailable)
}
