//! The official schemas, each definition compiled when it is first needed and kept for all tests of a process.

use std::{
    collections::HashMap,
    fs,
    path::{Path, PathBuf},
    sync::{Arc, LazyLock, Mutex},
};

use jsonschema::Validator;
use serde_json::{Value, json};

/// Holds a value against one definition of a revision's schema.
pub fn check(revision: &str, definition: &str, value: &Value) -> Result<(), String> {
    let Some(validator) = validator(revision, definition) else {
        return Err(format!("{revision} has no definition {definition}"));
    };
    validator
        .validate(value)
        .map_err(|error| format!("{revision} {definition}: {error} at {}", error.instance_path()))
}

/// Tells whether there is a revision of that name.
pub fn is_known(revision: &str) -> bool {
    path(revision).is_file()
}

fn validator(revision: &str, definition: &str) -> Option<Arc<Validator>> {
    type Validators = HashMap<(String, String), Option<Arc<Validator>>>;
    static VALIDATORS: LazyLock<Mutex<Validators>> = LazyLock::new(Mutex::default);
    let mut validators = VALIDATORS.lock().expect("compiling a schema does not panic");
    let name = (revision.to_owned(), definition.to_owned());
    validators.entry(name).or_insert_with(|| compile(revision, definition)).clone()
}

fn compile(revision: &str, definition: &str) -> Option<Arc<Validator>> {
    let text = fs::read_to_string(path(revision)).ok()?;
    let document: Value = serde_json::from_str(&text).expect("an official schema is JSON");
    let key = if document.get("$defs").is_some() { "$defs" } else { "definitions" };
    document[key].get(definition)?;
    let schema = json!({"$ref": format!("#/{key}/{definition}"), key: document[key]});
    Some(Arc::new(jsonschema::validator_for(&schema).expect("an official schema is a schema")))
}

fn path(revision: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("schema").join(format!("{revision}.json"))
}
