//! Error responses of the API: a status, a code for programs, a message and a hint.

use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use menace_sandbox::SandboxError;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

/// An error response.
#[derive(Debug, Clone)]
pub struct ApiError {
    status: StatusCode,
    body: Box<ErrorDetail>,
}

/// Body of an error response.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct ErrorBody {
    /// The error.
    pub error: ErrorDetail,
}

/// Description of an error.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct ErrorDetail {
    /// Error code for programs, such as `sandbox_not_found`.
    pub code: String,
    /// Error message for people.
    pub message: String,
    /// Suggested remedy.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// Further details, depending on the error code.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub details: Value,
}

impl ApiError {
    /// Creates an error with a status, code and message.
    pub fn new(status: StatusCode, code: &str, message: impl Into<String>) -> Self {
        let body =
            ErrorDetail { code: code.to_owned(), message: message.into(), hint: None, details: Value::Null };
        Self { status, body: Box::new(body) }
    }

    /// Sets the hint.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.body.hint = Some(hint.into());
        self
    }

    /// Sets the details.
    #[must_use]
    pub fn details(mut self, details: Value) -> Self {
        self.body.details = details;
        self
    }

    /// This caller owns no sandbox with this id.
    pub fn no_sandbox(id: &str) -> Self {
        Self::new(StatusCode::NOT_FOUND, "sandbox_not_found", format!("no sandbox with id {id}"))
            .hint("list them with GET /api/sandboxes")
    }

    /// The sandbox has no item of this kind and id.
    pub fn nothing(kind: &str, id: &str) -> Self {
        Self::new(StatusCode::NOT_FOUND, &format!("{kind}_not_found"), format!("no {kind} with id {id}"))
    }

    /// The request is invalid.
    pub fn invalid(message: impl Into<String>) -> Self {
        Self::new(StatusCode::UNPROCESSABLE_ENTITY, "invalid_request", message)
    }

    /// The state of the sandbox does not allow the operation.
    pub fn conflict(code: &str, message: impl Into<String>) -> Self {
        Self::new(StatusCode::CONFLICT, code, message)
    }

    /// The service itself failed.
    pub fn internal(message: impl Into<String>) -> Self {
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "internal", message)
    }

    /// Changes the status to 503, for readiness checks.
    #[must_use]
    pub fn not_ready(mut self) -> Self {
        self.status = StatusCode::SERVICE_UNAVAILABLE;
        self
    }

    /// HTTP status.
    pub fn status(&self) -> StatusCode {
        self.status
    }

    /// Error message.
    pub fn message(&self) -> &str {
        &self.body.message
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        (self.status, Json(ErrorBody { error: *self.body })).into_response()
    }
}

impl From<SandboxError> for ApiError {
    fn from(error: SandboxError) -> Self {
        let (status, code) = match &error {
            // The request is valid, but this host or backend cannot fulfil it.
            SandboxError::Refused { .. } | SandboxError::HostPath { .. } => (StatusCode::CONFLICT, "refused"),
            SandboxError::Unsupported { .. } => (StatusCode::CONFLICT, "unsupported"),
            SandboxError::Start { source, .. } => match source.kind() {
                std::io::ErrorKind::NotFound => (StatusCode::NOT_FOUND, "program_not_found"),
                std::io::ErrorKind::PermissionDenied => (StatusCode::FORBIDDEN, "command_not_started"),
                _ => (StatusCode::CONFLICT, "command_not_started"),
            },
            SandboxError::Inside { reason, .. } => file_error_status(reason),
            SandboxError::Port { .. } => (StatusCode::BAD_GATEWAY, "port_unreachable"),
            SandboxError::Full { .. } => (StatusCode::SERVICE_UNAVAILABLE, "too_many_sandboxes"),
            SandboxError::Gone { .. } => (StatusCode::GONE, "sandbox_gone"),
            SandboxError::Io { .. } | SandboxError::Protocol(_) => {
                (StatusCode::INTERNAL_SERVER_ERROR, "internal")
            }
        };
        let text = error.to_string();
        let (message, hint) = match text.split_once("\nhint: ") {
            Some((message, hint)) => (message.to_owned(), Some(hint.to_owned())),
            None => (text, None),
        };
        let error = Self::new(status, code, message);
        match hint {
            Some(hint) => error.hint(hint),
            None => error,
        }
    }
}

/// Status and code of a file operation that failed inside a sandbox, from the kernel's error text.
fn file_error_status(reason: &str) -> (StatusCode, &'static str) {
    let reason = reason.to_lowercase();
    let has = |text: &str| reason.contains(text);
    if has("no such file") || has("not found") {
        (StatusCode::NOT_FOUND, "file_not_found")
    } else if has("no space") || has("quota") {
        (StatusCode::INSUFFICIENT_STORAGE, "disk_full")
    } else if has("permission denied") || has("read-only") || has("not permitted") {
        (StatusCode::FORBIDDEN, "file_forbidden")
    } else if has("exists") {
        (StatusCode::CONFLICT, "file_exists")
    } else {
        (StatusCode::UNPROCESSABLE_ENTITY, "file_refused")
    }
}
