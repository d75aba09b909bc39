//! The reports of a test run, as they are in a checkout.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use evidence::{Report, Source};

use super::file::PROJECT_FILE;

/// Reports of one run.
const REPORTS_MAX: usize = 10_000;

/// What reports say, and when they were written.
#[derive(Default)]
pub struct Reports {
    pub found: Vec<Report>,
    /// When the first and the last of them were written. What has changed since the first may not be what ran.
    pub written: Option<(SystemTime, SystemTime)>,
    /// Reports that name files, but none of the project.
    pub foreign: Vec<String>,
}

impl Reports {
    /// Reads files. One that cannot be read spoils the run: what it would have said is not known. `files` are those of the project.
    pub fn read(root: &Path, paths: &[PathBuf], files: &[&str]) -> Result<Reports, String> {
        if paths.len() > REPORTS_MAX {
            return Err(format!("expected at most {REPORTS_MAX} reports, found {}", paths.len()));
        }
        let files: HashSet<&str> = files.iter().copied().collect();
        let absolute = root.display().to_string();
        let mut reports = Reports::default();
        for path in paths {
            let shown = path.display().to_string();
            let unreadable = |reason: String| format!("{shown}: {reason}");
            let about = fs::metadata(path).map_err(|error| unreadable(error.to_string()))?;
            if !about.is_file() {
                return Err(unreadable("expected a file".to_owned()));
            }
            if about.len() > evidence::REPORT_BYTES_MAX as u64 {
                let (most, found) = (evidence::REPORT_BYTES_MAX, about.len());
                return Err(unreadable(format!("expected at most {most} bytes, found {found}")));
            }
            if let Ok(time) = about.modified() {
                let (first, last) = reports.written.unwrap_or((time, time));
                reports.written = Some((first.min(time), last.max(time)));
            }
            let bytes = fs::read(path).map_err(|error| unreadable(error.to_string()))?;
            let read = |folder: &str| {
                let source = Source { name: &shown, root: &absolute, folder };
                evidence::read(&source, &bytes).map_err(|refusal| refusal.to_string())
            };
            let mut report = read("")?;
            if let Some(foreign) = foreign(&report, &files) {
                // The tool may have run in the folder that it wrote to.
                let below = folders(root, path).into_iter().filter_map(|folder| read(&folder).ok());
                match below.into_iter().find(|report| self::foreign(report, &files).is_none()) {
                    Some(found) => report = found,
                    None => reports.foreign.push(format!(
                        "{shown}: no file that it names is a source of the project, such as {foreign}; its paths are taken to be \
                         relative to the root of the repository, or to the folder of the report"
                    )),
                }
            }
            reports.found.push(report);
        }
        Ok(reports)
    }

    /// The tools whose reports they are.
    pub fn tools(&self) -> String {
        let ran = self.found.iter().filter(|report| !report.cases.is_empty());
        let mut tools: Vec<&str> = ran.map(|report| report.tool.as_str()).collect();
        tools.sort_unstable();
        tools.dedup();
        tools.join(", ")
    }

    /// Whether a file was changed after the run.
    pub fn is_older_than(&self, file: &Path) -> bool {
        let changed = fs::metadata(file).and_then(|about| about.modified());
        matches!((self.written, changed), (Some((first, _)), Ok(changed)) if changed > first)
    }
}

/// A file that a report names, if it names some and none is of the project.
fn foreign(report: &Report, files: &HashSet<&str>) -> Option<String> {
    let covered = report.coverage.iter();
    if covered.clone().any(|covered| covered.is_suffix) {
        return None;
    }
    let of_cases = report.cases.iter().filter_map(|case| case.name.file.as_deref());
    let mut named = covered.map(|covered| covered.file.as_str()).chain(of_cases).peekable();
    let first = (*named.peek()?).to_owned();
    (!named.any(|file| files.contains(file))).then_some(first)
}

/// The folder of a report and those above it, relative to the root, which is left out.
fn folders(root: &Path, report: &Path) -> Vec<String> {
    let (Ok(root), Some(Ok(folder))) = (
        root.canonicalize(),
        report.parent().map(|parent| match parent.as_os_str().is_empty() {
            true => Path::new(".").canonicalize(),
            false => parent.canonicalize(),
        }),
    ) else {
        return Vec::new();
    };
    let Ok(below) = folder.strip_prefix(root) else { return Vec::new() };
    let folders = below.ancestors().filter(|folder| !folder.as_os_str().is_empty());
    folders.map(|folder| folder.to_string_lossy().replace('\\', "/")).collect()
}

/// The files inside the project that a glob of its file matches, which came with the project.
pub fn matching(root: &Path, pattern: &str) -> Result<Vec<PathBuf>, String> {
    let mut found = trace::project::matching(root, pattern)
        .map_err(|reason| format!("{PROJECT_FILE}: {pattern}: {reason}"))?;
    found.truncate(REPORTS_MAX + 1);
    Ok(found)
}

/// The glob that keeps a report from being read as source code, if it is inside the project.
pub fn excluding(root: &Path, report: &Path) -> Option<String> {
    let (root, report) = (root.canonicalize().ok()?, report.canonicalize().ok()?);
    Some(glob::Pattern::escape(report.strip_prefix(root).ok()?.to_str()?))
}
