//! Recipes: descriptions of Python values, which the harness builds inside the sandbox. A recipe can be stored, shown,
//! shrunk and built again.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value, json};

/// Recipe of a Python value.
#[derive(Debug, Clone, PartialEq)]
pub enum Recipe {
    /// `None`.
    None,
    /// `True` and `False`.
    Bool(bool),
    /// An `int`.
    Int(i128),
    /// A `float`; NaN and the infinities have no JSON form and are written as text.
    Float(f64),
    /// A `str`.
    Text(String),
    /// A `str` with lone surrogates, in Python's escaped form.
    Escaped(String),
    /// `bytes`.
    Bytes(Vec<u8>),
    /// A collection of values.
    Many(CollectionKind, Vec<Self>),
    /// A mapping, and its class if it is not `dict`.
    Dict(Option<String>, Vec<(Self, Self)>),
    /// A value that is built from a text.
    Written(TextValueKind, String),
    /// `timedelta(seconds=…)`.
    Seconds(f64),
    /// A `timezone`, in minutes east of UTC.
    Zone(i32),
    /// A `slice(…)` if the flag is true, else a `range(…)`.
    Range(bool, Vec<Option<i64>>),
    /// An object that has only these attributes (`SimpleNamespace`).
    Namespace(Vec<(String, Self)>),
    /// A member of an enum: class and member name.
    Member(String, String),
    /// A class itself.
    Class(String),
    /// An object built by its constructor.
    New {
        /// `module:Class`.
        class: String,
        /// Positional arguments.
        arguments: Vec<Self>,
        /// Keyword arguments.
        keywords: Vec<(String, Self)>,
    },
    /// A function that accepts any arguments and returns this value.
    Function(Box<Self>),
    /// An `async def` function that accepts any arguments and returns this value.
    AsyncFunction(Box<Self>),
    /// An awaitable that results in this value.
    Awaitable(Box<Self>),
    /// A repeated value: `value * count`.
    Repeated(Box<Self>, u64),
    /// A value nested in this many lists.
    Nested(Box<Self>, u64),
    /// An expression from the repository's source, evaluated in one of its modules.
    Source(String, String),
}

/// Kind of collection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CollectionKind {
    /// `list`.
    List,
    /// `tuple`.
    Tuple,
    /// `set`.
    Set,
    /// `frozenset`.
    FrozenSet,
    /// `collections.deque`.
    Deque,
    /// An iterator.
    Iterator,
    /// An asynchronous iterator.
    AsyncIterator,
}

/// Kind of value that is built from a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TextValueKind {
    /// `complex`.
    Complex,
    /// `pathlib.Path`.
    Path,
    /// `datetime.datetime`.
    DateTime,
    /// `datetime.date`.
    Date,
    /// `datetime.time`.
    Time,
    /// `decimal.Decimal`.
    Decimal,
    /// `fractions.Fraction`.
    Fraction,
    /// `uuid.UUID`.
    Uuid,
    /// A compiled regular expression.
    Pattern,
    /// A text file in memory (`io.StringIO`).
    TextFile,
    /// A binary file in memory (`io.BytesIO`), as hexadecimal digits.
    BinaryFile,
    /// `bytearray`, as hexadecimal digits.
    ByteArray,
    /// `memoryview`, as hexadecimal digits.
    MemoryView,
    /// A module.
    Module,
}

impl CollectionKind {
    const ALL: [(Self, &'static str); 7] = [
        (Self::List, "list"),
        (Self::Tuple, "tuple"),
        (Self::Set, "set"),
        (Self::FrozenSet, "frozenset"),
        (Self::Deque, "deque"),
        (Self::Iterator, "iterator"),
        (Self::AsyncIterator, "async_iterator"),
    ];

    /// Its name in the harness.
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(kind, _)| *kind == self).map_or("list", |(_, name)| name)
    }

    /// The kind with this name in the harness.
    pub fn of_name(name: &str) -> Option<Self> {
        Self::ALL.iter().find(|(_, known)| *known == name).map(|(kind, _)| *kind)
    }
}

impl TextValueKind {
    const ALL: [(Self, &'static str); 14] = [
        (Self::Complex, "complex"),
        (Self::Path, "path"),
        (Self::DateTime, "datetime"),
        (Self::Date, "date"),
        (Self::Time, "time"),
        (Self::Decimal, "decimal"),
        (Self::Fraction, "fraction"),
        (Self::Uuid, "uuid"),
        (Self::Pattern, "pattern"),
        (Self::TextFile, "text_file"),
        (Self::BinaryFile, "binary_file"),
        (Self::ByteArray, "bytearray"),
        (Self::MemoryView, "memoryview"),
        (Self::Module, "module"),
    ];

    /// Its name in the harness.
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(kind, _)| *kind == self).map_or("path", |(_, name)| name)
    }

    /// The kind with this name in the harness.
    pub fn of_name(name: &str) -> Option<Self> {
        Self::ALL.iter().find(|(_, known)| *known == name).map(|(kind, _)| *kind)
    }
}

impl Recipe {
    /// A `str`.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text(text.into())
    }

    /// A `list`.
    pub fn list(items: impl IntoIterator<Item = Self>) -> Self {
        Self::Many(CollectionKind::List, items.into_iter().collect())
    }

    /// A `dict` whose keys are strings.
    pub fn record(fields: impl IntoIterator<Item = (String, Self)>) -> Self {
        Self::Dict(None, fields.into_iter().map(|(name, value)| (Self::Text(name), value)).collect())
    }

    /// The JSON form that the harness reads.
    pub fn to_json(&self) -> Value {
        match self {
            Self::None => Value::Null,
            Self::Bool(value) => json!(value),
            Self::Int(value) => match i64::try_from(*value) {
                Ok(short) => json!(short),
                Err(_) => json!({"$": "int", "v": value.to_string()}),
            },
            Self::Float(value) if value.is_finite() && value.fract() != 0.0 => json!(value),
            Self::Float(value) => json!({"$": "float", "v": float_text(*value)}),
            Self::Text(text) => json!(text),
            Self::Escaped(text) => json!({"$": "text", "v": text}),
            Self::Bytes(bytes) => json!({"$": "bytes", "v": hexadecimal(bytes)}),
            Self::Many(CollectionKind::List, items) => items.iter().map(Self::to_json).collect(),
            Self::Many(kind, items) => {
                json!({"$": kind.name(), "v": items.iter().map(Self::to_json).collect::<Vec<_>>()})
            }
            Self::Dict(class, pairs) => {
                let pairs: Vec<_> =
                    pairs.iter().map(|(key, value)| json!([key.to_json(), value.to_json()])).collect();
                match class {
                    None => json!({"$": "dict", "v": pairs}),
                    Some(class) => json!({"$": "dict", "v": pairs, "c": class}),
                }
            }
            Self::Written(kind, text) => json!({"$": kind.name(), "v": text}),
            Self::Seconds(seconds) => json!({"$": "timedelta", "v": seconds}),
            Self::Zone(minutes) => json!({"$": "timezone", "v": minutes}),
            Self::Range(is_slice, ends) => json!({"$": if *is_slice { "slice" } else { "range" }, "v": ends}),
            Self::Namespace(fields) => json!({"$": "namespace", "v": object_of(fields)}),
            Self::Member(class, name) => json!({"$": "enum", "c": class, "v": name}),
            Self::Class(class) => json!({"$": "type", "c": class}),
            Self::New { class, arguments, keywords } => json!({
                "$": "new", "c": class,
                "a": arguments.iter().map(Self::to_json).collect::<Vec<_>>(),
                "k": object_of(keywords),
            }),
            Self::Function(value) => json!({"$": "function", "v": value.to_json()}),
            Self::AsyncFunction(value) => json!({"$": "async_function", "v": value.to_json()}),
            Self::Awaitable(value) => json!({"$": "awaitable", "v": value.to_json()}),
            Self::Repeated(value, count) => json!({"$": "repeat", "v": value.to_json(), "n": count}),
            Self::Nested(value, depth) => {
                json!({"$": "nest", "v": value.to_json(), "n": depth, "in": "list"})
            }
            Self::Source(module, text) => json!({"$": "source", "m": module, "v": text}),
        }
    }

    /// Recipe of user-written JSON: an object is always a `dict`, also if it has a key `$`.
    pub fn of_plain_json(value: &Value) -> Self {
        match value {
            Value::Null => Self::None,
            Value::Bool(value) => Self::Bool(*value),
            Value::Number(number) => match (number.as_i64(), number.as_u64()) {
                (Some(whole), _) => Self::Int(whole.into()),
                (None, Some(whole)) => Self::Int(whole.into()),
                (None, None) => Self::Float(number.as_f64().unwrap_or(f64::NAN)),
            },
            Value::String(text) => Self::text(text),
            Value::Array(items) => Self::list(items.iter().map(Self::of_plain_json)),
            Value::Object(fields) => {
                Self::record(fields.iter().map(|(name, value)| (name.clone(), Self::of_plain_json(value))))
            }
        }
    }

    /// Reads the JSON form written by [`Recipe::to_json`].
    pub fn from_json(value: &Value) -> Option<Self> {
        Some(match value {
            Value::Null => Self::None,
            Value::Bool(value) => Self::Bool(*value),
            Value::Number(number) => match number.as_i64() {
                Some(whole) => Self::Int(whole.into()),
                None => Self::Float(number.as_f64()?),
            },
            Value::String(text) => Self::Text(text.clone()),
            Value::Array(items) => Self::Many(CollectionKind::List, all_of(items)?),
            Value::Object(object) => Self::from_object(object)?,
        })
    }

    fn from_object(object: &Map<String, Value>) -> Option<Self> {
        let kind = object.get("$")?.as_str()?;
        let value = object.get("v");
        let text = || Some(value?.as_str()?.to_owned());
        let class = || Some(object.get("c")?.as_str()?.to_owned());
        let inner = || Some(Box::new(Self::from_json(value?)?));
        let count = || object.get("n")?.as_u64();
        Some(match kind {
            "int" => Self::Int(text()?.parse().ok()?),
            "float" => Self::Float(text()?.parse().ok()?),
            "text" => Self::Escaped(text()?),
            "bytes" => Self::Bytes(bytes_of(&text()?)?),
            "dict" => {
                let pair =
                    |pair: &Value| Some((Self::from_json(pair.get(0)?)?, Self::from_json(pair.get(1)?)?));
                Self::Dict(class(), value?.as_array()?.iter().map(pair).collect::<Option<_>>()?)
            }
            "timedelta" => Self::Seconds(value?.as_f64()?),
            "timezone" => Self::Zone(i32::try_from(value?.as_i64()?).ok()?),
            "range" | "slice" => {
                Self::Range(kind == "slice", value?.as_array()?.iter().map(Value::as_i64).collect())
            }
            "namespace" => Self::Namespace(fields_of(value?.as_object()?)?),
            "enum" => Self::Member(class()?, text()?),
            "type" => Self::Class(class()?),
            "new" => Self::New {
                class: class()?,
                arguments: all_of(object.get("a")?.as_array()?)?,
                keywords: fields_of(object.get("k")?.as_object()?)?,
            },
            "function" => Self::Function(inner()?),
            "async_function" => Self::AsyncFunction(inner()?),
            "awaitable" => Self::Awaitable(inner()?),
            "repeat" => Self::Repeated(inner()?, count()?),
            "nest" => Self::Nested(inner()?, count()?),
            "source" => Self::Source(object.get("m")?.as_str()?.to_owned(), text()?),
            _ => match (CollectionKind::of_name(kind), TextValueKind::of_name(kind)) {
                (Some(kind), _) => Self::Many(kind, all_of(value?.as_array()?)?),
                (None, Some(kind)) => Self::Written(kind, text()?),
                (None, None) => return None,
            },
        })
    }
}

fn object_of(fields: &[(String, Recipe)]) -> Value {
    fields.iter().map(|(name, value)| (name.clone(), value.to_json())).collect()
}

fn fields_of(object: &Map<String, Value>) -> Option<Vec<(String, Recipe)>> {
    object.iter().map(|(name, value)| Some((name.clone(), Recipe::from_json(value)?))).collect()
}

fn all_of(items: &[Value]) -> Option<Vec<Recipe>> {
    items.iter().map(Recipe::from_json).collect()
}

/// Text of a float that Python's `float(…)` reads.
pub(super) fn float_text(value: f64) -> String {
    if value.is_nan() {
        "nan".into()
    } else if value.is_infinite() {
        if value > 0.0 { "inf".into() } else { "-inf".into() }
    } else {
        format!("{value:?}")
    }
}

pub(super) fn hexadecimal(bytes: &[u8]) -> String {
    use std::fmt::Write;
    bytes.iter().fold(String::new(), |mut text, byte| {
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

fn bytes_of(text: &str) -> Option<Vec<u8>> {
    if !text.len().is_multiple_of(2) || !text.is_ascii() {
        return None;
    }
    (0..text.len() / 2)
        .map(|index| u8::from_str_radix(text.get(index * 2..index * 2 + 2)?, 16).ok())
        .collect()
}

impl Serialize for Recipe {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.to_json().serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Recipe {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(deserializer)?;
        Self::from_json(&value).ok_or_else(|| serde::de::Error::custom("not a recipe of a value"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn samples() -> Vec<Recipe> {
        vec![
            Recipe::None,
            Recipe::Bool(true),
            Recipe::Int(-3),
            Recipe::Int(1 << 100),
            Recipe::Float(0.5),
            Recipe::Float(2.0),
            Recipe::Float(f64::INFINITY),
            Recipe::Float(-0.0),
            Recipe::text("ß"),
            Recipe::Escaped("\\ud800".into()),
            Recipe::Bytes(vec![0, 255]),
            Recipe::list([Recipe::Int(1), Recipe::None]),
            Recipe::Many(CollectionKind::FrozenSet, vec![Recipe::Int(1)]),
            Recipe::Dict(Some("collections:OrderedDict".into()), vec![(Recipe::Int(1), Recipe::None)]),
            Recipe::record([("a".to_owned(), Recipe::Int(1))]),
            Recipe::Written(TextValueKind::Path, "/tmp".into()),
            Recipe::Seconds(1.5),
            Recipe::Zone(60),
            Recipe::Range(true, vec![Some(1), None]),
            Recipe::Namespace(vec![("a".into(), Recipe::None)]),
            Recipe::Member("m:C".into(), "A".into()),
            Recipe::Class("m:C".into()),
            Recipe::New {
                class: "m:C".into(),
                arguments: vec![Recipe::Int(1)],
                keywords: vec![("k".into(), Recipe::None)],
            },
            Recipe::Function(Box::new(Recipe::Int(1))),
            Recipe::Awaitable(Box::new(Recipe::Int(1))),
            Recipe::Repeated(Box::new(Recipe::text("x")), 1000),
            Recipe::Nested(Box::new(Recipe::list([])), 10),
            Recipe::Source("m".into(), "1 + 1".into()),
        ]
    }

    #[test]
    fn recipes_round_trip() {
        for recipe in samples() {
            assert_eq!(Recipe::from_json(&recipe.to_json()).as_ref(), Some(&recipe));
        }
        let nan = Recipe::from_json(&Recipe::Float(f64::NAN).to_json());
        assert!(matches!(nan, Some(Recipe::Float(value)) if value.is_nan()), "{nan:?}");
    }

    #[test]
    fn malformed_recipes_are_rejected() {
        for text in
            [r#"{"$": "nonsense"}"#, r#"{"a": 1}"#, r#"{"$": "bytes", "v": "0"}"#, r#"[{"$": "int"}]"#]
        {
            assert_eq!(Recipe::from_json(&serde_json::from_str(text).unwrap()), None, "{text}");
        }
    }
}
