//! Attacks from inside a sandbox: one suite for every backend that claims to isolate.
//!
//! Each case is an attack that asserts two things: that it was refused, and that the host is unchanged. Many of them
//! have a CVE in the history of containers, which the case names. A case is a function in `cases/` and a line in the
//! list below; a case without a line is dead code, which the compiler reports. After every case the host as a whole is
//! checked, see `host.rs`.
#![expect(
    clippy::unwrap_used,
    reason = "clippy allows it in test functions, and their helpers are no different"
)]

mod cases;
mod containers;
#[path = "../conformance/directory.rs"]
mod directory;
mod docker_exclusions;
mod harness;
mod host;
mod name_server;
mod probe;
mod two_hosts;

/// Generates one module of tests per backend, with a test for every case.
macro_rules! security_of {
    ($backend:ident, $run_as:path) => {
        mod $backend {
            security_of! { $backend, $run_as:
                processes::host_processes_are_invisible,
                processes::host_processes_cannot_be_signalled,
                processes::the_init_process_cannot_be_inspected,
                processes::the_init_process_cannot_be_signalled,
                processes::commands_have_no_capabilities_and_get_none,
                processes::setuid_programs_of_the_system_are_inert,
                processes::setuid_programs_of_a_mount_are_inert,
                processes::setuid_files_do_not_reach_the_host,
                processes::devices_cannot_be_made,
                processes::namespaces_are_not_those_of_the_host,
                orphans::orphans_die_with_the_timeout,
                orphans::orphans_die_with_the_timeout_of_an_exclusive_command,
                orphans::orphans_die_with_the_sandbox,
                orphans::orphans_die_with_a_dropped_sandbox,
                orphans::orphans_die_with_the_backend,
                orphans::killing_the_leader_does_not_help,
                orphans::stopping_the_leader_does_not_help,
                orphans::starving_the_leader_does_not_help,
                orphans::hiding_from_the_process_view_does_not_help,
                orphans::respawning_constantly_does_not_help,
                orphans::limiting_the_init_process_only_ends_the_sandbox,
                host_files::host_files_are_invisible,
                host_files::sockets_of_the_host_are_invisible,
                host_files::workspace_links_do_not_reach_the_host,
                host_files::mount_links_do_not_reach_the_host,
                host_files::parents_of_the_root_are_the_root,
                host_files::only_the_overlay_layer_is_written,
                host_files::a_read_only_mount_cannot_be_changed_in_any_way,
                host_files::the_system_cannot_be_written,
                host_files::kernel_settings_cannot_be_changed,
                host_files::every_mount_is_nosuid_and_nodev,
                runtime::only_the_standard_streams_are_open,
                runtime::descriptors_of_the_caller_are_not_inherited,
                runtime::the_working_directory_cannot_be_a_leaked_descriptor,
                runtime::put_and_get_do_not_follow_runtime_descriptors,
                runtime::the_runtime_cannot_be_overwritten,
                runtime::the_runtime_cannot_be_executed_as_the_program,
                archives::archives_do_not_leave_a_shared_workspace,
                archives::archives_make_no_devices,
                archives::archives_make_no_setuid_files_on_the_host,
                disk::a_disk_bomb_fills_only_its_own_disk,
                disk::empty_files_and_directories_are_limited_too,
                disk::shared_memory_is_part_of_the_disk,
                syscalls::calls_denied_by_the_table_fail_and_are_reported,
                syscalls::calls_unknown_to_the_table_fail_with_enosys,
                syscalls::new_namespaces_are_refused,
                syscalls::namespaces_cannot_be_joined,
                syscalls::terminal_input_cannot_be_injected,
                syscalls::mounting_is_refused,
                syscalls::other_protocols_are_refused,
                syscalls::odd_personalities_are_refused,
                syscalls::calls_of_another_architecture_kill_the_process,
                syscalls::no_supervisor_can_be_installed,
                network::only_its_own_loopback_interface_exists,
                network::no_address_is_reachable,
                network::the_loopback_of_the_host_is_not_reachable,
                network::names_are_not_resolved,
                network::abstract_sockets_of_the_host_are_not_reachable,
                network::raw_sockets_are_refused,
                network_policy::private_addresses_are_refused_even_if_all_are_allowed,
                network_policy::ipv6_does_not_bypass_the_rules,
                network_policy::the_host_loopback_must_be_allowed_explicitly,
                network_policy::a_rebound_name_keeps_its_first_addresses,
                network_policy::names_of_forbidden_addresses_do_not_resolve,
                network_policy::forbidden_names_are_not_forwarded,
                network_policy::an_address_is_refused_until_its_name_was_resolved,
                network_policy::a_tls_hello_for_another_host_is_not_forwarded,
                network_policy::public_addresses_of_the_host_itself_are_refused,
                network_policy::reserved_public_addresses_are_refused,
                network_policy::every_dns_query_is_recorded,
                network_policy::raw_sockets_are_refused_on_a_network_too,
                network_policy::abstract_sockets_of_the_host_are_not_on_the_network,
                network_policy::the_interface_cannot_be_changed,
                network_flood::refused_connections_and_datagrams_cost_little_memory,
                network_flood::idle_connections_cost_little_memory,
                network_flood::endless_bodies_cost_little_memory,
                network_flood::endless_headers_cost_little_memory,
                network_flood::unread_responses_cost_little_memory,
                network_flood::long_paths_cost_little_memory,
                resources::a_fork_bomb_is_limited,
                resources::a_thread_bomb_is_limited,
                resources::a_memory_bomb_is_stopped,
                resources::a_descriptor_bomb_is_stopped,
                resources::no_core_is_dumped,
                resources::ignoring_sigterm_does_not_prevent_the_kill,
                resources::a_cpu_hog_gets_its_share,
                resources::usage_of_a_killed_command_is_counted,
                resources::processor_time_is_limited,
                resources::a_paused_sandbox_does_not_run,
                resources::endless_denied_calls_are_counted_and_terminated,
                flood::a_flood_of_output_costs_no_memory,
                flood::a_flood_of_output_ends_with_the_timeout,
                flood::a_deep_directory_does_not_hang_or_crash,
            }
        }
    };
    ($backend:ident, $run_as:path: $($(#[$attribute:meta])* $file:ident::$case:ident,)*) => {
        $(
            #[test]
            $(#[$attribute])*
            fn $case() {
                $run_as(concat!(module_path!(), "::", stringify!($case)), || {
                    crate::harness::run(crate::host::BackendKind::$backend(), |context| {
                        Box::pin(crate::cases::$file::$case(context))
                    });
                });
            }
        )*
    };
}

security_of!(native, menace_tests::as_caller);
security_of!(native_rootless, menace_tests::as_unprivileged_user);
security_of!(docker, crate::docker_exclusions::with_docker);
