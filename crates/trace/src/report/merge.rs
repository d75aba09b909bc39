//! Merges version 2 reports. Things with the same id are one, and the reports must agree on essential fields.
//!
//! The order of the reports does not change the result.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;

use super::json_v2::document::{Annotations, ById, Cite, ReportV2, RequirementV2, Sources, SpecificationV2};
use super::json_v2::{in_order, read};
use crate::diagnostic::{Code, Diagnostic};

mod conflict;

use conflict::{CITE, Conflicts, INLINE, LINKED, REPOSITORY, REQUIREMENT, SECTION, SPECIFICATION};

/// A report to merge.
#[derive(Clone, Debug)]
pub struct Input {
    /// The file, for error messages.
    pub path: Arc<str>,
    /// Its text.
    pub text: String,
}

/// The reports as one.
#[derive(Debug)]
pub struct Merged {
    /// The report.
    pub document: ReportV2<'static>,
    /// Disagreements about unessential fields.
    pub warnings: Vec<Diagnostic>,
}

/// Merges reports.
pub fn merge(inputs: &[Input]) -> Result<Merged, Vec<Diagnostic>> {
    let (mut documents, mut errors) = (Vec::with_capacity(inputs.len()), Vec::new());
    for input in inputs {
        match read(&input.path, &input.text) {
            Ok(document) => documents.push(document),
            Err(error) => errors.push(error),
        }
    }
    if errors.is_empty() {
        // Whatever else they disagree on may be because they speak of different files.
        errors = conflict::shared_files(inputs, &documents);
    }
    if !errors.is_empty() {
        return Err(errors);
    }
    let mut documents = documents.into_iter();
    let Some(mut merged) = documents.next() else {
        return Err(vec![Diagnostic::error(Code::Empty, "there is no report to merge")]);
    };
    let mut conflicts = Conflicts::new(inputs);
    for (index, document) in documents.enumerate() {
        conflicts.current = index + 1;
        add(&mut merged, document, &mut conflicts);
    }
    for requirement in merged.annotations.requirement.values_mut() {
        requirement.coverage.values_mut().for_each(in_order);
    }
    let extensions = [&mut merged.sources.extensions, &mut merged.annotations.extensions];
    extensions.into_iter().flat_map(BTreeMap::values_mut).for_each(Value::sort_all_objects);
    let warnings = conflicts.finish()?;
    Ok(Merged { document: merged, warnings })
}

fn add(merged: &mut ReportV2<'static>, document: ReportV2<'static>, conflicts: &mut Conflicts<'_>) {
    merged.issue_links.extend(document.issue_links);
    in_order(&mut merged.issue_links);
    union(&mut merged.repositories, document.repositories, |id, old, new| {
        conflicts.check_hashed(REPOSITORY, id, &[("blob_link", old.blob_link == new.blob_link)]);
    });
    add_sources(&mut merged.sources, document.sources, conflicts);
    add_annotations(&mut merged.annotations, document.annotations, conflicts);
}

fn add_sources(merged: &mut Sources<'static>, sources: Sources<'static>, conflicts: &mut Conflicts<'_>) {
    union(&mut merged.inline, sources.inline, |id, old, new| {
        conflicts.check_hashed(INLINE, id, &[("contents", old.contents == new.contents)]);
        conflicts.check(INLINE, id, &[("file_name", old.file_name == new.file_name)]);
    });
    union(&mut merged.linked, sources.linked, |id, old, new| {
        let fields =
            [("file_name", old.file_name == new.file_name), ("repository", old.repository == new.repository)];
        conflicts.check_hashed(LINKED, id, &fields);
    });
    union(&mut merged.extensions, sources.extensions, |key, old, new| {
        conflicts.check(&["sources"], key, &[("", *old == new)]);
    });
}

fn add_annotations(merged: &mut Annotations, annotations: Annotations, conflicts: &mut Conflicts<'_>) {
    union(&mut merged.specification, annotations.specification, |id, old, new| {
        merge_specification(id, old, new, conflicts);
    });
    union(&mut merged.section, annotations.section, |id, old, new| {
        conflicts.check_hashed(SECTION, id, &[("source", old.source == new.source)]);
        let fields =
            [("short_name", old.short_name == new.short_name), ("long_name", old.long_name == new.long_name)];
        conflicts.check(SECTION, id, &fields);
    });
    union(&mut merged.requirement, annotations.requirement, |id, old, new| {
        merge_requirement(id, old, new, conflicts);
    });
    union(&mut merged.cite, annotations.cite, |id, old, new| merge_cite(id, old, new, conflicts));
    union(&mut merged.extensions, annotations.extensions, |key, old, new| {
        conflicts.check(&["annotations"], key, &[("", *old == new)]);
    });
}

fn merge_specification(
    id: &str,
    old: &mut SpecificationV2,
    new: SpecificationV2,
    conflicts: &mut Conflicts<'_>,
) {
    conflicts.check_hashed(SPECIFICATION, id, &[("source", old.source == new.source)]);
    // One report may have it from the web and another from a file.
    let is_same_url = old.url.is_none() || new.url.is_none() || old.url == new.url;
    let fields =
        [("title", old.title == new.title), ("format", old.format == new.format), ("url", is_same_url)];
    conflicts.check(SPECIFICATION, id, &fields);
    old.url = old.url.take().or(new.url);
}

fn merge_requirement(id: &str, old: &mut RequirementV2, new: RequirementV2, conflicts: &mut Conflicts<'_>) {
    let hashed = [("source", old.source == new.source), ("origin", old.origin == new.origin)];
    conflicts.check_hashed(REQUIREMENT, id, &hashed);
    conflicts.check(REQUIREMENT, id, &[("level", old.level == new.level)]);
    for (cite, pieces) in new.coverage {
        old.coverage.entry(cite).or_default().extend(pieces);
    }
}

fn merge_cite(id: &str, old: &mut Cite, new: Cite, conflicts: &mut Conflicts<'_>) {
    conflicts.check_hashed(CITE, id, &[("source", old.source == new.source)]);
    let fields = [
        ("type", old.r#type == new.r#type),
        ("level", old.level == new.level),
        ("target", old.target == new.target),
    ];
    conflicts.check(CITE, id, &fields);
    // These may legitimately differ between branches; the result must not depend on the order.
    let notes = [
        ("comment", old.comment == new.comment),
        ("feature", old.feature == new.feature),
        ("tracking_issue", old.tracking_issue == new.tracking_issue),
        ("tags", old.tags == new.tags),
    ];
    conflicts.warn(CITE, id, &notes);
    old.comment = first(old.comment.take(), new.comment);
    old.feature = first(old.feature.take(), new.feature);
    old.tracking_issue = first(old.tracking_issue.take(), new.tracking_issue);
    old.tags.extend(new.tags);
    in_order(&mut old.tags);
}

/// Returns the alphabetically first value, if there is any.
fn first(old: Option<String>, new: Option<String>) -> Option<String> {
    match (old, new) {
        (Some(old), Some(new)) => Some(old.min(new)),
        (old, new) => old.or(new),
    }
}

fn union<T>(merged: &mut ById<T>, things: ById<T>, mut reconcile: impl FnMut(&str, &mut T, T)) {
    for (id, new) in things {
        match merged.get_mut(&id) {
            Some(old) => reconcile(&id, old, new),
            None => drop(merged.insert(id, new)),
        }
    }
}
