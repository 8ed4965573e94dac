//! Sections: the units that can be called or executed, with the facts from which stubs are generated.
//!
//! These types are also written to the scan cache, in a format without field names, so no field may be skipped.

use serde::{Deserialize, Serialize};

/// Kind of section.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SectionKind {
    /// A function at the top level of a module.
    Function,
    /// A function in a class body.
    Method,
    /// A method behind `@property`, `@cached_property`, or one of a property's accessors.
    Property,
    /// A function defined inside another function.
    Nested,
    /// The statements of the module itself.
    Module,
}

/// First argument that a method is bound to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MethodBinding {
    /// `self`.
    Instance,
    /// `cls`.
    Class,
    /// Nothing.
    Static,
}

/// How an argument may be passed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ParameterKind {
    /// Before `/`.
    PositionalOnly,
    /// By position or by name.
    PositionalOrKeyword,
    /// `*args`.
    VarPositional,
    /// After `*`.
    KeywordOnly,
    /// `**kwargs`.
    VarKeyword,
}

/// A use of a parameter in the body: evidence from which inputs are generated.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ParameterUse {
    /// `p["key"]`, `p.get("key")` or `"key" in p`: the constant as Python source.
    Key(String),
    /// `p.name` that is not called.
    Attribute(String),
    /// `p.name(…)`.
    Method(String),
    /// `p == constant`, `p in (constants)`, `match p: case constant`: the constant as Python source.
    Compared(String),
    /// `isinstance(p, T)`: `T` as Python source.
    Instance(String),
    /// `p(…)`.
    Called,
    /// `for … in p`, `*p`, or a comprehension over it.
    Iterated,
    /// `p[…]` with an index that is no constant key.
    Indexed,
    /// `await p`.
    Awaited,
    /// `with p`.
    Entered,
    /// An operand of this arithmetic operator.
    Operand(String),
    /// An argument of this call: the callee as Python source.
    Passed(String),
}

/// A parameter as written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SectionParameter {
    /// Its name, without stars.
    pub name: String,
    /// How it may be passed.
    pub kind: ParameterKind,
    /// Its annotation as Python source.
    pub annotation: Option<String>,
    /// Its default as Python source.
    pub default: Option<String>,
    /// Its uses in the body, sorted, without duplicates.
    pub uses: Vec<ParameterUse>,
}

/// A side effect of a section.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SideEffect {
    /// Opens, reads, writes or removes files.
    File,
    /// Opens sockets or makes requests.
    Network,
    /// Starts or signals processes.
    Process,
    /// Reads or writes environment variables.
    Environment,
    /// Reads the clock or sleeps.
    Time,
    /// Draws random numbers.
    Random,
    /// Writes to names of the module.
    GlobalState,
}

/// A unit that can be called or executed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Section {
    /// Python's `__qualname__`; `<module>` for the module body.
    pub name: String,
    /// Its kind.
    pub kind: SectionKind,
    /// Binding of a method; absent for functions.
    pub binding: Option<MethodBinding>,
    /// Defined with `async def`.
    pub is_async: bool,
    /// Contains `yield`.
    pub is_generator: bool,
    /// Decorated with `@overload`: a signature without an implementation.
    pub is_overload: bool,
    /// The line of `def`.
    pub line: u32,
    /// The last line of the body.
    pub end_line: u32,
    /// Cyclomatic complexity as radon counts it.
    pub complexity: u32,
    /// Cognitive complexity (`SonarSource`'s definition).
    pub cognitive_complexity: u32,
    /// Decorators as Python source, without `@`.
    pub decorators: Vec<String>,
    /// Parameters in order.
    pub parameters: Vec<SectionParameter>,
    /// The return annotation as Python source.
    pub returns: Option<String>,
    /// The first paragraph of the docstring.
    pub summary: Option<String>,
    /// Exceptions that the docstring declares.
    pub raises: Vec<String>,
    /// Its side effects, sorted.
    pub effects: Vec<SideEffect>,
}
