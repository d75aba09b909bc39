//! Problems as SARIF 2.1.0, which code hosts show beside the code.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use trace::Diagnostic;
use trace::diagnostic::Place;

use super::check::severity;

/// Writes problems.
pub fn write(problems: &[Diagnostic]) -> Value {
    let rules: BTreeSet<&str> = problems.iter().map(|problem| problem.code.name()).collect();
    let rules: Vec<Value> = rules.into_iter().map(|id| json!({"id": id})).collect();
    json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": {"driver": {"name": "duvet", "version": env!("CARGO_PKG_VERSION"), "rules": rules}},
            "columnKind": "unicodeCodePoints",
            "results": problems.iter().map(result).collect::<Vec<_>>(),
        }],
    })
}

fn result(problem: &Diagnostic) -> Value {
    let text = std::iter::once(&problem.message).chain(&problem.help).cloned().collect::<Vec<_>>().join("\n");
    let mut places = problem.places.iter();
    let mut result = json!({
        "ruleId": problem.code.name(),
        "level": severity(problem),
        "message": {"text": text},
        "locations": places.next().map(location).into_iter().collect::<Vec<_>>(),
    });
    let others: Vec<Value> = places.map(location).collect();
    if !others.is_empty() {
        result["relatedLocations"] = json!(others);
    }
    result
}

fn location(place: &Place) -> Value {
    let uri = trace::model::percent_encode(&place.path);
    let mut location = json!({"artifactLocation": {"uri": uri}});
    if place.line > 0 {
        let column = place.column.max(1);
        location["region"] =
            json!({"startLine": place.line, "startColumn": column, "endColumn": column + place.width});
    }
    json!({"physicalLocation": location, "message": {"text": place.label}})
}
