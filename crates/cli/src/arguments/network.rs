//! The arguments that give a sandbox a network.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use menace_model::network::{FaultWindow, HostPattern, NetworkDestination, PacketShaper};
use menace_model::settings::{BitsPerSecond, Percent, SettingValue};

use super::sandbox::duration;

/// What a sandbox can reach, and how.
#[derive(Debug, Args)]
pub(crate) struct NetworkArguments {
    /// What the command can reach: none is its own loopback; deny refuses and records everything; allow=HOST or allow=HOST:PORT
    /// lets it reach a name, *.name, address or range (several with commas; * is all that is public); mock=FILE answers by rules
    #[arg(long, value_name = "none|deny|allow=…|mock=…", value_parser = reach)]
    pub(crate) net: Vec<NetworkModeArgument>,
    /// How much longer a round trip takes, such as 200ms
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub(crate) latency: Option<Duration>,
    /// By how much that differs from packet to packet
    #[arg(long, value_name = "TIME", value_parser = duration, requires = "latency")]
    pub(crate) jitter: Option<Duration>,
    /// The share of packets that are lost, such as 5%
    #[arg(long, value_name = "PERCENT", value_parser = percent)]
    pub(crate) loss: Option<f64>,
    /// The share of packets that arrive twice
    #[arg(long, value_name = "PERCENT", value_parser = percent)]
    pub(crate) duplicate: Option<f64>,
    /// The share of packets that overtake others, which needs --latency
    #[arg(long, value_name = "PERCENT", value_parser = percent, requires = "latency")]
    pub(crate) reorder: Option<f64>,
    /// The most in each direction, such as 1mbit
    #[arg(long, value_name = "RATE", value_parser = bandwidth)]
    pub(crate) bandwidth: Option<u64>,
    /// A host that does not answer: a name, *.name, address, range or *; can be repeated
    #[arg(long, value_name = "HOST", value_delimiter = ',')]
    pub(crate) partition: Vec<HostPattern>,
    /// When packets are delayed and lost, such as 1s-3s from the first packet; always without this
    #[arg(long, value_name = "FROM-UNTIL", value_parser = window)]
    pub(crate) fault_window: Option<FaultWindow>,
    /// Who delays and loses what leaves the sandbox: menace, or the netem of the kernel; what comes in menace does
    #[arg(long, value_name = "menace|netem", value_parser = shaper, default_value = "menace")]
    pub(crate) shaper: PacketShaper,
    /// The name server that is asked for names that are allowed; without this as the host does
    #[arg(long, value_name = "ADDRESS[:PORT]", value_parser = name_server)]
    pub(crate) dns: Option<SocketAddr>,
    /// Where chance begins; the same seed loses the same packets
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) seed: u64,
}

/// One value of `--net`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum NetworkModeArgument {
    None,
    Deny,
    Allow(Vec<NetworkDestination>),
    Mock(PathBuf),
}

fn reach(text: &str) -> Result<NetworkModeArgument, String> {
    match text.split_once('=') {
        None if text == "none" => Ok(NetworkModeArgument::None),
        None if text == "deny" => Ok(NetworkModeArgument::Deny),
        Some(("allow", rules)) => {
            let rules: Result<_, _> = rules.split(',').map(|rule| rule.trim().parse()).collect();
            rules.map(NetworkModeArgument::Allow).map_err(|error| error.to_string())
        }
        Some(("mock", file)) if !file.is_empty() => Ok(NetworkModeArgument::Mock(file.into())),
        _ => Err("expected none, deny, allow=HOST[:PORT],… or mock=FILE".into()),
    }
}

fn shaper(text: &str) -> Result<PacketShaper, String> {
    match text {
        "menace" => Ok(PacketShaper::Menace),
        "netem" => Ok(PacketShaper::Netem),
        _ => Err("expected menace or netem".into()),
    }
}

fn percent(text: &str) -> Result<f64, String> {
    Percent::parse(text)
        .map(|percent| percent.get() / 100.0)
        .ok_or_else(|| format!("expected {}", Percent::accepted()))
}

fn bandwidth(text: &str) -> Result<u64, String> {
    BitsPerSecond::parse(text)
        .map(|rate| rate.0)
        .filter(|rate| *rate > 0)
        .ok_or_else(|| format!("expected {}", BitsPerSecond::accepted()))
}

fn window(text: &str) -> Result<FaultWindow, String> {
    let wrong = || "expected two times such as 1s-3s, of which the first is earlier".to_owned();
    let (from, until) = text.split_once('-').ok_or_else(wrong)?;
    let read = |text| <Duration as SettingValue>::parse(text).ok_or_else(wrong);
    let window = FaultWindow { from: read(from)?, until: read(until)? };
    if window.from < window.until { Ok(window) } else { Err(wrong()) }
}

fn name_server(text: &str) -> Result<SocketAddr, String> {
    let with_port = || text.parse::<SocketAddr>().ok();
    let without = || text.parse().ok().map(|address| SocketAddr::new(address, 53));
    with_port().or_else(without).ok_or_else(|| "expected an address such as 9.9.9.9 or 127.0.0.1:5353".into())
}
