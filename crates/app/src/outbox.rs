//! What waits to be written to a pipe: protocol messages to stdout, log lines to stderr. Anyone adds whole
//! lines; one thread at a time writes them.
//!
//! Whoever has produced answers also writes them, several in one go when they queue: waking another
//! thread to do it would cost more than most answers do. Who must not wait for a client that does not
//! read (the watcher of time-outs, a server that tells of a change, a log) asks the writer thread instead.

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

/// When this much waits, here or in files, no more requests are read, and log lines are lost, until some of it has been taken.
const WAITING_BYTES_MAX: usize = 16 * 1024 * 1024;

/// When this much waits, it is written even if more is about to come.
const EAGER_BYTES: usize = 64 * 1024;

/// Written at a time, so that a slow reader can be told from one that does not read.
const PIECE_BYTES: usize = 64 * 1024;

/// How long to wait before trying a pipe again that others have made non-blocking.
const RETRY_TIME: Duration = Duration::from_millis(2);

/// A buffer that grew beyond this is given back when it is empty.
const KEPT_BYTES_MAX: usize = 1024 * 1024;

pub struct Outbox {
    output: Mutex<Box<dyn Write + Send>>,
    waiting: Mutex<Waiting>,
    changed: Condvar,
    /// How much has ever been written.
    n_written: AtomicU64,
}

/// How the writing ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Finish {
    /// Everything was written.
    Written,
    /// The pipe is closed.
    Broken,
    /// Nobody reads.
    Stuck,
}

#[derive(Default)]
struct Waiting {
    bytes: Vec<u8>,
    /// Large texts, in order, each with its place among the bytes.
    texts: Vec<(usize, LargeText)>,
    /// Messages that need to be said only once, after the others, however often they are added meanwhile.
    notes: Vec<Vec<u8>>,
    /// The same, to find out whether one is there.
    noted: HashSet<Vec<u8>>,
    /// The other buffer, while nobody writes from it.
    spare: Vec<u8>,
    is_writing: bool,
    /// The writer thread is wanted.
    is_asked: bool,
    is_finished: bool,
    is_broken: bool,
    /// Threads that wait for `changed`; signalling it for nobody is a system call for nothing.
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

    /// Adds a message. It does not wait and does not write.
    pub fn push(&self, message: &[u8]) {
        self.lock().push(message);
    }

    /// Adds a message with large texts in it, in order, each with its place.
    pub fn push_large(&self, message: &[u8], texts: Vec<(usize, LargeText)>) {
        let mut waiting = self.lock();
        waiting.push(message);
        let start = waiting.bytes.len().saturating_sub(message.len() + 1);
        if !waiting.is_broken {
            waiting.texts.extend(texts.into_iter().map(|(at, text)| (start + at, text)));
        }
    }

    /// Adds a message, such as that something changed, unless the same waits already. So a client that does not read
    /// makes no more of them wait than there are things to tell of.
    pub fn push_note(&self, message: Vec<u8>) {
        let mut waiting = self.lock();
        if !waiting.is_broken && waiting.noted.insert(message.clone()) {
            waiting.notes.push(message);
        }
    }

    /// Adds a message that may as well be lost, such as a report of progress, if there is room.
    pub fn push_if_room(&self, message: &[u8]) -> bool {
        let mut waiting = self.lock();
        let has_room = waiting.bytes.len() < WAITING_BYTES_MAX;
        if has_room {
            waiting.push(message);
        }
        has_room
    }

    /// Tells whether enough waits to be worth writing before the next request is looked at.
    pub fn is_filling(&self) -> bool {
        self.lock().bytes.len() >= EAGER_BYTES
    }

    /// Writes all that waits, unless another thread is at it, which will then write this too.
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

    /// The life of the writer thread: writes when asked, until [`Outbox::finish`] or an error.
    pub fn write_when_asked(&self) -> io::Result<()> {
        self.write_with_pauses(Duration::ZERO)
    }

    /// The same for what is not urgent: after each time it rests, and who asks meanwhile need not wake it.
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

    /// Says that no more messages come and waits until the last one is written, or until nothing more has been
    /// taken for as long as the patience lasts.
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
        // Who reads the pipe should see its end now, even if somebody still holds this outbox.
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
        // What was said before comes before, unless the client is far behind.
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

    /// Keeps what is written, and lets a write wait until it may go on.
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
