//! The native backend: namespaces of this kernel, made by a launcher.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;
use menace_model::sandbox::{
    Capabilities, Controller, ExecOutcome, ExecRequest, PauseMethod, SandboxSpec, User,
};

use rustix::fs::Access;

use super::cgroup::{Hierarchies, OwnerGroup, Record, Sources};
use super::handle::Launcher;
use super::host_view::{Host, host_view};
use super::launch::HOST_NAME;
use super::registry::Registration;
use super::sandbox::NativeSandbox;
use crate::environment::BaseEnvironment;
use crate::{Backend, Sandbox, SandboxError, Snapshot};

/// How a native backend is started.
#[derive(Debug, Clone)]
pub struct NativeOptions {
    /// The binary `menace`, which is started as the launcher.
    pub executable: PathBuf,
    /// Where it is written down what is alive. `None` means the usual place of this user.
    pub runtime_directory: Option<PathBuf>,
}

impl Default for NativeOptions {
    fn default() -> Self {
        Self { executable: PathBuf::from("/proc/self/exe"), runtime_directory: None }
    }
}

/// The native backend. Its sandboxes end with it.
pub struct NativeBackend {
    shared: Arc<Shared>,
}

/// What all sandboxes of a backend share.
pub(super) struct Shared {
    pub(super) launcher: Launcher,
    pub(super) hierarchies: Hierarchies,
    pub(super) groups: OwnerGroup,
    pub(super) environment: BaseEnvironment,
    pub(super) privileged: bool,
    // Dropped last: as long as it is there, nobody takes what is ours for left over.
    pub(super) registration: Arc<Registration>,
}

impl Shared {
    /// What keeps each limit that can be kept. Where no control group limits processes, the kernel's limit for the user
    /// of a namespace does, which is the user of one sandbox.
    pub(super) fn controllers(&self) -> BTreeMap<Controller, String> {
        let mut controllers = self.hierarchies.controllers();
        controllers.entry(Controller::Pids).or_insert_with(|| "rlimit".into());
        controllers
    }
}

impl NativeBackend {
    /// Removes what killed predecessors left, starts a launcher and prepares what sandboxes share.
    pub async fn start(options: &NativeOptions) -> Result<Self, SandboxError> {
        let hierarchies = Hierarchies::discover(&Sources::host())?;
        let registration = Arc::new(Registration::new(options.runtime_directory.as_deref(), &hierarchies)?);
        // It starts while this process looks at the host.
        let launcher = Launcher::start(&options.executable, &registration)?;
        let groups = hierarchies
            .owner_group(registration.name(), Some(Arc::clone(&registration) as Arc<dyn Record>))?;
        let view = host_view(&Host::of_this_process(User::default(), HOST_NAME.into()));
        let privileged = rustix::process::geteuid().is_root();
        launcher.prepare(view.entries, privileged).await?;
        let environment = BaseEnvironment::new(&view.path, &view.environment);
        let shared = Shared { launcher, hierarchies, groups, environment, privileged, registration };
        Ok(Self { shared: Arc::new(shared) })
    }

    /// A directory for files that shall not outlive this process: it goes with the backend, and if the process is killed
    /// the next one removes it.
    pub fn directory(&self) -> &Path {
        self.shared.registration.directory()
    }

    /// For what is made with this backend and is no sandbox.
    pub(super) fn shared(&self) -> Arc<Shared> {
        Arc::clone(&self.shared)
    }
}

/// Whether the device can be opened of which interfaces are made. Some hosts leave that to root.
pub(super) fn can_have_networks() -> bool {
    rustix::fs::access("/dev/net/tun", Access::READ_OK | Access::WRITE_OK).is_ok()
}

#[async_trait]
impl Backend for NativeBackend {
    fn capabilities(&self) -> Capabilities {
        let controllers = self.shared.controllers();
        let has_freezer = controllers.contains_key(&Controller::Freezer);
        let controllers_can_change = controllers.contains_key(&Controller::Memory);
        Capabilities {
            backend: "native".into(),
            isolates: true,
            pause: Some(if has_freezer { PauseMethod::Freezer } else { PauseMethod::Signals }),
            controllers,
            snapshot: true,
            reports_denied: true,
            any_user: true,
            read_write: true,
            faults: true,
            network: can_have_networks(),
            terminal: true,
            ports: true,
            live_limits: controllers_can_change,
            watch: true,
            images: false,
            outlives: false,
            ends_at_once: true,
        }
    }

    async fn create(&self, spec: SandboxSpec) -> Result<Arc<dyn Sandbox>, SandboxError> {
        Ok(Arc::new(NativeSandbox::create(&self.shared, spec).await?))
    }

    async fn run(&self, spec: SandboxSpec, request: ExecRequest) -> Result<ExecOutcome, SandboxError> {
        NativeSandbox::run(&self.shared, spec, request).await
    }

    async fn fork(&self, snapshot: &Snapshot) -> Result<Arc<dyn Sandbox>, SandboxError> {
        let sandbox = NativeSandbox::create(&self.shared, snapshot.spec.clone()).await?;
        sandbox.restore(snapshot).await?;
        Ok(Arc::new(sandbox))
    }
}
