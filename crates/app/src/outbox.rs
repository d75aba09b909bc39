//! The output queue of a pipe: protocol messages for stdout, log lines for stderr. Any thread adds whole
//! lines; one thread at a time writes them.
//!
//! The thread that has produced answers also writes them, several at once if they queue: waking another
//! thread would take longer than most answers. Threads that must not wait for a client that does not
//! read (the watcher of time-outs, change notifications, a log) let the writer thread do it.

use std::{
    collections::HashSet,
    io::{self, Read, Write},
    sync::{
        Condvar, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use crate::large::LargeText;

/// When this much waits, in memory or in files, no more requests are read, and log lines are lost, until some of it was written.
const WAITING_BYTES_MAX: usize = 16 * 1024 * 1024;

/// When this much waits, it is written even if more is about to come.
const EAGER_BYTES: usize = 64 * 1024;

/// How much is written at a time, to distinguish a slow reader from one that does not read.
const PIECE_BYTES: usize = 64 * 1024;

/// The pause before trying a pipe again that others have made non-blocking.
const RETRY_TIME: Duration = Duration::from_millis(2);

/// A larger buffer is freed when it is empty.
const KEPT_BYTES_MAX: usize = 1024 * 1024;

pub struct Outbox {
    output: Mutex<Box<dyn Write + Send>>,
    waiting: Mutex<Waiting>,
    changed: Condvar,
    /// The total number of written bytes.
    n_written: AtomicU64,
}

/// How the writing ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Finish {
    /// Everything was written.
    Written,
    /// The pipe is closed.
    Broken,
    /// The reader does not read.
    Stuck,
}

#[derive(Default)]
struct Waiting {
    bytes: Vec<u8>,
    /// Large texts, in order, each with its position among the bytes.
    texts: Vec<(usize, LargeText)>,
    /// Messages that are sent only once, after the others, however often they are added in the meantime.
    notes: Vec<Vec<u8>>,
    /// The same, for lookup.
    noted: HashSet<Vec<u8>>,
    /// The other buffer, while no thread writes from it.
    spare: Vec<u8>,
    is_writing: bool,
    /// Whether the writer thread is needed.
    is_asked: bool,
    is_finished: bool,
    is_broken: bool,
    /// Threads that wait for `changed`; signalling without waiters would waste a system call.
    n_sleepers: usize,
}

impl Outbox {
    pub fn new(output: impl Write + Send + 'static) -> Self {
        let output: Box<dyn Write + Send> = Box::new(output);
        Self {
            output: Mutex::new(output),
            waiting: Mutex::default(),
            changed: Condvar::new(),
            n_written: AtomicU64::new(0),
        }
    }

    /// Adds a message. Does not block and does not write.
    pub fn push(&self, message: &[u8]) {
        self.lock().push(message);
    }

    /// Adds a message with large texts, in order, each with its position.
    pub fn push_large(&self, message: &[u8], texts: Vec<(usize, LargeText)>) {
        let mut waiting = self.lock();
        waiting.push(message);
        let start = waiting.bytes.len().saturating_sub(message.len() + 1);
        if !waiting.is_broken {
            waiting.texts.extend(texts.into_iter().map(|(at, text)| (start + at, text)));
        }
    }

    /// Adds a message, such as a change notification, unless the same one waits already. So a client that does not read
    /// has at most one of each waiting.
    pub fn push_note(&self, message: Vec<u8>) {
        let mut waiting = self.lock();
        if !waiting.is_broken && waiting.noted.insert(message.clone()) {
            waiting.notes.push(message);
        }
    }

    /// Adds a message that may be lost, such as a progress notification, if there is room.
    pub fn push_if_room(&self, message: &[u8]) -> bool {
        let mut waiting = self.lock();
        let has_room = waiting.bytes.len() < WAITING_BYTES_MAX;
        if has_room {
            waiting.push(message);
        }
        has_room
    }

    /// Returns whether enough waits to be worth writing before the next request is read.
    pub fn is_filling(&self) -> bool {
        self.lock().bytes.len() >= EAGER_BYTES
    }

    /// Writes everything that waits, unless another thread does so already, which will then write this, too.
    pub fn write(&self) -> io::Result<()> {
        let mut waiting = self.lock();
        while !waiting.is_empty() && !waiting.is_writing && !waiting.is_broken {
            waiting.add_notes();
            let spare = std::mem::take(&mut waiting.spare);
            let mut writing = std::mem::replace(&mut waiting.bytes, spare);
            let texts = std::mem::take(&mut waiting.texts);
            waiting.is_writing = true;
            self.wake(&waiting);
            drop(waiting);

            let result = self.write_all(&writing, texts);

            waiting = self.lock();
            waiting.is_writing = false;
            writing.clear();
            if writing.capacity() <= KEPT_BYTES_MAX {
                waiting.spare = writing;
            }
            waiting.is_broken = result.is_err();
            self.wake(&waiting);
            result?;
        }
        Ok(())
    }

    /// Lets the writer thread write what waits.
    pub fn ask(&self) {
        let mut waiting = self.lock();
        waiting.is_asked = true;
        self.wake(&waiting);
    }

    /// The writer thread: writes on request, until [`Outbox::finish`] or an error.
    pub fn write_when_asked(&self) -> io::Result<()> {
        self.write_with_pauses(Duration::ZERO)
    }

    /// The same for less urgent output: it pauses after each write, during which it need not be woken.
    pub fn write_with_pauses(&self, pause: Duration) -> io::Result<()> {
        loop {
            let mut waiting = self.lock();
            while !waiting.is_asked && !waiting.is_finished {
                waiting = self.sleep(waiting, None);
            }
            waiting.is_asked = false;
            let is_last = waiting.is_finished;
            drop(waiting);
            self.write()?;
            if is_last {
                return Ok(());
            }
            if pause > Duration::ZERO {
                thread::sleep(pause);
            }
        }
    }

    /// Waits until there is room for the answers to more requests; `false` if there never will be.
    pub fn wait_for_room(&self) -> bool {
        let mut waiting = self.lock();
        while waiting.n_bytes() >= WAITING_BYTES_MAX && !waiting.is_broken && !waiting.is_finished {
            waiting = self.sleep(waiting, None);
        }
        !waiting.is_broken
    }

    /// Ends the queue and waits until the last message is written, or until nothing more was
    /// read for as long as the patience lasts.
    pub fn finish(&self, patience: Duration) -> Finish {
        let mut waiting = self.lock();
        waiting.is_finished = true;
        self.wake(&waiting);
        let mut n_written = self.n_written.load(Ordering::Relaxed);
        let mut deadline = Instant::now() + patience;
        while (waiting.is_writing || !waiting.is_empty()) && !waiting.is_broken {
            let left = deadline.saturating_duration_since(Instant::now());
            if left == Duration::ZERO {
                let n_written_now = self.n_written.load(Ordering::Relaxed);
                if n_written_now == n_written {
                    return Finish::Stuck;
                }
                n_written = n_written_now;
                deadline = Instant::now() + patience;
            }
            waiting = self.sleep(waiting, Some(left.max(RETRY_TIME)));
        }
        if waiting.is_broken {
            return Finish::Broken;
        }
        // The reader of the pipe should see its end now, even if somebody still holds this outbox.
        *self.output.lock().unwrap_or_else(PoisonError::into_inner) = Box::new(io::sink());
        Finish::Written
    }

    fn write_all(&self, bytes: &[u8], texts: Vec<(usize, LargeText)>) -> io::Result<()> {
        let mut output = self.output.lock().unwrap_or_else(PoisonError::into_inner);
        let mut n_written = 0;
        for (at, mut text) in texts {
            self.write_pieces(&mut **output, &bytes[n_written..at])?;
            n_written = at;
            let file = text.reader()?;
            let mut piece = vec![0; PIECE_BYTES];
            loop {
                match file.read(&mut piece)? {
                    0 => break,
                    n_bytes => self.write_pieces(&mut **output, &piece[..n_bytes])?,
                }
            }
        }
        self.write_pieces(&mut **output, &bytes[n_written..])?;
        output.flush()
    }

    fn write_pieces(&self, output: &mut dyn Write, bytes: &[u8]) -> io::Result<()> {
        let mut rest = bytes;
        while !rest.is_empty() {
            match output.write(&rest[..rest.len().min(PIECE_BYTES)]) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(n_bytes) => {
                    rest = &rest[n_bytes..];
                    self.n_written.fetch_add(n_bytes as u64, Ordering::Relaxed);
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => thread::sleep(RETRY_TIME),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn sleep<'a>(
        &self,
        mut waiting: MutexGuard<'a, Waiting>,
        time: Option<Duration>,
    ) -> MutexGuard<'a, Waiting> {
        waiting.n_sleepers += 1;
        let mut waiting = match time {
            None => self.changed.wait(waiting).unwrap_or_else(PoisonError::into_inner),
            Some(time) => self.changed.wait_timeout(waiting, time).unwrap_or_else(PoisonError::into_inner).0,
        };
        waiting.n_sleepers -= 1;
        waiting
    }

    fn wake(&self, waiting: &Waiting) {
        if waiting.n_sleepers > 0 {
            self.changed.notify_all();
        }
    }

    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Waiting {
    fn n_bytes(&self) -> usize {
        let of_texts: u64 = self.texts.iter().map(|(_, text)| text.n_bytes()).sum();
        self.bytes.len().saturating_add(usize::try_from(of_texts).unwrap_or(usize::MAX))
    }

    fn is_empty(&self) -> bool {
        self.bytes.is_empty() && self.notes.is_empty()
    }

    fn push(&mut self, message: &[u8]) {
        // Earlier messages come first, unless the client is far behind.
        if self.bytes.len() < WAITING_BYTES_MAX {
            self.add_notes();
        }
        self.add(message);
    }

    fn add_notes(&mut self) {
        self.noted.clear();
        for note in std::mem::take(&mut self.notes) {
            self.add(&note);
        }
    }

    fn add(&mut self, message: &[u8]) {
        if !self.is_broken {
            self.bytes.reserve(message.len() + 1);
            self.bytes.extend_from_slice(message);
            self.bytes.push(b'\n');
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, mpsc};

    use super::*;

    /// Stores what is written, and lets a write wait until it may continue.
    struct Slow {
        written: Arc<Mutex<Vec<u8>>>,
        begun: mpsc::Sender<()>,
        may_go_on: mpsc::Receiver<()>,
    }

    impl Write for Slow {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let _ = self.begun.send(());
            let _ = self.may_go_on.recv();
            self.written.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_client_that_does_not_read_is_told_of_each_change_once() {
        let written: Arc<Mutex<Vec<u8>>> = Arc::default();
        let (begun, has_begun) = mpsc::channel();
        let (go_on, may_go_on) = mpsc::channel();
        let outbox = Arc::new(Outbox::new(Slow { written: written.clone(), begun, may_go_on }));
        outbox.push(b"answer");
        outbox.push_note(b"a".to_vec());
        let writing = outbox.clone();
        let writer = thread::spawn(move || writing.write());
        has_begun.recv().unwrap();
        // Nobody reads; much changes, again and again.
        for _ in 0..100_000 {
            outbox.push_note(b"b".to_vec());
            outbox.push_note(b"a".to_vec());
        }
        assert_eq!(outbox.lock().notes.len(), 2);
        outbox.push(b"later");
        drop(go_on);
        writer.join().unwrap().unwrap();
        assert_eq!(String::from_utf8_lossy(&written.lock().unwrap()), "answer\na\nb\na\nlater\n");
    }
}
