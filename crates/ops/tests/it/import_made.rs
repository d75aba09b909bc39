//! Who made what an import adds, and when: administrators decide it for everybody, others for themselves.

use ops::Credentials;
use serde_json::{Value, json};

use crate::people::{token, user};
use crate::stores::on_every_store;

const FILE: &str = "\
kind,reference_id,epic,user_story,entity,source,target,type,title,description,content,creator,author,created_at
epic,EP-1,,,,,,,By admin,,,admin,,2020-01-01T00:00:00Z
epic,EP-2,,,,,,,By ursula,,,ursula,,2020-01-02T00:00:00Z
epic,EP-3,,,,,,,By nobody,,,,,2020-01-03T00:00:00Z
user_story,US-1,EP-1,,,,,,Story,,,ursula,,
acceptance_criteria,AC-1,,US-1,,,,,,Works,,,admin,2020-01-04T00:00:00Z
requirement,REQ-1,,US-1,,,,,One,,,ursula,,
requirement,REQ-2,,US-1,,,,,Two,,,ursula,,
relationship,,,,,REQ-1,REQ-2,depends_on,,,,admin,,2020-01-05T00:00:00Z
comment,,,,EP-1,,,,,,Why?,,admin,2020-01-06T00:00:00Z
";

#[test]
fn only_administrators_import_what_others_made_and_when() {
    on_every_store(|world| {
        user(world, "ursula", "User");
        user(world, "ann", "Administrator");
        let import = |who: Credentials, dry_run: bool| {
            let arguments = json!({ "format": "csv", "content": FILE, "dry_run": dry_run });
            world.call_as(who, "import", arguments).expect("a report")
        };
        let notes = |report: &Value| {
            let notes = report["notes"].as_array().expect("notes").clone();
            notes
                .iter()
                .map(|note| format!("{}: {}", note["field"].as_str().unwrap_or_default(), note["message"]))
                .collect::<Vec<_>>()
        };
        let whole = import(Credentials::Local(Some("ann".to_owned())), true);
        assert_eq!((&whole["created"], notes(&whole).len()), (&json!(9), 0));
        // A token of an administrator that may only write is no administrator's.
        let of_token = import(token(world, "ann", &["write"]), true);
        assert!(!notes(&of_token).is_empty());

        let report = import(Credentials::Local(Some("ursula".to_owned())), false);
        assert_eq!(
            notes(&report),
            [
                "creator: \"only administrators import what others made, so it is yours and made now: the file says admin (and \
                 one more row)\"",
                "created_at: \"only administrators import times of what does not name you as its maker, so it is made now: the \
                 file says 2020-01-03T00:00:00.000000Z\"",
                "author: \"only administrators import what others made, so it is yours and made now: the file says admin (and \
                 one more row)\"",
            ]
        );
        let made = |name: &str, arguments: Value| {
            let mut found = world.ok(name, arguments);
            let found = if found["data"].is_array() { found["data"][0].take() } else { found };
            let by = found.get("author").or(found.get("creator")).cloned().unwrap_or_default();
            let year = found["created_at"].as_str().expect("a time")[..10].to_owned();
            (by.as_str().unwrap_or_default().to_owned(), year)
        };
        let now = ("ursula".to_owned(), "2026-11-15".to_owned());
        assert_eq!(made("get_entity", json!({ "reference": "EP-1" })), now);
        assert_eq!(
            made("get_entity", json!({ "reference": "EP-2" })),
            ("ursula".into(), "2020-01-02".into())
        );
        assert_eq!(made("get_entity", json!({ "reference": "EP-3" })), now);
        assert_eq!(made("get_entity", json!({ "reference": "AC-1" })), now);
        assert_eq!(made("list_comments", json!({ "reference": "EP-1" })), now);
        let related = world.ok("list_relationships", json!({ "requirement_id": "REQ-1" }));
        assert!(related["data"][0]["created_at"].as_str().is_some_and(|time| time.starts_with("2026")));
    });
}
