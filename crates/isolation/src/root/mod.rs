//! The file system that a sandbox sees.

mod owners;
mod scratch;
mod skeleton;
mod trust;
mod views;
mod within;

pub use owners::OwnerMap;
pub use scratch::{Lower, Scratch, ScratchOptions, mount_host_path};
pub use skeleton::{Entry, build_skeleton};
pub use trust::{ALL_TRUSTED, TRUSTED, mount_trust};
pub use views::{mask_process_view, mount_full_process_view, mount_process_view, mount_terminals};
