//! The request that a thread works on, for logging panics.

use std::borrow::Cow;
use std::cell::RefCell;
use std::sync::Arc;

thread_local! {
    static RUNNING: RefCell<Option<Arc<Running>>> = const { RefCell::new(None) };
}

/// A request that a thread works on.
#[derive(Debug)]
pub struct Running {
    /// The request's id.
    pub request_id: String,
    /// The caller, or `-` while unknown.
    pub user: String,
    /// The operation.
    pub operation: Cow<'static, str>,
}

impl Running {
    /// The request that this thread works on, if any.
    pub fn now() -> Option<Arc<Running>> {
        // A panic may occur while the thread ends or while this cell is written; then nothing is known.
        RUNNING.try_with(|running| running.try_borrow().ok()?.clone()).ok().flatten()
    }

    /// Marks this thread as working on a request until the guard is dropped. A panic hook runs before that drop.
    pub fn begin(self: Arc<Running>) -> Working {
        Working { before: RUNNING.replace(Some(self)) }
    }
}

/// A thread at work. When dropped, the thread continues with its previous request.
#[must_use = "the work ends when this is dropped"]
pub struct Working {
    before: Option<Arc<Running>>,
}

impl Drop for Working {
    fn drop(&mut self) {
        RUNNING.set(self.before.take());
    }
}

#[cfg(test)]
mod tests {
    use std::panic;
    use std::sync::{Arc, Mutex};

    use schemars::JsonSchema;
    use serde::{Deserialize, Serialize};
    use serde_json::json;
    use store::model::{Time, Via};
    use store::{Location, Store};

    use super::Running;
    use crate::context::Cx;
    use crate::identity::Issuers;
    use crate::operation::{Command, Effect, Entry, Operation, Output, Route, entry};
    use crate::{Call, Credentials, Engine, ErrorKind, Request, Result, first_start};

    /// A stage at which to panic.
    #[derive(Deserialize, JsonSchema)]
    struct Break {
        at: String,
    }

    #[derive(Serialize, JsonSchema)]
    enum Never {}

    impl Output for Never {}

    static BREAK: Entry = entry::<Break>();

    impl Break {
        fn reach(&self, stage: &str) {
            assert_ne!(self.at, stage, "out of cheese");
        }
    }

    impl Operation for Break {
        type Output = Never;
        const NAME: &'static str = "break";
        const COMMANDS: &'static [Command] = &[];
        const ROUTES: &'static [Route] = &[];
        const EFFECT: Effect = Effect::Writes;
        const PREPARES: bool = true;

        fn prepare(&mut self, _: &mut Cx<'_, '_>) -> Result<()> {
            self.reach("prepare");
            Ok(())
        }

        fn computes(&self) -> bool {
            true
        }

        fn compute(&mut self, _: &Issuers) -> Result<()> {
            self.reach("compute");
            Ok(())
        }

        fn run(&self, _: &mut Cx<'_, '_>) -> Result<Never> {
            self.reach("run");
            unreachable!("it panics before")
        }
    }

    #[test]
    fn a_panic_is_logged_with_request_user_and_operation() {
        let folder = tempfile::tempdir().expect("a folder");
        let now = Time::from_microseconds(1_790_000_000_000_000);
        let location = Location::Sqlite(folder.path().join("store.db"));
        let store = Store::open(&location, store::Options::default(), now).expect("a store");
        first_start(&store, &Request::new(Via::Cli, now)).expect("an administrator");
        let engine = Engine::new(store);

        let seen = Arc::new(Mutex::new(Vec::new()));
        let (noting, usual) = (seen.clone(), panic::take_hook());
        panic::set_hook(Box::new(move |panic| match Running::now() {
            Some(running) if running.operation == "break" => noting.lock().expect("no panic").push(running),
            _ => usual(panic),
        }));
        for (number, stage) in ["prepare", "compute", "run"].into_iter().enumerate() {
            let id = format!("request-{stage}");
            let request = Request { request_id: Some(id.clone()), ..Request::new(Via::Cli, now) };
            let credentials = Credentials::Local(Some("admin".to_owned()));
            let reply = engine.wait(Call::new(&BREAK, json!({ "at": stage }), credentials, request));
            assert_eq!(reply.result.expect_err("it panics").kind, ErrorKind::InternalError);
            let seen = seen.lock().expect("no panic");
            let running = seen.get(number).expect("the hook knows the request");
            assert_eq!((running.request_id.as_str(), running.user.as_str()), (id.as_str(), "admin"));
        }
    }
}
