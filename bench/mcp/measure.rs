//! What is measured of a peer in one round, and the check that it really answered.

use std::io::{Read, Write};
use std::ops::Range;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Context;
use serde_json::{Value, json};

use crate::Peer;
use crate::child::Running;

/// With five rounds, twenty cold starts.
const STARTS_PER_ROUND: usize = 4;
const SEQUENTIAL_TIME: Duration = Duration::from_millis(500);
const SEQUENTIAL_REQUESTS_MAX: usize = 50_000;
/// Fast peers repeat the pipelined run until so much time has passed: their processor time is counted in hundredths of
/// a second, and one run of them takes only a few.
const PIPELINED_TIME: Duration = Duration::from_millis(300);
const PIPELINED_RUNS_MAX: usize = 20;
const WARM_UP_REQUESTS: usize = 200;

/// Everything measured of one peer, over all rounds.
#[derive(Default)]
pub struct Samples {
    pub version: String,
    pub cold_start_ms: Vec<f64>,
    pub sequential_per_second: Vec<f64>,
    pub pipelined_per_second: Vec<f64>,
    pub sequential_cpu_us: Vec<f64>,
    pub pipelined_cpu_us: Vec<f64>,
    pub peak_memory_mib: Vec<f64>,
}

pub fn round(peer: &Peer, n_requests: usize, samples: &mut Samples) -> anyhow::Result<()> {
    for _ in 0..STARTS_PER_ROUND {
        let start = Instant::now();
        let mut running = Running::start(peer.command())?;
        let version = running.initialize();
        samples.cold_start_ms.push(start.elapsed().as_secs_f64() * 1e3);
        samples.version = running.finish(version)?;
    }
    let mut running = Running::start(peer.command())?;
    let load = load(&mut running, n_requests, samples);
    running.finish(load)
}

fn load(running: &mut Running, n_requests: usize, samples: &mut Samples) -> anyhow::Result<()> {
    running.initialize()?;
    running.initialized()?;
    let mut next_id = 1;
    let mut take = |n: usize| {
        let first = next_id;
        next_id += n;
        first..next_id
    };

    one_by_one(running, take(WARM_UP_REQUESTS), Duration::MAX)?;

    let cpu = running.cpu_seconds()?;
    let (n, seconds) = one_by_one(running, take(SEQUENTIAL_REQUESTS_MAX), SEQUENTIAL_TIME)?;
    samples.sequential_per_second.push(n as f64 / seconds);
    samples.sequential_cpu_us.push((running.cpu_seconds()? - cpu) * 1e6 / n as f64);

    let (cpu, start, mut n_runs) = (running.cpu_seconds()?, Instant::now(), 0);
    while n_runs < PIPELINED_RUNS_MAX && (n_runs == 0 || start.elapsed() < PIPELINED_TIME) {
        let seconds = all_at_once(running, take(n_requests))?;
        samples.pipelined_per_second.push(n_requests as f64 / seconds);
        n_runs += 1;
    }
    let n = (n_runs * n_requests) as f64;
    samples.pipelined_cpu_us.push((running.cpu_seconds()? - cpu) * 1e6 / n);
    samples.peak_memory_mib.push(running.peak_memory_mib()?);
    Ok(())
}

/// Sends each request after the answer to the one before; returns how many fitted into the time, and that time.
fn one_by_one(running: &mut Running, ids: Range<usize>, time: Duration) -> anyhow::Result<(usize, f64)> {
    // Written before and read after the clock runs: only the peer's work should be timed.
    let requests: Vec<String> = ids.clone().map(request).collect();
    let mut answers = Vec::with_capacity(requests.len());
    let start = Instant::now();
    for request in &requests {
        answers.push(running.ask(request.as_bytes())?);
        if start.elapsed() >= time {
            break;
        }
    }
    let seconds = start.elapsed().as_secs_f64();
    for (id, answer) in ids.zip(&answers) {
        anyhow::ensure!(answered(answer)? == id, "request {id} was answered by {:?}", text(answer));
    }
    Ok((answers.len(), seconds))
}

/// Sends all requests without waiting while another thread reads; returns the seconds until the last answer came.
fn all_at_once(running: &mut Running, ids: Range<usize>) -> anyhow::Result<f64> {
    let requests: String = ids.clone().map(request).collect();
    let mut answers = Vec::with_capacity(requests.len() * 2);
    let Running { stdin, stdout, .. } = running;
    let start = Instant::now();
    thread::scope(|scope| {
        let writer = scope.spawn(|| stdin.write_all(requests.as_bytes()));
        let mut n_lines = 0;
        let mut chunk = [0; 1 << 16];
        while n_lines < ids.len() {
            let length = stdout.read(&mut chunk)?;
            anyhow::ensure!(length > 0, "the output ended after {n_lines} of {} answers", ids.len());
            n_lines += chunk[..length].iter().filter(|byte| **byte == b'\n').count();
            answers.extend_from_slice(&chunk[..length]);
        }
        writer.join().expect("writing does not panic").context("the input was closed")
    })?;
    let seconds = start.elapsed().as_secs_f64();
    check(&answers, &ids)?;
    // Had something been answered twice after the last missing answer, it would come before this one.
    let last = running.ask(b"{\"jsonrpc\":\"2.0\",\"id\":\"last\",\"method\":\"ping\"}\n")?;
    let last: Value = serde_json::from_slice(&last)?;
    anyhow::ensure!(last["id"] == "last", "an answer too many: {last}");
    Ok(seconds)
}

/// Checks that every request has exactly one answer, and the right one.
fn check(answers: &[u8], ids: &Range<usize>) -> anyhow::Result<()> {
    let mut seen = vec![false; ids.len()];
    let lines = answers.strip_suffix(b"\n").context("half an answer too many")?;
    for line in lines.split(|byte| *byte == b'\n') {
        let id = answered(line)?;
        anyhow::ensure!(ids.contains(&id), "request {id} was not among those sent");
        anyhow::ensure!(!std::mem::replace(&mut seen[id - ids.start], true), "request {id} has two answers");
    }
    match seen.iter().position(|seen| !seen) {
        Some(index) => anyhow::bail!("request {} was not answered", ids.start + index),
        None => Ok(()),
    }
}

/// The text is the id, so that an answer to another request cannot pass for this one's.
fn request(id: usize) -> String {
    let request = json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {
        "name": "echo",
        "arguments": {"text": format!("message {id}")},
    }});
    format!("{request}\n")
}

fn answered(line: &[u8]) -> anyhow::Result<usize> {
    let answer: Value = serde_json::from_slice(line).with_context(|| format!("no JSON: {:?}", text(line)))?;
    let id = answer["id"].as_u64().with_context(|| format!("no answer: {answer}"))? as usize;
    let echo = &answer["result"]["content"][0]["text"];
    anyhow::ensure!(*echo == format!("message {id}"), "expected an echo of \"message {id}\", found {answer}");
    Ok(id)
}

fn text(line: &[u8]) -> String {
    String::from_utf8_lossy(line).chars().take(200).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_request_must_be_answered_exactly_once_and_rightly() {
        let answer = |id: usize, text: usize| {
            format!("{{\"id\":{id},\"result\":{{\"content\":[{{\"text\":\"message {text}\"}}]}}}}\n")
        };
        let outcome = |answers: &[(usize, usize)]| {
            let lines: String = answers.iter().map(|(id, text)| answer(*id, *text)).collect();
            check(lines.as_bytes(), &(5..8)).map_err(|error| error.to_string())
        };
        assert_eq!(outcome(&[(7, 7), (5, 5), (6, 6)]), Ok(()));
        assert_eq!(outcome(&[(7, 7), (5, 5)]), Err("request 6 was not answered".into()));
        assert_eq!(outcome(&[(5, 5), (6, 6), (5, 5)]), Err("request 5 has two answers".into()));
        assert_eq!(outcome(&[(8, 8)]), Err("request 8 was not among those sent".into()));
        assert!(outcome(&[(5, 6)]).unwrap_err().starts_with("expected an echo of \"message 5\", found"));
    }
}
