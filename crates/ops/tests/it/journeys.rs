//! How often a call travels to PostgreSQL and back, counted between the two.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use private_postgres::Server;
use serde_json::{Value, json};
use store::Location;

use crate::stores::World;

/// Begin with the lock of writers, who asks, the story with the type, the entity, what goes with it, commit.
#[test]
fn a_create_makes_six_journeys() {
    // Numbers are leased in blocks of 8, 16, 32: while the third lasts, no more are leased.
    const LEASED: usize = 24;
    const MEASURED: usize = 10;
    let Some(server) = Server::shared() else { return };
    let database = server.database();
    let (url, journeys) = counted(database.url());
    let world = open(&url);
    world.ok("create_epic", json!({ "title": "Shop", "priority": 1 }));
    world.ok("create_user_story", json!({ "epic_id": "EP-001", "title": "Pay", "priority": 2 }));
    for _ in 0..=LEASED {
        world.ok("create_requirement", requirement());
    }
    let before = journeys.load(Ordering::SeqCst);
    for _ in 0..MEASURED {
        world.ok("create_requirement", requirement());
    }
    assert_eq!(journeys.load(Ordering::SeqCst) - before, 6 * MEASURED);
}

/// What the rows of a file name is fetched for many at once, and what an import has made is deleted many at once. One by one
/// these were one and nine journeys for each row.
#[test]
fn imports_are_checked_and_undone_many_rows_at_a_time() {
    const N_ROWS: usize = 400;
    const CHECKED_MAX: usize = 60;
    const UNDONE_MAX: usize = 200;
    let Some(server) = Server::shared() else { return };
    let database = server.database();
    let (url, journeys) = counted(database.url());
    let world = open(&url);
    let mut file =
        String::from("kind,reference_id,epic,user_story,title\nepic,EP-1,,,New\nuser_story,US-1,EP-1,,New\n");
    for number in 1..=N_ROWS {
        file.push_str(&format!("requirement,REQ-{number},,US-1,Requirement {number}\n"));
    }
    let arguments = json!({ "format": "csv", "content": file, "dry_run": true });
    let report = world.ok("import", json!({ "format": "csv", "content": file }));
    let count = |operation: &str, arguments: Value| {
        let before = journeys.load(Ordering::SeqCst);
        let answer = world.ok(operation, arguments);
        (answer, journeys.load(Ordering::SeqCst) - before)
    };
    let (checked, n_checked) = count("import", arguments);
    assert_eq!(checked["unchanged"], N_ROWS + 2);
    assert!(n_checked < CHECKED_MAX, "{n_checked} journeys to check");
    let (undone, n_undone) = count("undo_import", json!({ "import_id": report["import_id"] }));
    assert_eq!(undone["deleted"], N_ROWS + 2);
    assert!(n_undone < UNDONE_MAX, "{n_undone} journeys to undo");
}

/// A world with one connection. Each connection prepares its statements, which takes journeys, whenever it is first used.
fn open(url: &str) -> World {
    World::open_with(&Location::parse(url).expect("a URL"), 1)
}

fn requirement() -> Value {
    json!({ "user_story_id": "US-001", "title": "Card", "type_id": "Functional", "priority": 2 })
}

/// Forwards connections to a server. Returns the URL to use instead, and how many answers were asked for.
fn counted(url: &str) -> (String, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = url.split(['@', '/']).nth(3).expect("an address").to_owned();
    let own = listener.local_addr().expect("an address").to_string();
    let url = format!("{}?sslmode=disable", url.replace(&address, &own));
    let n_journeys = Arc::new(AtomicUsize::new(0));
    let counter = n_journeys.clone();
    thread::spawn(move || {
        while let Ok((client, _)) = listener.accept() {
            let (address, counter) = (address.clone(), counter.clone());
            thread::spawn(move || forward(client, &address, &counter));
        }
    });
    (url, n_journeys)
}

fn forward(mut client: TcpStream, address: &str, counter: &AtomicUsize) {
    let mut server = TcpStream::connect(address).expect("the server");
    let (mut answers, mut asking) =
        (server.try_clone().expect("a socket"), client.try_clone().expect("a socket"));
    thread::spawn(move || {
        let _ = std::io::copy(&mut answers, &mut asking);
        let _ = asking.shutdown(Shutdown::Both);
    });
    let (mut waiting, mut buffer, mut has_started) = (Vec::new(), [0; 16 << 10], false);
    while let Ok(length @ 1..) = client.read(&mut buffer) {
        waiting.extend_from_slice(&buffer[..length]);
        while let Some(message) = take_message(&mut waiting, has_started) {
            // Listeners are notified after the answer, which is not part of the create.
            let is_notification = message.windows(6).any(|text| text == b"notify");
            if has_started && matches!(message[0], b'S' | b'Q') && !is_notification {
                counter.fetch_add(1, Ordering::SeqCst);
            }
            has_started = true;
        }
        if server.write_all(&buffer[..length]).is_err() {
            break;
        }
    }
    let _ = server.shutdown(Shutdown::Both);
}

/// A whole message: its type, which the first one lacks, its length and the rest.
fn take_message(bytes: &mut Vec<u8>, has_type: bool) -> Option<Vec<u8>> {
    let start = usize::from(has_type);
    let length = bytes.get(start..start + 4)?;
    let end = start + u32::from_be_bytes(length.try_into().expect("four bytes")) as usize;
    (bytes.len() >= end).then(|| bytes.drain(..end).collect())
}
