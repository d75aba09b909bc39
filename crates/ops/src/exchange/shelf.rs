//! A temporary file for the data of an import that does not fit into memory: items one after the other, found by position.

use std::io;

use store::model::{Kind, Time};
use store::scratch::Scratch;

use crate::error::{Error, ErrorKind, Result};

/// Items begin at multiples of this many bytes, so that 32 bits can address 64 GiB.
const GRAIN_BYTES: u64 = 16;

/// The position of an item, in grains.
pub(super) type Place = u32;

/// A sequence of items.
#[derive(Default)]
pub(super) struct Shelf {
    scratch: Scratch,
    /// An item under construction.
    bytes: Vec<u8>,
}

impl Shelf {
    /// Adds an item, and returns its position.
    pub fn add(&mut self, thing: &impl Shelved) -> io::Result<Place> {
        self.bytes.clear();
        self.bytes.extend_from_slice(&[0; LENGTH_BYTES]);
        thing.put(&mut self.bytes);
        let length = (self.bytes.len() - LENGTH_BYTES) as u32;
        self.bytes[..LENGTH_BYTES].copy_from_slice(&length.to_le_bytes());
        self.bytes.resize(self.bytes.len().next_multiple_of(GRAIN_BYTES as usize), 0);
        let place = self.scratch.add(&self.bytes)? / GRAIN_BYTES;
        // The highest position stays free for one that is counted from one.
        Place::try_from(place + 1).map(|place| place - 1).map_err(|_| io::ErrorKind::FileTooLarge.into())
    }

    /// The item at a position.
    pub fn get<T: Shelved>(&mut self, place: Place) -> Result<T> {
        self.read(u64::from(place) * GRAIN_BYTES).map_err(|error| unusable(&error))?;
        T::take(&mut &*self.bytes)
            .ok_or_else(|| Error::new(ErrorKind::InternalError, "a temporary file of an import is damaged"))
    }

    fn read(&mut self, place: u64) -> io::Result<()> {
        let mut length = [0; LENGTH_BYTES];
        self.scratch.read(place, &mut length)?;
        self.bytes.resize(u32::from_le_bytes(length) as usize, 0);
        self.scratch.read(place + LENGTH_BYTES as u64, &mut self.bytes)
    }
}

/// The bytes before an item with its length.
const LENGTH_BYTES: usize = 4;

/// Items by row.
#[derive(Default)]
pub(super) struct Items {
    shelf: Shelf,
    /// The position of a row's item plus one; zero if there is none.
    places: Vec<Place>,
}

impl Items {
    /// Capacity for the items of this many rows.
    pub fn with_room(n_rows: usize) -> Items {
        Items { shelf: Shelf::default(), places: vec![0; n_rows] }
    }

    /// Stores the item of a row.
    pub fn put(&mut self, row: usize, thing: &impl Shelved) -> Result<()> {
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

/// A type that can be stored on a shelf.
pub(super) trait Shelved: Sized {
    fn put(&self, out: &mut Vec<u8>);
    /// Reads what [`Shelved::put`] wrote; none for anything else.
    fn take(bytes: &mut &[u8]) -> Option<Self>;
}

/// Implements this for a type, field by field.
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
