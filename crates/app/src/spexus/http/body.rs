//! Bodies of requests: read within bounds of bytes and of JSON values, and drained when a request is answered without them.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::{Body, Bytes, HttpBody};
use http_body_util::BodyExt;
use hyper::body::{Frame, Incoming, SizeHint};
use mcp::ValueCounter;
use tokio::runtime::Handle;

/// What arrives after the answer is discarded for this long. A client that is cut off while it sends would not read the
/// answer: the system discards what a peer has not read when the connection is reset.
const DRAIN_TIME: Duration = Duration::from_secs(2);

/// What a body may hold.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// Bytes.
    pub bytes_max: usize,
    /// Whether it is JSON, which also holds at most [`mcp::VALUES_MAX`] values.
    pub is_json: bool,
}

/// Why a body was not read to its end.
#[derive(Debug)]
pub enum Unread {
    /// It has too many bytes.
    TooLarge,
    /// It has too many JSON values.
    TooManyValues,
    /// The connection failed, or the body is framed wrongly.
    Broken(String),
}

/// Whether a request certainly has no body.
pub fn is_empty(body: &Body) -> bool {
    body.is_end_stream()
}

/// Reads a body, no further than the bounds allow.
pub async fn collect(mut body: Body, bounds: Bounds) -> Result<Bytes, Unread> {
    if body.size_hint().lower() > bounds.bytes_max as u64 {
        return Err(Unread::TooLarge);
    }
    let mut counter = ValueCounter::default();
    let mut first = Bytes::new();
    let mut all = Vec::new();
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|error| Unread::Broken(error.to_string()))?;
        let Ok(part) = frame.into_data() else { continue };
        let n_bytes = first.len() + all.len() + part.len();
        if n_bytes > bounds.bytes_max {
            return Err(Unread::TooLarge);
        }
        if bounds.is_json && !counter.add(&part) {
            return Err(Unread::TooManyValues);
        }
        // Most bodies arrive in one part, which needs no copy.
        if first.is_empty() && all.is_empty() {
            first = part;
            continue;
        }
        if all.is_empty() {
            all.extend_from_slice(&std::mem::take(&mut first));
        }
        all.extend_from_slice(&part);
    }
    Ok(if all.is_empty() { first } else { Bytes::from(all) })
}

/// A body that is drained for a while when whoever has it drops it before its end.
pub struct Drained(Option<Incoming>);

impl Drained {
    /// The body of a request as its handler gets it.
    pub fn body(request: hyper::Request<Incoming>) -> axum::extract::Request {
        let is_http1 = request.version() < hyper::Version::HTTP_2;
        // Such a client sends its body only after 100 Continue, and never after a refusal.
        let waits = request.headers().contains_key(hyper::header::EXPECT);
        request.map(|body| {
            if !is_http1 || waits || body.is_end_stream() {
                Body::new(body)
            } else {
                Body::new(Drained(Some(body)))
            }
        })
    }
}

impl HttpBody for Drained {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        let Some(body) = &mut self.0 else { return Poll::Ready(None) };
        let frame = Pin::new(body).poll_frame(context);
        if let Poll::Ready(None | Some(Err(_))) = frame {
            self.0 = None;
        }
        frame
    }

    fn is_end_stream(&self) -> bool {
        self.0.as_ref().is_none_or(HttpBody::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        self.0.as_ref().map(HttpBody::size_hint).unwrap_or_default()
    }
}

impl Drop for Drained {
    fn drop(&mut self) {
        let Some(mut body) = self.0.take().filter(|body| !body.is_end_stream()) else { return };
        let Ok(runtime) = Handle::try_current() else { return };
        runtime.spawn(tokio::time::timeout(DRAIN_TIME, async move {
            while let Some(Ok(_)) = body.frame().await {}
        }));
    }
}
