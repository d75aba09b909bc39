//! One item as a page: its text, where it belongs, what is below it, links, comments, code and tests.

use serde_json::Value;
use store::model::Kind;

use super::change;
use super::look::{FAINT, HEADING, Look, WARNING, harmless, minute};
use super::table::cell;
use super::thread;

/// What the page shows.
#[derive(Default)]
pub struct ItemAnswers {
    /// The item itself.
    pub entity: Value,
    /// The way down to it.
    pub path: Value,
    /// What is directly below, by the name of its kind, with how much there is in all.
    pub below: Vec<(Kind, Value)>,
    /// Its relationships.
    pub relationships: Value,
    /// The items at their other ends.
    pub related: Vec<Value>,
    /// What people say of it.
    pub comments: Value,
    /// What code and tests show of it.
    pub thread: Value,
}

/// The page.
pub fn page(look: Look, answers: &ItemAnswers) -> String {
    let mut lines = head(look, answers);
    let entity = &answers.entity;
    for (name, heading) in [("description", None), ("rationale", Some("Why"))] {
        let Some(text) = entity[name].as_str().filter(|text| !text.trim().is_empty()) else { continue };
        // A criterion has no title, so its text is the heading.
        lines.push(String::new());
        lines.extend(heading.map(|heading| look.styled(HEADING, heading)));
        lines.extend(text.lines().map(harmless));
    }
    for (kind, page) in &answers.below {
        below(look, &mut lines, *kind, page);
    }
    links(look, &mut lines, answers);
    comments(look, &mut lines, &answers.comments);
    traces(look, &mut lines, answers);
    lines.iter().map(|line| format!("{}\n", line.trim_end())).collect()
}

fn head(look: Look, ItemAnswers { entity, path, .. }: &ItemAnswers) -> Vec<String> {
    let text = |name: &str| entity[name].as_str().unwrap_or_default();
    let title = look.styled(HEADING, &format!("{}  {}", text("reference_id"), text("title")));
    let mut lines = vec![title.trim_end().to_owned()];
    let priority = entity["priority"].as_i64().map(change::priority).unwrap_or_default();
    let who =
        if text("assignee").is_empty() { String::new() } else { format!("assigned to {}", text("assignee")) };
    let changed = format!("version {}, changed {}", entity["version"], minute(text("updated_at")));
    let facts = [text("status").to_owned(), priority, text("type").to_owned(), who, changed];
    let facts: Vec<String> = facts.into_iter().filter(|fact| !fact.is_empty()).collect();
    lines.push(look.styled(FAINT, &facts.join(" · ")));
    if let Some(deleted) = entity["deleted_at"].as_str() {
        lines.push(look.styled(WARNING, &format!("deleted at {deleted}")));
    }
    let above = list(&path["path"]);
    let above: Vec<String> = above
        .iter()
        .take(above.len().saturating_sub(1))
        .map(|one| format!("{} {}", one["reference_id"].as_str().unwrap_or_default(), cell(one.get("title"))))
        .collect();
    if !above.is_empty() {
        lines.push(format!("in {}", harmless(&above.join(" › "))));
    }
    if !text("acceptance_criteria").is_empty() {
        lines.push(format!("serves {}", text("acceptance_criteria")));
    }
    for (name, value) in [("labels", &entity["labels"]), ("also called", &entity["aliases"])] {
        let words: Vec<String> = list(value).iter().map(word).collect();
        if !words.is_empty() {
            lines.push(format!("{name}: {}", harmless(&words.join(", "))));
        }
    }
    lines
}

/// A label, or the id that another tool has.
fn word(value: &Value) -> String {
    match value.as_str() {
        Some(word) => word.to_owned(),
        None => format!("{} {}", cell(value.get("scheme")), cell(value.get("external_id"))),
    }
}

fn below(look: Look, lines: &mut Vec<String>, kind: Kind, page: &Value) {
    let rows = list(&page["data"]);
    if rows.is_empty() {
        return;
    }
    let total = page["total_count"].as_i64().unwrap_or_default();
    let plural = match kind {
        Kind::AcceptanceCriteria => "Acceptance criteria".to_owned(),
        Kind::UserStory => "User stories".to_owned(),
        _ => "Requirements".to_owned(),
    };
    lines.push(String::new());
    lines.push(look.styled(HEADING, &format!("{plural} ({total})")));
    for row in rows {
        let status = row["status"].as_str().map(|status| format!("  [{status}]")).unwrap_or_default();
        let says = cell(row.get("title").or(row.get("description")));
        lines.push(format!("  {}  {says}{status}", row["reference_id"].as_str().unwrap_or_default()));
    }
    if total > rows.len() as i64 {
        let flag = page["filter"].as_str().unwrap_or_default();
        lines.push(format!("  and {} more: spexus list {} {flag}", total - rows.len() as i64, kind.name()));
    }
}

fn links(look: Look, lines: &mut Vec<String>, answers: &ItemAnswers) {
    let rows = list(&answers.relationships["data"]);
    if rows.is_empty() {
        return;
    }
    let own = answers.entity["reference_id"].as_str().unwrap_or_default();
    lines.push(String::new());
    lines.push(look.styled(HEADING, &format!("Links ({})", answers.relationships["total_count"])));
    for row in rows {
        let text = |name: &str| row[name].as_str().unwrap_or_default();
        let is_source = text("source") == own;
        let (words, other) =
            if is_source { (text("type"), text("target")) } else { (text("inverse_type"), text("source")) };
        let related = answers.related.iter().find(|entity| entity["reference_id"] == *other);
        let title = related.map(|entity| cell(entity.get("title"))).unwrap_or_default();
        let status = related.and_then(|entity| entity["status"].as_str());
        let status = status.map(|status| format!("  [{status}]")).unwrap_or_default();
        lines.push(format!("  {} {other}  {title}{status}", words.replace('_', " ")));
        if row["suspect"] == true {
            let changed = if is_source { other } else { own };
            let warning =
                format!("    suspect: {changed} has changed since; spexus suspect-link clear {}", text("id"));
            lines.push(look.styled(WARNING, &warning));
        }
    }
}

fn comments(look: Look, lines: &mut Vec<String>, page: &Value) {
    let rows = list(&page["data"]);
    if rows.is_empty() {
        return;
    }
    lines.push(String::new());
    lines.push(look.styled(HEADING, &format!("Comments ({})", page["total_count"])));
    for row in rows {
        let text = |name: &str| row[name].as_str().unwrap_or_default();
        let settled = if row["resolved"] == true { ", settled" } else { "" };
        lines.push(
            look.styled(FAINT, &format!("  {}, {}{settled}", text("author"), minute(text("created_at")))),
        );
        if let Some(quote) = row["quote"].as_str() {
            lines.push(format!("  > {}", harmless(quote.lines().next().unwrap_or_default())));
        }
        lines.extend(text("content").lines().map(|line| format!("  {}", harmless(line))));
    }
}

/// What cites it, where anything does.
fn traces(look: Look, lines: &mut Vec<String>, answers: &ItemAnswers) {
    let Some(found) = answers.thread.as_object() else { return };
    let number = |name: &str| found.get(name).and_then(Value::as_i64).unwrap_or_default();
    if number("cited") == 0 && !list(&answers.thread["data"]).iter().any(has_outdated) {
        return;
    }
    let own = answers.entity["reference_id"].as_str().unwrap_or_default();
    lines.push(String::new());
    lines.push(look.styled(HEADING, "Code and tests"));
    match list(&answers.thread["data"]).iter().find(|item| item["reference_id"] == *own) {
        Some(item) => {
            let mut tree = Vec::new();
            thread::item_lines(&mut tree, item);
            lines.extend(tree.iter().skip(1).map(|line| format!("  {}", harmless(line))));
        }
        None => lines.push(format!(
            "  {} requirements and criteria, {} cited, {} verified: spexus thread {own}",
            number("total_count"),
            number("cited"),
            number("verified")
        )),
    }
}

fn has_outdated(item: &Value) -> bool {
    !list(&item["outdated"]).is_empty()
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map(Vec::as_slice).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_people_typed_does_not_move_the_cursor() {
        let entity =
            json!({"reference_id": "REQ-001", "title": "a\u{1b}[2Jb", "version": 1, "updated_at": "now"});
        let answers = ItemAnswers { entity, ..ItemAnswers::default() };
        let shown = page(Look { width: None, is_colored: true }, &answers);
        assert!(!shown.contains("\u{1b}[2J"), "{shown:?}");
    }
}
