//! `sandbox_settings.yaml`: one key per setting, by its YAML key or its environment variable.

use std::path::Path;

use menace_model::settings::{SettingDeclaration, SettingSource, SettingsLayer, declarations};
use serde_json::{Map, Value};

use super::error::ConfigurationError;

/// Key of a table, not of a setting.
const KEYWORD_PROFILES: &str = "keyword_profiles";

pub(super) struct YamlSettings {
    pub(super) layer: SettingsLayer,
    pub(super) unknown_keys: Vec<String>,
    /// Profiles by words in the paths of modules.
    pub(super) keyword_profiles: Map<String, Value>,
}

/// Reads the file, which may be missing unless `is_required`.
pub(super) fn read(path: &Path, is_required: bool) -> Result<YamlSettings, ConfigurationError> {
    let text = match std::fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound && !is_required => String::new(),
        Err(source) => return Err(ConfigurationError::ReadYaml { path: path.to_owned(), source }),
    };
    if text.trim().is_empty() {
        return Ok(from_entries([]));
    }
    let document: Value = serde_saphyr::from_str(&text).map_err(|source| ConfigurationError::ParseYaml {
        path: path.to_owned(),
        source: Box::new(source),
    })?;
    match document {
        Value::Object(entries) => {
            let profiles = entries.get(KEYWORD_PROFILES);
            if profiles.is_some_and(|profiles| !profiles.is_object() && !profiles.is_null()) {
                return Err(ConfigurationError::KeywordProfiles { path: path.to_owned() });
            }
            Ok(from_entries(entries))
        }
        Value::Null => Ok(from_entries([])),
        _ => Err(ConfigurationError::NotAMapping { path: path.to_owned() }),
    }
}

fn from_entries(entries: impl IntoIterator<Item = (String, Value)>) -> YamlSettings {
    let mut values = Vec::new();
    let mut unknown_keys = Vec::new();
    let mut keyword_profiles = Map::new();
    for (key, value) in entries {
        match declarations().find(|(_, row)| row.key == key || row.env == key) {
            Some((_, declaration)) => values.push((declaration.env, as_text(&value, declaration))),
            None if key == KEYWORD_PROFILES => {
                keyword_profiles = value.as_object().cloned().unwrap_or_default();
            }
            None => unknown_keys.push(key),
        }
    }
    YamlSettings { layer: SettingsLayer::new(SettingSource::Yaml, values), unknown_keys, keyword_profiles }
}

/// The value as a user would write it in a variable: lists joined, anything deeper as JSON.
fn as_text(value: &Value, declaration: &SettingDeclaration) -> String {
    match value {
        Value::Null => String::new(),
        Value::Bool(switch) => u8::from(*switch).to_string(),
        Value::String(text) => text.clone(),
        Value::Array(items) if items.iter().all(|item| !item.is_object() && !item.is_array()) => {
            let items: Vec<String> = items.iter().map(|item| as_text(item, declaration)).collect();
            items.join(declaration.list_separator)
        }
        other => other.to_string(),
    }
}
