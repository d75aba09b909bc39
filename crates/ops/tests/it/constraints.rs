//! What the database itself refuses, whatever a program writes into it.

use serde_json::json;
use store::{ErrorKind, Mode};

use crate::stores::{World, on_every_store};

/// Statements that must fail, and why. `{…}` stands for an id that exists.
const REFUSED: &[(&str, &str)] = &[
    // A wrong parent.
    ("a story without an epic", "insert into entity {head} values ({story_of}, null, null, {rest})"),
    ("a story in a story", "insert into entity {head} values ({story_of}, {story}, 'user_story', {rest})"),
    ("a story in a requirement that says it is an epic", "insert into entity {head} values ({story_of}, {requirement}, 'epic', {rest})"),
    ("an epic in an epic", "insert into entity {head} values ({epic_of}, {epic}, 'epic', {rest})"),
    ("a story in the epic of another project", "insert into entity {head} values ({story_of}, {other_epic}, 'epic', {rest})"),
    ("a story in nothing", "insert into entity {head} values ({story_of}, 'nothing', 'epic', {rest})"),
    ("a story in a deleted epic", "insert into entity {head} values ({story_of}, {gone_epic}, 'epic', {rest})"),
    ("a story moved to a requirement", "update entity set parent_id = {requirement} where id = {story}"),
    ("a story moved to another project", "update entity set parent_id = {other_epic} where id = {story}"),
    ("a requirement that serves another story's criterion", "update entity set criterion_id = {other_criterion} where id = {requirement}"),
    ("a story that serves a criterion", "update entity set criterion_id = {criterion} where id = {story}"),
    ("an epic that goes and leaves its stories", "update entity set deleted_at = 1, deletion_id = {deletion} where id = {epic}"),
    ("an epic that vanishes and leaves its stories", "delete from entity where id = {epic}"),
    ("a criterion that goes and leaves its requirements", "update entity set deleted_at = 1, deletion_id = {deletion} where id = {criterion}"),
    // Wrong fields.
    ("an unknown kind", "update entity set kind = 'saga' where id = {other_epic}"),
    ("a kind without its parent", "update entity set kind = 'requirement' where id = {other_epic}"),
    ("an unknown status", "update entity set status = 'Imaginary' where id = {epic}"),
    ("a status of another kind", "update entity set status = 'Obsolete' where id = {epic}"),
    ("no status", "update entity set status = null where id = {epic}"),
    ("a criterion with a status", "update entity set status = 'Draft' where id = {criterion}"),
    ("priority 0", "update entity set priority = 0 where id = {epic}"),
    ("priority 5", "update entity set priority = 5 where id = {epic}"),
    ("no priority", "update entity set priority = null where id = {epic}"),
    ("an empty title", "update entity set title = '' where id = {epic}"),
    ("no title", "update entity set title = null where id = {epic}"),
    ("a criterion with a title", "update entity set title = 'x' where id = {criterion}"),
    ("a criterion without text", "update entity set description = null where id = {criterion}"),
    ("an unknown type", "update entity set type_id = 'nothing' where id = {requirement}"),
    ("a requirement without a type", "update entity set type_id = null where id = {requirement}"),
    ("an epic with a type", "update entity set type_id = {type} where id = {epic}"),
    ("an unknown creator", "update entity set creator_id = 'nobody' where id = {epic}"),
    ("an unknown assignee", "update entity set assignee_id = 'nobody' where id = {epic}"),
    ("version 0", "update entity set version = 0 where id = {epic}"),
    ("a number that is taken", "update entity set number = 2 where id = {epic}"),
    ("number 0", "update entity set number = 0 where id = {epic}"),
    ("deleted by no deletion", "update entity set deleted_at = 1 where id = {other_epic}"),
    ("purged and not deleted", "update entity set purged_at = 1 where id = {other_epic}"),
    // Relationships.
    ("a requirement related to itself", "update relationship set target_id = source_id where id = {relationship}"),
    ("a requirement related to an epic", "update relationship set target_id = {epic} where id = {relationship}"),
    ("a requirement related to another project's", "update relationship set target_id = {other_requirement} where id = {relationship}"),
    ("a requirement related to a deleted one", "update relationship set target_id = {gone_requirement} where id = {relationship}"),
    ("a requirement that goes and leaves its relationships", "update entity set deleted_at = 1, deletion_id = {deletion} where id = {requirement}"),
    ("an unknown type of relationship", "update relationship set type_id = 'nothing' where id = {relationship}"),
    ("the same relationship twice", "insert into relationship (project_id, id, source_id, target_id, requirement_kind, type_id, creator_id,
         target_version, version, created_at, updated_at)
      select project_id, 'other', source_id, target_id, requirement_kind, type_id, creator_id, 1, 1, 0, 0 from relationship"),
    // Comments.
    ("a comment on nothing", "update comment set entity_id = 'nothing' where id = {comment}"),
    ("a comment on a deleted epic", "update comment set entity_id = {gone_epic} where id = {comment}"),
    ("a comment on a steering document", "update comment set entity_kind = 'steering_document' where id = {comment}"),
    ("an answer to a comment on something else", "update comment set parent_id = {other_comment} where id = {comment}"),
    ("an empty comment", "update comment set content = '' where id = {comment}"),
    ("an anchor without a quote", "update comment set anchor_start = 1, anchor_end = 2 where id = {comment}"),
    // The rest.
    ("two active prompts", "update prompt set active = 1"),
    ("a deleted prompt that is active", "update prompt set deleted_at = 1, deletion_id = {deletion} where active = 1"),
    ("the same prompt twice", "update prompt set name_folded = 'same'"),
    ("an unknown role", "update user_account set role = 'Emperor'"),
    ("the same name twice", "update user_account set username_folded = 'same'"),
    ("the same address twice", "update user_account set email_folded = 'same'"),
    ("a user with tokens who vanishes", "delete from user_account"),
    ("a project that is not empty vanishes", "delete from project where key = 'ABC'"),
    ("two initial statuses", "update status set is_initial = 1 where entity_kind = 'epic'"),
    ("a status in use vanishes", "delete from status where entity_kind = 'epic' and name = 'Backlog'"),
    ("a transition to nowhere", "insert into status_transition (entity_kind, from_status, to_status) values ('epic', 'Backlog', 'Nirvana')"),
    ("a type in use vanishes", "delete from requirement_type where id = {type}"),
    ("a document linked with a story", "update steering_link set epic_id = {story}"),
    ("a document linked with another project's epic", "update steering_link set epic_id = {other_epic}"),
];

/// The same statements with right values: it is the values that are wrong above.
const TAKEN: &[&str] = &[
    "update entity set parent_id = {second_epic} where id = {story}",
    "update entity set priority = 4, status = 'Done', title = 'x' where id = {epic}",
    "insert into entity {head} values ({story_of}, {epic}, 'epic', {rest})",
    "update comment set content = 'x', quote = 'x', anchor_start = 1, anchor_end = 2 where id = {comment}",
];

#[test]
fn wrong_rows_are_refused() {
    on_every_store(|world| {
        plan(world);
        let ids = ids(world);
        let filled = |sql: &str| {
            let fill = |sql: String, (name, id): &(&str, String)| sql.replace(&format!("{{{name}}}"), id);
            let sql = ids.iter().fold(sql.to_owned(), fill);
            assert!(!sql.contains('{'), "{sql}");
            sql
        };
        for (what, sql) in REFUSED {
            let error = run(world, &filled(sql)).expect_err(what);
            assert!(
                matches!(error.kind, ErrorKind::Refused | ErrorKind::Referenced | ErrorKind::Taken),
                "{what}: {:?} {error}",
                error.kind
            );
        }
        for sql in TAKEN {
            run(world, &filled(sql)).unwrap_or_else(|error| panic!("{sql}: {error}"));
        }
    });
}

/// Two projects with a tree each, something deleted, a comment, a relationship and a document.
fn plan(world: &World) {
    world.ok("create_project", json!({ "key": "ABC", "name": "Other" }));
    for (key, project) in [("", "DEFAULT"), ("ABC-", "ABC")] {
        let epic = json!({ "title": "Epic", "priority": 1, "project": project });
        for _ in 0..3 {
            world.ok("create_epic", epic.clone());
        }
        for _ in 0..2 {
            let story = json!({ "epic_id": format!("{key}EP-001"), "title": "Story", "priority": 1 });
            world.ok("create_user_story", story);
        }
        for story in [1, 2] {
            let criterion =
                json!({ "user_story_id": format!("{key}US-00{story}"), "description": "It works" });
            world.ok("create_acceptance_criteria", criterion);
        }
        for _ in 0..3 {
            let requirement = json!({
                "user_story_id": format!("{key}US-001"), "title": "Requirement", "type_id": "Data", "priority": 1,
                "acceptance_criteria_id": format!("{key}AC-001")
            });
            world.ok("create_requirement", requirement);
        }
    }
    world.ok("create_relationship", json!({
        "source_requirement_id": "REQ-001", "relationship_type_id": "depends_on", "target_requirement_id": "REQ-002"
    }));
    world.ok("add_comment", json!({ "reference": "EP-001", "content": "first" }));
    world.ok("add_comment", json!({ "reference": "EP-002", "content": "second" }));
    world.ok("create_steering_document", json!({ "title": "Rules" }));
    world.ok("link_steering_document", json!({ "epic_id": "EP-001", "steering_document_id": "STD-001" }));
    world.ok("create_prompt", json!({ "name": "second", "title": "Second", "content": "Text" }));
    world.ok("create_user", json!({ "username": "ann", "email": "ann@example.org", "role": "User" }));
    for reference in ["EP-003", "REQ-003"] {
        world.ok("delete_entity", json!({ "reference": reference }));
    }
}

/// What stands for what in the statements above.
fn ids(world: &World) -> Vec<(&'static str, String)> {
    let id = |reference: &str| {
        let found = world.ok("get_entity", json!({ "reference": reference, "include_deleted": true }));
        format!("'{}'", found["id"].as_str().expect("an id"))
    };
    let quoted = |value: &serde_json::Value| format!("'{}'", value.as_str().expect("an id"));
    let epic = world.ok("get_entity", json!({ "reference": "EP-001" }));
    let relations = world.ok("list_relationships", json!({ "requirement_id": "REQ-001" }));
    let comments = world.ok("list_comments", json!({}));
    let types = world.ok("list_types", json!({}));
    let project = "'00000000-0000-7000-8000-000000000001'";
    vec![
        ("epic", id("EP-001")),
        ("second_epic", id("EP-002")),
        ("story", id("US-001")),
        ("criterion", id("AC-001")),
        ("other_criterion", id("AC-002")),
        ("requirement", id("REQ-001")),
        ("other_epic", id("ABC-EP-001")),
        ("other_requirement", id("ABC-REQ-001")),
        ("gone_epic", id("EP-003")),
        ("gone_requirement", id("REQ-003")),
        ("deletion", "(select min(id) from deletion)".to_owned()),
        (
            "head",
            "(project_id, id, kind, number, parent_id, parent_kind, title, priority, status, creator_id, version, \
             content_version, created_at, updated_at)"
                .to_owned(),
        ),
        ("story_of", format!("{project}, 'new', 'user_story', 99")),
        ("epic_of", format!("{project}, 'new', 'epic', 99")),
        ("rest", format!("'Title', 1, 'Backlog', {}, 1, 1, 0, 0", quoted(&epic["creator_id"]))),
        ("relationship", quoted(&relations["data"][0]["id"])),
        ("comment", quoted(&comments["data"][0]["id"])),
        ("other_comment", quoted(&comments["data"][1]["id"])),
        ("type", quoted(&types["requirement_types"][4]["id"])),
    ]
}

/// Runs a statement in a transaction of its own. The store takes only statements that are not assembled, so this one is
/// never forgotten.
fn run(world: &World, sql: &str) -> store::Result<u64> {
    let sql: &'static str = Box::leak(sql.to_owned().into_boxed_str());
    world.engine.store().wait(Mode::Write, move |tx| tx.execute(sql, &[]))
}
