//! `duvet merge`: makes one report of several.

use std::fs::{self, File};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};

use trace::report::merge::{Input, merge};

use super::arguments::MergeArguments;
use super::{Failure, progress, show};

/// Places in texts are numbers of 32 bits.
const REPORT_SIZE_MAX_BYTES: u64 = u32::MAX as u64;

/// Reads all reports, merges them, and writes the result, or leaves what was there.
pub fn run(arguments: &MergeArguments) -> Result<u8, Failure> {
    let inputs = arguments.input.iter().map(|path| read(path)).collect::<Result<Vec<Input>, Failure>>()?;
    let merged = merge(&inputs).map_err(Failure::problems)?;
    show(&merged.warnings);
    let failed = |error: io::Error| Failure::new(format!("{}: {error}", arguments.output.display()));
    let text = serde_json::to_vec_pretty(&merged.document).map_err(|error| failed(error.into()))?;
    write(&arguments.output, &text).map_err(failed)?;
    progress("Wrote", &arguments.output.display().to_string());
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

/// Writes a file at once: whoever looks at it sees all of the old one or all of the new one.
fn write(path: &Path, contents: &[u8]) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    let existing = match File::options().write(true).open(path) {
        Ok(file) => Some(file),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(error),
    };
    if let Some(mut file) = existing.as_ref().filter(|file| !is_regular(file)) {
        return file.write_all(contents);
    }
    // What a link leads to changes, not the link.
    let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let temporary = beside(&path);
    let written = File::create_new(&temporary).and_then(|mut file| {
        if let Some(existing) = &existing {
            file.set_permissions(existing.metadata()?.permissions())?;
        }
        file.write_all(contents)
    });
    let renamed = written.and_then(|()| fs::rename(&temporary, &path));
    let Err(error) = renamed else {
        return Ok(());
    };
    let _ = fs::remove_file(&temporary);
    // The folder may be closed to new files, or the file mounted by itself.
    let is_fixed =
        [io::ErrorKind::PermissionDenied, io::ErrorKind::ReadOnlyFilesystem, io::ErrorKind::ResourceBusy];
    if existing.is_some() && is_fixed.contains(&error.kind()) {
        fs::write(&path, contents)
    } else {
        Err(error)
    }
}

/// Pipes and devices are written to, not replaced.
fn is_regular(file: &File) -> bool {
    file.metadata().is_ok_and(|metadata| metadata.is_file())
}

fn beside(path: &Path) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!(".{name}.{}.tmp", std::process::id()))
}
