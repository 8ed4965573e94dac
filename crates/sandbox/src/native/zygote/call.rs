//! One call and what came of it.

use std::collections::BTreeMap;
use std::time::Duration;

use menace_model::sandbox::Usage;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// A call: import a module from the workspace and call an attribute of it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CallSpec {
    /// As Python imports it.
    pub module: String,
    /// The name of a function, or a path such as `Class.method`.
    pub function: String,
    /// Positional arguments.
    pub arguments: Vec<Value>,
    /// Keyword arguments.
    pub keywords: Map<String, Value>,
    /// Variables for this call, beside those of every sandbox.
    pub environment: BTreeMap<String, String>,
    /// How long it may take, the import included.
    #[serde(skip)]
    pub timeout: Duration,
}

impl CallSpec {
    /// A call without arguments, of at most ten seconds.
    pub fn new(module: impl Into<String>, function: impl Into<String>) -> Self {
        Self {
            module: module.into(),
            function: function.into(),
            arguments: Vec::new(),
            keywords: Map::new(),
            environment: BTreeMap::new(),
            timeout: Duration::from_secs(10),
        }
    }

    /// The same with positional arguments.
    #[must_use]
    pub fn arguments(mut self, arguments: impl IntoIterator<Item = Value>) -> Self {
        self.arguments = arguments.into_iter().collect();
        self
    }

    /// The same with a limit on its time.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }
}

/// What came of a call, as it was seen from outside and as the harness describes it.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[expect(clippy::struct_excessive_bools, reason = "each is one answer, and users read them by name")]
pub struct RawOutcome {
    /// What the harness says; nothing if the process ended before it could.
    pub returned: Option<Returned>,
    /// How the process ended: 0 after the harness has said everything.
    pub exit_code: Option<i32>,
    /// The signal that ended it.
    pub signal: Option<i32>,
    /// It was killed because its time was over.
    pub timed_out: bool,
    /// The kernel killed a process of the call because memory ran out.
    pub oom: bool,
    /// The disk was full at the end.
    pub disk_full: bool,
    /// From the request to the end.
    pub wall_ms: f64,
    /// What it took.
    #[serde(flatten)]
    pub usage: Usage,
    /// What it printed, up to the limit.
    pub stdout: String,
    /// What it said, up to the limit.
    pub stderr: String,
    /// It printed more than is kept.
    pub truncated: bool,
}

/// What the harness says about a call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "stage", rename_all = "lowercase")]
pub enum Returned {
    /// The call returned.
    Done {
        /// The value, if JSON can hold it.
        value: Option<Value>,
        /// How Python shows it.
        repr: String,
    },
    /// The module could not be imported.
    Import(Raised),
    /// The module has no such attribute.
    Lookup(Raised),
    /// The call raised an exception.
    Call(Raised),
}

/// An exception.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Raised {
    /// Its class.
    pub exception: String,
    /// Its text.
    pub message: String,
    /// Where it came from.
    pub traceback: String,
}
