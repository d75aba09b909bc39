//! The server against the engine below it: the same statements through REST and through the driver alone, in one run.

mod bare_postgres;
mod bare_sqlite;
mod ours;
mod report;
mod statements;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::Context;
use bench_shared::{fill, text};
use private_postgres::Server;
use store::model::Time;
use store::{Location, Options, Store, search};

use crate::ours::Ours;
use crate::report::{Comparison, Report};
use bench_shared::measure::Measured;

/// Something that can be asked to do the work.
trait Side {
    fn read(&self, n_clients: usize, time: Duration, n_requirements: u64) -> anyhow::Result<Measured>;
    fn list_of_story(
        &self,
        n_clients: usize,
        time: Duration,
        n_requirements: u64,
    ) -> anyhow::Result<Measured>;
    fn list(&self, n_clients: usize, time: Duration, n_requirements: u64) -> anyhow::Result<Measured>;
    fn create(&self, n_clients: usize, time: Duration) -> anyhow::Result<Measured>;
}

const CLIENTS: [usize; 3] = [1, 16, 64];

struct Settings {
    json: bool,
    rounds: usize,
    time: Duration,
    n_requirements: u64,
    /// Only this store, where one is named.
    store: Option<String>,
    /// Only the kinds of work with this in their names.
    only: String,
    /// Where a filled SQLite store is kept from run to run.
    folder: Option<PathBuf>,
    /// A PostgreSQL database that is filled already, and a token for it.
    filled: Option<(String, String)>,
    program: PathBuf,
}

fn main() -> anyhow::Result<()> {
    let settings = Settings::read()?;
    let mut reports = Vec::new();
    if settings.store.as_deref() != Some("postgres") {
        let temporary = tempfile::tempdir()?;
        let folder = settings.folder.as_deref().unwrap_or(temporary.path());
        reports.push(on_sqlite(&settings, folder)?);
    }
    if let Some((url, token)) = &settings.filled {
        reports.push(measure(&settings, "PostgreSQL", url, token, &bare_postgres::Postgres::open(url)?)?);
    } else if settings.store.as_deref() != Some("sqlite") {
        let options = private_postgres::Options { fsync: true, max_connections: 200, ..Default::default() };
        let server = Server::own(options).context("no PostgreSQL is installed")?;
        reports.push(on_postgres(&settings, server.database().url())?);
    }
    #[expect(clippy::print_stdout, reason = "the result goes where it can be redirected")]
    if settings.json {
        println!("{}", serde_json::to_string_pretty(&reports)?);
    } else {
        let heading = report::heading(settings.rounds, settings.time, settings.n_requirements);
        println!("{heading}\n{}", reports.iter().map(Report::table).collect::<Vec<_>>().join("\n"));
    }
    Ok(())
}

fn on_sqlite(settings: &Settings, folder: &Path) -> anyhow::Result<Report> {
    let path = folder.join("spexus.db");
    let database = format!("sqlite:{}", path.display());
    let kept_token = folder.join("token");
    let (token, filled_in) = match std::fs::read_to_string(&kept_token) {
        Ok(token) => {
            let location = Location::parse(&database).map_err(anyhow::Error::msg)?;
            search::tidy(&Store::open(&location, Options::default(), Time::from_microseconds(0))?)?;
            (token, Duration::ZERO)
        }
        Err(_) => fill(&database, settings)?,
    };
    std::fs::write(&kept_token, &token)?;
    let bare = bare_sqlite::Sqlite::open(&path)?;
    let mut report = measure(settings, "SQLite", &database, &token, &bare)?;
    report.filled_in_s = filled_in.as_secs_f64();
    for n_clients in CLIENTS {
        let grouped = bare.create_grouped(n_clients, settings.time)?;
        report.notes.push(format!(
            "bare creates with one commit for {n_clients}: {:.0} a second",
            grouped.per_second
        ));
    }
    Ok(report)
}

fn on_postgres(settings: &Settings, url: &str) -> anyhow::Result<Report> {
    // Nothing is lost if the machine loses power meanwhile but this run.
    let hasty = format!("{url}?options=-c%20synchronous_commit%3Doff");
    let (token, filled_in) = fill(&hasty, settings)?;
    let mut client = postgres::Client::connect(url, postgres::NoTls)?;
    client.batch_execute("vacuum analyze")?;
    client.batch_execute("checkpoint")?;
    let bare = bare_postgres::Postgres::open(url)?;
    let mut report = measure(settings, "PostgreSQL", url, &token, &bare)?;
    report.filled_in_s = filled_in.as_secs_f64();
    Ok(report)
}

fn fill(database: &str, settings: &Settings) -> anyhow::Result<(String, Duration)> {
    let started = Instant::now();
    eprintln!("filling a store with {} requirements", settings.n_requirements);
    Ok((fill::fill(database, settings.n_requirements)?, started.elapsed()))
}

fn measure(
    settings: &Settings,
    store: &'static str,
    database: &str,
    token: &str,
    bare: &dyn Side,
) -> anyhow::Result<Report> {
    let mut cold_starts = Vec::new();
    for _ in 0..5 {
        cold_starts.push(Ours::start(&settings.program, database, token)?.cold_start);
    }
    cold_starts.sort();
    let ours = Ours::start(&settings.program, database, token)?;
    let reads: [(&'static str, Work); 3] = [
        ("read by id", |side, n_clients, time, n| side.read(n_clients, time, n)),
        ("list of a story, 50", |side, n_clients, time, n| side.list_of_story(n_clients, time, n)),
        ("list of all, 50", |side, n_clients, time, n| side.list(n_clients, time, n)),
    ];
    let creates: [(&'static str, Work); 1] =
        [("durable create", |side, n_clients, time, _| side.create(n_clients, time))];
    if reads[0].0.contains(&settings.only) {
        ours.read_each(settings.n_requirements)?;
    }
    let mut comparisons = compare(settings, store, &ours, bare, &reads)?;
    // Before anything is written: an engine is busy with that for a while.
    let searches = search(settings, &ours)?;
    comparisons.extend(compare(settings, store, &ours, bare, &creates)?);
    let (memory_mib, anonymous_mib) = ours.memory_mib()?;
    let cold_start_ms = cold_starts[cold_starts.len() / 2].as_secs_f64() * 1000.0;
    Ok(Report {
        store,
        comparisons,
        searches,
        memory_mib,
        anonymous_mib,
        cold_start_ms,
        filled_in_s: 0.0,
        notes: Vec::new(),
    })
}

/// Something that both sides can do, for a number of clients, a time and a number of requirements.
type Work = fn(&dyn Side, usize, Duration, u64) -> anyhow::Result<Measured>;

/// Lets both sides do each kind of work, in turn.
fn compare(
    settings: &Settings,
    store: &str,
    ours: &Ours,
    bare: &dyn Side,
    works: &[(&'static str, Work)],
) -> anyhow::Result<Vec<Comparison>> {
    let mut comparisons = Vec::new();
    for &(name, work) in works.iter().filter(|(name, _)| name.contains(&settings.only)) {
        for n_clients in CLIENTS {
            eprintln!("{store}: {name}, {n_clients} clients");
            let (mut of_ours, mut of_bare) = (Vec::new(), Vec::new());
            let mut server_cores = 0.0;
            for _ in 0..settings.rounds {
                let (cpu, started) = (ours.cpu()?, Instant::now());
                of_ours.push(work(ours, n_clients, settings.time, settings.n_requirements)?);
                server_cores = (ours.cpu()? - cpu).as_secs_f64() / started.elapsed().as_secs_f64();
                of_bare.push(work(bare, n_clients, settings.time, settings.n_requirements)?);
            }
            let (ours, bare) = (Measured::median(of_ours), Measured::median(of_bare));
            comparisons.push(Comparison { name, n_clients, ours, bare, server_cores });
        }
    }
    Ok(comparisons)
}

/// Searches of each kind, one client, one request after the other.
fn search(settings: &Settings, ours: &Ours) -> anyhow::Result<Vec<(&'static str, Measured)>> {
    let path = |query: &str| format!("/api/v1/search?query={query}");
    let ranks = |first: u64| (first..first + 50).map(text::word);
    let kinds: Vec<(&'static str, Vec<String>)> = vec![
        ("a rare word", ranks(15_000).map(|word| path(&word)).collect()),
        ("a common word", ranks(5).map(|word| path(&word)).collect()),
        ("two common words", ranks(5).map(|word| path(&format!("{word}+{}", text::word(3)))).collect()),
        ("a phrase", vec![path("%22cooling+interval%22")]),
        ("a prefix", ranks(200).map(|word| path(&word[..4])).collect()),
        (
            "a word without another",
            ranks(300).map(|word| path(&format!("{word}+-{}", text::word(9)))).collect(),
        ),
        ("a word and a filter", ranks(100).map(|word| format!("{}&priority=1", path(&word))).collect()),
    ];
    let mut found = Vec::new();
    let mix: Vec<String> = (0..50)
        .flat_map(|index| kinds.iter().map(move |(_, paths)| paths[index % paths.len()].clone()))
        .collect();
    let all = ("all of these in turn", mix);
    let is_asked_for = |name: &str| format!("search: {name}").contains(&settings.only);
    for (name, paths) in kinds.into_iter().chain([all]).filter(|(name, _)| is_asked_for(name)) {
        found.push((name, ours.ask(settings.time, paths)?));
    }
    Ok(found)
}

impl Settings {
    fn read() -> anyhow::Result<Settings> {
        let beside = std::env::current_exe()?.with_file_name("spexus");
        let mut settings = Settings {
            json: false,
            rounds: 3,
            time: Duration::from_secs(2),
            n_requirements: 100_000,
            store: None,
            only: String::new(),
            folder: None,
            filled: None,
            program: beside,
        };
        let mut arguments = std::env::args().skip(1);
        while let Some(argument) = arguments.next() {
            let mut value = || arguments.next().with_context(|| format!("{argument}: a value is missing"));
            match argument.as_str() {
                "--json" => settings.json = true,
                "--rounds" => settings.rounds = value()?.parse::<usize>()?.max(1),
                "--seconds" => settings.time = Duration::from_secs_f64(value()?.parse()?),
                "--requirements" => {
                    settings.n_requirements = value()?.parse::<u64>()?.max(text::PER_STORY * 100)
                }
                "--only" => settings.only = value()?,
                "--store" => settings.store = Some(value()?),
                "--folder" => settings.folder = Some(value()?.into()),
                "--filled" => {
                    let url = value()?;
                    settings.filled = Some((url, std::env::var("SPEXUS_TOKEN").context("SPEXUS_TOKEN")?));
                    settings.store = Some("postgres".to_owned());
                }
                "--spexus" => settings.program = value()?.into(),
                _ => anyhow::bail!(
                    "{argument}: expected --json, --rounds, --seconds, --requirements, --store, --only, --folder, --filled or --spexus"
                ),
            }
        }
        Ok(settings)
    }
}
