//! `menace admin recovery`: how often runs were resumed, and the last failure.

use menace_app::improve::{FailedRunRecord, RecoveryFile, recovery_path};

use crate::arguments::RecoveryArguments;
use crate::configuration::Configuration;
use crate::exit::MenaceExit;
use crate::terminal::{print, print_json};

pub(in crate::commands) fn show(
    configuration: &Configuration,
    arguments: &RecoveryArguments,
) -> anyhow::Result<MenaceExit> {
    let path = arguments.file.clone().unwrap_or_else(|| recovery_path(&configuration.data_directory()));
    let recovery = RecoveryFile::read(&path)?;
    if arguments.output.json {
        print_json(&recovery)?;
    } else {
        print(&text(&recovery))?;
    }
    Ok(MenaceExit::Done)
}

fn text(recovery: &RecoveryFile) -> String {
    let restarts = recovery.sandbox_restart_total;
    let at = time(recovery.sandbox_last_failure_ts);
    let failure = match &recovery.last_failure {
        None if recovery.sandbox_last_failure_ts > 0.0 => at,
        None => "none".to_owned(),
        Some(FailedRunRecord { run, reason }) => format!("{at}, {run}: {reason}"),
    };
    format!("sandbox_restart_total    {restarts}\nsandbox_last_failure_ts  {failure}\n")
}

fn time(seconds: f64) -> String {
    #[expect(clippy::cast_possible_truncation, reason = "milliseconds since 1970 fit into an i64")]
    let at_ms = (seconds * 1e3) as i64;
    menace_server::time_text(at_ms)
}
