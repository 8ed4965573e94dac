//! Commands, settings, exit codes, and output streams.

mod auto;
mod config;
mod doctor;
mod doctor_isolation;
mod fault_scenarios;
mod file_discovery;
mod init;
mod memory;
mod module_map;
mod network;
mod orphan_files;
mod orphan_settings;
mod output;
mod presets;
mod run;
mod run_presets;
mod self_test;
mod settings_files;
mod shop_example;
mod stored_runs;
mod tracking;
mod usage;
mod workflows;
