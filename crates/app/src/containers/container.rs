//! One preset in one container: made, filled, asked, emptied, removed; and once more if the engine did not play along.

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
use super::job::{PLACE, PresetContainerJob};
use super::report::PresetReport;
use crate::calling::{container_user, docker_options};
use crate::measure::absolute;
use crate::{AppContext, AppError};

/// How often a preset is tried, and how long is waited before the second time; twice as long before each one after that.
const ATTEMPTS: u32 = 4;
const FIRST_WAIT: Duration = Duration::from_millis(500);

/// The largest report and the largest file that are taken out of a container.
const LARGEST: u64 = 256 << 20;

/// How much of what menace said in a container is said again.
const MOST_SAID: usize = 2000;

/// Makes containers, one after the other.
pub(super) struct PresetContainers {
    options: DockerOptions,
    /// Once the engine has answered.
    backend: Option<DockerBackend>,
    repository: PathBuf,
    user: SandboxUser,
    variables: BTreeMap<String, String>,
    /// This program, packed.
    program: tempfile::NamedTempFile,
    stop: watch::Receiver<bool>,
}

/// What a container has measured.
pub(super) struct ContainerMeasurement {
    /// What menace printed.
    pub(super) report: serde_json::Value,
    /// What it wrote, by name.
    pub(super) files: BTreeMap<String, Vec<u8>>,
    /// How it ended, and what it took.
    pub(super) outcome: ExecOutcome,
}

impl ContainerMeasurement {
    /// What it measured, as a history; nothing if it wrote none, because only some modules were called.
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
            variables: carried(std::env::vars()),
            program: packed_program()?,
            stop,
        })
    }

    pub(super) fn image(&self) -> &str {
        &self.options.image
    }

    /// Measures a preset. How often that was tried is in the report.
    pub(super) async fn run(
        &mut self,
        job: &PresetContainerJob,
        report: &mut PresetReport,
    ) -> Result<ContainerMeasurement, ContainerError> {
        let began = Instant::now();
        let mut wait = FIRST_WAIT;
        loop {
            report.attempts += 1;
            let tried = self.attempt(job).await;
            report.seconds = began.elapsed().as_secs_f64();
            let Err(error) = tried else { return tried };
            if !error.may_pass() || report.attempts >= ATTEMPTS {
                return Err(error);
            }
            tracing::warn!("preset {} is tried again in {wait:?}: {error}", job.title());
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
            seen = inside(&*sandbox, job, self.program.path(), &self.options.image) => seen,
            () = stopped(&self.stop) => Err(ContainerError::Interrupted),
        };
        let destroyed = sandbox.destroy().await;
        let seen = seen?;
        destroyed?;
        Ok(seen)
    }
}

/// Waits until somebody wants an end.
async fn stopped(stop: &watch::Receiver<bool>) {
    let mut stop = stop.clone();
    if stop.wait_for(|stop| *stop).await.is_err() {
        std::future::pending::<()>().await;
    }
}

/// Processors of this machine, if that is known.
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
            // Without a limit of the preset, all that the machine has: it is menace that runs there.
            memory: job.memory.or_else(total_memory),
            cpus: job.cpus.map(most).or(cores),
            pids: Some(MOST_PROCESSES),
            output: LARGEST,
            ..SandboxLimits::default()
        },
        user,
        labels: [("preset".to_owned(), job.title())].into(),
        isolates_others: true,
        ..SandboxSpec::default()
    }
}

/// For menace, the sandboxes that it has ready, and bursts of calls in them.
const MOST_PROCESSES: u64 = 4096;

fn total_memory() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find(|line| line.starts_with("MemTotal:"))?;
    line.split_whitespace().nth(1)?.parse::<u64>().ok().map(|kib| kib << 10)
}

/// Runs menace in a container and takes out what it wrote.
async fn inside(
    sandbox: &dyn Sandbox,
    job: &PresetContainerJob,
    program: &Path,
    image: &str,
) -> Result<ContainerMeasurement, ContainerError> {
    put(sandbox, program, job).await?;
    check_program(sandbox, image).await?;
    check_python(sandbox, image).await?;
    let request = ExecRequest { directory: Some(PLACE.into()), ..ExecRequest::new(job.command()) };
    let mut outcome = sandbox.exec(request).await?;
    let printed = std::mem::take(&mut outcome.stdout);
    if !matches!(outcome.exit_code, Some(0 | 1)) || printed.is_empty() {
        return Err(ended(&outcome));
    }
    let report = serde_json::from_str(&printed).map_err(ContainerError::Report)?;
    let mut files = written(sandbox).await?;
    files.insert("report.json".to_owned(), printed.into_bytes());
    Ok(ContainerMeasurement { report, files, outcome })
}

async fn put(sandbox: &dyn Sandbox, program: &Path, job: &PresetContainerJob) -> Result<(), ContainerError> {
    let mut archive = tokio::fs::File::open(program).await.map_err(host("read this program"))?;
    sandbox.put(Path::new(PLACE), &mut archive).await?;
    let preset = serde_json::json!([job.inside]).to_string();
    let archive = packed("preset.json", 0o644, preset.len() as u64, preset.as_bytes(), Vec::new());
    let archive = archive.map_err(host("pack a preset"))?;
    sandbox.put(Path::new(PLACE), &mut archive.as_slice()).await?;
    Ok(())
}

async fn check_program(sandbox: &dyn Sandbox, image: &str) -> Result<(), ContainerError> {
    let wrong = |reason: String| ContainerError::Program { image: image.to_owned(), reason };
    match sandbox.exec(ExecRequest::new([format!("{PLACE}/menace"), "--version".into()])).await {
        Ok(outcome) if outcome.exit_code == Some(0) => Ok(()),
        Ok(outcome) => Err(wrong(last_lines(&outcome.stderr))),
        // The file was put there a moment ago: it is its loader that is missing.
        Err(SandboxError::Start { source, .. }) => Err(wrong(format!("it cannot be started: {source}"))),
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

fn ended(outcome: &ExecOutcome) -> ContainerError {
    let end = match (outcome.exit_code, outcome.signal) {
        _ if outcome.oom => "too little memory".to_owned(),
        (Some(code), _) => format!("exit code {code}"),
        (None, Some(signal)) => format!("signal {signal}"),
        (None, None) => "neither code nor signal".to_owned(),
    };
    ContainerError::Ended { end, said: last_lines(&outcome.stderr) }
}

/// The end of what was said.
fn last_lines(text: &str) -> String {
    let text = text.trim();
    let start = text.char_indices().rev().nth(MOST_SAID).map_or(0, |(index, _)| index);
    text.get(start..).unwrap_or_default().to_owned()
}

/// The files that menace wrote, without directories below. Nothing of an archive decides where it is written here.
async fn written(sandbox: &dyn Sandbox) -> Result<BTreeMap<String, Vec<u8>>, ContainerError> {
    let mut archive = Vec::new();
    sandbox.get(Path::new(&format!("{PLACE}/data")), &mut archive).await?;
    unpacked(&archive).map_err(host("read what a container wrote"))
}

fn unpacked(archive: &[u8]) -> io::Result<BTreeMap<String, Vec<u8>>> {
    let mut files = BTreeMap::new();
    for entry in tar::Archive::new(archive).entries()? {
        let entry = entry?;
        let path = entry.path()?.into_owned();
        let name = path.strip_prefix("data").ok().and_then(Path::to_str).unwrap_or_default().to_owned();
        let is_plain = !name.is_empty() && !name.contains('/') && !name.starts_with('.');
        if is_plain && entry.size() > LARGEST {
            tracing::warn!("{name} of a container has {} bytes and is left there", entry.size());
        } else if is_plain && entry.header().entry_type().is_file() {
            let mut content = Vec::new();
            entry.take(LARGEST).read_to_end(&mut content)?;
            files.insert(name, content);
        }
    }
    Ok(files)
}

/// This program, in an archive.
fn packed_program() -> Result<tempfile::NamedTempFile, AppError> {
    let pack = || {
        let program = std::fs::File::open(std::env::current_exe()?)?;
        let length = program.metadata()?.len();
        let file = tempfile::NamedTempFile::new()?;
        packed("menace", 0o755, length, program, file.reopen()?)?;
        Ok::<_, io::Error>(file)
    };
    pack().map_err(|source| AppError::Host { action: "pack this program for containers", source })
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

/// Whose containers they are: those of runs with this data directory, and none of the service's.
fn owner(data: &Path) -> Result<String, AppError> {
    let place = absolute(data)?;
    let hash = blake3::hash(place.as_os_str().as_encoded_bytes()).to_hex();
    Ok(format!("run-{}", &hash[..16]))
}

/// Endings of names of settings that lead to files of this machine, which are not in the container.
const OF_PLACES: [&str; 7] = ["_DIR", "_DIRS", "_FILE", "_PATH", "_DB", "_YAML", "_LOG"];

/// Settings of this environment that hold inside as well.
fn carried(variables: impl Iterator<Item = (String, String)>) -> BTreeMap<String, String> {
    let is_ours = |name: &str| name.starts_with("SANDBOX_") || name.starts_with("ROI_");
    let is_carried = |(name, _): &(String, String)| {
        is_ours(name)
            && !OF_PLACES.iter().any(|end| name.ends_with(end))
            && !name.starts_with("SANDBOX_DOCKER")
            && name != "SANDBOX_ENV_PRESETS"
    };
    let own = [("HOME".to_owned(), PLACE.to_owned()), ("SANDBOX_DOCKER".to_owned(), "0".to_owned())];
    variables.filter(is_carried).chain(own).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_go_along_and_places_of_this_machine_do_not() {
        let variables = [
            ("SANDBOX_STUB_STRATEGY", "hostile"),
            ("SANDBOX_DATA_DIR", "/here"),
            ("SANDBOX_ENV_PRESETS", "[]"),
            ("SANDBOX_DOCKER", "1"),
            ("OPENAI_API_KEY", "secret"),
        ];
        let carried = carried(variables.map(|(name, value)| (name.to_owned(), value.to_owned())).into_iter());
        let names: Vec<&str> = carried.keys().map(String::as_str).collect();
        assert_eq!(names, ["HOME", "SANDBOX_DOCKER", "SANDBOX_STUB_STRATEGY"]);
        assert_eq!(carried["SANDBOX_DOCKER"], "0");
    }

    #[test]
    fn only_plain_files_are_taken_out() {
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
