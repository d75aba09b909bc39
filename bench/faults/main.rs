//! Faults under load: the server is killed, PostgreSQL is killed or stopped, again and again, while clients write. Counted
//! are acknowledged writes that are lost, writes that happened twice, and failures that no outage explains: all must be 0.

mod check;
mod client;
mod server;

use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use private_postgres::{Options, Server as Postgres};

use crate::check::Found;
use crate::client::{Outage, Written};
use crate::server::Server;

const N_CLIENTS: usize = 8;

fn main() -> anyhow::Result<()> {
    let settings = Settings::read()?;
    let mut rows = Vec::new();
    if settings.sqlite_kills > 0 {
        let folder = tempfile::tempdir()?;
        let database = format!("sqlite:{}", folder.path().join("spexus.db").display());
        rows.push(kill_server(&settings, "SQLite, server killed", &database, settings.sqlite_kills)?);
    }
    if settings.postgres_kills + settings.postgres_restarts > 0 {
        let options = Options { fsync: true, ..Options::default() };
        let mut postgres = Postgres::own(options).context("PostgreSQL is not installed")?;
        if settings.postgres_kills > 0 {
            let database = postgres.database();
            let name = "PostgreSQL, server killed";
            rows.push(kill_server(&settings, name, database.url(), settings.postgres_kills)?);
        }
        if settings.postgres_restarts > 0 {
            let database = postgres.database();
            rows.push(restart_postgres(&settings, &mut postgres, database.url())?);
        }
    }
    print(&rows);
    if rows.iter().any(|row| row.found.lost + row.found.doubled + row.written.n_failures > 0) {
        bail!("writes were lost or doubled, or requests failed without an outage");
    }
    Ok(())
}

/// One line of the table.
struct Row {
    name: String,
    n_outages: u64,
    written: Written,
    found: Found,
    time: Duration,
}

/// Kills the server under load, and starts it again.
fn kill_server(settings: &Settings, name: &str, database: &str, n_kills: u64) -> anyhow::Result<Row> {
    under_load(settings, name, database, n_kills, |server, address, outage, _| {
        pause(50, 200);
        outage.begin();
        server.kill()?;
        *server = Server::start(&settings.spexus, database, address)?;
        outage.end();
        Ok(())
    })
}

/// Kills or stops PostgreSQL in turn, and starts it again, while the server goes on.
fn restart_postgres(settings: &Settings, postgres: &mut Postgres, database: &str) -> anyhow::Result<Row> {
    let (name, n_restarts) = ("PostgreSQL restarted", settings.postgres_restarts);
    under_load(settings, name, database, n_restarts, |_, address, outage, number| {
        pause(200, 500);
        outage.begin();
        if number % 2 == 0 {
            postgres.kill()
        } else {
            postgres.stop()
        }
        pause(0, 300);
        postgres.start();
        server::wait_until_ready(address)?;
        outage.end();
        Ok(())
    })
}

/// Lets faults happen one after the other while clients write, and checks what was written.
fn under_load(
    settings: &Settings,
    name: &str,
    database: &str,
    n_outages: u64,
    mut fault: impl FnMut(&mut Server, &str, &Outage, u64) -> anyhow::Result<()>,
) -> anyhow::Result<Row> {
    let token = server::first_start(database)?;
    let address = server::free_address()?;
    let started = Instant::now();
    let outage = Outage::default();
    let mut server = Server::start(&settings.spexus, database, &address)?;
    let written = client::load(N_CLIENTS, &address, &token, &outage, || {
        for number in 0..n_outages {
            tell(name, number, n_outages);
            fault(&mut server, &address, &outage, number)?;
        }
        pause(500, 600);
        Ok(())
    })?;
    server.stop()?;
    let found = check::check(database, &written)?;
    Ok(Row { name: name.to_owned(), n_outages, written, found, time: started.elapsed() })
}

fn tell(name: &str, number: u64, total: u64) {
    if number.is_multiple_of(50) {
        eprintln!("{name}: {number} of {total}");
    }
}

/// Sleeps for some milliseconds between two numbers, so that faults do not always meet the same moment of a write.
fn pause(from_ms: u64, to_ms: u64) {
    static STATE: AtomicU64 = AtomicU64::new(1);
    let state = STATE.fetch_add(0x9e37_79b9_7f4a_7c15, Ordering::Relaxed);
    let random = (state ^ (state >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 33;
    std::thread::sleep(Duration::from_millis(from_ms + random % (to_ms - from_ms)));
}

#[expect(clippy::print_stdout, reason = "the result goes where it can be redirected")]
fn print(rows: &[Row]) {
    println!(
        "{:28} {:>8} {:>13} {:>8} {:>6} {:>8} {:>20} {:>8}",
        "", "outages", "acknowledged", "retried", "lost", "doubled", "failed, no outage", "time, s"
    );
    for row in rows {
        println!(
            "{:28} {:>8} {:>13} {:>8} {:>6} {:>8} {:>20} {:>8.0}",
            row.name,
            row.n_outages,
            row.written.n_acknowledged,
            row.written.n_retried,
            row.found.lost,
            row.found.doubled,
            row.written.n_failures,
            row.time.as_secs_f64(),
        );
        for example in row.written.examples.iter().chain(&row.found.examples) {
            println!("  {example}");
        }
    }
}

struct Settings {
    spexus: PathBuf,
    sqlite_kills: u64,
    postgres_kills: u64,
    postgres_restarts: u64,
}

impl Settings {
    fn read() -> anyhow::Result<Settings> {
        let programs = std::env::current_exe()?.parent().context("a folder of programs")?.to_owned();
        let mut settings = Settings {
            spexus: programs.join("spexus"),
            sqlite_kills: 1_000,
            postgres_kills: 200,
            postgres_restarts: 100,
        };
        let mut arguments = std::env::args().skip(1);
        while let Some(argument) = arguments.next() {
            let value = arguments.next().with_context(|| format!("{argument}: a value is missing"))?;
            match argument.as_str() {
                "--spexus" => settings.spexus = value.into(),
                "--sqlite-kills" => settings.sqlite_kills = value.parse()?,
                "--postgres-kills" => settings.postgres_kills = value.parse()?,
                "--postgres-restarts" => settings.postgres_restarts = value.parse()?,
                _ => bail!(
                    "{argument}: expected --sqlite-kills N, --postgres-kills N, --postgres-restarts N or --spexus PATH"
                ),
            }
        }
        Ok(settings)
    }
}
