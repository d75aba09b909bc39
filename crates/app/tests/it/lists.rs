//! The lists of `duvet mcp` keep to their budgets, and nothing is lost between pages.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use serde_json::{Value, json};

use crate::agent::{Agent, column, text};
use crate::token_estimates;

const LISTS: [(&str, &str); 4] = [
    ("search_requirements", "text"),
    ("list_uncited_requirements", "full_path"),
    ("list_invalid_citations", "comment_text"),
    ("get_prioritized_requirements", "full_path"),
];

/// Every page is within its budget; all pages together have every item once, in the order of one long list.
#[test]
fn pages_have_everything_once_within_their_budgets() {
    let mut agent = large();
    for (tool, key) in LISTS {
        let whole = pages(&mut agent, tool, json!({"max_tokens": 100_000}));
        let all = column(&json!(whole.concat()), key);
        assert!(all.len() >= 150, "{tool}: {}", all.len());
        for arguments in [
            json!({}),
            json!({"max_tokens": 200}),
            json!({"limit": 7}),
            json!({"limit": 1000, "max_tokens": 500}),
        ] {
            let pages = pages(&mut agent, tool, arguments.clone());
            assert_eq!(column(&json!(pages.concat()), key), all, "{tool} {arguments}");
            if arguments["limit"] == 7 {
                assert!(pages[..pages.len() - 1].iter().all(|page| page.len() == 7), "{tool}");
            }
        }
    }
}

/// A small project gets all of a list, and no word about pages.
#[test]
fn a_short_list_is_whole() {
    let mut agent = Agent::new(&[("src/lib.rs", "")]);
    for (tool, _) in LISTS {
        let arguments = if tool == "search_requirements" { json!({"query": "pot"}) } else { json!({}) };
        let answer = agent.call(tool, arguments);
        assert_eq!(answer["content"].as_array().map(Vec::len), Some(1), "{answer}");
    }
}

/// One requirement that is longer than the budget is shortened, and says so; what names it stays whole.
#[test]
fn an_item_that_is_too_long_is_shortened() {
    let sentence = format!("The lid MUST {} close.", "very, very 慢慢地 ".repeat(3000));
    let mut agent = Agent::new(&[]);
    agent.write("docs/kettle.md", &format!("# K\n\n## Lid\n\n{sentence}\n"));
    agent.until("the long requirement", |agent| agent.read("/requirements").to_string().contains("慢慢地"));
    for max_tokens in [200, 300, 2000] {
        let arguments = json!({"spec_id": "docs-kettle-md", "max_tokens": max_tokens});
        let answer = agent.call("list_uncited_requirements", arguments);
        check_budget(&answer, max_tokens);
        let item = &serde_json::from_str::<Value>(text(&answer)).expect("JSON")[0];
        assert_eq!(item["truncated"], true, "{item}");
        assert!(answer.to_string().contains("a higher max_tokens has the whole text"), "{answer}");
        agent.read(item["full_path"].as_str().expect("a path"));
    }
}

/// Code is as long as somebody made it.
#[test]
fn the_context_of_a_citation_keeps_to_its_budget() {
    let long = "慢😀".repeat(5000);
    let source =
        format!("// {long}\n").repeat(40) + "//= docs/kettle.md#lid\n" + &format!("// {long}\n").repeat(40);
    let own = format!("//= docs/kettle.md#lid{}\n", " ".repeat(3000));
    let mut agent = Agent::new(&[("src/long.rs", &source), ("src/own.rs", &own)]);
    for (id, max_tokens) in [("src/long.rs:41", 200), ("src/long.rs:41", 5000), ("src/own.rs:1", 200)] {
        let arguments = json!({"citation_id": id, "context_lines": 100, "max_tokens": max_tokens});
        let answer = agent.call("get_citation_context", arguments);
        check_budget(&answer, max_tokens);
        assert!(text(&answer).contains("//= docs/kettle.md#lid"), "{answer}");
    }
}

/// What is wrong with the project is told within the budget too.
#[test]
fn problems_of_the_project_count() {
    let mut agent = large();
    let config = agent.path(".duvet/config.toml");
    let text = std::fs::read_to_string(&config).expect("the configuration");
    let patterns: String = (0..50).fold(String::new(), |text, number| {
        text + &format!("[[specification]]\nsource = 'no/such/文件-{number}.md'\n")
    });
    agent.write(".duvet/config.toml", &(text + &patterns));
    agent.until("problems", |agent| agent.problems().contains("no/such"));
    for (tool, _) in LISTS {
        pages(&mut agent, tool, json!({"max_tokens": 200}));
    }
}

#[test]
fn cursors_and_specifications_that_are_none_are_refused() {
    let mut agent = Agent::new(&[]);
    for (arguments, expected) in [
        (
            json!({"cursor": "x"}),
            "cursor: not a cursor of this list; leave it out to start from the beginning",
        ),
        (
            json!({"cursor": ""}),
            "cursor: not a cursor of this list; leave it out to start from the beginning",
        ),
        (
            json!({"spec_id": "rfc999"}),
            "spec_id: there is no specification rfc999; did you mean \"rfc9999\"?",
        ),
    ] {
        let answer = agent.call("list_uncited_requirements", arguments);
        assert_eq!((text(&answer), &answer["isError"]), (expected, &json!(true)));
    }
    for arguments in [json!({"limit": 0}), json!({"max_tokens": 199}), json!({"x": 1})] {
        assert_eq!(
            agent.call("list_uncited_requirements", arguments.clone())["isError"],
            true,
            "{arguments}"
        );
    }
    let answer = agent.call("list_uncited_requirements", json!({"max_tokens": 100_001}));
    let note = answer["content"].as_array().and_then(|blocks| blocks.last()).expect("a block");
    assert_eq!(note["text"], "max_tokens is at most 100000, not 100001");
    assert_eq!(agent.json("list_uncited_requirements", json!({"cursor": "pffffffff"})), json!([]));
}

/// Two hundred requirements and as many mistakes.
fn large() -> Agent {
    let mut specification = "# Large\n".to_owned();
    let mut source = String::new();
    for number in 0..200 {
        let _ = write!(specification, "\n## Part {number}\n\nPart {number} MUST hold the pot.\n");
        let _ = write!(
            source,
            "//= docs/kettle.md#part-{number}\n//# Part {number} MUST not {number} exist.\n\n"
        );
    }
    Agent::new(&[("docs/kettle.md", &specification), ("src/lib.rs", &source)])
}

/// Walks through all pages of a list.
#[track_caller]
fn pages(agent: &mut Agent, tool: &str, arguments: Value) -> Vec<Vec<Value>> {
    let max_tokens = arguments["max_tokens"].as_u64().unwrap_or(2000) as usize;
    let mut arguments = arguments;
    if tool == "search_requirements" {
        arguments["query"] = json!("hold");
    }
    let mut pages: Vec<Vec<Value>> = Vec::new();
    let mut cursors = BTreeSet::new();
    loop {
        let answer = agent.call(tool, arguments.clone());
        check_budget(&answer, max_tokens);
        let items: Vec<Value> = serde_json::from_str(text(&answer)).expect("a list");
        assert!(!items.is_empty(), "{answer}");
        pages.push(items);
        let blocks = answer["content"].as_array().expect("blocks").iter().skip(1);
        let notes = blocks.filter_map(|block| serde_json::from_str(block["text"].as_str()?).ok());
        let Some(note) = notes.into_iter().find(|note: &Value| note.get("nextCursor").is_some()) else {
            return pages;
        };
        let cursor = note["nextCursor"].as_str().expect("a cursor");
        assert!(note["remaining"].is_u64(), "{note}");
        assert!(cursors.insert(cursor.to_owned()), "{tool} goes in circles");
        arguments["cursor"] = json!(cursor);
    }
}

/// No answer is longer than it may be, all its texts counted.
#[track_caller]
fn check_budget(answer: &Value, max_tokens: usize) {
    let blocks = answer["content"].as_array().expect("blocks").iter();
    let texts: Vec<&str> = blocks.map(|block| block["text"].as_str().expect("a text")).collect();
    let n_tokens = token_estimates::n_tokens(&texts.join("\n"));
    assert!(n_tokens <= max_tokens, "{n_tokens} of {max_tokens}: {texts:?}");
}

/// A collection that is too long for one answer goes on at the URI of the second content.
#[test]
fn collections_are_read_in_parts() {
    let mut agent = large();
    let of_kettle = "duvet:///specifications/docs-kettle-md/sections";
    for (uri, n_items) in [("duvet:///requirements", 205), ("/requirements", 205), (of_kettle, 201)] {
        let (mut next, mut items, mut n_parts) = (uri.to_owned(), Vec::new(), 0);
        loop {
            let answer = agent.ask("resources/read", json!({"uri": next}));
            let contents = answer["result"]["contents"].as_array().unwrap_or_else(|| panic!("{answer}"));
            assert_eq!(contents[0]["uri"], next);
            let texts: Vec<&str> = contents.iter().filter_map(|content| content["text"].as_str()).collect();
            let n_tokens = token_estimates::n_tokens(&texts.join("\n"));
            assert!(n_tokens <= 8_000, "{n_tokens}");
            items.extend(serde_json::from_str::<Vec<Value>>(texts[0]).expect("a list"));
            n_parts += 1;
            let Some(rest) = texts.get(1) else { break };
            let rest: Value = serde_json::from_str(rest).expect("JSON");
            assert_eq!(rest["remaining"], n_items - items.len(), "{rest}");
            assert_eq!(rest["uri"], contents[1]["uri"]);
            assert!(contents[1]["uri"].as_str().is_some_and(|next| next.starts_with(uri)), "{answer}");
            next = contents[1]["uri"].as_str().expect("a URI").to_owned();
        }
        assert_eq!((items.len(), n_parts > 1), (n_items, n_items > 201), "{uri}");
        let key = if n_items == 201 { "id" } else { "full_path" };
        assert_eq!(BTreeSet::from_iter(column(&json!(items), key)).len(), n_items);
    }
    let answer = agent.ask("resources/read", json!({"uri": "duvet:///requirements?cursor=x"}));
    assert_eq!(answer["error"]["code"], -32602, "{answer}");
}
