//! However a project got to where it is, its index is the one that a fresh look makes.

use std::fs;
use std::path::{Path, PathBuf};

use proptest::prelude::*;
use trace::model::Model;
use trace::project::{Index, Options};
use trace::report::{Report, json};

use crate::random::{annotation, write};

const HEAD: &str = "'$schema' = 'https://awslabs.github.io/duvet/config/v0.4.0.json'\n";
const TARGETS: &[&str] = &["pot.md#pot", "./pot.md#pot", "pot.md#lid", "tea.md#tea", "docs/tea.md#tea"];

/// What can happen to a project between two looks at it.
#[derive(Clone, Debug)]
enum Edit {
    Write(&'static str, String),
    Remove(&'static str),
    RemoveFolder(&'static str),
}

impl Edit {
    /// Makes it happen. Returns what a watcher would tell.
    fn apply(&self, root: &Path) -> PathBuf {
        match self {
            Edit::Write(path, text) => {
                let folder = Path::new(path).parent().expect("a file is in a folder");
                let is_new = !root.join(folder).exists();
                write(root, &[(path, text.clone())]);
                // Of a new folder nobody sees what is in it.
                if is_new { folder.to_owned() } else { path.into() }
            }
            Edit::Remove(path) => {
                let _ = fs::remove_file(root.join(path));
                path.into()
            }
            Edit::RemoveFolder(path) => {
                let _ = fs::remove_dir_all(root.join(path));
                path.into()
            }
        }
    }
}

fn edit() -> impl Strategy<Value = Edit> {
    const SOURCES: &[&str] = &["src/a.rs", "src/b.rs", "src/deep/c.rs", "other/d.rs"];
    const SPECIFICATIONS: &[&str] = &["pot.md", "tea.md", "docs/tea.md"];
    let source = prop::collection::vec(annotation(TARGETS), 0..4).prop_map(|all| all.join("\n"));
    let specification = prop::sample::select(&[
        "# Pot\n\nThe pot MUST brew coffee. It MUST ring.\n\n# Lid\n\nA lid MUST fit on x\n",
        "# Tea\n\nThe pot MUST brew coffee. It SHOULD be hot, and MAY whistle  loudly.\n",
        "# Pot\n\nNothing is required here.\n",
        "",
    ] as &[&str]);
    let requirement = prop::sample::select(&[
        "target = 'pot.md#pot'\n[[todo]]\nquote = 'brew coffee'\n",
        "target = 'tea.md#tea'\n[[spec]]\nquote = 'The pot'\n",
        "target = 'pot.md#old'\n[[spec]]\nquote = 'gone'\n",
        "broken",
    ] as &[&str]);
    let config = prop::sample::select(&[
        "[[source]]\npattern = 'src/**/*.rs'\n[[specification]]\nsource = 'pot.md'\n",
        "[[source]]\npattern = 'src/*.rs'\n[[source]]\npattern = 'other/*.rs'\ntype = 'test'\n",
        "[[source]]\npattern = '**/*.rs'\n[[source]]\npattern = 'src/**/*.rs'\nblob-link = 'https://x'\n\
         [[specification]]\nsource = 'tea.md'\n[[specification]]\nsource = './pot.md'\n",
        "nonsense = 1\n",
    ] as &[&str]);
    const REQUIREMENTS: &[&str] = &[".duvet/todos/t.toml", ".duvet/requirements/pot/pot.toml"];
    prop_oneof![
        6 => (prop::sample::select(SOURCES), source).prop_map(|(path, text)| Edit::Write(path, text)),
        2 => (prop::sample::select(SPECIFICATIONS), specification)
            .prop_map(|(path, text)| Edit::Write(path, text.to_owned())),
        1 => (prop::sample::select(REQUIREMENTS), requirement)
            .prop_map(|(path, text)| Edit::Write(path, text.to_owned())),
        1 => config.prop_map(|text| Edit::Write(".duvet/config.toml", format!("{HEAD}{text}"))),
        2 => prop::sample::select([SOURCES, SPECIFICATIONS, REQUIREMENTS].concat()).prop_map(Edit::Remove),
        1 => prop::sample::select(vec!["src/deep", "src", "docs", ".duvet"]).prop_map(Edit::RemoveFolder),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn an_index_that_followed_is_one_that_was_opened(
        bursts in prop::collection::vec(prop::collection::vec(edit(), 1..4), 1..8),
    ) {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let config = format!("{HEAD}[[source]]\npattern = 'src/**/*.rs'\n[[specification]]\nsource = 'pot.md'\n");
        let source = "//= pot.md#pot\n//# The pot MUST\n\n//= tea.md#tea\n";
        write(&root, &[
            (".duvet/config.toml", config),
            ("pot.md", "# Pot\n\nThe pot MUST brew coffee.\n".to_owned()),
            ("src/a.rs", source.to_owned()),
        ]);
        let options = Options { root: root.clone(), is_confined: true, ..Options::default() };
        let open = || Index::open(options.clone(), Box::new(|_| None));
        let mut index = open();
        for edits in bursts {
            let told: Vec<PathBuf> = edits.iter().map(|edit| edit.apply(&root)).collect();
            index.follow(&told);
            prop_assert_eq!(describe(&index.model()), describe(&open().model()), "after {:?}", edits);
        }
    }
}

/// Everything that can be asked of a model.
fn describe(model: &Model) -> String {
    let mut text = format!("{:#?}\n{:#?}\n", model.general, model.problems().collect::<Vec<_>>());
    for specification in &model.catalogue.specifications {
        let entry = specification;
        text +=
            &format!("{} {} {} {:?} {}\n", entry.id, entry.name, entry.url, entry.spellings, entry.target);
        for number in model.catalogue.requirements_of(entry) {
            let requirement = model.requirement(number);
            let path = model.catalogue.requirement_path(number);
            text += &format!("{path} {} {:?}\n", requirement.level, model.state(number));
        }
        for citation in entry.sections().flat_map(|section| model.citations(section)) {
            text += &format!("{} {} {:?}\n", citation.id(), citation.kind(), citation.found());
        }
    }
    text += &format!("{:?} {:?} {:?}\n", model.styles(), model.priorities(), model.uncited(true));
    let mut report = Vec::new();
    json::write(&Report::of(model), &mut report).unwrap();
    let report = String::from_utf8(report).unwrap();
    // What follows is the same in every report.
    text + report.split("\"refs\"").next().unwrap_or_default()
}

#[test]
fn a_branch_switch_is_one_reload() {
    const N_FILES: usize = 1_000;
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    let config = format!("{HEAD}[[source]]\npattern = 'src/**/*.rs'\n[[specification]]\nsource = 'pot.md'\n");
    write(root, &[(".duvet/config.toml", config), ("pot.md", "# Pot\n\nA pot MUST brew.\n".to_owned())]);
    let path = |number: usize| format!("src/{}/{number}.rs", number % 7);
    let cite = |quote: &str| format!("//= pot.md#pot\n//# {quote}\n");
    let fill = |numbers: std::ops::Range<usize>, quote: &str| -> Vec<PathBuf> {
        let one = |number| {
            write(root, &[(&path(number), cite(quote))]);
            path(number).into()
        };
        numbers.map(one).collect()
    };
    fill(0..N_FILES, "A pot");
    let options = Options { root: root.to_owned(), is_confined: true, ..Options::default() };
    let mut index = Index::open(options, Box::new(|_| None));
    let n_builds = index.n_builds();

    let edited = fill(0..N_FILES, "MUST brew.");
    assert_eq!(index.follow(&edited).paths.len(), N_FILES);
    assert_eq!(index.n_builds(), n_builds, "edits alone need no reload");
    let added = fill(N_FILES / 2..2 * N_FILES, "pot MUST");
    index.follow(&added);
    assert_eq!(index.n_builds(), n_builds + 1, "new files need one");
    assert_eq!(index.model().all_citations().count(), 2 * N_FILES);
}

#[test]
fn a_new_source_file_does_not_parse_specifications_again() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    let config = format!("{HEAD}[[source]]\npattern = 'src/**/*.rs'\n[[specification]]\nsource = 'pot.md'\n");
    write(
        root,
        &[
            (".duvet/config.toml", config),
            ("pot.md", "# Pot\n\nA pot MUST brew.\n".to_owned()),
            ("src/a.rs", "//= pot.md#pot\n".to_owned()),
        ],
    );
    let options = Options { root: root.to_owned(), is_confined: true, ..Options::default() };
    let mut index = Index::open(options, Box::new(|_| None));
    let before = index.model();
    write(root, &[("src/b.rs", "//= pot.md#pot\n//# A pot MUST brew.\n".to_owned())]);
    index.follow(&["src/b.rs".into()]);
    let after = index.model();
    assert_eq!(after.all_citations().count(), 2);
    let document = |model: &Model| model.catalogue.specifications[0].document.clone();
    assert!(std::sync::Arc::ptr_eq(&document(&before), &document(&after)));
}
