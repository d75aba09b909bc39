//! Findings as SARIF 2.1.0, which code hosts show beside the code.

use std::collections::HashMap;

use serde_json::{Value, json};

use super::Findings;
use super::rule::{Fact, Rule};

/// Writes findings.
pub fn write(found: &Findings) -> Value {
    let mut seen: HashMap<String, usize> = HashMap::new();
    let results: Vec<Value> =
        found.findings.iter().map(|finding| result(finding, found.fails(finding), &mut seen)).collect();
    let notification = |note: &String| json!({"level": "note", "message": {"text": note}});
    json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": {"driver": {
                "name": "spexus",
                "version": env!("CARGO_PKG_VERSION"),
                "rules": Rule::ALL.into_iter().map(rule).collect::<Vec<_>>(),
            }},
            "invocations": [{
                "executionSuccessful": true,
                "toolExecutionNotifications": found.notes.iter().map(notification).collect::<Vec<_>>(),
            }],
            "columnKind": "unicodeCodePoints",
            "results": results,
        }],
    })
}

fn rule(rule: Rule) -> Value {
    json!({
        "id": rule.name(),
        "shortDescription": {"text": rule.about()},
        "fullDescription": {"text": format!("{}.", rule.about())},
        "help": {"text": format!("{}.", rule.about())},
        "defaultConfiguration": {"level": level(!rule.is_information())},
    })
}

fn result(finding: &Fact, fails: bool, seen: &mut HashMap<String, usize>) -> Value {
    let text = std::iter::once(&finding.message).chain(&finding.help).cloned().collect::<Vec<_>>().join("\n");
    let index = Rule::ALL.iter().position(|rule| *rule == finding.rule);
    json!({
        "ruleId": finding.rule.name(),
        "ruleIndex": index,
        "level": level(fails),
        "message": {"text": text},
        "locations": [{
            "physicalLocation": {
                "artifactLocation": {"uri": trace::model::percent_encode(&finding.path)},
                "region": {"startLine": finding.line.max(1)},
            },
        }],
        "partialFingerprints": {"spexus/v1": fingerprint(finding, seen)},
    })
}

fn level(fails: bool) -> &'static str {
    if fails { "error" } else { "note" }
}

/// Names a finding so that it is the same when lines move or files are renamed. Of several that are alike each has its own.
fn fingerprint(finding: &Fact, seen: &mut HashMap<String, usize>) -> String {
    let hash = trace::text::fingerprint(&[finding.rule.name(), &finding.subject, &finding.key].join("\0"));
    let count = seen.entry(hash.clone()).or_default();
    *count += 1;
    format!("{hash}:{count}")
}
