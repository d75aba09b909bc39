//! The description against the server: schemathesis makes requests from the OpenAPI file and looks for answers that the
//! file does not describe, and for failures.

use std::path::Path;
use std::process::Command;

use serde_json::json;

use crate::backend::on_sqlite;

#[test]
fn schemathesis_finds_no_failure_and_no_undocumented_answer() {
    let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.tools/python/bin/schemathesis");
    if !program.exists() {
        assert!(std::env::var_os("SPEXUS_REQUIRE_TOOLS").is_none(), "scripts/tools installs schemathesis");
        eprintln!("skipped: schemathesis is not in .tools");
        return;
    }
    on_sqlite(&["--demo"], &[], |backend, folder| {
        // The token that asks is not the one that may be revoked by chance.
        let token = backend.create("/tokens", &json!({ "name": "fuzz", "scopes": ["admin"] }));
        let token = token["token"].as_str().expect("a secret").to_owned();
        let output = Command::new(&program)
            .current_dir(folder)
            .args(["run", &format!("{}/api/v1/openapi.json", backend.url)])
            .args(["--header", &format!("Authorization: Bearer {token}")])
            // One thread: Python 3.11 fails now and then where two parse source code at once, as Hypothesis does.
            .args(["--phases", "examples,coverage,fuzzing", "--max-examples", "4", "--seed", "7", "--workers", "1"])
            .args(["--checks", "not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance"])
            // Streams do not end.
            .args(["--exclude-path", "/api/v1/events"])
            .args(["--no-color", "--suppress-health-check", "all"])
            .output()
            .expect("schemathesis runs");
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success(), "{said}\n{}", String::from_utf8_lossy(&output.stderr));
        assert!(!backend.log().contains("[ERROR]"), "{}", backend.log());
    });
}
