//! The requirements of a section: where their sentences start and end, and how binding they are.

use expect_test::{Expect, expect};
use trace::extract::{render, requirements};
use trace::{Format, Specification};

#[test]
fn a_sentence_reaches_from_full_stop_to_full_stop() {
    check(
        "First. The pot MUST brew\ncoffee. Then it MAY rest",
        expect![[r#"
            MUST The pot MUST brew | coffee.
            MAY Then it MAY rest
        "#]],
    );
}

#[test]
fn an_empty_line_ends_a_sentence_but_one_of_blanks_does_not() {
    check(
        "The pot\n\nMUST brew\n\nnow",
        expect![[r#"
            MUST MUST brew
        "#]],
    );
    check(
        "The pot\n  \nMUST brew\n  \nnow",
        expect![[r#"
            MUST The pot | MUST brew | now
        "#]],
    );
}

#[test]
fn points_inside_of_words_end_nothing() {
    check(
        "See RFC2119.txt and 2.1 now MUST e.g.this v1.2 hold. Done",
        expect![[r#"
            MUST See RFC2119.txt and 2.1 now MUST e.g.this v1.2 hold.
        "#]],
    );
    check(
        "Use it. See 2.1 as it MUST be.",
        expect![[r#"
            MUST See 2.1 as it MUST be.
        "#]],
    );
    check(
        "Abbreviations, e.g. these, MUST cut.",
        expect![[r#"
            MUST these, MUST cut.
        "#]],
    );
    check(
        "Dots... MUST stay.. so.\tTab",
        expect![[r#"
            MUST MUST stay.. so.
        "#]],
    );
    check(
        "Done.” It MUST be.é and on",
        expect![[r#"
            MUST Done.” It MUST be.é and on
        "#]],
    );
}

#[test]
fn keywords_are_whole_words_in_upper_case() {
    check("must MUSTARD _MUST_ MUST_ éMUST MUSTé MUST1", expect![""]);
    check(
        "(MUST), “SHOULD”.",
        expect![[r#"
            MUST (MUST), “SHOULD”.
        "#]],
    );
    check(
        "a-MAY-b",
        expect![[r#"
            MAY a-MAY-b
        "#]],
    );
}

#[test]
fn a_keyword_before_a_quotation_mark_is_being_defined() {
    check("The words \"MUST\", \"MUST NOT\" and \"OPTIONAL\" are keywords.", expect![""]);
    check(
        "The word \"MUST is not closed.",
        expect![[r#"
            MUST The word "MUST is not closed.
        "#]],
    );
}

#[test]
fn each_keyword_has_its_level() {
    check(
        "a MUST.\nb MUST NOT.\nc SHALL.\nd SHALL NOT.\ne REQUIRED.\nf SHOULD.\ng SHOULD NOT.\nh RECOMMENDED.\n\
         i NOT RECOMMENDED.\nj MAY.\nk OPTIONAL.\nl MAY NOT.\nm MUST NOTE.",
        expect![[r#"
            MUST a MUST.
            MUST b MUST NOT.
            MUST c SHALL.
            MUST d SHALL NOT.
            MUST e REQUIRED.
            SHOULD f SHOULD.
            SHOULD g SHOULD NOT.
            SHOULD h RECOMMENDED.
            SHOULD i NOT RECOMMENDED.
            MAY j MAY.
            MAY k OPTIONAL.
            MAY l MAY NOT.
            MUST m MUST NOTE.
        "#]],
    );
}

#[test]
fn a_sentence_with_several_keywords_is_one_of_the_highest_level() {
    check(
        "It MAY and SHOULD and MUST do.",
        expect![[r#"
        MUST It MAY and SHOULD and MUST do.
    "#]],
    );
}

#[test]
fn a_sentence_that_comes_twice_is_one_unless_its_lines_break_elsewhere() {
    check(
        "It MAY do. It MAY do. It MAY  do .",
        expect![[r#"
        MAY It MAY do.
    "#]],
    );
    check(
        "It MAY do. It MAY\ndo.",
        expect![[r#"
        MAY It MAY do.
        MAY It MAY | do.
    "#]],
    );
}

#[test]
fn items_of_lists_are_sentences() {
    check(
        "It:\n\n- MUST brew\n- MAY rest\n  a while\n\nand SHOULD stop",
        expect![[r#"
            MUST - MUST brew
            MAY - MAY rest | a while
            SHOULD and SHOULD stop
        "#]],
    );
}

#[test]
fn requirement_files_are_written_with_the_text_of_their_section() {
    let spec =
        Specification::parse("# T\n\n## A\n\n- It MUST\n  brew.\n\n\nMAY\n".into(), "s.md", Format::Auto);
    let section = &spec.sections[1];
    let found = requirements(&spec, section);
    let lines = render::places("s.md", &spec, section, &found).into_iter().map(|(line, _)| line);
    assert_eq!(Vec::from_iter(lines), [11, 18]);
    expect![[r#"
        target = "s.md#a"

        # A
        #
        # - It MUST
        #   brew.
        # 
        # 
        # MAY

        [[spec]]
        level = "MUST"
        quote = '''
        - It MUST
        brew.
        '''

        [[spec]]
        level = "MAY"
        quote = '''
        MAY
        '''

    "#]]
    .assert_eq(&render::toml("s.md", &spec, section, &found));
    expect![[r#"
        //! s.md#a
        //!
        //! A
        //!
        //! - It MUST
        //!   brew.
        //! 
        //! 
        //! MAY

        //= s.md#a
        //= type=spec
        //= level=MUST
        //# - It MUST
        //# brew.

        //= s.md#a
        //= type=spec
        //= level=MAY
        //# MAY

    "#]]
    .assert_eq(&render::rust("s.md", &spec, section, &found));
}

#[track_caller]
fn check(text: &str, expected: Expect) {
    let spec = Specification::parse(format!("# T\n\n{text}\n").into(), "s.md", Format::Auto);
    let found: String = requirements(&spec, &spec.sections[0])
        .iter()
        .map(|requirement| {
            let lines: Vec<&str> = requirement.lines(&spec.text).collect();
            format!("{} {}\n", requirement.level, lines.join(" | "))
        })
        .collect();
    expected.assert_eq(&found);
}
