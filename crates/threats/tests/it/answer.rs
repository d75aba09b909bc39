//! What an agent gets, and how much of it.

use proptest::prelude::*;
use threats::answer::{self, AGENT_TOKENS_MAX, Answer, Room};
use threats::{Hit, Library, Query};

use crate::{TMKB, file};

#[test]
fn the_count_is_that_of_the_whole_answer() {
    for context in ["background job", "multi-tenant api endpoint", "bulk delete", "approve a draft"] {
        let answer = ask(context, &Room::default());
        assert_eq!(answer.token_count, Some(estimate(&answer)), "{context}");
        assert!(exact(&answer) <= estimate(&answer), "{context}");
    }
}

#[test]
fn a_query_that_fits_nothing_answers_nothing() {
    let answer = ask("center a div with flexbox", &Room::default());
    assert_eq!(serde_json::to_string(&answer).unwrap(), r#"{"pattern_count":0,"patterns_included":0}"#);
    let answer = answer::human(&[], &Room::default());
    assert_eq!(serde_json::to_string(&answer).unwrap(), r#"{"pattern_count":0,"patterns_included":0}"#);
}

#[test]
fn patterns_are_dropped_from_the_tail_when_there_is_no_room() {
    let room = |tokens_max| Room { tokens_max: Some(tokens_max), ..Room::default() };
    let whole = ask("", &room(AGENT_TOKENS_MAX));
    assert_eq!((whole.pattern_count, whole.patterns_included, whole.token_limit_reached), (12, 3, false));
    let less = ask("", &room(200));
    assert_eq!((less.pattern_count, less.patterns_included, less.token_limit_reached), (12, 2, true));
    assert_eq!(less.patterns, whole.patterns[..2]);
}

#[test]
fn code_comes_only_where_it_fits() {
    let library = Library::builtin(&["all"]).unwrap();
    for pattern in library.patterns() {
        let hits = library.search(&Query { context: &pattern.triggers.keywords[0], ..Query::default() });
        let answer = answer::agent(&hits, &Room::default());
        assert!(answer.token_count.unwrap() <= AGENT_TOKENS_MAX, "{}", pattern.id);
        assert!(exact(&answer) <= AGENT_TOKENS_MAX, "{}", pattern.id);
        assert!(!answer.token_limit_reached, "{}: three patterns have room", pattern.id);
    }
    assert_eq!(
        ask("background job", &Room::default()).code_pattern,
        None,
        "the original's code has 700 tokens"
    );
}

#[test]
fn code_is_in_the_language_asked_for() {
    let example = |language: &str| {
        format!("  - {{language: {language}, framework: x, secure_code: \"in {language}\"}}\n")
    };
    let text = file(
        "X-Y-001",
        &format!(
            "language: any\ntriggers: {{keywords: [tenant isolation]}}\nmitigations:\n- id: M\n  effectiveness: high\n  code_examples:\n{}{}",
            example("python"),
            example("rust")
        ),
    );
    let (library, problems) = Library::load([("p.yaml", text)]);
    assert_eq!(problems, []);
    let code = |language| {
        let hits = library.search(&Query { context: "tenant isolation", language, ..Query::default() });
        let answer = answer::agent(&hits, &Room { language, ..Room::default() });
        answer.code_pattern.map(|code| code.secure_template)
    };
    assert_eq!(code(None).as_deref(), Some("in python"));
    assert_eq!(code(Some("Rust")).as_deref(), Some("in rust"));
    assert_eq!(code(Some("java")), None);
}

#[test]
fn a_pattern_too_large_by_itself_is_cut_and_says_so() {
    let long = "Every family 👨‍👩‍👧‍👦 counts. ".repeat(200);
    let text = file(
        "X-Y-001",
        &format!("severity: high\nagent_summary: {{threat: \"{long}\", check: short, fix: \"{long}\"}}"),
    );
    let (library, _) = Library::load([("p.yaml", text)]);
    let answer = answer::agent(&library.search(&Query::default()), &Room::default());
    assert!(answer.token_limit_reached);
    assert_eq!(answer.patterns_included, 1);
    let n_tokens = answer.token_count.unwrap();
    assert!((AGENT_TOKENS_MAX - 30..=AGENT_TOKENS_MAX).contains(&n_tokens), "{n_tokens}");
    let cut = &answer.patterns[0];
    assert_eq!(cut.check, "short");
    assert!(long.starts_with(cut.threat.strip_suffix('…').unwrap()));
    assert!(!cut.threat.ends_with("\u{200d}…"), "families stay together: {}", cut.threat);
}

#[test]
fn even_an_absurd_id_gives_an_honest_answer() {
    let (library, _) = Library::load([("p.yaml", file(&"X-".repeat(5_000), "severity: high"))]);
    let answer = answer::agent(&library.search(&Query::default()), &Room::default());
    assert_eq!((answer.pattern_count, answer.patterns_included, answer.token_limit_reached), (1, 0, true));
    assert!(answer.token_count.unwrap() <= AGENT_TOKENS_MAX);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn an_answer_is_never_over_budget(
        sentences in prop::collection::vec("\\PC{0,400}", 3..12),
        code in "\\PC{0,900}",
        tokens_max in 60_usize..700,
        patterns_max in 1_usize..6,
    ) {
        let (library, _) = Library::load(sentences.chunks(3).enumerate().map(|(index, sentences)| {
            let get = |at: usize| serde_json::to_string(sentences.get(at).map_or("", String::as_str)).unwrap();
            let code = serde_json::to_string(&code).unwrap();
            let text = format!(
                "agent_summary: {{threat: {}, check: {}, fix: {}}}\nmitigations: [{{effectiveness: high, code_examples: [{{secure_code: {code}}}]}}]",
                get(0), get(1), get(2),
            );
            (format!("{index}"), file(&format!("X-Y-{index:03}"), &text))
        }));
        let room = Room { patterns_max, tokens_max: Some(tokens_max), ..Room::default() };
        let hits = library.search(&Query::default());
        let answer = answer::agent(&hits, &room);
        prop_assert!(exact(&answer) <= tokens_max);
        prop_assert_eq!(answer.token_count, (!hits.is_empty()).then(|| estimate(&answer)));
        prop_assert!(answer.patterns_included > 0 || answer.token_limit_reached || hits.is_empty());
    }
}

fn ask(context: &str, room: &Room<'_>) -> Answer {
    let hits: Vec<Hit<'_>> = TMKB.search(&Query { context, ..Query::default() });
    answer::agent(&hits, room)
}

fn estimate(answer: &Answer) -> usize {
    tokens::count(&serde_json::to_string(answer).unwrap())
}

/// What the real tokenizer counts.
fn exact(answer: &Answer) -> usize {
    bpe_openai::o200k_base().count(serde_json::to_string(answer).unwrap().as_str())
}

#[test]
fn a_pattern_for_another_language_is_marked_and_has_no_code() {
    let library = Library::builtin(&["all"]).unwrap();
    let query = Query { context: "bulk delete endpoint", language: Some("rust"), ..Query::default() };
    let found = library.ask(&query);
    let room = Room { language: Some("rust"), note: found.note.as_deref(), ..Room::default() };
    let answer = answer::agent(&found.hits, &room);
    assert_eq!(answer.patterns[0].id, "TMKB-AUTHZ-012");
    assert_eq!(answer.patterns[0].written_for.as_deref(), Some("Python/Flask"));
    assert_eq!(answer.code_pattern, None);
    assert!(answer.note.is_some_and(|note| note.starts_with("not written for rust")));

    let answer = answer::human(&found.hits, &room);
    assert_eq!(answer.verbose_patterns[0].written_for.as_deref(), Some("Python/Flask"));
    let mitigations = answer.verbose_patterns.iter().flat_map(|pattern| &pattern.mitigations);
    assert_eq!(mitigations.map(|mitigation| mitigation.code_examples.len()).sum::<usize>(), 0);
}

#[test]
fn the_long_answer_keeps_to_a_budget_and_says_how_to_get_the_rest() {
    let library = Library::builtin(&["all"]).unwrap();
    let found = library.ask(&Query { context: "bulk delete endpoint of a tenant", ..Query::default() });
    let room = Room { patterns_max: answer::MCP_PATTERNS_MAX, ..Room::default() };
    let whole = answer::human(&found.hits, &room);
    assert!(exact(&whole) > 2_500 && whole.patterns_included > 1, "{}", exact(&whole));
    for n_tokens_max in [200, 500, 1_000, 2_000] {
        let answer = answer::human_within(&found.hits, &room, n_tokens_max);
        assert!(exact(&answer) <= n_tokens_max, "{}", exact(&answer));
        assert!(answer.token_limit_reached);
        assert_eq!(answer.patterns_included, answer.verbose_patterns.len());
        let note = answer.note.expect("a note");
        let n_tokens: usize = note.split(' ').find_map(|word| word.parse().ok()).expect("a number");
        assert_eq!(answer::human_within(&found.hits, &room, n_tokens), whole, "{note}");
    }
}
