//! What is told of a long call while it runs.

use std::sync::{Arc, Mutex};

use ops::{Call, Progress};
use private_postgres::Server;
use serde_json::{Value, json};
use store::Location;

use crate::stores::{World, on_every_store};

#[test]
fn a_list_counts_its_operations() {
    on_every_store(|world| {
        let operations = json!([epic("Pay"), epic("Ship"), epic("Return")]);
        let told = told_of(world, "bulk_update", json!({ "operations": operations, "dry_run": true }));
        assert_eq!(told, ["1/3 trying operations", "2/3 trying operations", "3/3 trying operations"]);
        let told = told_of(world, "bulk_update", json!({ "operations": operations }));
        assert_eq!(told, ["1/3 running operations", "2/3 running operations", "3/3 running operations"]);
    });
}

#[test]
fn parts_of_a_bulk_do_not_report_progress() {
    on_every_store(|world| {
        fill(world);
        let delete =
            json!({ "operation": "delete_entity", "arguments": { "reference": "EP-001", "force": true } });
        let told = told_of(world, "bulk_update", json!({ "operations": [delete, epic("Ship")] }));
        assert_eq!(told, ["1/2 running operations", "2/2 running operations"]);
    });
}

#[test]
fn a_delete_counts_what_goes() {
    on_every_store(|world| {
        fill(world);
        let told = told_of(world, "delete_entity", json!({ "reference": "EP-001", "dry_run": true }));
        assert_eq!(told, ["3/3 counting what goes"]);
        let told = told_of(world, "delete_entity", json!({ "reference": "EP-001", "force": true }));
        assert_eq!(told, ["3/6 counting what goes", "4/6 deleting", "5/6 deleting", "6/6 deleting"]);
    });
}

#[test]
fn an_export_counts_records_and_an_import_rows() {
    on_every_store(|world| {
        fill(world);
        for format in ["json", "csv", "markdown", "reqif"] {
            let told = told_of(world, "export", json!({ "format": format }));
            assert!(told.len() > 10, "{told:?}");
            assert_eq!(told[0], "1 writing records", "{format}");
            let last = told.last().expect("something");
            assert_eq!(*last, format!("{0}/{0} writing the file", told.len()), "{format}");
        }
        let file = world.ok("export", json!({ "format": "json" }))["content"].clone();
        let changed = file.as_str().expect("text").replace("Pay by card", "Pay by card or cash");
        let arguments = json!({ "format": "json", "content": changed });
        let tried =
            told_of(world, "import", json!({ "format": "json", "content": changed, "dry_run": true }));
        let told = told_of(world, "import", arguments);
        let n_rows = tried.last().and_then(|last| last.split('/').next()).expect("something");
        assert_eq!(*tried.last().expect("something"), format!("{n_rows}/{n_rows} checking rows"));
        let n_total = 2 * n_rows.parse::<usize>().expect("a number");
        assert!(told.contains(&format!("{n_rows}/{n_total} checking rows")), "{told:?}");
        assert_eq!(*told.last().expect("something"), format!("{n_total}/{n_total} writing rows"));
    });
}

#[test]
fn a_replayed_answer_reports_no_progress() {
    on_every_store(|world| {
        let call = || {
            let entry = ops::find("bulk_update").expect("an operation");
            world.the_call(entry, json!({ "operations": [epic("Pay"), epic("Ship")] }), Some("key"))
        };
        assert_eq!(tell(world, call()).len(), 2);
        assert_eq!(tell(world, call()).len(), 0);
    });
}

/// While the first row is told of, somebody else changes what it is about.
#[test]
fn a_call_that_runs_again_counts_from_the_beginning() {
    let Some(server) = Server::shared() else { return };
    let database = server.database();
    let world = World::open(&Location::parse(database.url()).expect("a URL"));
    for _ in 0..2 {
        world.ok("create_epic", json!({ "title": "Pay", "priority": 1 }));
    }
    let update = ops::find("update_epic").expect("an operation");
    let other = world.the_call(update, json!({ "epic_id": "EP-001", "priority": 3 }), None);
    let other = Mutex::new(Some(other));
    let engine = world.engine.clone();
    let told = Arc::new(Mutex::new(Vec::new()));
    let (heard, entry) = (told.clone(), ops::find("import").expect("an operation"));
    let content = "kind,reference_id,title\nepic,EP-001,Slower\nepic,EP-002,Slower\n";
    let mut call = world.the_call(entry, json!({ "format": "csv", "content": content }), None);
    call.progress = Some(Box::new(move |progress| {
        heard.lock().expect("not poisoned").push(progress.n_done);
        if let Some(other) = other.lock().expect("not poisoned").take() {
            engine.wait(other).result.expect("nobody is in the way");
        }
    }));
    world.engine.wait(call).result.expect("it runs again");
    assert_eq!(*told.lock().expect("not poisoned"), [1, 2, 1, 2, 3, 4]);
    let epic = world.ok("get_entity", json!({ "reference": "EP-001" }));
    assert_eq!((epic["title"].as_str(), epic["priority"].as_i64()), (Some("Slower"), Some(3)));
}

fn epic(title: &str) -> Value {
    json!({ "operation": "create_epic", "arguments": { "title": title, "priority": 1 } })
}

/// An epic with a story that has a requirement.
fn fill(world: &World) {
    world.ok("create_epic", json!({ "title": "Checkout", "priority": 1 }));
    world.ok("create_user_story", json!({ "epic_id": "EP-001", "title": "Pay by card", "priority": 1 }));
    let requirement =
        json!({ "user_story_id": "US-001", "title": "Masked", "priority": 1, "type_id": "Functional" });
    world.ok("create_requirement", requirement);
}

#[track_caller]
fn told_of(world: &World, name: &str, arguments: Value) -> Vec<String> {
    tell(world, world.the_call(ops::find(name).expect("an operation"), arguments, None))
}

/// What is told of a call that must succeed.
#[track_caller]
fn tell(world: &World, mut call: Call) -> Vec<String> {
    let told = Arc::new(Mutex::new(Vec::new()));
    let heard = told.clone();
    call.progress = Some(Box::new(move |Progress { n_done, n_total, doing }| {
        let total = n_total.map(|n_total| format!("/{n_total}")).unwrap_or_default();
        heard.lock().expect("not poisoned").push(format!("{n_done}{total} {doing}"));
    }));
    world.engine.wait(call).result.unwrap_or_else(|error| panic!("{error} {:?}", error.fields));
    let told = told.lock().expect("not poisoned");
    told.clone()
}
