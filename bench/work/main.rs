//! Leases under attack: many agents ask several servers on one store for work and give it back, while servers are killed and started
//! again. Nothing may be given to two of them, nor two works in the same file, in as many attempts as there is time for.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError, RwLock};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Context;
use bench_shared::fill::{self, Layout};
use bench_shared::http::{Client, Request};
use bench_shared::measure::Measured;
use bench_shared::server::Server;
use serde_json::{Value, json};

const REPOSITORY: &str = "example.org/work";
const N_SERVERS: usize = 2;
/// How many files cite how many requirements each: fewer files than agents, so that they get into each other's way.
const N_FILES: usize = 12;
const CITED_IN_A_FILE: usize = 3;
/// An agent without a server asks again after this.
const PAUSE: Duration = Duration::from_millis(20);

struct Settings {
    json: bool,
    postgres: bool,
    n_attempts: u64,
    n_agents: usize,
    n_kills: u64,
    program: PathBuf,
}

fn main() -> anyhow::Result<()> {
    let settings = Settings::read()?;
    let result = if settings.postgres {
        let options = private_postgres::Options { fsync: false, max_connections: 200, ..Default::default() };
        let server = private_postgres::Server::own(options).context("no PostgreSQL is installed")?;
        run(&settings, server.database().url())?
    } else {
        let folder = tempfile::tempdir()?;
        run(&settings, &format!("sqlite:{}", folder.path().join("work.db").display()))?
    };
    #[expect(clippy::print_stdout, reason = "the result goes where it can be redirected")]
    if settings.json {
        println!("{}", serde_json::to_string_pretty(&result)?);
    } else {
        for (what, measured) in result.as_object().into_iter().flatten() {
            println!("{what:<28}{measured}");
        }
    }
    Ok(())
}

/// What is held, as those who took it see it: requirements and files, each with the agent.
type Ledger = Mutex<HashMap<String, usize>>;

/// What all agents share.
struct Field {
    /// The addresses of the servers; none while one is away.
    addresses: Vec<RwLock<Option<String>>>,
    tokens: Vec<String>,
    ledger: Ledger,
    n_attempts: AtomicU64,
    n_taken: AtomicU64,
    /// Which things were held by two at once.
    doubles: Mutex<Vec<String>>,
}

fn run(settings: &Settings, database: &str) -> anyhow::Result<Value> {
    let layout = Layout::new(600, 1);
    let admin = fill::fill(database, layout)?;
    let start = || Server::start(&settings.program, database, &admin);
    let mut servers = (0..N_SERVERS).map(|_| start().map(Some)).collect::<anyhow::Result<Vec<_>>>()?;
    let address = servers[0].as_ref().map(|server| server.address.clone()).unwrap_or_default();
    let mut client = Client::open(&address)?;
    let mut post = |path: &str, body: Value| -> anyhow::Result<Value> {
        let reply = client.send(&Request::post(&address, &admin, path, &body.to_string()))?;
        anyhow::ensure!(reply.status < 300, "{path}: {}", String::from_utf8_lossy(&reply.body));
        Ok(serde_json::from_slice(&reply.body)?)
    };
    let key = fill::key(0);
    post("/api/v1/repositories", json!({"name": REPOSITORY, "projects": [key]}))?;
    let name = REPOSITORY.replace('/', "%2F");
    post(&format!("/api/v1/repositories/{name}/trace"), json!({"content": files()}))?;
    let mut tokens = Vec::new();
    for number in 0..settings.n_agents {
        let name = format!("agent{number}");
        let user = json!({"username": name, "email": format!("{name}@example.org"), "role": "User"});
        post("/api/v1/users", user)?;
        let made =
            post("/api/v1/tokens", json!({"name": "work", "user": name, "scopes": ["read", "write"]}))?;
        tokens.push(made["token"].as_str().context("a token")?.to_owned());
    }
    let addresses =
        servers.iter().flatten().map(|server| RwLock::new(Some(server.address.clone()))).collect();
    let field = Field {
        addresses,
        tokens,
        ledger: Ledger::default(),
        n_attempts: AtomicU64::new(0),
        n_taken: AtomicU64::new(0),
        doubles: Mutex::default(),
    };
    let started = Instant::now();
    let latencies_us = thread::scope(|scope| -> anyhow::Result<Vec<u32>> {
        let agents: Vec<_> = (0..settings.n_agents)
            .map(|number| {
                let (field, key) = (&field, key.as_str());
                scope.spawn(move || work(field, key, number, settings.n_attempts))
            })
            .collect();
        for kill in 1..=settings.n_kills {
            let at = settings.n_attempts * kill / (settings.n_kills + 1);
            while field.n_attempts.load(Ordering::Relaxed) < at {
                thread::sleep(Duration::from_millis(5));
            }
            let victim = (kill as usize) % N_SERVERS;
            *write(&field.addresses[victim]) = None;
            // It is killed with what it was doing.
            servers[victim] = None;
            let server = start()?;
            *write(&field.addresses[victim]) = Some(server.address.clone());
            servers[victim] = Some(server);
        }
        let mut all = Vec::new();
        for agent in agents {
            all.extend(agent.join().expect("no agent panics"));
        }
        Ok(all)
    })?;
    let measured = Measured::new(latencies_us, started.elapsed(), Duration::ZERO);
    let doubles = field.doubles.into_inner().unwrap_or_else(PoisonError::into_inner);
    anyhow::ensure!(doubles.is_empty(), "given to two at once: {}", doubles.join(", "));
    Ok(json!({
        "attempts": settings.n_attempts,
        "taken": field.n_taken.into_inner(),
        "given to two at once": 0,
        "servers killed": settings.n_kills,
        "next_work, p50 in ms": f64::from(measured.p50_us) / 1e3,
        "next_work, p99 in ms": f64::from(measured.p99_us) / 1e3,
        "attempts a second": measured.per_second.round(),
    }))
}

/// Takes work and gives it back until there were so many attempts of all agents; returns how long each answer took.
fn work(field: &Field, project: &str, number: usize, n_attempts: u64) -> Vec<u32> {
    let mut latencies_us = Vec::new();
    let mut connection: Option<(String, Client)> = None;
    while field.n_attempts.fetch_add(1, Ordering::Relaxed) < n_attempts {
        let body = json!({"project": project, "max_tokens": 200});
        let asked = Instant::now();
        let Some((status, taken)) = ask(field, &mut connection, number, "POST", "/api/v1/work/next", &body)
        else {
            // What was taken by an answer that was lost is given back by whoever has another connection.
            release_lost(field, &mut connection, project, number);
            continue;
        };
        latencies_us.push(asked.elapsed().as_micros() as u32);
        if status == 409 {
            release_lost(field, &mut connection, project, number);
        }
        if !taken["lease"].is_string() {
            continue;
        }
        field.n_taken.fetch_add(1, Ordering::Relaxed);
        let things: Vec<String> = things(&taken);
        note(field, &things, number);
        thread::yield_now();
        lock(&field.ledger).retain(|_, holder| *holder != number);
        let own = json!({"lease": taken["lease"]});
        if ask(field, &mut connection, number, "POST", "/api/v1/work/release", &own).is_none() {
            release_lost(field, &mut connection, project, number);
        }
    }
    latencies_us
}

/// Writes down who holds what, and what somebody else holds already.
fn note(field: &Field, things: &[String], number: usize) {
    let mut ledger = lock(&field.ledger);
    for thing in things {
        if let Some(other) = ledger.insert(thing.clone(), number).filter(|other| *other != number) {
            lock(&field.doubles).push(format!("{thing} to {other} and {number}"));
        }
    }
}

/// Gives back what an agent holds as far as the store knows: it has nothing in hand.
fn release_lost(field: &Field, connection: &mut Option<(String, Client)>, project: &str, number: usize) {
    let list = format!("/api/v1/work?project={project}&limit=100");
    let Some((_, held)) = ask(field, connection, number, "GET", &list, &Value::Null) else { return };
    let yours = held["data"].as_array().into_iter().flatten().filter(|one| one["yours"] == true);
    for one in yours {
        let own = json!({"lease": one["lease"]});
        // If this is lost as well, the next time finds it.
        let _ = ask(field, connection, number, "POST", "/api/v1/work/release", &own);
    }
}

/// Asks a server that is there, over a connection that is kept; none where the answer was lost.
fn ask(
    field: &Field,
    connection: &mut Option<(String, Client)>,
    number: usize,
    method: &str,
    path: &str,
    body: &Value,
) -> Option<(u16, Value)> {
    if connection.is_none() {
        let addresses: Vec<String> =
            field.addresses.iter().filter_map(|address| read(address).clone()).collect();
        let address = addresses.get(number % addresses.len().max(1)).cloned();
        let opened = address.and_then(|address| Client::open(&address).ok().map(|client| (address, client)));
        *connection = opened;
    }
    let Some((address, client)) = connection else {
        thread::sleep(PAUSE);
        return None;
    };
    let body = if body.is_null() { String::new() } else { body.to_string() };
    let request = Request::of(method, address, &field.tokens[number], path, "application/json", &body);
    match client.send(&request) {
        Ok(reply) => Some((reply.status, serde_json::from_slice(&reply.body).unwrap_or_default())),
        Err(_) => {
            *connection = None;
            None
        }
    }
}

/// What a lease is of: the requirement and its files.
fn things(taken: &Value) -> Vec<String> {
    let paths = taken["paths"].as_array().into_iter().flatten();
    paths.chain([&taken["reference_id"]]).filter_map(Value::as_str).map(str::to_owned).collect()
}

/// The lines of a push: files that cite some requirements each.
fn files() -> String {
    let file = |index: usize| {
        let citations: Vec<Value> = (0..CITED_IN_A_FILE)
            .map(|place| {
                let number = index * CITED_IN_A_FILE + place + 1;
                let reference = fill::reference(0, "REQ", number as u64);
                let line = 10 * (place + 1);
                json!({"line": line, "last_line": line, "kind": "code", "reference": reference, "pin": 1})
            })
            .collect();
        json!({"path": format!("src/file{index}.rs"), "blob": "0123456789abcdef", "citations": citations})
            .to_string()
            + "\n"
    };
    (0..N_FILES).map(file).collect()
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn read<T>(lock: &RwLock<T>) -> std::sync::RwLockReadGuard<'_, T> {
    lock.read().unwrap_or_else(PoisonError::into_inner)
}

fn write<T>(lock: &RwLock<T>) -> std::sync::RwLockWriteGuard<'_, T> {
    lock.write().unwrap_or_else(PoisonError::into_inner)
}

impl Settings {
    fn read() -> anyhow::Result<Settings> {
        let mut settings = Settings {
            json: false,
            postgres: false,
            n_attempts: 1_000_000,
            n_agents: 16,
            n_kills: 10,
            program: std::env::current_exe()?.with_file_name("spexus"),
        };
        let mut arguments = std::env::args().skip(1);
        while let Some(argument) = arguments.next() {
            let mut value =
                || arguments.next().ok_or_else(|| anyhow::anyhow!("{argument}: expected a value"));
            match argument.as_str() {
                "--json" => settings.json = true,
                "--postgres" => settings.postgres = true,
                "--attempts" => settings.n_attempts = value()?.parse()?,
                "--agents" => settings.n_agents = value()?.parse()?,
                "--kills" => settings.n_kills = value()?.parse()?,
                "--spexus" => settings.program = value()?.into(),
                _ => anyhow::bail!(
                    "{argument}: expected --json, --postgres, --attempts N, --agents N, --kills N or --spexus PATH"
                ),
            }
        }
        anyhow::ensure!(settings.program.is_file(), "{}: not found", settings.program.display());
        Ok(settings)
    }
}
