//! Requests to create sandboxes and to run commands, and their translation for the backends.

use std::collections::BTreeMap;
use std::time::Duration;

use axum::http::StatusCode;
use menace_model::network::NetworkMode;
use menace_model::sandbox::{ExecRequest, SandboxLimits, SandboxSpec, SandboxUser};
use serde::{Deserialize, Deserializer, Serialize};
use utoipa::ToSchema;

use super::amounts::{ByteSize, CpuCores, PositiveDuration, UserIds};
use super::network_rules::SandboxNetworkRules;
use super::schemas;
use crate::error::ApiError;

/// Request to create a sandbox.
#[derive(Debug, Clone, Default, Serialize, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct CreateSandboxRequest {
    /// Name chosen by the owner; any text.
    #[schema(max_length = 256)]
    pub project_name: String,
    /// Memory limit, files included, such as `512m` or `2g`; default `1g`.
    #[schema(example = "1g")]
    pub memory_limit: Option<ByteSize>,
    /// Limit of CPU cores, such as `"0.5"`; default: all cores.
    #[schema(example = "1.0")]
    pub cpu_limit: Option<CpuCores>,
    /// Limit of disk space; default: half of the memory, at most `256m`.
    #[schema(example = "100m")]
    pub disk_limit: Option<ByteSize>,
    /// Limit of processes and threads; default 512.
    #[schema(minimum = 2, maximum = 4_194_304)]
    pub pids_limit: Option<u64>,
    /// Ports on which programs inside will listen. Every port is reachable below `/api/sandboxes/{id}/ports/{port}/`; those
    /// named here are listed.
    #[schema(schema_with = schemas::ports)]
    pub ports: Vec<u16>,
    /// Environment variables of every command.
    #[schema(schema_with = schemas::variables)]
    pub env: BTreeMap<String, String>,
    /// User that runs commands: `uid` or `uid:gid`.
    #[schema(example = "1000:1000")]
    pub user: Option<UserIds>,
    /// Default timeout of commands, in seconds or such as `"30s"`.
    pub timeout: Option<PositiveDuration>,
    /// Time from creation until the sandbox is destroyed.
    pub ttl: Option<PositiveDuration>,
    /// Time without requests until the sandbox is stopped; its files are kept.
    pub idle_timeout: Option<PositiveDuration>,
    /// Network policy: `"none"`, `"deny"`, or rules.
    pub network: Option<SandboxNetworkPolicy>,
    /// `native` or `docker`; default: chosen by the server.
    pub backend: Option<BackendName>,
    /// Image of the root file system, for backends with images.
    pub image: Option<String>,
    /// Make everything except `/workspace` and `/tmp` read-only.
    pub read_only_root: bool,
    /// Labels for filtering sandboxes.
    #[schema(schema_with = schemas::labels)]
    pub labels: BTreeMap<String, String>,
    /// Id of a snapshot to restore files from.
    pub snapshot: Option<String>,
}

/// Name of a backend.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum BackendName {
    /// Linux namespaces.
    Native,
    /// Docker containers.
    Docker,
}

impl BackendName {
    /// Name as written in requests.
    pub fn name(self) -> &'static str {
        match self {
            Self::Native => "native",
            Self::Docker => "docker",
        }
    }
}

/// Network policy of a sandbox.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(untagged)]
pub enum SandboxNetworkPolicy {
    /// `none`: loopback only. `deny`: reject and record all traffic.
    Simple(SandboxNetworkMode),
    /// Rules: allowed destinations, mocks, simulated link.
    Rules(SandboxNetworkRules),
}

/// Accepts a string or an object and reports the error of the matching one.
impl<'de> Deserialize<'de> for SandboxNetworkPolicy {
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

/// Network policy in one word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum SandboxNetworkMode {
    /// Loopback only.
    None,
    /// Reject and record all traffic.
    Deny,
}

impl SandboxNetworkPolicy {
    fn into_network(self) -> NetworkMode {
        match self {
            Self::Simple(SandboxNetworkMode::None) => NetworkMode::None,
            Self::Simple(SandboxNetworkMode::Deny) => NetworkMode::Managed(Box::default()),
            Self::Rules(rules) => NetworkMode::Managed(rules.0),
        }
    }
}

/// Limits: characters of a name or label, number of labels, number of variables.
pub(super) const LONGEST_NAME: usize = 256;
pub(super) const MOST_LABELS: usize = 64;
pub(super) const MOST_VARIABLES: usize = 1024;

impl CreateSandboxRequest {
    /// Validates the request before anything is created.
    pub fn check(&self) -> Result<(), ApiError> {
        if self.project_name.chars().count() > LONGEST_NAME {
            return Err(ApiError::invalid(format!("project_name is longer than {LONGEST_NAME} characters")));
        }
        let is_long = |(name, value): (&String, &String)| {
            name.is_empty() || [name, value].iter().any(|text| text.chars().count() > LONGEST_NAME)
        };
        if self.labels.len() > MOST_LABELS || self.labels.iter().any(is_long) {
            return Err(ApiError::invalid(format!(
                "labels: at most {MOST_LABELS}, with names of 1 to {LONGEST_NAME} characters and values of at most {LONGEST_NAME}"
            )));
        }
        check_variables(&self.env)?;
        if self.ports.contains(&0) {
            return Err(ApiError::invalid("ports: 0 is not a valid port"));
        }
        if self.snapshot.is_some() && (self.image.is_some() || self.backend.is_some()) {
            return Err(ApiError::conflict(
                "refused",
                "backend and image cannot be combined with snapshot, which determines both",
            ));
        }
        Ok(())
    }

    /// Initial limits. CPU is always limited, if only to all cores, so that the limit can be changed later.
    pub fn limits(&self) -> SandboxLimits {
        let all = std::thread::available_parallelism().map_or(1.0, |cores| cores.get() as f64);
        SandboxLimits {
            memory: self.memory_limit.map(|size| size.0),
            cpus: Some(self.cpu_limit.map_or(all, |share| share.0)),
            disk: self.disk_limit.map(|size| size.0),
            pids: self.pids_limit,
            ..SandboxLimits::default()
        }
    }

    /// Specification for the backend.
    pub fn spec(&self) -> SandboxSpec {
        SandboxSpec {
            environment: self.env.clone(),
            limits: self.limits(),
            network: self.network.clone().map_or(NetworkMode::None, SandboxNetworkPolicy::into_network),
            user: self.user.map_or_else(SandboxUser::default, |user| user.0),
            image: self.image.clone(),
            read_only_root: self.read_only_root,
            ..SandboxSpec::default()
        }
    }
}

/// Validates environment variables.
fn check_variables(variables: &BTreeMap<String, String>) -> Result<(), ApiError> {
    let is_wrong = |(name, value): (&String, &String)| {
        name.is_empty() || name.contains(['=', '\0']) || value.contains('\0')
    };
    if variables.len() > MOST_VARIABLES || variables.iter().any(is_wrong) {
        return Err(ApiError::invalid(format!(
            "env: at most {MOST_VARIABLES} variables; names must not contain '=', names and values must not contain a zero byte"
        )));
    }
    Ok(())
}

/// Request to run a command.
#[derive(Debug, Clone, Default, Serialize, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ExecuteRequest {
    /// Program and arguments.
    #[schema(schema_with = schemas::command, required = true)]
    pub command: Vec<String>,
    /// Working directory.
    #[schema(schema_with = schemas::directory)]
    pub workdir: Option<String>,
    /// Environment variables of this command.
    #[schema(schema_with = schemas::variables)]
    pub env: BTreeMap<String, String>,
    /// Content of stdin.
    pub stdin: String,
    /// Time after which the command and all its child processes are killed.
    pub timeout: Option<PositiveDuration>,
}

impl ExecuteRequest {
    /// Translates the request for the backend; `usual` is the default timeout of the sandbox.
    pub fn request(self, usual: Option<Duration>) -> Result<ExecRequest, ApiError> {
        let Some(program) = self.command.first() else {
            return Err(ApiError::invalid(
                "command: expected a program and its arguments, such as [\"ls\", \"-l\"]",
            ));
        };
        if program.is_empty() {
            return Err(ApiError::new(
                StatusCode::NOT_FOUND,
                "program_not_found",
                "command: program name is empty",
            ));
        }
        if self.command.iter().chain(&self.workdir).any(|text| text.contains('\0')) {
            return Err(ApiError::invalid("command and workdir must not contain a zero byte"));
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

    fn create(text: &str) -> Result<CreateSandboxRequest, String> {
        serde_json::from_str(text).map_err(|error| error.to_string())
    }

    #[test]
    fn the_example_request_of_the_specification_is_accepted() {
        let request =
            create(r#"{"project_name": "test", "memory_limit": "1g", "cpu_limit": "1.0"}"#).unwrap();
        let limits = request.limits();
        assert_eq!((limits.memory, limits.cpus), (Some(1 << 30), Some(1.0)));
        assert_eq!(request.spec().network, NetworkMode::None);
    }

    #[test]
    fn invalid_fields_are_named() {
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
        let execute = |text: &str| serde_json::from_str::<ExecuteRequest>(text).unwrap().request(None);
        assert!(execute(r#"{"command": []}"#).is_err());
        assert!(execute("{\"command\": [\"echo\", \"a\\u0000b\"]}").is_err());
        assert!(execute(r#"{"command": ["true"], "env": {"A=B": "c"}}"#).is_err());
        assert_eq!(
            execute(r#"{"command": ["true"], "timeout": 2}"#).unwrap().timeout,
            Some(Duration::from_secs(2))
        );
    }
}
