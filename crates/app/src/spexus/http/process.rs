//! The figures of this process that Prometheus knows for every program, as Linux tells them.

use std::fs;
use std::sync::atomic::AtomicU64;

use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

/// Linux counts the times of processes in hundredths of a second, whatever the kernel's own clock.
const TICKS_PER_S: f64 = 100.0;
const PAGE: i64 = 4096;

/// What is known of the process now.
#[derive(Debug, Default, PartialEq)]
pub struct Figures {
    cpu_s: f64,
    start_s: f64,
    virtual_bytes: i64,
    /// The memory that it uses.
    pub resident_bytes: i64,
    n_open_files: i64,
    n_files_max: i64,
}

impl Figures {
    /// Reads them; none where there is no `/proc`.
    pub fn read() -> Option<Figures> {
        let stat = fs::read_to_string("/proc/self/stat").ok()?;
        let system = fs::read_to_string("/proc/stat").unwrap_or_default();
        let limits = fs::read_to_string("/proc/self/limits").unwrap_or_default();
        let n_open_files = fs::read_dir("/proc/self/fd").map_or(0, Iterator::count) as i64;
        Some(Figures { n_open_files, ..Figures::parse(&stat, &system, &limits)? })
    }

    fn parse(stat: &str, system: &str, limits: &str) -> Option<Figures> {
        // The name of the program, in parentheses, may hold anything.
        let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
        // The manual numbers fields from 1, and the first here is the third.
        let field = |number: usize| fields.get(number - 3)?.parse::<i64>().ok();
        let ticks = |number| Some(field(number)? as f64 / TICKS_PER_S);
        let boot_s = system.lines().find_map(|line| line.strip_prefix("btime ")?.parse::<f64>().ok());
        let max = limits.lines().find_map(|line| line.strip_prefix("Max open files"));
        Some(Figures {
            cpu_s: ticks(14)? + ticks(15)?,
            start_s: boot_s.unwrap_or_default() + ticks(22)?,
            virtual_bytes: field(23)?,
            resident_bytes: field(24)? * PAGE,
            n_open_files: 0,
            n_files_max: max.and_then(|max| max.split_whitespace().next()?.parse().ok()).unwrap_or_default(),
        })
    }

    /// The figures under their usual names.
    pub fn registry(&self) -> Registry {
        let mut registry = Registry::default();
        let whole = |value: i64| {
            let gauge = Gauge::<i64>::default();
            gauge.set(value);
            gauge
        };
        let start = Gauge::<f64, AtomicU64>::default();
        start.set(self.start_s);
        registry.register(
            "process_cpu_seconds",
            "Total user and system CPU time spent in seconds",
            ConstCounter::new(self.cpu_s),
        );
        registry.register(
            "process_resident_memory_bytes",
            "Resident memory size in bytes",
            whole(self.resident_bytes),
        );
        registry.register(
            "process_virtual_memory_bytes",
            "Virtual memory size in bytes",
            whole(self.virtual_bytes),
        );
        registry.register("process_open_fds", "Number of open file descriptors", whole(self.n_open_files));
        let help = "Maximum number of open file descriptors";
        registry.register("process_max_fds", help, whole(self.n_files_max));
        let help = "Start time of the process since unix epoch in seconds";
        registry.register("process_start_time_seconds", help, start);
        registry
    }
}

#[cfg(test)]
mod tests {
    use super::Figures;

    #[test]
    fn a_name_with_parentheses_is_passed_over() {
        let stat = "7 (a) b) S 1 7 7 0 -1 4194304 100 0 0 0 150 50 0 0 20 0 4 0 1000 4096000 25 18446744073709551615";
        let figures = Figures::parse(
            stat,
            "cpu 1\nbtime 1700000000\n",
            "Max open files            256   4096   files\n",
        );
        let expected = Figures {
            cpu_s: 2.0,
            start_s: 1_700_000_010.0,
            virtual_bytes: 4_096_000,
            resident_bytes: 25 * 4096,
            n_open_files: 0,
            n_files_max: 256,
        };
        assert_eq!(figures, Some(expected));
    }
}
