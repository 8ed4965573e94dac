//! The gateway: addresses, certificates, API keys, rate limits, the audit trail.

mod api_keys;
mod audit;
mod authentication;
mod rate_limiter;
mod serve;
mod tls;

pub use api_keys::{ApiKey, ApiKeyRing, new_key};
pub(crate) use authentication::is_local_request;
pub use serve::{Gateway, GatewayError, GatewayOptions};
pub use tls::{TlsError, TlsFiles};
