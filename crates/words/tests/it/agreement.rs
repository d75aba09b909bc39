//! The database finds exactly what a query means, for any query and any documents.

use proptest::collection::vec;
use proptest::prelude::*;
use words::{QUERY_CHARS_MAX, Query, QueryProblem, Terms};

use crate::engine::{Document, find, find_plainly, index, table};

/// Few words, so that they often match: forms, identifiers, references, scripts, and the letters that prefix terms.
const WORDS: &str = "run running Runs epic epics create create_epic createEpic createepic userId userid OAuth2 oauth 2
    e-mail email REQ-1 REQ-001 req-12 ABC-REQ-1 REQ 1 требование требований Ёлка елка мой café cafe 要件 要 件定義
    s w r x e n AND NOT";

fn word() -> impl Strategy<Value = &'static str> {
    prop::sample::select(WORDS.split_whitespace().collect::<Vec<_>>())
}

pub fn documents() -> impl Strategy<Value = Vec<Document>> {
    vec((text(0..4), text(0..12)), 1..8)
}

fn text(n_words: std::ops::Range<usize>) -> impl Strategy<Value = String> {
    let between = prop::sample::select(vec![" ", " ", " ", ", ", "-", ".", "", "\n"]);
    vec((word(), between), n_words)
        .prop_map(|words| words.into_iter().flat_map(|(word, between)| [word, between]).collect())
}

pub fn queries() -> impl Strategy<Value = Vec<String>> {
    vec(prop_oneof![8 => query(), 1 => "\\PC{1,20}", 1 => "[-\"*()':&|!<>^+ a-c]{1,12}"], 1..12)
}

fn query() -> impl Strategy<Value = String> {
    let item = prop_oneof![
        4 => word().prop_map(str::to_owned),
        1 => word().prop_map(|word| format!("-{word}")),
        2 => vec(word(), 1..4).prop_map(|words| format!("\"{}\"", words.join(" "))),
        1 => vec(word(), 1..3).prop_map(|words| format!("-\"{}\"", words.join(" "))),
        1 => word().prop_map(|word| format!("\"{word}")),
        2 => (word(), 1..6_usize).prop_map(|(word, n_chars)| word.chars().take(n_chars).collect()),
        1 => (word(), word()).prop_map(|(left, right)| format!("{left}-{right}")),
        1 => prop::sample::select(vec!["-", "--", "???", "\"", "\"\"", "*", "^"]).prop_map(str::to_owned),
    ];
    (vec(item, 1..4), any::<bool>())
        .prop_map(|(items, is_complete)| items.join(" ") + if is_complete { " " } else { "" })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_database_finds_what_is_meant(documents in documents(), queries in queries()) {
        let documents = index(&documents);
        prop_assert!(documents.iter().all(is_apart), "{:?}", documents);
        let table = table(&documents);
        for text in queries.iter().filter(|text| !text.trim().is_empty()) {
            let query = Query::parse(text).unwrap();
            prop_assert_eq!(find(&table, &query), find_plainly(&documents, &query), "{}", text);
        }
    }

    #[test]
    fn any_text_is_a_query(text in "(?s).{0,1100}") {
        let expected = match () {
            () if text.trim().is_empty() => Some(QueryProblem::Blank),
            () if text.contains('\0') => Some(QueryProblem::Nul),
            () if text.chars().count() > QUERY_CHARS_MAX => Some(QueryProblem::Long(text.chars().count())),
            () => None,
        };
        match Query::parse(&text) {
            Ok(query) => {
                prop_assert_eq!(expected, None);
                let documents = index(&[(text.clone(), text.clone())]);
                prop_assert_eq!(find(&table(&documents), &query), find_plainly(&documents, &query));
            }
            Err(problem) => prop_assert_eq!(Some(problem), expected),
        }
    }

    #[test]
    fn a_term_is_a_kind_and_letters_and_digits(text in "(?s).{0,200}") {
        for term in index(&[(text.clone(), String::new())])[0].title.split(' ').filter(|term| !term.is_empty()) {
            prop_assert!(term.starts_with(['s', 'w', 'r']) || ["x", "e"].contains(&term), "{}", term);
            prop_assert!(term.chars().all(|c| !c.is_ascii() || c.is_ascii_lowercase() || c.is_ascii_digit()));
            prop_assert!(!term.contains(char::is_whitespace) && term.chars().count() <= 65, "{}", term);
        }
    }
}

/// Whether no two terms after the ordered ones are adjacent and could match as a phrase.
fn is_apart(document: &Terms) -> bool {
    [&document.title, &document.body].into_iter().all(|field| {
        let (_, unordered) = field.split_once(" e ").expect("every field has its middle");
        let terms: Vec<&str> = unordered.split(' ').collect();
        !terms.windows(2).any(|pair| pair.iter().all(|term| term.starts_with(['s', 'r'])))
    })
}

/// Texts beyond what PostgreSQL can count.
pub fn large_documents() -> Vec<Document> {
    let numbered =
        |word: &str, n: usize| (0..n).map(|i| format!("{word}{} ", letters(i))).collect::<String>();
    vec![
        ("Repeated".to_owned(), "alpha beta ".repeat(300) + "gamma beta delta beta alpha beta"),
        ("Long".to_owned(), numbered("q", 15_997) + "last word beyond reach again"),
        ("Beyond".to_owned(), "one ".repeat(20_000) + "two three"),
        ("Overlap".to_owned(), "one ".repeat(16_000) + "req_1 REQ-1 two REQ-1"),
        ("Han".to_owned(), "要件定義".repeat(8_000)),
        ("Wide".to_owned(), (0..12_000).map(|i| format!("ﷺﷺﷺ{} ", letters(i))).collect()),
        ("Joined".to_owned(), (0..12_000).map(|i| format!("ﷺﷺﷺ{}-", letters(i))).collect()),
    ]
}

/// One a line.
pub const LARGE_QUERIES: &str = "alpha
\"alpha beta\"
\"beta alpha\"
\"gamma beta\"
\"gamma delta\"
\"delta beta\"
\"last word\"
\"word beyond\"
\"beyond reach\"
reach again
\"one two\"
two three
\"two three\"
-beta
要件定義
定義要
rea";

fn letters(mut number: usize) -> String {
    let mut letters = String::new();
    for _ in 0..4 {
        letters.push(char::from(b'a' + (number % 26) as u8));
        number /= 26;
    }
    letters
}

#[test]
fn large_documents_are_found_by_their_end_but_not_by_phrases_there() {
    let documents = index(&large_documents());
    let table = table(&documents);
    for text in LARGE_QUERIES.lines() {
        let query = Query::parse(text).unwrap();
        assert_eq!(find(&table, &query), find_plainly(&documents, &query), "{text}");
    }
    let found = |text: &str| find(&table, &Query::parse(text).unwrap());
    assert_eq!(found("\"alpha beta\""), [0]);
    assert_eq!(found("\"gamma beta\""), [] as [usize; 0], "only so many places of a word are kept");
    assert_eq!(found("\"gamma delta\""), [] as [usize; 0], "beyond its limit, a word still takes its place");
    assert_eq!(found("\"last word\""), [1]);
    assert_eq!(found("reach again"), [1]);
    assert_eq!(found("\"beyond reach\""), [] as [usize; 0]);
    assert_eq!(found("two three"), [2]);
    assert_eq!(found("REQ-001"), [3]);
    for document in documents {
        assert!(document.title.len() + document.body.len() < 910_000);
        assert!(is_apart(&document), "{}", document.title);
    }
}
