//! `spexus backup` and `spexus restore`, with a line of progress where someone watches.

use std::path::{Path, PathBuf};

use clap::ArgMatches;
use serde_json::json;
use store::backup::{self, Choices, Progress, Tokens};
use store::model::Reference;
use store::{ErrorKind, Store};
use tracing::level_filters::LevelFilter;

use super::bar::Bar;
use super::config::{self, StoreConfig};
use super::{Exit, now, print};

/// Writes everything into a new file.
pub fn backup(matches: &ArgMatches) -> Exit {
    let (config, path) = match read(matches) {
        Ok(read) => read,
        Err(exit) => return exit,
    };
    if let store::Location::Sqlite(file) = &config.location
        && !file.exists()
    {
        print::tell(&format!("{}: there is no store", config.location));
        return Exit::Refused;
    }
    if path.as_os_str() == "-" {
        print::tell(
            "-: a backup is made as a file, and checked before it gets its name; give the name of one",
        );
        return Exit::Usage;
    }
    let store = match Store::open(&config.location, config.options, now()) {
        Ok(store) => store,
        Err(error) => {
            print::tell(&format!("{}: {error}", config.location));
            return Exit::Usage;
        }
    };
    let done = backup::backup(&store, &path, now(), bar("backup"));
    finish(done, matches, &format!("{} is in {}", config.location, path.display()), &path)
}

/// Fills a store from a file.
pub fn restore(matches: &ArgMatches) -> Exit {
    let (config, path) = match read(matches) {
        Ok(read) => read,
        Err(exit) => return exit,
    };
    if let Err(error) = std::fs::File::open(&path) {
        print::tell(&format!("{}: {error}{}", path.display(), meant(&path)));
        return Exit::Usage;
    }
    let replace = matches.get_flag("replace");
    let choices = Choices { replace, revoke_tokens: matches.get_flag("revoke-tokens") };
    let done = backup::restore(&config.location, &path, choices, config.options, now(), bar("restore"));
    // The store does not know what the flag is called.
    let done = done.map_err(|error| match error.kind {
        ErrorKind::Taken if !replace => {
            let message = format!(
                "{} is not empty; restore into an empty store, or give --replace to replace everything in it",
                config.location
            );
            store::Error::new(ErrorKind::Taken, message)
        }
        _ => error,
    });
    match done {
        Ok(tokens) => {
            let said = format!("{} is restored from {}\n{}", config.location, path.display(), told(tokens));
            let json = json!({
                "file": path.display().to_string(),
                "tokens_restored": tokens.restored,
                "tokens_revoked": tokens.revoked,
            });
            if tokens.revocations_lost {
                print::tell(LOST);
            }
            if matches.get_flag("json") { print::json(&json) } else { print::raw(&format!("{said}\n")) }
        }
        Err(error) => failed(&error),
    }
}

const LOST: &str = "the store that was replaced could not be read: tokens that were revoked in it may work again; \
                    to be safe, restore with --revoke-tokens";

/// What became of the tokens of the backup.
fn told(tokens: Tokens) -> String {
    let restored = match tokens.restored {
        0 => "no token of the backup works".to_owned(),
        1 => "1 token of the backup works again".to_owned(),
        n => format!("{n} tokens of the backup work again"),
    };
    match tokens.revoked {
        0 => restored,
        1 => format!("{restored}, 1 is revoked"),
        n => format!("{restored}, {n} are revoked"),
    }
}

/// Who names something that was deleted wants another command.
fn meant(path: &Path) -> String {
    let name = path.to_string_lossy();
    match Reference::parse(&name) {
        Some(Reference::Numbered { kind, .. }) => {
            format!(
                "; to bring back what was deleted: spexus {} restore {name}",
                kind.name().replace('_', "-")
            )
        }
        Some(Reference::Id(_)) => format!("; to bring back what was deleted: spexus restore-entity {name}"),
        None => String::new(),
    }
}

fn read(matches: &ArgMatches) -> Result<(StoreConfig, PathBuf), Exit> {
    let mut settings = config::settings(matches);
    crate::logging::start_with_time(&mut settings, LevelFilter::WARN);
    config::refuse_server(&mut settings);
    let store = config::read(&mut settings).store;
    if let Err(problems) = settings.check() {
        print::tell(&problems.to_string());
        return Err(Exit::Usage);
    }
    let path = super::arguments::file(matches, "file").ok_or(Exit::Usage)?;
    Ok((store, path))
}

fn finish(done: store::Result<()>, matches: &ArgMatches, said: &str, path: &Path) -> Exit {
    match done {
        Ok(()) if matches.get_flag("json") => print::json(&json!({ "file": path.display().to_string() })),
        Ok(()) => print::raw(&format!("{said}\n")),
        Err(error) => failed(&error),
    }
}

fn failed(error: &store::Error) -> Exit {
    print::tell(&error.to_string());
    // A file that is not a backup, or a store that cannot be reached, counts as wrong usage.
    let is_usage = matches!(error.kind, ErrorKind::Schema | ErrorKind::Unavailable);
    if is_usage { Exit::Usage } else { Exit::Refused }
}

fn bar(what: &'static str) -> impl FnMut(Progress) + Send + 'static {
    let mut bar = Bar::new();
    move |progress: Progress| bar.draw(what, progress.done, Some(progress.total))
}
