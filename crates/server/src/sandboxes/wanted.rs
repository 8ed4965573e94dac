//! What callers ask for, in their words, and what backends are asked for.

use std::collections::BTreeMap;
use std::time::Duration;

use menace_model::network::Network;
use menace_model::sandbox::{ExecRequest, Limits, SandboxSpec, User};
use serde::{Deserialize, Deserializer, Serialize};
use utoipa::ToSchema;

use super::amounts::{CpuShare, Size, Span, UserName};
use super::described;
use super::rules::Rules;
use crate::error::ApiError;

/// A sandbox to be made.
#[derive(Debug, Clone, Default, Serialize, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct CreateSandbox {
    /// What its owner calls it; any text.
    #[schema(max_length = 256)]
    pub project_name: String,
    /// The most memory, files included, such as `512m` or `2g`; `1g` without this.
    #[schema(example = "1g")]
    pub memory_limit: Option<Size>,
    /// The most CPU cores at a time, such as `"0.5"`; all of them without this.
    #[schema(example = "1.0")]
    pub cpu_limit: Option<CpuShare>,
    /// The most bytes of files; half of the memory and at most `256m` without this.
    #[schema(example = "100m")]
    pub disk_limit: Option<Size>,
    /// The most processes and threads; 512 without this.
    #[schema(minimum = 2, maximum = 4_194_304)]
    pub pids_limit: Option<u64>,
    /// Ports on which programs inside will listen. They are reached below `/api/sandboxes/{id}/ports/{port}/`, as others are;
    /// naming them lists them.
    #[schema(schema_with = described::ports)]
    pub ports: Vec<u16>,
    /// Variables of every command.
    #[schema(schema_with = described::variables)]
    pub env: BTreeMap<String, String>,
    /// Who commands are inside: `uid` or `uid:gid`.
    #[schema(example = "1000:1000")]
    pub user: Option<UserName>,
    /// How long a command may take that does not say it itself, in seconds or such as `"30s"`.
    pub timeout: Option<Span>,
    /// When it is destroyed, counted from its making.
    pub ttl: Option<Span>,
    /// After how long without a request its processes are ended; its files stay.
    pub idle_timeout: Option<Span>,
    /// What it can reach: `"none"`, `"deny"`, or rules.
    pub network: Option<NetworkWish>,
    /// `native` or `docker`; the server's own choice without this.
    pub backend: Option<BackendName>,
    /// What its files are made of, where the backend has images.
    pub image: Option<String>,
    /// Nothing can be written but `/workspace` and `/tmp`.
    pub read_only_root: bool,
    /// Whatever its owner wants to find it by.
    #[schema(schema_with = described::labels)]
    pub labels: BTreeMap<String, String>,
    /// A snapshot whose files it begins with.
    pub snapshot: Option<String>,
}

/// A backend by its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum BackendName {
    /// Namespaces of this kernel.
    Native,
    /// Containers.
    Docker,
}

impl BackendName {
    /// As users write it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Native => "native",
            Self::Docker => "docker",
        }
    }
}

/// What a sandbox can reach.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(untagged)]
pub enum NetworkWish {
    /// `none` is its own loopback; `deny` refuses and records everything.
    Simple(SimpleNetwork),
    /// What is allowed, who answers instead, what happens to packets.
    Rules(Rules),
}

/// A word or an object, so that what is wrong with either is said.
impl<'de> Deserialize<'de> for NetworkWish {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let written = serde_json::Value::deserialize(deserializer)?;
        let read = if written.is_object() {
            serde_json::from_value(written).map(Self::Rules)
        } else {
            serde_json::from_value(written).map(Self::Simple)
        };
        read.map_err(|error| serde::de::Error::custom(format!("network: {error}")))
    }
}

/// A network in one word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum SimpleNetwork {
    /// Its own loopback and nothing else.
    None,
    /// A network that refuses and records everything.
    Deny,
}

impl NetworkWish {
    fn into_network(self) -> Network {
        match self {
            Self::Simple(SimpleNetwork::None) => Network::None,
            Self::Simple(SimpleNetwork::Deny) => Network::Managed(Box::default()),
            Self::Rules(rules) => Network::Managed(rules.0),
        }
    }
}

/// The most characters of a name or label, and of labels and variables.
pub(super) const LONGEST_NAME: usize = 256;
pub(super) const MOST_LABELS: usize = 64;
pub(super) const MOST_VARIABLES: usize = 1024;

impl CreateSandbox {
    /// Says what is wrong with it before anything is made.
    pub fn check(&self) -> Result<(), ApiError> {
        if self.project_name.chars().count() > LONGEST_NAME {
            return Err(ApiError::invalid(format!("project_name is longer than {LONGEST_NAME} characters")));
        }
        let is_long = |(name, value): (&String, &String)| {
            name.is_empty() || [name, value].iter().any(|text| text.chars().count() > LONGEST_NAME)
        };
        if self.labels.len() > MOST_LABELS || self.labels.iter().any(is_long) {
            return Err(ApiError::invalid(format!(
                "labels: at most {MOST_LABELS}, with names of 1 to {LONGEST_NAME} characters and values of no more"
            )));
        }
        check_variables(&self.env)?;
        if self.ports.contains(&0) {
            return Err(ApiError::invalid("ports: 0 is no port"));
        }
        if self.snapshot.is_some() && (self.image.is_some() || self.backend.is_some()) {
            return Err(ApiError::conflict(
                "refused",
                "a snapshot says itself which backend and image it is of",
            ));
        }
        Ok(())
    }

    /// Limits that hold from the beginning. CPU time is always limited, if only to all cores, so that it can be changed later.
    pub fn limits(&self) -> Limits {
        let all = std::thread::available_parallelism().map_or(1.0, |cores| cores.get() as f64);
        Limits {
            memory: self.memory_limit.map(|size| size.0),
            cpus: Some(self.cpu_limit.map_or(all, |share| share.0)),
            disk: self.disk_limit.map(|size| size.0),
            pids: self.pids_limit,
            ..Limits::default()
        }
    }

    /// What the backend is asked for.
    pub fn spec(&self) -> SandboxSpec {
        SandboxSpec {
            environment: self.env.clone(),
            limits: self.limits(),
            network: self.network.clone().map_or(Network::None, NetworkWish::into_network),
            user: self.user.map_or_else(User::default, |user| user.0),
            image: self.image.clone(),
            read_only_root: self.read_only_root,
            ..SandboxSpec::default()
        }
    }
}

/// Variables that a program can have.
fn check_variables(variables: &BTreeMap<String, String>) -> Result<(), ApiError> {
    let is_wrong = |(name, value): (&String, &String)| {
        name.is_empty() || name.contains(['=', '\0']) || value.contains('\0')
    };
    if variables.len() > MOST_VARIABLES || variables.iter().any(is_wrong) {
        return Err(ApiError::invalid(format!(
            "env: at most {MOST_VARIABLES} variables, names without '=' and neither with a zero byte"
        )));
    }
    Ok(())
}

/// A command to be run.
#[derive(Debug, Clone, Default, Serialize, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Execute {
    /// The program and its arguments.
    #[schema(schema_with = described::command, required = true)]
    pub command: Vec<String>,
    /// Where it starts.
    #[schema(schema_with = described::directory)]
    pub workdir: Option<String>,
    /// Variables for this command alone.
    #[schema(schema_with = described::variables)]
    pub env: BTreeMap<String, String>,
    /// What it reads from stdin.
    pub stdin: String,
    /// How long it may take before it is killed with all that it started.
    pub timeout: Option<Span>,
}

impl Execute {
    /// What the sandbox is asked for; `usual` is how long its commands may take.
    pub fn request(self, usual: Option<Duration>) -> Result<ExecRequest, ApiError> {
        let Some(program) = self.command.first() else {
            return Err(ApiError::invalid(
                "command: name a program and its arguments, such as [\"ls\", \"-l\"]",
            ));
        };
        if program.is_empty() {
            return Err(ApiError::nothing("program", "without a name"));
        }
        if self.command.iter().chain(&self.workdir).any(|text| text.contains('\0')) {
            return Err(ApiError::invalid("command and workdir cannot have a zero byte"));
        }
        check_variables(&self.env)?;
        let timeout = self.timeout.map(|span| span.0).or(usual);
        Ok(ExecRequest {
            command: self.command,
            environment: self.env,
            directory: self.workdir.filter(|directory| !directory.is_empty()).map(Into::into),
            stdin: self.stdin.into_bytes(),
            timeout,
            ..ExecRequest::default()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn create(text: &str) -> Result<CreateSandbox, String> {
        serde_json::from_str(text).map_err(|error| error.to_string())
    }

    #[test]
    fn the_first_command_of_the_seed_is_understood() {
        let wanted = create(r#"{"project_name": "test", "memory_limit": "1g", "cpu_limit": "1.0"}"#).unwrap();
        let limits = wanted.limits();
        assert_eq!((limits.memory, limits.cpus), (Some(1 << 30), Some(1.0)));
        assert_eq!(wanted.spec().network, Network::None);
    }

    #[test]
    fn what_means_nothing_is_named() {
        for (text, problem) in [
            (r#"{"memory_limit": "-1"}"#, "is not a size"),
            (r#"{"memory_limit": []}"#, "expected a size"),
            (r#"{"cpu_limit": "many"}"#, "is not a number of cores"),
            (r#"{"memory_limt": "1g"}"#, "unknown field"),
            (r#"{"ports": [70000]}"#, "70000"),
            (r#"{"user": "root"}"#, "is not a user"),
            (r#"{"network": "all"}"#, "network: unknown variant `all`"),
            (r#"{"backend": "xen"}"#, "unknown variant"),
        ] {
            let error = create(text).expect_err(text);
            assert!(error.contains(problem), "{text}: {error}");
        }
    }

    #[test]
    fn times_are_seconds_or_have_a_unit() {
        let of = |text: &str| create(text).unwrap().ttl.map(|span| span.0);
        assert_eq!(of(r#"{"ttl": 90}"#), Some(Duration::from_secs(90)));
        assert_eq!(of(r#"{"ttl": "10m"}"#), Some(Duration::from_mins(10)));
    }

    #[test]
    fn commands_are_checked_before_anything_runs() {
        let execute = |text: &str| serde_json::from_str::<Execute>(text).unwrap().request(None);
        assert!(execute(r#"{"command": []}"#).is_err());
        assert!(execute("{\"command\": [\"echo\", \"a\\u0000b\"]}").is_err());
        assert!(execute(r#"{"command": ["true"], "env": {"A=B": "c"}}"#).is_err());
        assert_eq!(
            execute(r#"{"command": ["true"], "timeout": 2}"#).unwrap().timeout,
            Some(Duration::from_secs(2))
        );
    }
}
