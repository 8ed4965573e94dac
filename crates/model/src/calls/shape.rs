//! What a parameter takes, as the harness resolved it inside.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What a value has to be.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "t", rename_all = "snake_case")]
#[expect(missing_docs, reason = "each is the type of Python with that name")]
pub enum Shape {
    /// Anything, as far as is known.
    Any,
    None,
    Bool,
    Int,
    Float,
    Complex,
    Str,
    Bytes,
    #[serde(rename = "bytearray")]
    ByteArray,
    #[serde(rename = "memoryview")]
    MemoryView,
    Path,
    #[serde(rename = "datetime")]
    DateTime,
    Date,
    Time,
    #[serde(rename = "timedelta")]
    TimeDelta,
    #[serde(rename = "timezone")]
    TimeZone,
    Decimal,
    Fraction,
    Uuid,
    Pattern,
    TextFile,
    BinaryFile,
    Slice,
    Range,
    Module,
    Namespace,
    List {
        of: Box<Self>,
    },
    Set {
        of: Box<Self>,
    },
    #[serde(rename = "frozenset")]
    FrozenSet {
        of: Box<Self>,
    },
    Deque {
        of: Box<Self>,
    },
    Iterator {
        of: Box<Self>,
    },
    AsyncIterator {
        of: Box<Self>,
    },
    /// With `items` one of each, else any number of `of`.
    Tuple {
        #[serde(default)]
        items: Option<Vec<Self>>,
        #[serde(default)]
        of: Option<Box<Self>>,
    },
    Dict {
        key: Box<Self>,
        value: Box<Self>,
        #[serde(default)]
        class: Option<String>,
    },
    TypedDict {
        fields: Vec<Field>,
    },
    Literal {
        values: Vec<Value>,
    },
    Union {
        of: Vec<Self>,
    },
    Enum {
        class: String,
        members: Vec<String>,
    },
    /// An object by its constructor.
    Object {
        class: String,
        parameters: Vec<ParameterShape>,
        /// It is nothing but its fields.
        #[serde(default)]
        record: bool,
    },
    Exception {
        class: String,
    },
    Callable {
        #[serde(default)]
        returns: Option<Box<Self>>,
    },
    Awaitable {
        of: Box<Self>,
    },
    Type {
        #[serde(default)]
        of: Option<String>,
    },
    /// No value of it can be made.
    Opaque {
        class: String,
        why: String,
    },
}

/// A key of a typed dictionary.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Field {
    /// Its name.
    pub name: String,
    /// What it holds.
    pub shape: Shape,
    /// Whether it has to be there.
    pub required: bool,
}

/// A parameter of something that is called.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ParameterShape {
    /// Its name, without stars.
    pub name: String,
    /// How it is passed, as `inspect` names it in lower case.
    pub kind: String,
    /// Whether it has to be passed.
    pub required: bool,
    /// What it takes.
    pub shape: Shape,
    /// The name of the type of its default.
    pub default: Option<String>,
}

impl ParameterShape {
    /// Whether it can only be passed by position.
    pub fn is_positional_only(&self) -> bool {
        self.kind == "positional_only"
    }
}

/// What the harness says about a section.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Described {
    /// It can be called.
    Callable {
        /// `function`, `instance`, `class`, `static` or `property`.
        binding: String,
        /// What it takes, without `self` and `cls`.
        parameters: Vec<ParameterShape>,
        /// Defined with `async def`.
        is_async: bool,
        /// What it is called on.
        #[serde(default)]
        owner: Option<Shape>,
        /// How many examples its docstring has.
        #[serde(default)]
        examples: u32,
        /// Its lines that can be reached.
        #[serde(default)]
        lines: Vec<u32>,
        /// Names that its module reads from records, as far as they could be fields of an answer; only of modules that
        /// can reach the network.
        #[serde(default)]
        reads: Vec<String>,
    },
    /// It cannot be called, and why.
    Missing {
        /// The reason.
        missing: String,
    },
}
