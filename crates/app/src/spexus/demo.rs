//! The example in an empty store, so that somebody who tries the product finds something in it.

use ops::{Call, Credentials, Engine, Result, known};
use serde_json::json;
use store::model::{DEFAULT_PROJECT_KEY, Via};
use store::{Mode, Store, entity};

use super::now;

/// Fills the store, if nothing is in it. Returns whether it did.
pub fn fill(store: &Store) -> Result<bool> {
    let filter = entity::EntityFilter { include_deleted: true, ..entity::EntityFilter::default() };
    if store.wait(Mode::Snapshot, move |tx| entity::count(tx, &filter))?.count > 0 {
        return Ok(false);
    }
    let request = ops::Request {
        via: Via::Cli,
        now: now(),
        request_id: Some("demo".to_owned()),
        address: None,
        user_agent: None,
        checkout: None,
        threats: None,
    };
    let call = Call::new(
        known::LOAD_EXAMPLE,
        json!({ "project": DEFAULT_PROJECT_KEY }),
        Credentials::Local(None),
        request,
    );
    Engine::new(store.clone()).wait(call).result?;
    Ok(true)
}
