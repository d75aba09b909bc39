//! Looking after a server in the browser: users, projects, types, statuses, prompts, what is deleted, and everything else that can be
//! done, each by a form.

use ops::{Arguments, OPERATIONS, needed};
use serde_json::json;
use store::model::Role;

use crate::backend::{Backend, on_every_store, on_sqlite};
use crate::web::{Visitor, fill, pages, role_of};

const PASSWORD: &str = "correct horse battery";

fn user<'a>(backend: &'a Backend, name: &str, role: &str) -> Visitor<'a> {
    let user =
        json!({"username": name, "email": format!("{name}@example.org"), "password": PASSWORD, "role": role});
    backend.create("/users", &user);
    Visitor::signed_in(backend, name, PASSWORD)
}

/// [spec web] Everything that the product can do can be done in the browser, by those who may.
#[test]
fn every_operation_has_a_form() {
    on_sqlite(&[], &[], |backend, _| {
        let admin = Visitor::administrator(backend);
        let ann = user(backend, "ann", "Commenter");
        let (all, hers) = (admin.get("/operations").text, ann.get("/operations").text);
        for entry in OPERATIONS {
            let name = entry.name;
            let page = admin.get(&format!("/operations/{name}"));
            assert_eq!(page.status, 200, "{name}");
            let way = [format!("action=\"/do/{name}\""), format!("action=\"/operations/{name}#answer\"")];
            assert!(way.iter().any(|way| page.text.contains(way)), "{name} has no form: {}", page.text);
            for (argument, schema) in Arguments::new(entry.input_schema()).properties() {
                let by_row = format!("name=\"{argument}.0.");
                let is_there =
                    page.text.contains(&format!("name=\"{argument}\"")) || page.text.contains(&by_row);
                assert!(is_there, "{name} has no field for {argument}: {schema}");
            }
            if entry.takes_file.is_some() {
                assert!(page.text.contains("type=\"file\""), "{name} takes no file");
            }
            let listed = format!("href=\"/operations/{name}\"");
            assert!(all.contains(&listed), "{name} is not listed");
            // The same for somebody who may do little.
            let role = needed(entry.effect).0;
            assert_eq!(hers.contains(&listed), role == Role::Commenter, "{name}");
            let page = ann.get(&format!("/operations/{name}"));
            if role == Role::Commenter {
                assert_eq!(page.status, 200, "{name}");
                continue;
            }
            let refused = format!("needs the role {}", role.name());
            assert!(page.status == 403 && page.text.contains(&refused), "{name}: {}", page.text);
            let answer = ann.post(name, &[]);
            assert!(
                answer.status == 403 && answer.text.contains(&refused),
                "{name}: {} {}",
                answer.status,
                answer.text
            );
        }
        let found = admin.get("/operations?query=purge+comment").text;
        assert!(
            found.contains("/operations/purge_comment") && !found.contains("/operations/create_epic"),
            "{found}"
        );
    });
}

#[test]
fn every_role_sees_the_pages_that_it_may_use() {
    on_sqlite(&[], &[], |backend, _| {
        let admin = Visitor::administrator(backend);
        fill(&admin);
        let visitors = [
            (Role::Commenter, user(backend, "ann", "Commenter")),
            (Role::User, user(backend, "ben", "User")),
            (Role::Administrator, admin),
        ];
        for (page, path) in pages() {
            for (role, visitor) in &visitors {
                let answer = visitor.get(&path);
                let expected = if *role >= role_of(page) { 200 } else { 403 };
                assert_eq!(answer.status, expected, "{path} for {}", role.name());
                // What cannot be used is not offered.
                let is_administering = [
                    "/do/update_user\"",
                    "/do/set_project_member\"",
                    "/do/purge_entity\"",
                    "/do/activate_prompt\"",
                ];
                for form in is_administering.iter().filter(|_| *role < Role::Administrator) {
                    assert!(!answer.text.contains(form), "{path} offers {form} to {}", role.name());
                }
            }
        }
    });
}

#[test]
fn fields_can_hold_lists_files_and_json() {
    on_every_store(|backend| {
        let admin = Visitor::administrator(backend);
        fill(&admin);
        let operations =
            json!([{"operation": "update_epic", "arguments": {"epic_id": "EP-001", "title": "Pay"}}])
                .to_string();
        admin.write("bulk_update", &[("operations", &operations), ("_next", "/operations")]);
        assert_eq!(backend.get("/epics/EP-001").json["title"], "Pay");
        let wrong = admin.post("bulk_update", &[("operations", "[{")]);
        assert!(wrong.status == 400 && wrong.text.contains(">[{</textarea>"), "{}", wrong.text);
        // A file goes out and comes back.
        let exported = admin.post("export", &[("format", "csv"), ("project", "DEFAULT"), ("epic", "")]);
        assert_eq!(exported.status, 200, "{}", exported.text);
        assert!(exported.header("content-disposition").starts_with("attachment"), "{}", exported.text);
        let tried =
            admin.post("import", &[("format", "csv"), ("content", &exported.text), ("dry_run", "true")]);
        assert!(tried.status == 200 && tried.text.contains("Nothing was changed yet"), "{}", tried.text);
        // Rows, boxes for pairs, and choices of which several can be made.
        let model = [
            ("kind", "requirement"),
            ("statuses.0.name", "Draft"),
            ("statuses.0.initial", "true"),
            ("statuses.1.name", "Agreed"),
            ("statuses.2.name", "Dropped"),
            ("statuses.2.final", "true"),
            ("statuses.2.outcome", "obsolete"),
            ("statuses.3.name", ""),
            ("renamed.0.from", "Active"),
            ("renamed.0.to", "Agreed"),
            ("renamed.1.from", "Obsolete"),
            ("renamed.1.to", "Dropped"),
            ("transitions", r#"{"from": "Draft", "to": "Active"}"#),
            ("transitions", r#"{"from": "Agreed", "to": "Dropped"}"#),
            ("_next", "/admin/statuses"),
        ];
        assert_eq!(admin.write("update_status_model", &model), "/admin/statuses");
        let stored = backend.get("/config/status-models/requirement").json;
        let names: Vec<&str> = stored["statuses"]
            .as_array()
            .expect("a list")
            .iter()
            .filter_map(|one| one["name"].as_str())
            .collect();
        assert_eq!(names, ["Draft", "Agreed", "Dropped"]);
        let transitions = json!([{"from": "Agreed", "to": "Dropped"}, {"from": "Draft", "to": "Agreed"}]);
        assert_eq!(stored["transitions"], transitions);
        let shown = admin.get("/admin/statuses?change=requirement").text;
        assert!(shown.contains("value=\"Agreed\"") && shown.contains("From Draft to Agreed"), "{shown}");
        // What only reads is a question whose address can be sent to somebody.
        let answer = admin.get("/operations/list_entities?_ask=yes&kind=epic&priority=1&priority=2");
        assert!(
            answer.text.contains("id=\"answer\"") && answer.text.contains("href=\"/r/EP-001\""),
            "{}",
            answer.text
        );
        let wrong = admin.get("/operations/list_entities?_ask=yes&kind=nothing");
        assert!(wrong.status == 200 && wrong.text.contains("class=\"error\""), "{}", wrong.text);
    });
}

#[test]
fn an_administrator_looks_after_people_and_projects() {
    on_every_store(|backend| {
        let admin = Visitor::administrator(backend);
        let users = ("_next", "/admin/users");
        let ann =
            [("username", "ann"), ("email", "ann@example.org"), ("role", "User"), ("password", ""), users];
        assert_eq!(admin.write("create_user", &ann), "/admin/users");
        admin.write("update_user", &[("user", "ann"), ("role", "Commenter"), users]);
        admin.write("update_user", &[("user", "ann"), ("disabled", "true"), users]);
        let page = admin.get("/admin/users").text;
        assert!(
            page.contains("ann@example.org") && page.contains("disabled</span>") && page.contains("Enable"),
            "{page}"
        );
        admin.write("update_user", &[("user", "ann"), ("disabled", "false"), users]);
        let link = admin.post("create_sign_in_link", &[("user", "ann"), users]);
        assert!(
            link.text.contains(&format!("{}/welcome", backend.url)) && link.text.contains("data-copy"),
            "{}",
            link.text
        );
        let project = [
            ("key", "SHOP"),
            ("name", "Shop"),
            ("description", ""),
            ("access", "open"),
            ("_next", "/p/{key}"),
        ];
        // What was made is shown, and so is where to make it to those who may.
        assert!(admin.get("/admin/projects").text.contains("name=\"_next\" value=\"/p/{key}\""));
        assert_eq!(admin.write("create_project", &project), "/p/SHOP");
        assert!(admin.get("/").text.contains("href=\"/admin/projects#new\""));
        assert!(!user(backend, "cleo", "User").get("/").text.contains("/admin/projects#new"));
        admin.write(
            "update_project",
            &[("project", "SHOP"), ("name", "The shop"), ("_next", "/admin/projects")],
        );
        assert!(admin.get("/admin/projects").text.contains("The shop"));
        // A closed project has members, one of whom looks after it.
        let ben = user(backend, "ben", "User");
        let members = ("_next", "/p/SHOP/members");
        admin.write("update_project", &[("project", "SHOP"), ("access", "members"), members]);
        assert_eq!(ben.get("/p/SHOP/members").status, 404);
        admin.write(
            "set_project_member",
            &[("project", "SHOP"), ("user", "ben"), ("role", "Administrator"), members],
        );
        assert!(ben.get("/p/SHOP/members").text.contains("/do/set_project_member"));
        ben.write("set_project_member", &[("project", "SHOP"), ("user", "ann"), ("role", "User"), members]);
        ben.write("remove_project_member", &[("project", "SHOP"), ("user", "ann"), members]);
        admin.write("set_project_member", &[("project", "SHOP"), ("user", "ben"), ("role", "User"), members]);
        assert!(!ben.get("/p/SHOP/members").text.contains("/do/set_project_member"));
        let refused =
            ben.post("set_project_member", &[("project", "SHOP"), ("user", "ann"), ("role", "User")]);
        assert!(
            refused.status == 403 && refused.text.contains("needs the role Administrator"),
            "{}",
            refused.text
        );
        // Deleting is tried first.
        let tried = admin.post("delete_project", &[("project", "SHOP"), ("dry_run", "true")]);
        assert!(
            tried.text.contains("Nothing was changed yet") && tried.text.contains(">Confirm<"),
            "{}",
            tried.text
        );
        assert_eq!(backend.get("/projects/SHOP").status, 200);
        admin.write("remove_project_member", &[("project", "SHOP"), ("user", "ben"), members]);
        let tokens = admin.get("/admin/tokens?user=admin").text;
        assert!(tokens.contains("first start") && tokens.contains("/do/revoke_session"), "{tokens}");
        assert_eq!(ben.get("/admin/tokens").status, 403);
    });
}

#[test]
fn types_prompts_and_steering_documents_are_kept_in_order() {
    on_every_store(|backend| {
        let admin = Visitor::administrator(backend);
        fill(&admin);
        let types = ("_next", "/admin/types");
        admin.write("create_requirement_type", &[("name", "Usability"), ("description", ""), types]);
        admin.write(
            "update_requirement_type",
            &[("requirement_type", "Usability"), ("name", "Ease of use"), types],
        );
        assert!(admin.get("/admin/types").text.contains("Ease of use"));
        admin.write("delete_requirement_type", &[("requirement_type", "Ease of use"), types]);
        let in_use = admin.post("delete_requirement_type", &[("requirement_type", "Functional"), types]);
        assert!(in_use.status == 409 && in_use.text.contains("Functional"), "{}", in_use.text);
        let prompts = ("_next", "/prompts");
        let prompt = [
            ("name", "careful"),
            ("title", "Be careful"),
            ("content", "Look *twice*."),
            ("role", "user"),
            prompts,
        ];
        admin.write("create_prompt", &prompt);
        let listed = backend.get("/prompts").json;
        let one = listed["data"]
            .as_array()
            .expect("a list")
            .iter()
            .find(|one| one["name"] == "careful")
            .expect("a prompt");
        let id = one["reference_id"].as_str().expect("an id");
        admin.write("activate_prompt", &[("prompt_id", id), prompts]);
        let page = admin.get(&format!("/prompts?change={id}")).text;
        assert!(page.contains(">Look *twice*.</textarea>") && page.contains("<em>twice</em>"), "{page}");
        assert_eq!(backend.get("/prompts/active").json["name"], "careful");
        // Deleting and erasing show first what would go.
        admin.write("delete_prompt", &[("prompt_id", id), prompts]);
        assert!(admin.get("/prompts").text.contains("action=\"/do/purge_prompt\""));
        let tried = admin.post("purge_prompt", &[("prompt_id", id), ("dry_run", "true"), prompts]);
        assert!(
            tried.text.contains("would erase") && tried.text.contains("action=\"/do/purge_prompt\""),
            "{}",
            tried.text
        );
        assert!(admin.get("/prompts").text.contains("<em>twice</em>"));
        admin.write("purge_prompt", &[("prompt_id", id), prompts]);
        assert!(!admin.get("/prompts").text.contains("<em>twice</em>"));
        let document = json!({"title": "Card data", "description": "Never in a log."});
        assert_eq!(backend.create("/steering-documents", &document)["reference_id"], "STD-001");
        let link = [("steering_document_id", "STD-001"), ("epic_id", "EP-001"), ("_next", "/steering")];
        admin.write("link_steering_document", &link);
        assert!(admin.get("/steering").text.contains("Unlink EP-001 from STD-001"));
        admin.write("unlink_steering_document", &link);
        assert!(!admin.get("/steering").text.contains("Unlink EP-001"));
    });
}

#[test]
fn what_is_deleted_comes_back_or_is_erased_for_good() {
    on_every_store(|backend| {
        let admin = Visitor::administrator(backend);
        fill(&admin);
        let ann = user(backend, "ann", "User");
        ann.write("delete_entity", &[("reference", "US-001"), ("force", "true")]);
        let page = admin.get("/p/DEFAULT/deleted").text;
        for shown in ["/r/US-001", "Pay by card", "with 2 more", "/r/REQ-002", "ann,", "/do/purge_entity"] {
            assert!(page.contains(shown), "{shown}: {page}");
        }
        assert!(!ann.get("/p/DEFAULT/deleted").text.contains("/do/purge_entity"));
        let deleted = ("_next", "/p/DEFAULT/deleted");
        assert_eq!(ann.write("restore_entity", &[("reference", "US-001"), deleted]), "/p/DEFAULT/deleted");
        assert!(ann.get("/p/DEFAULT/deleted").text.contains("Nothing is deleted"));
        admin.write("add_comment", &[("reference", "REQ-001"), ("content", "Why?")]);
        admin.write("delete_entity", &[("reference", "REQ-001")]);
        let tried = admin.post("purge_entity", &[("reference", "REQ-001"), ("dry_run", "true"), deleted]);
        assert!(
            tried.text.contains("would erase") && tried.text.contains("Nothing was changed yet"),
            "{}",
            tried.text
        );
        assert!(admin.get("/p/DEFAULT/deleted").text.contains("Mask card numbers"));
        admin.write("purge_entity", &[("reference", "REQ-001"), deleted]);
        let page = admin.get("/p/DEFAULT/deleted").text;
        assert!(page.contains("erased for good") && !page.contains("Mask card numbers"), "{page}");
        let comment = backend.create("/requirements/REQ-002/comments", &json!({"content": "A secret"}));
        let comment = ("comment_id", comment["id"].as_str().expect("an id"));
        admin.write("delete_comment", &[comment, deleted]);
        assert!(admin.get("/p/DEFAULT/deleted").text.contains("action=\"/do/purge_comment\""));
        let tried = admin.post("purge_comment", &[comment, ("dry_run", "true"), deleted]);
        assert!(tried.text.contains("Nothing was changed yet"), "{}", tried.text);
        assert!(admin.get("/p/DEFAULT/deleted").text.contains("A secret"));
        admin.write("purge_comment", &[comment, deleted]);
        assert!(!admin.get("/p/DEFAULT/deleted").text.contains("A secret"));
        let live = admin.post("purge_entity", &[("reference", "REQ-002"), ("dry_run", "true")]);
        assert!(live.status == 409 && live.text.contains("is not deleted"), "{}", live.text);
        let refused = ann.post("purge_entity", &[("reference", "REQ-001"), ("dry_run", "true")]);
        assert!(
            refused.status == 403 && refused.text.contains("needs the role Administrator"),
            "{}",
            refused.text
        );
    });
}

/// The trail says names, so that nobody has to look up an id; on every surface.
#[test]
fn the_audit_trail_says_names() {
    on_every_store(|backend| {
        let admin = Visitor::administrator(backend);
        fill(&admin);
        let link = [
            ("source_requirement_id", "REQ-001"),
            ("target_requirement_id", "REQ-002"),
            ("relationship_type_id", "depends_on"),
        ];
        admin.write("create_relationship", &link);
        admin.write("add_comment", &[("reference", "EP-001"), ("content", "Why?")]);
        let ann = user(backend, "ann", "Commenter");
        admin.write("update_user", &[("user", "ann"), ("role", "User")]);
        admin.write("delete_user", &[("user", "ann")]);
        let trail = backend.get("/audit?limit=100").json;
        let said: Vec<String> = trail["data"]
            .as_array()
            .expect("a list")
            .iter()
            .map(|entry| {
                let text = |name: &str| entry[name].as_str().unwrap_or("-").to_owned();
                format!("{} {} {}", text("event"), text("reference_id"), text("name"))
            })
            .collect();
        for expected in [
            "create_epic EP-001 Checkout",
            "create_requirement REQ-002 Keep tokens",
            "create_relationship REQ-001 depends_on REQ-002",
            "add_comment EP-001 Checkout",
            "create_user - ann",
            "delete_user - ann",
        ] {
            assert!(said.iter().any(|one| one == expected), "{expected}: {said:#?}");
        }
        let page = admin.get("/admin/audit").text;
        assert!(
            page.contains("/r/REQ-002") && page.contains("depends_on REQ-002") && page.contains("<ins>"),
            "{page}"
        );
        let filtered = admin.get("/admin/audit?actor=admin&event=create_epic&entity=EP-001").text;
        assert!(filtered.contains("Checkout") && !filtered.contains("Keep tokens"), "{filtered}");
        drop(ann);
    });
}
