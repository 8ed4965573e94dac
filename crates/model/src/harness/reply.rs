//! Replies of the harness.

use std::collections::BTreeMap;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};

use super::{BatchReply, CallObservations, CallReply, HarnessRequest, RequestKind};
use crate::calls::{ReportedException, SectionDescription};

/// Reply of the harness, by the request that it answers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(
    clippy::large_enum_variant,
    reason = "the large variant is the usual one, and there is one reply per call"
)]
pub enum HarnessReply {
    /// To a call or to examples.
    Call(CallReply),
    /// To the request for descriptions.
    Describe(StagedReply<SectionDescriptions>),
    /// To the request to build values.
    Build(StagedReply<BuiltRecipes>),
    /// To a workflow.
    Workflow(StagedReply<WorkflowReply>),
    /// To a plugin that generates stubs.
    StubPlugin(StagedReply<PluginStubs>),
    /// To a plugin that measures.
    MetricsPlugin(StagedReply<PluginMetrics>),
    /// To the import for a batch.
    Batch(BatchReply),
    /// An answer that is no reply to the request.
    Malformed {
        /// What is wrong with it.
        problem: String,
    },
}

/// Reply that is complete, or names the stage at which the request failed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "stage", rename_all = "snake_case", deny_unknown_fields)]
pub enum StagedReply<T> {
    /// The request was carried out.
    Done(T),
    /// The import of a module raised an exception.
    Import {
        /// The exception.
        error: Box<ReportedException>,
    },
    /// The section or function does not exist.
    Lookup {
        /// The reason.
        why: String,
    },
    /// The code raised an exception.
    Call {
        /// The exception.
        error: Box<ReportedException>,
    },
}

/// Reason why a request was not carried out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HarnessFailure<'a> {
    /// Code of the repository or of a plugin raised an exception.
    Raised(&'a ReportedException),
    /// The harness refused.
    Refused(&'a str),
}

impl<T> StagedReply<T> {
    /// The complete reply, or the reason why there is none.
    pub fn done(&self) -> Result<&T, HarnessFailure<'_>> {
        match self {
            Self::Done(reply) => Ok(reply),
            Self::Import { error } | Self::Call { error } => Err(HarnessFailure::Raised(error)),
            Self::Lookup { why } => Err(HarnessFailure::Refused(why)),
        }
    }
}

/// Descriptions of sections.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SectionDescriptions {
    /// Descriptions by qualified name.
    #[serde(deserialize_with = "each_section")]
    pub sections: BTreeMap<String, SectionDescription>,
}

/// Recipes that could be built.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BuiltRecipes {
    /// Whether each recipe of the request could be built.
    pub made: Vec<bool>,
}

/// Outcomes of a workflow.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WorkflowReply {
    /// Replies of the steps, up to the first that failed.
    pub steps: Vec<CallReply>,
}

/// Stubs of a plugin.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PluginStubs {
    /// Stubs of each section of the request: arguments by name.
    pub stubs: Vec<Vec<Map<String, Value>>>,
}

/// Values of a metrics plugin.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PluginMetrics {
    /// Measured values.
    pub metrics: BTreeMap<String, f64>,
    /// Predictions of the next values.
    pub predictions: BTreeMap<String, f64>,
}

impl HarnessRequest {
    /// Parses the answer to this request.
    pub fn parse_reply(&self, answer: &[u8]) -> HarnessReply {
        let parsed = match self.kind() {
            RequestKind::Call | RequestKind::Examples => parse(answer, HarnessReply::Call),
            RequestKind::Describe => parse(answer, HarnessReply::Describe),
            RequestKind::Build => parse(answer, HarnessReply::Build),
            RequestKind::Workflow => parse(answer, HarnessReply::Workflow),
            RequestKind::StubPlugin => parse(answer, HarnessReply::StubPlugin),
            RequestKind::MetricsPlugin => parse(answer, HarnessReply::MetricsPlugin),
            RequestKind::Batch => parse(answer, HarnessReply::Batch),
        };
        parsed.unwrap_or_else(|error| HarnessReply::Malformed { problem: error.to_string() })
    }
}

fn parse<T: DeserializeOwned>(
    answer: &[u8],
    reply: impl FnOnce(T) -> HarnessReply,
) -> Result<HarnessReply, serde_json::Error> {
    serde_json::from_slice(answer).map(reply)
}

impl HarnessReply {
    /// Observations of the call, or of each step of the workflow.
    pub fn observations(&self) -> impl Iterator<Item = &CallObservations> {
        let replies = match self {
            Self::Call(reply) => std::slice::from_ref(reply),
            Self::Workflow(StagedReply::Done(reply)) => &reply.steps,
            _ => &[],
        };
        replies.iter().filter_map(|reply| reply.seen.as_ref())
    }

    /// Reply to a call.
    pub fn as_call(&self) -> Option<&CallReply> {
        match self {
            Self::Call(reply) => Some(reply),
            _ => None,
        }
    }

    /// Whether the answer is a reply to the request.
    pub fn is_valid(&self) -> bool {
        !matches!(self, Self::Malformed { .. })
    }
}

/// Parses each description alone: the annotations of one section cannot hide the others.
fn each_section<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<BTreeMap<String, SectionDescription>, D::Error> {
    let described = BTreeMap::<String, Value>::deserialize(deserializer)?;
    let parse = |(name, value)| {
        let description = serde_json::from_value(value).unwrap_or_else(|error| SectionDescription::Missing {
            missing: format!("failed to parse its description: {error}"),
        });
        (name, description)
    };
    Ok(described.into_iter().map(parse).collect())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::{BatchRequest, CallRequest, CallResult, DescribeRequest};
    use super::*;

    fn call_reply(answer: &str) -> Result<CallReply, String> {
        match HarnessRequest::Call(CallRequest::default()).parse_reply(answer.as_bytes()) {
            HarnessReply::Call(reply) => Ok(reply),
            HarnessReply::Malformed { problem } => Err(problem),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn every_stage_of_a_call_is_parsed_and_written_unchanged() {
        let error = json!({
            "exception": "KeyError", "module": "builtins", "bases": ["KeyError", "LookupError"], "message": "'a'",
            "frames": [["shop.py", 3, "total"]], "raised": false, "own_class": false, "refused": false,
        });
        for answer in [
            json!({"stage": "done", "value": "1", "type": "int", "json": 1, "took_ms": 0.5, "seen": {"files": 2}}),
            json!({"stage": "done", "why": "expected 1, got 2", "type": "examples"}),
            json!({"stage": "call", "error": error, "changed": true, "overlapping": 3, "finished": 4}),
            json!({"stage": "import", "error": error}),
            json!({"stage": "lookup", "why": "there is no f after the import"}),
            json!({"stage": "build", "why": "shop:Cart cannot be made"}),
        ] {
            let reply = call_reply(&answer.to_string()).unwrap();
            let mut written = serde_json::to_value(&reply).unwrap();
            if let CallResult::ExampleDiffers(_) = reply.result {
                written["type"] = "examples".into();
            }
            assert_eq!(written, answer);
        }
    }

    #[test]
    fn what_is_no_reply_is_malformed() {
        for answer in [
            "",
            "null",
            "[]",
            "{",
            "\u{0}",
            r#"{"stage": "finished"}"#,
            r#"{"stage": "done", "took_ms": "long"}"#,
            r#"{"stage": "done", "surprise": 1}"#,
            r#"{"stage": "done", "seen": {"files": -1}}"#,
            r#"{"stage": "call"}"#,
            r#"{"stage": "call", "error": {"exception": "KeyError"}}"#,
            r#"{"stage": "lookup"}"#,
            r#"{"value": "1"}"#,
        ] {
            call_reply(answer).unwrap_err();
        }
        let import = HarnessRequest::Batch(BatchRequest { module: "shop".into(), of: RequestKind::Call });
        assert!(import.parse_reply(br#"{"why_not": null}"#).is_valid());
        assert!(!import.parse_reply(br#"{"why": null}"#).is_valid());
        assert!(!import.parse_reply(b"{}").is_valid(), "a reason that is missing is not the absence of one");
    }

    #[test]
    fn one_unreadable_description_does_not_hide_the_others() {
        let request =
            HarnessRequest::Describe(DescribeRequest { module: "shop".into(), sections: Vec::new() });
        let answer = json!({"stage": "done", "sections": {
            "f": {"binding": "function", "parameters": [], "is_async": false},
            "g": {"binding": 1},
        }});
        let HarnessReply::Describe(reply) = request.parse_reply(answer.to_string().as_bytes()) else {
            panic!("not a description");
        };
        let sections = &reply.done().unwrap().sections;
        assert!(matches!(sections["f"], SectionDescription::Callable { .. }));
        assert!(matches!(sections["g"], SectionDescription::Missing { .. }));
    }
}
