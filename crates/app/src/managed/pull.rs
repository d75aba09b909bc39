//! `spexus pull`: writes the cited requirements as text, so that citations are checked where the store cannot be reached, and
//! changes of requirements are reviewed like changes of code.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::ArgMatches;
use trace::Annotation;
use trace::managed::{CitationState, Lookup, ManagedDocument, ManagedName, ManagedText, SCHEME, render};
use trace::model::Model;
use trace::project::{Index, Options, read_if_there};
use trace::text::fingerprint;

use super::file::{PROJECT_FILE, ProjectFile};
use super::live::Live;
use super::pulled::{PULLED_FILE, Pulled, PulledEntry, PulledFile, key, text_path};
use crate::duvet::{ChosenBy, Outputs};
use crate::spexus::{CommandProblem, Exit, check_server, place_of, tell, told};

/// Pulls, or says what would be pulled.
pub fn run(matches: &ArgMatches) -> Exit {
    match pull(matches) {
        Ok(exit) => exit,
        Err(problem) => told(problem),
    }
}

fn pull(matches: &ArgMatches) -> Result<Exit, CommandProblem> {
    let (options, file) = project()?;
    let root = options.root.clone();
    let live = Arc::new(Live::new(source(matches, &file)?, Box::new(|| 0), Pulled::new(&root, &file)));
    let options = Options { managed: Some(live.clone()), ..options };
    let model = Index::open(options, Box::new(crate::duvet::environment)).model();
    // Where the project cannot be read, nothing seems to be cited.
    let problems: Vec<String> =
        model.general.iter().filter(|problem| problem.is_error()).map(crate::duvet::server::line).collect();
    if !problems.is_empty() {
        return Err(CommandProblem::Usage(format!("nothing was pulled: {}", problems.join("\n"))));
    }
    let cited = cited(&model, &file.project);
    let names: Vec<ManagedName> = cited.keys().cloned().collect();
    let lookups = live.look_up_now(&names).map_err(|problem| {
        CommandProblem::Usage(format!("nothing was pulled, and what was pulled before stays: {problem}"))
    })?;
    let mut pulled = PulledFile::new();
    let mut files: BTreeMap<PathBuf, String> = BTreeMap::new();
    for (name, lookup) in names.iter().zip(&lookups) {
        match lookup {
            Lookup::Found(text) => {
                let written = written(text);
                pulled.requirements.insert(key(name), entry(text, &written, &cited[name]));
                files.insert(text_path(name), written);
            }
            Lookup::Unknown { .. } | Lookup::Unreachable(_) => {
                pulled.unknown.insert(key(name));
            }
        }
    }
    let about =
        serde_json::to_string_pretty(&pulled).map_err(|error| CommandProblem::Usage(error.to_string()))?;
    files.insert(PULLED_FILE.into(), about + "\n");
    let changed: Vec<(&PathBuf, &String)> =
        files.iter().filter(|(path, text)| !is_same(&root, path, text)).collect();
    let unneeded = unneeded(&root, &files);
    let is_check = matches.get_flag("check");
    let outputs = Outputs::confined(&root);
    for path in &unneeded {
        if is_check {
            tell(&format!("{} is not needed any more", path.display()));
            continue;
        }
        outputs.remove(path).map_err(CommandProblem::Usage)?;
        tell(&format!("removed {}, which nothing cites any more", path.display()));
    }
    for (path, text) in &changed {
        if is_check {
            tell(&format!("{} is not current", path.display()));
            continue;
        }
        outputs
            .replace(path, ChosenBy::Project, |out| out.write_all(text.as_bytes()))
            .map_err(CommandProblem::Usage)?;
        tell(&format!("wrote {}", path.display()));
    }
    for name in &pulled.unknown {
        tell(&format!(
            "{name} does not exist, or is not visible; it is cited at {}",
            places(&model, name, &file.project)
        ));
    }
    let n_found = pulled.requirements.len();
    let current = match n_found {
        1 => "1 cited requirement is current".to_owned(),
        n => format!("{n} cited requirements are current"),
    };
    tell(&match (changed.len() + unneeded.len(), is_check) {
        (0, _) => current,
        (n, true) => format!("{n} files would be written or removed; run `spexus pull`"),
        (_, false) => format!("{current} now"),
    });
    let is_bad = !pulled.unknown.is_empty() || is_check && !(changed.is_empty() && unneeded.is_empty());
    Ok(if is_bad { Exit::Refused } else { Exit::Done })
}

/// The project of the current folder, which must have a project file.
pub fn project() -> Result<(Options, ProjectFile), CommandProblem> {
    let missing = || {
        let example = "project = \"DEFAULT\"";
        CommandProblem::Usage(format!(
            "neither this folder nor one above it has a {PROJECT_FILE}; write one that says `{example}`"
        ))
    };
    let mut options = crate::duvet::nearest_project().ok_or_else(missing)?;
    let shown = |problems: Vec<trace::Diagnostic>| {
        let lines: Vec<String> = problems.iter().map(crate::duvet::server::line).collect();
        CommandProblem::Usage(lines.join("\n"))
    };
    let file = super::with_pulled(&mut options).map_err(shown)?.ok_or_else(missing)?;
    Ok((options, file))
}

/// Where the requirements of a project are asked for: in the local store, or on the server that the user has named.
pub fn source(matches: &ArgMatches, file: &ProjectFile) -> Result<super::Source, CommandProblem> {
    check_server(matches, file.server.as_deref())?;
    // A store that cannot be opened is one that cannot be reached.
    let place = place_of(matches, file.server.as_deref());
    Ok(Box::new(move |entry, arguments| match &place {
        Ok(place) => place.call(entry, arguments).map_err(|problem| problem.to_string()),
        Err(problem) => Err(problem.to_string()),
    }))
}

/// The texts that were pulled before and are as they were written, though nothing cites them any more.
fn unneeded(root: &Path, files: &BTreeMap<PathBuf, String>) -> Vec<PathBuf> {
    let before = PulledFile::read(root).unwrap_or_default();
    let known = before.requirements.iter().filter_map(|(key, entry)| {
        // What the file says comes with the repository.
        let name = ManagedName::parse(&format!("{SCHEME}{key}")).ok()?;
        Some((text_path(&name), entry))
    });
    let is_unneeded = |(path, entry): &(PathBuf, &PulledEntry)| {
        let text = read_if_there(root, path).ok().flatten();
        !files.contains_key(path) && text.is_some_and(|text| fingerprint(&text) == entry.hash)
    };
    known.filter(is_unneeded).map(|(path, _)| path).collect()
}

/// What is cited: each requirement with its citations.
fn cited<'m>(model: &'m Model, project: &str) -> BTreeMap<ManagedName, Vec<&'m Annotation>> {
    let mut cited: BTreeMap<ManagedName, Vec<&Annotation>> = BTreeMap::new();
    for (annotation, _) in model.files().iter().flat_map(|file| file.annotations()) {
        if let Ok(name) = ManagedName::parse(&annotation.target) {
            cited.entry(name.within(project)).or_default().push(annotation);
        }
    }
    cited
}

/// The file of a requirement. What does not hold any more has no text that could be quoted.
fn written(text: &ManagedText) -> String {
    match text.gone {
        None => render(text),
        Some(_) => render(&ManagedText { text: String::new(), ..text.clone() }),
    }
}

/// What is known of a requirement beside its text, with the earlier texts that explain its outdated citations.
fn entry(text: &ManagedText, written: &str, citations: &[&Annotation]) -> PulledEntry {
    let specification = ManagedDocument::specification(text, String::new());
    let mut versions: BTreeSet<u64> = BTreeSet::new();
    for annotation in citations {
        let state = specification.managed.as_ref().map(|managed| managed.state(annotation, &specification));
        match state {
            Some(CitationState::Stale { quoted, .. }) => versions.extend([quoted]),
            Some(CitationState::Suspect { pinned, .. }) => {
                let pinned = text.earlier.iter().rev().find(|(version, _)| *version <= pinned);
                versions.extend(pinned.map(|(version, _)| *version));
            }
            _ => {}
        }
    }
    let earlier = text.earlier.iter().filter(|(version, _)| versions.contains(version)).cloned();
    PulledEntry {
        title: text.title.clone(),
        content_version: text.content_version,
        version: text.version,
        hash: fingerprint(written),
        gone: text.gone.map(|gone| gone.name().to_owned()),
        earlier: earlier.collect(),
    }
}

fn is_same(root: &Path, path: &Path, text: &str) -> bool {
    matches!(read_if_there(root, path), Ok(Some(old)) if old == text)
}

/// Where a requirement is cited that there is not.
fn places(model: &Model, key: &str, project: &str) -> String {
    let is_it = |target: &str| {
        ManagedName::parse(target).is_ok_and(|name| super::pulled::key(&name.within(project)) == key)
    };
    let found = model.files().iter().flat_map(|file| {
        let annotations = file.annotations().filter(|(annotation, _)| is_it(&annotation.target));
        annotations.map(|(annotation, _)| format!("{}:{}", file.path(), annotation.line))
    });
    found.take(3).collect::<Vec<_>>().join(", ")
}
