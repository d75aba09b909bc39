//! A small believable project for an empty store: a web shop's checkout. Made by operations, like everything else.

use ops::{Call, Credentials, Engine, Result};
use serde_json::Value;
use store::model::Via;
use store::{Mode, Store, entity};

use super::now;

const PROJECT: &str = include_str!("demo.json");

/// Fills the store, if nothing is in it.
pub fn fill(store: &Store) -> Result<()> {
    let filter = entity::Filter { include_deleted: true, ..entity::Filter::default() };
    if store.wait(Mode::Snapshot, move |tx| entity::count(tx, &filter))?.count > 0 {
        tracing::info!("the store is not empty, so the demonstration is left out");
        return Ok(());
    }
    let engine = Engine::new(store.clone());
    let steps: Vec<Value> = serde_json::from_str(PROJECT).expect("the demonstration is JSON");
    for step in steps {
        let (name, arguments) = (step["operation"].as_str().unwrap_or_default(), step["arguments"].clone());
        let entry = ops::find(name).expect("the demonstration names operations");
        let request = ops::Request {
            via: Via::Cli,
            now: now(),
            request_id: Some("demo".to_owned()),
            address: None,
            user_agent: None,
        };
        let credentials = Credentials::Local(None);
        engine.wait(Call::new(entry, arguments, credentials, request)).result?;
    }
    Ok(())
}
