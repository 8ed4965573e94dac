//! stdout is data, stderr is conversation.

use std::io::{self, Write};

use anyhow::Context;
use owo_colors::OwoColorize;
use serde::Serialize;

/// How a word stands out. Every text is understandable without it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TextStyle {
    /// A heading.
    Bold,
    /// Less important.
    Dim,
    /// Good.
    Good,
    /// To be looked at.
    Warning,
    /// Bad.
    Bad,
}

/// The text with its style; `anstream` takes it off again where it does not belong.
pub(crate) fn styled(text: impl std::fmt::Display, style: TextStyle) -> String {
    match style {
        TextStyle::Bold => text.bold().to_string(),
        TextStyle::Dim => text.dimmed().to_string(),
        TextStyle::Good => text.green().to_string(),
        TextStyle::Warning => text.yellow().to_string(),
        TextStyle::Bad => text.red().to_string(),
    }
}

/// Prints to stdout. A reader that went away, as `head` does, ends the output and nothing else.
pub(crate) fn print(text: &str) -> anyhow::Result<()> {
    let mut stdout = anstream::AutoStream::auto(io::stdout().lock());
    unless_broken_pipe(stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()))
}

/// Prints bytes to stdout as they are.
pub(crate) fn print_bytes(bytes: &[u8]) -> anyhow::Result<()> {
    let mut stdout = io::stdout().lock();
    unless_broken_pipe(stdout.write_all(bytes).and_then(|()| stdout.flush()))
}

/// Prints one JSON document to stdout.
pub(crate) fn print_json(value: &impl Serialize) -> anyhow::Result<()> {
    let mut stdout = io::BufWriter::with_capacity(1 << 16, io::stdout().lock());
    let written = serde_json::to_writer(&mut stdout, value).map_err(io::Error::from);
    unless_broken_pipe(written.and_then(|()| writeln!(stdout)).and_then(|()| stdout.flush()))
}

/// Says what was done, through the log, so that it is JSON where the log is.
pub(crate) fn note(text: &str) {
    tracing::info!("{text}");
}

/// Says on stderr why a command failed. Our own errors name their cause and a hint in their text; what stands below
/// a context that was added in this crate has to be said too.
pub(crate) fn error(error: &anyhow::Error) {
    let text = format!("{} {}", styled("error:", TextStyle::Bad), message(error));
    ignore_broken_pipe(writeln!(anstream::stderr().lock(), "{text}"));
}

fn message(error: &anyhow::Error) -> String {
    let mut parts: Vec<String> = Vec::new();
    for cause in error.chain().map(ToString::to_string) {
        if !parts.iter().any(|said| said.contains(&cause)) {
            parts.push(cause);
        }
    }
    let (first, hint) = match parts[0].split_once('\n') {
        Some((first, hint)) => (first.to_owned(), format!("\n{hint}")),
        None => (parts[0].clone(), String::new()),
    };
    let causes: String = parts[1..].iter().map(|cause| format!(": {cause}")).collect();
    format!("{first}{causes}{hint}")
}

/// A reader that went away is no failure of ours.
pub(crate) fn unless_broken_pipe(result: io::Result<()>) -> anyhow::Result<()> {
    match result {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        result => result.context("failed to write to stdout"),
    }
}

/// There is nobody left to tell.
pub(crate) fn ignore_broken_pipe(result: io::Result<()>) {
    drop(result);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn causes_are_said_once_and_the_hint_comes_last() {
        let cause = io::Error::other("disk full");
        let wrapped = anyhow::Error::new(cause).context("failed to write map\nhint: free some space");
        assert_eq!(message(&wrapped), "failed to write map: disk full\nhint: free some space");
        let said = anyhow::Error::new(io::Error::other("disk full")).context("failed: disk full");
        assert_eq!(message(&said), "failed: disk full");
    }
}
