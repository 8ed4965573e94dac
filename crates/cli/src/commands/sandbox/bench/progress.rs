//! How far a measurement is: a bar on a terminal, a line elsewhere.

use std::io::IsTerminal;

use indicatif::{ProgressBar, ProgressStyle};

use crate::terminal::{grouped, note};

pub(super) struct RoundProgress {
    bar: Option<ProgressBar>,
}

impl RoundProgress {
    /// Says what begins.
    pub(super) fn start(title: &str, total: usize) -> Self {
        if !std::io::stderr().is_terminal() {
            note(&format!("{title}: {}", grouped(total)));
            return Self { bar: None };
        }
        let style = ProgressStyle::with_template("{msg} {bar:40} {pos}/{len}, {elapsed}")
            .expect("the template is a constant that parses");
        let bar = ProgressBar::new(total as u64).with_style(style).with_message(title.to_owned());
        Self { bar: Some(bar) }
    }

    pub(super) fn reached(&self, position: usize) {
        if let Some(bar) = &self.bar {
            bar.set_position(position as u64);
        }
    }

    pub(super) fn finish(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

impl Drop for RoundProgress {
    fn drop(&mut self) {
        self.finish();
    }
}
