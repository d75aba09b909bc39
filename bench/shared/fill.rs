//! Fills a store with requirements through the operations themselves, so that it is what the server would have made.

use anyhow::Context;
use ops::{Call, Credentials, Engine, Request};
use serde_json::{Value, json};
use store::model::{Time, Via};
use store::{Location, Options, Store, search};

use crate::text::{self, PER_STORY};

/// So many are made in one transaction.
const TOGETHER: u64 = 500;

/// Makes an epic, stories, and requirements in them. Returns the token of the first start.
pub fn fill(database: &str, n_requirements: u64) -> anyhow::Result<String> {
    let now = Time::from_microseconds(1_790_000_000_000_000);
    let location = Location::parse(database).map_err(anyhow::Error::msg)?;
    let store = Store::open(&location, Options::default(), now)?;
    let request = Request::new(Via::Rest, now);
    let first = ops::first_start(&store, &request)?.context("the store is not empty")?;
    let engine = Engine::new(store.clone());
    let filling = Filling { engine, request, token: first.token.clone() };
    filling.all("create_epic", 1, |_| json!({"title": "Everything", "priority": 1}))?;
    filling.all("create_user_story", n_requirements / PER_STORY, |number| {
        json!({"epic_id": "EP-001", "title": text::title(number), "priority": 2,
               "description": "As a user, I want all of it, so that I can look."})
    })?;
    filling.all("create_requirement", n_requirements, |number| {
        json!({"user_story_id": format!("US-{:03}", 1 + number / PER_STORY), "type_id": "Functional",
               "priority": 1 + number % 4, "title": text::title(number), "description": text::description(number)})
    })?;
    // What a server does as soon as nobody writes.
    search::tidy(&store)?;
    Ok(first.token)
}

struct Filling {
    engine: Engine,
    request: Request,
    token: String,
}

impl Filling {
    fn all(&self, name: &str, n_calls: u64, arguments: impl Fn(u64) -> Value) -> anyhow::Result<()> {
        let entry = ops::find("bulk_update").context("no operation makes several things at once")?;
        for first in (0..n_calls).step_by(TOGETHER as usize) {
            let steps = (first..n_calls.min(first + TOGETHER))
                .map(|number| json!({"operation": name, "arguments": arguments(number)}));
            let arguments = json!({"operations": steps.collect::<Vec<_>>()});
            let credentials = Credentials::Bearer(self.token.clone());
            let call = Call::new(entry, arguments, credentials, self.request.clone());
            self.engine.wait(call).result?;
        }
        Ok(())
    }
}
