//! Comparison of a JSON document with the expectation of a case.
//!
//! An expectation lists what has to match and leaves the rest open:
//!
//! - of an object the listed keys must match;
//! - of an array with objects each listed element must match an element of its own; a key written `"only x"` in front
//!   of the array means that there are no others;
//! - an array of scalars must be equal, so `[]` means an empty array;
//! - a number with a fraction matches to three decimals; `"0.8..1"` matches a number in that range, ends included;
//! - a text that starts or ends with `…` matches any continuation there; `null` matches a missing value.

use serde_json::Value;

/// Lists the differences, one line each.
pub(super) fn differences(expected: &Value, actual: &Value) -> Vec<String> {
    let mut found = Vec::new();
    compare("", expected, actual, &mut found);
    found
}

fn compare(place: &str, expected: &Value, actual: &Value, found: &mut Vec<String>) {
    match (expected, actual) {
        (Value::Object(wanted), Value::Object(there)) => {
            for (key, value) in wanted {
                let (name, is_complete) =
                    key.strip_prefix("only ").map_or((key.as_str(), false), |it| (it, true));
                let value_there = there.get(name).unwrap_or(&Value::Null);
                compare_member(&format!("{place}.{name}"), value, value_there, is_complete, found);
            }
        }
        (Value::Array(wanted), Value::Array(there)) if wanted.iter().any(Value::is_object) => {
            compare_elements(place, wanted, there, found);
        }
        _ if is_match(expected, actual) => {}
        _ => found.push(format!("{place} is {actual}, not {expected}")),
    }
}

fn compare_member(place: &str, expected: &Value, actual: &Value, is_complete: bool, found: &mut Vec<String>) {
    compare(place, expected, actual, found);
    let lengths = (expected.as_array().map(Vec::len), actual.as_array().map(Vec::len));
    if is_complete && lengths.0 < lengths.1 {
        found.push(format!("{place} has other elements too: {}", shortened(actual)));
    }
}

/// Every expected element takes the first element that matches it and is still free.
fn compare_elements(place: &str, expected: &[Value], actual: &[Value], found: &mut Vec<String>) {
    let mut is_taken = vec![false; actual.len()];
    for wanted in expected {
        let matching = (0..actual.len())
            .find(|index| !is_taken[*index] && differences(wanted, &actual[*index]).is_empty());
        match matching {
            Some(index) => is_taken[index] = true,
            None => found.extend(explain(place, wanted, actual)),
        }
    }
}

/// Explains why no element matches: by comparison with the element of the same identity, if there is one.
fn explain(place: &str, wanted: &Value, actual: &[Value]) -> Vec<String> {
    let identity = identity(wanted);
    let meant = actual.iter().find(|element| {
        identity
            .as_ref()
            .is_some_and(|(key, value)| element.get(key).is_some_and(|there| is_match(value, there)))
    });
    match (meant, identity) {
        (Some(element), Some((_, name))) => {
            let mut nested = Vec::new();
            compare(&format!("{place}[{name}]"), wanted, element, &mut nested);
            if nested.is_empty() { vec![format!("{place}[{name}] occurs too few times")] } else { nested }
        }
        _ => vec![format!(
            "{place} has no element like {wanted}: {}",
            shortened(&Value::Array(actual.to_vec()))
        )],
    }
}

fn identity(element: &Value) -> Option<(String, Value)> {
    let keys = ["path", "name", "module", "id", "rule"];
    keys.iter().find_map(|key| Some(((*key).to_owned(), element.get(key)?.clone())))
}

fn is_match(expected: &Value, actual: &Value) -> bool {
    match (expected, actual) {
        (Value::Number(wanted), Value::Number(there)) if wanted.is_f64() => {
            let difference =
                wanted.as_f64().zip(there.as_f64()).map(|(wanted, there)| (wanted - there).abs());
            difference.is_some_and(|difference| difference <= 0.0005)
        }
        (Value::Number(wanted), Value::Number(there)) => wanted.as_f64() == there.as_f64(),
        (Value::String(range), Value::Number(there)) => is_in_range(range, there.as_f64()),
        (Value::String(wanted), Value::String(there)) => is_text_match(wanted, there),
        (Value::Array(wanted), Value::Array(there)) => {
            wanted.len() == there.len() && wanted.iter().zip(there).all(|(left, right)| is_match(left, right))
        }
        _ => expected == actual,
    }
}

fn is_in_range(range: &str, number: Option<f64>) -> bool {
    let bounds =
        range.split_once("..").and_then(|(low, high)| low.parse::<f64>().ok().zip(high.parse::<f64>().ok()));
    bounds.zip(number).is_some_and(|((low, high), number)| (low..=high).contains(&number))
}

fn is_text_match(wanted: &str, there: &str) -> bool {
    match (wanted.strip_prefix('…'), wanted.strip_suffix('…')) {
        (Some(rest), Some(_)) => there.contains(rest.trim_end_matches('…')),
        (Some(end), None) => there.ends_with(end),
        (None, Some(start)) => there.starts_with(start),
        (None, None) => wanted == there,
    }
}

fn shortened(value: &Value) -> String {
    const SHOWN: usize = 1500;
    let text = value.to_string();
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(expected: &Value, actual: &Value, count: usize) {
        let found = differences(expected, actual);
        assert_eq!(found.len(), count, "{expected} against {actual}: {found:?}");
    }

    #[test]
    fn objects_match_by_the_listed_keys() {
        check(&json!({"a": 1}), &json!({"a": 1, "b": 2}), 0);
        check(&json!({"a": 1}), &json!({"a": 2}), 1);
        check(&json!({"a": null}), &json!({}), 0);
    }

    #[test]
    fn elements_match_in_any_place_and_only_once() {
        let there = json!({"list": [{"name": "x", "n": 1}, {"name": "y", "n": 2}]});
        check(&json!({"list": [{"name": "y", "n": 2}]}), &there, 0);
        check(&json!({"only list": [{"name": "y", "n": 2}]}), &there, 1);
        check(&json!({"list": [{"name": "y"}, {"name": "y"}]}), &there, 1);
        check(&json!({"list": []}), &there, 1);
    }

    #[test]
    fn scalars_match_exactly_or_as_a_pattern_says() {
        check(&json!([1, 2]), &json!([1, 2, 3]), 1);
        check(&json!({"x": 0.333}), &json!({"x": 0.333_33}), 0);
        check(&json!({"x": "0.8..1"}), &json!({"x": 0.9}), 0);
        check(&json!({"x": "0.8..1"}), &json!({"x": 0.7}), 1);
        check(&json!({"x": "…b…"}), &json!({"x": "abc"}), 0);
        check(&json!({"x": "b…"}), &json!({"x": "abc"}), 1);
    }
}
