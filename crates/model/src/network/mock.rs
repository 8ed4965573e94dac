//! Who answers instead of the world.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::text::optional_duration;

/// Rules, of which the first that fits answers.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Mocks {
    /// In their order.
    pub rules: Vec<MockRule>,
    /// Who answers what no rule fits.
    pub fallback: Fallback,
    /// What plausible answers have beside the usual, such as fields that the code reads from them.
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub fields: Map<String, Value>,
    /// The share of the fields of JSON in answers that are renamed, left out, added or of another type.
    #[serde(skip_serializing_if = "is_zero")]
    pub drift: f64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
fn is_zero(share: &f64) -> bool {
    *share == 0.0
}

/// Who answers what no rule fits.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Fallback {
    /// Nobody: a host that no rule names is refused, and a request that no rule fits is answered with 404.
    #[default]
    Refuse,
    /// An upstream that has a plausible answer for everything.
    Plausible,
}

/// A request and its answer. What is not said fits everything.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct MockRule {
    /// The host, with `*` for any part.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// The port.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub port: Option<u16>,
    /// The method.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub method: Option<String>,
    /// The path without its query, with `*` for a part between slashes and `**` for any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// Parts of the query that have to be there.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub query: BTreeMap<String, String>,
    /// Headers that have to be there, with `*` for any part of their value.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, String>,
    /// What the body has to contain.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub body: Option<String>,
    /// The answer.
    pub respond: Answer,
}

/// An answer.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Answer {
    /// Its status; 200 without this.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// Its headers, beside the type and length of its body.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, String>,
    /// Its body as text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub body: Option<String>,
    /// Its body as JSON.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub json: Option<Value>,
    /// Its body from a file of the host, read when the rules are.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<PathBuf>,
    /// How long it takes until it begins.
    #[serde(with = "optional_duration", skip_serializing_if = "Option::is_none")]
    pub delay: Option<Duration>,
    /// What goes wrong.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fault: Option<MockFault>,
    /// It goes wrong with every so-manieth request that the rule fits; without this and `fail_on` with each.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fail_every: Option<u64>,
    /// It goes wrong with the requests of these numbers, from 1, of those that the rule fits.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub fail_on: Vec<u64>,
}

/// What can go wrong with an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MockFault {
    /// The connection is reset before the answer.
    Reset,
    /// The answer never begins.
    Stall,
    /// The connection ends in the middle of the body.
    Truncate,
    /// Bytes of the body are not those that were sent.
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
    fn an_unknown_word_in_a_rule_is_an_error() {
        serde_json::from_str::<Mocks>(r#"{"rules": [{"hots": "a"}]}"#).unwrap_err();
        let rule: MockRule =
            serde_json::from_str(r#"{"respond": {"delay": "200ms", "fault": "reset", "fail_every": 3}}"#)
                .unwrap();
        assert_eq!(rule.respond.delay, Some(Duration::from_millis(200)));
        assert_eq!((rule.respond.fault, rule.respond.fail_every), (Some(MockFault::Reset), Some(3)));
    }
}
