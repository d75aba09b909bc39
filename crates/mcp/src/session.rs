//! A client's session: its lifecycle, its revision, requests in flight and subscriptions.

mod listen;

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
    time::{Duration, Instant},
    vec,
};

use serde_json::{Map, Value, json, value::RawValue};

use self::listen::Listener;
use crate::{
    batch::{BatchNumber, Batches},
    call::{Answer, Call, Ticket},
    error::{Error, INVALID_PARAMS, INVALID_REQUEST, error_bytes, result_bytes},
    failure::FieldError,
    glance::{self, Arrived},
    id::Id,
    message::{Incoming, Message, Rejection},
    method::Method,
    notification::{self, Change, Interest, WATCHED_URIS_MAX},
    profile::{Profile, VersionPolicy},
    request::{self, Request},
    revision::{Era, Revision},
    stateless,
    wording::shown,
};

/// The number of requests in flight; further ones are not read until others are answered.
const IN_FLIGHT_MAX: usize = 256;

/// The total size of these requests.
const IN_FLIGHT_BYTES_MAX: usize = 16 * 1024 * 1024;

const NOT_INITIALIZED: &str = "Server not initialized. Send initialized notification first.";

/// An instruction to the transport.
#[derive(Debug)]
pub enum Step {
    /// Write this message.
    Send(Vec<u8>),
    /// Run this and pass the answer to [`Session::finish`].
    Call(Call),
    /// Answer what is in flight, then end.
    Stop,
    /// Cancel the request with this id, which is not in this session: only over HTTP.
    Cancel(Id),
    /// Nothing to do: a request was rejected (the answer is a separate step). For the log.
    Refused(Option<Id>, Error),
}

/// The properties of the transport that matter for the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transport {
    /// One process per client, messages in order: the lifecycle is enforced.
    Stdio,
    /// The order of requests is not guaranteed, so the lifecycle is not enforced.
    Http,
}

/// Messages that arrived together, for [`Session::next`].
#[derive(Debug)]
pub struct Pending<'a> {
    items: vec::IntoIter<Result<Message<'a>, Rejection>>,
    batch: Option<BatchNumber>,
    n_bytes_each: usize,
}

impl Pending<'_> {
    /// Whether all of them have been taken.
    pub fn is_empty(&self) -> bool {
        self.items.as_slice().is_empty()
    }
}

/// The client, as it describes itself.
#[derive(Clone, Debug, Default)]
pub struct Client {
    /// The program.
    pub name: String,
    /// Its version.
    pub version: String,
}

/// The state of a session. Callers pass in the bytes and the time; it does no I/O and reads no clock.
#[derive(Debug)]
pub struct Session {
    profile: Arc<Profile>,
    transport: Transport,
    /// The prefix of request ids, so that those in logs of several processes differ.
    label: Arc<str>,
    state: State,
    revision: Revision,
    client: Client,
    n_requests: u64,
    in_flight: HashMap<Id, Arc<Ticket>>,
    in_flight_bytes: usize,
    batches: Batches,
    /// The subscribed resources by canonical URI, with the client's own URI.
    subscriptions: BTreeMap<String, String>,
    listeners: Vec<Listener>,
    /// Whether the interest of the client may have changed since it was last read.
    is_interest_new: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    New,
    Initializing,
    Ready,
    Closing,
}

impl Session {
    /// Starts a session over stdio. The label is the prefix of its request ids in logs.
    pub fn stdio(profile: Arc<Profile>, label: &str) -> Self {
        Self::new(profile, label, Transport::Stdio, Revision::LATEST_HANDSHAKE)
    }

    /// Starts or resumes a session over HTTP, in the revision that its headers or its session state.
    pub fn http(profile: Arc<Profile>, label: &str, revision: Revision) -> Self {
        Self::new(profile, label, Transport::Http, revision)
    }

    fn new(profile: Arc<Profile>, label: &str, transport: Transport, revision: Revision) -> Self {
        Self {
            profile,
            transport,
            label: label.into(),
            state: State::New,
            revision,
            client: Client::default(),
            n_requests: 0,
            in_flight: HashMap::new(),
            in_flight_bytes: 0,
            batches: Batches::default(),
            subscriptions: BTreeMap::new(),
            listeners: Vec::new(),
            is_interest_new: false,
        }
    }

    /// The client, once it has introduced itself.
    pub fn client(&self) -> &Client {
        &self.client
    }

    /// Whether a `subscriptions/listen` is open and acknowledged.
    pub fn is_listening(&self) -> bool {
        self.listeners.iter().any(|listener| listener.is_acknowledged)
    }

    /// The negotiated revision.
    pub fn revision(&self) -> Revision {
        self.revision
    }

    /// The number of calls so far.
    pub fn n_requests(&self) -> u64 {
        self.n_requests
    }

    /// The number of calls in flight.
    pub fn n_in_flight(&self) -> usize {
        self.in_flight.len()
    }

    /// The size of these requests in bytes.
    pub fn in_flight_bytes(&self) -> usize {
        self.in_flight_bytes
    }

    /// Whether so much is in flight that no further message should be taken.
    pub fn is_full(&self) -> bool {
        self.in_flight.len() >= IN_FLIGHT_MAX || self.in_flight_bytes >= IN_FLIGHT_BYTES_MAX
    }

    /// Takes a line, or the body of a POST, with all its messages at once.
    pub fn handle(&mut self, bytes: &[u8], now: Instant) -> Vec<Step> {
        self.take(glance::read(bytes), now)
    }

    /// The same for bytes that were already parsed.
    pub fn take(&mut self, arrived: Arrived<'_>, now: Instant) -> Vec<Step> {
        let mut pending = self.begin(arrived);
        let mut steps = Vec::with_capacity(1);
        while !pending.is_empty() {
            steps.extend(self.next(&mut pending, now));
        }
        steps
    }

    /// Begins to take what has been read. A transport that works on calls while it reads takes one message after the
    /// other, and between them waits while the session [is full](Session::is_full).
    pub fn begin<'a>(&mut self, arrived: Arrived<'a>) -> Pending<'a> {
        let has_batches = self.revision == Revision::V2025_03_26
            && (self.state != State::New || self.transport == Transport::Http);
        let (items, is_batch) = match arrived.content {
            Ok(Incoming::Batch(items)) if has_batches => (items, true),
            Ok(Incoming::Batch(_)) => {
                let message = "Invalid Request: batches exist only in protocol version 2025-03-26";
                (vec![Err(Rejection { id: None, error: Error::new(INVALID_REQUEST, message) })], false)
            }
            Ok(Incoming::One(message)) => (vec![Ok(message)], false),
            Err(rejection) => (vec![Err(rejection)], false),
        };
        let n_bytes_each = arrived.n_bytes / items.len();
        let batch = is_batch.then(|| self.batches.open());
        Pending { items: items.into_iter(), batch, n_bytes_each }
    }

    /// Takes the next message.
    pub fn next(&mut self, pending: &mut Pending<'_>, now: Instant) -> Vec<Step> {
        let mut steps = Vec::with_capacity(1);
        match pending.items.next() {
            Some(Ok(message)) => self.message(message, pending.batch, pending.n_bytes_each, now, &mut steps),
            Some(Err(rejection)) => self.refuse(rejection.id, rejection.error, pending.batch, &mut steps),
            None => return steps,
        }
        if pending.is_empty()
            && let Some(number) = pending.batch
        {
            steps.extend(self.batches.close(number).map(Step::Send));
        }
        steps
    }

    /// Takes the answer to a call. Returns what to write, which is nothing when the call was cancelled
    /// or timed out, or when its batch waits for more.
    pub fn finish(&mut self, answer: Answer) -> Option<Vec<u8>> {
        let id = &answer.ticket.id;
        if !self.in_flight.get(id).is_some_and(|ticket| Arc::ptr_eq(ticket, &answer.ticket)) {
            return None;
        }
        let ticket = self.land(id)?;
        if answer.error.is_some() {
            self.unsubscribe(&ticket);
        }
        match answer.watched {
            Some(watched) => Some(self.acknowledge(id, &watched)),
            None => self.reply(ticket.batch, answer.bytes),
        }
    }

    /// Gives up on calls older than `timeout`. Returns them with the messages that say so, if any is due now.
    pub fn expire(&mut self, now: Instant, timeout: Duration) -> Vec<(Arc<Ticket>, Option<Vec<u8>>)> {
        let is_late = |ticket: &&Arc<Ticket>| now.saturating_duration_since(ticket.started) >= timeout;
        let mut late: Vec<Arc<Ticket>> = self.in_flight.values().filter(is_late).cloned().collect();
        late.sort_by_key(|ticket| ticket.number);
        let mut expired = Vec::new();
        for ticket in late {
            self.land(&ticket.id);
            self.unsubscribe(&ticket);
            ticket.cancel();
            let bytes = ticket.timed_out(&self.profile, timeout);
            let message = self.reply(ticket.batch, bytes);
            expired.push((ticket, message));
        }
        expired
    }

    /// Returns the notifications about a change for this client.
    pub fn notify(&self, change: &Change) -> Vec<Vec<u8>> {
        let mut messages = Vec::new();
        let subscribed: Vec<Change> = match change {
            Change::Resource(uri) => {
                self.subscriptions.get(uri).cloned().map(Change::Resource).into_iter().collect()
            }
            Change::EveryResource => {
                let each = self.subscriptions.values().cloned().map(Change::Resource);
                std::iter::once(Change::Resources).chain(each).collect()
            }
            change => vec![change.clone()],
        };
        if self.state == State::Ready {
            let told = subscribed.iter().filter(|change| change.is_declared(&self.profile.capabilities));
            messages.extend(told.map(|change| change.bytes(None)));
        }
        for Listener { id, filter, .. } in self.listeners.iter().filter(|one| one.is_acknowledged) {
            messages.extend(filter.wanted(change).iter().map(|change| change.bytes(Some(id))));
        }
        messages
    }

    /// Returns the interest of the client, if it has changed since the last call.
    pub fn new_interest(&mut self) -> Option<Interest> {
        if !std::mem::take(&mut self.is_interest_new) {
            return None;
        }
        let uris = self.subscriptions.values().cloned().collect();
        let mut interest = Interest { lists: self.state == State::Ready, uris };
        self.listeners.iter().for_each(|listener| listener.filter.add_to(&mut interest));
        Some(interest)
    }

    /// Accepts no more requests. Returns the final messages of open subscriptions.
    pub fn close(&mut self) -> Vec<Vec<u8>> {
        self.state = State::Closing;
        let listeners = std::mem::take(&mut self.listeners);
        let open = listeners.iter().filter(|listener| listener.is_acknowledged);
        open.map(|listener| notification::listen_result(&listener.id, &self.profile)).collect()
    }

    fn message(
        &mut self,
        message: Message<'_>,
        batch: Option<BatchNumber>,
        n_bytes: usize,
        now: Instant,
        steps: &mut Vec<Step>,
    ) {
        let Some(id) = message.id else {
            return self.notification(&message.method, message.raw_params, steps);
        };
        let arrival = Arrival { id: &id, raw_params: message.raw_params, batch, n_bytes, now };
        if let Err(error) = self.request(arrival, &message.method, message.params, steps) {
            self.refuse(Some(id), error, batch, steps);
        }
    }

    fn request(
        &mut self,
        arrival: Arrival<'_>,
        name: &str,
        params: Result<Map<String, Value>, Error>,
        steps: &mut Vec<Step>,
    ) -> Result<(), Error> {
        let capabilities = &self.profile.capabilities;
        let find = |era| Method::find(name, era, capabilities);
        if find(Era::Handshake).or(find(Era::Stateless)).is_none() {
            return Err(Error::method_not_found(name));
        }
        if self.state == State::Closing {
            return Err(Error::new(INVALID_REQUEST, "Server is shutting down"));
        }
        let is_listening = self.listeners.iter().any(|listener| listener.id == *arrival.id);
        if is_listening || self.in_flight.contains_key(arrival.id) {
            let message = format!("Invalid Request: a request with id {} is still in flight", arrival.id);
            return Err(Error::new(INVALID_REQUEST, message));
        }
        let mut params = params?;
        match stateless::era_of(&params)? {
            Era::Stateless if arrival.batch.is_some() => {
                let message = "Invalid Request: protocol version 2026-07-28 has no batches";
                Err(Error::new(INVALID_REQUEST, message))
            }
            Era::Stateless => match find(Era::Stateless) {
                None => Err(Error::method_not_found(name)),
                Some(Method::Listen) => self.listen(arrival, &mut params, steps),
                Some(method) => self.call(arrival, method, Revision::V2026_07_28, &mut params, steps),
            },
            // A client that names a revision in a header must name the same one in the message.
            Era::Handshake if self.revision.is_stateless() => Err(stateless::missing_version(&params)),
            Era::Handshake => match find(Era::Handshake) {
                None if self.state == State::New => Err(stateless::missing_version(&params)),
                None => Err(Error::method_not_found(name)),
                Some(method) => self.session_request(arrival, method, &mut params, steps),
            },
        }
    }

    /// A request of a handshake revision: the lifecycle applies.
    fn session_request(
        &mut self,
        arrival: Arrival<'_>,
        method: Method,
        params: &mut Map<String, Value>,
        steps: &mut Vec<Step>,
    ) -> Result<(), Error> {
        let is_enforced = self.transport == Transport::Stdio;
        match (method, self.state) {
            (Method::Shutdown, _) if !is_enforced => return Err(Error::method_not_found("shutdown")),
            (Method::Initialize, _) => return self.initialize(arrival, params, steps),
            // Only clients of 2026-07-28 know this method before a handshake, whether they say so or not.
            (Method::Discover, State::New) if is_enforced => {
                return self.call(arrival, method, Revision::V2026_07_28, params, steps);
            }
            (Method::Ping | Method::Discover, _) => {}
            (_, State::New) if is_enforced => return Err(Error::new(INVALID_PARAMS, NOT_INITIALIZED)),
            (_, State::Initializing) if is_enforced => {
                return Err(Error::new(INVALID_REQUEST, NOT_INITIALIZED));
            }
            (Method::Shutdown, _) => {
                self.send(arrival.batch, result_bytes(arrival.id, &json!({})), steps);
                self.state = State::Closing;
                steps.push(Step::Stop);
                return Ok(());
            }
            _ => {}
        }
        self.call(arrival, method, self.revision, params, steps)
    }

    fn initialize(
        &mut self,
        arrival: Arrival<'_>,
        params: &mut Map<String, Value>,
        steps: &mut Vec<Step>,
    ) -> Result<(), Error> {
        if arrival.batch.is_some() {
            let message = "Invalid Request: initialize must not be part of a batch";
            return Err(Error::new(INVALID_REQUEST, message));
        }
        if self.state != State::New {
            return Err(Error::new(INVALID_REQUEST, "Already initialized"));
        }
        let has_params = arrival.raw_params.is_some_and(|params| params.get() != "null");
        let (version, client) = request::initialize(params, has_params)?;
        let known = Revision::parse(&version).filter(|revision| !revision.is_stateless());
        let revision = match (known, self.profile.versions) {
            (Some(revision), _) => revision,
            (None, VersionPolicy::Negotiate) => Revision::LATEST_HANDSHAKE,
            (None, VersionPolicy::Strict { terminate }) => {
                self.refuse(Some(arrival.id.clone()), refused_version(&version), None, steps);
                if terminate {
                    self.state = State::Closing;
                    steps.push(Step::Stop);
                }
                return Ok(());
            }
        };
        self.state = State::Initializing;
        self.revision = revision;
        self.client = client;
        let request = Request::Initialize(revision);
        self.start(arrival, Method::Initialize, revision, request, Told::default(), steps);
        Ok(())
    }

    fn call(
        &mut self,
        arrival: Arrival<'_>,
        method: Method,
        revision: Revision,
        params: &mut Map<String, Value>,
        steps: &mut Vec<Step>,
    ) -> Result<(), Error> {
        let told = Told {
            progress_token: request::progress_token(params, arrival.raw_params)?,
            client_capabilities: revision
                .is_stateless()
                .then(|| stateless::client_capabilities(params))
                .flatten(),
        };
        request::rename(method, params, self.profile.capabilities.has_paths(), revision);
        let request = Request::parse(method, params)?;
        match &request {
            Request::Subscribe(_) if self.subscriptions.len() >= WATCHED_URIS_MAX => {
                let problem = format!("at most {WATCHED_URIS_MAX} resources can be subscribed to");
                return Err(FieldError::new("uri", problem).into());
            }
            Request::Unsubscribe(uri) => {
                let removed = self.subscriptions.remove(&(self.profile.canonical)(uri));
                self.is_interest_new |= removed.is_some();
            }
            _ => {}
        }
        self.start(arrival, method, revision, request, told, steps);
        Ok(())
    }

    fn start(
        &mut self,
        arrival: Arrival<'_>,
        method: Method,
        revision: Revision,
        request: Request,
        told: Told,
        steps: &mut Vec<Step>,
    ) {
        self.n_requests += 1;
        // Immediately, not when it is answered, so that an unsubscribe that follows has something to remove.
        let subscribes = match &request {
            Request::Subscribe(uri) => {
                let canonical = (self.profile.canonical)(uri);
                let before = self.subscriptions.insert(canonical.clone(), uri.clone());
                before.is_none().then_some(canonical)
            }
            _ => None,
        };
        self.is_interest_new |= subscribes.is_some();
        let ticket = Arc::new(Ticket {
            id: arrival.id.clone(),
            revision,
            method,
            label: self.label.clone(),
            has_own_label: self.transport == Transport::Http && self.n_requests == 1,
            number: self.n_requests,
            n_bytes: arrival.n_bytes,
            started: arrival.now,
            batch: arrival.batch,
            subscribes,
            cancelled: Default::default(),
            hook: Default::default(),
        });
        if let Some(number) = arrival.batch {
            self.batches.expect(number);
        }
        self.in_flight_bytes += ticket.n_bytes;
        self.in_flight.insert(arrival.id.clone(), ticket.clone());
        let Told { progress_token, client_capabilities } = told;
        let profile = self.profile.clone();
        steps.push(Step::Call(Call { ticket, request, progress_token, client_capabilities, profile }));
    }

    fn notification(&mut self, name: &str, params: Option<&RawValue>, steps: &mut Vec<Step>) {
        match name {
            "notifications/initialized" | "initialized" if self.state == State::Initializing => {
                self.state = State::Ready;
                self.is_interest_new = true;
            }
            "notifications/cancelled" => {
                if let Some(id) = params.and_then(request::cancelled_id) {
                    self.cancel(&id, steps);
                }
            }
            _ => {}
        }
    }

    /// Cancels this request: nothing will be sent for it.
    fn cancel(&mut self, id: &Id, steps: &mut Vec<Step>) {
        let n_listeners = self.listeners.len();
        self.listeners.retain(|listener| listener.id != *id);
        self.is_interest_new |= self.listeners.len() < n_listeners;
        // The protocol does not let `initialize` be cancelled.
        if self.in_flight.get(id).is_some_and(|ticket| ticket.method == Method::Initialize) {
            return;
        }
        let Some(ticket) = self.land(id) else {
            // Over HTTP the request arrived separately, in another session object.
            if self.transport == Transport::Http {
                steps.push(Step::Cancel(id.clone()));
            }
            return;
        };
        self.unsubscribe(&ticket);
        ticket.cancel();
        if let Some(number) = ticket.batch {
            steps.extend(self.batches.arrived(number, None).map(Step::Send));
        }
    }

    /// Undoes a subscribe or listen that failed.
    fn unsubscribe(&mut self, ticket: &Ticket) {
        if ticket.method == Method::Listen {
            self.listeners.retain(|listener| listener.id != ticket.id);
            self.is_interest_new = true;
        }
        if let Some(uri) = &ticket.subscribes {
            self.is_interest_new |= self.subscriptions.remove(uri).is_some();
        }
    }

    /// Removes a request from those in flight.
    fn land(&mut self, id: &Id) -> Option<Arc<Ticket>> {
        let ticket = self.in_flight.remove(id)?;
        self.in_flight_bytes -= ticket.n_bytes;
        Some(ticket)
    }

    /// Returns an expected answer, alone or with the rest of its batch.
    fn reply(&mut self, batch: Option<BatchNumber>, bytes: Vec<u8>) -> Option<Vec<u8>> {
        match batch {
            Some(number) => self.batches.arrived(number, Some(bytes)),
            None => Some(bytes),
        }
    }

    fn refuse(&mut self, id: Option<Id>, error: Error, batch: Option<BatchNumber>, steps: &mut Vec<Step>) {
        self.send(batch, error_bytes(id.as_ref(), &error), steps);
        steps.push(Step::Refused(id, error));
    }

    /// Sends an answer that required no call.
    fn send(&mut self, batch: Option<BatchNumber>, bytes: Vec<u8>, steps: &mut Vec<Step>) {
        match batch {
            Some(number) => self.batches.add(number, bytes),
            None => steps.push(Step::Send(bytes)),
        }
    }
}

/// The context of a request, in addition to its method and parameters.
#[derive(Clone, Copy)]
struct Arrival<'a> {
    id: &'a Id,
    raw_params: Option<&'a RawValue>,
    batch: Option<BatchNumber>,
    n_bytes: usize,
    now: Instant,
}

/// The contents of a request's `_meta`, except its revision.
#[derive(Default)]
struct Told {
    progress_token: Option<Id>,
    client_capabilities: Option<Map<String, Value>>,
}

fn refused_version(received: &str) -> Error {
    let supported = Revision::dates(&Revision::HANDSHAKE);
    let received = shown(received);
    let message = format!("Unsupported protocol version. Expected one of: {}", supported.join(", "));
    Error::new(INVALID_PARAMS, message).with_data(json!({
        "code": "INVALID_PROTOCOL_VERSION",
        "supported_versions": supported,
        "received_version": received,
        "supported": supported,
        "requested": received,
    }))
}
