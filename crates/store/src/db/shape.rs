//! A statement composed of parts, because its conditions decide which index serves it. Every part is
//! static text of the program, so that input never becomes part of a statement; values are parameters.

use std::fmt::Write as _;

use crate::value::Value;

/// A statement and its values.
#[derive(Debug)]
pub struct Shape<'a> {
    text: String,
    values: Vec<Value<'a>>,
    has_conditions: bool,
}

impl<'a> Shape<'a> {
    /// Starts a statement.
    pub fn new(text: &'static str) -> Shape<'a> {
        Shape { text: text.to_owned(), values: Vec::new(), has_conditions: false }
    }

    /// Adds text, in which each `?` is the next of the values.
    pub fn add(&mut self, text: &'static str, values: &[Value<'a>]) -> &mut Shape<'a> {
        let mut parts = text.split('?');
        self.text.push_str(parts.next().unwrap_or_default());
        let mut n_places = 0;
        for (part, value) in parts.zip(values) {
            self.values.push(*value);
            n_places += 1;
            // Writing into a string does not fail.
            let _ = write!(self.text, "?{}{part}", self.values.len());
        }
        debug_assert_eq!((n_places, text.matches('?').count()), (values.len(), values.len()), "{text}");
        self
    }

    /// Adds a condition: the first one after `where`, others after `and`.
    pub fn condition(&mut self, text: &'static str, values: &[Value<'a>]) -> &mut Shape<'a> {
        self.text.push_str(if self.has_conditions { " and " } else { " where " });
        self.has_conditions = true;
        self.add(text, values)
    }

    /// Adds the condition that an expression is one of some values, if there are any.
    pub fn one_of(&mut self, expression: &'static str, values: &[Value<'a>]) -> &mut Shape<'a> {
        let Some((first, others)) = values.split_first() else { return self };
        self.condition(expression, &[]).add(" in (?", &[*first]);
        for value in others {
            self.add(", ?", &[*value]);
        }
        self.add(")", &[])
    }

    /// Surrounds the statement with text, without values.
    pub fn within(&mut self, before: &'static str, after: &'static str) -> &mut Shape<'a> {
        self.text.insert_str(0, before);
        self.text.push_str(after);
        self
    }

    /// Begins another `select` in the statement, with its own conditions.
    pub fn select(&mut self, text: &'static str) -> &mut Shape<'a> {
        self.has_conditions = false;
        self.add(text, &[])
    }

    pub(super) fn text(&self) -> &str {
        &self.text
    }

    pub(super) fn values(&self) -> &[Value<'a>] {
        &self.values
    }
}

#[cfg(test)]
mod tests {
    use super::Shape;
    use crate::value::Value;

    #[test]
    fn parameters_are_numbered_in_order() {
        let mut shape = Shape::new("select id from entity e");
        shape.condition("e.kind = ?", &["epic".into()]).condition("e.deleted_at is null", &[]);
        shape.one_of("e.status", &["Draft".into(), "Done".into()]).one_of("e.priority", &[]);
        shape.add(" limit ? offset ?", &[Value::Number(50), Value::Number(0)]);
        assert_eq!(
            shape.text(),
            "select id from entity e where e.kind = ?1 and e.deleted_at is null and e.status in (?2, ?3) limit ?4 offset ?5"
        );
        assert_eq!(shape.values().len(), 5);
    }
}
