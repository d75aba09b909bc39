//! Random small projects: a specification, and annotations that quote all, parts or nothing of it.

use std::fs;
use std::path::Path;

use proptest::prelude::*;

/// The files of a project.
pub type Files = Vec<(&'static str, String)>;

const SENTENCES: &[&str] = &[
    "The pot MUST brew coffee.",
    "It SHOULD be hot,\nand MAY\nwhistle  loudly.",
    "Note: it MUST ring. Then",
    "it MUST ring.",
    "Nothing is required here.",
    "A lid MUST fit on\nx",
    "ß MUST be\u{a0}ready;\nthe rest MAY wait.",
    "- A card MUST be\n  read\n- A card MAY be kept\n",
    "The slot MUST\n+ open\n2) close\n",
    "\n\n| Part | Rule |\n|---|---|\n| slot | It MUST open |\n| tray | It MAY be red. It SHOULD be flat. |\n\n",
];
const KINDS: &[&str] = &["implementation", "test", "exception", "todo", "implication", "spec"];
const TARGETS: &[&str] = &["pot.md#pot", "./pot.md#pot", "pot.md#lid", "pot.md#cup"];

const CONFIG: &str = "'$schema' = 'https://awslabs.github.io/duvet/config/v0.4.0.json'\n\
    [[source]]\npattern = 'src/**/*.rs'\n[[specification]]\nsource = 'pot.md'\n";

/// A project whose annotations may be wrong.
pub fn project() -> impl Strategy<Value = Files> {
    let sections = prop::collection::vec(prop::collection::vec(prop::sample::select(SENTENCES), 0..5), 2);
    let annotations = prop::collection::vec(annotation(TARGETS), 0..12);
    (sections, annotations).prop_map(|(sections, annotations)| {
        let sections = sections.iter().map(|sentences| sentences.join(" "));
        let specification: String =
            sections.zip(["Pot", "Lid"]).map(|(text, title)| format!("# {title}\n\n{text}\n\n")).collect();
        vec![
            (".duvet/config.toml", CONFIG.to_owned()),
            ("pot.md", specification),
            ("src/lib.rs", annotations.join("\n")),
        ]
    })
}

/// The comment of an annotation with one of some targets.
pub fn annotation(targets: &'static [&'static str]) -> impl Strategy<Value = String> {
    let kind = prop::sample::select(KINDS);
    let sentence = prop::sample::select(SENTENCES);
    (prop::sample::select(targets), kind, sentence, 0..5_usize).prop_map(|(target, kind, sentence, part)| {
        let words: Vec<&str> =
            sentence.split_whitespace().filter(|word| !["-", "|", "|---|---|"].contains(word)).collect();
        let half = words.len() / 2;
        let quote = match part {
            0 => words[..half].join(" "),
            1 => words[half..].join(" "),
            2 => String::new(),
            3 => words.join(" ").replacen('o', "q", 1),
            _ => words.join(" "),
        };
        let reason = if kind == "exception" { "//= reason=so\n" } else { "" };
        let quote = if quote.is_empty() { quote } else { format!("//# {quote}\n") };
        format!("//= {target}\n//= type={kind}\n{reason}{quote}")
    })
}

/// Writes files below a folder.
pub fn write(root: &Path, files: &[(&str, String)]) {
    for (path, text) in files {
        let path = root.join(path);
        fs::create_dir_all(path.parent().expect("a file is in a folder")).expect("a folder can be made");
        fs::write(path, text).expect("a file can be written");
    }
}
