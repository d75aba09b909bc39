//! The open connections: bounded by address and in all. When all places are taken, the connection that has been idle for the
//! longest makes room, so that silent ones cannot keep others out.

use std::collections::HashMap;
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use axum::body::{Body, Bytes, HttpBody};
use hyper::body::{Frame, SizeHint};
use ops::Running;
use tokio::sync::Notify;

use super::address::counted;

/// From its acceptance to the head of its first request, TLS included, a connection has this long.
const FIRST_REQUEST_TIME: Duration = Duration::from_secs(10);

/// How many connections there may be.
#[derive(Clone, Copy, Debug)]
pub struct ConnectionLimits {
    /// From one address; 0 means unlimited.
    pub per_address: usize,
    /// In all, as many as there are files for.
    pub total: usize,
}

/// All open connections.
pub struct Connections {
    limits: ConnectionLimits,
    started: Instant,
    open: Mutex<Open>,
}

#[derive(Default)]
struct Open {
    last_number: u64,
    connections: HashMap<u64, Arc<Activity>>,
    by_address: HashMap<IpAddr, usize>,
}

/// What is going on on a connection.
#[derive(Default)]
struct Activity {
    n_requests: AtomicUsize,
    has_begun: AtomicBool,
    /// When it had nothing to do any more, in milliseconds since the start.
    idle_since: AtomicU64,
    evicted: Notify,
}

impl Connections {
    /// No connections yet.
    pub fn new(limits: ConnectionLimits) -> Arc<Connections> {
        Arc::new(Connections { limits, started: Instant::now(), open: Mutex::default() })
    }

    fn open(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn elapsed_ms(&self) -> u64 {
        u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    /// Takes a new connection in. An error says why it cannot stay. Those of trusted proxies are not counted by address.
    pub fn admit(self: &Arc<Self>, address: IpAddr, is_proxy: bool) -> Result<Connection, &'static str> {
        let mut open = self.open();
        let address = Some(counted(address)).filter(|_| !is_proxy && self.limits.per_address > 0);
        if let Some(address) = address
            && open.by_address.get(&address).is_some_and(|n| *n >= self.limits.per_address)
        {
            return Err("its address has too many");
        }
        if open.connections.len() >= self.limits.total {
            let idle = open.connections.iter().filter(|(_, it)| it.n_requests.load(Ordering::Acquire) == 0);
            let longest = idle.min_by_key(|(_, it)| it.idle_since.load(Ordering::Relaxed));
            let Some(number) = longest.map(|(number, _)| *number) else {
                return Err("all are busy");
            };
            if let Some(evicted) = open.connections.remove(&number) {
                evicted.evicted.notify_one();
            }
        }
        open.last_number += 1;
        let number = open.last_number;
        let activity = Arc::new(Activity { idle_since: self.elapsed_ms().into(), ..Activity::default() });
        open.connections.insert(number, activity.clone());
        if let Some(address) = address {
            *open.by_address.entry(address).or_default() += 1;
        }
        Ok(Connection { connections: self.clone(), number, address, activity })
    }
}

/// An open connection.
pub struct Connection {
    connections: Arc<Connections>,
    number: u64,
    address: Option<IpAddr>,
    activity: Arc<Activity>,
}

impl Connection {
    /// Counts a request until the returned guard is dropped.
    pub fn begin(&self) -> Busy {
        self.activity.has_begun.store(true, Ordering::Release);
        self.activity.n_requests.fetch_add(1, Ordering::AcqRel);
        Busy { connections: self.connections.clone(), activity: self.activity.clone() }
    }

    /// Waits until the connection is to be closed, and says why: no request came, or others need the place.
    pub async fn ended(&self) -> &'static str {
        tokio::select! {
            () = self.activity.evicted.notified() => return "it was idle, and others need its place",
            () = tokio::time::sleep(FIRST_REQUEST_TIME) => {}
        }
        if !self.activity.has_begun.load(Ordering::Acquire) {
            return "it sent no request";
        }
        self.activity.evicted.notified().await;
        "it was idle, and others need its place"
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        let mut open = self.connections.open();
        open.connections.remove(&self.number);
        let Some(address) = self.address else { return };
        if let Some(n) = open.by_address.get_mut(&address) {
            *n -= 1;
            if *n == 0 {
                open.by_address.remove(&address);
            }
        }
    }
}

/// A request that is not answered to its end.
pub struct Busy {
    connections: Arc<Connections>,
    activity: Arc<Activity>,
}

impl Drop for Busy {
    fn drop(&mut self) {
        self.activity.idle_since.store(self.connections.elapsed_ms(), Ordering::Relaxed);
        self.activity.n_requests.fetch_sub(1, Ordering::AcqRel);
    }
}

/// The body of an answer, until whose end the connection is busy.
pub struct Answering {
    body: Body,
    _busy: Busy,
    running: Arc<Running>,
}

impl Answering {
    /// A body and the request that it answers.
    pub fn new(body: Body, busy: Busy, running: Arc<Running>) -> Answering {
        Answering { body, _busy: busy, running }
    }
}

impl HttpBody for Answering {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let _working = self.running.clone().begin();
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
