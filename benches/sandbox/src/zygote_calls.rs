//! Isolated Python calls: one after the other for the table, and concurrent ones for the throughput.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Context;
use async_trait::async_trait;
use menace_model::calls::{CallSpec, Recipe};
use menace_model::harness::{CallReply, CallRequest, HarnessReply, HarnessRequest};
use menace_sandbox::native::{NativeBackend, Zygote, ZygoteOptions};
use serde::Serialize;

use crate::arguments::SandboxBenchmark;
use crate::error::BenchmarkError;
use crate::interruption::InterruptionSignals;
use crate::latency::{LatencySamples, LatencySummary};
use crate::timed_operation::{BenchmarkRow, TimedOperation};

/// Module of the called function.
const MODULE: &str = "def add(left, right):\n    return left + right\n";

/// A zygote with a repository of one module.
pub(crate) struct ZygoteCalls {
    zygote: Zygote,
    // Removed after the zygote that reads it.
    _repository: tempfile::TempDir,
    next: u64,
}

impl ZygoteCalls {
    pub(crate) async fn start(backend: &NativeBackend) -> anyhow::Result<Self> {
        let repository = tempfile::tempdir_in(backend.directory()).context("failed to create a directory")?;
        std::fs::write(repository.path().join("arithmetic.py"), MODULE)
            .context("failed to write a module")?;
        let zygote = Zygote::start(backend, ZygoteOptions::new(repository.path())).await?;
        Ok(Self { zygote, _repository: repository, next: 0 })
    }
}

/// Makes a call and checks its result: the time of a wrong one means nothing.
async fn call(zygote: &Zygote, number: u64) -> anyhow::Result<()> {
    let request = HarnessRequest::Call(CallRequest {
        module: "arithmetic".into(),
        function: "add".into(),
        arguments: vec![Recipe::Int(number.into()), Recipe::Int(1)],
        ..CallRequest::default()
    });
    let outcome = zygote.call(&CallSpec::new(request)).await?;
    let reply = outcome.reply.as_ref().and_then(HarnessReply::as_call).and_then(CallReply::returned);
    match reply.and_then(|value| value.json.as_ref()) {
        Some(sum) if *sum == number + 1 => Ok(()),
        _ => {
            Err(BenchmarkError::SandboxCommand { command: "add".into(), ending: format!("{outcome:?}") }
                .into())
        }
    }
}

#[async_trait]
impl TimedOperation for ZygoteCalls {
    fn row(&self) -> BenchmarkRow {
        BenchmarkRow {
            benchmark: SandboxBenchmark::Zygote,
            what: "an isolated Python call by a zygote",
            peer_of: None,
        }
    }

    async fn perform(&mut self) -> anyhow::Result<()> {
        self.next += 1;
        call(&self.zygote, self.next).await
    }
}

/// Figures of concurrent calls.
#[derive(Debug, Serialize)]
pub(crate) struct ZygoteThroughput {
    seconds: f64,
    calls: usize,
    calls_per_second: f64,
    /// Number of concurrent calls.
    parallel: usize,
    each: Option<LatencySummary>,
    restarts: u64,
}

/// Makes concurrent calls for `seconds`; `None` if it was interrupted.
pub(crate) async fn measure_throughput(
    backend: &NativeBackend,
    seconds: usize,
    interruption: &mut InterruptionSignals,
) -> anyhow::Result<Option<ZygoteThroughput>> {
    let calls = Arc::new(ZygoteCalls::start(backend).await?);
    let parallel = std::thread::available_parallelism().map_or(1, std::num::NonZero::get) * 2;
    let began = Instant::now();
    let deadline = began + Duration::from_secs(seconds as u64);
    let mut workers = tokio::task::JoinSet::new();
    for worker in 0..parallel {
        let calls = Arc::clone(&calls);
        workers.spawn(async move {
            let mut samples = Vec::new();
            while Instant::now() < deadline {
                let started = Instant::now();
                call(&calls.zygote, (worker * 1_000_000 + samples.len()) as u64).await?;
                samples.push(started.elapsed());
            }
            anyhow::Ok(samples)
        });
    }
    let all = tokio::select! {
        all = workers.join_all() => all,
        () = interruption.wait() => return Ok(None),
    };
    let took = began.elapsed().as_secs_f64();
    let all: Vec<Duration> = all.into_iter().collect::<anyhow::Result<Vec<_>>>()?.concat();
    Ok(Some(ZygoteThroughput {
        seconds: took,
        calls: all.len(),
        calls_per_second: all.len() as f64 / took,
        parallel,
        each: all.into_iter().collect::<LatencySamples>().summary(),
        restarts: calls.zygote.restarts(),
    }))
}
