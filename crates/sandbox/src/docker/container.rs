//! Creation of the container of a sandbox; on failure nothing is left behind.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use bollard::body_full;
use bollard::models::{ContainerCreateBody, HostConfig, VolumeCreateRequest};
use bollard::query_parameters::{
    CreateContainerOptions, RenameContainerOptions, StartContainerOptions, UploadToContainerOptions,
};
use menace_guest::protocol::PLACE;
use menace_model::sandbox::{MountAccess, SandboxSpec, SandboxUser, WORKSPACE, WorkspaceContent};

use super::adopt::name_of;
use super::configuration::{ContainerVolumes, container, user_text};
use super::engine::{DockerEngine, is_missing};
use super::guest_requests::unpack;
use super::handle::ContainerHandle;
use super::janitor::{ContainerJanitor, remove, remove_container};
use super::labels::labels;
use super::{check, host_files};
use crate::SandboxError;

/// The guest program, which depends on nothing in an image.
const PROGRAM: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/menace-guest"));

/// Factory of containers.
#[derive(Clone)]
pub(super) struct ContainerFactory {
    pub(super) engine: Arc<DockerEngine>,
    pub(super) janitor: Arc<ContainerJanitor>,
    pub(super) owner: String,
    pub(super) default_image: String,
}

/// Image as the engine currently resolves it.
#[derive(Debug, Clone)]
pub(super) struct ResolvedImage {
    pub(super) name: String,
    /// Id that the name resolves to at present; it can change later.
    pub(super) id: String,
    /// Environment variables that the image defines.
    pub(super) environment: Vec<String>,
}

/// Running container.
pub(super) struct StartedContainer {
    pub(super) handle: Arc<ContainerHandle>,
    /// Time at which all host files had been copied into it.
    pub(super) since: Option<i128>,
}

/// Removes a partly created container if its creation is cancelled.
struct ContainerCreationGuard<'a> {
    janitor: &'a ContainerJanitor,
    id: &'a str,
    is_finished: bool,
}

impl Drop for ContainerCreationGuard<'_> {
    fn drop(&mut self) {
        if !self.is_finished {
            self.janitor.remove_later(self.id);
        }
    }
}

impl ContainerFactory {
    /// Makes paths of a spec absolute, rejects unsupported properties, and resolves its image.
    pub(super) async fn check(&self, spec: &mut SandboxSpec) -> Result<ResolvedImage, SandboxError> {
        check::check(spec, &self.engine)?;
        self.image(spec.image.as_deref().unwrap_or(&self.default_image)).await
    }

    /// Creates and starts a container under an id from [`new_id`]. The spec must have been checked.
    pub(super) async fn make(
        &self,
        spec: &SandboxSpec,
        image: &ResolvedImage,
        id: &str,
        pool_label: Option<&str>,
    ) -> Result<StartedContainer, SandboxError> {
        let mut labels = labels(&self.owner, id, spec)?;
        labels.extend(pool_label.map(|label| (label.to_owned(), "1".to_owned())));
        let mut unfinished = ContainerCreationGuard { janitor: &self.janitor, id, is_finished: false };
        let made = self.make_parts(spec, id, &image.name, labels).await;
        if made.is_err() {
            remove(&self.engine.docker, id)
                .await
                .map_err(|error| self.engine.failed("remove a partly created container", error))?;
        }
        unfinished.is_finished = true;
        drop(unfinished);
        made
    }

    /// Resolves the name of an image.
    pub(super) async fn image(&self, name: &str) -> Result<ResolvedImage, SandboxError> {
        match self.engine.docker.inspect_image(name).await {
            Ok(found) => Ok(ResolvedImage {
                name: name.to_owned(),
                id: found.id.unwrap_or_default(),
                environment: found.config.and_then(|config| config.env).unwrap_or_default(),
            }),
            Err(error) if is_missing(&error) => Err(SandboxError::Refused {
                problem: format!("the engine has no image {name}"),
                hint: format!("docker pull {name}, or build docker/Dockerfile.sandbox"),
            }),
            Err(error) => Err(self.engine.failed("find an image", error)),
        }
    }

    async fn make_parts(
        &self,
        spec: &SandboxSpec,
        id: &str,
        image: &str,
        labels: HashMap<String, String>,
    ) -> Result<StartedContainer, SandboxError> {
        let files = match &spec.workspace {
            WorkspaceContent::CopyOnWrite(directory) => {
                Some((directory.clone(), host_files::below(directory)?))
            }
            WorkspaceContent::Empty | WorkspaceContent::ReadWrite(_) => None,
        };
        let copied = files.as_ref().map_or(0, |(_, files)| host_files::size(files));
        let volumes = ContainerVolumes::of(spec, id);
        self.make_volumes(&volumes, &labels).await?;
        if volumes.ours.is_some() {
            self.fill_volumes(spec, image, &volumes, &labels).await?;
        }
        let is_filled = volumes.ours.is_some();
        let body = container(spec, image, &volumes, labels, copied);
        let container = self.create(Some(name_of(id, None)), body).await?;
        if !is_filled {
            self.upload(&container, spec.user).await?;
        }
        self.start(&container).await?;
        let handle = Arc::new(ContainerHandle {
            engine: Arc::clone(&self.engine),
            id: id.to_owned(),
            container,
            user: user_text(spec.user),
            is_destroyed: AtomicBool::new(false),
            is_paused: AtomicBool::new(false),
        });
        let since = match files {
            None => None,
            Some((directory, files)) => Some(self.copy(&handle, directory, files).await?),
        };
        Ok(StartedContainer { handle, since })
    }

    /// Copies the host files of a spec into a running container; returns the time of completion.
    pub(super) async fn fill(
        &self,
        handle: &Arc<ContainerHandle>,
        spec: &SandboxSpec,
    ) -> Result<Option<i128>, SandboxError> {
        let WorkspaceContent::CopyOnWrite(directory) = &spec.workspace else { return Ok(None) };
        let files = host_files::below(directory)?;
        Ok(Some(self.copy(handle, directory.clone(), files).await?))
    }

    async fn make_volumes(
        &self,
        volumes: &ContainerVolumes,
        labels: &HashMap<String, String>,
    ) -> Result<(), SandboxError> {
        for name in volumes.names() {
            let request = VolumeCreateRequest {
                name: Some(name.clone()),
                labels: Some(labels.clone()),
                ..VolumeCreateRequest::default()
            };
            let made = self.engine.docker.create_volume(request).await;
            made.map_err(|error| self.engine.failed("create a volume", error))?;
        }
        Ok(())
    }

    /// Fills the volumes through a second container that never runs, because nothing can be uploaded to a container
    /// with a read-only root.
    async fn fill_volumes(
        &self,
        spec: &SandboxSpec,
        image: &str,
        volumes: &ContainerVolumes,
        labels: &HashMap<String, String>,
    ) -> Result<(), SandboxError> {
        let body = ContainerCreateBody {
            image: Some(image.to_owned()),
            entrypoint: Some(vec![PLACE.into()]),
            labels: Some(labels.clone()),
            host_config: Some(HostConfig {
                mounts: Some(volumes.mounts(MountAccess::ReadWrite)),
                network_mode: Some("none".into()),
                ..HostConfig::default()
            }),
            ..ContainerCreateBody::default()
        };
        let container = self.create(None, body).await?;
        self.upload(&container, spec.user).await?;
        remove_container(&self.engine.docker, &container)
            .await
            .map_err(|error| self.engine.failed("remove a container", error))
    }

    async fn create(&self, name: Option<String>, body: ContainerCreateBody) -> Result<String, SandboxError> {
        let options = CreateContainerOptions { name, ..CreateContainerOptions::default() };
        let made = self.engine.docker.create_container(Some(options), body).await;
        Ok(made.map_err(|error| self.engine.failed("create a container", error))?.id)
    }

    async fn upload(&self, container: &str, user: SandboxUser) -> Result<(), SandboxError> {
        let archive = archive(user).map_err(SandboxError::io("pack the program for containers"))?;
        let options = UploadToContainerOptions { path: "/".into(), ..UploadToContainerOptions::default() };
        let body = body_full(archive.into());
        let put = self.engine.docker.upload_to_container(container, Some(options), body).await;
        put.map_err(|error| self.engine.failed("upload the guest program to a container", error))
    }

    async fn start(&self, container: &str) -> Result<(), SandboxError> {
        let started = self.engine.docker.start_container(container, None::<StartContainerOptions>).await;
        started.map_err(|error| self.engine.failed("start a container", error))
    }

    /// Copies host files and stores the time of completion in the container's name: the name is the only property of a
    /// container that can still be changed, and a process that adopts the sandbox needs the time.
    async fn copy(
        &self,
        handle: &Arc<ContainerHandle>,
        directory: std::path::PathBuf,
        files: Vec<(std::path::PathBuf, std::fs::Metadata)>,
    ) -> Result<i128, SandboxError> {
        let (mut archive, packing) = host_files::packing(directory, files)?;
        let unpacked = unpack(handle, Path::new(WORKSPACE), &mut archive).await;
        drop(archive);
        packing.await.map_err(|error| SandboxError::io("pack a directory")(error.into()))??;
        let since = unpacked?;
        let options = RenameContainerOptions { name: name_of(&handle.id, Some(since)) };
        let renamed = self.engine.docker.rename_container(&handle.container, options).await;
        renamed.map_err(|error| self.engine.failed("rename a container", error))?;
        Ok(since)
    }
}

/// Archive with the guest program and the directories that the user can write to.
fn archive(user: SandboxUser) -> std::io::Result<Vec<u8>> {
    let mut builder = tar::Builder::new(Vec::with_capacity(PROGRAM.len() + (16 << 10)));
    let root = SandboxUser { uid: 0, gid: 0 };
    let mut add = |name: &str, mode: u32, owner: SandboxUser, content: Option<&[u8]>| {
        let mut header = tar::Header::new_gnu();
        header.set_entry_type(if content.is_some() {
            tar::EntryType::Regular
        } else {
            tar::EntryType::Directory
        });
        header.set_mode(mode);
        header.set_uid(owner.uid.into());
        header.set_gid(owner.gid.into());
        header.set_size(content.map_or(0, |content| content.len() as u64));
        builder.append_data(&mut header, name, content.unwrap_or_default())
    };
    add(".menace/", 0o755, root, None)?;
    add(PLACE.trim_start_matches('/'), 0o555, root, Some(PROGRAM))?;
    add(&format!("{}/", WORKSPACE.trim_start_matches('/')), 0o755, user, None)?;
    add("tmp/", 0o1777, root, None)?;
    builder.into_inner()
}

/// Unique sandbox id with 96 random bits.
pub(super) fn new_id() -> String {
    let mut bytes = [0; 12];
    // getrandom does not block or fail once the system has booted.
    rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty())
        .expect("getrandom works after boot");
    let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("sb-{digits}")
}
