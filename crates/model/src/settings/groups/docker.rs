//! Settings of the Docker engine and of the containers started there.

use std::path::PathBuf;

use crate::settings::ByteCount;

choice! {
    /// Backend of sandboxes.
    pub enum BackendSetting {
        /// Linux namespaces on this host.
        Native = "native",
        /// Containers of a Docker engine.
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

    /// Default backend of the service's sandboxes
    backend: BackendSetting = "native" {
        env: "SANDBOX_BACKEND",
        status: Active,
    }

    /// Address of the Docker engine; if unset, the local socket
    docker_host: Option<String> = "" {
        env: "DOCKER_HOST",
        status: Active,
    }

    /// Default image of Docker sandboxes
    sandbox_image: String = "menace-sandbox:latest" {
        env: "MENACE_SANDBOX_IMAGE",
        status: Active,
    }

    /// Connect to the Docker engine with TLS and verify its certificate
    docker_tls_verify: Option<bool> = "" {
        env: "DOCKER_TLS_VERIFY",
        status: Active,
    }

    /// Directory with the client certificates for the Docker engine
    docker_cert_path: Option<PathBuf> = "" {
        env: "DOCKER_CERT_PATH",
        status: Active,
    }

    /// Directory in which a Docker-in-Docker service creates its certificates
    docker_tls_certdir: Option<PathBuf> = "" {
        env: "DOCKER_TLS_CERTDIR",
        status: Planned,
    }

    /// Numeric user, or user:group, of commands in containers
    container_user: Option<String> = "" {
        env: "SANDBOX_CONTAINER_USER",
        status: Active,
    }

    /// Size of a container's directory above which the container is removed; 0 means no limit
    container_disk_limit: ByteCount = "0" {
        env: "SANDBOX_CONTAINER_DISK_LIMIT",
        status: Active,
    }
}
