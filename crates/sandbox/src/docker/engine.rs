//! Connection to an engine, and interpretation of its errors.

use std::io;
use std::path::Path;

use bollard::errors::Error;
use bollard::models::SystemInfo;
use bollard::{API_DEFAULT_VERSION, Docker};

use super::options::DockerOptions;
use crate::SandboxError;

/// Timeout of an engine's answer, in seconds. Removing many containers concurrently on a busy machine takes a while.
const TIMEOUT_SECONDS: u64 = 30;

/// Connected engine.
pub(super) struct DockerEngine {
    pub(super) docker: Docker,
    pub(super) info: SystemInfo,
    host: String,
}

impl DockerEngine {
    /// Connects and queries the engine's features.
    pub(super) async fn connect(options: &DockerOptions) -> Result<Self, SandboxError> {
        let unreachable = |error| unreachable(&options.host, &error);
        let docker = client(options)?.negotiate_version().await.map_err(unreachable)?;
        let info = docker.info().await.map_err(unreachable)?;
        Ok(Self { docker, info, host: options.host.clone() })
    }

    /// Whether the engine runs on this machine and sees the same paths.
    pub(super) fn is_local(&self) -> bool {
        self.host.starts_with("unix://")
    }

    /// Whether users in containers are mapped to other users on the host.
    pub(super) fn maps_users(&self) -> bool {
        self.has_security_option("userns") || self.has_security_option("rootless")
    }

    pub(super) fn has_security_option(&self, name: &str) -> bool {
        let has_name = |option: &String| {
            option.strip_prefix("name=").is_some_and(|rest| rest.split(',').next() == Some(name))
        };
        self.info.security_options.iter().flatten().any(has_name)
    }

    /// Translates an error of the engine.
    pub(super) fn failed(&self, action: &'static str, error: Error) -> SandboxError {
        match error {
            Error::DockerResponseServerError { message, .. } => {
                SandboxError::Io { action, source: io::Error::other(message) }
            }
            Error::DockerStreamError { error } => {
                SandboxError::Io { action, source: io::Error::other(error) }
            }
            other => unreachable(&self.host, &other),
        }
    }
}

/// Whether the engine reports a missing object.
pub(super) fn is_missing(error: &Error) -> bool {
    matches!(error, Error::DockerResponseServerError { status_code: 404, .. })
}

/// Whether the engine reports a conflict with the object's state.
pub(super) fn is_conflict(error: &Error) -> bool {
    matches!(error, Error::DockerResponseServerError { status_code: 409, .. })
}

fn unreachable(host: &str, error: &Error) -> SandboxError {
    SandboxError::Unsupported {
        what: format!("connect to the Docker engine at {host}"),
        source: io::Error::other(reason(error)),
        hint: "start dockerd, or set DOCKER_HOST to the address of an engine".into(),
    }
}

/// Text of the whole error chain: the outermost error says only that a request failed.
fn reason(error: &Error) -> String {
    let mut text = error.to_string();
    let mut cause = std::error::Error::source(error);
    while let Some(inner) = cause {
        let inner_text = inner.to_string();
        if !text.contains(&inner_text) {
            text = format!("{text}: {inner_text}");
        }
        cause = inner.source();
    }
    text
}

fn client(options: &DockerOptions) -> Result<Docker, SandboxError> {
    let host = options.host.as_str();
    let made = if let Some(path) = host.strip_prefix("unix://") {
        Docker::connect_with_unix(path, TIMEOUT_SECONDS, API_DEFAULT_VERSION)
    } else if !host.starts_with("tcp://") {
        return Err(SandboxError::Refused {
            problem: format!("unsupported Docker engine address {host}"),
            hint: "set DOCKER_HOST to unix:///path or tcp://host:port".into(),
        });
    } else if let Some(directory) = &options.tls {
        return with_tls(host, directory);
    } else {
        Docker::connect_with_http(host, TIMEOUT_SECONDS, API_DEFAULT_VERSION)
    };
    made.map_err(|error| unreachable(host, &error))
}

fn with_tls(host: &str, directory: &Path) -> Result<Docker, SandboxError> {
    // All code of this program installs the same provider, so a failure means that it is already installed.
    drop(rustls::crypto::ring::default_provider().install_default());
    let [key, certificate, authority] = ["key.pem", "cert.pem", "ca.pem"].map(|name| directory.join(name));
    for path in [&key, &certificate, &authority] {
        std::fs::File::open(path).map_err(|source| SandboxError::HostPath { path: path.clone(), source })?;
    }
    Docker::connect_with_ssl(host, &key, &certificate, &authority, TIMEOUT_SECONDS, API_DEFAULT_VERSION)
        .map_err(|error| unreachable(host, &error))
}
