//! API drift: changes fields of JSON responses.

use serde_json::{Map, Value, json};

/// Changes a share of the fields of objects, at any depth, spread evenly: in turn a field is renamed, left out, given
/// another type, or gets an additional one beside it. The seed decides where to start. If the fields that the code reads
/// are known, only those are changed. At least one is changed if there is any and the share is above 0. Returns the number
/// of changed fields.
pub(super) fn drift(value: &mut Value, share: f64, seed: u64, read: &Map<String, Value>) -> u64 {
    let fields = count(value, read);
    if fields == 0 || share <= 0.0 {
        return 0;
    }
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "it is a share of a small number"
    )]
    let wanted = ((fields as f64 * share).round() as u64).clamp(1, fields);
    let mut drifting =
        DriftWalker { read, seen: 0, changed: 0, offset: seed % fields, turn: seed / fields, fields, wanted };
    drifting.walk(value);
    drifting.changed
}

fn count(value: &Value, read: &Map<String, Value>) -> u64 {
    match value {
        Value::Object(fields) => {
            fields.iter().map(|(name, value)| u64::from(is_read(name, read)) + count(value, read)).sum()
        }
        Value::Array(values) => values.iter().map(|value| count(value, read)).sum(),
        _ => 0,
    }
}

fn is_read(name: &str, read: &Map<String, Value>) -> bool {
    read.is_empty() || read.contains_key(name)
}

struct DriftWalker<'a> {
    read: &'a Map<String, Value>,
    seen: u64,
    changed: u64,
    /// Start of the spread; `turn` is the first kind of change.
    offset: u64,
    turn: u64,
    fields: u64,
    wanted: u64,
}

impl DriftWalker<'_> {
    /// Whether the next field is to be changed; such fields are spread evenly.
    fn is_next(&mut self) -> bool {
        let at = |seen: u64| (seen + self.offset) * self.wanted / self.fields;
        let is_next = at(self.seen + 1) > at(self.seen);
        self.seen += 1;
        is_next
    }

    fn walk(&mut self, value: &mut Value) {
        match value {
            Value::Object(fields) => {
                *fields = std::mem::take(fields)
                    .into_iter()
                    .fold(Map::new(), |result, field| self.field(result, field));
            }
            Value::Array(values) => values.iter_mut().for_each(|value| self.walk(value)),
            _ => {}
        }
    }

    fn field(
        &mut self,
        mut result: Map<String, Value>,
        (name, mut value): (String, Value),
    ) -> Map<String, Value> {
        let is_chosen = is_read(&name, self.read) && self.is_next();
        self.walk(&mut value);
        if !is_chosen {
            result.insert(name, value);
            return result;
        }
        self.changed += 1;
        match self.changed.wrapping_add(self.turn) % 4 {
            1 => drop(result.insert(format!("{name}_v2"), value)),
            2 => {}
            3 => drop(result.insert(name, with_another_type(&value))),
            _ => {
                result.insert(format!("{name}_extra"), json!(null));
                result.insert(name, value);
            }
        }
        result
    }
}

fn with_another_type(value: &Value) -> Value {
    match value {
        Value::Null => json!(0),
        Value::Bool(value) => json!(value.to_string()),
        Value::Number(value) => json!(value.to_string()),
        Value::String(value) => json!([value]),
        Value::Array(values) => json!({"items": values}),
        Value::Object(_) => Value::Null,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_configured_share_of_fields_is_changed() {
        let whole =
            json!({"a": 1, "b": "x", "c": [{"d": true, "e": null}], "f": {"g": 1.5}, "h": [], "i": 0});
        for (share, expected) in [(0.0, 0), (0.01, 1), (0.25, 2), (0.5, 5), (1.0, 9)] {
            let mut value = whole.clone();
            assert_eq!(drift(&mut value, share, 0, &Map::new()), expected, "{share}");
            assert_eq!(value == whole, expected == 0, "{share}");
        }
        let first: std::collections::HashSet<_> = (0..36)
            .map(|seed| {
                let mut value = whole.clone();
                assert_eq!(drift(&mut value, 0.12, seed, &Map::new()), 1, "{seed}");
                value.to_string()
            })
            .collect();
        assert_eq!(first.len(), 36, "every field has every kind of change");
        assert_eq!(drift(&mut json!([1, 2]), 1.0, 0, &Map::new()), 0);
        let read = Map::from_iter([("g".to_owned(), json!(1))]);
        let mut value = whole.clone();
        assert_eq!(drift(&mut value, 0.1, 7, &read), 1);
        assert_ne!(value["f"], whole["f"]);
    }
}
