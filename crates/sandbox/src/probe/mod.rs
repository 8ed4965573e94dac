//! Capability probes: which isolation features this host supports, each checked by using it in a short-lived child
//! process.

mod catalog;
mod cgroups;
mod child;
mod devices;
mod file_systems;
mod finding;
mod idmapped;
mod kvm;
mod landlock;
mod namespaces;
mod process;
mod queue_discipline;
mod refusal;
mod run;
mod seccomp;
mod tools;
mod user_namespace;

pub use child::child_main;
pub use finding::{Finding, Group};
pub use run::run;
