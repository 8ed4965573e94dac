//! Programs about the user, the working directory, the environment and time.

use std::time::Duration;

use super::program_error::{FakeProgramError, FakeProgramResult, unknown};
use crate::fake::error_number::reason;
use crate::fake::invocation::{FakeExit, FakeInvocation};

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

/// Prints the environment, or runs a command with additional variables.
pub(super) async fn env(mut it: FakeInvocation) -> FakeExit {
    let mut words = it.arguments().to_vec().into_iter().peekable();
    while let Some((name, value)) = words.peek().and_then(|word| word.split_once('=')) {
        it.environment.insert(name.to_owned(), value.to_owned());
        words.next();
    }
    let command: Vec<String> = words.collect();
    match command.first() {
        None => print_environment(&it).await,
        Some(option) if option.starts_with('-') => {
            it.complain(format!("env: option unsupported by the fake backend: {option}\n")).await;
            FakeExit::Code(125)
        }
        Some(program) => {
            let program = program.clone();
            match it.clone().run(command).await {
                Ok(exit) => exit,
                Err(error) => {
                    it.complain(format!("env: '{program}': {}\n", reason(&error))).await;
                    FakeExit::Code(127)
                }
            }
        }
    }
}

async fn print_environment(it: &FakeInvocation) -> FakeExit {
    let text: String = it.environment.iter().map(|(name, value)| format!("{name}={value}\n")).collect();
    match it.print(text).await {
        Ok(()) => FakeExit::Code(0),
        Err(error) => {
            it.complain(format!("env: write error: {}\n", reason(&error))).await;
            FakeExit::Code(125)
        }
    }
}
