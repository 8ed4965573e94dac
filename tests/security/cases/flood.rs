//! Floods of output.

use std::fs;
use std::io::Read;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use menace_model::sandbox::ExecRequest;
use menace_sandbox::ProcessEvent;
use menace_tests::menace_binary;

use crate::harness::{CaseContext, PROMPT, is_alive, sh};
use crate::probe::python;

/// Most memory that menace may need for a gigabyte of output.
const COST: u64 = 2 << 20;
/// Sampling interval.
const LOOK: Duration = Duration::from_millis(1);

/// Peak of the anonymous memory of `menace sandbox run` for a command, and its output.
fn peak_of(runtime: &Path, arguments: &[&str]) -> (u64, serde_json::Value) {
    let mut menace = Command::new(menace_binary())
        .args(["sandbox", "run", "--json", "--"])
        .args(arguments)
        .env("XDG_RUNTIME_DIR", runtime)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdout = menace.stdout.take().unwrap();
    let reader = std::thread::spawn(move || {
        // Printing is the last thing that it does, and it blocks on output that does not fit in the pipe. A
        // pause after the first byte gives the other thread the time for a last sample.
        let mut printed = vec![0; 1];
        stdout.read_exact(&mut printed).unwrap();
        std::thread::sleep(LOOK * 10);
        stdout.read_to_end(&mut printed).unwrap();
        printed
    });
    let mut kibibytes: u64 = 0;
    let status = loop {
        let looked = fs::read_to_string(format!("/proc/{}/status", menace.id())).unwrap_or_default();
        // Pages of the executable come and go with the page cache, by megabytes, so only RssAnon counts.
        let own = looked.lines().find_map(|line| line.strip_prefix("RssAnon:"));
        let own: u64 = own.map_or(0, |own| own.trim().trim_end_matches(" kB").parse().unwrap());
        kibibytes = kibibytes.max(own);
        if let Some(status) = menace.try_wait().unwrap() {
            break status;
        }
        std::thread::sleep(LOOK);
    };
    assert!(status.success());
    let printed = reader.join().unwrap();
    (kibibytes << 10, serde_json::from_slice(&printed).unwrap())
}

pub(crate) async fn a_flood_of_output_costs_no_memory(_world: &CaseContext) {
    let runtime = tempfile::tempdir().unwrap();
    let (nothing, _) = peak_of(runtime.path(), &["true"]);
    let (flooded, report) = peak_of(runtime.path(), &["head", "-c", "1G", "/dev/zero"]);
    assert_eq!(report["truncated"], true);
    assert_eq!(report["exit_code"], 0);
    let cost = flooded.saturating_sub(nothing);
    assert!(cost <= COST, "{nothing} bytes without output, {flooded} with a gigabyte: {cost} more");
}

/// Both streams concurrently; menace must not read ahead of a reader that has stopped.
pub(crate) async fn a_flood_of_output_ends_with_the_timeout(context: &CaseContext) {
    let sandbox = context.sandbox().await;
    let timeout = Duration::from_millis(300);
    let flood = ExecRequest::new(["sh", "-c", "yes >&2 & exec yes"]).timeout(timeout);
    let started = Instant::now();
    let outcome = sandbox.exec(flood.clone()).await.unwrap();
    assert!(outcome.timed_out && outcome.truncated, "the command must time out");
    let after = started.elapsed().saturating_sub(timeout);
    assert!(after < context.grace(), "{after:?} after the deadline");
    let mut process = sandbox.spawn(flood).await.unwrap();
    let mut bytes = 0;
    let streamed = async {
        loop {
            match process.next().await.unwrap() {
                ProcessEvent::Stdout(chunk) | ProcessEvent::Stderr(chunk) => bytes += chunk.len(),
                ProcessEvent::Exited(outcome) => return outcome,
            }
        }
    };
    let outcome = tokio::time::timeout(PROMPT, streamed).await.expect("it returns in time");
    assert!(outcome.timed_out && bytes > 1 << 20, "{bytes} bytes");
    is_alive(&*sandbox).await;
}

/// A path longer than `PATH_MAX`, which listing changes and taking snapshots have to survive.
pub(crate) async fn a_deep_directory_does_not_hang_or_crash(context: &CaseContext) {
    let sandbox = context.sandbox().await;
    let made = python(
        &*sandbox,
        "
for _ in range(1000):
    os.mkdir('directory')
    os.chdir('directory')
open('file', 'w').write('text')
",
    )
    .await;
    assert_eq!(made.exit_code, Some(0), "{made:?}");
    let _either = tokio::time::timeout(PROMPT, sandbox.changes()).await.expect("it returns in time");
    let _either = tokio::time::timeout(PROMPT, sandbox.snapshot()).await.expect("it returns in time");
    let mut archive = Vec::new();
    let _either = tokio::time::timeout(PROMPT, sandbox.get(Path::new("/workspace"), &mut archive)).await;
    is_alive(&*sandbox).await;
    assert_eq!(sh(&*sandbox, "rm -rf /workspace/directory").await.exit_code, Some(0));
    assert_eq!(sandbox.changes().await.unwrap().written, Vec::<String>::new());
}
