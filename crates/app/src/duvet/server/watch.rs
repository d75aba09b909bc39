//! Follows the files of a project while the server runs, and tells clients what reads differently.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use mcp::Change;
use notify::{RecommendedWatcher, RecursiveMode, Watcher};
use trace::index::{Changes, Index, Model};

use super::{TraceServer, resources};

/// Events come in bursts: an editor writes, renames and touches. This long must be quiet.
const QUIET_TIME: Duration = Duration::from_millis(2);
/// Nor does a burst delay an answer for longer than this.
const BURST_TIME_MAX: Duration = Duration::from_millis(50);
/// How often everything is looked at when the system cannot tell of changes.
const POLL_INTERVAL: Duration = Duration::from_secs(2);

/// Follows changes until the process ends.
pub fn follow(mut index: Index, server: &Arc<TraceServer>) {
    let (sender, events) = mpsc::channel();
    let watcher = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
        let paths = match event {
            Ok(event) if event.kind.is_access() => return,
            Ok(event) => event.paths,
            Err(_) => Vec::new(),
        };
        let _ = sender.send(paths);
    });
    let mut folders = match watcher {
        Ok(watcher) => Some(Folders { watcher, watched: BTreeSet::new() }),
        Err(error) => {
            tracing::warn!("changes are looked for every {POLL_INTERVAL:?}: {error}");
            None
        }
    };
    let root = index.root().canonicalize().unwrap_or_else(|_| index.root().to_path_buf());
    let mut is_watching = folders.as_mut().is_some_and(|folders| folders.watch(&root, &index));
    // What changed between reading and watching.
    let changes = index.refresh();
    publish(&index, server, &changes, &server.model());
    loop {
        let Some(paths) = next(&events, (!is_watching).then_some(POLL_INTERVAL)) else {
            return;
        };
        let before = index.model();
        let relative: Option<Vec<PathBuf>> =
            paths.iter().map(|path| path.strip_prefix(&root).ok().map(Path::to_path_buf)).collect();
        let changes = match relative {
            Some(paths) if !paths.is_empty() => index.follow(&paths),
            _ => index.refresh(),
        };
        publish(&index, server, &changes, &before);
        is_watching = folders.as_mut().is_some_and(|folders| folders.watch(&root, &index));
    }
}

/// Waits for a burst of events and returns its paths; none after some time without any, if wanted.
fn next(events: &Receiver<Vec<PathBuf>>, patience: Option<Duration>) -> Option<Vec<PathBuf>> {
    let first = match patience {
        Some(patience) => match events.recv_timeout(patience) {
            Ok(paths) => paths,
            Err(RecvTimeoutError::Timeout) => return Some(Vec::new()),
            Err(RecvTimeoutError::Disconnected) => {
                std::thread::sleep(patience);
                return Some(Vec::new());
            }
        },
        None => events.recv().ok()?,
    };
    let mut has_unknown = first.is_empty();
    let mut paths: BTreeSet<PathBuf> = first.into_iter().collect();
    let start = Instant::now();
    while start.elapsed() < BURST_TIME_MAX {
        match events.recv_timeout(QUIET_TIME) {
            Ok(more) => {
                has_unknown |= more.is_empty();
                paths.extend(more);
            }
            Err(_) => break,
        }
    }
    Some(if has_unknown { Vec::new() } else { paths.into_iter().collect() })
}

fn publish(index: &Index, server: &Arc<TraceServer>, changes: &Changes, before: &Model) {
    if *changes == Changes::default() {
        return;
    }
    let model = index.model();
    server.publish(model.clone());
    let is_catalogue = changes.catalogue.then_some(Change::Resources);
    let paths = resources::changed(before, &model, changes);
    // A client may have subscribed with either spelling.
    let resources = paths
        .into_iter()
        .flat_map(|path| [Change::Resource(format!("duvet://{path}")), Change::Resource(path)]);
    server.tell(is_catalogue.into_iter().chain(resources));
}

/// The folders that the system watches.
struct Folders {
    watcher: RecommendedWatcher,
    watched: BTreeSet<PathBuf>,
}

impl Folders {
    /// Watches the folders that matter now, and no others. Returns whether all of them could be.
    fn watch(&mut self, root: &Path, index: &Index) -> bool {
        let wanted: BTreeSet<PathBuf> = index.folders().into_iter().map(|folder| root.join(folder)).collect();
        let mut is_complete = true;
        for folder in wanted.difference(&self.watched.clone()) {
            match self.watcher.watch(folder, RecursiveMode::NonRecursive) {
                Ok(()) => {
                    self.watched.insert(folder.clone());
                }
                Err(error) if folder.is_dir() => {
                    tracing::warn!("{} cannot be watched: {error}", folder.display());
                    is_complete = false;
                }
                Err(_) => {}
            }
        }
        let gone: Vec<PathBuf> = self.watched.difference(&wanted).cloned().collect();
        for folder in gone {
            let _ = self.watcher.unwatch(&folder);
            self.watched.remove(&folder);
        }
        // A folder that was deleted and made again is another one.
        self.watched.retain(|folder| folder.is_dir());
        is_complete
    }
}
