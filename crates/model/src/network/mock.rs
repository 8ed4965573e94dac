//! Mocks: rules for answering requests in place of the real upstream.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::duration_text::optional_duration;

/// Mock rules; the first rule that matches a request answers it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct MockSpec {
    /// Rules in the order in which they are tried.
    pub rules: Vec<MockRule>,
    /// Handling of requests that no rule matches.
    pub fallback: MockFallback,
    /// Fields added to plausible responses, such as those that the code reads from them.
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub fields: Map<String, Value>,
    /// Share of the JSON fields in responses that are renamed, dropped, added or given another type.
    #[serde(skip_serializing_if = "is_zero")]
    pub drift: f64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "signature required by serde")]
fn is_zero(share: &f64) -> bool {
    *share == 0.0
}

/// Handling of requests that no rule matches.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MockFallback {
    /// A host that no rule names is refused, and a request that no rule matches is answered with 404.
    #[default]
    Refuse,
    /// Every request gets a plausible response.
    Plausible,
}

/// A request pattern and its response. A field that is not set matches every request.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct MockRule {
    /// Host, with `*` for any part.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// Port.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub port: Option<u16>,
    /// Method.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub method: Option<String>,
    /// Path without query, with `*` for any text without a slash and `**` for any text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// Required query parameters.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub query: BTreeMap<String, String>,
    /// Required headers, with `*` for any part of a value.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, String>,
    /// Text that the body must contain.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub body: Option<String>,
    /// The response.
    pub respond: MockResponse,
}

/// A mock response.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct MockResponse {
    /// HTTP status; `None` for 200.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// Headers, in addition to content type and length.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, String>,
    /// Body as text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub body: Option<String>,
    /// Body as JSON.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub json: Option<Value>,
    /// Host file with the body, read when the rules are loaded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<PathBuf>,
    /// Delay before the response starts.
    #[serde(with = "optional_duration", skip_serializing_if = "Option::is_none")]
    pub delay: Option<Duration>,
    /// Fault injected into the response.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fault: Option<MockFault>,
    /// Inject the fault into every n-th matching request; without this and `fail_on`, into each.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fail_every: Option<u64>,
    /// Inject the fault into the matching requests with these numbers, counted from 1.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub fail_on: Vec<u64>,
}

/// A fault of a mock response.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MockFault {
    /// The connection is reset before the response.
    Reset,
    /// The response never starts.
    Stall,
    /// The connection ends in the middle of the body.
    Truncate,
    /// Bytes of the body are changed.
    Corrupt,
    /// 503 Service Unavailable.
    Unavailable,
    /// 401 Unauthorized.
    Unauthorized,
    /// 403 Forbidden.
    Forbidden,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_field_in_a_rule_is_an_error() {
        serde_json::from_str::<MockSpec>(r#"{"rules": [{"hots": "a"}]}"#).unwrap_err();
        let rule: MockRule =
            serde_json::from_str(r#"{"respond": {"delay": "200ms", "fault": "reset", "fail_every": 3}}"#)
                .unwrap();
        assert_eq!(rule.respond.delay, Some(Duration::from_millis(200)));
        assert_eq!((rule.respond.fault, rule.respond.fail_every), (Some(MockFault::Reset), Some(3)));
    }
}
