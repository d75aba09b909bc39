//! JSON of `llvm-cov export`.

use std::borrow::Cow;

use serde::Deserialize;

use super::{Files, json};
use crate::path::{Outsiders, Source};
use crate::refusal::{Read, Wrong};
use crate::report::{Report, Tool};

#[derive(Deserialize)]
struct Document<'t> {
    #[serde(borrow, rename = "type")]
    kind: Option<Cow<'t, str>>,
    #[serde(borrow)]
    data: Vec<Data<'t>>,
}

#[derive(Deserialize)]
struct Data<'t> {
    #[serde(borrow)]
    files: Vec<File<'t>>,
}

#[derive(Deserialize)]
struct File<'t> {
    #[serde(borrow)]
    filename: Cow<'t, str>,
    #[serde(default)]
    segments: Vec<Segment>,
}

/// Line, column, count, whether it has a count, whether a region begins here, whether that is a gap.
#[derive(Clone, Copy, Deserialize)]
struct Segment(u32, #[allow(dead_code)] u32, f64, bool, bool, #[serde(default)] bool);

impl Segment {
    fn begins_region(&self) -> bool {
        !self.5 && self.3 && self.4
    }
}

pub fn read(source: &Source<'_>, text: &str, from: &str) -> Read<Report> {
    let document: Document<'_> = json::parse(text, from)?;
    if document.kind.as_deref() != Some("llvm.coverage.json.export") {
        return Err(Wrong::whole("expected `type` to be llvm.coverage.json.export"));
    }
    let mut files = Files::default();
    let mut outsiders = Outsiders::default();
    for file in document.data.iter().flat_map(|data| &data.files) {
        let wrong = |reason: String| Wrong::where_found(text.as_bytes(), &file.filename, reason);
        let found = source.locate(&file.filename).map_err(wrong)?;
        if let Some(path) = outsiders.keep(&file.filename, found) {
            let at = files.file(path, false);
            lines(&file.segments, |line, was_hit| files.line(at, line, was_hit)).map_err(wrong)?;
        }
    }
    outsiders.check(source, text.as_bytes())?;
    Ok(Report { tool: Tool::LlvmCov, coverage: files.done(), ..Report::default() })
}

/// The executed lines, derived from segments as `llvm-cov` itself does: the largest count of the segments on a line
/// and of the segment that reaches into it.
fn lines(segments: &[Segment], mut take: impl FnMut(u32, bool) -> Result<(), String>) -> Result<(), String> {
    let mut reaching: Option<Segment> = None;
    let mut rest = segments;
    while let Some(first) = rest.first() {
        let line = first.0;
        let n_here = rest.iter().take_while(|segment| segment.0 == line).count();
        let (here, after) = rest.split_at(n_here);
        let begins_skipped = !first.3 && first.4;
        let has_begin = here.iter().any(Segment::begins_region);
        let is_mapped = (!begins_skipped && (reaching.is_some_and(|segment| segment.3) || has_begin))
            || here.iter().any(|segment| segment.4 && segment.3);
        if is_mapped {
            let began = here.iter().filter(|segment| segment.begins_region()).map(|segment| segment.2);
            let count = began.fold(reaching.map_or(0.0, |segment| segment.2), f64::max);
            take(line, count > 0.0)?;
        }
        reaching = here.last().copied();
        rest = after;
        let Some(next) = rest.first() else { break };
        if next.0 < line {
            return Err("segments are not in order".to_owned());
        }
        // Lines without a segment have the count of the segment that reaches into them.
        if let Some(segment) = reaching.filter(|segment| segment.3) {
            for line in line.saturating_add(1)..next.0 {
                take(line, segment.2 > 0.0)?;
            }
        }
    }
    Ok(())
}
