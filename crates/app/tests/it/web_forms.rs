//! Forms of the web application over HTTP: what they do, what two people do at once, and that nothing typed is lost.

use serde_json::{Value, json};

use crate::backend::{Backend, on_every_store, on_sqlite, send};
use crate::web::{Visitor, fill};

#[test]
fn forms_do_what_operations_do() {
    on_every_store(|backend| {
        let visitor = Visitor::administrator(backend);
        fill(&visitor);
        let here = ("_next", "/r/REQ-001");
        let change =
            [("requirement_id", "REQ-001"), ("status", "Active"), ("labels", "security, cards"), here];
        visitor.write("update_requirement", &change);
        let link = [
            ("source_requirement_id", "REQ-001"),
            ("target_requirement_id", "REQ-002"),
            ("relationship_type_id", "depends_on"),
            here,
        ];
        visitor.write("create_relationship", &link);
        let stored = backend.get("/requirements/REQ-001").json;
        assert_eq!((&stored["status"], &stored["labels"]), (&json!("Active"), &json!(["security", "cards"])));
        let item = visitor.get("/r/REQ-001").text;
        for shown in ["depends on", "/r/REQ-002", "security", "selected>Active"] {
            assert!(item.contains(shown), "{shown}: {item}");
        }
        // [spec web] A field that is left empty clears what can be cleared.
        visitor.write("update_requirement", &[("requirement_id", "REQ-001"), ("labels", ""), here]);
        assert_eq!(backend.get("/requirements/REQ-001").json.get("labels"), None);
        // The history says by which way it came.
        let history = backend.get("/requirements/REQ-001/history").json;
        assert_eq!(history["data"][0]["via"], "web");
        // Deleting shows first what would go.
        let tried = visitor.post("delete_entity", &[("reference", "US-001"), ("dry_run", "true")]);
        assert!(tried.status == 200 && tried.text.contains("Nothing was changed yet"), "{}", tried.text);
        assert_eq!(backend.get("/user-stories/US-001").status, 200);
        let wrong = visitor
            .post("create_epic", &[("project", "DEFAULT"), ("title", "Returns"), ("description", "kept")]);
        assert_eq!(wrong.status, 400);
        for kept in ["value=\"Returns\"", ">kept</textarea>", "is required"] {
            assert!(wrong.text.contains(kept), "{kept}: {}", wrong.text);
        }
        let token =
            visitor.post("create_token", &[("name", "agent"), ("scopes", "read"), ("expires_in", "30d")]);
        assert!(token.text.contains("mcp_pat_") && token.text.contains("claude mcp add"), "{}", token.text);
        // Claude Desktop starts a program, which is told the same.
        for part in ["requirements-mcp-server", "BACKEND_API_URL", "MCP_PAT_TOKEN"] {
            assert!(token.text.contains(part), "{part}: {}", token.text);
        }
    });
}

/// The fields of the form for a requirement as it was opened.
fn edited<'a>(title: &'a str, description: &'a str) -> Vec<(&'a str, &'a str)> {
    vec![
        ("requirement_id", "REQ-001"),
        ("expected_version", "1"),
        ("_base_title", "Mask card numbers"),
        ("_base_description", ""),
        ("title", title),
        ("description", description),
        ("_next", "/r/REQ-001"),
    ]
}

#[test]
fn two_people_can_change_one_thing() {
    on_every_store(|backend| {
        let visitor = Visitor::administrator(backend);
        fill(&visitor);
        let theirs = json!({"title": "Mask all card numbers"});
        assert_eq!(backend.send("PATCH", "/requirements/REQ-001", &theirs).status, 200);
        // Another field: both are kept.
        visitor.write("update_requirement", &edited("Mask card numbers", "Only four digits."));
        let stored = backend.get("/requirements/REQ-001").json;
        let both = (&stored["title"], &stored["description"]);
        assert_eq!(both, (&json!("Mask all card numbers"), &json!("Only four digits.")));
        // The same field: both are shown, and nothing is lost.
        let clash = visitor.post("update_requirement", &edited("Hide card numbers", ""));
        assert_eq!(clash.status, 409);
        for shown in
            ["<del>Mask all</del>", ">Hide card numbers</textarea>", "name=\"expected_version\" value=\"3\""]
        {
            assert!(clash.text.contains(shown), "{shown}: {}", clash.text);
        }
        let settled = [
            ("requirement_id", "REQ-001"),
            ("expected_version", "3"),
            ("title", "Hide all card numbers"),
            ("_next", "/r/REQ-001"),
        ];
        visitor.write("update_requirement", &settled);
        assert_eq!(backend.get("/requirements/REQ-001").json["title"], "Hide all card numbers");
    });
}

#[test]
fn a_theme_is_remembered() {
    on_sqlite(&[], &[], |backend, _| {
        let mut visitor = Visitor::administrator(backend);
        assert!(!visitor.get("/").text.contains("data-theme"));
        let session = visitor.cookie.clone();
        for (wanted, shown) in [
            ("dark", Some("data-theme=\"dark\"")),
            ("light", Some("data-theme=\"light\"")),
            ("x", None),
            ("", None),
        ] {
            let answer = visitor.send("/preferences", &[("theme", wanted)]);
            assert_eq!((answer.status, answer.header("location")), (303, "/account"), "{wanted}");
            let theme = answer.header("set-cookie").split(';').next().unwrap_or_default().to_owned();
            visitor.cookie = format!("{session}; {theme}");
            let page = visitor.get("/").text;
            assert_eq!(page.contains("data-theme"), shown.is_some(), "{wanted}");
            assert!(shown.is_none_or(|shown| page.contains(shown)), "{page}");
        }
    });
}

#[test]
fn a_script_is_told_what_is_wrong_and_the_form_stays() {
    on_every_store(|backend| {
        let visitor = Visitor::administrator(backend);
        fill(&visitor);
        let wrong = visitor.swap("create_epic", &[("project", "DEFAULT"), ("title", ""), ("priority", "9")]);
        assert_eq!(wrong.status, 400);
        assert!(wrong.text.starts_with("<div data-problem=\"400\">"), "{}", wrong.text);
        assert!(wrong.text.contains("data-field=\"priority\""), "{}", wrong.text);
        // What worked leads on, as without scripts.
        let fields = [("epic_id", "EP-001"), ("title", "Pay"), ("_next", "/r/EP-001")];
        let done = visitor.swap("update_epic", &fields);
        assert_eq!((done.status, done.header("location")), (303, "/r/EP-001"));
        // Whoever must sign in again is shown how, over the page.
        let ended = Visitor::new(backend).swap("update_epic", &fields);
        assert_eq!(ended.status, 401);
        assert!(ended.text.starts_with("<form data-sign-in"), "{}", ended.text);
        let gone = visitor.swap("update_epic", &[("epic_id", "EP-999"), ("title", "x")]);
        assert!(gone.text.contains("data-problem=\"404\""), "{}", gone.text);
    });
}

#[test]
fn a_preview_is_what_a_page_shows() {
    on_sqlite(&[], &[], |backend, _| {
        let visitor = Visitor::administrator(backend);
        let preview =
            visitor.send("/preview", &[("text", "**a** <script>x</script>\r\n\r\n| b |\r\n|---|\r\n| c |")]);
        assert_eq!(preview.status, 200);
        assert!(preview.text.starts_with("<p><strong>a</strong> &lt;script&gt;"), "{}", preview.text);
        assert!(preview.text.contains("<td>c</td>"), "{}", preview.text);
        assert_eq!(visitor.send("/preview", &[("text", &"x".repeat(1 << 20))]).status, 400);
        assert_eq!(Visitor::new(backend).send("/preview", &[("text", "x")]).status, 400);
        let foreign = visitor.form_to("/preview", &[("text", "x")]).header("origin", "https://evil.example");
        assert_eq!(send(foreign).status, 400);
    });
}

#[test]
fn single_keys_can_be_switched_off() {
    on_sqlite(&[], &[], |backend, _| {
        let mut visitor = Visitor::administrator(backend);
        assert!(!visitor.get("/").text.contains("data-keys"));
        let answer = visitor.send("/preferences", &[("keys", "off")]);
        let cookie = answer.header("set-cookie").split(';').next().unwrap_or_default().to_owned();
        visitor.cookie = format!("{}; {cookie}", visitor.cookie);
        assert!(visitor.get("/").text.contains("data-keys=\"off\""));
        assert_eq!(visitor.send("/preferences", &[("colour", "red")]).header("set-cookie"), "");
    });
}

#[test]
fn what_is_deleted_can_be_restored_where_it_was() {
    on_every_store(|backend| {
        let visitor = Visitor::administrator(backend);
        fill(&visitor);
        visitor.write("delete_entity", &[("reference", "REQ-001")]);
        let page = visitor.get("/r/REQ-001").text;
        assert!(
            page.contains("REQ-001 is deleted") && page.contains("action=\"/do/restore_entity\""),
            "{page}"
        );
        assert!(!page.contains("action=\"/do/update_requirement\""), "{page}");
        visitor.write("restore_entity", &[("reference", "REQ-001"), ("_next", "/r/REQ-001")]);
        assert!(!visitor.get("/r/REQ-001").text.contains("is deleted"));
        // A version of before is taken back as a whole.
        visitor.write("update_requirement", &[("requirement_id", "REQ-001"), ("title", "Other")]);
        let history = visitor.get("/r/REQ-001/history").text;
        assert!(history.contains("Restore version 1"), "{history}");
        visitor.write("restore_entity", &[("reference", "REQ-001"), ("version", "1")]);
        assert_eq!(backend.get("/requirements/REQ-001").json["title"], "Mask card numbers");
    });
}

/// [spec web] Home: what is mine, what became suspect, who waits for an answer, what agents changed; each can be dealt with there.
#[test]
fn the_first_page_shows_what_waits_and_lets_one_deal_with_it() {
    on_every_store(|backend| {
        let visitor = Visitor::administrator(backend);
        let empty = visitor.get("/").text;
        for offered in
            ["Nothing here is yours yet", "/p/DEFAULT/new/epic", "/p/DEFAULT/import", "href=\"/connect\""]
        {
            assert!(empty.contains(offered), "{offered}: {empty}");
        }
        fill(&visitor);
        let home = ("_next", "/");
        visitor.write("update_requirement", &[("requirement_id", "REQ-001"), ("assignee_id", "admin"), home]);
        visitor.write("update_user_story", &[("user_story_id", "US-001"), ("assignee_id", "admin"), home]);
        visitor.write("add_comment", &[("reference", "EP-001"), ("content", "Which cards?"), home]);
        let link = json!({"source_requirement_id": "REQ-001", "target_requirement_id": "REQ-002", "relationship_type_id": "depends_on"});
        backend.create("/relationships", &link);
        as_agent(backend, "update_requirement", &json!({"requirement_id": "REQ-002", "title": "Spoiled"}));
        let page = visitor.get("/").text;
        for shown in [
            "Pay by card",
            "Mask card numbers",
            "Which cards?",
            "depends on",
            "Still right",
            "Spoiled",
            "Restore version 1",
        ] {
            assert!(page.contains(shown), "{shown}: {page}");
        }
        assert!(!page.contains("Nothing here is yours yet"), "{page}");
        let restored = [("reference", "REQ-002"), ("version", "1"), home];
        assert_eq!(visitor.write("restore_entity", &restored), "/");
        // What says again what it said before is not suspect.
        let page = visitor.get("/").text;
        assert!(page.contains("No link is suspect") && !page.contains("Still right"), "{page}");
        assert_eq!(backend.get("/requirements/REQ-002").json["title"], "Keep tokens");
    });
}

/// Calls a tool over MCP.
fn as_agent(backend: &Backend, tool: &str, arguments: &Value) {
    let call = json!({
        "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
            "name": tool, "arguments": arguments, "_meta": {
                "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
                "io.modelcontextprotocol/clientCapabilities": {},
            },
        },
    });
    let request = backend.anonymous("POST", "/mcp").bearer_auth(&backend.token).body(call.to_string());
    let request = request
        .header("content-type", "application/json")
        .header("accept", "application/json, text/event-stream");
    let request = request.header("mcp-protocol-version", "2026-07-28");
    let answer = send(request.header("mcp-method", "tools/call").header("mcp-name", tool));
    assert!(answer.status == 200 && !answer.text.contains("\"isError\":true"), "{}", answer.text);
}

#[test]
fn an_account_is_looked_after_by_who_has_it() {
    on_every_store(|backend| {
        let visitor = Visitor::administrator(backend);
        let user = json!({"username": "ann", "email": "ann@example.org", "password": "correct horse battery", "role": "User"});
        backend.create("/users", &user);
        let ann = Visitor::signed_in(backend, "ann", "correct horse battery");
        let elsewhere = Visitor::signed_in(backend, "ann", "correct horse battery");
        let here = ("_next", "/account");
        ann.post("create_token", &[("name", "my agent"), ("scopes", "read"), ("expires_in", "30d")]);
        let page = ann.get("/account").text;
        assert!(page.contains("my agent") && page.contains("never used"), "{page}");
        let id = |form: &str, name: &str| {
            let rest = page.split_once(&format!("action=\"/do/{form}\"")).expect("a form").1;
            let rest = rest.split(&format!("name=\"{name}\" value=\"")).nth(1).expect("a field");
            rest.split('"').next().unwrap_or_default().to_owned()
        };
        assert_eq!(
            ann.write("revoke_token", &[("token_id", &id("revoke_token", "token_id")), here]),
            "/account"
        );
        assert_eq!(elsewhere.get("/").status, 200);
        ann.write("revoke_session", &[("session_id", &id("revoke_session", "session_id")), here]);
        assert_eq!((elsewhere.get("/").status, ann.get("/").status), (303, 200));
        assert!(!ann.get("/account").text.contains("never used"));
        let change = |current: &'static str, new: &'static str| {
            ann.post(
                "change_password",
                &[("current_password", current), ("new_password", new), ("cookie", "true"), here],
            )
        };
        let wrong = change("not this one", "another long one");
        assert!(wrong.status >= 400 && !wrong.text.contains("another long one"), "{}", wrong.text);
        let changed = change("correct horse battery", "another long one");
        // A new secret, so that whoever has seen the old one has nothing.
        assert!(
            changed.status == 303 && changed.header("set-cookie").contains("HttpOnly"),
            "{}",
            changed.text
        );
        assert_eq!(ann.get("/").status, 303);
        let mut renewed = Visitor::new(backend);
        renewed.cookie = changed.header("set-cookie").split(';').next().unwrap_or_default().to_owned();
        assert_eq!(renewed.get("/account").status, 200);
        assert_eq!(Visitor::signed_in(backend, "ann", "another long one").get("/account").status, 200);
        assert_eq!(visitor.get("/").status, 200);
    });
}

#[test]
fn a_cookie_whose_session_has_ended_keeps_nobody_from_signing_in() {
    on_every_store(|backend| {
        let ended = Visitor::administrator(backend);
        let other = Visitor::administrator(backend);
        other.write("revoke_other_sessions", &[("_next", "/account")]);
        let answer = ended.get("/account");
        assert_eq!((answer.status, answer.header("location")), (303, "/sign-in?next=%2Faccount"));
        assert_eq!(ended.get("/sign-in").status, 200);
        let login = [("username", "admin"), ("password", backend.password.as_str()), ("cookie", "true")];
        let answer = ended.post("login", &login);
        assert_eq!((answer.status, answer.header("location")), (303, "/"), "{}", answer.text);
        assert!(answer.header("set-cookie").starts_with("spexus_session=spexus_session_"));
        let link = backend.create("/auth/sign-in-links", &json!({}));
        let (_, code) = link["url"].as_str().expect("a URL").split_once("code=").expect("a code");
        let answer = ended.post("use_sign_in_link", &[("code", code), ("cookie", "true")]);
        assert_eq!(answer.status, 303, "{}", answer.text);
        // A page of another site begins no session either way.
        let answer = send(ended.form("login", &login).header("origin", "https://evil.example"));
        assert_eq!((answer.status, answer.header("set-cookie")), (403, ""), "{}", answer.text);
    });
}

/// What is chosen in a form.
fn chosen(page: &str, name: &str) -> String {
    let select = page.split(&format!("name=\"{name}\"")).nth(1).unwrap_or_default();
    let select = select.split("</select>").next().unwrap_or_default();
    let option = select.split("<option value=\"").find(|option| option.contains("\" selected"));
    option.and_then(|option| option.split('"').next()).unwrap_or_default().to_owned()
}

/// From the page of a story, a criterion or a requirement, what is new belongs to the same story; from a criterion, to that as well.
#[test]
fn something_new_is_made_beside_what_is_shown() {
    on_every_store(|backend| {
        let visitor = Visitor::administrator(backend);
        fill(&visitor);
        let next = ("_next", "/r/{reference_id}");
        let criterion = [("user_story_id", "US-001"), ("description", "Four digits are shown."), next];
        assert_eq!(visitor.write("create_acceptance_criteria", &criterion), "/r/AC-001");
        for reference in ["US-001", "AC-001", "REQ-001"] {
            let form = format!("/p/DEFAULT/new/requirement?under={reference}");
            assert!(visitor.get(&format!("/r/{reference}")).text.contains(&format!("href=\"{form}\"")));
            let page = visitor.get(&form).text;
            assert_eq!(chosen(&page, "user_story_id"), "US-001", "{reference}");
            let expected = if reference == "AC-001" { "AC-001" } else { "" };
            assert_eq!(chosen(&page, "acceptance_criteria_id"), expected, "{reference}");
            // Nothing but a title has to be thought of.
            assert_eq!(
                (chosen(&page, "type_id"), chosen(&page, "priority")),
                ("Functional".into(), "3".into())
            );
        }
        let served = [
            ("user_story_id", "US-001"),
            ("acceptance_criteria_id", "AC-001"),
            ("title", "Mask receipts"),
            ("type_id", "Functional"),
            ("priority", "3"),
            next,
        ];
        assert_eq!(visitor.write("create_requirement", &served), "/r/REQ-003");
        assert_eq!(backend.get("/requirements/REQ-003").json["acceptance_criteria"], "AC-001");
        let page = visitor.get("/p/DEFAULT/new/requirement?under=REQ-003").text;
        assert_eq!(chosen(&page, "acceptance_criteria_id"), "AC-001");
        let page = visitor.get("/p/DEFAULT/new/user_story?under=EP-001").text;
        assert_eq!(chosen(&page, "epic_id"), "EP-001");
    });
}
