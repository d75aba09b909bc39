//! Finds occurrences of a text with one byte added, removed or replaced.
//!
//! Real projects depend on this (one quote in ten), and a general fuzzy search takes most of a report's time,
//! so it is written by hand: one edit leaves one half of the needle unchanged, and halves are found fast. If they are
//! found too often, in repetitive text, a search in guaranteed linear time takes over. Of several
//! matches the same one is chosen as in existing reports; a test compares with the crate that made them.

use std::cmp::Ordering;
use std::ops::Range;

use super::exact;

/// Shorter needles have no halves worth searching.
const NEEDLE_SIZE_MIN_BYTES: usize = 4;

/// How often a half may be found. Each time may take as long as the needle, or as the haystack, is long.
const HALVES_MAX: usize = 32;

/// Finds a needle that does not occur exactly.
pub fn find(needle: &[u8], haystack: &[u8]) -> Option<Range<usize>> {
    if needle.len() < NEEDLE_SIZE_MIN_BYTES {
        return find_short(needle, haystack);
    }
    let mut matches = Vec::new();
    let (first, second) = needle.split_at(needle.len() / 2);
    for (count, start) in exact::occurrences(haystack, first).enumerate() {
        if count == HALVES_MAX {
            return find_evenly(needle, haystack);
        }
        ends(second, &haystack[start + first.len()..], |length| {
            matches.push((start + first.len() + length, start));
        });
    }
    for (count, end) in exact::occurrences(haystack, second).enumerate() {
        if count == HALVES_MAX {
            return find_evenly(needle, haystack);
        }
        starts(first, &haystack[..end], |start| matches.push((end + second.len(), start)));
    }
    choose(matches)
}

/// Finds it in time that is linear in both lengths, for any text.
///
/// Two texts differ by one edit if what they have in common at their starts and at their ends leaves out no more than
/// the byte that was edited.
fn find_evenly(needle: &[u8], haystack: &[u8]) -> Option<Range<usize>> {
    let reversed = |text: &[u8]| -> Vec<u8> { text.iter().rev().copied().collect() };
    let at_start = common_starts(needle, haystack);
    let at_end = common_starts(&reversed(needle), &reversed(haystack));
    let longest = |end: usize| {
        let lengths = (needle.len() - 1..=needle.len() + 1).rev();
        let mut starts = lengths.filter_map(|length| end.checked_sub(length));
        let is_alike = |start: &usize| {
            let n_common = at_start[*start] + at_end[haystack.len() - end];
            n_common as usize + 1 >= needle.len().max(end - start)
        };
        starts.find(is_alike).map(|start| (end, start))
    };
    first((0..=haystack.len()).filter_map(longest))
}

/// Returns for each position of a text how much of a pattern starts there.
///
/// This is the Z algorithm: the text that the last match has shown is known from the pattern, and is not read again.
fn common_starts(pattern: &[u8], text: &[u8]) -> Vec<u32> {
    let both = [pattern, text].concat();
    let mut lengths = vec![0; both.len() + 1];
    // The match that reaches furthest.
    let (mut start, mut end) = (0, 0);
    for at in 1..both.len() {
        let mut length = if at < end { (lengths[at - start] as usize).min(end - at) } else { 0 };
        while length < pattern.len() && at + length < both.len() && both[length] == both[at + length] {
            length += 1;
        }
        lengths[at] = length as u32;
        if at + length > end {
            (start, end) = (at, at + length);
        }
    }
    lengths.split_off(pattern.len())
}

/// The first match; one that ends later takes its place if it starts no later.
fn choose(mut matches: Vec<(usize, usize)>) -> Option<Range<usize>> {
    matches.sort_unstable();
    // Of those with one end the longest counts.
    matches.dedup_by_key(|(end, _)| *end);
    first(matches.into_iter())
}

/// The same for matches in the order of their ends.
fn first(mut matches: impl Iterator<Item = (usize, usize)>) -> Option<Range<usize>> {
    let (mut end, mut start) = matches.next()?;
    for (next_end, next_start) in matches {
        if next_start > start {
            break;
        }
        (end, start) = (next_end, next_start);
    }
    Some(start..end)
}

/// Finds a needle of a few bytes by trying every position.
fn find_short(needle: &[u8], haystack: &[u8]) -> Option<Range<usize>> {
    let longest = |end: usize| {
        let lengths = (needle.len().saturating_sub(1)..=needle.len() + 1).rev();
        let mut starts = lengths.filter_map(|length| end.checked_sub(length));
        starts.find(|start| is_alike(needle, &haystack[*start..end])).map(|start| (end, start))
    };
    first((0..=haystack.len()).filter_map(longest))
}

/// Whether at most one edit turns one text into another.
fn is_alike(first: &[u8], second: &[u8]) -> bool {
    let n_same = first.iter().zip(second).take_while(|(first, second)| first == second).count();
    let (first, second) = (&first[n_same..], &second[n_same..]);
    match first.len().cmp(&second.len()) {
        Ordering::Equal => first.get(1..) == second.get(1..),
        Ordering::Less => second[1..] == *first,
        Ordering::Greater => first[1..] == *second,
    }
}

/// Tells how long the starts of a text are that are a part but for one edit.
fn ends(part: &[u8], text: &[u8], mut found: impl FnMut(usize)) {
    let n_same = part.iter().zip(text).take_while(|(part, text)| part == text).count();
    if n_same == part.len() {
        // It is there as it is: an edit could only be one too many.
        return;
    }
    let rest = &part[n_same..];
    let text = &text[n_same..];
    if text.starts_with(&rest[1..]) {
        found(n_same + rest.len() - 1);
    }
    if text.get(1..).is_some_and(|text| text.starts_with(&rest[1..])) {
        found(n_same + rest.len());
    }
    if text.get(1..).is_some_and(|text| text.starts_with(rest)) {
        found(n_same + rest.len() + 1);
    }
}

/// Tells where the ends of a text start that are a part but for one edit.
fn starts(part: &[u8], text: &[u8], mut found: impl FnMut(usize)) {
    let n_same = part.iter().rev().zip(text.iter().rev()).take_while(|(part, text)| part == text).count();
    if n_same == part.len() {
        return;
    }
    let rest = &part[..part.len() - n_same];
    let text = &text[..text.len() - n_same];
    let (_, but_last) = rest.split_last().map_or((&0, rest), |(last, rest)| (last, rest));
    if text.ends_with(but_last) {
        found(text.len() - but_last.len());
    }
    if let Some((_, text)) = text.split_last() {
        if text.ends_with(but_last) {
            found(text.len() - but_last.len());
        }
        if text.ends_with(rest) {
            found(text.len() - rest.len());
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The search of existing reports.
    fn find_slowly(needle: &[u8], haystack: &[u8]) -> Option<Range<usize>> {
        triple_accel::levenshtein::levenshtein_search_simd_with_opts(
            needle,
            haystack,
            1,
            triple_accel::SearchType::Best,
            triple_accel::levenshtein::LEVENSHTEIN_COSTS,
            false,
        )
        .next()
        .map(|found| found.start..found.end)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2_000))]

        #[test]
        fn finds_what_the_general_search_finds(needle in "[ab]{1,9}", haystack in "[abc]{1,24}") {
            let (needle, haystack) = (needle.as_bytes(), haystack.as_bytes());
            if memchr::memmem::find(haystack, needle).is_none() {
                prop_assert_eq!(find(needle, haystack), find_slowly(needle, haystack));
            }
        }

        #[test]
        fn the_search_for_repetitive_text_finds_the_same(needle in "[ab]{4,12}", haystack in "[ab]{0,40}") {
            let (needle, haystack) = (needle.as_bytes(), haystack.as_bytes());
            if memchr::memmem::find(haystack, needle).is_none() {
                prop_assert_eq!(find_evenly(needle, haystack), find_slowly(needle, haystack));
            }
        }

        #[test]
        fn and_in_longer_texts(
            needle in "[a-e ]{4,60}",
            before in "[a-e ]{0,60}",
            after in "[a-e ]{0,60}",
            at in 0usize..60,
            edit in 0u8..3,
            byte in prop::sample::select(b"abcde ".to_vec()),
        ) {
            let mut edited = needle.clone().into_bytes();
            let at = at % edited.len();
            match edit {
                0 => edited.insert(at, byte),
                1 => edited[at] = byte,
                _ => drop(edited.remove(at)),
            }
            let haystack = [before.as_bytes(), &edited, after.as_bytes()].concat();
            let needle = needle.as_bytes();
            if memchr::memmem::find(&haystack, needle).is_none() {
                prop_assert_eq!(find(needle, &haystack), find_slowly(needle, &haystack));
            }
        }
    }
}
