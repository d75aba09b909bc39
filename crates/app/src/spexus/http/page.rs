//! The reference of the interface, for people.

use std::fmt::Write as _;
use std::sync::LazyLock;

use axum::body::Body;
use axum::http::header;
use axum::response::Response;
use ops::{Arguments, Effect};
use store::model::Role;

use super::answer::insert;

const STYLE: &str = include_str!("page.css");

static REFERENCE: LazyLock<String> = LazyLock::new(reference_body);

/// `GET /reference`: every operation with its routes and arguments.
pub async fn reference() -> Response<Body> {
    html("Reference · Spexus", &REFERENCE)
}

fn reference_body() -> String {
    let mut body = String::from(
        "<header><p><a href=\"/\">Spexus</a></p><h1>Reference</h1><p class=\"lead\">Every id may be a UUID or a reference id such as \
         <code>REQ-012</code>. Lists answer <code>data</code>, <code>total_count</code>, <code>limit</code>, <code>offset</code>; \
         errors answer <code>error</code> with <code>code</code>, <code>message</code>, <code>details</code>, \
         <code>request_id</code>.</p></header><nav><ul>",
    );
    for entry in ops::OPERATIONS {
        let _ = write!(body, "<li><a href=\"#{0}\">{0}</a></li>", entry.name);
    }
    body.push_str("</ul></nav>");
    for entry in ops::OPERATIONS {
        let _ = write!(body, "<article id=\"{}\"><h2>{}</h2>", entry.name, entry.name);
        for paragraph in entry.documentation().split("\n\n") {
            let _ = write!(body, "<p>{}</p>", marked(paragraph));
        }
        body.push_str("<p>");
        for route in entry.routes {
            let _ = write!(
                body,
                "<code class=\"route\"><b>{}</b> /api/v1{}</code> ",
                route.method.name(),
                escape(route.path)
            );
        }
        let _ = write!(body, "</p><p class=\"note\">{}</p>", needs(entry.effect));
        let arguments = Arguments::new(entry.input_schema());
        if arguments.properties().next().is_some() {
            body.push_str("<table><thead><tr><th>Argument</th><th>Type</th><th></th></tr></thead><tbody>");
            // What every path decides is no argument here.
            let is_taken = |(name, _): &(&str, _)| entry.routes.iter().any(|route| route.takes(name));
            for (name, schema) in arguments.properties().filter(is_taken) {
                let required = if arguments.is_required(name) { " <em>required</em>" } else { "" };
                let about = marked(schema["description"].as_str().unwrap_or_default());
                let kind = marked(&crate::spexus::manual::type_of(schema));
                let _ = write!(
                    body,
                    "<tr><td><code>{name}</code>{required}</td><td>{kind}</td><td>{about}</td></tr>"
                );
            }
            body.push_str("</tbody></table>");
        }
        body.push_str("</article>");
    }
    body
}

fn needs(effect: Effect) -> String {
    if effect == Effect::Public {
        return "Needs no token.".to_owned();
    }
    let (role, scope) = ops::needed(effect);
    let or_more = if role == Role::Administrator { "" } else { " or more" };
    format!(
        "Needs the role {}{or_more}, and a token with the scope <code>{}</code>.",
        role.name(),
        scope.name()
    )
}

fn html(title: &str, body: &str) -> Response<Body> {
    let page = format!(
        "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><title>{title}</title>\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"><style>{STYLE}</style></head>\
         <body><main>{body}</main></body></html>"
    );
    let mut response = Response::new(Body::from(page));
    let headers = response.headers_mut();
    insert(headers, header::CONTENT_TYPE, "text/html; charset=utf-8");
    insert(headers, header::X_CONTENT_TYPE_OPTIONS, "nosniff");
    insert(headers, header::REFERRER_POLICY, "no-referrer");
    let policy = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; connect-src 'self'; frame-ancestors 'none'";
    insert(headers, header::CONTENT_SECURITY_POLICY, policy);
    response
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// Escapes, and shows what is between backticks as code.
fn marked(text: &str) -> String {
    let parts = text.split('`').enumerate().map(|(index, part)| {
        let part = escape(part);
        if index % 2 == 1 { format!("<code>{part}</code>") } else { part }
    });
    parts.collect()
}
