//! Parses arguments into operations.
//!
//! The code that `serde` derives is compiled anew for each deserializer and each wrapper around one. With more than a hundred
//! operations this was megabytes of the program, so there is one deserializer, which reads values alone and keeps track of where it is.

use std::slice;

use serde::de::value::BorrowedStrDeserializer;
use serde::de::{DeserializeOwned, DeserializeSeed, Deserializer, Expected, MapAccess, SeqAccess, Visitor};
use serde::forward_to_deserialize_any;
use serde_json::{Map, Number, Value, map};

use super::mistake::Mistake;
use crate::error::{Error, Result};

/// Parses arguments.
pub(super) fn read<T: DeserializeOwned>(arguments: &Value) -> Result<T> {
    let argument = Argument { value: arguments, path: &Path::Arguments };
    T::deserialize(argument).map_err(|mistake| Error::fields(vec![mistake.into()]))
}

/// Where a value is.
pub(super) enum Path<'a> {
    /// All arguments.
    Arguments,
    /// A field of an object.
    Field(&'a Path<'a>, &'a str),
    /// An item of a list.
    Item(&'a Path<'a>, usize),
}

/// A value within the arguments.
#[derive(Clone, Copy)]
struct Argument<'de, 'a> {
    value: &'de Value,
    path: &'a Path<'a>,
}

type Outcome<T> = std::result::Result<T, Mistake>;

impl<'de> Argument<'de, '_> {
    fn wrong(self, expected: &dyn Expected) -> Mistake {
        Mistake::wrong(self.value, expected).at(self.path)
    }

    fn list<V: Visitor<'de>>(self, values: &'de [Value], visitor: V) -> Outcome<V::Value> {
        let mut items = Items { values: values.iter(), index: 0, path: self.path };
        let value = visitor.visit_seq(&mut items).map_err(|mistake| mistake.at(self.path))?;
        match items.values.len() {
            0 => Ok(value),
            _ => Err(Mistake::too_long(values.len(), items.index).at(self.path)),
        }
    }

    fn object<V: Visitor<'de>>(self, fields: &'de Map<String, Value>, visitor: V) -> Outcome<V::Value> {
        let fields = Fields { entries: fields.iter(), entry: None, path: self.path };
        visitor.visit_map(fields).map_err(|mistake| mistake.at(self.path))
    }

    fn number<V: Visitor<'de>>(self, number: &Number, visitor: V) -> Outcome<V::Value> {
        let outcome = if let Some(number) = number.as_u64() {
            visitor.visit_u64(number)
        } else if let Some(number) = number.as_i64() {
            visitor.visit_i64(number)
        } else {
            visitor.visit_f64(number.as_f64().unwrap_or(f64::NAN))
        };
        outcome.map_err(|mistake: Mistake| mistake.at(self.path))
    }
}

/// Each method asks of the visitor only what it can take, so that the rest of it is not compiled.
impl<'de> Deserializer<'de> for Argument<'de, '_> {
    type Error = Mistake;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Outcome<V::Value> {
        let outcome = match self.value {
            Value::Null => visitor.visit_unit(),
            Value::Bool(value) => visitor.visit_bool(*value),
            Value::Number(number) => self.number(number, visitor),
            Value::String(text) => visitor.visit_borrowed_str(text),
            Value::Array(values) => self.list(values, visitor),
            Value::Object(fields) => self.object(fields, visitor),
        };
        outcome.map_err(|mistake| mistake.at(self.path))
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Outcome<V::Value> {
        match self.value {
            Value::Bool(value) => {
                visitor.visit_bool(*value).map_err(|mistake: Mistake| mistake.at(self.path))
            }
            _ => Err(self.wrong(&visitor)),
        }
    }

    fn deserialize_i64<V: Visitor<'de>>(self, visitor: V) -> Outcome<V::Value> {
        match self.value {
            Value::Number(number) => self.number(number, visitor),
            _ => Err(self.wrong(&visitor)),
        }
    }

    fn deserialize_u64<V: Visitor<'de>>(self, visitor: V) -> Outcome<V::Value> {
        self.deserialize_i64(visitor)
    }

    fn deserialize_f64<V: Visitor<'de>>(self, visitor: V) -> Outcome<V::Value> {
        self.deserialize_i64(visitor)
    }

    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Outcome<V::Value> {
        match self.value {
            Value::String(text) => {
                visitor.visit_borrowed_str(text).map_err(|mistake: Mistake| mistake.at(self.path))
            }
            _ => Err(self.wrong(&visitor)),
        }
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Outcome<V::Value> {
        self.deserialize_str(visitor)
    }

    fn deserialize_identifier<V: Visitor<'de>>(self, visitor: V) -> Outcome<V::Value> {
        self.deserialize_str(visitor)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Outcome<V::Value> {
        match self.value {
            Value::Null => visitor.visit_none(),
            _ => visitor.visit_some(self),
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> Outcome<V::Value> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Outcome<V::Value> {
        match self.value {
            Value::Array(values) => self.list(values, visitor),
            _ => Err(self.wrong(&visitor)),
        }
    }

    fn deserialize_tuple<V: Visitor<'de>>(self, _: usize, visitor: V) -> Outcome<V::Value> {
        self.deserialize_seq(visitor)
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Outcome<V::Value> {
        match self.value {
            Value::Object(fields) => self.object(fields, visitor),
            _ => Err(self.wrong(&"an object")),
        }
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Outcome<V::Value> {
        self.deserialize_map(visitor)
    }

    /// Variants are texts: those of no argument hold anything.
    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Outcome<V::Value> {
        match self.value {
            Value::String(text) => visitor
                .visit_enum(BorrowedStrDeserializer::new(text))
                .map_err(|mistake: Mistake| mistake.at(self.path)),
            _ => Err(self.wrong(&"a text")),
        }
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Outcome<V::Value> {
        visitor.visit_unit()
    }

    forward_to_deserialize_any! {
        i8 i16 i32 i128 u8 u16 u32 u128 f32 char bytes byte_buf unit unit_struct tuple_struct
    }
}

/// The items of a list.
struct Items<'de, 'a> {
    values: slice::Iter<'de, Value>,
    index: usize,
    path: &'a Path<'a>,
}

impl<'de> SeqAccess<'de> for &mut Items<'de, '_> {
    type Error = Mistake;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Outcome<Option<T::Value>> {
        let Some(value) = self.values.next() else { return Ok(None) };
        let path = Path::Item(self.path, self.index);
        self.index += 1;
        // What a type checks beyond its deserializer, it finds after that has returned.
        seed.deserialize(Argument { value, path: &path }).map(Some).map_err(|mistake| mistake.at(&path))
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.values.len())
    }
}

/// The fields of an object.
struct Fields<'de, 'a> {
    entries: map::Iter<'de>,
    /// The one whose name was read.
    entry: Option<(&'de str, &'de Value)>,
    path: &'a Path<'a>,
}

impl<'de> MapAccess<'de> for Fields<'de, '_> {
    type Error = Mistake;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Outcome<Option<K::Value>> {
        let Some((name, value)) = self.entries.next() else { return Ok(None) };
        self.entry = Some((name, value));
        let key = seed.deserialize(BorrowedStrDeserializer::new(name));
        key.map(Some).map_err(|mistake: Mistake| mistake.at(&Path::Field(self.path, name)))
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Outcome<V::Value> {
        let (name, value) = self.entry.take().expect("serde asks for a name before its value");
        let path = Path::Field(self.path, name);
        seed.deserialize(Argument { value, path: &path }).map_err(|mistake| mistake.at(&path))
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.entries.len())
    }
}
