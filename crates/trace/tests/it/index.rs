//! The index follows what it is told, and says all that changed.

use std::fs;
use std::path::{Path, PathBuf};

use tempfile::TempDir;
use trace::project::{Changes, Index, Options};

const CONFIG: &str = "'$schema' = 'https://awslabs.github.io/duvet/config/v0.4.0.json'\n\
                      [[source]]\npattern = 'src/**/*.rs'\n[[specification]]\nsource = 'pot.md'\n";
const CITATION: &str = "//= pot.md#pot\n";

#[test]
fn what_changed_before_everything_is_read_again_is_told_too() {
    let (folder, mut index) = project();
    for (path, text) in [("src/a.rs", "\n"), ("src/new.rs", "")] {
        write(folder.path(), path, &format!("{text}{CITATION}"));
    }
    let changes = follow(&mut index, &["src/a.rs", "src/new.rs"]);
    assert_eq!(paths(&changes), ["src/a.rs", "src/new.rs"]);
    // The configuration is as it was, but the file before it is not.
    write(folder.path(), "src/a.rs", CITATION);
    assert_eq!(paths(&follow(&mut index, &["src/a.rs", ".duvet/config.toml"])), ["src/a.rs"]);
    assert_eq!(index.model().all_citations().count(), 2);
}

#[test]
fn an_edit_that_leaves_size_and_time_alone_is_read() {
    let (folder, mut index) = project();
    let path = folder.path().join("src/a.rs");
    let time = fs::metadata(&path).unwrap().modified().unwrap();
    write(folder.path(), "src/a.rs", &CITATION.replace("#pot", "#cup"));
    fs::File::options().write(true).open(&path).unwrap().set_modified(time).unwrap();
    // The second path has everything read again.
    follow(&mut index, &["src/a.rs", ".duvet/config.toml"]);
    assert_eq!(index.model().problems().count(), 1);
}

#[test]
fn problems_of_the_project_are_a_change() {
    let (folder, mut index) = project();
    write(folder.path(), ".duvet/config.toml", &format!("{CONFIG}[[specification]]\nsource = 'cup.md'\n"));
    let changes = follow(&mut index, &[".duvet/config.toml"]);
    assert_eq!((changes.general, changes.catalogue), (true, false));
    assert_eq!(index.model().general.len(), 1);
    assert_eq!(follow(&mut index, &[".duvet/config.toml"]), Changes::default());
}

#[test]
fn the_same_text_in_another_format_is_another_specification() {
    let (folder, mut index) = project();
    write(folder.path(), "pot.md", "# Pot\n\ntext\n\n# Cup\n\ntext\n");
    assert!(follow(&mut index, &["pot.md"]).catalogue);
    for format in ["ietf", "markdown"] {
        write(folder.path(), ".duvet/config.toml", &format!("{CONFIG}format = '{format}'\n"));
        follow(&mut index, &[".duvet/config.toml"]);
    }
    assert_eq!(index.model().catalogue.specifications.len(), 1);
}

#[test]
fn every_folder_that_may_get_files_is_watched() {
    let (folder, mut index) = project();
    let shown =
        |index: &Index| index.folders().iter().map(|folder| folder.display().to_string()).collect::<Vec<_>>();
    let requirements = [".duvet/requirements", ".duvet/requirements/pot"];
    let usual = ["", ".duvet", ".duvet/exceptions", requirements[0], requirements[1], ".duvet/todos", "src"];
    assert_eq!(shown(&index), usual);
    fs::create_dir_all(folder.path().join("src/x/y")).unwrap();
    fs::create_dir_all(folder.path().join("target/x")).unwrap();
    assert_eq!(follow(&mut index, &["src/x", "target"]), Changes::default());
    assert_eq!(shown(&index), [&usual[..], &["src/x", "src/x/y"]].concat());
}

fn project() -> (TempDir, Index) {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), ".duvet/config.toml", CONFIG);
    write(folder.path(), "pot.md", "# Pot\n\nA pot MUST brew.\n");
    write(folder.path(), "src/a.rs", CITATION);
    let options = Options { root: folder.path().to_path_buf(), is_confined: true, ..Options::default() };
    let index = Index::open(options, Box::new(|_| None));
    assert_eq!(index.model().all_citations().count(), 1);
    (folder, index)
}

fn follow(index: &mut Index, paths: &[&str]) -> Changes {
    index.follow(&paths.iter().map(PathBuf::from).collect::<Vec<_>>())
}

fn paths(changes: &Changes) -> Vec<&str> {
    changes.paths.iter().map(|path| &**path).collect()
}

fn write(root: &Path, path: &str, text: &str) {
    let path = root.join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}
