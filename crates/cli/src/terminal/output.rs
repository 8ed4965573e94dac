//! stdout is data, stderr is conversation.

use std::io::{self, Write};

use anyhow::Context;
use owo_colors::OwoColorize;
use serde::Serialize;

use crate::exit::{HINT, details};

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

/// Prints on stderr why a command failed, and the hint on a line of its own.
pub(crate) fn error(error: &anyhow::Error) {
    let text = format!("{} {}", styled("error:", TextStyle::Bad), message(error));
    ignore_broken_pipe(writeln!(anstream::stderr().lock(), "{text}"));
}

/// All errors of the chain, each once: the texts of our own errors name their cause. The outermost hint follows.
fn message(error: &anyhow::Error) -> String {
    let mut parts: Vec<String> = Vec::new();
    let mut hint: Option<String> = None;
    for cause in error.chain() {
        let text = cause.to_string();
        // Contexts of this crate have their hint in their text.
        let (text, own_hint) = match text.split_once(HINT) {
            Some((text, own_hint)) => (text.to_owned(), Some(own_hint.to_owned())),
            None => (text, None),
        };
        hint = hint.or(own_hint).or_else(|| details(cause)?.hint());
        if !parts.iter().any(|said| said.contains(&text)) {
            parts.push(text);
        }
    }
    let hint = hint.map_or_else(String::new, |hint| format!("{HINT}{hint}"));
    format!("{}{hint}", parts.join(": "))
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

    #[test]
    fn the_hint_of_a_typed_error_is_printed_and_that_of_a_context_goes_first() {
        let full = || anyhow::Error::new(menace_sandbox::SandboxError::Full { there: 2, most: 2 });
        let hint = "hint: destroy some, or raise SANDBOX_MAX_CONTAINER_COUNT";
        let problem = "container limit reached: 2 of 2 are in use";
        assert_eq!(message(&full()), format!("{problem}\n{hint}"));
        let wrapped = full().context("failed to start");
        assert_eq!(message(&wrapped), format!("failed to start: {problem}\n{hint}"));
        let hinted = full().context("failed to start\nhint: wait");
        assert_eq!(message(&hinted), format!("failed to start: {problem}\nhint: wait"));
    }
}
