//! Describes what a library covers, so that its silence is not taken for safety.

use std::collections::{BTreeMap, BTreeSet};

use crate::pattern::Pattern;

/// How many categories, and how many stacks of each, are named.
const NAMES_MAX: usize = 4;

/// Describes the field of some patterns: `covers authorization (24 patterns, Python/Flask)`.
pub fn describe(patterns: &[Pattern]) -> String {
    let mut categories: BTreeMap<String, (usize, BTreeSet<String>)> = BTreeMap::new();
    for pattern in patterns {
        let category = pattern.category.trim().to_lowercase();
        let category = if category.is_empty() { "no category".to_owned() } else { category };
        let (n_patterns, stacks) = categories.entry(category).or_default();
        *n_patterns += 1;
        stacks.extend(stack(pattern));
    }
    let described = categories.into_iter().map(|(category, (n_patterns, stacks))| {
        let noun = if n_patterns == 1 { "pattern" } else { "patterns" };
        let stacks =
            if stacks.is_empty() { "any language".to_owned() } else { joined(stacks.into_iter().collect()) };
        format!("{category} ({n_patterns} {noun}, {stacks})")
    });
    let described: Vec<String> = described.collect();
    if described.is_empty() {
        "no patterns are loaded".to_owned()
    } else {
        format!("covers {}", joined(described))
    }
}

/// Returns the stack of a pattern, such as `Python/Flask`, unless it is for any.
pub fn stack(pattern: &Pattern) -> Option<String> {
    let names = [&pattern.language, &pattern.framework].map(|name| name.trim());
    let names = names.into_iter().filter(|name| !name.is_empty() && !name.eq_ignore_ascii_case("any"));
    let names: Vec<String> = names.map(capitalized).collect();
    (!names.is_empty()).then(|| names.join("/"))
}

fn capitalized(name: &str) -> String {
    let mut characters = name.chars();
    characters.next().map_or_else(String::new, |first| first.to_uppercase().chain(characters).collect())
}

fn joined(mut names: Vec<String>) -> String {
    let n_left_out = names.len().saturating_sub(NAMES_MAX);
    names.truncate(NAMES_MAX);
    if n_left_out > 0 {
        names.push(format!("{n_left_out} more"));
    }
    names.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_field_is_named_with_its_patterns_and_stacks() {
        let pattern = |category: &str, language: &str, framework: &str| Pattern {
            category: category.to_owned(),
            language: language.to_owned(),
            framework: framework.to_owned(),
            ..Pattern::default()
        };
        assert_eq!(describe(&[]), "no patterns are loaded");
        assert_eq!(describe(&[pattern("input", "any", "")]), "covers input (1 pattern, any language)");
        assert_eq!(
            describe(&[
                pattern("Input", "go", "any"),
                pattern("authorization", "python", "flask"),
                pattern("input", "rust", "axum"),
            ]),
            "covers authorization (1 pattern, Python/Flask), input (2 patterns, Go, Rust/Axum)"
        );
        let many: Vec<Pattern> = ["a", "b", "c", "d", "e", "f"].map(|name| pattern("x", name, "")).into();
        assert_eq!(describe(&many), "covers x (6 patterns, A, B, C, D, 2 more)");
    }
}
