//! Threats to an item in the web application, with the patterns that we ship: proposed, decided, made into criteria and closed.

use serde_json::json;

use crate::backend::on_every_store;
use crate::web::{Visitor, fill};

const PATH: &str = "/r/REQ-001/threats";

/// A requirement that a pattern is about, and the pattern's id.
fn threatened(visitor: &Visitor<'_>) -> String {
    fill(visitor);
    let text = "A background job exports the invoices of the organization.";
    let fields = [
        ("requirement_id", "REQ-001"),
        ("title", "Export invoices in a background job"),
        ("description", text),
    ];
    visitor.write("update_requirement", &fields);
    let found = visitor.backend.get("/threats/REQ-001");
    assert_eq!(found.status, 200, "{}", found.text);
    assert!(found.json["data"][0]["unsure"].is_null() && found.json["note"].is_null(), "{}", found.text);
    assert_eq!(found.json["data"][0]["state"], "open", "{}", found.text);
    found.json["data"][0]["pattern"].as_str().expect("a pattern").to_owned()
}

#[track_caller]
fn shows(visitor: &Visitor<'_>, path: &str, parts: &[&str]) -> String {
    let page = visitor.get(path);
    assert_eq!(page.status, 200, "{path}: {}", page.text);
    for part in parts {
        assert!(page.text.contains(part), "{path}: {part}: {}", page.text);
    }
    page.text
}

#[test]
fn a_threat_becomes_criteria_that_evidence_closes() {
    on_every_store(|backend| {
        let visitor = Visitor::administrator(backend);
        let pattern = threatened(&visitor);
        assert_eq!(pattern, "TMKB-AUTHZ-001");
        let form = [
            "name=\"criteria.0.description\"",
            "These criteria are made for US-001",
            "Make the criteria",
            "Preview",
        ];
        shows(&visitor, PATH, &form);
        let decided = |more: &[(&'static str, &'static str)]| {
            let mut fields = vec![
                ("reference", "REQ-001"),
                ("pattern", "TMKB-AUTHZ-001"),
                ("decision", "applies"),
                ("_next", "/r/REQ-001/threats#TMKB-AUTHZ-001"),
                (
                    "criteria.0.description",
                    "Given a job of another organization, its documents stay out, always.",
                ),
                ("criteria.1.description", ""),
                ("criteria.2.description", "WHEN the account is closed, THE SYSTEM SHALL end the job."),
            ];
            fields.extend(more);
            fields
        };
        // A preview changes nothing, and can be confirmed.
        let preview = visitor.post("decide_threat", &decided(&[("dry_run", "true")]));
        let parts = ["Nothing was changed yet", "stay out, always.", "SHALL end the job.", "Confirm"];
        assert!(parts.iter().all(|part| preview.text.contains(part)), "{}", preview.text);
        assert_eq!(backend.get("/acceptance-criteria").json["total_count"], 0);
        let next = visitor.write("decide_threat", &decided(&[]));
        assert_eq!(next, "/r/REQ-001/threats#TMKB-AUTHZ-001");
        let criteria = backend.get("/acceptance-criteria").json;
        assert_eq!(criteria["total_count"], 2, "an empty one is left out");
        let applies = [
            "applies, not closed yet",
            "AC-001: nothing cites it (and 1 more)",
            "stay out, always.",
            "admin decided",
        ];
        let page = shows(&visitor, PATH, &applies);
        let own = page.split("id=\"TMKB-AUTHZ-001\"").nth(1).and_then(|rest| rest.split("</section>").next());
        assert!(own.is_some_and(|own| !own.contains("Make the criteria")), "they are made once: {page}");
        shows(
            &visitor,
            "/p/DEFAULT/thread/US-001",
            &["<th scope=\"col\">Threats</th>", "threats#TMKB-AUTHZ-001", "to REQ-001"],
        );
        for reference in ["AC-001", "AC-002"] {
            let fields = [("reference", reference), ("what", "Tried it"), ("_next", PATH)];
            visitor.write("add_manual_evidence", &fields);
        }
        shows(&visitor, PATH, &["closed by evidence"]);
        shows(&visitor, "/p/DEFAULT/thread/REQ-001", &["closed by evidence"]);
        shows(&visitor, "/r/REQ-001/history", &["TMKB-AUTHZ-001"]);
        let closed = backend.get("/threats?state=closed&epic=EP-001").json;
        assert_eq!(closed["data"][0]["reference_id"], "REQ-001", "{closed}");
    });
}

#[test]
fn a_threat_is_dismissed_or_its_risk_accepted_by_those_who_may() {
    on_every_store(|backend| {
        let visitor = Visitor::administrator(backend);
        threatened(&visitor);
        let decide = |decision: &'static str, more: &[(&'static str, &'static str)]| {
            let mut fields = vec![
                ("reference", "REQ-001"),
                ("pattern", "TMKB-AUTHZ-001"),
                ("decision", decision),
                ("_next", PATH),
            ];
            fields.extend(more);
            visitor.post("decide_threat", &fields)
        };
        let missing = decide("not_applicable", &[]);
        assert!(missing.status == 400 && missing.text.contains("say why"), "{}", missing.text);
        assert_eq!(decide("not_applicable", &[("reason", "One <user> only.")]).status, 303);
        shows(&visitor, PATH, &["does not apply", "One &lt;user&gt; only."]);
        let past = decide("risk_accepted", &[("reason", "Few jobs."), ("review_by", "2020-01-01")]);
        assert!(past.status == 400 && past.text.contains("a day that is to come"), "{}", past.text);
        assert_eq!(
            decide("risk_accepted", &[("reason", "Few jobs."), ("review_by", tomorrow())]).status,
            303
        );
        shows(&visitor, PATH, &["risk accepted", "borne by admin", "Few jobs."]);

        backend.create("/users", &json!({"username": "bob", "email": "bob@example.org", "role": "Commenter", "password": "correct horse battery"}));
        let bob = Visitor::signed_in(backend, "bob", "correct horse battery");
        let page = shows(&bob, PATH, &["risk accepted"]);
        assert!(!page.contains("/do/decide_threat"), "{page}");
        let fields = [("reference", "REQ-001"), ("pattern", "TMKB-AUTHZ-001"), ("decision", "applies")];
        assert_eq!(bob.post("decide_threat", &fields).status, 403);
        let unknown = backend.send("POST", "/threats/REQ-001/TMKB-AUTHZ-00", &json!({"decision": "applies"}));
        assert!(
            unknown.status == 404 && unknown.text.contains("did you mean TMKB-AUTHZ-00"),
            "{}",
            unknown.text
        );
    });
}

fn tomorrow() -> &'static str {
    // Within five years of any day on which this is likely to run.
    let year = 1970 + std::time::UNIX_EPOCH.elapsed().map_or(56, |since| since.as_secs() / 31_556_952);
    format!("{}-12-31", year + 1).leak()
}
