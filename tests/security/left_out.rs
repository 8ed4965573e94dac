//! What containers do not claim, case by case. Everything else of the list in `main.rs` is asked of them too.

/// Cases that containers leave out, and why.
const OF_DOCKER: &[(&str, &str)] = &[
    ("archives_do_not_leave_a_shared_workspace", NO_SHARING),
    ("archives_make_no_devices", NO_SHARING),
    ("archives_make_no_setuid_files_on_the_host", NO_SHARING),
    ("devices_cannot_be_made", NO_SHARING),
    ("every_mount_is_without_setuid_and_devices", NO_SHARING),
    ("links_of_a_mount_lead_nowhere", NO_SHARING),
    ("setuid_files_do_not_reach_the_host", NO_SHARING),
    (
        "setuid_programs_of_a_mount_are_inert",
        "files of the host are copied, and lose the mode that is looked for",
    ),
    ("host_files_are_invisible", "the engine shows a read-only /sys"),
    (
        "knobs_of_the_kernel_cannot_be_turned",
        "the engine masks fewer files of /proc, though nothing can be written",
    ),
    (
        "the_first_process_cannot_be_looked_at",
        "/proc shows that there are threads of others, though not what they do",
    ),
    ("calls_of_another_architecture_are_deadly", PROFILE),
    ("no_supervisor_can_be_installed", PROFILE),
    ("nobody_types_into_a_terminal", PROFILE),
    ("odd_personalities_are_refused", PROFILE),
    ("other_protocols_are_refused", PROFILE),
    ("what_the_table_refuses_is_refused_and_reported", PROFILE),
    ("what_the_table_does_not_know_is_absent", PROFILE),
    ("the_runtime_cannot_be_made_the_program", NATIVE),
    ("a_flood_of_output_costs_no_memory", NATIVE),
];

const NO_SHARING: &str = "root has no directory that a user of a container could write to as root";
const PROFILE: &str = "the engine's own seccomp profile allows more than ours";
const NATIVE: &str = "it is about how menace starts native sandboxes";

/// Runs a case against containers, or says why not.
#[expect(clippy::print_stderr, reason = "a test says what it does not test")]
pub(crate) fn with_docker(test: &str, body: impl FnOnce()) {
    let name = test.rsplit("::").next().unwrap_or(test);
    match OF_DOCKER.iter().find(|(case, _)| *case == name) {
        Some((_, reason)) => eprintln!("left out: {name}: {reason}"),
        None => menace_tests::with_docker(test, body),
    }
}
