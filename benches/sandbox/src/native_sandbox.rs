//! Rows of native sandboxes, measured in this process through the interface that servers use.

use std::sync::Arc;

use async_trait::async_trait;
use menace_model::network::NetworkMode;
use menace_model::sandbox::{ExecOutcome, ExecRequest, SandboxSpec};
use menace_sandbox::native::NativeBackend;
use menace_sandbox::{Backend, Sandbox};

use crate::arguments::SandboxBenchmark;
use crate::error::BenchmarkError;
use crate::timed_operation::{BenchmarkRow, TimedOperation};

/// Creation of a sandbox, one command in it, and its destruction.
pub(crate) struct FreshSandbox {
    row: BenchmarkRow,
    backend: Arc<NativeBackend>,
    command: Vec<String>,
    network: NetworkMode,
}

impl FreshSandbox {
    /// Runs the smallest program.
    pub(crate) fn create(backend: &Arc<NativeBackend>) -> Self {
        let what = "create a sandbox, run /bin/true in it, destroy it";
        let row = BenchmarkRow { benchmark: SandboxBenchmark::Create, what, peer_of: None };
        Self {
            row,
            backend: Arc::clone(backend),
            command: vec!["/bin/true".into()],
            network: NetworkMode::None,
        }
    }

    /// Runs the smallest program in a sandbox with a network.
    pub(crate) fn create_network(backend: &Arc<NativeBackend>) -> Self {
        let what = "the same with a network that denies everything";
        let row = BenchmarkRow { benchmark: SandboxBenchmark::CreateNetwork, what, peer_of: None };
        Self { row, network: NetworkMode::Managed(Box::default()), ..Self::create(backend) }
    }

    /// Runs Python, whose start a zygote saves. `python3` on the path may be a version manager's script that searches
    /// for the interpreter; that time would flatter the zygote, so the interpreter itself is run.
    pub(crate) async fn python(backend: &Arc<NativeBackend>) -> anyhow::Result<Self> {
        let sandbox = backend.create(SandboxSpec::default()).await?;
        let asked = run(&sandbox, ExecRequest::new(["python3", "-I", "-c", PRINT_EXECUTABLE])).await;
        sandbox.destroy().await?;
        let command = [asked?.trim(), "-I", "-c", "pass"].map(str::to_owned).to_vec();
        let what = "the same with python3 -I -c pass";
        let row = BenchmarkRow { benchmark: SandboxBenchmark::Python, what, peer_of: None };
        Ok(Self { row, backend: Arc::clone(backend), command, network: NetworkMode::None })
    }
}

const PRINT_EXECUTABLE: &str = "import sys; print(sys.executable)";

#[async_trait]
impl TimedOperation for FreshSandbox {
    fn row(&self) -> BenchmarkRow {
        self.row
    }

    async fn perform(&mut self) -> anyhow::Result<()> {
        let request = ExecRequest::new(self.command.iter().cloned());
        let spec = SandboxSpec { network: self.network.clone(), ..SandboxSpec::default() };
        let outcome = self.backend.run(spec, request).await?;
        printed(&self.command.join(" "), outcome).map(drop)
    }
}

/// One command in a running sandbox.
pub(crate) struct RunningSandbox {
    sandbox: Arc<dyn Sandbox>,
}

impl RunningSandbox {
    pub(crate) async fn start(backend: &NativeBackend) -> anyhow::Result<Self> {
        Ok(Self { sandbox: backend.create(SandboxSpec::default()).await? })
    }
}

#[async_trait]
impl TimedOperation for RunningSandbox {
    fn row(&self) -> BenchmarkRow {
        BenchmarkRow {
            benchmark: SandboxBenchmark::Exec,
            what: "run /bin/true in a running sandbox",
            peer_of: None,
        }
    }

    async fn perform(&mut self) -> anyhow::Result<()> {
        run(&self.sandbox, ExecRequest::new(["/bin/true"])).await.map(drop)
    }

    async fn finish(&mut self) -> anyhow::Result<()> {
        Ok(self.sandbox.destroy().await?)
    }
}

/// Runs a command and returns its stdout. A failure is an error: the time of a failed command means nothing.
pub(crate) async fn run(sandbox: &Arc<dyn Sandbox>, request: ExecRequest) -> anyhow::Result<String> {
    let command = request.command.join(" ");
    printed(&command, sandbox.exec(request).await?)
}

fn printed(command: &str, outcome: ExecOutcome) -> anyhow::Result<String> {
    if outcome.exit_code == Some(0) {
        return Ok(outcome.stdout);
    }
    let ending =
        format!("exit code {:?}, signal {:?}: {}", outcome.exit_code, outcome.signal, outcome.stderr.trim());
    Err(BenchmarkError::SandboxCommand { command: command.to_owned(), ending }.into())
}
