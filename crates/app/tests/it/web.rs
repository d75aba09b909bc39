//! The web application over HTTP: who may see which page, what forms do, and that nothing typed is lost.

use reqwest::blocking::{Client, RequestBuilder};
use serde_json::{Value, json};
use store::model::Role;
use web::{PAGES, PARTS};

use crate::backend::{Answer, Backend, on_every_store, on_sqlite, send};

/// Somebody with a browser.
pub struct Visitor<'a> {
    pub backend: &'a Backend,
    pub client: Client,
    pub cookie: String,
}

impl Visitor<'_> {
    pub fn new(backend: &Backend) -> Visitor<'_> {
        let client = Client::builder().redirect(reqwest::redirect::Policy::none()).build().expect("a client");
        Visitor { backend, client, cookie: String::new() }
    }

    pub fn signed_in<'a>(backend: &'a Backend, username: &str, password: &str) -> Visitor<'a> {
        let mut visitor = Visitor::new(backend);
        let fields = [("username", username), ("password", password), ("cookie", "true")];
        let answer = visitor.post("login", &fields);
        assert_eq!((answer.status, answer.header("location")), (303, "/"), "{}", answer.text);
        let cookie = answer.header("set-cookie").to_owned();
        assert!(cookie.contains("HttpOnly") && cookie.contains("SameSite=Lax"), "{cookie}");
        visitor.cookie = cookie.split(';').next().unwrap_or_default().to_owned();
        visitor
    }

    pub fn administrator(backend: &Backend) -> Visitor<'_> {
        Visitor::signed_in(backend, "admin", &backend.password)
    }

    pub fn with_cookie(&self, request: RequestBuilder) -> RequestBuilder {
        if self.cookie.is_empty() { request } else { request.header("cookie", &self.cookie) }
    }

    pub fn get(&self, path: &str) -> Answer {
        send(self.with_cookie(self.client.get(format!("{}{path}", self.backend.url))))
    }

    pub fn form(&self, operation: &str, fields: &[(&str, &str)]) -> RequestBuilder {
        self.form_to(&format!("/do/{operation}"), fields)
    }

    pub fn form_to(&self, path: &str, fields: &[(&str, &str)]) -> RequestBuilder {
        let pair = |(name, value): &(&str, &str)| format!("{}={}", web::encode(name), web::encode(value));
        let body = fields.iter().map(pair).collect::<Vec<_>>().join("&");
        let request = self.client.post(format!("{}{path}", self.backend.url));
        let request = request.header("content-type", "application/x-www-form-urlencoded").body(body);
        self.with_cookie(request)
    }

    /// Sends a form of our own page to another place than an operation.
    pub fn send(&self, path: &str, fields: &[(&str, &str)]) -> Answer {
        send(self.form_to(path, fields).header("origin", &self.backend.url))
    }

    /// Sends a form as the script of a page does.
    pub fn swap(&self, operation: &str, fields: &[(&str, &str)]) -> Answer {
        send(self.form(operation, fields).header("origin", &self.backend.url).header("hx-request", "true"))
    }

    pub fn post(&self, operation: &str, fields: &[(&str, &str)]) -> Answer {
        send(self.form(operation, fields).header("origin", &self.backend.url))
    }

    /// Sends a form that must work, and returns where it leads.
    #[track_caller]
    pub fn write(&self, operation: &str, fields: &[(&str, &str)]) -> String {
        let answer = self.post(operation, fields);
        assert_eq!(answer.status, 303, "{}", answer.text);
        answer.header("location").to_owned()
    }
}

/// An epic, a story and two requirements.
pub fn fill(visitor: &Visitor<'_>) {
    let next = ("_next", "/r/{reference_id}");
    let epic = [("project", "DEFAULT"), ("title", "Checkout"), ("priority", "1"), ("description", ""), next];
    assert_eq!(visitor.write("create_epic", &epic), "/r/EP-001");
    let story = [("epic_id", "EP-001"), ("title", "Pay by card"), ("priority", "2"), next];
    assert_eq!(visitor.write("create_user_story", &story), "/r/US-001");
    for title in ["Mask card numbers", "Keep tokens"] {
        let fields = [
            ("user_story_id", "US-001"),
            ("title", title),
            ("type_id", "Functional"),
            ("priority", "2"),
            next,
        ];
        visitor.write("create_requirement", &fields);
    }
}

/// The parameters of paths, and something that is there.
const PARAMETERS: [(&str, &str); 6] = [
    ("epic", "EP-001"),
    ("key", "DEFAULT"),
    ("kind", "requirement"),
    ("reference", "REQ-001"),
    ("name", "delete_entity"),
    ("pattern", "TMKB-AUTHZ-001"),
];

/// All pages with the parameters that are there. Specifications are where a folder is traced, see `web_trace`.
pub fn pages() -> Vec<(&'static web::Page, String)> {
    let filled = |page: &'static web::Page| {
        let mut path = page.path.to_owned();
        for (name, value) in PARAMETERS {
            path = path.replace(&format!("{{{name}}}"), value);
        }
        (page, path)
    };
    // The steps of an import need a file that was sent.
    PAGES.iter().map(filled).filter(|(_, path)| !path.contains('{')).collect()
}

fn paths() -> Vec<String> {
    pages().into_iter().map(|(_, path)| path).collect()
}

/// The least role that a page needs: what it cannot do without, somebody must be allowed to ask.
pub fn role_of(page: &web::Page) -> Role {
    let parameters = PARAMETERS.map(|(name, value)| (name.to_owned(), value.to_owned()));
    let asked = web::Asked { path: page.path.to_owned(), parameters: parameters.into(), query: Vec::new() };
    let needed =
        (page.ask)(&asked, &web::Answers::default()).into_iter().filter(|question| question.is_needed);
    let roles = needed.map(|question| match question.source {
        web::Source::Operation(entry) | web::Source::Permission(entry) => ops::needed(entry.effect).0,
        web::Source::Traces | web::Source::Threats => Role::Commenter,
    });
    roles.max().unwrap_or(Role::Commenter)
}

#[test]
fn a_visitor_is_led_to_the_sign_in_and_back() {
    on_every_store(|backend| {
        let stranger = Visitor::new(backend);
        for (path, expected) in [
            ("/", "/sign-in"),
            ("/r/REQ-001?x=1", "/sign-in?next=%2Fr%2FREQ-001%3Fx%3D1"),
            ("/account", "/sign-in?next=%2Faccount"),
        ] {
            let answer = stranger.get(path);
            assert_eq!((answer.status, answer.header("location")), (303, expected), "{path}");
        }
        let page = stranger.get("/sign-in?next=%2Faccount");
        assert!(page.text.contains("name=\"_next\" value=\"/account\""), "{}", page.text);
        let wrong = stranger.post("login", &[("username", "admin"), ("password", "no"), ("cookie", "true")]);
        assert_eq!(wrong.status, 401);
        assert!(
            wrong.text.contains("role=\"alert\"") && wrong.text.contains("value=\"admin\""),
            "{}",
            wrong.text
        );
        assert!(!wrong.text.contains("value=\"no\""), "a password was repeated");
        let visitor = Visitor::administrator(backend);
        assert_eq!(visitor.get("/").status, 200);
        assert_eq!(visitor.get("/sign-in").header("location"), "/");
        // Signing out ends the session itself.
        let out = visitor.post("logout", &[("_next", "/sign-in")]);
        assert_eq!((out.status, out.header("clear-site-data")), (303, "\"cache\", \"storage\""));
        assert_eq!(visitor.get("/").status, 303);
    });
}

#[test]
fn every_page_is_shown_safely() {
    on_every_store(|backend| {
        let visitor = Visitor::administrator(backend);
        fill(&visitor);
        for path in paths() {
            let answer = visitor.get(&path);
            assert_eq!(answer.status, 200, "{path}: {}", answer.text);
            let policy = answer.header("content-security-policy");
            assert!(policy.contains("default-src 'none'") && !policy.contains("unsafe"), "{policy}");
            assert_eq!(answer.header("cache-control"), "no-store", "{path}");
            for inline in ["<script>", "<style", " style=", " onclick="] {
                assert!(!answer.text.contains(inline), "{path} has {inline}");
            }
            for place in answer.text.split("=\"/assets/").skip(1) {
                let name = place.split('"').next().unwrap_or_default();
                let file = visitor.get(&format!("/assets/{name}"));
                assert_eq!(file.status, 200, "{name}");
                assert!(file.header("cache-control").contains("immutable"));
            }
        }
        for path in ["/r/REQ-999", "/p/NOPE", "/p/NOPE/tree", "/p/DEFAULT/list/nothing"] {
            let answer = visitor.get(path);
            assert!(answer.status == 404 || answer.status == 400, "{path}: {}", answer.status);
            assert!(answer.text.contains("<main"), "{path} is no page");
        }
    });
}

#[test]
fn nobody_is_offered_what_they_may_not_do() {
    on_sqlite(&[], &[], |backend, _| {
        let visitor = Visitor::administrator(backend);
        fill(&visitor);
        let user = json!({"username": "ann", "email": "ann@example.org", "password": "correct horse battery", "role": "Commenter"});
        backend.create("/users", &user);
        let ann = Visitor::signed_in(backend, "ann", "correct horse battery");
        for (page, path) in pages() {
            let answer = ann.get(&path);
            match role_of(page) {
                Role::Commenter => assert_eq!(answer.status, 200, "{path}"),
                role => {
                    assert_eq!(answer.status, 403, "{path}");
                    assert!(
                        answer.text.contains(&format!("needs the role {}", role.name())),
                        "{path}: {}",
                        answer.text
                    );
                }
            }
        }
        let item = ann.get("/r/REQ-001").text;
        assert!(item.contains("/do/add_comment"), "{item}");
        for denied in ["/edit\"", "/do/update_requirement", "/do/create_relationship", "delete_entity"] {
            assert!(!item.contains(denied), "{denied} is offered");
        }
        // The door refuses anyway, and what was typed is still there.
        let refused = ann.post("update_requirement", &[("requirement_id", "REQ-001"), ("title", "Mine now")]);
        assert_eq!(refused.status, 403);
        assert!(
            refused.text.contains("Mine now") && refused.text.contains("needs the role User"),
            "{}",
            refused.text
        );
        assert_eq!(
            ann.write(
                "add_comment",
                &[("reference", "REQ-001"), ("content", "Why?"), ("_next", "/r/REQ-001")]
            ),
            "/r/REQ-001"
        );
        assert!(ann.get("/r/REQ-001").text.contains("<p>Why?</p>"));
    });
}

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
fn pages_of_others_can_change_nothing() {
    on_sqlite(&[], &[], |backend, _| {
        let visitor = Visitor::administrator(backend);
        let fields = [("project", "DEFAULT"), ("title", "x"), ("priority", "1")];
        for (header, value) in [
            ("origin", "https://evil.example"),
            ("origin", "null"),
            ("sec-fetch-site", "cross-site"),
            ("x-nothing", ""),
        ] {
            let answer = send(visitor.form("create_epic", &fields).header(header, value));
            assert_ne!(answer.status, 200, "{header}: {value}");
            assert_eq!(backend.get("/epics").json["total_count"], 0, "{header}: {value}");
        }
        let stranger = Visitor::new(backend);
        let login = [("username", "admin"), ("password", backend.password.as_str()), ("cookie", "true")];
        let answer = send(stranger.form("login", &login).header("origin", "https://evil.example"));
        assert_eq!(answer.header("set-cookie"), "", "somebody else's page signed a visitor in");
        for next in ["https://evil.example", "//evil.example", "/\\evil.example"] {
            let answer = visitor.post("create_epic", &[&fields[..], &[("_next", next)]].concat());
            assert_eq!((answer.status, answer.header("location")), (303, "/"), "{next}");
        }
    });
}

#[test]
fn what_people_write_stays_text() {
    on_sqlite(&[], &[], |backend, _| {
        let visitor = Visitor::administrator(backend);
        let text =
            "<script>alert(1)</script>\n\n[x](javascript:alert(1)) see REQ-001 <img src=x onerror=alert(1)>";
        let fields = [
            ("project", "DEFAULT"),
            ("title", "<b onclick=x>Bold</b>"),
            ("priority", "1"),
            ("description", text),
        ];
        visitor.write("create_epic", &fields);
        for path in [
            "/r/EP-001",
            "/r/EP-001/edit",
            "/r/EP-001/history",
            "/p/DEFAULT/tree",
            "/p/DEFAULT/list/epic",
            "/search?query=bold",
        ] {
            let page = visitor.get(path).text;
            for bad in ["<script>", "<b onclick", "<img src=x", "href=\"javascript:"] {
                assert!(!page.contains(bad), "{path} has {bad}:\n{page}");
            }
        }
        assert!(visitor.get("/r/EP-001").text.contains("<a href=\"/r/REQ-001\""));
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

/// [spec web] A page is read with GET, so it must change nothing.
#[test]
fn pages_ask_only_what_changes_nothing() {
    let answer = json!({
        "reference_id": "REQ-001", "kind": "requirement", "project": "DEFAULT", "username": "ann", "data": [], "total_count": 0,
    });
    for page in PAGES.iter().chain(PARTS) {
        let parameters = ["key", "kind", "reference", "name", "epic", "what", "token", "spec", "pattern"]
            .map(|name| (name.to_owned(), "requirement".to_owned()));
        let query = vec![("query".to_owned(), "x".to_owned())];
        let asked = web::Asked { path: page.path.to_owned(), parameters: parameters.into(), query };
        let mut answers = web::Answers::default();
        for round in 0.. {
            let questions = (page.ask)(&asked, &answers);
            if questions.is_empty() {
                break;
            }
            assert!(round < 4, "{} never stops asking", page.path);
            for question in questions {
                if let web::Source::Operation(entry) = question.source {
                    let changes_nothing = entry.only_reads(&question.arguments);
                    assert!(changes_nothing, "{} asks {}", page.path, entry.name);
                }
                answers.add(question.name, Ok::<Value, web::Problem>(answer.clone()));
            }
        }
    }
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
fn parts_are_for_those_who_may_see_them() {
    on_every_store(|backend| {
        let visitor = Visitor::administrator(backend);
        fill(&visitor);
        let token = json!({"name": "my agent", "scopes": ["read"]});
        let token = backend.create("/tokens", &token);
        let connection = format!("/connect/{}", token["id"].as_str().unwrap_or_default());
        for (path, expected) in [
            ("/palette?query=mask", "/r/REQ-001"),
            ("/palette?query=req-002", "Keep tokens"),
            ("/palette?query=acc&project=DEFAULT", "href=\"/account\""),
            ("/palette?query=act&project=DEFAULT", "href=\"/p/DEFAULT/activity\""),
            ("/suggest/requirement?query=REQ-002", "<option value=\"REQ-002\">Keep tokens</option>"),
            ("/suggest/requirement?query=mask", "<option value=\"REQ-001\">"),
            ("/suggest/epic", "<option value=\"EP-001\">Checkout</option>"),
            ("/suggest/user?query=adm", "<option value=\"admin\">"),
            ("/r/REQ-001/card", "Mask card numbers"),
            (&connection, "Waiting for the agent"),
        ] {
            let part = visitor.get(path);
            assert_eq!(part.status, 200, "{path}: {}", part.text);
            assert!(part.text.contains(expected) && !part.text.contains("<main"), "{path}: {}", part.text);
            assert_eq!(Visitor::new(backend).get(path).status, 303, "{path}");
        }
        assert_eq!(visitor.get("/r/REQ-999/card").status, 404);
        // An agent that comes with the token is noticed.
        let secret = token["token"].as_str().unwrap_or_default();
        let request = visitor.client.get(format!("{}/api/v1/epics", backend.url)).bearer_auth(secret);
        assert_eq!(send(request).status, 200);
        let mut shown = visitor.get(&connection).text;
        // The use of a token is written down after the answer.
        for _ in 0..200 {
            if shown.contains("Connected") {
                break;
            }
            std::thread::sleep(std::time::Duration::from_millis(50));
            shown = visitor.get(&connection).text;
        }
        assert!(shown.contains("Connected"), "{shown}");
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

/// The addresses that a page leads to with links.
fn addresses(page: &str) -> Vec<String> {
    let links = page.split(" href=\"").skip(1).filter_map(|rest| rest.split('"').next());
    links.map(|address| address.replace("&amp;", "&")).collect()
}

/// [spec web] A document stays readable and quick however large a project is.
#[test]
fn a_large_project_is_read_as_a_document_part_by_part() {
    on_every_store(|backend| {
        let visitor = Visitor::administrator(backend);
        fill(&visitor);
        let many = |operation: &str, arguments: &dyn Fn(usize) -> Value, count: usize| {
            let steps: Vec<Value> = (0..count)
                .map(|number| json!({"operation": operation, "arguments": arguments(number)}))
                .collect();
            assert_eq!(backend.send("POST", "/bulk", &json!({ "operations": steps })).status, 200);
        };
        many(
            "create_epic",
            &|number| json!({"project": "DEFAULT", "title": format!("Epic {number}"), "priority": 1}),
            3,
        );
        many(
            "create_user_story",
            &|number| json!({"epic_id": "EP-002", "title": format!("Story {number}"), "priority": 1}),
            12,
        );
        for story in 2..=13 {
            let new = |number: usize| json!({"user_story_id": format!("US-{story:03}"), "title": format!("Requirement {number}"), "type_id": "Functional", "priority": 1});
            many("create_requirement", &new, 30);
        }
        // Following the links from the beginning leads through everything, once and in order.
        let (mut path, mut seen, mut pages) = ("/p/DEFAULT/document".to_owned(), Vec::new(), 0);
        loop {
            let page = visitor.get(&path);
            assert_eq!(page.status, 200, "{path}: {}", page.text);
            let sections: Vec<String> = page
                .text
                .split("<section class=\"")
                .skip(1)
                .filter_map(|rest| Some(rest.split(" id=\"").nth(1)?.split('"').next()?.to_owned()))
                .collect();
            let rows = page.text.matches("<section").count()
                + page.text.matches("<li").count()
                + page.text.matches("class=\"outline-").count();
            assert!(rows <= 500, "{path} has {rows} rows");
            seen.extend(sections);
            pages += 1;
            let next = page.text.split("rel=\"next\" href=\"").nth(1).and_then(|rest| rest.split('"').next());
            match next {
                Some(next) => path = next.replace("&amp;", "&"),
                None => break,
            }
            assert!(pages < 20, "it never ends");
        }
        assert!(pages >= 3, "{pages} pages");
        let unique: std::collections::BTreeSet<&String> = seen.iter().collect();
        assert_eq!((seen.len(), unique.len()), (4 + 13 + 362, seen.len()));
        assert_eq!((seen[0].as_str(), seen[1].as_str()), ("EP-001", "US-001"));
        // One epic keeps its number, and what is continued says within what.
        let epic = visitor.get("/p/DEFAULT/document/EP-003").text;
        assert!(
            epic.contains("<span class=\"number\">3</span> Epic 1") && !epic.contains("id=\"EP-002\""),
            "{epic}"
        );
        let later = visitor.get("/p/DEFAULT/document?from=US-009").text;
        assert!(later.contains("Continued: ") && later.contains(">2.8</span>"), "{later}");
        for path in
            ["/p/DEFAULT/document/EP-999", "/p/DEFAULT/document?from=REQ-999", "/p/DEFAULT/document/US-001"]
        {
            let answer = visitor.get(path);
            assert!(matches!(answer.status, 400 | 404), "{path}: {}", answer.status);
        }
    });
}

#[test]
fn a_document_is_downloaded_as_a_file_that_can_do_nothing() {
    on_every_store(|backend| {
        let visitor = Visitor::administrator(backend);
        fill(&visitor);
        let page = visitor.get("/p/DEFAULT/document").text;
        let download =
            addresses(&page).into_iter().find(|address| address.contains("format=html")).expect("a link");
        let file = visitor.get(&download);
        assert_eq!((file.status, file.header("content-type")), (200, "text/html; charset=utf-8"));
        assert_eq!(file.header("content-disposition"), "attachment; filename=\"DEFAULT.html\"");
        assert_eq!(file.header("x-content-type-options"), "nosniff");
        let policy = file.header("content-security-policy");
        assert!(
            policy.contains("sandbox") && policy.contains("default-src 'none'") && !policy.contains("script"),
            "{policy}"
        );
        assert!(file.text.contains("Mask card numbers") && !file.text.contains("<script"), "{}", file.text);
        let epic = visitor.get("/p/DEFAULT/document/EP-001").text;
        let download =
            addresses(&epic).into_iter().find(|address| address.contains("format=html")).expect("a link");
        assert_eq!(
            visitor.get(&download).header("content-disposition"),
            "attachment; filename=\"EP-001.html\""
        );
    });
}

/// [spec web] An empty state is one sentence and the next action; every number leads to its list.
#[test]
fn an_overview_leads_from_an_empty_project_to_every_list() {
    on_every_store(|backend| {
        let visitor = Visitor::administrator(backend);
        let empty = visitor.get("/p/DEFAULT").text;
        for offered in ["/p/DEFAULT/new/epic", "/p/DEFAULT/import", "/do/load_example"] {
            assert!(empty.contains(offered), "{offered}: {empty}");
        }
        let next = visitor.write("load_example", &[("project", "DEFAULT"), ("_next", "/p/DEFAULT")]);
        let page = visitor.get(&next).text;
        for shown in [
            "1 done",
            "Coverage of",
            "Suspect links</a> <span class=\"count\">2</span>",
            "role=\"img\"",
            "/do/clear_suspect_link",
        ] {
            assert!(page.contains(shown), "{shown}: {page}");
        }
        for address in addresses(&page) {
            if let Some(anchor) = address.strip_prefix('#') {
                assert!(page.contains(&format!("id=\"{anchor}\"")), "{address} leads nowhere");
            } else if address.starts_with("/p/") || address.starts_with("/r/") {
                assert_eq!(visitor.get(&address).status, 200, "{address}");
            }
        }
        let again = visitor.post("load_example", &[("project", "DEFAULT"), ("_next", "/p/DEFAULT")]);
        assert!(again.status == 409 && again.text.contains("is not empty"), "{}", again.text);
    });
}
