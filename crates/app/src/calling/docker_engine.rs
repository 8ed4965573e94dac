//! Docker settings: engine, image, TLS and user.

use crate::RequestError;
use menace_model::sandbox::SandboxUser;
use menace_model::settings::DockerSettings;
use menace_sandbox::docker::DockerOptions;

/// Options of the Docker engine from the settings, for containers of this owner.
pub fn docker_options(settings: &DockerSettings, owner: &str) -> DockerOptions {
    let mut options = DockerOptions::from_environment(owner);
    options.image.clone_from(&settings.sandbox_image);
    if let Some(host) = &settings.docker_host {
        options.host.clone_from(host);
    }
    if settings.docker_tls_verify == Some(true) && settings.docker_cert_path.is_some() {
        options.tls.clone_from(&settings.docker_cert_path);
    }
    options
}

/// User of commands in containers, if `SANDBOX_CONTAINER_USER` is set.
pub fn container_user(docker: &DockerSettings) -> Result<Option<SandboxUser>, RequestError> {
    docker.container_user.as_deref().map(user).transpose()
}

/// Parses `uid` or `uid:gid`. Names are not accepted: only the image could resolve them.
fn user(text: &str) -> Result<SandboxUser, RequestError> {
    let (uid, gid) = text.split_once(':').unwrap_or((text, text));
    match (uid.trim().parse(), gid.trim().parse()) {
        (Ok(uid), Ok(gid)) => Ok(SandboxUser { uid, gid }),
        _ => Err(RequestError::ContainerUser(text.to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_are_numbers() {
        assert_eq!(user("5").unwrap(), SandboxUser { uid: 5, gid: 5 });
        assert_eq!(user("5:6").unwrap(), SandboxUser { uid: 5, gid: 6 });
        assert!(user("root").is_err());
    }
}
