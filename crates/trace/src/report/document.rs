//! Documents: all spellings of one specification together, and how far each of its requirements is.
//!
//! The JSON report and the snapshot keep every spelling apart and count bytes, because they are compared with older
//! ones. People want one row for one document, and do not care for blanks.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use super::requirement::{self, Requirement};
use super::{Report, TargetReport};
use crate::annotation::Kind;
use crate::index::{specification_id, specification_name};
use crate::link::Reference;
use crate::specification::Format;
use crate::target::clean;

/// One specification under all of its names.
#[derive(Debug)]
pub struct Document {
    /// A short name that is its own in the project, such as `rfc2324`.
    pub id: String,
    /// What people call it: `RFC 2324`, or its first heading.
    pub name: String,
    /// The file that it is read from.
    pub path: PathBuf,
    /// Its references under all names. The name is one that annotations use.
    pub target: TargetReport,
    /// In the order of the text.
    pub requirements: Vec<Requirement>,
}

/// Lists the documents of a report, in its order.
pub fn documents(report: &Report, downloads: &Path) -> Vec<Document> {
    // The format counts: what is read as Markdown has other sections.
    let mut order: Vec<(PathBuf, Format)> = Vec::new();
    let mut groups: BTreeMap<(PathBuf, Format), Vec<&TargetReport>> = BTreeMap::new();
    for target in &report.targets {
        let path = target.target.path.local(downloads).unwrap_or_else(|| PathBuf::from(&target.name));
        let path = path.strip_prefix(&report.root).unwrap_or(&path);
        let key = (clean(path), target.specification.format);
        let group = groups.entry(key.clone()).or_default();
        if group.is_empty() {
            order.push(key);
        }
        group.push(target);
    }
    let mut ids = BTreeSet::new();
    let mut documents = Vec::with_capacity(order.len());
    for key in order {
        let target = join(report, &groups[&key]);
        let (path, _) = key;
        let mut id = specification_id(&target.target.path, &path.to_string_lossy());
        if ids.contains(&id) {
            let hash = blake3::hash(target.name.as_bytes()).to_hex();
            id = format!("{id}-{}", &hash[..8]);
        }
        ids.insert(id.clone());
        let name = specification_name(&id, &target.specification, &target.name);
        let requirements = requirement::find(&target);
        documents.push(Document { id, name, path, target, requirements });
    }
    documents
}

fn join(report: &Report, targets: &[&TargetReport]) -> TargetReport {
    let mut references: Vec<Reference> =
        targets.iter().flat_map(|target| &target.references).copied().collect();
    references.sort_by_key(|reference| (reference.annotation, reference.span));
    for reference in &mut references {
        // A last character alone in its line was counted as none.
        let text = &targets[0].specification.text;
        let next = reference.span.end + 1;
        let is_quote = !report.annotations[reference.annotation as usize].annotation.quote.is_empty();
        if reference.span.is_empty() && is_quote && text.is_char_boundary(next as usize) {
            reference.span.end = next;
        }
    }
    // The name that its requirements use, which is the one of the configuration, else the one that is used most.
    let n_specs = |target: &TargetReport| target.references.iter().filter(|of| of.kind == Kind::Spec).count();
    let uses = |target: &TargetReport| (n_specs(target), target.references.len());
    let best = targets.iter().rev().max_by_key(|target| uses(target)).unwrap_or(&targets[0]);
    TargetReport {
        target: best.target.clone(),
        name: best.name.clone(),
        file_name: best.file_name.clone(),
        specification: best.specification.clone(),
        references,
        coverage: BTreeMap::new(),
    }
}
