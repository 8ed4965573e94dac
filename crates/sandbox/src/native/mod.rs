//! Native backend: namespaces, control groups and seccomp filters of this kernel.

mod backend;
pub(crate) mod cgroup;
mod command;
mod cpu_time;
mod exchange;
mod handle;
mod hints;
pub(crate) mod host_view;
mod init;
mod launch;
mod launcher;
mod limits;
mod network;
pub(crate) mod paths;
mod pipes;
mod process;
mod protocol;
mod registry;
mod sandbox;
mod wire;
mod zygote;

pub use backend::{NativeBackend, NativeOptions};
pub use handle::LAUNCHER_ARGUMENT;
pub(crate) use init::namespaces as namespaces_of_this_process;
pub use launcher::main as launcher_main;
pub use registry::{CleanUp, clean_up, look_around};
pub use zygote::{CallLimits, CallSpec, RawOutcome, World, Zygote, ZygoteOptions, Zygotes};
