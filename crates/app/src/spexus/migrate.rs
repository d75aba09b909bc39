//! `spexus migrate`: brings the store's schema up to date.

use clap::ArgMatches;
use serde_json::json;
use store::{Options, State, Store};
use tracing::level_filters::LevelFilter;

use super::{Exit, config, now, print};

/// Brings the schema up to date, or says what is missing.
pub fn run(matches: &ArgMatches) -> Exit {
    let mut settings = config::settings(matches);
    crate::logging::start_with_time(&mut settings, LevelFilter::WARN);
    config::refuse_server(&mut settings);
    let config = config::read(&mut settings).store;
    if let Err(problems) = settings.check() {
        print::tell(&problems.to_string());
        return Exit::Usage;
    }
    let check = matches.get_flag("check");
    // Opening it would make the file.
    if check && config.location.is_missing() {
        let message = format!("{}: there is no store yet; spexus migrate makes it", config.location);
        print::error(&ops::Error::new(ops::ErrorKind::NotFound, message), matches.get_flag("json"));
        return Exit::Refused;
    }
    let opened = if check {
        Store::open_as_it_is(&config.location, config.options)
    } else {
        Store::open_with_schema(&config.location, Options { notice: print::tell, ..config.options }, now())
    };
    let migrations = match opened.and_then(|store| store.migrations()) {
        Ok(migrations) => migrations,
        Err(error) => {
            print::tell(&format!("{}: {error}", config.location));
            return Exit::Usage;
        }
    };
    let printed = if matches.get_flag("json") {
        print::json(&json!({ "migrations": migrations }))
    } else {
        let lines = migrations.iter().map(|migration| {
            let state = serde_json::to_value(migration.state).unwrap_or_default();
            format!("{:<10} {}\n", state.as_str().unwrap_or_default(), migration.name)
        });
        print::raw(&lines.collect::<String>())
    };
    let is_current = migrations.iter().all(|migration| migration.state == State::Applied);
    printed.and(if is_current { Exit::Done } else { Exit::Refused })
}
