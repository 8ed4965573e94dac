//! What becomes of a packet, from the seed, its flow and its number in it, and from nothing else.

use std::f64::consts::TAU;
use std::time::Duration;

use menace_model::chance::{mixed, share};
use menace_model::network::{Distribution, Link};

/// What becomes of a packet.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Fate {
    Lost,
    Arrives { delay: Duration, twice: bool, overtakes: bool },
}

/// Chance in one direction of one flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Chance(u64);

impl Chance {
    /// A flow is named by what it is for and how many such there were before, because its own port is the kernel's
    /// choice and differs from run to run.
    pub(crate) fn of_flow(seed: u64, destination: &str, occurrence: u64, is_out: bool) -> Self {
        let mut state = mixed(seed ^ 0x6d65_6e61_6365);
        for chunk in destination.as_bytes().chunks(8) {
            let mut word = [0; 8];
            for (place, byte) in word.iter_mut().zip(chunk) {
                *place = *byte;
            }
            state = mixed(state ^ u64::from_le_bytes(word));
        }
        Self(mixed(mixed(state ^ occurrence) ^ u64::from(is_out)))
    }

    /// A number from 0 to below 1, for a packet and a question about it.
    fn share(self, packet: u64, question: u64) -> f64 {
        share(mixed(mixed(self.0 ^ packet) ^ question))
    }

    /// What becomes of the packet with this number.
    pub(crate) fn fate(self, packet: u64, link: &Link) -> Fate {
        if self.share(packet, 1) < link.loss {
            return Fate::Lost;
        }
        let overtakes = self.share(packet, 3) < link.reorder;
        let delay = if overtakes { Duration::ZERO } else { self.delay(packet, link) };
        Fate::Arrives { delay, twice: self.share(packet, 2) < link.duplicate, overtakes }
    }

    fn delay(self, packet: u64, link: &Link) -> Duration {
        if link.jitter.is_zero() {
            return link.delay;
        }
        let (first, second) = (self.share(packet, 4), self.share(packet, 5));
        let spread = match link.distribution {
            Distribution::Uniform => first * 2.0 - 1.0,
            // Box and Muller; the logarithm is of a number above 0.
            Distribution::Normal => (-2.0 * (1.0 - first).ln()).sqrt() * (TAU * second).cos(),
            Distribution::Exponential => -(1.0 - first).ln(),
        };
        let seconds = link.delay.as_secs_f64() + spread * link.jitter.as_secs_f64();
        Duration::try_from_secs_f64(seconds.max(0.0)).unwrap_or(link.delay)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PACKETS: u64 = 20_000;

    fn chance(seed: u64) -> Chance {
        Chance::of_flow(seed, "api.example.com:443", 0, true)
    }

    fn fates(seed: u64, link: &Link) -> Vec<Fate> {
        (0..PACKETS).map(|packet| chance(seed).fate(packet, link)).collect()
    }

    #[test]
    fn the_same_seed_gives_the_same_pattern_and_others_give_others() {
        let link = Link { loss: 0.1, jitter: Duration::from_millis(3), ..Link::default() };
        assert_eq!(fates(1, &link), fates(1, &link));
        assert_ne!(fates(1, &link), fates(2, &link));
        let back = Chance::of_flow(1, "api.example.com:443", 0, false);
        let second = Chance::of_flow(1, "api.example.com:443", 1, true);
        let other = Chance::of_flow(1, "api.example.com:80", 0, true);
        assert!([back, second, other].iter().all(|other| *other != chance(1)));
    }

    #[test]
    fn shares_are_those_that_were_asked_for() {
        for share in [0.01, 0.1, 0.5] {
            let link = Link { loss: share, ..Link::default() };
            let lost = fates(7, &link).iter().filter(|fate| **fate == Fate::Lost).count() as f64;
            let (mean, deviation) = (PACKETS as f64 * share, (PACKETS as f64 * share * (1.0 - share)).sqrt());
            assert!((lost - mean).abs() < 2.576 * deviation, "{lost} of {PACKETS} at {share}");
        }
    }

    #[test]
    fn delays_have_the_mean_and_the_spread_that_were_asked_for() {
        let (delay, jitter) = (Duration::from_millis(100), Duration::from_millis(10));
        let cases = [
            (Distribution::Uniform, 0.1, 0.0058),
            (Distribution::Normal, 0.1, 0.01),
            (Distribution::Exponential, 0.11, 0.01),
        ];
        for (distribution, mean, deviation) in cases {
            let link = Link { delay, jitter, distribution, ..Link::default() };
            let delays: Vec<f64> = fates(3, &link)
                .into_iter()
                .map(|fate| match fate {
                    Fate::Arrives { delay, .. } => delay.as_secs_f64(),
                    Fate::Lost => panic!("nothing is lost here"),
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
