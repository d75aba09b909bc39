//! The import wizard and the export page over HTTP, as a browser without scripts uses them.

use serde_json::json;

use crate::backend::{Answer, on_every_store, on_sqlite, send};
use crate::web::Visitor;

const TABLE: &str =
    "Summary;Details;Prio;Key\nLinks expire;After an hour.;High;A-1\nLinks work once;;Low;A-2\n";

/// Sends a file as the form of the page does.
fn upload(visitor: &Visitor<'_>, name: &str, content: &[u8], origin: &str) -> Answer {
    let mut body = format!(
        "--XX\r\nContent-Disposition: form-data; name=\"file\"; filename=\"{name}\"\r\nContent-Type: text/csv\r\n\r\n"
    )
    .into_bytes();
    body.extend_from_slice(content);
    body.extend_from_slice(b"\r\n--XX--\r\n");
    let request = visitor.client.post(format!("{}/p/DEFAULT/import", visitor.backend.url));
    let request = request.header("content-type", "multipart/form-data; boundary=XX").header("origin", origin);
    send(visitor.with_cookie(request.body(body)))
}

/// Sends a file that is taken, and returns the address of its page and its id.
#[track_caller]
fn sent(visitor: &Visitor<'_>, name: &str, content: &str) -> (String, String) {
    let answer = upload(visitor, name, content.as_bytes(), &visitor.backend.url);
    assert_eq!(answer.status, 303, "{}", answer.text);
    let path = answer.header("location").to_owned();
    let id = path.split('/').nth(4).and_then(|rest| rest.split('?').next()).unwrap_or_default().to_owned();
    (path, id)
}

#[test]
fn a_table_goes_through_all_steps_and_back() {
    on_every_store(|backend| {
        let visitor = Visitor::administrator(backend);
        let (columns, id) = sent(&visitor, "list.csv", TABLE);
        let page = visitor.get(&columns);
        assert_eq!(page.status, 200, "{}", page.text);
        for expected in [
            "<option value=\"title\" selected>Title</option>",
            "<option value=\"priority\" selected>",
            "<option value=\"external_id\" selected>",
            "Links expire",
            "2 rows",
        ] {
            assert!(page.text.contains(expected), "{expected}: {}", page.text);
        }
        let query = "format=csv&name=list.csv&c0=title&c1=description&c2=priority&c3=external_id&scheme=plan";
        let check = format!("/p/DEFAULT/import/{id}/check?{query}");
        let page = visitor.get(&check);
        assert!(
            page.text.contains("Import 4 items") && page.text.contains("Nothing was changed yet"),
            "{}",
            page.text
        );
        let map = "\"Summary\"=title,\"Details\"=description,\"Prio\"=priority,\"Key\"=external_id";
        assert!(page.text.contains(&map.replace('"', "&quot;")), "{}", page.text);
        let fields = [
            ("_next", "/p/DEFAULT/imports/{import_id}"),
            ("_file", id.as_str()),
            ("_back", check.as_str()),
            ("project", "DEFAULT"),
            ("format", "csv"),
            ("map", map),
            ("scheme", "plan"),
        ];
        let done = visitor.write("import", &fields);
        let page = visitor.get(&done);
        assert!(
            page.text.contains("<h1>Imported</h1>") && page.text.contains("4 of 4 items"),
            "{}",
            page.text
        );
        let item = visitor.get("/r/REQ-001");
        assert!(item.text.contains("<dt>plan</dt><dd>A-1</dd>"), "{}", item.text);
        // The file is gone with the import, and coming again changes nothing.
        assert_eq!(visitor.get(&check).status, 404);
        let (_, id) = sent(&visitor, "list.csv", TABLE);
        let again = visitor.get(&format!("/p/DEFAULT/import/{id}/check?{query}"));
        assert!(again.text.contains("Everything in this file is here already"), "{}", again.text);
        let import_id = done.rsplit('/').next().unwrap_or_default();
        assert!(visitor.get("/p/DEFAULT/import").text.contains("href=\"/p/DEFAULT/imports\""));
        let list = visitor.get("/p/DEFAULT/imports").text;
        for expected in [done.as_str(), "<td>csv</td><td>4 of 4</td><td>Imported</td>", "Take back…"] {
            assert!(list.contains(expected), "{expected}: {list}");
        }
        let try_it = [("import_id", import_id), ("dry_run", "true"), ("_next", "/p/DEFAULT/imports")];
        let tried = visitor.post("undo_import", &try_it);
        assert_eq!(tried.status, 200, "{}", tried.text);
        for expected in ["Nothing was changed yet", "4 items would be deleted", ">Take back<"] {
            assert!(tried.text.contains(expected), "{expected}: {}", tried.text);
        }
        assert_eq!(visitor.write("undo_import", &[("import_id", import_id), ("_next", &done)]), done);
        assert!(visitor.get(&done).text.contains("was taken back"));
        let list = visitor.get("/p/DEFAULT/imports").text;
        assert!(list.contains("<td>Taken back</td>") && !list.contains("/do/undo_import"), "{list}");
        assert!(visitor.get("/r/REQ-001").text.contains("Restore"));
    });
}

#[test]
fn a_file_without_columns_leads_to_another_file() {
    on_sqlite(&[], &[], |backend, _| {
        let visitor = Visitor::administrator(backend);
        let (_, id) = sent(&visitor, "plan.md", "# Payments\n\n## Pay\n\n- The system MUST mask cards.\n");
        let page = visitor.get(&format!("/p/DEFAULT/import/{id}/check?format=markdown")).text;
        assert!(page.contains(">Another file</a>") && !page.contains("Change the columns"), "{page}");
    });
}

#[test]
fn mistakes_are_shown_by_row_and_downloaded() {
    on_sqlite(&[], &[], |backend, _| {
        let visitor = Visitor::administrator(backend);
        let (_, id) = sent(&visitor, "list.csv", "Summary;Prio\nFine;High\n;=1+1\n");
        let check = format!("/p/DEFAULT/import/{id}/check?format=csv");
        let page = visitor.get(&check);
        assert!(
            page.text.contains("Download the mistakes") && !page.text.contains("/do/import"),
            "{}",
            page.text
        );
        let only = visitor.get(&format!("{check}&show=wrong"));
        assert!(
            only.text.contains("Summary: expected text") && !only.text.contains(">Fine<"),
            "{}",
            only.text
        );
        let file = visitor.get(&format!("/p/DEFAULT/import/{id}/mistakes.csv?format=csv"));
        assert_eq!(file.header("content-disposition"), "attachment; filename=\"mistakes.csv\"");
        assert!(file.text.contains("\"row 3 (line 3)\",\"Summary\",\"expected text"), "{}", file.text);
        // What cannot be imported leads back to what is wrong with it.
        let fields =
            [("_file", id.as_str()), ("_back", check.as_str()), ("format", "csv"), ("project", "DEFAULT")];
        assert_eq!(visitor.write("import", &fields), check);
    });
}

#[test]
fn files_are_taken_from_our_own_pages_within_bounds_and_shown_to_their_owner() {
    on_sqlite(&[], &[], |backend, _| {
        let visitor = Visitor::administrator(backend);
        let lead = |name: &str, content: &[u8]| {
            upload(&visitor, name, content, &backend.url).header("location").to_owned()
        };
        assert_eq!(lead("list.pdf", b"x"), "/p/DEFAULT/import?problem=format");
        assert_eq!(lead("list.csv", b""), "/p/DEFAULT/import?problem=empty");
        assert!(visitor.get("/p/DEFAULT/import?problem=empty").text.contains("Choose a file"));
        let elsewhere = upload(&visitor, "list.csv", TABLE.as_bytes(), "https://evil.example");
        assert!(!elsewhere.header("location").contains("format=csv"), "{}", elsewhere.header("location"));
        let (columns, _) = sent(&visitor, "list.csv", TABLE);
        let ann = json!({ "username": "ann", "email": "ann@example.org", "password": "a long password", "role": "User" });
        backend.create("/users", &ann);
        let other = Visitor::signed_in(backend, "ann", "a long password");
        assert_eq!(other.get(&columns).status, 404);
        let large = vec![b'x'; (50 << 20) + 1];
        assert_eq!(lead("list.csv", &large), "/p/DEFAULT/import?problem=large");
        let bomb = visitor.get(&sent(&visitor, "list.xlsx", "PK\u{3}\u{4}").0);
        assert!(bomb.text.contains("found no archive"), "{}", bomb.text);
    });
}

#[test]
fn a_project_is_exported_from_its_page() {
    on_sqlite(&[], &[], |backend, _| {
        let visitor = Visitor::administrator(backend);
        assert!(visitor.get("/p/DEFAULT/export").text.contains("format=csv&amp;columns=all"));
        for query in [
            "format=csv",
            "format=csv&columns=all",
            "format=csv&columns=title,+status",
            "format=markdown&for_reading=true",
        ] {
            let file = visitor.get(&format!("/api/v1/export?project=DEFAULT&{query}"));
            assert_eq!(file.status, 200, "{query} {}", file.text);
            assert!(file.header("content-disposition").starts_with("attachment"), "{query}");
        }
        // Columns are ticked: each box is a field of the form, and all of them are columns of the file.
        let page = visitor.get("/p/DEFAULT/export").text;
        let boxes = page.split("name=\"columns\" value=\"").skip(1).filter_map(|rest| rest.split('"').next());
        let all: Vec<&str> = boxes.collect();
        assert!(all.len() > 10, "{page}");
        let mut fields = vec![("project", "DEFAULT"), ("format", "csv")];
        fields.extend(all.iter().map(|name| ("columns", *name)));
        let file = visitor.post("export", &fields);
        let heading = format!("kind,{}", all.join(","));
        assert_eq!(file.text.trim_start_matches('\u{feff}').lines().next(), Some(heading.as_str()));
        assert!(file.header("content-disposition").starts_with("attachment"));
    });
}
