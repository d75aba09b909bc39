//! Requirements for agents: what the tools of `spexus mcp` answer, and how long it may be.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::agent::{Agent, column, json_of, text};
use crate::requirements_tools::{ALL, agent, filled};
use crate::token_estimates;

//@= spexus://REQ-088
//@= type=test
//@# 002 R7.7: reports count what is stored
//@= spexus://REQ-090
//@= type=test
//@# 002 R7.9: a search without results answers an empty list with a message
#[test]
fn reports_count_and_searches_that_find_nothing_say_so() {
    let mut agent = filled(&[]);
    let report = agent.json("status_report", json!({"epic_id": "EP-001"}));
    let kinds = report["kinds"].as_array().expect("kinds");
    let of = |kind: &str| kinds.iter().find(|one| one["kind"] == kind).expect("counted")["total"].clone();
    assert_eq!((of("user_story"), of("requirement")), (json!(2), json!(3)), "{report}");
    let tree = agent.json("hierarchy_analysis", json!({}));
    assert_eq!(
        tree["totals"],
        json!({"epics": 1, "user_stories": 2, "acceptance_criteria": 2, "requirements": 3})
    );
    assert_eq!(column(&tree["stories_without_criteria"]["data"], "reference_id"), ["US-002"]);
    assert_eq!(
        column(&tree["requirements_without_criterion"]["data"], "reference_id"),
        ["REQ-002", "REQ-003"]
    );
    assert_eq!(column(&tree["epics"][0]["user_stories"], "reference_id"), ["US-001", "US-002"]);
    let impact = agent.json("impact_analysis", json!({"reference": "REQ-002"}));
    assert_eq!(column(&impact["affected"], "reference_id"), ["REQ-001"]);
    for (tool, arguments) in
        [("search_global", json!({"query": "submarine"})), ("search_requirements", json!({"query": "-"}))]
    {
        let found = agent.json(tool, arguments);
        assert_eq!((&found["data"], &found["total_count"]), (&json!([]), &json!(0)));
        assert!(found["message"].as_str().is_some_and(|text| text.len() > 10), "{found}");
    }
}

//@= spexus://REQ-085
//@= type=test
//@# 002 R7.4: search_requirements takes filters
#[test]
fn filters_take_one_value_or_several() {
    let mut agent = filled(&[]);
    for (arguments, expected) in [
        (json!({"query": "card"}), vec!["REQ-001", "REQ-002"]),
        (json!({"query": "card", "priority": 1}), vec!["REQ-001"]),
        (json!({"query": "card", "priority": [1, 2], "status": "draft"}), vec!["REQ-001", "REQ-002"]),
        (json!({"query": "card", "type": "data", "epic_id": "ep-001"}), vec!["REQ-002"]),
        (json!({"query": "card", "user_story_id": "US-002"}), vec![]),
    ] {
        let found = agent.json("search_requirements", arguments.clone());
        let mut ids = column(&found["data"], "reference_id");
        ids.sort();
        assert_eq!(ids, expected, "{arguments}");
    }
    let found = agent.json("search_global", json!({"query": "card", "entity_types": "user_story"}));
    assert_eq!(column(&found["data"], "reference_id"), ["US-001"]);
}

#[test]
fn an_entity_brings_along_what_is_asked_for() {
    let mut agent = filled(&[]);
    agent.json("add_comment", json!({"reference": "REQ-001", "content": "On the receipt too?"}));
    let include = json!(["parents", "children", "relationships", "comments", "history"]);
    let found = agent.json("get_entity", json!({"reference": "req-1", "include": include}));
    assert_eq!(column(&found["parents"]["data"], "reference_id"), ["EP-001", "US-001"]);
    assert_eq!(found["children"]["data"], json!([]));
    assert_eq!(column(&found["relationships"]["data"], "target"), ["REQ-002"]);
    assert_eq!(column(&found["comments"]["data"], "content"), ["On the receipt too?"]);
    assert_eq!(column(&found["history"]["data"], "operation"), ["create_requirement"]);
    let story = agent.json("get_entity", json!({"reference": "US-001", "include": ["children"]}));
    assert_eq!(
        column(&story["children"]["data"], "reference_id"),
        ["AC-001", "AC-002", "REQ-001", "REQ-002"]
    );
    assert!(agent.json("get_entity", json!({"reference": "US-001"})).get("children").is_none());
}

/// A text that must be read before it is changed comes whole, however long it is.
#[test]
fn one_entity_is_never_cut() {
    let mut agent = agent(&[]);
    let description = "Все платежи проверяются дважды. ".repeat(1_500);
    agent.json("create_epic", json!({"title": "Long", "priority": 1, "description": description}));
    assert_eq!(agent.json("get_entity", json!({"reference": "EP-001"}))["description"], description);
    assert_eq!(agent.read("epic://EP-001")["description"], description);
}

/// How many requirements there are in a crowd.
const N_CROWDED: usize = 60;

/// Fills a store with many entities, some of them large, in scripts that cost tokens.
fn crowded() -> Agent {
    let mut agent = agent(ALL);
    agent.json("create_epic", json!({"title": "Много требований", "priority": 1}));
    agent.json("create_user_story", json!({"epic_id": "EP-001", "title": "Payments", "priority": 1}));
    let texts = [
        "A card is charged once. ",
        "Карта списывается один раз. ",
        "カードは一度だけ請求されます。",
        "💳➡️💶 ",
    ];
    let operations: Vec<Value> = (0..N_CROWDED)
        .map(|number| {
            let text = texts[number % texts.len()].repeat(if number == 7 { 4_000 } else { 1 + number * number / 8 });
            let text: String = text.chars().take(if number == 7 { 45_000 } else { 3_000 }).collect();
            json!({"operation": "create_requirement", "arguments": {
                "user_story_id": "US-001", "title": format!("card {number} {}", texts[number % 4].repeat(number % 15)),
                "type_id": "Functional", "priority": 1 + number % 4, "description": text}})
        })
        .collect();
    agent.json("bulk_update", json!({"operations": operations}));
    for number in 1..12 {
        let arguments = json!({"source_requirement_id": format!("REQ-{:03}", number + 1),
            "target_requirement_id": "REQ-001", "relationship_type_id": "depends_on"});
        agent.json("create_relationship", arguments);
    }
    for number in 1..13 {
        let content = texts[number % 4].repeat(number * 40);
        agent.json("add_comment", json!({"reference": "REQ-001", "content": content}));
        agent.json("update_requirement", json!({"requirement_id": "REQ-001", "description": content}));
    }
    agent
}

#[test]
fn no_list_or_search_is_longer_than_its_budget_and_cursors_lead_to_everything() {
    let mut agent = crowded();
    for (tool, arguments, list, name, total) in [
        ("list_entities", json!({"kind": "requirement"}), "/data", "reference_id", N_CROWDED),
        ("list_entities", json!({"kind": "requirement", "limit": 100}), "/data", "reference_id", N_CROWDED),
        (
            "search_global",
            json!({"query": "card", "entity_types": ["requirement"]}),
            "/data",
            "reference_id",
            N_CROWDED,
        ),
        ("search_requirements", json!({"query": "card", "limit": 7}), "/data", "reference_id", N_CROWDED),
        ("impact_analysis", json!({"reference": "REQ-001"}), "/affected", "reference_id", 11),
        ("impact_analysis", json!({"reference": "EP-001"}), "/affected", "reference_id", N_CROWDED + 1),
        ("get_history", json!({"reference": "REQ-001"}), "/data", "version", 13),
        ("list_comments", json!({"reference": "REQ-001"}), "/data", "id", 12),
        ("hierarchy_analysis", json!({}), "/epics", "reference_id", 1),
        ("list_prompts", json!({}), "/data", "reference_id", 1),
    ] {
        for max_tokens in [None, Some(200), Some(700)] {
            let mut arguments = arguments.clone();
            if let Some(max_tokens) = max_tokens {
                arguments["max_tokens"] = json!(max_tokens);
            }
            let budget = max_tokens.unwrap_or(2_000);
            let mut seen = Vec::new();
            loop {
                let result = agent.call(tool, arguments.clone());
                assert_eq!(result["isError"], false, "{result}");
                let n_tokens = token_estimates::n_tokens(text(&result));
                assert!(n_tokens <= budget, "{tool} {arguments}: {n_tokens} tokens");
                let page = json_of(&result);
                let items = page.pointer(list).and_then(Value::as_array).expect("a list");
                assert!(!items.is_empty(), "{tool} {arguments}: {page}");
                seen.extend(items.iter().map(|item| item[name].to_string()));
                let Some(cursor) = page.get("nextCursor") else {
                    assert!(page.get("remaining").is_none(), "{page}");
                    break;
                };
                assert_eq!(page["remaining"], total - seen.len(), "{tool} {arguments}");
                arguments["cursor"] = cursor.clone();
            }
            let distinct: BTreeSet<&String> = seen.iter().collect();
            assert_eq!((seen.len(), distinct.len()), (total, total), "{tool} {max_tokens:?}");
        }
    }
    let few = agent.json("list_entities", json!({"kind": "epic"}));
    assert!(few.get("nextCursor").is_none() && few.get("truncated").is_none(), "{few}");
}

#[test]
fn a_list_that_is_asked_for_texts_says_how_to_get_what_it_cut() {
    let mut agent = agent(&[]);
    let long = "word ".repeat(400);
    agent.json("create_epic", json!({"title": "One", "priority": 1, "description": long}));
    let listed = json!({"kind": "epic", "include": ["text"]});
    let page = agent.json("list_entities", listed.clone());
    assert_eq!((&page["data"][0]["description"], page["data"][0].get("more")), (&json!(long), None));
    assert!(agent.json("list_entities", json!({"kind": "epic"}))["data"][0].get("description").is_none());
    for _ in 0..2 {
        let longer = long.repeat(5);
        agent.json("create_epic", json!({"title": "More", "priority": 1, "description": longer}));
    }
    let page = agent.json("list_entities", listed);
    assert_eq!(
        column(&page["data"], "more"),
        ["get_entity EP-001", "get_entity EP-002", "get_entity EP-003"]
    );
    assert!(page["data"][0]["description"].as_str().is_some_and(|text| text.ends_with('…')), "{page}");

    for _ in 0..2 {
        agent.json("add_comment", json!({"reference": "EP-001", "content": long.repeat(4)}));
    }
    let found = agent.json("get_entity", json!({"reference": "EP-001", "include": ["comments"]}));
    assert_eq!(found["description"], long, "what was asked for is whole");
    assert_eq!(found["comments"]["data"][0]["more"], "ask again with a higher max_tokens", "{found}");
    let more = json!({"reference": "EP-001", "include": ["comments"], "max_tokens": 50_000});
    let found = agent.json("get_entity", more);
    assert_eq!(column(&found["comments"]["data"], "content"), [long.repeat(4), long.repeat(4)]);

    for number in 0..90 {
        let title = format!("{number} {}", "long title ".repeat(20));
        agent.json("create_user_story", json!({"epic_id": "EP-001", "title": title, "priority": 1}));
    }
    let found = agent.json("get_entity", json!({"reference": "EP-001", "include": ["children"]}));
    assert_eq!(found["children"]["more"], "use list_entities", "{found}");
}
