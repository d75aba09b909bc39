//! Rights per project: who sees a project that has members, and what they may do in it.

use ops::Credentials;
use serde_json::{Value, json};

use crate::people::{outcome, token, user};
use crate::stores::{World, on_every_store};

const ROLES: [&str; 3] = ["Commenter", "User", "Administrator"];
const SCOPES: [&str; 5] = ["read", "comment", "write", "admin", "full_access"];

/// A project that only its members see, with something in it.
fn closed_project(world: &World) -> Value {
    world.ok("create_project", json!({ "key": "HID", "name": "Hidden", "access": "members" }));
    world.ok("create_epic", json!({ "title": "Secret plan", "priority": 2, "project": "HID" }))
}

/// Something that is done in the closed project: the operation, its arguments, the role and the scope that it needs.
fn samples(username: &str) -> [(&'static str, Value, usize, usize); 5] {
    [
        ("get_entity", json!({ "reference": "HID-EP-001" }), 0, 0),
        ("add_comment", json!({ "reference": "HID-EP-001", "content": "So be it" }), 0, 1),
        ("update_epic", json!({ "epic_id": "HID-EP-001", "priority": 2 }), 1, 2),
        ("delete_entity", json!({ "reference": "HID-EP-001", "dry_run": true }), 1, 2),
        ("set_project_member", json!({ "project": "HID", "user": username, "role": "Commenter" }), 2, 3),
    ]
}

/// [decisions 38] The role in the project counts, whatever the user is elsewhere; administrators are administrators in each.
#[test]
fn in_a_project_with_members_their_role_there_decides() {
    on_every_store(|world| {
        closed_project(world);
        user(world, "somebody", "Commenter");
        for (global, global_name) in ROLES.iter().enumerate() {
            for member in [None, Some(0), Some(1), Some(2)] {
                let name =
                    format!("{}-{}", global_name.to_lowercase(), member.map_or("none", |role| ROLES[role]));
                user(world, &name, global_name);
                if let Some(role) = member {
                    let role = ROLES[role];
                    world.ok("set_project_member", json!({ "project": "HID", "user": name, "role": role }));
                }
                let held = if global == 2 { Some(2) } else { member };
                for (scope, scope_name) in SCOPES.iter().enumerate() {
                    let shown = token(world, &name, &[scope_name]);
                    for (operation, arguments, role_needed, scope_needed) in samples("somebody") {
                        let expected = match held {
                            _ if scope < scope_needed => "FORBIDDEN",
                            None if role_needed > global => "FORBIDDEN",
                            None => "NOT_FOUND",
                            Some(role) if role < role_needed => "FORBIDDEN",
                            Some(_) => "ok",
                        };
                        let found = outcome(world.call_as(shown.clone(), operation, arguments));
                        assert_eq!(found, expected, "{operation} by {name} with {scope_name}");
                    }
                }
            }
        }
    });
}

#[test]
fn memberships_of_an_open_project_are_ignored() {
    on_every_store(|world| {
        closed_project(world);
        let (commenter, writer) = (world.member("carol", "Commenter"), world.member("walter", "User"));
        world.ok("set_project_member", json!({ "project": "HID", "user": "carol", "role": "User" }));
        let edit = json!({ "epic_id": "HID-EP-001", "title": "Better plan" });
        assert_eq!(outcome(world.call_as(commenter.clone(), "update_epic", edit.clone())), "ok");
        assert_eq!(outcome(world.call_as(writer.clone(), "update_epic", edit.clone())), "NOT_FOUND");

        world.ok("update_project", json!({ "project": "HID", "access": "open" }));
        assert_eq!(outcome(world.call_as(commenter.clone(), "update_epic", edit.clone())), "FORBIDDEN");
        assert_eq!(outcome(world.call_as(writer.clone(), "update_epic", edit.clone())), "ok");

        world.ok("update_project", json!({ "project": "HID", "access": "members" }));
        assert_eq!(outcome(world.call_as(commenter, "update_epic", edit.clone())), "ok");
        assert_eq!(outcome(world.call_as(writer, "update_epic", edit)), "NOT_FOUND");
    });
}

#[test]
fn an_administrator_of_a_project_manages_its_members_and_nothing_else() {
    on_every_store(|world| {
        closed_project(world);
        world.ok("create_project", json!({ "key": "OTH", "name": "Other", "access": "members" }));
        let head = world.member("head", "Commenter");
        world.member("new", "Commenter");
        world.ok("set_project_member", json!({ "project": "HID", "user": "head", "role": "Administrator" }));
        let call = |operation, arguments| outcome(world.call_as(head.clone(), operation, arguments));
        let add = |project| json!({ "project": project, "user": "new", "role": "User" });
        assert_eq!(call("set_project_member", add("HID")), "ok");
        assert_eq!(call("set_project_member", add("OTH")), "NOT_FOUND");
        // Of an open project, members are managed by administrators of everything.
        assert_eq!(call("set_project_member", add("DEFAULT")), "FORBIDDEN");
        assert_eq!(call("remove_project_member", json!({ "project": "HID", "user": "new" })), "ok");
        assert_eq!(call("remove_project_member", json!({ "project": "HID", "user": "new" })), "NOT_FOUND");
        assert_eq!(call("update_project", json!({ "project": "HID", "access": "open" })), "FORBIDDEN");
        assert_eq!(call("create_project", json!({ "key": "NEW", "name": "New" })), "FORBIDDEN");
        assert_eq!(call("list_users", json!({})), "FORBIDDEN");
        assert_eq!(call("list_audit", json!({})), "FORBIDDEN");
        assert_eq!(call("purge_entity", json!({ "reference": "HID-EP-001" })), "FORBIDDEN");
    });
}

#[test]
fn a_token_reaches_only_the_projects_that_it_is_narrowed_to() {
    on_every_store(|world| {
        closed_project(world);
        world.ok("create_project", json!({ "key": "VIS", "name": "Visible" }));
        world.ok("create_epic", json!({ "title": "Plain plan", "priority": 2, "project": "VIS" }));
        world.ok("create_epic", json!({ "title": "Default plan", "priority": 2 }));
        let made = world.ok(
            "create_token",
            json!({ "name": "narrow", "scopes": ["full_access"], "projects": ["vis", "HID", "VIS"] }),
        );
        assert_eq!(made["projects"], json!(["HID", "VIS"]));
        let shown = Credentials::Bearer(made["token"].as_str().expect("a secret").to_owned());
        let call = |operation, arguments| world.call_as(shown.clone(), operation, arguments);
        let epics = call("list_entities", json!({ "kind": "epic" })).expect("a list");
        assert_eq!(references(&epics), ["HID-EP-001", "VIS-EP-001"]);
        assert_eq!(epics["total_count"], 2);
        assert_eq!(outcome(call("get_entity", json!({ "reference": "EP-001" }))), "NOT_FOUND");
        assert_eq!(outcome(call("update_epic", json!({ "epic_id": "HID-EP-001", "priority": 1 }))), "ok");
        // Otherwise it could make itself another one that reaches everything.
        for (operation, arguments) in [
            ("create_token", json!({ "name": "wide" })),
            ("update_token", json!({ "token_id": "narrow", "projects": null })),
            ("create_user", json!({ "username": "more", "email": "more@example.org", "role": "User" })),
            ("create_project", json!({ "key": "NEW", "name": "New" })),
        ] {
            assert_eq!(outcome(call(operation, arguments)), "FORBIDDEN", "{operation}");
        }
        let session = call("login", json!({ "token": made["token"] })).expect("a session");
        let in_session = Credentials::Bearer(session["session"].as_str().expect("a secret").to_owned());
        let outcome_in_session = world.call_as(in_session, "get_entity", json!({ "reference": "EP-001" }));
        assert_eq!(outcome(outcome_in_session), "NOT_FOUND");

        world.ok("update_token", json!({ "token_id": "narrow", "projects": ["VIS"] }));
        assert_eq!(references(&call("list_entities", json!({ "kind": "epic" })).unwrap()), ["VIS-EP-001"]);
        world.ok("update_token", json!({ "token_id": "narrow", "projects": null }));
        assert_eq!(call("list_entities", json!({ "kind": "epic" })).unwrap()["total_count"], 3);
        assert!(
            world.refused("create_token", json!({ "name": "none", "projects": [] })).contains("projects")
        );
    });
}

/// [decisions 38] Visibility is decided before an idempotent replay.
#[test]
fn an_answer_is_not_replayed_to_who_no_longer_sees_its_project() {
    on_every_store(|world| {
        closed_project(world);
        let writer = world.member("walter", "User");
        world.ok("set_project_member", json!({ "project": "HID", "user": "walter", "role": "User" }));
        let edit = json!({ "epic_id": "HID-EP-001", "title": "Better plan" });
        let list = json!({ "operations": [{ "operation": "update_epic", "arguments": edit }] });
        for (operation, arguments) in [("update_epic", edit), ("bulk_update", list)] {
            let call = || world.reply(writer.clone(), operation, arguments.clone(), Some("again"));
            assert!(call().result.is_ok());
            assert!(call().replayed);
            world.ok("remove_project_member", json!({ "project": "HID", "user": "walter" }));
            let refused = call().result.expect_err("a refusal");
            assert_eq!(refused.kind.code(), "NOT_FOUND");
            assert!(!format!("{refused:?}").contains("plan"), "{refused:?}");
            world
                .ok("set_project_member", json!({ "project": "HID", "user": "walter", "role": "Commenter" }));
            assert_eq!(outcome(call().result.map(|_| Value::Null)), "FORBIDDEN");
            world.ok("set_project_member", json!({ "project": "HID", "user": "walter", "role": "User" }));
            assert!(call().replayed);
        }
    });
}

#[test]
fn everything_is_open_until_somebody_closes_it() {
    on_every_store(|world| {
        let reader = world.member("carol", "Commenter");
        world.ok("create_project", json!({ "key": "ABC", "name": "Open" }));
        let projects = world.call_as(reader, "list_projects", json!({})).expect("a list");
        let access: Vec<&Value> =
            projects["data"].as_array().expect("a list").iter().map(|project| &project["access"]).collect();
        assert_eq!(access, ["open", "open"]);
    });
}

/// The reference ids of a list.
fn references(list: &Value) -> Vec<&str> {
    let data = list["data"].as_array().expect("a list");
    data.iter().filter_map(|entity| entity["reference_id"].as_str()).collect()
}
