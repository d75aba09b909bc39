//! Follows the folders that `--trace` names, and answers questions of pages about them.
//!
//! Whoever reads a project may not be able to read its folder, and the folder may hold anything. So only files that the project's
//! patterns match are shown, inside of the folder wherever links lead, and none that is hidden; nothing is fetched, and expressions in
//! the configuration see no environment.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ops::{Error, ErrorKind};
use serde_json::{Value, json};
use trace::model::Model;
use trace::project::{Options, read_inside};
use trace::report::html::part;

use crate::duvet::server::TraceServer;
use crate::managed;

/// How many lines of a specification a page has, if they are not one section.
const SPECIFICATION_LINES: usize = 1_200;
/// How many lines of a source file a page has, and how many of these come before the one that is asked for.
const SOURCE_LINES: usize = 1_000;
const SOURCE_LINES_BEFORE: usize = 300;
/// How much of a line is shown.
const LINE_CHARACTERS_MAX: usize = 400;

/// The folders by the keys of their projects.
#[derive(Default)]
pub struct Traces(BTreeMap<String, Arc<TraceServer>>);

impl Traces {
    /// Begins to read folders. The last one of a project counts.
    pub fn start(folders: &[(String, PathBuf)]) -> Traces {
        let one = |(key, root): &(String, PathBuf)| {
            let mut options = Options { root: root.clone(), is_confined: true, ..Options::default() };
            // Whoever reads this project may not read another one that its code cites.
            if let Some(file) = managed::with_pulled_or_problem(&mut options) {
                options.managed = Some(Arc::new(managed::Pulled::new(root, &file).only(key)));
            }
            (key.clone(), TraceServer::start_with(options, false, |_| None))
        };
        Traces(folders.iter().map(one).collect())
    }

    /// Answers a page about a project that the caller may read.
    pub fn answer(&self, key: &str, about: &Value) -> Result<Value, Error> {
        let Some(server) = self.0.get(key) else { return Ok(json!({"is_absent": true})) };
        let Some(model) = server.known_now() else { return Ok(json!({"is_loading": true})) };
        let text = |name: &str| about[name].as_str();
        if let Some(path) = text("path") {
            return source(server.root(), &model, path, about["line"].as_u64().unwrap_or(1) as usize);
        }
        let Some(id) = text("specification") else { return Ok(part::specifications(&model)) };
        match model.catalogue.specification(id).filter(|entry| part::is_shown(&model, entry)) {
            Some(entry) => Ok(part::specification(&model, entry, text("section"), SPECIFICATION_LINES)),
            None => {
                let known =
                    model.catalogue.specifications.iter().filter(|entry| part::is_shown(&model, entry));
                let nearest = nearest::several(id, known.map(|entry| entry.id.as_str()), 1);
                let hint = nearest.first().map(|id| format!("; did you mean {id}?")).unwrap_or_default();
                Err(Error::new(ErrorKind::NotFound, format!("{key} has no specification {id:?}{hint}")))
            }
        }
    }
}

/// The lines of a source file around one, with what they cite.
fn source(root: &Path, model: &Model, path: &str, line: usize) -> Result<Value, Error> {
    // One answer for whatever is not shown: what else is in the folder is nobody's business.
    let missing =
        || Error::new(ErrorKind::NotFound, format!("no source file of the project is called {path:?}"));
    let is_known = model.setting.sources.iter().any(|source| **source == *path) || model.file(path).is_some();
    if !is_known || part::is_hidden(Path::new(path)) {
        return Err(missing());
    }
    let text = read_inside(root, Path::new(path)).map_err(|_| missing())?;
    let total = text.lines().count();
    let first = if total <= SOURCE_LINES { 0 } else { line.saturating_sub(SOURCE_LINES_BEFORE).min(total) };
    let cut = |line: &str| line.chars().take(LINE_CHARACTERS_MAX).collect::<String>();
    let lines: Vec<String> = text.lines().skip(first).take(SOURCE_LINES).map(cut).collect();
    let citations = model.file(path).into_iter().flat_map(|file| model.citations_in(file)).filter_map(|citation| {
        let (specification, section) = model.catalogue.document(citation.section);
        let requirement = model.requirements_of(&citation).next().map(|number| model.catalogue.short_id(number).to_owned());
        part::is_shown(model, specification).then(|| {
            json!({
                "line": citation.annotation().line, "kind": citation.kind().name(), "specification": specification.id,
                "name": specification.name, "section": section.id, "requirement": requirement,
            })
        })
    });
    Ok(json!({
        "path": path, "first": first + 1, "total": total, "lines": lines, "citations": citations.collect::<Vec<_>>(),
    }))
}
