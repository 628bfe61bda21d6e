//! A provider's limit, as a screen tells of it: until when, from the first look on.
//!
//! The line stays on the screen when the limit is over, and "in two hours" says something else at every
//! look. So the first look counts for as long as the same line is there.

use std::time::Duration;

use crate::agent::Doing;
use crate::time::Timestamp;

/// How long a limit holds that does not tell until when.
pub const LIMITED_FOR: Duration = Duration::from_mins(5);

/// The limit that is on a screen, if one is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Limit(Option<(String, Timestamp)>);

impl Limit {
    /// Returns what an agent does whose screen says `doing` by `line`: a limit that is over is none.
    pub fn seen(&mut self, doing: Doing, line: Option<&str>, now: Timestamp) -> Doing {
        let Doing::Limited { until } = doing else {
            self.0 = None;
            return doing;
        };
        let line = line.unwrap_or_default();
        let known = self.0.as_ref().filter(|(known, _)| known == line).map(|(_, until)| *until);
        let until = known.or(until).unwrap_or(now + LIMITED_FOR);
        self.0 = Some((line.to_owned(), until));
        held(Doing::Limited { until: Some(until) }, now)
    }
}

/// Returns what an agent does that was `doing` this when it was last seen: a limit ends by itself.
pub fn held(doing: Doing, now: Timestamp) -> Doing {
    match doing {
        Doing::Limited { until: Some(until) } if until <= now => Doing::AtPrompt,
        Doing::Limited { .. } | Doing::AtPrompt | Doing::Working | Doing::Asking { .. } => doing,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp(1_000_000);

    #[test]
    fn the_first_word_of_a_limit_counts_while_its_line_is_there() {
        let (hour, later) = (NOW + Duration::from_hours(1), NOW + Duration::from_mins(10));
        let mut limit = Limit::default();
        check(&mut limit, Some(hour), "in an hour", NOW, &limited(hour));
        // The same words, read again later, mean what they meant.
        check(
            &mut limit,
            Some(later + Duration::from_hours(1)),
            "in an hour",
            later,
            &limited(hour),
        );
        check(&mut limit, Some(hour), "in an hour", hour, &Doing::AtPrompt);
        // Another line is another limit, and so is the same one after something else.
        check(&mut limit, None, "rejected", hour, &limited(hour + LIMITED_FOR));
        assert_eq!(limit.seen(Doing::Working, None, hour), Doing::Working);
        let again = hour + LIMITED_FOR;
        check(&mut limit, None, "rejected", again, &limited(again + LIMITED_FOR));
    }

    #[test]
    fn a_limit_that_does_not_tell_until_when_ends_all_the_same() {
        let mut limit = Limit::default();
        check(&mut limit, None, "rejected", NOW, &limited(NOW + LIMITED_FOR));
        check(&mut limit, None, "rejected", NOW + LIMITED_FOR, &Doing::AtPrompt);
    }

    #[test]
    fn what_is_no_limit_is_held_as_it_is() {
        for doing in [Doing::AtPrompt, Doing::Working, Doing::Limited { until: None }] {
            assert_eq!(held(doing.clone(), NOW), doing);
        }
        assert_eq!(held(limited(NOW), NOW), Doing::AtPrompt);
    }

    /// Checks what a screen is taken to say that tells of a limit by `line`.
    #[track_caller]
    fn check(
        limit: &mut Limit,
        until: Option<Timestamp>,
        line: &str,
        now: Timestamp,
        expected: &Doing,
    ) {
        assert_eq!(&limit.seen(Doing::Limited { until }, Some(line), now), expected);
    }

    fn limited(until: Timestamp) -> Doing {
        Doing::Limited { until: Some(until) }
    }
}
