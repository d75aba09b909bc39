//! Finds exact occurrences of a quote.
//!
//! A general search preprocesses the needle, which for a quote takes longer than the search. Quotes have rare bytes,
//! so these are searched instead; the needle is preprocessed only if that is too slow.

/// How many bytes may be compared without a match before the general search takes over.
const WASTE_MAX_BYTES: usize = 4_096;

/// How much of a needle is searched for a rare byte.
const LOOKED_AT_BYTES: usize = 32;

/// Characters from rare to frequent, in the prose of specifications. Others are rarer.
const FREQUENT: &[u8] = b"()-MASTIzjqxk.,vbwgpyfmhduclrsnoaite ";

/// Finds the first occurrence.
pub fn find(haystack: &[u8], needle: &[u8]) -> Option<usize> {
    find_by(haystack, needle, rarest(needle)?)
}

/// Finds the first occurrence by the byte of the needle at a position.
fn find_by(haystack: &[u8], needle: &[u8], pivot: usize) -> Option<usize> {
    let (first, last) = (needle[0], needle[needle.len() - 1]);
    let mut waste = 0;
    for at in memchr::memchr_iter(needle[pivot], haystack.get(pivot..)?) {
        let candidate = haystack.get(at..at + needle.len())?;
        // Most candidates differ at their ends.
        if candidate[0] != first || candidate[needle.len() - 1] != last {
            continue;
        }
        if candidate == needle {
            return Some(at);
        }
        waste += candidate.iter().zip(needle).take_while(|(first, second)| first == second).count();
        if waste > WASTE_MAX_BYTES {
            return memchr::memmem::find(&haystack[at + 1..], needle).map(|found| at + 1 + found);
        }
    }
    None
}

/// Lists every place where a needle is, also where it overlaps itself.
pub fn occurrences<'a>(haystack: &'a [u8], needle: &'a [u8]) -> impl Iterator<Item = usize> + 'a {
    let mut from = 0;
    let pivot = rarest(needle);
    std::iter::from_fn(move || {
        let at = from + find_by(&haystack[from..], needle, pivot?)?;
        from = at + 1;
        Some(at)
    })
}

/// Returns the position of a rare byte.
fn rarest(needle: &[u8]) -> Option<usize> {
    // Rank and position in one number: the minimum is found without unpredictable branches.
    let ranked = needle.iter().take(LOOKED_AT_BYTES).zip(0..);
    let rarest = ranked.map(|(byte, at): (&u8, u32)| u32::from(RANKS[*byte as usize]) << 8 | at).min()?;
    Some((rarest & 0xff) as usize)
}

const RANKS: [u8; 256] = {
    let mut ranks = [0; 256];
    let mut rank = 0;
    while rank < FREQUENT.len() {
        ranks[FREQUENT[rank] as usize] = rank as u8 + 1;
        rank += 1;
    }
    ranks
};

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn finds_what_the_general_search_finds(needle in "[abQ ]{0,6}", haystack in "[abQ ]{0,60}") {
            let expected = if needle.is_empty() { None } else { haystack.find(&needle) };
            prop_assert_eq!(find(haystack.as_bytes(), needle.as_bytes()), expected);
        }
    }

    #[test]
    fn text_that_is_all_alike_takes_the_general_search() {
        let haystack = ["a".repeat(100_000).as_str(), "b"].concat();
        let needle = ["a".repeat(50_000).as_str(), "b"].concat();
        assert_eq!(find(haystack.as_bytes(), needle.as_bytes()), Some(50_000));
        assert_eq!(find(haystack.as_bytes(), needle.repeat(2).as_bytes()), None);
    }
}
