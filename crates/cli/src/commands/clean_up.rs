//! `menace --cleanup`: removes what killed runs left behind, and nothing else.

use menace_sandbox::native::clean_up;

use super::service::client;
use crate::calling::runtime;
use crate::configuration::Configuration;
use crate::exit::Exit;
use crate::terminal::{count, note, print_json};

pub(crate) fn run(configuration: &Configuration, json: bool) -> anyhow::Result<Exit> {
    // Without a data directory there was never anybody who held sandboxes of it.
    let kept = if configuration.data_directory().is_dir() {
        runtime()?.block_on(client(configuration)?.end_unattended())?
    } else {
        None
    };
    let done = clean_up(None)?;
    if json {
        let mut report = serde_json::to_value(&done)?;
        report["sandboxes_ended"] = (kept == Some(true)).into();
        print_json(&report)?;
    }
    match kept {
        None => {}
        Some(true) => note("ended the sandboxes that a server had left"),
        Some(false) => note("sandboxes of a server that runs stay; end that first"),
    }
    for problem in &done.problems {
        tracing::warn!("{problem}");
    }
    if done.owners == 0 && done.problems.is_empty() {
        if kept.is_none() {
            note("nothing was left behind");
        }
    } else {
        note(&format!(
            "removed what {} left: {}, {}",
            count(done.owners, "dead run"),
            count(done.processes, "launcher"),
            count(done.cgroups, "control group")
        ));
    }
    Ok(if done.problems.is_empty() { Exit::Done } else { Exit::Environment })
}
