//! When mail is offered, and what is done about a prompt that is in the way.

use super::*;
use crate::agent::Doing;
use crate::delivery::{Confirm, Ticket};

const NOW: Timestamp = Timestamp(1_000_000);

#[test]
fn mail_is_taken_at_an_empty_prompt_and_nowhere_else() {
    for (look, expected) in [
        (free(), Offer::Ready),
        (Look { holds: Holds::Other, ..free() }, Offer::Wait(Waiting::Draft)),
        (Look { holds: Holds::Unknown, ..free() }, Offer::Wait(Waiting::Screen)),
        (Look { doing: None, ..free() }, Offer::Wait(Waiting::Screen)),
        (Look { doing: Some(Doing::Working), ..free() }, Offer::Wait(Waiting::Busy)),
        (Look { doing: asking(), ..free() }, Offer::Wait(Waiting::Asking)),
        (Look { is_paused: true, ..free() }, Offer::Wait(Waiting::Paused)),
        (Look { is_person_here: true, ..free() }, Offer::Wait(Waiting::Person)),
        (Look { is_scrolled: true, ..free() }, Offer::Wait(Waiting::Scrolling)),
        (Look { is_deaf: true, ..free() }, Offer::Wait(Waiting::Deaf)),
        (Look { is_in_front: false, ..free() }, Offer::Wait(Waiting::Behind)),
    ] {
        check(&look, 60, expected);
    }
}

#[test]
fn what_cmux_left_is_emptied_if_nobody_is_there_and_not_for_ever() {
    let stale = |empties| Look { holds: Holds::Stale, empties, ..free() };
    for (look, seconds, expected) in [
        (stale(0), 0, Offer::Pause(LATER)),
        (stale(0), 1, Offer::Empty(1)),
        (Look { holds: Holds::Ours, ..stale(0) }, 1, Offer::Empty(1)),
        (stale(1), 14, Offer::Pause(LATER)),
        (stale(1), 15, Offer::Empty(2)),
        (stale(EMPTIES_MAX), 900, Offer::Wait(Waiting::Draft)),
        (Look { is_person_here: true, ..stale(0) }, 60, Offer::Wait(Waiting::Person)),
        (Look { doing: asking(), ..stale(0) }, 60, Offer::Wait(Waiting::Asking)),
        (Look { doing: Some(Doing::Working), ..stale(0) }, 60, Offer::Wait(Waiting::Busy)),
    ] {
        check(&look, seconds, expected);
    }
}

#[test]
fn a_prompt_that_cannot_be_seen_is_taken_for_empty_where_none_can() {
    let look = Look { holds: Holds::Unknown, ..free() };
    let blind = Pace { has_prompt: false, ..pace() };
    assert_eq!(Offering::default().next(&look, &blind, NOW), Offer::Ready);
}

/// Checks what is done first that is more than to look again, or at last.
#[track_caller]
fn check(look: &Look, seconds: i64, expected: Offer) {
    let mut offering = Offering::default();
    let mut offer = offering.next(look, &pace(), NOW);
    for second in 1..=seconds {
        if matches!(offer, Offer::Empty(_)) {
            break;
        }
        offer = offering.next(look, &pace(), Timestamp(NOW.0 + second * 1000));
    }
    assert_eq!(offer, expected, "{look:?} {seconds}");
}

fn asking() -> Option<Doing> {
    Some(Doing::Asking { what: "permission".to_owned() })
}

fn pace() -> Pace {
    let submit_after = Duration::from_millis(50);
    Pace { submit_after, confirm: Confirm::Hook, has_prompt: true, is_repeated: true }
}

fn free() -> Look {
    Look {
        is_alive: true,
        ticket: Ticket::Absent,
        used: None,
        is_pasted: false,
        presses: 0,
        empties: 0,
        holds: Holds::Nothing,
        is_shown: false,
        doing: Some(Doing::AtPrompt),
        is_person_here: false,
        is_scrolled: false,
        is_deaf: false,
        is_in_front: true,
        is_recalled: false,
        is_paused: false,
    }
}
