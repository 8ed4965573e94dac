//! An answer for whatever nobody has a rule for.

use hyper::header::ACCEPT;
use hyper::http::request::Parts;
use serde_json::{Map, Value, json};

/// A body and its type.
pub(super) fn plausible(
    request: &Parts,
    body: &[u8],
    fields: &Map<String, Value>,
) -> (&'static str, Vec<u8>) {
    let accepted = request.headers.get(ACCEPT).and_then(|value| value.to_str().ok()).unwrap_or("*/*");
    // Browsers and those that behave like them name HTML first; whoever takes anything gets what most interfaces speak.
    if accepted.starts_with("text/html") {
        return (
            "text/html; charset=utf-8",
            b"<!doctype html><title>Example</title><p>Example</p>\n".to_vec(),
        );
    }
    if accepted.starts_with("text/plain") {
        return ("text/plain; charset=utf-8", b"ok\n".to_vec());
    }
    let mut answer = usual(request);
    // Whoever makes something is usually told what was made.
    if let Ok(Value::Object(sent)) = serde_json::from_slice(body) {
        answer.extend(sent);
    }
    answer.extend(fields.clone());
    ("application/json", Value::Object(answer).to_string().into_bytes())
}

fn usual(request: &Parts) -> Map<String, Value> {
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
    fn an_answer_has_what_is_read_and_what_was_sent() {
        let (kind, body) = answer("/users/42", "*/*", r#"{"email": "a@b"}"#, json!({"price": 2.5}));
        let body: Value = serde_json::from_str(&body).unwrap();
        assert_eq!(kind, "application/json");
        assert_eq!((&body["id"], &body["email"], &body["price"]), (&json!(42), &json!("a@b"), &json!(2.5)));
    }

    #[test]
    fn an_answer_is_of_the_type_that_was_asked_for() {
        assert_eq!(answer("/", "text/html,*/*", "", json!({})).0, "text/html; charset=utf-8");
        assert_eq!(answer("/", "text/plain", "not json", json!({})).1, "ok\n");
    }
}
