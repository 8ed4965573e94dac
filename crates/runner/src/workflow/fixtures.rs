//! Files and variables that steps find.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// What is there before a step, by the name of its module; under the empty name for all of them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Fixtures(pub BTreeMap<String, Fixture>);

/// What one module finds.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fixture {
    /// Contents by path, from the workspace.
    #[serde(default)]
    pub files: BTreeMap<String, String>,
    /// Values by name.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
}

impl Fixtures {
    /// A file that every step finds.
    pub fn file(&mut self, path: &str, content: &str) {
        self.0.entry(String::new()).or_default().files.insert(path.to_owned(), content.to_owned());
    }

    /// A variable that every step finds.
    pub fn variable(&mut self, name: &str, value: &str) {
        self.0.entry(String::new()).or_default().env.insert(name.to_owned(), value.to_owned());
    }
}
