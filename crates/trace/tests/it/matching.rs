//! Quotes in the text of a section, and what reports make of them.

use expect_test::{Expect, expect};
use trace::quote::Likeness;
use trace::{Format, Specification};

const TEXT: &str =
    "The pot MUST brew\ncoffee, or e.g. tea. (It is\nnew-\nline 15 bits.) Café “is” open.\n\nx\n\nThe end.";

#[test]
fn a_quote_may_be_wrapped_in_any_way() {
    check("The pot MUST brew", expect![[r#""The pot MUST brew""#]]);
    check("pot MUST brew coffee, or", expect![[r#""pot MUST brew" "coffee, or""#]]);
    check("pot   MUST brew coffee ,or e. g. tea", expect![[r#""pot MUST brew" "coffee, or e.g. tea""#]]);
    check("It is newline", expect![[r#"nearly "It is" "new-" "line""#]]);
    check("new-line", expect![[r#""new-" "line""#]]);
    check("new- line", expect![[r#""new-" "line""#]]);
    check(" Café “ is ” open", expect![[r#""Café “is” open""#]]);
}

#[test]
fn a_quote_may_reach_over_paragraphs() {
    check("open. x The end.", expect![[r#""open." "x" "The end.""#]]);
}

#[test]
fn one_edit_is_forgiven() {
    check("16 bits", expect![[r#"nearly "15 bits""#]]);
    check("The pots MUST brew", expect![[r#"nearly "The pot MUST brew""#]]);
    check("The pot MUT brew", expect![[r#"nearly "The pot MUST brew""#]]);
    check("Cafe “is” open", expect!["nothing"]);
    check("The pat MUST brow", expect!["nothing"]);
}

#[test]
fn kinds_of_blanks_count_as_edits() {
    check("The pot\tMUST brew", expect![[r#"nearly "The pot MUST brew""#]]);
    check("The\tpot\tMUST brew", expect!["nothing"]);
}

#[test]
fn case_counts() {
    check("the pot must brew", expect!["nothing"]);
}

#[test]
fn short_quotes_match_almost_anything() {
    check("x", expect![[r#""x""#]]);
    check("zz", expect!["nothing"]);
    check("z", expect![[r#"nearly "T""#]]);
    check("", expect!["nothing"]);
}

#[test]
fn the_first_match_is_meant() {
    check("The", expect![[r#""The""#]]);
    check("e", expect![[r#""e""#]]);
}

#[track_caller]
fn check(quote: &str, expected: Expect) {
    let spec = Specification::parse(format!("# T\n\n{TEXT}\n").into(), "s.md", Format::Auto);
    let view = spec.view(0);
    let found = match view.find(quote) {
        None => "nothing".to_owned(),
        Some((range, likeness)) => {
            let spans = view.spans(range).map(|span| format!("{:?}", span.of_text(&spec.text)));
            let mark = if likeness == Likeness::OneEdit { "nearly " } else { "" };
            format!("{mark}{}", spans.collect::<Vec<_>>().join(" "))
        }
    };
    expected.assert_eq(&found);
}
