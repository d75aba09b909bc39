//! Settings: flags take precedence over the environment, a file and the defaults. All problems are reported at once, with the
//! setting's
//! name and origin.

use std::{
    collections::{BTreeMap, BTreeSet},
    env, fmt, fs,
    net::SocketAddr,
    path::{Path, PathBuf},
    time::Duration,
};

use serde_json::{Map, Value};

/// Reads settings and collects problems.
#[derive(Debug, Default)]
pub struct Settings {
    problems: Vec<String>,
    /// The flags, by the name in the environment: the flag and its value.
    flags: BTreeMap<String, (String, String)>,
    /// The values of the file, by their names in it.
    file: BTreeMap<String, String>,
    file_name: String,
    /// The requested names, as they are in the file.
    known: BTreeSet<String>,
}

/// A value that can be read from a setting.
pub trait FromSetting: Sized {
    /// The form of a value, for error messages.
    const EXPECTED: &str;

    /// Parses it; `None` if the text is invalid.
    fn from_setting(text: &str) -> Option<Self>;

    /// How an invalid text is shown in the error; a secret is not.
    fn shown(text: &str) -> String {
        format!("\"{}\"", mcp::shown(text))
    }
}

impl Settings {
    /// Sets the value of a flag, which takes precedence over everything else.
    pub fn flag(&mut self, flag: &str, name: &str, value: Option<impl ToString>) {
        if let Some(value) = value {
            self.flags.insert(name.to_owned(), (flag.to_owned(), value.to_string()));
        }
    }

    /// Reads a TOML file, which takes precedence over the defaults only. `SPEXUS_LISTEN` is `listen` there.
    pub fn read_file(&mut self, path: &Path) {
        self.file_name = path.display().to_string();
        let table = match fs::read_to_string(path) {
            Ok(text) => text.parse::<toml::Table>().map_err(|error| error.to_string()),
            Err(error) => Err(error.to_string()),
        };
        match table {
            Ok(table) => {
                for (name, value) in table {
                    let text = match &value {
                        toml::Value::Array(values) => {
                            values.iter().map(written).collect::<Vec<_>>().join(",")
                        }
                        other => written(other),
                    };
                    self.file.insert(name, text);
                }
            }
            Err(message) => self.problems.push(format!("{}: {}", self.file_name, message.trim())),
        }
    }

    /// Reads a JSON object, which takes precedence over the defaults only. `MCP_REQUEST_TIMEOUT` is `request_timeout` there.
    pub fn read_json(&mut self, path: &Path) {
        self.file_name = path.display().to_string();
        let object = match fs::read_to_string(path) {
            Ok(text) => serde_json::from_str::<Map<String, Value>>(&text).map_err(|error| error.to_string()),
            Err(error) => Err(error.to_string()),
        };
        match object {
            Ok(object) => {
                let written = |value: Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
                let given = object.into_iter().filter(|(_, value)| !value.is_null());
                self.file.extend(given.map(|(name, value)| (name, written(value))));
            }
            Err(message) => self.problems.push(format!("{}: {message}", self.file_name)),
        }
    }

    /// Returns the value of a setting, or the default if it is absent or empty. An invalid value is
    /// recorded as a problem.
    pub fn value<T: FromSetting>(&mut self, name: &str, default: T) -> T {
        self.known.insert(file_name_of(name));
        let Some((text, origin)) = self.given(name) else { return default };
        T::from_setting(&text).unwrap_or_else(|| {
            let (expected, found) = (T::EXPECTED, T::shown(&text));
            self.problems.push(format!("{origin}: expected {expected}, found {found}"));
            default
        })
    }

    /// The name of a setting, and its origin: `--listen (from the command line)`.
    fn given(&self, name: &str) -> Option<(String, String)> {
        let in_file = file_name_of(name);
        let (text, shown_name, origin) = if let Some((flag, text)) = self.flags.get(name) {
            (text.clone(), flag.as_str(), "the command line")
        } else if let Some(text) = env::var_os(name).filter(|text| !text.is_empty()) {
            (text.to_string_lossy().into_owned(), name, "the environment")
        } else {
            (self.file.get(&in_file)?.clone(), in_file.as_str(), self.file_name.as_str())
        };
        Some((text, format!("{shown_name} (from {origin})")))
    }

    /// Reports a problem if a setting is given, from any source.
    pub fn refuse(&mut self, name: &str, why: &str) {
        if let Some((_, origin)) = self.given(name) {
            self.problems.push(format!("{origin}: {why}"));
        }
    }

    /// The same for a flag only: in the environment and in a file it may be meant for other commands.
    pub fn refuse_flag(&mut self, name: &str, why: &str) {
        if self.flags.contains_key(name) {
            self.refuse(name, why);
        }
    }

    /// Reports another problem of the configuration.
    pub fn problem(&mut self, message: String) {
        self.problems.push(message);
    }

    /// Returns the value of a required setting; if it is missing, reports a problem.
    pub fn required<T: FromSetting>(&mut self, name: &str, missing: &str) -> Option<T> {
        let n_problems = self.problems.len();
        let value = self.optional(name);
        if value.is_none() && self.problems.len() == n_problems {
            self.problems.push(format!("{name} is not set: {missing}"));
        }
        value
    }

    /// Returns the value of an optional setting.
    pub fn optional<T: FromSetting>(&mut self, name: &str) -> Option<T> {
        self.value(name, Maybe(None)).0
    }

    /// Fails if there was any problem, including unknown names in the file.
    pub fn check(mut self) -> Result<(), Problems> {
        for name in self.file.keys().filter(|name| !self.known.contains(*name)) {
            let known: Vec<&str> = self.known.iter().map(String::as_str).collect();
            let nearest = nearest::nearest(name, known.iter().copied())
                .map(|near| format!("; did you mean {near}?"))
                .unwrap_or_default();
            self.problems.push(format!("{name} (from {}): is not a setting{nearest}", self.file_name));
        }
        if self.problems.is_empty() { Ok(()) } else { Err(Problems(self.problems)) }
    }
}

/// The name of a setting in a file.
fn file_name_of(name: &str) -> String {
    name.strip_prefix("SPEXUS_").or(name.strip_prefix("MCP_")).unwrap_or(name).to_lowercase()
}

/// A value of the file in the form of the environment.
fn written(value: &toml::Value) -> String {
    match value {
        toml::Value::String(text) => text.clone(),
        toml::Value::Integer(number) => number.to_string(),
        toml::Value::Boolean(flag) => flag.to_string(),
        other => format!("{other:?}"),
    }
}

/// All problems of the configuration, a line each.
#[derive(Debug)]
pub struct Problems(Vec<String>);

impl fmt::Display for Problems {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0.join("\n"))
    }
}

impl std::error::Error for Problems {}

struct Maybe<T>(Option<T>);

impl<T: FromSetting> FromSetting for Maybe<T> {
    const EXPECTED: &str = T::EXPECTED;

    fn from_setting(text: &str) -> Option<Self> {
        T::from_setting(text).map(|value| Self(Some(value)))
    }

    fn shown(text: &str) -> String {
        T::shown(text)
    }
}

impl FromSetting for String {
    const EXPECTED: &str = "text";

    fn from_setting(text: &str) -> Option<Self> {
        Some(text.to_owned())
    }
}

impl FromSetting for PathBuf {
    const EXPECTED: &str = "a path";

    fn from_setting(text: &str) -> Option<Self> {
        Some(Self::from(text))
    }
}

impl FromSetting for SocketAddr {
    const EXPECTED: &str = "an address and a port such as 127.0.0.1:8080";

    fn from_setting(text: &str) -> Option<Self> {
        text.replace("localhost", "127.0.0.1").parse().ok()
    }
}

impl FromSetting for bool {
    const EXPECTED: &str = "true or false";

    fn from_setting(text: &str) -> Option<Self> {
        match text.to_ascii_lowercase().as_str() {
            "true" | "1" | "yes" | "on" => Some(true),
            "false" | "0" | "no" | "off" => Some(false),
            _ => None,
        }
    }
}

impl FromSetting for u32 {
    const EXPECTED: &str = "a whole number";

    fn from_setting(text: &str) -> Option<Self> {
        text.parse().ok()
    }
}

impl FromSetting for mcp::VersionPolicy {
    const EXPECTED: &str = "strict or negotiate";

    fn from_setting(text: &str) -> Option<Self> {
        match text {
            "strict" => Some(Self::Strict { terminate: false }),
            "negotiate" => Some(Self::Negotiate),
            _ => None,
        }
    }
}

impl FromSetting for Duration {
    const EXPECTED: &str = "a time up to a day such as 30s, 500ms, 1m or a number of seconds";

    fn from_setting(text: &str) -> Option<Self> {
        let n_digits = text.bytes().take_while(u8::is_ascii_digit).count();
        let (digits, unit) = text.split_at(n_digits);
        let number: u64 = digits.parse().ok().filter(|number| *number > 0)?;
        let time = match unit.trim() {
            "ms" => Self::from_millis(number),
            "" | "s" => Self::from_secs(number),
            "m" => Self::from_secs(number.checked_mul(60)?),
            _ => return None,
        };
        // More would overflow a clock somewhere.
        (time <= Self::from_secs(24 * 60 * 60)).then_some(time)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_written_as_people_write_them() {
        let read = |text| Duration::from_setting(text).map(|time| time.as_millis());
        assert_eq!(read("30s"), Some(30_000));
        assert_eq!(read("500ms"), Some(500));
        assert_eq!(read("1m"), Some(60_000));
        assert_eq!(read("45"), Some(45_000));
        for nonsense in [
            "soon",
            "0",
            "-1",
            "",
            "1h30",
            "99999999999999999999",
            "18446744073709551615m",
            "18446744073709551615",
            "25000m",
        ] {
            assert_eq!(read(nonsense), None, "{nonsense}");
        }
    }
}
