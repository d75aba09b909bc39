//! The web application over HTTP: its pages, its files, and the one route by which pages write.

mod import;
mod page;
mod rows;
mod selected;
mod small;
mod welcome;
mod write;

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::Response;
use axum::routing::{get, post};
use tower_http::compression::CompressionLayer;
use tower_http::compression::predicate::SizeAbove;
use web::{IMPORT, IMPORT_MISTAKES, PAGES, PARTS, PREFERENCES, SIGN_IN, Site, WELCOME};

use super::App;
use super::answer::insert;
use super::endpoint::pattern;

/// Shorter answers are sent as they are.
const COMPRESSED_MIN_BYTES: u16 = 860;

/// What pages may load and where they may send something. Nothing inline, nothing from elsewhere.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; \
                      form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

/// The routes for people.
pub fn router() -> Router<Arc<App>> {
    let mut router = Router::new();
    for (pages, is_part) in [(PAGES, false), (PARTS, true)] {
        for shown in pages {
            let handler = move |State(app): State<Arc<App>>, request: Request| {
                page::serve(app, shown, is_part, request)
            };
            let mut methods = get(handler);
            if shown.path == IMPORT {
                methods = methods.post(import::take);
            }
            router = router.route(&pattern(shown.path), methods);
        }
    }
    for asset in web::assets::ASSETS.iter() {
        router = router.route(&asset.path, get(move || async move { file(asset) }));
    }
    router
        .route(&pattern(IMPORT_MISTAKES), get(import::mistakes))
        .route(SIGN_IN, get(page::sign_in))
        .route(WELCOME, get(welcome::page))
        .route("/do/{operation}", post(write::run))
        .route(PREFERENCES, post(small::preferences))
        .route("/preview", post(small::preview))
        .route("/p/{key}/list/{kind}/change", post(selected::try_out))
        .layer(CompressionLayer::new().compress_when(SizeAbove::new(COMPRESSED_MIN_BYTES)))
}

/// What all pages of this server share.
fn site(app: &App) -> Site {
    Site { url: app.options.public_url.clone(), version: env!("CARGO_PKG_VERSION"), newest_change: None }
}

/// A file whose name changes with its content.
fn file(asset: &'static web::assets::Asset) -> Response<Body> {
    let mut response = Response::new(Body::from(asset.content.as_slice()));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(asset.content_type));
    insert(headers, header::CACHE_CONTROL, "public, max-age=31536000, immutable");
    insert(headers, header::X_CONTENT_TYPE_OPTIONS, "nosniff");
    response
}

/// A page as an answer. What it says depends on who asks, so nobody keeps it.
fn html(status: StatusCode, page: maud::Markup) -> Response<Body> {
    let mut response = Response::new(Body::from(page.into_string()));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    insert(headers, header::CONTENT_TYPE, "text/html; charset=utf-8");
    insert(headers, header::CACHE_CONTROL, "no-store");
    insert(headers, header::CONTENT_SECURITY_POLICY, POLICY);
    insert(headers, header::X_CONTENT_TYPE_OPTIONS, "nosniff");
    insert(headers, header::REFERRER_POLICY, "same-origin");
    for name in ["cross-origin-opener-policy", "cross-origin-resource-policy"] {
        insert(headers, axum::http::HeaderName::from_static(name), "same-origin");
    }
    response
}

/// The page for an address where nothing is.
pub fn nowhere(path: &str) -> Response<Body> {
    html(StatusCode::NOT_FOUND, web::nowhere(path))
}

/// Shows another page instead.
fn see_other(path: &str) -> Response<Body> {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::SEE_OTHER;
    insert(response.headers_mut(), header::LOCATION, path);
    insert(response.headers_mut(), header::CACHE_CONTROL, "no-store");
    response
}

/// A path of our own, whatever was asked for.
fn own_path(path: &str) -> &str {
    web::own_path(path).unwrap_or("/")
}

#[cfg(test)]
mod tests {
    use super::own_path;

    #[test]
    fn only_own_paths_are_gone_to() {
        for path in ["/", "/r/REQ-001?x=1", "/search?query=a//b"] {
            assert_eq!(own_path(path), path);
        }
        for path in ["//x.org", "https://x.org", "/\\x.org", "", "x", "/a\nb"] {
            assert_eq!(own_path(path), "/", "{path}");
        }
    }
}
