//! What agents use: tokens, and what those cost.
//!
//! A CLI writes down what each answer of its model took, some of it more than once: as it grows, for each
//! part of the answer, and again in a copy of the conversation. So every entry has a key, and of all that
//! was ever read under one key the most counts, once.

use std::time::Duration;

use crate::time::Timestamp;

/// How long it is remembered what each answer took, and which turns there were. Sums are kept.
pub const USAGE_KEEP: Duration = Duration::from_hours(24 * 90);

/// The most of one sort that one answer may have taken. More is no number that a model gave.
pub const TOKENS_MAX: u64 = 1_000_000_000;

/// The longest key of an entry, and the longest name of a model, in bytes.
pub const KEY_MAX: usize = 200;

/// How many tokens there were, by what they were for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tokens {
    /// What the model read, beside what it had kept.
    pub input: u64,
    pub output: u64,
    /// What it had kept from before and read again.
    pub cache_read: u64,
    /// What it read and kept.
    pub cache_write: u64,
    /// How much of that it keeps for long.
    pub cache_write_long: u64,
    /// How often it searched the web, which is paid for by itself.
    pub searches: u64,
}

/// An amount of money, in billionths of a dollar: a token's price has no smaller part.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Money(pub u64);

/// What one answer of a model took.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spent {
    /// By which it is known again.
    pub key: String,
    /// When, by the clock of whoever wrote it down.
    pub at: Timestamp,
    pub model: String,
    pub tokens: Tokens,
    /// Nothing, if nobody knows the model's price.
    pub cost: Option<Money>,
}

/// What much of it came to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    pub tokens: Tokens,
    /// What the tokens cost whose price is known.
    pub cost: Money,
    /// How many there are whose price is not.
    pub unpriced: u64,
}

/// How far a file was read in which a CLI writes down what it uses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cursor {
    pub file: String,
    /// By which it is known that the file is still the same.
    pub device: u64,
    pub inode: u64,
    /// Up to which byte it was read.
    pub place: u64,
    /// The model of which it told last, where entries do not name it.
    pub model: Option<String>,
    /// The conversation that its entries are counted for, where their keys alone do not tell.
    pub root: Option<String>,
}

/// What was new in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Read {
    /// How far it was read.
    pub cursor: Cursor,
    pub spent: Vec<Spent>,
}

impl Tokens {
    /// Returns how many there are in all.
    pub fn total(self) -> u64 {
        let Tokens { input, output, cache_read, cache_write, .. } = self;
        [input, output, cache_read, cache_write].into_iter().fold(0, u64::saturating_add)
    }

    /// Returns of each sort what `join` makes of both.
    fn with(self, other: Tokens, join: fn(u64, u64) -> u64) -> Tokens {
        Tokens {
            input: join(self.input, other.input),
            output: join(self.output, other.output),
            cache_read: join(self.cache_read, other.cache_read),
            cache_write: join(self.cache_write, other.cache_write),
            cache_write_long: join(self.cache_write_long, other.cache_write_long),
            searches: join(self.searches, other.searches),
        }
    }
}

impl Spent {
    /// Returns the entry as it is after the same was read once more: an answer that is still being given
    /// grows, and a copy changes nothing. It keeps the time at which it was first told of.
    #[must_use]
    pub fn and(&self, again: &Spent) -> Spent {
        Spent {
            key: self.key.clone(),
            at: self.at.min(again.at),
            model: if again.model.is_empty() { &self.model } else { &again.model }.clone(),
            tokens: self.tokens.with(again.tokens, u64::max),
            cost: self.cost.max(again.cost),
        }
    }
}

impl Usage {
    pub fn of(spent: &Spent) -> Usage {
        let unpriced = if spent.cost.is_none() { spent.tokens.total() } else { 0 };
        Usage { tokens: spent.tokens, cost: spent.cost.unwrap_or_default(), unpriced }
    }

    #[must_use]
    pub fn plus(self, more: Usage) -> Usage {
        self.with(more, u64::saturating_add)
    }

    #[must_use]
    pub fn minus(self, less: Usage) -> Usage {
        self.with(less, u64::saturating_sub)
    }

    fn with(self, other: Usage, join: fn(u64, u64) -> u64) -> Usage {
        Usage {
            tokens: self.tokens.with(other.tokens, join),
            cost: Money(join(self.cost.0, other.cost.0)),
            unpriced: join(self.unpriced, other.unpriced),
        }
    }

    /// Returns what it cost as far as that is known: nothing is known if no token has a price.
    pub fn known_cost(self) -> Option<Money> {
        let is_known = self.unpriced == 0 || self.cost > Money(0);
        is_known.then_some(self.cost)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn an_answer_that_grows_counts_as_it_is_in_the_end() {
        let first = spent(1_000, 1, Some(7));
        let last = spent(1_000, 52, Some(90));
        assert_eq!(first.and(&last), last);
        assert_eq!(last.and(&first), last);
        assert_eq!(last.and(&last), last);
    }

    #[test]
    fn it_is_told_what_part_has_no_price() {
        let priced = Usage::of(&spent(10, 5, Some(100)));
        let unpriced = Usage::of(&spent(3, 4, None));
        let both = priced.plus(unpriced);
        assert_eq!((both.tokens.total(), both.cost, both.unpriced), (22, Money(100), 7));
        assert_eq!(both.known_cost(), Some(Money(100)));
        assert_eq!(unpriced.known_cost(), None);
        assert_eq!(Usage::default().known_cost(), Some(Money(0)));
        assert_eq!(both.minus(unpriced), priced);
    }

    #[test]
    fn no_sum_runs_over() {
        let most = Tokens { input: u64::MAX, output: 1, ..Tokens::default() };
        assert_eq!(most.total(), u64::MAX);
        let usage = Usage { tokens: most, cost: Money(u64::MAX), unpriced: u64::MAX };
        assert_eq!(usage.plus(usage).tokens.input, u64::MAX);
        assert_eq!(usage.minus(usage), Usage::default());
    }

    proptest! {
        /// However often the entries of one key are read, and in whatever order.
        #[test]
        fn the_order_of_reading_changes_nothing(
            all in prop::collection::vec((0_u64..1_000, 0_u64..1_000), 1..6),
            turn in 0_usize..6,
        ) {
            let all: Vec<Spent> = all.into_iter().map(|(a, b)| spent(a, b, Some(a + b))).collect();
            let mut turned = all.clone();
            turned.rotate_left(turn % all.len());
            turned.extend(all.clone());
            let joined = |all: &[Spent]| all.iter().fold(all[0].clone(), |sum, it| sum.and(it));
            prop_assert_eq!(joined(&all), joined(&turned));
        }
    }

    fn spent(input: u64, output: u64, cost: Option<u64>) -> Spent {
        let tokens = Tokens { input, output, ..Tokens::default() };
        let (key, model) = ("msg_1".to_owned(), "m".to_owned());
        Spent { key, at: Timestamp(1), model, tokens, cost: cost.map(Money) }
    }
}
