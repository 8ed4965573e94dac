//! `menace --cleanup`: removes what killed runs left behind, and nothing else.

use menace_sandbox::native::clean_up;

use crate::exit::Exit;
use crate::terminal::{count, note, print_json};

pub(crate) fn run(json: bool) -> anyhow::Result<Exit> {
    let done = clean_up(None)?;
    if json {
        print_json(&done)?;
    }
    for problem in &done.problems {
        tracing::warn!("{problem}");
    }
    if done.owners == 0 && done.problems.is_empty() {
        note("nothing was left behind");
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
