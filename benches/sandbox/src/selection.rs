//! Rows of the table that were requested and that this host can measure; the others with the reason.

use std::sync::Arc;

use menace_sandbox::SandboxError;
use menace_sandbox::native::NativeBackend;

use crate::arguments::{BenchmarkArguments, SandboxBenchmark};
use crate::docker_peer::DockerPeer;
use crate::error::BenchmarkError;
use crate::external_command::ExternalCommand;
use crate::native_sandbox::{FreshSandbox, RunningSandbox};
use crate::timed_operation::{SkippedBenchmark, TimedOperation};
use crate::zygote_calls::ZygoteCalls;

/// Operations of the table, ready to be measured.
pub(crate) struct SelectedOperations {
    pub(crate) operations: Vec<Box<dyn TimedOperation>>,
    pub(crate) left_out: Vec<SkippedBenchmark>,
}

impl SelectedOperations {
    /// Prepares the requested rows. A failure leaves nothing running.
    pub(crate) async fn prepare(
        backend: &Arc<NativeBackend>,
        arguments: &BenchmarkArguments,
    ) -> anyhow::Result<Self> {
        let mut selected = Self { operations: Vec::new(), left_out: Vec::new() };
        let prepared = selected.add_all(backend, arguments).await;
        if prepared.is_err() {
            selected.finish().await?;
        }
        prepared?;
        if selected.operations.is_empty() {
            let reasons: Vec<_> = selected.left_out.iter().map(|row| row.reason.clone()).collect();
            return Err(BenchmarkError::NothingMeasurable { reasons: reasons.join("; ") }.into());
        }
        Ok(selected)
    }

    async fn add_all(
        &mut self,
        backend: &Arc<NativeBackend>,
        arguments: &BenchmarkArguments,
    ) -> anyhow::Result<()> {
        if arguments.selects(SandboxBenchmark::Create) {
            self.operations.push(Box::new(FreshSandbox::create(backend)));
        }
        if arguments.selects(SandboxBenchmark::CreateNetwork) {
            self.operations.push(Box::new(FreshSandbox::create_network(backend)));
        }
        if arguments.selects(SandboxBenchmark::Bwrap) {
            let bubblewrap = ExternalCommand::bubblewrap();
            let tried = bubblewrap.try_once();
            self.add_or_skip(SandboxBenchmark::Bwrap, tried.map(|()| bubblewrap));
        }
        if arguments.selects(SandboxBenchmark::Cli) {
            self.operations.push(Box::new(ExternalCommand::menace(&arguments.menace)));
        }
        if arguments.selects(SandboxBenchmark::Python) {
            self.add_unless_missing(SandboxBenchmark::Python, FreshSandbox::python(backend).await)?;
        }
        if arguments.selects(SandboxBenchmark::Zygote) {
            self.add_unless_missing(SandboxBenchmark::Zygote, ZygoteCalls::start(backend).await)?;
        }
        if arguments.selects(SandboxBenchmark::Exec) {
            self.operations.push(Box::new(RunningSandbox::start(backend).await?));
        }
        self.add_docker(arguments);
        Ok(())
    }

    fn add_docker(&mut self, arguments: &BenchmarkArguments) {
        let runs = arguments.selects(SandboxBenchmark::DockerRun);
        let executes = arguments.selects(SandboxBenchmark::DockerExec);
        if !runs && !executes {
            return;
        }
        let docker = DockerPeer::find().map_err(|error| error.to_string());
        if runs {
            self.add_or_skip(SandboxBenchmark::DockerRun, docker.as_ref().map(DockerPeer::run_command));
        }
        if executes {
            let container = docker
                .as_ref()
                .map_err(Clone::clone)
                .and_then(|docker| docker.start_container().map_err(|error| error.to_string()));
            self.add_or_skip(SandboxBenchmark::DockerExec, container);
        }
    }

    /// Adds an operation that needs Python, or skips it where there is none.
    fn add_unless_missing(
        &mut self,
        benchmark: SandboxBenchmark,
        operation: anyhow::Result<impl TimedOperation + 'static>,
    ) -> anyhow::Result<()> {
        match operation {
            Err(error) if !matches!(error.downcast_ref(), Some(SandboxError::Start { .. })) => Err(error),
            other => {
                self.add_or_skip(benchmark, other);
                Ok(())
            }
        }
    }

    fn add_or_skip(
        &mut self,
        benchmark: SandboxBenchmark,
        operation: Result<impl TimedOperation + 'static, impl std::fmt::Display>,
    ) {
        match operation {
            Ok(operation) => self.operations.push(Box::new(operation)),
            Err(error) => {
                self.left_out.push(SkippedBenchmark { name: benchmark.name(), reason: error.to_string() });
            }
        }
    }

    /// Finishes all operations, also after one fails to.
    pub(crate) async fn finish(&mut self) -> anyhow::Result<()> {
        let mut result = Ok(());
        for operation in &mut self.operations {
            result = result.and(operation.finish().await);
        }
        result
    }
}
