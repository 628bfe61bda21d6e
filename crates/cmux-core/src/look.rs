//! What to do about a screen while an agent starts: wait, answer a dialog, or leave that to somebody.
//!
//! An option is confirmed only after the mark has been seen on it, and nothing is pressed twice before
//! the first time can have shown: the second press would answer whatever comes next.

use std::time::Duration;

use crate::screen::menu::{Press, choose};
use crate::screen::pattern::Pattern;
use crate::screen::{Screen, Seen, Sight};
use crate::time::Timestamp;

/// How long a CLI may take to show that a mark has moved.
pub const REDRAW: Duration = Duration::from_secs(1);

/// How long a CLI may take to go on once a dialog is answered.
pub const GO_ON: Duration = Duration::from_secs(10);

/// Something that comes up when a CLI starts, before its prompt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dialog {
    pub name: String,
    /// What the operator must have agreed to before it is answered, if to anything.
    pub consent: Option<Consent>,
    pub answer: Reply,
}

/// What an operator can have agreed to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Consent {
    /// That the folder is trusted.
    Trust,
    /// That agents do everything without asking.
    All,
}

impl Consent {
    pub const ALL: [Consent; 2] = [Consent::Trust, Consent::All];

    /// Returns what it is called in manifests.
    pub fn name(self) -> &'static str {
        match self {
            Consent::Trust => "trust",
            Consent::All => "all",
        }
    }
}

/// How a dialog is answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply {
    /// By going to the option that fits, from wherever the mark stands.
    Choose {
        option: Pattern,
        mark: String,
    },
    Keys(Vec<String>),
    /// Not by cmux: a person is told this.
    Leave(String),
}

/// What to do next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Nothing: it has started. What it does is for its witnesses to say.
    Ready,
    /// Look again.
    Wait,
    Answer(Answer),
    /// Ask the operator, who has not agreed to what this dialog asks.
    NeedsConsent {
        dialog: String,
        consent: Consent,
    },
    /// Tell a person this, who alone can answer.
    Leave {
        dialog: String,
        text: String,
    },
}

/// Keys that answer a dialog, or lead up to that.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    pub dialog: String,
    /// By tmux's names for them.
    pub keys: Vec<String>,
    /// Whether they answer it, and do not only move its mark.
    pub is_final: bool,
}

/// What was pressed last, and when.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answered {
    pub answer: Answer,
    pub at: Timestamp,
}

/// Returns what to do about `screen`, which says what `sight` tells, with a CLI that has these `dialogs`.
/// `has_consent` knows what the operator agreed to; `last` is what was pressed last in this life.
pub fn next(
    screen: &Screen,
    sight: &Sight,
    dialogs: &[Dialog],
    has_consent: impl Fn(Consent) -> bool,
    last: Option<&Answered>,
    now: Timestamp,
) -> Step {
    let name = match &sight.seen {
        Some(
            Seen::Idle
            | Seen::Draft { .. }
            | Seen::Busy { .. }
            | Seen::Asking { .. }
            | Seen::Limited { .. },
        ) => return Step::Ready,
        Some(Seen::Dialog { name }) => name,
        None => return Step::Wait,
    };
    let Some(dialog) = dialogs.iter().find(|dialog| dialog.name == *name) else {
        return Step::Wait;
    };
    let lacking = dialog.consent.filter(|consent| !has_consent(*consent));
    match (&dialog.answer, lacking) {
        (Reply::Leave(text), _) => Step::Leave { dialog: name.clone(), text: text.clone() },
        (Reply::Choose { .. } | Reply::Keys(_), Some(consent)) => {
            Step::NeedsConsent { dialog: name.clone(), consent }
        }
        (Reply::Choose { .. } | Reply::Keys(_), None) if is_too_soon(name, last, now) => Step::Wait,
        (Reply::Choose { option, mark }, None) => match choose(screen, mark, option) {
            Some(presses) => Step::Answer(towards(name, &presses)),
            None => Step::Wait,
        },
        (Reply::Keys(keys), None) => {
            Step::Answer(Answer { dialog: name.clone(), keys: keys.clone(), is_final: true })
        }
    }
}

/// Returns whether the dialog may not have shown yet what came of the last keys.
fn is_too_soon(name: &str, last: Option<&Answered>, now: Timestamp) -> bool {
    let last = last.filter(|last| last.answer.dialog == name);
    last.is_some_and(|last| {
        let patience = if last.answer.is_final { GO_ON } else { REDRAW };
        now.since(last.at) < patience
    })
}

/// Returns as much of the way to an option as may be gone at once: to it, or if the mark stands there
/// already, its confirmation.
fn towards(name: &str, presses: &[Press]) -> Answer {
    let moves: Vec<Press> =
        presses.iter().copied().filter(|press| *press != Press::Enter).collect();
    let is_final = moves.is_empty();
    let pressed = if is_final { presses } else { moves.as_slice() };
    let keys = pressed.iter().map(|press| press.key().to_owned()).collect();
    Answer { dialog: name.to_owned(), keys, is_final }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::screen::prompt::Composer;

    const NOW: Timestamp = Timestamp(1_000_000);
    const ON_NO: &str = "Do you trust it?\n ❯ No, exit\n   Maybe\n   Yes, I trust it";
    const ON_YES: &str = "Do you trust it?\n   No, exit\n   Maybe\n ❯ Yes, I trust it";

    #[test]
    fn an_option_is_confirmed_only_when_the_mark_is_seen_on_it() {
        check(ON_NO, dialog("trust"), None, &moves("trust", &["Down", "Down"]));
        check(ON_YES, dialog("trust"), None, &answer("trust", &["Enter"]));
        check(&ON_YES.replace('❯', " "), dialog("trust"), None, &Step::Wait);
        check(&ON_NO.replace("Yes, I trust", "Perhaps"), dialog("trust"), None, &Step::Wait);
        check(&ON_NO.replace("Maybe", "❯ Maybe"), dialog("trust"), None, &Step::Wait);
    }

    #[test]
    fn a_dialog_is_not_answered_again_before_it_can_have_been_redrawn() {
        let moved = moves("trust", &["Down", "Down"]);
        let entered = answer("trust", &["Enter"]);
        for (last, ago, screen, expected) in [
            (&moved, 0, ON_NO, Step::Wait),
            (&moved, 999, ON_NO, Step::Wait),
            (&moved, 999, ON_YES, Step::Wait),
            (&moved, 1_000, ON_YES, entered.clone()),
            // A key was lost.
            (&moved, 1_000, ON_NO, moved.clone()),
            (&entered, 1_000, ON_YES, Step::Wait),
            (&entered, 9_999, ON_YES, Step::Wait),
            (&entered, 10_000, ON_YES, entered.clone()),
            // Another dialog is another question.
            (&answer("keys", &["y"]), 0, ON_YES, entered.clone()),
        ] {
            check(screen, dialog("trust"), Some((last, ago)), &expected);
        }
        check("", dialog("keys"), Some((&answer("keys", &["y"]), 5)), &Step::Wait);
        check("", dialog("keys"), Some((&answer("keys", &["y"]), 10_000)), &answer("keys", &["y"]));
    }

    #[test]
    fn nothing_is_agreed_to_that_the_operator_has_not_agreed_to() {
        let sight = sight(dialog("trust"));
        let needs = Step::NeedsConsent { dialog: "trust".to_owned(), consent: Consent::Trust };
        let step = next(&Screen::of(ON_YES), &sight, &dialogs(), |_| false, None, NOW);
        assert_eq!(step, needs);
        let other = |consent| consent == Consent::All;
        let step = next(&Screen::of(ON_YES), &sight, &dialogs(), other, None, NOW);
        assert_eq!(step, needs);
    }

    #[test]
    fn what_is_no_dialog_that_cmux_answers_is_waited_out_left_or_the_end_of_the_start() {
        let text = "log in by hand".to_owned();
        check("", dialog("sign-in"), None, &Step::Leave { dialog: "sign-in".to_owned(), text });
        check("", dialog("nobody-knows"), None, &Step::Wait);
        check("", None, None, &Step::Wait);
        for seen in [
            Seen::Idle,
            Seen::Busy { answers: false },
            Seen::Draft { text: "hm".to_owned() },
            Seen::Asking { what: "permission".to_owned() },
            Seen::Limited { until: None },
        ] {
            check("", Some(seen), None, &Step::Ready);
        }
    }

    fn dialogs() -> Vec<Dialog> {
        let new = |name: &str, consent, answer| Dialog { name: name.to_owned(), consent, answer };
        let option = "Yes, I trust".parse().unwrap();
        vec![
            new("trust", Some(Consent::Trust), Reply::Choose { option, mark: "❯".to_owned() }),
            new("keys", None, Reply::Keys(vec!["y".to_owned()])),
            new("sign-in", Some(Consent::Trust), Reply::Leave("log in by hand".to_owned())),
        ]
    }

    fn dialog(name: &str) -> Option<Seen> {
        Some(Seen::Dialog { name: name.to_owned() })
    }

    fn answer(dialog: &str, keys: &[&str]) -> Step {
        Step::Answer(pressed(dialog, keys, true))
    }

    fn moves(dialog: &str, keys: &[&str]) -> Step {
        Step::Answer(pressed(dialog, keys, false))
    }

    fn pressed(dialog: &str, keys: &[&str], is_final: bool) -> Answer {
        let keys = keys.iter().map(|&key| key.to_owned()).collect();
        Answer { dialog: dialog.to_owned(), keys, is_final }
    }

    fn sight(seen: Option<Seen>) -> Sight {
        Sight { seen, rule: None, witness: None, line: String::new(), composer: Composer::Absent }
    }

    /// Checks what is done about a screen, so many milliseconds after the last answer.
    #[track_caller]
    fn check(text: &str, seen: Option<Seen>, last: Option<(&Step, u64)>, expected: &Step) {
        let last = last.map(|(step, ago_ms)| {
            let Step::Answer(answer) = step else { panic!("{step:?}") };
            Answered { answer: answer.clone(), at: NOW - Duration::from_millis(ago_ms) }
        });
        let sight = sight(seen);
        let step = next(&Screen::of(text), &sight, &dialogs(), |_| true, last.as_ref(), NOW);
        assert_eq!(&step, expected, "{text}");
    }
}
