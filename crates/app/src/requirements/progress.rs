//! Waits for an operation, and sends progress notifications if the client requested them.

use std::cell::Cell;
use std::sync::mpsc;
use std::time::{Duration, Instant};

use ops::{Call, Engine, Error, ErrorKind, OnProgress, Progress, Reply};

/// The shortest time between two progress notifications, except for the last one.
const INTERVAL: Duration = Duration::from_millis(200);

/// Runs a call, and waits for it. Operations run on other threads; this one notifies the client.
pub fn wait(engine: &Engine, mut call: Call, told: &mcp::Progress<'_>) -> Reply {
    if !told.is_wanted() {
        return engine.wait(call);
    }
    let (sender, news) = mpsc::channel();
    let done = sender.clone();
    call.progress = Some(now_and_then(move |progress| {
        // A disconnected client does not matter to the operation.
        let _ = sender.send(News::Progress(progress));
    }));
    engine.call(call, move |reply| {
        let _ = done.send(News::Reply(Box::new(reply)));
    });
    for news in news {
        match news {
            News::Progress(Progress { n_done, n_total, doing }) => {
                told.report(n_done as f64, n_total.map(|n_total| n_total as f64), Some(doing));
            }
            News::Reply(reply) => return *reply,
        }
    }
    Reply::failed(Error::new(ErrorKind::InternalError, "the call was dropped"))
}

enum News {
    Progress(Progress),
    Reply(Box<Reply>),
}

/// Forwards the first, the last, and some notifications in between. When an operation runs again, nothing is sent until it is
/// further than before.
fn now_and_then(tell: impl Fn(Progress) + Send + 'static) -> OnProgress {
    let last = Cell::new(None);
    Box::new(move |progress: Progress| {
        let is_due = match last.get() {
            None => true,
            Some((n_done, _)) if progress.n_done <= n_done => false,
            Some((_, at)) => progress.is_last() || Instant::now() >= at + INTERVAL,
        };
        if is_due {
            last.set(Some((progress.n_done, Instant::now())));
            tell(progress);
        }
    })
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};
    use std::thread;

    use super::*;

    #[test]
    fn of_many_steps_few_are_told_and_none_goes_back() {
        let told = Arc::new(Mutex::new(Vec::new()));
        let heard = told.clone();
        let listener =
            now_and_then(move |progress| heard.lock().expect("not poisoned").push(progress.n_done));
        let step = |n_done| listener(Progress { n_done, n_total: Some(1_000), doing: "counting" });
        (1..=400).for_each(step);
        thread::sleep(INTERVAL);
        // It runs again.
        (1..=1_000).for_each(step);
        let told = told.lock().expect("not poisoned").clone();
        assert!(told.starts_with(&[1]) && told.ends_with(&[1_000]), "{told:?}");
        assert!(told.is_sorted() && (3..20).contains(&told.len()), "{told:?}");
    }
}
