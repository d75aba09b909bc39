//! A project in the web application over HTTP: its overview, and as a document however large it is.

use serde_json::{Value, json};

use crate::backend::on_every_store;
use crate::web::{Visitor, fill};

/// The addresses that a page leads to with links.
fn addresses(page: &str) -> Vec<String> {
    let links = page.split(" href=\"").skip(1).filter_map(|rest| rest.split('"').next());
    links.map(|address| address.replace("&amp;", "&")).collect()
}

/// [spec web] A document stays readable and quick however large a project is.
#[test]
fn a_large_project_is_read_as_a_document_part_by_part() {
    on_every_store(|backend| {
        let visitor = Visitor::administrator(backend);
        fill(&visitor);
        let many = |operation: &str, arguments: &dyn Fn(usize) -> Value, count: usize| {
            let steps: Vec<Value> = (0..count)
                .map(|number| json!({"operation": operation, "arguments": arguments(number)}))
                .collect();
            assert_eq!(backend.send("POST", "/bulk", &json!({ "operations": steps })).status, 200);
        };
        many(
            "create_epic",
            &|number| json!({"project": "DEFAULT", "title": format!("Epic {number}"), "priority": 1}),
            3,
        );
        many(
            "create_user_story",
            &|number| json!({"epic_id": "EP-002", "title": format!("Story {number}"), "priority": 1}),
            12,
        );
        for story in 2..=13 {
            let new = |number: usize| json!({"user_story_id": format!("US-{story:03}"), "title": format!("Requirement {number}"), "type_id": "Functional", "priority": 1});
            many("create_requirement", &new, 30);
        }
        // Following the links from the beginning leads through everything, once and in order.
        let (mut path, mut seen, mut pages) = ("/p/DEFAULT/document".to_owned(), Vec::new(), 0);
        loop {
            let page = visitor.get(&path);
            assert_eq!(page.status, 200, "{path}: {}", page.text);
            let sections: Vec<String> = page
                .text
                .split("<section class=\"")
                .skip(1)
                .filter_map(|rest| Some(rest.split(" id=\"").nth(1)?.split('"').next()?.to_owned()))
                .collect();
            let rows = page.text.matches("<section").count()
                + page.text.matches("<li").count()
                + page.text.matches("class=\"outline-").count();
            assert!(rows <= 500, "{path} has {rows} rows");
            seen.extend(sections);
            pages += 1;
            let next = page.text.split("rel=\"next\" href=\"").nth(1).and_then(|rest| rest.split('"').next());
            match next {
                Some(next) => path = next.replace("&amp;", "&"),
                None => break,
            }
            assert!(pages < 20, "it never ends");
        }
        assert!(pages >= 3, "{pages} pages");
        let unique: std::collections::BTreeSet<&String> = seen.iter().collect();
        assert_eq!((seen.len(), unique.len()), (4 + 13 + 362, seen.len()));
        assert_eq!((seen[0].as_str(), seen[1].as_str()), ("EP-001", "US-001"));
        // One epic keeps its number, and what is continued says within what.
        let epic = visitor.get("/p/DEFAULT/document/EP-003").text;
        assert!(
            epic.contains("<span class=\"number\">3</span> Epic 1") && !epic.contains("id=\"EP-002\""),
            "{epic}"
        );
        let later = visitor.get("/p/DEFAULT/document?from=US-009").text;
        assert!(later.contains("Continued: ") && later.contains(">2.8</span>"), "{later}");
        for path in
            ["/p/DEFAULT/document/EP-999", "/p/DEFAULT/document?from=REQ-999", "/p/DEFAULT/document/US-001"]
        {
            let answer = visitor.get(path);
            assert!(matches!(answer.status, 400 | 404), "{path}: {}", answer.status);
        }
    });
}

#[test]
fn a_document_is_downloaded_as_a_file_that_can_do_nothing() {
    on_every_store(|backend| {
        let visitor = Visitor::administrator(backend);
        fill(&visitor);
        let page = visitor.get("/p/DEFAULT/document").text;
        let download =
            addresses(&page).into_iter().find(|address| address.contains("format=html")).expect("a link");
        let file = visitor.get(&download);
        assert_eq!((file.status, file.header("content-type")), (200, "text/html; charset=utf-8"));
        assert_eq!(file.header("content-disposition"), "attachment; filename=\"DEFAULT.html\"");
        assert_eq!(file.header("x-content-type-options"), "nosniff");
        let policy = file.header("content-security-policy");
        assert!(
            policy.contains("sandbox") && policy.contains("default-src 'none'") && !policy.contains("script"),
            "{policy}"
        );
        assert!(file.text.contains("Mask card numbers") && !file.text.contains("<script"), "{}", file.text);
        let epic = visitor.get("/p/DEFAULT/document/EP-001").text;
        let download =
            addresses(&epic).into_iter().find(|address| address.contains("format=html")).expect("a link");
        assert_eq!(
            visitor.get(&download).header("content-disposition"),
            "attachment; filename=\"EP-001.html\""
        );
    });
}

/// [spec web] An empty state is one sentence and the next action; every number leads to its list.
#[test]
fn an_overview_leads_from_an_empty_project_to_every_list() {
    on_every_store(|backend| {
        let visitor = Visitor::administrator(backend);
        let empty = visitor.get("/p/DEFAULT").text;
        for offered in ["/p/DEFAULT/new/epic", "/p/DEFAULT/import", "/do/load_example"] {
            assert!(empty.contains(offered), "{offered}: {empty}");
        }
        let next = visitor.write("load_example", &[("project", "DEFAULT"), ("_next", "/p/DEFAULT")]);
        let page = visitor.get(&next).text;
        for shown in [
            "1 done",
            "Coverage of",
            "Suspect links</a> <span class=\"count\">2</span>",
            "role=\"img\"",
            "/do/clear_suspect_link",
        ] {
            assert!(page.contains(shown), "{shown}: {page}");
        }
        for address in addresses(&page) {
            if let Some(anchor) = address.strip_prefix('#') {
                assert!(page.contains(&format!("id=\"{anchor}\"")), "{address} leads nowhere");
            } else if address.starts_with("/p/") || address.starts_with("/r/") {
                assert_eq!(visitor.get(&address).status, 200, "{address}");
            }
        }
        let again = visitor.post("load_example", &[("project", "DEFAULT"), ("_next", "/p/DEFAULT")]);
        assert!(again.status == 409 && again.text.contains("is not empty"), "{}", again.text);
    });
}
