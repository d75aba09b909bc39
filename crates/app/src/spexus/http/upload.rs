//! The file of an import as the body of a request: it goes to the disk as it arrives, for it may be larger than memory.

use std::io::{self, Write as _};
use std::time::Duration;

use axum::body::{Body, HttpBody as _};
use http_body_util::BodyExt as _;
use ops::Upload;

use super::body::Unread;

/// How much of a file is read before it is written to the disk.
const PART_BYTES: usize = 256 << 10;

/// Why a file was not taken.
#[derive(Debug)]
pub enum Failed {
    /// It was not read to its end.
    Unread(Unread),
    /// It did not arrive in time.
    Slow,
    /// The disk does not take it.
    Unwritten(io::Error),
}

/// Takes a file of at most so many bytes. Each 256 KiB of it arrive within the time.
pub async fn take(mut body: Body, bytes_max: usize, patience: Duration) -> Result<Upload, Failed> {
    let too_large = Err(Failed::Unread(Unread::TooLarge));
    if body.size_hint().lower() > bytes_max as u64 {
        return too_large;
    }
    let mut upload = Upload::new();
    loop {
        let arrived = tokio::time::timeout(patience, next_part(&mut body)).await;
        let part = arrived.map_err(|_| Failed::Slow)?.map_err(Failed::Unread)?;
        if upload.n_bytes() + part.len() as u64 > bytes_max as u64 {
            return too_large;
        }
        let is_last = part.len() < PART_BYTES;
        upload = write(upload, part).await.map_err(Failed::Unwritten)?;
        if is_last {
            return Ok(upload);
        }
    }
}

pub async fn write(mut upload: Upload, part: Vec<u8>) -> io::Result<Upload> {
    if upload.has_room(part.len()) {
        return upload.write_all(&part).map(|()| upload);
    }
    let written = tokio::task::spawn_blocking(move || upload.write_all(&part).map(|()| upload));
    written.await.unwrap_or_else(|error| Err(io::Error::other(error)))
}

/// The next bytes of a body, fewer only at its end.
async fn next_part(body: &mut Body) -> Result<Vec<u8>, Unread> {
    let mut part = Vec::with_capacity(PART_BYTES);
    while part.len() < PART_BYTES
        && let Some(frame) = body.frame().await
    {
        let frame = frame.map_err(|error| Unread::Broken(error.to_string()))?;
        if let Ok(data) = frame.into_data() {
            part.extend_from_slice(&data);
        }
    }
    Ok(part)
}
