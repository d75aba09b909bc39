//! News for everybody who listens: what changed, and which sessions asked to be told of it.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use mcp::Change;
use tokio::sync::{broadcast, watch};

/// News that a slow listener may be behind.
const BEHIND_MAX: usize = 1_024;

/// What happened at about the same time.
#[derive(Debug, Default)]
pub struct News {
    /// Whether something before was missed, so that nobody can rely on having heard everything.
    pub has_gap: bool,
    /// The project that it happened in, if in one.
    pub project_id: Option<String>,
    /// The ids of the users who may hear of it; none where everybody may.
    pub audience: Option<Arc<HashSet<String>>>,
    /// What changed, resources by their one spelling.
    pub changes: Vec<Change>,
    /// The resources that each session is to be told of, as its client wrote them.
    pub by_session: HashMap<String, Vec<String>>,
    /// The users and tokens that changed: whoever listens as one of them may have lost the right to.
    pub accounts: HashSet<String>,
    /// The server that tells each session, where several share the store.
    pub claims: Arc<HashMap<String, String>>,
}

/// Passes news on. Whoever makes them does so only while somebody listens.
#[derive(Clone)]
pub struct Feed {
    shared: Arc<Shared>,
}

struct Shared {
    news: broadcast::Sender<Arc<News>>,
    n_listeners: AtomicUsize,
    /// Changes whenever somebody comes or goes.
    audience: watch::Sender<()>,
    is_closed: watch::Sender<bool>,
    /// Whether all news from now on will be passed on.
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
    /// Passes news on to all who listen.
    pub fn tell(&self, news: News) {
        // Having no listener is not an error.
        let _ = self.shared.news.send(Arc::new(news));
    }

    /// Says whether all news from now on will be passed on.
    pub fn set_live(&self, is_live: bool) {
        self.shared.is_live.send_replace(is_live);
    }

    /// How many listen.
    pub fn n_listeners(&self) -> usize {
        self.shared.n_listeners.load(Ordering::SeqCst)
    }

    /// Waits until somebody has come or gone since this was made.
    pub fn audience(&self) -> watch::Receiver<()> {
        self.shared.audience.subscribe()
    }

    /// Ends all streams.
    pub fn close(&self) {
        self.shared.is_closed.send_replace(true);
    }

    /// Listens. Returns when no news can be missed any more; nothing when there will be none.
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

/// Somebody who listens.
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

/// What a listener hears.
pub enum Heard {
    /// News.
    News(Arc<News>),
    /// Some were missed, because the listener was too slow.
    Gap,
    /// There will be no more.
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
