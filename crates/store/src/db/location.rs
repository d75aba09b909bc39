//! Where a store is.

use std::fmt;
use std::io::ErrorKind;
use std::path::PathBuf;

/// Where a store is.
#[derive(Clone, PartialEq, Eq)]
pub enum Location {
    /// A file.
    Sqlite(PathBuf),
    /// The URL of a server; it may hold a password.
    Postgres(String),
}

impl Location {
    /// Whether a SQLite store is still to be created. An empty file becomes a store when it is opened.
    pub fn is_missing(&self) -> bool {
        match self {
            Location::Sqlite(path) => std::fs::metadata(path).map_or_else(
                |error| matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory),
                |file| file.is_file() && file.len() == 0,
            ),
            Location::Postgres(_) => false,
        }
    }

    /// Parses `sqlite:PATH`, `postgres://…`, or the path of a file.
    pub fn parse(text: &str) -> Result<Location, String> {
        if text.starts_with("postgres://") || text.starts_with("postgresql://") {
            return match text.parse::<postgres::Config>() {
                Ok(_) => Ok(Location::Postgres(text.to_owned())),
                Err(error) => Err(format!("not a PostgreSQL URL: {error}")),
            };
        }
        let path = text.strip_prefix("sqlite:").unwrap_or(text);
        let path = path.strip_prefix("//").unwrap_or(path);
        if path.is_empty() || (path.contains("://") && !text.starts_with("sqlite:")) {
            return Err("expected sqlite:PATH or postgres://USER@HOST/DATABASE".to_owned());
        }
        Ok(Location::Sqlite(PathBuf::from(path)))
    }
}

/// Prints the location without its password.
impl fmt::Display for Location {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Location::Sqlite(path) => write!(formatter, "sqlite:{}", path.display()),
            Location::Postgres(url) => {
                let (scheme, rest) = url.split_once("://").unwrap_or(("postgres", url));
                let rest = rest.split(['?', '#']).next().unwrap_or_default();
                match rest.rsplit_once('@') {
                    Some((user, host)) => {
                        write!(formatter, "{scheme}://{}@{host}", user.split(':').next().unwrap_or_default())
                    }
                    None => write!(formatter, "{scheme}://{rest}"),
                }
            }
        }
    }
}

impl fmt::Debug for Location {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, formatter)
    }
}

#[cfg(test)]
mod tests {
    use super::Location;

    #[test]
    fn locations_are_read_and_printed_without_secrets() {
        for (text, expected) in [
            ("sqlite:data/spexus.db", Ok("sqlite:data/spexus.db")),
            ("sqlite:///var/spexus.db", Ok("sqlite:/var/spexus.db")),
            ("spexus.db", Ok("sqlite:spexus.db")),
            ("postgres://ann:secret@db/spexus?sslmode=require", Ok("postgres://ann@db/spexus")),
            ("postgresql://db/spexus", Ok("postgresql://db/spexus")),
            ("mysql://db/spexus", Err("expected sqlite:PATH or postgres://USER@HOST/DATABASE")),
            ("sqlite:", Err("expected sqlite:PATH or postgres://USER@HOST/DATABASE")),
            ("", Err("expected sqlite:PATH or postgres://USER@HOST/DATABASE")),
        ] {
            let found = Location::parse(text).map(|location| location.to_string());
            assert_eq!(found.as_deref().map_err(String::as_str), expected, "{text}");
        }
    }
}
