//! Validation and matching of mock rules.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use hyper::Method;
use hyper::body::Bytes;
use hyper::header::{HeaderName, HeaderValue};
use hyper::http::request::Parts;
use menace_model::network::{MockFault, MockRule, MockSpec};
use menace_model::{ErrorClass, ErrorDetails};

use menace_model::pattern::{matches_path_pattern, matches_pattern};

use super::response::content;

/// Largest file that a mock may serve.
const LARGEST_FILE: u64 = 64 << 20;

/// Invalid mock rule or setting.
#[derive(Debug)]
pub struct MockError {
    /// Number of the rule, from 0; `None` if the problem is in no rule.
    pub rule: Option<usize>,
    /// Description of the problem.
    pub problem: String,
}

impl std::fmt::Display for MockError {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.rule {
            Some(rule) => write!(formatter, "rule {}: {}", rule + 1, self.problem),
            None => formatter.write_str(&self.problem),
        }
    }
}

impl std::error::Error for MockError {}

impl ErrorDetails for MockError {
    fn class(&self) -> ErrorClass {
        ErrorClass::Usage
    }
}

/// Validates rules. Relative paths of files are resolved against this directory.
pub fn prepare(mut mocks: MockSpec, directory: &Path) -> Result<MockSpec, MockError> {
    if !(0.0..=1.0).contains(&mocks.drift) {
        return Err(MockError { rule: None, problem: "drift: expected a share from 0 to 1".into() });
    }
    for (number, rule) in mocks.rules.iter_mut().enumerate() {
        check(rule).map_err(|problem| MockError { rule: Some(number), problem })?;
        if let Some(file) = &mut rule.respond.file {
            *file = checked_file(&directory.join(&*file))
                .map_err(|problem| MockError { rule: Some(number), problem })?;
        }
    }
    Ok(mocks)
}

fn check(rule: &MockRule) -> Result<(), String> {
    let answer = &rule.respond;
    if let Some(method) = &rule.method {
        Method::from_bytes(method.as_bytes()).map_err(|_| format!("invalid method '{method}'"))?;
    }
    if let Some(status) = answer.status.filter(|status| !(200..=599).contains(status)) {
        return Err(format!("invalid status {status}: expected 200 to 599"));
    }
    if let Some(path) = rule.path.as_ref().filter(|path| !path.starts_with(['/', '*'])) {
        return Err(format!("path '{path}' does not start with / or *"));
    }
    for (name, value) in rule.headers.iter().chain(&answer.headers) {
        HeaderName::try_from(name).map_err(|_| format!("invalid header name '{name}'"))?;
        HeaderValue::try_from(value).map_err(|_| format!("invalid header value '{value}'"))?;
    }
    let bodies = [answer.body.is_some(), answer.json.is_some(), answer.file.is_some()];
    if bodies.iter().filter(|is_there| **is_there).count() > 1 {
        return Err("a response may have only one of body, json and file".into());
    }
    if answer.fail_every == Some(0) || answer.fail_on.contains(&0) {
        return Err("requests are counted from 1".into());
    }
    Ok(())
}

fn checked_file(path: &Path) -> Result<PathBuf, String> {
    let found = path.canonicalize().map_err(|error| format!("{}: {error}", path.display()))?;
    let status = found.metadata().map_err(|error| format!("{}: {error}", path.display()))?;
    if !status.is_file() || status.len() > LARGEST_FILE {
        return Err(format!("{}: expected a file of at most {} MiB", path.display(), LARGEST_FILE >> 20));
    }
    Ok(found)
}

/// Validated rules with their request counts.
#[derive(Debug)]
pub(super) struct ValidatedMockRules {
    pub(super) mocks: MockSpec,
    /// Seed of the drift.
    pub(super) chance: u64,
    /// Body and content type of each rule, created once and shared by all responses.
    bodies: Vec<Result<Option<(&'static str, Bytes)>, String>>,
    /// Number of requests that each rule has matched.
    counts: Vec<AtomicU64>,
}

/// Rule that matches a request.
#[derive(Debug, Clone, Copy)]
pub(super) struct MatchedMockRule<'a> {
    pub(super) number: usize,
    pub(super) rule: &'a MockRule,
    pub(super) body: &'a Result<Option<(&'static str, Bytes)>, String>,
    pub(super) fault: Option<MockFault>,
}

impl ValidatedMockRules {
    pub(super) fn new(mocks: MockSpec, chance: u64) -> Self {
        let counts = mocks.rules.iter().map(|_| AtomicU64::new(0)).collect();
        let bodies = mocks.rules.iter().map(|rule| content(&rule.respond)).collect();
        Self { mocks, chance, bodies, counts }
    }

    /// Finds the first rule that matches.
    pub(super) fn find(
        &self,
        host: &str,
        port: u16,
        request: &Parts,
        body: &[u8],
    ) -> Option<MatchedMockRule<'_>> {
        let is_match = |rule: &MockRule| {
            super::fits_host(rule, host)
                && rule.port.is_none_or(|expected| expected == port)
                && matches_request(rule, request, body)
        };
        let number = self.mocks.rules.iter().position(is_match)?;
        let (rule, count) = (self.mocks.rules.get(number)?, self.counts.get(number)?);
        let body = self.bodies.get(number)?;
        let request = count.fetch_add(1, Ordering::AcqRel) + 1;
        Some(MatchedMockRule { number, rule, body, fault: fault(rule, request) })
    }
}

fn matches_request(rule: &MockRule, request: &Parts, body: &[u8]) -> bool {
    let has_header = |name: &str, pattern: &str| {
        request
            .headers
            .get_all(name)
            .iter()
            .any(|value| value.to_str().is_ok_and(|value| matches_pattern(pattern, value)))
    };
    let query = request.uri.query().unwrap_or_default();
    let has_query = |name: &str, value: &str| {
        pairs(query)
            .any(|(other_name, other_value)| other_name == name && matches_pattern(value, &other_value))
    };
    rule.method.as_ref().is_none_or(|method| request.method.as_str().eq_ignore_ascii_case(method))
        && rule.path.as_ref().is_none_or(|path| matches_path_pattern(path, request.uri.path()))
        && rule.query.iter().all(|(name, value)| has_query(name, value))
        && rule.headers.iter().all(|(name, value)| has_header(name, value))
        && rule.body.as_ref().is_none_or(|part| contains(body, part.as_bytes()))
}

fn contains(body: &[u8], part: &[u8]) -> bool {
    part.is_empty() || body.windows(part.len()).any(|window| window == part)
}

/// Decoded names and values of a query string.
fn pairs(query: &str) -> impl Iterator<Item = (String, String)> + '_ {
    query.split('&').filter(|pair| !pair.is_empty()).map(|pair| {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        (percent_decoded(name), percent_decoded(value))
    })
}

fn percent_decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, after @ ..] = rest {
        let hexadecimal = after.get(..2).and_then(|digits| std::str::from_utf8(digits).ok());
        match (first, hexadecimal.and_then(|digits| u8::from_str_radix(digits, 16).ok())) {
            (b'%', Some(byte)) => {
                bytes.push(byte);
                rest = after.get(2..).unwrap_or(&[]);
                continue;
            }
            (b'+', _) => bytes.push(b' '),
            (byte, _) => bytes.push(*byte),
        }
        rest = after;
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Fault to inject into the request of a rule with this number, if any.
fn fault(rule: &MockRule, request: u64) -> Option<MockFault> {
    let answer = &rule.respond;
    let is_chosen = match answer.fail_every {
        Some(every) => request.is_multiple_of(every),
        None => answer.fail_on.is_empty() && answer.fault.is_some(),
    };
    (is_chosen || answer.fail_on.contains(&request)).then(|| answer.fault.unwrap_or(MockFault::Unavailable))
}

#[cfg(test)]
mod tests {
    use hyper::Request;
    use serde_json::json;

    use super::*;

    fn rules(rules: &serde_json::Value) -> ValidatedMockRules {
        ValidatedMockRules::new(serde_json::from_value(json!({"rules": rules})).unwrap(), 0)
    }

    fn parts(method: &str, uri: &str) -> Parts {
        Request::builder()
            .method(method)
            .uri(uri)
            .header("authorization", "Bearer abc")
            .body(())
            .unwrap()
            .into_parts()
            .0
    }

    fn found(rules: &ValidatedMockRules, method: &str, uri: &str) -> Option<usize> {
        rules.find("api.example.com", 443, &parts(method, uri), b"{\"a\": 1}").map(|fitting| fitting.number)
    }

    #[test]
    fn the_first_rule_that_matches_in_every_field_is_found() {
        let rules = rules(&json!([
            {"host": "other.example.com"},
            {"port": 80},
            {"method": "post"},
            {"path": "/v1/users/*", "query": {"page": "a b"}},
            {"path": "/v1/users/*", "headers": {"Authorization": "Bearer x*"}},
            {"path": "/v1/users/*", "body": "missing"},
            {"host": "*.example.com", "port": 443, "path": "/v1/users/*", "headers": {"Authorization": "Bearer *"}, "body": "\"a\": 1"},
        ]));
        assert_eq!(found(&rules, "GET", "/v1/users/7"), Some(6));
        assert_eq!(found(&rules, "POST", "/"), Some(2));
        assert_eq!(found(&rules, "GET", "/v1/users/7?page=a%20b"), Some(3));
        assert_eq!(found(&rules, "GET", "/v1/users/7?page=a+b&c"), Some(3));
        assert_eq!(found(&rules, "GET", "/v2"), None);
    }

    #[test]
    fn faults_follow_fail_every_and_fail_on() {
        let pattern = |answer: serde_json::Value| {
            let rules = rules(&json!([{"respond": answer}]));
            (0..6)
                .map(|_| rules.find("a", 1, &parts("GET", "/"), b"").unwrap().fault.is_some())
                .map(u8::from)
                .collect::<Vec<_>>()
        };
        assert_eq!(pattern(json!({})), [0; 6]);
        assert_eq!(pattern(json!({"fault": "reset"})), [1; 6]);
        assert_eq!(pattern(json!({"fail_every": 3})), [0, 0, 1, 0, 0, 1]);
        assert_eq!(pattern(json!({"fail_on": [1, 4], "fault": "stall"})), [1, 0, 0, 1, 0, 0]);
    }

    #[test]
    fn invalid_rules_are_rejected_with_their_number() {
        for (rule, problem) in [
            (json!({"method": "G T"}), "invalid method"),
            (json!({"path": "v1"}), "does not start"),
            (json!({"respond": {"status": 99}}), "invalid status"),
            (json!({"respond": {"headers": {"a b": "c"}}}), "invalid header name"),
            (json!({"respond": {"body": "a", "json": 1}}), "one of body"),
            (json!({"respond": {"file": "missing.json"}}), "missing.json"),
            (json!({"respond": {"fail_every": 0}}), "from 1"),
        ] {
            let mocks = serde_json::from_value(json!({"rules": [{}, rule]})).unwrap();
            let error = prepare(mocks, Path::new("/nonexistent")).unwrap_err().to_string();
            assert!(error.contains("rule 2") && error.contains(problem), "{error}");
        }
    }
}
