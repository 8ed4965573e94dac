//! `menace sandbox run`: runs one command in a fresh sandbox and streams its output.

use std::io::Write;
use std::sync::Arc;

use anyhow::Context;
use menace_model::faults::FaultCount;
use menace_model::network::{FlowDisposition, NetworkReport};
use menace_model::sandbox::{
    ExecOutcome, ExecRequest, FileChanges, SandboxIsolation, SandboxLimits, SandboxSpec, WorkspaceContent,
};
use menace_sandbox::native::{NativeBackend, NativeOptions};
use menace_sandbox::{Backend, ProcessEvent, Sandbox, SandboxError, SandboxProcess};
use serde::Serialize;
use tokio::io::{AsyncWrite, AsyncWriteExt};
use tokio::signal::unix::{SignalKind, signal};

use super::attach::WorkspaceChangeExport;
use super::screen::RawTerminal;
use crate::arguments::{SandboxAttachArguments, SandboxRunArguments};
use crate::exit::MenaceExit;
use crate::terminal::print_json;

/// Output of `--json`.
#[derive(Debug, Serialize)]
struct SandboxRunReport {
    #[serde(flatten)]
    outcome: ExecOutcome,
    files_written: Option<Vec<String>>,
    files_deleted: Option<Vec<String>>,
    isolation: SandboxIsolation,
    #[serde(flatten)]
    network: NetworkReport,
    faults: Vec<FaultCount>,
}

pub(super) fn run(arguments: SandboxRunArguments) -> anyhow::Result<MenaceExit> {
    run_with_export(arguments, None)
}

/// Like `run`, but exports the changes before the sandbox is destroyed.
pub(super) fn attach(arguments: SandboxAttachArguments) -> anyhow::Result<MenaceExit> {
    let SandboxAttachArguments { mut run, patch, apply } = arguments;
    let directory = std::path::absolute(run.workdir.take().unwrap_or_else(|| ".".into()))?;
    run.workdir = Some(directory.clone());
    run_with_export(run, Some(WorkspaceChangeExport { directory, patch, apply }))
}

fn run_with_export(
    arguments: SandboxRunArguments,
    export: Option<WorkspaceChangeExport>,
) -> anyhow::Result<MenaceExit> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("failed to start the runtime")?;
    let exit = runtime.block_on(run_to_the_end(arguments, export));
    // A thread may still be blocked reading stdin.
    runtime.shutdown_background();
    exit
}

async fn run_to_the_end(
    arguments: SandboxRunArguments,
    export: Option<WorkspaceChangeExport>,
) -> anyhow::Result<MenaceExit> {
    let spec = spec(&arguments)?;
    let backend = NativeBackend::start(&NativeOptions::default()).await?;
    let sandbox = backend.create(spec).await?;
    let result = tokio::select! {
        result = execute(&sandbox, &arguments, export.is_some()) => result,
        () = interruption() => Ok(MenaceExit::Interrupted),
    };
    let result = match (result, &export) {
        (Ok(exit), Some(export)) => export.export(&sandbox, exit).await,
        (result, _) => result,
    };
    let destroyed = sandbox.destroy().await;
    let exit = result?;
    destroyed?;
    Ok(exit)
}

fn spec(arguments: &SandboxRunArguments) -> anyhow::Result<SandboxSpec> {
    let defaults = SandboxLimits::default();
    Ok(SandboxSpec {
        workspace: match &arguments.workdir {
            None => WorkspaceContent::Empty,
            Some(directory) if arguments.rw => WorkspaceContent::ReadWrite(directory.clone()),
            Some(directory) => WorkspaceContent::CopyOnWrite(directory.clone()),
        },
        mounts: arguments.mount.clone(),
        environment: arguments.env.iter().cloned().collect(),
        limits: SandboxLimits {
            memory: arguments.memory,
            cpus: arguments.cpus,
            cpu_time: arguments.cpu_time,
            pids: arguments.pids,
            disk: arguments.disk,
            open_files: arguments.open_files.unwrap_or(defaults.open_files),
            output: arguments.output.unwrap_or(defaults.output),
        },
        network: super::network::network(&arguments.network)?,
        user: arguments.user.unwrap_or_default(),
        faults: arguments.fault.clone(),
        fault_seed: arguments.network.seed,
        ..SandboxSpec::default()
    })
}

async fn execute(
    sandbox: &Arc<dyn Sandbox>,
    arguments: &SandboxRunArguments,
    is_used_later: bool,
) -> anyhow::Result<MenaceExit> {
    let mut request = ExecRequest::new(arguments.command.iter().cloned());
    request.exclusive = !is_used_later;
    request.timeout = arguments.timeout;
    let outcome = if arguments.json {
        // Read first, because the command may bring down its sandbox.
        let isolation = sandbox.isolation().await?;
        let outcome = sandbox.exec(request).await?;
        report(sandbox, outcome, isolation, arguments).await?
    } else {
        // `attach` is interactive and gets a terminal; `run` is often part of a pipeline.
        let screen = if is_used_later { RawTerminal::take()? } else { None };
        if screen.is_some() {
            request.terminal = Some(RawTerminal::size());
            let term = std::env::var("TERM").unwrap_or_else(|_| "xterm-256color".into());
            request.environment.entry("TERM".into()).or_insert(term);
        }
        let outcome = relay_streams(sandbox.spawn(request).await?, screen).await?;
        warn_refused(&sandbox.network().await?);
        outcome
    };
    Ok(exit_of(&outcome, arguments))
}

async fn report(
    sandbox: &Arc<dyn Sandbox>,
    outcome: ExecOutcome,
    isolation: SandboxIsolation,
    arguments: &SandboxRunArguments,
) -> anyhow::Result<ExecOutcome> {
    // With --rw the command writes to the directory itself, and no layer records the changes. Otherwise it can still
    // create names that cannot be listed; the outcome has to be reported nevertheless.
    let changes = if arguments.rw { Ok(None) } else { sandbox.changes().await.map(Some) };
    let changes = changes.unwrap_or_else(|error| {
        tracing::warn!("{error}");
        None
    });
    let (files_written, files_deleted) =
        changes.map(|FileChanges { written, deleted }| (written, deleted)).unzip();
    let network = sandbox.network().await?;
    let faults = sandbox.faults().await?;
    let report = SandboxRunReport { outcome, files_written, files_deleted, isolation, network, faults };
    print_json(&report)?;
    Ok(report.outcome)
}

/// Maximum number of destinations named on stderr.
const MOST_NAMED: usize = 5;

/// Warns about refused destinations, which the command may not report itself.
fn warn_refused(network: &NetworkReport) {
    let refused = network.flows.iter().filter(|flow| flow.verdict == FlowDisposition::Refused);
    let mut destinations: Vec<String> = Vec::new();
    for flow in refused {
        // A client that is refused at one address of a host tries the next one.
        let port = flow.destination.rsplit(':').next().unwrap_or_default();
        let named = flow.name.as_ref().map(|name| format!("{name}:{port}"));
        let destination = named.unwrap_or_else(|| flow.destination.clone());
        if !destinations.contains(&destination) {
            destinations.push(destination);
        }
    }
    if destinations.is_empty() {
        return;
    }
    let count = destinations.len();
    let more = if count > MOST_NAMED { format!(" and {} more", count - MOST_NAMED) } else { String::new() };
    destinations.truncate(MOST_NAMED);
    tracing::warn!(
        "the network refused {}{more}\nhint: allow it with --net allow=HOST:PORT; --json prints details",
        destinations.join(", ")
    );
}

/// Relays the output of the command and our stdin.
async fn relay_streams(
    mut process: Box<dyn SandboxProcess>,
    mut screen: Option<RawTerminal>,
) -> Result<ExecOutcome, SandboxError> {
    if let Some(stdin) = process.take_stdin().await {
        tokio::spawn(relay_stdin(stdin));
    }
    loop {
        let resized = async {
            match &mut screen {
                Some(screen) => screen.resized().await,
                None => std::future::pending().await,
            }
        };
        let event = tokio::select! {
            event = process.next() => event?,
            size = resized => {
                process.resize(size).await?;
                continue;
            }
        };
        match event {
            // Our stdout is closed: the command gets the SIGPIPE that it would get without us.
            ProcessEvent::Stdout(bytes) => {
                if write_all(std::io::stdout().lock(), &bytes).is_err() {
                    process.signal(BROKEN_PIPE).await?;
                }
            }
            ProcessEvent::Stderr(bytes) => drop(write_all(std::io::stderr().lock(), &bytes)),
            ProcessEvent::Exited(outcome) => return Ok(*outcome),
        }
    }
}

/// Relays our stdin until its end. A thread reads it, because files and terminals cannot be polled; a finished command
/// does not wait for the thread, because the process just exits.
async fn relay_stdin(mut stdin: Box<dyn AsyncWrite + Send + Unpin>) {
    if is_null_device() {
        return;
    }
    let (sender, mut chunks) = tokio::sync::mpsc::channel(1);
    std::thread::spawn(move || read_stdin(&sender));
    while let Some(bytes) = chunks.recv().await {
        // A command need not read its input.
        if stdin.write_all(&bytes).await.is_err() {
            return;
        }
    }
}

/// SIGPIPE.
const BROKEN_PIPE: i32 = 13;

fn write_all(mut stream: impl Write, bytes: &[u8]) -> std::io::Result<()> {
    stream.write_all(bytes).and_then(|()| stream.flush())
}

fn read_stdin(sender: &tokio::sync::mpsc::Sender<Vec<u8>>) {
    let mut buffer = vec![0; 64 << 10];
    while let Ok(length) = std::io::Read::read(&mut std::io::stdin(), &mut buffer) {
        if length == 0 || sender.blocking_send(buffer.get(..length).unwrap_or_default().to_vec()).is_err() {
            return;
        }
    }
}

/// Whether stdin is the null device, for which no thread is needed.
fn is_null_device() -> bool {
    let of = |path: &str| {
        std::fs::metadata(path).ok().map(|metadata| std::os::unix::fs::MetadataExt::rdev(&metadata))
    };
    of("/dev/stdin").is_some_and(|stdin| Some(stdin) == of("/dev/null"))
}

async fn interruption() {
    let streams = (signal(SignalKind::interrupt()), signal(SignalKind::terminate()));
    let (Ok(mut interrupt), Ok(mut terminate)) = streams else { return std::future::pending().await };
    tokio::select! {
        _ = interrupt.recv() => {}
        _ = terminate.recv() => {}
    }
}

/// Exit code of the command, or the code for how it ended, which is also logged.
fn exit_of(outcome: &ExecOutcome, arguments: &SandboxRunArguments) -> MenaceExit {
    if outcome.timed_out {
        let limit = arguments.timeout.unwrap_or_default();
        tracing::warn!("the command was killed: it exceeded its timeout of {limit:?}");
        return MenaceExit::Program(124);
    }
    if outcome.cpu_exceeded {
        let limit = arguments.cpu_time.unwrap_or_default();
        tracing::warn!("the command was killed: it exceeded its limit of {limit:?} of CPU time");
        return MenaceExit::Program(124);
    }
    if outcome.disk_full {
        tracing::warn!("the disk of the sandbox is full\nhint: raise --disk and --memory");
    }
    if outcome.oom {
        tracing::warn!("a process of the command was killed: the sandbox ran out of memory");
        if outcome.exit_code != Some(0) {
            return MenaceExit::Program(137);
        }
    }
    match (outcome.exit_code, outcome.signal) {
        (Some(code), _) => MenaceExit::Program(u8::try_from(code).unwrap_or(1)),
        (None, Some(signal)) => {
            MenaceExit::Program(128_u8.saturating_add(u8::try_from(signal).unwrap_or(127)))
        }
        (None, None) => MenaceExit::Bug,
    }
}
