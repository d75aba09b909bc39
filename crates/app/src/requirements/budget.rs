//! Answers within a token budget: pages end after an item, and long texts are shortened, with a note on the rest.

use mcp::Failure;
use ops::known;
use serde_json::{Map, Value, json};

use crate::budget::{Room, TOKENS_DEFAULT, TOKENS_NOTE, bad_cursor, cut};

/// If the texts of a page do not fit, each is cut to this many characters; the first number that fits.
const TEXTS: [usize; 3] = [5_000, 1_500, 300];
/// The minimal length of a cut text.
const SHORTEST: usize = 12;
/// The field of an item that says how to get the rest.
pub(super) const MORE: &str = "more";
/// How to get the rest if nothing else has it.
pub(super) const HIGHER: &str = "ask again with a higher max_tokens";
/// The highest position in a list.
const OFFSET_MAX: i64 = 1_000_000_000;

/// The requested part of an answer.
pub struct PageWindow {
    /// How many items to skip.
    pub offset: i64,
    /// The start of the operation's page from which they are taken; by default its beginning.
    page: Option<PageStart>,
    /// The maximal length of the answer.
    pub max_tokens: usize,
}

/// The start of an operation's page that was truncated.
#[derive(Clone)]
struct PageStart {
    /// The operation's own cursor.
    cursor: String,
    /// How many items of that page were returned before.
    skip: i64,
}

impl PageWindow {
    /// The beginning of a list, with this budget.
    pub fn of(max_tokens: usize) -> PageWindow {
        PageWindow { offset: 0, page: None, max_tokens }
    }

    /// Takes `max_tokens`, `cursor` and `offset` out of the arguments.
    pub fn take(arguments: &mut Map<String, Value>) -> Result<PageWindow, Failure> {
        let tokens = arguments.shift_remove("max_tokens").and_then(|value| value.as_u64());
        let mut window = PageWindow::of(tokens.map_or(TOKENS_DEFAULT, |tokens| tokens as usize));
        let given = arguments.get("offset").and_then(Value::as_i64);
        window.offset = given.unwrap_or_default();
        if let Some(cursor) = arguments.shift_remove("cursor") {
            arguments.shift_remove("offset");
            let place = cursor.as_str().and_then(place).ok_or_else(bad_cursor)?;
            (window.offset, window.page) = place;
        }
        Ok(window)
    }

    /// The operation's arguments for the start.
    pub fn start(&self) -> (Option<&str>, i64) {
        match &self.page {
            Some(page) => (Some(&page.cursor), page.skip),
            None => (None, self.offset),
        }
    }

    /// The cursor after the first items of a page; after the whole page if the operation has returned the start of the next
    /// one.
    fn cursor_after(&self, n_kept: i64, next: Option<&str>) -> String {
        let page = match (next, &self.page) {
            (Some(cursor), _) => Some(PageStart { cursor: cursor.to_owned(), skip: 0 }),
            (None, Some(page)) => Some(PageStart { skip: page.skip + n_kept, ..page.clone() }),
            (None, None) => None,
        };
        cursor(self.offset + n_kept, page.as_ref())
    }

    /// Cuts the list under `key` into a page. `total` is the field with the total; if it is empty, the
    /// answer has all items.
    pub fn page(&self, key: &str, total: &str, mut answer: Value) -> Value {
        let all = answer.pointer(total).filter(|_| !total.is_empty()).and_then(Value::as_i64);
        let Some(object) = answer.as_object_mut() else { return answer };
        let mut items = match object.shift_remove(key) {
            Some(Value::Array(items)) => items,
            _ => Vec::new(),
        };
        let all = all.unwrap_or_else(|| {
            let all = items.len();
            items.drain(..all.min(self.offset as usize));
            all as i64
        });
        object.shift_remove("limit");
        object.shift_remove("offset");
        let next_page = object.shift_remove("next_cursor");
        let next_page = next_page.as_ref().and_then(Value::as_str);
        // With an inexact total the number of remaining items is unknown.
        let is_counted = object.get("total_count_exact") != Some(&json!(false));
        let n_items = items.len();
        if self.offset > 0 {
            // The fields beside the list were returned with its first page.
            object.retain(|_, value| value.get("data").is_none());
        }
        let mut answer = PageWindow::of(self.max_tokens / 2).short(answer);
        let mut kept = fitting(items, &Room::of(self.max_tokens, count(&answer)));
        loop {
            let n_kept = kept.len() as i64;
            let remaining = all - self.offset - n_kept;
            let next_page = next_page.filter(|_| kept.len() == n_items);
            answer[key] = json!(kept);
            let has_more =
                if is_counted { remaining > 0 } else { next_page.is_some() || kept.len() < n_items };
            if has_more && !kept.is_empty() {
                answer["nextCursor"] = json!(self.cursor_after(n_kept, next_page));
                if remaining > 0 {
                    answer["remaining"] = json!(remaining);
                }
            }
            // Tokens do not end at item borders, so the sum may be slightly off.
            if kept.len() < 2 || count(&answer) <= self.max_tokens {
                return answer;
            }
            kept.pop();
        }
    }

    /// Shortens the longest texts and lists of a value until it fits.
    pub fn short(&self, mut value: Value) -> Value {
        let room = self.max_tokens.saturating_sub(TOKENS_NOTE);
        let mut is_cut = false;
        while count(&value) > room && shorten(&mut value) {
            is_cut = true;
        }
        if is_cut && let Some(object) = value.as_object_mut() {
            object.insert("truncated".into(), json!(true));
        }
        value
    }
}

/// As many items as fit, at least one. Their texts are shortened only if not all items fit otherwise, and as little
/// as possible.
fn fitting(mut items: Vec<Value>, all: &Room) -> Vec<Value> {
    for limit in [None].into_iter().chain(TEXTS.map(Some)) {
        if let Some(limit) = limit {
            items.iter_mut().for_each(|item| brief(item, limit));
        }
        let mut room = all.clone();
        if items.iter().all(|item| room.takes(&item.to_string())) {
            return items;
        }
    }
    let mut room = all.clone();
    let mut kept = Vec::new();
    for item in items {
        match room.takes(&item.to_string()) {
            true => kept.push(item),
            false if kept.is_empty() => return vec![shortened(item, room.left())],
            false => break,
        }
    }
    kept
}

/// An item that does not fit even with cut texts.
fn shortened(item: Value, room: usize) -> Value {
    let more = item.as_object().map(rest_of);
    let mut item = PageWindow::of(room.saturating_sub(TOKENS_NOTE)).short(item);
    if let (Some(fields), Some(more)) = (item.as_object_mut(), more)
        && fields.shift_remove("truncated").is_some()
    {
        fields.insert(MORE.into(), json!(more));
    }
    item
}

/// Cuts longer texts of an item, and says how to get the rest.
fn brief(item: &mut Value, limit: usize) {
    let Some(fields) = item.as_object_mut() else { return };
    let mut is_cut = false;
    for (_, value) in fields.iter_mut().filter(|(name, _)| !NAMES.contains(&name.as_str())) {
        is_cut |= brief_text(value, limit);
    }
    if is_cut {
        let more = rest_of(fields);
        fields.insert(MORE.into(), json!(more));
    }
}

/// How to get the rest of an item with a cut text.
fn rest_of(item: &Map<String, Value>) -> String {
    match item.get("reference_id").and_then(Value::as_str) {
        Some(reference)
            if item.get("kind").is_none_or(|kind| kind != "comment") && !item.contains_key("name") =>
        {
            format!("{} {reference}", known::GET_ENTITY.name)
        }
        _ => HIGHER.to_owned(),
    }
}

fn brief_text(value: &mut Value, limit: usize) -> bool {
    match value {
        Value::String(text) if text.chars().nth(limit).is_some() => {
            *text = cut(text, limit);
            true
        }
        Value::Array(items) => items.iter_mut().fold(false, |is_cut, item| brief_text(item, limit) | is_cut),
        Value::Object(fields) => {
            fields.values_mut().fold(false, |is_cut, field| brief_text(field, limit) | is_cut)
        }
        _ => false,
    }
}

pub(super) fn count(value: &Value) -> usize {
    tokens::count(&value.to_string())
}

/// A name, which is useless when cut.
const NAMES: [&str; 10] = [
    "id",
    "reference_id",
    "identifier",
    "full_path",
    "kind",
    "status",
    "created_at",
    "updated_at",
    "origin",
    MORE,
];

/// Halves the longest text, or the longest list if no text is long; at last removes a field.
fn shorten(value: &mut Value) -> bool {
    let mut longest = (0, None);
    find(value, "", &mut longest);
    if let Some(pointer) = longest.1 {
        match value.pointer_mut(&pointer) {
            Some(Value::String(text)) => {
                let half = text.chars().count() / 2;
                *text = cut(text, half.max(SHORTEST));
                return true;
            }
            Some(Value::Array(items)) => {
                items.truncate(items.len() / 2);
                return true;
            }
            _ => {}
        }
    }
    let Some(fields) = value.as_object_mut() else { return false };
    let can_go = fields.iter().filter(|(name, _)| !NAMES.contains(&name.as_str()));
    let largest = can_go.max_by_key(|(_, value)| value.to_string().len()).map(|(name, _)| name.clone());
    largest.is_some_and(|name| fields.shift_remove(&name).is_some())
}

/// Finds the largest text or list that can be shortened.
fn find(value: &Value, path: &str, longest: &mut (usize, Option<String>)) {
    let size = match value {
        Value::String(text) if text.chars().nth(SHORTEST * 2).is_some() => text.len(),
        Value::Array(items) if !items.is_empty() => {
            items.iter().map(|item| item.to_string().len()).sum::<usize>() / 2
        }
        _ => 0,
    };
    if size > longest.0 {
        *longest = (size, Some(path.to_owned()));
    }
    match value {
        Value::Object(fields) => {
            for (name, field) in fields.iter().filter(|(name, _)| !NAMES.contains(&name.as_str())) {
                find(field, &format!("{path}/{}", name.replace('~', "~0").replace('/', "~1")), longest);
            }
        }
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                find(item, &format!("{path}/{index}"), longest);
            }
        }
        _ => {}
    }
}

/// The cursor of a position in a list.
pub fn cursor_at(offset: i64) -> String {
    cursor(offset, None)
}

/// The letter prevents clients from calculating with cursors as numbers.
fn cursor(offset: i64, page: Option<&PageStart>) -> String {
    match page {
        None => format!("o{offset}"),
        Some(PageStart { cursor, skip }) => format!("o{offset}.{skip}.{cursor}"),
    }
}

fn place(text: &str) -> Option<(i64, Option<PageStart>)> {
    let mut parts = text.strip_prefix('o')?.splitn(3, '.');
    let offset = parts.next()?.parse().ok()?;
    let page = match (parts.next(), parts.next()) {
        (Some(skip), Some(cursor)) => Some(PageStart { cursor: cursor.to_owned(), skip: skip.parse().ok()? }),
        _ => None,
    };
    let is_valid = cursor(offset, page.as_ref()) == text
        && (0..=OFFSET_MAX).contains(&offset)
        && page.as_ref().is_none_or(|page| (0..=OFFSET_MAX).contains(&page.skip) && !page.cursor.is_empty());
    is_valid.then_some((offset, page))
}
