//! Dice for tests. They fall the same way again for whoever gives them the same seed.

use std::hash::{BuildHasher, Hasher, RandomState};

/// The variable by which a test is told to repeat what it did.
const SEED: &str = "TEST_SEED";

/// A source of chance that can be repeated.
#[derive(Clone, Debug)]
pub struct Dice {
    state: u64,
}

impl Dice {
    /// Takes the seed from `TEST_SEED`, or from chance if there is none, and says which it is.
    #[expect(
        clippy::print_stderr,
        reason = "whoever reads of a failure needs the seed to repeat it"
    )]
    pub fn seeded() -> Dice {
        let given = std::env::var(SEED).ok().map(|seed| seed.parse().unwrap());
        let seed = given.unwrap_or_else(|| RandomState::new().build_hasher().finish());
        eprintln!("to see the same again: {SEED}={seed}");
        Dice::new(seed)
    }

    pub fn new(seed: u64) -> Dice {
        Dice { state: seed }
    }

    /// Returns a number below `end`, which is not 0.
    pub fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }

    /// Returns dice that fall independently of these.
    pub fn split(&mut self) -> Dice {
        Dice::new(self.next())
    }

    /// SplitMix64, by Steele, Lea and Flood.
    fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_gives_the_same_and_every_side_comes_up() {
        let roll = |seed| {
            let mut dice = Dice::new(seed);
            std::iter::repeat_with(|| dice.below(6)).take(100).collect::<Vec<u64>>()
        };
        assert_eq!(roll(7), roll(7));
        assert_ne!(roll(7), roll(8));
        assert!((0..6).all(|side| roll(7).contains(&side)));
    }
}
