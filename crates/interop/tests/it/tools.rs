//! What `scripts/tools` installs, and what happens where it was not run.

use std::path::{Path, PathBuf};

/// The folder that tools are installed into.
pub fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.tools")
}

/// Tells whether a test cannot run for want of a tool. With SPEXUS_REQUIRE_TOOLS=1, as in the test command, that
/// is a failure; under a plain `cargo test` it is said and forgiven.
#[track_caller]
pub fn is_missing(path: &Path) -> bool {
    if path.exists() {
        return false;
    }
    let reason = format!("{} is missing; scripts/tools installs it", path.display());
    assert!(std::env::var("SPEXUS_REQUIRE_TOOLS").as_deref() != Ok("1"), "{reason}");
    eprintln!("skipped: {reason}");
    true
}
