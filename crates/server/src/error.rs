//! What callers are told when something cannot be done: a status, a code that programs read, a sentence and a hint.

use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use menace_sandbox::SandboxError;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

/// An answer that says what is wrong.
#[derive(Debug, Clone)]
pub struct ApiError {
    status: StatusCode,
    body: Box<ErrorDetail>,
}

/// The body of such an answer.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct ErrorBody {
    /// What is wrong.
    pub error: ErrorDetail,
}

/// What is wrong.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct ErrorDetail {
    /// For programs, such as `sandbox_not_found`.
    pub code: String,
    /// For people.
    pub message: String,
    /// What can be done about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// More, if there is more to know.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub details: Value,
}

impl ApiError {
    /// An error of this status, code and message.
    pub fn new(status: StatusCode, code: &str, message: impl Into<String>) -> Self {
        let body =
            ErrorDetail { code: code.to_owned(), message: message.into(), hint: None, details: Value::Null };
        Self { status, body: Box::new(body) }
    }

    /// With what can be done about it.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.body.hint = Some(hint.into());
        self
    }

    /// With more to know.
    #[must_use]
    pub fn details(mut self, details: Value) -> Self {
        self.body.details = details;
        self
    }

    /// There is no sandbox of this name, for this caller.
    pub fn no_sandbox(id: &str) -> Self {
        Self::new(StatusCode::NOT_FOUND, "sandbox_not_found", format!("there is no sandbox {id}"))
            .hint("GET /api/sandboxes lists those that there are")
    }

    /// There is nothing of this kind and name in a sandbox.
    pub fn nothing(kind: &str, id: &str) -> Self {
        Self::new(StatusCode::NOT_FOUND, &format!("{kind}_not_found"), format!("there is no {kind} {id}"))
    }

    /// The request means nothing.
    pub fn invalid(message: impl Into<String>) -> Self {
        Self::new(StatusCode::UNPROCESSABLE_ENTITY, "invalid_request", message)
    }

    /// It cannot be done in the state that a sandbox is in.
    pub fn conflict(code: &str, message: impl Into<String>) -> Self {
        Self::new(StatusCode::CONFLICT, code, message)
    }

    /// Something of ours failed.
    pub fn internal(message: impl Into<String>) -> Self {
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "internal", message)
    }

    /// The same, for whoever asks whether anything can be done at all.
    #[must_use]
    pub fn not_ready(mut self) -> Self {
        self.status = StatusCode::SERVICE_UNAVAILABLE;
        self
    }

    /// The status.
    pub fn status(&self) -> StatusCode {
        self.status
    }

    /// What it says.
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
            // Understood, and not to be had on this host or of this backend.
            SandboxError::Refused { .. } | SandboxError::HostPath { .. } => (StatusCode::CONFLICT, "refused"),
            SandboxError::Unsupported { .. } => (StatusCode::CONFLICT, "unsupported"),
            SandboxError::Start { source, .. } => match source.kind() {
                std::io::ErrorKind::NotFound => (StatusCode::NOT_FOUND, "program_not_found"),
                std::io::ErrorKind::PermissionDenied => (StatusCode::FORBIDDEN, "command_not_started"),
                _ => (StatusCode::CONFLICT, "command_not_started"),
            },
            SandboxError::Inside { reason, .. } => inside(reason),
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

/// What a file inside could not be used for is said by the kernel; the most frequent answers have a status of their own.
fn inside(reason: &str) -> (StatusCode, &'static str) {
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
