//! Tables from literal answers.

use ops::Effect;
use serde_json::{Value, json};
use store::model::{Kind, Role};

use super::plan::Selection;
use super::{address, ask, columns, filters, show};
use crate::page::{Answers, Asked, Me, Site, View};

fn asked(kind: &str, query: &str) -> Asked {
    let pairs = query.split('&').filter(|pair| !pair.is_empty());
    let query = pairs
        .filter_map(|pair| pair.split_once('='))
        .map(|(name, value)| (name.to_owned(), value.to_owned()));
    Asked {
        path: format!("/p/K/list/{kind}"),
        parameters: [("key".to_owned(), "K".to_owned()), ("kind".to_owned(), kind.to_owned())].into(),
        query: query.collect(),
    }
}

fn row() -> Value {
    json!({
        "reference_id": "REQ-001", "kind": "requirement", "title": "Mask <cards>", "status": "Draft", "priority": 2,
        "labels": ["security"], "assignee": "ann", "creator": "bob", "version": 7, "user_story": "US-001",
        "created_at": "2026-11-17T18:00:00Z", "updated_at": "2026-11-17T18:00:00Z",
    })
}

fn answers() -> Answers {
    let mut answers = Answers::default();
    answers.add("rows", Ok(json!({"data": [row()], "total_count": 120, "next_cursor": "abc"})));
    answers.add(
        "statuses",
        Ok(json!({
            "statuses": [{"name": "Draft"}, {"name": "Active"}, {"name": "Obsolete"}],
            "transitions": [{"from": "Draft", "to": "Active"}, {"from": "Active", "to": "Obsolete"}],
        })),
    );
    answers.add("views", Ok(json!({"data": [
        {"id": "v1", "name": "Drafts", "query": "sort=priority&status=Draft", "owner": "ann", "shared": false, "version": 1},
        {"id": "v2", "name": "Ours", "query": "label=x", "owner": "bob", "shared": true, "version": 3},
    ]})));
    answers
}

fn shown_to(may: Vec<Effect>, asked: &Asked, answers: &Answers) -> String {
    let me = Me { username: "ann".into(), role: Role::User, may, theme: None, has_keys: true };
    let site = Site { url: String::new(), version: "0", newest_change: None };
    show(&View { asked, answers, me: &me, site: &site, now: 0 }).into_string()
}

fn shown(query: &str) -> String {
    let may = vec![Effect::Reads, Effect::Comments, Effect::Writes, Effect::Destroys];
    shown_to(may, &asked("requirement", query), &answers())
}

#[test]
fn columns_follow_from_the_fields_of_a_kind() {
    let names = |kind| columns::of(kind).into_iter().map(|column| column.0).collect::<Vec<_>>().join(" ");
    let work = "title status assignee description rationale priority labels";
    assert_eq!(names(Kind::Epic), format!("{work} creator created_at updated_at version"));
    assert_eq!(
        names(Kind::AcceptanceCriteria),
        "title description rationale labels user_story creator created_at updated_at version"
    );
    let (chosen, unknown) =
        columns::chosen(&asked("requirement", "columns=labels,titel&columns=type,labels"), Kind::Requirement);
    assert_eq!(chosen.iter().map(|column| column.0).collect::<Vec<_>>(), ["labels", "type"]);
    assert_eq!(unknown, ["titel"]);
    assert!(shown("columns=titel").contains("There is no column titel in a table of requirements."));
}

#[test]
fn filters_become_arguments_of_the_list_or_of_a_search() {
    let question = |query: &str| filters::question(&asked("requirement", query), "requirement").arguments;
    assert_eq!(
        question(
            "status=Draft&status=Active&priority=1&label=a&updated_from=2026-01-01&sort=title&columns=title&x=1"
        ),
        json!({
            "status": ["Draft", "Active"], "priority": [1], "label": ["a"], "updated_from": "2026-01-01", "sort": "title",
            "project": "K", "limit": 100, "kind": "requirement",
        })
    );
    let searching = "query=card, token&label=a&user_story_id=US-001&sort=title";
    assert_eq!(
        question(searching),
        json!({"query": "card, token", "user_story": "US-001", "project": "K", "limit": 50, "entity_types": ["requirement"]})
    );
    assert_eq!(filters::left_out(&asked("requirement", searching)), ["label"]);
    // An epic has no type, so that nothing is asked about it.
    let epics = filters::question(&asked("epic", "type=Functional"), "epic").arguments;
    assert_eq!(epics, json!({"project": "K", "limit": 100, "kind": "epic"}));
}

#[test]
fn what_a_search_finds_is_read_in_full() {
    let asked = asked("requirement", "query=card");
    let mut answers = Answers::default();
    assert!(ask(&asked, &answers).iter().any(|question| question.name == "rows"));
    answers.add("rows", Ok(json!({"data": [{"reference_id": "REQ-001"}], "total_count": 1})));
    let read = ask(&asked, &answers);
    assert_eq!(read[0].arguments, json!({"reference": "REQ-001", "kind": "requirement"}));
    answers.add("found", Ok(row()));
    assert!(ask(&asked, &answers).is_empty());
    let html = shown_to(vec![Effect::Reads, Effect::Writes], &asked, &answers);
    assert!(html.contains("id=\"row-REQ-001\""), "{html}");
}

#[test]
fn each_filter_is_a_chip_that_takes_it_away() {
    let html = shown("status=Draft&status=Active&priority=1&sort=title&cursor=abc");
    for expected in [
        "href=\"/p/K/list/requirement?status=Active&amp;priority=1&amp;sort=title\"",
        "Remove the filter Priority Critical",
        "href=\"/p/K/list/requirement?sort=title\"",
        "aria-sort=\"ascending\"",
        "1 shown of 120",
        "sort=title&amp;cursor=abc\">Next 100",
    ] {
        assert!(html.contains(expected), "{expected}: {html}");
    }
}

#[test]
fn a_row_is_a_form_with_the_version_and_what_was_there() {
    let html = shown("");
    for expected in [
        "action=\"/do/update_requirement\"",
        "name=\"expected_version\" value=\"7\"",
        "name=\"_base_status\" value=\"Draft\"",
        "name=\"assignee_id\" form=\"edit-REQ-001\" value=\"ann\"",
        "value=\"REQ-001@7\"",
        "Mask &lt;cards&gt;",
        "<option value=\"Active\">Active</option>",
    ] {
        assert!(html.contains(expected), "{expected}: {html}");
    }
    // A status that may not follow is not offered in the row.
    let row =
        html.split("id=\"row-REQ-001\"").nth(1).and_then(|rest| rest.split("</tr>").next()).expect("a row");
    assert!(!row.contains("Obsolete") && !row.contains("name=\"title\""), "{row}");
    let open = shown("edit=REQ-001&columns=title,labels");
    assert!(open.contains("name=\"title\" form=\"edit-REQ-001\" value=\"Mask &lt;cards&gt;\""), "{open}");
    assert!(open.contains("name=\"labels\" form=\"edit-REQ-001\" value=\"security\""), "{open}");
    let reader = shown_to(vec![Effect::Reads], &asked("requirement", ""), &answers());
    for denied in ["/do/", "type=\"checkbox\" name=\"row\"", "class=\"pencil\"", "id=\"selected\""] {
        assert!(!reader.contains(denied), "{denied}: {reader}");
    }
}

#[test]
fn the_view_that_is_shown_is_marked_and_can_be_deleted_by_its_owner() {
    let html = shown("status=Draft&sort=priority&cursor=x");
    assert!(html.contains("?sort=priority&amp;status=Draft\" aria-current=\"page\""), "{html}");
    assert!(html.contains("name=\"view_id\" value=\"v1\""), "{html}");
    let others = shown("label=x");
    assert!(others.contains("title=\"Shared by bob\"") && !others.contains("/do/delete_view"), "{others}");
    assert!(address::is_here(&asked("epic", "label=two words&sort=title"), "sort=title&label=two+words"));
    assert!(!address::is_here(&asked("epic", "label=a"), ""));
}

fn selection(fields: &[(&str, &str)]) -> Result<Selection, String> {
    let fields: Vec<(String, String)> =
        fields.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    Selection::read("K", "requirement", &fields).map_err(|problem| problem.message)
}

#[test]
fn selected_rows_become_operations() {
    let chosen = [
        ("row", "REQ-001@7"),
        ("row", "REQ-002"),
        ("row", "REQ-001@7"),
        ("status", "Active"),
        ("priority", "1"),
        ("assignee_id", "-"),
        ("add_label", "Cards"),
        ("remove_label", "SECURITY"),
        ("_next", "/p/K/list/requirement?status=Draft"),
    ];
    let selection = selection(&chosen).expect("a selection");
    let before =
        json!({"results": [{"answer": row()}, {"answer": {"reference_id": "REQ-002", "labels": ["cards"]}}]});
    let operations = selection.operations(&before);
    assert_eq!(
        operations[0],
        json!({"operation": "update_requirement", "arguments": {
            "expected_version": 7, "requirement_id": "REQ-001", "status": "Active", "priority": 1, "assignee_id": null, "labels": ["Cards"],
        }})
    );
    assert_eq!(operations[1]["arguments"]["labels"], json!(["cards"]));
    let mut after = row();
    after["status"] = json!("Active");
    after["priority"] = json!(1);
    after["version"] = json!(8);
    let tried = json!({"results": [
        {"answer": after}, {"error": {"message": "operations[1]: there is no requirement REQ-002", "code": "NOT_FOUND"}},
    ]});
    let html = selection.show(&before, &operations, &tried).body.into_string();
    for expected in [
        "1 would change, 1 is refused.",
        "<del>Draft</del> → <ins>Active</ins>",
        "<del>High</del> → <ins>Critical</ins>",
        "refused: there is no requirement REQ-002",
        "Apply to 1",
        "value=\"/p/K/list/requirement?status=Draft&amp;done=1\"",
    ] {
        assert!(html.contains(expected), "{expected}: {html}");
    }
    let hidden = html
        .split("name=\"operations\" value=\"")
        .nth(1)
        .and_then(|rest| rest.split('"').next())
        .unwrap_or_default();
    assert!(hidden.contains("REQ-001") && !hidden.contains("REQ-002"), "{hidden}");
}

#[test]
fn a_selection_that_says_too_little_or_too_much_is_refused() {
    let refused = |fields: &[(&str, &str)]| selection(fields).err().unwrap_or_default();
    assert_eq!(refused(&[("status", "Active")]), "row: expected 1 to 500 selected rows, found 0");
    assert!(refused(&[("row", "REQ-001@1")]).starts_with("status: choose what to change"));
    assert_eq!(
        refused(&[("row", "EP-001"), ("status", "Active")]),
        "row: expected the reference of a requirement, found \"EP-001\""
    );
    let many: Vec<(String, String)> =
        (1..=501).map(|number| ("row".to_owned(), format!("REQ-{number}"))).collect();
    let many: Vec<(&str, &str)> = many
        .iter()
        .map(|(name, value)| (name.as_str(), value.as_str()))
        .chain([("delete", "true")])
        .collect();
    assert_eq!(refused(&many), "row: expected 1 to 500 selected rows, found 501");
    let deletion =
        selection(&[("row", "REQ-001@7"), ("delete", "true"), ("force", "true")]).expect("a selection");
    assert_eq!(
        deletion.operations(&Value::Null)[0],
        json!({"operation": "delete_entity", "arguments": {"reference": "REQ-001", "expected_version": 7, "force": true}})
    );
}
