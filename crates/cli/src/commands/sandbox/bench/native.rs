//! Our own rows, measured in this process through the interface that servers use.

use std::sync::Arc;

use async_trait::async_trait;
use menace_model::network::NetworkMode;
use menace_model::sandbox::{ExecOutcome, ExecRequest, SandboxSpec};
use menace_sandbox::native::NativeBackend;
use menace_sandbox::{Backend, Sandbox};

use super::contender::{Contender, Row};
use super::error::BenchError;
use crate::arguments::SandboxBenchmark;

/// A command in a sandbox of its own: made, run, destroyed.
pub(super) struct FreshSandbox {
    row: Row,
    backend: Arc<NativeBackend>,
    command: Vec<String>,
    network: NetworkMode,
}

impl FreshSandbox {
    /// The smallest program.
    pub(super) fn create(backend: &Arc<NativeBackend>) -> Self {
        let what = "a sandbox made, /bin/true run in it, destroyed";
        let row = Row { measure: SandboxBenchmark::Create, what, peer_of: None };
        Self {
            row,
            backend: Arc::clone(backend),
            command: vec!["/bin/true".into()],
            network: NetworkMode::None,
        }
    }

    /// The same with a network.
    pub(super) fn create_network(backend: &Arc<NativeBackend>) -> Self {
        let what = "the same with a network that denies everything";
        let row = Row { measure: SandboxBenchmark::CreateNetwork, what, peer_of: None };
        Self { row, network: NetworkMode::Managed(Box::default()), ..Self::create(backend) }
    }

    /// The start of Python, which is what a zygote saves. What is found on the path may be the script of a version
    /// manager that looks for the interpreter first; that time would flatter a zygote, so the interpreter is asked for
    /// itself.
    pub(super) async fn python(backend: &Arc<NativeBackend>) -> anyhow::Result<Self> {
        let sandbox = backend.create(SandboxSpec::default()).await?;
        let asked = run(&sandbox, ExecRequest::new(["python3", "-I", "-c", SAY_EXECUTABLE])).await;
        sandbox.destroy().await?;
        let command = [asked?.trim(), "-I", "-c", "pass"].map(str::to_owned).to_vec();
        let what = "the same with python3 -I -c pass";
        let row = Row { measure: SandboxBenchmark::Python, what, peer_of: None };
        Ok(Self { row, backend: Arc::clone(backend), command, network: NetworkMode::None })
    }
}

const SAY_EXECUTABLE: &str = "import sys; print(sys.executable)";

#[async_trait]
impl Contender for FreshSandbox {
    fn row(&self) -> Row {
        self.row
    }

    async fn once(&mut self) -> anyhow::Result<()> {
        let request = ExecRequest::new(self.command.iter().cloned());
        let spec = SandboxSpec { network: self.network.clone(), ..SandboxSpec::default() };
        let outcome = self.backend.run(spec, request).await?;
        printed(&self.command.join(" "), outcome).map(drop)
    }
}

/// A command in a sandbox that stays.
pub(super) struct RunningSandbox {
    sandbox: Arc<dyn Sandbox>,
}

impl RunningSandbox {
    pub(super) async fn start(backend: &NativeBackend) -> anyhow::Result<Self> {
        Ok(Self { sandbox: backend.create(SandboxSpec::default()).await? })
    }
}

#[async_trait]
impl Contender for RunningSandbox {
    fn row(&self) -> Row {
        Row { measure: SandboxBenchmark::Exec, what: "/bin/true run in a sandbox that stays", peer_of: None }
    }

    async fn once(&mut self) -> anyhow::Result<()> {
        run(&self.sandbox, ExecRequest::new(["/bin/true"])).await.map(drop)
    }

    async fn finish(&mut self) -> anyhow::Result<()> {
        Ok(self.sandbox.destroy().await?)
    }
}

/// Runs a command that has to end well, or its time would mean nothing, and answers what it printed.
pub(super) async fn run(sandbox: &Arc<dyn Sandbox>, request: ExecRequest) -> anyhow::Result<String> {
    let command = request.command.join(" ");
    printed(&command, sandbox.exec(request).await?)
}

fn printed(command: &str, outcome: ExecOutcome) -> anyhow::Result<String> {
    if outcome.exit_code == Some(0) {
        return Ok(outcome.stdout);
    }
    let ending =
        format!("exit code {:?}, signal {:?}: {}", outcome.exit_code, outcome.signal, outcome.stderr.trim());
    Err(BenchError::Inside { command: command.to_owned(), ending }.into())
}
