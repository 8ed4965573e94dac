//! Settings of reaching Docker and of the containers started there.

use std::path::PathBuf;

use crate::settings::Bytes;

choice! {
    /// Who makes sandboxes.
    pub enum BackendWord {
        /// Namespaces of this kernel.
        Native = "native",
        /// Containers of an engine.
        Docker = "docker",
    }
}

settings! {
    /// Docker.
    pub struct DockerSettings;

    /// Run each preset in a container
    docker: bool = "0" {
        env: "SANDBOX_DOCKER",
        status: Active,
    }

    /// Who makes sandboxes of the service that do not say it themselves
    backend: BackendWord = "native" {
        env: "SANDBOX_BACKEND",
        status: Active,
    }

    /// Address of the Docker engine; nothing means the local socket
    docker_host: Option<String> = "" {
        env: "DOCKER_HOST",
        status: Active,
    }

    /// What sandboxes of the Docker engine are made of that name no image
    sandbox_image: String = "menace-sandbox:latest" {
        env: "MENACE_SANDBOX_IMAGE",
        status: Active,
    }

    /// Use TLS to the Docker engine and check its certificate
    docker_tls_verify: Option<bool> = "" {
        env: "DOCKER_TLS_VERIFY",
        status: Active,
    }

    /// Directory with the client certificates for the Docker engine
    docker_cert_path: Option<PathBuf> = "" {
        env: "DOCKER_CERT_PATH",
        status: Active,
    }

    /// Directory in which a Docker-in-Docker service makes its certificates
    docker_tls_certdir: Option<PathBuf> = "" {
        env: "DOCKER_TLS_CERTDIR",
        status: Planned,
    }

    /// User, or user and group, that commands in containers run as, as numbers
    container_user: Option<String> = "" {
        env: "SANDBOX_CONTAINER_USER",
        status: Active,
    }

    /// Size at which a container's directory gets it removed; 0 means no limit
    container_disk_limit: Bytes = "0" {
        env: "SANDBOX_CONTAINER_DISK_LIMIT",
        status: Active,
    }
}
