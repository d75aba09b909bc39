//! Distributes news to all listeners: what changed, and which sessions subscribed to it.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use mcp::Change;
use tokio::sync::{broadcast, watch};

/// How many news a slow listener may be behind.
const BEHIND_MAX: usize = 1_024;

/// Changes that happened at about the same time.
#[derive(Debug, Default)]
pub struct News {
    /// Whether earlier news were missed, so that nobody can rely on having received everything.
    pub has_gap: bool,
    /// The project of the changes, if it is one.
    pub project_id: Option<String>,
    /// The ids of the users who may receive them; none if everybody may.
    pub audience: Option<Arc<HashSet<String>>>,
    /// The changes, with canonical URIs of resources.
    pub changes: Vec<Change>,
    /// The resources for each subscribed session, with the URIs of its client.
    pub by_session: HashMap<String, Vec<String>>,
    /// The changed users and tokens: their listeners may have lost the right.
    pub accounts: HashSet<String>,
    /// The server that notifies each session, if several share the store.
    pub claims: Arc<HashMap<String, String>>,
}

/// Distributes news. Its producer runs only while there are listeners.
#[derive(Clone)]
pub struct Feed {
    shared: Arc<Shared>,
}

struct Shared {
    news: broadcast::Sender<Arc<News>>,
    n_listeners: AtomicUsize,
    /// Changes when a listener comes or goes.
    audience: watch::Sender<()>,
    is_closed: watch::Sender<bool>,
    /// Whether all news from now on are distributed.
    is_live: watch::Sender<bool>,
}

impl Default for Feed {
    fn default() -> Self {
        Feed {
            shared: Arc::new(Shared {
                news: broadcast::channel(BEHIND_MAX).0,
                n_listeners: AtomicUsize::new(0),
                audience: watch::Sender::new(()),
                is_closed: watch::Sender::new(false),
                is_live: watch::Sender::new(false),
            }),
        }
    }
}

impl Feed {
    /// Sends news to all listeners.
    pub fn tell(&self, news: News) {
        // No listeners is not an error.
        let _ = self.shared.news.send(Arc::new(news));
    }

    /// Sets whether all news from now on are distributed.
    pub fn set_live(&self, is_live: bool) {
        self.shared.is_live.send_replace(is_live);
    }

    /// The number of listeners.
    pub fn n_listeners(&self) -> usize {
        self.shared.n_listeners.load(Ordering::SeqCst)
    }

    /// Waits until a listener has come or gone since this was created.
    pub fn audience(&self) -> watch::Receiver<()> {
        self.shared.audience.subscribe()
    }

    /// Ends all streams.
    pub fn close(&self) {
        self.shared.is_closed.send_replace(true);
    }

    /// Subscribes. Returns when no more news can be missed; none if there will be none.
    pub async fn follow(&self) -> Option<Following> {
        self.shared.n_listeners.fetch_add(1, Ordering::SeqCst);
        let following = Following {
            feed: self.clone(),
            news: self.shared.news.subscribe(),
            is_closed: self.shared.is_closed.subscribe(),
        };
        self.shared.audience.send_replace(());
        let mut is_live = self.shared.is_live.subscribe();
        let mut is_closed = self.shared.is_closed.subscribe();
        tokio::select! {
            live = is_live.wait_for(|is_live| *is_live) => live.is_ok().then_some(following),
            _ = is_closed.wait_for(|is_closed| *is_closed) => None,
        }
    }
}

/// A listener.
pub struct Following {
    feed: Feed,
    news: broadcast::Receiver<Arc<News>>,
    is_closed: watch::Receiver<bool>,
}

impl Drop for Following {
    fn drop(&mut self) {
        self.feed.shared.n_listeners.fetch_sub(1, Ordering::SeqCst);
        self.feed.shared.audience.send_replace(());
    }
}

/// What a listener receives.
pub enum Heard {
    /// News.
    News(Arc<News>),
    /// Some were missed, because the listener was too slow.
    Gap,
    /// The end.
    End,
}

impl Following {
    /// Waits for news.
    pub async fn next(&mut self) -> Heard {
        tokio::select! {
            news = self.news.recv() => match news {
                Ok(news) => Heard::News(news),
                Err(broadcast::error::RecvError::Lagged(_)) => Heard::Gap,
                Err(broadcast::error::RecvError::Closed) => Heard::End,
            },
            _ = self.is_closed.wait_for(|is_closed| *is_closed) => Heard::End,
        }
    }
}
