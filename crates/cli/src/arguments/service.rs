//! The arguments of the sandbox service and of those who ask it.

use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand, ValueEnum};
use menace_model::settings::BackendSetting;
use menace_server::sandboxes::BackendName;

use super::JsonOutput;
use super::sandbox::{bytes, cores, duration, variable};

/// Which backend makes sandboxes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum BackendChoice {
    /// Namespaces of this kernel
    Native,
    /// Containers
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

/// How sandboxes are served.
#[derive(Debug, Args)]
pub(crate) struct ServeArguments {
    /// Where to listen; without keys only this machine can be served
    #[arg(long, value_name = "IP", default_value = "127.0.0.1")]
    pub(crate) address: IpAddr,
    /// The port; 0 takes a free one
    #[arg(long, default_value_t = 8888)]
    pub(crate) port: u16,
    /// Who makes sandboxes that do not say it themselves; SANDBOX_BACKEND without this
    #[arg(long, value_enum)]
    pub(crate) backend: Option<BackendChoice>,
    /// A certificate as PEM, for https
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    pub(crate) tls_cert: Option<PathBuf>,
    /// The key of the certificate as PEM
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    pub(crate) tls_key: Option<PathBuf>,
    /// Ask for a key even on this machine
    #[arg(long)]
    pub(crate) require_key: bool,
    /// Requests of one key, or of one address without keys, in a second
    #[arg(long, value_name = "N", default_value_t = 2000.0)]
    pub(crate) rate: f64,
    /// How long a caller may take for the head of a request, and between two parts of its body
    #[arg(long, value_name = "TIME", value_parser = duration, default_value = "20s")]
    pub(crate) patience: Duration,
    /// The most sandboxes at one time
    #[arg(long, value_name = "N")]
    pub(crate) max_sandboxes: Option<usize>,
    /// How long a sandbox lives at most
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub(crate) max_lifetime: Option<Duration>,
    /// After how long without a request processes of a sandbox end, if it does not say that itself
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub(crate) idle_timeout: Option<Duration>,
    /// End all sandboxes when the server ends; without this they live on, and the next server has them
    #[arg(long)]
    pub(crate) ephemeral: bool,
}

/// The process that holds sandboxes; started by whoever needs it.
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

/// How models are answered.
#[derive(Debug, Args)]
pub(crate) struct McpArguments {
    /// Answer over HTTP on this port of this machine, at /mcp; 0 takes a free one
    #[arg(long, value_name = "PORT")]
    pub(crate) port: Option<u16>,
}

/// Keys of callers.
#[derive(Debug, Subcommand)]
pub(crate) enum KeysCommand {
    /// Make a key; it is shown once
    Create(KeysCreateArguments),
    /// List keys, without their secrets
    List(JsonOutput),
    /// Take a key back
    Revoke {
        /// The part of the key after mnc_, or its name
        key: String,
        #[command(flatten)]
        output: JsonOutput,
    },
}

#[derive(Debug, Args)]
pub(crate) struct KeysCreateArguments {
    /// What to call it
    #[arg(default_value = "")]
    pub(crate) name: String,
    /// Until when it is good, counted from now, such as 30d
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub(crate) expires: Option<Duration>,
    /// The most sandboxes at one time
    #[arg(long, value_name = "N")]
    pub(crate) max_sandboxes: Option<u64>,
    /// The most CPU cores of all its sandboxes
    #[arg(long, value_name = "CORES", value_parser = cores)]
    pub(crate) max_cpus: Option<f64>,
    /// The most memory of all its sandboxes
    #[arg(long, value_name = "SIZE", value_parser = bytes)]
    pub(crate) max_memory: Option<u64>,
    /// The most bytes of files of all its sandboxes
    #[arg(long, value_name = "SIZE", value_parser = bytes)]
    pub(crate) max_disk: Option<u64>,
    #[command(flatten)]
    pub(crate) output: JsonOutput,
}

/// A sandbox that stays.
#[derive(Debug, Args)]
pub(crate) struct SandboxCreateArguments {
    /// What to call it
    #[arg(long, value_name = "TEXT", default_value = "")]
    pub(crate) project: String,
    /// The most memory, such as 512m
    #[arg(long, value_name = "SIZE")]
    pub(crate) memory: Option<String>,
    /// The most CPU cores, such as 0.5
    #[arg(long, value_name = "CORES")]
    pub(crate) cpus: Option<String>,
    /// The most bytes of files
    #[arg(long, value_name = "SIZE")]
    pub(crate) disk: Option<String>,
    /// When it is destroyed, such as 1h
    #[arg(long, value_name = "TIME")]
    pub(crate) ttl: Option<String>,
    /// What it can be found by: NAME=VALUE; can be repeated
    #[arg(long, value_name = "K=V", value_parser = variable)]
    pub(crate) label: Vec<(String, String)>,
    /// A variable of every command: K=V; can be repeated
    #[arg(long, value_name = "K=V", value_parser = variable)]
    pub(crate) env: Vec<(String, String)>,
    /// What it can reach: none, or deny, which refuses and records everything
    #[arg(long, value_name = "none|deny")]
    pub(crate) net: Option<String>,
    /// Who makes it
    #[arg(long, value_enum)]
    pub(crate) backend: Option<BackendChoice>,
    /// What it is made of, where the backend has images
    #[arg(long)]
    pub(crate) image: Option<String>,
    /// A snapshot whose files it begins with
    #[arg(long)]
    pub(crate) snapshot: Option<String>,
    #[command(flatten)]
    pub(crate) output: JsonOutput,
}

/// A command in a sandbox that stays.
#[derive(Debug, Args)]
pub(crate) struct SandboxExecArguments {
    /// Which sandbox; the beginning of its id is enough
    pub(crate) sandbox: String,
    /// How long it may take
    #[arg(long, value_name = "TIME")]
    pub(crate) timeout: Option<String>,
    /// Where it starts
    #[arg(long, value_name = "DIR")]
    pub(crate) workdir: Option<String>,
    /// A variable for it: K=V; can be repeated
    #[arg(long, value_name = "K=V", value_parser = variable)]
    pub(crate) env: Vec<(String, String)>,
    /// Print one JSON object when it is over
    #[arg(long)]
    pub(crate) json: bool,
    /// The command
    #[arg(last = true, required = true, value_name = "CMD")]
    pub(crate) command: Vec<String>,
}

/// One sandbox.
#[derive(Debug, Args)]
pub(crate) struct SandboxIdArguments {
    /// Which; the beginning of its id is enough
    pub(crate) sandbox: String,
    #[command(flatten)]
    pub(crate) output: JsonOutput,
}
