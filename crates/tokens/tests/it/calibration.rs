//! The texts on which the costs were chosen: documents, sources and schemas of this repository, escaped as in JSON, and
//! Russian. Answers of the programs are not among them, because they test the result.

use std::fs;
use std::path::{Path, PathBuf};

use crate::ratio;

/// The length of typical answers, in bytes.
const SIZES: [usize; 4] = [200, 600, 2_000, 8_000];

#[test]
fn the_calibration_set_is_within_its_limits() {
    let texts = calibration_set();
    let mut report = String::new();
    for size in SIZES {
        let mut ratios: Vec<f64> = texts.iter().flat_map(|text| cuts(text, size)).map(ratio).collect();
        ratios.sort_by(f64::total_cmp);
        let n_texts = ratios.len();
        let mean = ratios.iter().sum::<f64>() / n_texts as f64;
        let at = |permille: usize| ratios[n_texts * permille / 1_000];
        report += &format!(
            "{size} bytes: {n_texts} texts, mean {mean:.3}, 1 ‰ {:.3}, 1 % {:.3}, median {:.3}, 99 % {:.3}\n",
            at(1),
            at(10),
            at(500),
            at(990)
        );
        assert!(mean < 1.2, "{report}");
        assert!(at(10) >= 1.0, "{report}");
    }
    eprintln!("{report}");
}

fn cuts(text: &str, size: usize) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let end = (size..rest.len()).find(|end| rest.is_char_boundary(*end))?;
        let (cut, behind) = rest.split_at(end);
        rest = behind;
        Some(cut)
    })
}

fn calibration_set() -> Vec<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut files = vec![root.join("ARCHITECTURE.md"), root.join("README.md")];
    files.extend(within(&root.join("docs/guide")));
    for name in ["exchange", "mcp", "ops", "store", "words"] {
        files.extend(within(&root.join("crates").join(name).join("src")));
    }
    let mut texts: Vec<String> = files.iter().map(|path| quoted(&text(path))).collect();
    let schemas = text(&root.join("docs/reference/openapi.json"));
    texts.push(schemas.lines().map(str::trim_start).collect::<String>().replace("\": ", "\":"));
    texts.push(text(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/russian.txt")));
    assert!(texts.len() > 60, "{} texts", texts.len());
    texts
}

/// The files of a folder.
fn within(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("a folder");
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.expect("readable").path()).collect();
    paths.retain(|path| path.is_file());
    paths.sort();
    paths
}

fn text(path: &Path) -> String {
    fs::read_to_string(path).expect("a text")
}

/// The text as a JSON string.
fn quoted(text: &str) -> String {
    format!("{text:?}").replace("\\'", "'")
}
