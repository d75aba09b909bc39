//! The endpoint for agents: who may ask, which tools they are shown, and what they hear of changes.

use std::any::Any;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};

use axum::http::request::Parts;
use axum::http::{StatusCode, header};
use mcp::Change;
use ops::{Caller, Credentials, Effect, Error, ErrorKind};
use serde_json::json;
use store::{Mode, mcp_session, revision};
use tokio::sync::broadcast::error::RecvError;

use super::answer::status;
use super::endpoint::identify;
use super::hearer::Hearer;
use super::refusals::{Place, Tried};
use super::request::{bearer, check_once, is_ours};
use super::{App, Peer, telemetry};
use crate::requirements::{self, Requirements, ToolOptions, Tools, headers};
use crate::spexus::now;
use crate::streamable::{
    Endpoint, Feed, Following, Hears, Host, News, Options, Refusal, Seen, Visitor, Wait, by_session,
};

/// Where agents ask.
pub const PATH: &str = "/api/v1/mcp";

/// Serves agents.
pub struct Agents {
    app: Arc<App>,
    /// The tools that the server shows by itself.
    usual: Arc<Tools>,
    /// The tools of each choice that somebody has made.
    tools: Mutex<HashMap<ToolOptions, Arc<Tools>>>,
}

impl Agents {
    /// The endpoint. From now on, agents that listen hear of changes.
    pub fn start(app: &Arc<App>) -> Arc<Endpoint> {
        tokio::spawn(follow(app.clone()));
        let usual = Arc::new(Tools::new(&app.options.tools));
        let host = Arc::new(Agents { app: app.clone(), usual, tools: Mutex::default() });
        let options = Options { request_timeout: app.options.request_timeout };
        Endpoint::new(app.options.profile.clone(), host, app.engine.store().clone(), options)
    }

    /// The tools that a request is shown.
    fn tools(&self, head: &Parts) -> Result<Arc<Tools>, Refusal> {
        let usual = &self.app.options.tools;
        let sets = match head.headers.get(headers::TOOLSETS) {
            Some(names) => {
                ToolOptions::parse_sets(&String::from_utf8_lossy(names.as_bytes())).map_err(|message| {
                    let message = format!("{}: {message}", headers::TOOLSETS);
                    Refusal::new(StatusCode::BAD_REQUEST, -32602, "INVALID_PARAMS", message)
                })?
            }
            None => usual.sets.clone(),
        };
        let output_schemas = usual.output_schemas || is_set(head, headers::OUTPUT_SCHEMAS);
        let options = ToolOptions { sets, output_schemas, ..usual.clone() };
        if options == *usual {
            return Ok(self.usual.clone());
        }
        let mut known = self.tools.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(known.entry(options.clone()).or_insert_with(|| Arc::new(Tools::new(&options))).clone())
    }

    async fn caller(&self, head: &Parts) -> Result<Caller, Error> {
        check_once(&head.headers)?;
        let shown = bearer(&head.headers)?;
        let Some(shown) = shown else {
            return Err(Error::new(ErrorKind::Unauthenticated, "a token is required")
                .with_more(json!({ "token_sent": false })));
        };
        let caller = identify(&self.app, Credentials::Bearer(shown)).await?;
        caller.may(Effect::Reads)?;
        Ok(caller)
    }

    fn refused(&self, error: Error, head: &Parts, request_id: &str) -> Refusal {
        let error = if error.kind == ErrorKind::Unauthenticated {
            let has_shown = head.headers.contains_key(header::AUTHORIZATION);
            let tried = if has_shown { Tried::Token } else { Tried::Nothing };
            self.app.refused(error, &tried, Place { operation: "mcp", address: address(head), request_id })
        } else {
            error
        };
        let failure = requirements::failure(&error);
        Refusal {
            status: status(error.kind),
            error: failure.to_error(mcp::Revision::LATEST_HANDSHAKE, request_id),
        }
    }
}

/// Whether a header that turns something on is there and does so.
fn is_set(head: &Parts, name: &str) -> bool {
    head.headers.get(name).is_some_and(|value| matches!(value.as_bytes(), b"1" | b"true"))
}

/// Where a request comes from.
fn address(head: &Parts) -> Option<IpAddr> {
    head.extensions.get::<Peer>().map(|peer| peer.0)
}

impl Host for Agents {
    //@= spexus://REQ-102
    //@# 002 R9.2: it requires a bearer token
    //@= spexus://REQ-104
    //@# 002 R9.4: an invalid token is answered with 401
    fn admit<'a>(&'a self, head: &'a Parts, request_id: &'a str) -> Wait<'a, Result<Visitor, Refusal>> {
        Box::pin(async move {
            let admitted = match self.caller(head).await {
                Ok(caller) => self.app.limits.admit(&caller).map(|()| caller),
                Err(error) => Err(error),
            };
            let caller = match admitted {
                Ok(caller) => caller,
                Err(error) => return Err(self.refused(error, head, request_id)),
            };
            let tools = self.tools(head)?;
            let text = |name: &str| {
                head.headers.get(name).map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned())
            };
            let address = address(head).map(|address| address.to_string());
            let (user_id, username) = (caller.user_id.clone(), caller.username.clone());
            let counted_by = caller.token_id.clone().unwrap_or_else(|| user_id.clone());
            let server =
                Requirements::new(self.app.engine.clone(), Credentials::Known(Box::new(caller)), tools)
                    .for_request(text("idempotency-key"), address)
                    .with_exports(self.app.exports.clone())
                    .with_unlisted(is_set(head, headers::UNLISTED));
            Ok(Visitor { user_id, counted_by, username, server: Arc::new(server) })
        })
    }

    fn hearer<'a>(&'a self, head: &'a Parts) -> Wait<'a, Option<Box<dyn Hears>>> {
        Box::pin(async move {
            let caller = self.caller(head).await.ok()?;
            Some(Box::new(Ear { app: self.app.clone(), hearer: Hearer::of(&caller) }) as Box<dyn Hears>)
        })
    }

    fn admit_session(&self, visitor: &Visitor) -> Result<(), Refusal> {
        self.app.limits.admit_session(&visitor.counted_by).map_err(|error| Refusal {
            status: StatusCode::TOO_MANY_REQUESTS,
            error: requirements::failure(&error).to_error(mcp::Revision::LATEST_HANDSHAKE, ""),
        })
    }

    fn admit_more(&self, visitor: &Visitor, n_more: u32) -> Result<(), Refusal> {
        self.app.limits.admit_more(&visitor.user_id, n_more).map_err(|error| Refusal {
            status: StatusCode::TOO_MANY_REQUESTS,
            error: requirements::failure(&error).to_error(mcp::Revision::LATEST_HANDSHAKE, ""),
        })
    }

    fn admit_stream(&self, visitor: &Visitor, head: &Parts) -> Result<Box<dyn Any + Send + Sync>, Refusal> {
        let opened = self.app.streams.open(&visitor.user_id, address(head));
        opened.map(|opened| Box::new(opened) as Box<dyn Any + Send + Sync>).map_err(|error| Refusal {
            status: StatusCode::TOO_MANY_REQUESTS,
            error: requirements::failure(&error).to_error(mcp::Revision::LATEST_HANDSHAKE, ""),
        })
    }

    fn follow(&self) -> Wait<'_, Option<Following>> {
        Box::pin(self.app.feed.follow())
    }

    fn is_origin_allowed(&self, origin: &str, host: Option<&str>) -> bool {
        is_ours(origin, host, &self.app.options)
    }

    /// A server that only this machine can reach is only called by this machine's names; a page that found another name
    /// for it asks for somebody else.
    fn is_host_allowed(&self, host: &str) -> bool {
        if !self.app.options.is_loopback {
            return true;
        }
        let name = match host.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
            Some((name, _)) => name,
            None => host.split(':').next().unwrap_or(host),
        };
        let of_public_url = self.app.options.public_url.split("://").nth(1).unwrap_or_default();
        let is_public =
            of_public_url.split(['/', ':']).next().is_some_and(|public| public.eq_ignore_ascii_case(name));
        is_public
            || name.eq_ignore_ascii_case("localhost")
            || name.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
    }

    fn observe(&self, seen: &Seen<'_>) {
        let status = seen.status.as_u16();
        let tool = seen.tool.and_then(ops::find).map(|entry| entry.name);
        self.app.metrics.observe_message(
            seen.method,
            tool,
            status,
            seen.error.map(|error| error.code),
            seen.revision,
            seen.elapsed,
        );
        let operation = tool.unwrap_or(seen.method);
        self.app.telemetry.record(
            &seen.head.headers,
            &telemetry::Request {
                operation,
                method: seen.http_method.as_str(),
                route: PATH,
                status,
                id: seen.request_id,
                user: seen.user,
                elapsed: seen.elapsed,
            },
        );
        let duration_ms = seen.elapsed.as_secs_f64() * 1000.0;
        let code = seen.error.map(|error| error.code).unwrap_or_default();
        if let Some(error) = seen.error
            && let Some(version) = error.received_version()
        {
            let (req_id, user, received_version) = (seen.request_id, seen.user, mcp::shown(version));
            tracing::warn!(req_id, user, operation, received_version, "{}", error.message);
        }
        if let Some(client) = seen.client {
            tracing::info!(
                req_id = seen.request_id,
                user = seen.user,
                client = mcp::shown(client),
                "a client begins"
            );
        }
        tracing::info!(
            req_id = seen.request_id,
            user = seen.user,
            method = seen.method,
            tool = tool.unwrap_or("-"),
            revision = seen.revision,
            status,
            code,
            duration_ms,
            "mcp"
        );
    }
}

/// A hearer with what it takes to decide.
struct Ear {
    app: Arc<App>,
    hearer: Hearer,
}

impl Hears for Ear {
    fn hears<'a>(&'a self, news: &'a News) -> Wait<'a, bool> {
        Box::pin(self.hearer.hears_of(&self.app, news.project_id.as_deref(), news.audience.as_deref()))
    }
}

/// Changes of the store that are told together are at most so many.
const TOGETHER: usize = 500;

/// Turns changes of the store into news, as long as somebody listens.
async fn follow(app: Arc<App>) {
    let feed = app.feed.clone();
    let mut audience = feed.audience();
    loop {
        if feed.n_listeners() == 0 {
            if audience.changed().await.is_err() {
                return;
            }
            continue;
        }
        let Some(mut joined) = app.hub.join().await else { return };
        feed.set_live(true);
        loop {
            let change = tokio::select! {
                change = joined.changes.recv() => change,
                _ = audience.changed() => {
                    if feed.n_listeners() > 0 {
                        continue;
                    }
                    feed.set_live(false);
                    // Who came in between may have seen that news are passed on.
                    if feed.n_listeners() == 0 {
                        break;
                    }
                    feed.set_live(true);
                    continue;
                }
            };
            match change {
                Ok(change) => {
                    let mut changes = vec![change];
                    while changes.len() < TOGETHER
                        && let Ok(change) = joined.changes.try_recv()
                    {
                        changes.push(change);
                    }
                    tell(&app, &feed, changes.iter().map(|change| (**change).clone()).collect()).await;
                }
                Err(RecvError::Lagged(_)) => {
                    feed.tell(News { has_gap: true, ..News::default() });
                }
                Err(RecvError::Closed) => return,
            }
        }
    }
}

async fn tell(app: &App, feed: &Feed, changes: Vec<revision::Change>) {
    if changes.iter().any(|change| change.entity_kind == revision::WHOLE_STORE) {
        feed.tell(News { has_gap: true, ..News::default() });
        return;
    }
    let is_shared = app.engine.store().is_remote();
    // Those of one project have the same audience.
    let mut by_project: BTreeMap<Option<String>, Vec<revision::Change>> = BTreeMap::new();
    for change in changes {
        by_project.entry(change.project_id.clone()).or_default().push(change);
    }
    let body = move |tx: &mut store::Tx<'_>| -> store::Result<Vec<News>> {
        let claims = if is_shared { mcp_session::claims(tx, now())? } else { HashMap::new() };
        let claims = Arc::new(claims);
        let mut news = Vec::new();
        for (project_id, together) in &by_project {
            let changes = requirements::changes::of(tx, together)?;
            let topics = changes.iter().filter_map(|change| match change {
                Change::Resource(uri) => Some(uri.as_str()),
                _ => None,
            });
            news.push(News {
                has_gap: false,
                project_id: project_id.clone(),
                audience: together.first().and_then(|change| change.audience.clone()),
                by_session: by_session(tx, topics)?,
                changes,
                accounts: accounts(together),
                claims: claims.clone(),
            });
        }
        Ok(news)
    };
    match crate::streamable::ask(app.engine.store(), Mode::Snapshot, body).await {
        Ok(news) => news.into_iter().for_each(|news| feed.tell(news)),
        Err(error) => {
            tracing::warn!("a change could not be told: {error}");
            feed.tell(News { has_gap: true, ..News::default() });
        }
    }
}

/// The ids of users and tokens whose rights may have changed.
fn accounts(changes: &[revision::Change]) -> HashSet<String> {
    changes.iter().filter(|change| change.is_about_account()).map(|change| change.entity_id.clone()).collect()
}
