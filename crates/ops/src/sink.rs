//! Receives the file of an export while it is written.

use std::io;

/// Receives a file as it is written.
pub trait Sink: io::Write + Send {
    /// Discards what was written so far: the file is written again, because the connection to the database was lost.
    fn restart(&mut self) -> io::Result<()>;
}

/// A file in memory, with a maximal size.
pub(crate) struct Memory {
    pub bytes: Vec<u8>,
    pub bytes_max: usize,
}

impl io::Write for Memory {
    fn write(&mut self, part: &[u8]) -> io::Result<usize> {
        if self.bytes.len() + part.len() > self.bytes_max {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        self.bytes.extend_from_slice(part);
        Ok(part.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Sink for Memory {
    fn restart(&mut self) -> io::Result<()> {
        self.bytes.clear();
        Ok(())
    }
}
