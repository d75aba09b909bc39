//! Truncates answers without a cursor: a file, and the results of a bulk operation. They say where the rest is.

use ops::{Entry, Method, known};
use serde_json::{Value, json};

use super::budget::{HIGHER, MORE, PageWindow, count};
use crate::budget::Room;

/// A file whose content is cut at the end of a line. `arguments` are those of the call.
pub fn file(window: &PageWindow, entry: &Entry, arguments: &Value, mut answer: Value) -> Value {
    let Some(content) = answer["content"].as_str().map(str::to_owned) else { return answer };
    // Nothing has more tokens than bytes, so a small file need not be counted.
    if content.len() <= window.max_tokens || count(&answer) <= window.max_tokens {
        return answer;
    }
    answer["content"] = json!("");
    answer["truncated"] = json!(true);
    answer[MORE] = json!(ways_to(entry, arguments));
    let room = Room::of(window.max_tokens, count(&answer)).left();
    answer["content"] = json!(beginning(&content, room));
    answer
}

/// The lines of a text that fit, at least a part of the first.
fn beginning(text: &str, room: usize) -> &str {
    /// More characters than this are never a single token, on average.
    const CHARS_A_TOKEN_MAX: usize = 16;
    let mut n_chars = room * CHARS_A_TOKEN_MAX;
    loop {
        let part = words::cut(text, n_chars);
        let used = count(&json!(part));
        if used <= room || n_chars == 0 {
            return part.rfind('\n').map_or(part, |end| &part[..=end]);
        }
        // Tokens are distributed unevenly, so take a little less than would fit on average.
        n_chars = (n_chars.min(part.chars().count()) * room / used).min(n_chars - 1) * 19 / 20;
    }
}

/// How to get a file separately: over HTTP, and on the command line.
fn ways_to(entry: &Entry, arguments: &Value) -> String {
    let given: Vec<(&String, String)> = arguments
        .as_object()
        .into_iter()
        .flatten()
        .filter(|(name, value)| *name != "include" && !value.is_null())
        .map(|(name, value)| (name, value.as_str().map_or_else(|| value.to_string(), str::to_owned)))
        .collect();
    let mut ways = vec![HIGHER.to_owned()];
    if let Some(route) = entry.routes.iter().find(|route| route.method == Method::Get) {
        let query: Vec<String> = given.iter().map(|(name, value)| format!("{name}={value}")).collect();
        ways.push(format!("GET /api/v1{}?{}", route.path, query.join("&")));
    }
    if let Some(command) = entry.commands.first() {
        let flags = given.iter().map(|(name, value)| match value.as_str() {
            "true" => format!(" --{}", name.replace('_', "-")),
            value => format!(" --{} {value}", name.replace('_', "-")),
        });
        ways.push(format!("spexus {}{}", command.words, flags.collect::<String>()));
    }
    ways.join("; or ")
}

/// The results of a bulk operation: the failed ones first, and as many of the others as fit.
pub fn steps(window: &PageWindow, mut answer: Value) -> Value {
    if count(&answer) <= window.max_tokens {
        return answer;
    }
    let Value::Array(mut results) = answer["results"].take() else { return answer };
    results.sort_by_key(|result| result.get("error").is_none());
    let n_results = results.len();
    answer["truncated"] = json!(true);
    answer["remaining"] = json!(n_results);
    // Repeating the call would repeat the changes.
    answer[MORE] = match answer["dry_run"] == true {
        true => json!(HIGHER),
        false => json!(format!("all were done; {} with sort updated shows them", known::LIST_ENTITIES.name)),
    };
    let mut room = Room::of(window.max_tokens, count(&answer));
    let kept: Vec<Value> = results.into_iter().take_while(|result| room.takes(&result.to_string())).collect();
    answer["remaining"] = json!(n_results - kept.len());
    answer["results"] = json!(kept);
    answer
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_cut_where_a_line_ends() {
        let lines: String = (0..2_000).map(|number| format!("Line {number} of a file.\n")).collect();
        for room in [50, 500, 5_000] {
            let part = beginning(&lines, room);
            assert!(part.ends_with(".\n") && lines.starts_with(part), "{part}");
            let used = count(&json!(part));
            assert!(used <= room && used * 10 > room * 8, "{used} of {room}");
        }
        assert_eq!(beginning(&lines, 0), "");
        let line = "x".repeat(10_000);
        assert!((1..10_000).contains(&beginning(&line, 100).len()), "a long line is cut");
    }
}
