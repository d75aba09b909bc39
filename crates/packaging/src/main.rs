//! Generates the man pages and completions of all programs from their command lines: `man/` with a page for each command, and
//! `completions/` with a folder for each shell.
//!
//!     cargo run -p packaging -- FOLDER
//!
//! A separate program keeps the generator out of the shipped ones.

use std::path::Path;
use std::process::ExitCode;
use std::{env, fs, io};

use clap_complete::Shell;

/// The shells that packages have completions for.
const SHELLS: [Shell; 3] = [Shell::Bash, Shell::Fish, Shell::Zsh];

fn main() -> ExitCode {
    let Some(folder) = env::args_os().nth(1) else {
        eprintln!("packaging: expected a folder to write into: packaging FOLDER");
        return ExitCode::from(2);
    };
    match write(Path::new(&folder)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("packaging: {}: {error}", Path::new(&folder).display());
            ExitCode::FAILURE
        }
    }
}

/// Deletes earlier output first, so that no page of a removed command stays.
fn write(folder: &Path) -> io::Result<()> {
    let [man, completions] = ["man", "completions"].map(|name| folder.join(name));
    for own in [&man, &completions] {
        if own.exists() {
            fs::remove_dir_all(own)?;
        }
        fs::create_dir_all(own)?;
    }
    for mut command in spexus::command_lines() {
        let name = command.get_name().to_owned();
        for shell in SHELLS {
            let folder = completions.join(shell.to_string());
            fs::create_dir_all(&folder)?;
            clap_complete::generate_to(shell, &mut command, &name, &folder)?;
        }
        clap_mangen::generate_to(command, &man)?;
    }
    Ok(())
}
