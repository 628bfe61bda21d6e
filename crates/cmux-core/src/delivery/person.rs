//! Whether a person is at an agent's terminal, by their last key and by when its program last wrote.

use std::time::Duration;

use crate::time::Timestamp;

/// How long after a person's key nothing is typed in their way, …
const HERE_FOR: Duration = Duration::from_secs(3);

/// … and how long at most it is waited for the program to answer it: what they typed may not be on the screen yet.
const UNANSWERED_FOR: Duration = Duration::from_secs(30);

/// How far a key may be ahead of the clock that it is compared with.
const AHEAD_MAX: Duration = Duration::from_secs(2);

/// How soon a program answers that does not stand still.
const ANSWERS_WITHIN: Duration = Duration::from_secs(1);

/// What is remembered of a person's last key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Person {
    /// When it came, and when the program had answered it.
    key: Option<(Timestamp, Option<Timestamp>)>,
}

impl Person {
    /// Returns whether a person may be typing at `now`, whose last `key` came then, where the program last wrote at
    /// `written`. One that stood still answers key by key: what it wrote first does not show what was typed last.
    pub fn is_here(&mut self, key: Option<Timestamp>, written: Timestamp, now: Timestamp) -> bool {
        // From a time that is yet to come, it is of before the clock was set back.
        let key = key.filter(|key| key.since(now) <= AHEAD_MAX);
        let Some(key) = key else { return false };
        let known = self.key.filter(|(known, _)| *known == key).and_then(|(_, answered)| answered);
        let answered = known.or_else(|| {
            let is_prompt = written.since(key) <= ANSWERS_WITHIN;
            (written >= key).then_some(if is_prompt { written } else { now })
        });
        self.key = Some((key, answered));
        if now.since(key) >= UNANSWERED_FOR {
            return false;
        }
        answered.is_none_or(|answered| now.since(key.max(answered)) < HERE_FOR)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_person_is_here_for_a_while_after_their_key_and_until_it_is_answered() {
        let key = Some(Timestamp(100_000));
        for (key, written, now, expected) in [
            (None, 0, 100_000, false),
            (key, 100_000, 100_000, true),
            (key, 100_000, 102_999, true),
            (key, 100_000, 103_000, false),
            (key, 101_000, 103_999, true),
            (key, 101_000, 104_000, false),
            (key, 99_000, 129_999, true),
            (key, 99_000, 130_000, false),
            // It comes to be seen only now that it was answered.
            (key, 110_000, 110_100, true),
            (key, 131_000, 131_000, false),
            // The clock was set back.
            (key, 99_000, 98_000, true),
            (key, 100_000, 97_000, false),
        ] {
            let is_here = Person::default().is_here(key, Timestamp(written), Timestamp(now));
            assert_eq!(is_here, expected, "{key:?} {written} {now}");
        }
    }

    #[test]
    fn what_a_program_that_stood_still_writes_first_is_not_all_that_it_was_told() {
        let mut person = Person::default();
        let key = Some(Timestamp(100_000));
        for (written, now, expected) in [
            (99_000, 104_000, true),
            (105_000, 105_200, true),
            (105_300, 108_100, true),
            (105_300, 108_200, false),
            (120_000, 120_000, false),
        ] {
            let is_here = person.is_here(key, Timestamp(written), Timestamp(now));
            assert_eq!(is_here, expected, "{written} {now}");
        }
        assert!(person.is_here(Some(Timestamp(121_000)), Timestamp(120_000), Timestamp(121_500)));
    }
}
