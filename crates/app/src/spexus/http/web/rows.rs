//! Lists of objects in a form: the name of a field says which row it is in, such as `statuses.0.name`.

use std::collections::BTreeMap;

use ops::Arguments;
use serde_json::{Map, Value};

/// How many rows a list may have.
const ROWS_MAX: usize = 1_000;

/// The lists of a form, by name, and their rows, by number.
#[derive(Default)]
pub struct Rows(BTreeMap<String, BTreeMap<usize, Map<String, Value>>>);

/// The list, the row and the field that a name is about.
pub fn in_row(name: &str) -> Option<(&str, usize, &str)> {
    let (list, rest) = name.split_once('.')?;
    let (row, field) = rest.split_once('.')?;
    Some((list, row.parse().ok().filter(|row| *row < ROWS_MAX)?, field))
}

impl Rows {
    /// Adds a field, typed by the schema of the list. One that was left empty is absent.
    pub fn add(&mut self, schema: &Arguments, list: &str, row: usize, field: &str, value: &str) {
        let Some(property) = schema.property(list) else { return };
        // A list that is there has been sent, even if all its rows are empty.
        let rows = self.0.entry(list.to_owned()).or_default();
        if !value.is_empty() {
            Arguments::new(property["items"].clone()).add(rows.entry(row).or_default(), field, value);
        }
    }

    /// The lists with the rows that have something in them.
    pub fn lists(self) -> impl Iterator<Item = (String, Value)> {
        let list =
            |rows: BTreeMap<usize, Map<String, Value>>| rows.into_values().map(Value::Object).collect();
        self.0.into_iter().map(move |(name, rows)| (name, Value::Array(list(rows))))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn fields_become_rows() {
        let schema = Arguments::new(
            json!({"properties": {"statuses": {"type": "array", "items": {"type": "object", "properties": {
                "name": {"type": "string"}, "final": {"type": "boolean"},
            }}}}}),
        );
        let mut rows = Rows::default();
        for (name, value) in [
            ("statuses.1.name", "Done"),
            ("statuses.1.final", "true"),
            ("statuses.0.name", "Draft"),
            ("statuses.2.name", ""),
            ("others.0.name", "x"),
        ] {
            let (list, row, field) = in_row(name).expect("a row");
            rows.add(&schema, list, row, field, value);
        }
        let lists: Vec<(String, Value)> = rows.lists().collect();
        let expected = json!([{"name": "Draft"}, {"name": "Done", "final": true}]);
        assert_eq!(lists, [("statuses".to_owned(), expected)]);
        for name in ["title", "a.b", "a.b.c", "a.-1.c", "a.1000.c"] {
            assert_eq!(in_row(name), None, "{name}");
        }
    }
}
