//! Conformance suite for sandbox backends: the same cases run unchanged against each of them.
//!
//! A case is a function in `cases/` and a line in the list below; a case without a line is dead code, which the
//! compiler reports. A backend is a function in `backends.rs` and a line at the end of this file. Features that a
//! backend does not claim in its capabilities are not tested, and a case that skips something reports it.
#![expect(
    clippy::unwrap_used,
    reason = "clippy allows it in test functions, and their helpers are no different"
)]

mod backends;
mod cases;
mod directory;
mod harness;
mod tarball;

/// Generates one module of tests per backend, with a test for every case.
macro_rules! conformance_of {
    ($backend:ident, $run_as:path) => {
        mod $backend {
            conformance_of! { $backend, $run_as:
                commands::exec_returns_the_exit_code,
                commands::exec_reports_the_signal,
                commands::stdout_and_stderr_are_kept_apart,
                commands::output_that_is_not_utf8_is_decoded_lossily,
                commands::arguments_arrive_unchanged,
                commands::stdin_is_read_to_its_end,
                commands::a_command_without_stdin_reads_the_end,
                commands::unread_stdin_is_not_an_error,
                commands::a_program_is_found_by_its_path,
                commands::a_missing_program_cannot_be_started,
                commands::an_empty_command_is_an_error,
                commands::a_shell_exits_127_for_a_missing_program,
                commands::concurrent_commands_do_not_wait_for_each_other,
                commands::commands_run_as_the_given_user,
                single_command::a_single_command_returns_its_outcome,
                single_command::single_commands_are_isolated_from_each_other,
                single_command::a_single_command_is_limited,
                single_command::a_single_command_that_cannot_be_started_is_an_error,
                environment::the_environment_is_the_standard_one,
                environment::nothing_is_inherited_from_the_caller,
                environment::the_environment_of_the_command_wins,
                environment::values_of_variables_arrive_unchanged,
                environment::commands_start_in_the_workspace,
                environment::commands_start_in_the_given_directory,
                environment::a_missing_directory_is_an_error,
                environment::the_isolation_matches_the_claimed_capabilities,
                output::output_is_kept_up_to_the_limit,
                output::output_of_exactly_the_limit_is_not_truncated,
                output::each_stream_has_its_own_limit,
                time::a_timeout_kills,
                time::output_before_a_timeout_is_kept,
                time::a_timeout_kills_child_processes,
                time::a_timeout_of_an_exclusive_command_kills_child_processes,
                time::a_command_that_ends_is_not_timed_out,
                time::wall_time_is_that_of_the_command,
                specs::a_relative_mount_target_is_refused,
                specs::a_mount_target_that_goes_up_is_refused,
                specs::a_missing_mount_source_is_refused,
                specs::a_missing_workspace_is_refused,
                specs::a_file_as_workspace_is_refused,
                specs::an_unenforceable_limit_is_refused,
                files::sandboxes_do_not_see_each_other,
                files::the_host_directory_is_unchanged,
                files::a_new_sandbox_has_no_changes,
                files::changes_list_what_was_written_and_deleted,
                files::a_file_created_and_deleted_is_not_a_change,
                files::changes_of_an_empty_workspace_are_listed,
                files::mounts_are_read_and_not_written,
                files::a_shared_workspace_is_written_where_that_is_possible,
                files::a_shared_mount_is_written_where_that_is_possible,
                disk::a_full_disk_is_an_error_of_the_program,
                disk::a_disk_with_freed_space_is_not_full,
                disk::host_files_do_not_count_against_the_disk_limit,
                disk::stats_count_written_bytes,
                archives::put_and_get_give_the_same_files,
                archives::commands_see_put_files,
                archives::put_creates_the_directory,
                archives::put_replaces_files,
                archives::get_of_a_file_has_its_name,
                archives::get_of_a_missing_path_is_an_error,
                archives::a_broken_archive_is_an_error,
                archives::an_archive_that_does_not_fit_is_an_error,
                escapes::put_refuses_to_go_up,
                escapes::put_refuses_absolute_paths,
                escapes::put_refuses_to_follow_a_link_of_the_archive,
                escapes::put_refuses_to_follow_a_link_of_the_sandbox,
                escapes::put_does_not_write_through_a_link,
                escapes::put_refuses_a_hard_link_to_the_outside,
                hostile::signalling_its_parent_does_not_save_a_command_from_its_timeout,
                hostile::hard_links_do_not_make_a_snapshot_larger,
                hostile::nothing_outlives_an_exclusive_command,
                hostile::a_command_that_stops_all_processes_does_not_hang_the_caller,
                hostile::invalid_names_and_unreadable_directories_are_listed,
                hostile::no_program_on_the_host_runs_as_its_owner,
                hostile::mount_points_are_never_created_on_the_host,
                streams::spawn_streams_in_order,
                streams::spawn_keeps_the_streams_apart,
                streams::stdin_is_interactive,
                streams::stdin_of_the_request_comes_first,
                streams::a_command_is_written_to_while_it_is_read,
                streams::a_signal_ends_the_command,
                streams::writing_to_an_ended_command_is_a_broken_pipe,
                streams::a_missing_program_cannot_be_spawned,
                streams::a_spawned_command_times_out,
                streams::a_command_waits_for_its_reader,
                streams::a_dropped_command_is_killed_with_its_children,
                pausing::pause_stops_and_resume_continues,
                pausing::pausing_is_idempotent,
                pausing::resuming_a_running_sandbox_is_a_no_op,
                pausing::a_paused_sandbox_has_stats,
                pausing::a_paused_sandbox_can_be_destroyed,
                measures::stats_count_processes,
                measures::cpu_time_grows,
                measures::usage_of_a_command_is_plausible,
                snapshots::a_fork_has_the_files_and_deletions_of_the_snapshot,
                snapshots::forks_and_origin_are_independent,
                snapshots::a_snapshot_outlives_its_sandbox,
                snapshots::a_fork_of_a_fork_has_both_changes,
                snapshots::a_fork_keeps_modes_and_links,
                snapshots::a_deleted_directory_is_not_in_the_fork,
                network::rules_apply_and_can_change_while_a_sandbox_runs,
                network::a_connection_that_is_no_longer_allowed_is_reset,
                network::a_sandbox_without_a_network_cannot_be_given_one,
                network::an_invalid_network_is_refused,
                faults::a_rule_applies_to_its_path_and_to_child_processes,
                faults::a_share_of_calls_fails_deterministically_by_seed,
                faults::written_bytes_can_be_corrupted,
                faults::a_delayed_call_does_not_block_other_calls,
                faults::denied_calls_stay_denied_and_are_reported,
                lifetime::names_are_unique,
                lifetime::destroying_is_idempotent,
                lifetime::every_operation_fails_with_gone_after_destroy,
                lifetime::destroying_ends_running_commands,
                lifetime::dropping_the_last_handle_destroys,
                lifetime::fifty_concurrent_sandboxes,
            }
        }
    };
    ($backend:ident, $run_as:path: $($file:ident::$case:ident,)*) => {
        $(
            #[test]
            fn $case() {
                $run_as(concat!(module_path!(), "::", stringify!($case)), || {
                    crate::harness::run(crate::backends::$backend, |backend| {
                        Box::pin(crate::cases::$file::$case(backend))
                    });
                });
            }
        )*
    };
}

conformance_of!(fake, menace_tests::as_caller);
conformance_of!(native, menace_tests::as_caller);
conformance_of!(native_rootless, menace_tests::as_unprivileged_user);
conformance_of!(docker, menace_tests::with_docker);
