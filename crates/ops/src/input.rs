//! The types of arguments. Each is schema and validation at once: a deserialized value is valid.

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{self, Deserializer};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use store::model::{Kind, Reference, Time};

/// Text of `MIN` to `MAX` characters, without NUL.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Text<const MIN: usize, const MAX: usize>(String);

/// A title.
pub type Title = Text<1, 500>;
/// A long text that may be empty.
pub type Description = Text<0, 50_000>;
/// The text of an acceptance criterion.
pub type CriterionText = Text<1, 50_000>;

impl<const MIN: usize, const MAX: usize> Text<MIN, MAX> {
    /// Validates a text.
    pub fn new(text: String) -> Result<Self, String> {
        if text.contains('\0') {
            return Err("must not contain the character NUL".to_owned());
        }
        // Counting is needed only if the bytes are inconclusive.
        let fits = text.len() <= MAX && text.len() >= MIN * 4;
        let count = if fits { MIN } else { text.chars().count() };
        if (MIN..=MAX).contains(&count) && (MIN == 0 || !text.trim().is_empty()) {
            return Ok(Text(text));
        }
        if MIN > 0 && text.trim().is_empty() {
            return Err(format!("expected {MIN} to {MAX} characters, found only blanks"));
        }
        Err(format!("expected {MIN} to {MAX} characters, found {count}"))
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The text, owned.
    pub fn into_string(self) -> String {
        self.0
    }
}

impl<const MIN: usize, const MAX: usize> From<&Text<MIN, MAX>> for String {
    fn from(text: &Text<MIN, MAX>) -> String {
        text.0.clone()
    }
}

impl<'de, const MIN: usize, const MAX: usize> Deserialize<'de> for Text<MIN, MAX> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Text::new(String::deserialize(deserializer)?).map_err(de::Error::custom)
    }
}

impl<const MIN: usize, const MAX: usize> JsonSchema for Text<MIN, MAX> {
    fn schema_name() -> Cow<'static, str> {
        format!("Text{MIN}To{MAX}").into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        if MIN == 0 {
            json_schema!({ "type": "string", "maxLength": MAX })
        } else {
            json_schema!({ "type": "string", "minLength": MIN, "maxLength": MAX })
        }
    }
}

/// A whole number from `MIN` to `MAX`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Number<const MIN: i64, const MAX: i64>(pub i64);

/// 1 critical, 2 high, 3 medium, 4 low.
pub type Priority = Number<1, 4>;
/// The number of items to return.
pub type Limit = Number<1, 100>;
/// How many items to skip.
pub type Offset = Number<0, 1_000_000_000>;
/// A version.
pub type Version = Number<1, { i64::MAX }>;

impl<'de, const MIN: i64, const MAX: i64> Deserialize<'de> for Number<MIN, MAX> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor<const MIN: i64, const MAX: i64>;
        impl<const MIN: i64, const MAX: i64> de::Visitor<'_> for Visitor<MIN, MAX> {
            type Value = Number<MIN, MAX>;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                if MAX == i64::MAX {
                    write!(formatter, "a whole number, at least {MIN}")
                } else {
                    write!(formatter, "a whole number from {MIN} to {MAX}")
                }
            }

            fn visit_i64<E: de::Error>(self, number: i64) -> Result<Self::Value, E> {
                if (MIN..=MAX).contains(&number) {
                    return Ok(Number(number));
                }
                Err(E::invalid_value(de::Unexpected::Signed(number), &self))
            }

            fn visit_u64<E: de::Error>(self, number: u64) -> Result<Self::Value, E> {
                match i64::try_from(number) {
                    Ok(number) => self.visit_i64(number),
                    Err(_) => Err(E::invalid_value(de::Unexpected::Unsigned(number), &self)),
                }
            }

            fn visit_f64<E: de::Error>(self, number: f64) -> Result<Self::Value, E> {
                // JSON does not distinguish 2 from 2.0, and some clients write the latter.
                if number.fract() == 0.0 && number.abs() < 9e15 {
                    return self.visit_i64(number as i64);
                }
                Err(E::invalid_value(de::Unexpected::Float(number), &self))
            }
        }
        deserializer.deserialize_i64(Visitor::<MIN, MAX>)
    }
}

impl<const MIN: i64, const MAX: i64> JsonSchema for Number<MIN, MAX> {
    fn schema_name() -> Cow<'static, str> {
        format!("Number{MIN}To{MAX}").into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        if MAX == i64::MAX {
            json_schema!({ "type": "integer", "minimum": MIN })
        } else {
            json_schema!({ "type": "integer", "minimum": MIN, "maximum": MAX })
        }
    }
}

/// Labels to search by. Each is stored once, regardless of case.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Labels(pub Vec<String>);

impl Labels {
    /// The maximal number of labels.
    pub const MAX: usize = 50;
    /// The maximal number of characters in a label.
    pub const CHARACTERS: usize = 50;

    /// Validates labels. A comma separates them in tables, so none may contain one.
    pub fn new(texts: impl IntoIterator<Item = String>) -> Result<Labels, String> {
        let mut labels: Vec<String> = Vec::new();
        for text in texts {
            let label = Text::<1, { Labels::CHARACTERS }>::new(text.trim().to_owned())
                .map_err(|problem| format!("{problem} in a label"))?;
            if label.as_str().contains([',', '\n', '\r', '\t']) {
                let found = shortened(label.as_str());
                return Err(format!("expected a label without commas and line breaks, found {found:?}"));
            }
            if !labels.iter().any(|known| known.eq_ignore_ascii_case(label.as_str())) {
                labels.push(label.into_string());
            }
        }
        if labels.len() > Labels::MAX {
            return Err(format!("expected at most {} labels, found {}", Labels::MAX, labels.len()));
        }
        Ok(Labels(labels))
    }
}

impl<'de> Deserialize<'de> for Labels {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Labels::new(Vec::<String>::deserialize(deserializer)?).map_err(de::Error::custom)
    }
}

impl JsonSchema for Labels {
    fn schema_name() -> Cow<'static, str> {
        "Labels".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "array",
            "maxItems": Labels::MAX,
            "items": { "type": "string", "minLength": 1, "maxLength": Labels::CHARACTERS }
        })
    }
}

/// The reference of an entity: its UUID or its reference id, in any case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Id(pub Reference);

impl<'de> Deserialize<'de> for Id {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = Cow::<'_, str>::deserialize(deserializer)?;
        Reference::parse(&text).map(Id).ok_or_else(|| {
            let found = shortened(&text);
            de::Error::custom(format!("expected a UUID or a reference id such as EP-001, found {found:?}"))
        })
    }
}

impl JsonSchema for Id {
    fn schema_name() -> Cow<'static, str> {
        "Id".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "minLength": 4, "maxLength": 64 })
    }
}

/// A kind of entity, in any spelling.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KindName(pub Kind);

impl<'de> Deserialize<'de> for KindName {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = Cow::<'_, str>::deserialize(deserializer)?;
        Kind::from_name(&text).map(KindName).ok_or_else(|| {
            let names = Kind::ALL.map(Kind::name).join(", ");
            de::Error::custom(format!("expected one of {names}, found {:?}", shortened(&text)))
        })
    }
}

impl JsonSchema for KindName {
    fn schema_name() -> Cow<'static, str> {
        "KindName".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        Kind::json_schema(generator)
    }
}

/// A point in time, or a day.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moment {
    time: Time,
    is_day: bool,
}

impl Moment {
    /// The start of the day, or the time itself.
    pub fn first(self) -> Time {
        self.time
    }

    /// The end of the day, or the time itself.
    pub fn last(self) -> Time {
        if self.is_day { self.time.end_of_day() } else { self.time }
    }
}

impl<'de> Deserialize<'de> for Moment {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = Cow::<'_, str>::deserialize(deserializer)?;
        let wrong = || {
            format!(
                "expected a time such as 2026-11-15T08:00:00Z or a day such as 2026-11-15, found {:?}",
                shortened(&text)
            )
        };
        let time = Time::parse(&text).ok_or_else(|| de::Error::custom(wrong()))?;
        Ok(Moment { time, is_day: Time::is_date(&text) })
    }
}

impl JsonSchema for Moment {
    fn schema_name() -> Cow<'static, str> {
        "Moment".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "examples": ["2026-11-15", "2026-11-15T08:00:00Z"] })
    }
}

/// A duration in seconds, written as `30d`, `12h`, `45m` or `90s`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span(pub i64);

impl<'de> Deserialize<'de> for Span {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        const CENTURY_S: i64 = 36_525 * 86_400;
        let text = Cow::<'_, str>::deserialize(deserializer)?;
        let digits = text.trim().trim_end_matches(|c: char| c.is_ascii_alphabetic());
        let unit = match &text.trim()[digits.len()..] {
            "s" => 1,
            "m" => 60,
            "h" => 3_600,
            "d" => 86_400,
            _ => 0,
        };
        let seconds = digits.parse::<i64>().ok().and_then(|number| number.checked_mul(unit));
        match seconds.filter(|seconds| (1..=CENTURY_S).contains(seconds)) {
            Some(seconds) => Ok(Span(seconds)),
            None => Err(de::Error::custom(format!(
                "expected a time such as 30d or 12h, found {:?}",
                shortened(&text)
            ))),
        }
    }
}

impl JsonSchema for Span {
    fn schema_name() -> Cow<'static, str> {
        "Span".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "examples": ["30d", "12h"] })
    }
}

/// A moment in the past: a time, a day, or how long ago, such as `2d`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Since {
    /// A time or the beginning of a day.
    Moment(Moment),
    /// How long ago.
    Ago(Span),
}

impl Since {
    /// The time that it means at a time.
    pub fn at(self, now: Time) -> Time {
        match self {
            Since::Moment(moment) => moment.first(),
            Since::Ago(Span(seconds)) => now.plus_seconds(-seconds),
        }
    }
}

impl<'de> Deserialize<'de> for Since {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = Value::String(String::deserialize(deserializer)?);
        let moment = Moment::deserialize(&text).map(Since::Moment);
        moment.or_else(|_| Span::deserialize(&text).map(Since::Ago)).map_err(|_| {
            let found = shortened(text.as_str().unwrap_or_default());
            de::Error::custom(format!(
                "expected how long ago, such as 2d or 12h, a day such as 2026-11-15, or a time, found {found:?}"
            ))
        })
    }
}

impl JsonSchema for Since {
    fn schema_name() -> Cow<'static, str> {
        "Since".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "examples": ["2d", "12h", "2026-11-15"] })
    }
}

/// A change of a field: absent leaves it, null clears it, a value sets it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Patch<T> {
    /// Absent.
    #[default]
    Absent,
    /// Null.
    Null,
    /// A new value.
    Value(T),
}

impl<T> Patch<T> {
    /// The new value of an optional field: the old one if it is absent.
    pub fn apply<U>(&self, old: Option<U>, new: impl FnOnce(&T) -> U) -> Option<U> {
        match self {
            Patch::Absent => old,
            Patch::Null => None,
            Patch::Value(value) => Some(new(value)),
        }
    }

    /// Whether it was given.
    pub fn is_given(&self) -> bool {
        !matches!(self, Patch::Absent)
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Patch<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Option::<T>::deserialize(deserializer)?.map_or(Patch::Null, Patch::Value))
    }
}

impl<T: JsonSchema> JsonSchema for Patch<T> {
    fn schema_name() -> Cow<'static, str> {
        format!("Patch{}", T::schema_name()).into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        Option::<T>::json_schema(generator)
    }
}

/// A change of a required field: absent leaves it, a value sets it, null is an error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Set<T>(pub Option<T>);

impl<T> Default for Set<T> {
    fn default() -> Self {
        Set(None)
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Set<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        T::deserialize(deserializer).map(|value| Set(Some(value)))
    }
}

impl<T: JsonSchema> JsonSchema for Set<T> {
    fn schema_name() -> Cow<'static, str> {
        T::schema_name()
    }

    fn inline_schema() -> bool {
        T::inline_schema()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        T::json_schema(generator)
    }
}

/// The beginning of the found value, for messages.
pub fn shortened(text: &str) -> String {
    const CHARACTERS: usize = 80;
    let short = words::cut(text, CHARACTERS);
    if short.len() < text.len() { format!("{short}…") } else { short.to_owned() }
}
