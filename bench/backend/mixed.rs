//! A mixed load: many clients, nine of ten requests read and one writes, all over the store.

use std::collections::BTreeMap;
use std::time::Duration;

use bench_shared::fill::{Layout, key, reference};
use bench_shared::http::{Client, Request, drive_labelled};
use bench_shared::measure::Measured;
use bench_shared::text::{self, Random};
use serde::Serialize;
use serde_json::json;

use crate::ours::{Ours, new_requirement};

const CLIENTS: usize = 64;

/// What came of it: all requests, and each kind.
#[derive(Serialize)]
pub struct Mixed {
    pub n_clients: usize,
    pub all: Measured,
    pub kinds: Vec<(&'static str, Measured)>,
    /// How much of one core the server used.
    pub server_cores: f64,
}

pub fn measure(ours: &Ours, time: Duration, layout: Layout) -> anyhow::Result<Mixed> {
    let (address, token) = (ours.address.clone(), ours.token.clone());
    let by_depth = Request::get(&address, &token, "/api/v1/hierarchy?limit=1&depth=1");
    let depth = if Client::open(&address)?.send(&by_depth)?.status == 200 { "&depth=1" } else { "" };
    let next = move |number: u64| {
        let mut random = Random(number);
        let project = random.below(layout.n_projects);
        let key = key(project);
        let get = |path: String| Request::get(&address, &token, &format!("/api/v1{path}"));
        let requirement = reference(project, "REQ", 1 + random.below(layout.n_requirements));
        let story = reference(project, "US", 1 + random.below(layout.n_stories()));
        let change = |body: serde_json::Value| {
            let path = format!("/api/v1/requirements/{requirement}");
            Request::of("PATCH", &address, &token, &path, "application/json", &body.to_string())
        };
        match random.below(100) {
            0..30 => get(format!("/requirements/{requirement}")).labelled("read one"),
            30..45 => {
                get(format!("/requirements?project={key}&status=Draft&limit=25")).labelled("list, filtered")
            }
            45..55 => {
                get(format!("/requirements?project={key}&priority=1&limit=25")).labelled("list, filtered")
            }
            55..65 => get(format!("/user-stories/{story}/requirements?limit=25")).labelled("list of a story"),
            65..80 => get(format!("/search?query={}", text::word(random.below(15_000)))).labelled("search"),
            80..90 => get(format!("/hierarchy?project={key}&limit=1{depth}")).labelled("page of a tree"),
            90..94 => {
                let body = new_requirement(&story, number);
                Request::post(&address, &token, "/api/v1/requirements", &body).labelled("create")
            }
            94..98 => change(json!({"description": text::description(number)})).labelled("update"),
            _ => {
                let status = ["Active", "Draft"][random.below(2) as usize];
                change(json!({ "status": status })).labelled("change a status")
            }
        }
    };
    let cpu = ours.cpu()?;
    let (samples, elapsed) = drive_labelled(&ours.address, CLIENTS, time, next)?;
    let server_cores = (ours.cpu()? - cpu).as_secs_f64() / elapsed.as_secs_f64();
    let mut kinds: BTreeMap<&'static str, Vec<u32>> = BTreeMap::new();
    for (label, latency_us) in &samples {
        kinds.entry(label).or_default().push(*latency_us);
    }
    let of = |latencies_us: Vec<u32>| Measured::new(latencies_us, elapsed, Duration::ZERO);
    let all = of(samples.into_iter().map(|(_, latency_us)| latency_us).collect());
    let kinds = kinds.into_iter().map(|(label, latencies_us)| (label, of(latencies_us))).collect();
    Ok(Mixed { n_clients: CLIENTS, all, kinds, server_cores })
}
