//! The two requests of pages that are not operations: changing a preference, and previewing Markdown.

use std::sync::Arc;

use axum::body::{Body, Bytes};
use axum::extract::{Request, State};
use axum::http::request::Parts;
use axum::http::{StatusCode, header};
use axum::response::Response;

use super::super::App;
use super::super::answer::insert;
use super::super::body::{self, Bounds};
use super::super::request::{cookie, decode};
use super::page::caller;
use super::{html, see_other};

/// What the cookies of preferences are called, before their own names.
const COOKIE: &str = "spexus_";
/// They are kept for a year.
const KEPT_S: u32 = 365 * 24 * 3600;
/// The longest form of a preference.
const PREFERENCE_MAX_BYTES: usize = 100;
/// The longest text that is previewed: what the longest field takes, each byte written as three.
const PREVIEW_MAX_BYTES: usize = 3 * 4 * 50_000;

/// What somebody prefers in this browser.
pub fn preference(parts: &Parts, name: &str) -> Option<String> {
    cookie(&parts.headers, &format!("{COOKIE}{name}"))
}

/// `POST /preferences`: changes a cookie. One that is not known, or empty, is removed.
pub async fn preferences(State(app): State<Arc<App>>, request: Request) -> Response<Body> {
    let Some((name, value)) = field(&app, request, PREFERENCE_MAX_BYTES).await else {
        return see_other(web::SIGN_IN);
    };
    let is_known = match name.as_str() {
        web::THEME => web::THEMES.contains(&value.as_str()),
        web::KEYS => value == "off",
        _ => return see_other("/account"),
    };
    let (value, age) = if is_known { (value.as_str(), KEPT_S) } else { ("", 0) };
    let mut response = see_other("/account");
    let cookie = format!("{COOKIE}{name}={value}; Path=/; Max-Age={age}; SameSite=Lax");
    insert(response.headers_mut(), header::SET_COOKIE, &cookie);
    response
}

/// `POST /preview`: Markdown as pages will show it.
pub async fn preview(State(app): State<Arc<App>>, request: Request) -> Response<Body> {
    match field(&app, request, PREVIEW_MAX_BYTES).await {
        Some((_, text)) => html(StatusCode::OK, web::markdown(&text)),
        None => html(StatusCode::BAD_REQUEST, web::markdown("This text is too long to be shown here.")),
    }
}

/// The only field of a form. Nothing is read from strangers or from pages of others.
async fn field(app: &App, request: Request, bytes_max: usize) -> Option<(String, String)> {
    let (parts, form) = request.into_parts();
    caller(app, &parts).await.ok()?;
    let bounds = Bounds { bytes_max, is_json: false };
    let read = tokio::time::timeout(app.options.request_timeout, body::collect(form, bounds)).await;
    let form: Bytes = read.ok()?.ok()?;
    let (name, value) = std::str::from_utf8(&form).ok()?.split_once('=')?;
    Some((decode(name, true)?, decode(value, true)?.replace("\r\n", "\n")))
}
