//! Processes changes from before a request, so that its answer is current.
//!
//! The system queues a change before the write that made it returns. A request takes the queued changes, passes them to the
//! thread that follows the project, and waits for a moment. Without such a queue requests do not wait.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

/// A message to the thread that follows the project.
pub enum Event {
    /// These paths changed; unknown ones if there are none.
    Changed(Vec<PathBuf>),
    /// A request waits until these are read.
    Asked(Vec<PathBuf>, Sender<()>),
    /// A request waits until changed managed requirements are read.
    Managed(Sender<()>),
}

/// How long a request waits for changes to be read.
const WAITING_TIME_MAX: Duration = Duration::from_millis(20);

/// How long a request waits for managed requirements to be read.
const MANAGED_TIME_MAX: Duration = Duration::from_millis(300);

/// The changes that were not processed yet.
#[derive(Default)]
pub struct Pending {
    queue: OnceLock<Option<queue::Queue>>,
    waiting: Mutex<Waiting>,
}

#[derive(Default)]
struct Waiting {
    events: Option<Sender<Event>>,
    /// The changes that an earlier request did not wait for.
    unfinished: Option<Receiver<()>>,
}

impl Pending {
    /// Sets the thread that follows the project.
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

    /// Waits until all changes so far are read, for a moment at most.
    pub fn settle(&self) {
        let Some(Some(queue)) = self.queue.get() else {
            return;
        };
        let start = Instant::now();
        // Concurrent requests wait for the same.
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

    /// How often the queue is read at once; the rest belongs to the next request.
    const READS_MAX: usize = 64;
    /// Projects with more folders are followed, but requests do not wait.
    const FOLDERS_MAX: usize = 10_000;

    /// A queue of changes that is read on request.
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

        /// Concurrent requests do not wait for this.
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
                // A recreated folder gets another number; an existing one keeps its number.
                if let Ok(watch) = self.inotify.add_watch(folder, flags) {
                    self.folders().insert(watch, folder.clone());
                }
            }
        }

        /// Takes the changes. A folder is returned if the changed file is unknown.
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
                        // The queue overflowed: everything may have changed.
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

    /// Not supported here.
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
