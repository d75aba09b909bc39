//! The programs of Spexus: command lines, transports, configuration. Everything else is in the other crates.

mod answered;
pub mod bridge;
mod budget;
pub mod combined;
pub mod duvet;
pub mod gate;
mod large;
pub mod logging;
pub mod managed;
mod outbox;
pub mod requirements;
pub mod settings;
pub mod spexus;
pub mod stdio;
pub mod streamable;
pub mod tmkb;

use mcp::Profile;
use settings::Settings;

/// Lets the environment change the name of a server and its version policy.
pub fn override_profile(profile: &mut Profile, settings: &mut Settings) {
    profile.name = settings.value("MCP_SERVER_NAME", profile.name.clone());
    profile.version = settings.value("MCP_SERVER_VERSION", profile.version.clone());
    profile.title = settings.optional("MCP_SERVER_TITLE").or(profile.title.take());
    profile.versions = settings.value("MCP_VERSION_POLICY", profile.versions);
}
