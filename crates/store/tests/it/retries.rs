//! Transactions that are run again, after lost races and outages.

use std::thread;
use std::time::Duration;

use private_postgres::{Options as ServerOptions, Server};
use store::model::Time;
use store::{ErrorKind, Location, Mode, Options, Result, Store, Tx, user};

const N_RACES: u32 = 8;

/// A transaction that has waited for a database that was away may still lose as many races as any other.
#[test]
fn attempts_during_an_outage_are_not_lost_races() {
    let Some(mut server) = Server::own(ServerOptions::default()) else { return };
    let database = server.database();
    let store = open(&Location::parse(database.url()).expect("a URL"));
    server.stop();
    let waiting = thread::spawn(move || store.wait(Mode::Write, lose_races()));
    // Long enough for many attempts to connect.
    thread::sleep(Duration::from_secs(4));
    server.start();
    assert_eq!(waiting.join().expect("no panic"), Ok(N_RACES));
}

#[test]
fn a_transaction_that_always_loses_is_given_up() {
    let Some(server) = Server::shared() else { return };
    let database = server.database();
    let options = Options { wait_max: Duration::from_millis(500), ..Options::default() };
    let now = Time::from_microseconds(0);
    let location = Location::parse(database.url()).expect("a URL");
    let store = Store::open(&location, options, now).expect("a store");
    let lost = store.wait(Mode::Write, |tx| {
        tx.lose_race();
        Ok::<_, store::Error>(())
    });
    assert_eq!(lost.map_err(|error| error.kind), Err(ErrorKind::Contention));
}

/// What finds itself overtaken a few times, and then succeeds.
fn lose_races() -> impl FnMut(&mut Tx<'_>) -> Result<u32> + Send + 'static {
    let mut n_lost = 0;
    move |tx| {
        user::count(tx)?;
        if n_lost < N_RACES {
            n_lost += 1;
            tx.lose_race();
        }
        Ok(n_lost)
    }
}

fn open(location: &Location) -> Store {
    Store::open(location, Options::default(), Time::from_microseconds(0)).expect("a store")
}
