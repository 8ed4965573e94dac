//! Native backend: namespaces of this kernel, created by a launcher process.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;
use menace_model::sandbox::{
    BackendCapabilities, ExecOutcome, ExecRequest, PauseMethod, ResourceController, SandboxSpec, SandboxUser,
};

use rustix::fs::Access;

use super::cgroup::{CgroupHierarchies, CgroupRecord, CgroupSources, OwnerCgroup};
use super::host_view::{HostDescription, host_view};
use super::launch::HOST_NAME;
use super::launcher_handle::Launcher;
use super::registry::BackendRegistration;
use super::sandbox::NativeSandbox;
use crate::environment::BaseEnvironment;
use crate::{Backend, Sandbox, SandboxError, SandboxSnapshot};

/// Options for starting a native backend.
#[derive(Debug, Clone)]
pub struct NativeOptions {
    /// Path of the `menace` binary, which is started as the launcher.
    pub executable: PathBuf,
    /// Directory of the registry of live backends. `None` means the default directory of this user.
    pub runtime_directory: Option<PathBuf>,
}

impl Default for NativeOptions {
    fn default() -> Self {
        Self { executable: PathBuf::from("/proc/self/exe"), runtime_directory: None }
    }
}

/// Native backend. Its sandboxes end with it.
pub struct NativeBackend {
    shared: Arc<NativeBackendState>,
}

/// State that all sandboxes of a backend share.
pub(super) struct NativeBackendState {
    pub(super) launcher: Launcher,
    pub(super) hierarchies: CgroupHierarchies,
    pub(super) groups: OwnerCgroup,
    pub(super) environment: BaseEnvironment,
    pub(super) privileged: bool,
    // Dropped last: while it exists, no other process treats this backend's resources as stale.
    pub(super) registration: Arc<BackendRegistration>,
}

impl NativeBackendState {
    /// Enforcement mechanism of each limit that can be enforced. Where no control group limits processes, the kernel's
    /// per-user limit in a user namespace does; each sandbox has a user of its own.
    pub(super) fn controllers(&self) -> BTreeMap<ResourceController, String> {
        let mut controllers = self.hierarchies.controllers();
        controllers.entry(ResourceController::Pids).or_insert_with(|| "rlimit".into());
        controllers
    }
}

impl NativeBackend {
    /// Removes stale resources of killed predecessors, starts a launcher and prepares the state that sandboxes share.
    pub async fn start(options: &NativeOptions) -> Result<Self, SandboxError> {
        let hierarchies = CgroupHierarchies::discover(&CgroupSources::host())?;
        let registration =
            Arc::new(BackendRegistration::new(options.runtime_directory.as_deref(), &hierarchies)?);
        // The launcher starts up while this process inspects the host.
        let launcher = Launcher::start(&options.executable, &registration)?;
        let groups = hierarchies
            .owner_group(registration.name(), Some(Arc::clone(&registration) as Arc<dyn CgroupRecord>))?;
        let view = host_view(&HostDescription::of_this_process(SandboxUser::default(), HOST_NAME.into()));
        let privileged = rustix::process::geteuid().is_root();
        launcher.prepare(view.entries, privileged).await?;
        let environment = BaseEnvironment::new(&view.path, &view.environment);
        let shared =
            NativeBackendState { launcher, hierarchies, groups, environment, privileged, registration };
        Ok(Self { shared: Arc::new(shared) })
    }

    /// Directory for files that must not outlive this process: it is removed with the backend, and if the process is
    /// killed, the next backend removes it.
    pub fn directory(&self) -> &Path {
        self.shared.registration.directory()
    }

    /// Shared state, for users of this backend that are not sandboxes (the zygote).
    pub(super) fn shared(&self) -> Arc<NativeBackendState> {
        Arc::clone(&self.shared)
    }
}

/// Whether `/dev/net/tun` can be opened, which interfaces are created from. Some hosts restrict it to root.
pub(super) fn can_have_networks() -> bool {
    rustix::fs::access("/dev/net/tun", Access::READ_OK | Access::WRITE_OK).is_ok()
}

#[async_trait]
impl Backend for NativeBackend {
    fn capabilities(&self) -> BackendCapabilities {
        let controllers = self.shared.controllers();
        let has_freezer = controllers.contains_key(&ResourceController::Freezer);
        let controllers_can_change = controllers.contains_key(&ResourceController::Memory);
        BackendCapabilities {
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

    async fn fork(&self, snapshot: &SandboxSnapshot) -> Result<Arc<dyn Sandbox>, SandboxError> {
        let sandbox = NativeSandbox::create(&self.shared, snapshot.spec.clone()).await?;
        sandbox.restore(snapshot).await?;
        Ok(Arc::new(sandbox))
    }
}
