//! The managed requirements that the project cites: their texts from the session's store, and the checkout for the thread.

use std::sync::{Arc, Weak};

use store::model::Via;
use trace::project::Options;

use super::local::Local;
use crate::managed::{self, Beside, Live, ProjectFile, Pulled, Seen, Source};

/// Applies `.spexus/project.toml` to a project. Requirements in the local store are read from it; those on a server
/// from the last pull, because all other tools of the session use the local store.
pub fn add(options: &mut Options, local: Option<&Arc<Local>>) {
    let file = managed::with_pulled_or_problem(options);
    let (Some(file), Some(local)) = (file, local) else { return };
    if let Some(server) = &file.server {
        let note = format!(
            "citations are checked against what `spexus pull` got from {server} last; the requirements that other tools show \
             are those of the local store"
        );
        options.managed = Some(Arc::new(Pulled::new(&options.root, &file).noted(note)));
        return;
    }
    let (weak, seen) = (Arc::downgrade(local), Seen::default());
    let edition = {
        let weak = weak.clone();
        move || match weak.upgrade().and_then(|local: Arc<Local>| local.store_if_open()) {
            Some(store) => managed::store_edition(&store, &seen),
            None => 0,
        }
    };
    let pulled = Pulled::new(&options.root, &file);
    options.managed = Some(Arc::new(Live::new(source(weak), Box::new(edition), pulled)));
}

/// The store of the session.
fn source(local: Weak<Local>) -> Source {
    Box::new(move |entry, arguments| {
        let local = Weak::upgrade(&local).ok_or("the session has ended")?;
        let opened = local.opened().map_err(|failure| failure.message)?;
        managed::ask_store(&opened.engine, local.credentials(), Via::Mcp, entry, arguments)
    })
}

/// The checkout of a project whose requirements are in the local store.
pub fn beside(options: &Options, local: Option<&Arc<Local>>) -> Option<Beside> {
    let file = ProjectFile::read(&options.root).ok()??;
    let source = source(Arc::downgrade(local?));
    file.server.is_none().then(|| Beside::new(options.clone(), file, Arc::new(source)))
}
