//! What no network can be like.

use std::time::Duration;

use menace_model::network::{Distribution, Link, NetworkSpec, Shape, Shaper};

/// Longer than anybody waits, and short enough to be added to any moment.
const LONGEST_DELAY: Duration = Duration::from_hours(1);

/// Says what is wrong with a network that is asked for.
pub fn check(spec: &NetworkSpec) -> Result<(), String> {
    for (direction, link) in [("out", &spec.shape.out), ("in", &spec.shape.into)] {
        check_link(link).map_err(|problem| format!("packets on their way {direction}: {problem}"))?;
    }
    if let Some(window) = spec.shape.window.filter(|window| window.from >= window.until) {
        return Err(format!("a window from {:?} until {:?} never opens", window.from, window.until));
    }
    if spec.shaper == Shaper::Netem { check_for_netem(&spec.shape) } else { Ok(()) }
}

/// netem does what it does from the beginning and to every packet that leaves.
fn check_for_netem(shape: &Shape) -> Result<(), String> {
    if shape.window.is_some() {
        return Err("netem knows no windows of time".into());
    }
    if shape.out.distribution != Distribution::Uniform {
        return Err("netem has delays only that differ uniformly".into());
    }
    Ok(())
}

fn check_link(link: &Link) -> Result<(), String> {
    for (name, share) in [("loss", link.loss), ("duplicate", link.duplicate), ("reorder", link.reorder)] {
        if !(0.0..=1.0).contains(&share) {
            return Err(format!("{name} is {share}, which is no share of them"));
        }
    }
    for (name, time) in [("delay", link.delay), ("jitter", link.jitter)] {
        if time > LONGEST_DELAY {
            return Err(format!("a {name} of {time:?} is longer than an hour"));
        }
    }
    if link.rate.is_some_and(|rate| rate < 8) {
        return Err("a rate of less than a byte in a second lets nothing through".into());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use menace_model::network::{Shape, Window};

    use super::*;

    #[test]
    fn what_cannot_be_is_refused() {
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
            assert!(with(link).unwrap_err().starts_with("packets on their way in"));
        }
        let window = Some(Window { from: Duration::from_secs(1), until: Duration::from_secs(1) });
        check(&NetworkSpec { shape: Shape { window, ..Shape::default() }, ..NetworkSpec::default() })
            .unwrap_err();
    }

    #[test]
    fn netem_is_not_asked_for_what_it_cannot_do() {
        let with = |shape| check(&NetworkSpec { shape, shaper: Shaper::Netem, ..NetworkSpec::default() });
        let window = Some(Window { from: Duration::ZERO, until: Duration::from_secs(1) });
        let link = Link { distribution: Distribution::Normal, ..Link::default() };
        assert_eq!(with(Shape::symmetric(Duration::from_millis(5), Duration::ZERO)), Ok(()));
        with(Shape { window, ..Shape::default() }).unwrap_err();
        with(Shape { out: link, ..Shape::default() }).unwrap_err();
        assert_eq!(with(Shape { into: link, ..Shape::default() }), Ok(()));
    }
}
