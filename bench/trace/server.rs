//! Measures our MCP server on a project: how long its tools take once it is warm, and how soon an edit shows.

use std::fmt::Write as _;
use std::fs;
use std::io::{BufRead, Write as _};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::Context;
use serde_json::{Value, json};

use crate::child::Running;
use crate::sentence::{QUALITIES, Random, THINGS};

const WARM_UP_CALLS: usize = 50;
const CALLS_MAX: usize = 5_000;
const TIME_PER_TOOL: Duration = Duration::from_secs(3);
const EDITS: usize = 20;
/// An edit that has not shown by then never will.
const EDIT_WAIT_MAX: Duration = Duration::from_secs(10);
/// Requirements to ask about; lists are read page by page until there are so many.
const REQUIREMENTS_MAX: usize = 500;
const PAGES_MAX: usize = 200;

pub struct Figures {
    /// From the start of the process to the first answer that needs the whole project.
    first_answer_ms: f64,
    peak_memory_mib: f64,
    cpu_seconds: f64,
    tools: Vec<(&'static str, Latencies)>,
    edits: Latencies,
}

struct Latencies {
    n: usize,
    p50_us: f64,
    p99_us: f64,
    max_us: f64,
}

pub fn measure(program: &Path, folder: &Path) -> anyhow::Result<Figures> {
    let mut command = Command::new(program);
    command.arg("mcp").current_dir(folder);
    let start = Instant::now();
    let mut session = Session { running: Running::start(command)?, next_id: 1 };
    let figures = session.measure(start, folder);
    session.running.finish(figures)
}

struct Session {
    running: Running,
    next_id: u64,
}

struct Requirement {
    identifier: String,
    full_path: String,
    text: String,
}

impl Session {
    fn measure(&mut self, start: Instant, folder: &Path) -> anyhow::Result<Figures> {
        self.running.initialize()?;
        self.running.initialized()?;
        let prioritized = self.list("get_prioritized_requirements")?;
        let first_answer_ms = start.elapsed().as_secs_f64() * 1e3;
        let uncited = self.list("list_uncited_requirements")?;
        anyhow::ensure!(
            uncited.len() >= EDITS,
            "expected {EDITS} uncited requirements, found {}",
            uncited.len()
        );

        let known: Vec<&str> =
            prioritized.iter().chain(&uncited).map(|requirement| requirement.identifier.as_str()).collect();
        let mut random = Random::new(5);
        let mut tools = Vec::new();
        tools.push(self.tool("get_requirement_status", || json!({"req_identifier": random.pick(&known)}))?);
        tools.push(self.tool("get_prioritized_requirements", || json!({}))?);
        tools.push(self.tool(
            "search_requirements",
            || json!({"query": format!("{} {}", random.pick(QUALITIES), random.pick(THINGS))}),
        )?);
        tools.push(self.tool("list_uncited_requirements", || json!({}))?);

        let edits = self.edits(folder, &uncited)?;
        Ok(Figures {
            first_answer_ms,
            peak_memory_mib: self.running.peak_memory_mib()?,
            cpu_seconds: self.running.cpu_seconds()?,
            tools,
            edits,
        })
    }

    fn tool(
        &mut self,
        name: &'static str,
        mut arguments: impl FnMut() -> Value,
    ) -> anyhow::Result<(&'static str, Latencies)> {
        for _ in 0..WARM_UP_CALLS {
            self.call(name, &arguments())?;
        }
        let (start, mut samples) = (Instant::now(), Vec::new());
        while samples.len() < CALLS_MAX && start.elapsed() < TIME_PER_TOOL {
            let (_, duration) = self.call(name, &arguments())?;
            samples.push(duration);
        }
        Ok((name, Latencies::of(samples)))
    }

    /// Cites one uncited requirement after the other at the end of a source file, and asks until its status changes.
    fn edits(&mut self, folder: &Path, uncited: &[Requirement]) -> anyhow::Result<Latencies> {
        let path = first_source(&folder.join("src"))?;
        let original = fs::read(&path)?;
        let durations = uncited.iter().take(EDITS).map(|requirement| self.edit(&path, requirement));
        let durations: anyhow::Result<Vec<Duration>> = durations.collect();
        fs::write(&path, original)?;
        Ok(Latencies::of(durations?))
    }

    fn edit(&mut self, path: &Path, requirement: &Requirement) -> anyhow::Result<Duration> {
        let arguments = json!({"req_identifier": requirement.identifier});
        let (before, _) = self.call("get_requirement_status", &arguments)?;
        let comment = format!("\n//= {}\n//# {}\n", target(&requirement.full_path)?, requirement.text);
        let start = Instant::now();
        fs::OpenOptions::new().append(true).open(path)?.write_all(comment.as_bytes())?;
        loop {
            let (after, _) = self.call("get_requirement_status", &arguments)?;
            let duration = start.elapsed();
            if after[0]["status"] != before[0]["status"] {
                return Ok(duration);
            }
            anyhow::ensure!(
                duration < EDIT_WAIT_MAX,
                "the status of {} is still {} after {} s; what was added to {}: {comment}",
                requirement.identifier,
                after[0],
                EDIT_WAIT_MAX.as_secs(),
                path.display()
            );
        }
    }

    /// Reads a list of requirements, page by page.
    fn list(&mut self, tool: &str) -> anyhow::Result<Vec<Requirement>> {
        let mut requirements = Vec::new();
        let mut arguments = json!({});
        for _ in 0..PAGES_MAX {
            let (blocks, _) = self.call(tool, &arguments)?;
            for row in blocks[0].as_array().with_context(|| format!("{tool}: no array in {blocks:?}"))? {
                let full_path = row["full_path"].as_str().context("a requirement has no full_path")?;
                let last = full_path.rsplit('/').next().unwrap_or_default();
                requirements.push(Requirement {
                    identifier: row["identifier"].as_str().unwrap_or(last).to_owned(),
                    full_path: full_path.to_owned(),
                    text: row["text"].as_str().unwrap_or_default().to_owned(),
                });
            }
            match blocks.get(1).map(|more| &more["nextCursor"]) {
                Some(Value::String(cursor)) if requirements.len() < REQUIREMENTS_MAX => {
                    arguments = json!({"cursor": cursor});
                }
                _ => break,
            }
        }
        requirements.truncate(REQUIREMENTS_MAX);
        Ok(requirements)
    }

    /// Calls a tool. Returns its text blocks, parsed, and how long it took to get them.
    fn call(&mut self, name: &str, arguments: &Value) -> anyhow::Result<(Vec<Value>, Duration)> {
        let id = self.next_id;
        self.next_id += 1;
        let params = json!({"name": name, "arguments": arguments});
        let request = json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params});
        let line = format!("{request}\n");
        let start = Instant::now();
        self.running.stdin.write_all(line.as_bytes())?;
        let (answer, duration) = loop {
            let mut answer = Vec::new();
            self.running.stdout.read_until(b'\n', &mut answer)?;
            let duration = start.elapsed();
            anyhow::ensure!(answer.ends_with(b"\n"), "the output ended in the middle of a conversation");
            let answer: Value = serde_json::from_slice(&answer)?;
            // Notifications may come in between: an edit changes resources.
            if answer["id"] == id {
                break (answer, duration);
            }
        };
        let result = &answer["result"];
        anyhow::ensure!(result.is_object() && result["isError"] != true, "{request}: {answer}");
        let blocks = result["content"].as_array().with_context(|| format!("no content: {answer}"))?;
        let texts = blocks.iter().filter_map(|block| block["text"].as_str());
        let values: Result<Vec<Value>, _> = texts.map(serde_json::from_str).collect();
        let values = values.with_context(|| format!("{name}: a text block is no JSON: {answer}"))?;
        anyhow::ensure!(!values.is_empty(), "{name}: an empty answer");
        Ok((values, duration))
    }
}

/// Returns what a citation of the requirement names, from its path
/// `/specifications/{spec_id}/sections/{section_id}/requirements/{req_identifier}`.
fn target(full_path: &str) -> anyhow::Result<String> {
    match full_path.trim_start_matches('/').split('/').collect::<Vec<_>>()[..] {
        ["specifications", specification, "sections", section, "requirements", _] => {
            Ok(format!("https://www.rfc-editor.org/rfc/{specification}#{section}"))
        }
        _ => anyhow::bail!("not the path of a requirement: {full_path}"),
    }
}

fn first_source(folder: &Path) -> anyhow::Result<PathBuf> {
    let paths =
        fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<anyhow::Result<Vec<PathBuf>>>()?;
    let first = paths.into_iter().min().with_context(|| format!("{} is empty", folder.display()))?;
    if first.is_dir() { first_source(&first) } else { Ok(first) }
}

impl Latencies {
    fn of(mut samples: Vec<Duration>) -> Latencies {
        samples.sort();
        let at = |share: f64| {
            let rank = (samples.len() as f64 * share).ceil() as usize;
            samples[rank.clamp(1, samples.len()) - 1].as_secs_f64() * 1e6
        };
        Latencies { n: samples.len(), p50_us: at(0.5), p99_us: at(0.99), max_us: at(1.0) }
    }

    fn json(&self) -> Value {
        json!({"n": self.n, "p50_us": self.p50_us, "p99_us": self.p99_us, "max_us": self.max_us})
    }
}

pub fn table(figures: &Figures) -> String {
    let mut text = format!(
        "start to first answer: {:.0} ms; at the end: peak memory {:.0} MiB, processor time {:.2} s\n\n\
         {:46}{:>8}{:>12}{:>12}{:>12}\n",
        figures.first_answer_ms,
        figures.peak_memory_mib,
        figures.cpu_seconds,
        "over the pipe, in microseconds",
        "calls",
        "p50",
        "p99",
        "max"
    );
    let edits = ("a citation added, until the status shows it", &figures.edits);
    let tools = figures.tools.iter().map(|(name, latencies)| (*name, latencies));
    for (name, Latencies { n, p50_us, p99_us, max_us }) in tools.chain([edits]) {
        let _ = writeln!(text, "{name:46}{n:>8}{p50_us:>12.0}{p99_us:>12.0}{max_us:>12.0}");
    }
    text
}

pub fn json(figures: &Figures) -> Value {
    let mut tools = serde_json::Map::new();
    for (name, latencies) in &figures.tools {
        tools.insert((*name).to_owned(), latencies.json());
    }
    json!({
        "first_answer_ms": figures.first_answer_ms,
        "peak_memory_mib": figures.peak_memory_mib,
        "cpu_seconds": figures.cpu_seconds,
        "tools": tools,
        "edit": figures.edits.json(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_samples() {
        let latencies = Latencies::of((1..=100).rev().map(Duration::from_micros).collect());
        assert_eq!(
            [latencies.p50_us, latencies.p99_us, latencies.max_us].map(f64::round),
            [50.0, 99.0, 100.0]
        );
        assert_eq!(Latencies::of(vec![Duration::from_micros(7)]).p50_us.round(), 7.0);
    }

    #[test]
    fn a_requirement_is_cited_where_its_path_says() {
        let path = "/specifications/rfc10001/sections/section-2.1/requirements/abc";
        assert_eq!(target(path).unwrap(), "https://www.rfc-editor.org/rfc/rfc10001#section-2.1");
        assert!(target("/specifications/rfc10001").is_err());
    }
}
