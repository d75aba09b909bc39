//! An answer about the thread within a budget of tokens: a requirement may be cited in thousands of places.

use super::answer::{Thread, ThreadItem, UnitThread};

/// The default budget.
pub(super) const TOKENS: i64 = 100_000;
/// How many places of each kind a unit keeps before whole items move to the next page.
const PLACES: usize = 16;

/// The size of the next page's cursor.
const CURSOR: usize = 24;

/// Leaves out what does not fit: places if there are many, then items, then places of a single item, which always stays.
pub(super) fn fit(thread: &mut Thread, max: usize) {
    let max = max.saturating_sub(CURSOR);
    if fits(thread, max) {
        return;
    }
    cut(thread, PLACES);
    if fits(thread, max) {
        return;
    }
    let items = std::mem::take(&mut thread.data);
    let mut used = count(thread);
    for item in items {
        used += count(&item);
        if used > max && !thread.data.is_empty() {
            break;
        }
        thread.data.push(item);
    }
    let mut places = PLACES;
    while places > 0 && !fits(thread, max) {
        places /= 2;
        cut(thread, places);
    }
}

fn fits(thread: &Thread, max: usize) -> bool {
    let json = json(thread);
    // No token is shorter than a byte, and comparing lengths is faster than counting tokens.
    json.len() * 2 <= max || tokens::count(&json) <= max
}

fn count(value: &impl serde::Serialize) -> usize {
    tokens::count(&json(value))
}

fn json(value: &impl serde::Serialize) -> String {
    serde_json::to_string(value).unwrap_or_default()
}

fn cut(thread: &mut Thread, places: usize) {
    for ThreadItem { units, outdated, threats, left_out, .. } in &mut thread.data {
        *left_out += shorten(outdated, places) + shorten(threats, places);
        for UnitThread { code, tests, manual, left_out, .. } in units {
            *left_out += shorten(code, places) + shorten(tests, places) + shorten(manual, places);
        }
    }
}

/// Returns how many were left out.
fn shorten<T>(list: &mut Vec<T>, most: usize) -> i64 {
    let n_left_out = list.len().saturating_sub(most);
    list.truncate(most);
    n_left_out as i64
}
