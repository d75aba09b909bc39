//! Tokens that push and do nothing else: those that users make for repositories, and those that CI runs get for their identity.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ops::{Call, Credentials, Error, Issuers, KeySource};
use ring::rand::SystemRandom;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair as _, RSA_PKCS1_SHA256, RsaKeyPair,
};
use serde_json::{Value, json};

use crate::people::outcome;
use crate::stores::{World, on_every_store};

const ISSUER: &str = "https://ci.example.org";
const AUDIENCE: &str = "https://spexus.example.org";
const COMMIT: &str = "0123456789abcdef0123456789abcdef01234567";
const BLOB: &str = "00112233445566778899aabbccddeeff00112233";

/// An issuer with a key of each kind, which are handed over without a network.
struct Issuer {
    elliptic: EcdsaKeyPair,
    rsa: RsaKeyPair,
}

impl Issuer {
    fn new() -> Arc<Issuer> {
        let random = SystemRandom::new();
        let algorithm = &ECDSA_P256_SHA256_FIXED_SIGNING;
        let document = EcdsaKeyPair::generate_pkcs8(algorithm, &random).expect("a key");
        let elliptic = EcdsaKeyPair::from_pkcs8(algorithm, document.as_ref(), &random).expect("a key");
        // Made for this test with `openssl genpkey`, since RSA keys take long to make.
        let rsa = RsaKeyPair::from_pkcs8(include_bytes!("../fixtures/identity_rsa.der")).expect("a key");
        Arc::new(Issuer { elliptic, rsa })
    }

    /// A token with this header and these claims, whose signature is right.
    fn sign(&self, header: &Value, claims: &Value) -> String {
        let part = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
        let message = format!("{}.{}", part(header), part(claims));
        let random = SystemRandom::new();
        let signature = if header["alg"] == "RS256" {
            let mut signature = vec![0; self.rsa.public().modulus_len()];
            self.rsa
                .sign(&RSA_PKCS1_SHA256, &random, message.as_bytes(), &mut signature)
                .expect("a signature");
            signature
        } else {
            self.elliptic.sign(&random, message.as_bytes()).expect("a signature").as_ref().to_vec()
        };
        format!("{message}.{}", URL_SAFE_NO_PAD.encode(signature))
    }
}

impl KeySource for Issuer {
    fn key(&self, issuer: &str, key_id: &str) -> Result<Option<Value>, String> {
        assert_eq!(issuer, ISSUER, "nobody else is asked");
        let encode = |bytes: &[u8]| URL_SAFE_NO_PAD.encode(bytes);
        let public = self.elliptic.public_key().as_ref();
        let rsa = ring::rsa::PublicKeyComponents::<Vec<u8>>::from(self.rsa.public());
        Ok(match key_id {
            "elliptic" => {
                Some(json!({ "kty": "EC", "crv": "P-256", "alg": "ES256", "use": "sig", "kid": "elliptic",
                "x": encode(&public[1..33]), "y": encode(&public[33..]) }))
            }
            "rsa" => Some(json!({ "kty": "RSA", "kid": "rsa", "n": encode(&rsa.n), "e": encode(&rsa.e) })),
            "broken" => return Err("connection refused".to_owned()),
            _ => None,
        })
    }
}

/// A store with two projects, a repository of each, and an issuer that knows the first.
struct Shop<'a> {
    world: &'a World,
    issuer: Arc<Issuer>,
    engine: ops::Engine,
}

impl<'a> Shop<'a> {
    fn open(world: &'a World) -> Shop<'a> {
        world.ok("create_project", json!({ "key": "SHOP", "name": "Shop", "access": "members" }));
        world.ok("create_project", json!({ "key": "OTH", "name": "Other" }));
        for project in ["SHOP", "OTH"] {
            world.ok("create_epic", json!({ "title": "Pay", "priority": 1, "project": project }));
        }
        let shop = json!({ "name": "github.com/acme/shop", "projects": ["SHOP"], "issuer": ISSUER, "external_id": "42" });
        world.ok("create_repository", shop);
        world.ok("create_repository", json!({ "name": "other", "projects": ["OTH"] }));
        let issuer = Issuer::new();
        let issuers = Issuers::new(vec![ISSUER.to_owned()], AUDIENCE.to_owned(), issuer.clone());
        let engine = world.engine.clone().trusting(issuers);
        Shop { world, issuer, engine }
    }

    /// The claims of a push to the main branch, as GitHub Actions writes them, with changes; null takes one away.
    fn claims(&self, changes: &Value) -> Value {
        let now = self.world.now().microseconds() / 1_000_000;
        let mut claims = json!({
            "iss": ISSUER, "aud": AUDIENCE, "jti": "run-1", "iat": now, "nbf": now, "exp": now + 300,
            "sub": "repo:acme/shop:ref:refs/heads/main", "repository": "acme/shop", "repository_id": "42",
            "ref": "refs/heads/main", "sha": COMMIT, "event_name": "push", "run_id": "7",
        });
        change(&mut claims, changes);
        claims
    }

    fn exchange(&self, identity_token: &str) -> Result<Value, Error> {
        self.exchange_with(json!({ "identity_token": identity_token }))
    }

    fn exchange_with(&self, arguments: Value) -> Result<Value, Error> {
        let entry = ops::find("exchange_identity").expect("the operation");
        let call = self.world.the_call(entry, arguments, None);
        let reply = self.engine.wait(Call { credentials: Credentials::None, ..call });
        reply.result.map(|answer| serde_json::from_str(&answer.json).expect("JSON"))
    }

    /// Exchanges a token with changed claims.
    fn exchange_claims(&self, changes: &Value) -> Result<Value, Error> {
        let header = json!({ "alg": "ES256", "kid": "elliptic", "typ": "JWT" });
        self.exchange(&self.issuer.sign(&header, &self.claims(changes)))
    }
}

fn change(object: &mut Value, changes: &Value) {
    let object = object.as_object_mut().expect("an object");
    for (name, value) in changes.as_object().expect("an object") {
        match value {
            Value::Null => object.remove(name),
            value => object.insert(name.clone(), value.clone()),
        };
    }
}

fn bearer(made: &Value) -> Credentials {
    Credentials::Bearer(made["token"].as_str().expect("a secret").to_owned())
}

/// The arguments of a test run.
fn run_of(repository: &str) -> Value {
    let test =
        json!({ "path": "tests/pay.rs", "blob": BLOB, "symbol": "pays", "outcome": "passed", "attempts": 1 });
    json!({ "repository": repository, "tool": "cargo", "exit_status": 0, "content": test.to_string() })
}

/// The arguments of a trace.
fn trace_of(repository: &str) -> Value {
    let file = json!({ "path": "src/pay.rs", "blob": BLOB });
    json!({ "repository": repository, "content": file.to_string() })
}

fn with(mut arguments: Value, changes: Value) -> Value {
    change(&mut arguments, &changes);
    arguments
}

#[test]
fn a_ci_run_gets_a_token_for_its_repository_commit_and_ref() {
    on_every_store(|world| {
        let shop = Shop::open(world);
        for (number, (algorithm, key)) in [("ES256", "elliptic"), ("RS256", "rsa")].into_iter().enumerate() {
            let claims = shop.claims(&json!({ "jti": algorithm, "repository_id": if number == 0 { json!("42") } else { json!(42) } }));
            let identity = shop.issuer.sign(&json!({ "alg": algorithm, "kid": key }), &claims);
            let made = shop.exchange(&identity).unwrap_or_else(|error| panic!("{algorithm}: {error}"));
            assert_eq!(
                [&made["repository"], &made["ref"], &made["commit"], &made["trust"], &made["why_unverified"]],
                [
                    &json!("github.com/acme/shop"),
                    &json!("refs/heads/main"),
                    &json!(COMMIT),
                    &json!("oidc"),
                    &Value::Null
                ]
            );
            assert_eq!((&made["scopes"], &made["projects"]), (&json!(["evidence"]), &json!(["SHOP"])));

            let call = |operation, arguments| world.call_as(bearer(&made), operation, arguments);
            let pushed = call("push_evidence", run_of("github.com/acme/shop")).expect("a push");
            assert_eq!(
                (&pushed["trust"], &pushed["ref"]),
                (&json!("oidc"), &json!("refs/heads/main")),
                "{pushed}"
            );
            assert_eq!(pushed["closes"], true, "{pushed}");
            let pushed = call("push_trace", trace_of("github.com/acme/shop")).expect("a push");
            assert_eq!((&pushed["trust"], &pushed["commit"]), (&json!("oidc"), &json!(COMMIT)), "{pushed}");
            for other in [json!({ "commit": "f".repeat(40) }), json!({ "ref": "refs/heads/release" })] {
                let refused =
                    call("push_trace", with(trace_of("github.com/acme/shop"), other)).expect_err("a refusal");
                assert!(refused.message.contains("which the CI run has proved"), "{refused}");
            }
            check_confined(world, &bearer(&made));
            if number == 1 {
                world.pass_seconds(15 * 60);
                assert_eq!(
                    outcome(call("get_entity", json!({ "reference": "SHOP-EP-001" }))),
                    "UNAUTHENTICATED"
                );
            }
        }
        let repository = world.ok("get_repository", json!({ "repository": "github.com/acme/shop" }));
        assert_eq!(repository["runs"][0]["trust"], "oidc");
    });
}

/// Checks that a token for the repository of SHOP reads this project and does nothing else.
fn check_confined(world: &World, shown: &Credentials) {
    let call = |operation, arguments| outcome(world.call_as(shown.clone(), operation, arguments));
    for (operation, arguments, expected) in [
        ("get_entity", json!({ "reference": "SHOP-EP-001" }), "ok"),
        ("get_repository", json!({ "repository": "github.com/acme/shop" }), "ok"),
        ("get_entity", json!({ "reference": "OTH-EP-001" }), "NOT_FOUND"),
        ("push_evidence", run_of("other"), "NOT_FOUND"),
        ("push_trace", trace_of("other"), "NOT_FOUND"),
        ("update_epic", json!({ "epic_id": "SHOP-EP-001", "priority": 2 }), "FORBIDDEN"),
        ("delete_entity", json!({ "reference": "SHOP-EP-001" }), "FORBIDDEN"),
        ("add_comment", json!({ "reference": "SHOP-EP-001", "content": "So be it" }), "FORBIDDEN"),
        ("create_token", json!({ "name": "more" }), "FORBIDDEN"),
        (
            "update_repository",
            json!({ "repository": "github.com/acme/shop", "trust_min": "local" }),
            "FORBIDDEN",
        ),
        ("list_users", json!({}), "FORBIDDEN"),
    ] {
        assert_eq!(call(operation, arguments.clone()), expected, "{operation} {arguments}");
    }
}

#[test]
fn an_invalid_identity_token_is_rejected() {
    on_every_store(|world| {
        let shop = Shop::open(world);
        let now = world.now().microseconds() / 1_000_000;
        for (changes, expected) in [
            (
                json!({ "aud": "https://spexus.example.org/" }),
                "expected \"https://spexus.example.org\" alone",
            ),
            (json!({ "aud": "https://github.com/acme" }), "audience"),
            (json!({ "aud": [AUDIENCE, "https://elsewhere.example"] }), "audience"),
            (json!({ "aud": [] }), "audience"),
            (json!({ "aud": null }), "missing field `aud`"),
            (json!({ "iss": "https://ci.example.org/" }), "is not accepted"),
            (json!({ "iss": "https://evil.example" }), "is not accepted"),
            (json!({ "repository_id": "43" }), "no repository has the identity 43"),
            (json!({ "repository_id": "acme/shop" }), "no number of a repository"),
            (json!({ "repository_id": null }), "no number of a repository"),
            (json!({ "project_id": "42" }), "expected one of them"),
            (json!({ "exp": now - 61 }), "has expired"),
            (json!({ "exp": now - 86_400 }), "has expired"),
            (json!({ "exp": null }), "missing field `exp`"),
            (json!({ "exp": i64::MAX }), "seconds since 1970"),
            (json!({ "nbf": now + 90 }), "is not valid yet"),
            (json!({ "iat": now + 90 }), "is not valid yet"),
            (json!({ "jti": null }), "has no id"),
            (json!({ "jti": "" }), "has no id"),
            (json!({ "jti": "x".repeat(201) }), "has no id"),
            (json!({ "sha": null }), "which commit"),
            (json!({ "sha": "main" }), "which commit"),
            (json!({ "ref": null }), "which ref"),
            (json!({ "ref": "main" }), "which ref"),
        ] {
            check_refused(shop.exchange_claims(&changes), expected, &changes.to_string());
        }

        let claims = shop.claims(&json!({}));
        for (header, expected) in [
            (json!({ "alg": "none", "kid": "elliptic" }), "expected RS256 or ES256"),
            (json!({ "alg": "HS256", "kid": "elliptic" }), "expected RS256 or ES256"),
            (json!({ "alg": "es256", "kid": "elliptic" }), "expected RS256 or ES256"),
            (json!({ "alg": "PS256", "kid": "rsa" }), "expected RS256 or ES256"),
            (json!({ "alg": "RS512", "kid": "rsa" }), "expected RS256 or ES256"),
            (json!({ "kid": "elliptic" }), "malformed"),
            (json!({ "alg": "ES256" }), "(kid)"),
            (json!({ "alg": "ES256", "kid": "elliptic", "crit": ["exp"] }), "critical extensions"),
            (json!({ "alg": "ES256", "kid": "unknown" }), "has no key \"unknown\""),
            // The signature is right, and the key is one for another algorithm.
            (json!({ "alg": "ES256", "kid": "rsa" }), "is not one for ES256"),
            (json!({ "alg": "RS256", "kid": "elliptic" }), "is not one for RS256"),
        ] {
            check_refused(shop.exchange(&shop.issuer.sign(&header, &claims)), expected, &header.to_string());
        }

        let signed = shop.issuer.sign(&json!({ "alg": "ES256", "kid": "elliptic" }), &claims);
        let mut parts: Vec<&str> = signed.split('.').collect();
        let unsigned = format!("{}.{}.", parts[0], parts[1]);
        check_refused(shop.exchange(&unsigned), "signature", "no signature");
        let other = URL_SAFE_NO_PAD.encode(shop.claims(&json!({ "sha": "f".repeat(40) })).to_string());
        parts[1] = &other;
        check_refused(shop.exchange(&parts.join(".")), "signature", "other claims");
        for length in 1..signed.len() {
            check_refused(shop.exchange(&signed[..length]), "", &format!("{length} bytes"));
        }
        let broken = shop.issuer.sign(&json!({ "alg": "ES256", "kid": "broken" }), &claims);
        assert_eq!(outcome(shop.exchange(&broken)), "UNAVAILABLE");
        let named = shop.exchange_with(json!({ "identity_token": signed, "repository": "other" }));
        assert!(named.expect_err("a refusal").message.contains("the run is of github.com/acme/shop"));

        // None of these has used it up, and an engine that knows no issuer accepts nobody.
        let nobody =
            world.call_as(Credentials::None, "exchange_identity", json!({ "identity_token": signed }));
        check_refused(nobody, "is not accepted", "no issuers");
        assert_eq!(outcome(shop.exchange(&signed)), "ok");
    });
}

#[track_caller]
fn check_refused(result: Result<Value, Error>, expected: &str, what: &str) {
    let Err(error) = result else { panic!("{what} was accepted") };
    assert_eq!(error.kind.code(), "UNAUTHENTICATED", "{what}: {error}");
    assert!(error.message.contains(expected), "{what}: {error}");
}

#[test]
fn an_identity_works_once_as_long_as_it_could_be_used() {
    on_every_store(|world| {
        let shop = Shop::open(world);
        let now = world.now().microseconds() / 1_000_000;
        let header = json!({ "alg": "ES256", "kid": "elliptic" });
        // Expired for half a minute, and accepted because clocks differ.
        for (id, end) in [("fresh", now + 300), ("late", now - 30)] {
            let identity = shop.issuer.sign(&header, &shop.claims(&json!({ "jti": id, "exp": end })));
            assert_eq!(outcome(shop.exchange(&identity)), "ok", "{id}");
            for _ in 0..3 {
                check_refused(shop.exchange(&identity), "was used before", id);
            }
        }
        let identity = shop.issuer.sign(&header, &shop.claims(&json!({ "jti": "raced" })));
        let outcomes: Vec<&str> = std::thread::scope(|scope| {
            let runs: Vec<_> = (0..4).map(|_| scope.spawn(|| outcome(shop.exchange(&identity)))).collect();
            runs.into_iter().map(|run| run.join().expect("no panic")).collect()
        });
        assert_eq!(outcomes.iter().filter(|outcome| **outcome == "ok").count(), 1, "{outcomes:?}");
    });
}

#[test]
fn runs_of_untrusted_code_and_other_refs_are_unverified() {
    on_every_store(|world| {
        let shop = Shop::open(world);
        for (number, (changes, ref_name, why)) in [
            (json!({ "event_name": "pull_request_target" }), "refs/heads/main", "pull_request_target"),
            (json!({ "event_name": "workflow_run" }), "refs/heads/main", "workflow_run"),
            (json!({ "event_name": "issue_comment" }), "refs/heads/main", "issue_comment"),
            (json!({ "event_name": null }), "refs/heads/main", "event_name"),
            (json!({ "head_repository_id": "77" }), "refs/heads/main", "fork"),
            (json!({ "head_repository": "mallory/shop" }), "refs/heads/main", "fork"),
            (json!({ "ref": "refs/pull/7/merge", "event_name": "pull_request" }), "refs/pull/7/merge", "pull_request"),
            (json!({ "ref": "refs/heads/feature" }), "refs/heads/feature", "close nothing"),
            // A merge request of GitLab says the branch, which may be a fork's.
            (
                json!({ "repository_id": null, "event_name": null, "project_id": 42, "pipeline_source": "merge_request_event",
                    "ref": "main", "ref_type": "branch", "ref_path": "refs/merge-requests/7/head" }),
                "refs/merge-requests/7/head",
                "merge_request_event",
            ),
        ]
        .into_iter()
        .enumerate()
        {
            let changes = with(changes, json!({ "jti": number.to_string() }));
            let made = shop.exchange_claims(&changes).unwrap_or_else(|error| panic!("{changes}: {error}"));
            assert_eq!((&made["trust"], &made["ref"]), (&json!("unverified"), &json!(ref_name)), "{changes}");
            assert!(made["why_unverified"].as_str().is_some_and(|found| found.contains(why)), "{made}");
            let pushed = world.call_as(bearer(&made), "push_evidence", run_of("github.com/acme/shop")).expect("a push");
            assert_eq!((&pushed["trust"], &pushed["closes"]), (&json!("unverified"), &json!(false)), "{pushed}");
            let traced = outcome(world.call_as(bearer(&made), "push_trace", trace_of("github.com/acme/shop")));
            assert_eq!(traced, if ref_name == "refs/heads/main" { "FORBIDDEN" } else { "ok" }, "{changes}");
        }
        let gitlab = json!({ "jti": "gitlab", "repository_id": null, "event_name": null, "project_id": "42",
            "pipeline_source": "push", "ref": "main", "ref_type": "branch", "ref_path": "refs/heads/main" });
        assert_eq!(shop.exchange_claims(&gitlab).expect("a token")["trust"], "oidc");
        let listed = json!({ "repository": "github.com/acme/shop", "closing_refs": ["refs/heads/main", "refs/heads/feature"] });
        world.ok("update_repository", listed);
        let made =
            shop.exchange_claims(&json!({ "jti": "listed", "ref": "refs/heads/feature" })).expect("a token");
        assert_eq!(made["trust"], "oidc", "{made}");
    });
}

#[test]
fn ci_runs_act_as_the_user_of_their_repository() {
    on_every_store(|world| {
        let shop = Shop::open(world);
        for id in ["one", "two"] {
            shop.exchange_claims(&json!({ "jti": id })).expect("a token");
        }
        let user = world.ok("get_user", json!({ "user": "ci-github.com-acme-shop" }));
        assert_eq!((&user["role"], &user["version"]), (&json!("User"), &json!(1)));
        let members = world.ok("list_project_members", json!({ "project": "SHOP" }));
        assert_eq!(members["data"][0]["username"], "ci-github.com-acme-shop", "{members}");
        let tokens = world.ok("list_tokens", json!({ "user": "ci-github.com-acme-shop" }));
        assert_eq!(tokens["total_count"], 2);
        assert_eq!(tokens["data"][0]["repositories"], json!(["github.com/acme/shop"]));

        world.pass_seconds(2 * 86_400);
        shop.exchange_claims(&json!({ "jti": "three" })).expect("a token");
        let tokens = world.ok("list_tokens", json!({ "user": "ci-github.com-acme-shop" }));
        assert_eq!(tokens["total_count"], 1, "tokens that have ended are forgotten");

        world.ok("update_user", json!({ "user": "ci-github.com-acme-shop", "disabled": true }));
        check_refused(shop.exchange_claims(&json!({ "jti": "four" })), "is disabled", "a disabled user");
    });
}

#[test]
fn a_token_for_evidence_pushes_to_its_repositories_and_nothing_else() {
    on_every_store(|world| {
        Shop::open(world);
        let wanted = json!({ "name": "ci", "scopes": ["evidence"], "repositories": ["GitHub.com/acme/shop", "github.com/acme/shop"] });
        let made = world.ok("create_token", wanted);
        assert_eq!(made["repositories"], json!(["github.com/acme/shop"]));
        assert_eq!(made["projects"], json!(["SHOP"]));
        assert_eq!(world.ok("get_token", json!({ "token_id": "ci" }))["repositories"], made["repositories"]);
        let shown = bearer(&made);
        let call = |operation, arguments| world.call_as(shown.clone(), operation, arguments);
        let pushed = call("push_evidence", with(run_of("github.com/acme/shop"), json!({ "commit": COMMIT })))
            .expect("a push");
        assert_eq!(pushed["trust"], "token");
        check_confined(world, &shown);
        let session = call("login", json!({ "token": made["token"] })).expect("a session");
        let in_session = Credentials::Bearer(session["session"].as_str().expect("a secret").to_owned());
        check_confined(world, &in_session);

        // It reads what its repositories are about, also when that changes.
        let reads = |reference: &str| outcome(call("get_entity", json!({ "reference": reference })));
        world.ok("update_repository", json!({ "repository": "github.com/acme/shop", "projects": ["OTH"] }));
        assert_eq!((reads("SHOP-EP-001"), reads("OTH-EP-001")), ("NOT_FOUND", "ok"));
        // Another repository of a project that it reads is not its own.
        assert_eq!(outcome(call("push_evidence", run_of("other"))), "FORBIDDEN");
        world.ok("delete_repository", json!({ "repository": "github.com/acme/shop" }));
        assert_eq!((reads("SHOP-EP-001"), reads("OTH-EP-001")), ("NOT_FOUND", "NOT_FOUND"));
        assert_ne!(outcome(call("push_evidence", run_of("other"))), "ok");
    });
}

#[test]
fn the_scope_evidence_and_repositories_belong_together() {
    on_every_store(|world| {
        Shop::open(world);
        let shop = json!(["github.com/acme/shop"]);
        for (changes, field) in [
            (json!({ "scopes": ["evidence"] }), "repositories"),
            (json!({ "scopes": ["evidence"], "repositories": [] }), "repositories"),
            (json!({ "scopes": ["evidence"], "repositories": ["unknown"] }), "repositories"),
            (json!({ "scopes": ["write"], "repositories": shop }), "repositories"),
            (json!({ "repositories": shop }), "repositories"),
            (json!({ "scopes": ["evidence", "read"], "repositories": shop }), "scopes"),
            (json!({ "scopes": ["evidence"], "repositories": shop, "projects": ["OTH"] }), "projects"),
        ] {
            let refused = world
                .call("create_token", with(json!({ "name": "ci" }), changes.clone()))
                .expect_err("a refusal");
            let fields: Vec<&str> = refused.fields.iter().map(|field| field.field.as_str()).collect();
            assert_eq!(fields, [field], "{changes}: {refused}");
        }
        world.ok("create_token", json!({ "name": "ci", "scopes": ["evidence"], "repositories": shop }));
        world.ok("create_token", json!({ "name": "plain" }));
        for (token, changes, field) in [
            ("ci", json!({ "scopes": ["write"] }), "scopes"),
            ("ci", json!({ "projects": null }), "projects"),
            ("plain", json!({ "scopes": ["evidence"] }), "scopes"),
        ] {
            let mut arguments = changes.clone();
            arguments["token_id"] = json!(token);
            let refused = world.call("update_token", arguments).expect_err("a refusal");
            assert_eq!(refused.fields[0].field, field, "{token} {changes}: {refused}");
        }
        let renamed =
            world.ok("update_token", json!({ "token_id": "ci", "name": "pipeline", "scopes": ["evidence"] }));
        assert_eq!((&renamed["repositories"], &renamed["projects"]), (&shop, &json!(["SHOP"])));
        // Who does not see a repository cannot make a token for it.
        let stranger = world.member("carol", "User");
        let wanted = json!({ "name": "ci", "scopes": ["evidence"], "repositories": shop });
        assert_eq!(outcome(world.call_as(stranger, "create_token", wanted)), "NOT_FOUND");
    });
}

#[test]
fn the_number_of_a_repository_is_a_number() {
    on_every_store(|world| {
        let named =
            json!({ "name": "shop", "projects": ["DEFAULT"], "issuer": ISSUER, "external_id": "acme/shop" });
        assert!(world.refused("create_repository", named).contains("expected the number of the repository"));
    });
}
