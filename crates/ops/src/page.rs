//! Pages of lists.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Serialize;

use crate::input::{Limit, Offset};
use crate::operation::Output;

/// How many a page holds when nobody says.
const LIMIT: i64 = 50;

/// A page of a list.
#[derive(Debug, Serialize)]
pub struct Page<T> {
    /// What is on this page.
    pub data: Vec<T>,
    /// How many there are on all pages.
    pub total_count: i64,
    /// How many this page could hold.
    pub limit: i64,
    /// How many came before.
    pub offset: i64,
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
                "limit": { "type": "integer" },
                "offset": { "type": "integer" }
            },
            "required": ["data", "total_count", "limit", "offset"]
        })
    }
}

/// The numbers of a page.
pub fn window(limit: Option<Limit>, offset: Option<Offset>) -> (i64, i64) {
    (limit.map_or(LIMIT, |limit| limit.0), offset.map_or(0, |offset| offset.0))
}

/// A page from what was found.
pub fn page<T>(data: Vec<T>, total_count: i64, (limit, offset): (i64, i64)) -> Page<T> {
    Page { data, total_count, limit, offset }
}
