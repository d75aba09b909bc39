//! What leaves the server: a peer that takes nothing is not waited for, and a large answer is held no longer than it is read.

use std::fs::File;
use std::io::{self, Read as _, Seek as _};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::body::{Body, Bytes, HttpBody};
use hyper::body::{Frame, SizeHint};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::sync::mpsc;
use tokio::time::{Instant, Sleep};

/// A peer that takes no bytes for this long is given up.
pub const STALL_TIME: Duration = Duration::from_secs(30);
/// Answers above this size are sent in parts.
const WHOLE_MAX: usize = 256 << 10;
/// The size of a part.
const PART: usize = 64 << 10;
/// However it is read, an answer is gone after this long.
const SENDING_TIME: Duration = Duration::from_secs(15 * 60);

/// An answer of any size as a body.
pub fn body(data: impl Into<Bytes>) -> Body {
    let data = data.into();
    if data.len() <= WHOLE_MAX { Body::from(data) } else { in_parts(data, STALL_TIME, ()) }
}

/// An answer as a body that is sent in parts. The data, and what is held along with it, is dropped when all of it is on its
/// way, or when the client takes nothing for too long. Over HTTP/2 a client may leave a stream unread while its connection
/// lives, so a time limit on the socket alone would not be enough.
pub fn in_parts(data: Bytes, stall_time: Duration, held: impl Send + 'static) -> Body {
    let n_bytes = data.len() as u64;
    let (sender, parts) = mpsc::channel(1);
    let is_complete = Arc::new(AtomicBool::new(false));
    let completed = is_complete.clone();
    tokio::spawn(async move {
        let _held = held;
        let end = Instant::now() + SENDING_TIME;
        for part in data.chunks(PART) {
            // A slice would keep all of the data alive until the client has read it.
            let part = Bytes::copy_from_slice(part);
            let deadline = end.min(Instant::now() + stall_time);
            match tokio::time::timeout_at(deadline, sender.send(part)).await {
                Ok(Ok(())) => {}
                Ok(Err(_)) | Err(_) => return,
            }
        }
        completed.store(true, Ordering::Release);
    });
    Body::new(InParts { parts, is_complete, n_left: n_bytes })
}

/// A file as a body that is read as it is sent. It is closed, and what is held along with it dropped, when all of it is on its
/// way, or when the client takes nothing for too long.
pub fn file_in_parts(mut file: File, stall_time: Duration, held: impl Send + 'static) -> io::Result<Body> {
    let n_bytes = file.seek(io::SeekFrom::End(0))?;
    file.rewind()?;
    let (sender, parts) = mpsc::channel(1);
    let is_complete = Arc::new(AtomicBool::new(false));
    let completed = is_complete.clone();
    tokio::spawn(async move {
        let _held = held;
        let end = Instant::now() + SENDING_TIME;
        let mut n_left = n_bytes;
        while n_left > 0 {
            let size = PART.min(usize::try_from(n_left).unwrap_or(PART));
            let read = tokio::task::spawn_blocking(move || {
                let mut part = vec![0; size];
                file.read_exact(&mut part).map(|()| (file, part))
            });
            let Ok(Ok((back, part))) = read.await else { return };
            (file, n_left) = (back, n_left - part.len() as u64);
            let deadline = end.min(Instant::now() + stall_time);
            match tokio::time::timeout_at(deadline, sender.send(part.into())).await {
                Ok(Ok(())) => {}
                Ok(Err(_)) | Err(_) => return,
            }
        }
        completed.store(true, Ordering::Release);
    });
    Ok(Body::new(InParts { parts, is_complete, n_left: n_bytes }))
}

struct InParts {
    parts: mpsc::Receiver<Bytes>,
    is_complete: Arc<AtomicBool>,
    n_left: u64,
}

impl HttpBody for InParts {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        match ready!(self.parts.poll_recv(context)) {
            Some(part) => {
                self.n_left -= part.len() as u64;
                Poll::Ready(Some(Ok(Frame::data(part))))
            }
            None if self.is_complete.load(Ordering::Acquire) => Poll::Ready(None),
            None => Poll::Ready(Some(Err(io::ErrorKind::TimedOut.into()))),
        }
    }

    fn is_end_stream(&self) -> bool {
        self.n_left == 0
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.n_left)
    }
}

/// A connection that fails when its peer takes no bytes for too long.
pub struct Stalling<S> {
    stream: S,
    stall_time: Duration,
    /// Runs while the peer takes nothing.
    stalled: Option<Pin<Box<Sleep>>>,
}

impl<S> Stalling<S> {
    /// A connection with this much patience.
    pub fn new(stream: S, stall_time: Duration) -> Stalling<S> {
        Stalling { stream, stall_time, stalled: None }
    }

    /// Passes on what came of writing, or fails when it has been pending for too long.
    fn watch(
        &mut self,
        context: &mut Context<'_>,
        written: Poll<io::Result<usize>>,
    ) -> Poll<io::Result<usize>> {
        if written.is_ready() {
            self.stalled = None;
            return written;
        }
        let stall_time = self.stall_time;
        let stalled = self.stalled.get_or_insert_with(|| Box::pin(tokio::time::sleep(stall_time)));
        ready!(stalled.as_mut().poll(context));
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Stalling<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Stalling<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.watch(context, written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffers: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(context, buffers);
        self.watch(context, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
