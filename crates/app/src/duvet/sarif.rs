//! Problems as SARIF 2.1.0, which code hosts show beside the code.

use std::collections::{BTreeSet, HashMap};

use serde_json::{Value, json};
use trace::diagnostic::Place;
use trace::project::CONFIG_PATH;
use trace::{Code, Diagnostic};

use super::check::severity;

/// Writes problems.
pub fn write(problems: &[Diagnostic]) -> Value {
    let used: BTreeSet<Code> = problems.iter().map(|problem| problem.code).collect();
    let used: Vec<Code> = used.into_iter().collect();
    let mut seen: HashMap<String, usize> = HashMap::new();
    let results = problems.iter().map(|problem| {
        let index = used.binary_search(&problem.code).unwrap_or_default();
        result(problem, index, &mut seen)
    });
    let results: Vec<Value> = results.collect();
    json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": {"driver": {
                "name": "duvet",
                "version": env!("CARGO_PKG_VERSION"),
                "rules": used.iter().map(|code| rule(*code)).collect::<Vec<_>>(),
            }},
            "columnKind": "unicodeCodePoints",
            "results": results,
        }],
    })
}

fn rule(code: Code) -> Value {
    let text = code.explanation();
    let first = text.split_once(". ").map_or(text, |(first, _)| first);
    json!({
        "id": code.name(),
        "shortDescription": {"text": first.trim_end_matches('.')},
        "fullDescription": {"text": text},
        "help": {"text": text},
    })
}

fn result(problem: &Diagnostic, rule: usize, seen: &mut HashMap<String, usize>) -> Value {
    let text = std::iter::once(&problem.message).chain(&problem.help).cloned().collect::<Vec<_>>().join("\n");
    // Code hosts show a result at a line, and omit results without one.
    let project = Place::file(CONFIG_PATH, "");
    let place = problem.places.first().unwrap_or(&project);
    let mut result = json!({
        "ruleId": problem.code.name(),
        "ruleIndex": rule,
        "level": severity(problem),
        "message": {"text": text},
        "locations": [location(place)],
        "partialFingerprints": {"duvet/v1": fingerprint(problem, place, seen)},
    });
    let others: Vec<Value> = problem.places.iter().skip(1).map(location).collect();
    if !others.is_empty() {
        result["relatedLocations"] = json!(others);
    }
    result
}

/// An id of a problem that is stable when lines move: from its kind, its file and its words. Numbers are left out,
/// because percentages and counts change. Identical problems are numbered.
fn fingerprint(problem: &Diagnostic, place: &Place, seen: &mut HashMap<String, usize>) -> String {
    let annotation = problem.annotation.as_ref().map_or(place.excerpt.trim(), |(_, text)| text);
    let message: String = problem.message.chars().filter(|character| !character.is_ascii_digit()).collect();
    let parts = [problem.code.name(), &place.path, &message, annotation].join("\0");
    let hash = trace::text::fingerprint(&parts);
    let count = seen.entry(hash.clone()).or_default();
    *count += 1;
    format!("{hash}:{count}")
}

fn location(place: &Place) -> Value {
    let uri = trace::model::percent_encode(&place.path);
    let (line, column) = (place.line.max(1), place.column.max(1));
    let mut location = json!({
        "physicalLocation": {
            "artifactLocation": {"uri": uri},
            "region": {"startLine": line, "startColumn": column, "endColumn": column + place.width},
        },
    });
    if !place.label.is_empty() {
        location["message"] = json!({"text": place.label});
    }
    location
}
