//! Requests to the harness.

use std::collections::BTreeMap;

use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};

use super::WorkflowFixtures;
use crate::calls::Recipe;

/// A request to the harness.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum HarnessRequest {
    /// Call a section.
    Call(CallRequest),
    /// Run the examples of a section's docstring.
    Examples(CallRequest),
    /// Describe sections of a module.
    Describe(DescribeRequest),
    /// Build values, to find out which ones can be built.
    Build(BuildRequest),
    /// Call several sections in sequence, in one process.
    Workflow(WorkflowRequest),
    /// Run a plugin that generates stubs.
    #[serde(rename = "plugin")]
    StubPlugin(StubPluginRequest),
    /// Run a plugin that measures.
    MetricsPlugin(MetricsPluginRequest),
    /// Import a module for several calls.
    Batch(BatchRequest),
}

/// Kind of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "each is the request of that name")]
pub enum RequestKind {
    Call,
    Examples,
    Describe,
    Build,
    Workflow,
    #[serde(rename = "plugin")]
    StubPlugin,
    MetricsPlugin,
    Batch,
}

impl RequestKind {
    /// Every kind.
    pub const ALL: [Self; 8] = [
        Self::Call,
        Self::Examples,
        Self::Describe,
        Self::Build,
        Self::Workflow,
        Self::StubPlugin,
        Self::MetricsPlugin,
        Self::Batch,
    ];
}

impl HarnessRequest {
    /// Kind of the request.
    pub fn kind(&self) -> RequestKind {
        match self {
            Self::Call(_) => RequestKind::Call,
            Self::Examples(_) => RequestKind::Examples,
            Self::Describe(_) => RequestKind::Describe,
            Self::Build(_) => RequestKind::Build,
            Self::Workflow(_) => RequestKind::Workflow,
            Self::StubPlugin(_) => RequestKind::StubPlugin,
            Self::MetricsPlugin(_) => RequestKind::MetricsPlugin,
            Self::Batch(_) => RequestKind::Batch,
        }
    }
}

/// A call of a section, its examples, or a step of a workflow.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[expect(clippy::struct_excessive_bools, reason = "each is an option that the harness reads by name")]
pub struct CallRequest {
    /// Module name, as Python imports it.
    pub module: String,
    /// Qualified name of the section in the module.
    pub function: String,
    /// Object on which a method is called.
    #[serde(default)]
    pub owner: Option<Recipe>,
    /// Positional arguments.
    pub arguments: Vec<Recipe>,
    /// Keyword arguments, in the order in which they are passed.
    #[serde(serialize_with = "to_map", deserialize_with = "from_map")]
    pub keywords: Vec<(String, Recipe)>,
    /// Seed of the clock and of random numbers.
    pub seed: u64,
    /// Report whether the call changed its arguments before it failed.
    #[serde(default)]
    pub watch: bool,
    /// Number of processes that compete for the CPU.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub load: Option<u32>,
    /// Subtract the time that the call waited for a CPU from its duration.
    #[serde(default, skip_serializing_if = "is_false")]
    pub timed: bool,
    /// Repeat the call for this number of seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub across: Option<f64>,
    /// Record the lines that the call reaches.
    #[serde(default, skip_serializing_if = "is_false")]
    pub cover: bool,
    /// Number of threads of a burst.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub threads: Option<u32>,
    /// Number of tasks of a burst.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tasks: Option<u32>,
    /// Report the whole traceback of an exception.
    #[serde(default, skip_serializing_if = "is_false")]
    pub traceback: bool,
}

/// Descriptions of sections of a module.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DescribeRequest {
    /// Module name.
    pub module: String,
    /// Qualified names of the sections.
    pub sections: Vec<String>,
}

/// Values to build.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BuildRequest {
    /// Module that is imported before.
    pub module: String,
    /// Recipes of the values.
    pub recipes: Vec<Recipe>,
}

/// Several sections in sequence, in one process.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WorkflowRequest {
    /// The steps; their own seeds are not used.
    pub steps: Vec<CallRequest>,
    /// Seed of every step.
    pub seed: u64,
    /// Make no call at all, to measure the harness itself.
    pub off: bool,
    /// Files and environment variables of the steps.
    pub fixtures: WorkflowFixtures,
    /// Refuse network access.
    pub safe_mode: bool,
}

/// A plugin that generates stubs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StubPluginRequest {
    /// Source of the plugin.
    pub source: String,
    /// Its path, for tracebacks.
    pub path: String,
    /// Sections that need stubs.
    pub sections: Vec<PluginSection>,
}

/// A section as a stub plugin sees it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PluginSection {
    /// `module:qualname`.
    pub section: String,
    /// Module name.
    pub module: String,
    /// Qualified name in the module.
    pub function: String,
    /// Names of its parameters.
    pub parameters: Vec<String>,
    /// Known stubs: arguments by name.
    pub stubs: Vec<Map<String, Value>>,
}

/// A plugin that measures.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MetricsPluginRequest {
    /// Source of the plugin.
    pub source: String,
    /// Its path, for tracebacks.
    pub path: String,
    /// ROI of the previous cycle.
    pub prev_roi: f64,
    /// ROI of this cycle.
    pub roi: f64,
    /// Resources of this cycle.
    pub resources: PluginResources,
    /// ROI of all cycles.
    pub roi_history: Vec<f64>,
    /// Values of each metric in all cycles.
    pub metrics_history: BTreeMap<String, Vec<f64>>,
    /// Forecasts of the next values.
    pub forecasts: BTreeMap<String, f64>,
}

/// Resources that the calls of a cycle used.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct PluginResources {
    /// CPU time as a percentage of wall-clock time.
    pub cpu: f64,
    /// CPU time in seconds.
    pub cpu_seconds: f64,
    /// Wall-clock time in seconds.
    pub seconds: f64,
    /// Number of calls.
    pub calls: usize,
}

/// Import of a module for several calls, which follow as requests of their own.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BatchRequest {
    /// Module name.
    pub module: String,
    /// Kind of the calls.
    pub of: RequestKind,
}

fn to_map<S: Serializer>(keywords: &[(String, Recipe)], serializer: S) -> Result<S::Ok, S::Error> {
    let mut map = serializer.serialize_map(Some(keywords.len()))?;
    for (name, value) in keywords {
        map.serialize_entry(name, value)?;
    }
    map.end()
}

fn from_map<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<(String, Recipe)>, D::Error> {
    let map = Map::<String, Value>::deserialize(deserializer)?;
    map.into_iter()
        .map(|(name, value)| {
            let recipe = Recipe::from_json(&value);
            Ok((name, recipe.ok_or_else(|| serde::de::Error::custom("not a recipe of a value"))?))
        })
        .collect()
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "signature required by serde")]
fn is_false(value: &bool) -> bool {
    !*value
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_request_has_its_kind_and_only_the_options_that_are_set() {
        let request = HarnessRequest::Call(CallRequest {
            module: "shop.cart".into(),
            function: "Cart.add".into(),
            arguments: vec![Recipe::Int(1)],
            keywords: vec![("b".into(), Recipe::None), ("a".into(), Recipe::Bool(true))],
            load: Some(2),
            ..CallRequest::default()
        });
        let wire = serde_json::to_value(&request).unwrap();
        assert_eq!(
            wire.to_string(),
            json!({
                "kind": "call", "module": "shop.cart", "function": "Cart.add", "owner": null, "arguments": [1],
                "keywords": {"b": null, "a": true}, "seed": 0, "watch": false, "load": 2,
            })
            .to_string()
        );
        assert_eq!(serde_json::from_value::<HarnessRequest>(wire).unwrap(), request);
    }
}
