//! `duvet` on the command line: reports, the gate for CI, the lock, and specifications from the web.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpListener;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use expect_test::{Expect, expect};
use serde_json::Value;

const CONFIG: &str = "'$schema' = \"https://awslabs.github.io/duvet/config/v0.4.0.json\"\n\
    [[source]]\npattern = \"src/**/*.rs\"\n[[specification]]\nsource = \"spec.md\"\n\
    [report.html]\nenabled = false\n";
const SPEC: &str = "# Pot\n\n## Brewing\n\nThe pot MUST brew coffee. The pot SHOULD be hot.\n\n\
    ## Lid\n\nThe lid MAY be open. It is round.\n";
const CITED: &str = "//= spec.md#brewing\n//# The pot MUST brew coffee.\nfn brew() {}\n";

#[test]
fn a_report_says_what_is_done_and_what_is_next() {
    let folder = project(CITED);
    check(
        folder.path(),
        &["report"],
        0,
        expect![[r#"
               Extracted requirements from 1 specifications (*)
                 Scanned 3 sources (*)
                  Parsed 4 annotations (*)
                  Loaded 1 specifications (*)
                 Matched 4 references (*)

                      done needs tests in progress not started
            spec-md      0           1           0           2

            Next
              MUST   needs tests spec-md#brewing  The pot MUST brew coffee.
              SHOULD not started spec-md#brewing  The pot SHOULD be hot.
              MAY    not started spec-md#lid  The lid MAY be open.
        "#]],
    );
}

#[test]
fn a_report_writes_only_what_it_was_asked_for() {
    let folder = project(CITED);
    let before = listing(folder.path());
    run(folder.path(), &["report"]);
    run(folder.path(), &["check", "--require-citations"]);
    assert_eq!(listing(folder.path()), before);
    run(folder.path(), &["report", "--json", "out/report.json"]);
    assert_eq!(listing(folder.path()), [&["out/report.json".to_owned()], &before[..]].concat());
}

#[test]
fn every_problem_is_shown_with_its_place_and_the_nearest_right_thing() {
    let folder = project(
        "//= spec.md#brewin\n//# The pot MUST brew coffee.\n\n\
         //= spec.md#brewing\n//# The pot MUST brew black coffee.\n\n\
         //= spec.md#brewing\n//= typ=test\n//# The pot SHOULD be hot.\n\n\
         //= spec.md#lid\n//# The lid MAY be open.\n",
    );
    check(
        folder.path(),
        &["report"],
        1,
        expect![[r#"
               Extracted requirements from 1 specifications (*)
                 Scanned 3 sources (*)
                  Parsed 7 annotations (*)
                  Loaded 1 specifications (*)
                 Matched 5 references (*)
            error[unknown-section]: spec.md has no section `brewin`
              ╭▸ src/lib.rs:1:5
              │
            1 │ //= spec.md#brewin
              │     ━━━━━━━━━━━━━━ no such section
              │
              ╰ help: did you mean `brewing`?
            error[unknown-quote]: section `brewing` of spec.md does not have this text
              ╭▸ src/lib.rs:5:5
              │
            5 │ //# The pot MUST brew black coffee.
              │     ━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━ not there
              │
              ├ help: the nearest text is: The pot MUST brew coffee.
              ╰ help: the difference is: The pot MUST brew [-black-] coffee.
            error[unknown-key]: there is no key `typ`
              ╭▸ src/lib.rs:8:5
              │
            8 │ //= typ=test
              │     ━━━ not a key
              │
              ├ help: expected one of source, type, level, format, reason, feature, tracking-issue, or a target
              ╰ help: did you mean `type`?
            3 errors
        "#]],
    );
    let (code, stdout, _) = run(folder.path(), &["check", "--format", "json"]);
    let report: Value = serde_json::from_str(&stdout).expect("JSON");
    // What is right is still there.
    assert_eq!((code, &report["requirements"]["total"]), (1, &3.into()));
    assert_eq!(report["problems"].as_array().map(Vec::len), Some(3));
    assert_eq!(report["problems"][0]["places"][0]["line"], 1);
}

#[test]
fn the_gate_knows_warnings_and_demands() {
    let drifted =
        "//= spec.md#brewing\n//# The pot MUST brew coffees.\n\n//= spec.md#lid\n//# It is round.\n";
    let folder = project(drifted);
    let (code, stdout, stderr) = run(folder.path(), &["check"]);
    assert_eq!(code, 0, "{stderr}");
    let line = "3 requirements: 0 done, 1 need tests, 0 in progress, 2 not started; 0 errors, 2 warnings\n";
    assert_eq!(stdout, line);
    assert!(stderr.contains("the specification says: The pot MUST brew [-coffees.-]{+coffee.+}"), "{stderr}");
    assert!(stderr.contains("belongs to no requirement"), "{stderr}");
    for (arguments, code) in [
        (&["--deny", "warnings"][..], 1),
        (&["--require-citations"], 1),
        (&["--require-tests"], 1),
        (&["--deny", "everything"], 2),
    ] {
        let (found, ..) = run(folder.path(), &[&["check"], arguments].concat());
        assert_eq!(found, code, "{arguments:?}");
    }
}

#[test]
fn the_gate_writes_junit() {
    let folder = project("//= spec.md#nowhere\n");
    let (_, junit, _) = run(folder.path(), &["check", "--format", "junit"]);
    expect![[r#"
        <?xml version="1.0" encoding="UTF-8"?>
        <testsuites name="duvet">
          <testsuite name="spec-md" tests="3" failures="0" skipped="3">
            <testcase classname="brewing" name="The pot MUST brew coffee."><skipped message="not started"/></testcase>
            <testcase classname="brewing" name="The pot SHOULD be hot."><skipped message="not started"/></testcase>
            <testcase classname="lid" name="The lid MAY be open."><skipped message="not started"/></testcase>
          </testsuite>
          <testsuite name="problems" tests="1" failures="1">
            <testcase classname="unknown-section" name="src/lib.rs:1:5: spec.md has no section `nowhere` (its sections are pot, brewing, lid)"><failure message="src/lib.rs:1:5: spec.md has no section `nowhere` (its sections are pot, brewing, lid)"/></testcase>
          </testsuite>
        </testsuites>
    "#]]
    .assert_eq(&junit);
}

#[test]
fn a_changed_specification_names_the_citations_to_look_at_again() {
    let folder = project(&format!("{CITED}\n//= spec.md#lid\n//# The lid MAY be open.\n"));
    assert_eq!(run(folder.path(), &["lock"]).0, 0);
    assert_eq!(run(folder.path(), &["check"]).0, 0);
    fs::write(folder.path().join("spec.md"), SPEC.replace("SHOULD be hot", "SHOULD be warm"))
        .expect("written");
    let (code, _, stderr) = run(folder.path(), &["check"]);
    assert_eq!(code, 1);
    assert!(stderr.contains("spec.md changed in brewing"), "{stderr}");
    assert!(stderr.contains("src/lib.rs:1:1") && !stderr.contains("src/lib.rs:5"), "{stderr}");
    assert_eq!(run(folder.path(), &["lock"]).0, 0);
    assert_eq!(run(folder.path(), &["check"]).0, 0);
    fs::write(folder.path().join(".duvet/lock.toml"), "nonsense").expect("written");
    let (code, _, stderr) = run(folder.path(), &["check"]);
    assert_eq!(code, 1);
    assert!(stderr.contains("`duvet lock` writes it anew"), "{stderr}");
}

#[test]
fn a_snapshot_that_is_kept_must_be_current() {
    let folder = project(CITED);
    let config = format!("{CONFIG}[report.snapshot]\nenabled = true\n");
    fs::write(folder.path().join(".duvet/config.toml"), config).expect("written");
    assert_eq!(run(folder.path(), &["report", "--ci"]).0, 1);
    assert_eq!(run(folder.path(), &["report"]).0, 0);
    assert_eq!(run(folder.path(), &["report", "--ci"]).0, 0);
    assert_eq!(run(folder.path(), &["check"]).0, 0);
    fs::write(folder.path().join("src/lib.rs"), "fn brew() {}\n").expect("written");
    let (code, _, stderr) = run(folder.path(), &["report", "--ci"]);
    assert_eq!(code, 1);
    assert!(stderr.contains("-    TEXT[!MUST,implementation]: The pot MUST brew coffee."), "{stderr}");
    assert_eq!(run(folder.path(), &["check"]).0, 1);
}

#[test]
fn the_wrong_folder_is_noticed() {
    let folder = project(CITED);
    let (code, _, stderr) = run(&folder.path().join("src"), &["report"]);
    assert_eq!(code, 0);
    assert!(stderr.contains("there is no .duvet/config.toml here, but one in"), "{stderr}");
    // The gate looks above by itself.
    let (_, stdout, _) = run(&folder.path().join("src"), &["check"]);
    assert!(stdout.starts_with("3 requirements"), "{stdout}");
    let empty = tempfile::tempdir().expect("a folder");
    let (_, _, stderr) = run(empty.path(), &["report"]);
    assert!(stderr.contains("`duvet init` writes one"), "{stderr}");
    fs::write(folder.path().join(".duvet/config.toml"), CONFIG.replace("src/", "source/")).expect("written");
    let (_, _, stderr) = run(folder.path(), &["check"]);
    assert!(stderr.contains("no file matches source/**/*.rs"), "{stderr}");
}

#[test]
fn a_missing_specification_is_fetched_once_and_kept() {
    let (address, requests) = serve(&[("/spec.md", "200 OK", SPEC), ("/gone", "404 Not Found", "")]);
    let folder = project(CITED);
    let config = |source: &str| CONFIG.replace("\"spec.md\"", &format!("\"{address}{source}\""));
    fs::write(folder.path().join(".duvet/config.toml"), config("/spec.md")).expect("written");
    for _ in 0..2 {
        let (code, _, stderr) = run(folder.path(), &["report", "--allow-private-host", "127.0.0.1"]);
        assert_eq!(code, 0, "{stderr}");
    }
    assert_eq!(requests.try_iter().collect::<Vec<_>>(), ["/spec.md"]);
    let kept = folder.path().join(".duvet/specifications/127.0.0.1/spec.txt");
    assert_eq!(fs::read_to_string(kept).expect("kept"), SPEC);

    fs::write(folder.path().join(".duvet/config.toml"), config("/gone")).expect("written");
    let (code, _, stderr) = run(folder.path(), &["report", "--allow-private-host", "127.0.0.1"]);
    assert_eq!(code, 1);
    assert!(stderr.contains("the server says 404 Not Found"), "{stderr}");
    assert!(stderr.contains("put its text into .duvet/specifications/127.0.0.1/gone.txt"), "{stderr}");
    let insecure = CONFIG.replace("\"spec.md\"", "\"http://198.51.100.1/x.md\"");
    fs::write(folder.path().join(".duvet/config.toml"), insecure).expect("written");
    let (_, _, stderr) = run(folder.path(), &["report"]);
    assert!(stderr.contains("only https is fetched"), "{stderr}");
}

#[test]
fn a_project_is_started_for_the_languages_that_are_there() {
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("Cargo.toml"), "").expect("written");
    fs::write(folder.path().join("pyproject.toml"), "").expect("written");
    assert_eq!(run(folder.path(), &["init", "--specification", "spec.md"]).0, 0);
    let config = fs::read_to_string(folder.path().join(".duvet/config.toml")).expect("a configuration");
    expect![[r###"
        '$schema' = "https://awslabs.github.io/duvet/config/v0.4.0.json"

        [[source]]
        pattern = "src/**/*.py"
        comment-style = { meta = "##=", content = "##%" }

        [[source]]
        pattern = "src/**/*.rs"

        [[specification]]
        source = "spec.md"

        [report.html]
        enabled = true

        # Keeps coverage from getting worse: `duvet report` writes it, `duvet report --ci` compares
        [report.snapshot]
        enabled = true
    "###]]
    .assert_eq(&config);
    let (code, _, stderr) = run(folder.path(), &["init"]);
    assert!(code == 0 && stderr.contains("Kept .duvet/config.toml"), "{stderr}");
}

#[test]
fn a_project_is_started_with_patterns_that_match() {
    let folder = tempfile::tempdir().expect("a folder");
    let files = [
        ("Cargo.toml", ""),
        ("README.md", "# Kiosk\n\nYou MUST read this.\n"),
        ("docs/card.md", "# Card\n\n* A card MUST be read.\n* It MAY be kept.\n"),
        ("docs/notes.md", "# Notes\n\nNothing is required.\n"),
        ("kiosk/a.py", ""),
        ("kiosk/b.py", ""),
        ("tools/deep/c.py", ""),
        ("node_modules/x/d.js", ""),
        (".venv/lib/e.py", ""),
    ];
    for (path, text) in files {
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().expect("a folder")).expect("made");
        fs::write(path, text).expect("written");
    }
    check(
        folder.path(),
        &["init"],
        0,
        expect![[r#"
               Wrote .duvet/config.toml
               Wrote .duvet/.gitignore
              Source kiosk/*.py matches 2 files
              Source tools/**/*.py matches 1 file
        Specification docs/card.md has 2 requirements

        Cite a requirement above the code that implements it, for instance in kiosk/a.py:

            ##= docs/card.md#card
            ##% A card MUST be read.

        Next: duvet report
    "#]],
    );
    let config = fs::read_to_string(folder.path().join(".duvet/config.toml")).expect("a configuration");
    let (start, _) = config.split_once("[report.html]").expect("reports");
    expect![[r###"
        '$schema' = "https://awslabs.github.io/duvet/config/v0.4.0.json"

        [[source]]
        pattern = "kiosk/*.py"
        comment-style = { meta = "##=", content = "##%" }

        [[source]]
        pattern = "tools/**/*.py"
        comment-style = { meta = "##=", content = "##%" }

        [[specification]]
        source = "docs/card.md"

    "###]]
    .assert_eq(start);
    // What it wrote is right: every pattern matches, and the sample can be pasted.
    fs::write(folder.path().join("kiosk/a.py"), "##= docs/card.md#card\n##% A card MUST be read.\n")
        .expect("written");
    let (code, stdout, stderr) = run(folder.path(), &["check"]);
    assert!(code == 0 && stdout.starts_with("2 requirements: 0 done, 1 need tests"), "{stdout}{stderr}");
    let (_, _, stderr) = run(folder.path(), &["report"]);
    assert!(!stderr.contains("Nothing matches"), "{stderr}");
    fs::remove_dir_all(folder.path().join("tools")).expect("removed");
    let (_, _, stderr) = run(folder.path(), &["report"]);
    assert!(stderr.contains("Nothing matches tools/**/*.py"), "{stderr}");
}

#[test]
fn the_format_of_a_specification_is_found_in_the_file() {
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("spec.md"), SPEC).expect("written");
    let (code, _, stderr) = run(folder.path(), &["extract", "--out", "markdown", "spec.md"]);
    assert!(code == 0 && stderr.contains("Extracted 3 requirements across 2 sections"), "{stderr}");
    fs::write(folder.path().join("spec.txt"), "1.  Pot\n\n   A pot MUST brew.\n").expect("written");
    let (code, _, stderr) = run(folder.path(), &["extract", "--out", "ietf", "spec.txt"]);
    assert!(code == 0 && stderr.contains("Extracted 1 requirements across 1 sections"), "{stderr}");
}

#[test]
fn a_watched_report_prints_what_an_edit_changed() {
    let folder = project("fn brew() {}\n");
    let mut command = Command::new(env!("CARGO_BIN_EXE_duvet"));
    command.args(["report", "--watch", "--json", "report.json"]).current_dir(folder.path()).env_remove("CI");
    let mut child = command.stderr(Stdio::piped()).spawn().expect("duvet runs");
    let (sender, lines) = mpsc::channel();
    let stderr = BufReader::new(child.stderr.take().expect("its stderr"));
    std::thread::spawn(move || stderr.lines().map_while(Result::ok).try_for_each(|line| sender.send(line)));
    let until = |wanted: &str| loop {
        match lines.recv_timeout(Duration::from_secs(60)) {
            Ok(line) if line.contains(wanted) => return,
            Ok(_) => {}
            Err(_) => panic!("it never said {wanted}"),
        }
    };
    until("watching");
    fs::write(folder.path().join("src/lib.rs"), CITED).expect("written");
    until("not started → needs tests: spec-md#brewing  The pot MUST brew coffee.");
    until("0 done, 1 need tests, 0 in progress, 2 not started; 0 problems");
    fs::write(folder.path().join("src/lib.rs"), CITED.replace("#brewing", "#brewin")).expect("written");
    until("needs tests → not started");
    until("spec.md has no section `brewin`");
    child.kill().expect("it ends");
    child.wait().expect("it ended");
}

fn project(source: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let write = |path: &str, text: &str| {
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().expect("a folder")).expect("made");
        fs::write(path, text).expect("written");
    };
    write(".duvet/config.toml", CONFIG);
    write("spec.md", SPEC);
    write("src/lib.rs", source);
    folder
}

fn run(folder: &Path, arguments: &[&str]) -> (i32, String, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_duvet"))
        .args(arguments)
        .current_dir(folder)
        .env_remove("CI")
        .output()
        .expect("duvet runs");
    let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
    (output.status.code().expect("an exit code"), text(output.stdout), text(output.stderr))
}

#[track_caller]
fn check(folder: &Path, arguments: &[&str], code: i32, expected: Expect) {
    let (found, _, stderr) = run(folder, arguments);
    // How long a phase takes is not the same twice.
    let without_times = |line: &str| match line.rsplit_once(" (") {
        Some((start, end)) if end.ends_with("s)") => format!("{start} (*)\n"),
        _ => format!("{line}\n"),
    };
    expected.assert_eq(&stderr.lines().map(without_times).collect::<String>());
    assert_eq!(found, code);
}

/// Every file of a folder, in order.
fn listing(folder: &Path) -> Vec<String> {
    let mut files = Vec::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(next).expect("a folder").flatten() {
            let path = entry.path();
            match path.is_dir() {
                true => folders.push(path),
                false => files.push(path.strip_prefix(folder).expect("inside").display().to_string()),
            }
        }
    }
    files.sort_by_key(|path| (!path.starts_with("out/"), path.clone()));
    files
}

/// Answers requests with what there is for a path, and tells which paths were asked for.
fn serve(answers: &'static [(&str, &str, &str)]) -> (String, mpsc::Receiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = format!("http://{}", listener.local_addr().expect("an address"));
    let (sender, requests) = mpsc::channel();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let mut buffer = [0; 4096];
            let n_bytes = stream.read(&mut buffer).unwrap_or(0);
            let request = String::from_utf8_lossy(&buffer[..n_bytes]).into_owned();
            let path = request.split(' ').nth(1).unwrap_or_default().to_owned();
            let (_, status, body) = answers.iter().find(|(known, ..)| *known == path).expect("known");
            let _ = write!(
                stream,
                "HTTP/1.1 {status}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
                body.len()
            );
            if sender.send(path).is_err() {
                return;
            }
        }
    });
    (address, requests)
}
