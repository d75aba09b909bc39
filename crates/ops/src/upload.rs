//! The file of an import as it is uploaded, of any size.

use std::fmt;
use std::io::{self, Read, Write};

use store::scratch::Scratch;

/// How much is copied at once.
const COPIED_BYTES: usize = 256 << 10;

/// A file that is being uploaded.
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

    /// Whether so many more bytes fit into memory, so that adding them is fast.
    pub fn has_room(&self, n_more: usize) -> bool {
        self.scratch.has_room(n_more)
    }

    /// The hash of the received bytes: BLAKE3, in hexadecimal digits.
    pub fn hash(&self) -> String {
        self.hasher.finalize().to_hex().to_string()
    }

    /// A second handle to the same file.
    pub fn copied(&mut self) -> io::Result<Upload> {
        let mut copy = Upload::new();
        let mut part = vec![0; COPIED_BYTES];
        let (mut place, n_bytes) = (0, self.n_bytes());
        while place < n_bytes {
            let n_part = (n_bytes - place).min(COPIED_BYTES as u64) as usize;
            self.scratch.read(place, &mut part[..n_part])?;
            copy.write_all(&part[..n_part])?;
            place += n_part as u64;
        }
        Ok(copy)
    }

    /// The file from its start.
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
