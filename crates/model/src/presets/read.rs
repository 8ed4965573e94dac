//! Presets from JSON: one preset, a list of presets, or profiles with severities.

use serde_json::{Map, Value};

use super::{Preset, PresetError};

/// Parses presets.
pub fn read(text: &str) -> Result<Vec<Preset>, PresetError> {
    let value: Value = serde_json::from_str(text).map_err(|error| PresetError::Json(error.to_string()))?;
    match value {
        Value::Array(items) => items.into_iter().map(of_item).collect(),
        Value::Object(object) if is_profiles(&object) => of_profiles(object),
        Value::Object(object) => Ok(vec![Preset::new(object)?]),
        other => Err(PresetError::Form(kind(&other))),
    }
}

fn of_item(item: Value) -> Result<Preset, PresetError> {
    match item {
        Value::Object(object) => Preset::new(object),
        other => Err(PresetError::Form(kind(&other))),
    }
}

/// `{"hostile_input": {"low": {…}, "high": {…}}}`, as `generate_canonical_presets()` returns it.
fn is_profiles(object: &Map<String, Value>) -> bool {
    let has_severities = |value: &Value| {
        value.as_object().is_some_and(|levels| {
            !levels.is_empty()
                && levels
                    .iter()
                    .all(|(level, preset)| matches!(level.as_str(), "low" | "high") && preset.is_object())
        })
    };
    !object.is_empty() && object.values().all(has_severities)
}

fn of_profiles(profiles: Map<String, Value>) -> Result<Vec<Preset>, PresetError> {
    let mut presets = Vec::new();
    for (profile, levels) in profiles {
        let Value::Object(levels) = levels else { continue };
        for (level, preset) in levels {
            let Value::Object(mut values) = preset else { continue };
            values.entry("SCENARIO_NAME").or_insert_with(|| Value::from(profile.clone()));
            values.entry("SEVERITY").or_insert_with(|| Value::from(level));
            presets.push(Preset::new(values)?);
        }
    }
    Ok(presets)
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "a dictionary",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_three_forms_are_read() {
        assert_eq!(read(r#"{"CPU_LIMIT": "1"}"#).unwrap().len(), 1);
        assert_eq!(read(r#"[{"CPU_LIMIT": "1"}, {}]"#).unwrap().len(), 2);
        let profiles = read(r#"{"hostile_input": {"low": {"THREAT_INTENSITY": 30}, "high": {}}}"#).unwrap();
        assert_eq!(profiles.iter().map(Preset::name).collect::<Vec<_>>(), ["hostile_input"; 2]);
        assert_eq!(profiles[0].values()["SEVERITY"], "low");
    }

    #[test]
    fn other_json_is_an_error() {
        for text in
            ["", "3", "[3]", r#"{"NO_SUCH_KEY": 1}"#, r#"{"hostile_input": {"low": {"NO_SUCH_KEY": 1}}}"#]
        {
            read(text).unwrap_err();
        }
    }
}
