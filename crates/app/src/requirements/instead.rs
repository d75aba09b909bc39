//! Finds the tool that an agent meant when it calls an unknown one, such as `list_epics`, `epic_create` or
//! `get_changelog`. The error names that tool; it is not called automatically.

use mcp::{Instead, Tool};
use serde_json::{Value, json};
use store::model::Reference;

use super::meant::KINDS;
use super::tools;

/// Names of our kinds in other programs.
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

/// The verbs of tools that exist for each kind, and their synonyms.
const VERBS: &[(&str, &[&str])] = &[
    ("create", &["create", "add", "new", "make"]),
    ("update", &["update", "edit", "change", "modify", "patch", "set", "assign", "move", "transition"]),
];

/// Returns the tool to use instead of an unknown one.
pub fn instead_of(shown: &[impl AsRef<Tool>], name: &str, arguments: &Value) -> Option<Instead> {
    let is_shown = |name: &str| shown.iter().any(|tool| tool.as_ref().name == name);
    let plain = nearest::plain(&name.replace(['.', '/'], "_"));
    let use_tool =
        |tool: String, how: String| Some(Instead { advice: format!("use {tool}{how}"), tool: Some(tool) });
    if let Some(same) = shown.iter().find(|tool| nearest::is_same(&tool.as_ref().name, &plain)) {
        return use_tool(same.as_ref().name.clone(), String::new());
    }
    let spoken = Spoken::read(&plain);
    let known: Vec<_> = tools::all().filter(|(entry, tool)| is_shown(tools::name_of(entry, tool))).collect();
    let find = |fits: &dyn Fn(&str, &[&str]) -> bool| {
        known.iter().copied().find(|(entry, tool)| fits(tools::name_of(entry, tool), tool.also))
    };
    // The whole name is more specific than a verb and a kind, and so is one such as `get_requirement_history` without its kind.
    let is_two_words = |also: &str| also.contains('_') && also == spoken.verb;
    let whole = find(&|_, also| also.contains(&plain.as_str())).or_else(|| {
        let has_kind = spoken.kind.is_some();
        find(&|name, also| has_kind && (name == spoken.verb || also.iter().any(|also| is_two_words(also))))
    });
    let by_kind = || {
        let (verb, _) =
            VERBS.iter().find(|(_, others)| others.iter().any(|other| spoken.begins_with(other)))?;
        // The kind to change may be known only from its reference.
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
        return use_tool(tools::name_of(entry, tool).to_owned(), how);
    }
    let (create, verbs) = VERBS[0];
    if spoken.verb != plain && verbs.contains(&spoken.verb.as_str()) {
        let tools: Vec<String> = KINDS.iter().map(|(kind, _)| format!("{create}_{kind}")).collect();
        return Some(Instead { tool: None, advice: format!("use one of {}", tools.join(", ")) });
    }
    let near = nearest::nearest(name, shown.iter().map(|tool| tool.as_ref().name.as_str()))?;
    Some(Instead { tool: Some(near.to_owned()), advice: format!("did you mean {near}?") })
}

/// The verb and the kind in the name of a tool: `get` and `requirement` in both `get_requirement` and `requirement_get`.
pub struct Spoken {
    /// The verb, and everything that is neither verb nor kind.
    pub verb: String,
    /// The kind, if there is one.
    pub kind: Option<&'static str>,
}

impl Spoken {
    /// Parses a name in plain letters.
    pub fn read(plain: &str) -> Spoken {
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
        Value::String(text) => match Reference::parse(text)? {
            Reference::Numbered { kind, .. } => {
                KINDS.iter().map(|(name, _)| *name).find(|name| *name == kind.name())
            }
            Reference::Id(_) => None,
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
    fn a_tool_that_there_is_not_leads_to_the_right_one() {
        let tools = Tools::new(&ToolOptions::default());
        let advice =
            |name: &str| instead_of(&tools.callable(), name, &json!({})).map(|instead| instead.advice);
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
        ] {
            assert_eq!(advice(name).as_deref(), Some(meant), "{name}");
        }
        for name in ["deploy", "x", "get_weather"] {
            assert_eq!(advice(name), None, "{name}");
        }
    }
}
