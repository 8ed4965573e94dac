//! Capability probes: which isolation features this host supports, each checked by using it in a short-lived child
//! process.

mod catalog;
mod cgroups;
mod child;
mod devices;
mod failure;
mod file_systems;
mod idmapped;
mod kvm;
mod landlock;
mod namespaces;
mod process;
mod queue_discipline;
mod result;
mod run;
mod seccomp;
mod tools;
mod user_namespace;

pub use child::child_main;
pub use result::{CapabilityGroup, CapabilityProbeResult};
pub use run::run;
