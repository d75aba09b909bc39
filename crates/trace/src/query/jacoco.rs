//! Reads coverage reports of JaCoCo in XML.

use std::collections::HashMap;
use std::sync::Arc;

use quick_xml::events::{BytesStart, Event};
use quick_xml::{Reader, XmlVersion};

use super::execution::LineRuns;
use crate::diagnostic::{Code, Diagnostic, Place};
use crate::text::Span;

/// By the path of a source file, as the report knows it, which of its lines ran.
pub type JacocoCoverage = HashMap<String, LineRuns>;

/// Reports nest modules, packages, files and lines; anything much deeper is something else.
const DEPTH_MAX: usize = 64;

/// Reads a report.
pub fn read(path: &Arc<str>, text: &str) -> Result<JacocoCoverage, Diagnostic> {
    let mut reader = Reader::from_str(text);
    reader.config_mut().expand_empty_elements = true;
    let mut state = State::default();
    loop {
        let start = reader.buffer_position();
        let done = match reader.read_event() {
            Ok(Event::Start(element)) => state.start(&element),
            Ok(Event::End(element)) => {
                state.end(element.local_name().into_inner());
                Ok(())
            }
            Ok(Event::Eof) if state.open.is_empty() => return Ok(state.coverage),
            Ok(Event::Eof) => Err(format!("ends inside <{}>", state.open.join("><"))),
            Ok(_) => Ok(()),
            Err(error) => return Err(wrong(path, text, reader.error_position(), &error.to_string())),
        };
        done.map_err(|problem| wrong(path, text, start, &problem))?;
    }
}

fn wrong(path: &Arc<str>, text: &str, position: u64, problem: &str) -> Diagnostic {
    // Blanks before an element belong to the position of what was read before it.
    let position = (position as usize).min(text.len());
    let rest = text.get(position..).unwrap_or_default();
    let position = position + rest.len() - rest.trim_start().len();
    let place = Place::new(path, text, Span::new(position, position), "here");
    Diagnostic::error(Code::Coverage, format!("{path}:{} is not a JaCoCo report: {problem}", place.line))
        .at(place)
}

#[derive(Default)]
struct State {
    coverage: JacocoCoverage,
    /// The names of the elements that are open.
    open: Vec<String>,
    package: Option<String>,
    file: Option<File>,
}

struct File {
    path: String,
    /// Lines with branches are told apart, for the last entry of each sort counts.
    statements: LineRuns,
    branches: LineRuns,
}

impl State {
    fn start(&mut self, element: &BytesStart<'_>) -> Result<(), String> {
        if self.open.len() == DEPTH_MAX {
            return Err(format!("elements are nested deeper than {DEPTH_MAX}"));
        }
        let name = element.local_name();
        let name = name.into_inner();
        self.open.push(name.to_owned());
        match (name, &self.package, &mut self.file) {
            ("package", None, _) => self.package = Some(attribute(element, "name")?),
            ("sourcefile", Some(package), None) => {
                let path = format!("{package}/{}", attribute(element, "name")?);
                self.file = Some(File {
                    path: path.trim_start_matches('/').to_owned(),
                    statements: LineRuns::new(),
                    branches: LineRuns::new(),
                });
            }
            ("line", _, Some(file)) => line(element, file)?,
            _ => {}
        }
        Ok(())
    }

    fn end(&mut self, name: &str) {
        self.open.pop();
        match name {
            "package" if self.file.is_none() => self.package = None,
            "sourcefile" => {
                if let Some(file) = self.file.take() {
                    let mut lines = file.statements;
                    for (line, ran) in file.branches {
                        *lines.entry(line).or_default() |= ran;
                    }
                    self.coverage.insert(file.path, lines);
                }
            }
            _ => {}
        }
    }
}

fn attribute(element: &BytesStart<'_>, name: &str) -> Result<String, String> {
    for attribute in element.attributes() {
        let attribute = attribute.map_err(|error| error.to_string())?;
        if attribute.key.into_inner() == name {
            let value =
                attribute.normalized_value(XmlVersion::Explicit1_0).map_err(|error| error.to_string())?;
            return Ok(value.into_owned());
        }
    }
    Err(format!("<{}> has no `{name}`", element.name().into_inner()))
}

/// Counts of a line: instructions and branches, missed and covered.
fn line(element: &BytesStart<'_>, file: &mut File) -> Result<(), String> {
    const NAMES: [&str; 5] = ["nr", "mi", "ci", "mb", "cb"];
    let mut values: [Option<u64>; 5] = [None; 5];
    for attribute in element.attributes() {
        let attribute = attribute.map_err(|error| error.to_string())?;
        if let Some(index) = NAMES.iter().position(|name| *name == attribute.key.into_inner()) {
            let value: &str = &attribute.value;
            let max = if index == 0 { u64::from(u32::MAX) } else { u64::MAX };
            let number = value.parse().ok().filter(|number| *number <= max);
            let number = number.ok_or_else(|| format!("`{}` is not a number: {value:?}", NAMES[index]))?;
            values[index] = Some(number);
        }
    }
    if let Some(index) = values.iter().position(Option::is_none) {
        return Err(format!("<line> has no `{}`", NAMES[index]));
    }
    let [number, missed, covered, branches_missed, branches_covered] = values.map(Option::unwrap_or_default);
    if branches_missed > 0 || branches_covered > 0 {
        file.branches.insert(number as u32, branches_covered > 0);
    } else if missed > 0 || covered > 0 {
        file.statements.insert(number as u32, covered > 0);
    }
    Ok(())
}
