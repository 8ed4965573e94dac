//! `OpenAPI` schemas that utoipa's attributes cannot express, written as JSON.

use serde_json::{Value, json};
use utoipa::openapi::schema::{AnyOfBuilder, ArrayBuilder, Object, ObjectBuilder, OneOfBuilder, SchemaType};
use utoipa::openapi::{RefOr, Schema};

use super::requests::{LONGEST_NAME, MOST_LABELS, MOST_VARIABLES};

/// Pattern of a text without a zero byte, as required for program arguments.
const NO_ZERO_BYTE: &str = r"^[^\x00]*$";

/// Parses a schema. Arrays are built here, because utoipa would deserialize an array as an object without items.
pub(super) fn schema_from_json(written: &Value) -> RefOr<Schema> {
    let schemas =
        |name: &str| written[name].as_array().map(|all| all.iter().map(schema_from_json).collect::<Vec<_>>());
    if written["type"] == "array" {
        let list = ArrayBuilder::new().items(schema_from_json(&written["items"]));
        let least = written["minItems"].as_u64().and_then(|least| usize::try_from(least).ok());
        return list.min_items(least).build().into();
    }
    let description = written["description"].as_str();
    if let Some(all) = schemas("oneOf") {
        let either = all.into_iter().fold(OneOfBuilder::new(), OneOfBuilder::item);
        return Schema::OneOf(either.description(description).build()).into();
    }
    if let Some(all) = schemas("anyOf") {
        let either = all.into_iter().fold(AnyOfBuilder::new(), AnyOfBuilder::item);
        return Schema::AnyOf(either.description(description).build()).into();
    }
    if written.get("type").is_none() {
        let anything = ObjectBuilder::new().schema_type(SchemaType::AnyValue);
        return anything.description(description).build().into();
    }
    let mut rest = written.clone();
    let properties = rest.as_object_mut().and_then(|fields| fields.remove("properties"));
    let mut object: Object = serde_json::from_value(rest).expect("schemas in this crate are valid");
    for (name, property) in properties.iter().filter_map(Value::as_object).flatten() {
        object.properties.insert(name.clone(), schema_from_json(property));
    }
    Schema::Object(object).into()
}

/// Environment variables.
pub(super) fn variables() -> RefOr<Schema> {
    schema_from_json(&json!({
        "type": "object",
        "description": "Environment variables by name.",
        "propertyNames": { "type": "string", "pattern": r"^[^=\x00]+$" },
        "additionalProperties": { "type": "string", "pattern": NO_ZERO_BYTE },
        "maxProperties": MOST_VARIABLES,
    }))
}

/// Labels.
pub(super) fn labels() -> RefOr<Schema> {
    schema_from_json(&json!({
        "type": "object",
        "description": "Labels for filtering sandboxes.",
        "propertyNames": { "type": "string", "minLength": 1, "maxLength": LONGEST_NAME },
        "additionalProperties": { "type": "string", "maxLength": LONGEST_NAME },
        "maxProperties": MOST_LABELS,
    }))
}

/// Labels, or null.
pub(crate) fn labels_or_nothing() -> RefOr<Schema> {
    Schema::OneOf(
        OneOfBuilder::new().item(schema_from_json(&json!({ "type": "null" }))).item(labels()).build(),
    )
    .into()
}

/// Program and arguments.
pub(super) fn command() -> RefOr<Schema> {
    let word = json!({ "type": "string", "pattern": NO_ZERO_BYTE });
    let described = schema_from_json(&json!({ "type": "array", "items": word, "minItems": 1 }));
    let RefOr::T(Schema::Array(mut list)) = described else { return described };
    list.description = Some("Program and arguments.".into());
    list.example = Some(json!(["node", "--version"]));
    RefOr::T(Schema::Array(list))
}

/// Working directory, or null.
pub(super) fn directory() -> RefOr<Schema> {
    schema_from_json(&json!({
        "type": ["string", "null"],
        "description": "Working directory.",
        "pattern": NO_ZERO_BYTE,
        "examples": ["/workspace"],
    }))
}

/// Ports on which programs listen.
pub(super) fn ports() -> RefOr<Schema> {
    let described = schema_from_json(
        &json!({ "type": "array", "items": { "type": "integer", "minimum": 1, "maximum": 65535 } }),
    );
    let RefOr::T(Schema::Array(mut list)) = described else { return described };
    list.description = Some(
        "Ports on which programs inside will listen. Every port is reachable below `/api/sandboxes/{id}/ports/{port}/`; \
         those named here are listed. No port is opened on the host."
            .into(),
    );
    RefOr::T(Schema::Array(list))
}
