//! Cases that do not apply to containers. All others in the list of `main.rs` run against them too.

/// Cases that are skipped for containers, with the reason.
const OF_DOCKER: &[(&str, &str)] = &[
    ("archives_do_not_leave_a_shared_workspace", NO_SHARING),
    ("archives_make_no_devices", NO_SHARING),
    ("archives_make_no_setuid_files_on_the_host", NO_SHARING),
    ("devices_cannot_be_made", NO_SHARING),
    ("every_mount_is_nosuid_and_nodev", NO_SHARING),
    ("mount_links_do_not_reach_the_host", NO_SHARING),
    ("setuid_files_do_not_reach_the_host", NO_SHARING),
    ("setuid_programs_of_a_mount_are_inert", "host files are copied, and lose the setuid bits"),
    ("host_files_are_invisible", "the engine shows a read-only /sys"),
    (
        "kernel_settings_cannot_be_changed",
        "the engine masks fewer files of /proc, but nothing can be written",
    ),
    ("the_init_process_cannot_be_inspected", "/proc lists threads of other processes, but not their state"),
    ("calls_of_another_architecture_kill_the_process", PROFILE),
    ("no_supervisor_can_be_installed", PROFILE),
    ("terminal_input_cannot_be_injected", PROFILE),
    ("odd_personalities_are_refused", PROFILE),
    ("other_protocols_are_refused", PROFILE),
    ("calls_denied_by_the_table_fail_and_are_reported", PROFILE),
    ("calls_unknown_to_the_table_fail_with_enosys", PROFILE),
    ("the_runtime_cannot_be_executed_as_the_program", NATIVE),
    ("a_flood_of_output_costs_no_memory", NATIVE),
];

const NO_SHARING: &str = "root has no directory that a user of a container could write to as root";
const PROFILE: &str = "the engine's own seccomp profile allows more than ours";
const NATIVE: &str = "specific to how menace starts native sandboxes";

/// Runs a case against containers, or reports why it is skipped.
#[expect(clippy::print_stderr, reason = "a test reports what it does not test")]
pub(crate) fn with_docker(test: &str, body: impl FnOnce()) {
    let name = test.rsplit("::").next().unwrap_or(test);
    match OF_DOCKER.iter().find(|(case, _)| *case == name) {
        Some((_, reason)) => eprintln!("skipped: {name}: {reason}"),
        None => menace_tests::with_docker(test, body),
    }
}
