//! Findings for programs.

use serde_json::{Value, json};

use super::Findings;

/// Writes findings.
pub fn write(found: &Findings) -> Value {
    let findings = found.findings.iter().map(|finding| {
        json!({
            "rule": finding.rule.name(),
            "fails": found.fails(finding),
            "file": finding.path,
            "line": (finding.line > 0).then_some(finding.line),
            "subject": finding.subject,
            "message": finding.message,
            "help": finding.help,
        })
    });
    json!({
        "passes": found.n_failing() == 0,
        "base": {"name": found.base, "commit": found.base_commit},
        "head": found.head,
        "n_files": found.n_files,
        "findings": findings.collect::<Vec<Value>>(),
        "notes": found.notes,
    })
}
