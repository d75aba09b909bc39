//! The result as a table for people and as JSON for programs.

use std::fmt::Write;
use std::time::Duration;

use serde::Serialize;

use crate::mixed::Mixed;
use crate::rows::Row;
use bench_shared::fill::Layout;
use bench_shared::measure::Measured;

/// All that was measured on a store.
#[derive(Serialize)]
pub struct Report {
    pub store: &'static str,
    pub mixed: Option<Mixed>,
    pub rows: Vec<Row>,
    pub searches: Vec<(&'static str, Measured)>,
    pub comparisons: Vec<Comparison>,
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

impl Report {
    pub fn new(store: &'static str, filled_in: Duration) -> Report {
        Report {
            store,
            mixed: None,
            rows: Vec::new(),
            searches: Vec::new(),
            comparisons: Vec::new(),
            memory_mib: 0.0,
            anonymous_mib: 0.0,
            cold_start_ms: 0.0,
            filled_in_s: filled_in.as_secs_f64(),
            notes: Vec::new(),
        }
    }

    pub fn text(&self, rounds: usize, time: Duration, layout: Layout) -> String {
        let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
        let load = load.split(' ').next().unwrap_or_default().to_owned();
        let n_cores = std::thread::available_parallelism().map_or(1, usize::from);
        let Layout { n_projects, n_requirements } = layout;
        let mut text = format!(
            "{}: {} requirements in {n_projects} projects of {n_requirements}, {n_cores} cores, load at the end {load}\n",
            self.store,
            n_projects * n_requirements
        );
        if cfg!(debug_assertions) {
            text += "NOT OPTIMIZED: build with --release for numbers that mean something\n";
        }
        self.write_mixed(&mut text);
        if !self.rows.is_empty() {
            let _ = writeln!(text, "\n{:72} {:52} aim", "medians, one client", "measured");
        }
        for Row { what, measured, aim } in &self.rows {
            let _ = writeln!(text, "{what:72} {measured:52} {aim}");
        }
        self.write_searches(&mut text);
        if !self.comparisons.is_empty() {
            let _ = writeln!(
                text,
                "\nmedians of {rounds} rounds of {:.1} s in turn, in one project. bare: the same statements in the same transactions through\n\
                 the driver alone, a connection per client; creates on SQLite: one connection behind a mutex, a commit each. share:\n\
                 our rate in percent of the bare one",
                time.as_secs_f64()
            );
            self.write_comparisons(&mut text);
        }
        let _ = writeln!(
            text,
            "\nmemory after the load {:.0} MiB ({:.0} without pages of files); cold start {:.0} ms; filled in {:.0} s",
            self.memory_mib, self.anonymous_mib, self.cold_start_ms, self.filled_in_s
        );
        for note in &self.notes {
            let _ = writeln!(text, "{note}");
        }
        text
    }

    fn write_mixed(&self, text: &mut String) {
        let Some(Mixed { n_clients, all, kinds, server_cores }) = &self.mixed else { return };
        let _ = writeln!(
            text,
            "\nmixed load, 90 % reads and 10 % writes, {n_clients} clients: {:.0} requests/s, p50 {:.1} ms, p99 {:.1} ms (the server took \
             {server_cores:.2} cores)",
            all.per_second,
            f64::from(all.p50_us) / 1000.0,
            f64::from(all.p99_us) / 1000.0
        );
        for (label, measured) in kinds {
            let _ = writeln!(
                text,
                "  {label:20} {:>8.0} a second, p50 {:>7.1} ms, p99 {:>7.1} ms",
                measured.per_second,
                f64::from(measured.p50_us) / 1000.0,
                f64::from(measured.p99_us) / 1000.0
            );
        }
    }

    fn write_searches(&self, text: &mut String) {
        for (name, measured) in &self.searches {
            let _ = writeln!(
                text,
                "search: {name:30} {:>8.0} a second, p50 {:.2} ms, p99 {:.2} ms",
                measured.per_second,
                f64::from(measured.p50_us) / 1000.0,
                f64::from(measured.p99_us) / 1000.0
            );
        }
    }

    fn write_comparisons(&self, text: &mut String) {
        let _ = writeln!(
            text,
            "{:22}{:>8}{:>11}{:>11}{:>8}{:>11}{:>11}{:>9}{:>11}",
            "", "clients", "ours, 1/s", "bare, 1/s", "share", "p50, µs", "p99, µs", "server", "generator"
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
    }
}
