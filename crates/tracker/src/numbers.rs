//! Numbers by chance that are the same each time. Whoever asks gives the seed.

use menace_model::chance::mixed;

/// A stream of numbers.
#[derive(Debug, Clone)]
pub(crate) struct Numbers(pub(crate) u64);

impl Numbers {
    /// The next, any of all.
    fn any(&mut self) -> u64 {
        let number = mixed(self.0);
        self.0 = self.0.wrapping_add(1);
        number
    }

    /// The next, between 0 and 1.
    #[cfg(test)]
    fn share(&mut self) -> f64 {
        menace_model::chance::share(self.any())
    }

    /// The next below a number.
    pub(crate) fn below(&mut self, count: usize) -> usize {
        #[expect(clippy::cast_possible_truncation, reason = "it is less than a usize")]
        let below = ((u128::from(self.any()) * count as u128) >> 64) as usize;
        below
    }

    /// The next of a normal distribution.
    #[cfg(test)]
    pub(crate) fn normal(&mut self) -> f64 {
        crate::statistics::normal_quantile(self.share().clamp(1e-12, 1.0 - 1e-12))
    }
}
