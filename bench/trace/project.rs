//! The projects that are measured: specifications, sources that cite them, and a configuration that Duvet accepts.

use std::fs;
use std::path::Path;

use anyhow::Context;

use crate::sentence::{ACTIONS, QUALITIES, Random, THINGS, wrap};
use crate::specification::{self, Specification};

/// RFC numbers that nobody has used, so that no text can be taken for a real one.
const FIRST_RFC: usize = 10_001;
const SCHEMA: &str = "https://awslabs.github.io/duvet/config/v0.4.0.json";

pub struct Project {
    pub name: &'static str,
    pub n_specifications: usize,
    pub n_sources: usize,
    /// Paths within the project, and what stands there.
    pub files: Vec<(String, String)>,
}

pub const NAMES: &[&str] = &["quic", "cited", "rfcs", "markdown"];

pub fn generate(name: &str) -> Project {
    match name {
        // As s2n-quic is: few of its many sources cite something, and many citations quote explanations.
        "quic" => {
            let mut random = Random::new(1);
            let specifications = rfcs(&mut random, 43, 11);
            let plan = Plan { n_annotations: 2_400, n_cited: Cited::Number(830), idle_percent: 44 };
            let annotations = annotate(&mut random, &specifications, &plan);
            let sources = sources(&mut random, annotations, 1_000, (100, 600));
            project("quic", specifications, sources)
        }
        "cited" => {
            let mut random = Random::new(2);
            let specifications = rfcs(&mut random, 100, 30);
            let plan = Plan { n_annotations: 200_000, n_cited: Cited::Percent(90), idle_percent: 44 };
            let annotations = annotate(&mut random, &specifications, &plan);
            let sources = sources(&mut random, annotations, 4_000, (300, 600));
            project("cited", specifications, sources)
        }
        "rfcs" => {
            let mut random = Random::new(3);
            let specifications = rfcs(&mut random, 800, 11);
            let plan = Plan { n_annotations: 100, n_cited: Cited::Number(50), idle_percent: 44 };
            let annotations = annotate(&mut random, &specifications, &plan);
            let sources = sources(&mut random, annotations, 10, (100, 300));
            project("rfcs", specifications, sources)
        }
        "markdown" => {
            let mut random = Random::new(4);
            let specifications = vec![specification::markdown(&mut random, "docs/product.md", 10_000)];
            let plan = Plan { n_annotations: 2_000, n_cited: Cited::Percent(10), idle_percent: 20 };
            let annotations = annotate(&mut random, &specifications, &plan);
            let sources = sources(&mut random, annotations, 100, (100, 600));
            project("markdown", specifications, sources)
        }
        _ => unreachable!("options accept no other name"),
    }
}

impl Project {
    pub fn write(&self, folder: &Path) -> anyhow::Result<()> {
        for (path, contents) in &self.files {
            let path = folder.join(path);
            let parent = path.parent().expect("it is in the folder");
            fs::create_dir_all(parent).with_context(|| parent.display().to_string())?;
            fs::write(&path, contents).with_context(|| path.display().to_string())?;
        }
        Ok(())
    }

    pub fn megabytes(&self) -> f64 {
        self.files.iter().map(|(_, contents)| contents.len()).sum::<usize>() as f64 / 1e6
    }
}

fn rfcs(random: &mut Random, n: usize, requirements_percent: usize) -> Vec<Specification> {
    (0..n).map(|index| specification::rfc(random, FIRST_RFC + index, requirements_percent)).collect()
}

fn project(
    name: &'static str,
    specifications: Vec<Specification>,
    mut files: Vec<(String, String)>,
) -> Project {
    let (n_specifications, n_sources) = (specifications.len(), files.len());
    let mut config = format!("'$schema' = \"{SCHEMA}\"\n\n[[source]]\npattern = \"src/**/*.rs\"\n\n");
    for specification in specifications {
        config += &format!("[[specification]]\nsource = \"{}\"\n\n", specification.target);
        let path = match specification.target.strip_prefix("https://") {
            Some(rest) => format!(".duvet/specifications/{rest}.txt"),
            None => specification.target,
        };
        files.push((path, specification.text));
    }
    config += "[report.html]\nenabled = false\n";
    files.push((".duvet/config.toml".to_owned(), config));
    Project { name, n_specifications, n_sources, files }
}

struct Plan {
    n_annotations: usize,
    /// How many requirements are cited at all.
    n_cited: Cited,
    /// How many annotations of a hundred cover no requirement.
    idle_percent: usize,
}

enum Cited {
    Number(usize),
    Percent(usize),
}

/// Of a hundred annotations that cover nothing, how many have no quote.
const BARE_PERCENT: usize = 20;
/// Of a hundred quotes, how many have one letter that the specification does not have.
const CHANGED_PERCENT: usize = 10;
/// Of a hundred quotes, how many leave out the second half.
const HALF_PERCENT: usize = 10;

/// Writes annotations, each as the lines of its comment, in no order.
fn annotate(random: &mut Random, specifications: &[Specification], plan: &Plan) -> Vec<Vec<String>> {
    let (mut requirements, mut explanations) = (Vec::new(), Vec::new());
    for specification in specifications {
        for section in &specification.sections {
            let target = format!("{}#{}", specification.target, section.id);
            for sentence in &section.sentences {
                let list = if sentence.is_requirement { &mut requirements } else { &mut explanations };
                list.push((target.clone(), sentence.text.as_str()));
            }
        }
    }
    random.shuffle(&mut requirements);
    let n_cited = match plan.n_cited {
        Cited::Number(number) => number,
        Cited::Percent(percent) => requirements.len() * percent / 100,
    };
    requirements.truncate(n_cited);

    let n_idle = plan.n_annotations * plan.idle_percent / 100;
    let mut annotations = Vec::with_capacity(plan.n_annotations);
    for index in 0..plan.n_annotations - n_idle {
        // Each once, then any of them again.
        let choice = if index < n_cited { index } else { random.below(n_cited) };
        let (target, text) = &requirements[choice];
        let quote = quote(random, text);
        annotations.push(comment(random, target, &quote));
    }
    for _ in 0..n_idle {
        let (target, text) = &explanations[random.below(explanations.len())];
        let quote = if random.percent(BARE_PERCENT) { String::new() } else { quote(random, text) };
        annotations.push(comment(random, target, &quote));
    }
    random.shuffle(&mut annotations);
    annotations
}

fn quote(random: &mut Random, text: &str) -> String {
    let mut quote = text.to_owned();
    if random.percent(HALF_PERCENT) {
        let words: Vec<&str> = text.split(' ').collect();
        quote = words[..words.len() / 2].join(" ");
    }
    if random.percent(CHANGED_PERCENT) {
        let letters: Vec<usize> =
            quote.match_indices(|letter: char| letter.is_ascii_lowercase()).map(|(at, _)| at).collect();
        let at = letters[random.below(letters.len())];
        let changed = if quote.as_bytes()[at] == b'q' { "x" } else { "q" };
        quote.replace_range(at..=at, changed);
    }
    quote
}

/// Writes the comment. What it says is the implementation, more often than not.
fn comment(random: &mut Random, target: &str, quote: &str) -> Vec<String> {
    let mut lines = vec![format!("//= {target}")];
    match random.below(20) {
        0 => lines.extend(["//= type=exception", "//= reason=not needed here"].map(String::from)),
        1 => lines.extend(["//= type=todo", "//= feature=later"].map(String::from)),
        2 => lines.push("//= type=implication".to_owned()),
        3..8 => lines.push("//= type=test".to_owned()),
        _ => {}
    }
    if !quote.is_empty() {
        lines.extend(wrap(&[quote], "//# ", "//# ", 80));
    }
    lines
}

/// Spreads annotations over source files.
fn sources(
    random: &mut Random,
    annotations: Vec<Vec<String>>,
    n: usize,
    (lines_min, lines_max): (usize, usize),
) -> Vec<(String, String)> {
    let mut by_file: Vec<Vec<Vec<String>>> = vec![Vec::new(); n];
    for annotation in annotations {
        by_file[random.below(n)].push(annotation);
    }
    let mut files = Vec::with_capacity(n);
    for (index, annotations) in by_file.into_iter().enumerate() {
        let n_lines = random.between(lines_min, lines_max);
        let path = format!("src/{}/{}_{index}.rs", THINGS[index % THINGS.len()], random.pick(ACTIONS));
        files.push((path, source(random, &annotations, n_lines)));
    }
    files
}

/// Writes a file of about so many lines with the annotations at even distances; more lines if they need them.
fn source(random: &mut Random, annotations: &[Vec<String>], n_lines: usize) -> String {
    let mut lines: Vec<String> = vec!["//! What happens to data on its way.".to_owned(), String::new()];
    let n_annotation_lines: usize = annotations.iter().map(Vec::len).sum();
    let distance = n_lines.saturating_sub(n_annotation_lines) / (annotations.len() + 1);
    let mut annotations = annotations.iter();
    let mut next_at = distance;
    while lines.len() < n_lines || annotations.len() > 0 {
        let (action, thing) = (random.pick(ACTIONS), random.pick(THINGS));
        lines.push(format!("/// Decides whether to {action} the {thing}."));
        lines.push(format!("pub fn {action}_{thing}_{}(&mut self) -> Result<()> {{", lines.len()));
        for _ in 0..random.between(3, 15) {
            if lines.len() >= next_at
                && let Some(annotation) = annotations.next()
            {
                lines.extend(annotation.iter().map(|line| format!("    {line}")));
                next_at = lines.len() + distance;
            }
            statement(random, &mut lines);
        }
        lines.extend(["    Ok(())", "}", ""].map(String::from));
    }
    lines.push(String::new());
    lines.join("\n")
}

fn statement(random: &mut Random, lines: &mut Vec<String>) {
    let (action, quality, thing) = (random.pick(ACTIONS), random.pick(QUALITIES), random.pick(THINGS));
    let number = random.below(10_000);
    match random.below(5) {
        0 => lines.push(format!("    // The {quality} {thing} comes first.")),
        1 => lines.push(format!("    let {thing} = self.{quality}.{action}({number})?;")),
        2 => lines.push(format!("    self.{thing}_{quality} += {number}; // {action} later")),
        3 => lines.extend([
            format!("    if self.{thing}.len() > {number} {{"),
            format!("        return Err(Error::{action}(\"{quality} {thing}\"));"),
            "    }".to_owned(),
        ]),
        _ => lines.push(format!("    debug_assert!(self.is_{quality}({number}), \"{thing} to {action}\");")),
    }
}
