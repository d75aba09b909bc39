//! The passage shown for a document, and the marked words in it.

use proptest::prelude::*;
use words::{Piece, Query, cut, mark, snippet};

const POT: &str = "The first sentence is about nothing. The pot MUST brew **hot coffee** at once. After it has \
                   been brewed, the coffee is poured by whoever came first.";

#[test]
fn the_passage_with_most_of_the_query_is_shown() {
    check("coffee ", POT, 40, "…**hot [coffee]** at once. After it has…");
    check("poured coffee ", POT, 50, "…the [coffee] is [poured] by whoever came first.");
    check("\"hot coffee\"", POT, 40, "…brew **[hot coffee]** at once. After it…");
    check("sentences ", POT, 30, "The first [sentence] is about…");
    check("tea ", POT, 20, "The first sentence…");
    check("first -coffee", POT, 300, &POT.replace("first", "[first]"));
}

#[test]
fn whole_texts_are_marked() {
    for (query, title, expected) in [
        ("run", "Running runs, runtime", "[Running] [runs], [runtime]"),
        ("epic ", "create_epic, createEpic", "create_[epic], create[Epic]"),
        (
            "create_epic ",
            "create_epic, createEpics, createepic",
            "[create_epic], [createEpics], [createepic]",
        ),
        ("email ", "an e-mail", "an [e-mail]"),
        ("требование ", "Список требований", "Список [требований]"),
        ("елка ", "Ёлка и е\u{308}лки", "[Ёлка] и [е\u{308}лки]"),
        ("req-12", "REQ-012 and REQ-120, not REQ-2", "[REQ-012] and [REQ-120], not REQ-2"),
        ("<b>", "a <b> c & d", "a <[b]> c & d"),
        ("件", "要件定義", "要[件]定義"),
        ("-pot", "pot", "pot"),
        ("???", "what???", "what???"),
        ("any", "", ""),
    ] {
        let query = Query::parse(query).unwrap();
        assert_eq!(show(&mark(&query, title)), expected);
    }
}

#[test]
fn what_is_read_as_one_is_not_cut() {
    for (text, max_chars, expected) in [
        ("abc", 3, "abc"),
        ("abc", 2, "ab"),
        ("abc", 0, ""),
        ("", 5, ""),
        ("ae\u{301}b", 2, "a"),
        ("ae\u{301}b", 3, "ae\u{301}"),
        ("x👩\u{200d}👧y", 3, "x"),
        ("🇩🇪🇫🇷", 3, "🇩🇪"),
        ("a\r\nb", 2, "a"),
        ("привет", 3, "при"),
    ] {
        assert_eq!(cut(text, max_chars), expected, "{text}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_snippet_is_a_passage_of_the_text(
        query in "[a-c ]{1,4}[a-c]",
        text in prop_oneof!["(?s).{0,80}", "[a-d e\u{301}👩\u{200d}🇩\r\n]{0,80}", "([a-e]{1,3}[ .]){0,60}"],
        max_chars in 0..60_usize,
    ) {
        let query = Query::parse(&query).unwrap();
        let pieces = snippet(&query, &text, max_chars);
        let shown: String = pieces.iter().map(|piece| piece.text.as_str()).collect();
        prop_assert!(shown.chars().count() <= max_chars, "{}", shown);
        if text.chars().count() <= max_chars {
            prop_assert_eq!(&shown, &text);
        }
        let mut passage = &shown[..];
        if !text.contains(&shown) {
            passage = passage.strip_suffix('…').unwrap_or(passage);
            if !text.starts_with(passage) {
                passage = passage.strip_prefix('…').unwrap_or(passage);
            }
        }
        prop_assert!(text.contains(passage), "{:?} in {:?}", passage, text);
        prop_assert!(pieces.iter().all(|piece| !piece.text.is_empty()));
        let marked: String = mark(&query, &text).into_iter().map(|piece| piece.text).collect();
        prop_assert_eq!(&marked, &text);
        let is_marked_somewhere = mark(&query, &text).iter().any(|piece| piece.is_marked);
        let is_shown = pieces.iter().any(|piece| piece.is_marked);
        prop_assert!(is_shown || !is_marked_somewhere || max_chars < 20, "{}", shown);
        prop_assert!(text.starts_with(cut(&text, max_chars)));
    }
}

#[track_caller]
fn check(query: &str, text: &str, max_chars: usize, expected: &str) {
    assert_eq!(show(&snippet(&Query::parse(query).unwrap(), text, max_chars)), expected, "{query}");
}

fn show(pieces: &[Piece]) -> String {
    let show = |piece: &Piece| if piece.is_marked { format!("[{}]", piece.text) } else { piece.text.clone() };
    pieces.iter().map(show).collect()
}
