//! Short ids of requirements: eight digits derived only from the specification's id, the section's id and the
//! text, so that they are the same on every machine and as long as the sentence does not change.

use std::collections::HashMap;

/// The number of digits, and more if two ids would be equal.
const DIGITS_MIN: usize = 8;

/// The short ids of all requirements.
#[derive(Debug, Default)]
pub struct ShortIds {
    by_number: Vec<String>,
    numbers: HashMap<String, u32>,
}

impl ShortIds {
    /// Assigns ids to requirements, given by the ids of specification and section and by text.
    pub fn new<'a>(requirements: impl Iterator<Item = (&'a str, &'a str, &'a str)>) -> ShortIds {
        let mut n_alike: HashMap<(&str, &str, &str), u32> = HashMap::new();
        let mut hashes: Vec<(String, u32)> = Vec::new();
        for (requirement, number) in requirements.zip(0..) {
            let n_before = n_alike.entry(requirement).or_default();
            hashes.push((hash(requirement, *n_before), number));
            *n_before += 1;
        }
        let mut by_number = vec![String::new(); hashes.len()];
        hashes.sort_unstable();
        for (place, (hash, number)) in hashes.iter().enumerate() {
            let before = place.checked_sub(1).map(|before| hashes[before].0.as_str());
            let after = hashes.get(place + 1).map(|(hash, _)| hash.as_str());
            let n_common = before.into_iter().chain(after).map(|other| n_common(hash, other)).max();
            let n_digits = DIGITS_MIN.max(n_common.map_or(0, |n_common| n_common + 1)).min(hash.len());
            by_number[*number as usize] = hash[..n_digits].to_owned();
        }
        let numbers = by_number.iter().cloned().zip(0..).collect();
        ShortIds { by_number, numbers }
    }

    /// The short id of a requirement.
    pub fn of(&self, number: u32) -> &str {
        &self.by_number[number as usize]
    }

    /// The requirement with a short id.
    pub fn find(&self, short_id: &str) -> Option<u32> {
        self.numbers.get(short_id.to_ascii_lowercase().as_str()).copied()
    }
}

/// The hash of a requirement. Repeated sentences of a section are distinguished by their number.
fn hash((specification, section, text): (&str, &str, &str), n_before: u32) -> String {
    let mut hasher = blake3::Hasher::new();
    for part in [specification, section, text] {
        hasher.update(part.as_bytes());
        hasher.update(&[0]);
    }
    if n_before > 0 {
        hasher.update(n_before.to_string().as_bytes());
    }
    hasher.finalize().to_hex().to_string()
}

fn n_common(first: &str, second: &str) -> usize {
    first.bytes().zip(second.bytes()).take_while(|(first, second)| first == second).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_requirement_has_a_short_id_of_its_own() {
        let text = "A pot MUST brew.";
        let requirements =
            [("rfc1", "1", text), ("rfc1", "2", text), ("rfc1", "1", text), ("rfc2", "1", text)];
        let ids = ShortIds::new(requirements.into_iter());
        for number in 0..4 {
            let id = ids.of(number);
            assert_eq!((id.len(), ids.find(id)), (8, Some(number)), "{id}");
            assert_eq!(ids.find(&id.to_uppercase()), Some(number));
        }
        // The same sentence of the same section is called the same in any project.
        assert_eq!(ShortIds::new([("rfc2", "1", text)].into_iter()).of(0), ids.of(3));
        assert_eq!(ids.find("0"), None);
    }

    #[test]
    fn ids_that_begin_alike_are_longer() {
        // Two of 100,000 hashes begin with the same eight digits more often than not.
        let texts: Vec<String> = (0..100_000).map(|number| number.to_string()).collect();
        let ids = ShortIds::new(texts.iter().map(|text| ("x", "y", text.as_str())));
        assert_eq!(ids.numbers.len(), texts.len());
        assert!(ids.by_number.iter().any(|id| id.len() > DIGITS_MIN));
    }
}
