//! The web application over HTTP: who may see which page, what forms do, and that nothing typed is lost.

use reqwest::blocking::{Client, RequestBuilder};
use serde_json::{Value, json};
use web::PAGES;

use crate::backend::{Answer, Backend, on_every_store, on_sqlite, send};

/// Somebody with a browser.
pub struct Visitor<'a> {
    pub backend: &'a Backend,
    pub client: Client,
    cookie: String,
}

impl Visitor<'_> {
    fn new(backend: &Backend) -> Visitor<'_> {
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

    fn form(&self, operation: &str, fields: &[(&str, &str)]) -> RequestBuilder {
        let pair = |(name, value): &(&str, &str)| format!("{}={}", web::encode(name), web::encode(value));
        let body = fields.iter().map(pair).collect::<Vec<_>>().join("&");
        let request = self.client.post(format!("{}/do/{operation}", self.backend.url));
        let request = request.header("content-type", "application/x-www-form-urlencoded").body(body);
        self.with_cookie(request)
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
fn fill(visitor: &Visitor<'_>) {
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

/// The paths of all pages, with parameters that are there.
fn paths() -> Vec<String> {
    let filled = |page: &web::Page| {
        let path = page.path.replace("{key}", "DEFAULT").replace("{kind}", "requirement");
        path.replace("{reference}", "REQ-001").replace("{name}", "delete_entity")
    };
    // The steps of an import need a file that was sent.
    PAGES.iter().map(filled).filter(|path| !path.contains('{')).collect()
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
        for path in paths() {
            assert_eq!(ann.get(&path).status, 200, "{path}");
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
            let request =
                visitor.client.post(format!("{}/theme", backend.url)).body(format!("theme={wanted}"));
            let request = request.header("origin", &backend.url);
            let answer = send(visitor.with_cookie(request));
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
    for page in PAGES {
        let parameters =
            ["key", "kind", "reference", "name"].map(|name| (name.to_owned(), "requirement".to_owned()));
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
                let changes_nothing = question.operation.only_reads(&question.arguments);
                assert!(changes_nothing, "{} asks {}", page.path, question.operation.name);
                answers.add(question.name, Ok::<Value, web::Problem>(answer.clone()));
            }
        }
    }
}
