//! What is said about files that are not right, and that the rest of them is read.

use exchange::{Format, PROBLEMS_MAX, read};
use expect_test::{Expect, expect};

use crate::{told, told_of};

#[test]
fn a_spreadsheet_with_mistakes() {
    check(
        Format::Csv,
        "Kind;Titel;Title;Priority;User Story;epic\n\
         epic;;Sign in;high;;\n\
         Epic;;Sign out;2;;\n\
         epik;;Sign up;;;\n\
         user_story;;\"Two\nlines\";;;\n\
         ;;;;;\n\
         requirement;;Links expire;TRUE;US-001;EP-001;more\n\
         requirement;lost;Links expire;;US-001;\n",
        expect![[r#"
            epic title="Sign out" priority="2"
            requirement user_story="US-001" title="Links expire"
            problem: row 1 (line 1): Titel: unknown column; did you mean `title`?
            problem: row 2 (line 2): priority: expected a whole number, found "high"
            problem: row 4 (line 4): kind: unknown kind "epik"; did you mean `epic`?
            problem: row 5 (line 5): epic: expected text, found nothing: user_story needs it
            problem: row 7 (line 8): expected 6 cells, found one more: "more"
            problem: row 7 (line 8): priority: expected a whole number, found "TRUE"
            problem: row 7 (line 8): epic: unknown field of requirement; it has reference_id, id, user_story, acceptance_criteria, type, title, description, rationale, labels, priority, status, creator, assignee, version, created_at, updated_at, deleted_at, aliases
        "#]],
    );
}

#[test]
fn rows_and_lines_are_those_of_the_sheet() {
    // CRLF, as Excel writes it.
    check(
        Format::Csv,
        "kind,title,priority\r\nepic,a,high\r\nepic,b,high\r\n",
        expect![[r#"
        problem: row 2 (line 2): priority: expected a whole number, found "high"
        problem: row 3 (line 3): priority: expected a whole number, found "high"
    "#]],
    );
    // Blank lines, with any line end, before the header too.
    for line_end in ["\n", "\r\n", "\r"] {
        let text = ["", "kind,title,priority", "", "", "epic,a,high", "epic,b,high"].join(line_end);
        let told = told_of(Format::Csv, &text);
        assert!(told.starts_with("problem: row 5 (line 5)"), "{line_end:?} {told}");
        assert!(told.contains("problem: row 6 (line 6)"), "{line_end:?} {told}");
    }
    // Cells of several lines.
    for line_end in ["\n", "\r\n"] {
        let text = ["kind,title,priority", "epic,\"a", "", "b\",high", "", "epic,b,high", ""].join(line_end);
        let told = told_of(Format::Csv, &text);
        assert!(told.starts_with("problem: row 2 (line 2)"), "{line_end:?} {told}");
        assert!(told.contains("problem: row 4 (line 6)"), "{line_end:?} {told}");
    }
}

#[test]
fn a_cell_below_a_column_without_a_name_is_not_lost() {
    check(
        Format::Csv,
        "kind,title, ,priority,\nepic,a,,1,\nepic,b,lost,1,\nepic,c, ,9x,found\n",
        expect![[r#"
            epic title="a" priority="1"
            problem: row 3 (line 3): column 3: expected nothing below a column without a name, found "lost"
            problem: row 4 (line 4): column 5: expected nothing below a column without a name, found "found"
            problem: row 4 (line 4): priority: expected a whole number, found "9x"
        "#]],
    );
}

#[test]
fn a_cell_ends_with_its_closing_quote() {
    check(
        Format::Csv,
        "kind,title,description\n\
         epic,\"a\"x,\n\
         epic,\"b\",\"two\nlines\"!\n\
         epic,\"a \"\"quoted\"\" word\" ,an \"odd\" one\n\
         epic,\"\",\"\"\"\"\n\
         epic,\"c\",\"d\"\r\n",
        expect![[r#"
            epic title="a \"quoted\" word " description="an \"odd\" one"
            epic title="c" description="d"
            problem: row 2 (line 2): expected the end of the cell after its closing quote ("), found more; write a quote within a cell twice
            problem: row 3 (line 4): expected the end of the cell after its closing quote ("), found more; write a quote within a cell twice
            problem: row 5 (line 6): title: expected text, found nothing: epic needs it
        "#]],
    );
}

#[test]
fn a_table_without_kinds() {
    check(
        Format::Csv,
        "title,description\nSign in,Soon\n",
        expect![[r#"
        problem: row 1 (line 1): kind: expected this column, found none: it says of each row what it is, such as `requirement`
    "#]],
    );
}

#[test]
fn a_table_that_is_too_wide() {
    check(
        Format::Csv,
        &format!("kind{}\nepic\n", ",x".repeat(1_000)),
        expect![[r#"
        problem: row 1 (line 1): expected at most 1000 columns, found 1001
    "#]],
    );
}

#[test]
fn a_table_with_a_quote_that_is_never_closed() {
    check(
        Format::Csv,
        "kind,title\nepic,Sign in\nepic,\"Sign out\nepic,Sign up\n",
        expect![[r#"
        epic title="Sign in"
        problem: row 3 (line 3): a quote (") opens here or later and is never closed
    "#]],
    );
}

#[test]
fn tables_with_tabs_byte_order_marks_and_windows_line_ends() {
    check(
        Format::Csv,
        "\u{feff}kind\ttitle\tinitial\r\nepic\tSign in\t\r\nepic\t'tis the season\r\nepic\t'=1+1\r\n",
        expect![[r#"
            epic title="Sign in"
            epic title="'tis the season"
            epic title="=1+1"
        "#]],
    );
}

#[test]
fn a_table_in_another_encoding() {
    let mut bytes = b"kind,title\nepic,Sign in\nepic,".to_vec();
    bytes.extend([0xcf, 0xe0, 0xf0, b'\n']);
    expect![[r#"
        epic title="Sign in"
        problem: row 3 (line 3): title: expected text, found another encoding in "���"; save the table as CSV UTF-8
    "#]]
    .assert_eq(&told(&read(Format::Csv, &bytes)));
}

#[test]
fn json_with_mistakes() {
    check(
        Format::Json,
        r#"{"format": "spexus", "version": 1, "record": 1, "records": [
          {"kind": "epic", "titel": "Sign in"},
          {"kind": "epic", "title": "Sign in", "priority": "high"},
          {"kind": "epic", "title": "Sign in", "priority": 2.5, "status": ["Draft"], "title": "again"},
          {"kind": "epic", "title": "bad \ud800 text"},
          {"kind": "epic", "title": "NUL \u0000"},
          {"kind": "milestone"}, {"title": "Sign in"}, "epic",
          {"kind": "epic", "title": "Sign out", "description": null, "priority": 3}
        ]}"#,
        expect![[r#"
            epic title="Sign out" priority="3"
            problem: line 1: record: unknown key; expected `format`, `version` and `records`
            problem: records[0] (line 2): titel: unknown field of epic; did you mean `title`?
            problem: records[0] (line 2): title: expected text, found nothing: epic needs it
            problem: records[1] (line 3): priority: expected a whole number, found "high"
            problem: records[2] (line 4): priority: expected a whole number, found 2.5
            problem: records[2] (line 4): status: expected text, found a list
            problem: records[2] (line 4): title: expected once, found twice
            problem: records[3] (line 5): title: expected text, found "bad \ud800 text"
            problem: records[4] (line 6): title: expected text, found a NUL character
            problem: records[5] (line 7): kind: unknown kind "milestone"; expected one of project, requirement_type, relationship_type, status, transition, epic, user_story, acceptance_criteria, requirement, relationship, steering_document, steering_link, comment, prompt
            problem: records[6] (line 7): kind: expected one of project, requirement_type, relationship_type, status, transition, epic, user_story, acceptance_criteria, requirement, relationship, steering_document, steering_link, comment, prompt, found nothing
            problem: records[7] (line 7): expected an object with `kind` and fields, found "epic"
        "#]],
    );
}

#[test]
fn json_of_another_version() {
    check(
        Format::Json,
        r#"{"format": "other", "version": 2}"#,
        expect![[r#"
            problem: line 1: format: expected "spexus", found "other"
            problem: line 1: version: expected 1, found 2
            problem: line 1: records: expected a list of records, found nothing
        "#]],
    );
    check(
        Format::Json,
        "{\n  \"records\": [,]\n}",
        expect![[r#"
        problem: line 2: expected JSON, found a mistake at column 15: expected value
    "#]],
    );
    check(
        Format::Json,
        "17",
        expect![[r#"
        problem: line 1: expected an object with `records`, or a list of records, found 17
    "#]],
    );
    check(
        Format::Json,
        &"[".repeat(100_000),
        expect![[r#"
        problem: line 1: expected JSON, found a mistake at column 100000: EOF while parsing a list
    "#]],
    );
}

#[test]
fn markdown_with_mistakes() {
    check(
        Format::Markdown,
        "Some words.\n\
         ---\nkind: epic\npriority: high\n---\n# Sign in\n\n\
         ---\nkind: epic\ntitel: Sign in\n---\n\n\
         ---\nkind: epic\ndescription: here\n---\n# Sign in\n\nand here\n\n\
         ---\nkind: epic\nstatus: [Draft]\n---\n# Sign in\n\n\
         ---\nkind: epic\nstatus: Draft\nstatus: Done\n---\n# Sign in\n\n\
         ---\nkind: steering_link\nepic: EP-001\nsteering_document: STD-001\n---\nText\n\n\
         ---\nkind: epic\n# Not closed\n\n\
         ---\nkind: epic\n---\n# Good: 1\n\nBody\n---\nwith a rule\n",
        expect![[r#"
            epic title="Good: 1" description="Body\n---\nwith a rule"
            problem: line 1: expected `---` and then `kind: …`, found text before any record
            problem: line 4: priority: expected a whole number, found "high"
            problem: line 10: titel: unknown field of epic; did you mean `title`?
            problem: line 8: title: expected text, found nothing: epic needs it
            problem: line 19: description: expected once, found twice
            problem: line 23: expected lines like `status: Draft`, found a list or a mapping where a text should be
            problem: line 30: expected lines like `status: Draft`, found duplicate mapping key: status
            problem: line 39: expected nothing below the front matter of steering_link, found text
            problem: line 41: expected a line `---` and a blank line after the front matter, found none
        "#]],
    );
}

#[test]
fn markdown_with_windows_line_ends_and_plain_values() {
    check(
        Format::Markdown,
        "---\r\nkind: user story\r\nepic: 42\r\nassignee: yes\r\nstatus: ~\r\n---\r\n\r\n# Sign in\r\n\r\nOne\r\ntwo\r\n",
        expect![[r#"
            user_story epic="42" title="Sign in" description="One\ntwo" assignee="yes"
        "#]],
    );
}

#[test]
fn yaml_cannot_grow() {
    check(
        Format::Markdown,
        "---\nkind: epic\ntitle: &a very long\nstatus: *a\n---\n",
        expect![[r#"
            problem: line 4: expected lines like `status: Draft`, found an alias (`*name`); quote the text if it begins with `*`
        "#]],
    );
}

#[test]
fn reqif_with_mistakes() {
    check(
        Format::Reqif,
        "<REQ-IF><CORE-CONTENT></REQ-IF>",
        expect![[r#"
        problem: line 1: expected XML, found a mistake: ill-formed document: expected `</CORE-CONTENT>`, but `</REQ-IF>` was found
    "#]],
    );
    check(
        Format::Reqif,
        "<html/>",
        expect![[r#"
        problem: line 1: expected <REQ-IF> with <CORE-CONTENT>, found <html>
    "#]],
    );
    check(
        Format::Reqif,
        "",
        expect![[r#"
        problem: line 1: expected XML, found a mistake: found no element
    "#]],
    );
    let attributes: String = (0..1_000).map(|index| format!(" a{index}=''")).collect();
    check(
        Format::Reqif,
        &format!("<REQ-IF{attributes}/>"),
        expect![[r#"
        problem: line 1: expected XML, found a mistake: an element has more than 100 attributes
    "#]],
    );
    check(
        Format::Reqif,
        &"<a>".repeat(1_000),
        expect![[r#"
        problem: line 1: expected XML, found a mistake: elements are nested deeper than 256
    "#]],
    );
}

#[test]
fn xml_cannot_grow() {
    check(
        Format::Reqif,
        "<!DOCTYPE x [<!ENTITY a \"aaaa\"><!ENTITY b \"&a;&a;\">]>\n<REQ-IF>&b;</REQ-IF>",
        expect![[r#"
            problem: line 2: expected XML, found a mistake: unknown entity &b;
        "#]],
    );
    check(
        Format::Reqif,
        "<!DOCTYPE x [<!ENTITY a SYSTEM \"file:///etc/passwd\">]>\n<REQ-IF a=\"&a;\"/>",
        expect![[r#"
            problem: line 2: expected XML, found a mistake: at 1..2: unrecognized entity `a`
        "#]],
    );
}

#[test]
fn archives_and_utf16_are_recognised() {
    for bytes in [&b"PK\x03\x04"[..], b"\xff\xfek\0"] {
        for format in Format::ALL {
            let reading = read(format, bytes);
            assert_eq!(reading.problems.len(), 1, "{format:?}");
            assert!(reading.problems[0].message.contains("save"), "{}", reading.problems[0]);
        }
    }
}

#[test]
fn nothing_at_all_is_a_problem_in_every_format() {
    for format in Format::ALL {
        assert_eq!(read(format, b"").problems.len(), 1, "{format:?}");
        assert_eq!(read(format, b"\n").problems.len(), 1, "{format:?}");
    }
}

#[test]
fn problems_are_counted_when_there_are_too_many() {
    let text = format!("kind,title\n{}epic,Sign in\n", "epik,\n".repeat(PROBLEMS_MAX + 7));
    let reading = read(Format::Csv, text.as_bytes());
    assert_eq!(reading.records.len(), 1);
    assert_eq!(reading.problems.len(), PROBLEMS_MAX + 1);
    assert_eq!(reading.problems[PROBLEMS_MAX].to_string(), "the file: 7 more like these are not listed");
}

#[track_caller]
fn check(format: Format, text: &str, expected: Expect) {
    expected.assert_eq(&told_of(format, text));
}
