//! The terminal at which menace was started, lent to a command that has one in its sandbox.

use std::io::IsTerminal;

use anyhow::Context;
use menace_model::sandbox::TerminalSize;
use rustix::termios::{OptionalActions, Termios, tcgetattr, tcgetwinsize, tcsetattr};
use tokio::signal::unix::{Signal, SignalKind, signal};

/// Our terminal, which passes on every key as it is until this is dropped.
pub(super) struct RawTerminal {
    before: Termios,
    resized: Signal,
}

impl RawTerminal {
    /// Takes the terminal; nothing if we have none, or only half of one.
    pub(super) fn take() -> anyhow::Result<Option<Self>> {
        if !std::io::stdin().is_terminal() || !std::io::stdout().is_terminal() {
            return Ok(None);
        }
        let resized =
            signal(SignalKind::window_change()).context("failed to wait for changes of the size")?;
        let before = tcgetattr(std::io::stdin()).context("failed to ask the terminal how it is set")?;
        let mut raw = before.clone();
        raw.make_raw();
        tcsetattr(std::io::stdin(), OptionalActions::Drain, &raw).context("failed to set the terminal")?;
        Ok(Some(Self { before, resized }))
    }

    /// How large it is.
    pub(super) fn size() -> TerminalSize {
        let usual = TerminalSize::default();
        // A terminal that does not know its size says that it has none.
        match tcgetwinsize(std::io::stdout()) {
            Ok(size) if size.ws_row > 0 && size.ws_col > 0 => {
                TerminalSize { columns: size.ws_col, rows: size.ws_row }
            }
            _ => usual,
        }
    }

    /// Waits until its size changes.
    pub(super) async fn resized(&mut self) -> TerminalSize {
        self.resized.recv().await;
        Self::size()
    }
}

impl Drop for RawTerminal {
    fn drop(&mut self) {
        // There is nobody left whom it could be said.
        let _is_as_before = tcsetattr(std::io::stdin(), OptionalActions::Drain, &self.before);
    }
}
