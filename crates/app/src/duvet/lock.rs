//! `duvet lock`: records the current specifications as reviewed.

use trace::lock::{LOCK_PATH, Lock};
use trace::project::Index;

use super::arguments::LockArguments;
use super::output::{ChosenBy, Outputs};
use super::{DONE, Failure, environment, nearest_options, progress};

/// Writes the lock file.
pub fn run(arguments: &LockArguments) -> Result<u8, Failure> {
    let options = nearest_options(&arguments.project)?;
    let outputs = Outputs::new(&options.root, &arguments.writing);
    let model = Index::open(options, Box::new(environment)).model();
    let problems: Vec<_> = model.general.iter().filter(|problem| problem.is_error()).cloned().collect();
    // What could not be read cannot be accepted.
    if !problems.is_empty() {
        return Err(Failure::problems(problems));
    }
    let text = Lock::of(&model).to_toml();
    let written =
        outputs.replace(LOCK_PATH.as_ref(), ChosenBy::Project, |out| out.write_all(text.as_bytes()));
    written.map_err(Failure::new)?;
    progress("Locked", &format!("{} specifications in {LOCK_PATH}", model.catalogue.specifications.len()));
    Ok(DONE)
}
