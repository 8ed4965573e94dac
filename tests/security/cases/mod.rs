//! The cases, by target of the attack.

pub(crate) mod archives;
pub(crate) mod disk;
pub(crate) mod flood;
pub(crate) mod host_files;
pub(crate) mod network;
pub(crate) mod network_flood;
pub(crate) mod network_policy;
pub(crate) mod orphans;
pub(crate) mod processes;
pub(crate) mod resources;
pub(crate) mod runtime;
pub(crate) mod syscalls;
