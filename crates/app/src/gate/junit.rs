//! Findings as JUnit XML, which CI systems show as tests: a case for each finding, and for each rule that found nothing.

use std::fmt::Write as _;

use super::Findings;
use super::rule::{Fact, Rule};
use super::text::place;
use crate::duvet::escape_xml;

/// Writes findings.
pub fn write(found: &Findings) -> String {
    let of_rule = |rule: Rule| found.findings.iter().filter(move |finding| finding.rule == rule);
    let n_cases: usize = Rule::ALL.into_iter().map(|rule| of_rule(rule).count().max(1)).sum();
    let mut text = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"spexus\">\n");
    let _ = writeln!(
        text,
        "  <testsuite name=\"spexus check\" tests=\"{n_cases}\" failures=\"{}\">",
        found.n_failing()
    );
    for rule in Rule::ALL {
        if of_rule(rule).next().is_none() {
            let _ = writeln!(text, "    <testcase classname=\"{0}\" name=\"{0}\"/>", rule.name());
        }
        for finding in of_rule(rule) {
            case(&mut text, finding, found.fails(finding));
        }
    }
    if !found.notes.is_empty() {
        let _ = writeln!(text, "    <system-out>{}</system-out>", escape_xml(&found.notes.join("; ")));
    }
    text + "  </testsuite>\n</testsuites>\n"
}

fn case(text: &mut String, finding: &Fact, fails: bool) {
    let name = escape_xml(&format!("{} {}", place(finding), finding.subject));
    let _ = write!(text, "    <testcase classname=\"{}\" name=\"{name}\"", finding.rule.name());
    if !fails {
        *text += "/>\n";
        return;
    }
    let _ = write!(text, "><failure message=\"{}\">", escape_xml(&finding.message));
    for line in finding.help.iter().flat_map(|help| help.lines()) {
        let _ = write!(text, "\n{}", escape_xml(line));
    }
    *text += "\n</failure></testcase>\n";
}
