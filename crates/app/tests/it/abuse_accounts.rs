//! Guessing and flooding: what strangers do does not keep the right people out, and writes nothing.

use std::net::IpAddr;

use reqwest::blocking::{Client, RequestBuilder};
use serde_json::json;

use crate::backend::{Answer, Backend, on_every_store, on_sqlite, send};
use crate::server::wait_until;

fn client_at(address: [u8; 4]) -> Client {
    let _ = rustls::crypto::ring::default_provider().install_default();
    Client::builder().local_address(IpAddr::from(address)).build().expect("a client")
}

fn login_from(backend: &Backend, client: &Client, username: &str, password: &str) -> RequestBuilder {
    let request = client.post(format!("{}/api/v1/auth/login", backend.url));
    let body = json!({ "username": username, "password": password }).to_string();
    request.header("content-type", "application/json").body(body)
}

fn login(backend: &Backend, address: [u8; 4], username: &str, password: &str) -> Answer {
    send(login_from(backend, &client_at(address), username, password))
}

#[test]
fn wrong_tokens_do_not_keep_out_passwords() {
    on_sqlite(&[], &[("SPEXUS_FAILED_LOGIN_LIMIT", "3")], |backend, _| {
        let statuses: Vec<u16> = (0..12)
            .map(|_| send(backend.anonymous("GET", "/epics").bearer_auth("mcp_pat_wrong")).status)
            .collect();
        assert_eq!((statuses[2], statuses[11]), (401, 429), "{statuses:?}");
        assert_eq!(send(backend.anonymous("GET", "/events").bearer_auth("mcp_pat_wrong")).status, 429);
        assert_eq!(login(backend, [127, 0, 0, 1], "admin", &backend.password).status, 200);
    });
}

#[test]
fn failures_at_one_account_do_not_keep_out_another() {
    on_sqlite(&[], &[("SPEXUS_FAILED_LOGIN_LIMIT", "3")], |backend, _| {
        let here = [127, 0, 0, 1];
        let statuses: Vec<u16> = (0..5).map(|_| login(backend, here, "mallory", "guess").status).collect();
        assert_eq!(statuses, [401, 401, 401, 429, 429]);
        assert_eq!(login(backend, here, "admin", &backend.password).status, 200);
    });
}

#[test]
fn guesses_from_many_addresses_are_slowed_down_and_the_owner_gets_in() {
    on_sqlite(&[], &[("SPEXUS_FAILED_LOGIN_LIMIT", "5")], |backend, _| {
        let home = [127, 0, 3, 1];
        assert_eq!(login(backend, home, "admin", &backend.password).status, 200);
        let statuses: Vec<u16> = std::thread::scope(|scope| {
            let guesses: Vec<_> = (0..8_u8)
                .map(|worker| {
                    scope.spawn(move || {
                        (0..25_u8)
                            .map(|number| {
                                login(backend, [127, 0, 4 + worker, number + 1], "Admin", "guess").status
                            })
                            .collect::<Vec<u16>>()
                    })
                })
                .collect();
            guesses.into_iter().flat_map(|guess| guess.join().expect("no panic")).collect()
        });
        let n_tried = statuses.iter().filter(|status| **status == 401).count();
        assert!((5..=12).contains(&n_tried), "{n_tried} of 200 guesses were looked at");
        assert_eq!(login(backend, home, "admin", &backend.password).status, 200, "the owner at home");
        let known = send(backend.request("GET", "/auth/me"));
        assert_eq!(known.status, 200, "tokens work all the time");
    });
}

/// Also over IPv4 addresses that a proxy names, which strangers cannot make up.
#[test]
fn only_trusted_proxies_say_for_whom_they_ask() {
    let settings = [("SPEXUS_FAILED_LOGIN_LIMIT", "2")];
    on_sqlite(
        &["--trusted-proxy", "127.0.5.0/24", "--trusted-proxy", "10.0.0.0/8"],
        &settings,
        |backend, _| {
            let guess = |client: &Client, header: &str, value: &str| {
                let request =
                    client.get(format!("{}/api/v1/epics", backend.url)).bearer_auth("mcp_pat_wrong");
                send(request.header(header, value)).status
            };
            let (proxy, stranger) = (client_at([127, 0, 5, 1]), client_at([127, 0, 6, 1]));
            // A stranger is counted by the connection, whatever the headers say.
            let statuses: Vec<u16> = (0..4)
                .map(|number| guess(&stranger, "x-forwarded-for", &format!("203.0.113.{number}")))
                .collect();
            assert_eq!(statuses, [401, 401, 429, 429]);
            // Clients behind the proxy are counted apart, by the hop that it has added.
            for name in ["203.0.113.1", "6.6.6.6, 203.0.113.2", "203.0.113.3, 10.1.1.1"] {
                let statuses: Vec<u16> = (0..3).map(|_| guess(&proxy, "x-forwarded-for", name)).collect();
                assert_eq!(statuses, [401, 401, 429], "{name}");
            }
            let spoofed: Vec<u16> = (0..2)
                .map(|number| guess(&proxy, "x-forwarded-for", &format!("9.9.9.{number}, 203.0.113.1")))
                .collect();
            assert_eq!(spoofed, [429, 429], "what the client wrote is ignored");
            // IPv6 is counted by /64.
            let statuses: Vec<u16> = (1..4)
                .map(|number| guess(&proxy, "forwarded", &format!("for=\"[2001:db8::{number}]:80\"")))
                .collect();
            assert_eq!(statuses, [401, 401, 429]);
            let audit = || backend.get("/audit?event=token_refused&limit=50").text;
            wait_until("the client's address in the audit trail", || audit().contains("203.0.113.2"));
            assert!(!audit().contains("6.6.6.6"), "{}", audit());
        },
    );
}

#[test]
fn strangers_write_nothing() {
    on_every_store(|backend| {
        for _ in 0..100 {
            assert_eq!(send(backend.anonymous("GET", "/epics")).status, 401);
            assert_eq!(send(backend.anonymous("GET", "/events")).status, 401);
            assert_eq!(send(backend.anonymous("POST", "/mcp").body("{}")).status, 401);
        }
        let count = |event: &str| backend.get(&format!("/audit?event={event}")).json["total_count"].clone();
        assert_eq!(count("token_refused"), 0);
        assert!(!backend.log().contains("refused:"), "{}", backend.log());
        for number in 0..10 {
            let wrong = |path: &str| backend.anonymous("GET", path).bearer_auth(format!("mcp_pat_{number}"));
            assert_eq!(send(wrong("/epics")).status, 401);
            assert_eq!(send(wrong("/events")).status, 401);
            let ping = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}";
            let agent = backend.anonymous("POST", "/mcp").bearer_auth("mcp_pat_wrong");
            assert_eq!(send(agent.body(ping)).status, 401);
        }
        wait_until("a line for each", || backend.log().matches("refused:").count() == 30);
        wait_until("one to be noted", || count("token_refused") != 0);
        assert_eq!(count("token_refused"), 1, "one a minute");
    });
}

#[test]
fn failed_authentications_are_kept_to_a_bound() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("spexus.db");
    let database = format!("sqlite:{}", path.display());
    drop(Backend::start(&database, &[]));
    let connection = rusqlite::Connection::open(&path).expect("the store");
    let fill = "with recursive n(i) as (select 1 union all select i + 1 from n where i < 10500)
                insert into authentication_event (id, event, created_at) select 'x' || i, 'token_refused', i from n";
    connection.execute(fill, []).expect("rows");
    let login = "insert into authentication_event (id, event, created_at) values ('l', 'login', 1)";
    connection.execute(login, []).expect("a row");
    let _backend = Backend::start(&database, &[]);
    let count = |event: &str| -> i64 {
        let sql = "select count(*) from authentication_event where event = ?1";
        connection.query_row(sql, [event], |row| row.get(0)).expect("a count")
    };
    wait_until("old rows to go", || count("token_refused") == 10_000);
    assert_eq!(count("login"), 1, "what succeeded is kept");
    let oldest: i64 = connection
        .query_row(
            "select min(created_at) from authentication_event where event = 'token_refused'",
            [],
            |row| row.get(0),
        )
        .expect("a row");
    assert_eq!(oldest, 501);
}
