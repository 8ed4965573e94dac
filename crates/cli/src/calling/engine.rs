//! Which Docker engine is meant.

use menace_model::settings::DockerSettings;
use menace_sandbox::docker::DockerOptions;

/// The engine that the settings name, for containers of this owner.
pub(crate) fn docker_options(settings: &DockerSettings, owner: &str) -> DockerOptions {
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
