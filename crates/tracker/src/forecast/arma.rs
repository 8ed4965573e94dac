//! ARMA processes: exact innovations and likelihood of a series by the Kalman filter.

use nalgebra::{SMatrix, SVector};

/// Dimension of the state: enough for two autoregressive and two moving-average terms.
const SIZE: usize = 3;

type StateMatrix = SMatrix<f64, SIZE, SIZE>;
type StateVector = SVector<f64, SIZE>;

/// Coefficients of a process.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ArmaProcess {
    /// Autoregressive coefficients.
    pub(super) phi: Vec<f64>,
    /// Moving-average coefficients.
    pub(super) theta: Vec<f64>,
}

/// Columns after the filter.
#[derive(Debug)]
pub(super) struct FilteredColumns {
    /// Innovations of each column, scaled to one variance.
    pub(super) innovations: Vec<Vec<f64>>,
    /// Sum of the logarithms of the scales.
    pub(super) log_scale: f64,
    /// One-step forecast of each column.
    pub(super) next: Vec<f64>,
    /// Variance of the one-step forecast, relative to that of an innovation.
    pub(super) next_scale: f64,
}

impl ArmaProcess {
    /// The process of unconstrained parameters: each is mapped to a partial autocorrelation, so that the process is
    /// stationary and invertible.
    pub(super) fn of(numbers: &[f64], p: usize) -> Self {
        let bounded: Vec<f64> = numbers.iter().map(|number| number.tanh()).collect();
        let (values, innovations) = bounded.split_at(p);
        let theta = levinson(innovations).iter().map(|coefficient| -coefficient).collect();
        Self { phi: levinson(values), theta }
    }

    fn transition(&self) -> StateMatrix {
        let mut matrix = StateMatrix::zeros();
        for (at, phi) in self.phi.iter().enumerate() {
            matrix[(at, 0)] = *phi;
        }
        for at in 1..SIZE {
            matrix[(at - 1, at)] = 1.0;
        }
        matrix
    }

    fn selection(&self) -> StateVector {
        let mut vector = StateVector::zeros();
        vector[0] = 1.0;
        for (at, theta) in self.theta.iter().enumerate() {
            vector[at + 1] = *theta;
        }
        vector
    }

    /// Filters columns of equal length. A process has at most two autoregressive and two moving-average terms.
    pub(super) fn filter(&self, columns: &[&[f64]]) -> FilteredColumns {
        let (transition, selection) = (self.transition(), self.selection());
        let noise = selection * selection.transpose();
        let mut covariance = stationary(&transition, &noise);
        let mut states = vec![StateVector::zeros(); columns.len()];
        let length = columns.first().map_or(0, |column| column.len());
        let mut innovations: Vec<Vec<f64>> = columns.iter().map(|_| Vec::with_capacity(length)).collect();
        let mut log_scale = 0.0;
        for at in 0..length {
            let scale = covariance[(0, 0)];
            log_scale += scale.ln();
            let gain = transition * covariance.column(0) / scale;
            for ((column, state), innovations) in columns.iter().zip(&mut states).zip(&mut innovations) {
                let innovation = column[at] - state[0];
                innovations.push(innovation / scale.sqrt());
                *state = transition * *state + gain * innovation;
            }
            covariance =
                transition * covariance * transition.transpose() + noise - gain * gain.transpose() * scale;
        }
        let next = states.iter().map(|state| state[0]).collect();
        FilteredColumns { innovations, log_scale, next, next_scale: covariance[(0, 0)] }
    }

    /// Impulse response: effect of an innovation on the value after 0, 1, 2, … steps.
    pub(super) fn weights(&self, count: usize) -> Vec<f64> {
        let mut weights: Vec<f64> = Vec::with_capacity(count);
        for at in 0..count {
            let own = if at == 0 { 1.0 } else { self.theta.get(at - 1).copied().unwrap_or(0.0) };
            let before: f64 =
                (1..=at.min(self.phi.len())).map(|back| self.phi[back - 1] * weights[at - back]).sum();
            weights.push(own + before);
        }
        weights
    }

    /// Forecasts the next values from centred values and their innovations.
    pub(super) fn continue_from(&self, values: &[f64], innovations: &[f64], count: usize) -> Vec<f64> {
        let mut all = values.to_vec();
        for step in 0..count {
            let from_values: f64 = self
                .phi
                .iter()
                .enumerate()
                .filter_map(|(back, phi)| Some(phi * all.get(all.len().checked_sub(back + 1)?)?))
                .sum();
            let from_innovations: f64 = self
                .theta
                .iter()
                .enumerate()
                .skip(step)
                .filter_map(|(back, theta)| {
                    Some(theta * innovations.get((innovations.len() + step).checked_sub(back + 1)?)?)
                })
                .sum();
            all.push(from_values + from_innovations);
        }
        all.split_off(values.len())
    }
}

/// Coefficients from partial autocorrelations (Levinson-Durbin recursion).
fn levinson(partial: &[f64]) -> Vec<f64> {
    let mut coefficients: Vec<f64> = Vec::with_capacity(partial.len());
    for (order, last) in partial.iter().enumerate() {
        let before = coefficients.clone();
        for at in 0..order {
            coefficients[at] = before[at] - last * before[order - 1 - at];
        }
        coefficients.push(*last);
    }
    coefficients
}

/// Stationary covariance of the state: the infinite sum of the noise propagated over all steps, by repeated doubling of the
/// number of steps.
fn stationary(transition: &StateMatrix, noise: &StateMatrix) -> StateMatrix {
    let (mut sum, mut power) = (*noise, *transition);
    for _ in 0..40 {
        let more = power * sum * power.transpose();
        sum += more;
        power = power * power;
        if more.amax() <= 1e-12 * sum.amax() {
            break;
        }
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_value_has_the_stationary_variance() {
        let process = ArmaProcess { phi: vec![0.8], theta: vec![] };
        let filtered = process.filter(&[&[1.0, 0.8, 0.64]]);
        assert!((filtered.log_scale - (1.0_f64 / 0.36).ln()).abs() < 1e-9);
        assert!((filtered.innovations[0][0] - 0.6).abs() < 1e-9 && filtered.innovations[0][2].abs() < 1e-12);
        assert!((filtered.next[0] - 0.512).abs() < 1e-12);
    }

    #[test]
    fn impulse_responses_and_forecasts_agree() {
        let process = ArmaProcess { phi: vec![0.5, 0.2], theta: vec![0.4] };
        assert_eq!(process.weights(3), [1.0, 0.9, 0.65]);
        let following = process.continue_from(&[0.0, 0.0, 1.0], &[0.0, 0.0, 1.0], 2);
        assert!((following[0] - 0.9).abs() < 1e-12 && (following[1] - 0.65).abs() < 1e-12, "{following:?}");
    }

    #[test]
    fn any_parameters_give_a_stationary_process() {
        for numbers in [[3.0, -3.0, 2.0], [-9.0, 9.0, -9.0], [0.1, 0.2, 0.3]] {
            let process = ArmaProcess::of(&numbers, 2);
            assert!(process.weights(20_000).last().unwrap().abs() < 1.0, "{process:?}");
        }
    }
}
