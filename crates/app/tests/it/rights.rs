//! Rights per project on every surface: REST, events, agents, the command line.

use serde_json::{Value, json};

use crate::backend::{Answer, Backend, on_every_store, on_sqlite, send};
use crate::mcp_http::agent::{Agent, HANDSHAKES, STATELESS};
use crate::rest_events::Events;
use crate::spexus_cli::{json_of, refused};

/// A store with an open and a closed project, and an outsider who is not a member of the closed one.
struct Closed<'a> {
    backend: &'a Backend,
    /// A token of the outsider.
    token: String,
    /// The id of the hidden epic.
    hidden_id: String,
}

impl<'a> Closed<'a> {
    fn new(backend: &'a Backend) -> Closed<'a> {
        backend.create("/projects", &json!({ "key": "HID", "name": "Hidden", "access": "members" }));
        let epic =
            backend.create("/epics", &json!({ "title": "Secret plan", "priority": 1, "project": "HID" }));
        backend.create("/epics", &json!({ "title": "Plain plan", "priority": 1 }));
        let token = token(backend, "outsider", "User", json!({}));
        Closed { backend, token, hidden_id: epic["id"].as_str().expect("an id").to_owned() }
    }

    fn get(&self, path: &str) -> Answer {
        send(self.backend.anonymous("GET", path).bearer_auth(&self.token))
    }

    fn set_member(&self, role: &str) {
        let set = self.backend.send("PUT", "/projects/HID/members/outsider", &json!({ "role": role }));
        assert_eq!(set.status, 200, "{}", set.text);
    }

    fn remove_member(&self) {
        assert_eq!(self.backend.send("DELETE", "/projects/HID/members/outsider", &json!({})).status, 200);
    }
}

/// Makes a user, and returns a token of theirs.
fn token(backend: &Backend, name: &str, role: &str, more: Value) -> String {
    let email = format!("{name}@example.org");
    backend.create("/users", &json!({ "username": name, "email": email, "role": role }));
    let mut arguments = json!({ "name": "test", "user": name, "scopes": ["write"] });
    arguments.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
    backend.create("/tokens", &arguments)["token"].as_str().expect("a secret").to_owned()
}

/// [decisions 38]
#[test]
fn rest_tells_of_a_hidden_project_like_of_none() {
    on_every_store(|backend| {
        let closed = Closed::new(backend);
        let epics = closed.get("/epics").json;
        assert_eq!((&epics["total_count"], &epics["data"][0]["title"]), (&json!(1), &json!("Plain plan")));
        assert_eq!(closed.get("/search?query=plan").json["total_count"], 1);
        let export = closed.get("/export?format=json").text;
        assert!(export.contains("Plain plan") && !export.contains("Secret") && !export.contains("HID"));
        for (path, missing) in [
            (
                format!("/epics/{}", closed.hidden_id),
                format!("/epics/{}", closed.hidden_id.replace('1', "2")),
            ),
            ("/epics/HID-EP-001".to_owned(), "/epics/NON-EP-001".to_owned()),
            ("/epics/HID-EP-001/history".to_owned(), "/epics/NON-EP-001/history".to_owned()),
            ("/epics/HID-EP-001?include_deleted=true".to_owned(), "/epics/NON-EP-001".to_owned()),
            ("/epics/HID-EP-001/comments".to_owned(), "/epics/NON-EP-001/comments".to_owned()),
            ("/hierarchy/HID-EP-001".to_owned(), "/hierarchy/NON-EP-001".to_owned()),
            ("/impact/HID-EP-001".to_owned(), "/impact/NON-EP-001".to_owned()),
            ("/epics?project=HID".to_owned(), "/epics?project=NON".to_owned()),
            ("/projects/HID".to_owned(), "/projects/NON".to_owned()),
            ("/projects/HID/members".to_owned(), "/projects/NON/members".to_owned()),
        ] {
            let (hidden, none) = (closed.get(&path), closed.get(&missing));
            assert_eq!((hidden.status, hidden.code()), (none.status, none.code()), "{path}");
            let told = hidden.message().replace("HID", "NON").replace(&closed.hidden_id, "");
            let expected = none.message().replace(&closed.hidden_id.replace('1', "2"), "");
            assert_eq!(told, expected, "{path}");
            assert!(hidden.header("etag").is_empty(), "{path}");
        }
        // Whoever guesses at a version learns nothing either.
        let edit = |path: &str| {
            let request =
                backend.anonymous("PATCH", path).bearer_auth(&closed.token).header("if-match", "\"9\"");
            send(request.header("content-type", "application/json").body("{\"title\": \"Mine\"}"))
        };
        assert_eq!(edit("/epics/HID-EP-001").status, 404);
        assert_eq!(edit("/epics/EP-001").status, 409);

        closed.set_member("Commenter");
        assert_eq!(closed.get("/epics/HID-EP-001").status, 200);
        assert_eq!(edit("/epics/HID-EP-001").status, 403);
        closed.set_member("User");
        assert_eq!(edit("/epics/HID-EP-001").status, 409);
        closed.remove_member();
        assert_eq!(edit("/epics/HID-EP-001").status, 404);
    });
}

/// Something that is done in the hidden project, by REST and by a tool, and the role and the scope that it needs.
struct Deed {
    method: &'static str,
    path: &'static str,
    tool: Option<&'static str>,
    arguments: Value,
    role: usize,
    scope: usize,
}

fn deeds() -> [Deed; 5] {
    let epic = "/epics/HID-EP-001";
    let deed =
        |(method, path), tool, arguments, role, scope| Deed { method, path, tool, arguments, role, scope };
    [
        deed(("GET", epic), Some("get_entity"), json!({ "reference": "HID-EP-001" }), 0, 0),
        deed(
            ("POST", "/comments"),
            Some("add_comment"),
            json!({ "reference": "HID-EP-001", "content": "Yes" }),
            0,
            1,
        ),
        deed(("PATCH", epic), Some("update_epic"), json!({ "epic_id": "HID-EP-001", "priority": 1 }), 1, 2),
        deed(
            ("DELETE", "/epics/HID-EP-001?dry_run=true"),
            Some("delete_entity"),
            json!({ "reference": "HID-EP-001", "dry_run": true }),
            1,
            2,
        ),
        deed(("PUT", "/projects/HID/members/outsider"), None, json!({ "role": "Commenter" }), 2, 3),
    ]
}

const ROLES: [&str; 3] = ["Commenter", "User", "Administrator"];
const SCOPES: [&str; 5] = ["read", "comment", "write", "admin", "full_access"];

/// [decisions 38] Role × role in the project × scope × surface.
#[test]
fn every_surface_decides_by_role_scope_and_project() {
    on_sqlite(&[], &[], |backend, _| {
        Closed::new(backend);
        for (global, global_name) in ROLES.iter().enumerate() {
            for member in [None, Some(0), Some(1), Some(2)] {
                let name = format!("{global_name}-{}", member.map_or("none", |role: usize| ROLES[role]));
                let email = format!("{name}@example.org");
                backend.create("/users", &json!({ "username": name, "email": email, "role": global_name }));
                if let Some(role) = member {
                    let path = format!("/projects/HID/members/{name}");
                    assert_eq!(backend.send("PUT", &path, &json!({ "role": ROLES[role] })).status, 200);
                }
                let held = if global == 2 { Some(2) } else { member };
                for (scope, scope_name) in SCOPES.iter().enumerate() {
                    let arguments = json!({ "name": scope_name, "user": name, "scopes": [scope_name] });
                    let made = backend.create("/tokens", &arguments);
                    let token = made["token"].as_str().expect("a secret");
                    for Deed { method, path, tool, arguments, role, scope: scope_needed } in deeds() {
                        let expected = match held {
                            _ if scope < scope_needed => 403,
                            None if role > global => 403,
                            None => 404,
                            Some(held) if held < role => 403,
                            Some(_) => 200,
                        };
                        let who = format!("{method} {path} by {name} with {scope_name}");
                        let by_rest = by_rest(backend, token, method, path, &arguments);
                        assert_eq!(by_rest, expected, "{who}");
                        if let Some(tool) = tool {
                            assert_eq!(
                                by_tool(backend, token, tool, &arguments),
                                expected,
                                "{who} as a tool"
                            );
                        }
                    }
                }
            }
        }
    });
}

/// The status of a request, with 201 counted as 200.
fn by_rest(backend: &Backend, token: &str, method: &str, path: &str, arguments: &Value) -> u16 {
    let mut request = backend.anonymous(method, path).bearer_auth(token);
    if ["POST", "PUT", "PATCH"].contains(&method) {
        let mut body = arguments.clone();
        body.as_object_mut().expect("an object").remove("epic_id");
        request = request.header("content-type", "application/json").body(body.to_string());
    }
    match send(request).status {
        201 => 200,
        status => status,
    }
}

/// What came of a tool, as the status that REST would have.
fn by_tool(backend: &Backend, token: &str, tool: &str, arguments: &Value) -> u16 {
    let agent = Agent::new(backend, STATELESS, token);
    let answer = agent.ask("tools/call", json!({ "name": tool, "arguments": arguments }));
    let result = &answer.json["result"];
    match answer.status {
        200 if result["isError"] == true => {
            assert!(result.to_string().contains("there is no"), "{result}");
            404
        }
        status => status,
    }
}

/// The server decides who receives a change at the moment it is sent.
#[test]
fn events_of_a_hidden_project_are_told_to_its_members_alone() {
    on_every_store(|backend| {
        let closed = Closed::new(backend);
        let narrow = token(backend, "narrow", "User", json!({ "projects": ["HID"] }));
        let rename = |reference: &str, title: &str| {
            let changed = backend.send("PATCH", &format!("/epics/{reference}"), &json!({ "title": title }));
            assert_eq!(changed.status, 200, "{}", changed.text);
        };
        let mut outsider = Events::open_as(backend, &closed.token, None);
        let mut narrowed = Events::open_as(backend, &narrow, None);
        rename("HID-EP-001", "First");
        rename("EP-001", "Second");
        assert_eq!(outsider.next()["reference_id"], "EP-001");
        closed.set_member("Commenter");
        assert_eq!(outsider.next()["entity_kind"], "project_member");
        rename("HID-EP-001", "Third");
        assert_eq!(outsider.next()["reference_id"], "HID-EP-001");
        closed.remove_member();
        rename("HID-EP-001", "Fourth");
        rename("EP-001", "Fifth");
        assert_eq!(outsider.next()["reference_id"], "EP-001");
        // Missed changes are filtered by the memberships of now.
        let mut resumed = Events::open_as(backend, &closed.token, Some(1));
        let mut seen = resumed.next();
        while seen["reference_id"] != "EP-001" || seen["operation"] != "update_epic" {
            assert!(!seen.to_string().contains("HID"), "{seen}");
            seen = resumed.next();
        }
        // A narrowed token does not reach the open project, and its owner is not a member of the other.
        let set = backend.send("PUT", "/projects/HID/members/narrow", &json!({ "role": "User" }));
        assert_eq!(set.status, 200);
        assert_eq!(narrowed.next()["entity_kind"], "project_member");
        rename("EP-001", "Sixth");
        rename("HID-EP-001", "Seventh");
        assert_eq!(narrowed.next()["reference_id"], "HID-EP-001");
        // A listener receives nothing more of a project that is closed meanwhile.
        backend.send("PATCH", "/projects/DEFAULT", &json!({ "access": "members" }));
        rename("EP-001", "Eighth");
        backend.send("PATCH", "/projects/DEFAULT", &json!({ "access": "open" }));
        rename("EP-001", "Ninth");
        let heard = outsider.next();
        assert!(["update_project", "update_epic"].contains(&heard["operation"].as_str().unwrap()), "{heard}");
    });
}

#[test]
fn agents_neither_see_nor_hear_of_a_hidden_project() {
    on_every_store(|backend| {
        let closed = Closed::new(backend);
        for revision in [STATELESS, HANDSHAKES[3]] {
            let agent = Agent::new(backend, revision, &closed.token);
            let agent = if revision == STATELESS { agent } else { agent.shake_hands() };
            let list = agent.call("list_entities", json!({ "kind": "epic" })).to_string();
            assert!(list.contains("Plain plan") && !list.contains("HID"), "{list}");
            let resources = agent.result("resources/list", json!({})).to_string();
            assert!(!resources.contains("HID") && !resources.contains(&closed.hidden_id), "{resources}");
            for uri in
                ["epic://HID-EP-001", &format!("epic://{}", closed.hidden_id), "epic://HID-EP-001/hierarchy"]
            {
                let [hidden, none] =
                    [uri, "epic://NON-EP-001"].map(|uri| agent.ask("resources/read", json!({ "uri": uri })));
                assert_eq!(hidden.json["error"]["code"], none.json["error"]["code"], "{}", hidden.text);
            }
            let prompt = json!({ "name": "decompose_epic", "arguments": { "epic_id": "HID-EP-001" } });
            let filled = agent.ask("prompts/get", prompt);
            assert!(filled.json.get("error").is_some() && !filled.text.contains("Secret"), "{}", filled.text);
            for typed in ["HID", "HID-EP-", "EP-"] {
                let reference = json!({ "type": "ref/prompt", "name": "decompose_epic" });
                let argument = json!({ "name": "epic_id", "value": typed });
                let params = json!({ "ref": reference, "argument": argument });
                let completed = agent.result("completion/complete", params).to_string();
                assert!(!completed.contains("HID"), "{completed}");
            }
        }
        let agent = Agent::new(backend, HANDSHAKES[3], &closed.token).shake_hands();
        let subscribed = agent.ask("resources/subscribe", json!({ "uri": "epic://HID-EP-001" }));
        assert!(subscribed.json.get("error").is_some(), "{}", subscribed.text);
        agent.result("resources/subscribe", json!({ "uri": "epics://list" }));
        let stream = agent.open_stream();
        backend.create("/epics", &json!({ "title": "Another", "priority": 1, "project": "HID" }));
        stream.assert_quiet();
        backend.create("/epics", &json!({ "title": "Another", "priority": 1 }));
        let heard = agent.hear_of(&stream, "notifications/resources/updated");
        assert_eq!(heard["params"]["uri"], "epics://list");
    });
}

/// [decisions 40]
#[test]
fn agents_are_shown_what_their_token_may_use_in_some_project() {
    on_sqlite(&[], &[], |backend, _| {
        let closed = Closed::new(backend);
        let reader = token(backend, "reader", "Commenter", json!({}));
        let names = |token: &str| {
            let list = Agent::new(backend, STATELESS, token).result("tools/list", json!({}));
            let tools = list["tools"].as_array().expect("a list").clone();
            tools.iter().map(|tool| tool["name"].as_str().expect("a name").to_owned()).collect::<Vec<_>>()
        };
        let [all, some] = [names(&closed.token), names(&reader)];
        assert!(all.contains(&"create_epic".to_owned()) && all.contains(&"search_global".to_owned()));
        assert!(
            !some.contains(&"create_epic".to_owned()) && some.contains(&"add_comment".to_owned()),
            "{some:?}"
        );
        // A tool that is not shown is refused as before.
        let call = json!({ "name": "create_epic", "arguments": { "title": "Mine", "priority": 1 } });
        assert_eq!(Agent::new(backend, STATELESS, &reader).ask("tools/call", call).status, 403);
        backend.send("PUT", "/projects/HID/members/reader", &json!({ "role": "User" }));
        assert_eq!(names(&reader), all);
    });
}

#[test]
fn the_command_line_knows_members_and_narrowed_tokens() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    let store = ["--database", "sqlite:spexus.db"];
    let run = |arguments: &[&str]| json_of(folder, &[arguments, &store].concat());
    let _ = crate::spexus_cli::spexus(folder, &["migrate", "--database", "sqlite:spexus.db"], "");
    run(&["project", "create", "--key", "HID", "--name", "Hidden", "--access", "members"]);
    run(&["epic", "create", "--title", "Secret plan", "--priority", "1", "--project", "HID"]);
    run(&["user", "create", "ann", "--email", "ann@example.org", "--role", "User"]);
    assert_eq!(run(&["epic", "list", "--as", "ann"])["total_count"], 0);
    let told = refused(folder, &[&["epic", "show", "HID-EP-1", "--as", "ann"], &store[..]].concat(), 1);
    assert!(told.contains("there is no epic HID-EP-001"), "{told}");
    let member = run(&["project", "member", "set", "HID", "ann", "--role", "Commenter"]);
    assert_eq!((&member["username"], &member["role"]), (&json!("ann"), &json!("Commenter")));
    assert_eq!(run(&["epic", "list", "--as", "ann"])["total_count"], 1);
    assert_eq!(run(&["project", "member", "list", "HID"])["data"][0]["username"], "ann");
    run(&["project", "member", "remove", "HID", "ann"]);
    assert_eq!(run(&["epic", "list", "--as", "ann"])["total_count"], 0);
    let made = run(&["token", "create", "narrow", "--projects", "HID"]);
    assert_eq!(made["projects"], json!(["HID"]));
}
