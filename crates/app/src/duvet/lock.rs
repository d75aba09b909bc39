//! `duvet lock`: accepts the specifications as they are now.

use std::fs;

use trace::lock::{LOCK_PATH, Lock};
use trace::project::Index;

use super::arguments::ProjectArguments;
use super::{DONE, Failure, environment, nearest_options, progress};

/// Writes the lock file.
pub fn run(arguments: &ProjectArguments) -> Result<u8, Failure> {
    let options = nearest_options(arguments)?;
    let path = options.root.join(LOCK_PATH);
    let model = Index::open(options, Box::new(environment)).model();
    let problems: Vec<_> = model.general.iter().filter(|problem| problem.is_error()).cloned().collect();
    // What could not be read cannot be accepted.
    if !problems.is_empty() {
        return Err(Failure::problems(problems));
    }
    let failed = |error: std::io::Error| Failure::new(format!("{}: {error}", path.display()));
    let folder = path.parent().unwrap_or(&path);
    fs::create_dir_all(folder).map_err(failed)?;
    let draft = path.with_extension("toml.new");
    fs::write(&draft, Lock::of(&model).to_toml()).and_then(|()| fs::rename(&draft, &path)).map_err(failed)?;
    progress("Locked", &format!("{} specifications in {LOCK_PATH}", model.catalogue.specifications.len()));
    Ok(DONE)
}
