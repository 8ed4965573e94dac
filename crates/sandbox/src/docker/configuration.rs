//! Translation of a spec into the engine's container configuration.

use std::collections::HashMap;

use bollard::models::{
    ContainerCreateBody, HostConfig, HostConfigCgroupnsModeEnum, HostConfigLogConfig, Mount,
    MountBindOptions, MountBindOptionsPropagationEnum, MountType, MountVolumeOptions, ResourcesUlimits,
};
use menace_guest::protocol::{FIRST, PLACE};
use menace_model::sandbox::{
    MountAccess, SandboxLimits, SandboxSpec, SandboxUser, WORKSPACE, WorkspaceContent,
};

/// Directory of the guest program in the container.
pub(super) const OURS: &str = "/.menace";

/// Volumes of a container, outside of its own layer.
pub(super) struct ContainerVolumes {
    /// Volume for `/workspace`.
    pub(super) workspace: Option<String>,
    /// Volume for the guest program, if the layer is read-only.
    pub(super) ours: Option<String>,
}

impl ContainerVolumes {
    /// Names of the volumes that a sandbox needs.
    pub(super) fn of(spec: &SandboxSpec, id: &str) -> Self {
        let has_volume =
            !matches!(spec.workspace, WorkspaceContent::ReadWrite(_)) && spec.limits.disk.is_none();
        Self {
            workspace: has_volume.then(|| format!("{id}-workspace")),
            ours: is_read_only(spec).then(|| format!("{id}-ours")),
        }
    }

    pub(super) fn names(&self) -> impl Iterator<Item = &String> {
        self.workspace.iter().chain(&self.ours)
    }

    pub(super) fn mounts(&self, access: MountAccess) -> Vec<Mount> {
        let workspace = self.workspace.as_ref().map(|name| volume(name, WORKSPACE, MountAccess::ReadWrite));
        let ours = self.ours.as_ref().map(|name| volume(name, OURS, access));
        workspace.into_iter().chain(ours).collect()
    }
}

/// Whether the root is read-only. The engine cannot limit writes to a container's layer, so a disk limit makes the
/// layer read-only.
pub(super) fn is_read_only(spec: &SandboxSpec) -> bool {
    spec.read_only_root || spec.limits.disk.is_some()
}

/// User in the engine's notation.
pub(super) fn user_text(user: SandboxUser) -> String {
    format!("{}:{}", user.uid, user.gid)
}

/// Configuration of a sandbox's container. `copied` is the number of bytes copied into it from the host.
pub(super) fn container(
    spec: &SandboxSpec,
    image: &str,
    volumes: &ContainerVolumes,
    labels: HashMap<String, String>,
    copied: u64,
) -> ContainerCreateBody {
    ContainerCreateBody {
        image: Some(image.to_owned()),
        hostname: Some("sandbox".into()),
        user: Some(user_text(spec.user)),
        entrypoint: Some(vec![PLACE.into(), FIRST.into()]),
        cmd: Some(Vec::new()),
        working_dir: Some("/".into()),
        labels: Some(labels),
        host_config: Some(host_config(spec, volumes, copied)),
        ..ContainerCreateBody::default()
    }
}

fn host_config(spec: &SandboxSpec, volumes: &ContainerVolumes, copied: u64) -> HostConfig {
    let limits = &spec.limits;
    let memory = i64::try_from(limits.effective_memory()).ok();
    HostConfig {
        memory,
        // The same limit for memory plus swap means no swap.
        memory_swap: memory,
        nano_cpus: limits.cpus.map(nano_cpus),
        pids_limit: i64::try_from(limits.effective_pids() + OUR_PROCESSES).ok(),
        ulimits: Some(vec![
            ulimit("nofile", limits.open_files),
            // With 0 the kernel would still start a core dump handler of the host; with 1 it does not.
            ulimit("core", 1),
        ]),
        network_mode: Some("none".into()),
        // By default an engine lets unprivileged users bind privileged ports.
        sysctls: Some(HashMap::from([("net.ipv4.ip_unprivileged_port_start".into(), "1024".into())])),
        ipc_mode: Some("private".into()),
        cgroupns_mode: Some(HostConfigCgroupnsModeEnum::PRIVATE),
        cap_drop: Some(vec!["ALL".into()]),
        security_opt: Some(security(spec)),
        masked_paths: spec.isolates_others.then(Vec::new),
        readonly_paths: spec.isolates_others.then(Vec::new),
        readonly_rootfs: Some(is_read_only(spec)),
        tmpfs: is_read_only(spec).then(|| memory_disks(spec, copied)),
        mounts: Some(mounts(spec, volumes)),
        // The guest's init process reaps orphans.
        init: Some(false),
        // The init process prints nothing.
        log_config: Some(HostConfigLogConfig { typ: Some("none".into()), config: None }),
        ..HostConfig::default()
    }
}

/// Security options. By default the engine adds its own seccomp profile, which denies new namespaces and mounts to
/// processes without capabilities. The kernel mounts a new /proc only for processes that see all of theirs, so nothing
/// of /proc is masked either (docs/design/019).
fn security(spec: &SandboxSpec) -> Vec<String> {
    let words = ["no-new-privileges", "seccomp=unconfined", "apparmor=unconfined"];
    let used = if spec.isolates_others { &words[..] } else { &words[..1] };
    used.iter().map(|word| (*word).to_owned()).collect()
}

/// Processes of menace in a container: the init process and the leader of a command do not count.
pub(super) const OUR_PROCESSES: u64 = 2;

/// CPU share in the engine's unit.
pub(super) fn nano_cpus(cpus: f64) -> i64 {
    #[expect(clippy::cast_possible_truncation, reason = "the number of processors was checked and is small")]
    {
        (cpus * 1e9) as i64
    }
}

/// Tmpfs mounts whose sizes add up to the disk limit: engines have no other quota that works everywhere.
fn memory_disks(spec: &SandboxSpec, copied: u64) -> HashMap<String, String> {
    let SandboxUser { uid, gid } = spec.user;
    let disk = spec.limits.disk.unwrap_or_else(|| spec.limits.effective_disk());
    let options = |size: u64, ownership: &str| {
        // An empty file takes kernel memory that no byte limit counts.
        format!("rw,exec,nosuid,nodev,size={size},nr_inodes={},{ownership}", size / 1024)
    };
    let shared = options(disk / 8, "mode=1777");
    let mut disks = HashMap::from([("/dev/shm".to_owned(), shared.clone())]);
    if spec.limits.disk.is_none() {
        disks.insert("/tmp".to_owned(), options(disk, "mode=1777"));
        return disks;
    }
    disks.insert("/tmp".to_owned(), shared);
    if !matches!(spec.workspace, WorkspaceContent::ReadWrite(_)) {
        let size = disk - disk / 4 + copied;
        disks.insert(WORKSPACE.to_owned(), options(size, &format!("mode=755,uid={uid},gid={gid}")));
    }
    disks
}

fn mounts(spec: &SandboxSpec, volumes: &ContainerVolumes) -> Vec<Mount> {
    let mut mounts = volumes.mounts(MountAccess::ReadOnly);
    if let WorkspaceContent::ReadWrite(directory) = &spec.workspace {
        mounts.push(bind(&directory.to_string_lossy(), WORKSPACE, MountAccess::ReadWrite));
    }
    mounts.extend(
        spec.mounts.iter().map(|mount| {
            bind(&mount.source.to_string_lossy(), &mount.target.to_string_lossy(), mount.access)
        }),
    );
    mounts
}

fn volume(name: &str, target: &str, access: MountAccess) -> Mount {
    Mount {
        typ: Some(MountType::VOLUME),
        source: Some(name.to_owned()),
        target: Some(target.to_owned()),
        read_only: Some(access == MountAccess::ReadOnly),
        // Files of the image at this path must not be copied into the volume.
        volume_options: Some(MountVolumeOptions { no_copy: Some(true), ..MountVolumeOptions::default() }),
        ..Mount::default()
    }
}

fn bind(source: &str, target: &str, access: MountAccess) -> Mount {
    Mount {
        typ: Some(MountType::BIND),
        source: Some(source.to_owned()),
        target: Some(target.to_owned()),
        read_only: Some(access == MountAccess::ReadOnly),
        bind_options: Some(MountBindOptions {
            propagation: Some(MountBindOptionsPropagationEnum::PRIVATE),
            // Submounts would stay writable.
            non_recursive: Some(true),
            ..MountBindOptions::default()
        }),
        ..Mount::default()
    }
}

fn ulimit(name: &str, value: u64) -> ResourcesUlimits {
    let value = i64::try_from(value).ok();
    ResourcesUlimits { name: Some(name.into()), soft: value, hard: value }
}

/// Properties that cannot be enforced and were not requested.
pub(super) fn unenforced_properties(limits: &SandboxLimits) -> Vec<String> {
    if limits.disk.is_some() {
        return Vec::new();
    }
    vec!["limit the bytes of files: the engine has no quota, so only a requested limit is enforced".into()]
}
