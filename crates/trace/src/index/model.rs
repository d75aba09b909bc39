//! What is known of a project at one moment. It never changes.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use crate::comment::Style;
use crate::diagnostic::Diagnostic;
use crate::text::Span;

use super::catalogue::{Catalogue, Requirement};
use super::citation::Citation;
use super::identity;
use super::state::{State, Status};

/// What is known of a project at one moment.
#[derive(Debug, Default)]
pub struct Model {
    /// Its specifications.
    pub catalogue: Arc<Catalogue>,
    /// For each section its citations, by file and line.
    pub(super) citations: Vec<Arc<[Arc<Citation>]>>,
    /// For each section how far its requirements are.
    pub(super) states: Vec<Arc<[State]>>,
    /// For each file with citations its citations, by line.
    pub(super) files: BTreeMap<Arc<str>, Arc<[Arc<Citation>]>>,
    /// For each file what is wrong in it.
    pub(super) problems: BTreeMap<Arc<str>, Arc<[Diagnostic]>>,
    /// What is wrong with the project as a whole.
    pub general: Arc<[Diagnostic]>,
    /// The marks of annotations that are in use.
    pub styles: Arc<[Style]>,
    pub(super) priorities: OnceLock<Vec<u32>>,
    pub(super) uncited: [OnceLock<Vec<u32>>; 2],
}

impl Model {
    /// The same project after some sections and one file changed.
    pub(super) fn with(
        &self,
        sections: Vec<(u32, Arc<[Arc<Citation>]>)>,
        path: &Arc<str>,
        citations: Arc<[Arc<Citation>]>,
        problems: Arc<[Diagnostic]>,
    ) -> Model {
        let mut model = Model {
            catalogue: self.catalogue.clone(),
            citations: self.citations.clone(),
            states: self.states.clone(),
            files: self.files.clone(),
            problems: self.problems.clone(),
            general: self.general.clone(),
            styles: self.styles.clone(),
            priorities: OnceLock::new(),
            uncited: Default::default(),
        };
        for (section, citations) in sections {
            model.states[section as usize] = states(&self.catalogue, section, &citations);
            model.citations[section as usize] = citations;
        }
        replace(&mut model.files, path, citations);
        replace(&mut model.problems, path, problems);
        model
    }

    /// A requirement by its number.
    pub fn requirement(&self, number: u32) -> &Requirement {
        &self.catalogue.requirements[number as usize]
    }

    /// How far a requirement is.
    pub fn state(&self, number: u32) -> &State {
        let section = self.requirement(number).section as usize;
        let first = self.catalogue.sections[section].first_requirement;
        &self.states[section][(number - first) as usize]
    }

    /// The citations of a section, by file and line.
    pub fn citations(&self, section: u32) -> &[Arc<Citation>] {
        &self.citations[section as usize]
    }

    /// The citations that touch a requirement.
    pub fn citations_of(&self, number: u32) -> impl Iterator<Item = &Arc<Citation>> {
        let citations = self.citations(self.requirement(number).section);
        self.state(number).citations.iter().map(|index| &citations[*index as usize])
    }

    /// The requirements that a citation touches.
    pub fn requirements_of(&self, citation: &Citation) -> impl Iterator<Item = u32> {
        let section = citation.section as usize;
        let position = self.citations[section].binary_search_by(|other| other.order(citation)).ok();
        let first = self.catalogue.sections[section].first_requirement;
        let touches = move |state: &State| {
            position.is_some_and(|at| state.citations.binary_search(&(at as u32)).is_ok())
        };
        let touched = self.states[section].iter().enumerate().filter(move |(_, state)| touches(state));
        touched.map(move |(index, _)| first + index as u32)
    }

    /// Finds a citation by its id, `path:line`.
    pub fn citation(&self, id: &str) -> Option<&Arc<Citation>> {
        let (path, line) = id.rsplit_once(':')?;
        let line: u32 = line.parse().ok()?;
        self.files.get(path)?.iter().find(|citation| citation.annotation.line == line)
    }

    /// All citations, by file and line.
    pub fn all_citations(&self) -> impl Iterator<Item = &Arc<Citation>> {
        self.files.values().flat_map(|citations| citations.iter())
    }

    /// What is wrong in files, by file and line.
    pub fn problems(&self) -> impl Iterator<Item = &Diagnostic> {
        self.problems.values().flat_map(|problems| problems.iter())
    }

    /// The files that have citations or problems.
    pub fn paths(&self) -> impl Iterator<Item = &Arc<str>> {
        self.files.keys().chain(self.problems.keys())
    }

    /// Finds requirements by an identifier, the start of one, or a path.
    pub fn find(&self, name: &str) -> Vec<u32> {
        let name = name.strip_prefix("duvet://").unwrap_or(name);
        let Some(path) = name.strip_prefix("/specifications/") else {
            return self.catalogue.identified(name);
        };
        let mut parts = path.split('/');
        let (Some(id), Some("sections")) = (parts.next(), parts.next()) else {
            return Vec::new();
        };
        let rest: Vec<&str> = parts.collect();
        let cut = rest.iter().rposition(|part| *part == "requirements");
        let (Some(cut), Some(specification)) = (cut, self.catalogue.specification(id)) else {
            return Vec::new();
        };
        let Some(section) = self.catalogue.section(specification, &rest[..cut].join("/")) else {
            return Vec::new();
        };
        let identifier = identity::percent_decode(&rest[cut + 1..].join("/"));
        let mut found = self.catalogue.identified(&identifier);
        found.retain(|number| self.requirement(*number).section == section);
        found
    }

    /// Finds requirements by words, best first.
    pub fn search(&self, query: &str) -> Vec<u32> {
        self.catalogue.words.find(query, |number| &self.requirement(number).text)
    }

    /// All requirements, those to work on first first.
    pub fn priorities(&self) -> &[u32] {
        self.priorities.get_or_init(|| {
            let mut numbers: Vec<u32> = (0..self.catalogue.requirements.len() as u32).collect();
            numbers.sort_by_cached_key(|number| {
                let state = self.state(*number);
                let level = std::cmp::Reverse(self.requirement(*number).level);
                (level, state.progress, std::cmp::Reverse(state.n_todos), *number)
            });
            numbers
        })
    }

    /// The requirements that nothing touches, in the order of documents; with those that only todos touch if wanted.
    pub fn uncited(&self, with_todos: bool) -> &[u32] {
        self.uncited[usize::from(with_todos)].get_or_init(|| {
            let is_uncited = |number: &u32| {
                let state = self.state(*number);
                let n_others = state.citations.len() - state.n_todos as usize;
                n_others == 0 && (with_todos || state.n_todos == 0)
            };
            (0..self.catalogue.requirements.len() as u32).filter(is_uncited).collect()
        })
    }

    /// How many requirements are how far, from not started to done.
    pub fn counts(&self) -> [usize; 4] {
        let mut counts = [0; 4];
        for state in self.states.iter().flat_map(|states| states.iter()) {
            counts[state.status as usize] += 1;
        }
        counts
    }

    /// The least finished of some requirements.
    pub fn least(&self, numbers: &[u32]) -> Option<Status> {
        numbers.iter().map(|number| self.state(*number).status).min()
    }
}

/// Finds out how far the requirements of a section are.
pub(super) fn states(catalogue: &Catalogue, section: u32, citations: &[Arc<Citation>]) -> Arc<[State]> {
    let range = catalogue.sections[section as usize].requirements();
    let (specification, _) = catalogue.document(section);
    let mut spans: Vec<(Span, u32)> = citations
        .iter()
        .enumerate()
        .flat_map(|(index, citation)| citation.spans.iter().map(move |span| (*span, index as u32)))
        .collect();
    spans.sort_unstable();
    let longest = spans.iter().map(|(span, _)| span.len() as u32).max().unwrap_or(0);
    let state = |requirement: &Requirement| {
        let kind_of = |index: u32| citations[index as usize].kind();
        State::of(&requirement.spans, &specification.document.text, &kind_of, &spans, longest)
    };
    catalogue.requirements[range].iter().map(state).collect()
}

fn replace<T>(map: &mut BTreeMap<Arc<str>, Arc<[T]>>, path: &Arc<str>, values: Arc<[T]>) {
    if values.is_empty() {
        map.remove(path);
    } else {
        map.insert(path.clone(), values);
    }
}
