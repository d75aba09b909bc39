//! `--color`, which every program takes.

use std::ffi::OsString;

use anstream::ColorChoice;

/// The values of the flag.
pub const CHOICES: [&str; 3] = ["auto", "always", "never"];

/// What the flag says in help.
pub const HELP: &str = "Use colors: auto, always or never [default: auto]";

/// Decides about colors before anything is printed, even an error about the arguments. Without the flag, `NO_COLOR` and what the
/// terminal can do decide.
pub fn choose(arguments: &[OsString]) {
    let words: Vec<&str> = arguments.iter().filter_map(|word| word.to_str()).collect();
    let after = words.windows(2).find(|pair| pair[0] == "--color").map(|pair| pair[1]);
    let chosen = after.or_else(|| words.iter().find_map(|word| word.strip_prefix("--color=")));
    match chosen {
        Some("always") => ColorChoice::Always.write_global(),
        Some("never") => ColorChoice::Never.write_global(),
        _ => {}
    }
}
