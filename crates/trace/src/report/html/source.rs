//! The lines of citations in their files, and the code below them.

use rayon::prelude::*;

use super::Page;
use crate::annotation::{Annotation, AnnotationKind};
use crate::model::LinkedFile;

/// How many lines of code are shown below a comment, how many lines in total, and how much of each.
const CODE_LINES: usize = 3;
const LINES_MAX: usize = 9;
const LINE_CHARACTERS_MAX: usize = 120;
/// With more annotations the page would be too large.
const ANNOTATIONS_MAX: usize = 20_000;

/// For each file, for each annotation its lines; empty where they are not shown.
pub fn excerpts(page: &Page<'_>) -> Vec<Vec<String>> {
    let files = page.model.files();
    let n_annotations: usize = files.iter().map(|file| file.links.len()).sum();
    let Some(read) = page.read.filter(|_| n_annotations <= ANNOTATIONS_MAX) else {
        return Vec::new();
    };
    let of_file = |file: &std::sync::Arc<LinkedFile>| {
        let is_code = |annotation: &&Annotation| annotation.kind != AnnotationKind::Spec;
        let has_code = file.scanned.annotations.iter().any(|annotation| is_code(&annotation));
        let is_source = file.scanned.sources.iter().any(|source| !source.is_requirements);
        let text = if has_code && is_source { read(file.path()) } else { None };
        let excerpt = |annotation: &Annotation| text.as_deref().map(|text| excerpt(text, annotation));
        file.scanned.annotations.iter().map(|annotation| excerpt(annotation).unwrap_or_default()).collect()
    };
    files.par_iter().map(of_file).collect()
}

/// The lines of an annotation without their common indentation.
fn excerpt(text: &str, annotation: &Annotation) -> String {
    // The file may have changed since it was read.
    let first = (annotation.places.text.start as usize).min(text.len());
    let start = memchr::memrchr(b'\n', &text.as_bytes()[..first]).map_or(0, |end| end + 1);
    let n_own = (annotation.last_line - annotation.line + 1) as usize;
    let lines = text.get(start..).unwrap_or_default().lines().map(str::trim_end);
    // What stands after a blank line is something else.
    let is_shown = |(index, line): &(usize, &str)| *index < n_own || !line.is_empty();
    let lines = lines.enumerate().take_while(is_shown).map(|(_, line)| line);
    let lines: Vec<&str> = lines.take(LINES_MAX.min(n_own + CODE_LINES)).collect();
    let n_blanks = |line: &&&str| line.len() - line.trim_start_matches([' ', '\t']).len();
    let indent = lines.iter().filter(|line| !line.is_empty()).map(|line| n_blanks(&line)).min().unwrap_or(0);
    let shown = lines.iter().map(|line| {
        let line = line.get(indent..).unwrap_or_default();
        line.chars().take(LINE_CHARACTERS_MAX).collect::<String>()
    });
    shown.collect::<Vec<_>>().join("\n").trim_end().to_owned()
}
