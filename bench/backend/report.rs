//! The result as a table for people and as JSON for programs.

use std::fmt::Write;
use std::time::Duration;

use serde::Serialize;

use bench_shared::measure::Measured;

#[derive(Serialize)]
pub struct Report {
    pub store: &'static str,
    pub comparisons: Vec<Comparison>,
    pub searches: Vec<(&'static str, Measured)>,
    pub memory_mib: f64,
    pub anonymous_mib: f64,
    pub cold_start_ms: f64,
    pub filled_in_s: f64,
    pub notes: Vec<String>,
}

#[derive(Serialize)]
pub struct Comparison {
    pub name: &'static str,
    pub n_clients: usize,
    pub ours: Measured,
    pub bare: Measured,
    /// How much of one core the server used.
    pub server_cores: f64,
}

pub fn heading(rounds: usize, time: Duration, n_requirements: u64) -> String {
    let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let load = load.split(' ').next().unwrap_or_default().to_owned();
    let n_cores = std::thread::available_parallelism().map_or(1, usize::from);
    let mut text = format!(
        "medians of {rounds} rounds of {:.1} s in turn, {n_requirements} requirements, {n_cores} cores, load at the end {load}\n\
         bare: the same statements in the same transactions through the driver alone, a connection per client; creates\n\
         on SQLite: one connection behind a mutex, a commit each. share: our rate in percent of the bare one\n",
        time.as_secs_f64()
    );
    if cfg!(debug_assertions) {
        text += "NOT OPTIMIZED: build with --release for numbers that mean something\n";
    }
    text
}

impl Report {
    pub fn table(&self) -> String {
        let mut text = format!(
            "{:22}{:>8}{:>11}{:>11}{:>8}{:>11}{:>11}{:>9}{:>11}\n",
            self.store,
            "clients",
            "ours, 1/s",
            "bare, 1/s",
            "share",
            "p50, µs",
            "p99, µs",
            "server",
            "generator"
        );
        for Comparison { name, n_clients, ours, bare, server_cores } in &self.comparisons {
            let share = ours.per_second / bare.per_second * 100.0;
            let _ = writeln!(
                text,
                "{name:22}{n_clients:>8}{:>11.0}{:>11.0}{:>8}{:>11}{:>11}{:>9}{:>11}",
                ours.per_second,
                bare.per_second,
                format!("{share:.0} %"),
                ours.p50_us,
                ours.p99_us,
                format!("{server_cores:.2}"),
                format!("{:.2}", ours.own_cores),
            );
        }
        for (name, measured) in &self.searches {
            let _ = writeln!(
                text,
                "search: {name:30} {:>8.0} a second, p50 {:.2} ms, p99 {:.2} ms",
                measured.per_second,
                f64::from(measured.p50_us) / 1000.0,
                f64::from(measured.p99_us) / 1000.0
            );
        }
        let _ = writeln!(
            text,
            "memory after the load {:.0} MiB ({:.0} without pages of files); cold start {:.0} ms; filled in {:.0} s",
            self.memory_mib, self.anonymous_mib, self.cold_start_ms, self.filled_in_s
        );
        for note in &self.notes {
            let _ = writeln!(text, "{note}");
        }
        text
    }
}
