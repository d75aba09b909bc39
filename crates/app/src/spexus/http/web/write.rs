//! `POST /do/{operation}`: what a form of a page says becomes arguments, as on the command line, and goes the way of every other
//! request. What comes of it is a page again.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::{Path, Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::Response;
use http_body_util::BodyExt as _;
use ops::{Arguments, Caller, Effect, Entry, Route, SessionChange, known};
use serde_json::{Map, Value, json};
use web::conflict::{self, BASE, Resolution};
use web::{Answers, Asked, NEXT, Problem, SIGN_IN, Shown, View};

use super::super::App;
use super::super::answer::status;
use super::super::body::{self, Bounds};
use super::super::endpoint::Endpoint;
use super::super::request::{decode, request_id};
use super::super::uploads;
use super::page::{Asking, caller, is_swapped, me, problem, to_sign_in};
use super::rows::{Rows, in_row};
use super::{html, own_path, see_other, site, welcome};
use crate::spexus::now;

/// How much a form may hold.
const FORM_MAX_BYTES: usize = 10 << 20;
/// The same for those who are not known yet, and how long it is awaited.
const SIGN_IN_MAX_BYTES: usize = 16 << 10;
const SIGN_IN_TIME: Duration = Duration::from_secs(10);
/// How long an answer of an operation may be that a page shows.
const ANSWER_MAX_BYTES: usize = 10 << 20;

/// The way that all forms take.
static ROUTE: Route = ops::post("/do");

/// What a form says.
struct Form {
    /// The arguments, typed by the operation's schema.
    arguments: Map<String, Value>,
    /// What fields were when the form was made.
    base: Map<String, Value>,
    /// Where to go afterwards.
    next: String,
    /// The file that was sent before, for an operation that takes one, and the page that says what is wrong with it.
    file: Option<(String, String)>,
}

/// Runs an operation for a page.
pub async fn run(State(app): State<Arc<App>>, Path(name): Path<String>, request: Request) -> Response<Body> {
    let (parts, body) = request.into_parts();
    let Some(entry) = ops::find(&name) else { return see_other("/") };
    // Who asks is found out before anything is read.
    let known = match entry.effect {
        Effect::Public => None,
        _ => match caller(&app, &parts).await {
            Ok(caller) => Some(caller),
            Err(error) if is_swapped(&parts) => return inline(status(error.kind), &problem(&error)),
            Err(_) => return to_sign_in_from(&parts),
        },
    };
    let bytes_max = if known.is_some() { FORM_MAX_BYTES } else { SIGN_IN_MAX_BYTES };
    let patience = if known.is_some() { app.options.request_timeout } else { SIGN_IN_TIME };
    let read =
        tokio::time::timeout(patience, body::collect(body, Bounds { bytes_max, is_json: false })).await;
    let bytes = match read {
        Ok(Ok(bytes)) => bytes,
        Ok(Err(_)) => return unread(StatusCode::PAYLOAD_TOO_LARGE, "What was sent is too large."),
        Err(_) => return unread(StatusCode::REQUEST_TIMEOUT, "What was sent did not arrive in time."),
    };
    let form = Form::read(entry, &bytes);
    let writing = Writing { app: &app, parts: &parts, entry, caller: known.as_ref() };
    writing.write(form).await
}

/// What is wrong, to be said at the form that is still there; for whoever must sign in again, how.
fn inline(status: StatusCode, problem: &Problem) -> Response<Body> {
    match status {
        StatusCode::UNAUTHORIZED => html(status, web::sign_in_dialog("")),
        _ => html(status, web::inline_problem(problem)),
    }
}

/// What is said of a form that could not be read.
fn unread(status: StatusCode, message: &str) -> Response<Body> {
    let problem = Problem {
        status: status.as_u16(),
        message: message.to_owned(),
        fields: Vec::new(),
        retry_after_s: None,
    };
    html(status, web::sign_in("/", "", Some(&problem)))
}

/// Leads to the sign-in, and from there to the page that the form was on.
fn to_sign_in_from(parts: &Parts) -> Response<Body> {
    let referer = parts.headers.get(header::REFERER).and_then(|value| value.to_str().ok());
    let page = referer.and_then(|referer| {
        referer.split_once("://")?.1.find('/').map(|at| {
            let (_, rest) = referer.split_once("://").unwrap_or_default();
            rest[at..].to_owned()
        })
    });
    match page {
        Some(page) => see_other(&format!("{SIGN_IN}?next={}", web::encode(own_path(&page)))),
        None => to_sign_in(parts),
    }
}

impl Form {
    /// Understands what a browser sent.
    fn read(entry: &Entry, bytes: &[u8]) -> Form {
        let schema = Arguments::new(entry.input_schema());
        let text = String::from_utf8_lossy(bytes);
        let mut form = Form { arguments: Map::new(), base: Map::new(), next: "/".to_owned(), file: None };
        let mut back = "/".to_owned();
        let mut rows = Rows::default();
        for pair in text.split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let (Some(name), Some(value)) = (decode(name, true), decode(value, true)) else { continue };
            // Browsers send lines as they were in 1980.
            let value = value.replace("\r\n", "\n");
            if name == NEXT {
                form.next = own_path(&value).to_owned();
            } else if name == web::IMPORT_FORM_FILE {
                form.file = Some((value, String::new()));
            } else if name == web::IMPORT_FORM_BACK {
                back = own_path(&value).to_owned();
            } else if let Some(field) = name.strip_prefix(BASE) {
                form.base.insert(field.to_owned(), json!(value));
            } else if let Some((list, row, field)) = in_row(&name) {
                rows.add(&schema, list, row, field, &value);
            } else if !name.starts_with('_') {
                form.add(entry, &schema, &name, &value);
            }
        }
        form.arguments.extend(rows.lists());
        if let Some((_, page)) = &mut form.file {
            *page = back;
        }
        form
    }

    /// Adds a field. One that was left empty is absent, or clears what can be cleared.
    fn add(&mut self, entry: &Entry, schema: &Arguments, name: &str, value: &str) {
        if !value.is_empty() {
            // Boxes of the columns of a file are sent one by one, and their names stand with commas between them.
            match self.arguments.get_mut(name).filter(|_| entry.answers_file) {
                Some(Value::String(before)) => *before += &format!(",{value}"),
                _ => schema.add(&mut self.arguments, name, value),
            }
            return;
        }
        let about = schema.property(name).and_then(|property| property["description"].as_str());
        let clears = about.is_some_and(|about| about.contains("null") || about.contains("Null"));
        if clears && entry.change == ops::Change::Edits {
            self.arguments.insert(name.to_owned(), Value::Null);
        }
    }
}

/// A write that is under way.
struct Writing<'a> {
    app: &'a Arc<App>,
    parts: &'a Parts,
    entry: &'static Entry,
    caller: Option<&'a Caller>,
}

impl Writing<'_> {
    async fn write(&self, form: Form) -> Response<Body> {
        if self.entry.answers_file {
            return self.download(&form).await;
        }
        let (status, headers, answer) = match &form.file {
            Some((file, _)) => self.call_with_file(file, &form.arguments).await,
            None => self.call(&form.arguments).await,
        };
        let mut response = match status {
            StatusCode::OK | StatusCode::CREATED => self.done(&form, &answer),
            _ if self.entry.session == Some(SessionChange::Begins) => {
                let problem = refused(status, &headers, &answer);
                let text = |name: &str| form.arguments.get(name).and_then(Value::as_str);
                match self.entry.proof.and_then(text) {
                    Some(code) => {
                        let link = welcome::Following { app: self.app, parts: self.parts, code };
                        return link.show_again(status, &form.next, problem).await;
                    }
                    None => {
                        let username = text("username").unwrap_or_default();
                        html(status, web::sign_in(&form.next, username, Some(&problem)))
                    }
                }
            }
            _ if form.file.is_some() && status != StatusCode::UNAUTHORIZED => {
                see_other(&form.file.map(|(_, back)| back).unwrap_or_default())
            }
            StatusCode::UNAUTHORIZED if !is_swapped(self.parts) => to_sign_in_from(self.parts),
            StatusCode::CONFLICT if answer["error"]["code"] == ops::ErrorKind::StaleVersion.code() => {
                let stale = refused(status, &headers, &answer);
                return Box::pin(self.settle(form, stale)).await;
            }
            _ => self.again(status, &form, &refused(status, &headers, &answer)),
        };
        if let Some(cookie) = headers.get(header::SET_COOKIE) {
            response.headers_mut().insert(header::SET_COOKIE, cookie.clone());
        }
        if self.entry.session == Some(SessionChange::Ends) {
            response
                .headers_mut()
                .insert("clear-site-data", HeaderValue::from_static("\"cache\", \"storage\""));
        }
        response
    }

    /// Answers with a file, which a browser saves.
    async fn download(&self, form: &Form) -> Response<Body> {
        let response = self.send_arguments(&form.arguments, "*/*").await;
        if response.status().is_success() {
            return response;
        }
        let (status, headers, answer) = read(response).await;
        self.again(status, form, &refused(status, &headers, &answer))
    }

    /// Sends a file that was kept, with the arguments beside it.
    async fn call_with_file(
        &self,
        file: &str,
        arguments: &Map<String, Value>,
    ) -> (StatusCode, HeaderMap, Value) {
        let user_id = self.caller.map(|caller| caller.user_id.as_str()).unwrap_or_default();
        let upload = match self.app.uploads.open(user_id, file).await {
            Ok(upload) => upload,
            Err(error) => return (status(error.kind), HeaderMap::new(), Value::Null),
        };
        let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        let pairs = arguments
            .iter()
            .map(|(name, value)| format!("{}={}", web::encode(name), web::encode(&text(value))));
        let query = pairs.collect::<Vec<_>>().join("&");
        let mut request = Request::new(uploads::body(upload));
        if let Ok(uri) = format!("/do?{query}").parse() {
            *request.uri_mut() = uri;
        }
        let sent = self.send(request, "application/octet-stream", "application/json").await;
        let (status, headers, answer) = read(sent).await;
        if status.is_success() {
            self.app.uploads.remove(user_id, file);
        }
        (status, headers, answer)
    }

    /// Sends the arguments the way of every other request.
    async fn call(&self, arguments: &Map<String, Value>) -> (StatusCode, HeaderMap, Value) {
        read(self.send_arguments(arguments, "application/json").await).await
    }

    async fn send_arguments(&self, arguments: &Map<String, Value>, accepted: &'static str) -> Response<Body> {
        let body = serde_json::to_string(arguments).unwrap_or_default();
        self.send(Request::new(Body::from(body)), "application/json", accepted).await
    }

    async fn send(
        &self,
        mut request: Request,
        content_type: &'static str,
        accepted: &'static str,
    ) -> Response<Body> {
        let endpoint = Endpoint::new(self.entry, &ROUTE);
        *request.method_mut() = self.parts.method.clone();
        *request.headers_mut() = self.parts.headers.clone();
        *request.extensions_mut() = self.parts.extensions.clone();
        let headers = request.headers_mut();
        headers.remove(header::CONTENT_LENGTH);
        headers.remove(header::IF_MATCH);
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type));
        headers.insert(header::ACCEPT, HeaderValue::from_static(accepted));
        endpoint.serve(self.app.clone(), request).await
    }

    /// Goes on after something worked.
    fn done(&self, form: &Form, answer: &Value) -> Response<Body> {
        let was_tried = form.arguments.get("dry_run") == Some(&json!(true));
        let is_address = self.entry.answers_path.is_some();
        if self.entry.answers_secret && self.entry.session.is_none() && !is_address {
            return self.show(StatusCode::OK, &web::result::secret(&site(self.app), answer));
        }
        if was_tried || is_address || !self.entry.writes() {
            let shown = web::result::answered(self.entry, &form.arguments, answer, &form.next);
            return self.show(StatusCode::OK, &shown);
        }
        let text = |name: &str| answer[name].as_str().unwrap_or_default();
        let next = form.next.replace("{reference_id}", text("reference_id")).replace("{key}", text("key"));
        let import = Some(text("import_id")).filter(|id| !id.is_empty()).unwrap_or(web::NO_IMPORT);
        see_other(own_path(&next.replace("{import_id}", import)))
    }

    /// Shows the form again, with what was typed and what is wrong with it.
    fn again(&self, status: StatusCode, form: &Form, problem: &Problem) -> Response<Body> {
        // Rows that were selected in a table have no form to go back to.
        if self.entry == known::BULK_UPDATE && form.next.contains("/list/") {
            return self.show(status, &web::selection_failed(problem, &form.next));
        }
        if is_swapped(self.parts) {
            return inline(status, problem);
        }
        let shown = web::operation_form(self.entry, &form.arguments, Some(problem), &form.next);
        self.show(status, &shown)
    }

    /// Somebody else was faster. What does not clash is sent again, the rest is shown.
    async fn settle(&self, mut form: Form, stale: Problem) -> Response<Body> {
        let Some(caller) = self.caller else { return self.again(StatusCode::CONFLICT, &form, &stale) };
        let id = known::WRITES.iter().find(|(_, _, update)| update.name == self.entry.name);
        let id = id.map(|(kind, ..)| format!("{}_id", kind.name()));
        let reference = id.as_ref().and_then(|id| form.arguments.get(id)?.as_str()).map(str::to_owned);
        let (Some(id), Some(reference)) = (id, reference) else {
            return self.again(StatusCode::CONFLICT, &form, &stale);
        };
        let request_id = request_id(&self.parts.headers);
        let asking = Asking { app: self.app, parts: self.parts, id: &request_id, caller, file: None };
        let current = match asking.ask(known::GET_ENTITY, json!({ "reference": reference })).await {
            Ok(current) => current,
            Err(error) => return self.again(StatusCode::CONFLICT, &form, &problem(&error)),
        };
        let theirs: Map<String, Value> = form
            .base
            .keys()
            .map(|name| {
                let field = name.strip_suffix("_id").unwrap_or(name);
                (name.clone(), current[field].clone())
            })
            .collect();
        let version = current["version"].as_i64().unwrap_or_default();
        match conflict::resolve(&form.arguments, &form.base, &theirs) {
            Resolution::Send(mut arguments) if !form.base.is_empty() => {
                arguments.insert("expected_version".into(), json!(version));
                form.arguments = arguments;
                self.write(form).await
            }
            Resolution::Send(_) => self.again(StatusCode::CONFLICT, &form, &stale),
            Resolution::Ask(clashes) => {
                if let Some(told) = conflict::told(&clashes).filter(|_| is_swapped(self.parts)) {
                    return inline(StatusCode::CONFLICT, &told);
                }
                let shown = conflict::ask(self.entry, (&id, &reference), version, &clashes, &form.next);
                self.show(StatusCode::CONFLICT, &shown)
            }
        }
    }

    /// A page that is made without asking anything.
    fn show(&self, status: StatusCode, shown: &Shown) -> Response<Body> {
        let Some(caller) = self.caller else { return see_other(SIGN_IN) };
        let (asked, answers, site, me) =
            (Asked::default(), Answers::default(), site(self.app), me(caller, self.parts));
        let view = View { asked: &asked, answers: &answers, me: &me, site: &site, now: now().microseconds() };
        html(status, web::whole(&view, shown))
    }
}

/// Reads an answer in JSON.
async fn read(response: Response<Body>) -> (StatusCode, HeaderMap, Value) {
    let (head, body) = response.into_parts();
    let bytes = http_body_util::Limited::new(body, ANSWER_MAX_BYTES).collect().await;
    let bytes = bytes.map(http_body_util::Collected::to_bytes).unwrap_or_default();
    (head.status, head.headers, serde_json::from_slice(&bytes).unwrap_or_default())
}

/// What an operation refused, read from its answer.
fn refused(status: StatusCode, headers: &HeaderMap, answer: &Value) -> Problem {
    let retry_after_s = headers.get(header::RETRY_AFTER).and_then(|value| value.to_str().ok()?.parse().ok());
    let error = &answer["error"];
    let details = error["details"].as_array().into_iter().flatten();
    let text = |value: &Value, name: &str| value[name].as_str().unwrap_or_default().to_owned();
    let fields = details.map(|detail| (text(detail, "field"), text(detail, "message"))).collect();
    let message = match text(error, "message") {
        message if message.is_empty() => "The server could not do this.".to_owned(),
        message => message,
    };
    Problem { status: status.as_u16(), message, fields, retry_after_s }
}
