//! Options of the Docker backend.

use std::path::PathBuf;

use super::images::DEFAULT_IMAGE;

/// Default address of an engine.
const DEFAULT_HOST: &str = "unix:///var/run/docker.sock";

/// Engine to connect to, and defaults for its sandboxes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DockerOptions {
    /// Address of the engine: `unix:///path` or `tcp://host:port`.
    pub host: String,
    /// Directory with `ca.pem`, `cert.pem` and `key.pem`, for an engine that uses TLS.
    pub tls: Option<PathBuf>,
    /// Image of sandboxes that do not name one.
    pub image: String,
    /// Owner of the sandboxes: a label of every created resource; only resources with it are ever removed.
    pub owner: String,
}

impl DockerOptions {
    /// Options from the environment variables of Docker's own client, for this owner.
    pub fn from_environment(owner: &str) -> Self {
        Self::from_variables(owner, |name| std::env::var(name).ok())
    }

    fn from_variables(owner: &str, variable: impl Fn(&str) -> Option<String>) -> Self {
        let value = |name: &str| variable(name).filter(|value| !value.is_empty());
        let directory = value("DOCKER_CERT_PATH").map(PathBuf::from);
        let user_directory = value("HOME").map(|home| PathBuf::from(home).join(".docker"));
        Self {
            host: value("DOCKER_HOST").unwrap_or_else(|| DEFAULT_HOST.to_owned()),
            // As in Docker's own client, any non-empty value means yes.
            tls: value("DOCKER_TLS_VERIFY").and(directory.or(user_directory)),
            image: DEFAULT_IMAGE.to_owned(),
            owner: owner.to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(variables: &[(&str, &str)]) -> DockerOptions {
        DockerOptions::from_variables("me", |name| {
            variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn the_default_is_the_local_socket() {
        let found = options(&[("HOME", "/home/me"), ("DOCKER_HOST", "")]);
        assert_eq!((found.host.as_str(), found.tls), ("unix:///var/run/docker.sock", None));
    }

    #[test]
    fn certificates_are_used_only_with_tls_verify() {
        let host = ("DOCKER_HOST", "tcp://engine:2376");
        let path = ("DOCKER_CERT_PATH", "/certificates");
        assert_eq!(options(&[host, path]).tls, None);
        let verify = ("DOCKER_TLS_VERIFY", "1");
        assert_eq!(options(&[host, path, verify]).tls, Some(PathBuf::from("/certificates")));
        assert_eq!(
            options(&[host, verify, ("HOME", "/home/me")]).tls,
            Some(PathBuf::from("/home/me/.docker"))
        );
    }
}
