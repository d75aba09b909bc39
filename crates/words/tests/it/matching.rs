//! Which documents a query finds.

use words::{Place, Query, terms};

use crate::engine::{find, index, table};

#[test]
fn forms_case_and_accents_find_each_other() {
    for forms in [
        &["требование", "требования", "требований", "Требованиями"][..],
        &["run", "runs", "running", "RUN"],
        &["Ёлка", "елка", "ЁЛКИ", "Е\u{308}лка"],
        &["story", "Stories", "story's"],
        &["café", "CAFE", "cafe\u{301}s"],
        &["Straße", "strasse"],
        &["create_epic", "createEpic", "create-epic", "CreateEpics", "createepic"],
        &["OAuth2", "oauth2", "OAUTH-2"],
        &["userId", "user_id", "userid", "UserIDs"],
        &["e-mail", "email", "E\u{2011}mails"],
        &["REQ-012", "req-12", "Req-0012"],
        &["ABC-EP-7", "abc-ep-007"],
        &["要件定義", "要件定義"],
    ] {
        for document in forms {
            for query in forms {
                check(&format!("{query} "), &[document], &[document]);
            }
        }
    }
}

#[test]
fn words_that_differ_do_not_find_each_other() {
    for (query, document) in [
        ("иод ", "йод"),
        ("REQ-1 ", "REQ-12"),
        ("REQ-12 ", "ABC-REQ-12"),
        ("EP-1 ", "REQ-1"),
        ("12 ", "REQ-12"),
        ("form ", "information"),
        ("件要 ", "要件"),
        ("が ", "か"),
    ] {
        check(query, &[document], &[]);
    }
}

#[test]
fn an_identifier_is_found_by_its_parts() {
    for (query, document) in [
        ("create ", "calls create_epic first"),
        ("epics ", "calls create_epic first"),
        ("id ", "the userId"),
        ("oauth ", "with OAuth2"),
        ("server ", "an HTTPServer"),
        ("example ", "me@example.com"),
        ("create_epic ", "to create epics"),
        ("homme ", "l’homme"),
        ("REQ-3 ", "branch feature/REQ-003-login"),
        ("件 ", "要件定義"),
    ] {
        check(query, &[document], &[document]);
    }
}

#[test]
fn all_words_must_be_there() {
    let documents = ["the pot brews coffee", "the pot is hot", "coffee"];
    check("coffee pot ", &documents, &["the pot brews coffee"]);
    check("the ", &documents, &["the pot brews coffee", "the pot is hot"]);
    check("tea ", &documents, &[]);
}

#[test]
fn quoted_words_must_be_neighbours() {
    let documents = ["a hot pot of coffee", "the pot is hot", "hot pots"];
    check("\"hot pot\"", &documents, &["a hot pot of coffee", "hot pots"]);
    check("“hot pot”", &documents, &["a hot pot of coffee", "hot pots"]);
    check("\"hot pot", &documents, &["a hot pot of coffee", "hot pots"]);
    check("coffee\"hot pot\"", &documents, &["a hot pot of coffee"]);
    check("\"\" pot ", &documents, &documents);
    check("\"see REQ-1 first\"", &["see REQ-001 first", "first see REQ-1"], &["see REQ-001 first"]);
}

#[test]
fn what_is_excluded_is_not_found() {
    let documents = ["hot pot", "cold pot", "pot hot-plate", "e-mail"];
    check("pot -cold", &documents, &["hot pot", "pot hot-plate"]);
    check("pot -\"hot pot\"", &documents, &["cold pot", "pot hot-plate"]);
    check("-pot", &documents, &["e-mail"]);
    check("-\"cold pot\" -\"e mail", &documents, &["hot pot", "pot hot-plate"]);
    check("hot-plate", &documents, &["pot hot-plate"]);
    check("- pot ", &documents, &["hot pot", "cold pot", "pot hot-plate"]);
    check("--pot ", &documents, &["hot pot", "cold pot", "pot hot-plate"]);
    check("-email", &documents, &["hot pot", "cold pot", "pot hot-plate"]);
    check("pot -co", &documents, &["hot pot", "cold pot", "pot hot-plate"]);
}

#[test]
fn the_last_word_may_be_incomplete() {
    let documents = ["coffee", "coffers", "the create_epic tool", "REQ-012", "cof"];
    check("cof", &documents, &["coffee", "coffers", "cof"]);
    check("cof ", &documents, &["cof"]);
    check("\"cof\"", &documents, &["cof"]);
    check("\"cof", &documents, &["cof"]);
    check("c", &documents, &[]);
    check("cof tool", &documents, &[]);
    check("tool cre", &documents, &["the create_epic tool"]);
    check("create_ep", &documents, &["the create_epic tool"]);
    check("REQ-01", &documents, &["REQ-012"]);
    check("req-", &documents, &["REQ-012"]);
    check("cof ???", &documents, &["cof"]);
}

#[test]
fn text_without_words_finds_nothing() {
    for query in ["???", "---", "\"", "-\"\"", "🙂", "* OR *", ".", "\u{301}"] {
        check(query, &["?", "word", ""], &[]);
    }
}

#[test]
fn references_are_reported() {
    for (query, expected) in [
        ("req-12", "REQ-012"),
        ("see ABC-EP-7 and \"US-1000 later\"", "ABC-EP-007 US-1000"),
        ("-REQ-1 utf-8", ""),
        ("REQ-00000000000000000000000000001", ""),
    ] {
        let references = Query::parse(query).unwrap().references;
        let references: Vec<String> = references.iter().map(ToString::to_string).collect();
        assert_eq!(references.join(" "), expected, "{query}");
    }
}

#[test]
fn words_beyond_the_limit_are_left_out_and_counted() {
    let many = (0..40)
        .map(|i| format!("word{} ", char::from(b'a' + i % 26).to_string().repeat(2 + i as usize / 26)));
    let query = Query::parse(&many.collect::<String>()).unwrap();
    assert_eq!((query.clauses.len(), query.n_dropped), (32, 8));
    let query = Query::parse(&format!("one -\"{}\"", "要".repeat(50))).unwrap();
    assert_eq!((query.clauses.len(), query.n_dropped), (1, 50));
}

#[test]
fn problems_say_what_was_expected() {
    for (query, message) in [
        (" \t\u{a0}", "expected words to search for, found only blanks"),
        ("a\0", "expected text, found a NUL character"),
        (&"ы".repeat(1_001), "expected at most 1000 characters, found 1001"),
    ] {
        assert_eq!(Query::parse(query).unwrap_err().to_string(), message);
    }
}

#[test]
fn terms_are_stored_in_order_and_then_by_word() {
    let terms = terms("REQ-012 Users", "The userId of a user: a user!");
    assert_eq!(terms.title, " rreq12 suser e wreq012 wusers ");
    assert_eq!(terms.body, " sthe suser sid sof sa suser sa suser e wthe wuser wid suserid wuserid wof wa ");
    assert_eq!(
        terms.postings(),
        " rreq12 trreq12 suser tsuser pfw7lfi7q tpfw7lfi7q e wreq012 twreq012 bre tbre breq tbreq breq0 tbreq0 wusers \
         twusers bus tbus buse tbuse buser tbuser sthe pd5462eba sid pmkvr4jxu sof p7bwm4ftm sa pnw5adnau poq7n5bws \
         pq3ama45r bth bthe bid suserid wuserid bof"
    );
}

#[test]
fn queries_are_written_for_each_database() {
    let query = Query::parse("userId \"hot pots\" -cold brewi").unwrap();
    let expression = query.expression(Place::Anywhere);
    assert_eq!(
        expression.fts5(),
        "(((\"pmkvr4jxu\" OR \"suserid\") AND \"ppwcekbc3\" AND (\"sbrewi\" OR \"wbrewi\" *)) NOT (\"scold\"))"
    );
    assert_eq!(
        expression.tsquery(),
        "((('pmkvr4jxu' | 'suserid') & 'ppwcekbc3' & ('sbrewi' | 'wbrewi':*)) & !('scold'))"
    );
    let query = Query::parse("hot pot -cold").unwrap();
    assert_eq!(query.expression(Place::Title).fts5(), "((\"tshot\" AND \"tspot\") NOT (\"scold\"))");
}

#[test]
fn a_longer_phrase_is_found_by_its_pairs_and_then_checked() {
    let documents = ["one two three", "two three, one two", "three one two"];
    check("\"one two three\"", &documents, &["one two three"]);
    check("one -\"one two three\"", &documents, &["two three, one two", "three one two"]);
}

#[track_caller]
fn check(query: &str, documents: &[&str], expected: &[&str]) {
    let texts: Vec<_> = documents.iter().map(|text| (String::new(), (*text).to_owned())).collect();
    let found = find(&table(&index(&texts)), &Query::parse(query).unwrap());
    let found: Vec<&str> = found.into_iter().map(|id| documents[id]).collect();
    assert_eq!(found, expected, "{query}");
}
