//! `spexus backup` and `spexus restore`, with a line of progress where someone watches.

use std::path::PathBuf;

use clap::ArgMatches;
use serde_json::json;
use store::backup::{self, Progress};
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
        eprintln!("{}: there is no store", config.location);
        return Exit::Refused;
    }
    let done = Store::open(&config.location, config.options, now())
        .and_then(|store| backup::backup(&store, &path, now(), bar("backup")));
    finish(done, matches, &format!("{} is in {}", config.location, path.display()), &path)
}

/// Fills a store from a file.
pub fn restore(matches: &ArgMatches) -> Exit {
    let (config, path) = match read(matches) {
        Ok(read) => read,
        Err(exit) => return exit,
    };
    let replace = matches.get_flag("replace");
    let done = backup::restore(&config.location, &path, replace, config.options, now(), bar("restore"));
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
    finish(done, matches, &format!("{} is restored from {}", config.location, path.display()), &path)
}

fn read(matches: &ArgMatches) -> Result<(StoreConfig, PathBuf), Exit> {
    let mut settings = config::settings(matches);
    crate::logging::start_with_time(&mut settings, LevelFilter::WARN);
    config::refuse_server(&mut settings);
    let store = config::read(&mut settings).store;
    if let Err(problems) = settings.check() {
        eprintln!("{problems}");
        return Err(Exit::Usage);
    }
    let path = super::arguments::file(matches, "file").ok_or(Exit::Usage)?;
    Ok((store, path))
}

fn finish(done: store::Result<()>, matches: &ArgMatches, said: &str, path: &std::path::Path) -> Exit {
    match done {
        Ok(()) if matches.get_flag("json") => {
            print::answer(&json!({ "file": path.display().to_string() }), true);
            Exit::Done
        }
        Ok(()) => print::raw(&format!("{said}\n")),
        Err(error) => {
            eprintln!("{error}");
            Exit::Refused
        }
    }
}

fn bar(what: &'static str) -> impl FnMut(Progress) + Send + 'static {
    let mut bar = Bar::new();
    move |progress: Progress| bar.draw(what, progress.done, Some(progress.total))
}
