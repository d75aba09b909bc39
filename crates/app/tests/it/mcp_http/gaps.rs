//! Who has missed a change is not left in the belief that nothing happened: the stream ends, and the client begins anew.

use std::thread;
use std::time::Duration;

use postgres::{Client, NoTls};
use private_postgres::{Options, Server as Postgres};
use serde_json::{Value, json};

use super::agent::{Agent, rename};
use crate::backend::{Backend, on_sqlite};

/// More than a listener may be behind, even where a busy server tells of several changes at once.
const N_CHANGES: usize = 2_000;

/// What a client does not read waits in sockets and queues first, so that it has to be a lot: each change is told under
/// many spellings of the same resource.
#[test]
fn a_client_that_does_not_read_must_start_again() {
    on_sqlite(&[], &[], |backend, _| {
        backend.create("/epics", &json!({"title": "Pay", "priority": 1}));
        let agent = Agent::stateless(backend);
        let reader = agent.listen(json!({"resourceSubscriptions": ["epic://EP-001"]}));
        let sleeper = agent.listen_asleep(json!({"resourceSubscriptions": spellings(1_000)}));
        for _ in 0..N_CHANGES {
            rename(backend, "EP-001");
        }
        let said = sleeper.wake().end();
        check_end(&agent, &said, 2);
        let n_changes = said.len() / 1_000;
        assert!(n_changes < N_CHANGES / 2, "{n_changes} changes were told: nothing was missed");
        assert!(said.len() > 1_000, "what came before the gap is told");

        // Who reads hears on.
        while reader.has_said_something() {
            thread::sleep(Duration::from_millis(50));
        }
        rename(backend, "EP-001");
        assert_eq!(agent.hear(&reader)["params"]["uri"], "epic://EP-001");
    });
}

/// A change that the server itself could not look at is a gap for everybody.
#[test]
fn a_change_that_cannot_be_read_ends_the_streams() {
    on_postgres(|backend, database| {
        let (new, old) = (Agent::stateless(backend), Agent::handshake(backend, "2025-11-25"));
        let listening = new.listen(json!({"resourceSubscriptions": ["epic://EP-001"]}));
        let stream = old.open_stream();
        database.batch_execute("alter table mcp_subscription rename to hidden").expect("renamed");
        rename(backend, "EP-001");
        check_end(&new, &listening.end(), 1);
        assert!(stream.end().is_empty());
        database.batch_execute("alter table hidden rename to mcp_subscription").expect("renamed");
        let listening = new.listen(json!({"resourceSubscriptions": ["epic://EP-001"]}));
        rename(backend, "EP-001");
        assert_eq!(new.hear(&listening)["params"]["uri"], "epic://EP-001");
    });
}

/// More changes than are kept come while the server cannot find out whom they concern.
#[test]
fn a_server_that_falls_behind_says_so() {
    on_postgres(|backend, database| {
        let agent = Agent::stateless(backend);
        let listening = agent.listen(json!({"resourcesListChanged": true}));
        database
            .batch_execute("begin; lock table mcp_subscription in access exclusive mode")
            .expect("a lock");
        rename(backend, "EP-001");
        let create =
            json!({"operation": "create_epic", "arguments": {"title": "One of many", "priority": 4}});
        let steps: Vec<Value> = std::iter::repeat_n(create, 500).collect();
        for _ in 0..10 {
            let done = backend.send("POST", "/bulk", &json!({ "operations": steps }));
            assert_eq!(done.status, 200, "{}", done.text);
        }
        database.batch_execute("rollback").expect("an end");
        check_end(&agent, &listening.end(), 1);
    });
}

/// The last thing that a subscription hears is that it has ended.
#[track_caller]
fn check_end(agent: &Agent<'_>, said: &[String], id: u64) {
    let last = said.last().expect("a last word");
    agent.check(last);
    let last: Value = serde_json::from_str(last).expect("JSON");
    assert_eq!((&last["id"], &last["result"]["resultType"]), (&json!(id), &json!("complete")), "{last}");
}

/// So many ways to write `epic://EP-001`.
fn spellings(n: usize) -> Vec<String> {
    let zeros = |n: usize| (0..10).map(move |bit| if n >> bit & 1 == 1 { "%30" } else { "0" });
    (0..n).map(|n| format!("epic://EP-{}1", zeros(n).collect::<String>())).collect()
}

/// Runs a test on a server with one epic, and a connection to its database.
fn on_postgres(test: impl Fn(&Backend, &mut Client)) {
    // A lock that standby servers need not know of makes no transaction out of who holds it: changes are read on.
    let settings = &[("wal_level", "'minimal'"), ("max_wal_senders", "0")];
    let Some(server) = Postgres::own(Options { settings, ..Options::default() }) else { return };
    let database = server.database();
    let backend = Backend::start(database.url(), &[]);
    backend.create("/epics", &json!({"title": "Pay", "priority": 1}));
    test(&backend, &mut Client::connect(database.url(), NoTls).expect("a database"));
}
