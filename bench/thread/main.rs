//! The thread with a large store: a push of many citations beside other writes, pushes of test runs, and then `get_thread` at a
//! steady rate.

mod pushed;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::Context;
use bench_shared::fill::{self, Layout};
use bench_shared::http::{Client, Request, beside, drive_paced};
use bench_shared::measure::Measured;
use bench_shared::server::Server;
use bench_shared::text::{self, Random};
use serde_json::{Value, json};

use crate::pushed::{Pushed, symbol};

const REPOSITORY: &str = "example.org/large";
const CLIENTS: usize = 64;
/// How long questions are asked before they count.
const WARM_UP: Duration = Duration::from_secs(3);
/// Between two of the writes beside a push.
const PAUSE: Duration = Duration::from_millis(5);

struct Settings {
    json: bool,
    postgres: bool,
    n_requirements: u64,
    n_projects: u64,
    n_citations: u64,
    n_results: u64,
    per_second: f64,
    time: Duration,
    program: PathBuf,
}

/// A line of the table: what was measured, and its aim.
type Row = (String, String, String);

fn main() -> anyhow::Result<()> {
    let settings = Settings::read()?;
    let rows = if settings.postgres {
        let options = private_postgres::Options { fsync: true, max_connections: 200, ..Default::default() };
        let server = private_postgres::Server::own(options).context("no PostgreSQL is installed")?;
        measure(&settings, server.database().url(), Duration::from_millis(25))?
    } else {
        let folder = tempfile::tempdir()?;
        let database = format!("sqlite:{}", folder.path().join("thread.db").display());
        measure(&settings, &database, Duration::from_millis(10))?
    };
    #[expect(clippy::print_stdout, reason = "the result goes where it can be redirected")]
    if settings.json {
        let rows =
            rows.iter().map(|(what, measured, aim)| json!({"what": what, "measured": measured, "aim": aim}));
        println!("{}", serde_json::to_string_pretty(&rows.collect::<Vec<_>>())?);
    } else {
        for (what, measured, aim) in rows {
            println!("{what:<44}{measured:<44}{aim}");
        }
    }
    Ok(())
}

fn measure(settings: &Settings, database: &str, p99_max: Duration) -> anyhow::Result<Vec<Row>> {
    let layout = Layout::new(settings.n_requirements, settings.n_projects);
    let pushed = Pushed { layout, n_citations: settings.n_citations };
    eprintln!("filling {} projects of {} requirements", layout.n_projects, layout.n_requirements);
    let token = fill::fill(database, layout)?;
    let server = Server::start(&settings.program, database, &token)?;
    let mut client = Client::open(&server.address)?;
    let projects: Vec<String> = (0..layout.n_projects).map(fill::key).collect();
    let repository = json!({"name": REPOSITORY, "projects": projects, "trust_min": "token"}).to_string();
    answered(&mut client, &Request::post(&server.address, &token, "/api/v1/repositories", &repository))?;

    let mut rows = Vec::new();
    // The second one replaces the first, as every push but one does.
    for (edition, name) in [(0, "first push of citations"), (1, "the next push, with all files changed")] {
        eprintln!("{name}");
        let content = pushed.trace(edition);
        let push = push(&server, "trace", &json!({}), &content);
        let write = |number: u64| {
            let body = json!({"title": text::title(number), "priority": 2}).to_string();
            Request::post(&server.address, &token, "/api/v1/epics", &body)
        };
        let started = Instant::now();
        let (answer, mut waits_us) = beside(&server.address, PAUSE, write, || answered(&mut client, &push))?;
        let time = started.elapsed();
        anyhow::ensure!(answer["n_citations"] == settings.n_citations, "pushed {answer}");
        let measured = format!(
            "{:.2} s ({} files, {} MB)",
            time.as_secs_f64(),
            answer["n_files"],
            content.len() / 1_000_000
        );
        rows.push((name.to_owned(), measured, "≤ 5 s".to_owned()));
        waits_us.sort_unstable();
        let worst_ms = f64::from(waits_us.last().copied().unwrap_or_default()) / 1e3;
        let waits = Measured::new(waits_us, time, Duration::ZERO);
        let measured =
            format!("p50 {}, p99 {}, at most {worst_ms:.1} ms", ms(waits.p50_us), ms(waits.p99_us));
        rows.push(("  other writes meanwhile".to_owned(), measured, "p99 ≤ 50 ms".to_owned()));
    }
    let n_runs = settings.n_results.div_ceil(pushed.n_tests().max(1));
    let started = Instant::now();
    for run in 0..n_runs {
        eprintln!("run {} of {n_runs}", run + 1);
        let about = json!({"tool": "pytest", "exit_status": 1});
        answered(&mut client, &push(&server, "evidence", &about, &pushed.run(run, 1)))?;
    }
    let measured =
        format!("{:.2} s each, {} tests", started.elapsed().as_secs_f64() / n_runs as f64, pushed.n_tests());
    rows.push((format!("{n_runs} pushes of test runs"), measured, String::new()));

    eprintln!("asking");
    rows.extend(ask(settings, &server, pushed, p99_max)?);
    rows.push(propose(&server)?);
    let (memory, _) = server.memory_mib()?;
    rows.push(("memory of the server".to_owned(), format!("{memory:.0} MiB"), String::new()));
    Ok(rows)
}

/// Proposes threats to a project, page by page, until so many requirements and stories were looked at.
fn propose(server: &Server) -> anyhow::Result<Row> {
    const N_ITEMS: u64 = 1_000;
    let mut client = Client::open(&server.address)?;
    let path = format!("/api/v1/threats?project={}&limit=100", fill::key(0));
    let page = |client: &mut Client, cursor: &str| {
        let path = if cursor.is_empty() { path.clone() } else { format!("{path}&cursor={cursor}") };
        answered(client, &Request::get(&server.address, &server.token, &path))
    };
    // The patterns are loaded when somebody first asks.
    page(&mut client, "")?;
    let started = Instant::now();
    let (mut n_items, mut n_threats, mut cursor) = (0, 0, String::new());
    while n_items < N_ITEMS {
        let found = page(&mut client, &cursor)?;
        n_items += found["n_items"].as_u64().unwrap_or_default();
        n_threats += found["data"].as_array().map_or(0, Vec::len);
        let Some(next) = found["next_cursor"].as_str() else { break };
        next.clone_into(&mut cursor);
    }
    let per_1_000_s = started.elapsed().as_secs_f64() * N_ITEMS as f64 / n_items.max(1) as f64;
    let measured = format!("{per_1_000_s:.2} s ({n_items} looked at, {n_threats} threats)");
    Ok(("threats to 1,000 requirements".to_owned(), measured, "≤ 1 s".to_owned()))
}

/// Asks at a steady rate, from all ends of the thread.
fn ask(settings: &Settings, server: &Server, pushed: Pushed, p99_max: Duration) -> anyhow::Result<Vec<Row>> {
    let (address, token) = (server.address.clone(), server.token.clone());
    let layout = pushed.layout;
    let next = move |number: u64| {
        let mut random = Random(number);
        let test = random.below(pushed.n_tests());
        let (project, requirement) = pushed.requirement(test);
        let get = |from: &str, rest: &str| {
            Request::get(&address, &token, &format!("/api/v1/thread?from={from}{rest}"))
        };
        match random.below(10) {
            0..6 => get(&fill::reference(project, "REQ", requirement), "").labelled("from a requirement"),
            6..8 => {
                let (path, line) = pushed.place(2 * test);
                get(&format!("{path}:{line}"), "").labelled("from a line of code")
            }
            8 => {
                let (path, _) = pushed.place(2 * test + 1);
                get(&format!("{path}::{}", symbol(2 * test + 1)), "").labelled("from a test")
            }
            _ => {
                let story = 1 + random.below(layout.n_stories());
                get(&fill::reference(project, "US", story), "&limit=10").labelled("from a story, 10 of 50")
            }
        }
    };
    let mut client = Client::open(&server.address)?;
    for number in 0..200 {
        let found = answered(&mut client, &next(number))?;
        anyhow::ensure!(
            found["data"].as_array().is_some_and(|items| !items.is_empty()),
            "nothing found: {found}"
        );
    }
    // Connections to the database are opened, and statements planned on each of them, when they are first needed.
    let (first, elapsed) = drive_paced(&server.address, CLIENTS, settings.per_second, WARM_UP, next.clone())?;
    let first =
        Measured::new(first.into_iter().map(|(_, latency_us)| latency_us).collect(), elapsed, Duration::ZERO);
    let cpu = server.cpu()?;
    let (samples, elapsed) = drive_paced(&server.address, CLIENTS, settings.per_second, settings.time, next)?;
    let server_cores = (server.cpu()? - cpu).as_secs_f64() / elapsed.as_secs_f64();
    let mut kinds: BTreeMap<&'static str, Vec<u32>> = BTreeMap::new();
    for (label, latency_us) in &samples {
        kinds.entry(label).or_default().push(*latency_us);
    }
    let of = |latencies_us: Vec<u32>| Measured::new(latencies_us, elapsed, Duration::ZERO);
    let all = of(samples.into_iter().map(|(_, latency_us)| latency_us).collect());
    let shown = |measured: &Measured| format!("p50 {}, p99 {}", ms(measured.p50_us), ms(measured.p99_us));
    let head = format!("get_thread, {:.0} a second, {CLIENTS} connections", all.per_second);
    let measured = format!("{}; {server_cores:.2} cores", shown(&all));
    let mut rows = vec![(head, measured, format!("p99 ≤ {} ms", p99_max.as_millis()))];
    rows.push((
        format!("  the {} s before, with all that is new", WARM_UP.as_secs()),
        shown(&first),
        String::new(),
    ));
    rows.extend(
        kinds
            .into_iter()
            .map(|(label, latencies_us)| (format!("  {label}"), shown(&of(latencies_us)), String::new())),
    );
    Ok(rows)
}

fn push(server: &Server, what: &str, arguments: &Value, content: &str) -> Request {
    let mut path = format!("/api/v1/repositories/{}/{what}?format=jsonl", REPOSITORY.replace('/', "%2F"));
    for (name, value) in arguments.as_object().into_iter().flatten() {
        path += &format!("&{name}={}", value.as_str().map_or_else(|| value.to_string(), str::to_owned));
    }
    Request::of("POST", &server.address, &server.token, &path, "application/x-ndjson", content)
}

fn answered(client: &mut Client, request: &Request) -> anyhow::Result<Value> {
    let reply = client.send(request)?;
    let text = String::from_utf8_lossy(&reply.body);
    anyhow::ensure!(
        reply.status == request.status,
        "{}: {}",
        reply.status,
        text.chars().take(1_000).collect::<String>()
    );
    Ok(serde_json::from_str(&text)?)
}

fn ms(microseconds: u32) -> String {
    format!("{:.1} ms", f64::from(microseconds) / 1e3)
}

impl Settings {
    fn read() -> anyhow::Result<Settings> {
        let mut settings = Settings {
            json: false,
            postgres: false,
            n_requirements: 30_000,
            n_projects: 6,
            n_citations: 100_000,
            n_results: 400_000,
            per_second: 500.0,
            time: Duration::from_secs(20),
            program: std::env::current_exe()?.with_file_name("spexus"),
        };
        let mut arguments = std::env::args().skip(1);
        while let Some(argument) = arguments.next() {
            let mut value =
                || arguments.next().ok_or_else(|| anyhow::anyhow!("{argument}: expected a value"));
            match argument.as_str() {
                "--json" => settings.json = true,
                "--postgres" => settings.postgres = true,
                "--requirements" => settings.n_requirements = value()?.parse()?,
                "--projects" => settings.n_projects = value()?.parse()?,
                "--citations" => settings.n_citations = value()?.parse()?,
                "--results" => settings.n_results = value()?.parse()?,
                "--rate" => settings.per_second = value()?.parse()?,
                "--seconds" => settings.time = Duration::from_secs(value()?.parse()?),
                "--spexus" => settings.program = value()?.into(),
                _ => anyhow::bail!(
                    "{argument}: expected --json, --postgres, --requirements N, --projects N, --citations N, --results N, --rate N, \
                     --seconds S or --spexus PATH"
                ),
            }
        }
        Ok(settings)
    }
}
