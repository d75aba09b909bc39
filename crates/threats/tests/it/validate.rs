//! What is wrong with a pattern.

use expect_test::{Expect, expect};
use threats::{Library, validate};

use crate::{TMKB, file};

#[test]
fn the_originals_and_ours_have_neither_errors_nor_warnings() {
    for library in [&*TMKB, &Library::builtin(&["all"]).unwrap()] {
        for (_, findings) in validate::all(library) {
            assert_eq!(findings, []);
        }
    }
}

#[test]
fn an_empty_pattern_lacks_everything() {
    check(
        &file("X-Y-001", ""),
        expect![[r#"
        [error] X-Y-001: name - required, found nothing
        [error] X-Y-001: tier - required, found nothing
        [error] X-Y-001: category - required, found nothing
        [error] X-Y-001: severity - required, found nothing
        [error] X-Y-001: description - required, found nothing
        [error] X-Y-001: agent_summary.threat - required, found nothing
        [error] X-Y-001: agent_summary.check - required, found nothing
        [error] X-Y-001: agent_summary.fix - required, found nothing
        [error] X-Y-001: mitigations - expected at least one, found none
        [warning] X-Y-001: version - recommended, found nothing
        [warning] X-Y-001: language - recommended, found nothing
        [warning] X-Y-001: framework - recommended, found nothing
        [warning] X-Y-001: likelihood - recommended, found nothing
        [warning] X-Y-001: provenance.source_type - recommended, found nothing
        [warning] X-Y-001: triggers.keywords - recommended, found nothing
    "#]],
    );
}

#[test]
fn values_are_checked_against_what_is_known() {
    let lines = "name: n\ntier: C\nversion: '1'\nlast_updated: yesterday\ncategory: c\nlanguage: l\nframework: f\n\
                 severity: hihg\nlikelihood: often\nprovenance: {source_type: s, public_references: [{cwe: '862', url: example.org}]}\n\
                 triggers: {keywords: [a, A, '']}\ndescription: d\nagent_summary: {threat: t, check: c, fix: f}\n\
                 attack_scenario: {impact: {integrity: total}}\n\
                 mitigations:\n- {id: M, description: d, effectiveness: very, implementation_effort: HIGH}\n- {id: M, description: d, code_examples: [{}]}\n\
                 related_patterns: [{id: X-Y-002}, {id: X-Y-01}, {id: X-Y-001}]\n\
                 stride: [tampering, tamper]\nmappings: {cwe: [CWE-1, 79], capec: [CAPEC-x], asvs: [v5.0.0-8.2.2, 8.2]}\n\
                 signals: ['']\nacceptance_criteria: [' ']\nexploit_test: {language: python}";
    check(
        &file("X-Y-001", lines),
        expect![[r#"
        [error] X-Y-001: tier - expected A, B, found "C"
        [error] X-Y-001: severity - expected critical, high, medium, low, found "hihg"; did you mean "high"?
        [error] X-Y-001: likelihood - expected high, medium, low, found "often"
        [error] X-Y-001: triggers.keywords[2] - expected text, found nothing
        [error] X-Y-001: mitigations[0].effectiveness - expected very high, high, medium, low, found "very"
        [error] X-Y-001: mitigations[1].id - expected each id once, found M again
        [error] X-Y-001: related_patterns[0].id - expected the id of a loaded pattern, found "X-Y-002"; did you mean "X-Y-001"?
        [error] X-Y-001: related_patterns[1].id - expected the id of a loaded pattern, found "X-Y-01"; did you mean "X-Y-001"?
        [error] X-Y-001: stride[1] - expected spoofing, tampering, repudiation, information-disclosure, denial-of-service, elevation-of-privilege, found "tamper"
        [error] X-Y-001: mappings.cwe[1] - expected an id such as CWE-862, found "79"
        [error] X-Y-001: mappings.capec[0] - expected an id such as CAPEC-1, found "CAPEC-x"
        [error] X-Y-001: mappings.asvs[1] - expected an id such as v5.0.0-8.2.2, found "8.2"
        [error] X-Y-001: signals[0] - expected text, found nothing
        [error] X-Y-001: acceptance_criteria[0] - expected text, found nothing
        [error] X-Y-001: exploit_test.code - required, found nothing
        [warning] X-Y-001: last_updated - expected a day such as 2026-11-15, found "yesterday"
        [warning] X-Y-001: triggers.keywords[1] - expected each once, found "A" again
        [warning] X-Y-001: mitigations[1].code_examples[0] - expected vulnerable_code or secure_code, found neither
        [warning] X-Y-001: mitigations[1].code_examples[0].language - recommended, found nothing
        [warning] X-Y-001: related_patterns[2].id - expected another pattern, found this one
        [warning] X-Y-001: provenance.public_references[0].cwe - expected an id such as CWE-862, found "862"
        [warning] X-Y-001: provenance.public_references[0].url - expected a web address, found "example.org"
        [warning] X-Y-001: attack_scenario.impact.integrity - expected critical, high, medium, low, none, found "total"
    "#]],
    );
}

#[test]
fn an_id_has_a_form() {
    check(
        &complete("x1", "B"),
        expect![[r#"
        [error] x1: id - expected an id such as TMKB-AUTHZ-001, found "x1"
    "#]],
    );
    check(
        &complete("TMKB-AUTHZ-1", "B"),
        expect![[r#"
        [error] TMKB-AUTHZ-1: id - expected an id such as TMKB-AUTHZ-001, found "TMKB-AUTHZ-1"
    "#]],
    );
    check(&complete("TMKB-AGENT-MCP-001", "B"), expect![]);
}

#[test]
fn tier_a_needs_more() {
    check(
        &complete("X-Y-001", "A"),
        expect![[r#"
        [error] X-Y-001: attack_scenario - required for Tier A, found none
        [warning] X-Y-001: generalizes_to - recommended, found nothing
        [warning] X-Y-001: security_principles - recommended, found nothing
        [warning] X-Y-001: mitigations - expected code_examples for Tier A, found none
    "#]],
    );
}

#[test]
fn a_long_summary_is_a_warning() {
    let text = complete("X-Y-001", "B").replace("threat: t", &format!("threat: {}", "é".repeat(400)));
    check(
        &text,
        expect![[r#"
        [warning] X-Y-001: agent_summary - expected at most 400 characters (some 100 tokens), found 402
    "#]],
    );
}

fn complete(id: &str, tier: &str) -> String {
    let lines = format!(
        "name: n\ntier: {tier}\nversion: '1'\ncategory: c\nlanguage: l\nframework: f\nseverity: high\nlikelihood: low\n\
         provenance: {{source_type: s}}\ntriggers: {{keywords: [k]}}\ndescription: d\n\
         agent_summary: {{threat: t, check: c, fix: f}}\nmitigations: [{{id: M, description: d}}]"
    );
    file(id, &lines)
}

#[track_caller]
fn check(text: &str, expected: Expect) {
    let (library, problems) = Library::load([("p.yaml", text), ("q.yaml", &file("X-Y-003", ""))]);
    assert_eq!(problems, []);
    let (_, findings) =
        validate::all(&library).into_iter().find(|(pattern, _)| pattern.id != "X-Y-003").unwrap();
    let found: String = findings.iter().map(|finding| format!("{finding}\n")).collect();
    expected.assert_eq(&found);
}
