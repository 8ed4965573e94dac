//! Programs about the user, the working directory, the environment and time.

use std::time::Duration;

use super::program_error::{FakeProgramError, FakeProgramResult, unknown};
use crate::invocation::FakeInvocation;

pub(super) async fn pwd(it: FakeInvocation) -> FakeProgramResult {
    match it.arguments() {
        [] => Ok(it.print(format!("{}\n", it.directory.display())).await?),
        other => Err(unknown(other)),
    }
}

pub(super) async fn id(it: FakeInvocation) -> FakeProgramResult {
    let [option] = it.arguments() else { return Err(unknown(it.arguments())) };
    let number = match option.as_str() {
        "-u" => it.user().uid,
        "-g" => it.user().gid,
        _ => return Err(unknown(it.arguments())),
    };
    Ok(it.print(format!("{number}\n")).await?)
}

pub(super) async fn sleep(it: FakeInvocation) -> FakeProgramResult {
    let [seconds] = it.arguments() else { return Err(unknown(it.arguments())) };
    let duration = seconds.parse().ok().and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    let duration = duration.ok_or_else(|| FakeProgramError(format!("invalid time interval: {seconds}")))?;
    tokio::time::sleep(duration).await;
    Ok(())
}

/// Prints the environment.
pub(super) async fn env(it: FakeInvocation) -> FakeProgramResult {
    if !it.arguments().is_empty() {
        return Err(unknown(it.arguments()));
    }
    let text: String = it.environment.iter().map(|(name, value)| format!("{name}={value}\n")).collect();
    Ok(it.print(text).await?)
}
