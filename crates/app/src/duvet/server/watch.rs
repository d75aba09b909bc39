//! Follows the files of a project while the server runs, and tells clients what reads differently.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::time::{Duration, Instant};

use mcp::Change;
use notify::{RecommendedWatcher, RecursiveMode, Watcher};
use trace::model::Model;
use trace::project::{Changes, Index};

use super::pending::Event;
use super::{TraceServer, resources};

/// Events come in bursts: an editor writes, renames and touches. This long must be quiet.
const QUIET_TIME: Duration = Duration::from_millis(2);
/// Nor does a burst delay an answer for longer than this.
const BURST_TIME_MAX: Duration = Duration::from_millis(50);
/// How often everything is looked at when the system cannot tell of changes.
const POLL_INTERVAL: Duration = Duration::from_secs(2);

/// How often managed requirements are looked at that others may change.
const MANAGED_INTERVAL: Duration = Duration::from_millis(300);

/// Follows changes until the process ends.
pub fn follow(mut index: Index, server: &Arc<TraceServer>) {
    let root = index.root().canonicalize().unwrap_or_else(|_| index.root().to_path_buf());
    let (sender, events) = mpsc::channel();
    server.pending.follow(sender.clone());
    let (own, beside) = (root.clone(), root.parent().map(Path::to_path_buf));
    let watcher = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
        let mut paths = match event {
            Ok(event) if event.kind.is_access() => return,
            Ok(event) => event.paths,
            Err(_) => Vec::new(),
        };
        let is_told = !paths.is_empty();
        paths.retain(|path| *path == own || path.parent() != beside.as_deref());
        if !is_told || !paths.is_empty() {
            let _ = sender.send(Event::Changed(paths));
        }
    });
    let mut folders = match watcher {
        Ok(watcher) => Some(Folders { watcher, watched: BTreeSet::new() }),
        Err(error) => {
            tracing::warn!("polling for changes every {POLL_INTERVAL:?}: {error}");
            None
        }
    };
    let watch = |folders: &mut Option<Folders>, index: &Index| {
        server.pending.watch(&index.folders().into_iter().map(|folder| root.join(folder)).collect());
        match folders {
            Some(folders) => folders.watch(&root, index),
            None => Watched { is_complete: false, new: Vec::new() },
        }
    };
    let mut watched = watch(&mut folders, &index);
    let mut polled = Instant::now();
    loop {
        let n_builds = index.n_builds();
        let mut has_forgotten = false;
        let mut waiting = Vec::new();
        let is_polling = !watched.is_complete || !index.links().is_empty();
        let is_live = server.options.managed.as_ref().is_some_and(|texts| texts.is_live());
        let patience = if is_live { Some(MANAGED_INTERVAL) } else { is_polling.then_some(POLL_INTERVAL) };
        // In a folder that was not watched before, anything may have changed meanwhile.
        let told = match std::mem::take(&mut watched.new) {
            new if !new.is_empty() => Told::Paths(new),
            _ => {
                let Some(told) = next(&events, patience, &mut waiting) else {
                    return;
                };
                has_forgotten = folders.as_mut().is_some_and(|folders| folders.forget(&told));
                told
            }
        };
        let is_edit = match &told {
            Told::Paths(paths) => {
                paths.iter().all(|path| path.strip_prefix(&root).is_ok_and(|path| index.has_file(path)))
            }
            Told::Anything | Told::Nothing => false,
        };
        let before = index.model();
        let changes = match told {
            Told::Nothing if !is_polling || polled.elapsed() < POLL_INTERVAL => Changes::default(),
            Told::Nothing if watched.is_complete => {
                polled = Instant::now();
                let links = index.links().to_vec();
                index.follow(&links)
            }
            Told::Nothing | Told::Anything => {
                polled = Instant::now();
                index.refresh()
            }
            Told::Paths(paths) => {
                let inside = paths.iter().map(|path| path.strip_prefix(&root).map(Path::to_path_buf));
                match inside.collect::<Result<Vec<_>, _>>() {
                    Ok(paths) => index.follow(&paths),
                    Err(_) => index.refresh(),
                }
            }
        };
        publish(&index, server, &changes, &before);
        let before = index.model();
        let changes = index.follow_managed();
        publish(&index, server, &changes, &before);
        server.edition.store(index.edition(), Ordering::SeqCst);
        // Whoever waited for this may look now.
        drop(waiting);
        // An edit of a file that is known changes no folder, and the next edit shall not wait.
        if !is_edit || has_forgotten || index.n_builds() != n_builds {
            watched = watch(&mut folders, &index);
        }
    }
}

/// What the system tells of changes.
enum Told {
    /// Something happened there.
    Paths(Vec<PathBuf>),
    /// Something happened, and nobody knows where.
    Anything,
    /// For some time nothing happened.
    Nothing,
}

/// Waits for a burst of events, or for some time if that is wanted. Who asks is noted, and ends the burst.
fn next(events: &Receiver<Event>, patience: Option<Duration>, waiting: &mut Vec<Sender<()>>) -> Option<Told> {
    let mut read = |event: Event| match event {
        Event::Changed(paths) => (Some(paths), false),
        Event::Asked(paths, done) => {
            waiting.push(done);
            (Some(paths), true)
        }
        Event::Managed(done) => {
            waiting.push(done);
            (None, true)
        }
    };
    let first = match patience {
        Some(patience) => match events.recv_timeout(patience) {
            Ok(event) => event,
            Err(RecvTimeoutError::Timeout) => return Some(Told::Nothing),
            Err(RecvTimeoutError::Disconnected) => {
                std::thread::sleep(patience);
                return Some(Told::Nothing);
            }
        },
        None => events.recv().ok()?,
    };
    // No paths at all: nothing happened on disk. An empty list: nobody knows where something did.
    let (first, mut is_asked) = read(first);
    let mut is_known = first.as_ref().is_none_or(|paths| !paths.is_empty());
    let mut paths: BTreeSet<PathBuf> = first.into_iter().flatten().collect();
    let start = Instant::now();
    while !is_asked && start.elapsed() < BURST_TIME_MAX {
        match events.recv_timeout(QUIET_TIME) {
            Ok(event) => {
                let (more, is_last) = read(event);
                is_known &= more.as_ref().is_none_or(|paths| !paths.is_empty());
                paths.extend(more.into_iter().flatten());
                is_asked = is_last;
            }
            Err(_) => break,
        }
    }
    Some(if is_known { Told::Paths(paths.into_iter().collect()) } else { Told::Anything })
}

fn publish(index: &Index, server: &Arc<TraceServer>, changes: &Changes, before: &Model) {
    if *changes == Changes::default() {
        return;
    }
    let model = index.model();
    server.publish(model.clone());
    let is_catalogue = changes.catalogue.then_some(Change::Resources);
    let watched = server.watched();
    // After a change of a specification most resources read differently, and hardly any is subscribed to.
    let paths = match &watched {
        Some(watched) if watched.is_empty() => BTreeSet::new(),
        _ => resources::changed(before, &model, changes),
    };
    // A client may have subscribed with either spelling.
    let spellings = paths.into_iter().flat_map(|path| [format!("duvet://{path}"), path]);
    let wanted = spellings.filter(|uri| watched.as_ref().is_none_or(|watched| watched.contains(uri)));
    server.tell(is_catalogue.into_iter().chain(wanted.map(Change::Resource)));
}

/// The folders that the system watches.
struct Folders {
    watcher: RecommendedWatcher,
    watched: BTreeSet<PathBuf>,
}

/// What became of watching.
struct Watched {
    /// Whether all that matters is watched.
    is_complete: bool,
    /// What was not before.
    new: Vec<PathBuf>,
}

impl Folders {
    /// Watches the folders that matter now, and no others.
    fn watch(&mut self, root: &Path, index: &Index) -> Watched {
        let mut wanted: BTreeSet<PathBuf> =
            index.folders().into_iter().map(|folder| root.join(folder)).collect();
        // A folder does not tell that it was moved away or made again; the one that it is in does.
        wanted.extend(root.parent().map(Path::to_path_buf));
        let mut watched = Watched { is_complete: root.is_dir(), new: Vec::new() };
        for folder in wanted.difference(&self.watched).cloned().collect::<Vec<_>>() {
            match self.watcher.watch(&folder, RecursiveMode::NonRecursive) {
                Ok(()) => {
                    self.watched.insert(folder.clone());
                    watched.new.push(folder);
                }
                // Nothing in there can be read, and its own folder tells when that changes.
                Err(error) if is_forbidden(&error) => {}
                Err(error) if folder.is_dir() => {
                    tracing::warn!("{} cannot be watched: {error}", folder.display());
                    watched.is_complete = false;
                }
                Err(_) => {}
            }
        }
        let gone: Vec<PathBuf> = self.watched.difference(&wanted).cloned().collect();
        gone.iter().for_each(|folder| self.unwatch(folder));
        watched
    }

    /// Forgets folders that something happened to: what was deleted or moved, and came back, is another one. Returns
    /// whether there were any.
    fn forget(&mut self, told: &Told) -> bool {
        let is_touched = |folder: &Path| match told {
            Told::Paths(paths) => {
                folder.ancestors().any(|above| paths.binary_search_by(|path| (**path).cmp(above)).is_ok())
            }
            Told::Anything => true,
            Told::Nothing => false,
        };
        let touched: Vec<PathBuf> =
            self.watched.iter().filter(|folder| is_touched(folder)).cloned().collect();
        touched.iter().for_each(|folder| self.unwatch(folder));
        !touched.is_empty()
    }

    fn unwatch(&mut self, folder: &Path) {
        let _ = self.watcher.unwatch(folder);
        self.watched.remove(folder);
    }
}

fn is_forbidden(error: &notify::Error) -> bool {
    let kind = match &error.kind {
        notify::ErrorKind::Io(error) => Some(error.kind()),
        _ => None,
    };
    kind == Some(std::io::ErrorKind::PermissionDenied)
}
