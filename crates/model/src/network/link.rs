//! Link conditions: delay, loss, duplication, reordering, rate and partitions.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::HostPattern;
use super::duration_text::duration;

/// Conditions of a sandbox's network in each direction. Random choices depend only on the seed, the flow and the number
/// of the packet in the flow.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct NetworkConditions {
    /// Link from the sandbox to the outside.
    pub out: LinkConditions,
    /// Link from the outside to the sandbox.
    #[serde(rename = "in")]
    pub into: LinkConditions,
    /// Hosts that are partitioned off: every packet to and from them is lost.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub partition: Vec<HostPattern>,
    /// Time window in which the conditions apply; `None` for always.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub window: Option<FaultWindow>,
}

/// Conditions of one direction.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LinkConditions {
    /// Delay added to each packet.
    #[serde(with = "duration")]
    pub delay: Duration,
    /// Variation of the delay from packet to packet.
    #[serde(with = "duration")]
    pub jitter: Duration,
    /// Distribution of the variation.
    pub distribution: DelayDistribution,
    /// Share of packets that are lost.
    pub loss: f64,
    /// Share of packets that arrive twice.
    pub duplicate: f64,
    /// Share of packets that overtake earlier ones, because they are not delayed.
    pub reorder: f64,
    /// Rate in bits per second; `None` for no limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate: Option<u64>,
}

/// Component that delays and drops the packets leaving a sandbox. Incoming packets, partitions and windows are always
/// handled by menace.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PacketShaper {
    /// menace's netstack: derived from the seed, counted in each flow, available on every kernel.
    #[default]
    Menace,
    /// The kernel's netem, where the kernel has it.
    Netem,
}

/// Distribution of delays.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DelayDistribution {
    /// Uniform between delay − jitter and delay + jitter.
    #[default]
    Uniform,
    /// Normal around the delay; the jitter is the standard deviation.
    Normal,
    /// The delay plus an exponentially distributed time whose mean is the jitter.
    Exponential,
}

/// A time window, relative to the first packet of the sandbox, or to the first one after its shape was changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FaultWindow {
    /// Start.
    #[serde(with = "duration")]
    pub from: Duration,
    /// End, exclusive.
    #[serde(with = "duration")]
    pub until: Duration,
}

impl FaultWindow {
    /// Whether a moment is in the window.
    pub fn contains(&self, at: Duration) -> bool {
        (self.from..self.until).contains(&at)
    }
}

impl LinkConditions {
    /// Whether packets pass unchanged.
    pub fn is_clear(&self) -> bool {
        *self == Self::default()
    }
}

impl NetworkConditions {
    /// Half of the latency and jitter in each direction, so that a round trip takes `latency` longer.
    pub fn symmetric(latency: Duration, jitter: Duration) -> Self {
        let link = LinkConditions { delay: latency / 2, jitter: jitter / 2, ..LinkConditions::default() };
        Self { out: link, into: link, ..Self::default() }
    }

    /// Applies a change to both directions.
    #[must_use]
    pub fn both(mut self, change: impl Fn(&mut LinkConditions)) -> Self {
        change(&mut self.out);
        change(&mut self.into);
        self
    }

    /// Whether packets pass unchanged.
    pub fn is_clear(&self) -> bool {
        self.out.is_clear() && self.into.is_clear() && self.partition.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes_round_trip() {
        let mut shape = NetworkConditions::symmetric(Duration::from_millis(200), Duration::from_millis(20))
            .both(|link| (link.loss, link.rate) = (0.05, Some(1_000_000)));
        shape.partition.push("*.example.com".parse().unwrap());
        shape.window = Some(FaultWindow { from: Duration::ZERO, until: Duration::from_millis(1500) });
        let text = serde_json::to_string(&shape).unwrap();
        assert!(text.contains(r#""delay":"100ms""#), "{text}");
        assert_eq!(serde_json::from_str::<NetworkConditions>(&text).unwrap(), shape);
        assert!(serde_json::from_str::<NetworkConditions>("{}").unwrap().is_clear());
        serde_json::from_str::<NetworkConditions>(r#"{"out": {"lag": 1}}"#).unwrap_err();
    }

    #[test]
    fn the_end_of_a_window_is_exclusive() {
        let window = FaultWindow { from: Duration::from_secs(1), until: Duration::from_secs(2) };
        let at = |milliseconds| window.contains(Duration::from_millis(milliseconds));
        assert_eq!([at(999), at(1000), at(1999), at(2000)], [false, true, true, false]);
    }
}
