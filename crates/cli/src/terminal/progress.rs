//! Progress of scans and workflows: a bar or spinner on a terminal, a line or nothing elsewhere.

use std::io::IsTerminal;
use std::path::Path;
use std::sync::OnceLock;

use indicatif::{ProgressBar, ProgressStyle};
use menace_analysis::scan::ScanObserver;

use super::{count, note};

pub(crate) struct ScanProgress {
    title: String,
    bar: OnceLock<ProgressBar>,
}

impl ScanProgress {
    pub(crate) fn new(repository: &Path) -> Self {
        Self { title: repository.display().to_string(), bar: OnceLock::new() }
    }
}

impl Drop for ScanProgress {
    fn drop(&mut self) {
        if let Some(bar) = self.bar.get() {
            bar.finish_and_clear();
        }
    }
}

impl ScanObserver for ScanProgress {
    fn found(&self, files: usize) {
        if !std::io::stderr().is_terminal() {
            return note(&format!("reading {}: {}", self.title, count(files, "file")));
        }
        let style = ProgressStyle::with_template("{msg} {bar:40} {pos}/{len} files, {elapsed}")
            .expect("the template is a constant that parses");
        let bar = ProgressBar::new(files as u64).with_style(style).with_message(self.title.clone());
        self.bar.get_or_init(|| bar);
    }

    fn analysed(&self) {
        if let Some(bar) = self.bar.get() {
            bar.inc(1);
        }
    }
}

/// Name of the current step of a task with an unknown number of steps: a spinner on a terminal, nothing elsewhere.
pub(crate) struct StageSpinner(ProgressBar);

impl StageSpinner {
    pub(crate) fn new() -> Self {
        if !std::io::stderr().is_terminal() {
            return Self(ProgressBar::hidden());
        }
        let bar = ProgressBar::new_spinner();
        bar.enable_steady_tick(std::time::Duration::from_millis(100));
        Self(bar)
    }

    pub(crate) fn show_message(&self, message: &str) {
        self.0.set_message(message.to_owned());
    }
}

impl Drop for StageSpinner {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}
