//! What agents mean who have not read the schemas: other names of tools and arguments, priorities by name, reference ids as
//! they are written elsewhere. The fixed list is in `docs/guide/agents.md`.

use mcp::{Failure, Instead, Schema, Tool};
use serde_json::{Map, Value, json};

use super::tools;

/// Other names of arguments, best first. One is taken only where the tool has the argument, and the call does not give it.
const SYNONYMS: &[(&str, &[&str])] = &[
    ("reference", &["requirement_id", "user_story_id", "epic_id", "requirement", "user_story", "epic"]),
    ("epic_id", &["epic", "epic_link", "epic_reference", "parent_id", "parent", "root"]),
    ("user_story_id", &["user_story", "story_id", "story", "parent_id", "parent"]),
    ("requirement_id", &["requirement", "req_id", "req"]),
    (
        "acceptance_criteria_id",
        &["acceptance_criterion_id", "acceptance_criteria", "criterion_id", "criterion", "ac"],
    ),
    ("source_requirement_id", &["source_id", "source", "from", "from_id"]),
    ("target_requirement_id", &["target_id", "target", "to", "to_id"]),
    ("type_id", &["type", "requirement_type", "requirement_type_id"]),
    (
        "relationship_type_id",
        &["type", "type_id", "relationship_type", "relation", "relation_type", "link_type"],
    ),
    ("kind", &["entity_type", "entity_kind", "type"]),
    ("entity_types", &["entity_type", "kinds", "kind", "types", "type"]),
    ("title", &["name", "summary", "new_title"]),
    ("content", &["text", "body", "comment", "message"]),
    ("description", &["details", "body", "text", "new_description", "title", "name"]),
    ("query", &["q", "search", "text", "term", "search_text"]),
    ("expected_version", &["version"]),
    ("status", &["state", "new_status", "new_state"]),
    ("labels", &["label", "tags", "tag"]),
    ("assignee_id", &["assignee", "assigned_to", "assignees", "owner", "user"]),
    ("assignee", &["assignee_id", "assigned_to", "assignees", "owner"]),
    ("limit", &["per_page", "page_size", "max_results", "first", "top", "count", "size"]),
    ("depth", &["max_depth", "levels"]),
];
/// Other names of the one id that says what a tool works on.
const IDS: &[&str] = &[
    "id",
    "reference",
    "ref",
    "reference_id",
    "entity_id",
    "entity",
    "uri",
    "key",
    "identifier",
    "issue_id_or_key",
    "issue_key",
    "issue_id",
    "issue_number",
    "issue",
    "work_item_id",
    "item_id",
];
/// What other programs call any of our kinds.
const THINGS: &[&str] = &[
    "issue",
    "issues",
    "entity",
    "entities",
    "item",
    "items",
    "work_item",
    "work_items",
    "ticket",
    "tickets",
];

/// Other names of priorities, the first of which is 1.
const PRIORITIES: [&[&str]; 4] =
    [&["critical", "p1", "urgent"], &["high", "p2"], &["medium", "p3", "normal"], &["low", "p4"]];

/// The verbs of tools that have one for each kind, and what else they are called.
const VERBS: &[(&str, &[&str])] = &[
    ("create", &["create", "add", "new", "make"]),
    ("update", &["update", "edit", "change", "modify", "patch", "set", "assign", "move", "transition"]),
];

/// What the names of tools call kinds.
const KINDS: &[(&str, &[&str])] = &[
    ("epic", &["epic", "epics"]),
    ("user_story", &["user_story", "user_stories", "story", "stories"]),
    (
        "acceptance_criteria",
        &["acceptance_criteria", "acceptance_criterion", "criteria", "criterion", "ac", "acs"],
    ),
    ("requirement", &["requirement", "requirements", "req", "reqs"]),
];

/// Changes arguments into what they mean. Returns what the caller should know about it.
pub fn normalise(schema: &Schema, arguments: &mut Value) -> Vec<String> {
    // Names in the schema's spelling come first, so that `epicId` is not taken for a stranger.
    let mut notes = schema.normalise(arguments);
    let (Some(properties), Some(given)) = (schema.properties(), arguments.as_object_mut()) else {
        return notes;
    };
    if let Some(name) = only_id(schema) {
        take_synonym(properties, given, name, IDS);
    }
    if properties.contains_key("reference") {
        take_synonym(properties, given, "reference", IDS);
    }
    for (name, others) in SYNONYMS {
        take_synonym(properties, given, name, others);
    }
    tidy(schema, given);
    take_kind(properties, given);
    if let Some(Value::String(text)) = given.get("priority")
        && let Some(number) = priority(text)
        && properties.contains_key("priority")
    {
        given.insert("priority".to_owned(), json!(number));
    }
    for (_, value) in given.iter_mut().filter(|(name, _)| *name == "reference" || name.ends_with("_id")) {
        if let Value::String(text) = value
            && let Some(reference) = reference(text)
        {
            *text = reference;
        }
    }
    // What has found its name may still be of another kind.
    notes.extend(schema.normalise(arguments));
    notes
}

/// Reads kinds by their other names, also where they are called a type.
fn take_kind(properties: &Map<String, Value>, given: &mut Map<String, Value>) {
    let kind = |value: &Value| {
        let name = nearest::plain(value.as_str()?);
        KINDS.iter().find(|(_, names)| names.contains(&name.as_str())).map(|(kind, _)| json!(kind))
    };
    if properties.contains_key("kind")
        && !given.contains_key("kind")
        && let Some(found) = given.get("type").and_then(kind)
    {
        given.shift_remove("type");
        given.insert("kind".to_owned(), found);
    }
    if let Some(found) = given.get("kind").and_then(kind) {
        given.insert("kind".to_owned(), found);
    }
}

/// Leaves out empty ids that need not be given, and what stands before the name of a user.
fn tidy(schema: &Schema, given: &mut Map<String, Value>) {
    let required = schema.as_json().get("required").and_then(Value::as_array);
    let is_required =
        |name: &str| required.is_some_and(|required| required.iter().any(|known| known == name));
    given.retain(|name, value| !(name.ends_with("_id") && value == "" && !is_required(name)));
    for name in ["assignee_id", "assignee", "creator"] {
        if let Some(Value::String(user)) = given.get_mut(name)
            && let Some(bare) = user.strip_prefix('@')
        {
            *user = bare.to_owned();
        }
    }
}

/// Gives an argument the value that the call has under another name.
fn take_synonym(
    properties: &Map<String, Value>,
    given: &mut Map<String, Value>,
    name: &str,
    others: &[&str],
) {
    if !properties.contains_key(name) || given.contains_key(name) {
        return;
    }
    let spelling = |other: &str| {
        let is_it = |known: &&String| nearest::plain(known.trim_start_matches('$')) == other;
        given.keys().filter(|known| !properties.contains_key(*known)).find(is_it).cloned()
    };
    let other = others.iter().find_map(|other| spelling(other));
    if let Some(value) = other.and_then(|other| given.shift_remove(&other)) {
        given.insert(name.to_owned(), value);
    }
}

/// The one argument that says what a tool works on: the first that is required, of a tool that makes nothing.
fn only_id(schema: &Schema) -> Option<&str> {
    let required = schema.as_json().get("required")?.as_array()?;
    let first = required.first()?.as_str()?;
    let changes = schema.properties()?.contains_key("expected_version");
    (changes || required.len() == 1)
        .then_some(first)
        .filter(|name| *name == "reference" || name.ends_with("_id"))
}

/// Checks arguments, and says of each that is missing what it is: schemas are too short to.
pub fn check(tool: &Tool, arguments: &Value) -> Result<(), Failure> {
    let mut errors = tool.input_schema.check(arguments);
    if errors.is_empty() {
        return Ok(());
    }
    let offer = tools::find(&tool.name);
    for error in &mut errors {
        let about = offer.as_ref().map(|offer| offer.about(&error.field)).unwrap_or_default();
        if error.message.starts_with("is required (a string") && !about.is_empty() {
            error.message = format!("is required. {about}");
        }
    }
    Err(Failure::invalid_arguments(&tool.name, errors))
}

fn priority(text: &str) -> Option<usize> {
    let text = text.trim().to_ascii_lowercase();
    PRIORITIES.iter().position(|names| names.contains(&text.as_str())).map(|index| index + 1)
}

/// `EP-001` for `EP001`, `EP_001`, `epic://EP-001` and `#EP-001`; nothing where the text is fine, or means something else.
fn reference(text: &str) -> Option<String> {
    let bare = text.trim().trim_start_matches('#');
    let bare = bare.split_once("://").map_or(bare, |(_, path)| path).trim_end_matches('/');
    if store::model::Reference::parse(bare).is_some() {
        return (bare != text).then(|| bare.to_owned());
    }
    let n_digits = bare.bytes().rev().take_while(u8::is_ascii_digit).count();
    let (head, digits) = bare.split_at(bare.len() - n_digits);
    let written = format!("{}-{digits}", head.trim_end_matches(['_', ' ', '-']).replace('_', "-"));
    store::model::Reference::parse(&written).map(|reference| reference.to_string())
}

/// What somebody is to use instead who called a tool that is not among those shown.
pub fn instead_of(shown: &[impl AsRef<Tool>], name: &str, arguments: &Value) -> Option<Instead> {
    let is_shown = |name: &str| shown.iter().any(|tool| tool.as_ref().name == name);
    if let Some((_, tool)) = tools::all().find(|(entry, tool)| tool.name.unwrap_or(entry.name) == name) {
        let advice = format!("it is in the tool set `{}`, and not offered here", tool.set);
        return (!is_shown(name)).then_some(Instead { tool: None, advice });
    }
    let plain = nearest::plain(name);
    let use_tool =
        |tool: String, how: String| Some(Instead { advice: format!("use {tool}{how}"), tool: Some(tool) });
    if let Some(same) = shown.iter().find(|tool| nearest::is_same(&tool.as_ref().name, &plain)) {
        return use_tool(same.as_ref().name.clone(), String::new());
    }
    let spoken = Spoken::read(&plain);
    let known: Vec<_> =
        tools::all().filter(|(entry, tool)| is_shown(tool.name.unwrap_or(entry.name))).collect();
    let find = |fits: &dyn Fn(&str, &[&str]) -> bool| {
        known.iter().copied().find(|(entry, tool)| fits(tool.name.unwrap_or(entry.name), tool.also))
    };
    // The whole name says more than a verb and a kind, and so does one such as `get_requirement_history` without its kind.
    let is_two_words = |also: &str| also.contains('_') && also == spoken.verb;
    let whole = find(&|_, also| also.contains(&plain.as_str())).or_else(|| {
        let has_kind = spoken.kind.is_some();
        find(&|name, also| has_kind && (name == spoken.verb || also.iter().any(|also| is_two_words(also))))
    });
    let by_kind = || {
        let (verb, _) =
            VERBS.iter().find(|(_, others)| others.iter().any(|other| spoken.begins_with(other)))?;
        // What is to be changed may be known by its reference alone.
        let kind = spoken.kind.or_else(|| kind_of_reference(arguments).filter(|_| *verb == VERBS[1].0))?;
        let tool = format!("{verb}_{kind}");
        is_shown(&tool).then_some(tool)
    };
    if whole.is_none()
        && let Some(tool) = by_kind()
    {
        return use_tool(tool, String::new());
    }
    if let Some((entry, tool)) = whole.or_else(|| find(&|_, also| also.contains(&spoken.verb.as_str()))) {
        let takes_kind = tool.shown.is_none_or(|shown| shown.contains(&"kind"))
            && entry.input_schema()["properties"]["kind"].is_object();
        let how = match spoken.kind {
            Some(kind) if takes_kind => format!(" with {}", json!({ "kind": kind })),
            _ => format!(", such as {}", tool.example),
        };
        return use_tool(tool.name.unwrap_or(entry.name).to_owned(), how);
    }
    let (create, verbs) = VERBS[0];
    if spoken.verb != plain && verbs.contains(&spoken.verb.as_str()) {
        let tools: Vec<String> = KINDS.iter().map(|(kind, _)| format!("{create}_{kind}")).collect();
        return Some(Instead { tool: None, advice: format!("use one of {}", tools.join(", ")) });
    }
    let near = nearest::nearest(name, shown.iter().map(|tool| tool.as_ref().name.as_str()))?;
    Some(Instead { tool: Some(near.to_owned()), advice: format!("did you mean {near}?") })
}

/// What the name of a tool speaks of: `get` and `requirement` in `get_requirement`, `requirement_get` and `getRequirement`.
struct Spoken {
    verb: String,
    kind: Option<&'static str>,
}

impl Spoken {
    fn read(plain: &str) -> Spoken {
        let kinds = KINDS.iter().flat_map(|(kind, names)| names.iter().map(move |name| (*name, Some(*kind))));
        let mut nouns: Vec<(&str, Option<&'static str>)> =
            kinds.chain(THINGS.iter().map(|name| (*name, None))).collect();
        // `user_story` before `story`.
        nouns.sort_by_key(|(name, _)| std::cmp::Reverse(name.len()));
        let padded = format!("_{plain}_");
        for (noun, kind) in nouns {
            if let Some((before, after)) = padded.split_once(&format!("_{noun}_")) {
                let verb = format!("{before}_{after}").trim_matches('_').to_owned();
                return Spoken { verb, kind };
            }
        }
        Spoken { verb: plain.to_owned(), kind: None }
    }

    fn begins_with(&self, verb: &str) -> bool {
        self.verb.strip_prefix(verb).is_some_and(|rest| rest.is_empty() || rest.starts_with('_'))
    }
}

/// The kind of the first reference among the arguments.
fn kind_of_reference(arguments: &Value) -> Option<&'static str> {
    match arguments {
        Value::String(text) => match store::model::Reference::parse(text)? {
            store::model::Reference::Numbered { kind, .. } => {
                KINDS.iter().map(|(name, _)| *name).find(|name| *name == kind.name())
            }
            store::model::Reference::Id(_) => None,
        },
        Value::Array(items) => items.iter().find_map(kind_of_reference),
        Value::Object(members) => members.values().find_map(kind_of_reference),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::{ToolOptions, Tools};
    use super::*;

    #[test]
    fn arguments_are_taken_by_other_names() {
        for (tool, given, meant) in [
            ("get_entity", json!({"id": "EP001"}), json!({"reference": "EP-001"})),
            ("get_entity", json!({"requirement_id": "#req-7"}), json!({"reference": "req-7"})),
            ("get_entity", json!({"uri": "epic://EP-001"}), json!({"reference": "EP-001"})),
            (
                "update_epic",
                json!({"id": "EP_2", "version": "3"}),
                json!({"epic_id": "EP-002", "expected_version": 3}),
            ),
            (
                "update_epic",
                json!({"epicId": "EP-2", "priority": "P1"}),
                json!({"epic_id": "EP-2", "priority": 1}),
            ),
            (
                "update_epic",
                json!({"epic_id": "EP-2", "description": null}),
                json!({"epic_id": "EP-2", "description": null}),
            ),
            (
                "create_requirement",
                json!({"story": "US-1", "name": "Pay", "type": "Functional", "priority": "High"}),
                json!({"user_story_id": "US-1", "title": "Pay", "type_id": "Functional", "priority": 2}),
            ),
            (
                "add_comment",
                json!({"id": "REQ-1", "text": "So?"}),
                json!({"reference": "REQ-1", "content": "So?"}),
            ),
            (
                "create_relationship",
                json!({"from": "REQ1", "to": "REQ2", "type": "depends_on"}),
                json!({"source_requirement_id": "REQ-001", "target_requirement_id": "REQ-002", "relationship_type_id": "depends_on"}),
            ),
            ("list_entities", json!({"entity_type": "User Story"}), json!({"kind": "user_story"})),
            ("search_global", json!({"q": "pay"}), json!({"query": "pay"})),
        ] {
            let tools = Tools::new(&ToolOptions::default());
            let tool = tools.list().iter().find(|known| known.name == tool).expect("a tool");
            let mut arguments = given.clone();
            normalise(&tool.input_schema, &mut arguments);
            assert_eq!(sorted(&arguments), sorted(&meant), "{given}");
        }
    }

    #[test]
    fn a_tool_that_there_is_not_leads_to_the_right_one() {
        let tools = Tools::new(&ToolOptions::default());
        let advice = |name: &str| instead_of(tools.list(), name, &json!({})).map(|instead| instead.advice);
        for (name, meant) in [
            (
                "get_requirement",
                r#"use get_entity, such as {"reference": "REQ-001", "include": ["parents", "relationships"]}"#,
            ),
            ("list_epics", r#"use list_entities with {"kind":"epic"}"#),
            ("listStories", r#"use list_entities with {"kind":"user_story"}"#),
            ("create_story", "use create_user_story"),
            ("edit_epic", "use update_epic"),
            (
                "search",
                r#"use search_global, such as {"query": "saved card", "entity_types": ["user_story", "requirement"]}"#,
            ),
            (
                "create_comment",
                r#"use add_comment, such as {"reference": "REQ-001", "content": "Also on the receipt?", "quote": "last four digits"}"#,
            ),
            ("creat_epic", "did you mean create_epic?"),
            ("list_comments", "it is in the tool set `comments`, and not offered here"),
        ] {
            assert_eq!(advice(name).as_deref(), Some(meant), "{name}");
        }
        for name in ["deploy", "x", "get_weather"] {
            assert_eq!(advice(name), None, "{name}");
        }
    }

    #[test]
    fn texts_stay_as_they_are() {
        for text in ["EP-1", "hello", "", "://", "EP", "12", "ÄÖ1"] {
            assert_eq!(reference(text), None, "{text}");
        }
    }

    fn sorted(value: &Value) -> std::collections::BTreeMap<String, Value> {
        value.as_object().expect("an object").clone().into_iter().collect()
    }
}
