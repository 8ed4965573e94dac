//! Who asks, as the process that lets callers in says it, and bodies and queries with errors in our words.

use axum::Json;
use axum::extract::rejection::{JsonRejection, PathRejection, QueryRejection};
use axum::extract::{FromRequest, FromRequestParts, Path, Query, Request};
use axum::http::StatusCode;
use axum::http::request::Parts;

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

/// A body of JSON.
pub(super) struct Body<T>(pub(super) T);

impl<S: Sync, T> FromRequest<S> for Body<T>
where
    Json<T>: FromRequest<S, Rejection = JsonRejection>,
    S: Send,
{
    type Rejection = ApiError;

    async fn from_request(request: Request, state: &S) -> Result<Self, ApiError> {
        match Json::<T>::from_request(request, state).await {
            Ok(Json(value)) => Ok(Self(value)),
            Err(rejection) => Err(of_body(&rejection)),
        }
    }
}

pub(super) fn of_body(rejection: &JsonRejection) -> ApiError {
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
