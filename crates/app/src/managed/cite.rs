//! `spexus cite`: the comment that cites a managed requirement, in the style of the file that it is for.

use std::path::Path;

use clap::ArgMatches;
use trace::comment::StyleUse;
use trace::managed::{
    Lookup, ManagedDocument, ManagedName, ManagedTexts as _, SCHEME, bare_reference, is_managed,
};
use trace::model::lines;
use trace::project::{Project, read_inside};
use trace::{Annotation, AnnotationKind, Style};

use super::file::PROJECT_FILE;
use super::live::Live;
use super::pull::{project, source};
use super::pulled::Pulled;
use crate::duvet::{ChosenBy, Outputs};
use crate::spexus::{CommandProblem, Exit, print_raw, tell, told};

/// Prints a citation, or inserts it.
pub fn run(matches: &ArgMatches) -> Exit {
    match cite(matches) {
        Ok(exit) => exit,
        Err(problem) => told(problem),
    }
}

fn cite(matches: &ArgMatches) -> Result<Exit, CommandProblem> {
    let text = |name: &str| matches.get_one::<String>(name).map(String::as_str);
    let number = |name: &str| matches.get_one::<u32>(name).copied();
    let wrong = |message: String| CommandProblem::Usage(message);
    let (options, file) = project()?;
    let root = options.root.clone();
    let path = inside(&root, text("file").unwrap_or_default())?;
    let name = named(text("reference").unwrap_or_default()).map_err(wrong)?.within(&file.project);

    let live = Live::new(source(matches, &file)?, Box::new(|| 0), Pulled::new(&root, &file));
    let lookup = live.look_up(std::slice::from_ref(&name)).pop();
    live.notes().iter().for_each(|note| tell(note));
    let found = match lookup {
        Some(Lookup::Found(found)) => found,
        Some(Lookup::Unknown { nearest }) => {
            let nearest = nearest.map(|nearest| format!("; the last one is {nearest}")).unwrap_or_default();
            return Err(wrong(format!("{} does not exist, or is not visible{nearest}", name.reference_id())));
        }
        Some(Lookup::Unreachable(reason)) => return Err(wrong(format!("{}: {reason}", name.reference_id()))),
        None => return Err(wrong(format!("{} was not answered", name.reference_id()))),
    };
    if let Some(gone) = found.gone {
        return Err(wrong(format!("{} is {}, and cannot be cited", name.reference_id(), gone.name())));
    }

    let project = Project::open(options, &crate::duvet::environment).map_err(|problems| {
        wrong(problems.iter().map(crate::duvet::server::line).collect::<Vec<_>>().join("\n"))
    })?;
    let target = match (project.config.is_some(), found.project == file.project) {
        (true, _) => format!("{}#text", name.long()),
        (false, true) => ManagedName { project: None, ..name.clone() }.to_string(),
        (false, false) => name.to_string(),
    };
    let specification = ManagedDocument::specification(&found, target.clone());
    let quotes = specification.managed.iter().flat_map(|managed| managed.quotes(&specification));
    let quotes: Vec<String> = quotes.collect();
    let chosen = chosen(&quotes, number("unit"), matches.get_flag("write")).map_err(wrong)?;

    let styles = project.styles();
    let of_file = styles.iter().find(|used| used.is_of(&path));
    if of_file.is_none() {
        tell(&format!(
            "no source pattern of the project matches {path}, so that citations in it are not read"
        ));
    }
    let used =
        of_file.cloned().unwrap_or_else(|| StyleUse { style: Style::usual(&path), ..StyleUse::default() });
    if !used.style.is_comment_in(&path) {
        let (marks, Style { meta, content }) = (&used.style.meta, Style::usual(&path));
        let problem = format!(
            "`{marks}` is not a comment in {path}; name such files in {PROJECT_FILE} with `comment-style = {{ meta = \"{meta}\", \
             content = \"{content}\" }}`"
        );
        match matches.get_flag("write") {
            true => return Err(wrong(problem)),
            false => tell(&problem),
        }
    }
    let kind = text("type").and_then(|kind| kind.parse().ok()).unwrap_or(match used.default_kind {
        AnnotationKind::Citation if is_test(&path) => AnnotationKind::Test,
        kind => kind,
    });
    let citations: Vec<String> =
        chosen.iter().map(|quote| lines(&used, &Annotation::new(kind, &target), &target, quote)).collect();
    match number("line").filter(|_| matches.get_flag("write")) {
        None => Ok(print_raw(&(citations.join("\n\n") + "\n"))),
        Some(line) => {
            insert(&root, &path, line as usize, &citations.join("\n")).map_err(wrong)?;
            tell(&format!("inserted into {path} above line {line}"));
            Ok(Exit::Done)
        }
    }
}

/// Whether a file has tests, by where it is and what it is called.
fn is_test(path: &str) -> bool {
    let (folders, name) = path.rsplit_once('/').unwrap_or(("", path));
    let stem = name.split('.').next().unwrap_or_default();
    let is_folder_of_tests = |folder: &str| matches!(folder, "test" | "tests" | "__tests__" | "spec");
    folders.split('/').any(is_folder_of_tests)
        || stem.starts_with("test_")
        || stem.ends_with("_test")
        || [".test.", ".spec."].iter().any(|part| name.contains(part))
}

/// The path of a file in the project, relative to its root.
fn inside(root: &Path, file: &str) -> Result<String, CommandProblem> {
    let outside = || CommandProblem::Usage(format!("{file} is outside of the project in {}", root.display()));
    let folder = std::env::current_dir().map_err(|error| CommandProblem::Usage(error.to_string()))?;
    let path = trace::target::clean(&folder.join(file));
    let path = path.strip_prefix(root).map_err(|_| outside())?;
    path.to_str().map(str::to_owned).filter(|path| !path.is_empty()).ok_or_else(outside)
}

/// Understands `REQ-027`, `SHOP-REQ-027` and the forms that citations have.
fn named(reference: &str) -> Result<ManagedName, String> {
    let target = match is_managed(reference) {
        true => reference.to_owned(),
        false => bare_reference(reference).unwrap_or_else(|| format!("{SCHEME}{reference}")),
    };
    ManagedName::parse(&target).map_err(|error| format!("{reference}: {error}"))
}

fn chosen(quotes: &[String], unit: Option<u32>, is_one: bool) -> Result<&[String], String> {
    let n_units = quotes.len();
    match unit {
        Some(unit) => {
            let index = unit as usize - 1;
            quotes.get(index..=index).ok_or_else(|| format!("--unit: it has {n_units}, and not {unit}"))
        }
        None if n_units == 0 => Err("it has no text that could be cited".to_owned()),
        None if is_one && n_units > 1 => {
            let list = quotes.iter().zip(1..).map(|(quote, number)| format!("\n  {number} {quote}"));
            Err(format!("it has {n_units} sentences; say which with --unit:{}", list.collect::<String>()))
        }
        None => Ok(quotes),
    }
}

/// Inserts lines above a line of a file, indented like it.
fn insert(root: &Path, path: &str, line: usize, citation: &str) -> Result<(), String> {
    let text = read_inside(root, Path::new(path)).map_err(|problem| format!("{path}: {problem}"))?;
    let end = if text.contains("\r\n") { "\r\n" } else { "\n" };
    let starts: Vec<usize> = [0].into_iter().chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect();
    let n_lines = text.lines().count();
    let start = starts.get(line - 1).copied().filter(|_| line <= n_lines.max(1));
    let start = start.ok_or_else(|| format!("--line: {path} has {n_lines} lines, and not {line}"))?;
    let below = &text[start..];
    let indent: String = below.chars().take_while(|c| matches!(c, ' ' | '\t')).collect();
    let inserted: String = citation.lines().map(|line| format!("{indent}{line}{end}")).collect();
    let new = format!("{}{inserted}{below}", &text[..start]);
    let outputs = Outputs::confined(root);
    outputs.replace(Path::new(path), ChosenBy::Project, |out| out.write_all(new.as_bytes()))
}
