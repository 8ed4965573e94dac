//! The Docker backend: containers of an engine that speaks the Engine API, which Podman does too.
//!
//! The engine creates, limits and freezes containers. Other tasks are done by the guest program (`crates/guest`), which
//! is the init process of every container and leads every command in it; docs/design/016 gives the reasons.

mod adopt;
mod backend;
mod blocking_file;
mod capabilities;
mod changes;
mod check;
mod clean_up;
mod configuration;
mod connection;
mod container;
mod container_channel;
mod engine;
mod guest_requests;
mod handle;
mod host_files;
mod images;
mod janitor;
mod labels;
mod limits;
mod options;
mod pool;
mod process;
mod sandbox;
mod stats;
mod stdin;

pub use crate::files::lock_blocking as lock_pool;
pub use backend::DockerBackend;
pub use clean_up::{DockerCleanUp, DockerInventory, clean_up, list_resources};
pub use images::{DEFAULT_IMAGE, build_image, import_image};
pub use options::DockerOptions;
pub use pool::{PoolEvent, PoolObserver, PoolOptions, PoolRemovalReason};
