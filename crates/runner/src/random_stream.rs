//! Seeded random numbers: a plan derives from its seed, identically on every machine and with every version of
//! menace.

/// A stream of random numbers. The algorithm is `SplitMix64`, which has been in use since 2014 and will not change.
#[derive(Debug, Clone)]
pub struct RandomStream {
    state: u64,
}

impl RandomStream {
    /// Creates the stream of a seed and a purpose. Streams for different purposes are independent.
    pub fn new(seed: u64, purpose: &[&str]) -> Self {
        // FNV-1a: small, fixed, and good enough to tell purposes apart.
        let mut state = 0xcbf2_9ce4_8422_2325_u64 ^ seed;
        for byte in purpose.iter().flat_map(|part| part.bytes().chain([0])) {
            state = (state ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
        Self { state }
    }

    /// The next number.
    pub fn number(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `end`; 0 if `end` is 0.
    pub fn below(&mut self, end: usize) -> usize {
        if end == 0 {
            return 0;
        }
        // A bias of less than one in 2^50 for every container that fits into memory.
        #[expect(clippy::cast_possible_truncation, reason = "it is below a usize")]
        let drawn = (self.number() % end as u64) as usize;
        drawn
    }

    /// A number between `least` and `most`, both included.
    pub fn between(&mut self, least: i64, most: i64) -> i64 {
        let span = usize::try_from(most.saturating_sub(least).saturating_add(1)).unwrap_or(usize::MAX);
        least.saturating_add(i64::try_from(self.below(span)).unwrap_or(i64::MAX))
    }

    /// True with a probability of one in `count`.
    pub fn one_in(&mut self, count: usize) -> bool {
        self.below(count) == 0
    }

    /// A random element of a slice; `None` if the slice is empty.
    pub fn pick<'a, T>(&mut self, among: &'a [T]) -> Option<&'a T> {
        among.get(self.below(among.len()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_always_gives_the_same_numbers() {
        let mut random = RandomStream::new(7, &["a", "b"]);
        assert_eq!(
            [random.number(), random.number()],
            [7_134_636_036_775_426_466, 12_179_860_148_636_573_254]
        );
    }

    #[test]
    fn each_purpose_has_its_own_stream() {
        let first = |purpose: &[&str]| RandomStream::new(7, purpose).number();
        assert_ne!(first(&["a", "b"]), first(&["ab"]));
        assert_ne!(first(&["a"]), RandomStream::new(8, &["a"]).number());
        assert_eq!(first(&["a"]), first(&["a"]));
    }

    #[test]
    fn numbers_stay_within_their_bounds() {
        let mut random = RandomStream::new(1, &[]);
        let drawn: Vec<i64> = (0..1000).map(|_| random.between(-2, 2)).collect();
        assert_eq!((drawn.iter().min(), drawn.iter().max()), (Some(&-2), Some(&2)));
        assert_eq!(random.below(0), 0);
        assert_eq!(random.pick::<u8>(&[]), None);
    }
}
