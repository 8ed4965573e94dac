use serde::Deserialize;

use super::*;
use crate::random_numbers::RandomNumberStream;

#[derive(Deserialize)]
struct ForecastCase {
    kind: String,
    series: Vec<f64>,
    origins: Vec<ForecastOrigin>,
}

#[derive(Deserialize)]
struct ForecastOrigin {
    at: usize,
    actual: f64,
    arima: ReferenceForecast,
    ets: ReferenceForecast,
    best: f64,
}

#[derive(Deserialize)]
struct ReferenceForecast {
    forecast: f64,
}

#[test]
fn forecasts_are_as_accurate_as_statsmodels() {
    let cases: Vec<ForecastCase> = crate::statistics::cases("forecasts");
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
        println!("{family}: {:.4} of the error of statsmodels", ours / theirs);
        assert!(*ours <= 1.02 * theirs, "{family}: ours {ours}, reference {theirs}");
    }
}

#[test]
fn invalid_requests_are_rejected() {
    let of = |series: &[f64]| forecast(&ForecastRequest::next(series));
    assert_eq!(of(&[]), Err(ForecastError::Empty));
    assert_eq!(of(&[0.1, f64::NAN]), Err(ForecastError::NotFinite(1)));
    assert_eq!(of(&[f64::INFINITY]), Err(ForecastError::NotFinite(0)));
    let short = [vec![1.0]];
    let beside = ForecastRequest { beside: &short, ..ForecastRequest::next(&[0.1, 0.2]) };
    assert_eq!(forecast(&beside), Err(ForecastError::Beside(0)));
    let sure = ForecastRequest { confidence: 1.0, ..ForecastRequest::next(&[0.1, 0.2]) };
    assert_eq!(forecast(&sure), Err(ForecastError::Confidence));
}

#[test]
fn few_values_have_a_named_fallback() {
    let one = forecast(&ForecastRequest::next(&[0.5])).unwrap();
    assert_eq!((one.model, one.steps[0].interval, one.past.count), (ForecastModel::LastValue, None, 0));
    let two = forecast(&ForecastRequest::next(&[0.5, 0.7])).unwrap();
    assert_eq!(two.model, ForecastModel::LastValue, "{two:?}");
    let same = forecast(&ForecastRequest::next(&[0.5; 30])).unwrap();
    assert_eq!(same.steps[0].interval, Some((0.5, 0.5)));
    assert!(same.reason.unwrap().contains("the same"));
    let line = forecast(&ForecastRequest::next(&[0.1, 0.2, 0.3, 0.4, 0.5, 0.6])).unwrap();
    assert_eq!(line.model, ForecastModel::Linear);
    assert!((line.steps[0].value - 0.7).abs() < 1e-9, "{line:?}");
}

#[test]
fn covariates_narrow_the_interval() {
    let mut numbers = RandomNumberStream(9);
    let load: Vec<f64> = (0..60).map(|_| numbers.normal()).collect();
    let series: Vec<f64> = load.iter().map(|load| 1.0 + 2.0 * load + 0.1 * numbers.normal()).collect();
    let beside = [load.clone()];
    let with = forecast(&ForecastRequest { beside: &beside, ..ForecastRequest::next(&series) }).unwrap();
    let without = forecast(&ForecastRequest::next(&series)).unwrap();
    let span = |forecast: &Forecast| forecast.steps[0].interval.map(|(low, high)| high - low).unwrap();
    assert!(matches!(with.model, ForecastModel::Arima(_)) && span(&with) < span(&without) / 3.0, "{with:?}");
}

#[test]
fn the_last_value_is_used_when_it_was_closer() {
    let mut numbers = RandomNumberStream(12);
    let yielded = (0..40)
        .map(|_| simulated(2, 30, &mut numbers))
        .filter(|walk| {
            let found = forecast(&ForecastRequest::next(walk)).unwrap();
            let says_so = found.reason.as_deref().is_some_and(|reason| reason.contains("was closer"));
            assert_eq!(says_so, found.model == ForecastModel::LastValue, "{found:?}");
            says_so
        })
        .count();
    assert!(yielded > 5, "a random walk has no better forecast: {yielded} of 40");
}

#[test]
fn a_long_series_is_fast() {
    let mut numbers = RandomNumberStream(3);
    let long = simulated(1, 10_000, &mut numbers);
    let began = std::time::Instant::now();
    forecast(&ForecastRequest::next(&long)).unwrap();
    assert!(began.elapsed() < std::time::Duration::from_millis(500), "{:?}", began.elapsed());
}

/// Series like those of metrics: noise, autoregressive, random walk, linear trend, random walk with drift.
fn simulated(kind: usize, length: usize, numbers: &mut RandomNumberStream) -> Vec<f64> {
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
fn ninety_percent_intervals_cover_ninety_percent() {
    let mut numbers = RandomNumberStream(1);
    let (mut covered, mut asked) = (0_u32, 0_u32);
    for number in 0..1_200 {
        let length = 24 + number % 40;
        let series = simulated(number % 5, length + 1, &mut numbers);
        let found = forecast(&ForecastRequest::next(&series[..length])).unwrap();
        let (low, high) = found.steps[0].interval.unwrap();
        covered += u32::from((low..=high).contains(&series[length]));
        asked += 1;
    }
    let share = f64::from(covered) / f64::from(asked);
    println!("{covered} of {asked}");
    assert!((0.87..=0.93).contains(&share), "{share}");
}
