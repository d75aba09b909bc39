//! The table and the tree over HTTP: filters, columns, saved views and their rights, many rows changed at once after a dry run.

use serde_json::json;

use crate::backend::{Answer, Backend, on_every_store, send};
use crate::web::{Visitor, fill};

const LIST: &str = "/p/DEFAULT/list/requirement";
const PASSWORD: &str = "correct horse battery";

/// Sends the form below a table.
fn try_out(visitor: &Visitor<'_>, origin: &str, fields: &[(&str, &str)]) -> Answer {
    let pair = |(name, value): &(&str, &str)| format!("{}={}", web::encode(name), web::encode(value));
    let body = fields.iter().map(pair).collect::<Vec<_>>().join("&");
    let request = visitor.client.post(format!("{}{LIST}/change", visitor.backend.url)).body(body);
    let request = request.header("content-type", "application/x-www-form-urlencoded");
    send(request.header("cookie", &visitor.cookie).header("origin", origin))
}

/// Somebody with a role.
fn person<'a>(backend: &'a Backend, name: &str, role: &str) -> Visitor<'a> {
    let user =
        json!({"username": name, "email": format!("{name}@example.org"), "password": PASSWORD, "role": role});
    backend.create("/users", &user);
    Visitor::signed_in(backend, name, PASSWORD)
}

/// The value of a hidden field, as a browser would send it.
fn hidden(page: &str, name: &str) -> String {
    let start = format!("name=\"{name}\" value=\"");
    let value = page.split(&start).nth(1).and_then(|rest| rest.split('"').next());
    let value = value.unwrap_or_else(|| panic!("no field {name}: {page}"));
    value.replace("&quot;", "\"").replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
}

/// The references of the rows on a page.
fn rows(page: &str) -> Vec<&str> {
    page.split("id=\"row-").skip(1).filter_map(|rest| rest.split('"').next()).collect()
}

#[test]
fn filters_columns_and_order_are_in_the_address() {
    on_every_store(|backend| {
        let visitor = Visitor::administrator(backend);
        fill(&visitor);
        visitor.write(
            "update_requirement",
            &[("requirement_id", "REQ-002"), ("status", "Active"), ("labels", "a b, c"), ("priority", "1")],
        );
        let page = |query: &str| visitor.get(&format!("{LIST}{query}"));
        for (query, expected) in [
            ("", vec!["REQ-001", "REQ-002"]),
            ("?sort=number_descending", vec!["REQ-002", "REQ-001"]),
            ("?sort=priority", vec!["REQ-002", "REQ-001"]),
            ("?status=Draft", vec!["REQ-001"]),
            ("?status=Draft&status=Active", vec!["REQ-001", "REQ-002"]),
            ("?label=a+b&priority=1", vec!["REQ-002"]),
            (
                "?assignee=admin&creator=admin&type=Functional&updated_from=2020-01-01",
                vec!["REQ-001", "REQ-002"],
            ),
            ("?user_story_id=US-001&status=&columns=labels", vec!["REQ-001", "REQ-002"]),
            ("?query=tokens", vec!["REQ-002"]),
            ("?created_from=2099-01-01", vec![]),
            ("?row=REQ-002", vec!["REQ-002"]),
        ] {
            let answer = page(query);
            assert_eq!((answer.status, rows(&answer.text)), (200, expected), "{query}: {}", answer.text);
        }
        let chosen = page("?columns=labels,type,user_story,nonsense").text;
        for expected in [
            "<td class=\"col-labels\"><span class=\"label\">a b</span>",
            "href=\"/r/US-001\"",
            "There is no column nonsense",
        ] {
            assert!(chosen.contains(expected), "{expected}: {chosen}");
        }
        assert!(!chosen.contains("col-title"), "{chosen}");
        for (query, status, expected) in [
            ("?status=Dnoe", 400, "status: expected one of"),
            ("?priority=9", 400, "priority"),
            ("?assignee=nobody", 400, "there is no user"),
            ("?sort=mood", 400, "sort"),
            ("?cursor=abc", 400, "cursor"),
            ("?row=REQ-999", 404, "there is no requirement REQ-999"),
            ("?row=EP-001", 404, "EP-001 is an epic"),
        ] {
            let answer = page(query);
            assert_eq!(answer.status, status, "{query}");
            assert!(
                answer.text.contains(expected) && answer.text.contains("<main"),
                "{query}: {}",
                answer.text
            );
        }
    });
}

#[test]
fn a_table_goes_on_a_hundred_rows_at_a_time() {
    on_every_store(|backend| {
        let visitor = Visitor::administrator(backend);
        fill(&visitor);
        let requirement = |number: usize| {
            let arguments = json!({"user_story_id": "US-001", "title": format!("Number {number}"), "type_id": "Data", "priority": 3});
            json!({"operation": "create_requirement", "arguments": arguments})
        };
        let operations: Vec<_> = (3..=120).map(requirement).collect();
        assert_eq!(backend.send("POST", "/bulk", &json!({ "operations": operations })).status, 200);
        let first = visitor.get(LIST).text;
        assert_eq!(rows(&first).len(), 100);
        assert!(first.contains("100 shown of 120"), "{first}");
        let next = first
            .split("class=\"button\" href=\"")
            .find(|rest| rest.contains(">Next 100"))
            .expect("a way on");
        let next = next.split('"').next().unwrap_or_default().replace("&amp;", "&");
        let second = visitor.get(&next).text;
        assert_eq!((rows(&second).len(), rows(&second)[0]), (20, "REQ-101"));
        assert!(!second.contains("Next 100"), "{second}");
    });
}

#[test]
fn a_cell_is_saved_with_its_version_and_the_row_comes_back() {
    on_every_store(|backend| {
        let visitor = Visitor::administrator(backend);
        fill(&visitor);
        let cell = |version: &'static str, base: &'static str, status: &'static str| {
            vec![
                ("requirement_id", "REQ-001"),
                ("expected_version", version),
                ("_base_status", base),
                ("status", status),
                ("_base_priority", "2"),
                ("priority", "2"),
                ("_next", "/p/DEFAULT/list/requirement?row=REQ-001"),
            ]
        };
        let next = visitor.write("update_requirement", &cell("1", "Draft", "Active"));
        let row = visitor.get(&next).text;
        assert_eq!(rows(&row), ["REQ-001"]);
        assert!(row.contains("name=\"expected_version\" value=\"2\""), "{row}");
        // Somebody else changed something else meanwhile: both are kept.
        assert_eq!(backend.send("PATCH", "/requirements/REQ-001", &json!({"priority": 4})).status, 200);
        visitor.write("update_requirement", &cell("2", "Active", "Obsolete"));
        let stored = backend.get("/requirements/REQ-001").json;
        assert_eq!((&stored["status"], &stored["priority"]), (&json!("Obsolete"), &json!(4)));
    });
}

#[test]
fn many_rows_are_tried_first_and_then_changed() {
    on_every_store(|backend| {
        let visitor = Visitor::administrator(backend);
        fill(&visitor);
        let chosen = [
            ("row", "REQ-001@1"),
            ("row", "REQ-002@9"),
            ("row", "REQ-404@1"),
            ("status", "Active"),
            ("add_label", "cards"),
            ("_next", "/p/DEFAULT/list/requirement?sort=title"),
        ];
        let tried = try_out(&visitor, &backend.url, &chosen);
        assert_eq!(tried.status, 200, "{}", tried.text);
        for expected in [
            "1 would change, 2 are refused.",
            "<del>Draft</del> → <ins>Active</ins>",
            "REQ-002 has version 1, not 9",
            "refused: there is no requirement REQ-404",
            "Apply to 1",
        ] {
            assert!(tried.text.contains(expected), "{expected}: {}", tried.text);
        }
        assert_eq!(
            backend.get("/requirements/REQ-001").json["version"],
            1,
            "a dry run has changed something"
        );
        let (operations, next) = (
            hidden(&tried.text, "operations"),
            hidden(tried.text.split("/do/bulk_update").nth(2).unwrap_or_default(), "_next"),
        );
        let done = visitor.write("bulk_update", &[("operations", &operations), ("_next", &next)]);
        assert_eq!(done, "/p/DEFAULT/list/requirement?sort=title&done=1");
        assert!(visitor.get(&done).text.contains("1 was changed."));
        let stored = backend.get("/requirements/REQ-001").json;
        assert_eq!((&stored["status"], &stored["labels"]), (&json!("Active"), &json!(["cards"])));
        // What was decided on an older version is not done, and the page says so.
        let late = visitor.post("bulk_update", &[("operations", &operations), ("_next", &next)]);
        assert_eq!(late.status, 409);
        assert!(
            late.text.contains("Nothing was changed") && late.text.contains("Back to the table"),
            "{}",
            late.text
        );
        // The same again changes nothing, so that there is nothing to do.
        let same = try_out(&visitor, &backend.url, &[("row", "REQ-001"), ("status", "active")]);
        assert!(same.text.contains("1 stays as it is") && !same.text.contains("Apply to"), "{}", same.text);
        for (fields, expected) in [
            (vec![("status", "Active")], "expected 1 to 500 selected rows, found 0"),
            (vec![("row", "REQ-001")], "choose what to change"),
            (vec![("row", "US-001"), ("status", "Active")], "expected the reference of a requirement"),
        ] {
            let answer = try_out(&visitor, &backend.url, &fields);
            assert_eq!(answer.status, 400, "{expected}");
            assert!(answer.text.contains(expected), "{expected}: {}", answer.text);
        }
        let wrong = try_out(&visitor, &backend.url, &[("row", "REQ-001"), ("assignee_id", "nobody-here")]);
        assert!(wrong.text.contains("there is no user"), "{}", wrong.text);
        let elsewhere = try_out(
            &visitor,
            &backend.url,
            &[("row", "REQ-001"), ("priority", "1"), ("_next", "https://evil.example")],
        );
        assert!(!elsewhere.text.contains("evil.example"), "{}", elsewhere.text);
    });
}

#[test]
fn many_rows_are_deleted_with_what_depends_on_them_if_that_is_wanted() {
    on_every_store(|backend| {
        let visitor = Visitor::administrator(backend);
        fill(&visitor);
        let link = json!({"source_requirement_id": "REQ-001", "target_requirement_id": "REQ-002", "relationship_type_id": "depends_on"});
        backend.create("/relationships", &link);
        let chosen = [("row", "REQ-001"), ("delete", "true")];
        let tried = try_out(&visitor, &backend.url, &chosen);
        assert!(
            tried.text.contains("0 would change, 1 is refused") && tried.text.contains("Try with everything"),
            "{}",
            tried.text
        );
        let forced = try_out(&visitor, &backend.url, &[&chosen[..], &[("force", "true")]].concat());
        assert!(forced.text.contains("is deleted") && forced.text.contains("Apply to 1"), "{}", forced.text);
        assert_eq!(backend.get("/requirements/REQ-001").status, 200);
        visitor.write("bulk_update", &[("operations", &hidden(&forced.text, "operations")), ("_next", LIST)]);
        assert_eq!(backend.get("/requirements/REQ-001").status, 404);
    });
}

#[test]
fn who_may_not_write_cannot_try_either() {
    on_every_store(|backend| {
        let visitor = Visitor::administrator(backend);
        fill(&visitor);
        let reader = person(backend, "reader", "Commenter");
        let fields = [("row", "REQ-001"), ("status", "Active")];
        let refused = try_out(&reader, &backend.url, &fields);
        assert_eq!(refused.status, 403);
        assert!(refused.text.contains("needs the role User"), "{}", refused.text);
        let page = reader.get(LIST).text;
        for denied in ["/do/update_requirement", "name=\"row\"", "/change\""] {
            assert!(!page.contains(denied), "{denied} is offered");
        }
        let foreign = try_out(&visitor, "https://evil.example", &fields);
        assert_ne!(foreign.status, 200, "a page of others has tried something");
        let stranger = Visitor { cookie: String::new(), ..Visitor::administrator(backend) };
        assert_eq!(try_out(&stranger, &backend.url, &fields).status, 303);
    });
}

#[test]
fn views_are_tabs_and_belong_to_somebody() {
    on_every_store(|backend| {
        let visitor = Visitor::administrator(backend);
        fill(&visitor);
        let next = "/p/DEFAULT/list/requirement?status=Draft";
        let view = [
            ("project", "DEFAULT"),
            ("kind", "requirement"),
            ("name", "Drafts"),
            ("query", "status=Draft"),
            ("shared", "false"),
            ("_next", next),
        ];
        assert_eq!(visitor.write("save_view", &view), next);
        let writer = person(backend, "writer", "User");
        assert!(!writer.get(LIST).text.contains("Drafts"), "a view is seen that is not shared");
        // The last value counts, as when a box is ticked.
        visitor.write("save_view", &[&view[..], &[("shared", "true")]].concat());
        let tab = "<a href=\"/p/DEFAULT/list/requirement?status=Draft\"";
        let page = writer.get(next).text;
        assert!(page.contains(tab) && page.contains("Shared by admin"), "{page}");
        assert!(!page.contains("/do/delete_view"), "{page}");
        let own = visitor.get(next).text;
        let id = hidden(&own, "view_id");
        assert_eq!(writer.post("delete_view", &[("view_id", &id)]).status, 403);
        // A view of everything has an empty query.
        visitor.write(
            "save_view",
            &[("project", "DEFAULT"), ("kind", "requirement"), ("name", "Everything"), ("query", "")],
        );
        let wrong = visitor.post(
            "save_view",
            &[("project", "DEFAULT"), ("kind", "requirement"), ("name", "x"), ("query", "staus=Draft")],
        );
        assert!(wrong.status == 400 && wrong.text.contains("staus"), "{}", wrong.text);
        visitor.write("delete_view", &[("view_id", &id), ("_next", LIST)]);
        assert!(!visitor.get(LIST).text.contains(tab));
        // The same through REST.
        let saved = backend.send(
            "PUT",
            "/projects/DEFAULT/views",
            &json!({"kind": "epic", "name": "Mine", "query": "sort=title"}),
        );
        assert_eq!((saved.status, &saved.json["owner"]), (200, &json!("admin")), "{}", saved.text);
        assert_eq!(backend.get("/projects/DEFAULT/views?kind=epic").json["total_count"], 1);
    });
}

#[test]
fn a_tree_opens_by_its_address_and_shows_an_item_beside_it() {
    on_every_store(|backend| {
        let visitor = Visitor::administrator(backend);
        fill(&visitor);
        let nodes = |page: &str| -> Vec<String> {
            page.split("id=\"node-")
                .skip(1)
                .filter_map(|rest| rest.split('"').next())
                .map(str::to_owned)
                .collect()
        };
        let tree = |query: &str| visitor.get(&format!("/p/DEFAULT/tree{query}")).text;
        assert_eq!(nodes(&tree("")), ["EP-001"]);
        assert_eq!(nodes(&tree("?open=EP-001")), ["EP-001", "US-001"]);
        let page = tree("?open=EP-001,US-001&item=REQ-002");
        assert_eq!(nodes(&page), ["EP-001", "US-001", "REQ-001", "REQ-002"]);
        for expected in [
            "aria-selected=\"true\"",
            "data-live=\"REQ-002@1\"",
            "name=\"user_story_id\"",
            "/new/user_story?under=EP-001",
        ] {
            assert!(page.contains(expected), "{expected}: {page}");
        }
        assert_eq!(nodes(&tree("?below=US-001")), ["REQ-001", "REQ-002"]);
        assert!(tree("?only=item&item=US-001").contains("data-live=\"US-001@1\""));
        assert!(tree("?item=REQ-999").contains("There is no REQ-999"));
        // Moving changes the parent.
        let story =
            [("epic_id", "EP-001"), ("title", "Returns"), ("priority", "2"), ("_next", "/r/{reference_id}")];
        assert_eq!(visitor.write("create_user_story", &story), "/r/US-002");
        let moved = [
            ("requirement_id", "REQ-002"),
            ("expected_version", "1"),
            ("user_story_id", "US-002"),
            ("_next", "/p/DEFAULT/tree?open=EP-001,US-002&item=REQ-002"),
        ];
        let next = visitor.write("update_requirement", &moved);
        assert_eq!(nodes(&visitor.get(&next).text), ["EP-001", "US-001", "US-002", "REQ-002"]);
        let reader = person(backend, "reader", "Commenter");
        let page = reader.get("/p/DEFAULT/tree?open=EP-001&item=US-001").text;
        assert!(!page.contains("class=\"add\"") && !page.contains("/do/update_user_story"), "{page}");
    });
}

/// [spec web] At most 100 rows a fragment, however many children an epic has; the table has the others.
#[test]
fn a_tree_and_an_item_show_a_hundred_children_and_count_the_others() {
    on_every_store(|backend| {
        let visitor = Visitor::administrator(backend);
        fill(&visitor);
        let steps: Vec<_> = (0..120)
            .map(|number| json!({"operation": "create_user_story", "arguments": {"epic_id": "EP-001", "title": format!("Story {number}"), "priority": 1}}))
            .collect();
        for some in steps.chunks(60) {
            assert_eq!(backend.send("POST", "/bulk", &json!({ "operations": some })).status, 200);
        }
        let below = visitor.get("/p/DEFAULT/tree?below=EP-001").text;
        assert_eq!(below.matches("role=\"treeitem\"").count(), 100);
        let item = visitor.get("/r/EP-001").text;
        assert_eq!(item.matches("<li class=\"row\"").count(), 100);
        for page in [below, item] {
            assert!(
                page.contains("/p/DEFAULT/list/user_story?epic_id=EP-001\">21 more: open the table"),
                "{page}"
            );
        }
    });
}
