//! Two servers on one PostgreSQL: whichever is asked knows the session, and both hear of every change.

use postgres::{Client, NoTls};
use private_postgres::{Options, Server as Postgres};
use serde_json::json;

use super::agent::{Agent, rename};
use super::refusals::check;
use crate::backend::{Backend, send};
use crate::server::wait_until;

#[test]
fn a_session_is_known_to_every_server() {
    on_two_servers(|first, second| {
        let here = Agent::handshake(first, "2025-06-18");
        let mut there = Agent::new(second, "2025-06-18", &first.token);
        there.session.clone_from(&here.session);
        there.result("ping", json!({}));
        there.result("resources/subscribe", json!({"uri": "epic://EP-001"}));
        let stream = here.open_stream();
        rename(second, "EP-001");
        here.hear_of(&stream, "notifications/resources/updated");
        there.result("resources/unsubscribe", json!({"uri": "epic://EP-001"}));
        rename(second, "EP-001");
        stream.assert_quiet();
        let session = there.session.as_deref().expect("a session");
        assert_eq!(send(second.request("DELETE", "/mcp").header("mcp-session-id", session)).status, 204);
        check(&here.ask("ping", json!({})), 404, -32600, "SESSION_NOT_FOUND");
    });
}

/// A change reaches who listens on another server, in both eras and both directions.
//@= spexus://REQ-049
//@= type=test
//@# 002 R3.2: resources have subscribe and listChanged
#[test]
fn a_change_made_through_one_server_is_told_by_the_other() {
    on_two_servers(|first, second| {
        for (changed, told) in [(first, second), (second, first)] {
            let (new, old) = (Agent::stateless(told), Agent::handshake(told, "2025-11-25"));
            old.result("resources/subscribe", json!({"uri": "epic://EP-001"}));
            let stream = old.open_stream();
            let listening =
                new.listen(json!({"resourceSubscriptions": ["epic://EP-001"], "resourcesListChanged": true}));
            rename(changed, "EP-001");
            // What was made through the other server before may be told now.
            let updated = new.hear_of(&listening, "notifications/resources/updated");
            assert_eq!(updated["params"]["uri"], "epic://EP-001");
            old.hear_of(&stream, "notifications/resources/updated");
            // By an agent, too.
            Agent::stateless(changed).call("create_epic", json!({"title": "New", "priority": 3}));
            new.hear_of(&listening, "notifications/resources/list_changed");
            old.hear_of(&stream, "notifications/resources/list_changed");
        }
    });
}

/// The stream of a session that was ended through another server ends as well, when it is next looked at.
#[test]
fn a_stream_ends_with_its_session_wherever_that_was_ended() {
    on_two_servers(|first, second| {
        let agent = Agent::handshake(first, "2025-11-25");
        let stream = agent.open_stream();
        let session = agent.session.as_deref().expect("a session");
        assert_eq!(send(second.request("DELETE", "/mcp").header("mcp-session-id", session)).status, 204);
        assert!(stream.end().is_empty());
        wait_until("nobody to listen", || first.metric("spexus_mcp_streams") == 0.0);
    });
}

/// A transaction that is open somewhere else in the cluster writes nothing here, and nobody waits for it; a writer that is
/// open here may still tell of something that came before.
#[test]
fn only_transactions_of_the_same_database_hold_changes_back() {
    let Some(server) = Postgres::own(Options::default()) else { return };
    let (ours, others) = (server.database(), server.database());
    let backend = Backend::start(ours.url(), &[]);
    backend.create("/epics", &json!({"title": "Pay", "priority": 1}));
    let agent = Agent::stateless(&backend);
    let listening = agent.listen(json!({"resourceSubscriptions": ["epic://EP-001"]}));
    let begin = |url: &str| {
        let mut client = Client::connect(url, NoTls).expect("a database");
        client.batch_execute("create table noted (text text)").expect("a table");
        client.batch_execute("begin; select pg_advisory_xact_lock_shared(1936745848, 1)").expect("a writer");
        client.batch_execute("insert into noted values ('still open')").expect("a transaction");
        client
    };
    let elsewhere = begin(others.url());
    rename(&backend, "EP-001");
    assert_eq!(agent.hear(&listening)["params"]["uri"], "epic://EP-001");

    let mut here = begin(ours.url());
    rename(&backend, "EP-001");
    listening.assert_quiet();
    here.batch_execute("commit").expect("an end");
    assert_eq!(agent.hear(&listening)["params"]["uri"], "epic://EP-001");
    drop(elsewhere);
}

fn on_two_servers(test: impl Fn(&Backend, &Backend)) {
    let Some(server) = Postgres::shared() else { return };
    let database = server.database();
    let first = Backend::start(database.url(), &[]);
    let mut second = Backend::start(database.url(), &[]);
    second.token.clone_from(&first.token);
    first.create("/epics", &json!({"title": "Pay", "priority": 1}));
    test(&first, &second);
}
