//! Wraps every request: assigns its id, which all its log lines carry, and answers even if its handler panics.

use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;

use axum::body::Body;
use axum::http::Request;
use axum::response::Response;
use ops::{Error, ErrorKind, Running};

use super::answer::{REQUEST_ID, failure, insert};
use super::request::request_id;

/// Gives a request an id if it has none, and returns what the log calls it until its operation starts.
pub fn identified<B>(request: &mut Request<B>) -> Arc<Running> {
    let request_id = request_id(request.headers());
    insert(request.headers_mut(), REQUEST_ID, &request_id);
    let operation = format!("{} {}", request.method(), request.uri().path()).into();
    Arc::new(Running { request_id, user: "-".to_owned(), operation })
}

/// Runs a handler. If it panics, the panic hook logs it, and the client receives 500 with the request id to search for.
pub async fn guarded(running: Arc<Running>, handler: impl Future<Output = Response<Body>>) -> Response<Body> {
    let mut handler = pin!(handler);
    let answered = poll_fn(|context| {
        let _working = running.clone().begin();
        let polled = catch_unwind(AssertUnwindSafe(|| handler.as_mut().poll(context)));
        // What has panicked must not be polled again.
        polled.map_or(Poll::Ready(None), |poll| poll.map(Some))
    });
    match answered.await {
        Some(response) => response,
        None => failure(&Error::new(ErrorKind::InternalError, "the handler panicked"), &running.request_id),
    }
}

#[cfg(test)]
mod tests {
    use axum::Router;
    use axum::body::Body;
    use axum::http::Request;
    use axum::routing::get;
    use tower::ServiceExt;

    use super::{guarded, identified};
    use crate::logging::tests::logged;

    #[test]
    fn a_handler_that_panics_is_logged_and_answered_with_the_id_of_the_request() {
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
        for given in [Some("shop-7"), None] {
            let router =
                Router::new().route("/of/{items}", get(async || -> String { panic!("out of cheese") }));
            let mut request = Request::get("/of/3");
            if let Some(id) = given {
                request = request.header("x-request-id", id);
            }
            let mut request = request.body(Body::empty()).expect("a request");
            let running = identified(&mut request);
            let id = running.request_id.clone();
            assert!(given.is_none_or(|given| given == id), "{id}");
            let handler = async { router.oneshot(request).await.expect("an answer") };
            let (response, log) = logged(|| runtime.block_on(guarded(running, handler)));
            assert_eq!(response.status(), 500);
            assert_eq!(response.headers()["x-request-id"], id);
            let first = log.lines().next().expect("a line");
            assert!(first.starts_with(&format!("[ERROR] [req_id={id}] panicked at ")), "{log}");
            assert!(log.contains("out of cheese"), "{log}");
            assert!(log.trim_end().ends_with("user=- operation=GET /of/3"), "{log}");
        }
    }
}
