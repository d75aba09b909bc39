//! Where the command line writes a file: to a name, or to standard output.

use std::fs::File;
use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::{Exit, print};

/// A file that is created with its first bytes, so that a refused export leaves alone what is there. Clones write to the same
/// file.
#[derive(Clone)]
pub struct Target {
    path: Option<PathBuf>,
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    file: Option<File>,
    has_written: bool,
    error: Option<io::Error>,
}

impl Target {
    /// A file, or standard output.
    pub fn new(path: Option<PathBuf>) -> Target {
        Target { path, state: Arc::default() }
    }

    /// Prints what could not be written, and returns the exit code. None when everything was written.
    pub fn finish(self) -> Option<Exit> {
        let error = self.state().error.take()?;
        match self.path {
            None => Some(print::written(Err(error))),
            Some(path) => {
                print::tell(&format!("{}: {error}", path.display()));
                Some(Exit::Refused)
            }
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes, and remembers why that failed.
    fn attempt<T>(&self, write: impl FnOnce(&mut dyn Write) -> io::Result<T>) -> io::Result<T> {
        let state = &mut *self.state();
        let written = match (&self.path, &mut state.file) {
            (None, _) => write(&mut io::stdout()),
            (Some(_), Some(file)) => write(file),
            (Some(path), empty) => File::create(path).and_then(|file| write(empty.insert(file))),
        };
        state.has_written = true;
        written.map_err(|error| {
            let kind = error.kind();
            state.error.get_or_insert(error);
            kind.into()
        })
    }
}

impl Write for Target {
    fn write(&mut self, part: &[u8]) -> io::Result<usize> {
        self.attempt(|out| out.write(part))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.attempt(|out| out.flush())
    }
}

impl ops::Sink for Target {
    fn restart(&mut self) -> io::Result<()> {
        let mut state = self.state();
        match (&self.path, state.has_written) {
            (_, false) => Ok(()),
            (Some(_), true) => {
                // It is created anew.
                state.file = None;
                Ok(())
            }
            (None, true) => Err(io::Error::other("standard output has the beginning of a file already")),
        }
    }
}
