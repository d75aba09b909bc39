//! Pages about change and its consequences: suspect links, impact, the matrix, the board and what happened.

use serde_json::json;

use crate::backend::{Backend, on_every_store, on_sqlite};
use crate::web::{Visitor, fill};

/// `REQ-001` depends on `REQ-002`, whose text has changed since.
fn make_suspect(visitor: &Visitor<'_>, backend: &Backend) -> String {
    fill(visitor);
    let link = json!({
        "source_requirement_id": "REQ-001", "target_requirement_id": "REQ-002", "relationship_type_id": "depends_on",
    });
    let link = backend.create("/relationships", &link);
    let text = json!({"title": "Keep no tokens", "description": "Not for a <day>."});
    assert_eq!(backend.send("PATCH", "/requirements/REQ-002", &text).status, 200);
    link["id"].as_str().expect("an id").to_owned()
}

#[track_caller]
fn check_has(page: &str, parts: &[&str]) {
    for part in parts {
        assert!(page.contains(part), "{part}: {page}");
    }
}

const SUSPECTS: &str = "/p/DEFAULT/suspects";

#[test]
fn a_suspect_link_is_confirmed_followed_or_removed() {
    on_every_store(|backend| {
        let visitor = Visitor::administrator(backend);
        let id = make_suspect(&visitor, backend);
        let page = visitor.get(SUSPECTS).text;
        check_has(
            &page,
            &["Mask card numbers", "<ins>", "Not for a &lt;day&gt;.", "value=\"2\"", "depends on"],
        );
        check_has(&visitor.get("/p/DEFAULT").text, &["href=\"/p/DEFAULT/suspects\">Suspect links"]);
        // Whoever edits the source comes back; another host is not gone to.
        let edit = visitor.get("/r/REQ-001/edit?next=%2Fp%2FDEFAULT%2Fsuspects").text;
        check_has(&edit, &["name=\"_next\" value=\"/p/DEFAULT/suspects\"", "href=\"/p/DEFAULT/suspects\""]);
        let edit = visitor.get("/r/REQ-001/edit?next=%2F%2Fevil.example").text;
        assert!(!edit.contains("evil.example\""), "{edit}");
        // What was looked at has changed again: nobody confirms what they did not see.
        let again = json!({"title": "Keep some tokens"});
        assert_eq!(backend.send("PATCH", "/requirements/REQ-002", &again).status, 200);
        let confirm = |version: &'static str| [("id", ""), ("target_version", version), ("_next", SUSPECTS)];
        let with_id = |mut fields: [(&'static str, &'static str); 3]| {
            fields[0] = ("id", id.clone().leak());
            fields
        };
        let stale = visitor.post("clear_suspect_link", &with_id(confirm("2")));
        assert_eq!(stale.status, 409, "{}", stale.text);
        assert_eq!(visitor.write("clear_suspect_link", &with_id(confirm("3"))), SUSPECTS);
        check_has(&visitor.get(SUSPECTS).text, &["No link is suspect."]);
        assert_eq!(backend.get("/suspect-links?details=true").json["total_count"], 0);
        visitor.write("delete_relationship", &[("id", &id), ("_next", SUSPECTS)]);
        assert_eq!(backend.get("/requirements/REQ-001/relationships").json["total_count"], 0);
    });
}

#[test]
fn impact_is_shown_as_columns_and_as_a_list() {
    on_every_store(|backend| {
        let visitor = Visitor::administrator(backend);
        make_suspect(&visitor, backend);
        let columns = visitor.get("/r/EP-001/impact").text;
        check_has(
            &columns,
            &["href=\"/r/US-001\"", "href=\"/r/REQ-002\"", "<svg class=\"lines\"", "2 steps"],
        );
        let near = visitor.get("/r/EP-001/impact?depth=1").text;
        assert!(near.contains("href=\"/r/US-001\"") && !near.contains("href=\"/r/REQ-002\""), "{near}");
        let list = visitor.get("/r/REQ-002/impact?as=list").text;
        check_has(&list, &["1 step away", "REQ-001 depends on REQ-002 (suspect)"]);
        check_has(&visitor.get("/r/REQ-001/impact").text, &["Nothing is affected"]);
        // What it is for is shown beside it, in its own direction.
        for (query, shown) in [("", "<svg class=\"lines\""), ("?as=list", "REQ-001 belongs to US-001")] {
            let page = visitor.get(&format!("/r/REQ-001/impact{query}")).text;
            check_has(&page, &["What it is for", "href=\"/r/US-001\"", "href=\"/r/EP-001\"", shown]);
        }
        check_has(&visitor.get("/r/REQ-001").text, &["href=\"/r/REQ-001/impact\">Impact"]);
        assert_eq!(visitor.get("/r/REQ-999/impact").status, 404);
    });
}

#[test]
fn a_history_shows_where_something_belonged_and_puts_it_back() {
    on_sqlite(&[], &[], |backend, _| {
        let visitor = Visitor::administrator(backend);
        fill(&visitor);
        for text in ["Given a card, it is masked.", "Given no card, nothing is shown."] {
            backend.create("/acceptance-criteria", &json!({"user_story_id": "US-001", "description": text}));
        }
        for criterion in ["AC-001", "AC-002"] {
            let change = json!({"acceptance_criteria_id": criterion});
            assert_eq!(backend.send("PATCH", "/requirements/REQ-001", &change).status, 200);
        }
        let path = "/r/REQ-001/history";
        let page = visitor.get(path).text;
        check_has(&page, &["<dt>acceptance criteria</dt>", "<del>AC-001</del> → <ins>AC-002</ins>"]);
        check_has(&visitor.get("/r/REQ-001").text, &["changed acceptance criteria "]);
        let fields = [("reference", "REQ-001"), ("version", "2"), ("_next", path)];
        assert_eq!(visitor.write("restore_entity", &fields), path);
        check_has(&visitor.get(path).text, &["<del>AC-002</del> → <ins>AC-001</ins>"]);
        assert_eq!(backend.get("/requirements/REQ-001").json["acceptance_criteria"], "AC-001");
    });
}

#[test]
fn what_happened_is_told_in_its_order_with_links_and_fields() {
    on_every_store(|backend| {
        let visitor = Visitor::administrator(backend);
        make_suspect(&visitor, backend);
        let activity = visitor.get("/p/DEFAULT/activity").text;
        check_has(&activity, &["depends on <a class=\"reference\" href=\"/r/REQ-002\">"]);
        let audit = visitor.get("/admin/audit").text;
        check_has(&audit, &["<span class=\"muted\">title </span>", "Keep <ins>no </ins>tokens"]);
        let steps: Vec<_> = (0..30)
            .map(|number| {
                let arguments =
                    json!({"project": "DEFAULT", "title": format!("Epic {number}"), "priority": 1});
                json!({"operation": "create_epic", "arguments": arguments})
            })
            .collect();
        assert_eq!(backend.send("POST", "/bulk", &json!({ "operations": steps })).status, 200);
        let changes = backend.get("/projects/DEFAULT/changes?limit=30").json;
        let titles: Vec<&str> = changes["data"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|change| change["title"].as_str())
            .collect();
        let expected: Vec<String> = (0..30).rev().map(|number| format!("Epic {number}")).collect();
        assert_eq!(titles, expected);
        // What is erased for good cannot be restored.
        assert_eq!(backend.send("DELETE", "/requirements/REQ-001?force=true", &json!({})).status, 200);
        assert_eq!(backend.send("POST", "/purge/REQ-001", &json!({})).status, 200);
        let activity = visitor.get("/p/DEFAULT/activity").text;
        assert!(!activity.contains("value=\"REQ-001\""), "{activity}");
    });
}

#[test]
fn a_gap_in_the_matrix_is_closed_in_its_cell() {
    on_every_store(|backend| {
        let visitor = Visitor::administrator(backend);
        make_suspect(&visitor, backend);
        check_has(&visitor.get("/p/DEFAULT/matrix").text, &["has no acceptance criterion", "class=\"gap\""]);
        let criterion = json!({"user_story_id": "US-001", "description": "Given a card, it is masked."});
        backend.create("/acceptance-criteria", &criterion);
        let page = visitor.get("/p/DEFAULT/matrix").text;
        check_has(&page, &["href=\"/r/AC-001\"", "aria-label=\"REQ-001 serves AC-001\">+"]);
        let next = "/p/DEFAULT/matrix?only=gaps";
        let fields = [
            ("requirement_id", "REQ-001"),
            ("expected_version", "1"),
            ("acceptance_criteria_id", "AC-001"),
            ("_next", next),
        ];
        assert_eq!(visitor.write("update_requirement", &fields), next);
        check_has(&visitor.get("/p/DEFAULT/matrix").text, &["aria-label=\"REQ-001 serves AC-001\">●"]);
        let gaps = visitor.get(next).text;
        assert!(gaps.contains("href=\"/r/REQ-002\"") && !gaps.contains("href=\"/r/REQ-001\""), "{gaps}");
        let relations = visitor.get("/p/DEFAULT/matrix?against=relations&add=REQ-002%20blocks").text;
        check_has(&relations, &["← ", "class=\"suspect\"", "name=\"relationship_type_id\" value=\"blocks\""]);
        let file = visitor.get("/api/v1/projects/DEFAULT/matrix.csv?against=criteria&only_gaps=false");
        assert_eq!(file.status, 200, "{}", file.text);
        assert_eq!(file.header("content-type"), "text/csv; charset=utf-8");
        assert_eq!(
            file.header("content-disposition"),
            "attachment; filename=\"DEFAULT-matrix-criteria.csv\""
        );
        assert!(file.text.contains("REQ-001,Mask card numbers,Draft,US-001,,AC-001"), "{}", file.text);
        assert_eq!(visitor.get("/p/DEFAULT/matrix?against=nothing").status, 400);
        assert_eq!(visitor.get("/p/NOPE/matrix").status, 404);
    });
}

#[test]
fn a_card_goes_where_the_status_model_lets_it() {
    on_every_store(|backend| {
        let visitor = Visitor::administrator(backend);
        fill(&visitor);
        let model = json!({
            "statuses": [{"name": "Draft", "initial": true}, {"name": "Active"}, {"name": "Obsolete", "final": true}],
            "transitions": [{"from": "Draft", "to": "Active"}, {"from": "Active", "to": "Obsolete"}],
        });
        let replaced = backend.send("PUT", "/config/status-models/requirement", &model);
        assert_eq!(replaced.status, 200, "{}", replaced.text);
        let board = "/p/DEFAULT/board/requirement";
        let page = visitor.get(board).text;
        check_has(&page, &["data-status=\"Obsolete\"", "data-targets=\"Active\"", "id=\"card-REQ-002\""]);
        assert!(!page.contains("value=\"Obsolete\""), "a forbidden transition is offered: {page}");
        let moved = |version: &'static str, status: &'static str| {
            [
                ("requirement_id", "REQ-001"),
                ("expected_version", version),
                ("status", status),
                ("_next", board),
            ]
        };
        assert_eq!(visitor.write("update_requirement", &moved("1", "Active")), board);
        // Somebody who still sees it as a draft is told, and nothing is changed.
        let stale = visitor.post("update_requirement", &moved("1", "Draft"));
        assert_eq!(stale.status, 409, "{}", stale.text);
        let forbidden = visitor.post("update_requirement", &moved("2", "Draft"));
        assert!(forbidden.status >= 400, "{}", forbidden.text);
        assert_eq!(backend.get("/requirements/REQ-001").json["status"], "Active");
        let found = visitor.get("/p/DEFAULT/board/requirement?query=tokens").text;
        assert!(found.contains("card-REQ-002") && !found.contains("card-REQ-001"), "{found}");
        check_has(&found, &["name=\"expected_version\" value=\"1\""]);
        assert!(!visitor.get("/p/DEFAULT/board/requirement?priority=1").text.contains("card-"));
        assert_eq!(visitor.get("/p/DEFAULT/board/acceptance_criteria").status, 400);
    });
}

#[test]
fn a_column_has_fifty_cards_and_more() {
    on_sqlite(&[], &[], |backend, _| {
        let visitor = Visitor::administrator(backend);
        fill(&visitor);
        for number in 3..=54 {
            let fields = json!({
                "user_story_id": "US-001", "title": format!("Card {number}"), "type_id": "Functional", "priority": 2,
            });
            backend.create("/requirements", &fields);
        }
        let page = visitor.get("/p/DEFAULT/board/requirement").text;
        assert_eq!(page.matches("id=\"card-").count(), 50);
        let (_, more) = page.split_once("<li class=\"more\"><a class=\"quiet\" href=\"").expect("more");
        let more = more.split('"').next().unwrap_or_default().replace("&amp;", "&");
        assert_eq!(more, "/p/DEFAULT/board/requirement?pages=Draft%3A2");
        let rest = visitor.get(&more).text;
        assert_eq!(rest.matches("id=\"card-").count(), 54, "{rest}");
        // The cards are still there after one of them was moved.
        let fields = [("requirement_id", "REQ-054"), ("status", "Active"), ("_next", &more)];
        let moved = visitor.get(&visitor.write("update_requirement", &fields)).text;
        assert_eq!(moved.matches("id=\"card-").count(), 54, "{moved}");
        let active = moved.split("data-status=\"Active\"").nth(1).expect("a column");
        assert!(active.contains("id=\"card-REQ-054\""), "{moved}");
    });
}

#[test]
fn what_happened_can_be_taken_back() {
    on_every_store(|backend| {
        let visitor = Visitor::administrator(backend);
        fill(&visitor);
        assert_eq!(backend.send("PATCH", "/requirements/REQ-001", &json!({"title": "Spoiled"})).status, 200);
        let page = visitor.get("/p/DEFAULT/activity").text;
        check_has(&page, &["<ins>Spoiled</ins>", "Restore version 1", "href=\"/r/REQ-001/history\""]);
        let next = "/p/DEFAULT/activity";
        let back = [("reference", "REQ-001"), ("version", "1"), ("_next", next)];
        assert_eq!(visitor.write("restore_entity", &back), next);
        assert_eq!(backend.get("/requirements/REQ-001").json["title"], "Mask card numbers");
        assert_eq!(backend.send("DELETE", "/requirements/REQ-002", &json!({})).status, 200);
        check_has(&visitor.get(next).text, &[">Restore</button>"]);
        visitor.write("restore_entity", &[("reference", "REQ-002"), ("_next", next)]);
        assert_eq!(backend.get("/requirements/REQ-002").status, 200);
    });
}
