//! How often an agent may end unasked before cmux stops bringing it back.

use std::time::Duration;

use crate::time::Timestamp;

/// The patience that cmux has with an agent that keeps ending. Each start costs somebody money.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RestartPolicy {
    /// How often it may end within `window`; the next time is the last.
    pub exits_max: usize,
    /// The time after which an end is forgotten.
    pub window: Duration,
    /// The wait before the first restart. It doubles with each further end, up to `delay_max`.
    pub delay_first: Duration,
    pub delay_max: Duration,
}

impl Default for RestartPolicy {
    fn default() -> RestartPolicy {
        RestartPolicy {
            exits_max: 5,
            window: Duration::from_mins(10),
            delay_first: Duration::from_secs(1),
            delay_max: Duration::from_mins(5),
        }
    }
}

/// The ends that are not yet forgotten, oldest first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Exits(Vec<Timestamp>);

impl Exits {
    /// Counts an end at `now`. Returns when to start again, or nothing if that was once too often. `dice`
    /// spreads the waits of agents that end together, by up to a quarter.
    pub fn add(&mut self, now: Timestamp, policy: &RestartPolicy, dice: u64) -> Option<Timestamp> {
        self.0.retain(|&exit| now.since(exit) < policy.window);
        let doublings = u32::try_from(self.0.len()).unwrap_or(u32::MAX);
        self.0.push(now);
        let delay = policy.delay_first.saturating_mul(2_u32.saturating_pow(doublings));
        let delay = delay.min(policy.delay_max);
        let spread = delay.mul_f64((dice % 1000) as f64 / 4000.0);
        (self.0.len() <= policy.exits_max).then(|| now + delay + spread)
    }

    /// Returns the ends, oldest first.
    pub fn iter(&self) -> impl Iterator<Item = Timestamp> + '_ {
        self.0.iter().copied()
    }
}

impl FromIterator<Timestamp> for Exits {
    fn from_iter<I: IntoIterator<Item = Timestamp>>(exits: I) -> Exits {
        Exits(exits.into_iter().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const POLICY: RestartPolicy = RestartPolicy {
        exits_max: 3,
        window: Duration::from_secs(60),
        delay_first: Duration::from_secs(1),
        delay_max: Duration::from_secs(3),
    };

    #[test]
    fn each_wait_is_twice_the_one_before_up_to_the_longest_and_then_there_is_none() {
        let mut exits = Exits::default();
        let waits: Vec<_> = (0..5).map(|_| exits.add(Timestamp(0), &POLICY, 0)).collect();
        let at = |ms| Some(Timestamp(ms));
        assert_eq!(waits, [at(1000), at(2000), at(3000), None, None]);
    }

    #[test]
    fn what_lies_long_ago_is_forgotten() {
        let mut exits: Exits = [Timestamp(0), Timestamp(1)].into_iter().collect();
        assert_eq!(exits.add(Timestamp(60_000), &POLICY, 0), Some(Timestamp(62_000)));
        assert_eq!(exits.iter().collect::<Vec<_>>(), [Timestamp(1), Timestamp(60_000)]);
    }

    proptest! {
        #[test]
        fn chance_only_lengthens_a_wait_and_by_a_quarter_at_most(dice: u64) {
            let at = Exits::default().add(Timestamp(0), &POLICY, dice).unwrap();
            prop_assert!((1000..=1250).contains(&at.0), "{at:?}");
        }
    }
}
