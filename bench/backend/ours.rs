//! The server itself, driven over HTTP.

use std::ops::Deref;
use std::path::Path;
use std::time::Duration;

use serde_json::json;

use crate::Side;
use bench_shared::fill::Layout;
use bench_shared::http::{Request, drive};
use bench_shared::measure::Measured;
use bench_shared::server::Server;
use bench_shared::text::{self, Random};

/// A running server.
pub struct Ours(Server);

impl Deref for Ours {
    type Target = Server;

    fn deref(&self) -> &Server {
        &self.0
    }
}

impl Ours {
    pub fn start(program: &Path, database: &str, token: &str) -> anyhow::Result<Ours> {
        Server::start(program, database, token).map(Ours)
    }

    fn get(
        &self,
        n_clients: usize,
        time: Duration,
        path: impl Fn(u64) -> String + Clone + 'static,
    ) -> anyhow::Result<Measured> {
        let (address, token) = (self.address.clone(), self.token.clone());
        drive(&self.address, n_clients, time, move |number| Request::get(&address, &token, &path(number)))
    }

    /// One client asks for some paths in turn.
    pub fn ask(&self, time: Duration, paths: Vec<String>) -> anyhow::Result<Measured> {
        self.get(1, time, move |number| paths[number as usize % paths.len()].clone())
    }
}

impl Side for Ours {
    fn read(&self, n_clients: usize, time: Duration, layout: Layout) -> anyhow::Result<Measured> {
        self.get(n_clients, time, move |number| {
            format!("/api/v1/requirements/REQ-{:03}", 1 + Random(number).below(layout.n_requirements))
        })
    }

    fn list_of_story(&self, n_clients: usize, time: Duration, layout: Layout) -> anyhow::Result<Measured> {
        self.get(n_clients, time, move |number| {
            let story = 1 + Random(number).below(layout.n_stories());
            format!("/api/v1/user-stories/US-{story:03}/requirements")
        })
    }

    fn create(&self, n_clients: usize, time: Duration, layout: Layout) -> anyhow::Result<Measured> {
        let (address, token) = (self.address.clone(), self.token.clone());
        drive(&self.address, n_clients, time, move |number| {
            let story = format!("US-{:03}", 1 + number % layout.n_stories());
            Request::post(&address, &token, "/api/v1/requirements", &new_requirement(&story, number))
        })
    }
}

/// The body of a request that makes a requirement.
pub fn new_requirement(story: &str, number: u64) -> String {
    json!({
        "user_story_id": story, "type_id": "Functional", "priority": 2,
        "title": text::title(number), "description": text::description(number),
    })
    .to_string()
}
