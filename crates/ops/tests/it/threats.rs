//! Threats to requirements: proposed by a library, decided by people, closed by evidence.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use ops::threat::{ThreatLibrary, ThreatPattern, ThreatProposal};
use ops::{Credentials, Error, ErrorKind};
use serde_json::{Value, json};

use crate::stores::{World, on_every_store};

/// A library of two patterns, each of which fits texts that have one of its words.
#[derive(Debug, Default)]
struct Words {
    /// The version of the pattern `T-QUEUE`, `1.0.0` if empty.
    version: Mutex<String>,
    n_asked: AtomicUsize,
}

const PATTERNS: [(&str, &str, &[&str], &[&str]); 2] = [
    (
        "T-QUEUE",
        "A job runs without the rights of who asked for it",
        &["queue", "worker", "job"],
        &[
            "Given a job that names the file of somebody else, then it ends without effect.",
            "WHEN a right is gone, THE SYSTEM SHALL end the job.",
        ],
    ),
    ("T-UPLOAD", "An upload is executed", &["upload"], &[]),
];

impl Words {
    fn version_of(&self, id: &str) -> String {
        let version = self.version.lock().expect("a version");
        if id == "T-QUEUE" && !version.is_empty() { version.clone() } else { "1.0.0".to_owned() }
    }

    fn describe(&self, (id, name, _, checks): (&str, &str, &[&str], &[&str])) -> ThreatPattern {
        ThreatPattern {
            id: id.to_owned(),
            name: name.to_owned(),
            severity: if id == "T-UPLOAD" { "critical" } else { "high" }.to_owned(),
            version: self.version_of(id),
            threat: "It goes wrong.".to_owned(),
            check: "Look at it.".to_owned(),
            fix: "Mend it.".to_owned(),
            checks: checks.iter().map(|&check| check.to_owned()).collect(),
        }
    }
}

impl ThreatLibrary for Words {
    fn propose(&self, text: &str) -> Result<Vec<ThreatProposal>, Error> {
        self.n_asked.fetch_add(1, Ordering::Relaxed);
        let said = text.to_lowercase();
        let mut found = Vec::new();
        for pattern in PATTERNS {
            let signs: Vec<String> =
                pattern.2.iter().filter(|word| said.contains(**word)).map(|&word| word.to_owned()).collect();
            if !signs.is_empty() {
                let n_telling = signs.len();
                let reasons = vec![format!("words {}", signs.join(", "))];
                let is_sure = !said.contains("perhaps");
                found.push(ThreatProposal {
                    pattern: self.describe(pattern),
                    reasons,
                    signs,
                    n_telling,
                    is_sure,
                });
            }
        }
        Ok(found)
    }

    fn pattern(&self, id: &str) -> Result<ThreatPattern, Error> {
        let found = PATTERNS.into_iter().find(|(known, ..)| known.eq_ignore_ascii_case(id));
        let unknown =
            || Error::new(ErrorKind::NotFound, format!("pattern not found: {id}; did you mean T-QUEUE?"));
        found.map(|pattern| self.describe(pattern)).ok_or_else(unknown)
    }

    fn coverage(&self) -> Result<String, Error> {
        Ok("covers queues and uploads (2 patterns)".to_owned())
    }
}

/// A story, `US-001`, with the requirement `REQ-001`, in a world that knows threats.
fn threatened(world: &World, description: &str) -> (World, Arc<Words>) {
    let words = Arc::new(Words::default());
    let known: Arc<dyn ThreatLibrary> = words.clone();
    let mut world = world.open_again();
    world.engine = world.engine.clone().knowing(known);
    world.ok("create_epic", json!({ "title": "Kettle", "priority": 1 }));
    world.ok("create_user_story", json!({ "epic_id": "EP-001", "title": "Boil", "priority": 1 }));
    requirement(&world, "Boil later", description);
    (world, words)
}

fn requirement(world: &World, title: &str, description: &str) -> String {
    let new = json!({
        "user_story_id": "US-001", "title": title, "description": description, "priority": 1, "type_id": "Functional",
    });
    let made = world.ok("create_requirement", new);
    made["reference_id"].as_str().expect("a reference").to_owned()
}

fn decide(world: &World, decision: &str, more: &Value) -> Value {
    world.ok("decide_threat", decided("REQ-001", "T-QUEUE", decision, more))
}

fn decided(reference: &str, pattern: &str, decision: &str, more: &Value) -> Value {
    let mut arguments = json!({ "reference": reference, "pattern": pattern, "decision": decision });
    arguments.as_object_mut().expect("an object").extend(more.as_object().cloned().unwrap_or_default());
    arguments
}

/// How the first threat to the requirement stands, and why it is open.
fn state(world: &World) -> String {
    let found = world.ok("propose_threats", json!({ "reference": "REQ-001" }));
    let threat = &found["data"][0];
    let text = |name: &str| threat[name].as_str().unwrap_or_default().to_owned();
    [text("state"), text("why_open")].join(": ").trim_end_matches(": ").to_owned()
}

const QUEUED: &str = "The kettle MUST put each job into a queue.";

#[test]
fn patterns_are_proposed_with_reasons_and_their_checks() {
    on_every_store(|world| {
        let (world, _) = threatened(world, QUEUED);
        let found = world.ok("propose_threats", json!({ "reference": "REQ-001" }));
        let threat = &found["data"][0];
        assert_eq!(
            json!(["pattern", "severity", "state", "reasons"].map(|name| &threat[name])),
            json!(["T-QUEUE", "high", "open", ["words queue, job"]])
        );
        assert_eq!(threat["checks"].as_array().map(Vec::len), Some(2));
        assert_eq!((&threat["says"]["fix"], &found["note"]), (&json!("Mend it."), &Value::Null));
        // The story has other words, and no pattern is about them.
        let found = world.ok("propose_threats", json!({ "reference": "US-001" }));
        assert_eq!(found["data"], json!([]));
        assert_eq!(
            found["note"],
            "no pattern is about this text; the library covers queues and uploads (2 patterns)"
        );
        // What nobody decides about is only looked at.
        world.ok("update_epic", json!({ "epic_id": "EP-001", "title": "Upload tea" }));
        let found = world.ok("propose_threats", json!({ "reference": "EP-001" }));
        assert_eq!(found["data"][0]["checks"], json!(["Look at it."]), "a pattern without criteria");
        assert_eq!(found["note"], "decide about the threats to its user stories and requirements");
        // What is obsolete is not threatened.
        world.ok("update_requirement", json!({ "requirement_id": "REQ-001", "status": "Active" }));
        world.ok("update_requirement", json!({ "requirement_id": "REQ-001", "status": "Obsolete" }));
        assert_eq!(world.ok("propose_threats", json!({ "reference": "REQ-001" }))["data"], json!([]));
    });
}

#[test]
fn what_the_library_is_unsure_of_is_shown_and_nobody_has_to_decide() {
    on_every_store(|world| {
        let (world, _) = threatened(world, "Perhaps there is a queue.");
        let found = world.ok("propose_threats", json!({ "reference": "REQ-001" }));
        assert_eq!((&found["data"][0]["unsure"], &found["data"][0]["state"]), (&json!(true), &json!("open")));
        let note = found["note"].as_str().unwrap_or_default();
        assert!(note.starts_with("unsure whether this fits; the library covers queues"), "{note}");
        assert_eq!(world.ok("list_threats", json!({}))["data"], json!([]));
        assert_eq!(world.ok("list_threats", json!({ "state": "open" }))["data"], json!([]));
        assert_eq!(world.ok("get_thread", json!({ "from": "REQ-001" }))["data"][0]["threats"], Value::Null);
        decide(&world, "applies", &json!({}));
        assert_eq!(world.ok("list_threats", json!({}))["data"].as_array().map(Vec::len), Some(1));
    });
}

#[test]
fn what_applies_makes_criteria_once_and_evidence_closes_it() {
    on_every_store(|world| {
        let (world, _) = threatened(world, QUEUED);
        let preview = decide(&world, "applies", &json!({ "dry_run": true }));
        assert_eq!((&preview["dry_run"], &preview["state"]), (&json!(true), &json!("applies")));
        let checks = PATTERNS[0].3;
        assert_eq!(preview["made"], json!([{ "description": checks[0] }, { "description": checks[1] }]));
        assert_eq!(state(&world), "open");
        assert_eq!(world.count("select count(*) from entity where kind = 'acceptance_criteria'"), 0);

        let edited = json!([{ "description": "A job of somebody else ends." }, { "description": checks[1] }]);
        let made = decide(&world, "applies", &json!({ "criteria": edited }));
        assert_eq!(
            made["made"],
            json!([
                { "reference_id": "AC-001", "description": "A job of somebody else ends." },
                { "reference_id": "AC-002", "description": checks[1] },
            ])
        );
        assert_eq!(made["why_open"], "AC-001: nothing cites it (and 1 more)");
        let criterion = world.ok("get_entity", json!({ "reference": "AC-001" }));
        assert_eq!(criterion["user_story"], "US-001");
        assert_eq!(
            criterion["rationale"],
            "Against the threat T-QUEUE to REQ-001: A job runs without the rights of who asked for it."
        );
        // Once.
        let again = decide(&world, "applies", &json!({ "reason": "still" }));
        assert_eq!((&again["made"], &again["decision"]["reason"]), (&json!([]), &json!("still")));
        let refused = decided("REQ-001", "T-QUEUE", "applies", &json!({ "criteria": edited }));
        assert!(world.refused("decide_threat", refused).contains("were made already"));
        assert_eq!(world.count("select count(*) from entity where kind = 'acceptance_criteria'"), 2);
        // Evidence closes it, and nothing else.
        let tried = |reference: &str| json!({ "reference": reference, "what": "Tried it" });
        world.ok("add_manual_evidence", tried("AC-001"));
        assert_eq!(state(&world), "applies: AC-002: nothing cites it");
        world.ok("add_manual_evidence", tried("AC-002"));
        assert_eq!(state(&world), "closed");
        // And opens it again.
        let edit = json!({ "acceptance_criteria_id": "AC-001", "description": "It ends." });
        world.ok("update_acceptance_criteria", edit);
        assert_eq!(state(&world), "applies: AC-001: nothing cites it");
        // Criteria that were deleted are against nothing; the next decision makes them anew.
        for reference in ["AC-001", "AC-002"] {
            world.ok("delete_entity", json!({ "reference": reference }));
        }
        assert_eq!(state(&world), "applies: no criterion is against it any more");
        assert_eq!(decide(&world, "applies", &json!({}))["made"].as_array().map(Vec::len), Some(2));
        let history = world.ok("get_history", json!({ "reference": "REQ-001" }));
        assert_eq!(history["data"][0]["operation"], "decide_threat", "{history}");
    });
}

#[test]
fn criteria_of_a_story_count_for_all_its_requirements() {
    on_every_store(|world| {
        let (world, _) = threatened(world, QUEUED);
        let second = requirement(&world, "Boil twice", "The kettle MUST ask the queue first.");
        decide(&world, "applies", &json!({}));
        let shared = world.ok("decide_threat", decided(&second, "t-queue", "applies", &json!({})));
        assert_eq!(shared["made"], json!([]));
        assert_eq!(shared["note"], "the user story has criteria against it already, which count here too");
        let criteria: Vec<&Value> =
            shared["criteria"].as_array().expect("criteria").iter().map(|one| &one["reference_id"]).collect();
        assert_eq!(criteria, ["AC-001", "AC-002"]);
        let from = world.ok("get_thread", json!({ "from": "AC-001" }));
        let against: Vec<&Value> = from["data"][0]["threats"]
            .as_array()
            .expect("threats")
            .iter()
            .map(|one| &one["threatens"])
            .collect();
        assert_eq!(against, ["REQ-001", "REQ-002"]);
    });
}

#[test]
fn a_dismissal_stays_until_its_words_or_the_major_version_change() {
    on_every_store(|world| {
        let (world, words) = threatened(world, QUEUED);
        let dismissed = decide(&world, "not_applicable", &json!({ "reason": "One user only." }));
        assert_eq!(dismissed["decision"]["by"], "admin");
        let edit = |text: &str| {
            world.ok("update_requirement", json!({ "requirement_id": "REQ-001", "description": text }));
            state(&world)
        };
        assert_eq!(edit("The blue kettle MUST put each job into a queue, gently."), "dismissed");
        assert_eq!(edit("The kettle MUST have a queue."), "dismissed", "no new reason");
        assert_eq!(
            edit("The kettle MUST have a worker."),
            "open: dismissed before, and the text now has other words of it: worker"
        );
        assert_eq!(edit(QUEUED), "dismissed");
        "1.9.0".clone_into(&mut words.version.lock().expect("a version"));
        assert_eq!(state(&world), "dismissed");
        "2.0.0".clone_into(&mut words.version.lock().expect("a version"));
        assert_eq!(
            state(&world),
            "open: dismissed before, and version 2.0.0 of the pattern is another than 1.0.0"
        );
        decide(&world, "not_applicable", &json!({ "reason": "Still one user." }));
        assert_eq!(state(&world), "dismissed");
    });
}

#[test]
fn an_accepted_risk_has_an_owner_and_ends() {
    on_every_store(|world| {
        let (world, _) = threatened(world, QUEUED);
        world.member("ann", "User");
        let accepted = json!({ "reason": "Few jobs.", "review_by": "2026-11-20", "owner": "ann" });
        let accepted = decide(&world, "risk_accepted", &accepted);
        let parts = ["owner", "review_by"].map(|name| &accepted["decision"][name]);
        assert_eq!(parts[0], "ann");
        assert!(
            parts[1].as_str().is_some_and(|until| until.starts_with("2026-11-20T23:59:59")),
            "{accepted}"
        );
        assert_eq!(state(&world), "accepted");
        world.pass_seconds(6 * 86_400);
        assert_eq!(state(&world), "open: the risk was accepted until 2026-11-20, which is over");
        let without = json!({ "reason": "Few jobs.", "review_by": "2026-11-30T08:00:00Z" });
        assert_eq!(decide(&world, "risk_accepted", &without)["decision"]["owner"], "admin");
    });
}

#[test]
fn decisions_that_make_no_sense_say_why() {
    on_every_store(|world| {
        let (world, _) = threatened(world, QUEUED);
        let refused = |reference: &str, pattern: &str, decision: &str, more: Value, expected: &str| {
            let told = world.refused("decide_threat", decided(reference, pattern, decision, &more));
            assert!(told.contains(expected), "{told}, not {expected}");
        };
        let why = || json!({ "reason": "So." });
        refused(
            "REQ-001",
            "T-QUEU",
            "applies",
            json!({}),
            "NOT_FOUND: pattern not found: T-QUEU; did you mean T-QUEUE?",
        );
        refused("REQ-002", "T-QUEUE", "applies", json!({}), "there is no requirement REQ-002");
        refused(
            "EP-001",
            "T-QUEUE",
            "applies",
            json!({}),
            "EP-001 is an epic; decide for its user stories and requirements",
        );
        refused("REQ-001", "T-QUEUE", "not_applicable", json!({}), "reason: is missing");
        refused("REQ-001", "T-QUEUE", "not_applicable", json!({ "reason": " " }), "found only blanks");
        refused("REQ-001", "T-QUEUE", "risk_accepted", why(), "review_by: is missing");
        let past = json!({ "reason": "So.", "review_by": "2026-11-14" });
        refused(
            "REQ-001",
            "T-QUEUE",
            "risk_accepted",
            past,
            "review_by: expected a day that is to come, found 2026-11-14T23:59:59",
        );
        let far = json!({ "reason": "So.", "review_by": "2126-11-14" });
        refused("REQ-001", "T-QUEUE", "risk_accepted", far, "within the next five years");
        let nobody = json!({ "reason": "So.", "review_by": "2026-12-14", "owner": "nobody" });
        refused("REQ-001", "T-QUEUE", "risk_accepted", nobody, "there is no user \"nobody\"");
        let early = json!({ "reason": "So.", "review_by": "2026-12-14" });
        refused(
            "REQ-001",
            "T-QUEUE",
            "not_applicable",
            early,
            "review_by: is only for the decision risk_accepted",
        );
        refused(
            "REQ-001",
            "T-QUEUE",
            "applies",
            json!({ "criteria": [] }),
            "expected 1 to 20 criteria, found 0",
        );
        let made = json!({ "reason": "So.", "criteria": [{ "description": "x" }] });
        refused("REQ-001", "T-QUEUE", "not_applicable", made, "criteria: are only made");
        let criterion = json!({ "user_story_id": "US-001", "description": "It boils." });
        world.ok("create_acceptance_criteria", criterion);
        refused("AC-001", "T-QUEUE", "applies", json!({}), "decide for US-001 or its requirements");

        let commenter = world.member("bob", "Commenter");
        let by_bob = world.call_as(
            commenter.clone(),
            "decide_threat",
            decided("REQ-001", "T-QUEUE", "applies", &json!({})),
        );
        assert_eq!(by_bob.expect_err("a commenter may not").kind, ErrorKind::Forbidden);
        let look = json!({ "reference": "REQ-001" });
        world.call_as(commenter, "propose_threats", look).expect("everybody may look");
        world.ok("delete_entity", json!({ "reference": "REQ-001" }));
        refused("REQ-001", "T-QUEUE", "applies", json!({}), "REQ-001");
        assert_eq!(world.count("select count(*) from threat_link"), 0);
        // Without a library there is nothing to propose, and the thread goes on.
        let without = world.open_again();
        assert!(
            without
                .refused("propose_threats", json!({ "reference": "US-001" }))
                .contains("no threat library")
        );
        without.ok("get_thread", json!({ "from": "US-001" }));
        assert_eq!(without.ok("list_threats", json!({}))["data"], json!([]));
    });
}

#[test]
fn lists_tell_what_is_open_page_by_page_in_one_pass() {
    on_every_store(|world| {
        let (world, words) = threatened(world, QUEUED);
        for number in 0..8 {
            requirement(&world, &format!("Upload {number}"), "A file MUST be kept.");
        }
        requirement(&world, "Colour", "It MUST be blue.");
        decide(&world, "applies", &json!({}));
        let dismissed = json!({ "reason": "Nothing runs there." });
        world.ok("decide_threat", decided("REQ-002", "T-UPLOAD", "not_applicable", &dismissed));
        let accepted = json!({ "reason": "So.", "review_by": "2026-12-01" });
        world.ok("decide_threat", decided("REQ-003", "T-UPLOAD", "risk_accepted", &accepted));
        let named = |list: &Value| -> Vec<String> {
            let data = list["data"].as_array().expect("a list");
            data.iter().map(|one| one["reference_id"].as_str().unwrap_or_default().to_owned()).collect()
        };
        words.n_asked.store(0, Ordering::Relaxed);
        let all = world.ok("list_threats", json!({}));
        assert_eq!(
            named(&all),
            ["REQ-001", "REQ-004", "REQ-005", "REQ-006", "REQ-007", "REQ-008", "REQ-009"]
        );
        assert_eq!(words.n_asked.load(Ordering::Relaxed), 11, "each text is asked about once");
        assert_eq!(
            (&all["n_items"], &all["n_without_pattern"], &all["next_cursor"]),
            (&json!(11), &json!(2), &Value::Null)
        );
        let note = all["note"].as_str().unwrap_or_default();
        assert!(note.starts_with("no pattern is about 2 of 11") && note.contains("covers queues"), "{note}");
        let mut paged = Vec::new();
        let mut about = json!({ "limit": 3, "epic": "EP-001" });
        loop {
            let page = world.ok("list_threats", about.clone());
            paged.extend(named(&page));
            let Some(next) = page["next_cursor"].as_str() else { break };
            about["cursor"] = json!(next);
        }
        assert_eq!(paged, named(&all));
        for (state, expected) in [
            ("applies", vec!["REQ-001"]),
            ("dismissed", vec!["REQ-002"]),
            ("accepted", vec!["REQ-003"]),
            ("closed", vec![]),
        ] {
            for about in [json!({ "state": state }), json!({ "state": state, "epic": "US-001" })] {
                assert_eq!(named(&world.ok("list_threats", about)), expected, "{state}");
            }
        }
        let of_pattern = json!({ "pattern": "T-QUEUE" });
        assert_eq!(named(&world.ok("list_threats", of_pattern)), ["REQ-001"]);
        assert!(
            world.refused("list_threats", json!({ "epic": "REQ-001" })).contains("REQ-001 is a requirement")
        );
        assert!(world.refused("list_threats", json!({ "pattern": "T-X" })).contains("did you mean T-QUEUE"));
        assert!(world.refused("list_threats", json!({ "project": "NONE" })).contains("project"));
    });
}

#[test]
fn the_thread_has_the_threats_and_begins_at_a_pattern() {
    on_every_store(|world| {
        let (world, _) = threatened(world, QUEUED);
        let threats = |from: &str| {
            let thread = world.ok("get_thread", json!({ "from": from }));
            let items = thread["data"].as_array().expect("items").clone();
            let told = |item: &Value| {
                let threats = item["threats"].as_array().cloned().unwrap_or_default();
                let told =
                    threats.iter().map(|one| format!("{} {}", one["pattern"], one["state"]).replace('"', ""));
                format!("{} {}", item["reference_id"], told.collect::<Vec<_>>().join(", ")).replace('"', "")
            };
            items.iter().map(told).collect::<Vec<_>>()
        };
        assert_eq!(threats("REQ-001"), ["REQ-001 T-QUEUE open"]);
        let none = world.ok("get_thread", json!({ "from": "T-QUEUE" }));
        assert_eq!(none["note"], "no decision that you can see says that T-QUEUE applies");
        decide(&world, "applies", &json!({}));
        let all = ["AC-001 T-QUEUE applies", "AC-002 T-QUEUE applies", "REQ-001 T-QUEUE applies"];
        assert_eq!(threats("US-001"), all);
        assert_eq!(threats("t-queue"), all);
        let thread = world.ok("get_thread", json!({ "from": "US-001" }));
        let why = |item: usize| thread["data"][item]["threats"][0]["why_open"].clone();
        assert_eq!(why(0), "AC-001: nothing cites it (and 1 more)");
        assert_eq!(why(2), "AC-001: nothing cites it (and 1 more)");
        world.ok("add_manual_evidence", json!({ "reference": "AC-001", "what": "Tried it" }));
        let thread = world.ok("get_thread", json!({ "from": "REQ-001" }));
        let criteria = &thread["data"][0]["threats"][0]["criteria"];
        assert_eq!(
            json!([
                criteria[0]["closed"],
                criteria[0]["verdict"],
                criteria[1]["closed"],
                criteria[1]["why_open"]
            ]),
            json!([true, "passed", false, "nothing cites it"])
        );
        world.ok("add_manual_evidence", json!({ "reference": "AC-002", "what": "Tried it" }));
        assert_eq!(threats("REQ-001"), ["REQ-001 T-QUEUE closed"]);
        // Threats to the story itself are beside it.
        world.ok("update_user_story", json!({ "user_story_id": "US-001", "title": "Upload tea" }));
        let story = world.ok("get_thread", json!({ "from": "US-001" }));
        assert_eq!(story["threats"][0]["pattern"], "T-UPLOAD");
        // What a project hides is not told.
        world.ok("create_project", json!({ "key": "SHUT", "name": "Shut", "access": "members" }));
        let stranger = world.member("eve", "User");
        let epic = json!({ "title": "Tea", "priority": 1, "project": "SHUT" });
        world.ok("create_epic", epic);
        let story = json!({ "epic_id": "SHUT-EP-001", "title": "Queue", "priority": 1 });
        world.ok("create_user_story", story);
        world.ok("decide_threat", decided("SHUT-US-001", "T-QUEUE", "applies", &json!({})));
        let seen = |by: &Credentials| {
            let thread = world.call_as(by.clone(), "get_thread", json!({ "from": "T-QUEUE" }));
            thread.expect("a thread")["total_count"].clone()
        };
        assert_eq!(seen(&Credentials::Bearer(world.first.token.clone())), 5);
        assert_eq!(seen(&stranger), 3);
        let hidden = world.call_as(stranger, "propose_threats", json!({ "reference": "SHUT-US-001" }));
        assert_eq!(hidden.expect_err("it is hidden").kind, ErrorKind::NotFound);
    });
}

#[test]
fn work_begins_with_critical_threats_and_has_the_checks() {
    on_every_store(|world| {
        let (world, _) = threatened(world, QUEUED);
        requirement(&world, "Keep it", "The kettle MUST keep an upload.");
        let first = || {
            let open = world.ok("list_open_work", json!({}));
            let row = &open["data"][0];
            format!("{} {}", row["reference_id"].as_str().unwrap_or_default(), row["why"])
        };
        assert_eq!(first(), "REQ-002 [\"priority 1\",\"open critical threat T-UPLOAD\"]");
        let packet = |under: &str| {
            let taken = world.ok("next_work", json!({ "under": under }));
            world.ok("release_work", json!({ "lease": taken["lease"] }));
            taken["packet"].as_str().expect("a packet").to_owned()
        };
        let told = packet("REQ-002");
        assert!(
            told.contains(
                "Open threats, each with what must hold against it:\nT-UPLOAD (critical) <data>An upload is executed</data>; \
                 nobody has decided whether it applies: <data>Look at it.</data>\n"
            ),
            "{told}"
        );
        let reason = json!({ "reason": "Uploads are text." });
        world.ok("decide_threat", decided("REQ-002", "T-UPLOAD", "not_applicable", &reason));
        assert_eq!(first(), "REQ-001 [\"priority 1\",\"same story as last time\"]");
        assert!(!packet("REQ-002").contains("Open threats"));
        decide(&world, "applies", &json!({}));
        let told = packet("REQ-001");
        assert!(
            told.contains("; AC-001: nothing cites it (and 1 more): <data>Given a job that names"),
            "{told}"
        );
        // Where room is short, the requirement is there and the threats are not.
        let short = world.ok("next_work", json!({ "under": "REQ-001", "max_tokens": 200 }));
        let short = short["packet"].as_str().expect("a packet");
        assert!(short.contains("each job into a queue") && !short.contains("Open threats"), "{short}");
    });
}

#[test]
fn a_change_is_told_of_the_threats_that_it_leaves_open() {
    on_every_store(|world| {
        let (world, _) = threatened(world, QUEUED);
        let unit =
            |text: &str| trace::managed::units(text, trace::managed::Granularity::Sentences)[0].hash.clone();
        let cites = |reference: &str, text: &str| {
            json!({ "files": [{ "path": "src/job.rs", "blob": "aaaaaaaa", "citations": [{
                "line": 1, "last_line": 2, "kind": "code", "reference": reference, "units": [unit(text)],
            }] }] })
        };
        let cited = cites("REQ-001", QUEUED);
        let judged = |before: &Value, lease: Option<&str>| {
            let content = json!({ "before": before, "after": cited }).to_string();
            let mut asked = json!({ "references": ["REQ-001"], "content": content });
            if let Some(lease) = lease {
                asked["lease"] = json!(lease);
            }
            world.ok("judge_change", asked)
        };
        let threats = |before: &Value| -> Vec<String> {
            let answer = judged(before, None);
            let threat = |threat: &Value| {
                let is = |name: &str| if threat[name] == true { name.to_owned() } else { "-".to_owned() };
                let text = |name: &str| threat[name].as_str().unwrap_or_default().to_owned();
                [
                    text("reference_id"),
                    text("pattern"),
                    is("decided"),
                    is("applies"),
                    is("was_open"),
                    text("why_open"),
                ]
                .join(" ")
            };
            answer["threats"].as_array().expect("threats").iter().map(threat).collect()
        };
        let nothing = json!({});
        assert_eq!(threats(&nothing), ["REQ-001 T-QUEUE - - - "]);
        assert_eq!(threats(&cited), ["REQ-001 T-QUEUE - - was_open "]);
        decide(&world, "applies", &json!({}));
        let why = "AC-001: nothing cites it (and 1 more)";
        assert_eq!(threats(&nothing), [format!("REQ-001 T-QUEUE decided applies - {why}")]);
        assert_eq!(threats(&cited), [format!("REQ-001 T-QUEUE decided applies was_open {why}")]);
        decide(&world, "not_applicable", &json!({ "reason": "There is one job." }));
        assert_eq!(threats(&nothing), [""; 0]);
        // What a lease demands is judged whatever was asked about, for those who hold it.
        requirement(&world, "Ring", "The kettle MUST ring.");
        world.ok("next_work", json!({ "under": "REQ-002" }));
        let answer = judged(&nothing, Some("REQ-002.1"));
        let demanded: Vec<(&Value, &Value)> = answer["units"]
            .as_array()
            .expect("units")
            .iter()
            .map(|unit| (&unit["reference_id"], &unit["demanded"]))
            .collect();
        assert_eq!(demanded, [(&json!("REQ-001"), &Value::Null), (&json!("REQ-002"), &json!(true))]);
        world.ok("release_work", json!({ "lease": "REQ-002.1" }));
        let content = json!({ "before": {}, "after": {} }).to_string();
        let late = json!({ "references": [], "lease": "REQ-002.1", "content": content });
        let refused = world.refused("judge_change", late);
        assert!(refused.contains("REQ-002.1 ended at "), "{refused}");
    });
}

#[test]
fn what_is_erased_takes_its_decisions_with_it() {
    on_every_store(|world| {
        let (world, _) = threatened(world, QUEUED);
        decide(&world, "not_applicable", &json!({ "reason": "A secret reason." }));
        world.ok("delete_entity", json!({ "reference": "REQ-001" }));
        world.ok("purge_entity", json!({ "reference": "REQ-001" }));
        assert_eq!(world.count("select count(*) from threat_link"), 0);
    });
}

#[test]
fn two_who_decide_at_once_make_criteria_once() {
    on_every_store(|world| {
        let (world, _) = threatened(world, QUEUED);
        let n_refused = AtomicUsize::new(0);
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    let applies = decided("REQ-001", "T-QUEUE", "applies", &json!({}));
                    if world.call("decide_threat", applies).is_err() {
                        n_refused.fetch_add(1, Ordering::Relaxed);
                    }
                });
            }
        });
        assert_eq!(n_refused.load(Ordering::Relaxed), 0);
        assert_eq!(world.count("select count(*) from entity where kind = 'acceptance_criteria'"), 2);
        assert_eq!(world.count("select count(*) from threat_criterion"), 2);
    });
}
