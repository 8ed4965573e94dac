//! Who asks, as the process that lets callers in says it, and bodies and queries with errors in our words.

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

/// The header by which the process that lets callers in says who asks. It removes what callers send under that name.
pub const CALLER_HEADER: &str = "x-menace-caller";

impl<S: Sync> FromRequestParts<S> for Caller {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, ApiError> {
        match parts.headers.get(CALLER_HEADER) {
            None => Ok(Self::default()),
            Some(header) => serde_json::from_slice(header.as_bytes())
                .map_err(|error| ApiError::internal(format!("nobody knows who asks: {error}"))),
        }
    }
}

/// Bytes as they are.
#[derive(ToSchema)]
#[schema(value_type = String, format = Binary)]
#[expect(dead_code, reason = "it is only described")]
pub(super) struct RawBytes(Vec<u8>);

/// A body as it is.
pub(super) struct Raw(pub(super) Bytes);

impl<S: Send + Sync> FromRequest<S> for Raw {
    type Rejection = ApiError;

    async fn from_request(request: Request, state: &S) -> Result<Self, ApiError> {
        Bytes::from_request(request, state).await.map(Self).map_err(|rejection| {
            let code =
                if rejection.status() == StatusCode::PAYLOAD_TOO_LARGE { "too_large" } else { "no_body" };
            ApiError::new(rejection.status(), code, rejection.body_text())
        })
    }
}

/// A body of JSON, which is an object: an array of values without names is no request.
pub(super) struct Body<T>(pub(super) T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequest<S> for Body<T> {
    type Rejection = ApiError;

    async fn from_request(request: Request, state: &S) -> Result<Self, ApiError> {
        let read = Json::<Value>::from_request(request, state).await;
        let Json(value) = read.map_err(|rejection| of_body(&rejection))?;
        object(value).map(Self)
    }
}

/// What an object of JSON says.
pub(super) fn object<T: DeserializeOwned>(mut value: Value) -> Result<T, ApiError> {
    if !value.is_object() {
        return Err(ApiError::invalid("the body has to be an object: {…}"));
    }
    make_whole(&mut value);
    serde_json::from_value(value).map_err(|error| ApiError::invalid(error.to_string()))
}

/// What callers say for others to read, which stays as it is.
const AS_IT_IS: [&str; 2] = ["json", "fields"];
/// Up to here every whole number is one of its own as a float.
const MOST_WHOLE: f64 = 9_007_199_254_740_991.0;

/// `5.0` is a whole number of JSON, as some languages write it.
fn make_whole(value: &mut Value) {
    match value {
        Value::Array(all) => all.iter_mut().for_each(make_whole),
        Value::Object(fields) => {
            let read = fields.iter_mut().filter(|(name, _)| !AS_IT_IS.contains(&name.as_str()));
            read.for_each(|(_, value)| make_whole(value));
        }
        Value::Number(number) => {
            let whole = number.as_f64().filter(|float| float.fract() == 0.0 && float.abs() <= MOST_WHOLE);
            if let (true, Some(whole)) = (number.is_f64(), whole) {
                #[expect(clippy::cast_possible_truncation, reason = "it is whole, and less than 2^53")]
                let whole = whole as i64;
                *value = whole.into();
            }
        }
        Value::Null | Value::Bool(_) | Value::String(_) => {}
    }
}

fn of_body(rejection: &JsonRejection) -> ApiError {
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

/// What is asked for in the address.
pub(super) struct Asked<T>(pub(super) T);

impl<S: Sync, T> FromRequestParts<S> for Asked<T>
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

/// What is named in the address.
pub(super) struct Named<T>(pub(super) T);

impl<S: Sync, T> FromRequestParts<S> for Named<T>
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
    fn whole_numbers_are_whole_however_they_are_written() {
        let sent = json!({ "a": 5.0, "b": [1.5, -2.0], "c": { "json": 1.0, "d": 1e300 }, "e": u64::MAX });
        let read: Value = object(sent).unwrap();
        let whole = json!({ "a": 5, "b": [1.5, -2], "c": { "json": 1.0, "d": 1e300 }, "e": u64::MAX });
        assert_eq!(read.to_string(), whole.to_string());
    }
}
