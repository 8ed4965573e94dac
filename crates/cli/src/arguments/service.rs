//! Arguments of the sandbox service and its clients.

use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand, ValueEnum};
use menace_model::settings::BackendSetting;
use menace_server::sandboxes::BackendName;

use super::JsonOutput;
use super::sandbox::{bytes, cores, duration, variable};

/// Implementation of sandboxes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum BackendChoice {
    /// Linux namespaces
    Native,
    /// Docker containers
    Docker,
}

impl From<BackendSetting> for BackendChoice {
    fn from(word: BackendSetting) -> Self {
        match word {
            BackendSetting::Native => Self::Native,
            BackendSetting::Docker => Self::Docker,
        }
    }
}

impl From<BackendChoice> for BackendName {
    fn from(choice: BackendChoice) -> Self {
        match choice {
            BackendChoice::Native => Self::Native,
            BackendChoice::Docker => Self::Docker,
        }
    }
}

/// Options of `menace serve`.
#[derive(Debug, Args)]
pub(crate) struct ServeArguments {
    /// Address to listen on; without API keys only this machine can connect
    #[arg(long, value_name = "IP", default_value = "127.0.0.1")]
    pub(crate) address: IpAddr,
    /// Port to listen on; 0 picks a free one
    #[arg(long, default_value_t = 8888)]
    pub(crate) port: u16,
    /// Backend for requests that do not name one [default: SANDBOX_BACKEND]
    #[arg(long, value_enum)]
    pub(crate) backend: Option<BackendChoice>,
    /// TLS certificate in PEM format; enables HTTPS
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    pub(crate) tls_cert: Option<PathBuf>,
    /// Private key of the certificate in PEM format
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    pub(crate) tls_key: Option<PathBuf>,
    /// Require an API key even from this machine
    #[arg(long)]
    pub(crate) require_key: bool,
    /// Rate limit in requests per second for each API key, or for each address without keys
    #[arg(long, value_name = "N", default_value_t = 2000.0)]
    pub(crate) rate: f64,
    /// Timeout for receiving the headers of a request, and between two parts of its body
    #[arg(long, value_name = "TIME", value_parser = duration, default_value = "20s")]
    pub(crate) patience: Duration,
    /// Maximum number of concurrent sandboxes
    #[arg(long, value_name = "N")]
    pub(crate) max_sandboxes: Option<usize>,
    /// Maximum lifetime of a sandbox, such as 8h
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub(crate) max_lifetime: Option<Duration>,
    /// Stop a sandbox after this long without requests, unless it has its own timeout
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub(crate) idle_timeout: Option<Duration>,
    /// Destroy all sandboxes when the server stops, instead of keeping them for the next server
    #[arg(long)]
    pub(crate) ephemeral: bool,
}

/// Options of the sandbox daemon, which its clients start on demand.
#[derive(Debug, Args)]
pub(crate) struct SandboxDaemonArguments {
    #[arg(long, value_enum, default_value = "native")]
    pub(crate) backend: BackendChoice,
    #[arg(long)]
    pub(crate) max_sandboxes: Option<usize>,
    #[arg(long, value_parser = duration)]
    pub(crate) max_lifetime: Option<Duration>,
    #[arg(long, value_parser = duration)]
    pub(crate) idle_timeout: Option<Duration>,
}

/// Options of `menace mcp`.
#[derive(Debug, Args)]
pub(crate) struct McpArguments {
    /// Serve HTTP at /mcp on this port, on this machine only, instead of stdin and stdout; 0 picks a free one
    #[arg(long, value_name = "PORT")]
    pub(crate) port: Option<u16>,
}

/// API keys of callers.
#[derive(Debug, Subcommand)]
pub(crate) enum KeysCommand {
    /// Create an API key; it is shown only once
    Create(KeysCreateArguments),
    /// List API keys without their secrets
    List(JsonOutput),
    /// Revoke an API key
    Revoke {
        /// Name of the key, or its part after mnc_
        key: String,
        #[command(flatten)]
        output: JsonOutput,
    },
}

#[derive(Debug, Args)]
pub(crate) struct KeysCreateArguments {
    /// Name of the key
    #[arg(default_value = "")]
    pub(crate) name: String,
    /// Time until the key expires, such as 30d [default: never]
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub(crate) expires: Option<Duration>,
    /// Maximum number of concurrent sandboxes
    #[arg(long, value_name = "N")]
    pub(crate) max_sandboxes: Option<u64>,
    /// Maximum number of CPU cores of all its sandboxes together, such as 4
    #[arg(long, value_name = "CORES", value_parser = cores)]
    pub(crate) max_cpus: Option<f64>,
    /// Maximum memory of all its sandboxes together, such as 8g
    #[arg(long, value_name = "SIZE", value_parser = bytes)]
    pub(crate) max_memory: Option<u64>,
    /// Maximum size of the files of all its sandboxes together, such as 10g
    #[arg(long, value_name = "SIZE", value_parser = bytes)]
    pub(crate) max_disk: Option<u64>,
    #[command(flatten)]
    pub(crate) output: JsonOutput,
}

/// Options of `menace sandbox create`.
#[derive(Debug, Args)]
pub(crate) struct SandboxCreateArguments {
    /// Project name
    #[arg(long, value_name = "TEXT", default_value = "")]
    pub(crate) project: String,
    /// Memory limit, such as 512m
    #[arg(long, value_name = "SIZE")]
    pub(crate) memory: Option<String>,
    /// Maximum number of CPU cores, such as 0.5
    #[arg(long, value_name = "CORES")]
    pub(crate) cpus: Option<String>,
    /// Maximum size of all files, such as 1g
    #[arg(long, value_name = "SIZE")]
    pub(crate) disk: Option<String>,
    /// Time until the sandbox is destroyed, such as 1h
    #[arg(long, value_name = "TIME")]
    pub(crate) ttl: Option<String>,
    /// Label to find the sandbox by: K=V; can be repeated
    #[arg(long, value_name = "K=V", value_parser = variable)]
    pub(crate) label: Vec<(String, String)>,
    /// Environment variable of every command: K=V, or K to copy the caller's value; can be repeated
    #[arg(long, value_name = "K=V", value_parser = variable)]
    pub(crate) env: Vec<(String, String)>,
    /// Network access: none (loopback only) or deny (refuse and record everything)
    #[arg(long, value_name = "none|deny")]
    pub(crate) net: Option<String>,
    /// Backend [default: the default of the service]
    #[arg(long, value_enum)]
    pub(crate) backend: Option<BackendChoice>,
    /// Image to start from, for backends with images
    #[arg(long)]
    pub(crate) image: Option<String>,
    /// Id of a snapshot whose files to start from
    #[arg(long)]
    pub(crate) snapshot: Option<String>,
    #[command(flatten)]
    pub(crate) output: JsonOutput,
}

/// Options of `menace sandbox exec`.
#[derive(Debug, Args)]
pub(crate) struct SandboxExecArguments {
    /// Id of the sandbox; a unique prefix is enough
    pub(crate) sandbox: String,
    /// Time limit of the command, such as 30s
    #[arg(long, value_name = "TIME")]
    pub(crate) timeout: Option<String>,
    /// Working directory of the command
    #[arg(long, value_name = "DIR")]
    pub(crate) workdir: Option<String>,
    /// Environment variable of the command: K=V, or K to copy the caller's value; can be repeated
    #[arg(long, value_name = "K=V", value_parser = variable)]
    pub(crate) env: Vec<(String, String)>,
    /// Print one JSON object at the end
    #[arg(long)]
    pub(crate) json: bool,
    /// Command to run, with its arguments
    #[arg(last = true, required = true, value_name = "CMD")]
    pub(crate) command: Vec<String>,
}

/// Id of a sandbox.
#[derive(Debug, Args)]
pub(crate) struct SandboxIdArguments {
    /// Id of the sandbox; a unique prefix is enough
    pub(crate) sandbox: String,
    #[command(flatten)]
    pub(crate) output: JsonOutput,
}
