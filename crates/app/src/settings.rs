//! Settings from the environment. Every problem is reported at once, with the setting's name and origin.

use std::{env, fmt, time::Duration};

/// Reads settings and gathers what is wrong with them.
#[derive(Debug, Default)]
pub struct Settings {
    problems: Vec<String>,
}

/// A value that can be read from a setting.
pub trait FromSetting: Sized {
    /// What a value looks like, for the message about one that does not.
    const EXPECTED: &str;

    /// Reads it; `None` if the text is no such value.
    fn from_setting(text: &str) -> Option<Self>;
}

impl Settings {
    /// Returns the value of an environment variable, or the default if it is absent or empty. A value
    /// that makes no sense is remembered as a problem.
    pub fn value<T: FromSetting>(&mut self, name: &str, default: T) -> T {
        let Some(text) = env::var_os(name).filter(|text| !text.is_empty()) else { return default };
        let text = text.to_string_lossy();
        T::from_setting(&text).unwrap_or_else(|| {
            let (expected, found) = (T::EXPECTED, mcp::shown(&text));
            self.problems
                .push(format!("{name} (from the environment): expected {expected}, found \"{found}\""));
            default
        })
    }

    /// Returns the value of an environment variable that may be absent.
    pub fn optional<T: FromSetting>(&mut self, name: &str) -> Option<T> {
        self.value(name, Maybe(None)).0
    }

    /// Fails if anything was wrong.
    pub fn check(self) -> Result<(), Problems> {
        if self.problems.is_empty() { Ok(()) } else { Err(Problems(self.problems)) }
    }
}

/// Everything that is wrong with the configuration, a line each.
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
}

impl FromSetting for String {
    const EXPECTED: &str = "text";

    fn from_setting(text: &str) -> Option<Self> {
        Some(text.to_owned())
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
