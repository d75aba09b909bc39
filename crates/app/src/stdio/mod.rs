//! Serves one client over stdin and stdout, one JSON object per line.
//!
//! It uses threads instead of an async runtime: one reads, runs quick calls and writes the answers, a few run slower
//! calls, and the one that called [`serve`] watches for time-outs and for the end. A client that does not
//! read answers is not read from either, so memory stays bounded.

mod connection;
mod lines;
mod workers;

use std::{
    io::{self, IsTerminal as _, Read, Write},
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
    thread,
    time::Duration,
};

use mcp::{Profile, Server};

use crate::outbox::Finish;
use connection::{Connection, Ending};
use lines::{Line, Lines};

/// Options of serving.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// How long a request may take.
    pub request_timeout: Duration,
    /// How many requests run concurrently. More than a few help only if they wait for I/O.
    pub threads_max: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self { request_timeout: Duration::from_secs(30), threads_max: 8 }
    }
}

/// Tells somebody who has started a server by hand what it is waiting for, and what they may have meant to start.
pub fn greet(profile: &Profile, hint: &str) {
    if io::stdin().is_terminal() {
        let Profile { name, version, .. } = profile;
        let _ = writeln!(
            io::stderr(),
            "{name} {version} serves MCP on stdin and stdout, a JSON message a line; Ctrl-D ends; {hint}"
        );
    }
}

/// How long after the end of stdout the end of input may come.
const LEAVING_TIME: Duration = Duration::from_millis(250);

/// How long to wait at the end for a client that does not read.
const DRAIN_TIME_MAX: Duration = Duration::from_secs(30);

/// How often calls in flight are checked for time-outs.
const WATCH_INTERVAL: Duration = Duration::from_millis(100);

/// Serves the process's own stdin and stdout until the client leaves or a signal arrives.
/// Returns the exit code: 0 after a regular end, 1 after a read or write error.
pub fn serve(profile: Profile, server: Arc<dyn Server>, options: Options) -> u8 {
    let connection = Connection::new(profile, server, io::stdout(), options.threads_max);
    let stopping = connection.clone();
    if let Err(error) = stop_on_signals(move || stopping.end(Ending::Signal)) {
        tracing::warn!("signals are not handled: {error}");
    }
    run(connection, io::stdin(), options)
}

/// Serves any pair of pipes.
pub fn serve_on(
    profile: Profile,
    server: Arc<dyn Server>,
    input: impl Read + Send + 'static,
    output: impl Write + Send + 'static,
    options: Options,
) -> u8 {
    run(Connection::new(profile, server, output, options.threads_max), input, options)
}

fn run(connection: Arc<Connection>, input: impl Read + Send + 'static, options: Options) -> u8 {
    // The reader is not joined: it may wait for input while the process ends.
    let reading = connection.clone();
    let reader = thread::Builder::new().spawn(move || {
        let ending = catch_unwind(AssertUnwindSafe(|| read(&reading, input)));
        let panicked = |_| Some(Ending::ReadFailed(io::Error::other("the reader panicked")));
        reading.reader_ended(ending.unwrap_or_else(panicked));
    });
    let writing = connection.clone();
    let writer = thread::Builder::new().spawn(move || {
        if let Err(error) = writing.outbox.write_when_asked() {
            writing.end(Ending::WriteFailed(error));
        }
    });
    if let Err(error) = reader.and(writer) {
        tracing::error!("the system gives us no threads: {error}");
        return 1;
    }
    connection.clone().watch_changes();

    let ending = connection.watch(options.request_timeout, WATCH_INTERVAL);
    let is_clean = match &ending {
        Ending::EndOfInput | Ending::Shutdown | Ending::Signal => true,
        Ending::ReadFailed(error) => {
            tracing::error!("reading stdin failed: {error}");
            false
        }
        Ending::WriteFailed(error) => {
            tracing::error!("writing stdout failed: {error}");
            // Some clients probe by closing both pipes at once, and expect success.
            return u8::from(!connection.has_client_left(LEAVING_TIME));
        }
    };
    let patience = options.request_timeout.min(DRAIN_TIME_MAX);
    let finish = connection.drain(patience, options.request_timeout, WATCH_INTERVAL);
    let is_drained = match finish {
        Finish::Written => true,
        Finish::Stuck => {
            tracing::error!("the client did not take the last answers");
            false
        }
        // A client that has closed its end as well has simply left.
        Finish::Broken => matches!(ending, Ending::EndOfInput),
    };
    tracing::debug!("ended: {ending:?}, {finish:?}");
    u8::from(!(is_clean && is_drained))
}

/// Handles line after line. Returns why there are no more, unless another thread decided that.
fn read(connection: &Arc<Connection>, input: impl Read) -> Option<Ending> {
    let mut lines = Lines::new(input);
    loop {
        while let Some(line) = lines.next_read() {
            if !connection.wait_for_capacity() {
                continue;
            }
            match line {
                Line::Text(text) => connection.handle(text),
                Line::TooLong => connection.refuse_large_message(),
            }
        }
        connection.write();
        if !connection.begin_reading() {
            return None;
        }
        let more = lines.read_more();
        if !connection.end_reading() {
            return None;
        }
        match more {
            Ok(true) => {}
            Ok(false) => {
                connection.handle(lines.rest());
                return Some(Ending::EndOfInput);
            }
            Err(error) => return Some(Ending::ReadFailed(error)),
        }
    }
}

#[cfg(unix)]
fn stop_on_signals(stop: impl Fn() + Send + 'static) -> io::Result<()> {
    use signal_hook::consts::{SIGINT, SIGTERM};

    let mut signals = signal_hook::iterator::Signals::new([SIGTERM, SIGINT])?;
    thread::spawn(move || signals.forever().for_each(|_| stop()));
    Ok(())
}

#[cfg(not(unix))]
fn stop_on_signals(_stop: impl Fn() + Send + 'static) -> io::Result<()> {
    Ok(())
}
