//! Specifications cut into sections: plain text of the IETF, and Markdown.

use expect_test::{Expect, expect};
use trace::specification::Line;
use trace::{Format, Specification};

#[test]
fn ietf_sections_start_in_the_first_column_after_a_blank_line() {
    ietf(
        "1.  One\n\n   Text.\n\n1.1.  Below\n\n   More.\n   1.2.  Not a heading\n2.  Two\n",
        expect![[r##"
            #section-1 [One] 1
              "   Text."
            #section-1.1 [Below] 2
              "   More."
              "   1.2.  Not a heading"
            #section-2 [Two] 1
        "##]],
    );
}

#[test]
fn ietf_appendices_are_spelled_in_many_ways() {
    ietf(
        "1.  One\n\n   x\n\nAppendix A.  First\n\n   x\n\nA.1.  Below\n\n   x\n\nAPPENDIX B: Second\n\n   x\n\n\
         Annex C - Third\n\n   x\n\nAppendix D -- Fourth\n\n   x\n\nAppendix E\n\n   x\n\nF.  Sixth\n\n   x\n\n\
         Appendix G.1  Seventh\n\n   x\n",
        expect![[r##"
            #section-1 [One] 1
              "   x"
            #appendix-A [First] 1
              "   x"
            #appendix-A.1 [Below] 2
              "   x"
            #appendix-B [Second] 1
              "   x"
            #appendix-C [Third] 1
              "   x"
            #appendix-D [Fourth] 1
              "   x"
            #appendix-E [] 1
              "   x"
            #appendix-F [Sixth] 1
              "   x"
            #appendix-G.1 [Seventh] 2
              "   x"
        "##]],
    );
}

#[test]
fn ietf_names_stand_between_blank_lines() {
    ietf(
        "\nAbstract\n\n   Text.\n\nStatus of This Memo\n\n   Memo.\n\nForeword\n\n   x\n\nReferences\n   x\n",
        expect![[r##"
            #name-abstract [Abstract] 1
              "   Text."
            #name-status-of-this-memo [Status of This Memo] 1
              "   Memo."
              ""
              "Foreword"
              ""
              "   x"
              ""
              "References"
              "   x"
        "##]],
    );
}

#[test]
fn ietf_contents_are_not_sections() {
    ietf(
        "Table of Contents\n\n   1.  One ......... 1\n2.  Two . . . . . 2\n3.  Three\n\n1.  One\n\n   x\n\n2.  Two\n\n   y\n",
        expect![[r##"
            #section-1 [One] 1
              "   x"
            #section-2 [Two] 1
              "   y"
        "##]],
    );
}

#[test]
fn ietf_lists_and_tables_in_the_first_column_are_text() {
    ietf(
        "1.  One\n\n2024 was a year\n5 apples\n1 | a | b\n3.  if (x) {\n   x\n2     3     4\n2.  next in turn\n   y\n",
        expect![[r##"
            #section-1 [One] 1
              "2024 was a year"
              "5 apples"
              "1 | a | b"
              "3.  if (x) {"
              "   x"
              "2     3     4"
            #section-2 [next in turn] 1
              "   y"
        "##]],
    );
}

#[test]
fn ietf_pages_leave_no_trace() {
    ietf(
        "1.  One\n\n   The pot\n\n\n\nAuthor          Informational          [Page 1]\n\u{c}\nRFC 1         Coffee        1 April\n\n   \
         MUST brew.\n\u{c}\nA header of another kind\n   And stay hot.\n",
        expect![[r##"
            #section-1 [One] 1
              "   The pot"
              ""
              "   MUST brew."
              ""
              "   And stay hot."
        "##]],
    );
}

#[test]
fn ietf_text_may_start_with_a_mark_and_end_its_lines_in_any_way() {
    ietf(
        "\u{feff}1.  One\r\n\r\n   x\r\n\u{c}\r\nheader\r\n\r\n   y",
        expect![[r##"
            #section-1 [One] 1
              "   x"
              ""
              "   y"
        "##]],
    );
}

#[test]
fn ietf_of_two_sections_with_one_number_the_later_counts() {
    ietf(
        "1.  One\n\n   contents\n\n2.  Two\n\n   contents\n\n1.  One\n\n   text\n",
        expect![[r##"
            #section-2 [Two] 1
              "   contents"
            #section-1 [One] 1
              "   text"
        "##]],
    );
}

#[test]
fn ietf_sections_may_be_empty_and_have_no_title() {
    ietf(
        "1.\n\n2.  Two\n\n",
        expect![[r#"
            #section-1 [] 1
            #section-2 [Two] 1
        "#]],
    );
    ietf("", expect![""]);
}

#[test]
fn ietf_sections_are_found_by_shorter_names() {
    let spec = Specification::parse(
        "1.  One\n\n   x\n\nAppendix A.  A\n\n   x\n\nA.1.  B\n\n   x\n".into(),
        "s.txt",
        Format::Ietf,
    );
    for (name, expected) in [
        ("section-1", Some("section-1")),
        ("1", Some("section-1")),
        ("section-appendix-A.1", Some("appendix-A.1")),
        ("section-A", Some("appendix-A")),
        ("A.1", Some("appendix-A.1")),
        ("appendix-1", Some("section-1")),
        ("a.1", None),
        ("", None),
    ] {
        assert_eq!(spec.section(name).map(|index| &*spec.sections[index].id), expected, "{name}");
    }
}

#[test]
fn markdown_headings_of_both_kinds_start_sections() {
    markdown(
        "lost\n\n# Title\n\nText.\n\n## 3.2 Foo ##\n\nMore.\n\nUnder\nline\n===\n\nx\n\nSecond\n---\ny",
        expect![[r##"
            #title [Title] 1
              "Text."
            #3-2-foo [3.2 Foo] 2
              "More."
            #under-line [Under line] 1
              "x"
            #second [Second] 2
              "y"
        "##]],
    );
}

#[test]
fn markdown_ids_are_attributes_or_slugs() {
    markdown(
        "# Title {#custom}\n## Title {.class}\n## Ünï cödé & more\n## 日本語\n## `code` title\n## *a* b\n## A &amp; B\n## &copy;\n#\n## don't\n",
        expect![[r#"
            #custom [Title] 1
            #title [Title] 2
            #uni-code-more [Ünï cödé & more] 2
            #ri-ben-yu [日本語] 2
            #title-1 [ title] 2
            #a-b [a* b] 2
            #a-amp-b [A &amp; B] 2
            #copy [## &copy;] 2
            # [#] 1
            #don-t [don't] 2
        "#]],
    );
}

#[test]
fn markdown_ids_are_made_unique() {
    markdown(
        "# A\n# A\n# A {#a-1}\n# A-1\n# A\n",
        expect![[r#"
            #a [A] 1
            #a-1 [A] 1
            #a-1-1 [A] 1
            #a-1-2 [A-1] 1
            #a-2 [A] 1
        "#]],
    );
}

#[test]
fn markdown_code_and_html_are_text() {
    markdown(
        "# A\n\n```\n# code\n```\n\n    # code\n\n<div>\n# html\n</div>\n\n| # | b |\n",
        expect![[r##"
            #a [A] 1
              "```"
              "# code"
              "```"
              ""
              "    # code"
              ""
              "<div>"
              "# html"
              "</div>"
              ""
              "| # | b |"
        "##]],
    );
}

#[test]
fn markdown_sentences_end_with_the_items_of_lists() {
    markdown(
        "# A\n\n- one\n  more\n- two\n\n  para\n\n1. a\n   - b\n\nafter\n",
        expect![[r##"
            #a [A] 1
              "- one"
              "  more"
              /
              "- two"
              ""
              "  para"
              /
              ""
              /
              "1. a"
              /
              "   - b"
              /
              ""
              "after"
        "##]],
    );
    markdown(
        "# A\n- # B\n  text\n- # C\n",
        expect![[r##"
            #a [A] 1
            #b [B] 1
              "  text"
            #c [C] 1
        "##]],
    );
}

#[test]
fn markdown_blank_lines_around_a_section_are_left_out() {
    markdown(
        "# A\n\n   \n\t\ntext\n\n  \n# B\n\n# C\r\n\r\ntext\r\n\r\n",
        expect![[r##"
            #a [A] 1
              "text"
            #b [B] 1
            #c [C] 1
              "text"
        "##]],
    );
}

#[test]
fn the_format_is_told_by_the_name_then_by_the_start() {
    for (path, text, expected) in [
        ("s.md", "1.  One", Format::Markdown),
        ("s.markdown", "", Format::Markdown),
        ("s.MD", "", Format::Ietf),
        (".md", "", Format::Ietf),
        ("s.txt", "\n  # Title", Format::Markdown),
        ("s.txt", "[//]: # (licence)", Format::Markdown),
        ("s.txt", "\u{feff}# Title", Format::Ietf),
        ("s", "Title\n===", Format::Ietf),
    ] {
        assert_eq!(Specification::parse(text.into(), path, Format::Auto).format, expected, "{path} {text}");
    }
    assert_eq!(Specification::parse("".into(), "s.md", Format::Ietf).format, Format::Ietf);
}

#[track_caller]
fn ietf(text: &str, expected: Expect) {
    expected.assert_eq(&outline(text, Format::Ietf));
}

#[track_caller]
fn markdown(text: &str, expected: Expect) {
    expected.assert_eq(&outline(text, Format::Markdown));
}

/// Writes each section as its id, its title and its lines; `/` where a sentence ends.
fn outline(text: &str, format: Format) -> String {
    let spec = Specification::parse(text.into(), "s", format);
    let mut outline = String::new();
    for section in &spec.sections {
        outline += &format!("#{} [{}] {}\n", section.id, section.title, section.depth);
        for line in &section.lines {
            outline += &match line {
                Line::Text(span) => format!("  {:?}\n", span.of_text(&spec.text)),
                Line::Break => "  /\n".to_owned(),
            };
        }
    }
    outline
}
