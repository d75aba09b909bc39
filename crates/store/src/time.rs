//! Points in time: microseconds since 1970 in the store, RFC 3339 in UTC everywhere else. Written by hand because the product
//! needs no more of a calendar.

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Serialize, Serializer};

/// A point in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(i64);

const SECOND: i64 = 1_000_000;
const DAY: i64 = 86_400 * SECOND;
/// The end of the year 9999: later times have no RFC 3339 form.
const LATEST: i64 = 253_402_300_800 * SECOND - 1;
/// The beginning of the year 0000.
const EARLIEST: i64 = -62_167_219_200 * SECOND;

impl Time {
    /// A time from microseconds since 1970, clamped to the years 0000 to 9999.
    pub fn from_microseconds(microseconds: i64) -> Time {
        Time(microseconds.clamp(EARLIEST, LATEST))
    }

    /// Microseconds since 1970.
    pub fn microseconds(self) -> i64 {
        self.0
    }

    /// The time `seconds` later (or earlier, when negative).
    #[must_use]
    pub fn plus_seconds(self, seconds: i64) -> Time {
        Time::from_microseconds(self.0.saturating_add(seconds.saturating_mul(SECOND)))
    }

    /// Parses `2026-11-15T08:00:00Z`, with a fraction or an offset if there is one. A bare date is the start of that
    /// day in UTC.
    pub fn parse(text: &str) -> Option<Time> {
        let (date, rest) = text.split_at_checked(10)?;
        let days = parse_date(date)?;
        let of_day = if rest.is_empty() { 0 } else { parse_time(rest)? };
        let microseconds = days * DAY + of_day;
        (EARLIEST..=LATEST).contains(&microseconds).then_some(Time(microseconds))
    }

    /// Whether the text is a bare date, which means the whole day.
    pub fn is_date(text: &str) -> bool {
        text.len() == 10 && Time::parse(text).is_some()
    }

    /// Days since 1970-01-01.
    pub(crate) fn day(self) -> i64 {
        self.0.div_euclid(DAY)
    }

    /// Days since 1970-01-01 of a date.
    pub(crate) fn day_of(year: i64, month: i64, day: i64) -> i64 {
        days_from_civil(year, month, day)
    }

    /// The year, month and day of days since 1970-01-01.
    pub(crate) fn civil(days: i64) -> (i64, i64, i64) {
        civil_from_days(days)
    }

    /// The last microsecond of the day that begins here.
    #[must_use]
    pub fn end_of_day(self) -> Time {
        Time::from_microseconds(self.0 + DAY - 1)
    }
}

fn parse_date(text: &str) -> Option<i64> {
    let bytes = text.as_bytes();
    if bytes[4] != b'-' || bytes[7] != b'-' {
        return None;
    }
    let (year, month, day) = (digits(&bytes[..4])?, digits(&bytes[5..7])?, digits(&bytes[8..])?);
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let days_in_month = match month {
        1 | 3 | 5 | 7 | 8 | 10 | 12 => 31,
        4 | 6 | 9 | 11 => 30,
        2 if leap => 29,
        2 => 28,
        _ => return None,
    };
    (1..=days_in_month).contains(&day).then(|| days_from_civil(year, month, day))
}

/// Parses `T08:00:00.123+01:00` as microseconds of a day in UTC.
fn parse_time(text: &str) -> Option<i64> {
    let bytes = text.as_bytes();
    if bytes.len() < 10 || !matches!(bytes[0], b'T' | b't' | b' ') || bytes[3] != b':' || bytes[6] != b':' {
        return None;
    }
    let (hour, minute, second) = (digits(&bytes[1..3])?, digits(&bytes[4..6])?, digits(&bytes[7..9])?);
    if hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    let mut rest = &bytes[9..];
    let mut fraction = 0;
    if rest[0] == b'.' {
        let length = rest[1..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        if length == 0 {
            return None;
        }
        let kept = length.min(6);
        fraction = digits(&rest[1..=kept])? * 10_i64.pow(6 - kept as u32);
        rest = &rest[1 + length..];
    }
    let offset = match rest {
        b"Z" | b"z" => 0,
        [sign @ (b'+' | b'-'), hours @ .., b':', a, b] if hours.len() == 2 => {
            let (hours, minutes) = (digits(hours)?, digits(&[*a, *b])?);
            if hours > 23 || minutes > 59 {
                return None;
            }
            let seconds = hours * 3600 + minutes * 60;
            if *sign == b'-' { -seconds } else { seconds }
        }
        _ => return None,
    };
    Some((hour * 3600 + minute * 60 + second - offset) * SECOND + fraction)
}

fn digits(bytes: &[u8]) -> Option<i64> {
    bytes.iter().try_fold(0, |sum, byte| byte.is_ascii_digit().then(|| sum * 10 + i64::from(byte - b'0')))
}

/// Days since 1970-01-01. Years begin in March here, so that the leap day is the last one.
fn days_from_civil(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719_468
}

fn civil_from_days(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let era = days.div_euclid(146_097);
    let day_of_era = days.rem_euclid(146_097);
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * day_of_year + 2) / 153;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    (year, month, day_of_year - (153 * shifted + 2) / 5 + 1)
}

impl fmt::Display for Time {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (year, month, day) = civil_from_days(self.0.div_euclid(DAY));
        let of_day = self.0.rem_euclid(DAY);
        let (seconds, fraction) = (of_day / SECOND, of_day % SECOND);
        let (hour, minute, second) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
        // Every answer contains several times, and formatting with `write!` takes ten times as long.
        let mut text = *b"0000-00-00T00:00:00.000000Z";
        let parts =
            [(year, 4), (month, 7), (day, 10), (hour, 13), (minute, 16), (second, 19), (fraction, 26)];
        for (mut number, end) in parts {
            let mut place = end;
            while number > 0 {
                place -= 1;
                text[place] = b'0' + (number % 10) as u8;
                number /= 10;
            }
        }
        formatter.pad(str::from_utf8(&text).unwrap_or_default())
    }
}

impl Serialize for Time {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl JsonSchema for Time {
    fn schema_name() -> Cow<'static, str> {
        "Time".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "format": "date-time" })
    }
}

#[cfg(test)]
mod tests {
    use super::Time;

    #[test]
    fn times_are_read_and_written() {
        for (text, expected) in [
            ("2026-11-15T08:00:00.123456Z", Some("2026-11-15T08:00:00.123456Z")),
            ("2026-11-15", Some("2026-11-15T00:00:00.000000Z")),
            ("2024-02-29T23:59:59+01:30", Some("2024-02-29T22:29:59.000000Z")),
            ("1969-12-31T23:59:59.5Z", Some("1969-12-31T23:59:59.500000Z")),
            ("2000-01-01T00:00:00.123456789-00:30", Some("2000-01-01T00:30:00.123456Z")),
            ("0000-01-01", Some("0000-01-01T00:00:00.000000Z")),
            ("9999-12-31T23:59:59Z", Some("9999-12-31T23:59:59.000000Z")),
            ("9999-12-31T23:59:59-01:00", None),
            ("2023-02-29", None),
            ("2026-11-15T24:00:00Z", None),
            ("2026-11-15T08:00:00", None),
            ("2026-11-15T08:00:00.Z", None),
            ("2026-1-15", None),
            ("yesterday!", None),
            ("ёёёёё", None),
            ("", None),
        ] {
            assert_eq!(Time::parse(text).map(|time| time.to_string()).as_deref(), expected, "{text}");
        }
    }

    #[test]
    fn every_day_survives_the_calendar() {
        for day in (-719_528..2_932_896).step_by(13) {
            let time = Time::from_microseconds(day * super::DAY + 1);
            assert_eq!(Time::parse(&time.to_string()), Some(time));
        }
    }
}
