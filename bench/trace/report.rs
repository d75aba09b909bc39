//! What the reports of two programs say, whether they say the same, and the table.

use std::collections::HashSet;
use std::fmt::Write;
use std::fs;
use std::path::Path;

use anyhow::Context;
use serde_json::{Value, json};

use crate::project::Project;
use crate::run::Usage;

/// What was measured, or why nothing was.
pub type Outcome = Result<Usage, String>;

pub struct Row {
    pub name: String,
    pub outcome: Outcome,
    /// For those that write a report: whether it is the peer's.
    pub sameness: Option<Result<Sameness, String>>,
}

pub enum Sameness {
    Bytes,
    Json,
}

/// What was measured on a project. The first row is the peer's.
pub struct Measured {
    pub n_runs: usize,
    pub facts: Facts,
    pub rows: Vec<Row>,
}

/// What the peer sees in a project, so that nobody has to believe the generator.
pub struct Facts {
    n_requirements: usize,
    n_cited: usize,
    n_annotations: usize,
    n_idle: usize,
}

impl Facts {
    pub fn of(report: &Path) -> anyhow::Result<Facts> {
        let report: Value = read(&fs::read(report)?)?;
        let statuses = report["statuses"].as_object().context("no statuses")?;
        let related = |status: &Value| status["related"].as_array().cloned().unwrap_or_default();
        let n_cited = statuses.values().filter(|status| !related(status).is_empty()).count();
        let useful: HashSet<u64> =
            statuses.values().flat_map(related).filter_map(|annotation| annotation.as_u64()).collect();
        let annotations = report["annotations"].as_array().context("no annotations")?;
        let n_annotations = annotations.iter().filter(|annotation| annotation["type"] != "SPEC").count();
        Ok(Facts {
            n_requirements: annotations.len() - n_annotations,
            n_cited,
            n_annotations,
            n_idle: n_annotations - useful.len(),
        })
    }
}

/// Compares two reports, and tells where they differ first.
pub fn compare(peer: &Path, ours: &Path) -> Result<Sameness, String> {
    let text = |path: &Path| fs::read(path).map_err(|error| format!("{}: {error}", path.display()));
    let (peer, ours) = (text(peer)?, text(ours)?);
    if peer == ours {
        return Ok(Sameness::Bytes);
    }
    let (peer, ours) = (read(&peer), read(&ours));
    let (peer, ours) = (peer.map_err(|error| error.to_string())?, ours.map_err(|error| error.to_string())?);
    match difference(&peer, &ours, String::new()) {
        Some(difference) => Err(difference),
        None => Ok(Sameness::Json),
    }
}

fn difference(peer: &Value, ours: &Value, path: String) -> Option<String> {
    match (peer, ours) {
        (Value::Object(peer), Value::Object(ours)) => {
            let missing = peer.keys().find(|key| !ours.contains_key(*key));
            let added = ours.keys().find(|key| !peer.contains_key(*key));
            match (missing, added) {
                (Some(key), _) => Some(format!("{path}/{key} is missing")),
                (_, Some(key)) => Some(format!("{path}/{key} is there, and not in the peer's")),
                _ => peer
                    .iter()
                    .find_map(|(key, value)| difference(value, &ours[key], format!("{path}/{key}"))),
            }
        }
        (Value::Array(peer), Value::Array(ours)) if peer.len() == ours.len() => {
            let mut pairs = peer.iter().zip(ours).enumerate();
            pairs.find_map(|(index, (peer, ours))| difference(peer, ours, format!("{path}/{index}")))
        }
        _ if peer == ours => None,
        _ => Some(format!("{path}: expected {}, found {}", start(peer), start(ours))),
    }
}

fn start(value: &Value) -> String {
    const CHARS_MAX: usize = 200;
    value.to_string().chars().take(CHARS_MAX).collect()
}

fn read(report: &[u8]) -> anyhow::Result<Value> {
    serde_json::from_slice(report).context("the report is no JSON")
}

struct Metric {
    title: &'static str,
    value: fn(&Usage) -> f64,
}

const METRICS: &[Metric] = &[
    Metric { title: "CPU, ms", value: |usage| usage.cpu_ms },
    Metric { title: "wall, ms", value: |usage| usage.wall_ms },
    Metric { title: "peak memory, MiB", value: |usage| usage.peak_memory_mib },
];

pub fn heading(peer: &Path) -> String {
    let mut text = format!(
        "in parentheses: how many times less than the peer (above 1 is better)\n\
         the peer: {}\n",
        peer.display()
    );
    if cfg!(debug_assertions) {
        text += "NOT OPTIMIZED: the scan means nothing without --release\n";
    }
    text
}

pub fn table(project: &Project, measured: &Measured) -> String {
    let Measured { n_runs, facts, rows } = measured;
    let mut text = format!(
        "\n{}: {} specifications, {} sources, {:.1} MB\n\
         the peer finds {} requirements ({} of them cited) and {} annotations ({:.0} % cover no requirement)\n\n{:36}",
        project.name,
        project.n_specifications,
        project.n_sources,
        project.megabytes(),
        facts.n_requirements,
        facts.n_cited,
        facts.n_annotations,
        facts.n_idle as f64 * 100.0 / facts.n_annotations as f64,
        format!("best of {n_runs} runs"),
    );
    for Metric { title, .. } in METRICS {
        let _ = write!(text, "{title:>20}");
    }
    text += "   report\n";
    let peer = rows[0].outcome.as_ref().ok();
    for row in rows {
        let Ok(usage) = &row.outcome else { continue };
        let _ = write!(text, "{:36}", row.name);
        for Metric { value, .. } in METRICS {
            let ratio = peer.map(|peer| format!(" ({:.2})", value(peer) / value(usage))).unwrap_or_default();
            let _ = write!(text, "{:>20}", format!("{:.1}{ratio}", value(usage)));
        }
        let _ = match &row.sameness {
            Some(Ok(Sameness::Bytes)) => writeln!(text, "   equal to the peer's, byte for byte"),
            Some(Ok(Sameness::Json)) => writeln!(text, "   equal to the peer's as JSON"),
            Some(Err(difference)) => writeln!(text, "   DIFFERENT: {difference}"),
            None => writeln!(text),
        };
    }
    for row in rows {
        if let Err(reason) = &row.outcome {
            let _ = writeln!(text, "missing: {}: {reason}", row.name);
        }
    }
    text
}

pub fn json(project: &Project, measured: &Measured) -> Value {
    let Measured { n_runs, facts, rows } = measured;
    let rows: Vec<Value> = rows
        .iter()
        .map(|row| match &row.outcome {
            Ok(usage) => json!({
                "name": row.name,
                "values": usage,
                "report": row.sameness.as_ref().map(|sameness| match sameness {
                    Ok(Sameness::Bytes) => "equal bytes",
                    Ok(Sameness::Json) => "equal JSON",
                    Err(difference) => difference,
                }),
            }),
            Err(reason) => json!({"name": row.name, "missing": reason}),
        })
        .collect();
    json!({
        "project": project.name,
        "runs": n_runs,
        "specifications": project.n_specifications,
        "sources": project.n_sources,
        "megabytes": project.megabytes(),
        "requirements": facts.n_requirements,
        "requirements_cited": facts.n_cited,
        "annotations": facts.n_annotations,
        "annotations_without_requirement": facts.n_idle,
        "programs": rows,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reports_differ_where_they_say_so() {
        let outcome =
            |ours: Value| difference(&json!({"a": [1, {"b": "x"}], "c": null}), &ours, String::new());
        assert_eq!(outcome(json!({"c": null, "a": [1, {"b": "x"}]})), None);
        assert_eq!(outcome(json!({"a": [1, {"b": "x"}]})), Some("/c is missing".into()));
        assert_eq!(
            outcome(json!({"a": [1, {"b": "y"}], "c": null})),
            Some("/a/1/b: expected \"x\", found \"y\"".into())
        );
        assert_eq!(
            outcome(json!({"a": [1], "c": null})),
            Some("/a: expected [1,{\"b\":\"x\"}], found [1]".into())
        );
    }
}
