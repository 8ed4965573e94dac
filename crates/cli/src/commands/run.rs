//! `menace run`: every function of a repository, called.

use std::io::IsTerminal;
use std::sync::{Arc, OnceLock};

use anyhow::Context;
use indicatif::{ProgressBar, ProgressStyle};
use menace_model::calls::OutcomeKind;
use menace_model::inventory::Inventory;
use menace_runner::{Execute, Progress, RunOptions, RunReport, roots, run as make_calls, targets};
use menace_sandbox::native::{NativeBackend, NativeOptions, Zygote, ZygoteOptions};

use crate::arguments::Run;
use crate::configuration::Configuration;
use crate::exit::Exit;
use crate::terminal::{grouped, note, print, print_json};

use super::reading::{Purpose, read_repository};
use super::run_report::report;
use super::usage::UsageError;

pub(super) fn run(configuration: &Configuration, arguments: &Run) -> anyhow::Result<Exit> {
    let scan = read_repository(configuration, &arguments.repository, Purpose::Inventory)?;
    let modules = named(&scan.inventory, &arguments.modules)?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("failed to start the runtime")?;
    let report = runtime.block_on(call_all(&scan.inventory, &modules, arguments))?;
    if arguments.output.json {
        print_json(&report)?;
    } else {
        print(&self::report(&report, if arguments.top == 0 { usize::MAX } else { arguments.top }))?;
    }
    Ok(if report.failures.is_empty() { Exit::Done } else { Exit::Found })
}

async fn call_all(inventory: &Inventory, modules: &[String], arguments: &Run) -> anyhow::Result<RunReport> {
    let backend = NativeBackend::start(&NativeOptions::default()).await?;
    let mut options = ZygoteOptions::new(&inventory.root);
    options.roots = roots(inventory);
    options.warm = imported(inventory);
    options.modules = inventory.modules.iter().map(|module| module.path.clone()).collect();
    if let Some(python) = &arguments.python {
        options.python.clone_from(python);
    }
    let parallel = options.parallel;
    let zygote: Arc<dyn Execute> = Arc::new(Zygote::start(&backend, options).await?);
    let run_options = RunOptions {
        seed: arguments.seed,
        timeout: arguments.timeout,
        parallel: parallel * 2,
        ..RunOptions::default()
    };
    let progress = CallProgress::default();
    let made = make_calls(&zygote, targets(inventory, modules), &run_options, &progress).await;
    progress.finish();
    Ok(made?)
}

/// The paths of modules that were named, by path or as Python imports them.
fn named(inventory: &Inventory, names: &[String]) -> Result<Vec<String>, UsageError> {
    let find = |name: &String| {
        let found = inventory.modules.iter().find(|module| module.path == *name || module.name == *name);
        found.map(|module| module.path.clone()).ok_or_else(|| UsageError::UnknownModule(name.clone()))
    };
    names.iter().map(find).collect()
}

/// What the modules of the repository import that is not of the repository.
fn imported(inventory: &Inventory) -> Vec<String> {
    let mut names: Vec<String> =
        inventory.modules.iter().flat_map(|module| module.external_imports.iter().cloned()).collect();
    names.sort();
    names.dedup();
    names
}

/// A bar on a terminal, a line elsewhere.
#[derive(Default)]
struct CallProgress {
    bar: OnceLock<ProgressBar>,
}

impl CallProgress {
    fn finish(&self) {
        if let Some(bar) = self.bar.get() {
            bar.finish_and_clear();
        }
    }
}

impl Progress for CallProgress {
    fn planned(&self, calls: usize) {
        if !std::io::stderr().is_terminal() {
            return note(&format!("calling: {} calls", grouped(calls)));
        }
        let style = ProgressStyle::with_template("calling {bar:40} {pos}/{len} calls, {per_sec}, {eta} left")
            .expect("the template is a constant that parses");
        self.bar.get_or_init(|| ProgressBar::new(calls as u64).with_style(style));
    }

    fn called(&self, _kind: OutcomeKind) {
        if let Some(bar) = self.bar.get() {
            bar.inc(1);
        }
    }
}
