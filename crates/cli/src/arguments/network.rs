//! Arguments for the network of a sandbox.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use menace_model::network::{FaultWindow, HostPattern, NetworkDestination, PacketShaper};
use menace_model::settings::{BitsPerSecond, Percent, SettingValue};

use super::sandbox::duration;

/// Network access of a sandbox, and simulated faults.
#[derive(Debug, Args)]
pub(crate) struct NetworkArguments {
    /// Network access: none (loopback only), deny (refuse and record everything), allow=HOST or allow=HOST:PORT (names,
    /// *.name, addresses or ranges, comma-separated; * is every public address), mock=FILE (answer by the rules in
    /// FILE); can be repeated [default: none]
    #[arg(long, value_name = "none|deny|allow=…|mock=…", value_parser = reach)]
    pub(crate) net: Vec<NetworkModeArgument>,
    /// Latency to add to each round trip, such as 200ms
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub(crate) latency: Option<Duration>,
    /// Random variation of the latency from packet to packet, such as 50ms
    #[arg(long, value_name = "TIME", value_parser = duration, requires = "latency")]
    pub(crate) jitter: Option<Duration>,
    /// Share of packets to drop, such as 5%
    #[arg(long, value_name = "PERCENT", value_parser = percent)]
    pub(crate) loss: Option<f64>,
    /// Share of packets to duplicate, such as 1%
    #[arg(long, value_name = "PERCENT", value_parser = percent)]
    pub(crate) duplicate: Option<f64>,
    /// Share of packets to reorder, such as 1%; needs --latency
    #[arg(long, value_name = "PERCENT", value_parser = percent, requires = "latency")]
    pub(crate) reorder: Option<f64>,
    /// Bandwidth in each direction, such as 1mbit [default: unlimited]
    #[arg(long, value_name = "RATE", value_parser = bandwidth)]
    pub(crate) bandwidth: Option<u64>,
    /// Host that never answers: a name, *.name, address, range or *; can be repeated
    #[arg(long, value_name = "HOST", value_delimiter = ',')]
    pub(crate) partition: Vec<HostPattern>,
    /// Time after the first packet during which network faults are active, such as 1s-3s [default: always]
    #[arg(long, value_name = "FROM-UNTIL", value_parser = window)]
    pub(crate) fault_window: Option<FaultWindow>,
    /// Implementation of faults on outgoing packets: menace, or the kernel's netem (incoming packets always use menace)
    #[arg(long, value_name = "menace|netem", value_parser = shaper, default_value = "menace")]
    pub(crate) shaper: PacketShaper,
    /// Name server for allowed names [default: the host's]
    #[arg(long, value_name = "ADDRESS[:PORT]", value_parser = name_server)]
    pub(crate) dns: Option<SocketAddr>,
    /// Seed of every random choice; the same seed drops the same packets
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
    let wrong = || "expected FROM-UNTIL with FROM before UNTIL, such as 1s-3s".to_owned();
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
