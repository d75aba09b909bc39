//! `duvet merge`: makes one report of several.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use trace::report::merge::{Input, merge};

use super::arguments::MergeArguments;
use super::output::{ChosenBy, Outputs};
use super::{Failure, current_folder, show};

/// Positions in texts have 32 bits.
const REPORT_SIZE_MAX_BYTES: u64 = u32::MAX as u64;

/// Reads and merges all reports, and writes the result, or leaves the existing file.
pub fn run(arguments: &MergeArguments) -> Result<u8, Failure> {
    let inputs = arguments.input.iter().map(|path| read(path)).collect::<Result<Vec<Input>, Failure>>()?;
    let merged = merge(&inputs).map_err(Failure::problems)?;
    show(&merged.warnings);
    let outputs = Outputs::new(&current_folder()?, &arguments.writing);
    outputs.write(&arguments.output, ChosenBy::User, |out| {
        serde_json::to_writer_pretty(out, &merged.document).map_err(Into::into)
    })?;
    Ok(super::DONE)
}

fn read(path: &Path) -> Result<Input, Failure> {
    let failed = |reason: &str| Failure::new(format!("{}: {reason}", path.display()));
    let file = File::open(path).map_err(|error| failed(&error.to_string()))?;
    let mut bytes = Vec::new();
    let n_bytes = file.take(REPORT_SIZE_MAX_BYTES).read_to_end(&mut bytes);
    if n_bytes.map_err(|error| failed(&error.to_string()))? as u64 == REPORT_SIZE_MAX_BYTES {
        return Err(failed("is larger than 4 GiB"));
    }
    let text = String::from_utf8(bytes).map_err(|error| {
        let valid = &error.as_bytes()[..error.utf8_error().valid_up_to()];
        failed(&format!("is not UTF-8 text from line {} on", memchr::memchr_iter(b'\n', valid).count() + 1))
    })?;
    Ok(Input { path: path.display().to_string().into(), text })
}
