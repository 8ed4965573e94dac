//! The gateway: addresses, certificates, API keys, rate limits, the audit trail.

mod audit;
mod gate;
mod keys;
mod rate;
mod serve;
mod tls;

pub(crate) use gate::is_of_this_machine;
pub use keys::{Key, KeyRing, new_key};
pub use serve::{Front, FrontError, FrontOptions};
pub use tls::TlsFiles;
