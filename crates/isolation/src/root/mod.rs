//! The file system that a sandbox sees.

mod kernel_file_systems;
mod owners;
mod scratch;
mod skeleton;
mod tree;
mod trust;

pub use kernel_file_systems::{
    mask_process_view, mount_full_process_view, mount_process_view, mount_terminals,
};
pub use owners::OwnerMap;
pub use scratch::{ScratchOptions, ScratchSpace, WorkspaceBacking, mount_host_path};
pub use skeleton::{SkeletonEntry, build_skeleton};
pub use trust::{ALL_TRUSTED, TRUSTED, mount_trust};
