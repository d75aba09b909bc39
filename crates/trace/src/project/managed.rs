//! Managed requirements that annotations name: each is looked up once, under all forms of its name.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;

use crate::managed::{self, Lookup, ManagedDocument, ManagedName, ManagedTexts};
use crate::specification::{Format, Specification};
use crate::target::{Target, TargetPath};

use super::Project;
use super::documents::LookupProblem;

/// Why a managed requirement has no text if its project is unknown.
const NO_SOURCE: &str = "there is no .spexus/project.toml that names its project";

/// The managed requirements so far.
#[derive(Debug)]
pub struct ManagedDocuments {
    texts: Option<Arc<dyn ManagedTexts>>,
    /// Whether citations are written in the form that Duvet accepts.
    is_for_duvet: bool,
    known: BTreeMap<ManagedName, KnownRequirement>,
}

#[derive(Debug)]
struct KnownRequirement {
    lookup: Lookup,
    found: Result<Arc<Specification>, LookupProblem>,
}

impl ManagedDocuments {
    /// Starts without any.
    pub fn new(project: &Project) -> ManagedDocuments {
        ManagedDocuments {
            texts: project.options.managed.clone(),
            is_for_duvet: project.config.is_some(),
            known: BTreeMap::new(),
        }
    }

    /// Whether a target names a managed requirement. Without a source of texts, the long form is a URL,
    /// as in Duvet.
    pub fn is_one(&self, target: &str) -> bool {
        managed::is_managed(target)
            && (self.texts.is_some() || !target[managed::SCHEME.len()..].contains('/'))
    }

    /// Looks up many at once.
    pub fn look_up(&mut self, targets: &[&str]) {
        let Some(texts) = &self.texts else { return };
        let names = targets.iter().filter_map(|target| ManagedName::parse(target).ok());
        let names: BTreeSet<ManagedName> = names.map(|name| name.within(texts.project())).collect();
        let names: Vec<ManagedName> =
            names.into_iter().filter(|name| !self.known.contains_key(name)).collect();
        if names.is_empty() {
            return;
        }
        let mut lookups = texts.look_up(&names).into_iter();
        for name in names {
            let missing = || Lookup::Unreachable("the source of texts gave no answer".to_owned());
            let lookup = lookups.next().unwrap_or_else(missing);
            let found = self.document(&name, &lookup);
            self.known.insert(name, KnownRequirement { lookup, found });
        }
    }

    /// Finds the document of a target; none if the target does not name a managed requirement.
    pub fn find(&mut self, target: &str) -> Option<Result<(Target, Arc<Specification>), LookupProblem>> {
        self.is_one(target).then(|| {
            let name = ManagedName::parse(target).map_err(LookupProblem::Name)?;
            let Some(texts) = self.texts.clone() else {
                return Err(LookupProblem::Unreachable {
                    name: name.reference_id(),
                    reason: NO_SOURCE.to_owned(),
                });
            };
            let name = name.within(texts.project());
            self.look_up(&[target]);
            let known = self.known.get(&name).expect("it was looked up");
            let specification = known.found.clone()?;
            let path =
                TargetPath::parse(&name.long()).map_err(|error| LookupProblem::Url(error.to_string()))?;
            Ok((Target { path, format: Format::Auto }, specification))
        })
    }

    fn document(&self, name: &ManagedName, lookup: &Lookup) -> Result<Arc<Specification>, LookupProblem> {
        let own = self.texts.as_ref().map_or("", |texts| texts.project());
        let short = |name: &ManagedName| match name.project.as_deref() == Some(own) {
            true => ManagedName { project: None, ..name.clone() }.to_string(),
            false => name.to_string(),
        };
        match lookup {
            Lookup::Found(text) => {
                let target = match self.is_for_duvet {
                    true => format!("{}#{}", name.long(), managed::SECTION),
                    false => short(name),
                };
                Ok(Arc::new(ManagedDocument::specification(text, target)))
            }
            Lookup::Unknown { nearest } => {
                let nearest = nearest.as_ref().and_then(|reference| managed::bare_reference(reference));
                Err(LookupProblem::UnknownRequirement { name: name.reference_id(), nearest })
            }
            Lookup::Unreachable(reason) => {
                Err(LookupProblem::Unreachable { name: name.reference_id(), reason: reason.clone() })
            }
        }
    }

    /// Whether any of them would have a different answer now.
    pub fn has_changed(&self) -> bool {
        let Some(texts) = self.texts.as_ref().filter(|_| !self.known.is_empty()) else { return false };
        let names: Vec<ManagedName> = self.known.keys().cloned().collect();
        texts.look_up(&names).iter().ne(self.known.values().map(|known| &known.lookup))
    }

    /// A note about the source of texts.
    pub fn notes(&self) -> Vec<String> {
        self.texts.as_ref().map(|texts| texts.notes()).unwrap_or_default()
    }

    /// The files that texts are read from, relative to the root.
    pub fn files(&self) -> Vec<PathBuf> {
        let names: Vec<ManagedName> = self.known.keys().cloned().collect();
        self.texts.as_ref().map(|texts| texts.files(&names)).unwrap_or_default()
    }
}
