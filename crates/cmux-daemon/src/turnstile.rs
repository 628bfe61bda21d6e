//! How fast each one asks, remembered for as long as it matters.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use cmux_core::pace::{Pace, Used};
use cmux_core::time::Timestamp;

/// How many are remembered at once. Beyond that, all who are new share one account.
const REMEMBERED_MAX: usize = 4096;

/// The account of those who came when there were too many.
const CROWD: &str = "everybody else";

/// An account for each one who asks. Its lock is held only to count.
#[derive(Debug, Default)]
pub(crate) struct Turnstile {
    accounts: Mutex<BTreeMap<String, (Pace, Used)>>,
}

impl Turnstile {
    /// Counts one more request of `who`, or returns how long they have to wait.
    pub(crate) fn pass(&self, who: &str, pace: Pace, now: Timestamp) -> Result<(), Duration> {
        self.pass_many(who, 1, pace, now)
    }

    /// Counts so many more at once of `who`, or returns how long they have to wait.
    pub(crate) fn pass_many(
        &self,
        who: &str,
        count: u32,
        pace: Pace,
        now: Timestamp,
    ) -> Result<(), Duration> {
        let mut accounts = self.accounts.lock().unwrap_or_else(PoisonError::into_inner);
        let is_new = !accounts.contains_key(who);
        if is_new && accounts.len() >= REMEMBERED_MAX {
            accounts.retain(|_, (pace, used)| !used.is_over(*pace, now));
        }
        let who = if is_new && accounts.len() >= REMEMBERED_MAX { CROWD } else { who };
        let account = accounts.entry(who.to_owned()).or_insert((pace, Used::nothing(now)));
        account.0 = pace;
        account.1.others(count, pace, now)
    }

    /// Takes back so many of `who` that came to nothing. Those of the crowd stay counted.
    pub(crate) fn give_back(&self, who: &str, count: u32) {
        let mut accounts = self.accounts.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, used)) = accounts.get_mut(who) {
            used.take_back(count);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PACE: Pace = Pace { per_min: 60, burst: 1 };

    #[test]
    fn one_who_asks_too_fast_holds_up_nobody_else() {
        let (turnstile, now) = (Turnstile::default(), Timestamp(0));
        assert!(turnstile.pass("a", PACE, now).is_ok());
        assert!(turnstile.pass("a", PACE, now).is_err());
        assert!(turnstile.pass("b", PACE, now).is_ok());
    }

    #[test]
    fn a_crowd_of_strangers_shares_one_account_and_is_forgotten() {
        let (turnstile, now) = (Turnstile::default(), Timestamp(0));
        for n in 0..=REMEMBERED_MAX {
            assert!(turnstile.pass(&n.to_string(), PACE, now).is_ok(), "{n}");
        }
        assert!(turnstile.pass("one too many", PACE, now).is_err());
        let later = Timestamp(1000);
        assert!(turnstile.pass("one too many", PACE, later).is_ok());
        assert_eq!(turnstile.accounts.lock().unwrap().len(), 1);
    }

    #[test]
    fn a_slow_account_outlives_a_crowd_of_fast_ones() {
        let (turnstile, slow) = (Turnstile::default(), Pace { per_min: 1, burst: 1 });
        assert!(turnstile.pass("password", slow, Timestamp(0)).is_ok());
        for n in 0..REMEMBERED_MAX {
            let _ = turnstile.pass(&n.to_string(), PACE, Timestamp(0));
        }
        let soon = Timestamp(2000);
        assert!(turnstile.pass("one more", PACE, soon).is_ok());
        assert_eq!(turnstile.accounts.lock().unwrap().len(), 2);
        assert!(turnstile.pass("password", slow, soon).is_err());
    }
}
