//! The cookie of a session: set by a login that asks for it, set anew with another password, removed by logging out.

use axum::http::request::Parts;
use ops::{Answer, Entry, Error, ErrorKind, SessionChange};
use serde_json::{Map, Value};

use super::HttpOptions;
use super::request::check_origin;

/// The name of the cookie where the server is reached over plain HTTP, as on one's own machine.
pub const COOKIE: &str = "spexus_session";
/// Its name over HTTPS. Browsers take a cookie with this prefix from this very host alone, and only if it is secure, so that no
/// other host of the domain can plant one.
pub const SECURE_COOKIE: &str = "__Host-spexus_session";

/// The name of the cookie on this server.
pub fn cookie_name(options: &HttpOptions) -> &'static str {
    if is_secure(options) { SECURE_COOKIE } else { COOKIE }
}

/// Refuses a login that asks for a cookie from a page of another site, which could log its visitors in as somebody else.
pub fn check_page(
    entry: &Entry,
    arguments: &Map<String, Value>,
    parts: &Parts,
    options: &HttpOptions,
) -> Result<(), Error> {
    let has_secret = matches!(entry.session, Some(SessionChange::Begins | SessionChange::Renews));
    let asks_for_cookie = has_secret && arguments.get("cookie") == Some(&Value::Bool(true));
    if asks_for_cookie { check_origin(&parts.method, &parts.headers, options) } else { Ok(()) }
}

/// Returns the `Set-Cookie` header that belongs to an answer, if any, and takes the secret that it sets out of the answer.
pub fn take_cookie(
    entry: &Entry,
    answer: &mut Answer,
    options: &HttpOptions,
) -> Result<Option<String>, Error> {
    let name = cookie_name(options);
    let secure = if is_secure(options) { "; Secure" } else { "" };
    let attributes = format!("Path=/; HttpOnly; SameSite=Lax{secure}");
    match entry.session {
        Some(SessionChange::Begins | SessionChange::Renews) => {
            let unexpected =
                |error| Error::new(ErrorKind::InternalError, format!("the answer with a secret: {error}"));
            let mut body: Map<String, Value> = serde_json::from_str(&answer.json).map_err(unexpected)?;
            if body.get("cookie") != Some(&Value::Bool(true)) {
                return Ok(None);
            }
            let secret = body.shift_remove("session").unwrap_or_default();
            answer.json = serde_json::to_string(&body).map_err(unexpected)?;
            Ok(Some(format!("{name}={}; {attributes}", secret.as_str().unwrap_or_default())))
        }
        Some(SessionChange::Ends) => Ok(Some(format!("{name}=; Max-Age=0; {attributes}"))),
        None => Ok(None),
    }
}

fn is_secure(options: &HttpOptions) -> bool {
    options.public_url.starts_with("https://")
}
