//! Concurrent creation of many sandboxes.

use std::sync::Arc;
use std::time::{Duration, Instant};

use menace_model::sandbox::{ExecRequest, SandboxSpec};
use menace_sandbox::native::NativeBackend;
use menace_sandbox::{Backend, Sandbox, SandboxError};
use serde::Serialize;
use tokio::task::JoinSet;

use crate::error::BenchmarkError;
use crate::latency::{LatencySamples, LatencySummary, in_milliseconds};
use crate::native_sandbox;

/// Figures of concurrent creation.
#[derive(Debug, Serialize)]
pub(crate) struct ConcurrentCreateFigures {
    asked: usize,
    /// Sandboxes that were created and ran a command.
    succeeded: usize,
    /// Time from the start of all creations until each sandbox was ready.
    create: Option<LatencySummary>,
    /// Time until the last sandbox was ready.
    all_ms: f64,
    errors: Vec<String>,
}

type CreatedSandbox = Result<(Arc<dyn Sandbox>, Duration), SandboxError>;

pub(crate) async fn measure(
    backend: &Arc<NativeBackend>,
    asked: usize,
) -> anyhow::Result<ConcurrentCreateFigures> {
    let (created, took) = create_all(backend, asked).await?;
    let samples: LatencySamples =
        created.iter().filter_map(|made| made.as_ref().ok().map(|made| made.1)).collect();
    let mut figures = ConcurrentCreateFigures {
        asked,
        succeeded: 0,
        create: samples.summary(),
        all_ms: in_milliseconds(took),
        errors: Vec::new(),
    };
    for made in created {
        match use_and_destroy(made).await {
            Ok(()) => figures.succeeded += 1,
            Err(error) => figures.errors.push(format!("{error:#}")),
        }
    }
    Ok(figures)
}

async fn create_all(
    backend: &Arc<NativeBackend>,
    asked: usize,
) -> Result<(Vec<CreatedSandbox>, Duration), BenchmarkError> {
    let mut creating: JoinSet<CreatedSandbox> = JoinSet::new();
    let started = Instant::now();
    for _ in 0..asked {
        let backend = Arc::clone(backend);
        creating.spawn(async move {
            let sandbox = backend.create(SandboxSpec::default()).await?;
            Ok((sandbox, started.elapsed()))
        });
    }
    let mut created = Vec::with_capacity(asked);
    while let Some(joined) = creating.join_next().await {
        created.push(joined.map_err(|error| BenchmarkError::UnexpectedProcesses {
            expected: "every creation to end".into(),
            found: error.to_string(),
        })?);
    }
    Ok((created, started.elapsed()))
}

/// Runs a command in a created sandbox, which shows that it is usable.
async fn use_and_destroy(created: CreatedSandbox) -> anyhow::Result<()> {
    let (sandbox, _) = created?;
    let ran = native_sandbox::run(&sandbox, ExecRequest::new(["/bin/true"])).await;
    sandbox.destroy().await?;
    ran.map(drop)
}
