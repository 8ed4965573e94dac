//! Which engine, and what is made there.

use std::path::PathBuf;

use super::images::DEFAULT_IMAGE;

/// Where an engine listens that nobody configured.
const USUAL_HOST: &str = "unix:///var/run/docker.sock";

/// Which engine is used, and how.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DockerOptions {
    /// `unix:///path` or `tcp://host:port`.
    pub host: String,
    /// A directory with `ca.pem`, `cert.pem` and `key.pem`, if the engine is to be spoken to by TLS.
    pub tls: Option<PathBuf>,
    /// What sandboxes are made of that do not name an image.
    pub image: String,
    /// Who makes the sandboxes: the name is written on everything that is made, and only what has it is ever removed.
    pub owner: String,
}

impl DockerOptions {
    /// The engine that the variables of Docker's own client name, for this owner.
    pub fn from_environment(owner: &str) -> Self {
        Self::from_variables(owner, |name| std::env::var(name).ok())
    }

    fn from_variables(owner: &str, variable: impl Fn(&str) -> Option<String>) -> Self {
        let value = |name: &str| variable(name).filter(|value| !value.is_empty());
        let directory = value("DOCKER_CERT_PATH").map(PathBuf::from);
        let of_the_user = value("HOME").map(|home| PathBuf::from(home).join(".docker"));
        Self {
            host: value("DOCKER_HOST").unwrap_or_else(|| USUAL_HOST.to_owned()),
            // As with Docker's own client, where any value that is not empty means yes.
            tls: value("DOCKER_TLS_VERIFY").and(directory.or(of_the_user)),
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
    fn without_variables_it_is_the_usual_socket() {
        let found = options(&[("HOME", "/home/me"), ("DOCKER_HOST", "")]);
        assert_eq!((found.host.as_str(), found.tls), ("unix:///var/run/docker.sock", None));
    }

    #[test]
    fn certificates_are_used_only_when_asked_for() {
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
