//! What happens to packets on their way.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::HostPattern;
use super::text::duration;

/// What happens to the packets of a sandbox, in each direction. Chance depends on the seed, the flow and the number of
/// the packet in it, and on nothing else.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Shape {
    /// From the sandbox to the world.
    pub out: Link,
    /// From the world to the sandbox.
    #[serde(rename = "in")]
    pub into: Link,
    /// Hosts that do not answer: every packet to and from them is lost.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub partition: Vec<HostPattern>,
    /// When any of this happens; without it always.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub window: Option<Window>,
}

/// One direction.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Link {
    /// How much longer a packet takes.
    #[serde(with = "duration")]
    pub delay: Duration,
    /// By how much that differs from packet to packet.
    #[serde(with = "duration")]
    pub jitter: Duration,
    /// How it differs.
    pub distribution: Distribution,
    /// The share of packets that are lost.
    pub loss: f64,
    /// The share of packets that arrive twice.
    pub duplicate: f64,
    /// The share of packets that overtake those before them, because they are not delayed.
    pub reorder: f64,
    /// Bits in a second; without it as many as the machine can.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate: Option<u64>,
}

/// Who delays and loses the packets that leave a sandbox. Those that come in, partitions and windows are always done by
/// menace.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Shaper {
    /// The network that ends in menace: from a seed, counted in each flow, on every kernel.
    #[default]
    Menace,
    /// The kernel's netem, where it has it.
    Netem,
}

/// How delays differ from packet to packet.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Distribution {
    /// Equally often everywhere between the delay less the jitter and the delay and the jitter.
    #[default]
    Uniform,
    /// Around the delay; the jitter is the standard deviation.
    Normal,
    /// Mostly a little more than the delay and seldom much more, on average by the jitter.
    Exponential,
}

/// A time in which something happens, from the first packet of the sandbox, or the first after its shape was changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Window {
    /// When it begins.
    #[serde(with = "duration")]
    pub from: Duration,
    /// When it ends.
    #[serde(with = "duration")]
    pub until: Duration,
}

impl Window {
    /// Whether a moment is in it.
    pub fn contains(&self, at: Duration) -> bool {
        (self.from..self.until).contains(&at)
    }
}

impl Link {
    /// Whether packets pass as they are.
    pub fn is_clear(&self) -> bool {
        *self == Self::default()
    }
}

impl Shape {
    /// The same in both directions, so that a round trip takes `latency` longer.
    pub fn symmetric(latency: Duration, jitter: Duration) -> Self {
        let link = Link { delay: latency / 2, jitter: jitter / 2, ..Link::default() };
        Self { out: link, into: link, ..Self::default() }
    }

    /// Changes both directions.
    #[must_use]
    pub fn both(mut self, change: impl Fn(&mut Link)) -> Self {
        change(&mut self.out);
        change(&mut self.into);
        self
    }

    /// Whether packets pass as they are.
    pub fn is_clear(&self) -> bool {
        self.out.is_clear() && self.into.is_clear() && self.partition.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shape_is_read_as_it_is_written() {
        let mut shape = Shape::symmetric(Duration::from_millis(200), Duration::from_millis(20))
            .both(|link| (link.loss, link.rate) = (0.05, Some(1_000_000)));
        shape.partition.push("*.example.com".parse().unwrap());
        shape.window = Some(Window { from: Duration::ZERO, until: Duration::from_millis(1500) });
        let text = serde_json::to_string(&shape).unwrap();
        assert!(text.contains(r#""delay":"100ms""#), "{text}");
        assert_eq!(serde_json::from_str::<Shape>(&text).unwrap(), shape);
        assert!(serde_json::from_str::<Shape>("{}").unwrap().is_clear());
        serde_json::from_str::<Shape>(r#"{"out": {"lag": 1}}"#).unwrap_err();
    }

    #[test]
    fn a_window_ends_when_it_ends() {
        let window = Window { from: Duration::from_secs(1), until: Duration::from_secs(2) };
        let at = |milliseconds| window.contains(Duration::from_millis(milliseconds));
        assert_eq!([at(999), at(1000), at(1999), at(2000)], [false, true, true, false]);
    }
}
