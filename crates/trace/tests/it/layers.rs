//! The model knows neither the disk nor reports, and these do not know each other.

use std::fs;
use std::path::Path;

#[test]
fn modules_import_only_what_is_below_them() {
    check("project", &["report", "query"]);
    check("report", &["project", "query"]);
    check("model", &["project", "report", "query", "summary"]);
}

fn check(module: &str, forbidden: &[&str]) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = vec![folder.join(format!("{module}.rs"))];
    let mut folders = vec![folder.join(module)];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).expect("a folder of the crate") {
            let path = entry.expect("an entry can be read").path();
            if path.is_dir() { folders.push(path) } else { files.push(path) }
        }
    }
    for path in files.iter().filter(|path| path.extension().is_some_and(|extension| extension == "rs")) {
        let text = fs::read_to_string(path).unwrap_or_default();
        for other in forbidden {
            let is_imported = text.contains(&format!("crate::{other}::"));
            assert!(!is_imported, "{} imports {other}", path.display());
        }
    }
}
