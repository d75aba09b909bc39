//! Input that is made to take long: time must grow with its size, not with the square of it.
//!
//! The limits are generous, since machines are slow and busy; what takes quadratic time takes minutes here.

use std::fs;
use std::time::{Duration, Instant};

use trace::model::Model;
use trace::project::{Options, Project};
use trace::specification::{Format, Specification};

const TIME_MAX: Duration = Duration::from_secs(25);

#[test]
fn thirty_thousand_equal_headings_are_read() {
    let text = "## Equal heading\n\nx\n".repeat(30_000);
    let model = load(&text, "//= spec.md#equal-heading-29999\n");
    assert_eq!(model.catalogue.sections.len(), 30_000);
    assert!(!model.has_errors(), "{:?}", model.diagnostics());
}

#[test]
fn headings_are_numbered_around_ids_that_are_taken() {
    let text = "# A\n# A {#a-1}\n# A\n# A\n# A {#a-1}\n# A {#a-4}\n# A\n# A\n";
    let specification = Specification::parse(text.into(), "a.md", Format::Auto);
    let ids: Vec<&str> = specification.sections.iter().map(|section| &*section.id).collect();
    assert_eq!(ids, ["a", "a-1", "a-2", "a-3", "a-1-1", "a-4", "a-5", "a-6"]);
}

#[test]
fn long_quotes_are_looked_for_in_text_that_repeats_itself() {
    let text = format!("# A\n\n{}\n", "a".repeat(2_000_000));
    // Each is another quote, so that none is known from the one before.
    let quote =
        |number: usize| format!("//= spec.md#a\n//# {}b{}\n\n", "a".repeat(50_000), "c".repeat(number));
    let model = load(&text, &(0..5).map(quote).collect::<String>());
    // The first is there but for one byte.
    assert_eq!(model.problems().count(), 4);
    assert_eq!(model.all_citations().next().map(|citation| citation.found().spans[0].len()), Some(50_001));
}

#[test]
fn a_sentence_may_have_as_many_keywords_as_words() {
    let lines = "it MUST be\n".repeat(20_000);
    let words = "MUST MAY a.b ".repeat(50_000);
    let model = load(&format!("# A\n\n{lines}\n# B\n\n{words}\n"), "//= spec.md#a\n");
    let counts: Vec<u32> = model.catalogue.sections.iter().map(|section| section.n_requirements).collect();
    assert_eq!(counts, [1, 1]);
}

/// Reads a project of a specification and a source file, in time.
#[track_caller]
fn load(specification: &str, source: &str) -> Model {
    let folder = tempfile::tempdir().expect("a folder");
    let config = "'$schema' = 'https://awslabs.github.io/duvet/config/v0.4.0.json'\n\
        [[source]]\npattern = 'src.rs'\n[[specification]]\nsource = 'spec.md'\n";
    fs::create_dir(folder.path().join(".duvet")).expect("a folder");
    for (path, text) in [(".duvet/config.toml", config), ("spec.md", specification), ("src.rs", source)] {
        fs::write(folder.path().join(path), text).expect("written");
    }
    let start = Instant::now();
    let options = Options { root: folder.path().to_path_buf(), ..Options::default() };
    let project = Project::open(options, &|_| None).expect("a project");
    let model = project.load(None, &mut |_, _| {});
    assert!(start.elapsed() < TIME_MAX, "{:?}", start.elapsed());
    model
}
