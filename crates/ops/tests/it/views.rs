//! Saved views: whose they are, who sees them, who changes them, and what a query may say.

use ops::Credentials;
use serde_json::{Value, json};

use crate::people::{outcome, token, user};
use crate::stores::{World, on_every_store};

fn view(name: &str, query: &str) -> Value {
    json!({ "project": "DEFAULT", "kind": "requirement", "name": name, "query": query })
}

fn shared(name: &str) -> Value {
    json!({ "project": "DEFAULT", "kind": "requirement", "name": name, "query": "", "shared": true })
}

/// The names of the views that somebody sees.
fn names(world: &World, who: &Credentials) -> Vec<String> {
    let listed = world.call_as(who.clone(), "list_views", json!({ "project": "DEFAULT" })).expect("a list");
    let views = listed["data"].as_array().expect("a list").clone();
    views.iter().map(|view| view["name"].as_str().unwrap_or_default().to_owned()).collect()
}

/// Somebody with a role, with a token for everything.
fn person(world: &World, name: &str, role: &str) -> Credentials {
    user(world, name, role);
    token(world, name, &["full_access"])
}

#[test]
fn a_view_is_saved_under_its_name_and_replaced_by_it() {
    on_every_store(|world| {
        let first = world.ok("save_view", view(" Drafts ", "?status=Draft&sort=priority"));
        let parts = ["name", "query", "kind", "project", "owner", "version"].map(|name| &first[name]);
        let expected = json!(["Drafts", "status=Draft&sort=priority", "requirement", "DEFAULT", "admin", 1]);
        assert_eq!(json!(parts), expected);
        assert_eq!(first["shared"], false);
        let again = world.ok("save_view", view("DRAFTS", "status=Draft&columns=title,labels"));
        assert_eq!((&again["id"], &again["version"]), (&first["id"], &json!(2)));
        assert_eq!(world.ok("save_view", view("DRAFTS", "status=Draft&columns=title,labels"))["version"], 2);
        // The same name for another table is another view.
        let mut epics = view("Drafts", "");
        epics["kind"] = json!("epic");
        assert_ne!(world.ok("save_view", epics)["id"], first["id"]);
        let listed = world.ok("list_views", json!({ "project": "DEFAULT", "kind": "requirement" }));
        assert_eq!((&listed["total_count"], &listed["data"][0]["name"]), (&json!(1), &json!("DRAFTS")));
        // A stale version is refused, and a view can get another name by its id.
        let mut stale = view("DRAFTS", "");
        stale["expected_version"] = json!(1);
        assert_eq!(outcome(world.call("save_view", stale)), "STALE_VERSION");
        let mut renamed = view("Open", "status=Draft");
        renamed["view_id"] = first["id"].clone();
        assert_eq!(world.ok("save_view", renamed)["name"], "Open");
        world.ok("save_view", view("Other", ""));
        let mut taken = view("other", "");
        taken["view_id"] = first["id"].clone();
        assert_eq!(outcome(world.call("save_view", taken)), "CONFLICT");
        world.ok("delete_view", json!({ "view_id": first["id"] }));
        assert_eq!(outcome(world.call("delete_view", json!({ "view_id": first["id"] }))), "NOT_FOUND");
    });
}

#[test]
fn ones_own_is_ones_own_and_a_shared_one_is_its_owners_or_an_administrators() {
    on_every_store(|world| {
        let reader = person(world, "reader", "Commenter");
        let writer = person(world, "writer", "User");
        let head = person(world, "head", "Administrator");
        let save = |who: &Credentials, arguments| world.call_as(who.clone(), "save_view", arguments);
        let own = save(&reader, view("Mine", "status=Draft")).expect("a view");
        assert_eq!(names(world, &writer), Vec::<String>::new());
        let delete = |who: &Credentials, id: &Value| {
            outcome(world.call_as(who.clone(), "delete_view", json!({ "view_id": id })))
        };
        // What is not shared does not exist for others, administrators included.
        for other in [&writer, &head] {
            assert_eq!(delete(other, &own["id"]), "NOT_FOUND");
        }
        // Everybody would see it, so sharing needs the role User.
        assert_eq!(outcome(save(&reader, shared("Mine"))), "FORBIDDEN");
        let ours = save(&writer, shared("Ours")).expect("a view");
        assert_eq!(names(world, &reader), ["Mine", "Ours"]);
        assert_eq!(names(world, &head), ["Ours"]);
        assert_eq!(delete(&reader, &ours["id"]), "FORBIDDEN");
        let mut change = view("Ours, changed", "status=Active");
        change["view_id"] = ours["id"].clone();
        assert_eq!(outcome(save(&reader, change.clone())), "FORBIDDEN");
        let changed = save(&head, change).expect("a view");
        let parts = (&changed["owner"], &changed["shared"], &changed["version"]);
        assert_eq!(parts, (&json!("writer"), &json!(true), &json!(2)));
        // A token must be allowed to as well.
        let narrow = token(world, "head", &["comment"]);
        assert_eq!(delete(&narrow, &ours["id"]), "FORBIDDEN");
        assert_eq!(delete(&head, &ours["id"]), "ok");
        assert_eq!(delete(&reader, &own["id"]), "ok");
        // Changes of shared views are changes of the project; others are nobody's business.
        let changes = world.ok("list_changes", json!({ "project": "DEFAULT" }));
        let told: Vec<&Value> = changes["data"].as_array().expect("a list").iter().collect();
        assert!(told.iter().any(|change| change["entity_id"] == ours["id"]), "{changes}");
        assert!(told.iter().all(|change| change["entity_id"] != own["id"]), "{changes}");
    });
}

#[test]
fn a_query_is_checked_and_views_are_counted() {
    on_every_store(|world| {
        for (arguments, expected) in [
            (view("x", "staus=Draft"), "query: expected one of"),
            (view("x", "cursor=abc"), "query: expected one of"),
            (view("x", "status=In Progress"), "query: expected a query as in an address"),
            (view("x", "status=Draft#top"), "query: expected a query as in an address"),
            (view("x", &"x".repeat(2_001)), "query: expected 0 to 2000 characters, found 2001"),
            (view(" ", ""), "name: expected 1 to 60 characters, found only blanks"),
            (view(&"x".repeat(61), ""), "name: expected 1 to 60 characters, found 61"),
            (
                json!({ "project": "DEFAULT", "kind": "comment", "name": "x", "query": "" }),
                "kind: expected one of",
            ),
        ] {
            let error = world.call("save_view", arguments).expect_err("something wrong");
            let told = format!("{}: {}", error.fields[0].field, error.fields[0].message);
            assert!(told.starts_with(expected), "{told}");
        }
        for number in 0..50 {
            world.ok("save_view", view(&format!("View {number}"), ""));
        }
        assert_eq!(outcome(world.call("save_view", view("One more", ""))), "CONFLICT");
        world.ok("save_view", view("View 7", "status=Draft"));
        let writer = person(world, "writer", "User");
        world.call_as(writer, "save_view", view("One more", "")).expect("others have their own number");
    });
}

#[test]
fn views_go_with_their_project() {
    on_every_store(|world| {
        world.ok("create_project", json!({ "key": "GONE", "name": "Gone" }));
        let arguments = json!({ "project": "GONE", "kind": "epic", "name": "All", "query": "" });
        let view = world.ok("save_view", arguments);
        world.ok("delete_project", json!({ "project": "GONE" }));
        assert_eq!(outcome(world.call("delete_view", json!({ "view_id": view["id"] }))), "NOT_FOUND");
    });
}
