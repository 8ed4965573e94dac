//! Validation of a network specification.

use std::fmt;
use std::time::Duration;

use menace_model::network::{
    DelayDistribution, LinkConditions, NetworkConditions, NetworkSpec, PacketShaper,
};
use menace_model::{ErrorClass, ErrorDetails};

/// Longest delay: longer than any program waits, and short enough to be added to any `Instant`.
const LONGEST_DELAY: Duration = Duration::from_hours(1);

/// An invalid network specification, with the setting concerned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NetworkSpecError(String);

impl fmt::Display for NetworkSpecError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl std::error::Error for NetworkSpecError {}

impl ErrorDetails for NetworkSpecError {
    fn class(&self) -> ErrorClass {
        ErrorClass::Usage
    }

    fn hint(&self) -> Option<String> {
        let text =
            "shares must be between 0 and 1 and rates above 0; menace's own shaper supports more than netem";
        Some(text.into())
    }
}

/// Checks a network specification; the error says what is invalid.
pub fn check(spec: &NetworkSpec) -> Result<(), NetworkSpecError> {
    for (direction, link) in [("out", &spec.shape.out), ("in", &spec.shape.into)] {
        check_link(link)
            .map_err(|problem| NetworkSpecError(format!("direction '{direction}': {problem}")))?;
    }
    if let Some(window) = spec.shape.window.filter(|window| window.from >= window.until) {
        let problem = format!("the window from {:?} until {:?} is empty", window.from, window.until);
        return Err(NetworkSpecError(problem));
    }
    if spec.shaper == PacketShaper::Netem { check_for_netem(&spec.shape) } else { Ok(()) }
}

/// Checks a shape for netem, which applies from the start and to every outgoing packet.
fn check_for_netem(shape: &NetworkConditions) -> Result<(), NetworkSpecError> {
    if shape.window.is_some() {
        return Err(NetworkSpecError("netem does not support time windows".into()));
    }
    if shape.out.distribution != DelayDistribution::Uniform {
        return Err(NetworkSpecError("netem supports only uniformly distributed delays".into()));
    }
    Ok(())
}

fn check_link(link: &LinkConditions) -> Result<(), String> {
    for (name, share) in [("loss", link.loss), ("duplicate", link.duplicate), ("reorder", link.reorder)] {
        if !(0.0..=1.0).contains(&share) {
            return Err(format!("{name} is {share}: expected a share from 0 to 1"));
        }
    }
    for (name, time) in [("delay", link.delay), ("jitter", link.jitter)] {
        if time > LONGEST_DELAY {
            return Err(format!("{name} is {time:?}: expected at most one hour"));
        }
    }
    if link.rate.is_some_and(|rate| rate < 8) {
        return Err("rate is less than one byte per second".into());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use menace_model::network::{FaultWindow, NetworkConditions};

    use super::*;

    #[test]
    fn invalid_links_and_windows_are_rejected() {
        let with = |link: LinkConditions| {
            check(&NetworkSpec {
                shape: NetworkConditions { into: link, ..NetworkConditions::default() },
                ..NetworkSpec::default()
            })
        };
        assert_eq!(with(LinkConditions { loss: 1.0, rate: Some(8), ..LinkConditions::default() }), Ok(()));
        for link in [
            LinkConditions { loss: 1.1, ..LinkConditions::default() },
            LinkConditions { duplicate: -0.1, ..LinkConditions::default() },
            LinkConditions { reorder: f64::NAN, ..LinkConditions::default() },
            LinkConditions { delay: Duration::from_secs(3601), ..LinkConditions::default() },
            LinkConditions { rate: Some(0), ..LinkConditions::default() },
        ] {
            assert!(with(link).unwrap_err().to_string().starts_with("direction 'in'"));
        }
        let window = Some(FaultWindow { from: Duration::from_secs(1), until: Duration::from_secs(1) });
        check(&NetworkSpec {
            shape: NetworkConditions { window, ..NetworkConditions::default() },
            ..NetworkSpec::default()
        })
        .unwrap_err();
    }

    #[test]
    fn shapes_that_netem_does_not_support_are_rejected() {
        let with =
            |shape| check(&NetworkSpec { shape, shaper: PacketShaper::Netem, ..NetworkSpec::default() });
        let window = Some(FaultWindow { from: Duration::ZERO, until: Duration::from_secs(1) });
        let link = LinkConditions { distribution: DelayDistribution::Normal, ..LinkConditions::default() };
        assert_eq!(with(NetworkConditions::symmetric(Duration::from_millis(5), Duration::ZERO)), Ok(()));
        with(NetworkConditions { window, ..NetworkConditions::default() }).unwrap_err();
        with(NetworkConditions { out: link, ..NetworkConditions::default() }).unwrap_err();
        assert_eq!(with(NetworkConditions { into: link, ..NetworkConditions::default() }), Ok(()));
    }
}
