//! Agents over HTTP: our endpoint, with tokens, an audit trail and a database, beside an rmcp server that has none of them,
//! beside our own REST, through the bridge, and straight over stdio.

mod servers;
mod stdio;

use std::path::PathBuf;
use std::time::Duration;

use anyhow::Context;
use bench_shared::http::{Request, beside, drive};
use bench_shared::measure::Measured;
use bench_shared::{fill, text};
use serde_json::{Value, json};

use crate::servers::Server;

const CONNECTIONS: [usize; 3] = [1, 16, 64];
const REQUIREMENTS: u64 = 10_000;
/// Between two writes of somebody else, for what is measured beside writes: 20 a second.
const PAUSE: Duration = Duration::from_millis(50);

fn main() -> anyhow::Result<()> {
    let settings = Settings::read()?;
    servers::allow_many_files()?;
    let folder = tempfile::tempdir()?;
    let database = format!("sqlite:{}", folder.path().join("spexus.db").display());
    eprintln!("filling a store with {REQUIREMENTS} requirements");
    let token = fill::fill(&database, fill::Layout::new(REQUIREMENTS, 1))?;
    let ours = Server::ours(&settings.programs.join("spexus"), &database)?;
    let rmcp = Server::rmcp(&settings.programs.join("peer-rmcp-http"))?;

    let mut rows = Vec::new();
    let works: [(&str, &Server, Make); 8] = [
        ("a constant from the same library", &rmcp, |address, _, _| Request::get(address, "", "/constant")),
        (RMCP, &rmcp, echo),
        ("tools/call, ours", &ours, get_entity),
        (BESIDE_WRITES, &ours, get_entity),
        (RMCP_IN_TURN, &rmcp, echo),
        ("resources/read, rmcp, trivial", &rmcp, |address, _, _| {
            message(address, "/mcp", None, "resources/read", "x://y", &json!({"uri": "x://y"}))
        }),
        ("resources/read, ours", &ours, |address, token, number| {
            let uri = format!("requirement://{}", reference(number));
            message(address, "/api/v1/mcp", Some(token), "resources/read", &uri, &json!({"uri": uri}))
        }),
        ("the same over REST", &ours, |address, token, number| {
            Request::get(address, token, &format!("/api/v1/requirements/{}", reference(number)))
        }),
    ];
    let works = works.into_iter().filter(|(name, ..)| name.contains(&settings.only));
    // Writes come last, so that all others read the same store.
    let (beside_writes, quiet): (Vec<_>, Vec<_>) =
        works.partition(|(name, ..)| [BESIDE_WRITES, RMCP_IN_TURN].contains(name));
    // Nobody measures the first time that something is read.
    for (_, server, make) in &quiet {
        load(server, *make, &token, CONNECTIONS[1], settings.time)?;
    }
    let sizes = |works| CONNECTIONS.map(|n_connections| (works, n_connections));
    for (works, n_connections) in sizes(&quiet).into_iter().chain(sizes(&beside_writes)) {
        let mut measured: Vec<Vec<(Measured, f64)>> = works.iter().map(|_| Vec::new()).collect();
        for round in 0..settings.rounds {
            eprintln!("{n_connections} connections, round {}", round + 1);
            for (index, (name, server, make)) in works.iter().enumerate() {
                let load = || load(server, *make, &token, n_connections, settings.time);
                let write = |number| create(&server.address, &token, number);
                let run = if *name == BESIDE_WRITES {
                    beside(&server.address, PAUSE, write, load)?.0
                } else {
                    load()?
                };
                measured[index].push(run);
            }
        }
        for ((name, ..), mut runs) in works.iter().zip(measured) {
            runs.sort_by(|one, other| one.0.per_second.total_cmp(&other.0.per_second));
            let (run, cpu_us) = runs.swap_remove(runs.len() / 2);
            rows.push(
                json!({"what": name, "connections": n_connections, "per_second": run.per_second.round(),
                             "p50_us": run.p50_us, "p99_us": run.p99_us, "cpu_us": cpu_us.round()}),
            );
        }
    }
    let mut lines = headline(&rows).into_iter().collect::<Vec<_>>();
    for (name, command) in [
        ("bridge", ours.bridge(&settings.programs, &token)),
        ("spexus mcp", servers::mcp(&settings.programs, &database)),
    ] {
        if !name.contains(&settings.only) {
            continue;
        }
        eprintln!("{name}");
        for in_flight in CONNECTIONS {
            let mut run = stdio::Program::start(command(), name)?;
            let measured = run.window(in_flight, settings.time)?;
            rows.push(json!({"what": format!("tools/call, {name}, stdio"), "connections": in_flight,
                             "per_second": measured.per_second.round(), "p50_us": measured.p50_us, "p99_us": measured.p99_us}));
        }
        let mut run = stdio::Program::start(command(), name)?;
        let (n_answers, time) = run.all_at_once(10_000)?;
        lines.push(format!(
            "{name}: {n_answers} of 10000 requests that were sent at once were answered in {:.2} s",
            time.as_secs_f64()
        ));
    }
    let before = ours.memory_mib()?;
    let streams = ours.subscribe(&token, 1_000)?;
    let after = ours.memory_mib()?;
    lines.push(format!(
        "memory: {before:.0} MiB after the load, {after:.0} MiB with {} open subscriptions",
        streams.len()
    ));
    drop(streams);
    print(&settings, &rows, &lines);
    Ok(())
}

const BESIDE_WRITES: &str = "tools/call, ours, beside writes";
const RMCP: &str = "tools/call, rmcp, trivial";
const RMCP_IN_TURN: &str = "tools/call, rmcp, in turn with it";

/// Ours beside writes, in parts of what rmcp does with a tool that reads nothing, with as many connections as there are.
fn headline(rows: &[Value]) -> Option<String> {
    let n_connections = CONNECTIONS[CONNECTIONS.len() - 1];
    let rate = |name: &str| {
        let row = rows.iter().find(|row| row["what"] == name && row["connections"] == n_connections)?;
        row["per_second"].as_f64()
    };
    let share = rate(BESIDE_WRITES)? / rate(RMCP_IN_TURN)?;
    Some(format!(
        "tools/call with {n_connections} connections beside 20 writes a second: {share:.2} of rmcp's trivial tool (aim: at least 0.80)"
    ))
}

fn echo(address: &str, _token: &str, _number: u64) -> Request {
    let params = json!({"name": "echo", "arguments": {"text": "some text"}});
    message(address, "/mcp", None, "tools/call", "echo", &params)
}

fn get_entity(address: &str, token: &str, number: u64) -> Request {
    let arguments = json!({"name": "get_entity", "arguments": {"reference": reference(number)}});
    message(address, "/api/v1/mcp", Some(token), "tools/call", "get_entity", &arguments)
}

/// What somebody else writes meanwhile.
fn create(address: &str, token: &str, number: u64) -> Request {
    let body = json!({"title": text::title(number), "priority": 2}).to_string();
    Request::post(address, token, "/api/v1/epics", &body)
}

type Make = fn(&str, &str, u64) -> Request;

fn load(
    server: &Server,
    make: Make,
    token: &str,
    n_connections: usize,
    time: Duration,
) -> anyhow::Result<(Measured, f64)> {
    let (address, token) = (server.address.clone(), token.to_owned());
    let cpu = server.cpu()?;
    let measured = drive(&server.address, n_connections, time, move |number| make(&address, &token, number))?;
    let n_requests = measured.per_second * time.as_secs_f64();
    let cpu_us = (server.cpu()? - cpu).as_secs_f64() * 1e6 / n_requests;
    Ok((measured, cpu_us))
}

fn reference(number: u64) -> String {
    format!("REQ-{:03}", 1 + text::Random(number).below(REQUIREMENTS))
}

/// A message of 2026-07-28.
fn message(
    address: &str,
    path: &str,
    token: Option<&str>,
    method: &str,
    name: &str,
    params: &Value,
) -> Request {
    let mut params = params.clone();
    params["_meta"] = json!({"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {},
                             "io.modelcontextprotocol/clientInfo": {"name": "bench", "version": "1"}});
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).to_string();
    let authorization = token.map(|token| format!("Authorization: Bearer {token}\r\n")).unwrap_or_default();
    let text = format!(
        "POST {path} HTTP/1.1\r\nHost: {address}\r\n{authorization}Content-Type: application/json\r\n\
         Accept: application/json, text/event-stream\r\nMCP-Protocol-Version: 2026-07-28\r\nMcp-Method: {method}\r\n\
         Mcp-Name: {name}\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    Request { bytes: text.into_bytes(), status: 200, label: "" }
}

#[expect(clippy::print_stdout, reason = "the result goes where it can be redirected")]
fn print(settings: &Settings, rows: &[Value], lines: &[String]) {
    if settings.json {
        println!("{}", json!({"rows": rows, "notes": lines}));
        return;
    }
    println!(
        "medians of {} rounds of {:?}, {REQUIREMENTS} requirements on SQLite, 2026-07-28, one message a request",
        settings.rounds, settings.time
    );
    println!(
        "{:34} {:>11} {:>10} {:>9} {:>9} {:>9}",
        "", "connections", "1/s", "p50, µs", "p99, µs", "CPU, µs"
    );
    for row in rows {
        let number =
            |name: &str| row[name].as_f64().map_or_else(String::new, |number| format!("{number:.0}"));
        println!(
            "{:34} {:>11} {:>10} {:>9} {:>9} {:>9}",
            row["what"].as_str().unwrap_or_default(),
            number("connections"),
            number("per_second"),
            number("p50_us"),
            number("p99_us"),
            number("cpu_us"),
        );
    }
    for line in lines {
        println!("{line}");
    }
}

struct Settings {
    json: bool,
    rounds: usize,
    time: Duration,
    programs: PathBuf,
    /// Only works whose names hold this text.
    only: String,
}

impl Settings {
    fn read() -> anyhow::Result<Settings> {
        let programs = std::env::current_exe()?.parent().context("a folder of programs")?.to_owned();
        let mut settings =
            Settings { json: false, rounds: 3, time: Duration::from_secs(2), programs, only: String::new() };
        let mut arguments = std::env::args().skip(1);
        while let Some(argument) = arguments.next() {
            let mut value = || arguments.next().with_context(|| format!("{argument}: a value is missing"));
            match argument.as_str() {
                "--json" => settings.json = true,
                "--rounds" => settings.rounds = value()?.parse::<usize>()?.max(1),
                "--seconds" => settings.time = Duration::from_secs_f64(value()?.parse()?),
                "--programs" => settings.programs = value()?.into(),
                "--only" => settings.only = value()?,
                _ => anyhow::bail!("{argument}: expected --json, --rounds, --seconds, --programs or --only"),
            }
        }
        Ok(settings)
    }
}
