//! Everything that speaks of a requirement by meaning says the same of it; everything literal says what Duvet says.

use std::fs;
use std::process::Command;

use proptest::prelude::*;
use serde_json::Value;
use trace::model::{Model, TraceProgress, TraceStatus};
use trace::project::{Index, Options, Project, open_named};
use trace::report::html::Page;
use trace::report::{Report, json};
use trace::summary::TraceSummary;

use crate::random::{Files, annotation, project, write};

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn page_summary_and_index_agree_on_every_requirement(files in project()) {
        let folder = tempfile::tempdir().unwrap();
        write(folder.path(), &files);
        let options = Options { root: folder.path().to_owned(), ..Options::default() };
        let model = Project::open(options.clone(), &|_| None).unwrap().load(None, &mut |_, _| {});
        let index = Index::open(Options { is_confined: true, ..options }, Box::new(|_| None));
        prop_assert_eq!(statuses(&model), statuses(&index.model()));
        prop_assert_eq!(page(&model), statuses(&model));
        prop_assert_eq!(TraceSummary::of(&model).counts(), model.counts());
        let uncited = model.uncited(true);
        for number in 0..model.catalogue.requirements.len() as u32 {
            let state = model.state(number);
            let is_open = matches!(state.status, TraceStatus::NotStarted);
            prop_assert_eq!(uncited.contains(&number), is_open, "uncited: {:?}", state);
            let is_implemented = state.progress == TraceProgress::Fully;
            prop_assert_eq!(is_implemented, matches!(state.status, TraceStatus::Done | TraceStatus::NeedsTests));
            prop_assert_eq!(is_implemented, state.n_implemented == state.size);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn a_citation_is_valid_if_the_project_loads_with_it(files in project(), comment in written()) {
        let folder = tempfile::tempdir().unwrap();
        let before = [&files[..2], &[("docs/other.md", "# Other\n\nA cup MAY be full.\n".to_owned())]].concat();
        write(folder.path(), &before);
        let options = Options { root: folder.path().to_owned(), is_confined: true, ..Options::default() };
        let index = Index::open(options.clone(), Box::new(|_| None));
        let open = |annotation: &trace::Annotation| open_named(&options, &|_| None, annotation);
        let verdict = index.model().validate(&comment, None, &open);
        write(folder.path(), &[("src/lib.rs", comment.clone())]);
        let after = Index::open(options.clone(), Box::new(|_| None)).model();
        let errors: Vec<_> = after.problems().filter(|problem| problem.is_error()).collect();
        prop_assert_eq!(verdict.is_valid(), errors.is_empty(), "{}: {:?} {:?}", comment, verdict, errors);
        let again = after.validate(&comment, Some("src/lib.rs"), &open);
        if comment.contains("type=spec") {
            // It has made a requirement of what it quotes, so the advice about it may differ.
            prop_assert_eq!((again.error, again.code), (verdict.error.clone(), verdict.code));
        } else {
            prop_assert_eq!(again, verdict.clone());
        }
        for problem in errors {
            prop_assert!(verdict.code.is_some());
            let (_, whole) = problem.annotation.clone().expect("a citation is wrong");
            prop_assert!(!after.validate(&whole, Some("src/lib.rs"), &open).is_valid(), "{}", whole);
        }
        if let Some(lines) = verdict.lines.filter(|_| verdict.error.is_some()) {
            let corrected = after.validate(&lines, None, &open);
            let is_other = corrected.error != verdict.error;
            prop_assert!(corrected.is_valid() || is_other, "{} became {}: {:?}", comment, lines, corrected);
        }
    }
}

/// The comment of an annotation that may be wrong in any way.
fn written() -> impl Strategy<Value = String> {
    const TARGETS: &[&str] = &[
        "pot.md#pot",
        "./pot.md#Pot",
        "pot.md#lids",
        "pot.md",
        "pot.md#",
        "pot-md#pot",
        "docs/other.md#other",
        "cup.md#pot",
        "/pot.md#pot",
        "https://x:y/#pot",
        "https://www.rfc-editor.org/rfc/rfc9#section-1",
    ];
    const MORE: &[&str] =
        &["", "", "", "//= type=tset\n", "//= level=HIGH\n", "//= colour=red\n", "//= type=todo\n"];
    (annotation(TARGETS), prop::sample::select(MORE), prop::bool::ANY).prop_map(
        |(comment, more, is_first)| {
            let (target, rest) = comment.split_once('\n').unwrap();
            match is_first {
                true => format!("{more}{comment}"),
                false => format!("{target}\n{more}{rest}"),
            }
        },
    )
}

/// The identifier of each requirement with its status and label.
fn statuses(model: &Model) -> Vec<String> {
    let describe = |number: u32| {
        let state = model.state(number);
        let identifier = &model.catalogue.identifier(number)[..8];
        format!("{identifier} {} {}", state.status.name(), state.label.name())
    };
    (0..model.catalogue.requirements.len() as u32).map(describe).collect()
}

/// The same as the page shows it. Where its text is marked must fit: a requirement is done if all of its text is.
fn page(model: &Model) -> Vec<String> {
    let mut html = Vec::new();
    Page::new("pot".to_owned(), model).write(&mut html).unwrap();
    let html = String::from_utf8(html).unwrap();
    let (_, rest) = html.split_once("id=\"data\">").unwrap();
    let data: Value = serde_json::from_str(rest.split_once("</script>").unwrap().0).unwrap();
    let mut shown = Vec::new();
    for specification in data["specifications"].as_array().unwrap() {
        for (number, requirement) in specification["requirements"].as_array().unwrap().iter().enumerate() {
            let status = TraceStatus::ALL[requirement["t"].as_u64().unwrap() as usize];
            let label = requirement["d"].as_str().unwrap();
            shown.push(format!("{} {} {label}", requirement["id"].as_str().unwrap(), status.name()));
            let ranks = ranks(specification, number as u64);
            let is_all =
                |allowed: &[TraceStatus]| ranks.iter().all(|rank| allowed.contains(&TraceStatus::ALL[*rank]));
            assert_eq!(is_all(&[TraceStatus::Done]), status == TraceStatus::Done, "{requirement} {ranks:?}");
            let is_implemented = is_all(&[TraceStatus::Done, TraceStatus::NeedsTests]);
            assert_eq!(is_implemented, status >= TraceStatus::NeedsTests, "{requirement} {ranks:?}");
            assert_eq!(
                is_all(&[TraceStatus::NotStarted]),
                status == TraceStatus::NotStarted,
                "{requirement} {ranks:?}"
            );
        }
    }
    shown
}

/// How the page marks the pieces of a requirement that are not blank.
fn ranks(specification: &Value, requirement: u64) -> Vec<usize> {
    let mut ranks = Vec::new();
    let sections = specification["sections"].as_array().unwrap().iter();
    for line in sections.flat_map(|section| section["lines"].as_array().unwrap()) {
        for piece in line.as_array().into_iter().flatten().filter_map(Value::as_array) {
            let is_blank = piece[0].as_str().unwrap().trim().is_empty();
            if !is_blank && piece[2].as_array().unwrap().contains(&requirement.into()) {
                ranks.push(piece[1].as_u64().unwrap() as usize);
            }
        }
    }
    ranks
}

#[test]
#[ignore = "needs the Duvet that DUVET names"]
fn random_projects_are_reported_as_duvet_reports_them() {
    let program = std::env::var_os("DUVET").expect("DUVET names the program");
    let mut runner = proptest::test_runner::TestRunner::new(ProptestConfig::with_cases(300));
    let compare = |files: Files| {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        write(&root, &files);
        let options = Options { root: root.clone(), ..Options::default() };
        let model = Project::open(options, &|_| None).unwrap().load(None, &mut |_, _| {});
        let mut command = Command::new(&program);
        command.args(["report", "--json", "report.json"]).current_dir(&root).env("CI", "false");
        let output = command.output().unwrap();
        let log = String::from_utf8_lossy(&output.stderr);
        // It panics where an annotation quotes something of an empty section.
        if !log.contains("panicked") {
            prop_assert_eq!(output.status.success(), !model.has_errors(), "{}", log);
        }
        if output.status.success() {
            let mut ours = Vec::new();
            json::write(&Report::of(&model), &mut ours).unwrap();
            let theirs = fs::read_to_string(root.join("report.json")).unwrap();
            prop_assert_eq!(String::from_utf8(ours).unwrap(), theirs);
        }
        Ok(())
    };
    runner.run(&project(), compare).unwrap();
}
