//! Progress of the calls of a run: a bar on a terminal, a line elsewhere.

use std::io::IsTerminal;
use std::sync::Mutex;

use indicatif::{ProgressBar, ProgressStyle};
use menace_model::calls::OutcomeKind;
use menace_runner::RunObserver;

use super::{count, grouped, note};

#[derive(Default)]
pub(crate) struct CallProgressBar {
    bar: Mutex<Option<ProgressBar>>,
    failures: std::sync::atomic::AtomicU64,
}

impl CallProgressBar {
    fn bar(&self) -> std::sync::MutexGuard<'_, Option<ProgressBar>> {
        self.bar.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    fn start(&self, template: &str, length: usize, done: usize) {
        let style = ProgressStyle::with_template(template).expect("the template is a constant that parses");
        let bar = ProgressBar::new(length as u64).with_style(style).with_position(done as u64);
        bar.reset_eta();
        if let Some(previous) = self.bar().replace(bar) {
            previous.finish_and_clear();
        }
    }

    fn step(&self) {
        if let Some(bar) = &*self.bar() {
            bar.inc(1);
        }
    }
}

impl Drop for CallProgressBar {
    fn drop(&mut self) {
        if let Some(bar) = self.bar().take() {
            bar.finish_and_clear();
        }
    }
}

impl RunObserver for CallProgressBar {
    fn planned(&self, calls: usize, made: usize) {
        if !std::io::stderr().is_terminal() {
            let before = if made == 0 { String::new() } else { format!(", {} already made", grouped(made)) };
            return note(&format!("calling: {}{before}", count(calls, "call")));
        }
        let template = "calling    {bar:40} {pos}/{len} calls, {per_sec}, {eta} left, {msg}";
        self.start(template, calls, made);
    }

    fn called(&self, kind: OutcomeKind) {
        if kind.is_failure() {
            let failed = self.failures.fetch_add(1, std::sync::atomic::Ordering::Relaxed) + 1;
            if let Some(bar) = &*self.bar() {
                bar.set_message(format!("{failed} failed"));
            }
        }
        self.step();
    }

    fn shrinking(&self, failures: usize) {
        if !std::io::stderr().is_terminal() {
            if failures > 0 {
                note(&format!("shrinking: {}", count(failures, "failure")));
            }
            return;
        }
        self.start("shrinking  {bar:40} {pos}/{len} failures, {eta} left", failures, 0);
    }

    fn shrunk(&self) {
        self.step();
    }
}
