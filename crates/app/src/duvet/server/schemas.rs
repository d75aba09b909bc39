//! Output schemas, for programs that request them. Fields that may be left out are not required.

use serde_json::{Map, Value, json};
use trace::model::TraceStatus;

/// The schema of a tool's answer.
pub fn output(tool: &str) -> Option<Value> {
    let number = || json!({"type": "integer"});
    let texts = || json!({"type": "array", "items": {"type": "string"}});
    let flag = || json!({"type": "boolean"});
    let list = |items: Value| json!({"type": "array", "items": items});
    Some(match tool {
        "validate_citation" => object(
            &["error", "detail", "nearest", "difference", "warning", "lines", "rest"],
            [
                ("valid", flag()),
                ("fuzzy", flag()),
                ("requirement", requirement()),
                ("requirements", list(requirement())),
                ("share", json!({"type": "number"})),
            ],
            &["valid"],
        ),
        "search_requirements" | "list_uncited_requirements" => page(requirement()),
        "get_requirement_status" => {
            let citation = object(&["id", "type"], [], &["id", "type"]);
            let row =
                object(&[&["detail", "text", "full_path"], PLACE].concat(), [("status", status())], &[]);
            object(
                &[&["detail", "level", "text", "full_path", "note", "nextCursor", "more"], PLACE].concat(),
                [
                    ("status", status()),
                    ("citations", list(citation)),
                    ("citation_count", number()),
                    ("nearby", texts()),
                    ("match_count", number()),
                    ("matches", list(row)),
                    ("remaining", number()),
                    ("truncated", flag()),
                ],
                &["status", "detail"],
            )
        }
        "list_invalid_citations" => page(object(
            &["file_path", "comment_text", "error", "detail", "suggestion", "nearest", "difference", "lines"],
            [("line_number", number()), ("truncated", flag())],
            &["file_path", "line_number", "comment_text", "error"],
        )),
        "get_citation_context" => object(
            &["file_path", "note"],
            [("line_number", number()), ("context", texts()), ("truncated", flag())],
            &["file_path", "line_number", "context"],
        ),
        "resolve_spec_id" => {
            let counts = || [("requirements", number()), ("open", number())];
            // Of a specification the numbers by status, of a section its requirements.
            let requirements = json!({"type": ["object", "array"]});
            object(
                &[
                    "spec_id",
                    "error",
                    "title",
                    "url",
                    "target",
                    "section_id",
                    "content",
                    "nextCursor",
                    "more",
                ],
                [
                    ("nearest", texts()),
                    ("requirements", requirements),
                    ("sections", list(object(&["id", "title"], counts(), &["id", "title"]))),
                    ("specifications", list(object(&["spec_id", "title"], counts(), &["spec_id"]))),
                    ("remaining", number()),
                ],
                &[],
            )
        }
        "get_prioritized_requirements" => page(object(
            &[&["full_path", "level", "text"], PLACE].concat(),
            [
                ("status", json!({"enum": ["not_started", "partially_implemented", "fully_implemented"]})),
                ("todo_count", number()),
                ("truncated", flag()),
            ],
            &["full_path", "level", "status", "todo_count"],
        )),
        _ => return None,
    })
}

/// The fields with the place of a requirement.
const PLACE: &[&str] = &["section", "target", "short_id"];

fn requirement() -> Value {
    object(
        &[&["identifier", "full_path", "text", "rest"], PLACE].concat(),
        [("share", json!({"type": "number"})), ("truncated", json!({"type": "boolean"}))],
        &["identifier", "full_path", "text"],
    )
}

fn status() -> Value {
    json!({"enum": TraceStatus::ALL.map(TraceStatus::name)})
}

/// A part of a list.
fn page(row: Value) -> Value {
    object(
        &["nextCursor", "more"],
        [("result", json!({"type": "array", "items": row})), ("remaining", json!({"type": "integer"}))],
        &["result"],
    )
}

fn object<const N: usize>(texts: &[&str], others: [(&str, Value); N], required: &[&str]) -> Value {
    let texts = texts.iter().map(|name| (*name, json!({"type": "string"})));
    let properties: Map<String, Value> =
        texts.chain(others).map(|(name, schema)| (name.to_owned(), schema)).collect();
    json!({"type": "object", "properties": properties, "required": required})
}
