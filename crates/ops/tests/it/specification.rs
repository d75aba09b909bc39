//! A project as a specification: its order, its numbers, its parts, and the file that readers get.

use std::sync::Mutex;

use expect_test::expect;
use ops::Credentials;
use serde_json::{Value, json};

use crate::exchange::export;
use crate::stores::{World, on_every_store};

/// Two epics. The stories of the first were made after one of the second, and requirements in turn, so that the order of the tree is not
/// that of time.
fn fill(world: &World) {
    for title in ["Pay", "Deliver"] {
        world.ok("create_epic", json!({ "title": title, "priority": 1, "description": "What *for*." }));
    }
    for (epic, title) in [("EP-002", "Track"), ("EP-001", "By card"), ("EP-001", "By invoice")] {
        world.ok("create_user_story", json!({ "epic_id": epic, "title": title, "priority": 2 }));
    }
    for story in ["US-002", "US-001"] {
        let text = json!({ "user_story_id": story, "description": "Given a cart, then it is paid." });
        world.ok("create_acceptance_criteria", text);
    }
    for (story, title) in [
        ("US-001", "Send a link"),
        ("US-002", "Mask cards"),
        ("US-002", "Keep tokens"),
        ("US-003", "Due in 30 days"),
    ] {
        let new = json!({ "user_story_id": story, "title": title, "type_id": "Functional", "priority": 1, "description": "See REQ-001 and REQ-999." });
        world.ok("create_requirement", new);
    }
    world.ok("update_user_story", json!({ "user_story_id": "US-002", "status": "Done" }));
    world.ok("create_relationship", json!({
        "source_requirement_id": "REQ-002", "relationship_type_id": "depends_on", "target_requirement_id": "REQ-003"
    }));
    world.ok("update_requirement", json!({ "requirement_id": "REQ-003", "title": "Keep tokens safe" }));
}

fn lines(part: &Value) -> Vec<String> {
    let line = |node: &Value| {
        let number = node["number"].as_str().unwrap_or("-");
        format!("{number} {}", node["reference_id"].as_str().unwrap_or_default())
    };
    part["data"].as_array().expect("nodes").iter().map(line).collect()
}

const ALL: [&str; 11] = [
    "1 EP-001",
    "1.1 US-002",
    "- AC-001",
    "1.1.1 REQ-002",
    "1.1.2 REQ-003",
    "1.2 US-003",
    "1.2.1 REQ-004",
    "2 EP-002",
    "2.1 US-001",
    "- AC-002",
    "2.1.1 REQ-001",
];

#[test]
fn a_specification_is_numbered_in_the_order_of_the_tree() {
    on_every_store(|world| {
        fill(world);
        let whole = world.ok("read_as_document", json!({}));
        assert_eq!(lines(&whole), ALL);
        assert_eq!((&whole["next"], &whole["within"]), (&Value::Null, &json!([])));
        assert_eq!(whole["data"][1]["state"], "done");
        let of_epic = world.ok("read_as_document", json!({ "epic": "EP-002" }));
        assert_eq!(lines(&of_epic), ALL[7..], "an epic keeps its number");
        let rest = world.ok("read_as_document", json!({ "from": "REQ-003", "limit": 500 }));
        assert_eq!(lines(&rest), ALL[4..]);
        let within = rest["within"].as_array().expect("a list");
        assert_eq!(within.iter().map(|node| &node["number"]).collect::<Vec<_>>(), ["1", "1.1"]);
        // What is deleted takes its number with it.
        world.ok("delete_entity", json!({ "reference": "US-002", "force": true }));
        let left = world.ok("read_as_document", json!({ "epic": "EP-001" }));
        assert_eq!(lines(&left), ["1 EP-001", "1.1 US-003", "1.1.1 REQ-004"]);
    });
}

#[test]
fn parts_of_any_size_put_together_are_the_whole() {
    on_every_store(|world| {
        fill(world);
        for limit in 1..=12 {
            let (mut found, mut arguments) = (Vec::new(), json!({ "limit": limit }));
            for _ in 0..20 {
                let part = world.ok("read_as_document", arguments.clone());
                let lines = lines(&part);
                assert!(!lines.is_empty() && lines.len() <= limit, "{limit}: {lines:?}");
                found.extend(lines);
                match part["next"].as_str() {
                    Some(next) => arguments["from"] = json!(next),
                    None => break,
                }
            }
            assert_eq!(found, ALL, "{limit} at a time");
        }
        // A part ends where an epic ends, or a story.
        assert_eq!(world.ok("read_as_document", json!({ "limit": 9 }))["next"], "EP-002");
        assert_eq!(world.ok("read_as_document", json!({ "limit": 6 }))["next"], "US-003");
    });
}

#[test]
fn many_stories_and_epics_are_read_in_several_statements() {
    on_every_store(|world| {
        let epics: Vec<Value> = (0..40)
            .map(|number| json!({ "operation": "create_epic", "arguments": { "title": format!("Epic {number}"), "priority": 1 } }))
            .collect();
        world.ok("bulk_update", json!({ "operations": epics }));
        let stories: Vec<Value> = (0..40)
            .map(|number| {
                json!({
                    "operation": "create_user_story",
                    "arguments": { "epic_id": "EP-020", "title": format!("Story {number}"), "priority": 1 }
                })
            })
            .collect();
        world.ok("bulk_update", json!({ "operations": stories }));
        let (mut found, mut from) = (Vec::new(), Value::Null);
        loop {
            let mut arguments = json!({ "limit": 7 });
            if from.is_string() {
                arguments["from"] = from;
            }
            let part = world.ok("read_as_document", arguments);
            found.extend(lines(&part));
            from = part["next"].clone();
            if from.is_null() {
                break;
            }
        }
        assert_eq!(found.len(), 80);
        assert_eq!((found[19].as_str(), found[59].as_str()), ("20 EP-020", "20.40 US-040"));
        assert_eq!(found[79], "40 EP-040");
    });
}

#[test]
fn wrong_questions_say_what_is_wrong() {
    on_every_store(|world| {
        fill(world);
        world.ok("create_project", json!({ "key": "ABC", "name": "Other" }));
        for (arguments, expected) in [
            (
                json!({ "project": "ABC", "epic": "EP-001" }),
                "VALIDATION_ERROR: epic: EP-001 is not in the project ABC",
            ),
            (
                json!({ "epic": "EP-002", "from": "US-002" }),
                "VALIDATION_ERROR: from: US-002 is in the epic EP-001",
            ),
            (
                json!({ "limit": 501 }),
                "VALIDATION_ERROR: limit: expected a whole number from 1 to 500, found 501",
            ),
        ] {
            assert_eq!(world.refused("read_as_document", arguments), expected);
        }
        assert_eq!(lines(&world.ok("read_as_document", json!({ "project": "ABC" }))), Vec::<String>::new());
        // A project that is closed tells strangers nothing.
        let ann = world.member("ann", "User");
        world.ok("update_project", json!({ "project": "DEFAULT", "access": "members" }));
        for arguments in [json!({}), json!({ "epic": "EP-001" }), json!({ "from": "REQ-001" })] {
            world.call_as(ann.clone(), "read_as_document", arguments).expect_err("hidden");
        }
        let stranger = Credentials::Local(Some("ann".to_owned()));
        world
            .call_as(stranger, "export", json!({ "format": "html", "project": "DEFAULT" }))
            .expect_err("hidden");
    });
}

/// The file without its style.
fn html(world: &World, arguments: Value) -> String {
    let file = export(world, arguments);
    let (head, rest) = file.split_once("<style>").expect("a style");
    let (_, rest) = rest.split_once("</style>").expect("the end of the style");
    format!("{head}{rest}")
}

#[test]
fn a_small_project_as_a_file() {
    let files = Mutex::new(Vec::new());
    on_every_store(|world| {
        fill(world);
        let file = html(world, json!({ "format": "html", "epic": "EP-002" }));
        let lines = file.replace("<section", "\n<section").replace("<tr", "\n<tr").replace("<div", "\n<div");
        files.lock().expect("a lock").push(lines);
    });
    let mut files = files.into_inner().expect("a lock");
    files.dedup();
    assert_eq!(files.len(), 1, "stores differ");
    expect![[r##"
        <!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"><meta name="referrer" content="no-referrer"><title>EP-002 Deliver</title></head><body><main class="specification">
        <div class="running" aria-hidden="true">EP-002 Deliver</div>
        <header class="front"><p class="lead">Default project</p><h1>Deliver</h1><p class="date">Last changed on <time datetime="2026-11-15">2026-11-15</time></p><table class="counts"><caption>Contents by status</caption><thead>
        <tr><th scope="col">Kind</th><th scope="col">Number</th><th scope="col">By status</th></tr></thead><tbody>
        <tr><th scope="row">Epics</th><td class="count">1</td><td>1 Backlog</td></tr>
        <tr><th scope="row">User stories</th><td class="count">1</td><td>1 Backlog</td></tr>
        <tr><th scope="row">Acceptance criteria</th><td class="count">1</td><td></td></tr>
        <tr><th scope="row">Requirements</th><td class="count">1</td><td>1 Draft</td></tr></tbody></table></header>
        <nav class="outline" aria-label="Contents"><h2>Contents</h2>
        <a class="outline-epic" href="#EP-002"><span class="number">2</span> Deliver</a><a class="outline-story" href="#US-001"><span class="number">2.1</span> Track</a></nav>

        <section class="epic" id="EP-002"><h2><span class="number">2</span> Deliver <a class="reference" href="#EP-002">EP-002</a></h2><p class="about"><span class="status"><i class="mark waiting" aria-hidden="true"></i> Backlog</span><span>Critical</span></p>
        <div class="prose"><p>What <em>for</em>.</p>
        </div></section>
        <section class="story" id="US-001"><h3><span class="number">2.1</span> Track <a class="reference" href="#US-001">US-001</a></h3><p class="about"><span class="status"><i class="mark waiting" aria-hidden="true"></i> Backlog</span><span>High</span></p></section>
        <div class="criteria"><p class="lead">Acceptance criteria</p><ul><li id="AC-002"><a class="reference" href="#AC-002">AC-002</a>
        <div>
        <div class="prose"><p>Given a cart, then it is paid.</p>
        </div></div></li></ul></div>
        <section class="requirement" id="REQ-001"><h4><span class="number">2.1.1</span> Send a link <a class="reference" href="#REQ-001">REQ-001</a></h4><p class="about"><span class="status"><i class="mark waiting" aria-hidden="true"></i> Draft</span><span>Functional</span><span>Critical</span></p>
        <div class="prose"><p>See <a href="#REQ-001" rel="noopener nofollow">REQ-001</a> and REQ-999.</p>
        </div></section></main></body></html>
    "##]].assert_eq(&files[0]);
}

#[test]
fn a_file_holds_what_readers_need_and_nothing_else() {
    on_every_store(|world| {
        fill(world);
        world.ok("add_comment", json!({ "reference": "REQ-001", "content": "Only among us." }));
        let file = html(world, json!({ "format": "html", "project": "DEFAULT" }));
        let sections: Vec<&str> =
            file.split(" id=\"").skip(1).filter_map(|rest| rest.split('"').next()).collect();
        let expected: Vec<&str> = ALL.iter().filter_map(|line| line.split(' ').nth(1)).collect();
        assert_eq!(sections, expected);
        assert_eq!(
            file,
            html(world, json!({ "format": "html", "project": "DEFAULT" })),
            "the same state gives the same bytes"
        );
        for wanted in [
            "<title>Default project</title>",
            "2 Backlog",
            "suspect: REQ-003 has changed",
            "href=\"#REQ-001\"",
            "REQ-999.",
            "What <em>for</em>.",
        ] {
            assert!(file.contains(wanted), "{wanted}:\n{file}");
        }
        assert!(!file.contains("Only among us") && !file.contains("href=\"#REQ-999\""), "{file}");
        let id = world.ok("get_entity", json!({ "reference": "REQ-001" }))["id"]
            .as_str()
            .expect("an id")
            .to_owned();
        assert!(!file.contains(&id), "a UUID");
        let refused = world.refused("export", json!({ "format": "html", "include_deleted": true }));
        assert_eq!(
            refused,
            "VALIDATION_ERROR: include_deleted: is not possible with html, which shows what there is now"
        );
        let all = html(world, json!({ "format": "html" }));
        assert!(all.contains("<h1>Default project</h1>"), "{all}");
    });
}

#[test]
fn hostile_texts_stay_text_in_a_file() {
    let hostile = "</style><script>alert(1)</script>\n\n<img src=x onerror=alert(1)>\n\n[x](javascript:alert(1)) [y](data:text/html,x) \
                   <a href=\"#\" onclick=\"x\">z</a> ![i](https://example.org/i.png) </main><!-- ]]>";
    on_every_store(|world| {
        world.ok(
            "update_project",
            json!({ "project": "DEFAULT", "name": "</title><script>1</script>", "description": hostile }),
        );
        world.ok("create_epic", json!({ "title": "\"><script>2</script>", "priority": 1, "description": hostile, "rationale": hostile }));
        world.ok("create_user_story", json!({ "epic_id": "EP-001", "title": "</h3><style>*{}</style>", "priority": 1, "description": hostile }));
        world.ok("create_acceptance_criteria", json!({ "user_story_id": "US-001", "description": hostile }));
        world.ok("create_requirement", json!({
            "user_story_id": "US-001", "title": "<b onclick=x>", "type_id": "Functional", "priority": 1, "description": hostile, "rationale": hostile
        }));
        for arguments in [json!({ "format": "html" }), json!({ "format": "html", "epic": "EP-001" })] {
            let file = html(world, arguments);
            let tags: Vec<&str> = file.split('<').skip(1).filter_map(|rest| rest.split('>').next()).collect();
            assert!(tags.len() > 50, "{file}");
            for tag in tags {
                let name = tag.trim_start_matches('/').split(' ').next().unwrap_or_default();
                assert!(!["script", "style", "img", "iframe", "b"].contains(&name), "<{tag}> in\n{file}");
                for bad in [" on", "javascript:", "data:", " style="] {
                    assert!(!tag.contains(bad), "<{tag}> in\n{file}");
                }
            }
            assert_eq!(file.matches("</main>").count(), 1, "{file}");
        }
    });
}
