//! The traces of a folder in the web application: who sees them, what is underlined, and that nothing else of the folder is shown,
//! whatever is in it.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::backend::{Answer, Backend};
use crate::web::{Visitor, fill};

const CONFIG: &str = r#"'$schema' = "https://awslabs.github.io/duvet/config/v0.4.0.json"

[[source]]
pattern = "src/**/*.rs"

[[source]]
pattern = ".secret/*.rs"

[[specification]]
source = "specs/coffee.md"

[[specification]]
source = ".env"
format = "markdown"
"#;

const SPECIFICATION: &str = "# Coffee

## Brewing

The pot MUST accept BREW and POST.
A pot SHOULD keep the coffee warm.

## Cleaning

The pot MUST be cleaned <script>alert(1)</script> [daily](javascript:alert(2)).
";

const SOURCE: &str = "//! The pot, </td><script>alert(3)</script>.

//= specs/coffee.md#brewing
//# The pot MUST accept BREW and POST.
pub fn accept() {}

//= specs/coffee.md#brewing
//= type=test
//# The pot MUST accept BREW and POST.
fn accepted() {}

//= specs/coffee.md#brewing
//# A pot SHOULD keep the coffee warm.
fn warm() {}
";

/// A folder with a specification, code, and what must not be seen.
fn repository(folder: &Path) {
    for name in ["code/.duvet", "code/specs", "code/src", "code/.secret", "elsewhere"] {
        fs::create_dir_all(folder.join(name)).expect("a folder");
    }
    let write = |name: &str, text: &str| fs::write(folder.join(name), text).expect("a file");
    write("code/.duvet/config.toml", CONFIG);
    write("code/specs/coffee.md", SPECIFICATION);
    write("code/src/pot.rs", SOURCE);
    write("code/src/<img src=x onerror=alert(4)>.rs", &SOURCE.replace("type=test", "type=todo"));
    write("code/.env", "# Keys\n\nThe key MUST be HUNTER2.\n");
    write(
        "code/.secret/hidden.rs",
        "//= specs/coffee.md#brewing\n//# A pot SHOULD keep the coffee warm.\n// HUNTER2\n",
    );
    write("code/notes.txt", "HUNTER2");
    write("elsewhere/out.rs", "// HUNTER2\n");
    #[cfg(unix)]
    for (target, name) in
        [("../../elsewhere/out.rs", "code/src/link.rs"), ("../../elsewhere", "code/src/folder")]
    {
        std::os::unix::fs::symlink(target, folder.join(name)).expect("a link");
    }
}

/// Runs a test on both stores, with the folder traced for `DEFAULT`.
fn check(test: impl Fn(&Backend, &Path)) {
    let folder = tempfile::tempdir().expect("a folder");
    repository(folder.path());
    let traced = format!("DEFAULT={}", folder.path().join("code").display());
    let sqlite = format!("sqlite:{}", folder.path().join("spexus.db").display());
    test(&Backend::start(&sqlite, &["--trace", &traced]), folder.path());
    let Some(server) = private_postgres::Server::shared() else { return };
    let folder = tempfile::tempdir().expect("a folder");
    repository(folder.path());
    let traced = format!("DEFAULT={}", folder.path().join("code").display());
    let database = server.database();
    test(&Backend::start(database.url(), &["--trace", &traced]), folder.path());
}

/// A page once the folder is read.
#[track_caller]
fn read(visitor: &Visitor<'_>, path: &str, is_there: impl Fn(&Answer) -> bool) -> String {
    let start = Instant::now();
    loop {
        let answer = visitor.get(path);
        if is_there(&answer) {
            return answer.text;
        }
        assert!(start.elapsed() < Duration::from_secs(30), "{path}: {}", answer.text);
        std::thread::sleep(Duration::from_millis(20));
    }
}

const COFFEE: &str = "/p/DEFAULT/trace/specs-coffee-md";

#[test]
fn a_specification_is_underlined_by_state() {
    check(|backend, folder| {
        let visitor = Visitor::administrator(backend);
        let list = read(&visitor, "/p/DEFAULT/trace", |answer| answer.text.contains(COFFEE));
        assert!(list.contains("1 done, 1 needs tests, 0 in progress, 1 not started"), "{list}");
        let page = visitor.get(COFFEE).text;
        for shown in [
            "class=\"traced done\"",
            "class=\"traced needs-tests\"",
            "class=\"traced not-started\"",
            "path=src%2Fpot.rs&amp;line=3#L3\"",
            "<code>src/pot.rs:3</code>",
            "Next uncovered",
            "data-copy=\"//= specs/coffee.md#cleaning\n//# The pot MUST be cleaned",
        ] {
            assert!(page.contains(shown), "{shown}: {page}");
        }
        let code = visitor.get("/p/DEFAULT/code?path=src/pot.rs&line=3").text;
        assert!(code.contains("id=\"L14\"") && code.contains("implementation of Coffee"), "{code}");
        let section = visitor.get(&format!("{COFFEE}?section=cleaning")).text;
        assert!(!section.contains("id=\"s-brewing\"") && section.contains("id=\"s-cleaning\""), "{section}");
        let missing = visitor.get("/p/DEFAULT/trace/specs-cofee-md");
        assert!(
            missing.status == 404 && missing.text.contains("did you mean specs-coffee-md?"),
            "{}",
            missing.text
        );
        // An edit is followed.
        let tested = "//= specs/coffee.md#brewing\n//= type=test\n//# A pot SHOULD keep the coffee warm.\n";
        fs::write(folder.join("code/src/pot.rs"), format!("{SOURCE}\n{tested}")).expect("a file");
        read(&visitor, "/p/DEFAULT/trace", |answer| answer.text.contains("2 done, 0 needs tests"));
    });
}

#[test]
fn nothing_else_of_the_folder_is_shown() {
    check(|backend, _| {
        let visitor = Visitor::administrator(backend);
        let list = read(&visitor, "/p/DEFAULT/trace", |answer| answer.text.contains(COFFEE));
        assert_eq!(list.matches("href=\"/p/DEFAULT/trace/").count(), 1, "{list}");
        for path in [
            "notes.txt",
            ".env",
            ".secret/hidden.rs",
            "src/../.env",
            "../elsewhere/out.rs",
            "src/link.rs",
            "src/folder/out.rs",
            "/etc/passwd",
            "specs/coffee.md",
            ".duvet/config.toml",
            "src",
            "src/pot.rs\0",
            "",
        ] {
            let answer = visitor.get(&format!("/p/DEFAULT/code?path={}", web::encode(path)));
            assert!(
                !answer.text.contains("HUNTER2") && !answer.text.contains("root:"),
                "{path}: {}",
                answer.text
            );
            assert_eq!(answer.status, if path.is_empty() { 200 } else { 404 }, "{path:?}: {}", answer.text);
        }
        let page = visitor.get(COFFEE).text;
        assert!(page.contains("in a hidden file") && !page.contains(".secret"), "{page}");
        for id in ["env", ".env", "-env"] {
            assert_eq!(visitor.get(&format!("/p/DEFAULT/trace/{id}")).status, 404, "{id}");
        }
        // Names and texts stay text.
        let hostile = format!("/p/DEFAULT/code?path={}", web::encode("src/<img src=x onerror=alert(4)>.rs"));
        let code = visitor.get(&hostile);
        assert_eq!(code.status, 200, "{}", code.text);
        for page in [&page, &code.text] {
            for bad in ["<script>alert", "<img", "href=\"javascript:"] {
                assert!(!page.contains(bad), "{bad}: {page}");
            }
        }
        assert!(page.contains("&lt;script&gt;alert(1)&lt;/script&gt;"), "{page}");
    });
}

#[test]
fn only_readers_of_the_project_see_its_traces() {
    check(|backend, _| {
        let admin = Visitor::administrator(backend);
        read(&admin, "/p/DEFAULT/trace", |answer| answer.text.contains(COFFEE));
        let user = json!({"username": "ann", "email": "ann@example.org", "password": "correct horse battery", "role": "Commenter"});
        backend.create("/users", &user);
        let ann = Visitor::signed_in(backend, "ann", "correct horse battery");
        let paths = ["/p/DEFAULT/trace", COFFEE, "/p/DEFAULT/code?path=src/pot.rs"];
        for path in paths {
            assert_eq!(ann.get(path).status, 200, "{path}");
            assert_eq!(Visitor::new(backend).get(path).status, 303, "{path}");
        }
        admin.write("update_project", &[("project", "DEFAULT"), ("access", "members")]);
        for path in paths {
            let answer = ann.get(path);
            assert!(answer.status == 404 && !answer.text.contains("Coffee"), "{path}: {}", answer.text);
        }
        // Another project has no folder.
        backend.create("/projects", &json!({"key": "TEA", "name": "Tea"}));
        let tea = admin.get("/p/TEA/trace");
        assert!(tea.status == 200 && tea.text.contains("spexus serve --trace TEA=FOLDER"), "{}", tea.text);
        assert!(!admin.get("/p/TEA/trace/specs-coffee-md").text.contains("Brewing"));
    });
}

#[test]
fn threats_fit_what_an_item_says() {
    check(|backend, _| {
        let visitor = Visitor::administrator(backend);
        fill(&visitor);
        let text = "Users download invoices of their organization by id.";
        visitor.write(
            "update_requirement",
            &[
                ("requirement_id", "REQ-001"),
                ("title", "Download an invoice by its id"),
                ("description", text),
            ],
        );
        let page = visitor.get("/r/REQ-001/threats").text;
        for shown in ["href=\"/threats/TMKB-AUTHZ-", "Because of ", "<dt>Check</dt>", "class=\"severity"] {
            assert!(page.contains(shown), "{shown}: {page}");
        }
        assert!(visitor.get("/r/REQ-001").text.contains("href=\"/r/REQ-001/threats\""));
        // Silence is no promise: the page says what the patterns are about.
        visitor.write(
            "update_requirement",
            &[
                ("requirement_id", "REQ-002"),
                ("title", "Choose a darker blue for the logo"),
                ("description", ""),
            ],
        );
        let logo = visitor.get("/r/REQ-002/threats").text;
        assert!(logo.contains("No pattern fits") && logo.contains("covers authorization"), "{logo}");
        let silent = visitor.get("/threats?query=Rename+a+variable+in+the+parser").text;
        assert!(silent.contains("No pattern fits") && silent.contains("covers authorization"), "{silent}");
        let all = visitor.get("/threats").text;
        assert!(all.matches("class=\"threat\"").count() > 20, "{all}");
        let pattern = visitor.get("/threats/TMKB-AUTHZ-001").text;
        assert!(
            pattern.contains("How it is attacked") && pattern.contains("Acceptance criteria"),
            "{pattern}"
        );
        let missing = visitor.get("/threats/TMKB-AUTHZ-999");
        assert!(missing.status == 404 && missing.text.contains("did you mean"), "{}", missing.text);
    });
}

/// What the ranking is unsure of is shown with a word of warning, and not like a threat that fits.
#[test]
fn a_threat_that_may_not_fit_is_said_to_be_unsure() {
    check(|backend, _| {
        let visitor = Visitor::administrator(backend);
        fill(&visitor);
        let title = "Keep a log of temperature readings";
        visitor.write("update_requirement", &[("requirement_id", "REQ-001"), ("title", title)]);
        for path in ["/r/REQ-001/threats", "/threats?query=Print+a+receipt"] {
            let page = visitor.get(path).text;
            let warning = page.find("<p class=\"notice\"><span>unsure whether this fits").expect("a warning");
            let first = page.find("class=\"threat\"").expect("a pattern");
            assert!(warning < first && !page.contains("No pattern fits"), "{page}");
        }
        let sure = visitor.get("/threats?query=Users+download+invoices+of+their+organization+by+id").text;
        assert!(sure.contains("<section class=\"threat\"") && !sure.contains("unsure"), "{sure}");
    });
}

#[test]
fn a_folder_that_is_not_there_is_named() {
    let folder = tempfile::tempdir().expect("a folder");
    let database = format!("sqlite:{}", folder.path().join("spexus.db").display());
    for wrong in ["DEFAULT=/nowhere", "DEFAULT", "=/tmp", "de fault=/tmp"] {
        let output = Backend::command(&database, &["--trace", wrong]).output().expect("it runs");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(
            !output.status.success() && said.contains("--trace") && said.contains("SHOP=/srv/shop"),
            "{wrong}: {said}"
        );
    }
}
