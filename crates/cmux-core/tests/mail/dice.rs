//! Chance that can be repeated: the same seed gives the same schedule.

/// A small generator of numbers (SplitMix64).
#[derive(Clone, Debug)]
pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) fn new(seed: u64) -> Dice {
        Dice(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x2545_f491_4f6c_dd1d)
    }

    fn roll(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut it = self.0;
        it = (it ^ (it >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        it = (it ^ (it >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        it ^ (it >> 31)
    }

    /// Returns a number from `from` to `to`, both included.
    pub(crate) fn between(&mut self, from: i64, to: i64) -> i64 {
        let span = u64::try_from(to - from).unwrap() + 1;
        from + i64::try_from(self.roll() % span).unwrap()
    }

    /// Returns whether something happens that does so many times in a thousand.
    pub(crate) fn permille(&mut self, times: i64) -> bool {
        self.between(0, 999) < times
    }

    /// Returns a time that is short as a rule and up to `long` now and then, in milliseconds.
    pub(crate) fn time(&mut self, short: i64, long: i64, permille: i64) -> i64 {
        let most = if self.permille(permille) { long } else { short };
        self.between(0, most)
    }
}
