//! Which of the documents found comes first.

use words::{Query, score, terms};

#[test]
fn the_document_that_a_reference_names_is_first() {
    check(
        "REQ-12",
        &[("REQ-012 Brewing", ""), ("REQ-120 See REQ-12", "REQ-12"), ("REQ-003 Tea", "REQ-12 REQ-12")],
    );
    check("brew REQ-12", &[("REQ-012 Pot", "to brew"), ("REQ-001 Brew brew", "brew brew REQ-12")]);
}

#[test]
fn titles_come_before_bodies() {
    check("coffee ", &[("Coffee", "hot"), ("Pot", "coffee, coffee, coffee")]);
}

#[test]
fn the_typed_form_comes_before_others_and_beginnings_last() {
    check("brewing", &[("Brewing", ""), ("Brewed", ""), ("Brewingly", "")]);
    check("требования", &[("Требования", ""), ("Требование", "")]);
    check("create_epic", &[("create_epic tool", ""), ("create my epics epic create", "create epic")]);
}

#[test]
fn repetition_counts_and_then_shortness() {
    check("coffee ", &[("Pot", "coffee makes coffee"), ("Pot", "coffee makes people")]);
    check(
        "coffee ",
        &[("Pot", "coffee"), ("Pot", "coffee and a great many other words that say something else")],
    );
}

#[test]
fn neighbours_come_before_words_apart() {
    check("hot pot ", &[("", "the hot pot is the one"), ("", "the hot one is the pot")]);
}

/// The documents are given from best to worst.
#[track_caller]
fn check(query: &str, documents: &[(&str, &str)]) {
    let query = Query::parse(query).unwrap();
    let scores = documents.iter().map(|(title, body)| {
        let terms = terms(title, body);
        score(&query, &terms.title, &terms.body)
    });
    let scores: Vec<f32> = scores.collect();
    assert!(scores.is_sorted_by(|left, right| left > right), "{scores:?}");
}
