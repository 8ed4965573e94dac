//! Validation of a network specification.

use std::time::Duration;

use menace_model::network::{Distribution, Link, NetworkSpec, Shape, Shaper};

/// Longest delay: longer than any program waits, and short enough to be added to any `Instant`.
const LONGEST_DELAY: Duration = Duration::from_hours(1);

/// Checks a network specification; the error says what is invalid.
pub fn check(spec: &NetworkSpec) -> Result<(), String> {
    for (direction, link) in [("out", &spec.shape.out), ("in", &spec.shape.into)] {
        check_link(link).map_err(|problem| format!("direction '{direction}': {problem}"))?;
    }
    if let Some(window) = spec.shape.window.filter(|window| window.from >= window.until) {
        return Err(format!("the window from {:?} until {:?} is empty", window.from, window.until));
    }
    if spec.shaper == Shaper::Netem { check_for_netem(&spec.shape) } else { Ok(()) }
}

/// Checks a shape for netem, which applies from the start and to every outgoing packet.
fn check_for_netem(shape: &Shape) -> Result<(), String> {
    if shape.window.is_some() {
        return Err("netem does not support time windows".into());
    }
    if shape.out.distribution != Distribution::Uniform {
        return Err("netem supports only uniformly distributed delays".into());
    }
    Ok(())
}

fn check_link(link: &Link) -> Result<(), String> {
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
    use menace_model::network::{Shape, Window};

    use super::*;

    #[test]
    fn invalid_links_and_windows_are_rejected() {
        let with = |link: Link| {
            check(&NetworkSpec { shape: Shape { into: link, ..Shape::default() }, ..NetworkSpec::default() })
        };
        assert_eq!(with(Link { loss: 1.0, rate: Some(8), ..Link::default() }), Ok(()));
        for link in [
            Link { loss: 1.1, ..Link::default() },
            Link { duplicate: -0.1, ..Link::default() },
            Link { reorder: f64::NAN, ..Link::default() },
            Link { delay: Duration::from_secs(3601), ..Link::default() },
            Link { rate: Some(0), ..Link::default() },
        ] {
            assert!(with(link).unwrap_err().starts_with("direction 'in'"));
        }
        let window = Some(Window { from: Duration::from_secs(1), until: Duration::from_secs(1) });
        check(&NetworkSpec { shape: Shape { window, ..Shape::default() }, ..NetworkSpec::default() })
            .unwrap_err();
    }

    #[test]
    fn shapes_that_netem_does_not_support_are_rejected() {
        let with = |shape| check(&NetworkSpec { shape, shaper: Shaper::Netem, ..NetworkSpec::default() });
        let window = Some(Window { from: Duration::ZERO, until: Duration::from_secs(1) });
        let link = Link { distribution: Distribution::Normal, ..Link::default() };
        assert_eq!(with(Shape::symmetric(Duration::from_millis(5), Duration::ZERO)), Ok(()));
        with(Shape { window, ..Shape::default() }).unwrap_err();
        with(Shape { out: link, ..Shape::default() }).unwrap_err();
        assert_eq!(with(Shape { into: link, ..Shape::default() }), Ok(()));
    }
}
