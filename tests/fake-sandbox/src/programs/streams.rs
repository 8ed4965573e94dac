//! Programs that read and write streams.

use std::path::Path;

use super::program_error::{FakeProgramError, FakeProgramResult, about, unknown};
use crate::invocation::FakeInvocation;
use crate::streams::{CHUNK, FakeProgramInput, FakeProgramOutput};

pub(super) async fn cat(it: FakeInvocation) -> FakeProgramResult {
    if it.arguments().is_empty() {
        return copy(&it.stdin, usize::MAX, &it).await;
    }
    for path in it.arguments() {
        let input = open(&it, path)?;
        copy(&input, usize::MAX, &it).await?;
    }
    Ok(())
}

pub(super) async fn head(it: FakeInvocation) -> FakeProgramResult {
    let (count, input) = match it.arguments() {
        [option, count] if option == "-c" => (count, it.stdin.clone()),
        [option, count, path] if option == "-c" => (count, open(&it, path)?),
        other => return Err(unknown(other)),
    };
    let count = count.parse().map_err(|_| FakeProgramError(format!("invalid number of bytes: {count}")))?;
    copy(&input, count, &it).await
}

pub(super) async fn echo(it: FakeInvocation) -> FakeProgramResult {
    let (words, end) = match it.arguments() {
        [option, words @ ..] if option == "-n" => (words, ""),
        words => (words, "\n"),
    };
    Ok(it.print(words.join(" ") + end).await?)
}

pub(super) async fn seq(it: FakeInvocation) -> FakeProgramResult {
    let number = |text: &String| {
        text.parse::<u64>().map_err(|_| FakeProgramError(format!("invalid floating point argument: {text}")))
    };
    let (first, last) = match it.arguments() {
        [last] => (1, number(last)?),
        [first, last] => (number(first)?, number(last)?),
        other => return Err(unknown(other)),
    };
    let mut chunk = String::new();
    for number in first..=last {
        chunk += &format!("{number}\n");
        if chunk.len() >= CHUNK {
            it.print(&chunk).await?;
            chunk.clear();
        }
    }
    Ok(it.print(&chunk).await?)
}

fn open(it: &FakeInvocation, path: &str) -> Result<FakeProgramInput, FakeProgramError> {
    if path == "-" {
        return Ok(it.stdin.clone());
    }
    refuse_option(path, it.arguments())?;
    it.open_input(Path::new(path)).map_err(about(path))
}

fn refuse_option(path: &str, arguments: &[String]) -> FakeProgramResult {
    if path.starts_with('-') { Err(unknown(arguments)) } else { Ok(()) }
}

async fn copy(input: &FakeProgramInput, most: usize, it: &FakeInvocation) -> FakeProgramResult {
    let output: &FakeProgramOutput = &it.stdout;
    let mut left = most;
    while left > 0 {
        let bytes = input.read(left).await?;
        if bytes.is_empty() {
            break;
        }
        left -= bytes.len();
        output.write(&bytes).await?;
    }
    Ok(())
}
