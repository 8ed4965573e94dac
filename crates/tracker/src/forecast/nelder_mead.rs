//! Nelder-Mead method: minimum of a function of a few parameters, without derivatives.

/// Maximum number of steps per parameter.
const STEPS: usize = 120;
/// Relative difference of values at which the search ends.
const CLOSE: f64 = 1e-9;

/// Minimises a function from a starting point, and returns the best point with its value. NaN counts as infinity.
pub(super) fn minimise(start: &[f64], step: f64, mut value: impl FnMut(&[f64]) -> f64) -> (Vec<f64>, f64) {
    let mut ask = |place: &[f64]| {
        let found = value(place);
        if found.is_nan() { f64::INFINITY } else { found }
    };
    let count = start.len();
    let mut simplex = vec![(start.to_vec(), ask(start))];
    for at in 0..count {
        let mut place = start.to_vec();
        place[at] += step;
        let found = ask(&place);
        simplex.push((place, found));
    }
    for _ in 0..STEPS * count {
        simplex.sort_by(|a, b| a.1.total_cmp(&b.1));
        if simplex[count].1 - simplex[0].1 <= CLOSE * (1.0 + simplex[0].1.abs()) {
            break;
        }
        let centre: Vec<f64> = (0..count)
            .map(|at| simplex[..count].iter().map(|(place, _)| place[at]).sum::<f64>() / count as f64)
            .collect();
        let worst = simplex[count].0.clone();
        let along = |share: f64| -> Vec<f64> {
            centre.iter().zip(&worst).map(|(centre, worst)| centre + share * (centre - worst)).collect()
        };
        let mut attempt = |share: f64| {
            let place = along(share);
            let found = ask(&place);
            (place, found)
        };
        let reflected = attempt(1.0);
        simplex[count] = if reflected.1 < simplex[0].1 {
            let further = attempt(2.0);
            if further.1 < reflected.1 { further } else { reflected }
        } else if reflected.1 < simplex[count - 1].1 {
            reflected
        } else {
            let nearer = attempt(if reflected.1 < simplex[count].1 { 0.5 } else { -0.5 });
            if nearer.1 < simplex[count].1.min(reflected.1) {
                nearer
            } else {
                shrink(&mut simplex, &mut ask);
                continue;
            }
        };
    }
    simplex.sort_by(|a, b| a.1.total_cmp(&b.1));
    simplex.swap_remove(0)
}

/// Moves all points halfway to the best one.
fn shrink(simplex: &mut [(Vec<f64>, f64)], ask: &mut impl FnMut(&[f64]) -> f64) {
    let (best, others) = simplex.split_at_mut(1);
    for (place, found) in others {
        for (own, best) in place.iter_mut().zip(&best[0].0) {
            *own = best + (*own - best) / 2.0;
        }
        *found = ask(place);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rosenbrock_valley_is_minimised() {
        let valley = |place: &[f64]| (1.0 - place[0]).powi(2) + 100.0 * (place[1] - place[0].powi(2)).powi(2);
        let (place, found) = minimise(&[-1.2, 1.0], 0.5, valley);
        assert!(found < 1e-6 && (place[0] - 1.0).abs() < 1e-2, "{place:?} {found}");
    }

    #[test]
    fn nan_is_avoided() {
        let (place, _) = minimise(&[2.0], 0.5, |place| if place[0] < 1.0 { f64::NAN } else { place[0] });
        assert!((place[0] - 1.0).abs() < 1e-3, "{place:?}");
    }
}
