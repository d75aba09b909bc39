//! Sessions over REST and on the command line: how their secret is handed out, and who ends them.

use serde_json::{Value, json};

use crate::backend::{Answer, Backend, on_every_store, on_sqlite, send};

fn login(backend: &Backend, arguments: &Value, origin: Option<&str>) -> Answer {
    let mut request = backend
        .anonymous("POST", "/auth/login")
        .header("content-type", "application/json")
        .header("user-agent", "Browser/1.0")
        .body(arguments.to_string());
    if let Some(origin) = origin {
        request = request.header("origin", origin);
    }
    send(request)
}

#[test]
fn the_secret_of_a_session_is_in_the_answer_or_in_a_cookie() {
    on_every_store(|backend| {
        let password =
            |cookie: bool| json!({ "username": "admin", "password": backend.password, "cookie": cookie });
        let for_program = login(backend, &password(false), None);
        let secret = for_program.json["session"].as_str().expect("a secret");
        assert_eq!((for_program.header("set-cookie"), &for_program.json["cookie"]), ("", &json!(false)));
        assert_eq!(send(backend.anonymous("GET", "/auth/me").bearer_auth(secret)).status, 200);

        let for_page = login(backend, &password(true), Some(&backend.url));
        assert_eq!(for_page.status, 200, "{}", for_page.text);
        assert!(!for_page.text.contains("spexus_session_"), "{}", for_page.text);
        assert_eq!(
            (&for_page.json["cookie"], &for_page.json["user"]["username"]),
            (&json!(true), &json!("admin"))
        );
        let cookie = for_page.header("set-cookie");
        assert!(
            cookie.starts_with("spexus_session=spexus_session_") && !cookie.contains("Secure"),
            "{cookie}"
        );
        let pair = cookie.split(';').next().expect("a cookie");
        let with = |pair: &str| send(backend.anonymous("GET", "/auth/me").header("cookie", pair)).status;
        assert_eq!((with(pair), with(&format!("__Host-{pair}"))), (200, 401));

        let n_sessions = || backend.get("/auth/sessions").json["total_count"].clone();
        let n_before = n_sessions();
        for origin in [None, Some("https://evil.example")] {
            let refused = login(backend, &password(true), origin);
            assert_eq!((refused.status, refused.header("set-cookie")), (403, ""), "{}", refused.text);
            assert!(!refused.text.contains("spexus_session_"), "{}", refused.text);
        }
        assert_eq!(n_sessions(), n_before, "a refused login begins no session");
    });
}

#[test]
fn sessions_are_listed_and_revoked() {
    on_every_store(|backend| {
        let password = json!({ "username": "admin", "password": backend.password });
        let [first, second] = [(); 2].map(|()| login(backend, &password, None).json);
        let secret = first["session"].as_str().expect("a secret");
        let own = |method: &str, path: &str| send(backend.anonymous(method, path).bearer_auth(secret));
        let listed = own("GET", "/auth/sessions").json;
        assert_eq!(listed["total_count"], 2, "{listed}");
        let row = &listed["data"][1];
        assert_eq!((&row["id"], &row["current"]), (&first["id"], &json!(true)));
        assert_eq!((&row["address"], &row["user_agent"]), (&json!("127.0.0.1"), &json!("Browser/1.0")));
        let path = format!("/auth/sessions/{}", second["id"].as_str().expect("an id"));
        assert_eq!(own("DELETE", &path).status, 200);
        assert_eq!(own("DELETE", &path).status, 404);
        login(backend, &password, None);
        assert_eq!(own("DELETE", "/auth/sessions").json, json!({ "revoked": 1 }));
        assert_eq!(own("GET", "/auth/me").status, 200);

        let renewed = login(backend, &json!({ "token": secret }), None);
        assert_eq!((renewed.status, renewed.code()), (400, "VALIDATION_ERROR"));
        assert!(renewed.text.contains("expected a personal access token"), "{}", renewed.text);
    });
}

#[test]
fn the_command_line_ends_sessions() {
    on_sqlite(&[], &[], |backend, folder| {
        let password = json!({ "username": "admin", "password": backend.password });
        let session = login(backend, &password, None).json;
        let database = format!("sqlite:{}", folder.join("spexus.db").display());
        let run = |arguments: &[&str]| {
            let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_spexus"));
            let output = command.args(["--database", &database]).args(arguments).output().expect("it runs");
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
            String::from_utf8(output.stdout).expect("text")
        };
        let id = session["id"].as_str().expect("an id");
        let table = run(&["auth", "session", "list"]);
        assert!(table.contains("password") && table.contains("127.0.0.1"), "{table}");
        run(&["auth", "session", "revoke", id]);
        let secret = session["session"].as_str().expect("a secret");
        assert_eq!(send(backend.anonymous("GET", "/auth/me").bearer_auth(secret)).status, 401);
        login(backend, &password, None);
        let revoked = run(&["auth", "session", "revoke-others", "--user", "admin", "--json"]);
        assert_eq!(serde_json::from_str::<Value>(&revoked).expect("JSON"), json!({ "revoked": 1 }));
    });
}
