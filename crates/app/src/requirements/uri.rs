//! URIs of resources, and the operations that read them.

use ops::{Entry, known};
use serde_json::{Map, Value, json};
use store::model::Kind;

/// A parsed URI.
#[derive(Debug, PartialEq)]
pub struct Target {
    /// The operation.
    pub operation: &'static Entry,
    /// Its arguments.
    pub arguments: Map<String, Value>,
    /// Whether the answer has all pages.
    pub is_list: bool,
    /// Whether it is from a template.
    pub is_template: bool,
    /// The kind of entity that the URI names, if it names one.
    pub kind: &'static str,
}

impl Target {
    /// All pages of a list.
    pub fn list(operation: &'static Entry, arguments: Map<String, Value>) -> Target {
        Target { operation, arguments, is_list: true, is_template: false, kind: "" }
    }

    fn template(operation: &'static Entry, arguments: Map<String, Value>) -> Target {
        Target { is_template: true, ..Target::list(operation, arguments) }
    }
}

/// Why a URI is invalid.
#[derive(Debug, PartialEq)]
pub enum UriProblem {
    /// The resource does not exist.
    Unknown,
    /// An unknown parameter, with the known ones.
    Parameter(String, &'static [&'static str]),
}

/// The schemes of single entities.
pub const SCHEMES: [(&str, Kind); 6] = [
    ("epic", Kind::Epic),
    ("user-story", Kind::UserStory),
    ("requirement", Kind::Requirement),
    ("acceptance-criteria", Kind::AcceptanceCriteria),
    ("steering-document", Kind::SteeringDocument),
    ("prompt", Kind::Prompt),
];

/// Parses a URI.
//@= spexus://REQ-117
//@# 002 R10.6: URI schemes are understood
pub fn parse(uri: &str) -> Result<Target, UriProblem> {
    let (scheme, rest) = uri.split_once("://").ok_or(UriProblem::Unknown)?;
    match (scheme, rest.split_once('?').unwrap_or((rest, ""))) {
        ("epics", ("list", query)) => list("epic", query, &["status", "priority"]),
        ("user-stories", ("list", query)) => list("user_story", query, &["epic_id", "status"]),
        ("requirements", ("search", query)) => search(query),
        _ => entity(scheme, rest),
    }
}

fn entity(scheme: &str, rest: &str) -> Result<Target, UriProblem> {
    let (_, kind) = SCHEMES.iter().find(|(name, _)| *name == scheme).ok_or(UriProblem::Unknown)?;
    let (id, part) = rest.split_once('/').unwrap_or((rest, ""));
    let id = decode(id);
    let target = |operation, arguments: Value, is_list| {
        let Value::Object(arguments) = arguments else { return Err(UriProblem::Unknown) };
        Ok(Target { is_list, kind: kind.name(), ..Target::list(operation, arguments) })
    };
    match (kind, part) {
        (Kind::Prompt, "") => target(known::GET_PROMPT, json!({ "prompt_id": id }), false),
        (kind, "") => target(known::GET_ENTITY, json!({ "reference": id, "kind": kind.name() }), false),
        (Kind::Epic, "hierarchy") => target(known::GET_HIERARCHY, json!({ "reference": id }), false),
        (Kind::UserStory, "requirements") => {
            target(known::LIST_ENTITIES, json!({ "kind": "requirement", "user_story_id": id }), true)
        }
        (Kind::UserStory, "acceptance-criteria") => {
            target(known::LIST_ENTITIES, json!({ "kind": "acceptance_criteria", "user_story_id": id }), true)
        }
        (Kind::Requirement, "relationships") => {
            target(known::LIST_RELATIONSHIPS, json!({ "requirement_id": id }), true)
        }
        _ => Err(UriProblem::Unknown),
    }
}

fn list(kind: &str, query: &str, known: &'static [&'static str]) -> Result<Target, UriProblem> {
    let mut arguments = Map::from_iter([("kind".to_owned(), json!(kind))]);
    for (name, value) in pairs(query, known)? {
        let value = match name.as_str() {
            "status" => json!([value]),
            "priority" => json!([value.parse::<i64>().map_or_else(|_| json!(value), |number| json!(number))]),
            _ => json!(value),
        };
        arguments.insert(name, value);
    }
    Ok(Target::template(known::LIST_ENTITIES, arguments))
}

fn search(query: &str) -> Result<Target, UriProblem> {
    let mut arguments: Map<String, Value> =
        pairs(query, &["query", "type"])?.into_iter().map(|(name, value)| (name, json!(value))).collect();
    if arguments.contains_key("query") {
        return Ok(Target::template(known::SEARCH_REQUIREMENTS, arguments));
    }
    arguments.insert("kind".into(), json!("requirement"));
    Ok(Target::template(known::LIST_ENTITIES, arguments))
}

/// The parameters with a value.
fn pairs(query: &str, known: &'static [&'static str]) -> Result<Vec<(String, String)>, UriProblem> {
    let mut pairs = Vec::new();
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        let (name, value) = (decode(name), decode(value));
        if !known.contains(&name.as_str()) {
            return Err(UriProblem::Parameter(name, known));
        }
        // A template without a value for its variable means no filter.
        if !value.trim().is_empty() && value != format!("{{{name}}}") {
            pairs.push((name, value));
        }
    }
    Ok(pairs)
}

fn decode(text: &str) -> String {
    crate::spexus::http::decode(text, true).unwrap_or_else(|| text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::{UriProblem, parse};
    use serde_json::json;

    #[test]
    fn uris_name_operations() {
        for (uri, operation, arguments) in [
            ("epic://EP-001", "get_entity", json!({ "reference": "EP-001", "kind": "epic" })),
            ("epic://ep-1/hierarchy", "get_hierarchy", json!({ "reference": "ep-1" })),
            ("requirement://x/relationships", "list_relationships", json!({ "requirement_id": "x" })),
            (
                "epics://list?status=in%20progress&priority=",
                "list_entities",
                json!({ "kind": "epic", "status": ["in progress"] }),
            ),
            ("epics://list", "list_entities", json!({ "kind": "epic" })),
            (
                "requirements://search?query=card+data&type=",
                "search_requirements",
                json!({ "query": "card data" }),
            ),
            (
                "requirements://search?query={query}&type=Data",
                "list_entities",
                json!({ "type": "Data", "kind": "requirement" }),
            ),
        ] {
            let target = parse(uri).unwrap_or_else(|problem| panic!("{uri}: {problem:?}"));
            assert_eq!((target.operation.name, json!(target.arguments)), (operation, arguments), "{uri}");
        }
        for uri in ["", "epic", "tale://1", "epic://1/tales", "epics://all", "prompt://1/x"] {
            assert_eq!(parse(uri), Err(UriProblem::Unknown), "{uri}");
        }
        assert_eq!(
            parse("epics://list?state=x"),
            Err(UriProblem::Parameter("state".into(), &["status", "priority"]))
        );
    }
}
