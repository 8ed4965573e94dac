//! Plausible responses to requests that match no rule.

use hyper::header::ACCEPT;
use hyper::http::request::Parts;
use serde_json::{Map, Value, json};

/// Body of a plausible response, and its content type.
pub(super) fn plausible(
    request: &Parts,
    body: &[u8],
    fields: &Map<String, Value>,
) -> (&'static str, Vec<u8>) {
    let accepted = request.headers.get(ACCEPT).and_then(|value| value.to_str().ok()).unwrap_or("*/*");
    // Browsers and similar clients put HTML first; a client that accepts anything gets JSON, which most APIs use.
    if accepted.starts_with("text/html") {
        return (
            "text/html; charset=utf-8",
            b"<!doctype html><title>Example</title><p>Example</p>\n".to_vec(),
        );
    }
    if accepted.starts_with("text/plain") {
        return ("text/plain; charset=utf-8", b"ok\n".to_vec());
    }
    let mut answer = default_fields(request);
    // The response to a creation usually contains the created object.
    if let Ok(Value::Object(sent)) = serde_json::from_slice(body) {
        answer.extend(sent);
    }
    answer.extend(fields.clone());
    ("application/json", Value::Object(answer).to_string().into_bytes())
}

fn default_fields(request: &Parts) -> Map<String, Value> {
    let number = request.uri.path().rsplit('/').find_map(|part| part.parse::<u64>().ok()).unwrap_or(1);
    let item = json!({"id": number, "name": "example", "status": "ok"});
    let mut answer = Map::new();
    answer.insert("id".into(), json!(number));
    answer.insert("name".into(), json!("example"));
    answer.insert("status".into(), json!("ok"));
    answer.insert("data".into(), item.clone());
    answer.insert("items".into(), json!([item]));
    answer.insert("total".into(), json!(1));
    answer
}

#[cfg(test)]
mod tests {
    use hyper::Request;

    use super::*;

    fn answer(uri: &str, accepted: &str, body: &str, fields: Value) -> (&'static str, String) {
        let parts = Request::builder().uri(uri).header(ACCEPT, accepted).body(()).unwrap().into_parts().0;
        let Value::Object(fields) = fields else { panic!("fields are an object") };
        let (kind, bytes) = plausible(&parts, body.as_bytes(), &fields);
        (kind, String::from_utf8(bytes).unwrap())
    }

    #[test]
    fn a_response_has_the_read_fields_and_the_sent_fields() {
        let (kind, body) = answer("/users/42", "*/*", r#"{"email": "a@b"}"#, json!({"price": 2.5}));
        let body: Value = serde_json::from_str(&body).unwrap();
        assert_eq!(kind, "application/json");
        assert_eq!((&body["id"], &body["email"], &body["price"]), (&json!(42), &json!("a@b"), &json!(2.5)));
    }

    #[test]
    fn a_response_has_the_accepted_content_type() {
        assert_eq!(answer("/", "text/html,*/*", "", json!({})).0, "text/html; charset=utf-8");
        assert_eq!(answer("/", "text/plain", "not json", json!({})).1, "ok\n");
    }
}
