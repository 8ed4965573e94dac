//! Files and environment variables of workflow steps.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Fixtures by module name; those under the empty name apply to all modules.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct WorkflowFixtures(pub BTreeMap<String, ModuleFixture>);

/// Fixtures of one module.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModuleFixture {
    /// Contents by path, relative to the workspace.
    #[serde(default)]
    pub files: BTreeMap<String, String>,
    /// Environment variables by name.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
}

impl WorkflowFixtures {
    /// Adds a file for every step.
    pub fn file(&mut self, path: &str, content: &str) {
        self.0.entry(String::new()).or_default().files.insert(path.to_owned(), content.to_owned());
    }

    /// Adds an environment variable for every step.
    pub fn variable(&mut self, name: &str, value: &str) {
        self.0.entry(String::new()).or_default().env.insert(name.to_owned(), value.to_owned());
    }
}
