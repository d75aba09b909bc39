//! How much of a requirement is covered, byte by byte, and by what.

use expect_test::{Expect, expect};
use trace::overlap::{Cover, Coverage, Covers};
use trace::{AnnotationKind, Span};

/// A requirement of twenty bytes in two lines.
const REQUIREMENT: [(AnnotationKind, u32, u32); 2] =
    [(AnnotationKind::Spec, 10, 20), (AnnotationKind::Spec, 30, 40)];

#[test]
fn nothing_covers_nothing() {
    check(&[], expect!["of 20, incomplete 20 by []"]);
    check(
        &[
            (AnnotationKind::Citation, 0, 10),
            (AnnotationKind::Citation, 20, 30),
            (AnnotationKind::Citation, 40, 50),
        ],
        expect!["of 20, incomplete 20 by []"],
    );
}

#[test]
fn a_citation_covers_what_it_overlaps() {
    check(&[(AnnotationKind::Citation, 0, 15)], expect!["of 20, incomplete 15, citation 5 by [1]"]);
    check(&[(AnnotationKind::Citation, 15, 35)], expect!["of 20, incomplete 10, citation 10 by [1]"]);
    check(
        &[(AnnotationKind::Citation, 0, 50), (AnnotationKind::Test, 10, 20)],
        expect!["of 20, citation 20, test 10 by [1, 2]"],
    );
}

#[test]
fn overlaps_count_once() {
    check(
        &[(AnnotationKind::Test, 10, 15), (AnnotationKind::Test, 12, 18), (AnnotationKind::Test, 10, 15)],
        expect!["of 20, incomplete 12, test 8 by [1, 2, 3]"],
    );
    check(
        &[
            (AnnotationKind::Citation, 10, 15),
            (AnnotationKind::Citation, 15, 20),
            (AnnotationKind::Citation, 30, 40),
        ],
        expect!["of 20, citation 20 by [1, 2, 3]"],
    );
}

#[test]
fn todos_complete_nothing_and_the_others_do() {
    check(&[(AnnotationKind::Todo, 10, 40)], expect!["of 20, incomplete 20, todo 20 by [1]"]);
    check(&[(AnnotationKind::Exception, 10, 40)], expect!["of 20, exception 20 by [1]"]);
    check(
        &[(AnnotationKind::Implication, 10, 20), (AnnotationKind::Exception, 30, 40)],
        expect!["of 20, implication 10, exception 10 by [1, 2]"],
    );
}

#[test]
fn an_empty_reference_is_related_to_nothing() {
    check(&[(AnnotationKind::Citation, 15, 15)], expect!["of 20, incomplete 20 by []"]);
}

#[test]
fn requirements_do_not_cover_each_other() {
    check(&[(AnnotationKind::Spec, 10, 40)], expect!["of 20, incomplete 20 by []"]);
}

#[track_caller]
fn check(others: &[(AnnotationKind, u32, u32)], expected: Expect) {
    let span = |start: &u32, end: &u32| Span { start: *start, end: *end };
    let covers = (1..).zip(others).filter(|(_, (kind, ..))| *kind != AnnotationKind::Spec);
    let covers = covers.map(|(by, (kind, start, end))| Cover { span: span(start, end), by, kind: *kind });
    let requirement: Vec<Span> = REQUIREMENT.iter().map(|(_, start, end)| span(start, end)).collect();
    let coverage = Coverage::literal(Covers::new(covers.collect()).over(&requirement));
    let parts = [
        ("of", coverage.spec),
        ("incomplete", coverage.incomplete),
        ("citation", coverage.citation),
        ("implication", coverage.implication),
        ("test", coverage.test),
        ("exception", coverage.exception),
        ("todo", coverage.todo),
    ];
    let parts = parts.iter().filter(|(_, count)| *count > 0).map(|(name, count)| format!("{name} {count}"));
    expected.assert_eq(&format!("{} by {:?}", parts.collect::<Vec<_>>().join(", "), coverage.related));
}
