//! The result as a table for people and as JSON for programs.

use std::fmt::Write;

use serde_json::{Map, Value, json};

use crate::measure::Samples;

/// What was measured, or why nothing was.
pub type Outcome = Result<Samples, String>;

pub struct Settings {
    pub rounds: usize,
    pub requests: usize,
}

struct Metric {
    key: &'static str,
    title: &'static str,
    more_is_better: bool,
    decimals: usize,
    samples: fn(&Samples) -> &[f64],
}

const METRICS: &[Metric] = &[
    Metric {
        key: "cold_start_ms",
        title: "cold start, ms",
        more_is_better: false,
        decimals: 1,
        samples: |samples| &samples.cold_start_ms,
    },
    Metric {
        key: "sequential_per_second",
        title: "sequential, 1/s",
        more_is_better: true,
        decimals: 0,
        samples: |samples| &samples.sequential_per_second,
    },
    Metric {
        key: "pipelined_per_second",
        title: "pipelined, 1/s",
        more_is_better: true,
        decimals: 0,
        samples: |samples| &samples.pipelined_per_second,
    },
    Metric {
        key: "sequential_cpu_us",
        title: "CPU sequential, µs",
        more_is_better: false,
        decimals: 1,
        samples: |samples| &samples.sequential_cpu_us,
    },
    Metric {
        key: "pipelined_cpu_us",
        title: "CPU pipelined, µs",
        more_is_better: false,
        decimals: 1,
        samples: |samples| &samples.pipelined_cpu_us,
    },
    Metric {
        key: "peak_memory_mib",
        title: "peak memory, MiB",
        more_is_better: false,
        decimals: 1,
        samples: |samples| &samples.peak_memory_mib,
    },
];

/// The peers that the others are compared with: the best of them, for each metric by itself.
const REFERENCE: &str = "rmcp";

pub fn table(names: &[&str], outcomes: &[Outcome], settings: &Settings) -> String {
    let mut text = format!(
        "medians of {} rounds; pipelined: {} requests at once, each answered exactly once (checked)\n\
         in parentheses: how many times better than the best {REFERENCE} (above 1 is better)\n",
        settings.rounds, settings.requests
    );
    if cfg!(debug_assertions) {
        text += "NOT OPTIMIZED: build with --release for numbers that mean something\n";
    }
    let _ = write!(text, "\n{:22}{:9}", "peer", "version");
    for metric in METRICS {
        let _ = write!(text, "{:>22}", metric.title);
    }
    text += "\n";
    for (name, outcome) in names.iter().zip(outcomes) {
        let Ok(samples) = outcome else { continue };
        let _ = write!(text, "{name:22}{:9}", samples.version);
        for metric in METRICS {
            let value = median((metric.samples)(samples));
            let ratio = match ratio(metric, value, names, outcomes) {
                Some(ratio) => format!(" ({ratio:.2})"),
                None => String::new(),
            };
            let _ = write!(text, "{:>22}", format!("{value:.*}{ratio}", metric.decimals));
        }
        text += "\n";
    }
    for (name, reason) in missing(names, outcomes) {
        let _ = writeln!(text, "missing: {name}: {reason}");
    }
    text
}

pub fn json(names: &[&str], outcomes: &[Outcome], settings: &Settings) -> String {
    let mut peers = Vec::new();
    for (name, outcome) in names.iter().zip(outcomes) {
        let Ok(samples) = outcome else { continue };
        let (mut values, mut ratios) = (Map::new(), Map::new());
        for metric in METRICS {
            let value = median((metric.samples)(samples));
            values.insert(metric.key.into(), json!(value));
            ratios.insert(metric.key.into(), json!(ratio(metric, value, names, outcomes)));
        }
        peers.push(json!({
            "name": name, "version": samples.version, "values": values, "better_than_reference": ratios,
        }));
    }
    let missing: Vec<Value> =
        missing(names, outcomes).map(|(name, reason)| json!({"name": name, "reason": reason})).collect();
    let report = json!({
        "rounds": settings.rounds,
        "requests": settings.requests,
        "optimized": !cfg!(debug_assertions),
        "reference": REFERENCE,
        "peers": peers,
        "missing": missing,
    });
    format!("{report:#}\n")
}

fn missing<'a>(names: &'a [&str], outcomes: &'a [Outcome]) -> impl Iterator<Item = (&'a str, &'a str)> {
    names.iter().zip(outcomes).filter_map(|(name, outcome)| Some((*name, outcome.as_ref().err()?.as_str())))
}

/// Returns how many times better than the best reference peer a value is, if one was measured.
fn ratio(metric: &Metric, value: f64, names: &[&str], outcomes: &[Outcome]) -> Option<f64> {
    let references = names.iter().zip(outcomes).filter(|(name, _)| name.starts_with(REFERENCE));
    let values = references.filter_map(|(_, outcome)| Some(median((metric.samples)(outcome.as_ref().ok()?))));
    match metric.more_is_better {
        true => values.reduce(f64::max).map(|best| value / best),
        false => values.reduce(f64::min).map(|best| best / value),
    }
}

fn median(samples: &[f64]) -> f64 {
    let mut sorted = samples.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    match sorted.len() % 2 {
        0 => (sorted[middle - 1] + sorted[middle]) / 2.0,
        _ => sorted[middle],
    }
}
