//! Sandboxes as a service.
//!
//! Two processes serve it. One lets callers in ([`front`]): it knows addresses, certificates, keys and limits. The other one holds
//! the sandboxes ([`keeper`]) and has the whole API ([`api`]), on a socket that only its user can open. So the first one can be
//! killed and started again at any time, and no sandbox, command or stream is lost (docs/design/017).

pub mod api;
pub mod client;
mod clock;
mod error;
pub mod front;
pub mod keeper;
mod metrics;
mod proxy;
pub mod sandboxes;

pub use error::{ApiError, ErrorBody, ErrorDetail};
