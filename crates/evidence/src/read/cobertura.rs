//! Cobertura XML, as coverage.py, istanbul, gcovr and others write it.

use super::Files;
use super::xml::{self, Part};
use crate::path::{Found, Outsiders, Source};
use crate::refusal::Read;
use crate::report::{Report, Tool};

/// The maximal number of source folders in a report.
const SOURCES_MAX: usize = 1_000;

pub fn read(source: &Source<'_>, text: &str) -> Read<Report> {
    let mut files = Files::default();
    let mut outsiders = Outsiders::default();
    let mut folders: Vec<String> = Vec::new();
    let mut n_folders = 0;
    // None outside of classes, and for a class whose file is outside of the repository.
    let mut class: Option<Option<usize>> = None;
    xml::each(text, |part| {
        match part {
            Part::End("source", folder) => {
                n_folders += 1;
                if n_folders > SOURCES_MAX {
                    return Err(format!("expected at most {SOURCES_MAX} sources"));
                }
                // What is not in the repository cannot hold files of it.
                let folder = folder.trim();
                let is_here = matches!(folder, "" | ".")
                    || folder.trim_end_matches('/') == source.root.trim_end_matches('/');
                match source.locate(folder) {
                    _ if is_here && folder.starts_with('/') => folders.push(String::new()),
                    _ if is_here => folders.push(source.folder.to_owned()),
                    Ok(Found::Inside(folder)) => folders.push(folder),
                    _ => {}
                }
            }
            Part::Start(element) if element.name == "class" => {
                let path = element.required("filename")?;
                let (found, is_suffix) = match &folders[..] {
                    [] => (source.locate(path)?, false),
                    [folder] => (source.locate_in(folder, path)?, false),
                    // The report does not say which of them contains a file.
                    _ => (source.locate_in("", path)?, true),
                };
                class = Some(outsiders.keep(path, found).map(|path| files.file(path, is_suffix)));
            }
            Part::End("class", _) => class = None,
            Part::Start(element) if element.name == "line" => {
                if let Some(Some(file)) = class {
                    let hits = element.required("hits")?;
                    let hits: f64 =
                        hits.parse().map_err(|_| format!("hits: expected a number, found {hits:.100}"))?;
                    files.line(file, element.number("number")?, hits > 0.0)?;
                }
            }
            _ => {}
        }
        Ok(())
    })?;
    outsiders.check(source, text.as_bytes())?;
    Ok(Report { tool: Tool::Cobertura, coverage: files.done(), ..Report::default() })
}
