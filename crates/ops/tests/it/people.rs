//! Users with their tokens and sessions, for tests of who may do what.

use ops::{Credentials, Error};
use serde_json::{Value, json};

use crate::stores::World;

/// The password of everybody here.
pub const PASSWORD: &str = "correct horse battery";

/// Makes a user.
pub fn user(world: &World, name: &str, role: &str) -> Value {
    let email = format!("{name}@example.org");
    world.ok("create_user", json!({ "username": name, "email": email, "role": role, "password": PASSWORD }))
}

/// Makes a token of a user. One for evidence pushes to the repository `shop`, which is there.
pub fn token(world: &World, user: &str, scopes: &[&str]) -> Credentials {
    let name = format!("for {}", scopes.join(" "));
    let mut wanted = json!({ "name": name, "scopes": scopes, "user": user });
    if scopes == ["evidence"] {
        wanted["repositories"] = json!(["shop"]);
    }
    let made = world.ok("create_token", wanted);
    Credentials::Bearer(made["token"].as_str().expect("a secret").to_owned())
}

/// Begins a session of a user.
pub fn session(world: &World, user: &str) -> Credentials {
    let arguments = json!({ "username": user, "password": PASSWORD });
    let begun = world.call_as(Credentials::None, "login", arguments).expect("a session");
    Credentials::Bearer(begun["session"].as_str().expect("a secret").to_owned())
}

/// What came of a call: `ok`, or the kind of the error.
pub fn outcome(result: Result<Value, Error>) -> &'static str {
    match result {
        Ok(_) => "ok",
        Err(error) => error.kind.code(),
    }
}
