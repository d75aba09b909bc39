//! `duvet extract`: writes the requirements of a specification into files, one for each section.

use std::path::Path;

use trace::extract::{self, render};
use trace::project::{Documents, Project, requirement_folder};

use super::arguments::ExtractArguments;
use super::output::{ChosenBy, Outputs};
use super::{Failure, fetch, options, progress};

/// Extracts one specification.
pub fn run(arguments: &ExtractArguments) -> Result<u8, Failure> {
    if arguments.out.extension().is_some() {
        return Err(Failure::new(format!("{} must be a folder", arguments.out.display())));
    }
    let is_toml = match arguments.extension.as_str() {
        "toml" => true,
        "rs" => false,
        other => return Err(Failure::new(format!("cannot write `{other}`; expected toml or rs"))),
    };
    let project =
        Project::open(options(&arguments.project)?, &super::environment).map_err(Failure::problems)?;
    let root = &project.options.root;
    let outputs = Outputs::new(root, &arguments.writing);
    let mut documents =
        Documents::new(&project, Some(fetch::fetcher(&project, &arguments.fetching, &outputs)));
    let (target, specification) = documents
        .open(&arguments.target_path, arguments.format)
        .map_err(|problem| Failure::problems(vec![problem.diagnostic()]))?;
    let name = target.path.display(root);
    let local = target.path.local(&project.named_downloads()).unwrap_or_default();
    let folder = requirement_folder(&arguments.out, None, &local);
    let outputs = outputs.inside(&arguments.out);

    let (mut n_requirements, mut n_sections) = (0, 0);
    for section in &specification.sections {
        let requirements = extract::requirements(&specification, section);
        if requirements.is_empty() {
            continue;
        }
        n_requirements += requirements.len();
        n_sections += 1;
        let text = match is_toml {
            true => render::toml(&name, &specification, section, &requirements),
            false => render::rust(&name, &specification, section, &requirements),
        };
        let file_name = format!("{}.{}", section.id, arguments.extension);
        // A specification must not decide where files are written.
        if Path::new(&file_name).file_name() != Some(file_name.as_ref()) {
            return Err(Failure::new(format!(
                "section `{}` has an id that is not a valid file name",
                section.id
            )));
        }
        let path = root.join(&folder).join(file_name);
        outputs
            .replace(&path, ChosenBy::Project, |out| out.write_all(text.as_bytes()))
            .map_err(Failure::new)?;
    }
    progress("Extracted", &format!("{n_requirements} requirements across {n_sections} sections"));
    Ok(super::DONE)
}
