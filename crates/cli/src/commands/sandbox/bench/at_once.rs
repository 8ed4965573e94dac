//! Many sandboxes asked for at the same moment.

use std::sync::Arc;
use std::time::{Duration, Instant};

use menace_model::sandbox::{ExecRequest, SandboxSpec};
use menace_sandbox::native::NativeBackend;
use menace_sandbox::{Backend, Sandbox, SandboxError};
use serde::Serialize;
use tokio::task::JoinSet;

use super::error::BenchError;
use super::figures::Figures;
use super::native;
use super::samples::{Samples, Summary, in_milliseconds};
use crate::terminal::{grouped, latency};

/// What is said of them.
#[derive(Debug, Serialize)]
pub(super) struct AtOnce {
    asked: usize,
    /// Were made, and a command ran in them.
    succeeded: usize,
    /// From the moment at which all of them were asked for until each was ready.
    create: Option<Summary>,
    /// Until the last was ready.
    all_ms: f64,
    errors: Vec<String>,
}

type Created = Result<(Arc<dyn Sandbox>, Duration), SandboxError>;

pub(super) async fn measure(backend: &Arc<NativeBackend>, asked: usize) -> anyhow::Result<AtOnce> {
    let (created, took) = create_all(backend, asked).await?;
    let samples: Samples = created.iter().filter_map(|made| made.as_ref().ok().map(|made| made.1)).collect();
    let mut figures = AtOnce {
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
) -> Result<(Vec<Created>, Duration), BenchError> {
    let mut creating: JoinSet<Created> = JoinSet::new();
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
        created.push(joined.map_err(|error| BenchError::Census {
            expected: "every task to come to its end".into(),
            found: error.to_string(),
        })?);
    }
    Ok((created, started.elapsed()))
}

/// A sandbox counts when a command can run in it.
async fn use_and_destroy(made: Created) -> anyhow::Result<()> {
    let (sandbox, _) = made?;
    let ran = native::run(&sandbox, ExecRequest::new(["/bin/true"])).await;
    sandbox.destroy().await?;
    ran.map(drop)
}

impl Figures for AtOnce {
    fn lines(&self) -> Vec<(&'static str, String)> {
        let mut lines = vec![
            ("asked for at once", grouped(self.asked)),
            ("made and usable", grouped(self.succeeded)),
            ("all of them", latency(self.all_ms)),
        ];
        if let Some(create) = &self.create {
            lines.push(("each, p50", latency(create.p50_ms)));
            lines.push(("each, p99", latency(create.p99_ms)));
            lines.push(("each, slowest", latency(create.max_ms)));
        }
        lines.extend(self.errors.iter().map(|error| ("failed", error.clone())));
        lines
    }
}
