//! Who takes part: every row that was asked for and that this host can measure, the others with the reason.

use std::sync::Arc;

use anyhow::Context;
use menace_sandbox::SandboxError;
use menace_sandbox::native::NativeBackend;

use super::contender::{Contender, LeftOut};
use super::docker::Docker;
use super::error::BenchError;
use super::native::{FreshSandbox, RunningSandbox};
use super::program::Program;
use super::zygote::ZygoteCalls;
use crate::arguments::SandboxBenchmark;

/// The rows of the table.
pub(super) struct LineUp {
    pub(super) contenders: Vec<Box<dyn Contender>>,
    pub(super) left_out: Vec<LeftOut>,
    docker: Option<Docker>,
}

impl LineUp {
    /// Finds out who can take part. Whatever goes wrong, nothing is left running.
    pub(super) async fn gather(
        backend: &Arc<NativeBackend>,
        asked: &[SandboxBenchmark],
    ) -> anyhow::Result<Self> {
        let mut line_up = Self { contenders: Vec::new(), left_out: Vec::new(), docker: None };
        let gathered = line_up.gather_into(backend, asked).await;
        match gathered {
            Ok(()) if line_up.contenders.is_empty() => {
                let reasons: Vec<_> = line_up.left_out.iter().map(|row| row.reason.clone()).collect();
                line_up.finish().await?;
                Err(BenchError::Nothing { reasons: reasons.join("; ") }.into())
            }
            Ok(()) => Ok(line_up),
            Err(error) => {
                line_up.finish().await?;
                Err(error)
            }
        }
    }

    async fn gather_into(
        &mut self,
        backend: &Arc<NativeBackend>,
        asked: &[SandboxBenchmark],
    ) -> anyhow::Result<()> {
        let asks = |measure: SandboxBenchmark| asked.is_empty() || asked.contains(&measure);
        if asks(SandboxBenchmark::Create) {
            self.contenders.push(Box::new(FreshSandbox::create(backend)));
        }
        if asks(SandboxBenchmark::CreateNetwork) {
            self.contenders.push(Box::new(FreshSandbox::create_network(backend)));
        }
        if asks(SandboxBenchmark::Bwrap) {
            let bubblewrap = Program::bubblewrap();
            let tried = bubblewrap.try_once();
            self.add_if(SandboxBenchmark::Bwrap, tried.map(|()| bubblewrap));
        }
        if asks(SandboxBenchmark::Cli) {
            let executable = std::env::current_exe().context("failed to find this program")?;
            self.contenders.push(Box::new(Program::menace(&executable)));
        }
        if asks(SandboxBenchmark::Python) {
            self.add_python(backend).await?;
        }
        if asks(SandboxBenchmark::Zygote) {
            self.add_zygote(backend).await?;
        }
        if asks(SandboxBenchmark::Exec) {
            self.contenders.push(Box::new(RunningSandbox::start(backend).await?));
        }
        if asks(SandboxBenchmark::DockerRun) || asks(SandboxBenchmark::DockerExec) {
            self.add_docker(asks(SandboxBenchmark::DockerRun), asks(SandboxBenchmark::DockerExec));
        }
        Ok(())
    }

    async fn add_python(&mut self, backend: &Arc<NativeBackend>) -> anyhow::Result<()> {
        match FreshSandbox::python(backend).await {
            Ok(python) => self.contenders.push(Box::new(python)),
            Err(error) if matches!(error.downcast_ref(), Some(SandboxError::Start { .. })) => {
                self.leave_out(SandboxBenchmark::Python, error.to_string());
            }
            Err(error) => return Err(error),
        }
        Ok(())
    }

    async fn add_zygote(&mut self, backend: &NativeBackend) -> anyhow::Result<()> {
        match ZygoteCalls::start(backend).await {
            Ok(calls) => self.contenders.push(Box::new(calls)),
            Err(error) if matches!(error.downcast_ref(), Some(SandboxError::Start { .. })) => {
                self.leave_out(SandboxBenchmark::Zygote, error.to_string());
            }
            Err(error) => return Err(error),
        }
        Ok(())
    }

    fn add_docker(&mut self, run: bool, exec: bool) {
        let docker = match Docker::find() {
            Ok(docker) => self.docker.insert(docker),
            Err(error) => {
                let asked = [(run, SandboxBenchmark::DockerRun), (exec, SandboxBenchmark::DockerExec)];
                for (_, measure) in asked.into_iter().filter(|(is_asked, _)| *is_asked) {
                    self.leave_out(measure, error.to_string());
                }
                return;
            }
        };
        let (run_row, exec_row) = (docker.run_row(), exec.then(|| docker.exec_row()));
        if run {
            self.contenders.push(Box::new(run_row));
        }
        if let Some(exec_row) = exec_row {
            self.add_if(SandboxBenchmark::DockerExec, exec_row);
        }
    }

    fn add_if(&mut self, measure: SandboxBenchmark, contender: Result<impl Contender + 'static, BenchError>) {
        match contender {
            Ok(contender) => self.contenders.push(Box::new(contender)),
            Err(error) => self.leave_out(measure, error.to_string()),
        }
    }

    fn leave_out(&mut self, measure: SandboxBenchmark, reason: String) {
        self.left_out.push(LeftOut { name: measure.name(), reason });
    }

    /// Ends what the rows kept. One that cannot be ended is no reason to keep the others.
    pub(super) async fn finish(&mut self) -> anyhow::Result<()> {
        let mut result = Ok(());
        for contender in &mut self.contenders {
            result = result.and(contender.finish().await);
        }
        if let Some(docker) = self.docker.take() {
            result = result.and(docker.finish().map_err(Into::into));
        }
        result
    }
}
