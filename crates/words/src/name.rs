//! Compares names as people do: ignoring case and the separators between words.

use crate::fold::fold_case;

/// Normalizes a name for uniqueness: without case and surrounding white space.
pub fn fold(name: &str) -> String {
    let mut folded = String::with_capacity(name.len());
    // Letter by letter, because the lower case of a whole word depends on the position of a sigma.
    name.trim().chars().for_each(|c| fold_case(c, &mut |c| folded.push(c)));
    folded
}

/// Whether two names are the same to a person, such as `In Progress` and `in_progress`.
pub fn same(one: &str, other: &str) -> bool {
    let letters = |name: &str| fold(name).replace([' ', '_', '-'], "");
    letters(one) == letters(other)
}

/// Returns a name as programs write it: `user_story` for `User Story`.
pub fn plain(name: &str) -> String {
    fold(name).replace([' ', '-'], "_")
}

#[cfg(test)]
mod tests {
    use super::{fold, plain, same};

    #[test]
    fn names_are_equal_in_any_case() {
        for (name, folded) in [
            (" Ann ", "ann"),
            ("STRASSE", "strasse"),
            ("Straße", "strasse"),
            ("ΟΔΟΣ", "οδοσ"),
            ("οδος", "οδοσ"),
            ("adm\u{131}n", "admin"),
        ] {
            assert_eq!(fold(name), folded, "{name}");
        }
        assert!(same("In Progress", "in_progress") && same("depends-on", "DEPENDS ON"));
        assert!(!same("In Progress", "Progress"));
        assert_eq!(plain(" User-Story "), "user_story");
    }
}
