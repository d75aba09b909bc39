//! Prints the stems of each line of the standard input, as the search has them; `scripts/word-vectors` asks for them.

#![allow(clippy::print_stdout, reason = "a command that prints")]

use std::io::{self, BufRead};

#[allow(dead_code, reason = "the crate uses more of it")]
#[path = "../src/text.rs"]
mod text;

fn main() -> io::Result<()> {
    for line in io::stdin().lock().lines() {
        let stems: Vec<String> = text::words(&line?).words.into_iter().map(|word| word.stem).collect();
        println!("{}", stems.join(" "));
    }
    Ok(())
}
