//! Reports: how far the work is, what the tree lacks, and what a change touches.

use serde_json::{Value, json};

use crate::stores::{World, on_every_store};

#[test]
fn a_status_report_counts_by_whatever_is_asked_for() {
    on_every_store(|world| {
        plan(world);
        let report = world.ok("status_report", json!({}));
        assert_eq!(
            lines(&report["kinds"], |kind| format!(
                "{} total={} not_begun={} done={}={}% unassigned={} {}",
                kind["kind"],
                kind["total"],
                kind["not_begun"],
                kind["done"],
                kind["done_percent"],
                kind["unassigned"],
                groups(kind)
            )),
            [
                r#""epic" total=3 not_begun=3 done=0=0% unassigned=0 Backlog:3"#,
                r#""user_story" total=3 not_begun=1 done=1=33% unassigned=1 Backlog:1 In Progress:1 Done:1"#,
                r#""acceptance_criteria" total=1 not_begun=null done=null=null% unassigned=null "#,
                r#""requirement" total=3 not_begun=2 done=0=0% unassigned=0 Draft:2 Active:1"#,
            ]
        );
        assert_eq!(report["total"], 10);
        assert_eq!(
            lines(&report["oldest_in_progress"], |found| found["reference_id"].to_string()),
            [r#""US-002""#]
        );

        let by = |group_by: &str, kind: usize| {
            groups(&world.ok("status_report", json!({ "group_by": group_by }))["kinds"][kind])
        };
        assert_eq!(by("priority", 1), "1:2 3:1");
        assert_eq!(by("type", 3), "Data:1 Functional:2");
        assert_eq!(by("type", 0), "");
        assert_eq!(by("assignee", 1), "admin:2 null:1");

        let of_epic = world.ok("status_report", json!({ "epic_id": "EP-001" }));
        assert_eq!(
            (&of_epic["total"], &of_epic["epic"], &of_epic["project"]),
            (&json!(8), &json!("EP-001"), &json!("DEFAULT"))
        );
        let of_project = world.ok("status_report", json!({ "project": "abc" }));
        assert_eq!((&of_project["total"], &of_project["project"]), (&json!(1), &json!("ABC")));
        assert_eq!(
            world.refused("status_report", json!({ "epic_id": "EP-001", "project": "ABC" })),
            "VALIDATION_ERROR: epic_id: EP-001 is not in the project ABC"
        );
        assert_eq!(
            world.refused("status_report", json!({ "group_by": "colour" })),
            "VALIDATION_ERROR: group_by: expected one of status, priority, type, assignee, found \"colour\""
        );
        world.ok("delete_entity", json!({ "reference": "EP-001", "force": true }));
        assert_eq!(world.ok("status_report", json!({}))["total"], 2);
    });
}

#[test]
fn what_was_cancelled_or_is_obsolete_is_not_done() {
    on_every_store(|world| {
        plan(world);
        world.ok("update_epic", json!({ "epic_id": "EP-002", "status": "cancelled" }));
        world.ok("update_user_story", json!({ "user_story_id": "US-001", "status": "cancelled" }));
        world.ok("update_requirement", json!({ "requirement_id": "REQ-003", "status": "obsolete" }));
        let counted = |report: &Value| {
            lines(&report["kinds"], |kind| {
                let numbers = ["total", "done", "cancelled", "obsolete", "done_percent"];
                format!("{} {}", kind["kind"], numbers.map(|name| kind[name].to_string()).join(" "))
            })
        };
        assert_eq!(
            counted(&world.ok("status_report", json!({}))),
            [
                r#""epic" 3 0 1 0 0"#,
                r#""user_story" 3 1 1 0 50"#,
                r#""acceptance_criteria" 1 null null null null"#,
                r#""requirement" 3 0 0 1 0"#,
            ]
        );
        let of_epic = counted(&world.ok("status_report", json!({ "epic_id": "EP-001" })));
        assert_eq!(of_epic[1], r#""user_story" 3 1 1 0 50"#);
        let of_cancelled = counted(&world.ok("status_report", json!({ "epic_id": "EP-002" })));
        assert_eq!(of_cancelled[0], r#""epic" 1 0 1 0 null"#, "there is nothing that could be done");
    });
}

#[test]
fn stories_that_are_done_over_drafts_are_pointed_out() {
    on_every_store(|world| {
        plan(world);
        world.ok("update_user_story", json!({ "user_story_id": "US-001", "status": "done" }));
        world.ok("update_user_story", json!({ "user_story_id": "US-002", "status": "cancelled" }));
        let early = |arguments: Value| {
            let mut report = world.ok("status_report", arguments);
            report["stories_done_over_drafts"].take()
        };
        let expected = json!({ "total_count": 1, "data": [
            { "reference_id": "US-001", "title": "Pay", "status": "Done", "draft_requirements": 1 }
        ] });
        assert_eq!(early(json!({})), expected);
        assert_eq!(early(json!({ "epic_id": "EP-001" })), expected);
        let none = json!({ "total_count": 0, "data": [] });
        assert_eq!(early(json!({ "epic_id": "EP-002" })), none);
        assert_eq!(early(json!({ "project": "ABC" })), none);
        world.ok("update_requirement", json!({ "requirement_id": "REQ-002", "status": "active" }));
        assert_eq!(early(json!({})), none);
        for number in 0..25 {
            let story = json!({ "epic_id": "EP-001", "title": format!("Story {number}"), "priority": 1 });
            let story = world.ok("create_user_story", story)["reference_id"].as_str().unwrap().to_owned();
            requirement(world, &story, "Draft", "Data");
            world.ok("update_user_story", json!({ "user_story_id": story, "status": "done" }));
        }
        let many = early(json!({}));
        assert_eq!((&many["total_count"], many["data"].as_array().map(Vec::len)), (&json!(25), Some(20)));
    });
}

#[test]
fn an_analysis_of_the_tree_names_what_is_missing() {
    on_every_store(|world| {
        plan(world);
        let analysis = world.ok("hierarchy_analysis", json!({}));
        assert_eq!(
            analysis["totals"],
            json!({ "epics": 3, "user_stories": 3, "acceptance_criteria": 1, "requirements": 3 })
        );
        assert_eq!(
            lines(&analysis["epics"], |epic| format!(
                "{} {}/{}/{} {}",
                epic["reference_id"],
                epic["n_user_stories"],
                epic["n_acceptance_criteria"],
                epic["n_requirements"],
                lines(&epic["user_stories"], |story| format!(
                    "{}:{}/{}",
                    story["reference_id"], story["n_acceptance_criteria"], story["n_requirements"]
                ))
                .join(" ")
            )),
            [
                r#""ABC-EP-001" 0/0/0 "#,
                r#""EP-001" 3/1/3 "US-001":1/2 "US-002":0/1 "US-003":0/0"#,
                r#""EP-002" 0/0/0 "#,
            ]
        );
        let missing = |name: &str| {
            let found = lines(&analysis[name]["data"], |found| {
                found["reference_id"].as_str().unwrap_or("?").to_owned()
            });
            assert_eq!(analysis[name]["total_count"], found.len());
            found.join(" ")
        };
        assert_eq!(missing("epics_without_stories"), "ABC-EP-001 EP-002");
        assert_eq!(missing("stories_without_criteria"), "US-002 US-003");
        assert_eq!(missing("stories_without_requirements"), "US-003");
        assert_eq!(missing("criteria_without_requirements"), "");
        assert_eq!(missing("requirements_without_criterion"), "REQ-002 REQ-003");

        let of_epic = world.ok("hierarchy_analysis", json!({ "epic_id": "EP-002" }));
        assert_eq!(of_epic["totals"]["epics"], 1);
        assert_eq!(of_epic["stories_without_criteria"]["total_count"], 0);
        assert_eq!(of_epic["epics_without_stories"]["data"][0]["reference_id"], "EP-002");
        let second = world.ok("hierarchy_analysis", json!({ "limit": 1, "offset": 1 }));
        assert_eq!(second["epics"][0]["reference_id"], "EP-001");
        assert_eq!(second["epics"][0]["user_stories"].as_array().map(Vec::len), Some(3));
        world.ok("delete_entity", json!({ "reference": "REQ-001" }));
        let after = world.ok("hierarchy_analysis", json!({ "epic_id": "EP-001" }));
        assert_eq!(after["criteria_without_requirements"]["data"][0]["reference_id"], "AC-001");
        assert_eq!(after["epics"][0]["n_requirements"], 2);
        world.ok("delete_entity", json!({ "reference": "REQ-002" }));
        let after = world.ok("hierarchy_analysis", json!({ "epic_id": "EP-001" }));
        assert_eq!(after["stories_without_requirements"]["data"][0]["reference_id"], "US-001");
        assert_eq!(after["stories_without_requirements"]["total_count"], 2);
    });
}

#[test]
fn lists_of_what_is_missing_are_bounded_and_say_how_many_there_are() {
    on_every_store(|world| {
        for number in 0..60 {
            world.ok("create_epic", json!({ "title": format!("Epic {number}"), "priority": 1 }));
        }
        let analysis = world.ok("hierarchy_analysis", json!({}));
        assert_eq!(analysis["epics_without_stories"]["total_count"], 60);
        assert_eq!(analysis["epics_without_stories"]["data"].as_array().map(Vec::len), Some(50));
        assert_eq!(analysis["epics"].as_array().map(Vec::len), Some(50));
    });
}

#[test]
fn a_change_touches_what_rests_on_it() {
    on_every_store(|world| {
        plan(world);
        for number in 4..=8 {
            requirement(world, "US-002", &format!("Requirement {number}"), "Functional");
        }
        // REQ-002 → REQ-001 ← REQ-003 and so on: what depends on, derives from and is blocked by is touched.
        for (source, kind, target) in [
            ("REQ-002", "depends_on", "REQ-001"),
            ("REQ-003", "derives_from", "REQ-002"),
            ("REQ-003", "blocks", "REQ-004"),
            ("REQ-001", "relates_to", "REQ-005"),
            ("REQ-006", "conflicts_with", "REQ-001"),
            ("REQ-007", "relates_to", "REQ-002"),
            ("REQ-006", "relates_to", "REQ-008"),
            ("REQ-001", "depends_on", "REQ-008"),
        ] {
            relate(world, source, kind, target);
        }
        let impact = world.ok("impact_analysis", json!({ "reference": "REQ-001" }));
        assert_eq!(
            hits(&impact),
            [
                "1 REQ-002 depends_on REQ-001 (REQ-001 REQ-002)",
                "1 REQ-001 relates_to REQ-005 (REQ-001 REQ-005)",
                "1 REQ-006 conflicts_with REQ-001 (REQ-001 REQ-006)",
                "2 REQ-003 derives_from REQ-002 (REQ-001 REQ-002 REQ-003)",
                "3 REQ-003 blocks REQ-004 (REQ-001 REQ-002 REQ-003 REQ-004)",
            ]
        );
        assert_eq!(impact["counts"], json!({ "requirement": 5 }));
        assert_eq!(impact["truncated"], false);
        let blocked = world.ok("impact_analysis", json!({ "reference": "REQ-004" }));
        assert_eq!(hits(&blocked), Vec::<String>::new(), "what is blocked does not touch what blocks it");
        let near = world.ok("impact_analysis", json!({ "reference": "REQ-001", "depth": 1 }));
        assert_eq!(hits(&near).len(), 3);
        assert_eq!(
            world.refused("impact_analysis", json!({ "reference": "REQ-001", "depth": 11 })),
            "VALIDATION_ERROR: depth: expected a whole number from 1 to 10, found 11"
        );

        assert_eq!(impact["suspect_links"], json!([]));
        world.ok("update_requirement", json!({ "requirement_id": "REQ-001", "description": "New text" }));
        let changed = world.ok("impact_analysis", json!({ "reference": "REQ-001" }));
        let suspects = world.ok("list_suspect_links", json!({}));
        let mut expected = lines(&suspects["data"], |link| link["id"].as_str().unwrap_or("?").to_owned());
        expected.sort_unstable();
        assert_eq!(expected.len(), 2);
        assert_eq!(changed["suspect_links"], json!(expected));
        assert_eq!(changed["affected"][0]["suspect"], true);
        assert_eq!(changed["affected"][1].get("suspect"), None);

        world.ok("delete_entity", json!({ "reference": "REQ-003", "force": true }));
        let shorter = world.ok("impact_analysis", json!({ "reference": "REQ-001", "depth": 10 }));
        assert_eq!(hits(&shorter).len(), 3);
        assert!(world.refused("impact_analysis", json!({ "reference": "REQ-003" })).starts_with("NOT_FOUND"));
    });
}

#[test]
fn a_change_touches_what_is_below_it() {
    on_every_store(|world| {
        plan(world);
        relate(world, "REQ-003", "depends_on", "REQ-002");
        world.ok("create_steering_document", json!({ "title": "Rules" }));
        world.ok("link_steering_document", json!({ "epic_id": "EP-001", "steering_document_id": "STD-001" }));
        let of = |reference: &str, depth: i64| {
            hits(&world.ok("impact_analysis", json!({ "reference": reference, "depth": depth })))
        };
        assert_eq!(of("STD-001", 1), ["1 EP-001 steered_by STD-001 (STD-001 EP-001)"]);
        assert_eq!(of("AC-001", 3), ["1 REQ-001 serves AC-001 (AC-001 REQ-001)"]);
        assert_eq!(
            of("US-001", 3),
            [
                "1 AC-001 belongs_to US-001 (US-001 AC-001)",
                "1 REQ-001 belongs_to US-001 (US-001 REQ-001)",
                "1 REQ-002 belongs_to US-001 (US-001 REQ-002)",
                "2 REQ-003 depends_on REQ-002 (US-001 REQ-002 REQ-003)",
            ]
        );
        let all = world.ok("impact_analysis", json!({ "reference": "STD-001" }));
        assert_eq!(
            all["counts"],
            json!({ "acceptance_criteria": 1, "epic": 1, "requirement": 3, "user_story": 3 })
        );
        assert_eq!(of("EP-002", 10), Vec::<String>::new());
    });
}

#[test]
fn what_a_change_is_for_is_named_beside_what_it_touches() {
    on_every_store(|world| {
        plan(world);
        let above = |reference: &str| {
            let impact = world.ok("impact_analysis", json!({ "reference": reference, "depth": 1 }));
            lines(&impact["above"], line)
        };
        assert_eq!(
            above("REQ-001"),
            [
                "1 REQ-001 serves AC-001 (REQ-001 AC-001)",
                "1 REQ-001 belongs_to US-001 (REQ-001 US-001)",
                "2 US-001 belongs_to EP-001 (REQ-001 US-001 EP-001)",
            ]
        );
        assert_eq!(above("REQ-002").len(), 2, "it serves no criterion");
        assert_eq!(
            above("AC-001"),
            [
                "1 AC-001 belongs_to US-001 (AC-001 US-001)",
                "2 US-001 belongs_to EP-001 (AC-001 US-001 EP-001)"
            ]
        );
        let epic = world.ok("impact_analysis", json!({ "reference": "EP-001" }));
        assert_eq!(epic.get("above"), None);
    });
}

#[test]
fn what_a_change_touches_is_bounded() {
    on_every_store(|world| {
        world.ok("create_epic", json!({ "title": "Epic", "priority": 1 }));
        world.ok("create_user_story", json!({ "epic_id": "EP-001", "title": "Story", "priority": 1 }));
        for number in 0..1_000 {
            requirement(world, "US-001", &format!("Requirement {number}"), "Data");
        }
        let exactly = world.ok("impact_analysis", json!({ "reference": "US-001" }));
        assert_eq!((hits(&exactly).len(), &exactly["truncated"]), (1_000, &json!(false)));
        let more = world.ok("impact_analysis", json!({ "reference": "EP-001" }));
        assert_eq!((hits(&more).len(), &more["truncated"]), (1_000, &json!(true)));
    });
}

/// EP-001 with US-001 (a criterion, two requirements), US-002 (a requirement) and US-003 (nothing); EP-002 and ABC-EP-001
/// with nothing.
fn plan(world: &World) {
    world.ok("create_project", json!({ "key": "ABC", "name": "Other" }));
    world.ok("create_epic", json!({ "title": "Checkout", "priority": 1 }));
    world.ok("create_epic", json!({ "title": "Empty", "priority": 4 }));
    world.ok("create_epic", json!({ "title": "Elsewhere", "priority": 2, "project": "ABC" }));
    for (title, priority) in [("Pay", 1), ("Refund", 1), ("Thank", 3)] {
        world.ok("create_user_story", json!({ "epic_id": "EP-001", "title": title, "priority": priority }));
    }
    world.ok("update_user_story", json!({ "user_story_id": "US-002", "status": "in progress" }));
    world
        .ok("update_user_story", json!({ "user_story_id": "US-003", "status": "done", "assignee_id": null }));
    world.ok(
        "create_acceptance_criteria",
        json!({ "user_story_id": "US-001", "description": "A receipt is sent" }),
    );
    requirement(world, "US-001", "Charge", "Functional");
    requirement(world, "US-001", "Keep", "Data");
    requirement(world, "US-002", "Return", "Functional");
    world.ok(
        "update_requirement",
        json!({ "requirement_id": "REQ-001", "acceptance_criteria_id": "AC-001", "status": "active" }),
    );
}

fn requirement(world: &World, story: &str, title: &str, kind: &str) -> Value {
    world.ok(
        "create_requirement",
        json!({ "user_story_id": story, "title": title, "type_id": kind, "priority": 2 }),
    )
}

fn relate(world: &World, source: &str, kind: &str, target: &str) {
    world.ok(
        "create_relationship",
        json!({ "source_requirement_id": source, "relationship_type_id": kind, "target_requirement_id": target }),
    );
}

fn hits(impact: &Value) -> Vec<String> {
    lines(&impact["affected"], line)
}

fn line(hit: &Value) -> String {
    let way = lines(&hit["way"], |step| step.as_str().unwrap_or("?").to_owned()).join(" ");
    format!("{} {} ({way})", hit["depth"], hit["because"].as_str().unwrap_or("?"))
}

fn groups(kind: &Value) -> String {
    lines(&kind["groups"], |group| format!("{}:{}", group["name"].as_str().unwrap_or("null"), group["count"]))
        .join(" ")
}

fn lines(list: &Value, line: impl Fn(&Value) -> String) -> Vec<String> {
    list.as_array().into_iter().flatten().map(line).collect()
}
