//! The thread: pushes of citations and results, verdicts, and what is asked of them.

use ops::thread::{PushedCitation, PushedExecution, PushedFile, PushedTest};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use serde_json::{Value, json};
use trace::managed::{ManagedDocument, ManagedKind, ManagedText};
use trace::{Annotation, AnnotationKind};

use crate::people::{outcome, token, user};
use crate::stores::{World, on_every_store};

/// A text with two units.
const TEXT: &str = "The kettle MUST stop at 100 degrees. It is blue. The lid SHOULD stay closed.";

/// A requirement with two units, in a project with a repository.
struct Kettle<'a> {
    world: &'a World,
    reference: String,
    units: Vec<String>,
}

impl<'a> Kettle<'a> {
    fn new(world: &'a World) -> Kettle<'a> {
        let epic = world.ok("create_epic", json!({ "title": "Kettle", "priority": 1 }));
        let story = json!({ "epic_id": epic["id"], "title": "Boil", "priority": 1, "description": "As a cook I boil." });
        let story = world.ok("create_user_story", story);
        let requirement = json!({
            "user_story_id": story["id"], "title": "Stop", "description": TEXT, "priority": 1, "type_id": "Functional",
        });
        let requirement = world.ok("create_requirement", requirement);
        world.ok("create_repository", json!({ "name": "example.org/kettle", "projects": ["DEFAULT"] }));
        let reference = requirement["reference_id"].as_str().expect("a reference").to_owned();
        let units = units(TEXT);
        Kettle { world, reference, units }
    }

    fn citation(&self, kind: &str, line: u32, unit: usize, symbol: &str) -> PushedCitation {
        PushedCitation {
            line,
            last_line: line + 1,
            kind: kind.to_owned(),
            reference: self.reference.clone(),
            units: vec![self.units[unit].clone()],
            pin: None,
            symbol: Some(symbol.to_owned()),
            covered: Some((line, line + 10)),
        }
    }

    /// Code and a test for the first unit, code alone for the second.
    fn files(&self) -> Vec<PushedFile> {
        vec![
            file(
                "src/kettle.rs",
                "aaaaaaaa",
                vec![
                    self.citation("code", 10, 0, "Kettle::stop"),
                    self.citation("code", 30, 1, "Kettle::close"),
                ],
            ),
            file("tests/kettle.rs", "bbbbbbbb", vec![self.citation("test", 5, 0, "stops")]),
        ]
    }

    fn push(&self, files: &[PushedFile]) -> Value {
        self.world.ok(
            "push_trace",
            json!({
                "repository": "example.org/kettle", "commit": "0123456789abcdef", "content": lines(files),
            }),
        )
    }

    fn test(&self, outcome: &str, how: &str) -> PushedTest {
        PushedTest {
            path: "tests/kettle.rs".to_owned(),
            blob: "bbbbbbbb".to_owned(),
            symbol: "stops".to_owned(),
            outcome: serde_json::from_value(json!(outcome)).expect("an outcome"),
            attempts: 1,
            duration_ms: Some(3),
            executes: vec![PushedExecution {
                reference: self.reference.clone(),
                unit: self.units[0].clone(),
                path: "src/kettle.rs".to_owned(),
                blob: "aaaaaaaa".to_owned(),
                how: how.to_owned(),
            }],
        }
    }

    fn run(&self, tests: &[PushedTest]) -> Value {
        self.world.ok("push_evidence", evidence(tests))
    }

    fn thread(&self) -> Value {
        self.world.ok("get_thread", json!({ "from": self.reference }))
    }

    /// The verdicts of the units, those that close with a mark.
    fn verdicts(&self) -> Vec<String> {
        let thread = self.thread();
        let units = thread["data"][0]["units"].as_array().expect("units").clone();
        let verdict = |unit: &Value| {
            let mark = if unit["closed"] == true { "!" } else { "" };
            format!("{}{mark}", unit["verdict"].as_str().unwrap_or_default())
        };
        units.iter().map(verdict).collect()
    }
}

fn units(text: &str) -> Vec<String> {
    let units = trace::managed::units(text, trace::managed::Granularity::Sentences);
    units.into_iter().map(|unit| unit.hash).collect()
}

fn file(path: &str, blob: &str, citations: Vec<PushedCitation>) -> PushedFile {
    PushedFile { path: path.to_owned(), blob: blob.to_owned(), citations }
}

fn lines<T: serde::Serialize>(items: &[T]) -> String {
    items.iter().map(|item| serde_json::to_string(item).expect("JSON") + "\n").collect()
}

fn evidence(tests: &[PushedTest]) -> Value {
    json!({ "repository": "example.org/kettle", "tool": "cargo test", "exit_status": 0, "content": lines(tests) })
}

#[test]
fn a_unit_is_closed_by_a_test_that_ran_its_code() {
    on_every_store(|world| {
        let kettle = Kettle::new(world);
        assert_eq!(kettle.verdicts(), ["not_run", "not_run"]);
        let why = &kettle.thread()["data"][0]["units"][0]["why_open"];
        assert_eq!(why, "nothing cites it");
        let pushed = kettle.push(&kettle.files());
        let parts = ["n_files", "n_citations", "n_cited", "n_unknown", "unchanged", "trust"]
            .map(|name| &pushed[name]);
        assert_eq!(json!(parts), json!([2, 3, 1, 0, false, "token"]));
        let thread = kettle.thread();
        let unit = &thread["data"][0]["units"][0];
        assert_eq!(unit["code"][0]["place"], "src/kettle.rs:10");
        assert_eq!(unit["tests"][0]["place"], "tests/kettle.rs:5");
        assert_eq!(thread["data"][0]["units"][1]["why_open"], "no test cites it");
        assert_eq!(thread["chain"].as_array().map(Vec::len), Some(2));
        let run = kettle.run(&[kettle.test("passed", "none")]);
        assert_eq!((&run["closes"], &run["outcomes"]), (&json!(true), &json!({ "passed": 1 })));
        assert_eq!(kettle.verdicts(), ["passed", "not_run"]);
        kettle.run(&[kettle.test("passed", "witnessed")]);
        assert_eq!(kettle.verdicts(), ["witnessed!", "not_run"]);
        kettle.run(&[kettle.test("flaky", "proven")]);
        assert_eq!(kettle.verdicts(), ["flaky", "not_run"]);
        kettle.run(&[kettle.test("failed", "proven")]);
        assert_eq!(kettle.verdicts(), ["failed", "not_run"]);
        kettle.run(&[kettle.test("passed", "proven")]);
        assert_eq!(kettle.verdicts(), ["proven!", "not_run"]);
        // A run that broke off closes nothing, and neither does one of another ref.
        let mut broken = evidence(&[kettle.test("passed", "proven")]);
        broken["incomplete"] = json!(true);
        assert_eq!(world.ok("push_evidence", broken)["closes"], false);
        let mut branch = evidence(&[kettle.test("passed", "proven")]);
        branch["ref"] = json!("refs/heads/try");
        let branch = world.ok("push_evidence", branch);
        assert_eq!(branch["why_not"], "runs of refs/heads/try do not close");
        assert_eq!(kettle.verdicts(), ["proven!", "not_run"]);
    });
}

#[test]
fn evidence_is_old_exactly_when_the_test_or_the_code_has_changed() {
    on_every_store(|world| {
        let kettle = Kettle::new(world);
        kettle.push(&kettle.files());
        kettle.run(&[kettle.test("passed", "proven")]);
        assert_eq!(kettle.verdicts()[0], "proven!");
        for index in [0, 1] {
            let mut files = kettle.files();
            files[index].blob = "cccccccc".to_owned();
            kettle.push(&files);
            assert_eq!(kettle.verdicts()[0], "old", "file {index}");
            // The content that was tested is back, under another commit.
            kettle.push(&kettle.files());
            assert_eq!(kettle.verdicts()[0], "proven!", "file {index}");
        }
        let mut files = kettle.files();
        files.push(file("docs/notes.rs", "dddddddd", Vec::new()));
        kettle.push(&files);
        assert_eq!(kettle.verdicts()[0], "proven!");
    });
}

#[test]
fn an_edit_makes_exactly_the_citations_of_its_sentence_stale() {
    on_every_store(|world| {
        let kettle = Kettle::new(world);
        kettle.push(&kettle.files());
        kettle.run(&[kettle.test("passed", "proven")]);
        let edited = TEXT.replace("SHOULD stay closed", "SHOULD stay shut");
        world.ok("update_requirement", json!({ "requirement_id": kettle.reference, "description": edited }));
        assert_eq!(kettle.verdicts(), ["proven!", "not_run"]);
        let outdated = &kettle.thread()["data"][0]["outdated"];
        assert_eq!(outdated.as_array().map(Vec::len), Some(1));
        assert_eq!(
            (&outdated[0]["place"], &outdated[0]["state"]),
            (&json!("src/kettle.rs:30"), &json!("stale"))
        );
        // The edited sentence of a test that has run has old evidence.
        let edited = edited.replace("100 degrees", "99 degrees");
        world.ok("update_requirement", json!({ "requirement_id": kettle.reference, "description": edited }));
        assert_eq!(kettle.verdicts(), ["old", "not_run"]);
        let edited = edited.replace("99 degrees", "100 degrees");
        world.ok("update_requirement", json!({ "requirement_id": kettle.reference, "description": edited }));
        assert_eq!(kettle.verdicts(), ["proven!", "not_run"]);
        let stale = world.ok("list_stale_citations", json!({}));
        let parts =
            ["reference_id", "state", "quoted", "now", "quoted_version"].map(|name| &stale["data"][0][name]);
        let expected =
            json!([kettle.reference, "stale", "The lid SHOULD stay closed.", "The lid SHOULD stay shut.", 1]);
        assert_eq!(json!(parts), expected);
        assert_eq!(stale["data"][0]["difference"], "The lid SHOULD stay [-closed.-]{+shut.+}");
        let lines = format!("//= spexus://{}\n//# The lid SHOULD stay shut.", kettle.reference);
        assert_eq!(stale["data"][0]["lines"], lines);
        // What quotes no version is broken, and what is deleted is gone.
        let mut files = kettle.files();
        files[0].citations[1].units = vec!["0".repeat(32)];
        kettle.push(&files);
        assert_eq!(kettle.thread()["data"][0]["outdated"][0]["state"], "broken");
        world.ok("delete_entity", json!({ "reference": kettle.reference }));
        assert_eq!(kettle.thread()["data"][0]["outdated"][0]["state"], "gone");
    });
}

/// A sentence of a text, and what becomes of it.
#[derive(Clone, Debug)]
enum Edit {
    Word,
    Prefix,
    End,
    Level,
    Remove,
    Insert,
    Move,
}

impl Edit {
    fn made(&self, sentences: &[String], at: usize) -> Vec<String> {
        let mut edited = sentences.to_vec();
        match self {
            Edit::Word => edited[at] = edited[at].replace("seconds", "minutes"),
            Edit::Prefix => edited[at] = format!("Where it is hot, {}", edited[at]),
            Edit::End => edited[at] = edited[at].replace('.', " or two."),
            Edit::Level => edited[at] = edited[at].replace("MUST", "SHOULD"),
            Edit::Remove => drop(edited.remove(at)),
            Edit::Insert => edited.insert(at, "The lid MUST stay closed.".to_owned()),
            Edit::Move => edited.rotate_left(1),
        }
        edited
    }
}

fn edits() -> impl Strategy<Value = Edit> {
    let all = vec![Edit::Word, Edit::Prefix, Edit::End, Edit::Level, Edit::Remove, Edit::Insert, Edit::Move];
    prop::sample::select(all)
}

/// How many texts are edited in each store.
const N_TEXTS: u32 = 12;

#[test]
fn editing_one_sentence_in_the_store_makes_exactly_its_citations_stale() {
    on_every_store(|world| {
        let kettle = Kettle::new(world);
        let other = json!({ "epic_id": "EP-001", "title": "Serve", "priority": 1 });
        let other = world.ok("create_user_story", other)["id"].clone();
        let texts =
            (prop::collection::vec("[a-z]{3,8}", 2..6), any::<prop::sample::Index>(), edits(), any::<bool>());
        let config = Config { cases: N_TEXTS, failure_persistence: None, ..Config::default() };
        let tried = TestRunner::new(config).run(&texts, |(subjects, at, edit, is_list)| {
            let sentence = |(number, subject): (usize, &String)| {
                format!("Part {number} of the {subject} MUST be {subject} within {number} seconds.")
            };
            let before: Vec<String> = subjects.iter().enumerate().map(sentence).collect();
            let after = edit.made(&before, at.index(before.len()));
            let text = |sentences: &[String]| match is_list {
                true => sentences.iter().map(|sentence| format!("* {sentence}\n")).collect::<String>(),
                false => sentences.join(" "),
            };
            let new = json!({ "user_story_id": "US-001", "title": "Parts", "priority": 1, "type_id": "Functional",
                              "description": text(&before) });
            let reference = world.ok("create_requirement", new)["reference_id"].as_str().expect("a reference").to_owned();
            let cited = units(&text(&before)).into_iter().zip(1..).map(|(unit, line)| PushedCitation {
                reference: reference.clone(),
                units: vec![unit],
                ..kettle.citation("code", line, 0, "brew")
            });
            kettle.push(&[file("src/parts.rs", "aaaaaaaa", cited.collect())]);
            let update = |name: &str, value: &Value| {
                world.ok("update_requirement", json!({ "requirement_id": reference, name: value }));
            };
            update("description", &json!(text(&after)));
            let expected: Vec<usize> = (0..before.len()).filter(|number| !after.contains(&before[*number])).collect();
            prop_assert_eq!(&stale_in_store(world, &reference), &expected, "pushed");
            prop_assert_eq!(&stale_in_checkout(world, &reference, &before), &expected, "checked out");
            // The reference is what is cited, wherever the requirement is.
            update("user_story_id", &other);
            prop_assert_eq!(&stale_in_store(world, &reference), &expected, "moved");
            update("description", &json!(text(&before)));
            prop_assert_eq!(stale_in_store(world, &reference), Vec::<usize>::new(), "the old text is back");
            Ok(())
        });
        tried.unwrap_or_else(|error| panic!("{error}"));
    });
}

/// The numbers of the sentences whose citations are stale, of which each is on a line of its own.
fn stale_in_store(world: &World, reference: &str) -> Vec<usize> {
    let stale = world.ok("list_stale_citations", json!({ "reference": reference }));
    let line = |one: &Value| {
        assert_eq!(one["state"], "stale", "{one}");
        let line = one["place"]
            .as_str()
            .and_then(|place| place.strip_prefix("src/parts.rs:")?.parse::<usize>().ok());
        line.expect("a place") - 1
    };
    let mut numbers: Vec<usize> = stale["data"].as_array().expect("a list").iter().map(line).collect();
    numbers.sort_unstable();
    numbers
}

/// The same as a checkout finds it, which is told the texts and compares quotes with them.
fn stale_in_checkout(world: &World, reference: &str, sentences: &[String]) -> Vec<usize> {
    let cited = world.ok("cited_texts", json!({ "references": [reference] }))["items"][0]["text"].clone();
    let text = |value: &Value| value["description"].as_str().expect("a text").to_owned();
    let version = |value: &Value| value.as_u64().expect("a version");
    let earlier = cited["earlier"].as_array().expect("a list").iter();
    let managed = ManagedText {
        project: "DEFAULT".to_owned(),
        reference: reference.to_owned(),
        kind: ManagedKind::Requirement,
        title: "Parts".to_owned(),
        text: text(&cited),
        content_version: version(&cited["content_version"]),
        version: version(&cited["version"]),
        gone: None,
        earlier: earlier.map(|earlier| (version(&earlier["version"]), text(earlier))).collect(),
    };
    let target = format!("spexus://{reference}");
    let specification = ManagedDocument::specification(&managed, target.clone());
    let document = specification.managed.as_ref().expect("a managed requirement");
    let is_stale = |sentence: &String| {
        let quoting = Annotation {
            quote: sentence.as_str().into(),
            ..Annotation::new(AnnotationKind::Citation, &target)
        };
        match document.state(&quoting, &specification).name() {
            "current" => false,
            state => {
                assert_eq!(state, "stale", "{sentence}");
                true
            }
        }
    };
    sentences
        .iter()
        .enumerate()
        .filter(|(_, sentence)| is_stale(sentence))
        .map(|(number, _)| number)
        .collect()
}

#[test]
fn a_pin_without_a_quote_covers_all_units_until_the_text_changes() {
    on_every_store(|world| {
        let kettle = Kettle::new(world);
        let mut files = kettle.files();
        for citation in files.iter_mut().flat_map(|file| &mut file.citations) {
            (citation.units, citation.pin) = (Vec::new(), Some(1));
        }
        kettle.push(&files);
        let mut test = kettle.test("passed", "proven");
        test.executes[0].unit = String::new();
        kettle.run(&[test]);
        assert_eq!(kettle.verdicts(), ["proven!", "proven!"]);
        assert_eq!(kettle.thread()["verified"], 1);
        let edited = TEXT.replace("blue", "red");
        world.ok("update_requirement", json!({ "requirement_id": kettle.reference, "description": edited }));
        assert_eq!(kettle.verdicts(), ["proven", "proven"]);
        let stale = world.ok("list_stale_citations", json!({}));
        assert_eq!(stale["data"][0]["state"], "suspect");
        let lines = stale["data"].as_array().expect("a list").iter().map(|one| one["lines"].as_str());
        let target = format!("//= spexus://{}@2", kettle.reference);
        let test = format!("{target}\n//= type=test");
        let expected = [Some(target.as_str()), Some(target.as_str()), Some(test.as_str())];
        assert_eq!(lines.collect::<Vec<_>>(), expected);
    });
}

#[test]
fn the_thread_leads_back_from_a_line_a_test_and_a_file() {
    on_every_store(|world| {
        let kettle = Kettle::new(world);
        kettle.push(&kettle.files());
        for from in ["src/kettle.rs:14", "tests/kettle.rs::stops", "./src/kettle.rs", "src/kettle.rs::stop"] {
            let thread = world.ok("get_thread", json!({ "from": from, "direction": "up" }));
            let item = &thread["data"][0];
            assert_eq!(item["reference_id"], kettle.reference, "{from}");
            assert_eq!(item["chain"][0]["kind"], "epic", "{from}");
        }
        let asked = |from: &str| {
            let thread = world.ok("get_thread", json!({ "from": from }));
            let units = thread["data"][0]["units"].as_array().expect("units").clone();
            units.iter().map(|unit| unit["asked"] == true).collect::<Vec<_>>()
        };
        assert_eq!(asked("src/kettle.rs:14"), [true, false]);
        assert_eq!(asked("src/kettle.rs::close"), [false, true]);
        assert_eq!(asked("src/kettle.rs"), [false, false], "a file asks for all");
        let above = world.ok("get_thread", json!({ "from": "EP-001", "direction": "up" }));
        let parts = ["data", "chain", "about"].map(|name| &above[name]);
        let epic = json!({ "reference_id": "EP-001", "kind": "epic", "title": "Kettle" });
        assert_eq!(json!(parts), json!([[], null, epic]), "what is below is not a reason");
        let note = |from: &str| world.ok("get_thread", json!({ "from": from }))["note"].clone();
        assert_eq!(
            note("src/kettle.rs:24"),
            "nothing cites a requirement there; the nearest citation is src/kettle.rs:30"
        );
        let expected = "nothing in src/pot.rs cites a requirement; paths begin at the root of the repository";
        assert_eq!(note("src/pot.rs"), expected);
        let expected =
            "boils is not a file; a test or a function is named with its file: tests/kettle.rs::boils";
        assert_eq!(note("boils"), expected);
        world.ok("create_project", json!({ "key": "SHOP", "name": "Shop" }));
        let epic = json!({ "title": "Sell", "priority": 1, "project": "SHOP" });
        (0..2).for_each(|_| drop(world.ok("create_epic", epic.clone())));
        let missing = world.refused("get_thread", json!({ "from": "EP-002" }));
        assert_eq!(missing, "NOT_FOUND: there is no epic EP-002; did you mean \"SHOP-EP-002\"?");
        let story = world.ok("get_thread", json!({ "from": "EP-001" }));
        let numbers = ["total_count", "cited", "verified"].map(|name| &story[name]);
        assert_eq!(json!(numbers), json!([1, 1, 0]));
    });
}

#[test]
fn a_test_may_be_named_as_its_tool_names_it() {
    on_every_store(|world| {
        let kettle = Kettle::new(world);
        let symbols = ["TestKettle.test_stops", "kettle > stops at 100"];
        let files: Vec<PushedFile> = symbols
            .iter()
            .zip(["tests/test_kettle.py", "kettle.test.ts"])
            .map(|(symbol, path)| file(path, "aaaaaaaa", vec![kettle.citation("test", 5, 0, symbol)]))
            .collect();
        kettle.push(&files);
        let found = |from: &str| world.ok("get_thread", json!({ "from": from }))["total_count"].clone();
        for from in [
            "tests/test_kettle.py::TestKettle::test_stops",
            "tests/test_kettle.py::TestKettle::test_stops[100-on]",
            "tests/test_kettle.py::test_stops",
            "kettle.test.ts::kettle > stops at 100",
            "kettle.test.ts::stops at 100",
        ] {
            assert_eq!(found(from), 1, "{from}");
        }
        for from in ["tests/test_kettle.py::stops", "tests/test_kettle.py::TestPot::test_stops"] {
            assert_eq!(found(from), 0, "{from}");
        }
    });
}

#[test]
fn a_requirement_that_is_cited_thousands_of_times_is_told_within_a_budget() {
    on_every_store(|world| {
        let kettle = Kettle::new(world);
        for number in 0..3 {
            let text = format!("Kettle {number} MUST stop.");
            let new = json!({ "user_story_id": "US-001", "title": "Stop", "description": text, "priority": 1, "type_id": "Functional" });
            world.ok("create_requirement", new);
        }
        let citations = (1..=4_000).map(|line| kettle.citation("code", line, 0, "stop"));
        let stops = kettle.citation("test", 5, 0, "stops");
        kettle.push(&[file("a.rs", "aaaaaaaa", citations.collect()), file("b.rs", "bbbbbbbb", vec![stops])]);
        for (from, max_tokens) in
            [("REQ-001", None), ("REQ-001", Some(1_000)), ("US-001", Some(1_000)), ("US-001", Some(400))]
        {
            let thread = world.ok("get_thread", json!({ "from": from, "max_tokens": max_tokens }));
            let tokens = tokens::count(&thread.to_string());
            assert!(tokens <= max_tokens.unwrap_or(100_000), "{tokens} {thread}");
            let unit = &thread["data"][0]["units"][0];
            let n_told = ["code", "tests"].map(|name| unit[name].as_array().map_or(0, Vec::len));
            let n_left_out = unit["left_out"].as_u64().unwrap_or_default();
            assert_eq!(n_left_out + n_told.iter().sum::<usize>() as u64, 4_001);
            assert_eq!(n_left_out > 0, max_tokens.is_some());
            assert_eq!(unit["verdict"], "not_run", "what is said of the unit stays");
        }
        let mut told = Vec::new();
        let mut cursor = json!(null);
        loop {
            let page =
                world.ok("get_thread", json!({ "from": "US-001", "max_tokens": 400, "cursor": cursor }));
            told.extend(
                page["data"].as_array().expect("items").iter().map(|item| item["reference_id"].clone()),
            );
            cursor = page["next_cursor"].clone();
            if cursor.is_null() {
                break;
            }
        }
        assert_eq!(json!(told), json!(["REQ-001", "REQ-002", "REQ-003", "REQ-004"]));
        assert!(world.refused("get_thread", json!({ "from": "REQ-001", "max_tokens": 10 })).contains("200"));
    });
}

#[test]
fn the_same_push_again_changes_nothing() {
    on_every_store(|world| {
        let kettle = Kettle::new(world);
        kettle.push(&kettle.files());
        let count = || world.ok("list_audit", json!({}))["total_count"].clone();
        let before = count();
        assert_eq!(kettle.push(&kettle.files())["unchanged"], true);
        assert_eq!(count(), before);
        let first = kettle.run(&[kettle.test("passed", "proven")]);
        let again = kettle.run(&[kettle.test("passed", "proven")]);
        assert_eq!((&again["run"], &again["unchanged"]), (&first["run"], &json!(true)));
        // A push is one change, however many citations it has.
        assert_eq!(count().as_i64(), before.as_i64().map(|n| n + 1));
    });
}

#[test]
fn what_one_does_not_see_is_unknown() {
    on_every_store(|world| {
        let kettle = Kettle::new(world);
        world.ok("create_project", json!({ "key": "SECRET", "name": "Secret", "access": "members" }));
        user(world, "ann", "User");
        let ann = token(world, "ann", &["write"]);
        let epic = world.ok("create_epic", json!({ "title": "Hidden", "priority": 1, "project": "SECRET" }));
        let story =
            json!({ "epic_id": epic["id"], "title": "Hidden", "priority": 1, "description": "As a spy." });
        let story = world.ok("create_user_story", story);
        let hidden = json!({ "user_story_id": story["id"], "title": "Hidden", "priority": 1, "type_id": "Functional",
            "description": "It MUST hide." });
        let hidden = world.ok("create_requirement", hidden);
        world.ok(
            "update_repository",
            json!({ "repository": "example.org/kettle", "projects": ["DEFAULT", "SECRET"] }),
        );
        let mut files = kettle.files();
        for reference in [hidden["reference_id"].as_str().expect("a reference"), "REQ-999", "nonsense"] {
            let mut citation = kettle.citation("code", 90, 0, "x");
            citation.reference = reference.to_owned();
            files[0].citations.push(citation);
        }
        let push = json!({ "repository": "example.org/kettle", "content": lines(&files) });
        let pushed = world.call_as(ann.clone(), "push_trace", push).expect("a push");
        assert_eq!(pushed["unknown"], json!(["REQ-999", hidden["reference_id"], "nonsense"]));
        // Who sees no project of a repository is told that there is none.
        world.ok("create_repository", json!({ "name": "example.org/spy", "projects": ["SECRET"] }));
        let push = json!({ "repository": "example.org/spy", "content": "" });
        assert_eq!(outcome(world.call_as(ann.clone(), "push_trace", push)), "NOT_FOUND");
        let listed = world.call_as(ann, "list_repositories", json!({})).expect("a list");
        assert_eq!(
            (&listed["total_count"], &listed["data"][0]["projects"]),
            (&json!(1), &json!(["DEFAULT"]))
        );
    });
}

#[test]
fn repositories_with_the_same_file_names_are_told_apart_and_may_be_renamed() {
    on_every_store(|world| {
        let kettle = Kettle::new(world);
        world.ok("create_repository", json!({ "name": "example.org/pot", "projects": ["DEFAULT"] }));
        kettle.push(&kettle.files());
        kettle.run(&[kettle.test("passed", "proven")]);
        let pot = json!({ "repository": "example.org/pot", "content": lines(&kettle.files()) });
        world.ok("push_trace", pot);
        // The test of the pot has the same file and name, and has not run.
        let thread = kettle.thread();
        let tests = thread["data"][0]["units"][0]["tests"].as_array().expect("tests").clone();
        let told = |test: &Value| (test["repository"].clone(), test["verdict"].clone());
        assert_eq!(
            tests.iter().map(told).collect::<Vec<_>>(),
            [(json!("example.org/kettle"), json!("proven")), (json!("example.org/pot"), json!("not_run"))]
        );
        let of_pot = json!({ "from": "tests/kettle.rs:5", "repository": "example.org/pot" });
        assert_eq!(world.ok("get_thread", of_pot)["heads"].as_array().map(Vec::len), Some(1));
        // Under another name it has what it had.
        world.ok(
            "update_repository",
            json!({ "repository": "example.org/kettle", "name": "example.org/boiler" }),
        );
        assert_eq!(kettle.thread()["data"][0]["units"][0]["tests"][0]["repository"], "example.org/boiler");
        assert_eq!(kettle.verdicts(), ["proven!", "not_run"]);
        let again = json!({ "repository": "example.org/kettles", "content": lines(&kettle.files()) });
        let refused = world.refused("push_trace", again);
        assert!(
            refused.contains("there is no repository \"example.org/kettles\"; did you mean"),
            "{refused}"
        );
    });
}

/// The files with another content of the code, and a test that ran it.
fn edition(kettle: &Kettle<'_>, blob: &str) -> (Vec<PushedFile>, PushedTest) {
    let (mut files, mut test) = (kettle.files(), kettle.test("passed", "proven"));
    blob.clone_into(&mut files[0].blob);
    blob.clone_into(&mut test.executes[0].blob);
    (files, test)
}

#[test]
fn a_push_that_removes_what_is_left_over_loses_nothing_of_itself() {
    on_every_store(|world| {
        let kettle = Kettle::new(world);
        for blob in ["aaaaaaa0", "aaaaaaa1", "aaaaaaa2", "aaaaaaa1"] {
            let (files, test) = edition(&kettle, blob);
            kettle.push(&files);
            kettle.run(&[test]);
            assert_eq!(kettle.verdicts(), ["proven!", "not_run"], "{blob}");
            let from_code = world.ok("get_thread", json!({ "from": "src/kettle.rs:12" }));
            assert_eq!(from_code["total_count"], 1, "{blob}");
        }
        // What a run showed before another is shown again when it is pushed again.
        let (_, proven) = edition(&kettle, "aaaaaaa1");
        let mut passed = proven.clone();
        passed.executes[0].how = "none".to_owned();
        kettle.run(&[passed]);
        assert_eq!(kettle.verdicts()[0], "passed");
        kettle.run(&[proven]);
        assert_eq!(kettle.verdicts()[0], "proven!");
    });
}

#[test]
fn a_run_of_a_branch_is_shown_there_and_closes_nothing() {
    on_every_store(|world| {
        let kettle = Kettle::new(world);
        kettle.push(&kettle.files());
        kettle.run(&[kettle.test("passed", "proven")]);
        let (files, test) = edition(&kettle, "cccccccc");
        let branch = "refs/heads/feature";
        world.ok(
            "push_trace",
            json!({ "repository": "example.org/kettle", "ref": branch, "content": lines(&files) }),
        );
        let mut run = evidence(&[test]);
        run["ref"] = json!(branch);
        world.ok("push_evidence", run);
        let thread = world.ok("get_thread", json!({ "from": kettle.reference, "ref": branch }));
        let unit = &thread["data"][0]["units"][0];
        assert_eq!((&unit["verdict"], &unit["closed"]), (&json!("proven"), &json!(false)), "{unit}");
        assert_eq!(unit["tests"][0]["run"]["ref"], branch);
        for from in [kettle.reference.as_str(), "src/kettle.rs:14"] {
            let short = world.ok("get_thread", json!({ "from": from, "ref": "feature" }));
            assert_eq!(short["heads"][0]["ref"], branch, "a short name is understood");
            let told = world.refused("get_thread", json!({ "from": from, "ref": "featur" }));
            assert!(told.contains("expected one of refs/heads/feature, refs/heads/main"), "{told}");
        }
        assert_eq!(kettle.verdicts()[0], "proven!", "the main ref is as it was");
    });
}

#[test]
fn a_branch_is_named_where_the_main_ref_was_not_pushed() {
    on_every_store(|world| {
        let kettle = Kettle::new(world);
        let note = || world.ok("get_thread", json!({ "from": kettle.reference }))["note"].clone();
        assert_eq!(
            note(),
            "no repository has pushed citations for this project; `spexus push` does from a checkout"
        );
        world.ok(
            "push_trace",
            json!({ "repository": "example.org/kettle", "ref": "refs/heads/feature", "content": lines(&kettle.files()) }),
        );
        assert_eq!(note(), "nothing was pushed for the main ref; ask with `ref` for refs/heads/feature");
    });
}

#[test]
fn a_test_that_fails_in_an_incomplete_run_has_failed() {
    on_every_store(|world| {
        let kettle = Kettle::new(world);
        kettle.push(&kettle.files());
        kettle.run(&[kettle.test("passed", "proven")]);
        for outcome in ["failed", "flaky"] {
            let mut run = evidence(&[kettle.test(outcome, "none")]);
            run["incomplete"] = json!(true);
            world.ok("push_evidence", run.clone());
            assert_eq!(kettle.verdicts()[0], outcome, "what passed before does not hide it");
            run["content"] = json!(lines(&[kettle.test("passed", "proven")]));
            world.ok("push_evidence", run);
            assert_eq!(kettle.verdicts()[0], outcome, "and an incomplete run does not take it back");
            kettle.run(&[kettle.test("passed", "proven")]);
            assert_eq!(kettle.verdicts()[0], "proven!");
        }
        // What fails on a branch, or for somebody who is trusted less, is news there alone.
        let mut run = evidence(&[kettle.test("failed", "none")]);
        run["ref"] = json!("refs/heads/try");
        world.ok("push_evidence", run);
        assert_eq!(kettle.verdicts()[0], "proven!");
    });
}

#[test]
fn a_policy_that_asks_for_more_counts_at_once() {
    on_every_store(|world| {
        let kettle = Kettle::new(world);
        kettle.push(&kettle.files());
        kettle.run(&[kettle.test("passed", "proven")]);
        let tried = json!({ "reference": kettle.reference, "unit": 2, "what": "Shook it." });
        world.ok("add_manual_evidence", tried.clone());
        let verified = || world.ok("get_thread", json!({ "from": "EP-001" }))["verified"].clone();
        assert_eq!((kettle.verdicts(), verified()), (vec!["proven!".into(), "passed!".into()], json!(1)));
        let policy = json!({ "repository": "example.org/kettle", "trust_min": "oidc" });
        world.ok("update_repository", policy);
        assert_eq!((kettle.verdicts(), verified()), (vec!["proven".into(), "passed".into()], json!(0)));
        let mut later = tried;
        later["done_at"] = json!("2100-01-01");
        assert!(world.refused("add_manual_evidence", later).contains("expected a time that is over"));
    });
}

#[test]
fn a_pin_of_a_version_that_does_not_exist_is_broken() {
    on_every_store(|world| {
        let kettle = Kettle::new(world);
        let pinned =
            PushedCitation { units: Vec::new(), pin: Some(9), ..kettle.citation("code", 10, 0, "stop") };
        kettle.push(&[file("src/kettle.rs", "aaaaaaaa", vec![pinned])]);
        let thread = kettle.thread();
        assert_eq!(thread["data"][0]["outdated"][0]["state"], "broken", "{thread}");
        assert_eq!(thread["data"][0]["units"][0]["code"], Value::Null);
    });
}

#[test]
fn a_pin_beside_a_quote_is_checked_as_well() {
    on_every_store(|world| {
        let kettle = Kettle::new(world);
        let edited = TEXT.replace("blue", "red");
        world.ok("update_requirement", json!({ "requirement_id": kettle.reference, "description": edited }));
        let push = |pin: u32| {
            let mut files = kettle.files();
            for citation in files.iter_mut().flat_map(|file| &mut file.citations) {
                citation.pin = Some(pin);
            }
            kettle.push(&files);
        };
        push(9);
        kettle.run(&[kettle.test("passed", "proven")]);
        assert_eq!(kettle.verdicts(), ["not_run", "not_run"], "no text has had this version");
        let stale = || world.ok("list_stale_citations", json!({}))["data"].clone();
        let line = "//# The kettle MUST stop at 100 degrees.";
        let written = format!("//= spexus://{}@2\n{line}", kettle.reference);
        assert_eq!((&stale()[0]["state"], &stale()[0]["lines"]), (&json!("broken"), &json!(written)));
        // The sentence is as it was, so that it stays closed; the rest of the text may be worth a look.
        push(1);
        assert_eq!(kettle.verdicts(), ["proven!", "not_run"]);
        assert_eq!(kettle.thread()["data"][0]["units"][0]["code"][0]["state"], "suspect");
        assert_eq!((&stale()[0]["state"], &stale()[0]["lines"]), (&json!("suspect"), &json!(written)));
        push(2);
        assert_eq!(stale(), json!([]));
    });
}

#[test]
fn a_citation_without_a_quote_and_a_version_covers_nothing() {
    on_every_store(|world| {
        let kettle = Kettle::new(world);
        let mut files = kettle.files();
        for citation in files.iter_mut().flat_map(|file| &mut file.citations) {
            citation.units = Vec::new();
        }
        kettle.push(&files);
        let mut test = kettle.test("passed", "proven");
        test.executes[0].unit = String::new();
        kettle.run(&[test]);
        assert_eq!(kettle.verdicts(), ["not_run", "not_run"]);
        let thread = kettle.thread();
        let unit = &thread["data"][0]["units"][0];
        assert_eq!(unit["tests"][0]["place"], "tests/kettle.rs:5", "it is shown all the same");
        let why = "tests/kettle.rs:5 quotes nothing and pins no version, and so covers nothing";
        assert_eq!(unit["why_open"], why);
        kettle.push(&files[..1]);
        let why = kettle.thread()["data"][0]["units"][0]["why_open"].clone();
        assert_eq!(why, "src/kettle.rs:10 quotes nothing and pins no version, and so covers nothing");
    });
}

#[test]
fn what_a_report_verifies_is_the_text_that_was_there_when_it_ran() {
    on_every_store(|world| {
        let kettle = Kettle::new(world);
        let mut files = kettle.files();
        let link = &mut files[1].citations[0];
        (link.kind, link.units) = ("verifies".to_owned(), Vec::new());
        files[0].citations.clear();
        kettle.push(&files);
        world.ok("update_repository", json!({ "repository": "example.org/kettle", "closes_at": "passed" }));
        world.pass_seconds(10);
        let run = || kettle.run(&[PushedTest { executes: Vec::new(), ..kettle.test("passed", "none") }]);
        run();
        assert_eq!(kettle.verdicts(), ["passed!", "passed!"]);
        world.pass_seconds(10);
        let update = |text: &str| {
            world
                .ok("update_requirement", json!({ "requirement_id": kettle.reference, "description": text }));
        };
        let edited = TEXT.replace("100 degrees", "99 degrees");
        update(&edited);
        assert_eq!(kettle.verdicts(), ["old", "passed!"]);
        assert_eq!(world.ok("get_thread", json!({ "from": "EP-001" }))["verified"], 0);
        assert_eq!(run()["unchanged"], true);
        assert_eq!(kettle.verdicts(), ["old", "passed!"], "the same run shows nothing new");
        world.pass_seconds(10);
        update(TEXT);
        assert_eq!(kettle.verdicts(), ["passed!", "passed!"], "it was this text");
        update(&edited);
        world.pass_seconds(10);
        kettle.run(&[PushedTest {
            executes: Vec::new(),
            duration_ms: Some(9),
            ..kettle.test("passed", "none")
        }]);
        assert_eq!(kettle.verdicts(), ["passed!", "passed!"]);
    });
}

#[test]
fn a_push_that_cites_nothing_that_exists_is_refused() {
    on_every_store(|world| {
        let kettle = Kettle::new(world);
        kettle.push(&kettle.files());
        let wrong =
            PushedCitation { reference: "NOPE-REQ-001".to_owned(), ..kettle.citation("code", 10, 0, "stop") };
        let push = lines(&[file("src/kettle.rs", "aaaaaaaa", vec![wrong])]);
        let refused =
            world.refused("push_trace", json!({ "repository": "example.org/kettle", "content": push }));
        assert!(
            refused.contains(
                "none of 1 citations is of a requirement in a project of example.org/kettle (DEFAULT)"
            ),
            "{refused}"
        );
        assert_eq!(kettle.thread()["heads"][0]["n_citations"], 3);
    });
}

#[test]
fn a_push_that_is_wrong_says_where_and_changes_nothing() {
    on_every_store(|world| {
        let kettle = Kettle::new(world);
        kettle.push(&kettle.files());
        let before = kettle.thread();
        for (content, expected) in [
            ("{\"path\": \"a\"}\n", "line 1: missing field `blob` at line 1 column 13"),
            (
                "\n{\"path\": \"../a\", \"blob\": \"aaaaaaaa\"}\n",
                "line 2: path: expected a path inside the repository, found \"../a\"",
            ),
            (
                "{\"path\": \"a\", \"blob\": \"xyz\"}\n",
                "line 1: blob: expected 8 to 128 hexadecimal digits, found \"xyz\"",
            ),
            ("{", "line 1: EOF while parsing an object at line 1 column 1"),
        ] {
            let push = json!({ "repository": "example.org/kettle", "content": content });
            let message = world.refused("push_trace", push);
            assert!(message.contains(expected), "{message}");
        }
        assert!(world.refused("push_evidence", evidence(&[])).contains("expected at least one test"));
        for (field, wrong) in [
            ("ref", "refs/heads/"),
            ("ref", "../x"),
            ("ref", "a\nb"),
            ("ref", "refs/heads/*"),
            ("commit", "latest-1"),
        ] {
            let mut run = evidence(&[kettle.test("passed", "proven")]);
            run[field] = json!(wrong);
            let told = world.refused("push_evidence", run);
            assert!(told.contains(&format!(": {field}: expected")), "{told}");
        }
        // Which of two would hold is not for the order to decide.
        let twice = [kettle.test("passed", "proven"), kettle.test("failed", "none")];
        let told = world.refused("push_evidence", evidence(&twice));
        assert!(
            told.contains("expected a line for each test, found two for tests/kettle.rs::stops"),
            "{told}"
        );
        let files = [kettle.files(), kettle.files()].concat();
        let push = json!({ "repository": "example.org/kettle", "content": lines(&files) });
        let told = world.refused("push_trace", push);
        assert!(told.contains("expected a line for each file, found two for src/kettle.rs"), "{told}");
        assert_eq!(kettle.thread()["data"], before["data"]);
    });
}

#[test]
fn what_a_person_has_tried_closes_a_unit_until_its_text_changes() {
    on_every_store(|world| {
        let kettle = Kettle::new(world);
        let digest = "0123456789abcdef".repeat(4);
        let tried = json!({
            "reference": kettle.reference, "unit": 2, "what": "Shook it; the lid stayed closed.",
            "done_at": "2026-11-14T10:00:00Z", "attachment_digest": digest,
        });
        let added = world.ok("add_manual_evidence", tried.clone());
        assert_eq!(added["units"], json!(["The lid SHOULD stay closed."]));
        assert_eq!(kettle.verdicts(), ["not_run", "passed!"]);
        let told = kettle.thread()["data"][0]["units"][1]["manual"][0].clone();
        let parts = ["actor", "what", "done_at", "attachment_digest"].map(|name| &told[name]);
        let expected =
            json!(["admin", "Shook it; the lid stayed closed.", "2026-11-14T10:00:00.000000Z", digest]);
        assert_eq!(json!(parts), expected, "who, what, when and with which attachment: {told}");
        for wrong in ["0123", &"x".repeat(64)] {
            let wrong = json!({ "reference": kettle.reference, "what": "x", "attachment_digest": wrong });
            assert!(world.refused("add_manual_evidence", wrong).contains("attachment_digest"));
        }
        let mut failed = tried;
        failed["outcome"] = json!("failed");
        world.ok("add_manual_evidence", failed);
        assert_eq!(kettle.verdicts(), ["not_run", "failed"]);
        let wrong = json!({ "reference": kettle.reference, "unit": 3, "what": "x" });
        assert!(world.refused("add_manual_evidence", wrong).contains("expected 1 to 2, found 3"));
        let epic = json!({ "reference": "EP-001", "what": "x" });
        assert!(world.refused("add_manual_evidence", epic).contains("EP-001 is an epic"));
        // What was seen may quote the text, so that it is erased with it.
        world.ok("delete_entity", json!({ "reference": kettle.reference }));
        world.ok("purge_entity", json!({ "reference": kettle.reference }));
        assert_eq!(world.count("select count(*) from manual_evidence"), 0);
    });
}

#[test]
fn reports_and_the_thread_say_the_same_after_every_change() {
    on_every_store(|world| {
        let kettle = Kettle::new(world);
        let mut files = kettle.files();
        files[1].citations.push(kettle.citation("test", 25, 1, "closes"));
        kettle.push(&files);
        let closes = PushedTest { symbol: "closes".to_owned(), ..kettle.test("passed", "witnessed") };
        let closes = {
            let unit = kettle.units[1].clone();
            let executes =
                closes.executes.iter().cloned().map(|one| PushedExecution { unit: unit.clone(), ..one });
            PushedTest { executes: executes.collect(), ..closes }
        };
        kettle.run(&[kettle.test("passed", "witnessed"), closes]);
        let numbers = || {
            let report = world.ok("status_report", json!({}));
            let of_requirements = report["kinds"].as_array().expect("kinds").iter();
            let of_requirements = of_requirements.filter(|kind| kind["kind"] == "requirement");
            let verified = of_requirements.map(|kind| kind["verified"].clone()).next();
            let thread = kettle.thread();
            let epic = world.ok("get_thread", json!({ "from": "EP-001" }));
            assert_eq!(verified.as_ref(), Some(&thread["verified"]), "{thread}");
            assert_eq!(epic["verified"], thread["verified"]);
            thread["verified"].as_i64()
        };
        let update = |name: &str, value: &str| {
            world.ok("update_requirement", json!({ "requirement_id": kettle.reference, name: value }));
        };
        assert_eq!(numbers(), Some(1));
        update("title", "Stop it");
        assert_eq!(numbers(), Some(1), "nothing is tested of a title");
        update("description", &TEXT.replace("stay closed", "stay shut"));
        assert_eq!(numbers(), Some(0));
        update("description", TEXT);
        assert_eq!(numbers(), Some(1), "the text that was tested is back");
        update("status", "Obsolete");
        assert_eq!(numbers(), Some(0));
        update("status", "Active");
        assert_eq!(numbers(), Some(1));
        world.ok("delete_entity", json!({ "reference": kettle.reference }));
        world.ok("restore_entity", json!({ "reference": kettle.reference }));
        assert_eq!(numbers(), Some(1));
    });
}

#[test]
fn baselines_keep_what_was_and_tell_what_changed() {
    on_every_store(|world| {
        let kettle = Kettle::new(world);
        kettle.push(&kettle.files());
        let first = world.ok("pin_baseline", json!({ "name": "Release 1" }));
        assert_eq!((&first["n_entities"], &first["n_verified"]), (&json!(3), &json!(0)));
        assert_eq!(outcome(world.call("pin_baseline", json!({ "name": "release 1" }))), "CONFLICT");
        let edited = TEXT.replace("blue", "red");
        world.ok("update_requirement", json!({ "requirement_id": kettle.reference, "description": edited }));
        world.ok("create_epic", json!({ "title": "Pot", "priority": 2 }));
        let compared = world.ok("compare_baselines", json!({ "from": "Release 1" }));
        let numbers = ["added", "removed", "reworded", "total_count"].map(|name| &compared[name]);
        assert_eq!(json!(numbers), json!([1, 0, 1, 2]));
        let reworded =
            compared["data"].as_array().expect("a list").iter().find(|one| one["what"] == "reworded");
        let reworded = reworded.expect("the requirement");
        assert!(reworded["text_before"].as_str().is_some_and(|text| text.contains("blue")));
        assert!(reworded["text_after"].as_str().is_some_and(|text| text.contains("red")));
        world.ok("pin_baseline", json!({ "name": "Release 2" }));
        let between = world.ok("compare_baselines", json!({ "from": "Release 1", "to": "Release 2" }));
        assert_eq!(between["total_count"], 2);
        let exported = world.ok("export_baseline", json!({ "baseline": "Release 1", "format": "markdown" }));
        assert!(exported["content"].as_str().is_some_and(|text| text.contains("It is blue.")), "{exported}");
        assert!(world.refused("compare_baselines", json!({ "from": "Release 3" })).contains("Release 2"));
        world.ok("delete_baseline", json!({ "baseline": "Release 1" }));
        assert_eq!(world.ok("list_baselines", json!({}))["total_count"], 1);
    });
}

#[test]
fn superseded_snapshots_and_runs_are_removed_and_baselines_are_kept() {
    on_every_store(|world| {
        let kettle = Kettle::new(world);
        kettle.push(&kettle.files());
        world.ok("pin_baseline", json!({ "name": "First" }));
        for blob in 0..30 {
            let mut files = kettle.files();
            files[0].blob = format!("{blob:08}");
            kettle.push(&files);
            let mut test = kettle.test("passed", "proven");
            test.duration_ms = Some(blob);
            kettle.run(&[test]);
            world.pass_seconds(1);
        }
        let count = |sql: &'static str| world.count(sql);
        assert!(count("select count(*) from trace_snapshot") <= 3);
        assert!(count("select count(*) from test_run") <= 21);
        assert!(count("select count(*) from citation") <= 9);
        let repository = world.ok("get_repository", json!({ "repository": "example.org/kettle" }));
        assert_eq!(repository["heads"].as_array().map(Vec::len), Some(1));
        world.ok("delete_repository", json!({ "repository": "example.org/kettle" }));
        assert_eq!(count("select count(*) from citation"), 0);
        assert_eq!(count("select count(*) from test_result"), 0);
        assert_eq!(kettle.verdicts(), ["not_run", "not_run"]);
    });
}

/// A matrix of jobs reports one commit in many runs.
#[test]
fn runs_of_one_commit_do_not_supersede_each_other() {
    on_every_store(|world| {
        let kettle = Kettle::new(world);
        kettle.push(&kettle.files());
        let run = |commit: &str, path: &str, duration_ms: u64| {
            let test = PushedTest {
                path: path.to_owned(),
                duration_ms: Some(duration_ms),
                ..kettle.test("passed", "proven")
            };
            let mut pushed = evidence(&[test]);
            pushed["commit"] = json!(commit);
            world.ok("push_evidence", pushed);
            world.pass_seconds(1);
        };
        run(&"a".repeat(40), "tests/kettle.rs", 1);
        for job in 0..30 {
            run(&"a".repeat(40), "tests/other.rs", job);
        }
        assert_eq!(kettle.verdicts()[0], "proven!");
        assert_eq!(world.count("select count(*) from test_run"), 31);
        for commit in 0..24 {
            run(&format!("{commit:040x}"), "tests/other.rs", commit);
        }
        assert_eq!(kettle.verdicts()[0], "not_run");
        assert!(world.count("select count(*) from test_run") <= 22);
    });
}

#[test]
fn a_change_is_judged_on_both_sides_and_nothing_of_it_is_kept() {
    on_every_store(|world| {
        let kettle = Kettle::new(world);
        kettle.push(&kettle.files());
        kettle.run(&[kettle.test("passed", "witnessed")]);
        let before = kettle.files();
        let changed = |blob: &str| {
            let mut files = kettle.files();
            files[0].blob = blob.to_owned();
            files
        };
        let judged = |after: &[PushedFile], tests: Option<&[PushedTest]>| {
            let mut side = json!({ "files": after, "tool": "cargo test", "is_whole": true, "at": 1_800_000_000_000_000_i64 });
            if let Some(tests) = tests {
                side["tests"] = json!(tests);
            }
            let content = json!({ "before": { "files": before }, "after": side }).to_string();
            let asked = json!({
                "repository": "example.org/kettle", "references": [kettle.reference, "REQ-099"], "content": content,
            });
            let answer = world.ok("judge_change", asked);
            assert_eq!(
                (&answer["knows_repository"], &answer["closes_at"]),
                (&json!(true), &json!("witnessed"))
            );
            let side = |unit: &Value, name: &str| {
                let mark = if unit[name]["closes"] == true { "!" } else { "" };
                let cited = if unit[name]["cited"] == true { "" } else { " uncited" };
                format!("{}{mark}{cited}", unit[name]["verdict"].as_str().unwrap_or_default())
            };
            let units = answer["units"].as_array().expect("units").clone();
            units
                .iter()
                .map(|unit| format!("{} {}", side(unit, "before"), side(unit, "after")))
                .collect::<Vec<_>>()
        };
        assert_eq!(judged(&kettle.files(), None), ["witnessed! witnessed!", "not_run not_run"]);
        assert_eq!(judged(&changed("cccccccc"), None), ["witnessed! old", "not_run not_run"]);
        let mut again = kettle.test("passed", "witnessed");
        again.executes[0].blob = "cccccccc".to_owned();
        assert_eq!(
            judged(&changed("cccccccc"), Some(&[again.clone()])),
            ["witnessed! witnessed!", "not_run not_run"]
        );
        again.outcome = evidence::Outcome::Failed;
        assert_eq!(judged(&changed("cccccccc"), Some(&[again])), ["witnessed! failed", "not_run not_run"]);
        assert_eq!(judged(&kettle.files()[..1], None), ["witnessed! not_run", "not_run not_run"]);
        assert_eq!(judged(&kettle.files()[1..], None), ["witnessed! passed", "not_run not_run uncited"]);
        // Nothing of it is kept, whatever was asked.
        assert_eq!(kettle.verdicts(), ["witnessed!", "not_run"]);
        for (content, closes_at, message) in [
            ("{}", "witnessed", "missing field `before`"),
            ("{\"before\": {}, \"after\": {\"fils\": []}}", "witnessed", "unknown field `fils`"),
            ("{\"before\": {}, \"after\": {}}", "always", "witnessed"),
        ] {
            let asked =
                json!({ "references": [kettle.reference], "closes_at": closes_at, "content": content });
            let refused = world.refused("judge_change", asked);
            assert!(refused.contains(message), "{refused}");
        }
    });
}
