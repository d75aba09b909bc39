//! The server of seed 003, sentence by sentence: its tools and texts. Each test cites the part that it proves.

use std::process::Command;

use serde_json::{Value, json};

use crate::agent::{Agent, column, folder, stateless, text, usual};
use crate::token_estimates;

/// BLAKE3 of "A pot MUST brew coffee."
pub const BREW: &str = "9b1f8d031c6f636918b852336d000b4fcd2d73b091aa420f650e883c03506069";

pub const SOURCES: &[(&str, &str)] = &[
    (
        "src/brew.rs",
        "fn main() {\n    //= https://www.rfc-editor.org/rfc/rfc9999#section-2.1\n    //# A pot MUST brew coffee.\n    brew();\n}\n",
    ),
    ("src/a b.rs", "//= docs/kettle.md#lid\n"),
];

/// A citation is valid, or what is wrong is said with the nearest that would be right.
//@= spexus://REQ-190
//@= type=test
//@# 003 §4.1: validate_citation says whether a citation is valid, or what is wrong and the nearest that is right
#[test]
fn citations_are_validated() {
    let mut agent = Agent::new(SOURCES);
    let rfc = "https://www.rfc-editor.org/rfc/rfc9999";
    let mut check = |citation: &str, expected: Value| {
        let mut answer = agent.json("validate_citation", json!({"citation": citation}));
        let answer = answer.as_object_mut().expect("an object");
        // What is covered is tested apart.
        for key in ["requirement", "requirements", "share", "detail"] {
            answer.remove(key);
        }
        assert_eq!(Value::Object(answer.clone()), expected, "{citation}");
    };
    let target_only = "only the target is given, which covers nothing; quote the requirement";
    check(&format!("//= {rfc}#section-2.1"), json!({"valid": true, "warning": target_only}));
    check(&format!("{rfc}#section-2.1"), json!({"valid": true, "warning": target_only}));
    let pour = "A pot MUST pour, and it MUST stop when the cup is full.";
    let lines = format!("//= {rfc}#section-2.2\n//# {pour}");
    check(&format!("{rfc}#section-2.2"), json!({"valid": true, "warning": target_only, "lines": lines}));
    let valid = json!({"valid": true});
    check(
        "//= https://datatracker.ietf.org/doc/html/rfc9999#section-2.1\n//# A pot MAY sing.",
        valid.clone(),
    );
    check(
        &format!(
            "    //= {rfc}#section-2.1\r\n    //= type=test\r\n    //# A pot MUST\r\n    //# brew coffee."
        ),
        valid,
    );
    check("//= https:// nowhere#x", json!({"valid": false, "error": "Invalid URL"}));
    let unknown = json!({"valid": false, "error": "Specification not found", "nearest": rfc, "lines": format!("//= {rfc}#section-2.1")});
    check("//= https://www.rfc-editor.org/rfc/rfc9998#section-2.1", unknown.clone());
    // What resources are called is not what comments call them.
    check("//= rfc9999#2.1", unknown);
    let nearest = format!("{rfc}#section-2.1");
    let section = json!({"valid": false, "error": "Section not found", "nearest": nearest, "lines": format!("//= {nearest}")});
    check(&format!("//= {rfc}#section-2.11"), section);
    check(
        "//= docs/kettle.md",
        json!({"valid": false, "error": "Section not found", "nearest": "docs/kettle.md#section"}),
    );
    check(
        "//= docs/kettle.md#3.1",
        json!({"valid": false, "error": "Section not found", "nearest": "docs/kettle.md#3-1-error-handling", "lines": "//= docs/kettle.md#3-1-error-handling"}),
    );
    let quote = json!({"valid": false, "error": "Requirement not found", "nearest": "A pot MUST brew coffee.", "difference": "A pot MUST brew [-tea.-]{+coffee.+}", "lines": format!("//= {rfc}#section-2.1\n//# A pot MUST brew coffee.")});
    check(&format!("//= {rfc}#section-2.1\n//# A pot MUST brew tea."), quote);
    let stop = "stop when the cup is full";
    let elsewhere = json!({"valid": false, "error": "Requirement not found", "nearest": format!("{rfc}#section-2.2"), "lines": format!("//= {rfc}#section-2.2\n//# {stop}")});
    check(&format!("//= {rfc}#section-2.1\n//# {stop}"), elsewhere);
    let no_requirement = json!({"valid": true, "warning": "the quoted text belongs to no requirement"});
    check(&format!("//= {rfc}#section-2\n//# A pot has a lid."), no_requirement);
    let fuzzy = json!({"valid": true, "fuzzy": true, "warning": "the quote differs by one edit: A pot MUST [-bre-]{+brew+} coffee.", "lines": format!("//= {rfc}#section-2.1\n//# A pot MUST brew coffee.")});
    check(&format!("//= {rfc}#section-2.1\n//# A pot MUST bre coffee."), fuzzy);
    check(
        "what is this",
        json!({"valid": false, "error": "Invalid citation", "nearest": "//= https://www.rfc-editor.org/rfc/rfc2324#section-2.1"}),
    );
    check(
        "//= type=tset\n//= docs/kettle.md#lid",
        json!({"valid": false, "error": "there is no type `tset`", "nearest": "test", "lines": "//= type=test\n//= docs/kettle.md#lid"}),
    );
}

/// The answer has the part of the requirement that the quote covers, and the rest.
//@= spexus://REQ-190
//@= type=test
//@# 003 §4.1: validate_citation says whether a citation is valid, or what is wrong and the nearest that is right
#[test]
fn a_valid_citation_tells_what_it_covers() {
    let mut agent = Agent::new(SOURCES);
    let target = "https://www.rfc-editor.org/rfc/rfc9999#section-2.2";
    let pour = "A pot MUST pour, and it MUST stop when the cup is full.";
    let mut check = |quote: &str, share: Value, rest: Value, warning: Value| {
        let citation = format!("//= {target}\n//= type=test\n//# {quote}");
        let answer = agent.json("validate_citation", json!({"citation": citation}));
        assert_eq!(answer["valid"], true, "{answer}");
        assert_eq!(answer["requirement"]["text"], pour, "{answer}");
        assert_eq!((&answer["share"], &answer["rest"], &answer["warning"]), (&share, &rest, &warning));
        let lines = (!warning.is_null()).then(|| format!("//= {target}\n//= type=test\n//# {pour}"));
        assert_eq!(answer["lines"], json!(lines), "{answer}");
    };
    check(pour, json!(1.0), Value::Null, Value::Null);
    check(
        "A pot MUST pour",
        json!(0.27),
        json!("and it MUST stop when the cup is full."),
        json!("the quote leaves out a condition: when the cup is full."),
    );
    check("and it MUST stop when the cup is full.", json!(0.69), json!("A pot MUST pour,"), Value::Null);
    check(
        "pour",
        json!(0.09),
        json!("A pot MUST , and it MUST stop when the cup is full."),
        json!(
            "a quote of one word says little, and means its first occurrence; quote the sentence; \
             the quote leaves out a condition: when the cup is full."
        ),
    );
    let both = format!("//= {}\n//# A pot SHOULD keep it hot. A pot MAY", target.replace("2.2", "2.1"));
    let answer = agent.json("validate_citation", json!({"citation": both}));
    assert_eq!(column(&answer["requirements"], "text"), ["A pot SHOULD keep it hot.", "A pot MAY sing."]);
    assert_eq!(answer["requirements"][1]["rest"], "sing.");
}

/// Every comment style of the project is understood.
//@= spexus://REQ-190
//@= type=test
//@# 003 §4.1: validate_citation says whether a citation is valid, or what is wrong and the nearest that is right
#[test]
fn citations_are_validated_in_the_styles_of_the_project() {
    let config = "'$schema' = 'https://awslabs.github.io/duvet/config/v0.4.0.json'\n\
        [[source]]\npattern = 'src/*.py'\ncomment-style = {meta = '##=', content = '##%'}\n\
        [[specification]]\nsource = 'docs/kettle.md'\n";
    let mut agent = Agent::with(&[(".duvet/config.toml", config), usual()[2]]);
    for (citation, is_valid) in [
        ("##= docs/kettle.md#lid\n##% The lid MUST close.", true),
        ("//= docs/kettle.md#lid\n//# The lid MUST close.", true),
        ("##= docs/kettle.md#lid\n##% The lid MUST be blue.", false),
    ] {
        let answer = agent.json("validate_citation", json!({"citation": citation}));
        assert_eq!(answer["valid"], is_valid, "{citation}: {answer}");
    }
    let foreign =
        json!({"citation": "//= docs/kettle.md#lid\n//# The lid MUST close.", "file_path": "src/a.py"});
    let answer = agent.json("validate_citation", foreign);
    assert_eq!(answer["warning"], "citations in src/a.py are written with `##=` and `##%`");
    assert_eq!(answer["lines"], "##= docs/kettle.md#lid\n##% The lid MUST close.");
}

/// What is valid here is what `duvet check` takes, before and after it is written.
//@= spexus://REQ-190
//@= type=test
//@# 003 §4.1: validate_citation says whether a citation is valid, or what is wrong and the nearest that is right
#[test]
fn a_citation_is_valid_if_the_gate_takes_it() {
    let mut agent = Agent::new(SOURCES);
    agent.write("docs/cup.md", "# Cup\n\nA cup MAY be full.\n\n# Empty\n");
    let rfc = "https://www.rfc-editor.org/rfc/rfc9999";
    for (citation, is_valid) in [
        (format!("//= {rfc}#section-2.1\n//# A pot MAY sing."), true),
        (format!("//= {rfc}.txt#2.1\n//# A pot MAY sing."), true),
        (format!("//= {rfc}#section-2.1\n//= format=ietf\n//# A pot MAY sing."), true),
        ("//= https://tools.ietf.org/rfc/rfc9999#section-2.1".into(), true),
        ("//= rfc9999#section-2.1".into(), false),
        ("//= docs-kettle-md#lid".into(), false),
        ("//= docs/kettle.md#Lid".into(), false),
        ("//= ./docs/kettle.md#lid\n//# The lid MUST close.".into(), true),
        ("//= docs/../docs/kettle.md#lid".into(), true),
        ("//= docs/cup.md#cup\n//# A cup MAY be full.".into(), true),
        ("//= docs/cup.md#empty\n//# A cup".into(), false),
        ("//= docs/saucer.md#cup".into(), false),
        ("//= /docs/kettle.md#lid".into(), false),
        ("//= docs/kettle.md#lid\n//= level=HIGH\n//# The lid MUST close.".into(), false),
        ("//= docs/kettle.md#lid\n//= feature=x\n//# The lid MUST close.".into(), false),
        ("//= docs/kettle.md#lid\n//= type=exception\n//# The lid MUST close.".into(), true),
        ("//= docs/kettle.md#lid\n//# The lid MUST close.\n//= docs/kettle.md#lids".into(), false),
        ("//= docs/kettle.md#lid\n//= docs/kettle.md#lid".into(), false),
        ("//= type=test\n//# The lid MUST close.".into(), false),
    ] {
        let answer = agent.json("validate_citation", json!({"citation": citation}));
        assert_eq!(answer["valid"], is_valid, "{citation}: {answer}");
        agent.write("src/new.rs", &format!("fn a() {{}}\n    {}\n", citation.replace('\n', "\n    ")));
        let mut gate = Command::new(env!("CARGO_BIN_EXE_duvet"));
        let gate = gate.args(["check", "--format", "json"]).current_dir(agent.root()).output().expect("runs");
        assert_eq!(gate.status.code(), Some(i32::from(!is_valid)), "{citation}");
        // The comment can be passed back as it is told.
        let invalid = agent.json("list_invalid_citations", json!({}));
        assert_eq!(invalid.as_array().expect("a list").is_empty(), is_valid, "{citation}: {invalid}");
        for wrong in invalid.as_array().expect("a list") {
            let (comment, file) = (&wrong["comment_text"], &wrong["file_path"]);
            let again = agent.json("validate_citation", json!({"citation": comment, "file_path": file}));
            assert_eq!(again["valid"], false, "{wrong} {again}");
        }
    }
}

/// Keywords in any form, phrases, best first.
//@= spexus://REQ-191
//@= type=test
//@# 003 §4.2: search_requirements finds requirements by keywords, best first
#[test]
fn requirements_are_searched() {
    let mut agent = Agent::new(SOURCES);
    let mut texts = |query: &str| column(&agent.json("search_requirements", json!({"query": query})), "text");
    assert_eq!(texts("error handling"), ["Handling of errors is OPTIONAL."]);
    assert_eq!(texts("BREWING coffee"), ["A pot MUST brew coffee."; 2]);
    assert_eq!(texts("\"lid must close\""), ["The lid MUST close."]);
    assert!(texts("\"close lid\"").is_empty());
    assert!(texts("quantum").is_empty());
    let found = agent.json("search_requirements", json!({"query": "brew", "spec_id": "rfc9999"}));
    let full_path = format!("/specifications/rfc9999/sections/section-2.1/requirements/{BREW}");
    let target = "https://www.rfc-editor.org/rfc/rfc9999#section-2.1";
    assert_eq!(
        found,
        json!([{"identifier": BREW, "full_path": full_path, "text": "A pot MUST brew coffee.",
            "section": "Brewing", "target": target, "short_id": found[0]["short_id"]}])
    );
    let refused = agent.call("search_requirements", json!({"query": "x".repeat(1001)}));
    assert_eq!(refused["isError"], true, "{refused}");
}

/// The statuses: done, needs tests, in progress, not started; and what makes which.
//@= spexus://REQ-192
//@= type=test
//@# 003 §4.3: get_requirement_status says what is done, needs tests, is in progress or not started
//@= spexus://REQ-198
//@= type=test
//@# 003 §5: the system prompt opens the instructions, word for word
#[test]
fn a_status_follows_from_the_citations() {
    const QUOTE: &str = "//# A pot MUST pour, and it MUST stop when the cup is full.";
    let cite = |kind: &str, quote: &str| {
        format!("//= https://www.rfc-editor.org/rfc/rfc9999#section-2.2\n{kind}{quote}\n\n")
    };
    let (first, second) = ("//# A pot MUST pour,", "//# and it MUST\n//# stop when the cup is full.");
    let (test, todo) = ("//= type=test\n", "//= type=TODO\n");
    let (exception, implication) = ("//= type=exception\n//= reason=never\n", "//= type=implication\n");
    for (source, status, detail, progress, n_todos) in [
        (String::new(), "not started", "not started", "not_started", 0),
        (cite("", ""), "not started", "not started", "not_started", 0),
        (cite(todo, QUOTE), "not started", "Not started", "not_started", 1),
        (cite(todo, QUOTE) + &cite(todo, first), "not started", "Not started", "not_started", 2),
        (cite("", first), "in progress", "Partial coverage", "partially_implemented", 0),
        (cite("", first) + &cite(todo, second), "in progress", "Not started", "partially_implemented", 1),
        (cite(test, QUOTE), "in progress", "Missing citation", "not_started", 0),
        (cite("", QUOTE), "needs tests", "Missing test", "fully_implemented", 0),
        (cite("", QUOTE) + &cite(test, first), "needs tests", "Missing test", "fully_implemented", 0),
        (cite("", QUOTE) + &cite(test, QUOTE), "done", "Complete", "fully_implemented", 0),
        (cite(exception, QUOTE), "done", "Exception", "fully_implemented", 0),
        (cite(implication, QUOTE), "done", "Complete", "fully_implemented", 0),
        // Quotes that tile a requirement are as good as one.
        (
            cite("", first) + &cite("", second) + &cite(test, second) + &cite(test, first),
            "done",
            "Complete",
            "fully_implemented",
            0,
        ),
        (
            cite("", first) + &cite(exception, second),
            "needs tests",
            "Partial coverage",
            "fully_implemented",
            0,
        ),
    ] {
        let mut agent = Agent::new(&[("src/pour.rs", &source)]);
        let requirements = agent.read("/specifications/rfc9999/sections/2.2/requirements");
        let identifier = &requirements[0]["identifier"];
        let answer = agent.json("get_requirement_status", json!({"req_identifier": identifier}));
        assert_eq!((&answer["status"], &answer["detail"]), (&json!(status), &json!(detail)), "{source}");
        let all = agent.json("get_prioritized_requirements", json!({"spec_id": "rfc9999"}));
        let mine =
            all.as_array().expect("a list").iter().find(|one| one["full_path"].to_string().contains("2.2"));
        let mine = mine.expect("the requirement is there");
        assert_eq!((&mine["status"], &mine["todo_count"]), (&json!(progress), &json!(n_todos)), "{source}");
    }
}

/// An identifier that several requirements share answers with all, and with the least finished.
//@= spexus://REQ-192
//@= type=test
//@# 003 §4.3: get_requirement_status says what is done, needs tests, is in progress or not started
#[test]
fn an_ambiguous_identifier_answers_with_all_matches() {
    let mut agent = Agent::new(SOURCES);
    let path = |section: &str| format!("/specifications/{section}/requirements/{BREW}");
    let (pot, lid) = (path("rfc9999/sections/section-2.1"), path("docs-kettle-md/sections/lid"));
    for name in [BREW, &BREW[..8]] {
        let answer = agent.json("get_requirement_status", json!({"req_identifier": name}));
        assert_eq!((&answer["status"], &answer["match_count"]), (&json!("not started"), &json!(2)));
        assert_eq!(column(&answer["matches"], "full_path"), [lid.clone(), pot.clone()]);
        assert_eq!(column(&answer["matches"], "status"), ["not started", "needs tests"]);
    }
    for name in [pot.clone(), format!("duvet://{pot}"), path("rfc9999/sections/2.1")] {
        let answer = agent.json("get_requirement_status", json!({"req_identifier": name}));
        assert_eq!((&answer["status"], &answer["detail"]), (&json!("needs tests"), &json!("Missing test")));
        assert_eq!(answer["full_path"], pot, "{name}");
    }
    for name in ["0123456789", &BREW[..7], "/specifications/rfc9999/sections/2.1/requirements/0123456789"] {
        let answer = agent.call("get_requirement_status", json!({"req_identifier": name}));
        assert_eq!((text(&answer), &answer["isError"]), ("Requirement not found", &json!(true)), "{name}");
    }
}

/// However many requirements share a text, all of them are listed, in parts where they are many.
//@= spexus://REQ-192
//@= type=test
//@# 003 §4.3: get_requirement_status says what is done, needs tests, is in progress or not started
#[test]
fn requirements_of_one_text_are_all_listed() {
    let sections: String = (0..60).map(|number| format!("## Pot {number}\n\nIt MUST boil.\n\n")).collect();
    let mut agent = Agent::new(&[]);
    agent.write("docs/kettle.md", &format!("# Pots\n\n{sections}"));
    agent.until("sixty pots", |agent| {
        agent.read("/requirements").as_array().is_some_and(|all| all.len() > 60)
    });
    let found = agent.json("search_requirements", json!({"query": "\"It MUST boil\"", "limit": 1}));
    let mut arguments = json!({"req_identifier": found[0]["identifier"]});
    let mut paths = Vec::new();
    loop {
        let answer = agent.json("get_requirement_status", arguments.clone());
        assert_eq!((&answer["match_count"], &answer["text"]), (&json!(60), &json!("It MUST boil.")));
        paths.extend(column(&answer["matches"], "full_path"));
        let Some(cursor) = answer.get("nextCursor") else { break };
        assert_eq!(answer["remaining"], 60 - paths.len());
        arguments["cursor"] = cursor.clone();
    }
    paths.dedup();
    assert_eq!(paths.len(), 60);
}

/// What nothing cites; with what only TODOs cite if that is wanted.
//@= spexus://REQ-193
//@= type=test
//@# 003 §4.4: list_uncited_requirements lists what nothing cites
#[test]
fn uncited_requirements_are_listed() {
    let todo = "//= docs/kettle.md#lid\n//= type=todo\n//# The lid MUST close.\n";
    let mut agent = Agent::new(&[SOURCES[0], ("src/todo.rs", todo)]);
    let uncited = agent.json("list_uncited_requirements", json!({"spec_id": "docs-kettle-md"}));
    let texts =
        ["A kettle MUST switch itself off.", "Handling of errors is OPTIONAL.", "A pot MUST brew coffee."];
    assert_eq!(column(&uncited, "text"), texts);
    assert_eq!(
        uncited[0].as_object().expect("an object").keys().collect::<Vec<_>>(),
        ["identifier", "full_path", "text", "section", "target", "short_id"]
    );
    let with_todos =
        agent.json("list_uncited_requirements", json!({"spec_id": "docs-kettle-md", "include_todo": true}));
    assert_eq!(column(&with_todos, "text"), [texts[0], texts[1], "The lid MUST close.", texts[2]]);
    assert_eq!(agent.json("list_uncited_requirements", json!({})).as_array().map(Vec::len), Some(7));
}

/// A citation that is wrong covers nothing.
//@= spexus://REQ-193
//@= type=test
//@# 003 §4.4: list_uncited_requirements lists what nothing cites
//@= spexus://REQ-197
//@= type=test
//@# 003 §4.8: get_prioritized_requirements orders by level, then by status, then by TODOs
#[test]
fn invalid_citations_cover_nothing() {
    for wrong in ["type=tset", "level=HIGH", "colour=red"] {
        let source = format!("//= docs/kettle.md#lid\n//= {wrong}\n//# The lid MUST close.\n");
        let mut agent = Agent::new(&[("src/wrong.rs", &source)]);
        let uncited = agent.json("list_uncited_requirements", json!({"spec_id": "docs-kettle-md"}));
        assert!(column(&uncited, "text").contains(&"The lid MUST close.".to_owned()), "{wrong}: {uncited}");
        let all = agent.json("get_prioritized_requirements", json!({"spec_id": "docs-kettle-md"}));
        assert!(column(&all, "status").iter().all(|status| status == "not_started"), "{wrong}: {all}");
    }
}

/// Everything that is wrong, each with its place, its reason, and what would be right.
//@= spexus://REQ-194
//@= type=test
//@# 003 §4.5: list_invalid_citations lists every invalid citation with place and reason
#[test]
fn invalid_citations_are_listed() {
    let source = "//= docs/kettle.md#lids\n\n//= docs/kettle.md#lid\n//# The lid MUST cloze it.\n\n\
                  //= docs/kettles.md#lid\n\n//= https://example.com:x/a#b\n\n//= type=tset\n//= docs/kettle.md#lid\n\n\
                  //= colour=red\n\n//= docs/kettle.md\n";
    let stale = "target = 'docs/kettle.md#lid'\n[[todo]]\nquote = 'The lid MUST sing loudly.'\n";
    let mut agent = Agent::new(&[("src/wrong.rs", source), (".duvet/todos/stale.toml", stale), SOURCES[1]]);
    let invalid = agent.json("list_invalid_citations", json!({}));
    let rows: Vec<(&str, u64, &str, &str)> = invalid
        .as_array()
        .expect("a list")
        .iter()
        .map(|row| {
            let text = |key: &str| row[key].as_str().expect("a text");
            (
                text("file_path"),
                row["line_number"].as_u64().expect("a number"),
                text("comment_text"),
                text("error"),
            )
        })
        .collect();
    let wrong = "src/wrong.rs";
    assert_eq!(
        rows,
        [
            (".duvet/todos/stale.toml", 2, "[[todo]]", "Requirement not found"),
            (wrong, 1, "//= docs/kettle.md#lids", "Section not found"),
            (wrong, 3, "//= docs/kettle.md#lid\n//# The lid MUST cloze it.", "Requirement not found"),
            (wrong, 6, "//= docs/kettles.md#lid", "URL not found"),
            (wrong, 8, "//= https://example.com:x/a#b", "Invalid URL"),
            (wrong, 10, "//= type=tset\n//= docs/kettle.md#lid", "there is no type `tset`"),
            (wrong, 13, "//= colour=red", "there is no key `colour`"),
            (wrong, 13, "//= colour=red", "the annotation names no specification"),
            (wrong, 15, "//= docs/kettle.md", "Section not found"),
        ]
    );
    // The comment as it is listed gets the same verdict when it is checked alone.
    for (path, line, comment, error) in rows.iter().filter(|(path, ..)| *path == wrong) {
        let verdict = agent.json("validate_citation", json!({"citation": comment, "file_path": path}));
        let same = if *error == "URL not found" { "Specification not found" } else { *error };
        let is_second = *error == "the annotation names no specification";
        assert!(is_second || verdict["error"] == same, "line {line}: {verdict}");
        assert_eq!(verdict["valid"], false, "line {line}: {verdict}");
    }
    assert_eq!(invalid[1]["suggestion"], "did you mean `lid`?");
    assert_eq!(invalid[1]["lines"], "//= docs/kettle.md#lid");
    assert_eq!(invalid[2]["nearest"], "The lid MUST close.");
    assert_eq!(invalid[2]["difference"], "The lid MUST [-cloze it.-]{+close.+}");
    assert_eq!(invalid[2]["lines"], "//= docs/kettle.md#lid\n//# The lid MUST close.");
    let of_kettle = agent.json("list_invalid_citations", json!({"spec_id": "docs-kettle-md"}));
    assert!(!of_kettle.to_string().contains("kettles.md"), "{of_kettle}");
    assert_eq!(agent.json("list_invalid_citations", json!({"spec_id": "rfc9999"})), json!([]));
    // What is wrong can be looked at like what is right.
    let context =
        agent.json("get_citation_context", json!({"citation_id": "src/wrong.rs:6", "context_lines": 0}));
    assert_eq!(context["context"], json!(["//= docs/kettles.md#lid"]));
}

/// The lines around a citation, as many as there are.
//@= spexus://REQ-195
//@= type=test
//@# 003 §4.6: get_citation_context returns the lines around a citation
#[test]
fn the_context_of_a_citation_ends_where_the_file_does() {
    let mut agent = Agent::new(SOURCES);
    let lines = [
        "fn main() {",
        "    //= https://www.rfc-editor.org/rfc/rfc9999#section-2.1",
        "    //# A pot MUST brew coffee.",
        "    brew();",
        "}",
    ];
    for (n_lines, expected) in [(0, &lines[1..2]), (1, &lines[..3]), (2, &lines[..4]), (100, &lines[..])] {
        let context = agent
            .json("get_citation_context", json!({"citation_id": "src/brew.rs:2", "context_lines": n_lines}));
        assert_eq!(context, json!({"file_path": "src/brew.rs", "line_number": 2, "context": expected}));
    }
    assert_eq!(
        agent.json("get_citation_context", json!({"citation_id": "src/brew.rs:2"}))["context"],
        json!(lines)
    );
    for n_lines in [-1, 101] {
        let refused = agent
            .call("get_citation_context", json!({"citation_id": "src/brew.rs:2", "context_lines": n_lines}));
        assert_eq!(refused["isError"], true, "{refused}");
    }
    let missing = agent.refused("get_citation_context", json!({"citation_id": "src/brew.rs:30"}));
    let expected = "Citation not found: src/brew.rs:30\ncitation_id: did you mean \"src/brew.rs:2\"?";
    assert_eq!(missing, expected);
}

/// A specification by any of its addresses.
//@= spexus://REQ-196
//@= type=test
//@# 003 §4.7: resolve_spec_id finds a specification by any of its addresses
#[test]
fn a_specification_is_resolved_from_its_address() {
    let mut agent = Agent::new(SOURCES);
    for (url, id) in [
        ("https://www.rfc-editor.org/rfc/rfc9999", "rfc9999"),
        ("https://www.rfc-editor.org/rfc/rfc9999.txt#section-2.1", "rfc9999"),
        ("https://tools.ietf.org/rfc/rfc9999", "rfc9999"),
        ("https://datatracker.ietf.org/doc/html/rfc9999", "rfc9999"),
        ("rfc9999", "rfc9999"),
        ("docs/kettle.md", "docs-kettle-md"),
        ("./docs/kettle.md", "docs-kettle-md"),
    ] {
        let answer = agent.json("resolve_spec_id", json!({"url": url}));
        assert_eq!((&answer["spec_id"], answer.get("error")), (&json!(id), None), "{url}");
    }
    let answer = agent.json("resolve_spec_id", json!({"url": "https://www.rfc-editor.org/rfc/rfc9998"}));
    let nearest = json!(["rfc9999"]);
    assert_eq!((&answer["error"], &answer["nearest"]), (&json!("Specification not found"), &nearest));
    let answer = agent.json("resolve_spec_id", json!({"url": "§§§"}));
    assert_eq!((&answer["error"], answer.get("nearest")), (&json!("Specification not found"), None));
    assert!(answer.get("spec_id").is_none(), "{answer}");
}

/// By level, then by what is underway, then by TODOs, then in the order of documents.
//@= spexus://REQ-197
//@= type=test
//@# 003 §4.8: get_prioritized_requirements orders by level, then by status, then by TODOs
#[test]
fn priorities_come_in_the_order_of_the_document() {
    let cite = |section: &str, kind: &str, quote: &str| {
        format!("//= https://www.rfc-editor.org/rfc/rfc9999#{section}\n{kind}//# {quote}\n\n")
    };
    let source = cite("section-2.1", "", "A pot MUST brew coffee.")
        + &cite("section-2.1", "//= type=todo\n", "A pot MUST NOT leak.")
        + &cite("section-2.2", "", "A pot MUST pour,")
        + &cite("section-2.1", "", "A pot SHOULD")
        + &cite("section-2.1", "//= type=todo\n", "A pot MAY sing.");
    let mut agent = Agent::new(&[("src/lib.rs", &source)]);
    let all = agent.json("get_prioritized_requirements", json!({}));
    let mut rows = Vec::new();
    for one in all.as_array().expect("a list") {
        let keys = one.as_object().expect("an object").keys().collect::<Vec<_>>();
        let expected =
            ["full_path", "level", "status", "todo_count", "text", "section", "target", "short_id"];
        assert_eq!(keys, expected);
        let requirement = agent.read(one["full_path"].as_str().expect("a path"));
        assert_eq!(requirement["text"], one["text"]);
        let text = |value: &Value| value.as_str().expect("a text").to_owned();
        rows.push(format!(
            "{} {} {} {}",
            text(&one["level"]),
            text(&one["status"]),
            one["todo_count"],
            text(&requirement["text"])
        ));
    }
    assert_eq!(
        rows,
        [
            "MUST partially_implemented 0 A pot MUST pour, and it MUST stop when the cup is full.",
            "MUST not_started 1 A pot MUST NOT leak.",
            "MUST not_started 0 A kettle MUST switch itself off.",
            "MUST not_started 0 The lid MUST close.",
            "MUST not_started 0 A pot MUST brew coffee.",
            "MUST fully_implemented 0 A pot MUST brew coffee.",
            "SHOULD partially_implemented 0 A pot SHOULD keep it hot.",
            "MAY not_started 1 A pot MAY sing.",
            "MAY not_started 0 Handling of errors is OPTIONAL.",
        ]
    );
}

/// A requirement that does not say how binding it is comes last.
//@= spexus://REQ-197
//@= type=test
//@# 003 §4.8: get_prioritized_requirements orders by level, then by status, then by TODOs
#[test]
fn an_unspecified_level_comes_last() {
    let file = "target = 'docs/kettle.md#lid'\n[[spec]]\nquote = 'The lid MUST close.'\n";
    let config = usual()[0].1.replace("[[specification]]\nsource = 'docs/kettle.md'\n", "");
    let mut agent = Agent::with(&[
        (".duvet/config.toml", &config),
        usual()[1],
        usual()[2],
        (".duvet/requirements/lid.toml", file),
    ]);
    let all = agent.json("get_prioritized_requirements", json!({}));
    let last = all.as_array().and_then(|all| all.last()).expect("a requirement");
    assert_eq!(last["level"], "unspecified", "{all}");
}

/// The system prompt comes first, word for word; then what is really there.
//@= spexus://REQ-198
//@= type=test
//@# 003 §5: the system prompt opens the instructions, word for word
#[test]
fn instructions_open_with_the_system_prompt() {
    let folder = folder(&[&usual()[..], SOURCES].concat());
    let mut serving = crate::process::Serving::duvet(folder.path(), &[]);
    let answer = serving.handshake("2025-11-25");
    let instructions = answer["result"]["instructions"].as_str().expect("a text");
    let prompt = include_str!("../data/seed_003_system_prompt.md");
    let rest = instructions.strip_prefix(prompt).unwrap_or_else(|| panic!("{instructions}"));
    for part in [
        "9 requirements: 0 done, 1 need tests, 0 in progress, 8 not started. 2 citations, 0 invalid.",
        "Open: `rfc9999` (A Protocol for Pots) 5, `docs-kettle-md` (Kettles) 4.",
        "Citations: `//= TARGET`, then `//# QUOTE`.",
    ] {
        assert!(rest.contains(part), "{rest}");
    }
    assert!(!rest.contains("wrong"), "{rest}");
    let answer = serving.request(9, "server/discover", json!({"_meta": stateless()}));
    assert_eq!(answer["result"]["instructions"], instructions);
}

/// The eight tools, described in few words.
//@= spexus://REQ-189
//@= type=test
//@# 003 §4: there are eight tools, called by name
#[test]
fn the_tools_are_listed_in_few_tokens() {
    let mut agent = Agent::new(SOURCES);
    let answer = agent.ask("tools/list", json!({}));
    assert_eq!(
        column(&answer["result"]["tools"], "name"),
        [
            "validate_citation",
            "search_requirements",
            "get_requirement_status",
            "list_uncited_requirements",
            "list_invalid_citations",
            "get_citation_context",
            "resolve_spec_id",
            "get_prioritized_requirements",
        ]
    );
    let n_tokens = token_estimates::n_tokens(&answer["result"].to_string());
    assert!(n_tokens <= 530, "{n_tokens}");
}

/// The examples call a tool by `tool`; the protocol does by `name`.
//@= spexus://REQ-189
//@= type=test
//@# 003 §4: there are eight tools, called by name
#[test]
fn a_tool_may_be_named_by_tool() {
    let mut agent = Agent::new(SOURCES);
    let arguments = json!({"url": "https://www.rfc-editor.org/rfc/rfc9999"});
    let answer = agent.ask("tools/call", json!({"tool": "resolve_spec_id", "arguments": arguments}));
    assert!(text(&answer["result"]).starts_with(r#"{"spec_id":"rfc9999","#), "{answer}");
    for (params, code) in [
        (json!({"tool": "no_such_tool", "arguments": {}}), -32602),
        (json!({"tool": 5, "arguments": {}}), -32602),
        (json!({"arguments": {}}), -32602),
        (json!({"tool": "resolve_spec_id", "arguments": []}), -32602),
    ] {
        assert_eq!(agent.ask("tools/call", params.clone())["error"]["code"], code, "{params}");
    }
}

/// One server in every revision of the protocol: the same texts, and structures where a revision has them.
//@= spexus://REQ-182
//@= type=test
//@# 003 §2: one server speaks every revision of the protocol on stdio
#[test]
fn every_revision_gets_the_same_answers() {
    for revision in ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"] {
        let schemas = ["--output-schemas"];
        let mut agent = Agent::start(folder(&[&usual()[..], SOURCES].concat()), revision, &schemas);
        let answer = agent.call("search_requirements", json!({"query": "lid"}));
        let expected: Value = serde_json::from_str(text(&answer)).expect("JSON");
        assert_eq!(column(&expected, "text"), ["The lid MUST close."]);
        let structured = match revision {
            "2024-11-05" | "2025-03-26" => Value::Null,
            _ => json!({"result": expected}),
        };
        assert_eq!(answer["structuredContent"], structured, "{revision}");
        let answer = agent.call("resolve_spec_id", json!({"url": "rfc9999"}));
        assert!(text(&answer).starts_with(r#"{"spec_id":"rfc9999","#), "{answer}");
        let failed = agent.call("get_requirement_status", json!({"req_identifier": "0123456789"}));
        assert_eq!(
            (text(&failed), &failed["isError"]),
            ("Requirement not found", &json!(true)),
            "{revision}"
        );
        assert_eq!(agent.read("/specifications/rfc9999")["name"], "RFC 9999");
        let missing = agent.ask("resources/read", json!({"uri": "duvet:///specifications/x"}));
        let code = if revision == "2026-07-28" { -32602 } else { -32002 };
        assert_eq!(missing["error"]["code"], code, "{revision}");
        // The seed's own methods are no part of the newest revision.
        let by_path = agent.ask("resources/get", json!({"path": "/specifications/rfc9999"}));
        assert_eq!(by_path["error"]["code"] == -32601, revision == "2026-07-28", "{by_path}");
    }
}
