//! The server behind PgBouncer in transaction pooling, which leaves nothing on a connection between two transactions.

use std::collections::BTreeSet;
use std::process::Command;
use std::thread;

use private_postgres::{Options, Server};
use serde_json::json;

use crate::server::{Client, Spexus, check_all_there, command, load, wait_until};
use crate::together::Events;

/// Far fewer than the clients, and than the threads of the servers.
const POOLED: u16 = 3;

#[test]
fn everything_works_behind_pgbouncer_with_more_clients_than_connections() {
    let Some(mut server) = Server::own(Options::default()) else { return };
    let Some(strict) = server.pooler(POOLED, "") else { return };
    let Some(lenient) = server.pooler(POOLED, "ignore_startup_parameters = options") else { return };
    let database = server.database();
    let through = |pooler: &str| database.url().replace(server.address(), pooler);
    let one = Spexus::spawn(listening(command(&through(&strict)), database.url()));
    let other = Spexus::spawn(listening(command(&through(&lenient)), database.url()));
    let mut events = Events::open(&other, &one.token);
    let (seen, ()) = load(&[&one.address, &other.address], &one.token, 12, |n_acknowledged| {
        wait_until("creates on both", || n_acknowledged() >= 200);
    });
    assert!(
        seen.refused.is_empty() && seen.unanswered.is_empty(),
        "{:?} {:?}",
        seen.refused,
        seen.unanswered
    );
    check_all_there(&seen.acknowledged, &Client::new(&other.address, &one.token).epics());
    let mut missing: BTreeSet<String> = seen.acknowledged.into_iter().map(|(name, _)| name).collect();
    while !missing.is_empty() {
        let name = events.next().unwrap_or_else(|| panic!("{missing:?} are not told"));
        assert!(missing.remove(&name), "{name} was told twice, or never acknowledged");
    }
    check_lists(&[&one, &other], &one.token);
}

/// Without a URL around it, servers still tell their own changes at once, and number what they make.
#[test]
fn a_pooler_alone_will_do() {
    let Some(mut server) = Server::own(Options::default()) else { return };
    let Some(pooler) = server.pooler(POOLED, "") else { return };
    let database = server.database();
    let spexus = Spexus::start(&database.url().replace(server.address(), &pooler));
    let mut events = Events::open(&spexus, &spexus.token);
    let (seen, ()) = load(&[&spexus.address], &spexus.token, 8, |n_acknowledged| {
        wait_until("creates", || n_acknowledged() >= 50);
    });
    assert!(
        seen.refused.is_empty() && seen.unanswered.is_empty(),
        "{:?} {:?}",
        seen.refused,
        seen.unanswered
    );
    for _ in &seen.acknowledged {
        assert!(events.next().is_some(), "some are not told");
    }
    check_lists(&[&spexus], &spexus.token);
}

fn listening(mut command: Command, url: &str) -> Command {
    command.args(["--listen-database", url]);
    command
}

/// Several clients send lists of operations at once, each in a project of its own, and search for what they made.
#[track_caller]
fn check_lists(servers: &[&Spexus], token: &str) {
    const REQUIREMENTS: usize = 30;
    thread::scope(|scope| {
        for number in 0..2 * usize::from(POOLED) {
            let address = &servers[number % servers.len()].address;
            scope.spawn(move || {
                let mut client = Client::new(address, token);
                let key = format!("PROJ{number}");
                let made = client.post("/api/v1/projects", &json!({"key": key, "name": key}));
                assert_eq!(made.status, 201, "{made:?}");
                let step = |operation: &str, arguments| json!({"operation": operation, "arguments": arguments});
                let mut operations = vec![
                    step("create_epic", json!({"project": key, "title": "Shop", "priority": 1})),
                    step("create_user_story", json!({"epic_id": "$0.id", "title": "Pay", "priority": 1})),
                ];
                operations.extend((0..REQUIREMENTS).map(|number| {
                    let title = format!("Card {number}");
                    let arguments = json!({"user_story_id": "$1.id", "title": title, "type_id": "Functional", "priority": 2});
                    step("create_requirement", arguments)
                }));
                let done = client.post("/api/v1/bulk", &json!({"operations": operations}));
                assert_eq!(done.status, 200, "{done:?}");
                let listed = client.get(&format!("/api/v1/requirements?project={key}&limit=100"));
                assert_eq!(listed.body["total_count"], REQUIREMENTS, "{listed:?}");
                let found = client.get(&format!("/api/v1/search?query=card&project={key}"));
                assert_eq!(found.body["data"].as_array().map(Vec::len).min(Some(20)), Some(20), "{found:?}");
            });
        }
    });
}
