//! Serves the fixtures to whoever asks, over the product's own HTTP stack.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use axum::http::request::Parts;
use mcp::Profile;
use spexus::spexus::http::{ConnectionOptions, Listener};
use spexus::spexus::now;
use spexus::streamable::{
    Endpoint, Feed, Following, Hears, Host, News, Options, Refusal, Seen, Visitor, Wait,
};
use store::model::Via;
use store::{Location, Mode, Store, user};
use tempfile::TempDir;
use tokio::sync::oneshot;

use super::fixtures::{self, Fixtures};

/// A running server with the fixtures.
pub struct Serving {
    /// Where it is.
    pub url: String,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<thread::JoinHandle<()>>,
    /// Holds the sessions.
    _folder: TempDir,
}

impl Serving {
    pub fn start() -> Serving {
        let folder = tempfile::tempdir().expect("a folder");
        let location = Location::Sqlite(folder.path().join("sessions.db"));
        let store = Store::open(&location, store::Options::default(), now()).expect("a store");
        // Sessions belong to somebody.
        let request = ops::Request::new(Via::Cli, now());
        ops::first_start(&store, &request).expect("a first user");
        let user =
            store.wait(Mode::Point, user::first_administrator).expect("a store").expect("the first user");
        let (stop, stopped) = oneshot::channel();
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().expect("a runtime");
        let anywhere: SocketAddr = "127.0.0.1:0".parse().expect("an address");
        let listener = runtime
            .block_on(Listener::bind(anywhere, None, ConnectionOptions::default()))
            .expect("a port is free");
        let address = listener.address().expect("it is bound");
        let thread = thread::spawn(move || {
            runtime.block_on(async {
                let feed = Feed::default();
                // Whatever the fixtures change is told at once.
                feed.set_live(true);
                let host = Arc::new(Anyone { feed: feed.clone(), user_id: user.id });
                let options = Options { request_timeout: Duration::from_secs(30) };
                let endpoint = Endpoint::new(profile(), host, store, options);
                let stopped = async {
                    let _ = stopped.await;
                };
                listener.serve(endpoint.router("/mcp").with_state(()), stopped, move || feed.close()).await;
            });
        });
        let url = format!("http://{address}/mcp");
        Serving { url, stop: Some(stop), thread: Some(thread), _folder: folder }
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        if let Some(stop) = self.stop.take() {
            let _ = stop.send(());
        }
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn profile() -> Profile {
    let mut profile = Profile::new("fixtures", "1.0.0");
    profile.capabilities = fixtures::capabilities();
    profile
}

/// Asks nobody who they are. Like any server of one machine, it is called only by that machine's names.
struct Anyone {
    feed: Feed,
    user_id: String,
}

impl Host for Anyone {
    fn admit<'a>(&'a self, _: &'a Parts, _: &'a str) -> Wait<'a, Result<Visitor, Refusal>> {
        let server = Arc::new(Fixtures::new(self.feed.clone()));
        let (user_id, counted_by) = (self.user_id.clone(), self.user_id.clone());
        Box::pin(async { Ok(Visitor { user_id, counted_by, username: "anyone".into(), server }) })
    }

    fn hearer<'a>(&'a self, _: &'a Parts) -> Wait<'a, Option<Box<dyn Hears>>> {
        Box::pin(async { Some(Box::new(Everything) as Box<dyn Hears>) })
    }

    fn follow(&self) -> Wait<'_, Option<Following>> {
        Box::pin(self.feed.follow())
    }

    fn is_origin_allowed(&self, origin: &str, host: Option<&str>) -> bool {
        origin.split_once("://").is_some_and(|(_, authority)| Some(authority) == host)
    }

    fn is_host_allowed(&self, host: &str) -> bool {
        let name = host.rsplit_once(':').map_or(host, |(name, _)| name);
        name == "localhost" || name.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
    }

    fn observe(&self, _: &Seen<'_>) {}
}

/// Hears of everything.
struct Everything;

impl Hears for Everything {
    fn hears<'a>(&'a self, _: &'a News) -> Wait<'a, bool> {
        Box::pin(async { true })
    }
}
