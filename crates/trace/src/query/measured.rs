//! Finds and reads coverage reports, and applies them to a project.

use std::path::Path;
use std::sync::Arc;

use rayon::prelude::*;

use super::jacoco;
use super::measurement::{self, Measurement, Sources};
use crate::diagnostic::{Code, Diagnostic};
use crate::project::{Options, files, listing};
use crate::report::Report;

/// The maximal size of a report.
const REPORT_SIZE_MAX_BYTES: u64 = 1 << 30;

/// Reads the JaCoCo reports that globs match. Also returns warnings.
pub fn measure(
    report: &Report<'_>,
    patterns: &[String],
) -> Result<(Vec<Measurement>, Vec<Diagnostic>), Vec<Diagnostic>> {
    let setting = &report.model.setting;
    let root: &Path = &setting.root;
    let options = Options { root: root.to_path_buf(), ..Options::default() };
    let mut problems = Vec::new();
    let mut paths = Vec::new();
    let mut warnings = Vec::new();
    for pattern in patterns {
        let n_problems = problems.len();
        let found = listing::expand(&options, pattern, &mut Vec::new(), &mut problems);
        if found.is_empty() && problems.len() == n_problems {
            warnings
                .push(Diagnostic::warning(Code::Pattern, format!("`{pattern}` matches no coverage report")));
        }
        paths.extend(found);
    }
    let read = |path: &Arc<str>| {
        let text = files::read_up_to(&root.join(&**path), REPORT_SIZE_MAX_BYTES);
        let text = text.map_err(|reading| reading.diagnostic(path, Code::Coverage))?;
        Ok((path.clone(), jacoco::read(path, &text)?))
    };
    let read: Vec<Result<_, Diagnostic>> = paths.par_iter().map(read).collect();
    let mut coverages = Vec::with_capacity(read.len());
    for coverage in read {
        match coverage {
            Ok(coverage) => coverages.push(coverage),
            Err(problem) => problems.push(problem),
        }
    }
    if !problems.is_empty() {
        return Err(problems);
    }
    let read = |path: &Arc<str>| {
        files::read(&root.join(&**path)).map_err(|reading| reading.diagnostic(path, Code::Unreadable))
    };
    let sources = Sources { paths: &setting.sources, read: &read };
    let (measurements, more) = measurement::measure(report, &sources, &coverages)?;
    warnings.extend(more);
    Ok((measurements, warnings))
}
