//! Dockerfile, compose.yaml and the CI templates, checked with hadolint and the schemas of Compose, GitHub and GitLab.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::tools;

#[test]
fn hadolint_has_nothing_to_say_of_the_dockerfile() {
    let hadolint = tools::folder().join("python/bin/hadolint");
    if tools::is_missing(&hadolint) {
        return;
    }
    check(Command::new(&hadolint).arg(root().join("Dockerfile")), true);
    // It does say something where there is something.
    let folder = tempfile::tempdir().expect("a folder");
    let wrong = folder.path().join("Dockerfile");
    std::fs::write(&wrong, "FROM debian\nRUN sudo apt-get install curl\n").expect("a file");
    check(Command::new(&hadolint).arg(wrong), false);
}

#[test]
fn files_for_compose_github_and_gitlab_fit_their_schemas() {
    let validator = tools::folder().join("python/bin/check-jsonschema");
    if tools::is_missing(&validator) {
        return;
    }
    for (schema, file, wrong) in [
        ("vendor.compose-spec", "compose.yaml", "services: {spexus: {healthcheck: always}}"),
        ("vendor.github-actions", "integrations/github/action.yml", "name: Spexus\nruns: {using: composite}"),
        ("vendor.gitlab-ci", "integrations/gitlab/spexus.yml", "duvet-check: {script: [], artifacts: all}"),
    ] {
        let command = |path: &Path| {
            let mut command = Command::new(&validator);
            command.args(["--builtin-schema", schema]).arg(path);
            command
        };
        check(&mut command(&root().join(file)), true);
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("wrong.yml");
        std::fs::write(&path, wrong).expect("a file");
        check(&mut command(&path), false);
    }
}

#[track_caller]
fn check(command: &mut Command, is_fine: bool) {
    let output = command.output().expect("it runs");
    let said = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.success(), is_fine, "{command:?}: {said}");
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}
