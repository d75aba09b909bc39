//! What is hidden leaves no trace: whoever does not see a project reads the same as in a store that never had it.

use std::collections::HashMap;

use ops::Credentials;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use serde_json::{Map, Value, json};

use crate::stores::{World, on_every_pair};

/// Something that is done in a project; numbers choose among what is there.
#[derive(Clone, Debug)]
enum Step {
    Epic,
    Story(usize),
    Criterion(usize),
    Requirement(usize),
    Relate(usize, usize),
    Comment(usize),
    Edit(usize),
    Delete(usize),
    Restore(usize),
}

fn steps() -> impl Strategy<Value = Vec<(bool, Step)>> {
    let step = prop_oneof![
        Just(Step::Epic),
        any::<usize>().prop_map(Step::Story),
        any::<usize>().prop_map(Step::Criterion),
        any::<usize>().prop_map(Step::Requirement),
        any::<(usize, usize)>().prop_map(|(one, other)| Step::Relate(one, other)),
        any::<usize>().prop_map(Step::Comment),
        any::<usize>().prop_map(Step::Edit),
        any::<usize>().prop_map(Step::Delete),
        any::<usize>().prop_map(Step::Restore),
    ];
    prop::collection::vec((any::<bool>(), step), 10..40)
}

/// A project that steps are taken in: the reference ids that there are, by kind.
struct Project<'w> {
    world: &'w World,
    key: &'static str,
    made: HashMap<&'static str, Vec<String>>,
}

impl<'w> Project<'w> {
    fn new(world: &'w World, key: &'static str, access: &str) -> Project<'w> {
        world.ok("create_project", json!({ "key": key, "name": key, "access": access }));
        let mut project = Project { world, key, made: HashMap::new() };
        // Every kind is there from the beginning, so that most steps find something.
        for step in
            [Step::Epic, Step::Story(0), Step::Criterion(0), Step::Requirement(0), Step::Requirement(0)]
        {
            project.take(&step);
        }
        project
    }

    /// What code can cite.
    fn citable(&self) -> Vec<String> {
        let kinds = ["acceptance_criteria", "requirement"];
        kinds.iter().filter_map(|kind| self.made.get(kind)).flatten().cloned().collect()
    }

    fn some(&self, kind: &str, choice: usize) -> Option<&String> {
        let all = self.made.get(kind)?;
        all.get(choice % all.len())
    }

    fn any(&self, choice: usize) -> Option<&String> {
        let kinds = ["epic", "user_story", "acceptance_criteria", "requirement"];
        self.some(kinds[choice % kinds.len()], choice / kinds.len())
    }

    /// What cannot be done, because its parent is deleted for example, is left out.
    fn take(&mut self, step: &Step) -> Option<()> {
        let text = |choice: usize| format!("brew tea in {} within {choice} minutes", self.key.to_lowercase());
        let (operation, arguments, kind) = match step {
            Step::Epic => {
                ("create_epic", json!({ "title": text(1), "priority": 1, "project": self.key }), "epic")
            }
            Step::Story(of) => {
                let arguments =
                    json!({ "epic_id": self.some("epic", *of)?, "title": text(*of), "priority": 2 });
                ("create_user_story", arguments, "user_story")
            }
            Step::Criterion(of) => {
                let arguments =
                    json!({ "user_story_id": self.some("user_story", *of)?, "description": text(*of) });
                ("create_acceptance_criteria", arguments, "acceptance_criteria")
            }
            Step::Requirement(of) => {
                let story = self.some("user_story", *of)?;
                let arguments = json!({ "user_story_id": story, "title": text(*of), "priority": 3, "type_id": "Functional" });
                ("create_requirement", arguments, "requirement")
            }
            Step::Relate(one, other) => {
                let (source, target) = (self.some("requirement", *one)?, self.some("requirement", *other)?);
                let arguments = json!({ "source_requirement_id": source, "target_requirement_id": target,
                                        "relationship_type_id": "relates_to" });
                ("create_relationship", arguments, "")
            }
            Step::Comment(on) => {
                ("add_comment", json!({ "reference": self.any(*on)?, "content": text(*on) }), "")
            }
            Step::Edit(what) => {
                let requirement = self.some("requirement", *what)?;
                (
                    "update_requirement",
                    json!({ "requirement_id": requirement, "description": text(*what) }),
                    "",
                )
            }
            Step::Delete(what) => {
                ("delete_entity", json!({ "reference": self.any(*what)?, "force": true }), "")
            }
            Step::Restore(what) => ("restore_entity", json!({ "reference": self.any(*what)? }), ""),
        };
        let answer = self.world.call(operation, arguments).ok()?;
        if !kind.is_empty() {
            let reference = answer["reference_id"].as_str().expect("a reference id").to_owned();
            self.made.entry(kind).or_default().push(reference);
        }
        Some(())
    }
}

/// [decisions 38] Lists, search and its snippets, suggestions, counts, reports, history, comments, exports, the names that
/// errors mention: nothing tells of the hidden project.
#[test]
fn who_does_not_see_a_project_reads_as_if_it_had_never_been() {
    on_every_pair(|with, without| {
        let n_done = std::cell::Cell::new(0);
        let mut runner = TestRunner::new(Config { cases: 1, failure_persistence: None, ..Config::default() });
        runner
            .run(&steps(), |steps| {
                // A second round would find the projects of the first.
                if n_done.replace(1) == 0 {
                    check(with, without, &steps);
                }
                Ok(())
            })
            .expect("a store that hides what it should");
        assert_eq!(n_done.get(), 1);
    });
}

fn check(with: &World, without: &World, steps: &[(bool, Step)]) {
    let readers = [with, without].map(|world| world.member("reader", "User"));
    let mut hidden = Project::new(with, "HID", "members");
    let mut visible = [with, without].map(|world| Project::new(world, "VIS", "open"));
    for (is_hidden, step) in steps {
        if *is_hidden {
            hidden.take(step);
        } else {
            let [one, other] = &mut visible;
            assert_eq!(one.take(step).is_some(), other.take(step).is_some(), "{step:?}");
        }
    }
    assert_eq!(visible[0].made, visible[1].made);
    let cited = [&hidden, &visible[0]].map(Project::citable).concat();
    push(with, &["HID", "VIS"], &cited);
    push(without, &["VIS"], &cited);
    let mut questions = everything();
    questions.extend(about_code(cited.len()));
    for reference in visible[0].made.values().flatten() {
        questions.extend(about(reference));
    }
    for (operation, arguments) in &questions {
        let [seen, expected] = [(with, &readers[0]), (without, &readers[1])]
            .map(|(world, reader)| normalized(ask(world, reader, operation, arguments)));
        assert_eq!(seen, expected, "{operation} {arguments}");
    }
    // Asking for something hidden, by reference id or UUID, gives the same answer as asking for something missing.
    for reference in hidden.made.values().flatten() {
        for (operation, arguments) in about(reference) {
            let [seen, expected] = [(with, &readers[0]), (without, &readers[1])]
                .map(|(world, reader)| normalized(ask(world, reader, operation, &arguments)));
            assert_eq!(seen, expected, "{operation} {arguments}");
        }
        let found = with.ok("get_entity", json!({ "reference": reference, "include_deleted": true }));
        let id = &found["id"];
        for (operation, arguments) in about(id.as_str().expect("an id")) {
            let [seen, expected] = [(with, &readers[0]), (without, &readers[1])]
                .map(|(world, reader)| normalized(ask(world, reader, operation, &arguments)));
            assert_eq!(seen, expected, "{operation} {arguments}");
        }
    }
}

/// The lines between two citations in a file.
const LINES_BETWEEN: usize = 10;

/// Pushes code and tests that cite all of this, one citation after the other, and a run in which all tests passed.
fn push(world: &World, projects: &[&str], references: &[String]) {
    world.ok("create_repository", json!({ "name": "example.org/tea", "projects": projects }));
    world.ok("push_trace", json!({ "repository": "example.org/tea", "content": pushed_files(references) }));
    let tests = references.iter().enumerate().map(|(index, reference)| {
        let executes = json!([{ "reference": reference, "unit": "", "path": "src/tea.rs", "blob": "aaaaaaaa", "how": "proven" }]);
        let test = json!({ "path": "tests/tea.rs", "blob": "bbbbbbbb", "symbol": symbol(index), "outcome": "passed", "attempts": 1,
                           "executes": executes });
        test.to_string()
    });
    let content = tests.collect::<Vec<_>>().join("\n");
    let run = json!({ "repository": "example.org/tea", "tool": "cargo test", "exit_status": 0, "content": content });
    world.ok("push_evidence", run);
}

fn symbol(index: usize) -> String {
    format!("brews_{index}")
}

fn pushed_files(references: &[String]) -> String {
    let cites = |kind: &str| -> Vec<Value> {
        let cited = references.iter().enumerate().map(|(index, reference)| {
            let line = LINES_BETWEEN * (index + 1);
            json!({ "line": line, "last_line": line, "kind": kind, "reference": reference, "pin": 1, "symbol": symbol(index) })
        });
        cited.collect()
    };
    let code = json!({ "path": "src/tea.rs", "blob": "aaaaaaaa", "citations": cites("code") });
    let tests = json!({ "path": "tests/tea.rs", "blob": "bbbbbbbb", "citations": cites("test") });
    format!("{code}\n{tests}\n")
}

/// Questions about the code that cites so many things.
fn about_code(n_cited: usize) -> Vec<(&'static str, Value)> {
    let mut questions = vec![
        ("list_repositories", json!({})),
        ("get_repository", json!({ "repository": "example.org/tea" })),
        ("list_stale_citations", json!({ "project": "VIS" })),
        ("list_stale_citations", json!({ "project": "HID" })),
        ("list_baselines", json!({ "project": "HID" })),
        ("pin_baseline", json!({ "project": "HID", "name": "Mine" })),
        ("get_thread", json!({ "from": "src/tea.rs" })),
        ("get_thread", json!({ "from": "src/tea.rs", "repository": "example.org/tea" })),
        ("get_thread", json!({ "from": "src/tea.rs:1" })),
    ];
    for index in 0..n_cited {
        let line = LINES_BETWEEN * (index + 1);
        for from in [
            format!("src/tea.rs:{line}"),
            format!("src/tea.rs:{}", line + 1),
            format!("tests/tea.rs::{}", symbol(index)),
        ] {
            questions.push(("get_thread", json!({ "from": from })));
        }
    }
    questions
}

/// Questions about everything that somebody sees.
fn everything() -> Vec<(&'static str, Value)> {
    let mut questions = vec![
        ("list_projects", json!({})),
        ("get_project", json!({ "project": "HID" })),
        ("list_project_members", json!({ "project": "HID" })),
        ("list_views", json!({ "project": "HID" })),
        ("save_view", json!({ "project": "HID", "kind": "epic", "name": "Mine", "query": "" })),
        ("list_changes", json!({ "project": "HID" })),
        ("list_deletions", json!({ "project": "HID" })),
        ("list_entities", json!({ "kind": "epic", "project": "HID" })),
        ("list_comments", json!({})),
        ("list_comments", json!({ "include_deleted": true })),
        ("list_suspect_links", json!({})),
        ("get_hierarchy", json!({})),
        ("hierarchy_analysis", json!({})),
        ("list_user_directory", json!({})),
        ("list_audit", json!({})),
        ("who_am_i", json!({})),
        ("create_epic", json!({ "title": "Mine", "priority": 1, "project": "HID" })),
        ("create_epic", json!({ "title": "Mine", "priority": 1, "project": "HIDE" })),
        (
            "import",
            json!({ "format": "csv", "content": "kind,title,project\nepic,Mine,HID\n", "dry_run": true }),
        ),
    ];
    for kind in ["epic", "user_story", "acceptance_criteria", "requirement", "steering_document"] {
        for sort in ["number", "created", "updated", "number_descending"] {
            questions.push(("list_entities", json!({ "kind": kind, "sort": sort })));
        }
        questions.push(("list_entities", json!({ "kind": kind, "include_deleted": true, "limit": 3 })));
    }
    for query in
        ["tea", "hid", "vis", "brew -vis", "\"brew tea\"", "HID-EP-001", "VIS-EP-001", "HID", "minutes"]
    {
        for sort in ["relevance", "created", "updated", "priority"] {
            questions.push(("search_global", json!({ "query": query, "sort": sort })));
        }
        questions.push(("search_global", json!({ "query": query, "include_deleted": true })));
        questions.push(("search_requirements", json!({ "query": query })));
        questions.push(("search_suggestions", json!({ "query": query })));
    }
    for group_by in ["status", "priority", "type", "assignee"] {
        questions.push(("status_report", json!({ "group_by": group_by })));
    }
    for format in ["json", "csv", "markdown", "reqif"] {
        questions.push(("export", json!({ "format": format })));
    }
    let kinds = json!(["epic", "user_story", "acceptance_criteria", "requirement", "prompt"]);
    questions.push(("browse", json!({ "kinds": kinds, "limit": 100 })));
    questions
}

/// Questions about one thing.
fn about(reference: &str) -> Vec<(&'static str, Value)> {
    vec![
        ("get_entity", json!({ "reference": reference })),
        ("get_entity", json!({ "reference": reference, "include_deleted": true })),
        ("get_history", json!({ "reference": reference })),
        ("get_path", json!({ "reference": reference })),
        ("get_hierarchy", json!({ "reference": reference })),
        ("impact_analysis", json!({ "reference": reference })),
        ("list_comments", json!({ "reference": reference })),
        ("list_relationships", json!({ "requirement_id": reference })),
        ("status_report", json!({ "epic_id": reference })),
        ("list_entities", json!({ "kind": "requirement", "epic_id": reference })),
        ("list_entities", json!({ "kind": "requirement", "user_story_id": reference })),
        ("search_global", json!({ "query": reference })),
        ("delete_entity", json!({ "reference": reference, "dry_run": true })),
        ("update_requirement", json!({ "requirement_id": reference, "expected_version": 999 })),
        ("export", json!({ "format": "json", "epic": reference })),
        ("browse", json!({ "kinds": ["epic"], "limit": 5, "after": reference })),
        ("get_comment", json!({ "comment_id": reference })),
        ("delete_relationship", json!({ "id": reference })),
        ("get_thread", json!({ "from": reference })),
        ("get_thread", json!({ "from": reference, "direction": "up", "ref": "main" })),
        ("list_stale_citations", json!({ "reference": reference })),
        ("cited_texts", json!({ "references": [reference] })),
        ("add_manual_evidence", json!({ "reference": reference, "what": "Looked", "unit": 9 })),
    ]
}

fn ask(world: &World, reader: &Credentials, operation: &str, arguments: &Value) -> Value {
    match world.call_as(reader.clone(), operation, arguments.clone()) {
        Ok(answer) => answer,
        Err(error) => json!({
            "code": error.kind.code(), "message": error.message, "more": error.more,
            "fields": error.fields.iter().map(|field| json!([field.field, field.message, field.allowed])).collect::<Vec<_>>(),
        }),
    }
}

/// An answer with ids by the order in which they occur, and without times, which differ between two stores.
fn normalized(value: Value) -> Value {
    fn text(known: &mut Vec<String>, text: &str) -> String {
        let mut normal = String::new();
        let mut rest = text;
        while !rest.is_empty() {
            let is_id = |text: &str| {
                text.len() >= 36
                    && text.is_char_boundary(36)
                    && text.bytes().take(36).enumerate().all(|(index, byte)| match index {
                        8 | 13 | 18 | 23 => byte == b'-',
                        _ => byte.is_ascii_hexdigit(),
                    })
            };
            let is_time = rest.len() >= 27 && rest.is_char_boundary(27) && rest.starts_with("2026-11-15T");
            if is_time {
                normal.push_str("(time)");
                rest = &rest[27..];
            } else if is_id(rest) {
                let id = rest[..36].to_owned();
                let place = known.iter().position(|other| *other == id).unwrap_or_else(|| {
                    known.push(id);
                    known.len() - 1
                });
                normal.push_str(&format!("(id {place})"));
                rest = &rest[36..];
            } else {
                let first = rest.chars().next().expect("not empty");
                normal.push(first);
                rest = &rest[first.len_utf8()..];
            }
        }
        normal
    }
    fn walk(known: &mut Vec<String>, value: Value) -> Value {
        match value {
            Value::String(string) => Value::String(text(known, &string)),
            Value::Array(items) => items.into_iter().map(|item| walk(known, item)).collect(),
            Value::Object(fields) => Value::Object(
                fields.into_iter().map(|(name, value)| (name, walk(known, value))).collect::<Map<_, _>>(),
            ),
            other => other,
        }
    }
    walk(&mut Vec::new(), value)
}
