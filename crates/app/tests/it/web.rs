//! The web application over HTTP: who may see which page, and that pages of others and texts of users can do nothing.

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

/// [spec web] What browsers are told of every page.
const HEADERS: [(&str, &str); 6] = [
    (
        "content-security-policy",
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; form-action 'self'; \
         base-uri 'none'; frame-ancestors 'none'",
    ),
    ("cache-control", "no-store"),
    ("x-content-type-options", "nosniff"),
    ("referrer-policy", "same-origin"),
    ("cross-origin-opener-policy", "same-origin"),
    ("cross-origin-resource-policy", "same-origin"),
];

#[test]
fn every_page_is_shown_safely() {
    on_every_store(|backend| {
        let visitor = Visitor::administrator(backend);
        fill(&visitor);
        for path in paths() {
            let answer = visitor.get(&path);
            assert_eq!(answer.status, 200, "{path}: {}", answer.text);
            for (name, expected) in HEADERS {
                assert_eq!(answer.header(name), expected, "{path}: {name}");
            }
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
                Role::Commenter => {
                    assert_eq!(answer.status, 200, "{path}");
                    for denied in ["/new/", "/import\""] {
                        let is_offered = answer.text.contains(&format!("href=\"/p/DEFAULT{denied}"));
                        assert!(!is_offered, "{path} offers {denied}");
                    }
                }
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
fn an_address_where_nothing_is_is_a_page_for_people() {
    on_sqlite(&[], &[], |backend, _| {
        let visitor = Visitor::administrator(backend);
        let at = |path: &str, accept: &str| {
            send(visitor.client.get(format!("{}{path}", backend.url)).header("accept", accept))
        };
        let page = at("/p/DEFAULT/lisst/<b>", "text/html,application/xhtml+xml");
        assert_eq!((page.status, page.header("content-type")), (404, "text/html; charset=utf-8"));
        assert!(page.text.contains("There is nothing at") && !page.text.contains("<b>"), "{}", page.text);
        assert!(page.header("content-security-policy").starts_with("default-src 'none'"));
        for (path, accept) in [("/p/DEFAULT/lisst", "*/*"), ("/api/v1/lisst", "text/html")] {
            let answer = at(path, accept);
            assert_eq!((answer.status, answer.header("content-type")), (404, "application/json"), "{path}");
        }
        // A project that is not there has no pages to go to.
        let page = visitor.get("/p/NOPE").text;
        assert!(
            page.contains("There is no project NOPE") || page.contains("there is no project NOPE"),
            "{page}"
        );
        assert!(!page.contains("/p/NOPE/list"), "{page}");
    });
}
