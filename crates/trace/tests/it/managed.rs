//! Citations of managed requirements: names, units, and what becomes of a citation when the text changes.

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use expect_test::{Expect, expect};
use proptest::prelude::*;
use tempfile::TempDir;
use trace::managed::{
    Gone, Granularity, Lookup, ManagedKind, ManagedName, ManagedText, ManagedTexts, body, render, units,
};
use trace::model::{Model, TraceStatus};
use trace::project::{Index, Options};
use trace::{Code, Diagnostic};

const TWO_SENTENCES: &str = "A link MUST stop working after an hour. It SHOULD be sent once.";

#[test]
fn a_requirement_has_names_of_four_forms() {
    for (target, short, long) in [
        ("spexus://REQ-027", "spexus://REQ-027", "spexus://DEFAULT/REQ-027"),
        ("spexus://AC-031", "spexus://AC-031", "spexus://DEFAULT/AC-031"),
        ("spexus://SHOP-REQ-027", "spexus://SHOP-REQ-027", "spexus://SHOP/REQ-027"),
        ("spexus://REQ-027@4", "spexus://REQ-027@4", "spexus://DEFAULT/REQ-027@4"),
        ("spexus://SHOP/REQ-027#text", "spexus://SHOP-REQ-027", "spexus://SHOP/REQ-027"),
        ("spexus://SHOP/REQ-1027", "spexus://SHOP-REQ-1027", "spexus://SHOP/REQ-1027"),
        ("spexus://S2-AC-100@12", "spexus://S2-AC-100@12", "spexus://S2/AC-100@12"),
    ] {
        let name = ManagedName::parse(target).expect(target);
        assert_eq!((name.to_string().as_str(), name.long().as_str()), (short, long), "{target}");
    }
}

#[test]
fn a_wrong_name_is_told_with_the_right_one() {
    let checks = [
        ("LIB-REQ-001", "did you mean `spexus://LIB-REQ-001`?"),
        ("SPEXUS://REQ-027", "did you mean `spexus://REQ-027`?"),
        ("spexus://req-27", "did you mean `spexus://REQ-027`?"),
        ("spexus://shop/req-027#text", "did you mean `spexus://SHOP-REQ-027`?"),
        ("spexus://REQ-27", "expected a number of three digits or more"),
        ("spexus://REQ-0027", "did you mean `spexus://REQ-027`?"),
        ("spexus://REQ-000", "expected a number of three digits or more"),
        ("spexus://REQ-027@v4", "did you mean `spexus://REQ-027@4`?"),
        ("spexus://REQ-027@", "expected a version such as `@4`"),
        ("spexus://REQ-027@99999999999999999999", "expected a version such as `@4`"),
        ("spexus://SHOP/REQ-027#title", "has one section, `text`, and not `title`"),
        ("spexus://EP-001", "only requirements (REQ) and acceptance criteria (AC) can"),
        ("spexus://SHOP/A/REQ-027", "expected a reference such as `REQ-027`"),
        ("spexus://../REQ-027", "is not the key of a project"),
        ("spexus://X/REQ-027", "is not the key of a project: 2 to 10 capitals and digits"),
        ("spexus://", "expected a reference such as `REQ-027`"),
        ("spexus://ЭП-001", "expected a reference"),
        (&format!("spexus://{}", "A".repeat(1000)), "too long"),
    ];
    for (target, expected) in checks {
        let error = ManagedName::parse(target).expect_err(target).to_string();
        assert!(error.contains(expected), "{target}: {error}");
    }
}

#[test]
fn sentences_are_units_and_the_marks_of_lists_are_not_text() {
    check_units(
        "Why: mail is read by others.\n\n- A link MUST stop\n  working after an hour.\n- It SHOULD be sent once.\n",
        Granularity::Sentences,
        expect![[r#"
            MUST 51c54058bef2e2de4d3dd7e2e71b9c00 A link MUST stop working after an hour.
            SHOULD 2f1583c24dd831926e08ad1f9f709424 It SHOULD be sent once."#]],
    );
}

#[test]
fn a_text_without_such_sentences_is_one_unit() {
    check_units(
        "Links expire.\n\n* soon\n* for good\n",
        Granularity::Sentences,
        expect!["AUTO 2a3dd782b8b0da9811caacbbc11a5aca Links expire. soon for good"],
    );
    check_units("", Granularity::Sentences, expect![""]);
    check_units("  \n", Granularity::Whole, expect![""]);
}

#[test]
fn a_criterion_is_one_unit() {
    check_units(
        TWO_SENTENCES,
        Granularity::Whole,
        expect![
            "MUST c227f1955e77c790c7c9e8d436f7fa43 A link MUST stop working after an hour. It SHOULD be sent once."
        ],
    );
}

#[test]
fn headings_do_not_end_the_text() {
    let text = "# Limits\nA link MUST expire.\n\nNot after\na day\n---\n## {#other}\nIt MUST NOT be sent twice.\n> # Quoted\n\n```\n# code MUST stay\n```\nEnd\n===";
    check_units(
        text,
        Granularity::Sentences,
        expect![[r#"
        MUST f20e7e24b81b05be37c93ba39d1521cf A link MUST expire.
        MUST b58499ba9074ad79a1e130878afd812a It MUST NOT be sent twice.
        MUST d23d373071b831b8c73c2c3923be422d ``` # code MUST stay ``` End \==="#]],
    );
    let written = render(&managed("REQ-027", text));
    let again = render(&managed("REQ-027", body(&written)));
    assert_eq!(written, again, "writing what was read changes nothing");
}

#[test]
fn a_pulled_file_is_the_title_and_the_text() {
    let text = ManagedText { title: "Links *expire* {#x}\nsoon".into(), ..managed("REQ-027", TWO_SENTENCES) };
    expect![[r#"
        # SHOP-REQ-027 Links *expire* {#x} soon {#text}

        A link MUST stop working after an hour. It SHOULD be sent once.
    "#]]
    .assert_eq(&render(&text));
    assert_eq!(body(&render(&text)), TWO_SENTENCES);
}

#[test]
fn a_citation_covers_the_sentence_it_quotes() {
    let project = Project::new(&[managed("REQ-027", TWO_SENTENCES)]);
    for target in
        ["spexus://REQ-027", "spexus://SHOP-REQ-027", "spexus://SHOP/REQ-027#text", "spexus://REQ-027@1"]
    {
        project
            .write("src/a.rs", &format!("//= {target}\n//# A link MUST stop working\n//# after an hour.\n"));
        check_states(&project.model(), "needs tests, not started");
    }
    assert_eq!(project.model().diagnostics(), []);
}

#[test]
fn a_pin_without_a_quote_covers_every_unit_and_a_bare_name_none() {
    let project = Project::new(&[managed("REQ-027", TWO_SENTENCES)]);
    project.write("src/a.rs", "//= spexus://REQ-027@1\n");
    check_states(&project.model(), "needs tests, needs tests");
    project.write("src/a.rs", "//= spexus://REQ-027\n");
    check_states(&project.model(), "not started, not started");
}

#[test]
fn a_quote_that_occurs_twice_covers_both_with_a_warning() {
    let text = "A link MUST expire after an hour. A code MUST expire after an hour.";
    let project = Project::new(&[managed("REQ-027", text)]);
    project.write("src/a.rs", "//= spexus://REQ-027\n//# MUST expire after an hour.\n");
    let model = project.model();
    check_states(&model, "in progress, in progress");
    check_problems(
        &model,
        expect![[r#"
        Warning ambiguous-quote src/a.rs:2:5
          the quote stands in 2 places of SHOP-REQ-027, and covers all of them
          quote the whole sentence to cite one of them"#]],
    );
}

#[test]
fn an_edited_sentence_makes_its_citation_stale() {
    let edited = "A link MUST stop working after two hours. It SHOULD be sent once.";
    let project = Project::new(&[edited_to(edited)]);
    project.write(
        "src/a.py",
        "#= spexus://REQ-027\n#= type=test\n## A link MUST stop working after an hour.\n\n#= spexus://REQ-027\n## It SHOULD be sent once.\n",
    );
    let model = project.model();
    check_states(&model, "not started, needs tests");
    check_problems(
        &model,
        expect![[r#"
        Error stale-citation src/a.py:3:4
          SHOP-REQ-027 changed in version 7: this quote is from version 4
          the difference is: A link MUST stop working after [-an hour.-]{+two hours.+}
          write instead:
        #= spexus://REQ-027
        #= type=test
        ## A link MUST stop working after two hours."#]],
    );
}

#[test]
fn a_sentence_that_begins_otherwise_now_is_another() {
    let edited = "Unless it is renewed, a link MUST stop. It SHOULD be sent once.";
    let before = (1, "a link MUST stop. It SHOULD be sent once.".to_owned());
    let project = Project::new(&[ManagedText { earlier: vec![before], ..edited_to(edited) }]);
    project.write("src/a.rs", "//= spexus://REQ-027\n//# a link MUST stop.\n");
    check_problems(
        &project.model(),
        expect![[r#"
        Error stale-citation src/a.rs:2:5
          SHOP-REQ-027 changed in version 7: this quote is from version 1
          the difference is: {+Unless it is renewed,+} a link MUST stop.
          write instead:
        //= spexus://REQ-027
        //# Unless it is renewed, a link MUST stop."#]],
    );
}

#[test]
fn a_removed_sentence_is_told_as_removed() {
    let project = Project::new(&[edited_to("It SHOULD be sent once.")]);
    project.write("src/a.rs", "//= spexus://REQ-027\n//# A link MUST stop working after an hour.\n");
    check_problems(
        &project.model(),
        expect![[r#"
        Error stale-citation src/a.rs:2:5
          SHOP-REQ-027 changed in version 7: this quote is from version 4
          its sentence was removed: remove the citation, or cite what replaces it"#]],
    );
}

#[test]
fn an_old_pin_is_suspect_and_covers() {
    let project =
        Project::new(&[edited_to("A link MUST stop working after two hours. It SHOULD be sent once.")]);
    project.write("src/a.rs", "//= spexus://REQ-027@4\n");
    let model = project.model();
    check_states(&model, "needs tests, needs tests");
    check_problems(
        &model,
        expect![[r#"
        Warning suspect-citation src/a.rs:1:5
          SHOP-REQ-027 changed in version 7, and this citation pins version 4
          the difference is: A link MUST stop working after [-an hour.-]{+two hours.+} It SHOULD be sent once.
          look whether the code still fits, then pin the new version
          write instead:
        //= spexus://REQ-027@7"#]],
    );
    assert!(!model.has_errors());
}

#[test]
fn what_was_never_said_is_broken() {
    let project = Project::new(&[managed("REQ-027", TWO_SENTENCES)]);
    project.write(
        "src/a.rs",
        "//= spexus://REQ-027\n//# A link MUST stop working after an our.\n\n//= spexus://REQ-027@9\n\n//= spexus://REQ-027\n//# Tea.\n",
    );
    check_problems(
        &project.model(),
        expect![[r#"
        Error broken-citation src/a.rs:2:5
          SHOP-REQ-027 does not say this, and never did
          the nearest text is: A link MUST stop working after an hour.
          the difference is: A link MUST stop working after an [-our.-]{+hour.+}
          write instead:
        //= spexus://REQ-027
        //# A link MUST stop working after an hour.
        Error broken-citation src/a.rs:4:5
          SHOP-REQ-027 does not have this version yet: its newest is 2
          write instead:
        //= spexus://REQ-027@1
        Error broken-citation src/a.rs:7:5
          SHOP-REQ-027 does not say this, and never did"#]],
    );
}

#[test]
fn what_is_deleted_or_obsolete_is_gone() {
    let gone = |reference: &str, gone| ManagedText { gone: Some(gone), ..managed(reference, TWO_SENTENCES) };
    let project = Project::new(&[gone("REQ-027", Gone::Deleted), gone("AC-031", Gone::Obsolete)]);
    project.write("src/a.rs", "//= spexus://REQ-027\n//# It SHOULD be sent once.\n\n//= spexus://AC-031@1\n");
    let model = project.model();
    check_states(&model, "");
    check_problems(
        &model,
        expect![[r#"
        Error gone-requirement src/a.rs:1:5
          SHOP-REQ-027 was deleted
          remove the citation, or cite what replaces it
        Error gone-requirement src/a.rs:4:5
          SHOP-AC-031 is obsolete
          remove the citation, or cite what replaces it"#]],
    );
}

#[test]
fn unknown_requirements_wrong_names_and_bare_references_are_told() {
    let project = Project::new(&[managed("REQ-027", TWO_SENTENCES)]);
    project.write(
        "src/a.rs",
        "//= spexus://REQ-028\n\n//= spexus://REQ-27\n\n//= LIB-REQ-001\n//# x\n\n//= spexus://SHOP/REQ-027#txt\n",
    );
    check_problems(
        &project.model(),
        expect![[r#"
        Error unknown-requirement src/a.rs:1:5
          SHOP-REQ-028 does not exist, or is not visible
          did you mean `spexus://SHOP-REQ-027`?
        Error managed-target src/a.rs:3:5
          expected a number of three digits or more, such as `REQ-027`
          did you mean `spexus://REQ-027`?
        Error missing-specification src/a.rs:5:5
          specification not found: LIB-REQ-001
          a managed requirement is cited as `spexus://LIB-REQ-001`
        Error unknown-section src/a.rs:8:5
          spexus://SHOP/REQ-027 has no section `txt`
          did you mean `text`?"#]],
    );
}

#[test]
fn without_a_source_the_short_form_is_told_and_the_long_one_is_a_file() {
    let project = Project::new(&[]);
    let text = render(&managed("REQ-027", TWO_SENTENCES));
    project.write(".duvet/specs/SHOP/REQ-027.txt", &text);
    project.write(
        "src/a.rs",
        "//= spexus://REQ-027\n\n//= spexus://SHOP/REQ-027#text\n//# It SHOULD be sent once.\n",
    );
    let options = Options { managed: None, ..project.options() };
    check_problems(
        &Index::open(options, Box::new(|_| None)).model(),
        expect![[r#"
            Error unreachable-store src/a.rs:1:5
              the text of REQ-027 is not known: there is no .spexus/project.toml that names its project"#]],
    );
}

#[test]
fn citations_in_go_are_read_as_gofmt_leaves_them() {
    let project = Project::new(&[managed("REQ-027", TWO_SENTENCES)]);
    let citation = "// ==== links ====\n// = 5 links\n\n// = spexus://REQ-027\n// = type=test\n// # A link MUST stop working after an hour.\n// # It SHOULD be\n//# sent once.\nfunc TestLink() {}\n";
    project.write("src/a.go", citation);
    let model = project.model();
    assert_eq!(model.diagnostics(), []);
    check_states(&model, "in progress, in progress");
    assert_eq!(trace::project::strays(&model), []);
    project.write("src/a.go", "");
    project.write("src/a.rs", citation);
    check_states(&project.model(), "");
}

#[test]
fn the_index_follows_changes_of_the_store_that_matter() {
    let project = Project::new(&[managed("REQ-027", TWO_SENTENCES), managed("REQ-028", "x")]);
    project.write("src/a.rs", "//= spexus://REQ-027\n//# It SHOULD be sent once.\n");
    let mut index = Index::open(project.options(), Box::new(|_| None));
    let n_builds = index.n_builds();
    project.texts.change(|texts| texts[1].text = "y".to_owned());
    assert_eq!(index.follow_managed(), Default::default());
    assert_eq!(index.n_builds(), n_builds, "nothing cites it");
    project.texts.change(|texts| {
        texts[0] = edited_to("A link MUST stop working after an hour. It SHOULD be sent twice.");
    });
    assert!(index.follow_managed().catalogue);
    let codes: Vec<Code> = index.model().problems().map(|problem| problem.code).collect();
    assert_eq!(codes, [Code::StaleCitation]);
    assert_eq!(index.follow_managed(), Default::default());
}

#[test]
fn a_citation_is_checked_before_anything_cites_the_requirement() {
    let project =
        Project::new(&[edited_to("A link MUST stop working after two hours. It SHOULD be sent once.")]);
    project.write("src/a.rs", "");
    let model = project.model();
    let options = project.options();
    let check = |citation: &str, expected: Expect| {
        let open =
            |annotation: &trace::Annotation| trace::project::open_named(&options, &|_| None, annotation);
        let verdict = model.validate(citation, Some("src/a.rs"), &open);
        let shown =
            format!("{:?} {:?}\n{}", verdict.error, verdict.warnings, verdict.lines.unwrap_or_default());
        expected.assert_eq(&shown);
    };
    check(
        "//= spexus://REQ-027\n//# It SHOULD be sent once.",
        expect![[r#"
        None []
    "#]],
    );
    check(
        "//= spexus://REQ-027@7",
        expect![[r#"
        None []
    "#]],
    );
    check(
        "//= spexus://REQ-027@6",
        expect![[r#"
        None ["SHOP-REQ-027 changed in version 7, and this citation pins version 6"]
        //= spexus://REQ-027@7"#]],
    );
    check(
        "//= spexus://REQ-027\n//# A link MUST stop working after an hour.",
        expect![[r#"
        Some("SHOP-REQ-027 changed in version 7: this quote is from version 4") []
        //= spexus://REQ-027
        //# A link MUST stop working after two hours."#]],
    );
    check(
        "//= LIB-REQ-001\n//# x",
        expect![[r#"
        Some("Specification not found") []
        //= spexus://LIB-REQ-001
        //# x"#]],
    );
    check(
        "//= spexus://REQ-099\n//# x",
        expect![[r#"
        Some("Requirement not found") []
        //= spexus://SHOP-REQ-027
        //# x"#]],
    );
}

#[test]
fn every_citation_tells_its_state_its_pin_and_its_units() {
    let project =
        Project::new(&[edited_to("A link MUST stop working after two hours. It SHOULD be sent once.")]);
    project.write(
        "src/a.rs",
        "//= spexus://REQ-027\n//# A link MUST stop working after an hour.\n\n//= spexus://REQ-027\n//# It SHOULD be sent once.\n\n//= spexus://REQ-027@4\n\n//= spexus://REQ-027\n\n//= spexus://REQ-027\n//# working after an hour\n",
    );
    let model = project.model();
    let shown: Vec<String> = model
        .managed_citations()
        .map(|one| {
            let earlier: Vec<&str> = one.earlier.iter().map(|unit| unit.text.as_str()).collect();
            let (line, state, n_units) = (one.annotation.line, one.state.name(), one.units.len());
            format!("{line} {} {state} {n_units} {earlier:?}", one.name)
        })
        .collect();
    expect![[r#"
        1 spexus://SHOP-REQ-027 stale 0 ["A link MUST stop working after an hour."]
        4 spexus://SHOP-REQ-027 current 1 []
        7 spexus://SHOP-REQ-027@4 suspect 2 []
        9 spexus://SHOP-REQ-027 current 0 []
        11 spexus://SHOP-REQ-027 stale 0 ["A link MUST stop working after an hour."]"#]]
    .assert_eq(&shown.join("\n"));
}

#[test]
fn names_of_a_requirement_lead_to_its_units() {
    let project = Project::new(&[managed("REQ-027", TWO_SENTENCES)]);
    project.write("src/a.rs", "//= spexus://REQ-027\n");
    let model = project.model();
    let bare = model.validate("//= REQ-027\n//# x", None, &|annotation| {
        trace::project::open_named(&project.options(), &|_| None, annotation)
    });
    assert_eq!(bare.nearest.as_deref(), Some("spexus://REQ-027"), "a bare reference is not a target");
    for name in [
        "REQ-027",
        "SHOP-REQ-027",
        "spexus://REQ-027",
        "spexus://SHOP/REQ-027#text",
        "//= spexus://REQ-027@1",
    ] {
        assert_eq!(model.find(name), [0, 1], "{name}");
    }
    assert_eq!(model.lines_for(1, Some("src/a.rs")), "//= spexus://REQ-027\n//# It SHOULD be sent once.");
    let hashes: Vec<String> =
        units(TWO_SENTENCES, Granularity::Sentences).into_iter().map(|unit| unit.hash).collect();
    assert_eq!([0, 1].map(|number| model.catalogue.identifier(number)[..32].to_owned()).to_vec(), hashes);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(60) })]

    #[test]
    fn editing_one_sentence_makes_exactly_its_citations_stale(
        subjects in prop::collection::vec("[a-z]{3,8}", 1..6),
        edited in 0..6_usize,
        edit in 0..4_u8,
        is_list in any::<bool>(),
    ) {
        let edited = edited % subjects.len();
        let sentence = |(number, subject): (usize, &String)| {
            format!("Part {number} of the {subject} MUST be {subject} within {number} seconds.")
        };
        let before: Vec<String> = subjects.iter().enumerate().map(sentence).collect();
        let mut after = before.clone();
        after[edited] = match edit {
            0 => after[edited].replace("seconds", "minutes"),
            1 => format!("Where it is hot, {}", after[edited]),
            2 => after[edited].replace('.', " or two."),
            _ => after[edited].replace("MUST", "SHOULD"),
        };
        let text = |sentences: &[String]| match is_list {
            true => sentences.iter().map(|sentence| format!("* {sentence}\n")).collect::<String>(),
            false => sentences.join(" "),
        };
        let now = ManagedText { earlier: vec![(4, text(&before))], ..edited_to(&text(&after)) };
        let project = Project::new(&[now]);
        let citations = before.iter().map(|sentence| format!("//= spexus://REQ-027\n//# {sentence}\n\n"));
        project.write("src/a.rs", &citations.collect::<String>());
        let model = project.model();
        let problems: Vec<(Code, u32)> =
            model.problems().map(|problem| (problem.code, problem.annotation.as_ref().unwrap().0)).collect();
        prop_assert_eq!(problems, [(Code::StaleCitation, edited as u32 * 3 + 1)]);
        let corrected = model.problems().next().unwrap().help.last().unwrap().clone();
        let lines = corrected.strip_prefix("write instead:\n").unwrap().to_owned();
        project.write("src/a.rs", &lines);
        prop_assert_eq!(project.model().diagnostics(), []);
    }
}

pub fn managed(reference: &str, text: &str) -> ManagedText {
    ManagedText {
        project: "SHOP".into(),
        reference: reference.into(),
        kind: ManagedKind::of(reference).unwrap(),
        title: "Links expire".into(),
        text: text.into(),
        content_version: 1,
        version: 2,
        gone: None,
        earlier: Vec::new(),
    }
}

/// A requirement that had two sentences up to version 4, and has another text since version 7.
fn edited_to(text: &str) -> ManagedText {
    let earlier = vec![(1, "Links expire.".to_owned()), (4, TWO_SENTENCES.to_owned())];
    ManagedText { content_version: 7, version: 7, earlier, ..managed("REQ-027", text) }
}

/// A project with a citation of an edited sentence.
pub fn stale_model() -> Arc<Model> {
    let project =
        Project::new(&[edited_to("A link MUST stop working after two hours. It SHOULD be sent once.")]);
    project.write("src/a.rs", "//= spexus://REQ-027\n//# A link MUST stop working after an hour.\n");
    project.model()
}

#[track_caller]
fn check_units(text: &str, granularity: Granularity, expected: Expect) {
    let shown: Vec<String> = units(text, granularity)
        .iter()
        .map(|unit| format!("{} {} {}", unit.level, unit.hash, unit.text))
        .collect();
    expected.assert_eq(&shown.join("\n"));
}

#[track_caller]
fn check_states(model: &Model, expected: &str) {
    let numbers = 0..model.catalogue.requirements.len() as u32;
    let states: Vec<&str> = numbers.map(|number| TraceStatus::name(model.state(number).status)).collect();
    assert_eq!(states.join(", "), expected);
}

fn check_problems(model: &Model, expected: Expect) {
    let show = |problem: &Diagnostic| {
        let mut lines = vec![format!("{:?} {} {}", problem.severity, problem.code, problem.places[0])];
        lines.push(problem.message.clone());
        lines.extend(problem.help.iter().cloned());
        lines.join("\n  ")
    };
    expected.assert_eq(&model.diagnostics().iter().map(show).collect::<Vec<_>>().join("\n"));
}

/// A project whose managed requirements are in memory.
struct Project {
    folder: TempDir,
    texts: Arc<InMemory>,
}

impl Project {
    fn new(texts: &[ManagedText]) -> Project {
        let project = Project { folder: tempfile::tempdir().unwrap(), texts: Arc::default() };
        project.texts.change(|known| known.extend_from_slice(texts));
        project
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap_or(Path::new(""))).unwrap();
        fs::write(path, text).unwrap();
    }

    fn options(&self) -> Options {
        Options {
            root: self.folder.path().to_path_buf(),
            source_patterns: vec!["src/*.rs".into(), "src/*.go".into(), "(#=,##)src/*.py".into()],
            specification_path: Some(".duvet".into()),
            managed: Some(self.texts.clone()),
            ..Options::default()
        }
    }

    fn model(&self) -> Arc<Model> {
        Index::open(self.options(), Box::new(|_| None)).model()
    }
}

/// Texts that are in memory.
pub fn in_memory(texts: &[ManagedText]) -> Arc<dyn ManagedTexts> {
    Project::new(texts).texts
}

/// A store as small as it can be.
#[derive(Debug, Default)]
struct InMemory {
    texts: Mutex<Vec<ManagedText>>,
    edition: AtomicU64,
}

impl InMemory {
    fn change(&self, change: impl FnOnce(&mut Vec<ManagedText>)) {
        change(&mut self.texts.lock().unwrap());
        self.edition.fetch_add(1, Ordering::SeqCst);
    }
}

impl ManagedTexts for InMemory {
    fn project(&self) -> &str {
        "SHOP"
    }

    fn look_up(&self, names: &[ManagedName]) -> Vec<Lookup> {
        let texts = self.texts.lock().unwrap();
        let look_up = |name: &ManagedName| match texts.iter().find(|text| text.name() == *name) {
            Some(text) => Lookup::Found(text.clone()),
            None => Lookup::Unknown { nearest: texts.first().map(|text| text.name().reference_id()) },
        };
        names.iter().map(look_up).collect()
    }

    fn edition(&self) -> u64 {
        self.edition.load(Ordering::SeqCst)
    }
}
