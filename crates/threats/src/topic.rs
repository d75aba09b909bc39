//! Tells whether a context is about people and what they may do with whose records over the web.

use std::collections::HashMap;
use std::sync::LazyLock;

use crate::text::{self, Words};

/// Groups, each with indented lines of words.
static SOURCE: &str = include_str!("topic.txt");

/// For each stem the groups it is in, one bit each.
static GROUPS: LazyLock<HashMap<String, u8>> = LazyLock::new(|| {
    let mut groups: HashMap<String, u8> = HashMap::new();
    let mut group = 0;
    for line in SOURCE.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        if line.ends_with(':') {
            group = if group == 0 { 1 } else { group << 1 };
            continue;
        }
        for word in text::words(line).words {
            *groups.entry(word.stem).or_default() |= group;
        }
    }
    groups
});

/// Counts the groups of which a context has a word. One word does not stand for two groups.
pub fn n_groups(words: &Words) -> u32 {
    let mut single: u8 = 0;
    let mut shared: Vec<u8> = Vec::new();
    for groups in words.words.iter().filter_map(|word| GROUPS.get(&word.stem)) {
        if groups.count_ones() == 1 {
            single |= groups;
        } else {
            shared.push(*groups);
        }
    }
    for groups in shared {
        let new = groups & !single;
        // The lowest group that is still missing.
        single |= new & new.wrapping_neg();
    }
    single.count_ones()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_context_has_words_of_some_groups() {
        check("center a div with flexbox", 0);
        check("a binary tree", 0);
        check("the customer", 1);
        check("a customer opens another invoice in the browser", 4);
        // An account is somebody, not somebody and something.
        check("account", 1);
    }

    #[track_caller]
    fn check(context: &str, n_expected: u32) {
        assert_eq!(n_groups(&text::words(context)), n_expected, "{context}");
    }
}
