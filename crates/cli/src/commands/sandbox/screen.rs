//! The terminal of menace in raw mode, for a command that has a terminal in its sandbox.

use std::io::IsTerminal;

use anyhow::Context;
use menace_model::sandbox::TerminalSize;
use rustix::termios::{OptionalActions, Termios, tcgetattr, tcgetwinsize, tcsetattr};
use tokio::signal::unix::{Signal, SignalKind, signal};

/// Our terminal in raw mode; the previous mode is restored on drop.
pub(super) struct RawTerminal {
    before: Termios,
    resized: Signal,
}

impl RawTerminal {
    /// Switches the terminal to raw mode; `None` unless both stdin and stdout are terminals.
    pub(super) fn take() -> anyhow::Result<Option<Self>> {
        if !std::io::stdin().is_terminal() || !std::io::stdout().is_terminal() {
            return Ok(None);
        }
        let resized = signal(SignalKind::window_change())
            .context("failed to listen for changes of the terminal size")?;
        let before = tcgetattr(std::io::stdin()).context("failed to read the terminal mode")?;
        let mut raw = before.clone();
        raw.make_raw();
        tcsetattr(std::io::stdin(), OptionalActions::Drain, &raw)
            .context("failed to switch the terminal to raw mode")?;
        Ok(Some(Self { before, resized }))
    }

    /// Size of the terminal.
    pub(super) fn size() -> TerminalSize {
        let default_size = TerminalSize::default();
        // A terminal that does not know its size reports zero.
        match tcgetwinsize(std::io::stdout()) {
            Ok(size) if size.ws_row > 0 && size.ws_col > 0 => {
                TerminalSize { columns: size.ws_col, rows: size.ws_row }
            }
            _ => default_size,
        }
    }

    /// Waits until the size changes.
    pub(super) async fn resized(&mut self) -> TerminalSize {
        self.resized.recv().await;
        Self::size()
    }
}

impl Drop for RawTerminal {
    fn drop(&mut self) {
        // An error cannot be reported any more.
        let _restored = tcsetattr(std::io::stdin(), OptionalActions::Drain, &self.before);
    }
}
