//! Reproducible random numbers; the caller provides the seed.

use menace_model::random::mix_bits;

/// A stream of random numbers.
#[derive(Debug, Clone)]
pub(crate) struct RandomNumberStream(pub(crate) u64);

impl RandomNumberStream {
    /// The next number, over the whole range.
    fn any(&mut self) -> u64 {
        let number = mix_bits(self.0);
        self.0 = self.0.wrapping_add(1);
        number
    }

    /// The next number, in `0.0..1.0`.
    #[cfg(test)]
    fn share(&mut self) -> f64 {
        menace_model::random::unit_interval(self.any())
    }

    /// The next number below `count`.
    pub(crate) fn below(&mut self, count: usize) -> usize {
        #[expect(clippy::cast_possible_truncation, reason = "the result is below count, which is a usize")]
        let below = ((u128::from(self.any()) * count as u128) >> 64) as usize;
        below
    }

    /// The next number of a standard normal distribution.
    #[cfg(test)]
    pub(crate) fn normal(&mut self) -> f64 {
        crate::statistics::normal_quantile(self.share().clamp(1e-12, 1.0 - 1e-12))
    }
}
