//! Normalizes words for comparison: without case, accents and endings.

use std::borrow::Cow;

use frostem::{Algorithm, Stemmer};
use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::{decompose_canonical, is_combining_mark};

/// Longer words are cut, in texts and in queries alike.
const WORD_CHARS_MAX: usize = 64;

/// Returns the word in lower case without accents: only letters and digits, and the vowel signs of scripts
/// that write them as marks. Empty if nothing remains.
pub(crate) fn fold(word: &str) -> String {
    if word.chars().all(is_simple) {
        return word.chars().take(WORD_CHARS_MAX).map(fold_simple).collect();
    }
    let mut folded = String::new();
    let mut n_chars = 0;
    let mut push = |c: char| {
        let kept = !is_accent(c) && (c.is_alphanumeric() || is_combining_mark(c));
        if kept && n_chars < WORD_CHARS_MAX {
            folded.push(c);
            n_chars += 1;
        }
    };
    // Compose first, so that all encodings of й are equal.
    for c in word.nfkc() {
        match c {
            c if is_simple(c) => push(fold_simple(c)),
            // Cyrillic letters with marks are separate letters.
            '\u{460}'..='\u{52f}' => fold_case(c, &mut push),
            // In these ranges (Latin, Greek) a mark is an accent; elsewhere it may be essential to the letter.
            '\0'..'\u{590}' | '\u{1e00}'..='\u{1fff}' => {
                decompose_canonical(c, |c| fold_case(c, &mut push));
            }
            c => fold_case(c, &mut push),
        }
    }
    folded
}

/// Whether a word is short and in lower-case English letters: then it is folded already, and has no parts.
pub(crate) fn is_plain(word: &str) -> bool {
    word.len() <= WORD_CHARS_MAX && word.bytes().all(|b| b.is_ascii_lowercase())
}

/// Russian nouns whose forms "систему" and "систем" the stemmer mistakes for forms of an adjective like "синему", so that
/// "система" would not find them. Other words with these endings are their compounds.
const NOUNS_IN_EMA: [&str; 9] =
    ["систем", "проблем", "схем", "теорем", "эмблем", "лексем", "морфем", "фонем", "диадем"];

/// Returns the part of a folded word that its forms share: English for Latin letters, Russian for Cyrillic.
pub(crate) fn stem(folded: &str) -> Cow<'_, str> {
    let algorithm = match folded.chars().next() {
        Some(c) if c.is_ascii() && folded.bytes().all(|b| b.is_ascii_lowercase()) => Algorithm::English,
        Some(c) if is_cyrillic(c) && folded.chars().all(is_cyrillic) => Algorithm::Russian,
        _ => return Cow::Borrowed(folded),
    };
    if let Algorithm::Russian = algorithm {
        let noun = folded.strip_suffix('у').unwrap_or(folded);
        if NOUNS_IN_EMA.iter().any(|ending| noun.ends_with(ending)) {
            return Cow::Borrowed(noun);
        }
    }
    let stem = Stemmer::new(algorithm).stem(folded);
    if stem.is_empty() { Cow::Borrowed(folded) } else { stem }
}

/// Returns the first characters of a composed word, up to the maximal length of a word.
pub(crate) fn limit(mut word: String) -> String {
    if let Some((end, _)) = word.char_indices().nth(WORD_CHARS_MAX) {
        word.truncate(end);
    }
    word
}

fn fold_simple(c: char) -> char {
    match c {
        'Ё' | 'ё' | 'Ѐ' | 'ѐ' => 'е',
        'Ѝ' | 'ѝ' => 'и',
        'А'..='Я' => char::from_u32(c as u32 + 0x20).unwrap_or(c),
        'Ђ'..='Џ' => char::from_u32(c as u32 + 0x50).unwrap_or(c),
        c => c.to_ascii_lowercase(),
    }
}

/// Full case folding: upper and back to lower case, because ß has no capital but "SS" and Σ has two lower-case letters.
pub(crate) fn fold_case(c: char, push: &mut impl FnMut(char)) {
    for upper in c.to_uppercase() {
        upper.to_lowercase().for_each(&mut *push);
    }
}

/// A mark that readers may omit: accents, Hebrew points, Arabic vowels, variation selectors.
fn is_accent(c: char) -> bool {
    matches!(c,
        '\u{300}'..='\u{36f}' | '\u{483}'..='\u{489}' | '\u{591}'..='\u{5c7}' | '\u{610}'..='\u{61a}'
        | '\u{64b}'..='\u{65f}' | '\u{670}' | '\u{6d6}'..='\u{6dc}' | '\u{6df}'..='\u{6e8}'
        | '\u{6ea}'..='\u{6ed}' | '\u{180b}'..='\u{180d}' | '\u{1ab0}'..='\u{1aff}' | '\u{1dc0}'..='\u{1dff}'
        | '\u{20d0}'..='\u{20ff}' | '\u{fe00}'..='\u{fe0f}' | '\u{fe20}'..='\u{fe2f}'
        | '\u{e0100}'..='\u{e01ef}')
}

/// Letters and digits of English and Russian, of which most texts consist: recognised without a table, and
/// folded one to one.
pub(crate) fn is_simple(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '\u{400}'..='\u{45f}')
}

/// The lower-case letters among them.
pub(crate) fn is_simple_lowercase(c: char) -> bool {
    c.is_ascii_lowercase() || matches!(c, '\u{430}'..='\u{45f}')
}

fn is_cyrillic(c: char) -> bool {
    matches!(c, '\u{400}'..='\u{52f}')
}

#[cfg(test)]
mod tests {
    use super::{fold, stem};

    #[test]
    fn case_and_accents_do_not_matter() {
        for (word, folded) in [
            ("Crème", "creme"),
            ("Cre\u{300}me", "creme"),
            ("ÅNGSTRÖM", "angstrom"),
            ("Straße", "strasse"),
            ("ΣΊΣΥΦΟΣ", "σισυφοσ"),
            ("Σίσυφος", "σισυφοσ"),
            ("ﬁnal", "final"),
            ("ＲＥＱ１２", "req12"),
            ("İstanbul", "istanbul"),
            ("soft\u{ad}ware", "software"),
            ("Ёлка", "елка"),
            ("Е\u{308}лка", "елка"),
            ("мой", "мой"),
            ("мои\u{306}", "мой"),
            ("за\u{301}мок", "замок"),
            ("ЇЖАК", "їжак"),
            ("Ђорђе", "ђорђе"),
            ("ガラス", "ガラス"),
            ("カ\u{3099}ラス", "ガラス"),
            ("한국", "한국"),
            ("हिन्दी", "हिन्दी"),
            ("שָׁלוֹם", "שלום"),
            ("½", "12"),
        ] {
            assert_eq!(fold(word), folded, "{word}");
        }
    }

    #[test]
    fn forms_of_a_word_share_a_stem() {
        for forms in [
            &["run", "runs", "running"][..],
            &["requirement", "requirements"],
            &["story", "stories"],
            &["требование", "требования", "требований", "требованиями"],
            &["пользователь", "пользователя", "пользователей"],
            &["быстрый", "быстрая", "быстрого"],
            &[
                "система",
                "системы",
                "системе",
                "систему",
                "системой",
                "систем",
                "системам",
                "системами",
                "системах",
            ],
            &["подсистема", "подсистему", "подсистем"],
            &["проблема", "проблему", "проблем"],
            &["синий", "синему", "синем"],
        ] {
            for form in forms {
                assert_eq!(stem(form), stem(forms[0]), "{form}");
            }
        }
        for word in ["12", "oauth2", "要", "x"] {
            assert_eq!(stem(word), word);
        }
    }

    /// Snippets skip words that start differently.
    #[test]
    fn a_stem_of_five_letters_begins_with_two_of_its_word() {
        const BEGINNINGS: [&str; 12] =
            ["a", "e", "y", "ba", "dy", "sk", "gener", "commun", "arsen", "transl", "invis", "hypo"];
        const ENDINGS: [&str; 24] = [
            "", "s", "ies", "ied", "ying", "ing", "ed", "eedly", "ization", "ational", "fulness", "ousli",
            "bility", "ogist", "ement", "ative", "ly", "yer", "ell", "ive", "'s", "sses", "ably", "ingly",
        ];
        let letters = ('a'..='z').map(String::from);
        let middles: Vec<String> =
            letters.chain(["ll", "tt", "oi", "kno", "eig"].map(String::from)).collect();
        for beginning in BEGINNINGS {
            for ending in ENDINGS {
                for middle in &middles {
                    let word = format!("{beginning}{middle}{ending}").replace('\'', "");
                    let stem = stem(&word);
                    let is_same = stem.len() < 5 || stem.as_bytes()[..2] == word.as_bytes()[..2];
                    assert!(is_same, "{word}: {stem}");
                }
            }
        }
        for word in
            ["dying", "lying", "tying", "skies", "skis", "idly", "gently", "ugly", "early", "only", "singly"]
        {
            let stem = stem(word);
            assert!(stem.len() < 5 || stem.as_bytes()[..2] == word.as_bytes()[..2], "{word}: {stem}");
        }
    }

    #[test]
    fn a_long_word_is_cut() {
        assert_eq!(fold(&"Ы".repeat(100)), "ы".repeat(64));
    }
}
