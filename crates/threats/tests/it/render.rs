//! Text for people, beyond what the original prints.

use expect_test::expect;
use threats::answer::{self, Room};
use threats::render::{self, Extras, Theme};
use threats::{Library, Query, validate};

use crate::{TMKB, file};

#[test]
fn colour_changes_nothing_but_colour() {
    let coloured = Theme::coloured();
    let plain = Theme::plain();
    let hits = TMKB.search(&Query { context: "bulk delete", ..Query::default() });
    let answer = answer::agent(&hits, &Room { tokens_max: None, ..Room::default() });
    let checked = validate::all(&TMKB);
    let pattern = &TMKB.patterns()[0];
    for (with, without) in [
        (render::list(TMKB.patterns(), &coloured), render::list(TMKB.patterns(), &plain)),
        (render::list_verbose(TMKB.patterns(), &coloured), render::list_verbose(TMKB.patterns(), &plain)),
        (
            render::pattern(pattern, Extras::default(), &coloured),
            render::pattern(pattern, Extras::default(), &plain),
        ),
        (render::query(&answer, Some(&hits), &coloured), render::query(&answer, Some(&hits), &plain)),
        (render::validation(&checked, &[], true, &coloured), render::validation(&checked, &[], true, &plain)),
    ] {
        assert!(with.contains("\u{1b}["));
        assert_eq!(without_colour(&with), without);
    }
}

#[test]
fn our_own_keys_have_sections() {
    let lines = "name: Name\ntier: B\nboundary: request → worker\nsignals: [one sign]\nacceptance_criteria: [WHEN x THE SYSTEM SHALL y]\n\
                 mitigations: [{id: M, name: Measure, description: Do it., code_examples: [{vulnerable_code: bad(), secure_code: good()}]}]";
    let (library, _) = Library::load([("p.yaml", file("X-Y-001", lines))]);
    expect![[r#"
        X-Y-001: Name
        Tier: B | Severity:  | Likelihood: 
        Category:  > 
        Language:  | Framework: 
        ============================================================

        DESCRIPTION
        ----------------------------------------


        BOUNDARY
        ----------------------------------------
        request → worker

        AGENT SUMMARY
        ----------------------------------------
        Threat: 
        Check:  
        Fix:    

        SIGNALS
        ----------------------------------------
        • one sign

        MITIGATIONS
        ----------------------------------------
        [M] Measure
            Effectiveness:  | Effort: 
            Do it.

        VULNERABLE CODE
        ----------------------------------------
        bad()

        SECURE CODE
        ----------------------------------------
        good()

        ACCEPTANCE CRITERIA
        ----------------------------------------
        • WHEN x THE SYSTEM SHALL y


    "#]]
    .assert_eq(&render::pattern(
        &library.patterns()[0],
        Extras { code: true, ..Extras::default() },
        &Theme::plain(),
    ));
}

#[test]
fn a_verbose_query_says_why() {
    let lines = "name: Name\nseverity: high\ntriggers: {keywords: [webhook]}\nagent_summary: {threat: t, check: c, fix: f}\n\
                 description: Long.\nmitigations: [{id: M, name: Measure, effectiveness: high}]";
    let (library, _) = Library::load([("p.yaml", file("X-Y-001", lines))]);
    let hits = library.search(&Query { context: "a webhook", ..Query::default() });
    let answer = answer::human(&hits, &Room { patterns_max: answer::HUMAN_PATTERNS_MAX, ..Room::default() });
    expect![[r#"
        Found 1 relevant threat pattern(s)
        ==================================================

        [1] X-Y-001: Name (Severity: high)
        ----------------------------------------
        THREAT: t

        CHECK:  c

        FIX:    f

        Long.

        • [M] Measure (effectiveness high)

        WHY:    keyword "webhook"; word webhook


    "#]]
    .assert_eq(&render::query(&answer, Some(&hits), &Theme::plain()));
}

#[test]
fn nothing_is_said_in_words() {
    assert_eq!(render::list(&[], &Theme::plain()), "No patterns found\n");
    assert_eq!(render::list_verbose(&[], &Theme::plain()), "No patterns found\n");
    assert_eq!(render::validation(&[], &[], true, &Theme::plain()), "No patterns found to validate\n");
}

fn without_colour(text: &str) -> String {
    let mut plain = String::new();
    for part in text.split('\u{1b}') {
        let part =
            part.strip_prefix('[').map_or(part, |rest| rest.split_once('m').map_or("", |(_, rest)| rest));
        plain.push_str(part);
    }
    plain
}
