//! The file of an import as a caller sends it, of any size: beyond some size it is on the disk, without a name.

use std::fmt;
use std::io::{self, Read, Seek as _, Write};

use tempfile::SpooledTempFile;

/// A smaller file stays in memory.
const MEMORY_MAX_BYTES: usize = 1 << 20;

/// A file that arrives.
pub struct Upload {
    file: SpooledTempFile,
    hasher: blake3::Hasher,
    n_bytes: u64,
}

impl Upload {
    /// An empty file.
    pub fn new() -> Upload {
        let file = SpooledTempFile::new(MEMORY_MAX_BYTES);
        Upload { file, hasher: blake3::Hasher::new(), n_bytes: 0 }
    }

    /// How many bytes have arrived.
    pub fn n_bytes(&self) -> u64 {
        self.n_bytes
    }

    /// Whether so many more bytes stay in memory, so that taking them is quick.
    pub fn has_room(&self, n_more: usize) -> bool {
        self.n_bytes + n_more as u64 <= MEMORY_MAX_BYTES as u64
    }

    /// The hash of what has arrived: BLAKE3, in hexadecimal digits.
    pub fn hash(&self) -> String {
        self.hasher.finalize().to_hex().to_string()
    }

    /// The file from its beginning.
    pub fn into_reader(mut self) -> io::Result<impl Read + Send + 'static> {
        self.file.rewind()?;
        Ok(self.file)
    }
}

impl Default for Upload {
    fn default() -> Self {
        Upload::new()
    }
}

impl Write for Upload {
    fn write(&mut self, part: &[u8]) -> io::Result<usize> {
        let n_bytes = self.file.write(part)?;
        self.hasher.update(&part[..n_bytes]);
        self.n_bytes += n_bytes as u64;
        Ok(n_bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl fmt::Debug for Upload {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "a file of {} bytes", self.n_bytes)
    }
}
