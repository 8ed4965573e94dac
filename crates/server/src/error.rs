//! Error responses of the API: a status, a code for programs, a message and a hint.

use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use menace_model::ids::IdError;
use menace_model::{ErrorClass, ErrorDetails};
use menace_sandbox::SandboxError;
use menace_store::StoreError;
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

    /// An error of another crate: its class decides the status.
    pub fn of(error: &impl ErrorDetails, code: &str) -> Self {
        Self::new(status_of(error.class()), code, error.to_string()).hint_of(error)
    }

    /// Takes the hint of an error.
    #[must_use]
    pub fn hint_of(mut self, error: &impl ErrorDetails) -> Self {
        self.body.hint = error.hint();
        self
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

    /// Changes the status to 503: the service is not ready.
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

/// HTTP status of an error class.
fn status_of(class: ErrorClass) -> StatusCode {
    match class {
        ErrorClass::Usage => StatusCode::UNPROCESSABLE_ENTITY,
        ErrorClass::NotFound | ErrorClass::ProgramNotFound => StatusCode::NOT_FOUND,
        ErrorClass::Gone => StatusCode::GONE,
        ErrorClass::PermissionDenied | ErrorClass::ProgramNotExecutable => StatusCode::FORBIDDEN,
        // The request is valid, but not in this state, or not on this host and backend.
        ErrorClass::Conflict | ErrorClass::Unsupported => StatusCode::CONFLICT,
        ErrorClass::LimitExceeded | ErrorClass::Interrupted => StatusCode::SERVICE_UNAVAILABLE,
        ErrorClass::StorageFull => StatusCode::INSUFFICIENT_STORAGE,
        ErrorClass::Unreachable => StatusCode::BAD_GATEWAY,
        ErrorClass::Environment | ErrorClass::Bug => StatusCode::INTERNAL_SERVER_ERROR,
    }
}

impl From<SandboxError> for ApiError {
    fn from(error: SandboxError) -> Self {
        let code = match &error {
            SandboxError::Refused { .. } | SandboxError::HostPath { .. } => "refused",
            SandboxError::Unsupported { .. } => "unsupported",
            SandboxError::Start { .. } if error.class() == ErrorClass::ProgramNotFound => "program_not_found",
            SandboxError::Start { .. } => "command_not_started",
            SandboxError::Inside { .. } => match error.class() {
                ErrorClass::NotFound => "file_not_found",
                ErrorClass::StorageFull => "disk_full",
                ErrorClass::PermissionDenied => "file_forbidden",
                ErrorClass::Conflict => "file_exists",
                _ => "file_refused",
            },
            SandboxError::Port { .. } => "port_unreachable",
            SandboxError::Full { .. } => "too_many_sandboxes",
            SandboxError::Gone { .. } => "sandbox_gone",
            SandboxError::Io { .. } | SandboxError::Protocol(_) => "internal",
        };
        Self::of(&error, code)
    }
}

impl From<IdError> for ApiError {
    fn from(error: IdError) -> Self {
        Self::of(&error, "invalid_request")
    }
}

impl From<StoreError> for ApiError {
    fn from(error: StoreError) -> Self {
        let code = match &error {
            StoreError::NoRun(_) => "run_not_found",
            StoreError::NoCall(_) => "call_not_found",
            StoreError::NoWorkflow(_) => "workflow_not_found",
            StoreError::NoMemory(_) => "memory_not_found",
            StoreError::WorkflowExists(_) => "workflow_exists",
            // The caller of the API has no part in the address of the database.
            StoreError::Kind(_) => return Self::internal(error.to_string()).hint_of(&error),
            StoreError::Open { .. }
            | StoreError::Directory { .. }
            | StoreError::Lock { .. }
            | StoreError::Query { .. }
            | StoreError::Content { .. }
            | StoreError::Aside { .. } => "internal",
        };
        Self::of(&error, code)
    }
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::*;

    fn check(error: impl Into<ApiError>, status: u16, code: &str) {
        let error: ApiError = error.into();
        assert_eq!((error.status.as_u16(), error.body.code.as_str()), (status, code), "{error:?}");
        assert!(!error.body.message.contains('\n'), "{error:?}");
        assert!(!error.body.message.contains("hint:"), "{error:?}");
    }

    #[test]
    fn sandbox_errors_have_the_documented_statuses_and_codes() {
        let failed = || io::Error::from(io::ErrorKind::ConnectionRefused);
        let inside = |kind: io::ErrorKind| SandboxError::Inside {
            action: "read",
            path: "/x".into(),
            source: kind.into(),
        };
        let start = |kind: io::ErrorKind| SandboxError::Start { program: "x".into(), source: kind.into() };
        check(SandboxError::Refused { problem: "no".into(), hint: "do".into() }, 409, "refused");
        let unsupported = SandboxError::Unsupported { what: "x".into(), source: failed(), hint: "y".into() };
        check(unsupported, 409, "unsupported");
        check(start(io::ErrorKind::NotFound), 404, "program_not_found");
        check(start(io::ErrorKind::PermissionDenied), 403, "command_not_started");
        check(inside(io::ErrorKind::NotFound), 404, "file_not_found");
        check(inside(io::ErrorKind::StorageFull), 507, "disk_full");
        check(inside(io::ErrorKind::PermissionDenied), 403, "file_forbidden");
        check(inside(io::ErrorKind::ReadOnlyFilesystem), 403, "file_forbidden");
        check(inside(io::ErrorKind::AlreadyExists), 409, "file_exists");
        check(inside(io::ErrorKind::IsADirectory), 422, "file_refused");
        check(SandboxError::Port { port: 1, source: failed() }, 502, "port_unreachable");
        check(SandboxError::Full { there: 1, most: 1 }, 503, "too_many_sandboxes");
        check(SandboxError::Gone { id: "sb-1".into() }, 410, "sandbox_gone");
        check(SandboxError::Io { action: "read", source: failed() }, 500, "internal");
        check(SandboxError::Protocol("no answer".into()), 500, "internal");
    }

    /// The file of a caller decides nothing by its name.
    #[test]
    fn the_text_of_an_error_decides_nothing() {
        let error = SandboxError::Inside {
            action: "read",
            path: "/no space/permission denied".into(),
            source: io::Error::new(io::ErrorKind::InvalidInput, "no such file or directory"),
        };
        check(error, 422, "file_refused");
    }

    #[test]
    fn ids_and_stored_objects_have_statuses_and_hints() {
        let wrong = "nonsense".parse::<menace_model::ids::RunId>().unwrap_err();
        assert!(ApiError::from(wrong.clone()).body.hint.unwrap().contains("menace show"));
        check(wrong, 422, "invalid_request");
        check(StoreError::NoRun(menace_model::ids::RunId::new(1, 1)), 404, "run_not_found");
        check(StoreError::WorkflowExists("checkout".into()), 409, "workflow_exists");
        check(StoreError::Kind("mysql://…".into()), 500, "internal");
    }

    #[test]
    fn every_class_has_a_status() {
        let table = [
            (ErrorClass::Usage, 422),
            (ErrorClass::NotFound, 404),
            (ErrorClass::Conflict, 409),
            (ErrorClass::Gone, 410),
            (ErrorClass::PermissionDenied, 403),
            (ErrorClass::LimitExceeded, 503),
            (ErrorClass::StorageFull, 507),
            (ErrorClass::Unreachable, 502),
            (ErrorClass::Unsupported, 409),
            (ErrorClass::Environment, 500),
            (ErrorClass::ProgramNotFound, 404),
            (ErrorClass::ProgramNotExecutable, 403),
            (ErrorClass::Interrupted, 503),
            (ErrorClass::Bug, 500),
        ];
        for (class, status) in table {
            assert_eq!(status_of(class).as_u16(), status, "{class:?}");
        }
    }
}
