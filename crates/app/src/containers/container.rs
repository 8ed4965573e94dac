//! Runs one preset in one container: creates it, copies menace into it, runs menace, reads the results and removes it.
//! Retries when the engine is unavailable.

use std::collections::BTreeMap;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use menace_model::sandbox::{
    ExecOutcome, ExecRequest, SandboxLimits, SandboxSpec, SandboxUser, WorkspaceContent,
};
use menace_sandbox::docker::{DockerBackend, DockerOptions};
use menace_sandbox::{Backend, Sandbox, SandboxError};
use menace_tracker::history::{RoiHistory, read};
use tokio::sync::watch;

use super::error::ContainerError;
use super::job::{CONTAINER_DIRECTORY, PresetContainerJob};
use super::report::PresetReport;
use crate::calling::{container_user, docker_options};
use crate::measure::absolute;
use crate::{AppContext, AppError};

/// Number of attempts for a preset, and the delay before the second one; the delay doubles after each attempt.
const ATTEMPTS: u32 = 4;
const FIRST_DELAY: Duration = Duration::from_millis(500);

/// Maximum size of the report and of each file that is read from a container.
const LARGEST: u64 = 256 << 20;

/// Number of characters of the stderr of menace that an error shows.
const STDERR_TAIL: usize = 2000;

/// Runs presets in containers, one after the other.
pub(super) struct PresetContainers {
    options: DockerOptions,
    /// Connection to the engine, once it has answered.
    backend: Option<DockerBackend>,
    repository: PathBuf,
    user: SandboxUser,
    variables: BTreeMap<String, String>,
    /// Archive of the menace binary.
    program: tempfile::NamedTempFile,
    stop: watch::Receiver<bool>,
}

/// Results of a container.
pub(super) struct ContainerMeasurement {
    /// Report that menace printed.
    pub(super) report: serde_json::Value,
    /// Files that menace wrote, by name.
    pub(super) files: BTreeMap<String, Vec<u8>>,
    /// Exit status and resource usage.
    pub(super) outcome: ExecOutcome,
}

impl ContainerMeasurement {
    /// History of the container; `None` if menace wrote none, because only some modules were called.
    pub(super) fn history(&self) -> Result<Option<RoiHistory>, ContainerError> {
        let Some(text) = self.files.get("roi_history.json") else { return Ok(None) };
        match read(&String::from_utf8_lossy(text)) {
            Ok(history) => Ok(Some(history)),
            Err(error) => Err(ContainerError::History(error.to_string())),
        }
    }
}

impl PresetContainers {
    pub(super) fn new(
        context: &AppContext,
        repository: &Path,
        stop: watch::Receiver<bool>,
    ) -> Result<Self, AppError> {
        let docker = &context.settings().docker;
        Ok(Self {
            options: docker_options(docker, &owner(&context.data_directory())?),
            backend: None,
            repository: repository.to_owned(),
            user: container_user(docker)?.unwrap_or_default(),
            variables: container_variables(std::env::vars()),
            program: packed_program()?,
            stop,
        })
    }

    pub(super) fn image(&self) -> &str {
        &self.options.image
    }

    /// Measures a preset, and records the number of attempts in the report.
    pub(super) async fn run(
        &mut self,
        job: &PresetContainerJob,
        report: &mut PresetReport,
    ) -> Result<ContainerMeasurement, ContainerError> {
        let began = Instant::now();
        let mut wait = FIRST_DELAY;
        loop {
            report.attempts += 1;
            let tried = self.attempt(job).await;
            report.seconds = began.elapsed().as_secs_f64();
            let Err(error) = tried else { return tried };
            if !error.is_transient() || report.attempts >= ATTEMPTS {
                return Err(error);
            }
            tracing::warn!("retrying preset {} in {wait:?}: {error}", job.title());
            self.backend = None;
            tokio::select! {
                () = tokio::time::sleep(wait) => {}
                () = stopped(&self.stop) => return Err(ContainerError::Interrupted),
            }
            wait *= 2;
        }
    }

    async fn attempt(&mut self, job: &PresetContainerJob) -> Result<ContainerMeasurement, ContainerError> {
        let backend = match self.backend.take() {
            Some(backend) => backend,
            None => DockerBackend::connect(&self.options).await?,
        };
        let backend = self.backend.insert(backend);
        let sandbox = backend.create(spec(job, &self.repository, self.user, &self.variables)).await?;
        let seen = tokio::select! {
            seen = run_in_container(&*sandbox, job, self.program.path(), &self.options.image) => seen,
            () = stopped(&self.stop) => Err(ContainerError::Interrupted),
        };
        let destroyed = sandbox.destroy().await;
        let seen = seen?;
        destroyed?;
        Ok(seen)
    }
}

/// Waits until the user interrupts the run.
async fn stopped(stop: &watch::Receiver<bool>) {
    let mut stop = stop.clone();
    if stop.wait_for(|stop| *stop).await.is_err() {
        std::future::pending::<()>().await;
    }
}

/// Number of CPUs of this machine, if known.
pub(super) fn cores() -> Option<f64> {
    std::thread::available_parallelism().ok().map(|cores| cores.get() as f64)
}

fn spec(
    job: &PresetContainerJob,
    repository: &Path,
    user: SandboxUser,
    variables: &BTreeMap<String, String>,
) -> SandboxSpec {
    let cores = cores();
    let most = |cpus: f64| cores.map_or(cpus, |cores| cpus.min(cores));
    SandboxSpec {
        workspace: WorkspaceContent::CopyOnWrite(repository.to_owned()),
        environment: variables.clone(),
        limits: SandboxLimits {
            // Without a limit in the preset, menace may use all memory and CPUs of the machine.
            memory: job.memory.or_else(total_memory),
            cpus: job.cpus.map(most).or(cores),
            pids: Some(MAX_PROCESSES),
            output: LARGEST,
            ..SandboxLimits::default()
        },
        user,
        labels: [("preset".to_owned(), job.title())].into(),
        isolates_others: true,
        ..SandboxSpec::default()
    }
}

/// Process limit: enough for menace, its warm sandboxes, and bursts of calls in them.
const MAX_PROCESSES: u64 = 4096;

fn total_memory() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find(|line| line.starts_with("MemTotal:"))?;
    line.split_whitespace().nth(1)?.parse::<u64>().ok().map(|kib| kib << 10)
}

/// Runs menace in a container and reads the files that it wrote.
async fn run_in_container(
    sandbox: &dyn Sandbox,
    job: &PresetContainerJob,
    program: &Path,
    image: &str,
) -> Result<ContainerMeasurement, ContainerError> {
    put(sandbox, program, job).await?;
    check_program(sandbox, image).await?;
    check_python(sandbox, image).await?;
    let request =
        ExecRequest { directory: Some(CONTAINER_DIRECTORY.into()), ..ExecRequest::new(job.command()) };
    let mut outcome = sandbox.exec(request).await?;
    let printed = std::mem::take(&mut outcome.stdout);
    if !matches!(outcome.exit_code, Some(0 | 1)) || printed.is_empty() {
        return Err(exit_error(&outcome));
    }
    let report = serde_json::from_str(&printed).map_err(ContainerError::Report)?;
    let mut files = written(sandbox).await?;
    files.insert("report.json".to_owned(), printed.into_bytes());
    Ok(ContainerMeasurement { report, files, outcome })
}

async fn put(sandbox: &dyn Sandbox, program: &Path, job: &PresetContainerJob) -> Result<(), ContainerError> {
    let mut archive = tokio::fs::File::open(program).await.map_err(host("read the menace binary"))?;
    sandbox.put(Path::new(CONTAINER_DIRECTORY), &mut archive).await?;
    let preset = serde_json::json!([job.inner_preset]).to_string();
    let archive = packed("preset.json", 0o644, preset.len() as u64, preset.as_bytes(), Vec::new());
    let archive = archive.map_err(host("archive a preset"))?;
    sandbox.put(Path::new(CONTAINER_DIRECTORY), &mut archive.as_slice()).await?;
    Ok(())
}

async fn check_program(sandbox: &dyn Sandbox, image: &str) -> Result<(), ContainerError> {
    let wrong = |reason: String| ContainerError::Program { image: image.to_owned(), reason };
    match sandbox.exec(ExecRequest::new([format!("{CONTAINER_DIRECTORY}/menace"), "--version".into()])).await
    {
        Ok(outcome) if outcome.exit_code == Some(0) => Ok(()),
        Ok(outcome) => Err(wrong(last_lines(&outcome.stderr))),
        // The file exists, so it is its loader that is missing.
        Err(SandboxError::Start { source, .. }) => Err(wrong(format!("failed to start: {source}"))),
        Err(error) => Err(error.into()),
    }
}

async fn check_python(sandbox: &dyn Sandbox, image: &str) -> Result<(), ContainerError> {
    let wrong = |reason: String| ContainerError::Python { image: image.to_owned(), reason };
    match sandbox.exec(ExecRequest::new(["python3", "--version"])).await {
        Ok(outcome) if outcome.exit_code == Some(0) => Ok(()),
        Ok(outcome) => Err(wrong(last_lines(&outcome.stderr))),
        Err(SandboxError::Start { source, .. }) => Err(wrong(source.to_string())),
        Err(error) => Err(error.into()),
    }
}

fn exit_error(outcome: &ExecOutcome) -> ContainerError {
    let end = match (outcome.exit_code, outcome.signal) {
        _ if outcome.oom => "out of memory".to_owned(),
        (Some(code), _) => format!("exit code {code}"),
        (None, Some(signal)) => format!("signal {signal}"),
        (None, None) => "neither exit code nor signal".to_owned(),
    };
    ContainerError::Ended { end, stderr: last_lines(&outcome.stderr) }
}

/// The last characters of a text.
fn last_lines(text: &str) -> String {
    let text = text.trim();
    let start = text.char_indices().rev().nth(STDERR_TAIL).map_or(0, |(index, _)| index);
    text.get(start..).unwrap_or_default().to_owned()
}

/// Files that menace wrote, without subdirectories. Paths in the archive do not decide where they are stored here.
async fn written(sandbox: &dyn Sandbox) -> Result<BTreeMap<String, Vec<u8>>, ContainerError> {
    let mut archive = Vec::new();
    sandbox.get(Path::new(&format!("{CONTAINER_DIRECTORY}/data")), &mut archive).await?;
    unpacked(&archive).map_err(host("read the files of the container"))
}

fn unpacked(archive: &[u8]) -> io::Result<BTreeMap<String, Vec<u8>>> {
    let mut files = BTreeMap::new();
    for entry in tar::Archive::new(archive).entries()? {
        let entry = entry?;
        let path = entry.path()?.into_owned();
        let name = path.strip_prefix("data").ok().and_then(Path::to_str).unwrap_or_default().to_owned();
        let is_plain = !name.is_empty() && !name.contains('/') && !name.starts_with('.');
        if is_plain && entry.size() > LARGEST {
            tracing::warn!("skipping {name} of the container: {} bytes is too large", entry.size());
        } else if is_plain && entry.header().entry_type().is_file() {
            let mut content = Vec::new();
            entry.take(LARGEST).read_to_end(&mut content)?;
            files.insert(name, content);
        }
    }
    Ok(files)
}

/// Archive of the menace binary.
fn packed_program() -> Result<tempfile::NamedTempFile, AppError> {
    let pack = || {
        let program = std::fs::File::open(std::env::current_exe()?)?;
        let length = program.metadata()?.len();
        let file = tempfile::NamedTempFile::new()?;
        packed("menace", 0o755, length, program, file.reopen()?)?;
        Ok::<_, io::Error>(file)
    };
    pack().map_err(|source| AppError::Host { action: "archive the menace binary for containers", source })
}

fn packed<W: io::Write>(name: &str, mode: u32, length: u64, content: impl Read, to: W) -> io::Result<W> {
    let mut builder = tar::Builder::new(to);
    let mut header = tar::Header::new_gnu();
    header.set_mode(mode);
    header.set_size(length);
    builder.append_data(&mut header, name, content)?;
    builder.into_inner()
}

fn host(action: &'static str) -> impl Fn(io::Error) -> ContainerError {
    move |source| ContainerError::Host { action, source }
}

/// Owner label of the containers: runs with this data directory. Containers of the service have another owner.
fn owner(data: &Path) -> Result<String, AppError> {
    let path = absolute(data)?;
    let hash = blake3::hash(path.as_os_str().as_encoded_bytes()).to_hex();
    Ok(format!("run-{}", &hash[..16]))
}

/// Suffixes of settings with paths on this machine, which do not exist in the container.
const PATH_SUFFIXES: [&str; 7] = ["_DIR", "_DIRS", "_FILE", "_PATH", "_DB", "_YAML", "_LOG"];

/// Environment variables with settings that also apply in the container.
fn container_variables(variables: impl Iterator<Item = (String, String)>) -> BTreeMap<String, String> {
    let is_ours = |name: &str| name.starts_with("SANDBOX_") || name.starts_with("ROI_");
    let is_carried = |(name, _): &(String, String)| {
        is_ours(name)
            && !PATH_SUFFIXES.iter().any(|end| name.ends_with(end))
            && !name.starts_with("SANDBOX_DOCKER")
            && name != "SANDBOX_ENV_PRESETS"
    };
    let own =
        [("HOME".to_owned(), CONTAINER_DIRECTORY.to_owned()), ("SANDBOX_DOCKER".to_owned(), "0".to_owned())];
    variables.filter(is_carried).chain(own).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_passed_on_except_for_paths_and_secrets() {
        let variables = [
            ("SANDBOX_STUB_STRATEGY", "hostile"),
            ("SANDBOX_DATA_DIR", "/here"),
            ("SANDBOX_ENV_PRESETS", "[]"),
            ("SANDBOX_DOCKER", "1"),
            ("OPENAI_API_KEY", "secret"),
        ];
        let carried = container_variables(
            variables.map(|(name, value)| (name.to_owned(), value.to_owned())).into_iter(),
        );
        let names: Vec<&str> = carried.keys().map(String::as_str).collect();
        assert_eq!(names, ["HOME", "SANDBOX_DOCKER", "SANDBOX_STUB_STRATEGY"]);
        assert_eq!(carried["SANDBOX_DOCKER"], "0");
    }

    #[test]
    fn only_regular_files_are_read() {
        let mut builder = tar::Builder::new(Vec::new());
        for name in ["data/roi_history.json", "data/below/x", "other", "data/.hidden"] {
            let mut header = tar::Header::new_gnu();
            header.set_size(2);
            builder.append_data(&mut header, name, &b"{}"[..]).unwrap();
        }
        let mut link = tar::Header::new_gnu();
        link.set_entry_type(tar::EntryType::Symlink);
        link.set_size(0);
        builder.append_link(&mut link, "data/link", "/etc/passwd").unwrap();
        let files = unpacked(&builder.into_inner().unwrap()).unwrap();
        assert_eq!(files.keys().collect::<Vec<_>>(), ["roi_history.json"]);
    }
}
