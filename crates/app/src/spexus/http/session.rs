//! The cookie of a session: set by logging in, taken away by logging out.

use serde_json::Value;

use super::HttpOptions;
use super::request::COOKIE;

/// The `Set-Cookie` header that belongs to an answer, if any.
pub fn cookie(operation: &str, answer: &str, options: &HttpOptions) -> Option<String> {
    // Over plain HTTP, as on one's own machine, a browser would not send a secure cookie back.
    let secure = if options.public_url.starts_with("https://") { "; Secure" } else { "" };
    let attributes = format!("Path=/; HttpOnly; SameSite=Lax{secure}");
    match operation {
        "login" => {
            let answer: Value = serde_json::from_str(answer).ok()?;
            let secret = answer["session"].as_str()?;
            Some(format!("{COOKIE}={secret}; {attributes}"))
        }
        "logout" => Some(format!("{COOKIE}=; Max-Age=0; {attributes}")),
        _ => None,
    }
}
