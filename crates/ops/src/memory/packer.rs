//! Texts that are much alike, in less room. Answers of one kind have the names of their fields, ids and times in common, which
//! is more than half of a short one; so each is kept as what it has beside the first ones that were seen, which is LZ4
//! with those as its dictionary. Unpacking takes a fraction of a microsecond.

use std::sync::{Arc, OnceLock};

use lz4_flex::block::{compress_with_dict, decompress_with_dict};

/// How many texts may become examples, and how long each may be: in a longer one most is its own.
const EXAMPLES_MAX: usize = 16;
const EXAMPLE_BYTES_MAX: usize = 1_024;

/// The examples. They never change, only more are added: the first entry holds the first example, the second that and another,
/// and so on, so that a text can be unpacked with what was there when it was packed.
#[derive(Default)]
pub struct Packer {
    examples: [OnceLock<Box<[u8]>>; EXAMPLES_MAX],
}

/// A text that was packed.
#[derive(Clone)]
pub struct Packed {
    bytes: Arc<[u8]>,
    n_bytes: u32,
    n_examples: u8,
}

impl Packed {
    /// The room it takes.
    pub fn len(&self) -> usize {
        self.bytes.len()
    }
}

impl Packer {
    /// Packs a text. One that is like none of the examples becomes one.
    pub fn pack(&self, text: &str) -> Option<Packed> {
        let n_examples = self.examples.iter().take_while(|examples| examples.get().is_some()).count();
        let examples = self.examples(n_examples)?;
        let bytes = compress_with_dict(text.as_bytes(), examples);
        if text.len() <= EXAMPLE_BYTES_MAX
            && bytes.len() > text.len() / 2
            && let Some(next) = self.examples.get(n_examples)
        {
            // If another thread has just added one, that is as good.
            let _ = next.set([examples, text.as_bytes()].concat().into());
        }
        Some(Packed {
            bytes: bytes.into(),
            n_bytes: u32::try_from(text.len()).ok()?,
            n_examples: u8::try_from(n_examples).ok()?,
        })
    }

    /// The text that was packed.
    pub fn unpack(&self, packed: &Packed) -> Option<String> {
        let examples = self.examples(packed.n_examples.into())?;
        let text = decompress_with_dict(&packed.bytes, packed.n_bytes as usize, examples).ok()?;
        String::from_utf8(text).ok()
    }

    fn examples(&self, n_examples: usize) -> Option<&[u8]> {
        match n_examples.checked_sub(1) {
            Some(last) => self.examples.get(last)?.get().map(AsRef::as_ref),
            None => Some(&[]),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{EXAMPLES_MAX, Packer};

    fn requirement(number: u32) -> String {
        format!(
            r#"{{"id":"01a0c450-6c00-7e7f-90de-0d9574{number:06}","reference_id":"REQ-{number}","kind":"requirement","project":
            "DEFAULT","title":"Number {number}","status":"Draft","created_at":"2026-09-21T14:13:20.000000Z"}}"#
        )
    }

    #[test]
    fn what_is_alike_takes_less_than_half_the_room() {
        let packer = Packer::default();
        for number in 0..1_000 {
            let text = requirement(number);
            let packed = packer.pack(&text).expect("packed");
            assert!(number == 0 || packed.len() * 2 < text.len(), "{} of {}", packed.len(), text.len());
            assert_eq!(packer.unpack(&packed).as_deref(), Some(text.as_str()));
        }
        assert_eq!(packer.examples.iter().filter(|examples| examples.get().is_some()).count(), 1);
    }

    #[test]
    fn a_text_is_unpacked_with_the_examples_of_its_time() {
        let packer = Packer::default();
        // Each is unlike all others, so that examples are added until there are enough.
        let texts: Vec<String> =
            (0..100_u32).map(|number| blake3::hash(&number.to_le_bytes()).to_hex().to_string()).collect();
        let packed: Vec<_> = texts.iter().map(|text| packer.pack(text).expect("packed")).collect();
        assert!(packer.examples(EXAMPLES_MAX).is_some());
        for (text, packed) in texts.iter().zip(&packed) {
            assert_eq!(packer.unpack(packed).as_ref(), Some(text));
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn any_texts_are_unpacked_as_they_were(texts in prop::collection::vec("(?s).{0,40}|(abc|é|\u{0}){0,600}", 1..20)) {
            let packer = Packer::default();
            let packed: Vec<_> = texts.iter().map(|text| packer.pack(text).expect("packed")).collect();
            for (text, packed) in texts.iter().zip(&packed) {
                prop_assert_eq!(packer.unpack(packed), Some(text.clone()));
            }
        }
    }
}
