//! By what it is known that a delivery was read.
//!
//! That it was typed, that it has left the prompt, and that a hook has taken it show nothing: it is read once the
//! agent's own record of the conversation has it, or the turn that it began has run its course. An agent that keeps
//! no record can only be seen at work.

use std::time::Duration;

use super::Confirm;
use crate::agent::Doing;
use crate::message::Evidence;
use crate::time::Timestamp;

/// How long the model of an agent must have been seen at an answer to what its own record says that it was asked,
/// where none is written down: it may think for long, and whoever interrupts it for a message that cannot wait is not
/// to wait for that. That the agent is at work shows nothing: it may ask a model in vain that does not answer.
const THOUGHT_FOR: Duration = Duration::from_secs(30);

/// How long an agent must have been at rest before its record tells all that there is to tell: what it was asked
/// instead, and its answer to that, may be written down later than a hook tells of the turn's end.
const WRITTEN_WITHIN: Duration = Duration::from_secs(3);

/// What an agent's own record of its conversation says of a delivery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Record {
    /// None is kept, or it could not be looked at.
    Untold,
    /// There is none yet: nothing was said in this conversation.
    Missing,
    /// It is not in it.
    Without,
    /// It was asked it, and has not answered.
    Said,
    /// It has read it.
    Read,
}

/// What was seen of a delivery that may have been read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signs {
    pub confirm: Confirm,
    pub record: Record,
    /// Whether a turn that it began has run its course, as a hook has told.
    pub is_answered: bool,
    /// When a hook has told last that the agent is at its prompt, if it is.
    pub rests_since: Option<Timestamp>,
    /// Whether its ticket is taken, and nothing is at the prompt.
    pub is_taken: bool,
    /// Whether it was submitted, and is not at the prompt.
    pub is_left: bool,
    /// Whether it is to be seen on the screen.
    pub is_shown: bool,
    /// Whether its screen shows that its model has begun to answer, which it may write down much later.
    pub is_answering: bool,
    pub doing: Option<Doing>,
}

impl Record {
    /// Returns whether it leaves open that a delivery was read: it is not left open where the record is without it.
    pub fn may_be_read(self) -> bool {
        match self {
            Record::Untold | Record::Missing | Record::Said | Record::Read => true,
            Record::Without => false,
        }
    }

    /// Returns by what it is known that a delivery was read by an agent whose life is over, which will write down no
    /// more. A turn's end tells only where there is no record: some CLIs tell of one that came to nothing, too.
    pub fn of_the_dead(self, is_taken: bool, is_answered: bool) -> Option<Evidence> {
        match self {
            Record::Read => Some(Evidence::Transcript),
            Record::Without | Record::Said => None,
            Record::Untold | Record::Missing => (is_taken && is_answered).then_some(Evidence::Turn),
        }
    }
}

/// What is remembered of a delivery between looks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Signed {
    /// Since when its agent's record says that it was asked, and no more. Another turn may have ended before.
    said_since: Option<Timestamp>,
    /// Since when it says so, and its agent is at rest.
    quiet_since: Option<Timestamp>,
    /// Since when the model of the agent that has taken it was seen at an answer.
    answers_since: Option<Timestamp>,
    /// Whether it was seen at something since it has left the prompt: a short turn may be over before what began it
    /// is drawn.
    has_begun: bool,
}

impl Signed {
    /// Returns by what it is known that the delivery was read, if it is.
    pub fn by(&mut self, signs: &Signs, now: Timestamp) -> Option<Evidence> {
        let is_over = self.is_over(signs, now);
        let thinks = self.thinks(signs, now);
        let has_begun = self.begins(signs);
        let answered = (signs.is_answered && signs.is_taken).then_some(Evidence::Turn);
        match (signs.record, signs.confirm) {
            (Record::Read, _) => Some(Evidence::Transcript),
            (Record::Said, Confirm::Hook) => (thinks || is_over).then_some(Evidence::Turn),
            (Record::Without, _) | (Record::Said, Confirm::Sight) => None,
            (Record::Untold | Record::Missing, Confirm::Hook) => answered,
            (Record::Untold | Record::Missing, Confirm::Sight) => {
                answered.or((has_begun && signs.is_shown).then_some(Evidence::Screen))
            }
        }
    }

    /// Returns whether its turn has ended, or any has since it was seen to be asked, and nothing else was asked.
    fn is_over(&mut self, signs: &Signs, now: Timestamp) -> bool {
        let is_said = signs.record == Record::Said;
        let is_resting = is_said && signs.doing != Some(Doing::Working);
        self.said_since = is_said.then(|| self.said_since.unwrap_or(now));
        self.quiet_since = is_resting.then(|| self.quiet_since.unwrap_or(now));
        let told_after = |since| signs.rests_since.is_some_and(|at| at > since);
        let is_told = signs.is_answered || self.said_since.is_some_and(told_after);
        let is_written = self.quiet_since.is_some_and(|at| now.since(at) >= WRITTEN_WITHIN);
        signs.is_taken && is_told && is_written
    }

    fn thinks(&mut self, signs: &Signs, now: Timestamp) -> bool {
        // Before it is said, another turn may be answered.
        let is_said = signs.record == Record::Said;
        let is_at_it = is_said && signs.is_taken && signs.is_answering;
        let since = is_at_it.then(|| self.answers_since.unwrap_or(now));
        self.answers_since = since;
        since.is_some_and(|since| now.since(since) >= THOUGHT_FOR)
    }

    fn begins(&mut self, signs: &Signs) -> bool {
        // Whoever asks for a permission is at it, too.
        let is_at_it = matches!(signs.doing, Some(Doing::Working | Doing::Asking { .. }));
        self.has_begun = signs.is_left && (is_at_it || self.has_begun);
        self.has_begun
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp(1_000_000);
    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn what_the_record_has_was_read_and_what_it_has_not_was_not() {
        for confirm in [Confirm::Hook, Confirm::Sight] {
            check(&Signs { confirm, record: Record::Read, ..taken() }, Some(Evidence::Transcript));
            let all = Signs { is_answered: true, is_shown: true, is_answering: true, ..taken() };
            check(&Signs { confirm, record: Record::Without, ..all }, None);
        }
    }

    #[test]
    fn what_was_asked_is_read_once_its_turn_is_over_and_nothing_else_was_asked() {
        let said = Signs { record: Record::Said, ..taken() };
        let (early, late) = (NOW + SECOND * 2, NOW + SECOND * 3);
        let rests = |at| Signs { rests_since: Some(at), ..said.clone() };
        let answered = Signs { is_answered: true, ..said.clone() };
        let works = Signs { doing: Some(Doing::Working), ..answered.clone() };
        let instead = Signs { record: Record::Without, ..answered.clone() };
        for (signs, expected) in [
            ([(&said, NOW), (&said, late)], None),
            ([(&answered, NOW), (&answered, early)], None),
            ([(&answered, NOW), (&answered, late)], Some(Evidence::Turn)),
            ([(&works, NOW), (&answered, late)], None),
            ([(&answered, NOW), (&instead, late)], None),
            ([(&said, NOW), (&rests(early), late)], Some(Evidence::Turn)),
            // That may be the end of another turn.
            ([(&rests(NOW), NOW), (&rests(NOW), late)], None),
            ([(&said, NOW), (&Signs { is_taken: false, ..answered.clone() }, late)], None),
        ] {
            let mut signed = Signed::default();
            let told = signs.map(|(signs, at)| signed.by(signs, at));
            assert_eq!(told, [None, expected], "{signs:?}");
        }
    }

    /// A hook of the person's may still hold it back, and the agent shows that it is at work meanwhile.
    #[test]
    fn work_alone_does_not_show_that_what_a_hook_took_was_read() {
        for record in [Record::Untold, Record::Missing, Record::Without, Record::Said] {
            let works = Signs { record, doing: Some(Doing::Working), is_shown: true, ..taken() };
            let mut signed = Signed::default();
            let seen = (0..600).find_map(|second| signed.by(&works, NOW + SECOND * second));
            assert_eq!(seen, None, "{record:?}");
        }
        for record in [Record::Untold, Record::Missing] {
            let answered = Signs { record, is_answered: true, ..taken() };
            check(&answered, Some(Evidence::Turn));
            check(&Signs { is_taken: false, ..answered }, None);
        }
    }

    #[test]
    fn what_the_dead_have_read_is_told_by_their_record_before_all_else() {
        for (record, is_taken, is_answered, expected) in [
            (Record::Read, false, false, Some(Evidence::Transcript)),
            (Record::Without, true, true, None),
            (Record::Said, true, true, None),
            (Record::Untold, true, true, Some(Evidence::Turn)),
            (Record::Missing, true, true, Some(Evidence::Turn)),
            (Record::Untold, false, true, None),
            (Record::Untold, true, false, None),
        ] {
            assert_eq!(record.of_the_dead(is_taken, is_answered), expected, "{record:?}");
        }
    }

    #[test]
    fn who_thinks_for_long_has_read_what_was_asked_and_breaks_do_not_count() {
        let works = Signs { record: Record::Said, doing: Some(Doing::Working), ..taken() };
        let thinks = Signs { is_answering: true, ..works.clone() };
        let mut signed = Signed::default();
        let early = (0..30).find_map(|second| signed.by(&thinks, NOW + SECOND * second));
        assert_eq!(early, None);
        assert_eq!(signed.by(&thinks, NOW + SECOND * 30), Some(Evidence::Turn));
        assert_eq!(signed.by(&works, NOW + SECOND * 31), None);
        assert_eq!(signed.by(&thinks, NOW + SECOND * 60), None);
        let before = Signs { record: Record::Without, ..thinks.clone() };
        assert_eq!(signed.by(&before, NOW + SECOND * 61), None);
        assert_eq!(signed.by(&thinks, NOW + SECOND * 100), None, "that was another turn");
    }

    #[test]
    fn where_only_the_screen_tells_it_is_shown_and_was_seen_to_begin() {
        let left = Signs { confirm: Confirm::Sight, is_taken: false, is_left: true, ..taken() };
        let works = Signs { doing: Some(Doing::Working), ..left.clone() };
        let shown = Signs { is_shown: true, ..left.clone() };
        let asks = Signs { doing: Some(Doing::Asking { what: String::new() }), ..shown.clone() };
        let seen = |signs: [&Signs; 2]| {
            let mut signed = Signed::default();
            signed.by(signs[0], NOW);
            signed.by(signs[1], NOW)
        };
        assert_eq!(seen([&left, &shown]), None, "it may not have begun");
        assert_eq!(seen([&works, &left]), None, "it is not to be seen");
        assert_eq!(seen([&works, &shown]), Some(Evidence::Screen));
        assert_eq!(seen([&left, &asks]), Some(Evidence::Screen));
        let back = Signs { is_left: false, ..shown.clone() };
        let mut signed = Signed::default();
        for (signs, expected) in [(&works, None), (&back, None), (&shown, None)] {
            assert_eq!(signed.by(signs, NOW), expected, "it was taken back");
        }
    }

    fn taken() -> Signs {
        Signs {
            confirm: Confirm::Hook,
            record: Record::Untold,
            is_answered: false,
            rests_since: None,
            is_taken: true,
            is_left: true,
            is_shown: false,
            is_answering: false,
            doing: Some(Doing::AtPrompt),
        }
    }

    #[track_caller]
    fn check(signs: &Signs, expected: Option<Evidence>) {
        assert_eq!(Signed::default().by(signs, NOW), expected, "{signs:?}");
    }
}
