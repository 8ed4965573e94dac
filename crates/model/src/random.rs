//! Stateless random numbers: the same input gives the same number on every machine and in every version.

/// Mixes the bits of a number (the output function of `SplitMix64`).
pub fn mix_bits(state: u64) -> u64 {
    let state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let state = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let state = (state ^ (state >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    state ^ (state >> 31)
}

/// Converts a mixed number to a float in `0.0..1.0`.
pub fn unit_interval(mixed: u64) -> f64 {
    (mixed >> 11) as f64 / (1_u64 << 53) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_uniform_between_0_and_1() {
        let shares: Vec<f64> = (0..10_000).map(|number| unit_interval(mix_bits(number))).collect();
        assert!(shares.iter().all(|share| (0.0..1.0).contains(share)));
        let mean = shares.iter().sum::<f64>() / 10_000.0;
        assert!((mean - 0.5).abs() < 0.01, "{mean}");
    }
}
