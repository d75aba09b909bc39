//! Work is leased over every surface: an agent does a piece of it with real tests, others are given something else, and servers that
//! die or are told the wrong time give nothing twice.

use std::collections::HashMap;
use std::path::Path;
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use private_postgres::Server as Postgres;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::agent::{Agent, folder, text, write};
use crate::backend::{Backend, send};
use crate::managed::run;
use crate::process::{Serving, clean};
use crate::token_estimates::n_tokens;

const STYLE: &str = "comment-style = { meta = '#=', content = '##' }";
const CODE: &str = "class Kettle:\n    def __init__(self):\n        self.degrees = 20\n\n    def heat(self):\n        self.degrees = 100\n";

/// A project in Python with three requirements, two of which are about the same story.
fn kettle() -> TempDir {
    let project = format!(
        "project = 'DEFAULT'\nrepository = 'example.org/kettle'\nreports = ['reports/*.xml', 'reports/*.info']\n\
         [[source]]\npattern = 'kettle/*.py'\n{STYLE}\n[[source]]\npattern = 'tests/*.py'\n{STYLE}\n"
    );
    let pour = "#= spexus://REQ-003\n## The kettle MUST pour.\ndef pour():\n    return 1\n";
    let files = [
        (".spexus/project.toml", project.as_str()),
        ("kettle/__init__.py", ""),
        ("kettle/heat.py", CODE),
        ("kettle/pour.py", pour),
        ("tests/__init__.py", ""),
    ];
    let folder = folder(&files);
    let create = |arguments: &[&str]| {
        let (exit, out, err) = run(folder.path(), "spexus", arguments, &[]);
        assert_eq!(exit, 0, "{arguments:?}: {out}{err}");
    };
    create(&["epic", "create", "--title", "Kettle", "--priority", "1"]);
    for story in ["Boil", "Serve"] {
        create(&["user-story", "create", "--epic-id", "EP-001", "--title", story, "--priority", "1"]);
    }
    for (story, title, text, priority) in [
        ("US-001", "Heat", "The kettle MUST heat water to 100 degrees.", "1"),
        ("US-001", "Ring", "The kettle MUST ring.", "2"),
        ("US-002", "Pour", "The kettle MUST pour.", "3"),
    ] {
        let kind = ["--type-id", "Functional", "--priority", priority];
        let what =
            ["requirement", "create", "--user-story-id", story, "--title", title, "--description", text];
        create(&[&what[..], &kind].concat());
    }
    folder
}

/// What an agent says and is told, and what that costs.
struct Paying {
    agent: Agent,
    n_calls: usize,
    n_tokens: usize,
}

impl Paying {
    fn call(&mut self, tool: &str, arguments: Value) -> String {
        self.n_calls += 1;
        self.n_tokens += n_tokens(&arguments.to_string());
        let result = self.agent.call(tool, arguments);
        assert_ne!(result["isError"], true, "{tool}: {result}");
        let told = text(&result).to_owned();
        self.n_tokens += n_tokens(&told);
        told
    }
}

/// Runs the tests of the project with pytest, and writes what they have shown and what they have executed.
fn run_tests(python: &Path, root: &Path) {
    let python = |arguments: &[&str]| {
        let mut command = Command::new(python);
        command
            .args(["-B", "-m"])
            .args(arguments)
            .current_dir(root)
            .env("COVERAGE_FILE", root.join("reports/.coverage"));
        let done = command.output().expect("Python runs");
        assert!(done.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&done.stdout));
    };
    std::fs::create_dir_all(root.join("reports")).expect("a folder");
    let pytest = ["coverage", "run", "--source=kettle", "-m", "pytest", "-q", "-p", "no:cacheprovider"];
    python(&[&pytest[..], &["--junitxml=reports/run.xml", "tests"]].concat());
    python(&["coverage", "lcov", "-q", "-o", "reports/lcov.info"]);
}

#[test]
fn an_agent_does_a_piece_of_work_in_few_calls_and_another_is_given_something_else() {
    let python = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.tools/python/bin/python");
    if !python.exists() {
        assert!(std::env::var_os("SPEXUS_REQUIRE_TOOLS").is_none(), "scripts/tools installs pytest");
        eprintln!("skipped: Python is not in .tools");
        return;
    }
    let kettle = kettle();
    let root = kettle.path().to_path_buf();
    let mut other = Serving::spexus_in(&root, &root, &[]);
    other.handshake("2025-11-25");
    let mut agent = Paying { agent: Agent::spexus(kettle, "2025-11-25", &[]), n_calls: 0, n_tokens: 0 };

    let packet = agent.call("next", json!({"take": true, "paths": ["kettle/heat.py", "tests/test_heat.py"]}));
    assert!(packet.starts_with("REQ-001.1 is your lease until "), "{packet}");
    let citation: Vec<&str> = packet
        .lines()
        .skip_while(|line| !line.starts_with("#= spexus://"))
        .take_while(|line| line.starts_with('#'))
        .collect();
    assert_eq!(
        citation,
        ["#= spexus://REQ-001", "## The kettle MUST heat water to 100 degrees."],
        "{packet}"
    );

    // Somebody else is given neither the same nor what is in the same files.
    let taken =
        other.ask(1, "tools/call", json!({"name": "next", "arguments": {"take": true, "paths": ["kettle"]}}));
    let refusal = text(&taken["result"]);
    assert!(refusal.starts_with("kettle is taken: admin holds REQ-001 until "), "{refusal}");
    let taken = other.ask(2, "tools/call", json!({"name": "next", "arguments": {"take": true}}));
    let second = text(&taken["result"]);
    // What is begun comes before what is not, where the priority is the same; here the priority decides.
    assert!(second.starts_with("REQ-002.1 is your lease"), "{second}");
    let taken = other.ask(3, "tools/call", json!({"name": "next", "arguments": {"take": true}}));
    assert!(text(&taken["result"]).starts_with("REQ-003.1 is your lease"), "{taken}");

    let early = agent.call("finish", json!({"lease": "REQ-001.1"}));
    assert!(early.starts_with("REQ-001 is not finished; REQ-001.1 is yours until "), "{early}");
    assert!(early.contains("degrees.</data> (not_run: nothing cites it)"), "{early}");

    let cited = citation.join("\n    ");
    let code = CODE.replace("    def heat", &format!("    {cited}\n    def heat"));
    write(&root, "kettle/heat.py", &code);
    let [target, quote] = [citation[0], citation[1]];
    let test = format!(
        "from kettle.heat import Kettle\n\n\n{target}\n#= type=test\n{quote}\ndef test_heats():\n    kettle = Kettle()\n    \
         kettle.heat()\n    assert kettle.degrees == 100\n"
    );
    write(&root, "tests/test_heat.py", &test);
    run_tests(&python, &root);
    let mut told = String::new();
    // On a busy machine the files may be read a moment later.
    while agent.n_calls < 5 && !told.starts_with("REQ-001 is finished") {
        thread::sleep(Duration::from_secs(1));
        told = agent.call("finish", json!({"lease": "REQ-001.1"}));
    }
    assert!(told.starts_with("REQ-001 is finished, Draft\n"), "{told}");
    assert!(
        told.contains("note: its status stays Draft"),
        "the first model has no status for what is done: {told}"
    );
    let listed = agent.agent.ask("tools/list", json!({}))["result"].to_string();
    let cost = agent.n_tokens + n_tokens(&listed);
    assert!(agent.n_calls <= 5 && cost <= 4_000, "{} calls, {cost} tokens", agent.n_calls);
    // What evidence has closed is not given again.
    let next = agent.call("next", json!({"take": true}));
    assert_eq!(next, "nothing to do: 2 leased, 1 closed by evidence");
}

#[test]
fn work_is_taken_and_given_back_on_the_command_line() {
    let kettle = kettle();
    let spexus = |arguments: &[&str]| run(kettle.path(), "spexus", arguments, &[]);
    let (exit, out, _) = spexus(&["work", "open"]);
    assert!(exit == 0 && out.lines().nth(1).is_some_and(|line| line.starts_with("REQ-001")), "{out}");
    let (exit, out, err) = spexus(&["next", "--under", "US-002"]);
    assert!(exit == 0 && out.starts_with("REQ-003.1 is your lease until "), "{out}{err}");
    assert!(out.contains("Cited at:\nkettle/pour.py:1 pour"), "{out}");
    let (_, out, _) = spexus(&["work", "list"]);
    assert!(out.contains("REQ-003.1  Pour") && out.contains("kettle/pour.py"), "{out}");
    let (exit, out, _) = spexus(&["--json", "work", "renew", "REQ-003.1", "--paths", "kettle/cup.py"]);
    let renewed: Value = serde_json::from_str(&out).expect("JSON");
    assert_eq!((exit, &renewed["paths"]), (0, &json!(["kettle/cup.py", "kettle/pour.py"])));
    let (exit, out, err) = spexus(&["work", "finish", "REQ-003.1"]);
    assert!(exit == 0 && out.contains("missing") && out.contains("no test cites it"), "{out}{err}");
    let (exit, _, err) = spexus(&["work", "finish", "REQ-003.2"]);
    assert_eq!((exit, err.trim_end()), (1, "there is no lease REQ-003.2: the last lease of it is REQ-003.1"));
    let (exit, _, err) = spexus(&["work", "finish", "REQ-003"]);
    assert!(
        exit == 2 && err.contains("expected a lease such as REQ-012.3, found \"REQ-003\""),
        "{exit} {err}"
    );
    assert_eq!(spexus(&["work", "release", "REQ-003.1"]).0, 0);
    let (exit, _, err) = spexus(&["work", "break", "REQ-003.1"]);
    assert!(exit == 1 && err.starts_with("REQ-003.1 ended at "), "{err}");
    assert_eq!(spexus(&["work", "list"]).1, "nothing found\n");
}

/// What is held, as those who took it see it.
type Held = Mutex<HashMap<String, usize>>;

/// A server is killed while agents of two take work and give it back: what was acknowledged is held once, and what the dead server may
/// have taken without a word is free again when its lease ends.
#[test]
fn a_server_that_dies_gives_nothing_twice() {
    const AGENTS: usize = 6;
    const REQUIREMENTS: usize = 4;
    let Some(postgres) = Postgres::shared() else { return };
    let database = postgres.database();
    let first = Backend::start(database.url(), &[]);
    let mut second = Backend::start(database.url(), &[]);
    second.token.clone_from(&first.token);
    first.create("/epics", &json!({"title": "Kettle", "priority": 1}));
    first.create("/user-stories", &json!({"epic_id": "EP-001", "title": "Boil", "priority": 1}));
    for number in 0..REQUIREMENTS {
        let title = format!("Do {number}");
        let made = json!({"user_story_id": "US-001", "title": title, "priority": 1, "type_id": "Functional"});
        first.create("/requirements", &made);
    }
    let tokens: Vec<String> = (0..AGENTS)
        .map(|number| {
            let made =
                first.create("/tokens", &json!({"name": format!("agent {number}"), "scopes": ["write"]}));
            made["token"].as_str().expect("a secret").to_owned()
        })
        .collect();
    let held = Held::default();
    let n_taken = AtomicUsize::new(0);
    let url = second.url.clone();
    thread::scope(|scope| {
        for (number, token) in tokens.iter().enumerate() {
            let (held, n_taken, first, url) = (&held, &n_taken, &first, &url);
            scope.spawn(move || {
                let client = reqwest::blocking::Client::new();
                let post = |server: &str, path: &str, body: Value| {
                    let request = client.post(format!("{server}/api/v1{path}")).bearer_auth(token);
                    request.header("content-type", "application/json").body(body.to_string()).send()
                };
                // Half of them have the server that dies, and then the other.
                let mut server = if number % 2 == 0 { first.url.as_str() } else { url.as_str() };
                while n_taken.load(Ordering::Relaxed) < 600 {
                    let Ok(answer) = post(server, "/work/next", json!({})) else {
                        server = &first.url;
                        continue;
                    };
                    let Ok(answer) = answer.text() else { continue };
                    let taken: Value = serde_json::from_str(&answer).unwrap_or_default();
                    let Some(lease) = taken["lease"].as_str() else { continue };
                    let reference = taken["reference_id"].as_str().expect("a reference").to_owned();
                    let before = held.lock().expect("a lock").insert(reference.clone(), number);
                    assert_eq!(before, None, "{reference} was given to two");
                    n_taken.fetch_add(1, Ordering::Relaxed);
                    held.lock().expect("a lock").remove(&reference);
                    // Nobody else has it: if the answer is lost, it is asked again.
                    while post(server, "/work/release", json!({"lease": lease})).is_err() {
                        server = &first.url;
                    }
                }
            });
        }
        while n_taken.load(Ordering::Relaxed) < 200 {
            thread::sleep(Duration::from_millis(5));
        }
        second.kill();
    });
    // Whatever the dead server took without being able to say so is held by a token that nobody uses, and ends by itself.
    let lost = send(first.request("GET", "/work")).json["total_count"].as_u64().expect("a count");
    assert!(lost <= AGENTS as u64 / 2, "{lost}");
    assert!(n_taken.load(Ordering::Relaxed) >= 600);
}

/// Processes on one SQLite file take work at the same time, and some are killed while they do: what was acknowledged is held once.
#[test]
fn processes_that_die_on_one_file_are_given_nothing_twice() {
    const AGENTS: usize = 4;
    const ROUNDS: usize = 8;
    let kettle = kettle();
    let root = kettle.path();
    for number in 0..AGENTS {
        let (name, email) = (format!("agent{number}"), format!("agent{number}@example.org"));
        let create = ["user", "create", &name, "--email", &email, "--role", "User"];
        let (exit, out, err) = run(root, "spexus", &create, &[]);
        assert_eq!(exit, 0, "{out}{err}");
    }
    let held = Held::default();
    let n_taken = AtomicUsize::new(0);
    thread::scope(|scope| {
        for number in 0..AGENTS {
            let (held, n_taken) = (&held, &n_taken);
            scope.spawn(move || {
                let name = format!("agent{number}");
                let spexus = |arguments: &[&str]| {
                    let (_, out, _) =
                        run(root, "spexus", &[&["--json", "--as", &name], arguments].concat(), &[]);
                    serde_json::from_str::<Value>(&out).unwrap_or_default()
                };
                for round in 0..ROUNDS {
                    if (round + number) % 3 == 0 {
                        kill_while_it_takes(root, &name, round as u64);
                    } else {
                        let taken = spexus(&["next"]);
                        if taken["lease"].is_string() {
                            n_taken.fetch_add(1, Ordering::Relaxed);
                            let reference = taken["reference_id"].as_str().expect("a reference").to_owned();
                            let before = held.lock().expect("a lock").insert(reference.clone(), number);
                            assert_eq!(before, None, "{reference} was given to two");
                            held.lock().expect("a lock").remove(&reference);
                        }
                    }
                    // Also what a process has taken that could not say so any more.
                    let list = spexus(&["work", "list"]);
                    let own =
                        list["data"].as_array().into_iter().flatten().filter(|one| one["yours"] == true);
                    for lease in own.filter_map(|one| one["lease"].as_str()) {
                        spexus(&["work", "release", lease]);
                    }
                }
            });
        }
    });
    assert!(n_taken.load(Ordering::Relaxed) > AGENTS, "{n_taken:?}");
    assert_eq!(run(root, "spexus", &["work", "list"], &[]).1, "nothing found\n");
}

/// Starts a process that takes work, and kills it somewhere on its way.
fn kill_while_it_takes(root: &Path, name: &str, round: u64) {
    let home = root.display().to_string();
    let data = format!("{home}/data");
    let environment = [("HOME", home.as_str()), ("XDG_DATA_HOME", data.as_str())];
    let mut command = clean(Command::new(env!("CARGO_BIN_EXE_spexus")), &environment);
    let mut child =
        command.args(["--as", name, "next"]).current_dir(root).spawn().expect("the program starts");
    thread::sleep(Duration::from_millis(20 + 15 * round));
    child.kill().and_then(|()| child.wait()).expect("it is there until it was waited for");
}
