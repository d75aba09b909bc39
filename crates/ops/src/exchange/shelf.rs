//! Where an import keeps what does not fit into memory: things one after the other in a temporary file without a name, each
//! found again by its place.

use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};

use store::model::{Kind, Time};

use crate::error::{Error, Kind as ErrorKind, Result};

/// A small shelf stays in memory, and of a large one what was added last.
const MEMORY_MAX_BYTES: usize = 1 << 20;
/// How much is read at once where things are read in their order, and where they are not.
const ORDERED_BYTES: usize = 64 << 10;
const RANDOM_BYTES: usize = 4 << 10;

/// Things one after the other.
#[derive(Default)]
pub(super) struct Shelf {
    file: Option<File>,
    /// How many bytes are in the file.
    n_filed: u64,
    /// What comes after them.
    tail: Vec<u8>,
    /// A part of the file that was read, and where it begins.
    window: Vec<u8>,
    window_start: u64,
}

impl Shelf {
    /// Adds something, and returns its place.
    pub fn add(&mut self, thing: &impl Shelved) -> io::Result<u64> {
        let (place, start) = (self.n_filed + self.tail.len() as u64, self.tail.len());
        self.tail.extend_from_slice(&[0; LENGTH_BYTES]);
        thing.put(&mut self.tail);
        let length = (self.tail.len() - start - LENGTH_BYTES) as u32;
        self.tail[start..start + LENGTH_BYTES].copy_from_slice(&length.to_le_bytes());
        if self.tail.len() > MEMORY_MAX_BYTES {
            self.file_tail()?;
        }
        Ok(place)
    }

    /// What was added at a place.
    pub fn get<T: Shelved>(&mut self, place: u64) -> Result<T> {
        let (mut length, mut bytes) = ([0; LENGTH_BYTES], Vec::new());
        self.copy(place, &mut length).map_err(|error| unusable(&error))?;
        bytes.resize(u32::from_le_bytes(length) as usize, 0);
        self.copy(place + LENGTH_BYTES as u64, &mut bytes).map_err(|error| unusable(&error))?;
        T::take(&mut &*bytes).ok_or_else(|| Error::new(ErrorKind::InternalError, "a working file is damaged"))
    }

    fn file_tail(&mut self) -> io::Result<()> {
        let file = match &mut self.file {
            Some(file) => file,
            none => none.insert(tempfile::tempfile()?),
        };
        file.seek(SeekFrom::Start(self.n_filed))?;
        file.write_all(&self.tail)?;
        self.n_filed += self.tail.len() as u64;
        self.tail.clear();
        Ok(())
    }

    fn copy(&mut self, mut place: u64, mut out: &mut [u8]) -> io::Result<()> {
        while !out.is_empty() {
            let from = if place >= self.n_filed {
                self.tail.get((place - self.n_filed) as usize..).unwrap_or_default()
            } else {
                self.fill_window(place, out.len())?;
                &self.window[(place - self.window_start) as usize..]
            };
            let n_bytes = from.len().min(out.len());
            if n_bytes == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            out[..n_bytes].copy_from_slice(&from[..n_bytes]);
            (place, out) = (place + n_bytes as u64, &mut out[n_bytes..]);
        }
        Ok(())
    }

    /// Reads the part of the file around a place, unless it was.
    fn fill_window(&mut self, place: u64, n_wanted: usize) -> io::Result<()> {
        let end = self.window_start + self.window.len() as u64;
        if (self.window_start..end).contains(&place) {
            return Ok(());
        }
        let Some(file) = &mut self.file else { return Err(io::ErrorKind::UnexpectedEof.into()) };
        let is_ordered = place >= end && place - end < ORDERED_BYTES as u64;
        let n_bytes = n_wanted.max(if is_ordered { ORDERED_BYTES } else { RANDOM_BYTES }) as u64;
        file.seek(SeekFrom::Start(place))?;
        self.window.clear();
        self.window_start = place;
        file.take(n_bytes.min(self.n_filed - place)).read_to_end(&mut self.window)?;
        Ok(())
    }
}

/// Things by row.
#[derive(Default)]
pub(super) struct Items {
    shelf: Shelf,
    /// The place of a row's thing after one; zero where it has none.
    places: Vec<u64>,
}

impl Items {
    /// Keeps what a row makes or is about.
    pub fn put(&mut self, row: usize, thing: &impl Shelved) -> Result<()> {
        if self.places.len() <= row {
            self.places.resize(row + 1, 0);
        }
        self.places[row] = self.shelf.add(thing).map_err(|error| unusable(&error))? + 1;
        Ok(())
    }

    pub fn has(&self, row: usize) -> bool {
        self.places.get(row).is_some_and(|place| *place > 0)
    }

    pub fn get<T: Shelved>(&mut self, row: usize) -> Result<T> {
        match self.places.get(row).and_then(|place| place.checked_sub(1)) {
            Some(place) => self.shelf.get(place),
            None => Err(Error::new(ErrorKind::InternalError, format!("row {row} has nothing on the shelf"))),
        }
    }
}

/// The error for a temporary file that cannot be used.
pub(super) fn unusable(error: &io::Error) -> Error {
    let unavailable = Error::new(ErrorKind::Unavailable, "the import's temporary file could not be used");
    Error { cause: Some(error.to_string()), ..unavailable }
}

const LENGTH_BYTES: usize = 4;

/// Something that can be laid on a shelf.
pub(super) trait Shelved: Sized {
    fn put(&self, out: &mut Vec<u8>);
    /// Reads what [`Shelved::put`] wrote; none where it is something else.
    fn take(bytes: &mut &[u8]) -> Option<Self>;
}

/// Makes a type one that can be laid on a shelf, field by field.
macro_rules! shelved {
    ($type:ident { $($field:ident),* $(,)? }) => {
        impl Shelved for $type {
            fn put(&self, out: &mut Vec<u8>) {
                $(self.$field.put(out);)*
            }

            fn take(bytes: &mut &[u8]) -> Option<Self> {
                Some($type { $($field: Shelved::take(bytes)?),* })
            }
        }
    };
}
pub(super) use shelved;

impl Shelved for u8 {
    fn put(&self, out: &mut Vec<u8>) {
        out.push(*self);
    }

    fn take(bytes: &mut &[u8]) -> Option<Self> {
        bytes.split_off_first().copied()
    }
}

impl Shelved for bool {
    fn put(&self, out: &mut Vec<u8>) {
        out.push(u8::from(*self));
    }

    fn take(bytes: &mut &[u8]) -> Option<Self> {
        u8::take(bytes).map(|byte| byte > 0)
    }
}

impl Shelved for u64 {
    fn put(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.to_le_bytes());
    }

    fn take(bytes: &mut &[u8]) -> Option<Self> {
        let (number, rest) = bytes.split_first_chunk()?;
        *bytes = rest;
        Some(u64::from_le_bytes(*number))
    }
}

impl Shelved for i64 {
    fn put(&self, out: &mut Vec<u8>) {
        self.cast_unsigned().put(out);
    }

    fn take(bytes: &mut &[u8]) -> Option<Self> {
        u64::take(bytes).map(u64::cast_signed)
    }
}

impl Shelved for usize {
    fn put(&self, out: &mut Vec<u8>) {
        (*self as u64).put(out);
    }

    fn take(bytes: &mut &[u8]) -> Option<Self> {
        u64::take(bytes).map(|number| number as usize)
    }
}

impl Shelved for String {
    fn put(&self, out: &mut Vec<u8>) {
        self.len().put(out);
        out.extend_from_slice(self.as_bytes());
    }

    fn take(bytes: &mut &[u8]) -> Option<Self> {
        let length = usize::take(bytes)?;
        let text = bytes.split_off(..length)?;
        String::from_utf8(text.to_vec()).ok()
    }
}

impl<T: Shelved> Shelved for Option<T> {
    fn put(&self, out: &mut Vec<u8>) {
        self.is_some().put(out);
        self.iter().for_each(|thing| thing.put(out));
    }

    fn take(bytes: &mut &[u8]) -> Option<Self> {
        if bool::take(bytes)? { T::take(bytes).map(Some) } else { Some(None) }
    }
}

impl Shelved for Time {
    fn put(&self, out: &mut Vec<u8>) {
        self.microseconds().put(out);
    }

    fn take(bytes: &mut &[u8]) -> Option<Self> {
        i64::take(bytes).map(Time::from_microseconds)
    }
}

impl Shelved for Kind {
    fn put(&self, out: &mut Vec<u8>) {
        let index = Kind::ALL.iter().position(|kind| kind == self).unwrap_or_default();
        (index as u8).put(out);
    }

    fn take(bytes: &mut &[u8]) -> Option<Self> {
        Kind::ALL.get(usize::from(u8::take(bytes)?)).copied()
    }
}
