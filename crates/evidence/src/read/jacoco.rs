//! JaCoCo XML, which has packages but not the folders of the sources.

use super::Files;
use super::xml::{self, Part};
use crate::path::{Found, Source};
use crate::refusal::Read;
use crate::report::{Report, Tool};

pub fn read(source: &Source<'_>, text: &str) -> Read<Report> {
    let mut files = Files::default();
    let mut package = String::new();
    let mut file: Option<usize> = None;
    xml::each(text, |part| {
        match part {
            Part::Start(element) if element.name == "package" => {
                package = element.required("name")?.to_owned()
            }
            Part::Start(element) if element.name == "sourcefile" => {
                let name = element.required("name")?;
                let path = if package.is_empty() { name.to_owned() } else { format!("{package}/{name}") };
                match source.locate_in("", &path)? {
                    Found::Inside(path) => file = Some(files.file(path, true)),
                    Found::Outside => return Err(format!("the path {path} is absolute; expected a package")),
                }
            }
            Part::End("sourcefile", _) => file = None,
            Part::Start(element) if element.name == "line" => {
                if let Some(file) = file {
                    files.line(file, element.number("nr")?, element.number("ci")? > 0)?;
                }
            }
            _ => {}
        }
        Ok(())
    })?;
    Ok(Report { tool: Tool::Jacoco, coverage: files.done(), ..Report::default() })
}
