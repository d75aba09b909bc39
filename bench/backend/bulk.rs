//! Large writes: four clients that fill projects of their own, and what others wait for during a large import.

use std::fmt::Write as _;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use bench_shared::http::{Client, Request};
use bench_shared::text;
use serde_json::json;

use crate::ours::Ours;
use crate::rows::{Row, milliseconds};

const CLIENTS: u64 = 4;
/// With an epic and four stories, a list of 405 operations.
const REQUIREMENTS: u64 = 400;
const STORIES: u64 = 4;
/// The clients go on for so many times as long as other measurements.
const LONGER: u32 = 3;
/// Between two writes of whoever waits for an import.
const PAUSE: Duration = Duration::from_millis(20);

/// Clients that create by `POST /bulk` in projects of their own: none of them touches what another does.
pub fn clients(ours: &Ours, time: Duration) -> anyhow::Result<Vec<Row>> {
    let keys: Vec<String> = (1..=CLIENTS).map(|client| unused(&format!("BULK{client}"))).collect();
    let mut client = Client::open(&ours.address)?;
    for key in &keys {
        create_project(&mut client, ours, key)?;
    }
    let started = Instant::now();
    let counted = std::thread::scope(|scope| {
        let threads: Vec<_> =
            keys.iter().map(|key| scope.spawn(|| fill(ours, key, started, time * LONGER))).collect();
        threads
            .into_iter()
            .map(|thread| thread.join().expect("no thread panics"))
            .collect::<Result<Vec<_>, _>>()
    })?;
    let elapsed = started.elapsed().as_secs_f64();
    let sum = |part: fn(&Counted) -> u64| counted.iter().map(part).sum::<u64>();
    let per_second = (sum(|counted| counted.n_made) * REQUIREMENTS) as f64 / elapsed;
    let longest = counted.iter().map(|counted| counted.longest).max().unwrap_or_default();
    let measured =
        format!("{per_second:.0} requirements/s, the longest answer took {}", milliseconds(longest));
    let what = format!("{CLIENTS} clients, POST /bulk of {} operations", 1 + STORIES + REQUIREMENTS);
    Ok(vec![
        Row::new(what, measured, "≥ 1,200/s"),
        Row::new("of these answered with 409", sum(|counted| counted.n_conflicts).to_string(), "0"),
    ])
}

/// What one of the clients has seen.
#[derive(Default)]
struct Counted {
    n_made: u64,
    n_conflicts: u64,
    longest: Duration,
}

fn fill(ours: &Ours, key: &str, started: Instant, time: Duration) -> anyhow::Result<Counted> {
    let mut client = Client::open(&ours.address)?;
    let mut operations = vec![json!({"operation": "create_epic",
                                     "arguments": {"project": key, "title": "An epic", "priority": 1}})];
    operations.extend((0..STORIES).map(|_| {
        json!({"operation": "create_user_story",
               "arguments": {"epic_id": "$0.id", "title": "A story", "priority": 2}})
    }));
    operations.extend((0..REQUIREMENTS).map(|number| {
        json!({"operation": "create_requirement",
               "arguments": {"user_story_id": format!("${}.id", 1 + number % STORIES), "type_id": "Functional",
                             "priority": 2, "title": text::title(number), "description": text::description(number)}})
    }));
    let body = json!({ "operations": operations }).to_string();
    let request = Request::of("POST", &ours.address, &ours.token, "/api/v1/bulk", "application/json", &body);
    let mut counted = Counted::default();
    while started.elapsed() < time {
        let reply = client.send(&request)?;
        counted.longest = counted.longest.max(reply.time);
        match reply.status {
            200 => counted.n_made += 1,
            409 => counted.n_conflicts += 1,
            status => anyhow::bail!("{status}: {}", String::from_utf8_lossy(&reply.body)),
        }
    }
    Ok(counted)
}

/// How long other writes wait while a file is imported.
pub fn import(ours: &Ours, megabytes: usize) -> anyhow::Result<Vec<Row>> {
    let key = unused("IMPORT");
    let mut client = Client::open(&ours.address)?;
    create_project(&mut client, ours, &key)?;
    let file = file(megabytes * 1_000_000);
    let path = format!("/api/v1/import?format=csv&project={key}");
    let request = Request::of("POST", &ours.address, &ours.token, &path, "text/csv", &file);
    let is_over = AtomicBool::new(false);
    let (reply, mut waits) = std::thread::scope(|scope| {
        let waiting = scope.spawn(|| -> anyhow::Result<Vec<Duration>> {
            let mut client = Client::open(&ours.address)?;
            let body = json!({"title": "Meanwhile", "priority": 2}).to_string();
            let request = Request::post(&ours.address, &ours.token, "/api/v1/epics", &body);
            let mut waits = Vec::new();
            while !is_over.load(Ordering::Relaxed) {
                // One that is refused in the end has waited as well.
                waits.push(client.send(&request)?.time);
                std::thread::sleep(PAUSE);
            }
            Ok(waits)
        });
        let reply = client.send(&request);
        is_over.store(true, Ordering::Relaxed);
        let waits = waiting.join().expect("no thread panics")?;
        anyhow::Ok((reply?, waits))
    })?;
    let text = String::from_utf8_lossy(&reply.body);
    anyhow::ensure!(reply.status < 300, "{}: {}", reply.status, text.chars().take(1_000).collect::<String>());
    waits.sort_unstable();
    let longest = waits.last().copied().unwrap_or_default();
    let p50 = waits.get(waits.len() / 2).copied().unwrap_or_default();
    let measured = format!(
        "at most {}, p50 {}; the import took {:.1} s",
        milliseconds(longest),
        milliseconds(p50),
        reply.time.as_secs_f64()
    );
    Ok(vec![Row::new(format!("other writes during an import of {megabytes} MB"), measured, "≤ 500 ms")])
}

/// Requirements as a table, of about this size.
fn file(n_bytes: usize) -> String {
    const PER_STORY: u64 = 50;
    let mut text =
        "kind,reference_id,epic,user_story,title,description,priority\nepic,E_1,,,Imported,,1\n".to_owned();
    let mut number = 0;
    while text.len() < n_bytes {
        let story = number / PER_STORY;
        if number.is_multiple_of(PER_STORY) {
            let _ = writeln!(text, "user_story,S_{story},E_1,,A story,,2");
        }
        // Four times the usual text, which is about a kilobyte.
        let description: Vec<String> = (0..4).map(|part| text::description(4 * number + part)).collect();
        let title = text::title(number);
        let _ = writeln!(text, "requirement,,,S_{story},{title},\"{}\",2", description.join(" "));
        number += 1;
    }
    text
}

fn create_project(client: &mut Client, ours: &Ours, key: &str) -> anyhow::Result<()> {
    let body = json!({"key": key, "name": key}).to_string();
    let reply = client.send(&Request::post(&ours.address, &ours.token, "/api/v1/projects", &body))?;
    anyhow::ensure!(reply.status == 201, "{}", String::from_utf8_lossy(&reply.body));
    Ok(())
}

/// A key that no earlier run on a kept store has used: keys have at most ten characters.
fn unused(name: &str) -> String {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    format!("{name}{:04X}", now.as_secs() / 60 % 0x1_0000)
}
