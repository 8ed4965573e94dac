//! Isolated Python calls: one after the other for the table, and as many as go for a while.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Context;
use async_trait::async_trait;
use menace_model::calls::{CallSpec, Recipe};
use menace_model::harness::{CallReply, CallRequest, HarnessReply, HarnessRequest};
use menace_sandbox::native::{NativeBackend, Zygote, ZygoteOptions};
use serde::Serialize;

use super::contender::{Contender, Row};
use super::error::BenchError;
use super::figures::Figures;
use super::interruption::Interruption;
use super::samples::{Samples, Summary};
use crate::arguments::SandboxBenchmark;
use crate::terminal::{grouped, latency};

/// What is called: a module that has to be imported, a function that does something small.
const MODULE: &str = "def add(left, right):\n    return left + right\n";

/// A zygote with a repository of one module.
pub(super) struct ZygoteCalls {
    zygote: Zygote,
    // Kept as long as the zygote shows it.
    _repository: tempfile::TempDir,
    next: u64,
}

impl ZygoteCalls {
    pub(super) async fn start(backend: &NativeBackend) -> anyhow::Result<Self> {
        let repository = tempfile::tempdir_in(backend.directory()).context("failed to make a directory")?;
        std::fs::write(repository.path().join("arithmetic.py"), MODULE)
            .context("failed to write a module")?;
        let zygote = Zygote::start(backend, ZygoteOptions::new(repository.path())).await?;
        Ok(Self { zygote, _repository: repository, next: 0 })
    }
}

/// Makes a call whose result has to be right, or its time would mean nothing.
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
        _ => Err(BenchError::Inside { command: "add".into(), ending: format!("{outcome:?}") }.into()),
    }
}

#[async_trait]
impl Contender for ZygoteCalls {
    fn row(&self) -> Row {
        Row { measure: SandboxBenchmark::Zygote, what: "an isolated Python call, by a zygote", peer_of: None }
    }

    async fn once(&mut self) -> anyhow::Result<()> {
        self.next += 1;
        call(&self.zygote, self.next).await
    }
}

/// What many calls at once come to.
#[derive(Debug, Serialize)]
pub(super) struct Throughput {
    seconds: f64,
    calls: usize,
    calls_per_second: f64,
    /// As many as run at once.
    parallel: usize,
    each: Option<Summary>,
    restarts: u64,
}

/// Makes calls for so many seconds, always as many at once as the zygote takes.
pub(super) async fn throughput(
    backend: &NativeBackend,
    seconds: usize,
    interruption: &mut Interruption,
) -> anyhow::Result<Option<Throughput>> {
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
    Ok(Some(Throughput {
        seconds: took,
        calls: all.len(),
        calls_per_second: all.len() as f64 / took,
        parallel,
        each: all.into_iter().collect::<Samples>().summary(),
        restarts: calls.zygote.restarts(),
    }))
}

impl Figures for Throughput {
    fn lines(&self) -> Vec<(&'static str, String)> {
        let mut lines = vec![
            ("calls", grouped(self.calls)),
            ("at once", grouped(self.parallel)),
            ("for", format!("{:.1} s", self.seconds)),
            ("calls per second", format!("{:.0}", self.calls_per_second)),
        ];
        if let Some(each) = &self.each {
            lines.push(("each, p50", latency(each.p50_ms)));
            lines.push(("each, p99", latency(each.p99_ms)));
        }
        lines
    }
}
