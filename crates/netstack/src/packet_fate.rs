//! Random fate of a packet (loss, delay, duplication, reordering), derived only from the seed, its flow and its number in
//! the flow.

use std::f64::consts::TAU;
use std::time::Duration;

use menace_model::network::{DelayDistribution, LinkConditions};
use menace_model::random::{mix_bits, unit_interval};

/// Fate of a packet on the link.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum PacketFate {
    Lost,
    Arrives { delay: Duration, twice: bool, overtakes: bool },
}

/// Seed of one direction of one flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FlowSeed(u64);

impl FlowSeed {
    /// Derives the seed of a flow from its destination and the number of earlier flows to it. Its source port is not used:
    /// the kernel chooses it, and it differs from run to run.
    pub(crate) fn of_flow(seed: u64, destination: &str, occurrence: u64, is_out: bool) -> Self {
        let mut state = mix_bits(seed ^ 0x6d65_6e61_6365);
        for chunk in destination.as_bytes().chunks(8) {
            let mut word = [0; 8];
            for (target, byte) in word.iter_mut().zip(chunk) {
                *target = *byte;
            }
            state = mix_bits(state ^ u64::from_le_bytes(word));
        }
        Self(mix_bits(mix_bits(state ^ occurrence) ^ u64::from(is_out)))
    }

    /// Random number, at least 0 and below 1, for a packet and the property that is decided.
    fn uniform(self, packet: u64, property: u64) -> f64 {
        unit_interval(mix_bits(mix_bits(self.0 ^ packet) ^ property))
    }

    /// Decides the fate of the packet with this number.
    pub(crate) fn fate(self, packet: u64, link: &LinkConditions) -> PacketFate {
        if self.uniform(packet, 1) < link.loss {
            return PacketFate::Lost;
        }
        let overtakes = self.uniform(packet, 3) < link.reorder;
        let delay = if overtakes { Duration::ZERO } else { self.delay(packet, link) };
        PacketFate::Arrives { delay, twice: self.uniform(packet, 2) < link.duplicate, overtakes }
    }

    fn delay(self, packet: u64, link: &LinkConditions) -> Duration {
        if link.jitter.is_zero() {
            return link.delay;
        }
        let (first, second) = (self.uniform(packet, 4), self.uniform(packet, 5));
        let spread = match link.distribution {
            DelayDistribution::Uniform => first * 2.0 - 1.0,
            // Box-Muller transform; the argument of the logarithm is above 0.
            DelayDistribution::Normal => (-2.0 * (1.0 - first).ln()).sqrt() * (TAU * second).cos(),
            DelayDistribution::Exponential => -(1.0 - first).ln(),
        };
        let seconds = link.delay.as_secs_f64() + spread * link.jitter.as_secs_f64();
        Duration::try_from_secs_f64(seconds.max(0.0)).unwrap_or(link.delay)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PACKETS: u64 = 20_000;

    fn chance(seed: u64) -> FlowSeed {
        FlowSeed::of_flow(seed, "api.example.com:443", 0, true)
    }

    fn fates(seed: u64, link: &LinkConditions) -> Vec<PacketFate> {
        (0..PACKETS).map(|packet| chance(seed).fate(packet, link)).collect()
    }

    #[test]
    fn equal_seeds_give_equal_fates_and_different_seeds_differ() {
        let link =
            LinkConditions { loss: 0.1, jitter: Duration::from_millis(3), ..LinkConditions::default() };
        assert_eq!(fates(1, &link), fates(1, &link));
        assert_ne!(fates(1, &link), fates(2, &link));
        let back = FlowSeed::of_flow(1, "api.example.com:443", 0, false);
        let second = FlowSeed::of_flow(1, "api.example.com:443", 1, true);
        let other = FlowSeed::of_flow(1, "api.example.com:80", 0, true);
        assert!([back, second, other].iter().all(|other| *other != chance(1)));
    }

    #[test]
    fn loss_has_the_configured_share() {
        for share in [0.01, 0.1, 0.5] {
            let link = LinkConditions { loss: share, ..LinkConditions::default() };
            let lost = fates(7, &link).iter().filter(|fate| **fate == PacketFate::Lost).count() as f64;
            let (mean, deviation) = (PACKETS as f64 * share, (PACKETS as f64 * share * (1.0 - share)).sqrt());
            assert!((lost - mean).abs() < 2.576 * deviation, "{lost} of {PACKETS} at {share}");
        }
    }

    #[test]
    fn delays_have_the_configured_mean_and_deviation() {
        let (delay, jitter) = (Duration::from_millis(100), Duration::from_millis(10));
        let cases = [
            (DelayDistribution::Uniform, 0.1, 0.0058),
            (DelayDistribution::Normal, 0.1, 0.01),
            (DelayDistribution::Exponential, 0.11, 0.01),
        ];
        for (distribution, mean, deviation) in cases {
            let link = LinkConditions { delay, jitter, distribution, ..LinkConditions::default() };
            let delays: Vec<f64> = fates(3, &link)
                .into_iter()
                .map(|fate| match fate {
                    PacketFate::Arrives { delay, .. } => delay.as_secs_f64(),
                    PacketFate::Lost => panic!("nothing is lost here"),
                })
                .collect();
            let measured = delays.iter().sum::<f64>() / PACKETS as f64;
            let spread =
                (delays.iter().map(|delay| (delay - measured).powi(2)).sum::<f64>() / PACKETS as f64).sqrt();
            assert!((measured - mean).abs() < 3e-4, "{distribution:?}: mean {measured}");
            assert!((spread - deviation).abs() < 3e-4, "{distribution:?}: deviation {spread}");
        }
    }
}
