//! What was meant by a command that does not exist.

use std::ffi::OsString;

use clap::Command;
use clap::error::{ContextKind, ContextValue, Error, ErrorKind};

use super::arguments::command;

/// How many commands are suggested.
const SUGGESTED_MAX: usize = 5;

/// Replaces what the parser suggests for an unknown command, which only compares letters: `spexus create` means one of the commands
/// that end so.
pub fn improve(mut error: Error, arguments: &[OsString]) -> Error {
    if error.kind() != ErrorKind::InvalidSubcommand {
        return error;
    }
    let Some(ContextValue::String(wrong)) = error.get(ContextKind::InvalidSubcommand).cloned() else {
        return error;
    };
    let root = command();
    let mut group = &root;
    for word in arguments.iter().skip(1).filter_map(|word| word.to_str()) {
        match group.find_subcommand(word) {
            Some(found) => group = found,
            None if word == wrong => break,
            None => {}
        }
    }
    let suggested = suggestions(&root, group, &wrong);
    error.remove(ContextKind::SuggestedSubcommand);
    if !suggested.is_empty() {
        error.insert(ContextKind::SuggestedSubcommand, ContextValue::Strings(suggested));
    }
    error
}

fn suggestions(root: &Command, group: &Command, wrong: &str) -> Vec<String> {
    let names = group
        .get_subcommands()
        .flat_map(|sub| std::iter::once(sub.get_name()).chain(sub.get_visible_aliases()));
    let near: Vec<String> =
        nearest::several(wrong, names, SUGGESTED_MAX).into_iter().map(str::to_owned).collect();
    if !near.is_empty() {
        return near;
    }
    // The word stands at the end of others: `login` of `auth login`.
    let mut found = Vec::new();
    for sub in root.get_subcommands() {
        let is_it =
            |leaf: &&Command| leaf.get_name() == wrong || leaf.get_all_aliases().any(|alias| alias == wrong);
        found.extend(
            sub.get_subcommands().filter(is_it).map(|leaf| format!("{} {}", sub.get_name(), leaf.get_name())),
        );
    }
    found.truncate(SUGGESTED_MAX);
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wrong_command_suggests_the_right_one() {
        let root = command();
        let suggested = |wrong: &str| suggestions(&root, &root, wrong).join(", ");
        assert_eq!(suggested("login"), "auth login");
        assert_eq!(suggested("requirment"), "requirement");
        assert!(suggested("create").starts_with("epic create, user-story create"), "{}", suggested("create"));
        let epic = root.find_subcommand("epic").expect("a group");
        assert_eq!(suggestions(&root, epic, "crate").first().map(String::as_str), Some("create"));
    }
}
