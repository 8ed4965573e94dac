//! What every backend of sandboxes does, whatever it is made of: one suite, run unchanged against each of them.
//!
//! A case is a function in `cases/` and a line in the list below; a case without a line is dead code, which the
//! compiler reports. A backend is a function in `backends.rs` and a line at the end of this file. What a backend does
//! not claim in its capabilities is not asked of it, and a case that leaves something out says so.
#![expect(
    clippy::unwrap_used,
    reason = "clippy allows it in test functions, and their helpers are no different"
)]

mod backends;
mod cases;
mod directory;
mod harness;
mod tarball;

/// One module of tests, with a test for every case.
macro_rules! conformance_of {
    ($backend:ident, $run_as:path) => {
        mod $backend {
            conformance_of! { $backend, $run_as:
                commands::exec_returns_the_exit_code,
                commands::exec_reports_the_signal,
                commands::stdout_and_stderr_are_kept_apart,
                commands::output_that_is_no_text_is_kept_as_far_as_it_is,
                commands::arguments_arrive_as_they_are,
                commands::stdin_is_read_to_its_end,
                commands::a_command_without_stdin_reads_the_end,
                commands::stdin_that_nobody_reads_is_no_error,
                commands::a_program_is_found_by_its_path,
                commands::a_missing_program_cannot_be_started,
                commands::an_empty_command_is_an_error,
                commands::a_shell_says_127_for_a_missing_program,
                commands::concurrent_commands_do_not_wait_for_each_other,
                commands::commands_run_as_the_given_user,
                single::a_single_command_returns_what_it_did,
                single::single_commands_see_nothing_of_each_other,
                single::a_single_command_is_limited,
                single::a_single_command_that_cannot_be_started_is_an_error,
                surroundings::the_environment_is_the_standard_one,
                surroundings::nothing_is_inherited_from_the_caller,
                surroundings::the_environment_of_the_command_wins,
                surroundings::values_of_variables_arrive_as_they_are,
                surroundings::commands_start_in_the_workspace,
                surroundings::commands_start_in_the_given_directory,
                surroundings::a_missing_directory_is_an_error,
                surroundings::the_isolation_is_what_the_backend_claims,
                output::output_is_kept_up_to_the_limit,
                output::output_of_exactly_the_limit_is_not_truncated,
                output::each_stream_has_its_own_limit,
                time::a_timeout_kills,
                time::what_was_printed_before_a_timeout_is_kept,
                time::a_timeout_kills_what_the_command_started,
                time::a_timeout_of_an_exclusive_command_kills_what_it_started,
                time::a_command_that_ends_is_not_timed_out,
                time::wall_time_is_that_of_the_command,
                specs::a_relative_mount_target_is_refused,
                specs::a_mount_target_that_goes_up_is_refused,
                specs::a_missing_mount_source_is_refused,
                specs::a_missing_workspace_is_refused,
                specs::a_file_as_workspace_is_refused,
                specs::a_limit_that_cannot_be_kept_is_refused,
                files::sandboxes_do_not_see_each_other,
                files::the_host_directory_stays_as_it_is,
                files::a_new_sandbox_has_no_changes,
                files::changes_list_what_was_written_and_deleted,
                files::a_file_that_came_and_went_is_no_change,
                files::changes_of_an_empty_workspace_are_listed,
                files::mounts_are_read_and_not_written,
                files::a_shared_workspace_is_written_where_that_is_possible,
                files::a_shared_mount_is_written_where_that_is_possible,
                disk::a_full_disk_is_an_error_of_the_program,
                disk::a_disk_with_space_again_is_not_full,
                disk::files_of_the_host_take_no_space,
                disk::stats_count_what_is_written,
                archives::put_and_get_give_the_same_files,
                archives::commands_see_what_was_put,
                archives::put_makes_the_directory,
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
                hostile::a_command_does_not_outlive_its_time_by_fighting_its_parent,
                hostile::hard_links_do_not_make_a_snapshot_larger,
                hostile::nothing_outlives_an_exclusive_command,
                hostile::work_that_a_command_stops_does_not_hang,
                hostile::strange_names_and_closed_directories_are_listed,
                hostile::no_program_on_the_host_runs_as_its_owner,
                hostile::a_place_for_a_mount_is_never_made_on_the_host,
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
                pausing::pausing_twice_is_the_same_as_once,
                pausing::resuming_what_runs_changes_nothing,
                pausing::a_paused_sandbox_has_stats,
                pausing::a_paused_sandbox_can_be_destroyed,
                measures::stats_count_processes,
                measures::cpu_time_grows,
                measures::usage_of_a_command_is_plausible,
                snapshots::a_fork_has_the_files_and_deletions_of_the_snapshot,
                snapshots::forks_and_origin_are_apart,
                snapshots::a_snapshot_outlives_its_sandbox,
                snapshots::a_fork_of_a_fork_has_both_changes,
                snapshots::a_fork_keeps_modes_and_links,
                snapshots::a_deleted_directory_is_not_in_the_fork,
                network::rules_hold_and_change_while_a_sandbox_runs,
                network::a_connection_that_is_not_allowed_any_more_is_broken_off,
                network::a_sandbox_without_a_network_cannot_be_given_one,
                network::a_network_that_cannot_be_is_refused,
                faults::a_rule_holds_for_its_path_and_for_everybody_who_is_started,
                faults::a_share_of_calls_fails_and_the_same_ones_with_the_same_seed,
                faults::what_is_written_can_be_something_else,
                faults::a_call_can_take_longer_and_others_do_not_wait_for_it,
                faults::what_is_refused_stays_refused_and_is_reported,
                lifetime::names_are_unique,
                lifetime::destroying_twice_is_the_same_as_once,
                lifetime::everything_answers_gone_after_the_end,
                lifetime::destroying_ends_running_commands,
                lifetime::dropping_the_last_handle_destroys,
                lifetime::fifty_sandboxes_at_once,
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
conformance_of!(native_rootless, menace_tests::as_nobody);
conformance_of!(docker, menace_tests::with_docker);
