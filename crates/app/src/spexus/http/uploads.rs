//! Files that people have sent and are about to import: kept between the steps, for whoever sent them alone, and not for long. They
//! have no name on the disk, so nobody else can open them and nothing is left behind.

use std::io::{self, Read as _};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use axum::body::{Body, Bytes};
use ops::{Error, ErrorKind, Result, Upload};
use tokio::sync::mpsc;
use tokio::task::spawn_blocking;
use tokio_stream::wrappers::ReceiverStream;

use super::file::unwritten;

/// How many files of one user are kept; a further one takes the place of the oldest.
const OF_USER_MAX: usize = 3;
/// How many files are kept together.
const KEPT_MAX: usize = 20;
/// How long a file is kept.
const KEPT_FOR: Duration = Duration::from_secs(3600);
/// How much of a file is read at once.
const PART_BYTES: usize = 256 << 10;

/// The files.
#[derive(Default)]
pub struct Uploads(Mutex<Vec<Kept>>);

struct Kept {
    id: String,
    user_id: String,
    file: Arc<Mutex<Upload>>,
    since: Instant,
}

impl Uploads {
    /// Keeps a file, and returns the id by which its owner finds it.
    pub fn keep(&self, user_id: &str, file: Upload) -> String {
        let id = ops::new_id(crate::spexus::now());
        let mut kept = self.kept();
        while kept.iter().filter(|one| one.user_id == user_id).count() >= OF_USER_MAX {
            let Some(oldest) = kept.iter().position(|one| one.user_id == user_id) else { break };
            kept.remove(oldest);
        }
        if kept.len() >= KEPT_MAX {
            kept.remove(0);
        }
        let file = Arc::new(Mutex::new(file));
        kept.push(Kept { id: id.clone(), user_id: user_id.to_owned(), file, since: Instant::now() });
        id
    }

    /// A copy of a user's own file.
    pub async fn open(&self, user_id: &str, id: &str) -> Result<Upload> {
        let found =
            self.kept().iter().find(|one| one.id == id && one.user_id == user_id).map(|one| one.file.clone());
        let Some(file) = found else {
            return Err(Error::new(
                ErrorKind::NotFound,
                "the file is not here any more; choose it once more",
            ));
        };
        let copied =
            spawn_blocking(move || file.lock().unwrap_or_else(PoisonError::into_inner).copied()).await;
        let copied = copied.unwrap_or_else(|error| Err(io::Error::other(error)));
        copied.map_err(|error| unwritten(&error))
    }

    /// Forgets a user's own file.
    pub fn remove(&self, user_id: &str, id: &str) {
        self.kept().retain(|one| one.id != id || one.user_id != user_id);
    }

    /// The files that are not too old.
    fn kept(&self) -> MutexGuard<'_, Vec<Kept>> {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.retain(|one| one.since.elapsed() < KEPT_FOR);
        kept
    }
}

/// A file as the body of a request, a part at a time.
pub fn body(upload: Upload) -> Body {
    let (sender, receiver) = mpsc::channel::<io::Result<Bytes>>(2);
    spawn_blocking(move || {
        let mut reader = upload.into_reader();
        loop {
            let mut part = Vec::with_capacity(PART_BYTES);
            let sent = match reader.by_ref().take(PART_BYTES as u64).read_to_end(&mut part) {
                Ok(0) => return,
                Ok(_) => sender.blocking_send(Ok(part.into())),
                Err(error) => sender.blocking_send(Err(error)),
            };
            if sent.is_err() {
                return;
            }
        }
    });
    Body::from_stream(ReceiverStream::new(receiver))
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    fn file(text: &str) -> Upload {
        let mut upload = Upload::new();
        upload.write_all(text.as_bytes()).expect("memory");
        upload
    }

    #[tokio::test]
    async fn files_are_for_their_owner_and_not_many() {
        let uploads = Uploads::default();
        let first = uploads.keep("ann", file("one"));
        assert_eq!(uploads.open("ann", &first).await.expect("a file").n_bytes(), 3);
        assert_eq!(uploads.open("bob", &first).await.expect_err("another's").kind, ErrorKind::NotFound);
        uploads.remove("bob", &first);
        let others: Vec<String> = (0..OF_USER_MAX).map(|_| uploads.keep("ann", file("more"))).collect();
        assert!(uploads.open("ann", &first).await.is_err());
        for other in &others {
            assert!(uploads.open("ann", other).await.is_ok());
        }
        for number in 0..KEPT_MAX {
            uploads.keep(&number.to_string(), file("x"));
        }
        assert!(uploads.open("ann", &others[0]).await.is_err());
        uploads.remove("19", &uploads.keep("19", file("x")));
        assert!(uploads.kept().len() <= KEPT_MAX);
    }
}
