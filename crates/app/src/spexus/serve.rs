//! `spexus serve`: starts everything on an empty machine, and says where it is.

use std::io::{IsTerminal as _, Write};
use std::time::Duration;

use clap::ArgMatches;
use ops::{Call, Credentials, Engine, First, known};
use serde_json::{Value, json};
use store::model::Via;
use store::{Mode, Store, audit, mcp_session, revision, search, sizes, tally};
use tokio::time::MissedTickBehavior;
use tracing::level_filters::LevelFilter;

use super::config::{self, Config};
use super::http::{App, ConnectionLimits, ConnectionOptions, Listener, Telemetry, Tls, router};
use super::{Exit, demo, now, print};
use crate::logging;

/// How long changes and answers to idempotent requests are kept.
const KEPT_S: i64 = 24 * 3600;
/// How often what is older is forgotten.
const FORGET_EVERY: Duration = Duration::from_secs(600);
const SUM_UP_EVERY: Duration = Duration::from_secs(5);
/// How often documents that wait are entered in the index: each search reads all that wait.
const ENTER_EVERY: Duration = Duration::from_secs(1);
/// How often PostgreSQL is asked to look at tables that have grown: autovacuum does so once a minute.
const LOOK_EVERY: Duration = Duration::from_secs(2);

/// Files that are not for connections of clients: the store's, the log, those of telemetry.
const FILES_RESERVED: usize = 64;

/// As many files are assumed where the system does not say.
const FILES_UNKNOWN: usize = 1_024;

/// Runs the server until it is told to stop.
pub fn run(matches: &ArgMatches) -> Exit {
    let mut settings = config::settings(matches);
    logging::start_with_time(&mut settings, LevelFilter::INFO);
    config::refuse_server_flag(&mut settings);
    let config = config::read(&mut settings);
    if let Err(problems) = settings.check() {
        print::tell(&problems.to_string());
        return Exit::Usage;
    }
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            print::tell(&format!("the server cannot start: {error}"));
            return Exit::Usage;
        }
    };
    match runtime.block_on(serve(config, matches.get_flag("demo"))) {
        Ok(()) => Exit::Done,
        Err(message) => {
            print::tell(&format!("the server cannot start: {message}"));
            Exit::Usage
        }
    }
}

async fn serve(config: Config, demo: bool) -> Result<(), String> {
    let location = config.store.location.clone();
    let tls = match &config.tls {
        Some((certificate, key)) => Some(Tls::read(certificate, key)?),
        None => None,
    };
    // Opening and migrating wait for the database, which must not happen on a thread of the runtime.
    let opened =
        tokio::task::spawn_blocking(move || open(&config.store, demo).map(|opened| (opened, config)));
    let ((store, first), config) = opened.await.map_err(|error| error.to_string())??;
    let n_files = raise_file_limit();
    let total = n_files.saturating_sub(FILES_RESERVED + config.store.options.connections);
    let limits = ConnectionLimits { per_address: config.connections_per_address, total: total.max(1) };
    let connections =
        ConnectionOptions { limits, proxies: config.proxies, write_timeout: config.http.write_timeout };
    let listener = Listener::bind(config.listen, tls, connections)
        .await
        .map_err(|error| format!("{} cannot be listened on: {error}", config.listen))?;
    let address = listener.address().map_err(|error| error.to_string())?;
    let mut http = config.http;
    http.is_demo = demo;
    if config.listen.port() == 0 {
        http.public_url = http.public_url.replace(&config.listen.to_string(), &address.to_string());
    }
    // From the moment that others know of the server, it ends in order.
    let stop = Stop::listen().map_err(|error| format!("signals cannot be received: {error}"))?;
    let is_nowhere = address.ip().is_unspecified() && http.public_url.ends_with(&address.to_string());
    let sign_in = match first.is_some() || demo {
        true => sign_in(&store, &http.public_url, demo).await?,
        false => SIGN_IN_LINK.to_owned(),
    };
    greet(&http.public_url, &location.to_string(), first.as_ref(), &sign_in, is_nowhere);
    // Its exporter has a runtime of its own, which must not be made on a thread of this one.
    let telemetry = tokio::task::spawn_blocking(Telemetry::start).await.map_err(|error| error.to_string())?;
    let app = App::new(store.clone(), http, telemetry);
    let mut tidying = vec![
        tokio::spawn(now_and_then(FORGET_EVERY, "old changes could not be forgotten", store.clone(), forget)),
        tokio::spawn(now_and_then(SUM_UP_EVERY, "counts could not be summed up", store.clone(), sum_up)),
    ];
    if store.is_remote() {
        let failed = "documents could not be entered in the search index";
        tidying.push(tokio::spawn(now_and_then(ENTER_EVERY, failed, store.clone(), search::tidy)));
        let failed = "the sizes of tables could not be looked at";
        tidying.push(tokio::spawn(now_and_then(
            LOOK_EVERY,
            failed,
            store.clone(),
            sizes::look_where_much_is_new,
        )));
    }
    let tell = |error| tracing::error!("the store was looked through: {error}; `spexus doctor` says more");
    store::health::look_through(&store, tell).map_err(|error| error.to_string())?;
    let closing = app.clone();
    let cut = listener.serve(router(app.clone()), stop.requested(), move || closing.close_streams()).await;
    tidying.iter().for_each(tokio::task::JoinHandle::abort);
    if cut > 0 {
        tracing::warn!(connections = cut, "some connections had to be cut");
    }
    let ending = app.clone();
    let _ = tokio::task::spawn_blocking(move || ending.finish_telemetry()).await;
    drop(app);
    // The last clone waits for what the store still writes.
    tokio::task::spawn_blocking(move || drop(store)).await.map_err(|error| error.to_string())?;
    tracing::info!("stopped");
    Ok(())
}

/// Lets the process have as many files as it may, and returns how many these are.
fn raise_file_limit() -> usize {
    #[cfg(unix)]
    {
        use nix::sys::resource::{Resource, getrlimit, setrlimit};
        let Ok((soft, hard)) = getrlimit(Resource::RLIMIT_NOFILE) else { return FILES_UNKNOWN };
        let n_files = if setrlimit(Resource::RLIMIT_NOFILE, hard, hard).is_ok() { hard } else { soft };
        usize::try_from(n_files).unwrap_or(usize::MAX)
    }
    #[cfg(not(unix))]
    FILES_UNKNOWN
}

fn open(config: &config::StoreConfig, demo: bool) -> Result<(Store, Option<First>), String> {
    let store = Store::open_to_serve(&config.location, config.options.clone(), now())
        .map_err(|error| error.to_string())?;
    let request = ops::Request::new(Via::Cli, now());
    let first = ops::first_start(&store, &request).map_err(|error| error.to_string())?;
    if demo && !demo::fill(&store).map_err(|error| error.to_string())? {
        print::tell(
            "The store is not empty, so the example is left out. For the example: spexus serve --demo --database sqlite:demo.db",
        );
    }
    Ok((store, first))
}

/// How to get a link at any time.
const SIGN_IN_LINK: &str = "spexus sign-in-link  prints a link to sign in with a browser";

/// How the administrator signs in with a browser: by a one-time link, which only a terminal is shown, because whatever else
/// reads this may keep it.
async fn sign_in(store: &Store, url: &str, demo: bool) -> Result<String, String> {
    if !std::io::stdout().is_terminal() {
        return Ok(SIGN_IN_LINK.to_owned());
    }
    let engine = Engine::new(store.clone());
    let entry = known::CREATE_SIGN_IN_LINK;
    // In the demonstration nobody wants to choose a password.
    let arguments = json!({ "sign_in_only": demo });
    let call = Call::new(entry, arguments, Credentials::Local(None), ops::Request::new(Via::Cli, now()));
    let reply = tokio::task::spawn_blocking(move || engine.wait(call).result).await;
    let answer = reply.map_err(|error| error.to_string())?.map_err(|error| error.to_string())?;
    let mut link: Value = serde_json::from_str(&answer.json).map_err(|error| error.to_string())?;
    entry.complete_path(&mut link, url);
    let text = |name: &str| link[name].as_str().unwrap_or_default().to_owned();
    Ok(format!(
        "{}\n  works once, for {}; spexus sign-in-link makes another",
        text("url"),
        text("expires_in")
    ))
}

/// Says where the page is, and what the first start has made, which nobody will ever see again.
fn greet(url: &str, location: &str, first: Option<&First>, sign_in: &str, is_nowhere: bool) {
    let mut text = format!("Spexus is at {url}\n  store   {location}\n  agents  {url}/api/v1/mcp\n");
    if is_nowhere {
        text.push_str(
            "\nIt listens on every address of this machine, and that URL names none. Say where others reach it:\n  \
             --public-url http://NAME:PORT\n",
        );
    }
    text.push_str(&format!("\nSign in with a browser:\n  {sign_in}\n"));
    if first.is_none() {
        text.push_str("\nConnect a program or an agent:\n  spexus token create NAME  prints a token; spexus agent add claude connects an agent\n");
    }
    if let Some(First { username, password, token }) = first {
        text.push_str(&format!(
            "\nThis is the first start. Keep these, they are not shown again:\n  user      {username}\n  password  {password}\n  token     \
             {token}\n\nTry it:\n  curl {url}/api/v1/epics -H \"Authorization: Bearer {token}\"\n\nFor an MCP client:\n  \
             {{\"mcpServers\": {{\"spexus\": {{\"url\": \"{url}/api/v1/mcp\", \"headers\": {{\"Authorization\": \"Bearer \
             {token}\"}}}}}}}}\n"
        ));
    }
    text.push_str("\nStop it with Ctrl-C; what was accepted is finished first.\n");
    // Without a terminal, as under a service manager, this is the only place where the token appears.
    let mut stdout = std::io::stdout();
    if stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()).is_err() {
        print::tell(&text);
    }
}

/// Signals that ask the process to stop.
struct Stop {
    #[cfg(unix)]
    interrupt: tokio::signal::unix::Signal,
    #[cfg(unix)]
    terminate: tokio::signal::unix::Signal,
}

impl Stop {
    fn listen() -> std::io::Result<Stop> {
        #[cfg(unix)]
        {
            use tokio::signal::unix::{SignalKind, signal};
            Ok(Stop {
                interrupt: signal(SignalKind::interrupt())?,
                terminate: signal(SignalKind::terminate())?,
            })
        }
        #[cfg(not(unix))]
        Ok(Stop {})
    }

    /// Ends when the process is asked to stop.
    async fn requested(self) {
        #[cfg(unix)]
        {
            let Stop { mut interrupt, mut terminate } = self;
            tokio::select! {
                _ = interrupt.recv() => {}
                _ = terminate.recv() => {}
            }
        }
        #[cfg(not(unix))]
        {
            let _ = tokio::signal::ctrl_c().await;
        }
        tracing::info!("stopping: what was accepted is finished first");
    }
}

/// Sums up what writers have counted, so that totals are read from few rows. Each step is short, for others write meanwhile.
fn sum_up(store: &Store) -> store::Result<()> {
    while store.wait(Mode::Aside, tally::fold)? {}
    Ok(())
}

/// Does something now and then, on a thread that may wait for the database.
async fn now_and_then(
    every: Duration,
    what: &'static str,
    store: Store,
    work: fn(&Store) -> store::Result<()>,
) {
    let mut every = tokio::time::interval(every);
    every.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        every.tick().await;
        let store = store.clone();
        if let Ok(Err(error)) = tokio::task::spawn_blocking(move || work(&store)).await {
            tracing::warn!("{what}: {error}");
        }
    }
}

/// How much is forgotten in one transaction, so that other writers get their turn in between. A session can watch thousands of
/// resources, which go with it.
const FORGET_SLICE: i64 = 500;
const FORGET_SESSIONS: i64 = 10;

/// Forgets old changes and answers.
fn forget(store: &Store) -> store::Result<()> {
    let before = now().plus_seconds(-KEPT_S);
    loop {
        let n_forgotten = store.wait(Mode::Aside, move |tx| {
            let n_sessions = mcp_session::forget(tx, now(), FORGET_SESSIONS)?;
            let n_refusals = audit::forget_refusals(tx, FORGET_SLICE)?;
            store::Result::Ok(n_sessions + n_refusals + revision::forget(tx, before, FORGET_SLICE)?)
        })?;
        if n_forgotten == 0 {
            return Ok(());
        }
    }
}
