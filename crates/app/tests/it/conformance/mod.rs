//! The official conformance suite: against a server with the fixtures that it asks for, on our HTTP stack, and against the
//! product, for all that needs no fixture.
//!
//! What we do not serve is listed, each with the reason. A listed check that passes fails the test, as an unlisted one does
//! that fails.

mod fixtures;
mod host;
mod suite;

use crate::backend::on_sqlite;
use crate::proxy::Proxy;
use host::Serving;
use suite::{Expected, check};

const LOGGING: &str = "log messages to clients are deprecated; logs go to stderr";
const SAMPLING: &str = "no request is ever sent to a client, deprecated sampling least of all";
const ELICITATION: &str =
    "no request is ever sent to a client: an agent is told what is missing, and asks by itself";
const INPUT: &str =
    "no answer asks the client for input: an agent is told what is missing, and asks by itself";
const TASKS: &str = "an extension: calls are short, and the long ones tell of their progress";
const CUSTOM_HEADERS: &str = "no tool asks for arguments in headers";
const FIXTURE: &str = "needs a fixture of the suite, which the product does not have";

/// What is served in neither case.
const OLD_FEATURES: [Expected; 6] = [
    Expected::scenario("logging-set-level", LOGGING),
    Expected::scenario("tools-call-with-logging", LOGGING),
    Expected::scenario("tools-call-sampling", SAMPLING),
    Expected::scenario("tools-call-elicitation", ELICITATION),
    Expected::scenario("elicitation-sep1034-defaults", ELICITATION),
    Expected::scenario("elicitation-sep1330-enums", ELICITATION),
];

const NEW_FEATURES: [Expected; 22] = [
    Expected::scenario("input-required-result-basic-elicitation", INPUT),
    Expected::scenario("input-required-result-basic-sampling", INPUT),
    Expected::scenario("input-required-result-basic-list-roots", INPUT),
    Expected::scenario("input-required-result-request-state", INPUT),
    Expected::scenario("input-required-result-multiple-input-requests", INPUT),
    Expected::scenario("input-required-result-multi-round", INPUT),
    Expected::scenario("input-required-result-missing-input-response", INPUT),
    Expected::scenario("input-required-result-non-tool-request", INPUT),
    Expected::scenario("input-required-result-result-type", INPUT),
    Expected::scenario("input-required-result-tampered-state", INPUT),
    Expected::scenario("input-required-result-capability-check", INPUT),
    Expected::scenario("input-required-result-ignore-extra-params", INPUT),
    Expected::scenario("tasks-lifecycle", TASKS),
    Expected::scenario("tasks-capability-negotiation", TASKS),
    Expected::scenario("tasks-wire-fields", TASKS),
    Expected::scenario("tasks-request-state-removal", TASKS),
    Expected::scenario("tasks-mrtr-input", TASKS),
    Expected::scenario("tasks-request-headers", TASKS),
    Expected::scenario("tasks-dispatch-and-envelope", TASKS),
    Expected::scenario("tasks-required-task-error", TASKS),
    Expected::scenario("tasks-mrtr-composition", TASKS),
    Expected::scenario("http-custom-header-server-validation", CUSTOM_HEADERS),
];

/// What the product cannot be asked without fixtures, in both revisions.
const FIXTURES: [Expected; 16] = [
    Expected::scenario("completion-complete", FIXTURE),
    Expected::scenario("tools-call-simple-text", FIXTURE),
    Expected::scenario("tools-call-image", FIXTURE),
    Expected::scenario("tools-call-audio", FIXTURE),
    Expected::scenario("tools-call-embedded-resource", FIXTURE),
    Expected::scenario("tools-call-mixed-content", FIXTURE),
    Expected::scenario("tools-call-error", FIXTURE),
    Expected::scenario("tools-call-with-progress", FIXTURE),
    Expected::scenario("resources-read-text", FIXTURE),
    Expected::scenario("resources-read-binary", FIXTURE),
    Expected::scenario("resources-templates-read", FIXTURE),
    Expected::scenario("prompts-get-simple", FIXTURE),
    Expected::scenario("prompts-get-with-args", FIXTURE),
    Expected::scenario("prompts-get-embedded-resource", FIXTURE),
    Expected::scenario("prompts-get-with-image", FIXTURE),
    Expected::scenario("json-schema-2020-12", FIXTURE),
];

const OLD_FIXTURES: [Expected; 2] = [
    Expected::scenario("resources-subscribe", FIXTURE),
    Expected::scenario("resources-unsubscribe", FIXTURE),
];

const NEW_FIXTURES: [Expected; 6] = [
    Expected::check("server-stateless", "sep-2575-server-rejects-undeclared-capability", FIXTURE),
    Expected::check("server-stateless", "sep-2575-missing-capability-http-400", FIXTURE),
    Expected::check("server-stateless", "sep-2575-http-server-no-independent-requests-on-stream", FIXTURE),
    Expected::check("server-stateless", "sep-2575-server-no-log-without-loglevel", FIXTURE),
    Expected::check(
        "server-stateless",
        "sep-2575-server-sends-prompts-list-changed-on-subscription",
        FIXTURE,
    ),
    Expected::check("server-stateless", "sep-2575-server-sends-tools-list-changed-on-subscription", FIXTURE),
];

#[test]
fn a_server_with_the_fixtures_conforms_to_2025_11_25() {
    check("2025-11-25", &Serving::start().url, 66, &[&OLD_FEATURES]);
}

#[test]
fn a_server_with_the_fixtures_conforms_to_2026_07_28() {
    check("2026-07-28", &Serving::start().url, 135, &[&NEW_FEATURES]);
}

#[test]
fn the_product_conforms_to_2025_11_25() {
    on_sqlite(&["--demo"], &[], |backend, _| {
        let url = format!("{}/api/v1/mcp", Proxy::start(backend).url);
        check("2025-11-25", &url, 42, &[&OLD_FEATURES, &FIXTURES, &OLD_FIXTURES]);
    });
}

#[test]
fn the_product_conforms_to_2026_07_28() {
    on_sqlite(&["--demo"], &[], |backend, _| {
        let url = format!("{}/api/v1/mcp", Proxy::start(backend).url);
        check("2026-07-28", &url, 107, &[&NEW_FEATURES, &FIXTURES, &NEW_FIXTURES]);
    });
}
