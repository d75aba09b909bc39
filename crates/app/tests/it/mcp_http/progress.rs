//! Progress of long calls: a stream of it, and then the answer.

use std::thread;
use std::time::Duration;

use private_postgres::Server as Postgres;
use reqwest::header::{ACCEPT, HeaderMap, HeaderValue};
use serde_json::{Value, json};

use super::agent::{Agent, HANDSHAKES, STATELESS, Stream};
use crate::agent::json_of;
use crate::backend::{Backend, on_sqlite};
use crate::server::wait_until;

const BULK: [&str; 2] = ["--toolsets", "requirements,bulk"];

#[test]
fn long_calls_tell_how_far_they_are_before_they_answer() {
    on_every_store(|backend| {
        for revision in ["2025-11-25", STATELESS] {
            let agent = Agent::ready(backend, revision);
            let (told, result) = hear_all(&agent, "bulk_update", json!({"operations": epics(400)}));
            assert_eq!((told[0].0, told[0].1), (1.0, Some(400.0)), "{revision}: {told:?}");
            assert_eq!(told.last(), Some(&(400.0, Some(400.0), "running operations".into())), "{told:?}");
            assert_eq!(json_of(&result)["failed"], 0, "{result}");

            let (told, result) =
                hear_all(&agent, "export", json!({"format": "json", "max_tokens": 100_000_000}));
            let (n_done, n_total, doing) = told.last().expect("progress");
            assert!(*n_done > 400.0 && *n_total == Some(*n_done) && doing == "writing the file", "{told:?}");
            assert_eq!(told[0].1, None, "how much there is shows only when it is read: {told:?}");
            let file = json_of(&result);
            let file = file["content"].as_str().expect("a file").replace("Number 3", "Third");

            let (told, result) = hear_all(&agent, "import", json!({"format": "json", "content": file}));
            assert_eq!(told[0].2, "checking rows", "{told:?}");
            let (n_done, n_total, doing) = told.last().expect("progress");
            assert!(n_total == &Some(*n_done) && doing == "writing rows", "{told:?}");
            assert_ne!(json_of(&result)["updated"], 0, "{result}");
        }
        assert_eq!(backend.get("/epics").json["total_count"], 800);
    });
}

#[test]
fn every_revision_has_progress_in_its_own_words() {
    on_sqlite(&BULK, &[], |backend, _| {
        for revision in HANDSHAKES.into_iter().chain([STATELESS]) {
            let agent = Agent::ready(backend, revision);
            let stream = agent.follow("bulk_update", json!({"operations": epics(2)}), json!(7));
            let told = agent.hear(&stream);
            assert_eq!(told["method"], "notifications/progress", "{revision}: {told}");
            assert_eq!(told["params"]["progressToken"], 7, "{told}");
            let has_message = told["params"].get("message").is_some();
            assert_eq!(has_message, revision != "2024-11-05", "{revision}: {told}");
            let last: Value =
                serde_json::from_str(stream.end().last().expect("an answer")).expect("a message is JSON");
            assert_eq!(last["result"]["isError"], false, "{last}");
        }
    });
}

#[test]
fn without_a_request_for_progress_or_a_stream_only_the_answer_is_sent() {
    on_sqlite(&BULK, &[], |backend, _| {
        for revision in ["2025-11-25", STATELESS] {
            let agent = Agent::ready(backend, revision);
            let call = json!({"name": "bulk_update", "arguments": {"operations": epics(20)}});
            let answer = agent.ask("tools/call", call.clone());
            assert_eq!(answer.header("content-type"), "application/json", "{}", answer.text);
            assert_eq!(answer.json["result"]["isError"], false, "{}", answer.text);
            let mut eager = call;
            eager["_meta"] = json!({"progressToken": "p"});
            let message = agent.message("tools/call", eager);
            let accept = HeaderMap::from_iter([(ACCEPT, HeaderValue::from_static("application/json"))]);
            let answer = agent.exchange(&message, agent.request(&message).headers(accept));
            assert_eq!(answer.header("content-type"), "application/json", "{}", answer.text);
            assert_eq!(answer.json["result"]["isError"], false, "{}", answer.text);
            // What takes no time has nothing to tell.
            let short = json!({"name": "get_entity", "arguments": {"reference": "EP-001"}, "_meta": {"progressToken": 1}});
            assert_eq!(agent.ask("tools/call", short).header("content-type"), "application/json");
        }
    });
}

#[test]
fn a_call_that_fails_after_some_progress_says_so_in_the_stream() {
    on_every_store(|backend| {
        let mut operations = epics(50);
        operations.push(json!({"operation": "create_epic", "arguments": {"title": "", "priority": 1}}));
        let agent = Agent::stateless(backend);
        let stream = agent.follow("bulk_update", json!({"operations": operations}), json!("p"));
        let (told, last) = split(&agent, &stream);
        assert!(told.iter().all(|(n_done, ..)| *n_done <= 50.0), "{told:?}");
        assert_eq!(last["result"]["isError"], true, "{last}");
        assert!(last.to_string().contains("operations[50].title"), "{last}");
        assert_eq!(backend.get("/epics").json["total_count"], 0);
    });
}

/// What the second of three operations wants is held by somebody else, so that the call stands still. Who leaves or cancels then
/// hears nothing more, and what has begun is finished, once.
#[test]
fn progress_is_told_while_the_call_runs() {
    let Some(server) = Postgres::shared() else { return };
    let database = server.database();
    let backend = Backend::start(database.url(), &BULK);
    let mut other = postgres::Client::connect(database.url(), postgres::NoTls).expect("a database");
    backend.create("/epics", &json!({"title": "Pay", "priority": 1}));
    let agents = ["2025-11-25", STATELESS].map(|revision| Agent::ready(&backend, revision));
    let [old, new] = &agents;
    let mut n_calls = 0;
    for (agent, then) in [(old, "stay"), (new, "stay"), (old, "leave"), (new, "leave"), (old, "cancel")] {
        n_calls += 1;
        other.batch_execute("begin; select 1 from entity for update").expect("rows to hold");
        let title = format!("Paid {n_calls}");
        let rename = json!({"operation": "update_epic", "arguments": {"epic_id": "EP-001", "title": title}});
        let operations = json!([epics(1)[0], rename, epics(1)[0]]);
        let stream = agent.follow("bulk_update", json!({"operations": operations}), json!("p"));
        let told = agent.hear(&stream);
        assert_eq!((&told["params"]["progress"], &told["params"]["total"]), (&json!(1.0), &json!(3.0)));
        stream.assert_quiet();
        match then {
            "stay" => {
                other.batch_execute("rollback").expect("an open transaction");
                let (told, last) = split(agent, &stream);
                assert_eq!(told.last().map(|told| told.0), Some(3.0), "{told:?}");
                assert_eq!(last["result"]["isError"], false, "{last}");
            }
            "leave" => {
                drop(stream);
                thread::sleep(Duration::from_millis(300));
                other.batch_execute("rollback").expect("an open transaction");
            }
            _ => {
                agent.cancel_last();
                other.batch_execute("rollback").expect("an open transaction");
                assert_eq!(stream.end(), Vec::<String>::new());
            }
        }
        wait_until("the rest of the call", || backend.get("/epics").json["total_count"] == 1 + 2 * n_calls);
        let epic = backend.get("/epics/EP-001").json;
        assert_eq!((&epic["title"], &epic["version"]), (&json!(title), &json!(1 + n_calls)), "{then}");
    }
}

/// Runs a test against servers that show the tools for much at once.
fn on_every_store(test: impl Fn(&Backend)) {
    on_sqlite(&BULK, &[], |backend, _| test(backend));
    let Some(server) = Postgres::shared() else { return };
    let database = server.database();
    test(&Backend::start(database.url(), &BULK));
}

fn epics(n: usize) -> Vec<Value> {
    let arguments = |number| json!({"title": format!("Number {number}"), "priority": 1});
    (0..n).map(|number| json!({"operation": "create_epic", "arguments": arguments(number)})).collect()
}

/// How far, of how much, and what.
type Told = (f64, Option<f64>, String);

/// Calls a tool that must succeed, and returns what was told of it and its result.
#[track_caller]
fn hear_all(agent: &Agent<'_>, tool: &str, arguments: Value) -> (Vec<Told>, Value) {
    let stream = agent.follow(tool, arguments, json!("how far?"));
    let (told, last) = split(agent, &stream);
    assert!(told.len() > 1, "{tool}: {told:?}");
    assert_eq!(last["result"]["isError"], false, "{tool}: {last}");
    (told, last["result"].clone())
}

/// What is left of a stream: progress that only grows, and at the end one answer.
#[track_caller]
fn split(agent: &Agent<'_>, stream: &Stream) -> (Vec<Told>, Value) {
    let mut messages: Vec<Value> = stream
        .end()
        .iter()
        .map(|message| {
            agent.check(message);
            serde_json::from_str(message).expect("a message is JSON")
        })
        .collect();
    let last = messages.pop().expect("an answer");
    assert!(last.get("id").is_some(), "{last}");
    let told: Vec<Told> = messages
        .iter()
        .map(|message| {
            assert_eq!(message["method"], "notifications/progress", "{message}");
            let params = &message["params"];
            let message = params["message"].as_str().unwrap_or_default().to_owned();
            (params["progress"].as_f64().expect("a number"), params["total"].as_f64(), message)
        })
        .collect();
    assert!(told.is_sorted_by(|one, next| one.0 < next.0), "{told:?}");
    (told, last)
}
