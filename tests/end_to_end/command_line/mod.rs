//! Commands, settings, exit codes, and output streams.

mod auto;
mod config;
mod disturbed;
mod doctor;
mod doctor_isolation;
mod example;
mod init;
mod map;
mod memory;
mod network;
mod orphan_files;
mod orphan_switches;
mod output;
mod presets;
mod run;
mod runs;
mod scenarios;
mod self_test;
mod settings_files;
mod tracking;
mod usage;
mod walk;
mod workflows;
