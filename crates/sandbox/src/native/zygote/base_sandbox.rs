//! Base sandbox of a zygote: the repository read-only, the harness, and a ready interpreter.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use menace_isolation::channel;
use menace_isolation::root::{SkeletonEntry, TRUSTED};
use menace_model::sandbox::{ExecRequest, SandboxLimits, SandboxSpec, WORKSPACE, WorkspaceContent};
use menace_netstack::MockCertificateAuthority;
use tokio::io::AsyncReadExt;

use super::ZygoteOptions;
use crate::SandboxError;
use crate::native::backend::NativeBackendState;
use crate::native::init_channel::{ChannelSocket, JobAnswers};
use crate::native::launch::SandboxExtras;
use crate::native::network::{TRUST, new_authority};
use crate::native::protocol::{InitRequest, ProgramSpec, SandboxPurpose};
use crate::native::sandbox::NativeSandbox;

/// A file of the harness: its path inside and its content.
macro_rules! file {
    ($name:literal) => {
        (
            concat!("menace_harness/", $name),
            include_str!(concat!("../../../../../harness/menace_harness/", $name)),
        )
    };
}

/// Directory of the harness inside the sandbox.
const HARNESS: &str = "/menace";

/// Files of the harness.
const FILES: [(&str, &str); 22] = [
    file!("__init__.py"),
    file!("batch.py"),
    file!("burst.py"),
    file!("call.py"),
    file!("classify.py"),
    file!("coverage.py"),
    file!("describe.py"),
    file!("examples.py"),
    file!("foreign.py"),
    file!("load.py"),
    file!("locate.py"),
    file!("observe.py"),
    file!("perform.py"),
    file!("metrics_plugin.py"),
    file!("plugin.py"),
    file!("precompiled.py"),
    file!("rehearsal.py"),
    file!("shapes.py"),
    file!("turns.py"),
    file!("values.py"),
    file!("workflow.py"),
    file!("zygote.py"),
];

/// Shared library through which a call enters its sandbox.
const LIBRARY: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/libmenace_isolation.so"));
const LIBRARY_NAME: &str = "libmenace_isolation.so";

/// Python program that makes the harness importable and the working directory not, and starts the zygote.
const START: &str = "import sys; sys.path[:] = ['/menace', *filter(None, sys.path)]; \
                     from menace_harness import zygote; \
                     zygote.main('/menace/libmenace_isolation.so', sys.argv[1:])";

/// Makes the loader resolve all symbols at start instead of in every fork. The interpreter removes the variable.
const BIND_NOW: &str = "LD_BIND_NOW";

/// Makes the library intercept the clock and random bytes. The interpreter removes the variable, too.
const PRELOAD: &str = "LD_PRELOAD";

/// Warm interpreter in a base sandbox. Dropping it ends it and the calls under way.
pub(super) struct BaseSandbox {
    channel: ChannelSocket,
    /// Certificate authority of mocks; all calls trust it.
    pub(super) authority: Arc<MockCertificateAuthority>,
    /// Kept alive, because the answers of a request without a receiver are dropped.
    _answers: JobAnswers,
    sandbox: NativeSandbox,
}

impl BaseSandbox {
    /// Starts an interpreter and waits until it is ready.
    pub(super) async fn start(
        shared: &Arc<NativeBackendState>,
        options: &ZygoteOptions,
    ) -> Result<Self, SandboxError> {
        let python = Path::new(&options.python);
        if python.is_absolute() {
            std::fs::metadata(python)
                .map_err(|source| SandboxError::HostPath { path: python.to_owned(), source })?;
        }
        let authority = Arc::new(new_authority()?);
        let mut extras = extras(shared, options)?;
        extras.trusted = Some(authority.certificate());
        let sandbox = NativeSandbox::create_as(shared, spec(options), extras).await?;
        let (ours, theirs) = channel::pair().map_err(SandboxError::io("open a channel to a zygote"))?;
        let channel = ChannelSocket::new(ours).map_err(SandboxError::io("watch a zygote"))?;
        let (stderr_reader, stderr) = std::io::pipe().map_err(SandboxError::io("open a pipe"))?;
        let null = std::fs::File::options()
            .write(true)
            .open("/dev/null")
            .map_err(SandboxError::io("open /dev/null"))?;
        let request = ExecRequest::default();
        let mut environment = shared.environment.of_command(&sandbox.spec, &request);
        // Only mocks ever answer a call, and loading the system's certificates takes longer than most calls.
        for (name, _) in TRUST {
            environment.insert(name.into(), TRUSTED.into());
        }
        environment.insert(BIND_NOW.into(), "1".into());
        environment.insert(PRELOAD.into(), Path::new(HARNESS).join(LIBRARY_NAME).display().to_string());
        environment.insert("PYTHONHASHSEED".into(), "0".into());
        // Numeric libraries start a thread per core at import, and a fork would not have these threads.
        for library in ["OMP", "OPENBLAS", "MKL", "NUMEXPR", "VECLIB_MAXIMUM"] {
            environment.insert(format!("{library}_NUM_THREADS"), "1".into());
        }
        let program = ProgramSpec {
            command: command(options),
            environment,
            directory: "/".into(),
            cpu_seconds: None,
            alone: true,
            terminal: None,
        };
        let descriptors = [theirs, OwnedFd::from(null), OwnedFd::from(stderr)];
        let answers =
            sandbox.send_request(|job| InitRequest::Run { job, program, once: false }, &descriptors).await?;
        drop(descriptors);
        match channel.receive_bytes().await.map_err(SandboxError::io("receive from a zygote"))? {
            Some(bytes) if bytes.starts_with(b"ready") => {
                if bytes != b"ready" {
                    tracing::warn!(
                        "{}: time and random bytes cannot be pinned, so repeated calls may differ",
                        options.python
                    );
                }
                Ok(Self { channel, authority, _answers: answers, sandbox })
            }
            _ => Err(failed_to_start(options, stderr_reader).await),
        }
    }

    /// Whether this process runs as real root.
    pub(super) fn is_privileged(&self) -> bool {
        self.sandbox.shared.privileged
    }

    /// Starts a slot supervisor. An error means that the interpreter is dead.
    pub(super) async fn start_slot_supervisor(&self, descriptors: &[BorrowedFd<'_>]) -> std::io::Result<()> {
        self.channel.send_bytes(b"slot", descriptors).await
    }
}

fn command(options: &ZygoteOptions) -> Vec<String> {
    // Isolated mode (-I) would ignore PYTHONHASHSEED, which makes hashes reproducible.
    let python =
        in_workspace(options).map_or_else(|| options.python.clone(), |path| path.display().to_string());
    let start = [python.as_str(), "-s", "-c", START];
    let roots = options.roots.iter().map(|root| format!("{WORKSPACE}/{root}"));
    start.into_iter().map(str::to_owned).chain(roots).chain(options.warm.iter().cloned()).collect()
}

/// Path inside of an interpreter that belongs to the repository.
fn in_workspace(options: &ZygoteOptions) -> Option<PathBuf> {
    let repository = std::path::absolute(&options.repository).ok()?;
    let inside = Path::new(&options.python).strip_prefix(repository).ok()?;
    Some(Path::new(WORKSPACE).join(inside))
}

fn spec(options: &ZygoteOptions) -> SandboxSpec {
    SandboxSpec {
        workspace: WorkspaceContent::CopyOnWrite(options.repository.clone()),
        // The base sandbox holds all concurrent calls beside itself; each has limits of its own.
        limits: SandboxLimits {
            pids: Some(options.limits.effective_pids().saturating_mul(options.parallel as u64 + 1)),
            memory: None,
            open_files: options.limits.open_files.max(256),
            ..SandboxLimits::default()
        },
        ..SandboxSpec::default()
    }
}

fn extras(shared: &NativeBackendState, options: &ZygoteOptions) -> Result<SandboxExtras, SandboxError> {
    let library = library_file(shared.registration.directory())
        .map_err(SandboxError::io("write the library of the zygote"))?;
    let mut entries: Vec<SkeletonEntry> = FILES
        .iter()
        .map(|(name, content)| SkeletonEntry::File {
            target: Path::new(HARNESS).join(name),
            content: (*content).to_owned(),
        })
        .collect();
    entries.push(SkeletonEntry::Bind { source: library, target: Path::new(HARNESS).join(LIBRARY_NAME) });
    let modules: String = options.modules.iter().map(|path| format!("{WORKSPACE}/{path}\n")).collect();
    entries.push(SkeletonEntry::File { target: Path::new(HARNESS).join("modules"), content: modules });
    let interpreter = Some(PathBuf::from(&options.python)).filter(|path| path.is_absolute());
    // A virtual environment in the repository is in the workspace; its base interpreter may be elsewhere.
    let interpreter = match in_workspace(options) {
        Some(_) => interpreter.and_then(|path| path.canonicalize().ok()),
        None => interpreter,
    };
    Ok(SandboxExtras { kind: SandboxPurpose::Base, interpreter, entries, trusted: None })
}

fn library_file(directory: &Path) -> std::io::Result<PathBuf> {
    let path = directory.join(LIBRARY_NAME);
    if !path.exists() {
        let new = directory.join(format!("{LIBRARY_NAME}.new"));
        std::fs::write(&new, LIBRARY)?;
        std::fs::set_permissions(&new, std::fs::Permissions::from_mode(0o755))?;
        std::fs::rename(&new, &path)?;
    }
    Ok(path)
}

async fn failed_to_start(options: &ZygoteOptions, stderr_reader: std::io::PipeReader) -> SandboxError {
    let mut text = String::new();
    let fd = OwnedFd::from(stderr_reader);
    let read = rustix::fs::fcntl_setfl(fd.as_fd(), rustix::fs::OFlags::NONBLOCK)
        .map_err(std::io::Error::from)
        .and_then(|()| tokio::net::unix::pipe::Receiver::from_owned_fd_unchecked(fd));
    if let Ok(mut pipe) = read {
        // The text is only for the error message, so a failed read is ignored.
        drop(pipe.read_to_string(&mut text).await);
    }
    let last = text.lines().last().unwrap_or("no output on stderr").to_owned();
    SandboxError::Start { program: options.python.clone(), source: std::io::Error::other(last) }
}
