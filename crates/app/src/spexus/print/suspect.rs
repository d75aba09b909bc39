//! Links that have become suspect: what the source says, and what changed in the target since.

use serde_json::{Map, Value};

use super::change;
use super::look::{FAINT, HEADING, Look, WARNING, minute};
use super::table::cell;

/// Whether an answer is a list of such links, with what changed.
pub fn is_list(object: &Map<String, Value>) -> bool {
    rows(object).first().is_some_and(|row| row["suspect_since"].is_string() && row["changes"].is_object())
}

/// The lines of the list.
pub fn lines(look: Look, object: &Map<String, Value>) -> Vec<String> {
    let mut lines = Vec::new();
    for row in rows(object) {
        let text = |name: &str| row[name].as_str().unwrap_or_default();
        let link = format!("{} {} {}", text("source"), text("type"), text("target"));
        lines.push(format!(
            "{}  {} since {}",
            look.styled(HEADING, &link),
            look.styled(WARNING, "suspect"),
            minute(text("suspect_since"))
        ));
        lines.push(format!("  {}  {}", text("source"), cell(row["source_says"].get("title"))));
        lines.push(format!("  {}  {}", text("target"), cell(row["target_says"].get("title"))));
        for (name, pair) in row["changes"].as_object().into_iter().flatten() {
            let name_shown = look.styled(FAINT, name);
            lines.push(format!("    {name_shown}  {}", change::of_field(look, name, pair)));
        }
        lines.push(format!("  still right? spexus suspect-link clear {}", text("id")));
    }
    let (total, shown) = (object.get("total_count").and_then(Value::as_u64), rows(object).len() as u64);
    if total.is_some_and(|total| total > shown) {
        lines.push(format!("{shown} of {}; --limit and --offset show others", total.unwrap_or_default()));
    }
    lines
}

fn rows(object: &Map<String, Value>) -> &[Value] {
    object.get("data").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}
