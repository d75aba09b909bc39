//! The original's own output for its own twelve patterns.

use serde_json::{Map, Value};
use threats::answer::{self, Room};
use threats::render::{self, Extras, Theme};
use threats::{Hit, Query, validate};

use crate::{TMKB, read};

#[test]
fn a_pattern_as_json_is_what_the_original_prints() {
    for pattern in TMKB.patterns() {
        let expected: Value =
            serde_json::from_str(&read(&format!("tmkb/golden/get_{}.json", pattern.id))).unwrap();
        let found = serde_json::to_value(pattern).unwrap();
        assert_eq!(found, expected, "{}", pattern.id);
    }
}

#[test]
fn a_pattern_as_text_is_what_the_original_prints() {
    for pattern in TMKB.patterns() {
        let found = render::pattern(pattern, Extras::default(), &Theme::plain());
        same(&format!("get_{}.txt", pattern.id), &found);
    }
}

#[test]
fn lists_are_what_the_original_prints() {
    same("cli_list.txt", &render::list(TMKB.patterns(), &Theme::plain()));
    same("cli_list_v.txt", &render::list_verbose(TMKB.patterns(), &Theme::plain()));
}

#[test]
fn validation_is_what_the_original_prints() {
    let checked = validate::all(&TMKB);
    same("cli_validate_all.txt", &render::validation(&checked, &[], false, &Theme::plain()));
    same("cli_validate_all_v.txt", &render::validation(&checked, &[], true, &Theme::plain()));
}

#[test]
fn a_query_as_text_is_what_the_original_prints() {
    let room = Room { tokens_max: None, ..Room::default() };
    let answer = answer::agent(&hits(&["TMKB-AUTHZ-012"]), &room);
    same("cli_query_text.txt", &render::query(&answer, None, &Theme::plain()));
}

#[test]
fn without_a_context_every_pattern_comes_worst_first() {
    let expected: Value = serde_json::from_str(&read("tmkb/golden/cli_query_nocontext.txt")).unwrap();
    let hits = TMKB.search(&Query::default());
    let unlimited = Room { tokens_max: None, ..Room::default() };
    let found = serde_json::to_value(answer::agent(&hits, &unlimited)).unwrap();
    assert_eq!(found["code_pattern"], expected["code_pattern"]);
    assert_eq!(without_budget(found), without_budget(expected.clone()));

    let found = serde_json::to_value(answer::agent(&hits, &Room::default())).unwrap();
    assert_eq!(without_budget(found), without_budget(expected));
}

#[test]
fn agent_answers_have_the_fields_of_the_original() {
    let recorded: Map<String, Value> = serde_json::from_str(&read("tmkb/golden/mcp_agent.json")).unwrap();
    for (query, expected) in recorded {
        // The original's ranking is its own; what is compared is what it makes of a ranking.
        let hits = ranked(&expected, "patterns");
        for tokens_max in [None, Some(answer::AGENT_TOKENS_MAX)] {
            let answer = answer::agent(&hits, &Room { tokens_max, ..Room::default() });
            let mut found = serde_json::to_value(&answer).unwrap();
            found["pattern_count"] = expected["pattern_count"].clone();
            if tokens_max.is_none() {
                assert_eq!(found.get("code_pattern"), expected.get("code_pattern"), "{query}");
            }
            assert_eq!(without_budget(found), without_budget(expected.clone()), "{query}");
        }
    }
}

#[test]
fn human_answers_are_those_of_the_original() {
    let recorded: Map<String, Value> = serde_json::from_str(&read("tmkb/golden/mcp_human.json")).unwrap();
    for (query, expected) in recorded {
        let answer = answer::human(&ranked(&expected, "verbose_patterns"), &Room::default());
        let mut found = serde_json::to_value(&answer).unwrap();
        found["pattern_count"] = expected["pattern_count"].clone();
        assert_eq!(found, expected, "{query}");
    }
}

fn ranked(recorded: &Value, field: &str) -> Vec<Hit<'static>> {
    let patterns = recorded.get(field).and_then(Value::as_array).cloned().unwrap_or_default();
    let ids: Vec<&str> = patterns.iter().map(|pattern| pattern["id"].as_str().unwrap()).collect();
    hits(&ids)
}

fn hits(ids: &[&str]) -> Vec<Hit<'static>> {
    let hit = |id: &&str| Hit {
        pattern: TMKB.get(id).unwrap(),
        score: 0,
        reasons: Vec::new(),
        signs: threats::Signs::default(),
        is_sure: true,
    };
    ids.iter().map(hit).collect()
}

/// Our budget covers the whole answer and counts with another table, so these three may differ.
fn without_budget(mut answer: Value) -> Value {
    for field in ["token_count", "token_limit_reached", "code_pattern"] {
        answer.as_object_mut().unwrap().remove(field);
    }
    answer
}

#[track_caller]
fn same(golden: &str, found: &str) {
    assert_eq!(found, read(&format!("tmkb/golden/{golden}")), "{golden}");
}
