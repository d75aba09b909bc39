//! Reports that are rejected: damaged, empty, hostile, or about something else.

use evidence::{CASES_MAX, DEPTH_MAX, MESSAGE_CHARS_MAX, NAME_BYTES_MAX, REPORT_BYTES_MAX, Source, read};
use expect_test::{Expect, expect};

use crate::kettle;

#[test]
fn a_report_that_says_nothing_is_rejected() {
    check(b"", expect!["report: the report is empty"]);
    check(b" \n\t\xEF\xBB\xBF", expect!["report: the report is empty"]);
    check(b"<testsuites/>", expect!["report: the report has no test case"]);
    check(
        b"<testsuites><testsuite name=\"pytest\" tests=\"0\"/></testsuites>",
        expect!["report: the report has no test case"],
    );
    check(b"<coverage/>", expect!["report: the report has no test case and no executed file"]);
    check(b"<report name=\"a\"/>", expect!["report: the report has no test case and no executed file"]);
    check(b"TN:\n", expect!["report: the report has no test case and no executed file"]);
    check(br#"{"testResults": []}"#, expect!["report: the report has no test case and no executed file"]);
    check(
        br#"{"type": "suite", "event": "started", "test_count": 0}"#,
        expect!["report: the report has no test case and no executed file"],
    );
    check(
        br#"{"Action": "start", "Package": "a"}"#,
        expect!["report: the report has no test case and no executed file"],
    );
    check(
        br#"{"data": [], "type": "llvm.coverage.json.export"}"#,
        expect!["report: the report has no test case and no executed file"],
    );
    check(
        br#"{"meta": {}, "files": {}}"#,
        expect!["report: the report has no test case and no executed file"],
    );
}

#[test]
fn a_truncated_report_is_rejected_as_a_whole() {
    check(
        b"<testsuites><testsuite name=\"a\">\n<testcase name=\"b\"/>\n",
        expect!["report:3: the report is truncated: it ends inside <testsuite>"],
    );
    check(
        b"<testsuites><testcase name=\"a\"/><testca",
        expect![
            "report:1: the report is truncated: syntax error: tag not closed: `>` not found before end of input"
        ],
    );
    check(
        b"<?xml version=\"1.0\"?>\n<!-- only",
        expect![
            "report:2: the report is truncated: syntax error: comment not closed: `-->` not found before end of input"
        ],
    );
    check(
        b"{\"testResults\": [{\"name\": \"a.js\",\n",
        expect!["report:2: the report is truncated: EOF while parsing an object"],
    );
    check(
        b"{\"type\": \"suite\", \"event\": \"started\", \"test_count\": 1}\n{\"type\": \"te",
        expect!["report:2: the report is truncated: EOF while parsing a string"],
    );
    check(
        b"{\"Action\": \"run\", \"Package\": \"a\", \"Test\": \"TestB\"}\n{\"Action\": ",
        expect!["report:2: the report is truncated: EOF while parsing a value"],
    );
    check(b"SF:a.c\nDA:1,1\n", expect!["report:3: the report is truncated: expected end_of_record"]);
}

/// However a real report is cut, either nothing of it is believed, or the run is known to be incomplete.
#[test]
fn every_truncated_report_is_rejected() {
    for name in [
        "pytest-xunit1.xml",
        "vitest.json",
        "jest.json",
        "jacoco.xml",
        "llvm-cov.json",
        "libtest.json",
        "go.json",
    ] {
        let bytes = kettle::recorded(name);
        let source = Source { name, root: kettle::ROOT, folder: "" };
        let whole = bytes.trim_ascii_end().len();
        for end in (0..whole).step_by(1 + whole / 300) {
            match read(&source, &bytes[..end]) {
                Ok(report) => assert!(report.incomplete.is_some(), "{name} cut at {end}"),
                Err(refusal) => assert!(!refusal.reason.is_empty()),
            }
        }
    }
}

#[test]
fn entities_and_declarations_are_not_read() {
    check(
        b"<?xml version=\"1.0\"?>\n<!DOCTYPE a [<!ENTITY b \"c\">]>\n<testsuites><testcase name=\"&b;\"/></testsuites>",
        expect!["report:2: a DOCTYPE with declarations of its own is not read"],
    );
    check(b"<testsuites>\n<testcase name=\"&b;\"/></testsuites>", expect!["report:2: unknown entity &b;"]);
    check(
        b"<testsuites><testcase name=\"a\"><failure>\n\n&xxe;</failure></testcase></testsuites>",
        expect!["report:3: unknown entity &xxe;"],
    );
}

#[test]
fn a_doctype_without_declarations_is_accepted_and_never_fetched() {
    let text = "<!DOCTYPE coverage SYSTEM \"http://cobertura.sourceforge.net/xml/coverage-04.dtd\">\n<coverage><packages><package><classes><class filename=\"a.js\"><lines><line number=\"1\" hits=\"1\"/></lines></class></classes></package></packages></coverage>";
    assert_eq!(read(&source(), text.as_bytes()).expect("a report").coverage[0].file, "a.js");
}

#[test]
fn depth_is_bounded() {
    let deep = |n: usize| {
        let (open, close) = ("<testsuite name=\"a\">".repeat(n), "</testsuite>".repeat(n));
        format!("<testsuites>\n{open}<testcase name=\"b\"/>{close}</testsuites>").into_bytes()
    };
    assert!(read(&source(), &deep(DEPTH_MAX - 2)).is_ok());
    check(&deep(DEPTH_MAX), expect!["report:2: elements are nested deeper than 100"]);
    check(&deep(100_000), expect!["report:2: elements are nested deeper than 100"]);
    let json = |n: usize| {
        format!("{{\"testResults\": [],\n\"a\": {}{}}}", "[".repeat(n), "]".repeat(n)).into_bytes()
    };
    check(&json(DEPTH_MAX - 1), expect!["report: the report has no test case and no executed file"]);
    check(&json(DEPTH_MAX), expect!["report:2: values are nested deeper than 100"]);
    check(&json(1_000_000), expect!["report:2: values are nested deeper than 100"]);
    let line = format!("{{\"Action\": \"run\"}}\n{{\"a\": {}}}", "[".repeat(200_000));
    check(line.as_bytes(), expect!["report:2: values are nested deeper than 100"]);
}

#[test]
fn names_and_messages_are_bounded() {
    let named =
        |n: usize| format!("<testsuites>\n<testcase name=\"{}\"/></testsuites>", "a".repeat(n)).into_bytes();
    assert!(read(&source(), &named(NAME_BYTES_MAX)).is_ok());
    check(&named(NAME_BYTES_MAX + 1), expect!["report:2: the name of a test is longer than 8192 bytes"]);
    let parts = format!(
        "{{\"testResults\": [{{\"name\": \"a.js\", \"status\": \"passed\", \"assertionResults\": [{{\"ancestorTitles\": [{}\"\"], \"title\": \"b\", \"status\": \"passed\"}}]}}]}}",
        "\"\",".repeat(1_000)
    );
    check(parts.as_bytes(), expect!["report:1: the name of a test has more than 100 parts"]);
    let said = format!(
        "<testsuites><testcase name=\"a\"><failure message=\"{}\"/></testcase></testsuites>",
        "ü".repeat(100_000)
    );
    let report = read(&source(), said.as_bytes()).expect("a report");
    assert_eq!(report.cases[0].message.as_ref().expect("a message").chars().count(), MESSAGE_CHARS_MAX);
    let links = format!(
        "<testsuites><testcase name=\"a\"><properties><property name=\"verifies\" value=\"{}\"/></properties></testcase></testsuites>",
        "REQ-1 ".repeat(200)
    );
    check(links.as_bytes(), expect!["report:1: a test case verifies more than 100 things"]);
    let attributes: String = (0..200).map(|n| format!(" a{n}=\"\"")).collect();
    check(
        format!("<testsuites>\n<testcase name=\"a\"{attributes}/></testsuites>").as_bytes(),
        expect!["report:2: an element has more than 100 attributes"],
    );
}

#[test]
fn the_number_of_cases_is_bounded() {
    let cases: String = (0..=CASES_MAX).map(|n| format!("<testcase name=\"{n}\"/>\n")).collect();
    check(
        format!("<testsuites>\n{cases}</testsuites>").as_bytes(),
        expect!["report:1000002: expected at most 1000000 test cases"],
    );
}

#[test]
fn the_size_is_bounded() {
    check(
        &vec![0; REPORT_BYTES_MAX + 1],
        expect!["report: expected at most 536870912 bytes, found 536870913"],
    );
}

#[test]
fn paths_stay_inside_of_the_repository() {
    check(
        b"<testsuites>\n<testcase name=\"a\" file=\"../../etc/passwd\"/></testsuites>",
        expect!["report:2: the path ../../etc/passwd leads out of the repository"],
    );
    check(
        b"<testsuites>\n<testcase name=\"a\" file=\"/etc/passwd\"/></testsuites>",
        expect!["report:2: the path /etc/passwd is not in the repository /kettle"],
    );
    check(
        b"<testsuites>\n<testcase name=\"a\" file=\"/kettle/../etc/passwd\"/></testsuites>",
        expect!["report:2: the path /kettle/../etc/passwd leads out of the repository"],
    );
    check(
        b"<testsuites>\n<testcase name=\"a\" file=\"C:\\Windows\\a\"/></testsuites>",
        expect![[r#"report:2: the path C:\Windows\a is not in the repository /kettle"#]],
    );
    check(b"<testsuites>\n<testcase name=\"a\" file=\"a\tb\"/>\n<testcase name=\"a\" file=\"a&#10;b\"/></testsuites>", expect![[r#"report:3: the path "a\nb" has control characters"#]]);
    check(
        b"TN:\nSF:a/../../b.c\nDA:1,1\nend_of_record\n",
        expect!["report:2: the path a/../../b.c leads out of the repository"],
    );
    check(
        b"TN:\nSF:/usr/include/b.h\nDA:1,1\nend_of_record\n",
        expect!["report:2: no file is in the repository /kettle; the first is /usr/include/b.h"],
    );
    check(
        br#"{"testResults": [{"name": "/etc/a.test.js", "status": "passed", "assertionResults": []}]}"#,
        expect!["report:1: the path /etc/a.test.js is not in the repository /kettle"],
    );
    check(
        b"{\"meta\": {},\n\"files\": {\"../a.py\": {\"executed_lines\": [1]}}}",
        expect!["report:2: the path ../a.py leads out of the repository"],
    );
    check(b"{\"type\": \"llvm.coverage.json.export\", \"data\": [{\"files\":\n[{\"filename\": \"../a.c\", \"segments\": []}]}]}", expect!["report:2: the path ../a.c leads out of the repository"]);
    check(
        b"<coverage>\n<class filename=\"../a.py\"/></coverage>",
        expect!["report:2: the path ../a.py leads out of the repository"],
    );
    check(
        b"<report name=\"a\">\n<package name=\"..\">\n<sourcefile name=\"A.java\"/></package></report>",
        expect!["report:3: the path ../A.java leads out of the repository"],
    );
}

#[test]
fn what_is_not_a_report_is_said_so() {
    check(b"\x7FELF\x02\xFF", expect!["report:1: expected UTF-8"]);
    check(
        b"%PDF-1.4",
        expect![
            "report:1: unknown format; expected JUnit, libtest JSON, go test -json, jest or vitest JSON, LCOV, llvm-cov JSON, Cobertura, JaCoCo or coverage.py JSON"
        ],
    );
    check(
        b"<html><body/></html>",
        expect!["report: expected <testsuites>, <testsuite>, <coverage> or <report>, found <html>"],
    );
    check(
        b"{\"a\": 1}",
        expect![
            "report:1: unknown JSON; expected testResults (jest, vitest), data (llvm-cov) or files (coverage.py)"
        ],
    );
    check(
        b"[1]",
        expect![
            "report:1: unknown format; expected JUnit, libtest JSON, go test -json, jest or vitest JSON, LCOV, llvm-cov JSON, Cobertura, JaCoCo or coverage.py JSON"
        ],
    );
    check(b"{\"testResults\": 3}", expect!["report:1: invalid type: integer `3`, expected a sequence"]);
    check(b"<testsuites><testcase/></testsuites>", expect!["report:1: <testcase> has no `name`"]);
    check(
        b"<testsuites><testcase name=\"a\" line=\"x\"/></testsuites>",
        expect!["report:1: line: expected a number, found x"],
    );
    check(
        b"<testsuites><testcase name=\"a\"><testcase name=\"b\"/></testcase></testsuites>",
        expect!["report:1: <testcase> inside of <testcase>"],
    );
    check(
        b"<testsuites></testsuite>",
        expect!["report:1: ill-formed document: expected `</testsuites>`, but `</testsuite>` was found"],
    );
    check(
        b"<testsuites><testcase name=\"a\"/></testsuites><testsuites/>",
        expect!["report:1: expected the end of the report after its root element"],
    );
    check(
        b"DA:1,1\n",
        expect![
            "report:1: unknown format; expected JUnit, libtest JSON, go test -json, jest or vitest JSON, LCOV, llvm-cov JSON, Cobertura, JaCoCo or coverage.py JSON"
        ],
    );
    check(b"SF:a.c\nDA:x,1\nend_of_record\n", expect!["report:2: expected DA:line,hits, found DA:x,1"]);
    check(
        b"SF:a.c\nDA:0,1\nend_of_record\n",
        expect!["report:2: expected a line from 1 to 10000000, found 0"],
    );
    check(
        b"SF:a.c\nDA:4294967295,1\nend_of_record\n",
        expect!["report:2: expected a line from 1 to 10000000, found 4294967295"],
    );
    check(b"SF:a.c\nSF:b.c\n", expect!["report:2: expected end_of_record before SF:"]);
    check(
        b"{\"type\": \"llvm.coverage.json.export\", \"data\": [{\"files\": [{\"filename\": \"a.c\", \"segments\": [[1,1,1,true,true],[4000000000,1,0,false,false]]}]}]}",
        expect!["report:1: expected a line from 1 to 10000000, found 10000001"],
    );
}

fn source() -> Source<'static> {
    Source { name: "report", root: "/kettle", folder: "" }
}

#[track_caller]
fn check(bytes: &[u8], expected: Expect) {
    let refusal = read(&source(), bytes).expect_err("a refusal");
    expected.assert_eq(&refusal.to_string());
}
