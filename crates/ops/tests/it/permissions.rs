//! Who may do what: every operation, every role, every kind of credentials, against the table of the specification.

use ops::{Credentials, OPERATIONS};
use serde_json::{Value, json};

use crate::people::{outcome, session, token, user};
use crate::stores::{World, on_every_store};

/// A row of the table "Who may do what".
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Action {
    Anything,
    Read,
    Comment,
    Write,
    Push,
    OwnAccount,
    Administer,
}

/// The row that an operation belongs to. Every operation is named here once.
fn action(operation: &str) -> Action {
    match operation {
        "login" | "get_sign_in_link" | "use_sign_in_link" | "exchange_identity" => Action::Anything,
        "get_entity"
        | "list_entities"
        | "get_history"
        | "compare_versions"
        | "list_changes"
        | "list_deletions"
        | "get_hierarchy"
        | "get_path"
        | "list_comments"
        | "get_comment"
        | "list_relationships"
        | "list_suspect_links"
        | "read_as_document"
        | "status_report"
        | "burn_up_report"
        | "hierarchy_analysis"
        | "impact_analysis"
        | "search_global"
        | "search_requirements"
        | "search_suggestions"
        | "export"
        | "export_matrix"
        | "preview_import"
        | "get_matrix"
        | "list_imports"
        | "get_import"
        | "get_prompt"
        | "list_prompts"
        | "get_active_prompt"
        | "list_types"
        | "list_requirement_types"
        | "get_requirement_type"
        | "list_relationship_types"
        | "get_relationship_type"
        | "list_status_models"
        | "get_status_model"
        | "list_projects"
        | "get_project"
        | "list_project_members"
        | "list_views"
        | "cited_texts"
        | "judge_change"
        | "get_thread"
        | "list_stale_citations"
        | "propose_threats"
        | "list_threats"
        | "list_repositories"
        | "get_repository"
        | "list_baselines"
        | "compare_baselines"
        | "export_baseline"
        | "list_work"
        | "list_open_work"
        | "list_user_directory"
        | "who_am_i"
        | "logout" => Action::Read,
        "add_comment" | "update_comment" | "delete_comment" | "restore_comment" | "save_view"
        | "delete_view" => Action::Comment,
        "create_epic"
        | "update_epic"
        | "create_user_story"
        | "update_user_story"
        | "create_acceptance_criteria"
        | "update_acceptance_criteria"
        | "create_requirement"
        | "update_requirement"
        | "delete_entity"
        | "restore_entity"
        | "create_steering_document"
        | "update_steering_document"
        | "link_steering_document"
        | "unlink_steering_document"
        | "create_relationship"
        | "delete_relationship"
        | "clear_suspect_link"
        | "bulk_update"
        | "load_example"
        | "import"
        | "undo_import"
        | "add_manual_evidence"
        | "decide_threat"
        | "pin_baseline"
        | "delete_baseline"
        | "next_work"
        | "renew_work"
        | "finish_work"
        | "release_work" => Action::Write,
        "push_trace" | "push_evidence" => Action::Push,
        "create_token"
        | "list_tokens"
        | "get_token"
        | "update_token"
        | "revoke_token"
        | "list_sessions"
        | "revoke_session"
        | "revoke_other_sessions"
        | "create_sign_in_link"
        | "change_password" => Action::OwnAccount,
        "purge_entity"
        | "purge_comment"
        | "purge_prompt"
        | "create_prompt"
        | "update_prompt"
        | "activate_prompt"
        | "delete_prompt"
        | "restore_prompt"
        | "create_requirement_type"
        | "update_requirement_type"
        | "delete_requirement_type"
        | "create_relationship_type"
        | "update_relationship_type"
        | "delete_relationship_type"
        | "update_status_model"
        | "create_project"
        | "update_project"
        | "delete_project"
        | "set_project_member"
        | "remove_project_member"
        | "break_work"
        | "create_repository"
        | "update_repository"
        | "delete_repository"
        | "create_user"
        | "list_users"
        | "get_user"
        | "update_user"
        | "delete_user"
        | "list_audit" => Action::Administer,
        other => panic!("say in this table who may run {other}"),
    }
}

const ROLES: [&str; 3] = ["Commenter", "User", "Administrator"];
const SCOPES: [&str; 6] = ["read", "comment", "write", "admin", "full_access", "evidence"];

/// The columns: Commenter, User, Administrator; then a token with read, comment, write, admin, full access, evidence.
fn table(action: Action) -> ([u8; 3], [u8; 6]) {
    match action {
        Action::Anything | Action::Read => ([1, 1, 1], [1, 1, 1, 1, 1, 1]),
        Action::Comment => ([1, 1, 1], [0, 1, 1, 1, 1, 0]),
        Action::Write => ([0, 1, 1], [0, 0, 1, 1, 1, 0]),
        Action::Push => ([0, 1, 1], [0, 0, 1, 1, 1, 1]),
        Action::Administer => ([0, 0, 1], [0, 0, 0, 1, 1, 0]),
        // Whoever makes tokens or sets the password can become all that the user is.
        Action::OwnAccount => ([1, 1, 1], [0, 0, 0, 0, 1, 0]),
    }
}

//@= spexus://REQ-172
//@= type=test
//@# 002 R16.8: tests cover tokens and rights
#[test]
fn rights_are_exactly_those_of_the_table() {
    on_every_store(|world| {
        world.ok("create_repository", json!({ "name": "shop", "projects": ["DEFAULT"] }));
        let mut n_checked = 0;
        for (role, role_name) in ROLES.iter().enumerate() {
            let name = role_name.to_lowercase();
            user(world, &name, role_name);
            for (scope, scope_name) in SCOPES.iter().enumerate() {
                let credentials = token(world, &name, &[scope_name]);
                n_checked +=
                    check_all(world, &credentials, &format!("{role_name} with {scope_name}"), |action| {
                        let (roles, scopes) = table(action);
                        roles[role] == 1 && scopes[scope] == 1
                    });
            }
            let by_role = |action| table(action).0[role] == 1;
            n_checked +=
                check_all(world, &session(world, &name), &format!("{role_name} in a session"), by_role);
            let local = Credentials::Local(Some(name));
            n_checked += check_all(world, &local, &format!("{role_name} at the machine"), by_role);
        }
        n_checked += check_all(world, &Credentials::Local(None), "the first administrator", |_| true);
        assert_eq!(n_checked, OPERATIONS.len() * 25);

        for entry in OPERATIONS {
            for arguments in [wrong(), right(entry.input_schema())] {
                let outcome = outcome(world.call_as(Credentials::None, entry.name, arguments.clone()));
                let expected = match action(entry.name) {
                    // The code of a link proves who asks, and these arguments have a wrong one.
                    Action::Anything if entry.proof.is_some() && arguments != wrong() => "UNAUTHENTICATED",
                    Action::Anything => "VALIDATION_ERROR",
                    _ => "UNAUTHENTICATED",
                };
                assert_eq!(outcome, expected, "{} by nobody with {arguments}", entry.name);
            }
        }
    });
}

/// Arguments that no operation understands.
fn wrong() -> Value {
    json!({ "no_such_argument": true })
}

/// Checks every operation with someone's credentials, and returns how many that were.
fn check_all(world: &World, credentials: &Credentials, who: &str, allowed: impl Fn(Action) -> bool) -> usize {
    for entry in OPERATIONS {
        let with_wrong = outcome(world.call_as(credentials.clone(), entry.name, wrong()));
        if allowed(action(entry.name)) {
            assert_eq!(with_wrong, "VALIDATION_ERROR", "{} by {who}", entry.name);
        } else {
            assert_eq!(with_wrong, "FORBIDDEN", "{} by {who} with wrong arguments", entry.name);
            let arguments = right(entry.input_schema());
            let with_right = outcome(world.call_as(credentials.clone(), entry.name, arguments));
            assert_eq!(with_right, "FORBIDDEN", "{} by {who} with right arguments", entry.name);
        }
    }
    OPERATIONS.len()
}

#[test]
fn arguments_generated_from_schemas_never_cause_internal_errors() {
    on_every_store(|world| {
        for entry in OPERATIONS {
            let arguments = right(entry.input_schema());
            let outcome = outcome(world.call(entry.name, arguments.clone()));
            let expected = match entry.name {
                "login" => &["VALIDATION_ERROR"][..],
                "get_sign_in_link" | "use_sign_in_link" | "exchange_identity" => &["UNAUTHENTICATED"],
                "update_status_model"
                | "change_password"
                | "delete_relationship"
                | "clear_suspect_link"
                | "get_comment"
                | "update_comment"
                | "delete_comment"
                | "restore_comment"
                | "purge_comment"
                | "create_requirement"
                | "create_user"
                | "bulk_update"
                | "import"
                | "judge_change"
                | "create_repository"
                | "create_project"
                | "renew_work"
                | "finish_work"
                | "release_work"
                | "break_work" => &["VALIDATION_ERROR", "NOT_FOUND"],
                _ => &["ok", "NOT_FOUND"],
            };
            assert!(expected.contains(&outcome), "{}: {outcome} for {arguments}", entry.name);
        }
    });
}

/// The smallest arguments that a schema allows. What they name does not exist.
fn right(schema: Value) -> Value {
    let Some(properties) = schema["properties"].as_object() else { return json!({}) };
    let required = schema["required"].as_array().cloned().unwrap_or_default();
    required
        .iter()
        .filter_map(Value::as_str)
        .map(|name| (name.to_owned(), example(&properties[name])))
        .collect::<serde_json::Map<_, _>>()
        .into()
}

fn example(schema: &Value) -> Value {
    if let Some(first) = schema["enum"].as_array().and_then(|values| values.first()) {
        return first.clone();
    }
    if let Some(variants) = schema["oneOf"].as_array().or(schema["anyOf"].as_array()) {
        return variants[0].get("const").cloned().unwrap_or_else(|| example(&variants[0]));
    }
    match schema["type"].as_str() {
        Some("integer") => schema["minimum"].clone(),
        Some("boolean") => json!(false),
        Some("array") => json!([]),
        Some("object") => right(schema.clone()),
        _ => json!("EP-987654321"),
    }
}
