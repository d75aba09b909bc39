//! What a run has shown.

use std::time::{Duration, Instant};

use serde::Serialize;

/// One side of a comparison.
#[derive(Clone, Debug, Serialize)]
pub struct Measured {
    pub per_second: f64,
    pub p50_us: u32,
    pub p99_us: u32,
    /// How much of one core this process used meanwhile: on our side the load generator, on the bare side all of it.
    pub own_cores: f64,
}

impl Measured {
    pub fn new(mut latencies_us: Vec<u32>, elapsed: Duration, cpu: Duration) -> Measured {
        latencies_us.sort_unstable();
        let at = |share: f64| {
            let index = (latencies_us.len() as f64 * share) as usize;
            latencies_us.get(index.min(latencies_us.len().saturating_sub(1))).copied().unwrap_or_default()
        };
        Measured {
            per_second: latencies_us.len() as f64 / elapsed.as_secs_f64(),
            p50_us: at(0.5),
            p99_us: at(0.99),
            own_cores: cpu.as_secs_f64() / elapsed.as_secs_f64(),
        }
    }

    /// The run with the median rate.
    pub fn median(mut runs: Vec<Measured>) -> Measured {
        runs.sort_by(|one, other| one.per_second.total_cmp(&other.per_second));
        runs.swap_remove(runs.len() / 2)
    }
}

/// Calls `work` from as many threads as there are clients, each with what `open` gives it, for some time.
pub fn drive<C>(
    n_clients: usize,
    time: Duration,
    open: impl Fn() -> anyhow::Result<C> + Sync,
    work: impl Fn(&mut C, u64) -> anyhow::Result<()> + Sync,
) -> anyhow::Result<Measured> {
    let barrier = std::sync::Barrier::new(n_clients);
    let (latencies_us, elapsed) = std::thread::scope(|scope| {
        let clients: Vec<_> = (0..n_clients)
            .map(|client| {
                let (open, work, barrier) = (&open, &work, &barrier);
                scope.spawn(move || {
                    let opened = open();
                    barrier.wait();
                    let mut connection = opened?;
                    let mut latencies_us = Vec::new();
                    let mut number = client as u64;
                    let started = Instant::now();
                    while started.elapsed() < time {
                        let begun = Instant::now();
                        work(&mut connection, number)?;
                        latencies_us.push(begun.elapsed().as_micros() as u32);
                        number += n_clients as u64;
                    }
                    anyhow::Ok((started, Instant::now(), latencies_us))
                })
            })
            .collect();
        let mut all = Vec::new();
        let mut span: Option<(Instant, Instant)> = None;
        for client in clients {
            let (started, ended, latencies_us) = client.join().expect("no client panics")?;
            all.extend(latencies_us);
            span = Some(span.map_or((started, ended), |(first, last)| (first.min(started), last.max(ended))));
        }
        anyhow::Ok((all, span.map_or(time, |(first, last)| last - first)))
    })?;
    // With more threads than cores some begin late and end late: what counts is from the first to the last.
    Ok(Measured::new(latencies_us, elapsed, Duration::ZERO))
}
