//! Changes that happened before a question was asked, so that its answer is current.
//!
//! The system queues a change before the write returns that made it. Whoever asks takes what is queued, hands it to the
//! thread that follows the project, and waits for a moment. Where the system has no such queue, nobody waits.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

/// A message to the thread that follows the project.
pub enum Event {
    /// Something happened to these; nobody knows to which if there are none.
    Changed(Vec<PathBuf>),
    /// Somebody waits until these are read.
    Asked(Vec<PathBuf>, Sender<()>),
    /// Somebody waits until managed requirements are read that have changed.
    Managed(Sender<()>),
}

/// How long a question waits for changes to be read.
const WAITING_TIME_MAX: Duration = Duration::from_millis(20);

/// How long a question waits for managed requirements to be read.
const MANAGED_TIME_MAX: Duration = Duration::from_millis(300);

/// The changes that nobody was told of yet.
#[derive(Default)]
pub struct Pending {
    queue: OnceLock<Option<queue::Queue>>,
    waiting: Mutex<Waiting>,
}

#[derive(Default)]
struct Waiting {
    events: Option<Sender<Event>>,
    /// The end of what an earlier question did not wait for.
    unfinished: Option<Receiver<()>>,
}

impl Pending {
    /// Remembers who follows the project.
    pub fn follow(&self, events: Sender<Event>) {
        *self.waiting.lock().unwrap_or_else(PoisonError::into_inner) =
            Waiting { events: Some(events), unfinished: None };
    }

    /// Queues changes of these folders, and of no others.
    pub fn watch(&self, folders: &BTreeSet<PathBuf>) {
        if let Some(queue) = self.queue.get_or_init(queue::Queue::new) {
            queue.watch(folders);
        }
    }

    /// Waits until managed requirements are read, for a moment at most.
    pub fn settle_managed(&self) {
        let events = self.waiting.lock().unwrap_or_else(PoisonError::into_inner).events.clone();
        let (done, end) = mpsc::channel();
        if events.is_some_and(|events| events.send(Event::Managed(done)).is_ok()) {
            let _ = end.recv_timeout(MANAGED_TIME_MAX);
        }
    }

    /// Waits until what has changed so far is read, for a moment at most.
    pub fn settle(&self) {
        let Some(Some(queue)) = self.queue.get() else {
            return;
        };
        let start = Instant::now();
        // Others who ask meanwhile wait for the same.
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        let changed = queue.take();
        if !changed.is_empty()
            && let Some(events) = &waiting.events
        {
            let (done, end) = mpsc::channel();
            if events.send(Event::Asked(changed, done)).is_ok() {
                waiting.unfinished = Some(end);
            }
        }
        if let Some(end) = &waiting.unfinished {
            let patience = WAITING_TIME_MAX.saturating_sub(start.elapsed());
            if end.recv_timeout(patience) != Err(mpsc::RecvTimeoutError::Timeout) {
                waiting.unfinished = None;
            }
        }
    }
}

#[cfg(target_os = "linux")]
mod queue {
    use std::collections::{BTreeSet, HashMap};
    use std::path::PathBuf;
    use std::sync::{Mutex, MutexGuard, PoisonError};

    use nix::sys::inotify::{AddWatchFlags, InitFlags, Inotify, WatchDescriptor};

    /// How often the queue is read at once; what is left belongs to the next question.
    const READS_MAX: usize = 64;
    /// A project with more folders is followed, but nobody waits for it.
    const FOLDERS_MAX: usize = 10_000;

    /// A queue of changes that is read when somebody asks.
    pub struct Queue {
        inotify: Inotify,
        folders: Mutex<HashMap<WatchDescriptor, PathBuf>>,
    }

    impl Queue {
        pub fn new() -> Option<Queue> {
            let inotify = Inotify::init(InitFlags::IN_NONBLOCK | InitFlags::IN_CLOEXEC).ok()?;
            Some(Queue { inotify, folders: Mutex::default() })
        }

        fn folders(&self) -> MutexGuard<'_, HashMap<WatchDescriptor, PathBuf>> {
            self.folders.lock().unwrap_or_else(PoisonError::into_inner)
        }

        /// Whoever asks meanwhile does not wait for this.
        pub fn watch(&self, folders: &BTreeSet<PathBuf>) {
            let gone: Vec<WatchDescriptor> = {
                let known = self.folders();
                let gone = known.iter().filter(|(_, folder)| !folders.contains(*folder));
                gone.map(|(watch, _)| *watch).collect()
            };
            for watch in gone {
                let _ = self.inotify.rm_watch(watch);
                self.folders().remove(&watch);
            }
            let flags = AddWatchFlags::IN_MODIFY
                | AddWatchFlags::IN_CLOSE_WRITE
                | AddWatchFlags::IN_ATTRIB
                | AddWatchFlags::IN_CREATE
                | AddWatchFlags::IN_DELETE
                | AddWatchFlags::IN_MOVE
                | AddWatchFlags::IN_ONLYDIR;
            for folder in folders.iter().take(FOLDERS_MAX) {
                // A folder that was made again has another number; the same one keeps its.
                if let Ok(watch) = self.inotify.add_watch(folder, flags) {
                    self.folders().insert(watch, folder.clone());
                }
            }
        }

        /// Takes what has changed. Folders stand for themselves where more is not known.
        pub fn take(&self) -> Vec<PathBuf> {
            let mut changed = BTreeSet::new();
            let mut folders = None;
            for _ in 0..READS_MAX {
                let Ok(events) = self.inotify.read_events() else { break };
                let folders = folders.get_or_insert_with(|| self.folders());
                for event in events {
                    match (folders.get(&event.wd), event.name) {
                        (Some(folder), Some(name)) => changed.insert(folder.join(name)),
                        (Some(folder), None) => changed.insert(folder.clone()),
                        // Too much happened to tell what: all of it may have changed.
                        (None, _) if event.mask.contains(AddWatchFlags::IN_Q_OVERFLOW) => {
                            changed.extend(folders.values().cloned());
                            true
                        }
                        (None, _) => false,
                    };
                }
            }
            changed.into_iter().collect()
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod queue {
    use std::collections::BTreeSet;
    use std::path::PathBuf;

    /// There is none here.
    pub enum Queue {}

    impl Queue {
        pub fn new() -> Option<Queue> {
            None
        }

        pub fn watch(&self, _folders: &BTreeSet<PathBuf>) {}

        pub fn take(&self) -> Vec<PathBuf> {
            Vec::new()
        }
    }
}
