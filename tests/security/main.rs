//! What code inside a sandbox must not be able to do, tried: one suite for every backend that claims to isolate.
//!
//! Each case is an attack that asserts two things: that it was refused, and that the host is as it was. Many of them
//! have a name in the history of containers, and the case says which. A case is a function in `cases/` and a line in
//! the list below; a case without a line is dead code, which the compiler reports. After every case the host is looked
//! at as a whole, see `host.rs`.
#![expect(
    clippy::unwrap_used,
    reason = "clippy allows it in test functions, and their helpers are no different"
)]

mod cases;
mod containers;
#[path = "../conformance/directory.rs"]
mod directory;
mod harness;
mod host;
mod left_out;
mod name_server;
mod probe;
mod two_hosts;

/// One module of tests, with a test for every case.
macro_rules! security_of {
    ($backend:ident, $run_as:path) => {
        mod $backend {
            security_of! { $backend, $run_as:
                processes::host_processes_are_invisible,
                processes::host_processes_cannot_be_signalled,
                processes::the_first_process_cannot_be_looked_at,
                processes::the_first_process_cannot_be_signalled,
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
                orphans::changing_the_process_all_the_time_does_not_help,
                orphans::limiting_the_first_process_only_ends_the_sandbox,
                host_files::host_files_are_invisible,
                host_files::sockets_of_the_host_are_invisible,
                host_files::links_of_the_workspace_lead_nowhere,
                host_files::links_of_a_mount_lead_nowhere,
                host_files::parents_of_the_root_are_the_root,
                host_files::the_layer_is_the_only_thing_that_is_written,
                host_files::a_read_only_mount_cannot_be_changed_in_any_way,
                host_files::the_system_cannot_be_written,
                host_files::knobs_of_the_kernel_cannot_be_turned,
                host_files::every_mount_is_without_setuid_and_devices,
                runtime::only_the_standard_streams_are_open,
                runtime::descriptors_of_the_caller_are_not_inherited,
                runtime::no_descriptor_is_a_way_in_for_the_working_directory,
                runtime::files_are_not_moved_through_descriptors_of_ours,
                runtime::the_runtime_cannot_be_overwritten,
                runtime::the_runtime_cannot_be_made_the_program,
                archives::archives_do_not_leave_a_shared_workspace,
                archives::archives_make_no_devices,
                archives::archives_make_no_setuid_files_on_the_host,
                disk::a_disk_bomb_fills_only_its_own_disk,
                disk::empty_files_and_directories_are_limited_too,
                disk::shared_memory_is_part_of_the_disk,
                syscalls::what_the_table_refuses_is_refused_and_reported,
                syscalls::what_the_table_does_not_know_is_absent,
                syscalls::new_namespaces_are_refused,
                syscalls::namespaces_cannot_be_joined,
                syscalls::nobody_types_into_a_terminal,
                syscalls::nothing_is_mounted,
                syscalls::other_protocols_are_refused,
                syscalls::odd_personalities_are_refused,
                syscalls::calls_of_another_architecture_are_deadly,
                syscalls::no_supervisor_can_be_installed,
                network::only_the_own_loopback_is_there,
                network::no_address_is_reachable,
                network::the_loopback_of_the_host_is_not_reachable,
                network::names_are_not_resolved,
                network::abstract_sockets_of_the_host_are_not_reachable,
                network::raw_sockets_are_refused,
                reach::addresses_that_are_not_public_are_refused_though_all_are_allowed,
                reach::version_6_is_no_way_around_the_rules,
                reach::the_loopback_of_the_host_has_to_be_named,
                reach::a_name_that_is_rebound_keeps_its_first_addresses,
                reach::a_name_that_leads_to_where_no_rule_leads_has_no_address,
                reach::names_that_are_not_allowed_are_not_passed_on,
                reach::an_address_is_not_allowed_before_its_name_was_asked_for,
                reach::a_greeting_for_another_host_is_not_passed_on,
                reach::public_addresses_of_the_host_itself_are_refused,
                reach::addresses_that_only_look_public_are_refused,
                reach::every_name_that_is_asked_for_is_recorded,
                reach::raw_sockets_are_refused_on_a_network_too,
                reach::abstract_sockets_of_the_host_are_not_on_the_network,
                reach::the_interface_cannot_be_changed,
                network_flood::refused_connections_and_datagrams_cost_little_memory,
                network_flood::connections_that_are_kept_open_cost_little_memory,
                network_flood::bodies_that_do_not_end_cost_little_memory,
                network_flood::headers_that_do_not_end_cost_little_memory,
                network_flood::answers_that_nobody_reads_cost_little_memory,
                network_flood::long_paths_cost_little_memory,
                resources::a_fork_bomb_is_limited,
                resources::a_thread_bomb_is_limited,
                resources::a_memory_bomb_is_stopped,
                resources::a_descriptor_bomb_is_stopped,
                resources::no_core_is_dumped,
                resources::sigterm_can_be_ignored_and_the_end_cannot,
                resources::a_processor_hog_gets_its_share,
                resources::what_a_killed_command_took_is_counted,
                resources::processor_time_is_limited,
                resources::a_paused_sandbox_does_not_run,
                resources::refused_calls_without_end_are_counted_and_end,
                flood::a_flood_of_output_costs_no_memory,
                flood::a_flood_of_output_ends_with_the_timeout,
                flood::a_deep_directory_is_an_error_at_worst,
            }
        }
    };
    ($backend:ident, $run_as:path: $($(#[$attribute:meta])* $file:ident::$case:ident,)*) => {
        $(
            #[test]
            $(#[$attribute])*
            fn $case() {
                $run_as(concat!(module_path!(), "::", stringify!($case)), || {
                    crate::harness::run(crate::host::Kind::$backend(), |world| {
                        Box::pin(crate::cases::$file::$case(world))
                    });
                });
            }
        )*
    };
}

security_of!(native, menace_tests::as_caller);
security_of!(native_rootless, menace_tests::as_nobody);
security_of!(docker, crate::left_out::with_docker);
