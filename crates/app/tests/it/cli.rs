//! The command line: what the original program prints for its files, and what ours adds.

use std::{fs, process::Stdio};

use expect_test::expect;
use serde_json::{Value, json};

use crate::process::{command, compatibility_data, run};

#[test]
fn existing_patterns_print_as_the_original_prints_them() {
    let patterns = compatibility_data().join("patterns");
    let patterns = patterns.to_str().expect("UTF-8");
    let golden = |name: &str| {
        fs::read_to_string(compatibility_data().join("golden").join(name)).expect("a golden file")
    };
    for (arguments, file) in [
        (&["list"][..], "cli_list.txt"),
        (&["list", "-v"], "cli_list_v.txt"),
        (&["validate", "--all"], "cli_validate_all.txt"),
        (&["validate", "--all", "-v"], "cli_validate_all_v.txt"),
        (&["version"], "cli_version.txt"),
        (&["query", "-c", "bulk delete", "--limit", "1", "-f", "text"], "cli_query_text.txt"),
    ] {
        let (code, stdout, stderr) = run(&[&["-p", patterns], arguments].concat());
        assert_eq!((code, stderr.as_str()), (0, ""), "{arguments:?}");
        let expected = match file {
            // How many patterns fit is the ranking's to say, and ours may differ.
            "cli_query_text.txt" => without_first_line(&golden(file)),
            _ => golden(file),
        };
        let found = if file == "cli_query_text.txt" { without_first_line(&stdout) } else { stdout };
        assert_eq!(found, expected, "{file}");
    }
    for number in 1..=12 {
        let id = format!("TMKB-AUTHZ-{number:03}");
        let (_, text, _) = run(&["-p", patterns, "get", &id, "-f", "text"]);
        assert_eq!(text, golden(&format!("get_{id}.txt")));
        let (_, json, _) = run(&["-p", patterns, "get", &id.to_lowercase()]);
        assert_eq!(parse(&json), parse(&golden(&format!("get_{id}.json"))), "{id}");
    }
}

#[test]
fn a_query_without_a_context_lists_the_worst() {
    let patterns = compatibility_data().join("patterns");
    let (_, stdout, _) = run(&["-p", patterns.to_str().expect("UTF-8"), "query"]);
    let answer = parse(&stdout);
    assert_eq!(answer["pattern_count"], 12);
    let ids: Vec<&Value> =
        answer["patterns"].as_array().expect("patterns").iter().map(|p| &p["id"]).collect();
    assert_eq!(ids, ["TMKB-AUTHZ-004", "TMKB-AUTHZ-001", "TMKB-AUTHZ-002"]);
}

#[test]
fn our_own_patterns_are_valid() {
    let (code, stdout, stderr) = run(&["--packs", "all", "validate", "--all"]);
    assert_eq!((code, stderr.as_str()), (0, ""), "{stdout}");
    let summary = format!("Validated {} pattern(s): 0 error(s), 0 warning(s)\n", n_patterns());
    assert!(stdout.ends_with(&summary), "{stdout}");
}

#[test]
fn every_format_goes_with_every_command() {
    let (_, stdout, _) = run(&["list", "-f", "json"]);
    assert_eq!(parse(&stdout).as_array().map(Vec::len), Some(n_patterns()));
    let (_, stdout, _) = run(&["validate", "-f", "json"]);
    assert_eq!(parse(&stdout), json!({"validated": n_patterns(), "findings": []}));
    let (_, stdout, _) = run(&["query", "-c", "celery task", "-v", "-f", "json"]);
    let answer = parse(&stdout);
    assert_eq!(answer["verbose_patterns"][0]["id"], "TMKB-AUTHZ-001");
    assert!(answer["matched"]["TMKB-AUTHZ-001"][0].is_string(), "{answer}");
    let (_, stdout, _) = run(&["get", "tmkb-authz-007", "-f", "text", "--code"]);
    for section in ["BOUNDARY", "SIGNALS", "ACCEPTANCE CRITERIA", "CODE"] {
        assert!(stdout.contains(section), "{section} is missing in {stdout}");
    }
    assert!(!stdout.contains('\u{1b}'), "no colour in a pipe");
}

#[test]
fn what_is_not_there_is_refused_with_the_nearest_that_is() {
    let (code, stdout, stderr) = run(&["get", "TMKB-AUTHZ-0011"]);
    assert_eq!((code, stdout.as_str()), (1, ""));
    expect![[r#"
        tmkb: pattern not found: TMKB-AUTHZ-0011; did you mean TMKB-AUTHZ-001, TMKB-AUTHZ-011, TMKB-AUTHZ-002?
    "#]]
    .assert_eq(&stderr);
    let (code, _, stderr) = run(&["--packs", "authorisation", "list"]);
    assert_eq!(code, 2);
    expect![[r#"
        tmkb: --packs: expected all or some of authorization, found "authorisation"
    "#]]
    .assert_eq(&stderr);
    let (code, stdout, stderr) = run(&["query", "-c", "celery", "-l", "pyton", "--category", "cooking"]);
    assert_eq!((code, stdout.as_str()), (2, ""));
    expect![[r#"
        tmkb: --language: expected one of python, found "pyton"; did you mean python?
        --category: expected one of authorization, found "cooking"
    "#]]
    .assert_eq(&stderr);
    let (code, _, stderr) = run(&["quary"]);
    assert_eq!(code, 2);
    assert!(stderr.contains("'query'"), "{stderr}");
}

#[test]
fn a_context_needs_no_flag_and_no_quotes() {
    let (code, stdout, _) = run(&["query", "celery", "background", "job"]);
    assert_eq!(code, 0);
    assert_eq!(parse(&stdout)["patterns"][0]["id"], "TMKB-AUTHZ-001");
}

#[test]
fn flags_beat_the_environment_and_an_empty_variable_is_none() {
    for (value, arguments) in [("", &["list"][..]), ("no/such/folder", &["--packs", "all", "list"])] {
        let output = command(&[("TMKB_PATTERNS", value)]).args(arguments).output().expect("tmkb runs");
        assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    }
    let output = command(&[("TMKB_PATTERNS", "no/such/folder")]).arg("list").output().expect("tmkb runs");
    assert_eq!(output.status.code(), Some(2));
}

#[test]
fn nothing_fits_what_has_no_boundary() {
    let (code, stdout, _) = run(&["query", "-c", "center a div with css grid"]);
    let note = "covers authorization (24 patterns, Python/Flask); nothing here is about css grid";
    let expected = json!({"pattern_count": 0, "patterns_included": 0, "note": note});
    assert_eq!((code, parse(&stdout)), (0, expected));
}

#[test]
fn a_language_that_no_pattern_has_is_answered_without_foreign_code() {
    let (code, stdout, stderr) =
        run(&["query", "-c", "bulk delete endpoint", "-l", "rust", "--framework", "axum"]);
    assert_eq!((code, stderr.as_str()), (0, ""));
    let answer = parse(&stdout);
    assert_eq!(answer["patterns"][0]["id"], "TMKB-AUTHZ-012");
    assert_eq!(answer["patterns"][0]["written_for"], "Python/Flask");
    assert!(answer.get("code_pattern").is_none(), "{answer}");
    assert!(answer["note"].as_str().is_some_and(|note| note.contains("rust and axum")), "{answer}");
}

#[test]
fn own_patterns_come_beside_the_built_in_ones() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().to_str().expect("UTF-8");
    let original = compatibility_data().join("patterns/authorization/tier-b/TMKB-AUTHZ-009.yaml");
    let own = fs::read_to_string(original).expect("a pattern").replace("TMKB-AUTHZ-009", "ACME-AUTHZ-001");
    fs::write(folder.path().join("own.yaml"), own).expect("written");
    let (code, stdout, stderr) = run(&["-p", path, "--packs", "all", "list"]);
    assert_eq!((code, stderr.as_str()), (0, ""));
    assert!(stdout.contains("ACME-AUTHZ-001") && stdout.contains("TMKB-AUTHZ-024"), "{stdout}");
    let (_, stdout, _) = run(&["-p", path, "list"]);
    assert!(stdout.starts_with("Found 1 pattern(s):"), "{stdout}");
}

#[test]
fn an_invalid_pattern_is_named_and_not_served() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().to_str().expect("UTF-8");
    let file = folder.path().join("bad.yaml");
    fs::write(&file, "threat_pattern:\n  id: ACME-AUTHZ-001\n  name: n\n  severity: hihg\n")
        .expect("written");
    let (code, stdout, stderr) = run(&["-p", path, "--packs", "all", "query", "-c", "bulk delete"]);
    assert_eq!(code, 0, "{stderr}");
    assert_eq!(parse(&stdout)["patterns"][0]["id"], "TMKB-AUTHZ-012");
    assert!(stderr.contains("bad.yaml:") && stderr.contains("ACME-AUTHZ-001 is not served: "), "{stderr}");
    let (code, _, _) = run(&["-p", path, "--packs", "all", "get", "ACME-AUTHZ-001"]);
    assert_eq!(code, 1);

    let (code, stdout, _) = run(&["validate", file.to_str().expect("UTF-8")]);
    assert_eq!(code, 1);
    assert!(stdout.contains("ERROR: severity - expected critical, high, medium, low"), "{stdout}");
    fs::write(&file, "threat_pattern:\n  id: [1]\n").expect("written");
    let (code, stdout, _) = run(&["validate", file.to_str().expect("UTF-8")]);
    assert_eq!(code, 1);
    assert!(stdout.contains("bad.yaml:2:7: expected text for `id`, found a list"), "{stdout}");
    let good = compatibility_data().join("patterns/authorization/tier-b/TMKB-AUTHZ-009.yaml");
    let (code, stdout, stderr) = run(&["validate", good.to_str().expect("UTF-8")]);
    assert_eq!((code, stderr.as_str()), (0, ""), "{stdout}");
    assert!(stdout.ends_with("Validated 1 pattern(s): 0 error(s), 0 warning(s)\n"), "{stdout}");
    let (code, _, stderr) = run(&["validate", "no/such.yaml"]);
    assert_eq!(code, 2);
    assert!(stderr.starts_with("tmkb: cannot read the file no/such.yaml: "), "{stderr}");
}

#[test]
fn completions_are_printed_for_a_shell() {
    let (code, stdout, _) = run(&["completions", "bash"]);
    assert_eq!(code, 0);
    assert!(stdout.contains("_tmkb()"), "{stdout}");
}

#[test]
fn a_pipe_that_closes_early_is_no_failure() {
    let (reader, writer) = std::io::pipe().expect("a pipe");
    drop(reader);
    let output =
        command(&[]).args(["list", "-v"]).stdin(Stdio::null()).stdout(writer).output().expect("tmkb runs");
    assert_eq!((output.status.code(), String::from_utf8_lossy(&output.stderr).as_ref()), (Some(0), ""));
}

/// How many pattern files come with the program.
fn n_patterns() -> usize {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../threats/patterns/authorization");
    fs::read_dir(folder).expect("the pack").count()
}

fn without_first_line(text: &str) -> String {
    text.split_once('\n').map_or("", |(_, rest)| rest).to_owned()
}

#[track_caller]
fn parse(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}
