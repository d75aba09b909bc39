//! What a change has consequences for: suspect links with what changed, and which requirements are covered.

use ops::Credentials;
use serde_json::{Value, json};

use crate::stores::{World, on_every_store};

/// An epic with a story, two criteria and four requirements: the second and the third rest on the first.
fn plan(world: &World) {
    world.ok("create_epic", json!({"title": "Checkout", "priority": 1}));
    world.ok("create_user_story", json!({"epic_id": "EP-001", "title": "Pay by card", "priority": 1}));
    for text in ["Given a card, the number is masked.", "Given no card, nothing is shown."] {
        world.ok("create_acceptance_criteria", json!({"user_story_id": "US-001", "description": text}));
    }
    for title in ["Mask cards", "Keep tokens", "Log nothing", "=Stand alone"] {
        let fields =
            json!({"user_story_id": "US-001", "title": title, "type_id": "Functional", "priority": 2});
        world.ok("create_requirement", fields);
    }
    world.ok("update_requirement", json!({"requirement_id": "REQ-001", "acceptance_criteria_id": "AC-002"}));
    relate(world, "REQ-002", "depends_on", "REQ-001");
    relate(world, "REQ-003", "derives_from", "REQ-001");
}

fn relate(world: &World, source: &str, relation: &str, target: &str) {
    let link = json!({"source_requirement_id": source, "relationship_type_id": relation, "target_requirement_id": target});
    world.ok("create_relationship", link);
}

fn change(world: &World, fields: &Value) {
    let mut arguments = json!({"requirement_id": "REQ-001"});
    arguments.as_object_mut().expect("an object").extend(fields.as_object().expect("an object").clone());
    world.pass_seconds(1);
    world.ok("update_requirement", arguments);
}

#[test]
fn a_suspect_link_says_what_changed_since_it_was_confirmed() {
    on_every_store(|world| {
        plan(world);
        change(world, &json!({"description": "Show four digits."}));
        let list = |arguments: Value| world.ok("list_suspect_links", arguments);
        let confirmed = list(json!({}))["data"][0].clone();
        world.ok("clear_suspect_link", json!({"id": confirmed["id"]}));
        change(world, &json!({"title": "Mask all cards", "description": "Show two digits.", "priority": 1}));
        change(world, &json!({"description": "Show no digit."}));
        let page = list(json!({"project": "default", "details": true}));
        assert_eq!(page["total_count"], 2);
        let changes = |source: &str| {
            let links = page["data"].as_array().expect("a list").iter();
            links.clone().find(|link| link["source"] == source).expect("a link")["changes"].clone()
        };
        let other = if confirmed["source"] == "REQ-002" { "REQ-003" } else { "REQ-002" };
        // Each is compared with what it was confirmed against, whatever was said in between.
        assert_eq!(
            changes(confirmed["source"].as_str().expect("a source")),
            json!({"title": ["Mask cards", "Mask all cards"], "description": ["Show four digits.", "Show no digit."]})
        );
        assert_eq!(
            changes(other),
            json!({"title": ["Mask cards", "Mask all cards"], "description": [null, "Show no digit."]})
        );
        let first = &page["data"][0];
        assert_eq!(first["target_says"]["title"], "Mask all cards");
        assert!(
            ["Keep tokens", "Log nothing"]
                .contains(&first["source_says"]["title"].as_str().expect("a title"))
        );
        assert!(first["suspect_since"].is_string(), "{first}");
        // Without details there are none; a page goes on where the last one ended, though links were confirmed meanwhile.
        let short = list(json!({"limit": 1}));
        assert!(
            short["data"][0].get("changes").is_none() && short["data"][0].get("source_says").is_none(),
            "{short}"
        );
        world.ok("clear_suspect_link", json!({"id": short["data"][0]["id"]}));
        let rest = list(json!({"limit": 1, "cursor": short["next_cursor"]}));
        assert_eq!(rest["data"].as_array().map(Vec::len), Some(1), "{rest}");
        assert_eq!(list(json!({"details": true, "limit": 100}))["limit"], 20);
    });
}

fn rows(matrix: &Value) -> Vec<String> {
    let row = |row: &Value| {
        let covers = row["covered_by"].as_array().expect("covers").iter();
        let covers: Vec<String> = covers
            .map(|cover| {
                let back = if cover["backwards"] == true { "←" } else { "" };
                format!("{} {back}{}", cover["column"], cover["reference_id"]).replace('"', "")
            })
            .collect();
        let gap = if row["gap"] == true { " gap" } else { "" };
        format!("{}{gap}: {}", row["reference_id"].as_str().expect("a reference"), covers.join(", "))
    };
    matrix["data"].as_array().expect("rows").iter().map(row).collect()
}

#[test]
fn a_matrix_shows_what_covers_requirements_and_what_nothing_covers() {
    on_every_store(|world| {
        plan(world);
        let matrix = |arguments: &Value| {
            let mut all = json!({"project": "DEFAULT"});
            all.as_object_mut().expect("an object").extend(arguments.as_object().expect("an object").clone());
            world.ok("get_matrix", all)
        };
        let criteria = matrix(&json!({}));
        assert_eq!(
            rows(&criteria),
            ["REQ-001: AC-002 AC-002", "REQ-002 gap: ", "REQ-003 gap: ", "REQ-004 gap: "]
        );
        let columns: Vec<&str> = criteria["columns"]
            .as_array()
            .expect("columns")
            .iter()
            .map(|one| one["name"].as_str().expect("a name"))
            .collect();
        assert_eq!(columns, ["AC-001", "AC-002"]);
        let relations = matrix(&json!({"against": "relations"}));
        assert_eq!(
            rows(&relations),
            [
                "REQ-001: depends_on ←REQ-002, derives_from ←REQ-003",
                "REQ-002: depends_on REQ-001",
                "REQ-003: derives_from REQ-001",
                "REQ-004 gap: "
            ]
        );
        let gaps = matrix(&json!({"only_gaps": true, "limit": 2}));
        assert_eq!(rows(&gaps), ["REQ-002 gap: ", "REQ-003 gap: "]);
        assert_eq!(gaps["total_count"], 3);
        let rest = matrix(&json!({"only_gaps": true, "limit": 2, "cursor": gaps["next_cursor"]}));
        assert_eq!(rows(&rest), ["REQ-004 gap: "]);
        assert!(rest.get("next_cursor").is_none(), "{rest}");
        let alone = matrix(&json!({"against": "relations", "only_gaps": true}));
        assert_eq!((rows(&alone), &alone["total_count"]), (vec!["REQ-004 gap: ".to_owned()], &json!(1)));
        // What is deleted covers nothing.
        let link =
            world.ok("list_relationships", json!({"requirement_id": "REQ-003"}))["data"][0]["id"].clone();
        world.ok("delete_relationship", json!({"id": link}));
        assert_eq!(matrix(&json!({"against": "relations", "only_gaps": true}))["total_count"], 2);
    });
}

#[test]
fn a_matrix_is_a_file_for_spreadsheets() {
    on_every_store(|world| {
        plan(world);
        let file =
            |against: &str| world.ok("export_matrix", json!({"project": "default", "against": against}));
        let criteria = file("criteria");
        assert_eq!(
            (&criteria["file_name"], &criteria["format"]),
            (&json!("DEFAULT-matrix-criteria.csv"), &json!("csv"))
        );
        assert_eq!(
            criteria["content"].as_str().expect("a text"),
            "\u{feff}requirement,title,status,user_story,gap,criterion,code,tests,verified\n\
             REQ-001,Mask cards,Draft,US-001,,AC-002,,,\nREQ-002,Keep tokens,Draft,US-001,yes,,,,\n\
             REQ-003,Log nothing,Draft,US-001,yes,,,,\nREQ-004,'=Stand alone,Draft,US-001,yes,,,,\n"
        );
        let relations = file("relations");
        let relations = relations["content"].as_str().expect("a text");
        assert!(
            relations.contains("\nREQ-001,Mask cards,Draft,US-001,,REQ-002 (from there),"),
            "{relations}"
        );
    });
}

/// [spec rights] Nobody learns from these that a project exists which they do not see.
#[test]
fn a_closed_project_is_not_revealed() {
    on_every_store(|world| {
        plan(world);
        change(world, &json!({"description": "Other words."}));
        world.member("ann", "User");
        world.ok("update_project", json!({"project": "DEFAULT", "access": "members"}));
        let ann = || Credentials::Local(Some("ann".to_owned()));
        let asked = |name: &str, arguments: Value| world.call_as(ann(), name, arguments);
        // It is refused in the words for what does not exist.
        let refused = |name: &str, argument: &str, value: &str| {
            let error = asked(name, json!({ argument: value })).expect_err(name);
            format!("{}: {}", error.kind.code(), error.message.replace(value, "it"))
        };
        for name in ["get_matrix", "export_matrix", "list_suspect_links"] {
            assert_eq!(refused(name, "project", "DEFAULT"), refused(name, "project", "NOPE"));
        }
        let impact = |reference: &str| refused("impact_analysis", "reference", reference);
        assert_eq!(impact("REQ-001"), impact("REQ-999"));
        let all = asked("list_suspect_links", json!({"details": true})).expect("a list");
        assert_eq!((&all["data"], &all["total_count"]), (&json!([]), &json!(0)));
    });
}
