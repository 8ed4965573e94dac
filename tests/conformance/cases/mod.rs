//! The cases, by topic.

pub(crate) mod archives;
pub(crate) mod commands;
pub(crate) mod disk;
pub(crate) mod environment;
pub(crate) mod escapes;
pub(crate) mod faults;
pub(crate) mod files;
pub(crate) mod hostile;
pub(crate) mod lifetime;
pub(crate) mod measures;
pub(crate) mod network;
pub(crate) mod output;
pub(crate) mod pausing;
pub(crate) mod single_command;
pub(crate) mod snapshots;
pub(crate) mod specs;
pub(crate) mod streams;
pub(crate) mod time;
