//! One page: who asks is found out, its questions are asked, and what it makes of the answers is sent.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::http::request::Parts;
use axum::response::Response;
use ops::{Call, Caller, Credentials, Effect, Entry, Error, ErrorKind, known};
use serde_json::{Value, json};
use store::model::Via;
use store::revision::{self, Place};
use web::{Answers, Asked, Me, Page, Problem, Question, SIGN_IN, Site, Source, View};

use super::super::answer::status;
use super::super::endpoint::{call_engine, identify};
use super::super::request::{check_once, credentials, decode, request_id, user_agent};
use super::super::{App, Peer, hub, patterns};
use super::small::preference;
use super::{html, own_path, see_other, site};
use crate::spexus::now;

/// A page that keeps asking is a mistake of ours.
const ROUNDS_MAX: usize = 4;

/// The beginnings of pages that show changes as they happen.
const FOLLOWED: [&str; 2] = ["/p/", "/r/"];

/// Answers with a page, or with a part of one, or leads to the sign-in.
pub async fn serve(app: Arc<App>, page: &'static Page, is_part: bool, request: Request) -> Response<Body> {
    let started = Instant::now();
    let (parts, _) = request.into_parts();
    let id = request_id(&parts.headers);
    let (response, user) = answer(&app, page, is_part, &parts, &id).await;
    let status = response.status().as_u16();
    let elapsed = started.elapsed();
    app.metrics.observe(page.path, "web", status, elapsed);
    let duration_ms = elapsed.as_secs_f64() * 1000.0;
    tracing::info!(
        req_id = id,
        user = user.as_deref().unwrap_or("-"),
        page = page.path,
        status,
        duration_ms,
        "page"
    );
    response
}

async fn answer(
    app: &App,
    page: &Page,
    is_part: bool,
    parts: &Parts,
    id: &str,
) -> (Response<Body>, Option<String>) {
    let caller = match caller(app, parts).await {
        Ok(caller) => caller,
        // A script that asks for a piece of a page leaves the page where it is.
        Err(error) if error.kind == ErrorKind::Unauthenticated && is_swapped(parts) => {
            return (html(StatusCode::UNAUTHORIZED, web::sign_in_dialog("")), None);
        }
        Err(error) if error.kind == ErrorKind::Unauthenticated => return (to_sign_in(parts), None),
        Err(error) => return (stranger(&error), None),
    };
    let user = Some(caller.username.clone());
    let asked = asked(page, parts);
    let mut answers = Answers::default();
    let me = me(&caller, parts);
    let file = asked.parameters.get(web::IMPORT_FILE).map(String::as_str);
    let asking = Asking { app, parts, id, caller: &caller, file };
    let mut trouble = None;
    // What is changed from here on is told to the page, though its script begins to listen later.
    let is_followed = !is_part && FOLLOWED.iter().any(|beginning| page.path.starts_with(beginning));
    let newest_change = if is_followed {
        hub::ask(&app.engine, revision::newest_place).await.ok().map(Place::sequence)
    } else {
        None
    };
    let projects = Question::optional("projects", known::LIST_PROJECTS, json!({"limit": 100}));
    let mut questions = vec![projects];
    for _ in 0..ROUNDS_MAX {
        questions.extend((page.ask)(&asked, &answers));
        if questions.is_empty() || trouble.is_some() {
            break;
        }
        for question in std::mem::take(&mut questions) {
            let answer = asking.answer(question.source, question.arguments).await;
            let answer = answer.map_err(|error| problem(&error));
            if let (Err(problem), true) = (&answer, question.is_needed) {
                trouble.get_or_insert_with(|| problem.clone());
            }
            answers.add(question.name, answer);
        }
    }
    let site = Site { newest_change, ..site(app) };
    let view = View { asked: &asked, answers: &answers, me: &me, site: &site, now: now().microseconds() };
    let (status, shown) = match trouble {
        Some(problem) => (problem.status, web::problem(&view, &problem)),
        None => (200, (page.show)(&view)),
    };
    let status = StatusCode::from_u16(status).unwrap_or(StatusCode::OK);
    let page = if is_part { shown.body } else { web::whole(&view, &shown) };
    (html(status, page), user)
}

/// Asks operations for somebody.
pub struct Asking<'a> {
    pub app: &'a App,
    pub parts: &'a Parts,
    pub id: &'a str,
    pub caller: &'a Caller,
    /// The file that operations are given which take one.
    pub file: Option<&'a str>,
}

impl Asking<'_> {
    /// Answers a question of a page.
    async fn answer(&self, source: Source, arguments: Value) -> Result<Value, Error> {
        match source {
            Source::Operation(entry) => self.ask(entry, arguments).await,
            Source::Permission(entry) => self.caller.may(entry.effect).map(|()| Value::Null),
            Source::Traces => {
                // A project that the caller cannot see is answered like one that does not exist.
                let project = self.ask(known::GET_PROJECT, json!({"project": arguments["project"]})).await?;
                let key = project["key"].as_str().unwrap_or_default().to_owned();
                let traces = self.app.traces.clone();
                off_the_runtime(move || traces.answer(&key, &arguments)).await
            }
            Source::Threats => {
                let patterns = self.app.patterns.clone();
                off_the_runtime(move || patterns::answer(&patterns, &arguments)).await
            }
        }
    }

    /// Asks one.
    pub async fn ask(&self, entry: &'static Entry, arguments: Value) -> Result<Value, Error> {
        let upload = match self.file.filter(|_| entry.takes_file.is_some()) {
            Some(id) => Some(self.app.uploads.open(&self.caller.user_id, id).await?),
            None => None,
        };
        let call = Call {
            entry,
            arguments,
            credentials: Credentials::Known(Box::new(self.caller.clone())),
            request: ops::Request {
                via: Via::Web,
                now: now(),
                request_id: Some(self.id.to_owned()),
                address: self.parts.extensions.get::<Peer>().map(|peer| peer.0.to_string()),
                user_agent: user_agent(&self.parts.headers),
                checkout: None,
                threats: None,
            },
            idempotency_key: None,
            cancel: None,
            progress: None,
            sink: None,
            upload,
        };
        let answer = call_engine(self.app, call).await.result?;
        serde_json::from_str(&answer.json)
            .map_err(|error| Error::new(ErrorKind::InternalError, format!("an answer is not JSON: {error}")))
    }
}

/// Reads files or computes, neither of which may hold up other requests.
async fn off_the_runtime(
    work: impl FnOnce() -> Result<Value, Error> + Send + 'static,
) -> Result<Value, Error> {
    let failed =
        |error| Error::new(ErrorKind::InternalError, format!("a page could not be answered: {error}"));
    tokio::task::spawn_blocking(work).await.map_err(failed)?
}

/// Whether a script asks, which puts the answer into the page.
pub fn is_swapped(parts: &Parts) -> bool {
    parts.headers.contains_key("hx-request")
}

/// Who looks at a page.
pub async fn caller(app: &App, parts: &Parts) -> Result<Caller, Error> {
    check_once(&parts.headers)?;
    let shown = credentials(&parts.method, &parts.headers, &app.options)?;
    let caller = identify(app, shown).await?;
    app.limits.admit(&caller)?;
    Ok(caller)
}

/// The same, as pages know it.
pub fn me(caller: &Caller, parts: &Parts) -> Me {
    let may = Effect::ALL.into_iter().filter(|effect| caller.may(*effect).is_ok()).collect();
    let theme = preference(parts, web::THEME);
    let theme = web::THEMES.into_iter().find(|known| theme.as_deref() == Some(*known));
    let has_keys = preference(parts, web::KEYS).as_deref() != Some("off");
    Me { username: caller.username.clone(), role: caller.role, may, theme, has_keys }
}

/// What the address says.
fn asked(page: &Page, parts: &Parts) -> Asked {
    let path = parts.uri.path();
    let text = |text: &str| decode(text, false).unwrap_or_default();
    let named = page.path.split('/').zip(path.split('/'));
    let parameters: BTreeMap<String, String> = named
        .filter_map(|(name, value)| {
            Some((name.strip_prefix('{')?.strip_suffix('}')?.to_owned(), text(value)))
        })
        .collect();
    let pairs = parts.uri.query().unwrap_or_default().split('&').filter(|pair| !pair.is_empty());
    let query = pairs
        .filter_map(|pair| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            Some((decode(name, true)?, decode(value, true)?))
        })
        .collect();
    Asked { path: path.to_owned(), parameters, query }
}

/// What an operation refused, as pages know it.
pub fn problem(error: &Error) -> Problem {
    let message = match error.kind {
        ErrorKind::InternalError => {
            "Something went wrong inside; the log of the server says more.".to_owned()
        }
        _ => error.message.clone(),
    };
    let fields = error.fields.iter().map(|field| (field.field.clone(), field.message.clone())).collect();
    Problem { status: status(error.kind).as_u16(), message, fields, retry_after_s: error.retry_after_s }
}

/// Leads to the sign-in, and from there back.
pub fn to_sign_in(parts: &Parts) -> Response<Body> {
    let here = parts.uri.path_and_query().map_or("/", |path| path.as_str());
    match here {
        "/" => see_other(SIGN_IN),
        here => see_other(&format!("{SIGN_IN}?next={}", web::encode(here))),
    }
}

/// The answer for somebody whom the server cannot identify at the moment.
fn stranger(error: &Error) -> Response<Body> {
    html(status(error.kind), web::sign_in("/", "", Some(&problem(error))))
}

/// `GET /sign-in`. Who has signed in already goes on.
pub async fn sign_in(State(app): State<Arc<App>>, request: Request) -> Response<Body> {
    let (parts, _) = request.into_parts();
    let query = parts.uri.query().unwrap_or_default().split('&');
    let next = query.filter_map(|pair| pair.strip_prefix("next=")).find_map(|value| decode(value, true));
    let next = next.unwrap_or_default();
    match caller(&app, &parts).await {
        Ok(_) => see_other(own_path(&next)),
        Err(_) => html(StatusCode::OK, web::sign_in(own_path(&next), "", None)),
    }
}
