//! The file of an import as a caller sends it, of any size.

use std::fmt;
use std::io::{self, Read, Write};

use store::scratch::Scratch;

/// A file that arrives.
#[derive(Default)]
pub struct Upload {
    scratch: Scratch,
    hasher: blake3::Hasher,
}

impl Upload {
    /// An empty file.
    pub fn new() -> Upload {
        Upload::default()
    }

    /// How many bytes have arrived.
    pub fn n_bytes(&self) -> u64 {
        self.scratch.n_bytes()
    }

    /// Whether so many more bytes stay in memory, so that taking them is quick.
    pub fn has_room(&self, n_more: usize) -> bool {
        self.scratch.has_room(n_more)
    }

    /// The hash of what has arrived: BLAKE3, in hexadecimal digits.
    pub fn hash(&self) -> String {
        self.hasher.finalize().to_hex().to_string()
    }

    /// The file from its beginning.
    pub fn into_reader(self) -> impl Read + Send + 'static {
        self.scratch.into_reader()
    }
}

impl Write for Upload {
    fn write(&mut self, part: &[u8]) -> io::Result<usize> {
        self.scratch.add(part)?;
        self.hasher.update(part);
        Ok(part.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl fmt::Debug for Upload {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "a file of {} bytes", self.n_bytes())
    }
}
