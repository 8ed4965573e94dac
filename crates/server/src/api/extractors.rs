//! Extractors: the caller as reported by the gateway, and bodies, queries and paths with our error format.

use axum::Json;
use axum::body::Bytes;
use axum::extract::rejection::{JsonRejection, PathRejection, QueryRejection};
use axum::extract::{FromRequest, FromRequestParts, Path, Query, Request};
use axum::http::StatusCode;
use axum::http::request::Parts;
use serde::de::DeserializeOwned;
use serde_json::Value;
use utoipa::ToSchema;

use crate::error::ApiError;
use crate::sandboxes::Caller;

/// Header in which the gateway reports the caller. The gateway replaces any such header sent by the caller.
pub const CALLER_HEADER: &str = "x-menace-caller";

impl<S: Sync> FromRequestParts<S> for Caller {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, ApiError> {
        match parts.headers.get(CALLER_HEADER) {
            None => Ok(Self::default()),
            Some(header) => serde_json::from_slice(header.as_bytes())
                .map_err(|error| ApiError::internal(format!("invalid caller header: {error}"))),
        }
    }
}

/// Binary data.
#[derive(ToSchema)]
#[schema(value_type = String, format = Binary)]
#[expect(dead_code, reason = "used only in the OpenAPI document")]
pub(super) struct RawBytes(Vec<u8>);

/// Raw request body.
pub(super) struct RawBody(pub(super) Bytes);

impl<S: Send + Sync> FromRequest<S> for RawBody {
    type Rejection = ApiError;

    async fn from_request(request: Request, state: &S) -> Result<Self, ApiError> {
        Bytes::from_request(request, state).await.map(Self).map_err(|rejection| {
            let code =
                if rejection.status() == StatusCode::PAYLOAD_TOO_LARGE { "too_large" } else { "no_body" };
            ApiError::new(rejection.status(), code, rejection.body_text())
        })
    }
}

/// JSON request body. It must be an object: serde would also accept an array of field values without names.
pub(super) struct JsonBody<T>(pub(super) T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequest<S> for JsonBody<T> {
    type Rejection = ApiError;

    async fn from_request(request: Request, state: &S) -> Result<Self, ApiError> {
        let read = Json::<Value>::from_request(request, state).await;
        let Json(value) = read.map_err(|rejection| body_error(&rejection))?;
        object(value).map(Self)
    }
}

/// Deserializes a JSON object.
pub(super) fn object<T: DeserializeOwned>(mut value: Value) -> Result<T, ApiError> {
    if !value.is_object() {
        return Err(ApiError::invalid("the body must be a JSON object"));
    }
    floats_to_integers(&mut value);
    serde_json::from_value(value).map_err(|error| ApiError::invalid(error.to_string()))
}

/// Fields with arbitrary JSON, which is not converted.
const FREE_FORM_FIELDS: [&str; 2] = ["json", "fields"];
/// Largest integer up to which an `f64` represents every integer exactly (2^53 - 1).
const MAX_SAFE_INTEGER: f64 = 9_007_199_254_740_991.0;

/// Converts floats such as `5.0` to integers, because some languages write integers that way.
fn floats_to_integers(value: &mut Value) {
    match value {
        Value::Array(all) => all.iter_mut().for_each(floats_to_integers),
        Value::Object(fields) => {
            let read = fields.iter_mut().filter(|(name, _)| !FREE_FORM_FIELDS.contains(&name.as_str()));
            read.for_each(|(_, value)| floats_to_integers(value));
        }
        Value::Number(number) => {
            let whole =
                number.as_f64().filter(|float| float.fract() == 0.0 && float.abs() <= MAX_SAFE_INTEGER);
            if let (true, Some(whole)) = (number.is_f64(), whole) {
                #[expect(clippy::cast_possible_truncation, reason = "the number is whole and less than 2^53")]
                let whole = whole as i64;
                *value = whole.into();
            }
        }
        Value::Null | Value::Bool(_) | Value::String(_) => {}
    }
}

fn body_error(rejection: &JsonRejection) -> ApiError {
    let text = rejection.body_text();
    match rejection {
        JsonRejection::MissingJsonContentType(_) => {
            ApiError::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "not_json", text)
                .hint("send the header Content-Type: application/json")
        }
        JsonRejection::BytesRejection(_) if rejection.status() == StatusCode::PAYLOAD_TOO_LARGE => {
            ApiError::new(StatusCode::PAYLOAD_TOO_LARGE, "too_large", text)
        }
        JsonRejection::JsonSyntaxError(_) => ApiError::new(StatusCode::BAD_REQUEST, "not_json", text),
        _ => ApiError::invalid(text),
    }
}

/// Query parameters.
pub(super) struct QueryParams<T>(pub(super) T);

impl<S: Sync, T> FromRequestParts<S> for QueryParams<T>
where
    Query<T>: FromRequestParts<S, Rejection = QueryRejection>,
    S: Send,
{
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        match Query::<T>::from_request_parts(parts, state).await {
            Ok(Query(value)) => Ok(Self(value)),
            Err(rejection) => Err(ApiError::invalid(rejection.body_text())),
        }
    }
}

/// Path parameters.
pub(super) struct PathParams<T>(pub(super) T);

impl<S: Sync, T> FromRequestParts<S> for PathParams<T>
where
    Path<T>: FromRequestParts<S, Rejection = PathRejection>,
    S: Send,
{
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        match Path::<T>::from_request_parts(parts, state).await {
            Ok(Path(value)) => Ok(Self(value)),
            Err(rejection) => Err(ApiError::new(StatusCode::NOT_FOUND, "not_found", rejection.body_text())),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::object;

    #[test]
    fn whole_floats_are_read_as_integers() {
        let sent = json!({ "a": 5.0, "b": [1.5, -2.0], "c": { "json": 1.0, "d": 1e300 }, "e": u64::MAX });
        let read: Value = object(sent).unwrap();
        let whole = json!({ "a": 5, "b": [1.5, -2], "c": { "json": 1.0, "d": 1e300 }, "e": u64::MAX });
        assert_eq!(read.to_string(), whole.to_string());
    }
}
