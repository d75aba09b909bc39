//! Times as people say them. The exact time is there to be looked at.

use maud::{Markup, html};

/// A time in a page, such as `2026-11-17T18:15:54.728709Z`, seen from now in microseconds.
pub fn ago(text: &str, now: i64) -> Markup {
    let said = micros(text).map_or_else(|| text.to_owned(), |then| said(now - then));
    html! { time datetime=(text) title=(exact(text)) { (said) } }
}

/// A time that is to come, seen from now: `in 12 minutes`.
pub fn ahead(text: &str, now: i64) -> Markup {
    let said = micros(text).map_or_else(
        || text.to_owned(),
        |then| match (then - now) / 1_000_000 {
            ..=0 => said(now - then),
            1..60 => "in less than a minute".to_owned(),
            60..120 => "in 1 minute".to_owned(),
            seconds @ 120..3_600 => format!("in {} minutes", seconds / 60),
            3_600..7_200 => "in 1 hour".to_owned(),
            seconds => format!("in {} hours", seconds / 3_600),
        },
    );
    html! { time datetime=(text) title=(exact(text)) { (said) } }
}

/// The exact time for people, if a text is a time.
pub fn when(text: &str) -> Option<String> {
    let is_time = text.as_bytes().get(10) == Some(&b'T') && text.ends_with('Z') && micros(text).is_some();
    is_time.then(|| exact(text))
}

/// The time without what nobody reads.
fn exact(text: &str) -> String {
    let seconds = text.split('.').next().unwrap_or(text);
    format!("{} UTC", seconds.trim_end_matches('Z').replace('T', " "))
}

fn said(micros: i64) -> String {
    let seconds = micros / 1_000_000;
    let (count, unit) = match seconds {
        ..60 => return "just now".to_owned(),
        60..3_600 => (seconds / 60, "minute"),
        3_600..86_400 => (seconds / 3_600, "hour"),
        86_400..2_592_000 => (seconds / 86_400, "day"),
        2_592_000..31_536_000 => (seconds / 2_592_000, "month"),
        _ => (seconds / 31_536_000, "year"),
    };
    if count == 1 { format!("1 {unit} ago") } else { format!("{count} {unit}s ago") }
}

/// Microseconds since 1970 of a time in UTC.
fn micros(text: &str) -> Option<i64> {
    let number = |range: std::ops::Range<usize>| text.get(range)?.parse::<i64>().ok();
    let (year, month, day) = (number(0..4)?, number(5..7)?, number(8..10)?);
    let (hour, minute, second) = (number(11..13)?, number(14..16)?, number(17..19)?);
    if !(1..=12).contains(&month) {
        return None;
    }
    // Days since 1970, with years that begin in March so that a leap day is the last one.
    let shifted = if month <= 2 { year - 1 } else { year };
    let month = (month + 9) % 12;
    let days = shifted * 365 + shifted / 4 - shifted / 100 + shifted / 400 + (month * 306 + 5) / 10 + day
        - 1
        - 719_468;
    Some((days * 86_400 + hour * 3_600 + minute * 60 + second) * 1_000_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_said_from_now() {
        let now = micros("2026-11-17T18:00:00Z").unwrap();
        assert_eq!(now, 1_794_938_400_000_000);
        for (then, expected) in [
            ("2026-11-17T17:59:30.5Z", "just now"),
            ("2026-11-17T17:58:59Z", "1 minute ago"),
            ("2026-11-17T15:00:00Z", "3 hours ago"),
            ("2026-11-15T18:00:00Z", "2 days ago"),
            ("2024-02-29T00:00:00Z", "2 years ago"),
            ("2026-11-17T19:00:00Z", "just now"),
        ] {
            assert_eq!(said(now - micros(then).unwrap()), expected, "{then}");
        }
        assert_eq!(micros("1970-01-01T00:00:00Z"), Some(0));
        assert_eq!(exact("2026-11-17T18:15:54.728709Z"), "2026-11-17 18:15:54 UTC");
        assert_eq!(micros("nonsense"), None);
        assert_eq!(when("2026-11-17T18:15:54.728709Z").as_deref(), Some("2026-11-17 18:15:54 UTC"));
        assert_eq!([when("2026-11-17 is a day"), when("T"), when("")], [None, None, None]);
    }
}
