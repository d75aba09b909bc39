//! `duvet query` as scripts meet it: its flags, its exit codes, and where it writes.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

#[test]
fn exit_codes_tell_verdicts_from_wrong_usage() {
    let folder = tempfile::tempdir().expect("a folder");
    project(folder.path());
    let coverage = ["-r", "*.xml", "-f", "jacoco-xml"];
    for (code, arguments) in [
        (0, &[][..]),
        (0, &["-v", "-s", "spec.md"]),
        (0, &["-c", "test"]),
        (0, &["--check", "tests,duplicates"]),
        (0, &["-c", "implementations", "-s", "spec.md#brewing"]),
        (1, &["-c", "implementation"]),
        (1, &["-c", "test", "-c", "implementation"]),
        (1, &["-c", "implementation", "-q", "TEA"]),
        (0, &["-c", "implementation", "-q", "TEA", "-s", "spec.md#brewing"]),
        (0, &["-c", "coverage", "-r", "good.xml", "--coverage-format", "jacoco-xml"]),
        (0, &["-c", "executed-coverage", "--coverage-report", "nothing.xml", "-f", "jacoco-xml"]),
        (1, &["-c", "coverage", "-r", "nothing.xml", "-f", "jacoco-xml"]),
        (1, &[&["-c", "coverage"], &coverage[..]].concat()),
        (0, &[&["-c", "test"], &coverage[..]].concat()),
        (1, &["-c", "coverage", "-r", "[", "-f", "jacoco-xml"]),
        (2, &["-c", "coverage"]),
        (2, &["-c", "test,executed-coverage", "-r", "good.xml"]),
        (2, &["-c", "coverage", "-r", "good.xml", "-f", "lcov"]),
        (2, &["-c", "Test"]),
        (2, &["-c", "test,"]),
        (2, &["-c"]),
    ] {
        let (found, _, stderr) = run(folder.path(), arguments);
        assert_eq!(found, code, "{arguments:?}: {stderr}");
        assert!(!stderr.contains("panicked"), "{arguments:?}: {stderr}");
    }
}

#[test]
fn without_a_check_there_is_help() {
    let folder = tempfile::tempdir().expect("a folder");
    let (code, stdout, stderr) = run(folder.path(), &[]);
    assert_eq!((code, stderr.as_str()), (0, ""));
    for flag in ["--check", "--section", "--quote", "--coverage-report", "--coverage-format", "--verbose"] {
        assert!(stdout.contains(flag), "{flag} is missing in {stdout}");
    }
}

#[test]
fn the_answer_is_on_standard_output_and_doubts_are_not() {
    let folder = tempfile::tempdir().expect("a folder");
    project(folder.path());
    let (_, stdout, stderr) =
        run(folder.path(), &["-c", "implementation", "-s", "spec.md#brew", "--format", "json"]);
    let answer: Value = serde_json::from_str(&stdout).expect("JSON");
    assert_eq!((&answer["passed"], &answer["checks"][0]["findings"]), (&true.into(), &Value::Array(vec![])));
    assert!(stderr.contains("no annotation is about `spec.md#brew`"), "{stderr}");
    assert!(stderr.contains("there is `spec.md#brewing`"), "{stderr}");

    let (_, stdout, stderr) = run(folder.path(), &["-c", "coverage", "-r", "bad.xml", "-f", "jacoco-xml"]);
    assert_eq!(stdout, "");
    assert!(stderr.contains("bad.xml:2 is not a JaCoCo report"), "{stderr}");

    let empty = tempfile::tempdir().expect("a folder");
    let (code, stdout, stderr) = run(empty.path(), &["-c", "test"]);
    assert_eq!((code, stdout.as_str()), (0, "test: passed, 0 of 0 implementations are tested\npassed\n"));
    assert!(stderr.contains("there are no annotations here"), "{stderr}");
}

fn run(folder: &Path, arguments: &[&str]) -> (i32, String, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_duvet"))
        .arg("query")
        .args(arguments)
        .current_dir(folder)
        .output()
        .expect("duvet starts");
    let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
    (output.status.code().expect("an exit code"), text(output.stdout), text(output.stderr))
}

/// A pot that brews, tested, and tea that nobody makes.
fn project(folder: &Path) {
    let line = |number: u8| format!("<line nr='{number}' mi='0' ci='1' mb='0' cb='0'/>");
    let report = format!(
        "<report name='pot'><package name='src'><sourcefile name='Pot.java'>{}{}</sourcefile></package></report>",
        line(4),
        line(10),
    );
    let java = "class Pot {\n    //= spec.md#brewing\n    //# The pot MUST brew.\n    void brew() { boil(); }\n\n    \
                @Test\n    //= spec.md#brewing\n    //= type=test\n    //# The pot MUST brew.\n    \
                void brews() { brew(); }\n}\n";
    for (path, text) in [
        (
            ".duvet/config.toml",
            "'$schema' = 'https://awslabs.github.io/duvet/config/v0.4.0.json'\n\
             [[specification]]\nsource = 'spec.md'\n[[source]]\npattern = 'src/**/*.java'\n",
        ),
        ("spec.md", "# Pot\n\n## Brewing\n\nThe pot MUST brew.\n\n## Tea\n\nTea MAY be made.\n"),
        ("src/Pot.java", java),
        ("good.xml", &report),
        ("bad.xml", "<report>\n<package>\n"),
    ] {
        let path = folder.join(path);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        fs::write(path, text).expect("a file");
    }
}
