//! Suggests the name that somebody probably meant. A wrong suggestion is worse than none, so only names are suggested that
//! differ in a few letters, or in case, separators, a plural `s` or a final `id`.

use std::cmp::Reverse;

/// Longer input is not a typo, and comparing takes quadratic time.
const FOUND_BYTES_MAX: usize = 200;

/// Returns the candidate nearest to a name, if any is similar.
pub fn nearest<'a>(found: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    several(found, candidates, 1).pop()
}

/// Lists the candidates similar to a name, nearest first, at most `n_max`.
pub fn several<'a>(found: &str, candidates: impl IntoIterator<Item = &'a str>, n_max: usize) -> Vec<&'a str> {
    if found.len() > FOUND_BYTES_MAX {
        return Vec::new();
    }
    let found = plain(found);
    let mut near: Vec<(usize, &str)> = candidates
        .into_iter()
        .filter_map(|candidate| Some((distance(&found, candidate)?, candidate)))
        .collect();
    // Of two at the same distance, the one with the same beginning is more likely: most typos are near the end.
    let begins_alike =
        |candidate: &str| plain(candidate).chars().zip(found.chars()).take_while(|(a, b)| a == b).count();
    near.sort_by_key(|(distance, candidate)| (*distance, Reverse(begins_alike(candidate))));
    near.truncate(n_max);
    near.into_iter().map(|(_, candidate)| candidate).collect()
}

/// The distance of a candidate from a normalized name, unless it is too large.
fn distance(found: &str, candidate: &str) -> Option<usize> {
    if candidate.len() > FOUND_BYTES_MAX + FOUND_BYTES_MAX / 2 {
        return None;
    }
    let candidate = plain(candidate);
    if candidate == found {
        return Some(0);
    }
    if stem(&candidate) == stem(found) {
        return Some(1);
    }
    let (rest, other_rest) = without_common_words(found, &candidate);
    // Numbers are compared together with the text before them.
    let have_letters = [rest, other_rest].iter().all(|rest| rest.contains(char::is_alphabetic));
    let (found, candidate) = if have_letters { (rest, other_rest) } else { (found, candidate.as_str()) };
    let length = found.chars().count();
    // Two letters are a small edit away from too many names.
    let distance_max = if length < 3 { 0 } else { 1 + length / 4 };
    Some(strsim::osa_distance(found, candidate)).filter(|distance| *distance <= distance_max)
}

/// Removes the words that two normalized names share at the start and at the end: `create_ac` is not similar to `create_epic`.
fn without_common_words<'a>(first: &'a str, second: &'a str) -> (&'a str, &'a str) {
    let (mut first, mut second) = (first, second);
    while let (Some((word, rest)), Some((other, other_rest))) =
        (first.split_once('_'), second.split_once('_'))
        && stem(word) == stem(other)
    {
        (first, second) = (rest, other_rest);
    }
    while let (Some((rest, word)), Some((other_rest, other))) =
        (first.rsplit_once('_'), second.rsplit_once('_'))
        && stem(word) == stem(other)
    {
        (first, second) = (rest, other_rest);
    }
    (first, second)
}

/// Returns whether two names differ at most in case, separators, a plural `s` and a final `id`.
pub fn is_same(first: &str, second: &str) -> bool {
    stem(&plain(first)) == stem(&plain(second))
}

/// A name in lower case, with `_` between its words: `userStory`, `User story`.
pub fn plain(name: &str) -> String {
    let mut plain = String::with_capacity(name.len() + 2);
    let mut was_small = false;
    for character in name.trim().chars() {
        if character.is_uppercase() && was_small {
            plain.push('_');
        }
        was_small = character.is_lowercase() || character.is_ascii_digit();
        match character {
            '-' | ' ' => plain.push('_'),
            other => plain.extend(other.to_lowercase()),
        }
    }
    plain
}

/// A normalized name without a plural `s` and a final `id`.
fn stem(plain: &str) -> String {
    let name = plain.strip_suffix("_id").unwrap_or(plain);
    match (name.strip_suffix("ies"), name.strip_suffix('s')) {
        (Some(one), _) => format!("{one}y"),
        (None, Some(one)) if one.len() > 2 => one.to_owned(),
        _ => name.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAMES: [&str; 6] = ["title", "type_id", "epic_id", "description", "user_story_id", "labels"];

    #[test]
    fn a_few_wrong_letters_are_forgiven() {
        for (found, meant) in
            [("titel", "title"), ("descripton", "description"), ("usr_story_id", "user_story_id")]
        {
            assert_eq!(nearest(found, NAMES), Some(meant), "{found}");
        }
    }

    #[test]
    fn case_separators_plurals_and_a_final_id_do_not_matter() {
        for (found, meant) in [
            ("userStoryId", "user_story_id"),
            ("User-Story", "user_story_id"),
            ("type", "type_id"),
            ("epics", "epic_id"),
            ("label", "labels"),
        ] {
            assert_eq!(nearest(found, NAMES), Some(meant), "{found}");
        }
    }

    #[test]
    fn nothing_is_guessed_from_afar() {
        for found in ["version", "id", "x", "", "summary", &"title".repeat(100)] {
            assert_eq!(nearest(found, NAMES), None, "{found}");
        }
    }

    #[test]
    fn several_come_nearest_first() {
        assert_eq!(several("EP-01", ["EP-10", "EP-001", "US-001", "EP-01"], 3), ["EP-01", "EP-001", "EP-10"]);
    }
}
