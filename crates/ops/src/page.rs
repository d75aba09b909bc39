//! Pages of lists, and the cursors between them.

use std::borrow::Cow;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use store::tally::Total;

use crate::error::{Error, Result};
use crate::input::{Limit, Offset, Text};
use crate::operation::Output;

/// The default size of a page.
const LIMIT: i64 = 50;

/// A page of a list.
#[derive(Debug, Serialize)]
pub struct Page<T> {
    /// The items of this page.
    pub data: Vec<T>,
    /// The number of items on all pages.
    pub total_count: i64,
    /// False if there are more: counting stops there.
    #[serde(skip_serializing_if = "Clone::clone")]
    pub total_count_exact: bool,
    /// The maximal number of items on this page.
    pub limit: i64,
    /// The number of skipped items.
    pub offset: i64,
    /// The start of the next page, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
}

impl<T: Serialize + JsonSchema> Output for Page<T> {}

impl<T: JsonSchema> JsonSchema for Page<T> {
    fn schema_name() -> Cow<'static, str> {
        format!("PageOf{}", T::schema_name()).into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let item = generator.subschema_for::<T>();
        schemars::json_schema!({
            "type": "object",
            "properties": {
                "data": { "type": "array", "items": item },
                "total_count": { "type": "integer" },
                "total_count_exact": { "type": "boolean" },
                "limit": { "type": "integer" },
                "offset": { "type": "integer" },
                "next_cursor": { "type": "string" }
            },
            "required": ["data", "total_count", "limit", "offset"]
        })
    }
}

/// The start of a page, from the page before. Its content is opaque.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(transparent)]
#[schemars(inline)]
pub struct Cursor(Text<1, 4_000>);

impl Cursor {
    /// A position in a list. The list is named, so that a cursor of another one is rejected.
    pub fn at(list: &str, place: &impl Serialize) -> String {
        // Text and numbers can always be serialized.
        let json = serde_json::to_vec(&(list, place)).unwrap_or_default();
        URL_SAFE_NO_PAD.encode(json)
    }

    /// The position in a list.
    pub fn place<P: DeserializeOwned>(&self, list: &str) -> Result<P> {
        let json = URL_SAFE_NO_PAD.decode(self.0.as_str()).ok();
        let read = json.and_then(|json| serde_json::from_slice::<(String, P)>(&json).ok());
        match read {
            Some((of, place)) if of == list => Ok(place),
            _ => Err(Error::field(
                "cursor",
                "is not of this list; expected `next_cursor` of its page before, with the same sort",
            )),
        }
    }
}

/// The limit and the offset of a page.
pub fn window(limit: Option<Limit>, offset: Option<Offset>) -> (i64, i64) {
    (limit.map_or(LIMIT, |limit| limit.0), offset.map_or(0, |offset| offset.0))
}

/// The name of a position that only counts the items before it. Short lists use it.
const COUNTED: &str = "offset";

/// The same, in a list whose cursors only count the items before.
pub fn window_from(
    limit: Option<Limit>,
    offset: Option<Offset>,
    cursor: Option<&Cursor>,
) -> Result<(i64, i64)> {
    let before: i64 = cursor.map_or(Ok(0), |cursor| cursor.place(COUNTED))?;
    let before = before.clamp(0, 1_000_000_000);
    let (limit, offset) = window(limit, offset);
    Ok((limit, before + offset))
}

/// A page from the found items.
pub fn page<T>(data: Vec<T>, total_count: i64, (limit, offset): (i64, i64)) -> Page<T> {
    let reached = offset + data.len() as i64;
    let has_more = !data.is_empty() && reached < total_count;
    let next_cursor = has_more.then(|| Cursor::at(COUNTED, &reached));
    Page { data, total_count, total_count_exact: true, limit, offset, next_cursor }
}

/// A page from the found items, which may be one more than fits: then there is a next page.
pub fn page_after<T>(
    mut data: Vec<T>,
    total: Total,
    (limit, offset): (i64, i64),
    cursor: impl FnOnce(&T) -> String,
) -> Page<T> {
    let has_more = data.len() as i64 > limit;
    data.truncate(limit as usize);
    let next_cursor = data.last().filter(|_| has_more).map(cursor);
    Page { data, total_count: total.count, total_count_exact: total.is_exact, limit, offset, next_cursor }
}

#[cfg(test)]
mod tests {
    use super::Cursor;
    use crate::input::Text;

    #[test]
    fn a_cursor_is_taken_by_its_own_list_only() {
        let text = Cursor::at("number", &("ABC", 12));
        let cursor: Cursor = serde_json::from_value(text.into()).expect("a cursor");
        assert_eq!(cursor.place::<(String, i64)>("number").ok(), Some(("ABC".to_owned(), 12)));
        assert!(cursor.place::<(String, i64)>("title").is_err());
        assert!(cursor.place::<i64>("number").is_err());
        let stray: Text<1, 4_000> = serde_json::from_value("?!".into()).expect("a text");
        assert!(Cursor(stray).place::<i64>("number").is_err());
    }
}
