//! Native backend: namespaces, control groups and seccomp filters of this kernel.

mod backend;
pub(crate) mod cgroup;
mod command;
mod cpu_time;
mod file_transfer;
pub(crate) mod host_view;
mod init;
mod init_channel;
mod launch;
mod launcher;
mod launcher_handle;
mod limits;
mod network;
pub(crate) mod paths;
mod pipes;
mod process;
mod protocol;
mod registry;
mod sandbox;
mod zygote;

pub use backend::{NativeBackend, NativeOptions};
pub(crate) use init::namespaces as namespaces_of_this_process;
pub use launcher::main as launcher_main;
pub use launcher_handle::LAUNCHER_ARGUMENT;
pub use registry::{NativeCleanUpReport, clean_up, count_owners};
pub use zygote::{Zygote, ZygoteOptions, ZygotePool};
