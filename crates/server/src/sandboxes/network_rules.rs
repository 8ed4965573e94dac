//! Network policies in requests: the model's `NetworkSpec` without the options reserved to the owner of the host, and its
//! `OpenAPI` schema. The model crate does not depend on `OpenAPI`, so the schema is written here by hand.

use menace_model::network::NetworkSpec;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Value, json};
use utoipa::openapi::{RefOr, Schema};
use utoipa::{PartialSchema, ToSchema};

use super::schemas::schema_from_json;

/// Allowed destinations, mocks, and the simulated link.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(transparent)]
pub struct SandboxNetworkRules(pub Box<NetworkSpec>);

impl<'de> Deserialize<'de> for SandboxNetworkRules {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let spec = Box::<NetworkSpec>::deserialize(deserializer)?;
        let mut rules = spec.mocks.iter().flat_map(|mocks| &mocks.rules);
        // Permission to create sandboxes does not include reading files of the host.
        match rules.find_map(|rule| rule.respond.file.as_ref()) {
            Some(file) => Err(serde::de::Error::custom(format!(
                "respond: a response cannot come from a file of the host ({}); send it as body or json",
                file.display()
            ))),
            None => Ok(Self(spec)),
        }
    }
}

impl ToSchema for SandboxNetworkRules {}

impl PartialSchema for SandboxNetworkRules {
    fn schema() -> RefOr<Schema> {
        let schema = object(&json!({
            "allow": list(&destination()),
            "mocks": nullable(&mocks()),
            "shape": shape(),
            "shaper": { "type": "string", "enum": ["menace", "netem"] },
            "seed": whole(u64::MAX),
            "resolver": {
                "type": ["string", "null"],
                "pattern": format!("^{IPV4}:{PORT}$"),
                "description": "DNS server: an address with its port.",
            },
        }));
        schema_from_json(&schema)
    }
}

/// Patterns of an IPv4 address, a host name, and a port.
const IPV4: &str =
    r"((25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])\.){3}(25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])";
const NAME: &str = r"(\*\.)?[a-z_][a-z0-9_-]{0,62}(\.[a-z_][a-z0-9_-]{0,62}){0,3}";
const PORT: &str = "([1-9][0-9]{0,3}|[1-5][0-9]{4})";

/// Schema of an object with these optional fields and no others.
fn object(properties: &Value) -> Value {
    json!({ "type": "object", "properties": properties, "additionalProperties": false })
}

fn list(items: &Value) -> Value {
    json!({ "type": "array", "items": items })
}

fn nullable(schema: &Value) -> Value {
    json!({ "oneOf": [{ "type": "null" }, schema] })
}

fn whole(most: u64) -> Value {
    json!({ "type": "integer", "minimum": 0, "maximum": most })
}

fn nullable_text() -> Value {
    json!({ "type": ["string", "null"] })
}

fn texts_by_name() -> Value {
    json!({ "type": "object", "additionalProperties": { "type": "string" } })
}

fn hosts() -> String {
    format!(r"(\*|{NAME}|{IPV4}(/([12]?[0-9]|3[0-2]))?)")
}

fn destination() -> Value {
    let pattern = format!("^{}(:{PORT})?$", hosts());
    json!({ "anyOf": [{ "type": "string", "pattern": pattern }, { "type": "string", "format": "ipv6" }],
        "description": "Hosts and a port, such as api.example.com:443, *.example.com, 10.0.0.0/8 or [2001:db8::1]:80." })
}

/// Schema of durations as the model parses them; the backend rejects longer ones.
fn duration() -> Value {
    let text = json!({ "type": "string", "pattern": r"^[0-9]{1,6}(\.[0-9]{1,6})?(us|ms|s|m|h)?$" });
    json!({ "oneOf": [{ "type": "number", "minimum": 0, "maximum": 3600 }, text],
        "description": "Such as 200ms or 1.5s; a number is seconds." })
}

fn link() -> Value {
    let share = json!({ "type": "number", "description": "A share from 0 to 1." });
    object(&json!({
        "delay": duration(),
        "jitter": duration(),
        "distribution": { "type": "string", "enum": ["uniform", "normal", "exponential"] },
        "loss": share,
        "duplicate": share,
        "reorder": share,
        "rate": nullable(&whole(u64::MAX)),
    }))
}

fn shape() -> Value {
    let mut window = object(&json!({ "from": duration(), "until": duration() }));
    window["required"] = json!(["from", "until"]);
    let host = json!({ "type": "string", "pattern": format!("^{}$", hosts()) });
    object(&json!({ "out": link(), "in": link(), "partition": list(&host), "window": nullable(&window) }))
}

fn mocks() -> Value {
    let rule = object(&json!({
        "host": nullable_text(),
        "port": nullable(&whole(u16::MAX.into())),
        "method": nullable_text(),
        "path": nullable_text(),
        "query": texts_by_name(),
        "headers": texts_by_name(),
        "body": nullable_text(),
        "respond": answer(),
    }));
    object(&json!({
        "rules": list(&rule),
        "fallback": { "type": "string", "enum": ["refuse", "plausible"] },
        "fields": { "type": "object" },
        "drift": { "type": "number" },
    }))
}

fn answer() -> Value {
    let faults = ["reset", "stall", "truncate", "corrupt", "unavailable", "unauthorized", "forbidden"];
    object(&json!({
        "status": nullable(&whole(u16::MAX.into())),
        "headers": texts_by_name(),
        "body": nullable_text(),
        "json": { "description": "Body as JSON; any value." },
        "file": { "type": "null", "description": "Not allowed: files of the host cannot be sent." },
        "delay": nullable(&duration()),
        "fault": nullable(&json!({ "type": "string", "enum": faults })),
        "fail_every": nullable(&whole(u64::MAX)),
        "fail_on": list(&whole(u64::MAX)),
    }))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn documented_rules_are_accepted() {
        let all = json!({
            "allow": ["api.example.com:443", "*.example.com", "*", "10.0.0.0/8:80", "2001:db8::1"],
            "mocks": { "rules": [{ "host": "a", "respond": { "json": 1, "delay": "200ms", "fault": "reset" } }] },
            "shape": { "out": { "delay": 0.5, "loss": 0.1 }, "window": { "from": 0, "until": "2s" } },
            "shaper": "menace", "seed": u64::MAX, "resolver": "127.0.0.1:53",
        });
        let rules: SandboxNetworkRules = serde_json::from_value(all).unwrap();
        assert_eq!(rules.0.allow.len(), 5);
    }

    #[test]
    fn files_of_the_host_are_rejected() {
        let rules = json!({ "mocks": { "rules": [{ "respond": { "file": "/etc/shadow" } }] } });
        let error = serde_json::from_value::<SandboxNetworkRules>(rules).unwrap_err().to_string();
        assert!(error.contains("cannot come from a file of the host"), "{error}");
    }

    #[test]
    fn every_field_of_the_model_is_described() {
        let schema = serde_json::to_value(SandboxNetworkRules::schema()).unwrap();
        let model = serde_json::to_value(NetworkSpec {
            resolver: Some(([127, 0, 0, 1], 53).into()),
            ..NetworkSpec::default()
        });
        for name in model.unwrap().as_object().unwrap().keys() {
            assert!(schema["properties"][name].is_object(), "{name} is not described");
        }
        assert_eq!(schema["additionalProperties"], false);
        let rules = &schema["properties"]["mocks"]["oneOf"][1]["properties"]["rules"];
        assert_eq!(rules["items"]["additionalProperties"], false, "{rules}");
    }
}
