//! What a request says: who asks, and the arguments from path, query and body.

use std::borrow::Cow;

use axum::http::header;
use axum::http::{HeaderMap, Method};
use ops::{Arguments, Credentials, Error, ErrorKind, SESSION_PREFIX};
use percent_encoding::percent_decode_str;
use serde_json::{Map, Value};

use super::HttpOptions;
use super::answer::REQUEST_ID;
use super::session::cookie_name;

/// Ids of requests that are longer, or hold other characters, are replaced.
const REQUEST_ID_MAX: usize = 128;

/// The id that the client gave the request, or a new one.
pub fn request_id(headers: &HeaderMap) -> String {
    let given = headers.get(REQUEST_ID).and_then(|value| value.to_str().ok());
    match given {
        Some(id)
            if (1..=REQUEST_ID_MAX).contains(&id.len()) && id.bytes().all(|byte| byte.is_ascii_graphic()) =>
        {
            id.to_owned()
        }
        _ => ops::new_id(crate::spexus::now()),
    }
}

/// How the client introduces itself.
pub fn user_agent(headers: &HeaderMap) -> Option<String> {
    headers.get(header::USER_AGENT).map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned())
}

/// What the client shows: a bearer token, or the cookie of a session from a page of ours.
pub fn credentials(
    method: &Method,
    headers: &HeaderMap,
    options: &HttpOptions,
) -> Result<Credentials, Error> {
    if let Some(secret) = bearer(headers)? {
        return Ok(Credentials::Bearer(secret));
    }
    let Some(secret) = cookie(headers, cookie_name(options)) else { return Ok(Credentials::None) };
    if !secret.starts_with(SESSION_PREFIX) {
        return Ok(Credentials::None);
    }
    check_origin(method, headers, options)?;
    Ok(Credentials::Bearer(secret))
}

/// The bearer token that the client shows, if it shows anything.
pub fn bearer(headers: &HeaderMap) -> Result<Option<String>, Error> {
    let refused = |message: &str| Error::new(ErrorKind::Unauthenticated, message);
    let Some(value) = headers.get(header::AUTHORIZATION) else { return Ok(None) };
    let text = value.to_str().map_err(|_| refused("the Authorization header is malformed"))?;
    match text.split_once(' ') {
        Some((scheme, secret)) if scheme.eq_ignore_ascii_case("bearer") && !secret.trim().is_empty() => {
            Ok(Some(secret.trim().to_owned()))
        }
        _ => Err(refused("expected Authorization: Bearer and a token")),
    }
}

/// The value of a cookie.
pub fn cookie(headers: &HeaderMap, wanted: &str) -> Option<String> {
    let cookies = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
    let mut pairs = cookies.flat_map(|text| text.split(';')).filter_map(|pair| pair.trim().split_once('='));
    pairs.find(|(name, _)| *name == wanted).map(|(_, value)| value.to_owned())
}

/// A browser sends the cookie whichever page asks. Changes are taken from our own pages alone.
pub fn check_origin(method: &Method, headers: &HeaderMap, options: &HttpOptions) -> Result<(), Error> {
    if matches!(*method, Method::GET | Method::HEAD) {
        return Ok(());
    }
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let ours = match (text("origin"), text("sec-fetch-site")) {
        (Some(origin), _) => is_ours(origin, text("host"), options),
        (None, Some(site)) => site == "same-origin",
        (None, None) => false,
    };
    if ours { Ok(()) } else { Err(Error::forbidden("a page of another site must not change anything here")) }
}

/// Whether a page's origin is the server's own, or one that the configuration lists.
pub fn is_ours(origin: &str, host: Option<&str>, options: &HttpOptions) -> bool {
    let same_host = origin.split_once("://").is_some_and(|(_, authority)| Some(authority) == host);
    let public = origin.trim_end_matches('/') == options.public_url.trim_end_matches('/');
    same_host || public || options.allowed_origins.iter().any(|allowed| allowed == origin)
}

/// Adds the arguments of a query string. A name that the operation does not have is added too, and refused with the rest.
pub fn add_query(arguments: &mut Map<String, Value>, known: &Arguments, query: &str) -> Result<(), Error> {
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        let (name, value) = pair.split_once('=').map_or((pair, None), |(name, value)| (name, Some(value)));
        let name = decode(name, true).ok_or_else(|| Error::field("query", "is not UTF-8"))?;
        if name.is_empty() {
            return Err(Error::field(
                "query",
                format!("expected name=value, found {:?}", ops::shortened(pair)),
            ));
        }
        let is_list = known.takes_several(&name);
        if arguments.contains_key(&name) && !is_list {
            return Err(Error::field(&name, "is given twice"));
        }
        match value {
            None => known.add_bare(arguments, &name),
            Some(value) => {
                let value = decode(value, true).ok_or_else(|| Error::field(&name, "is not UTF-8"))?;
                known.add(arguments, &name, &value);
            }
        }
    }
    Ok(())
}

/// Undoes percent-encoding; none when the result is not UTF-8.
pub fn decode(text: &str, plus_is_blank: bool) -> Option<String> {
    let text = if plus_is_blank { Cow::Owned(text.replace('+', " ")) } else { Cow::Borrowed(text) };
    Some(percent_decode_str(&text).decode_utf8().ok()?.into_owned())
}

/// Headers of which a second one would say something else, and nobody could tell which counts.
const ONCE: [&str; 6] =
    ["authorization", "content-encoding", "content-type", "idempotency-key", "if-match", "last-event-id"];

/// Refuses headers that are given twice and must not be.
pub fn check_once(headers: &HeaderMap) -> Result<(), Error> {
    match ONCE.iter().find(|name| headers.get_all(**name).iter().nth(1).is_some()) {
        Some(name) => Err(Error::field(name, "is given twice")),
        None => Ok(()),
    }
}

/// The version that `If-Match` names; none for `*`.
pub fn expected_version(headers: &HeaderMap) -> Result<Option<i64>, Error> {
    let Some(value) = headers.get(header::IF_MATCH) else { return Ok(None) };
    let text = value.to_str().unwrap_or_default().trim();
    if text == "*" {
        return Ok(None);
    }
    let tag = text.strip_prefix("W/").unwrap_or(text);
    let digits = tag.strip_prefix('"').map_or(Some(tag), |tag| tag.strip_suffix('"')).unwrap_or_default();
    let number = digits.parse::<i64>().ok().filter(|number| *number > 0);
    number.map(Some).ok_or_else(|| {
        Error::field(
            "If-Match",
            format!("expected the ETag of an answer, such as \"3\", found {}", ops::shortened(text)),
        )
    })
}

#[cfg(test)]
mod tests {
    use super::decode;

    #[test]
    fn percent_encoding_is_undone() {
        for (text, expected) in [
            ("a%20b+c", Some("a b c")),
            ("%D1%91", Some("ё")),
            ("100%", Some("100%")),
            ("%zz%4", Some("%zz%4")),
            ("%+1", Some("% 1")),
            ("%ff", None),
            ("%00", Some("\0")),
        ] {
            assert_eq!(decode(text, true).as_deref(), expected, "{text}");
        }
        assert_eq!(decode("a+b", false).as_deref(), Some("a+b"));
    }
}
