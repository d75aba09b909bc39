//! Which verdicts close a unit, and when evidence is old.

use evidence::{ClosesAt, ContentKey, Open, Policy, Provenance, Trust, Verdict, as_of};

const ALL: [Verdict; 8] = [
    Verdict::NotRun,
    Verdict::Old,
    Verdict::Skipped,
    Verdict::Failed,
    Verdict::Flaky,
    Verdict::Passed,
    Verdict::Witnessed,
    Verdict::Proven,
];
const RUN: Provenance<'static> = Provenance { trust: Trust::Local, reference: None, incomplete: None };

#[test]
fn witnessed_closes_by_default() {
    assert_eq!(closing(&Policy::default(), &RUN), [Verdict::Witnessed, Verdict::Proven]);
}

#[test]
fn no_policy_closes_what_is_flaky_failed_skipped_or_old() {
    let weakest = Policy { closes_at: ClosesAt::Passed, trust: Trust::Unverified, refs: Vec::new() };
    assert_eq!(closing(&weakest, &RUN), [Verdict::Passed, Verdict::Witnessed, Verdict::Proven]);
    let strictest = Policy { closes_at: ClosesAt::Proven, ..Policy::default() };
    assert_eq!(closing(&strictest, &RUN), [Verdict::Proven]);
    let flaky = Policy::default().closes(Verdict::Flaky, &RUN).expect_err("flaky");
    assert_eq!(flaky.to_string(), "flaky never closes");
}

#[test]
fn an_incomplete_run_closes_nothing() {
    let run = Provenance { incomplete: Some("vitest stopped"), ..RUN };
    assert_eq!(closing(&Policy { closes_at: ClosesAt::Passed, ..Policy::default() }, &run), []);
    let open = Policy::default().closes(Verdict::Proven, &run).expect_err("incomplete");
    assert_eq!(open.to_string(), "the run is incomplete: vitest stopped");
}

#[test]
fn a_run_needs_the_trust_that_the_policy_names() {
    let policy = Policy { trust: Trust::Oidc, ..Policy::default() };
    let token = Provenance { trust: Trust::Token, ..RUN };
    let open = policy.closes(Verdict::Proven, &token).expect_err("too weak");
    assert_eq!(open.to_string(), "expected a run of trust oidc, found token");
    assert!(policy.closes(Verdict::Proven, &Provenance { trust: Trust::Oidc, ..RUN }).is_ok());
    let fork = Provenance { trust: Trust::Unverified, ..RUN };
    let lax = Policy { trust: Trust::Unverified, ..Policy::default() };
    assert_eq!(lax.closes(Verdict::Proven, &fork), Err(Open::Untrusted(Trust::Unverified, Trust::Local)));
}

#[test]
fn a_run_closes_for_listed_refs_only() {
    let refs = vec!["refs/heads/main".to_owned(), "refs/tags/*".to_owned()];
    let policy = Policy { refs, ..Policy::default() };
    let closes = |reference| policy.closes(Verdict::Proven, &Provenance { reference, ..RUN }).is_ok();
    assert!(closes(Some("refs/heads/main")));
    assert!(closes(Some("refs/tags/v1")));
    assert!(!closes(Some("refs/heads/main2")));
    assert!(!closes(Some("refs/heads/x/refs/tags/v1")));
    assert!(!closes(None));
}

#[test]
fn a_policy_cannot_name_a_verdict_that_never_closes() {
    let read = |text: &str| serde_json::from_str::<Policy>(text);
    assert_eq!(read("{}").expect("a policy"), Policy::default());
    assert_eq!(read(r#"{"closes_at": "proven"}"#).expect("a policy").closes_at, ClosesAt::Proven);
    assert!(read(r#"{"closes_at": "flaky"}"#).is_err());
    assert!(read(r#"{"closes": "proven"}"#).is_err());
}

#[test]
fn evidence_is_old_exactly_when_something_changed() {
    let key = |unit: &str, test: &str, implementation: Option<&str>| ContentKey {
        unit: unit.to_owned(),
        test: test.to_owned(),
        implementation: implementation.map(str::to_owned),
    };
    let then = key("u", "t", Some("i"));
    assert_eq!(as_of(Verdict::Proven, &then, &then.clone()), Verdict::Proven);
    for now in
        [key("v", "t", Some("i")), key("u", "s", Some("i")), key("u", "t", Some("j")), key("u", "t", None)]
    {
        assert_eq!(as_of(Verdict::Proven, &then, &now), Verdict::Old);
        assert_eq!(as_of(Verdict::Failed, &then, &now), Verdict::Old);
        assert_eq!(as_of(Verdict::NotRun, &then, &now), Verdict::NotRun);
    }
}

fn closing(policy: &Policy, run: &Provenance<'_>) -> Vec<Verdict> {
    ALL.into_iter().filter(|verdict| policy.closes(*verdict, run).is_ok()).collect()
}
