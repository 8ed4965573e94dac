//! Types of parameters, as the harness resolved them inside the sandbox.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Type of a value.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "t", rename_all = "snake_case")]
#[expect(missing_docs, reason = "each is the Python type of that name")]
pub enum ValueShape {
    /// Any value: no type is known.
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
    /// Exactly these `items`, or any number of `of`.
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
        fields: Vec<TypedDictField>,
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
    /// An object built by its constructor.
    Object {
        class: String,
        parameters: Vec<ParameterShape>,
        /// Whether it only has its fields: a dataclass, a named tuple, a pydantic or an attrs class.
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
    /// A type of which no value can be built.
    Opaque {
        class: String,
        why: String,
    },
}

/// A key of a `TypedDict`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TypedDictField {
    /// Its name.
    pub name: String,
    /// Type of its value.
    pub shape: ValueShape,
    /// Whether the key is required.
    pub required: bool,
}

/// A parameter of a callable.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ParameterShape {
    /// Its name, without stars.
    pub name: String,
    /// How it is passed, as the lower-case name in Python's `inspect`.
    pub kind: String,
    /// Whether it has no default.
    pub required: bool,
    /// Type of its value.
    pub shape: ValueShape,
    /// Name of the type of its default.
    pub default: Option<String>,
}

impl ParameterShape {
    /// Whether it can only be passed by position.
    pub fn is_positional_only(&self) -> bool {
        self.kind == "positional_only"
    }
}

/// Description of a section by the harness.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum SectionDescription {
    /// A section that can be called.
    Callable {
        /// `function`, `instance`, `class`, `static` or `property`.
        binding: String,
        /// Its parameters, without `self` and `cls`.
        parameters: Vec<ParameterShape>,
        /// Defined with `async def`.
        is_async: bool,
        /// Type of the object that the method is called on.
        #[serde(default)]
        owner: Option<ValueShape>,
        /// Number of examples in its docstring.
        #[serde(default)]
        examples: u32,
        /// Its executable lines.
        #[serde(default)]
        lines: Vec<u32>,
        /// Keys that its module reads from dictionaries and that could be fields of a response; only for modules that use
        /// the network.
        #[serde(default)]
        reads: Vec<String>,
    },
    /// A section that cannot be called.
    Missing {
        /// The reason.
        missing: String,
    },
}
