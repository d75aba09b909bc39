//! Requests one by one, each with what it should take: what a person waits for.

use std::time::{Duration, Instant};

use bench_shared::fill::{Layout, key, reference};
use bench_shared::http::{Client, Request};
use bench_shared::text;
use serde::Serialize;
use serde_json::Value;

use crate::ours::Ours;

/// Each request is sent so often, unless that takes too long altogether.
const RUNS: usize = 21;
const TIME_MAX: Duration = Duration::from_secs(20);

/// What was measured, and what it should be.
#[derive(Serialize)]
pub struct Row {
    pub what: String,
    pub measured: String,
    pub aim: String,
}

impl Row {
    pub fn new(what: impl Into<String>, measured: impl Into<String>, aim: impl Into<String>) -> Row {
        Row { what: what.into(), measured: measured.into(), aim: aim.into() }
    }
}

/// Lists, reports, trees, the audit trail, a trial of a delete and a search.
pub fn measure(ours: &Ours, layout: Layout) -> anyhow::Result<Vec<Row>> {
    let mut client = Client::open(&ours.address)?;
    // One in the middle, which nobody has asked for yet.
    let project = key(layout.n_projects / 2);
    let n_nodes = layout.n_entities() / layout.n_projects;
    let epic = reference(layout.n_projects / 2, "EP", 1);
    let gets = [
        ("/requirements?limit=50".to_owned(), "≤ 5 ms"),
        (format!("/requirements?project={project}&status=Draft"), "≤ 5 ms"),
        ("/epics".to_owned(), "≤ 5 ms"),
        ("/reports/status".to_owned(), "≤ 20 ms"),
        (format!("/reports/status?project={project}"), "≤ 20 ms"),
        (format!("/hierarchy?project={project}&limit=100"), "≤ 600 ms"),
        (format!("/reports/hierarchy?project={project}"), "≤ 50 ms"),
        ("/audit?limit=50".to_owned(), "≤ 5 ms"),
        (format!("/search?query={}+{}", text::word(5), text::word(3)), "about 2 ms"),
    ];
    let mut rows = Vec::new();
    for (path, aim) in gets {
        let request = Request::get(&ours.address, &ours.token, &format!("/api/v1{path}"));
        let mut what = format!("GET {path}");
        if path.starts_with("/hierarchy") {
            what += &format!(" ({n_nodes} nodes)");
        }
        rows.push(Row::new(what, repeat(&mut client, &request)?, aim));
    }
    rows.push(Row::new("GET /hierarchy, a page of depth 1", pages(&mut client, ours, &project)?, "≤ 30 ms"));
    let path = format!("/api/v1/epics/{epic}?dry_run=true&force=true");
    let request = Request::of("DELETE", &ours.address, &ours.token, &path, "", "");
    rows.push(Row::new("DELETE /epics/{id}?dry_run=true", repeat(&mut client, &request)?, "≤ 20 ms"));
    Ok(rows)
}

/// The median time and the size of the answer.
fn repeat(client: &mut Client, request: &Request) -> anyhow::Result<String> {
    let started = Instant::now();
    let mut times = Vec::new();
    let mut size = 0;
    while times.len() < RUNS && started.elapsed() < TIME_MAX {
        let reply = client.send(request)?;
        let text = String::from_utf8_lossy(&reply.body);
        anyhow::ensure!(
            reply.status == request.status,
            "{}: {text}",
            String::from_utf8_lossy(&request.bytes)
        );
        times.push(reply.time);
        size = reply.body.len();
    }
    times.sort_unstable();
    Ok(format!("{}, {:.1} KB", milliseconds(times[times.len() / 2]), size as f64 / 1000.0))
}

/// The pages of a tree, one after the other.
fn pages(client: &mut Client, ours: &Ours, project: &str) -> anyhow::Result<String> {
    let first = format!("/api/v1/hierarchy?project={project}&depth=1&limit=20");
    let mut path = first.clone();
    let mut times = Vec::new();
    for _ in 0..RUNS {
        let reply = client.send(&Request::get(&ours.address, &ours.token, &path))?;
        if reply.status == 400 {
            return Ok("not offered".to_owned());
        }
        let answer: Value = serde_json::from_slice(&reply.body)?;
        anyhow::ensure!(reply.status == 200, "{path}: {answer}");
        times.push(reply.time);
        let cursor = ["next_cursor", "cursor"].iter().find_map(|name| answer[name].as_str());
        path = cursor.map_or_else(|| first.clone(), |cursor| format!("{first}&cursor={cursor}"));
    }
    times.sort_unstable();
    Ok(milliseconds(times[times.len() / 2]))
}

pub fn milliseconds(time: Duration) -> String {
    let milliseconds = time.as_secs_f64() * 1000.0;
    if milliseconds < 10.0 { format!("{milliseconds:.1} ms") } else { format!("{milliseconds:.0} ms") }
}
