//! Fuzz targets: the scanner of annotations, the parsers of specifications, and the matcher of quotes.
//!
//! `cargo test` runs a bounded number of random inputs; `cargo bolero test fuzz::markdown_survives_any_text -p trace`
//! searches with a fuzzing engine for as long as it is left to.

use bolero::check;
use trace::comment::{Style, scan};
use trace::extract::{render, requirements};
use trace::interner::Interner;
use trace::{AnnotationKind, Format, Specification, requirement_file};

const ITERATIONS: usize = 5_000;
const LENGTH_MAX: usize = 300;

/// Pieces that random bytes would hardly ever make, by the byte that stands for each.
const COMMENT_PIECES: &[&str] = &[
    "\n",
    "\r\n",
    " ",
    "//=",
    "//#",
    "//= s.md#a\n",
    "//# quote\n",
    "type=test",
    "type=",
    "=",
    "source = ",
    "level=MAY",
    "format=md",
    "reason=x",
    "feature=",
    "tracking-issue=1",
    "\u{feff}",
    "é",
    "\t",
    "\u{a0}",
    "#",
    "\0",
];
const TOML_PIECES: &[&str] = &[
    "\n",
    "[[spec]]\n",
    "[[todo]]\n",
    "[[exception]]\n",
    "target = 's.md#a'\n",
    "quote = 'q'\n",
    "quote = '''\nq\nr\n'''\n",
    "reason = 'r'\n",
    "level = 'MUST'\n",
    "level = ''\n",
    "tags = ['é']\n",
    "spec = [",
    "{ quote = \"q\" }",
    ",",
    "]",
    "'",
    "\"",
    "\\u00e9",
    "=",
    "#",
];
const IETF_PIECES: &[&str] = &[
    "\n",
    "\n\n",
    "\r\n",
    "\u{c}",
    "   ",
    "1.  One",
    "2.",
    "1.1.  Two",
    "A.  Three",
    "Appendix B: Four",
    "Annex C",
    "199",
    "256.",
    "..",
    "Abstract",
    "References",
    "[Page 3]",
    "RFC 12  ",
    " . . . ",
    "|",
    "MUST",
    " brew",
    ". ",
    "é",
    "\u{2028}",
    "\"",
    "{",
    "\u{feff}",
];
const MARKDOWN_PIECES: &[&str] = &[
    "\n", "\n\n", "# ", "## ", "===\n", "---\n", "- ", "  - ", "1. ", "> ", "```\n", "    ", "<div>", "<!--",
    "-->", "|", "*", "`", "&amp;", "&#35;", "&copy;", "{#id}", "{#é .c}", "[a](b)", "[a]: b", "MUST",
    " brew", ".", ".é", "é", "日", "\r\n", "\t", "\\", "\u{0}", "\u{feff}",
];
const QUOTE_PIECES: &[&str] =
    &["a", "b", " ", "  ", "\n", "-", ".", "é", "日", "“", "MUST", "\u{301}", "\u{2003}", "x y", "\u{200b}"];

#[test]
fn comments_survive_any_text() {
    check!().with_iterations(ITERATIONS).with_max_len(LENGTH_MAX).for_each(|input: &[u8]| {
        let text = expand(input, COMMENT_PIECES);
        for (meta, content) in [("//=", "//#"), ("#", "\""), ("", ""), ("=", "="), ("é", "\0")] {
            let style = Style { meta: meta.into(), content: content.into() };
            let (annotations, problems) =
                scan(&"a".into(), &text, &style, AnnotationKind::Citation, &Interner::default());
            let n_lines = text.lines().count() as u32;
            for annotation in &annotations {
                assert!((1..=n_lines).contains(&annotation.line));
                assert_eq!(annotation.places.target.of_text(&text), &*annotation.target);
                assert!(annotation.places.text.end as usize <= text.len());
            }
            assert!(problems.iter().flat_map(|problem| &problem.places).all(|place| place.line <= n_lines));
        }
    });
}

#[test]
fn requirement_files_survive_any_text() {
    check!().with_iterations(ITERATIONS).with_max_len(LENGTH_MAX).for_each(|input: &[u8]| {
        let text = expand(input, TOML_PIECES);
        let (annotations, _) = requirement_file::read(&"a.toml".into(), &text, &Interner::default());
        assert!(annotations.iter().all(|annotation| annotation.line > 0));
    });
}

#[test]
fn ietf_survives_any_text() {
    check!().with_iterations(ITERATIONS).with_max_len(LENGTH_MAX).for_each(|input: &[u8]| {
        read_back(&expand(input, IETF_PIECES), Format::Ietf);
    });
}

#[test]
fn markdown_survives_any_text() {
    check!().with_iterations(ITERATIONS).with_max_len(LENGTH_MAX).for_each(|input: &[u8]| {
        read_back(&expand(input, MARKDOWN_PIECES), Format::Markdown);
    });
}

#[test]
fn the_matcher_survives_any_quote() {
    check!().with_iterations(ITERATIONS).with_max_len(LENGTH_MAX).for_each(|input: &[u8]| {
        let (quote, text) = input.split_at(input.len() / 4);
        let (quote, text) = (expand(quote, QUOTE_PIECES), expand(text, QUOTE_PIECES));
        let spec = Specification::parse(format!("# T\n\n{text}").into(), "s", Format::Markdown);
        let view = spec.view(0);
        for quote in [&*quote, quote.trim(), &text, "a", "-"] {
            if let Some((range, _)) = view.find(quote) {
                assert!(range.end <= view.text.len());
                assert!(view.spans(range).all(|span| !span.of_text(&spec.text).contains('\n')));
            }
        }
        if let Some(start) = view.text.chars().next() {
            let (range, _) = view.find(&start.to_string()).expect("what is there is found");
            assert_eq!(range.start, 0);
        }
    });
}

/// Reads a document, and finds every requirement of it where it was taken from.
fn read_back(text: &str, format: Format) {
    let spec = Specification::parse(text.into(), "s", format);
    for (number, section) in spec.sections.iter().enumerate() {
        assert_eq!(spec.section(&section.id), Some(number));
        let found = requirements(&spec, section);
        let written = render::toml("s", &spec, section, &found);
        let (read, problems) = requirement_file::read(&"s.toml".into(), &written, &Interner::default());
        assert!(problems.is_empty(), "{problems:?} in {written}");
        let places = render::places("s", &spec, section, &found);
        assert_eq!(read.iter().map(|read| (read.line, read.places)).collect::<Vec<_>>(), places);
        for (requirement, read) in found.iter().zip(read) {
            assert_eq!(*read.target, format!("s#{}", section.id));
            let lines: String = requirement.lines(&spec.text).flat_map(|line| [line, "\n"]).collect();
            assert_eq!(read.notes.expect("a requirement has its text").comment, lines);
        }
        let rust = render::rust("s", &spec, section, &found);
        assert!(rust.split(['\n', '\r']).all(|line| line.is_empty() || line.starts_with("//")), "{rust}");
        let view = spec.view(number);
        for requirement in &found {
            assert!(view.first(&requirement.quote(&spec.text)).is_some(), "{requirement:?} in {text:?}");
        }
    }
}

/// Bytes below 128 stand for pieces as far as there are any, the others for characters.
fn expand(input: &[u8], pieces: &[&str]) -> String {
    let mut text = Vec::new();
    for byte in input {
        match pieces.get(usize::from(*byte % 64)) {
            Some(piece) if *byte < 128 => text.extend(piece.bytes()),
            _ => text.push(byte & 0x7f),
        }
    }
    String::from_utf8_lossy(&text).into_owned()
}
