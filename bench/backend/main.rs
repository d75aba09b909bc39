//! The server with a large store: what each request takes beside what it should take, a mixed load, and the engine below it
//! with the same statements, all in one run.

mod bare_postgres;
mod bare_sqlite;
mod bulk;
mod mixed;
mod ours;
mod report;
mod rows;
mod size;
mod statements;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::Context;
use bench_shared::fill::Layout;
use bench_shared::{fill, text};
use private_postgres::Server;
use store::model::Time;
use store::{Location, Options, Store, search};

use crate::ours::Ours;
use crate::report::{Comparison, Report};
use bench_shared::measure::Measured;

/// Something that can be asked to do the work, in the first project.
trait Side {
    fn read(&self, n_clients: usize, time: Duration, layout: Layout) -> anyhow::Result<Measured>;
    fn list_of_story(&self, n_clients: usize, time: Duration, layout: Layout) -> anyhow::Result<Measured>;
    fn create(&self, n_clients: usize, time: Duration, layout: Layout) -> anyhow::Result<Measured>;
}

const CLIENTS: [usize; 3] = [1, 16, 64];
/// The mixed load goes on for so many times as long as other measurements.
const MIXED_LONGER: u32 = 5;

struct Settings {
    json: bool,
    rounds: usize,
    time: Duration,
    layout: Layout,
    /// PostgreSQL in place of SQLite.
    postgres: bool,
    import_mb: usize,
    /// Only the parts with this in their names.
    only: String,
    /// Where a filled SQLite store is kept from run to run.
    folder: Option<PathBuf>,
    /// A PostgreSQL database that is filled already, and a token for it.
    filled: Option<(String, String)>,
    program: PathBuf,
}

impl Settings {
    fn wants(&self, part: &str) -> bool {
        part.contains(&self.only)
    }
}

fn main() -> anyhow::Result<()> {
    let settings = Settings::read()?;
    let report = if let Some((url, token)) = &settings.filled {
        on_filled_postgres(&settings, url, token)?
    } else if settings.postgres {
        let options = private_postgres::Options { fsync: true, max_connections: 200, ..Default::default() };
        let server = Server::own(options).context("no PostgreSQL is installed")?;
        on_postgres(&settings, server.database().url())?
    } else {
        let temporary = tempfile::tempdir()?;
        on_sqlite(&settings, settings.folder.as_deref().unwrap_or(temporary.path()))?
    };
    #[expect(clippy::print_stdout, reason = "the result goes where it can be redirected")]
    if settings.json {
        println!("{}", serde_json::to_string_pretty(&report)?);
    } else {
        println!("{}", report.text(settings.rounds, settings.time, settings.layout));
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
    let mut report = Report::new("SQLite", filled_in);
    if settings.wants("size") {
        report.rows.extend(size::of_sqlite(&path)?);
    }
    let bare = bare_sqlite::Sqlite::open(&path)?;
    measure(settings, &mut report, &database, &token, &bare)?;
    if settings.wants("durable create") {
        for n_clients in CLIENTS {
            let grouped = bare.create_grouped(n_clients, settings.time, settings.layout)?;
            report.notes.push(format!(
                "bare creates with one commit for {n_clients}: {:.0} a second",
                grouped.per_second
            ));
        }
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
    let mut report = on_filled_postgres(settings, url, &token)?;
    report.filled_in_s = filled_in.as_secs_f64();
    Ok(report)
}

fn on_filled_postgres(settings: &Settings, url: &str, token: &str) -> anyhow::Result<Report> {
    let mut report = Report::new("PostgreSQL", Duration::ZERO);
    if settings.wants("size") {
        report.rows.extend(size::of_postgres(url)?);
    }
    measure(settings, &mut report, url, token, &bare_postgres::Postgres::open(url)?)?;
    Ok(report)
}

fn fill(database: &str, settings: &Settings) -> anyhow::Result<(String, Duration)> {
    let started = Instant::now();
    let Layout { n_projects, n_requirements } = settings.layout;
    eprintln!("filling {n_projects} projects with {n_requirements} requirements each");
    Ok((fill::fill(database, settings.layout)?, started.elapsed()))
}

/// Everything that is measured through the server: first what reads, then what writes more and more.
fn measure(
    settings: &Settings,
    report: &mut Report,
    database: &str,
    token: &str,
    bare: &dyn Side,
) -> anyhow::Result<()> {
    let (time, layout) = (settings.time, settings.layout);
    let mut cold_starts = Vec::new();
    for _ in 0..5 {
        cold_starts.push(Ours::start(&settings.program, database, token)?.cold_start);
    }
    cold_starts.sort();
    report.cold_start_ms = cold_starts[cold_starts.len() / 2].as_secs_f64() * 1000.0;
    let ours = Ours::start(&settings.program, database, token)?;
    if settings.wants("rows") {
        eprintln!("requests one by one");
        report.rows.splice(0..0, rows::measure(&ours, layout)?);
    }
    report.searches = search(settings, &ours)?;
    let reads: [(&'static str, Work); 2] = [
        ("read by id", |side, n_clients, time, layout| side.read(n_clients, time, layout)),
        ("list of a story, 50", |side, n_clients, time, layout| side.list_of_story(n_clients, time, layout)),
    ];
    report.comparisons = compare(settings, &ours, bare, &reads)?;
    if settings.wants("mixed") {
        eprintln!("mixed load");
        // Nobody measures the first time that something is read.
        mixed::measure(&ours, time, layout)?;
        report.mixed = Some(mixed::measure(&ours, time * MIXED_LONGER, layout)?);
    }
    // What the bare side writes is prepared before it is measured.
    text::terms(0);
    let creates: [(&'static str, Work); 1] =
        [("durable create", |side, n_clients, time, layout| side.create(n_clients, time, layout))];
    report.comparisons.extend(compare(settings, &ours, bare, &creates)?);
    if settings.wants("bulk") {
        eprintln!("lists of operations");
        report.rows.extend(bulk::clients(&ours, time)?);
    }
    if settings.wants("import") {
        eprintln!("an import of {} MB", settings.import_mb);
        report.rows.extend(bulk::import(&ours, settings.import_mb)?);
    }
    (report.memory_mib, report.anonymous_mib) = ours.memory_mib()?;
    Ok(())
}

/// Something that both sides can do, for a number of clients and a time.
type Work = fn(&dyn Side, usize, Duration, Layout) -> anyhow::Result<Measured>;

/// Lets both sides do each kind of work, in turn.
fn compare(
    settings: &Settings,
    ours: &Ours,
    bare: &dyn Side,
    works: &[(&'static str, Work)],
) -> anyhow::Result<Vec<Comparison>> {
    let mut comparisons = Vec::new();
    for &(name, work) in works.iter().filter(|(name, _)| settings.wants(name)) {
        for n_clients in CLIENTS {
            eprintln!("{name}, {n_clients} clients");
            let (mut of_ours, mut of_bare) = (Vec::new(), Vec::new());
            let mut server_cores = 0.0;
            for _ in 0..settings.rounds {
                let (cpu, started) = (ours.cpu()?, Instant::now());
                of_ours.push(work(ours, n_clients, settings.time, settings.layout)?);
                server_cores = (ours.cpu()? - cpu).as_secs_f64() / started.elapsed().as_secs_f64();
                of_bare.push(work(bare, n_clients, settings.time, settings.layout)?);
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
    for (name, paths) in kinds.into_iter().chain([all]) {
        if !settings.wants(&format!("search: {name}")) {
            continue;
        }
        found.push((name, ours.ask(settings.time, paths)?));
    }
    Ok(found)
}

impl Settings {
    fn read() -> anyhow::Result<Settings> {
        let beside = std::env::current_exe()?.with_file_name("spexus");
        let (mut n_requirements, mut n_projects) = (100_000, 20);
        let mut settings = Settings {
            json: false,
            rounds: 3,
            time: Duration::from_secs(2),
            layout: Layout::new(n_requirements, n_projects),
            postgres: false,
            import_mb: 40,
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
                "--requirements" => n_requirements = value()?.parse()?,
                "--projects" => n_projects = value()?.parse()?,
                "--postgres" => settings.postgres = true,
                "--import-mb" => settings.import_mb = value()?.parse()?,
                "--only" => settings.only = value()?,
                "--folder" => settings.folder = Some(value()?.into()),
                "--filled" => {
                    let url = value()?;
                    settings.filled = Some((url, std::env::var("SPEXUS_TOKEN").context("SPEXUS_TOKEN")?));
                }
                "--spexus" => settings.program = value()?.into(),
                _ => anyhow::bail!(
                    "{argument}: expected --requirements, --projects, --postgres, --rounds, --seconds, --import-mb, --only, --folder, \
                     --filled, --spexus or --json"
                ),
            }
        }
        settings.layout = Layout::new(n_requirements, n_projects);
        Ok(settings)
    }
}
