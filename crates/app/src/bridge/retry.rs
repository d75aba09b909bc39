//! When a request is retried, and after which pause.

use std::{
    hash::{BuildHasher, RandomState},
    time::Duration,
};

/// The pause before the first retry; each further one is twice as long.
const FIRST_PAUSE: Duration = Duration::from_millis(200);

/// The maximal pause, unless the server asks for a longer one.
const LONGEST_PAUSE: Duration = Duration::from_secs(10);

/// The pause before retry number `n`, from 0. Up to half of it is random, so that the clients of a recovering
/// server do not all return at once.
//@= spexus://REQ-142
//@# 002 R13.4: a backend that is away is tried again, with growing pauses
pub fn pause(n: u32) -> Duration {
    let full = FIRST_PAUSE.saturating_mul(1 << n.min(10)).min(LONGEST_PAUSE);
    full.mul_f64(0.5 + chance() / 2.0)
}

/// Returns whether a retry after this status may succeed.
pub fn is_passing(status: u16) -> bool {
    matches!(status, 429 | 502 | 503 | 504)
}

/// The pause of a `Retry-After`, in seconds. A date is ignored: the default pause is used.
pub fn asked_pause(header: Option<&str>) -> Option<Duration> {
    header?.trim().parse().ok().map(Duration::from_secs)
}

/// A random number from 0 to 1, good enough to spread load.
fn chance() -> f64 {
    random() as f64 / u64::MAX as f64
}

/// A number that most likely no other process has.
pub fn random() -> u64 {
    RandomState::new().hash_one(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    //@= spexus://REQ-142
    //@= type=test
    //@# 002 R13.4: a backend that is away is tried again, with growing pauses
    #[test]
    fn pauses_double_and_differ() {
        for (n, most_ms) in [(0, 200), (1, 400), (2, 800), (3, 1_600), (30, 10_000)] {
            let pause = pause(n).as_millis();
            assert!((most_ms / 2..=most_ms).contains(&pause), "[002 R13.4] retry {n}: {pause} ms");
        }
        let pauses: std::collections::BTreeSet<Duration> = (0..20).map(|_| pause(5)).collect();
        assert!(pauses.len() > 10, "there is no chance in them");
    }

    #[test]
    fn only_what_passes_is_tried_again() {
        let passing: Vec<u16> = (100..600).filter(|status| is_passing(*status)).collect();
        assert_eq!(passing, [429, 502, 503, 504]);
        assert_eq!(asked_pause(Some(" 7 ")), Some(Duration::from_secs(7)));
        for nonsense in [None, Some("soon"), Some("-1"), Some("Sun, 06 Nov 1994 08:49:37 GMT")] {
            assert_eq!(asked_pause(nonsense), None);
        }
    }
}
