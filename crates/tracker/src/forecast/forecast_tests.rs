use serde::Deserialize;

use super::*;
use crate::numbers::Numbers;

#[derive(Deserialize)]
struct Case {
    kind: String,
    series: Vec<f64>,
    origins: Vec<Origin>,
}

#[derive(Deserialize)]
struct Origin {
    at: usize,
    actual: f64,
    arima: Theirs,
    ets: Theirs,
    best: f64,
}

#[derive(Deserialize)]
struct Theirs {
    forecast: f64,
}

#[test]
fn as_close_as_statsmodels() {
    let cases: Vec<Case> = crate::statistics::cases("forecasts");
    let mut ours = [0.0; 3];
    let mut theirs = [0.0; 3];
    for case in &cases {
        for origin in &case.origins {
            let before = &case.series[..origin.at];
            let arima = arima::best(before, &[], 1).unwrap().1;
            let ets = ets::best(before, 1).unwrap().1;
            let best = if arima.one_step_error <= ets.one_step_error { arima.means[0] } else { ets.means[0] };
            for (sum, value) in ours.iter_mut().zip([arima.means[0], ets.means[0], best]) {
                *sum += (value - origin.actual).abs();
            }
            for (sum, value) in
                theirs.iter_mut().zip([origin.arima.forecast, origin.ets.forecast, origin.best])
            {
                *sum += (value - origin.actual).abs();
            }
            assert!(best.is_finite(), "{}", case.kind);
        }
    }
    for (family, (ours, theirs)) in ["ARIMA", "ETS", "best"].iter().zip(ours.iter().zip(theirs)) {
        println!("{family}: {:.4} of theirs", ours / theirs);
        assert!(*ours <= 1.02 * theirs, "{family}: {ours} here, {theirs} there");
    }
}

/// Series as metrics are: noise, what returns slowly, what wanders, what rises.
fn simulated(kind: usize, length: usize, numbers: &mut Numbers) -> Vec<f64> {
    let (mut value, mut series) = (0.0, Vec::new());
    for at in 0..length {
        let noise = numbers.normal();
        value = match kind {
            0 => noise,
            1 => 0.7 * value + noise,
            2 => value + noise,
            3 => 0.3 * at as f64 + noise,
            _ => value + 0.4 + noise,
        };
        series.push(value);
    }
    series
}

#[test]
fn nine_of_ten_values_are_in_their_intervals() {
    let mut numbers = Numbers(1);
    let (mut covered, mut asked) = (0_u32, 0_u32);
    for number in 0..1_200 {
        let length = 24 + number % 40;
        let series = simulated(number % 5, length + 1, &mut numbers);
        let found = forecast(&Question::next(&series[..length])).unwrap();
        let (low, high) = found.steps[0].interval.unwrap();
        covered += u32::from((low..=high).contains(&series[length]));
        asked += 1;
    }
    let share = f64::from(covered) / f64::from(asked);
    println!("{covered} of {asked}");
    assert!((0.87..=0.93).contains(&share), "{share}");
}
