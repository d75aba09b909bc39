//! Imports that are too large for one transaction: others write meanwhile, they are resumed, and undone as one.

use std::sync::mpsc;
use std::time::{Duration, Instant};

use ops::ErrorKind;
use serde_json::{Value, json};

use crate::stores::{World, on_every_store};

/// More than is imported at once.
const N_NEW: usize = 10_200;
/// How long another write may wait for a slice. A release build takes a fifth of it.
const WAIT_MAX: Duration = Duration::from_secs(4);

/// [decisions 45]
#[test]
fn a_large_import_lets_others_write_and_can_be_resumed() {
    on_every_store(|world| {
        prepare(world);
        let file = file();
        let stopped = import_beside_others(world, json!({ "format": "csv", "content": file }));
        let import_id = stopped["import_id"].as_str().expect("an import").to_owned();
        assert_eq!(stopped["rows_total"], N_NEW + 3);
        let n_done = stopped["rows_done"].as_u64().expect("a number");
        assert!(n_done > 5_000, "{stopped}");
        let import = world.ok("get_import", json!({ "import_id": import_id }));
        assert_eq!((&import["state"], &import["rows_done"]), (&json!("unfinished"), &json!(n_done)));

        // Importing the file once more would double what is there.
        let arguments = json!({ "format": "csv", "content": file });
        let again = world.call("import", arguments.clone()).expect_err("it was begun");
        assert_eq!(
            (again.kind, &again.more.expect("more")["import_id"]),
            (ErrorKind::Conflict, &json!(import_id))
        );
        let other = json!({ "format": "csv", "content": format!("{file}\n"), "resume": import_id });
        assert!(world.refused("import", other).contains("is not the file of the import"));

        let mut resume = arguments;
        resume["resume"] = json!(import_id);
        let report = world.ok("import", resume.clone());
        assert_eq!(report["import_id"], import_id.as_str());
        let n_left =
            report["created"].as_u64().unwrap_or_default() + report["updated"].as_u64().unwrap_or_default();
        assert_eq!(n_left, N_NEW as u64 + 3 - n_done, "{report}");
        assert_eq!(count(world), N_NEW as u64 + 1, "nothing is doubled or missing");
        let import = world.ok("get_import", json!({ "import_id": import_id }));
        assert_eq!((&import["state"], &import["rows_done"]), (&json!("finished"), &import["rows_total"]));
        assert!(world.refused("import", resume).contains("is finished"));
        assert_eq!(text(world, "REQ-001"), "From the file");
    });
}

/// The table of another tool has no references of ours: what a row has made is found again by what the tool calls it.
#[test]
fn a_large_mapped_table_is_resumed_where_it_stopped() {
    on_every_store(|world| {
        let table = |rows: &str| format!("Was;Nr;Art;Teil\nKasse;1;Epic;\nZahlen;2;Story;1\n{rows}");
        let arguments = |content: String| {
            let map = "Was=title,Nr=external_id,Art=type,Teil=parent";
            json!({ "format": "csv", "content": content, "map": map, "scheme": "plan" })
        };
        let begun = world.ok("import", arguments(table("Karten;3;Task;2\n")));
        assert_eq!(begun["created"], 3, "{begun}");
        let new = |number: usize| format!("Neu {number};{number};Task;2\n");
        let mut rows: String = (4..8_000).map(new).collect();
        // It stops here, because somebody else has changed the same.
        rows += "Karten und mehr;3;Task;2\n";
        rows.extend((8_000..N_NEW + 4).map(new));
        let mut resume = arguments(table(&rows));
        let stopped = import_beside_others(world, resume.clone());
        let n_done = stopped["rows_done"].as_u64().expect("a number");
        assert!(n_done > 5_000 && n_done < N_NEW as u64, "{stopped}");

        // Another mapping would make something else of the rows that are left.
        resume["resume"] = stopped["import_id"].clone();
        let mut other = resume.clone();
        other["map"] = json!("Was=title,Nr=external_id,Art=type,Teil=parent,Extra=labels");
        assert!(world.refused("import", other).contains("there is no column"));
        let report = world.ok("import", resume);
        assert_eq!(report["import_id"], stopped["import_id"]);
        assert_eq!(count(world), N_NEW as u64 + 1, "nothing is doubled or missing");
        assert_eq!(text(world, "REQ-001"), "Karten und mehr");
        // Each row is found again by its number, and has what the file says.
        let again = world.ok("import", arguments(table(&rows)));
        let counts = (&again["created"], &again["updated"], &again["unchanged"]);
        assert_eq!(counts, (&json!(0), &json!(0), &json!(N_NEW + 3)), "{again}");
    });
}

#[test]
fn an_import_is_undone_as_one_but_for_what_was_changed_since() {
    on_every_store(|world| {
        prepare(world);
        world.ok("create_epic", json!({ "title": "Other", "priority": 2 }));
        world.ok("create_steering_document", json!({ "title": "Rules" }));
        let mut file = String::from(
            "kind,reference_id,epic,user_story,title,entity,content,source,target,type,steering_document\n\
             epic,EP-10,,,New,,,,,,\n\
             user_story,US-10,EP-10,,New,,,,,,\n\
             user_story,US-11,EP-10,,Kept,,,,,,\n\
             user_story,US-001,EP-002,,Moved,,,,,,\n\
             requirement,REQ-001,,US-10,From the file,,,,,,\n\
             requirement,REQ-500,,US-11,Kept,,,,,,\n\
             relationship,,,,,,,REQ-001,REQ-500,depends_on,\n\
             comment,,,,,REQ-001,Says who?,,,,\n\
             steering_link,,EP-001,,,,,,,,STD-001\n",
        );
        for number in 1..=200 {
            file.push_str(&format!("requirement,,,US-10,Requirement {number},,,,,,\n"));
        }
        let report = world.ok("import", json!({ "format": "csv", "content": file }));
        assert_eq!((&report["created"], &report["updated"]), (&json!(207), &json!(2)), "{report}");
        world.ok("update_requirement", json!({ "requirement_id": "REQ-500", "title": "Changed since" }));
        let undo = json!({ "import_id": report["import_id"] });
        let mut tried = undo.clone();
        tried["dry_run"] = json!(true);
        let planned = world.ok("undo_import", tried);
        // REQ-500 was changed, and keeps its story and epic, which a dry run does not look for.
        assert_eq!((&planned["deleted"], &planned["restored"]), (&json!(206), &json!(2)), "{planned}");
        assert_eq!(planned["kept"][0]["reference_id"], "REQ-500", "{planned}");
        assert_eq!(planned["import"]["state"], "finished");
        let undone = world.ok("undo_import", undo.clone());
        assert_eq!(undone["import"]["state"], "undone");
        let kept: Vec<String> = undone["kept"].as_array().expect("a list").iter().map(why).collect();
        assert_eq!(
            kept,
            [
                "REQ-500: it was changed since",
                "US-011: REQ-500 depends on it",
                "EP-010: US-011 depends on it",
            ]
        );
        assert_eq!((&undone["deleted"], &undone["restored"]), (&json!(204), &json!(2)), "{undone}");
        let requirement = world.ok("get_entity", json!({ "reference": "REQ-001" }));
        assert_eq!((&requirement["title"], &requirement["user_story"]), (&json!("Before"), &json!("US-001")));
        let story = world.ok("get_entity", json!({ "reference": "US-001" }));
        assert_eq!((&story["title"], &story["epic"]), (&json!("Before"), &json!("EP-001")));
        assert_eq!(count(world), 2);
        let again = world.ok("undo_import", undo);
        assert_eq!((&again["deleted"], &again["kept"]), (&json!(0), &json!([])));
        let listed = world.ok("list_imports", json!({}));
        assert_eq!((&listed["total_count"], &listed["data"][0]["id"]), (&json!(1), &report["import_id"]));
    });
}

#[test]
fn imports_are_seen_by_who_made_them_and_by_administrators() {
    on_every_store(|world| {
        let (one, other) = (world.member("ursula", "User"), world.member("ulrich", "User"));
        let file = json!({ "format": "csv", "content": "kind,title\nepic,New\n" });
        let report = world.call_as(one.clone(), "import", file).expect("an import");
        let id = json!({ "import_id": report["import_id"] });
        assert_eq!(world.ok("get_import", id.clone())["actor"], "ursula");
        let total = |project: &str| {
            let arguments = json!({ "project": project });
            world.call_as(one.clone(), "list_imports", arguments).expect("a list")["total_count"].clone()
        };
        world.ok("create_project", json!({ "key": "SHOP", "name": "Shop" }));
        assert_eq!((total("DEFAULT"), total("SHOP")), (json!(1), json!(0)));
        assert_eq!(world.call_as(one.clone(), "list_imports", json!({})).expect("a list")["total_count"], 1);
        assert_eq!(
            world.call_as(other.clone(), "list_imports", json!({})).expect("a list")["total_count"],
            0
        );
        for operation in ["get_import", "undo_import"] {
            let refused = world.call_as(other.clone(), operation, id.clone()).expect_err("not theirs");
            assert_eq!(refused.kind, ErrorKind::NotFound);
        }
    });
}

/// Imports while others write. One of them changes what the last row changes too, so that the import stops there. Returns
/// what the error says.
fn import_beside_others(world: &World, arguments: Value) -> Value {
    let (begun, hears) = mpsc::channel();
    let mut call = world.the_call(ops::find("import").expect("an operation"), arguments, None);
    call.progress = Some(Box::new(move |progress| {
        if progress.doing == "writing rows" {
            let _ = begun.send(());
        }
    }));
    let (sender, done) = mpsc::channel();
    world.engine.call(call, move |reply| sender.send(reply.result).expect("somebody waits"));
    hears.recv().expect("it begins to write");
    let update = json!({ "requirement_id": "REQ-001", "title": "From somebody else" });
    world.ok("update_requirement", update);
    let mut n_written = 0;
    let error = loop {
        let started = Instant::now();
        world.ok("create_steering_document", json!({ "title": "Beside" }));
        assert!(started.elapsed() < WAIT_MAX, "a write waited for {:?}", started.elapsed());
        n_written += 1;
        if let Ok(result) = done.recv_timeout(Duration::from_millis(20)) {
            break result.expect_err("REQ-001 was changed");
        }
    };
    assert!(n_written > 5, "only {n_written} others wrote");
    assert_eq!(error.kind, ErrorKind::Conflict, "{error}");
    assert!(error.message.contains("REQ-001 was changed by somebody else"), "{error}");
    *error.more.expect("more")
}

/// A requirement that is there before.
fn prepare(world: &World) {
    world.ok("create_epic", json!({ "title": "Before", "priority": 1 }));
    world.ok("create_user_story", json!({ "epic_id": "EP-001", "title": "Before", "priority": 1 }));
    let requirement =
        json!({ "user_story_id": "US-001", "title": "Before", "priority": 1, "type_id": "Functional" });
    world.ok("create_requirement", requirement);
}

/// New requirements that have no names of their own, and last a change of the one that is there.
fn file() -> String {
    let mut file = String::from(
        "kind,reference_id,epic,user_story,title\nepic,epic,,,New\nuser_story,story,epic,,New\n",
    );
    for number in 1..=N_NEW {
        file.push_str(&format!("requirement,,,story,Requirement {number}\n"));
    }
    file.push_str("requirement,REQ-001,,US-001,From the file\n");
    file
}

fn count(world: &World) -> u64 {
    let arguments = json!({ "kind": "requirement", "limit": 1 });
    world.ok("list_entities", arguments)["total_count"].as_u64().expect("a number")
}

fn text(world: &World, reference: &str) -> String {
    let found = world.ok("get_entity", json!({ "reference": reference }));
    found["title"].as_str().expect("a title").to_owned()
}

fn why(kept: &Value) -> String {
    let text = |name: &str| kept[name].as_str().expect("a text").to_owned();
    format!("{}: {}", text("reference_id"), text("why"))
}
