//! Fuzz target: reports from arbitrary pieces.
//!
//! `cargo test` runs a bounded number of random inputs; `cargo bolero test fuzz::any_pieces_give_a_report_or_a_refusal
//! -p evidence` searches with a fuzzing engine for as long as it is left to.

use bolero::check;

use crate::any_bytes;

/// Pieces that random bytes would hardly ever make, by the byte that stands for each.
const PIECES: [&str; 48] = [
    "<testsuites name=\"pytest tests\">",
    "<testsuites name=\"vitest tests\">",
    "<testsuites>",
    "</testsuites>",
    "<testsuite name=\"a\">",
    "</testsuite>",
    "<testcase name=\"b[1]\" classname=\"a.C\" time=\"0\">",
    "<testcase name=\"b\" classname=\"test\" file=\"a.py\" line=\"1\"/>",
    "</testcase>",
    "<failure message=\"&#1;\"/>",
    "<skipped type=\"todo\"/>",
    "<flakyFailure/>",
    "<!-- fail 18446744073709551615 -->",
    "<![CDATA[",
    "]]>",
    "<!DOCTYPE a [",
    "&amp;",
    "<coverage>",
    "<source>/kettle</source>",
    "<class filename=\"a.js\">",
    "<line number=\"4000000000\" hits=\"1\"/>",
    "<report>",
    "<package name=\"a\"><sourcefile name=\"b\">",
    "<line nr=\"1\" ci=\"1\"/>",
    "SF:a.c\n",
    "DA:1,1\n",
    "end_of_record\n",
    "TN:x\n",
    "{\"Action\":\"run\",\"Package\":\"a\",\"Test\":\"TestA/b\"}\n",
    "{\"Action\":\"fail\",\"Package\":\"a\"}\n",
    "FAIL\ta [build failed]\n",
    "{\"type\":\"suite\",\"event\":\"started\"}\n",
    "{\"type\":\"test\",\"event\":\"started\",\"name\":\"a::b\"}\n",
    "{\"type\":\"test\",\"event\":\"ok\",\"name\":\"a::b\",\"exec_time\":-1e308}\n",
    "{\"testResults\":[{\"name\":\"a.js\",\"status\":\"failed\",\"assertionResults\":[",
    "{\"title\":\"b\",\"status\":\"passed\",\"invocations\":18446744073709551615}",
    "]}]}",
    "{\"type\":\"llvm.coverage.json.export\",\"data\":[{\"files\":[{\"filename\":\"a.c\",\"segments\":[",
    "[1,1,1,true,true,false],",
    "[2,1,1e308,false,false,false]",
    "{\"meta\":{},\"files\":{\"a.py\":{\"executed_lines\":[1],\"contexts\":{\"1\":[\"a.py::b[|run\"]}}}}",
    "{",
    "}",
    "[",
    "]",
    "\"",
    "\n",
    "\u{FEFF}",
];

#[test]
fn any_pieces_give_a_report_or_a_refusal() {
    check!().with_iterations(5_000).with_max_len(60).for_each(|input: &[u8]| {
        let mut bytes = Vec::new();
        for byte in input {
            match PIECES.get(usize::from(*byte)) {
                Some(piece) => bytes.extend_from_slice(piece.as_bytes()),
                None => bytes.extend_from_slice(PIECES[usize::from(*byte) % PIECES.len()].as_bytes()),
            }
            // One in eight is the byte itself, in the middle of what the pieces make.
            if *byte >= 224 {
                bytes.push(*byte);
            }
        }
        any_bytes::check(&bytes);
    });
}
