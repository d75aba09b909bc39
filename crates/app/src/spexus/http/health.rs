//! Whether the server lives, and whether it can work.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::Response;
use serde_json::json;
use store::Mode;
use tokio::sync::oneshot;

use super::App;
use super::answer::json as answer;
use super::request::request_id;

/// A store that does not answer within this time cannot be worked with.
const PATIENCE: Duration = Duration::from_secs(2);

/// The process runs.
pub async fn live(request: Request) -> Response<Body> {
    let body = json!({ "status": "ok", "version": env!("CARGO_PKG_VERSION") });
    answer(StatusCode::OK, body.to_string(), &request_id(request.headers()))
}

/// The store answers.
pub async fn ready(State(app): State<Arc<App>>, request: Request) -> Response<Body> {
    let id = request_id(request.headers());
    let problem = match tokio::time::timeout(PATIENCE, ask(&app)).await {
        Ok(Ok(())) => None,
        Ok(Err(message)) => Some(message),
        Err(_) => Some(format!("the store has not answered within {} s", PATIENCE.as_secs())),
    };
    let status = if problem.is_none() { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    let store = app.engine.store().engine_name();
    let body = json!({ "status": if problem.is_none() { "ok" } else { "unavailable" }, "store": store, "problem": problem });
    let mut response = answer(status, body.to_string(), &id);
    if problem.is_some() {
        response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from_static("2"));
    }
    response
}

async fn ask(app: &App) -> Result<(), String> {
    let (sender, receiver) = oneshot::channel();
    app.engine.store().run(Mode::Point, store::user::count, move |count: store::Result<i64>| {
        let _ = sender.send(count);
    });
    match receiver.await {
        Ok(Ok(_)) => Ok(()),
        Ok(Err(error)) => Err(error.to_string()),
        Err(_) => Err("the store dropped the question".to_owned()),
    }
}
