//! The index behind a search: large stores, its order, making it anew, and how statements on it run.

use serde_json::{Value, json};

use crate::search::{fill, found, names};
use crate::stores::on_every_store;

#[test]
fn words_that_occur_everywhere_are_answered_by_titles_and_the_newest() {
    on_every_store(|world| {
        fill(world);
        let operations: Vec<Value> = (0..1_050)
            .map(|number| {
                let title = if number == 7 { "The common title" } else { "Another" };
                json!({ "title": title, "priority": 1 + number % 4, "description": format!("common text {number}") })
            })
            .collect();
        for arguments in operations {
            world.ok("create_epic", arguments);
        }
        let answer = world.ok("search_global", json!({ "query": "common", "limit": 2 }));
        assert_eq!(names(&answer), "EP-010, EP-999");
        assert_eq!((&answer["total_count"], &answer["more_than_counted"]), (&json!(500), &json!(true)));
        let answer = world
            .ok("search_global", json!({ "query": "common", "sort": "priority", "limit": 1, "offset": 262 }));
        assert_eq!(names(&answer), "EP-003");
        let answer = world.ok("search_global", json!({ "query": "common", "limit": 3, "offset": 1_049 }));
        assert_eq!(names(&answer), "EP-003");
        let answer =
            world.ok("search_global", json!({ "query": "common -title", "limit": 1, "sort": "updated" }));
        assert_eq!(names(&answer), "EP-1052");
        let answer = world.ok("search_global", json!({ "query": "common -title", "limit": 100 }));
        assert!(names(&answer).starts_with("EP-999, "), "{}", names(&answer));
        assert!(!names(&answer).contains("EP-010"), "{}", names(&answer));
        let answer = world.ok("search_global", json!({ "query": "common title -another", "limit": 1 }));
        assert_eq!((names(&answer).as_str(), &answer["total_count"]), ("EP-010", &json!(1)));
    });
}

/// On PostgreSQL, the last few thousand documents are asked for first, then as many as are likely to be enough, then all.
#[test]
fn the_newest_of_many_are_found_wherever_they_are() {
    on_every_store(|world| {
        let store = world.engine.store();
        let mut n_epics = 0;
        let mut make = |n_more: usize, next_number: &'static str| {
            if store.is_remote() {
                let jump = move |tx: &mut store::Tx<'_>| tx.row(next_number, &[], |row| row.get::<i64>(0));
                store.wait(store::Mode::Write, jump).unwrap();
            }
            let operations: Vec<Value> = (n_epics..n_epics + n_more)
                .map(|number| {
                    let description = format!("common {}", if number % 100 == 0 { "rare" } else { "usual" });
                    let arguments = json!({ "title": "Pot", "priority": 1, "description": description });
                    json!({ "operation": "create_epic", "arguments": arguments })
                })
                .collect();
            world.ok("bulk_update", json!({ "operations": operations }));
            n_epics += n_more;
        };
        make(300, "select setval('search_number', 1)");
        make(300, "select setval('search_number', 100000)");
        make(300, "select setval('search_number', 110000)");
        make(150, "select setval('search_number', 120000)");
        let at = |query: &str, offset: i64| {
            let arguments = json!({ "query": query, "sort": "created", "limit": 1, "offset": offset });
            let answer = world.ok("search_global", arguments);
            format!("{} of {}", names(&answer), answer["total_count"])
        };
        assert_eq!(at("common", 0), "EP-1050 of 500");
        assert_eq!(at("common", 499), "EP-551 of 500");
        assert_eq!(at("rare", 0), "EP-1001 of 11");
        assert_eq!(at("rare", 10), "EP-001 of 11");
        assert_eq!(at("common", 899), "EP-151 of 900");
    });
}

/// Each write leaves a part of the index behind, and a search has to look into all of them.
#[test]
fn what_was_written_is_put_in_order_when_nobody_writes() {
    on_every_store(|world| {
        let store = world.engine.store();
        if store.is_remote() {
            return;
        }
        let n_parts = || -> i64 {
            let sql = "select count(distinct segid) from search_index_idx";
            let found: store::Result<Option<i64>> =
                store.wait(store::Mode::Point, move |tx| tx.row(sql, &[], |row| row.get(0)));
            found.unwrap().unwrap()
        };
        for number in 0..12 {
            world.ok("create_epic", json!({ "title": format!("Pot {number}"), "priority": 1 }));
        }
        let n_before = n_parts();
        assert!(n_before > 3, "{n_before} parts");
        let before = names(&world.ok("search_global", json!({ "query": "pot" })));
        let started = std::time::Instant::now();
        while n_parts() > 3 {
            assert!(started.elapsed().as_secs() < 20, "{} parts are left of {n_before}", n_parts());
            std::thread::sleep(std::time::Duration::from_millis(50));
        }
        assert_eq!(names(&world.ok("search_global", json!({ "query": "pot" }))), before);
    });
}

#[test]
fn a_store_with_other_terms_is_indexed_anew() {
    on_every_store(|world| {
        fill(world);
        world.ok("delete_entity", json!({ "reference": "REQ-003" }));
        let store = world.engine.store().clone();
        let erase = if store.is_remote() {
            "update search_text set title = '', body = ''"
        } else {
            "update search_document set title = '', body = ''"
        };
        store
            .wait(store::Mode::Write, move |tx| -> store::Result<()> {
                tx.execute("update search_state set version = 0", &[])?;
                tx.execute(erase, &[])?;
                Ok(())
            })
            .unwrap();
        let answer = world.ok("search_global", json!({ "query": "hot" }));
        assert!(!names(&answer).starts_with("EP-001, STD-001"));
        assert!(answer["indexing"].is_object(), "{answer}");
        let again = world.open_again();
        assert_eq!(again.ok("search_global", json!({ "query": "hot" }))["indexing"], Value::Null);
        assert_eq!(found(&again, json!({ "query": "hot" })), "EP-001, STD-001, REQ-001");
        assert_eq!(
            found(
                &again,
                json!({ "query": "hot", "include_deleted": true, "entity_types": ["requirement"] })
            ),
            "REQ-001, REQ-003"
        );
        assert_eq!(found(&again, json!({ "query": "lid" })), "comment on REQ-001");
        if store.is_remote() {
            // Nothing is left waiting beside the index.
            let text = |sql: &'static str| -> String {
                let found: store::Result<Option<String>> =
                    store.wait(store::Mode::Point, move |tx| tx.row(sql, &[], |row| row.get(0)));
                found.unwrap().unwrap()
            };
            let moved = "select cast(gin_clean_pending_list('search_document_terms') as text)";
            assert_eq!(text(moved), "0", "pages that were left waiting");
        }
    });
}

/// A statement of ours runs in less time than PostgreSQL would need to compile it, and where nobody has counted its rows, it
/// may believe that compiling pays.
#[test]
fn statements_are_not_compiled_by_the_database() {
    on_every_store(|world| {
        let store = world.engine.store();
        if store.is_remote() {
            let jit: store::Result<Option<String>> =
                store.wait(store::Mode::Point, |tx| tx.row("show jit", &[], |row| row.get(0)));
            assert_eq!(jit.unwrap().as_deref(), Some("off"));
        }
    });
}
