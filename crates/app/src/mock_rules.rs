//! Files of mock rules.

use std::path::{Path, PathBuf};

use crate::RequestError;
use menace_model::network::MockSpec;
use serde_json::Value;

/// Reads mock rules as YAML or JSON: a list of rules, or a dictionary with `rules` and other keys.
pub fn read_mocks(path: &Path) -> Result<MockSpec, RequestError> {
    let invalid = |problem: String| RequestError::MockRules { path: path.to_owned(), problem };
    let text = std::fs::read_to_string(path).map_err(|error| invalid(error.to_string()))?;
    let mocks = parse_mocks(&text).map_err(invalid)?;
    let directory = path.parent().map_or_else(PathBuf::new, Path::to_path_buf);
    menace_netstack::prepare(mocks, &directory).map_err(|error| invalid(error.to_string()))
}

/// Parses every rule separately, so that an error names the rule.
fn parse_mocks(text: &str) -> Result<MockSpec, String> {
    let mut value: Value = serde_saphyr::from_str(text).map_err(|error| error.to_string())?;
    let rules = match &mut value {
        Value::Array(rules) => std::mem::take(rules),
        Value::Object(all) => match all.remove("rules") {
            Some(Value::Array(rules)) => rules,
            None => Vec::new(),
            Some(_) => return Err("`rules` is not a list".into()),
        },
        _ => return Err("expected a list of rules, or a dictionary with `rules`".into()),
    };
    let rest = if value.is_array() { Value::Object(serde_json::Map::new()) } else { value };
    let mut mocks: MockSpec = serde_json::from_value(rest).map_err(|error| error.to_string())?;
    for (number, rule) in rules.into_iter().enumerate() {
        let read = serde_json::from_value(rule).map_err(|error| format!("rule {}: {error}", number + 1));
        mocks.rules.push(read?);
    }
    Ok(mocks)
}
