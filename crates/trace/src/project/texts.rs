//! Loads texts that need not be on disk, such as those of another commit, as if the project consisted of them alone.

use std::collections::BTreeMap;
use std::path::{Component, Path};
use std::sync::Arc;

use glob::{MatchOptions, Pattern};

use crate::interner::Interner;
use crate::model::Model;

use super::documents::Documents;
use super::extracted::Extracted;
use super::listing::{self, FileKind, FilePlan, Listing};
use super::load::{self, FileState, Read};
use super::problems::FileTexts;
use super::{Project, scan};

/// Texts of files by their paths, relative to the root.
pub type Texts = BTreeMap<Arc<str>, Arc<str>>;

/// Globs match names between slashes, as they do on disk.
const MATCHING: MatchOptions = MatchOptions {
    case_sensitive: true,
    require_literal_separator: true,
    require_literal_leading_dot: false,
};

/// The globs of a project's source code, with the way of reading their files.
#[derive(Debug)]
pub struct Sources(Vec<(Pattern, Arc<FileKind>)>);

impl Project {
    /// The globs of its source code that stay below the root.
    pub fn sources(&self) -> Sources {
        let leads_out = |part: Component<'_>| !matches!(part, Component::Normal(_) | Component::CurDir);
        let pattern = |(pattern, kind): (&str, FileKind)| {
            let pattern = pattern.trim_start_matches("./");
            let is_inside = !Path::new(pattern).components().any(leads_out);
            Some((Pattern::new(pattern).ok().filter(|_| is_inside)?, Arc::new(kind)))
        };
        Sources(listing::sources(self).filter_map(pattern).collect())
    }

    /// Its files of source code on disk, by path.
    pub fn source_paths(&self) -> Vec<Arc<str>> {
        let mut listing = Listing::new(self, &mut Vec::new());
        if self.options.is_confined {
            listing.confine(&self.options.root);
        }
        let plans = listing.plans();
        plans.into_iter().filter(FilePlan::is_source).map(|plan| plan.path).collect()
    }

    /// Resolves the citations in some texts. Only cited specifications are read, requirements of
    /// configured specifications are not extracted, and texts that no glob matches are left out.
    pub fn load_texts(&self, documents: &mut Documents, texts: &Texts) -> Model {
        let (sources, interner) = (self.sources(), Interner::default());
        let states = texts.iter().filter_map(|(path, text)| {
            let plan = sources.plan(path)?;
            let scanned = scan::scan_text(&plan, text, &interner);
            Some(FileState { stamp: None, kinds: plan.kinds, scanned })
        });
        let mut states: Vec<FileState> = states.collect();
        states.sort_by(|one, other| Path::new(&*one.scanned.path).cmp(Path::new(&*other.scanned.path)));
        let extracted = Extracted::default();
        let read = Read {
            states: &states,
            texts: FileTexts::new(self, &extracted).with(texts),
            general: Vec::new(),
            sources: states.iter().map(|state| state.scanned.path.clone()).collect(),
            unmatched: Vec::new(),
        };
        load::put_together(self, documents, read, &|_| {}, &mut |_, _| {})
    }
}

impl Sources {
    /// Whether a path is one of source code.
    pub fn has(&self, path: &str) -> bool {
        self.0.iter().any(|(pattern, _)| pattern.matches_with(path, MATCHING))
    }

    fn plan(&self, path: &Arc<str>) -> Option<FilePlan> {
        let matching = self.0.iter().filter(|(pattern, _)| pattern.matches_with(path, MATCHING));
        let mut kinds: Vec<Arc<FileKind>> = matching.map(|(_, kind)| kind.clone()).collect();
        kinds.sort();
        kinds.dedup();
        (!kinds.is_empty()).then(|| FilePlan { path: path.clone(), kinds })
    }
}
