//! What is done next with a delivery, look by look.

use ulid::Ulid;

use super::*;
use crate::id::{AgentId, DeliveryId, MessageId, RunId};
use crate::message::Evidence;

const NOW: Timestamp = Timestamp(1_000_000);
const SECOND: Duration = Duration::from_secs(1);

#[test]
fn the_screen_is_looked_at_first_then_the_process_and_then_the_ticket() {
    let order = std::cell::RefCell::new(Vec::new());
    let note = |what: &'static str| order.borrow_mut().push(what);
    let is_alive = || {
        note("process");
        false
    };
    let ticket = || {
        note("ticket");
        Ok::<_, ()>(Ticket::Claimed)
    };
    let look = pressed().seen_through(is_alive, ticket);
    assert_eq!(order.into_inner(), ["process", "ticket"]);
    assert_eq!(look, Ok(Look { is_alive: false, ticket: Ticket::Claimed, ..pressed() }));
    assert_eq!(pressed().seen_through(|| true, || Err("unreadable")), Err("unreadable"));
}

#[test]
fn what_was_read_is_done_whatever_else_is_seen() {
    let used = Some(Evidence::Transcript);
    for look in [
        Look { used, ..free() },
        Look { used, is_alive: false, ..free() },
        Look { used, ticket: Ticket::Void, is_recalled: true, ..free() },
        Look { used, holds: Holds::Other, doing: None, ..free() },
    ] {
        check(&look, &Step::Done(Sighted::Used(Evidence::Transcript)));
    }
}

#[test]
fn what_went_to_a_life_that_is_over_is_void_before_it_waits_for_the_next() {
    let dead = Look { is_alive: false, ..pressed() };
    for (ticket, expected) in [
        (Ticket::Claimed, Step::GiveBack),
        (Ticket::Open, Step::Void),
        (Ticket::Absent, Step::Void),
        (Ticket::Void, Step::Done(Sighted::Unused(Unused::RunOver))),
    ] {
        check(&Look { ticket, ..dead.clone() }, &expected);
    }
}

#[test]
fn what_is_taken_back_is_void_unless_the_hook_has_it() {
    let recalled = Look { is_recalled: true, ..pressed() };
    for (look, expected) in [
        (recalled.clone(), Step::Void),
        (Look { ticket: Ticket::Absent, is_pasted: false, ..recalled.clone() }, Step::Void),
        (Look { ticket: Ticket::Claimed, ..recalled.clone() }, Step::Tell(Sighted::Claimed)),
    ] {
        check(&look, &expected);
    }
    // Nobody knows whether one without a hook has read it: it stays to be seen.
    let sight = Pace { confirm: Confirm::Sight, ..pace() };
    let step = Typing::default().next(&delivery(), &recalled, &sight, NOW);
    assert_eq!(step, Step::Tell(Sighted::Submitted));
}

#[test]
fn what_is_void_is_taken_away_from_the_prompt_and_over() {
    let void = Look { ticket: Ticket::Void, is_recalled: true, ..pressed() };
    let over = || Step::Done(Sighted::Unused(Unused::Recalled));
    let ours = Look { holds: Holds::Ours, ..void.clone() };
    for (look, expected) in [
        (Look { is_pasted: false, ..void.clone() }, over()),
        (ours.clone(), Step::Empty(1)),
        (Look { holds: Holds::Other, ..void.clone() }, over()),
        (Look { holds: Holds::Stale, ..void.clone() }, over()),
        (Look { holds: Holds::Unknown, ..void.clone() }, over()),
        (Look { empties: 1, ..void.clone() }, over()),
        (void.clone(), Step::Pause(LATER)),
    ] {
        check(&look, &expected);
    }
    let person = Look { is_person_here: true, ..ours.clone() };
    assert_eq!(last(&delivery(), &person, 20), Step::Wait(Waiting::Person));
    assert_eq!(last(&delivery(), &void, 6), over());
    for look in [
        Look { empties: EMPTIES_MAX, ..ours.clone() },
        Look { doing: Some(Doing::Working), ..ours },
    ] {
        assert_eq!(last(&delivery(), &look, 3), over(), "{look:?}");
    }
}

#[test]
fn nobody_else_is_let_at_the_pane_while_what_was_typed_is_on_its_way() {
    let asks = || Some(Doing::Asking { what: "permission".to_owned() });
    let pasted = Look { is_pasted: true, doing: asks(), ..free() };
    let ours = Look { holds: Holds::Ours, doing: asks(), ..pressed() };
    let void = Look { ticket: Ticket::Void, is_recalled: true, ..ours.clone() };
    for look in [&pasted, &ours, &void] {
        let mut typing = Typing::default();
        let step = typing.next(&delivery(), look, &pace(), NOW);
        assert!(matches!(step, Step::Pause(_)), "{step:?} {look:?}");
        assert!(typing.is_on_its_way(), "{look:?}");
        let step = last(&delivery(), look, 6);
        assert!(matches!(step, Step::Wait(Waiting::Asking) | Step::Done(_)), "{step:?} {look:?}");
    }
    // What was seen to come is on its way no more.
    for look in [Look { holds: Holds::Nothing, ..ours }, Look { holds: Holds::Ours, ..pasted }] {
        let mut typing = Typing::default();
        typing.next(&delivery(), &look, &pace(), NOW);
        assert!(!typing.is_on_its_way(), "{look:?}");
    }
}

#[test]
fn what_was_given_up_before_a_crash_is_not_typed_anew_after_it() {
    let void = Look { ticket: Ticket::Void, ..free() };
    let Step::Done(Sighted::Unused(Unused::Failed { .. })) = last(&delivery(), &void, 0) else {
        panic!("it waits again");
    };
}

#[test]
fn a_claim_is_given_back_only_when_nobody_answers_by_it_any_more() {
    let claimed = Look { ticket: Ticket::Claimed, ..pressed() };
    let back = Look { holds: Holds::Ours, ..claimed.clone() };
    let of = Delivery { state: DeliveryState::Claimed, ..delivery() };
    let is_given = |look: &Look, seconds| last(&of, look, seconds) == Step::GiveBack;
    assert!(ANSWERED_AFTER > super::super::ANSWERS_WITHIN);
    for (look, after) in [(&back, 15), (&claimed, 30)] {
        assert!(!is_given(look, after - 1), "{look:?}");
        assert!(is_given(look, after), "{look:?}");
    }
    for look in [
        Look { doing: Some(Doing::Working), ..claimed.clone() },
        Look { doing: None, ..claimed.clone() },
        Look { is_person_here: true, ..back.clone() },
        Look { holds: Holds::Other, ..claimed.clone() },
        Look { holds: Holds::Unknown, ..claimed.clone() },
    ] {
        assert!(matches!(last(&of, &look, 300), Step::Wait(_)), "{look:?}");
    }
    let stale = Look { holds: Holds::Stale, ..claimed };
    assert_eq!(last(&of, &stale, 1), Step::Empty(1));
}

#[test]
fn a_claim_that_comes_late_has_all_the_time_to_be_used() {
    let submitted = Delivery { state: DeliveryState::Submitted, attempt: 5, ..delivery() };
    let of = Delivery { state: DeliveryState::Claimed, ..submitted.clone() };
    let claimed = Look { ticket: Ticket::Claimed, ..pressed() };
    let mut typing = Typing::default();
    for second in 0..60 {
        let step = typing.next(&submitted, &pressed(), &pace(), NOW + SECOND * second);
        assert!(matches!(step, Step::Pause(_)), "{second}: {step:?}");
    }
    for (second, is_given) in (60..=90).map(|second| (second, second == 90)) {
        let step = typing.next(&of, &claimed, &pace(), NOW + SECOND * second);
        assert_eq!(step == Step::GiveBack, is_given, "{second}: {step:?}");
    }
}

#[test]
fn what_was_given_back_is_typed_once_more_or_given_up() {
    let of = |attempt| Delivery { state: DeliveryState::Claimed, attempt, ..delivery() };
    for (attempt, expected) in [(1, (true, false)), (ATTEMPTS_MAX, (false, true))] {
        let (mut typing, mut now) = (Typing::default(), NOW);
        let claimed = Look { ticket: Ticket::Claimed, ..pressed() };
        while typing.next(&of(attempt), &claimed, &pace(), now) != Step::GiveBack {
            now = now + SECOND;
        }
        let step = typing.next(&of(attempt), &pressed(), &pace(), now);
        let is_again = matches!(step, Step::Tell(Sighted::Again { .. }));
        assert_eq!((is_again, step == Step::Void), expected, "{attempt}");
    }
}

#[test]
fn nothing_is_typed_before_it_is_told_that_it_is() {
    let doubted = Delivery { state: DeliveryState::InDoubt, ..delivery() };
    for look in [free(), Look { holds: Holds::Ours, ..pasted() }] {
        assert_eq!(last(&doubted, &look, 0), Step::Tell(Sighted::Typing));
    }
    assert_eq!(last(&doubted, &pressed(), 0), Step::Tell(Sighted::Submitted));
}

#[test]
fn what_does_not_leave_is_submitted_again_ever_more_seldom_and_then_given_up() {
    let ours = |presses| Look { holds: Holds::Ours, presses, ..pasted() };
    let wait = Step::Pause(SECOND);
    for (presses, seconds, expected) in [
        (1, 0, wait.clone()),
        (1, 1, Step::Press(2)),
        (2, 1, wait.clone()),
        (2, 2, Step::Press(3)),
        (6, 15, wait),
        (6, 16, Step::Press(7)),
        (PRESSES_MAX, 16, Step::Void),
    ] {
        assert_eq!(last(&delivery(), &ours(presses), seconds), expected, "{presses} {seconds}");
    }
}

#[test]
fn a_copy_that_may_not_be_alone_is_not_submitted_at_once() {
    let second = Delivery { attempt: 2, ..delivery() };
    let ours = Look { holds: Holds::Ours, ..pasted() };
    assert_eq!(last(&second, &ours, 0), Step::Pause(SECOND));
    assert_eq!(last(&second, &ours, 1), Step::Press(1));
}

#[test]
fn what_was_submitted_from_an_earlier_copy_is_not_pasted_again() {
    let left = Look { is_pasted: false, ..pressed() };
    check(&left, &Step::Tell(Sighted::Submitted));
}

#[test]
fn whoever_is_slow_gets_twice_the_time_at_each_attempt() {
    let submitted = |attempt| Delivery { attempt, state: DeliveryState::Submitted, ..delivery() };
    for (of, look, seconds) in [
        (Delivery { attempt: 1, ..delivery() }, pasted(), 3),
        (Delivery { attempt: 2, ..delivery() }, pasted(), 6),
        (submitted(1), pressed(), 5),
        (submitted(3), pressed(), 20),
        (submitted(19), pressed(), 80),
    ] {
        let is_again = |step| matches!(step, Step::Tell(Sighted::Again { .. }));
        assert!(!is_again(last(&of, &look, seconds - 1)), "{of:?}");
        assert!(is_again(last(&of, &look, seconds)), "{of:?}");
    }
    let step = last(&submitted(ATTEMPTS_MAX), &pressed(), 80);
    assert_eq!(step, Step::Void);
}

#[test]
fn while_nobody_could_look_no_time_is_over() {
    let of = Delivery { state: DeliveryState::Submitted, ..delivery() };
    let mut typing = Typing::default();
    typing.next(&of, &pressed(), &pace(), NOW);
    let late = NOW + Duration::from_hours(9);
    assert!(matches!(typing.next(&of, &pressed(), &pace(), late), Step::Pause(_)));
}

#[test]
fn a_busy_agent_is_waited_for() {
    let of = Delivery { state: DeliveryState::Submitted, ..delivery() };
    let busy = Look { doing: Some(Doing::Working), ..pressed() };
    assert!(matches!(last(&of, &busy, 0), Step::Pause(_)));
    assert_eq!(last(&of, &busy, 600), Step::Wait(Waiting::Busy));
}

#[test]
fn what_nobody_confirms_is_typed_again_or_left_as_the_person_says() {
    let of = Delivery { state: DeliveryState::Submitted, ..delivery() };
    for is_repeated in [true, false] {
        let sight = Pace { confirm: Confirm::Sight, is_repeated, ..pace() };
        let (mut typing, mut step) = (Typing::default(), Step::Lay);
        for second in 0..=5 {
            step = typing.next(&of, &pressed(), &sight, NOW + SECOND * second);
        }
        let is_again = matches!(step, Step::Tell(Sighted::Again { .. }));
        let is_over = matches!(step, Step::Done(Sighted::Unused(Unused::Failed { .. })));
        assert_eq!((is_again, is_over), (is_repeated, !is_repeated));
    }
}

#[test]
fn what_stays_shown_above_an_empty_prompt_was_read_where_only_the_screen_tells() {
    let of = Delivery { state: DeliveryState::Submitted, ..delivery() };
    let shown = Look { is_shown: true, ..pressed() };
    let read = Step::Done(Sighted::Used(Evidence::Screen));
    for (confirm, look, expected) in [
        (Confirm::Sight, shown.clone(), true),
        (Confirm::Sight, Look { is_shown: false, ..shown.clone() }, false),
        (Confirm::Sight, Look { presses: 0, ..shown.clone() }, false),
        (Confirm::Sight, Look { doing: Some(Doing::Working), ..shown.clone() }, false),
        (Confirm::Hook, shown, false),
    ] {
        for is_repeated in [true, false] {
            let pace = Pace { confirm, is_repeated, ..pace() };
            let mut typing = Typing::default();
            let mut next = |second| typing.next(&of, &look, &pace, NOW + SECOND * second);
            let early = (0..5).map(&mut next).any(|step| step == read);
            assert!(!early, "it may be taken back, or drawn only now: {confirm:?} {look:?}");
            assert_eq!(next(5) == read, expected, "{confirm:?} {look:?}");
        }
    }
}

#[test]
fn what_is_to_be_left_is_known_to_be_out_before_it_is() {
    let once = Pace { confirm: Confirm::Sight, is_repeated: false, ..pace() };
    let ours = Look { holds: Holds::Ours, ..pasted() };
    let later = NOW + SECOND;
    for (state, presses, expected) in [
        (DeliveryState::Typing, 0, Step::Tell(Sighted::Submitted)),
        (DeliveryState::Submitted, 0, Step::Press(1)),
        (DeliveryState::Submitted, 1, Step::Press(2)),
        // Nobody knows whether the key is still on its way.
        (DeliveryState::InDoubt, 1, Step::Tell(Sighted::Submitted)),
        (DeliveryState::InDoubt, 0, Step::Tell(Sighted::Submitted)),
    ] {
        let (of, look) = (Delivery { state, ..delivery() }, Look { presses, ..ours.clone() });
        let mut typing = Typing::default();
        typing.next(&of, &look, &once, NOW);
        assert_eq!(typing.next(&of, &look, &once, later), expected, "{state:?} {presses}");
    }
}

#[test]
fn what_may_have_been_read_is_left_when_its_run_ends_or_its_hook_took_it_in_vain() {
    let once = Pace { confirm: Confirm::Sight, is_repeated: false, ..pace() };
    let dead = Look { is_alive: false, ..free() };
    let left = |step: &Step| matches!(step, Step::Done(Sighted::Unused(Unused::Failed { .. })));
    for (state, ticket, presses, is_left) in [
        (DeliveryState::Typing, Ticket::Open, 0, false),
        (DeliveryState::Typing, Ticket::Open, 1, true),
        (DeliveryState::Submitted, Ticket::Open, 0, true),
        (DeliveryState::Claimed, Ticket::Claimed, 0, true),
        (DeliveryState::InDoubt, Ticket::Open, 0, true),
        (DeliveryState::InDoubt, Ticket::Absent, 0, false),
        (DeliveryState::InDoubt, Ticket::Void, 0, false),
    ] {
        let (of, look) =
            (Delivery { state, ..delivery() }, Look { ticket, presses, ..dead.clone() });
        let step = Typing::default().next(&of, &look, &once, NOW);
        assert_eq!(left(&step), is_left, "{state:?} {ticket:?} {presses}: {step:?}");
        let step = Typing::default().next(&of, &look, &Pace { is_repeated: true, ..once }, NOW);
        assert!(!left(&step), "{state:?} {ticket:?} {presses}: {step:?}");
    }
    let of = Delivery { state: DeliveryState::Claimed, ..delivery() };
    let claimed = Look { ticket: Ticket::Claimed, ..pressed() };
    let (mut typing, mut step) = (Typing::default(), Step::Lay);
    for second in 0..=30 {
        step = typing.next(&of, &claimed, &once, NOW + SECOND * second);
    }
    assert!(left(&step), "{step:?}");
}

#[test]
fn what_nothing_would_tell_of_is_not_said_to_be_unread_when_its_run_ends() {
    let dead = Look { is_alive: false, ticket: Ticket::Void, ..free() };
    let sight = Pace { confirm: Confirm::Sight, ..pace() };
    let once = Pace { is_repeated: false, ..sight };
    for (pace, state, presses, expected) in [
        (pace(), DeliveryState::Submitted, 1, Unused::RunOver),
        (sight, DeliveryState::Typing, 0, Unused::RunOver),
        (sight, DeliveryState::Typing, 1, Unused::PerhapsRead),
        (sight, DeliveryState::Submitted, 0, Unused::PerhapsRead),
        (sight, DeliveryState::InDoubt, 0, Unused::PerhapsRead),
        (once, DeliveryState::InDoubt, 0, Unused::RunOver),
    ] {
        let (of, look) = (Delivery { state, ..delivery() }, Look { presses, ..dead.clone() });
        let step = Typing::default().next(&of, &look, &pace, NOW);
        assert_eq!(step, Step::Done(Sighted::Unused(expected)), "{state:?} {presses}");
    }
}

#[test]
fn a_prompt_that_cannot_be_seen_has_in_it_what_was_pasted() {
    let blind = Pace { has_prompt: false, ..pace() };
    let unseen = |look: Look| Look { holds: Holds::Unknown, ..look };
    for (look, expected) in [
        (unseen(free()), Step::Paste),
        (unseen(pasted()), Step::Pause(Duration::from_millis(50))),
        (unseen(pressed()), Step::Tell(Sighted::Submitted)),
    ] {
        let step = Typing::default().next(&delivery(), &look, &blind, NOW);
        assert_eq!(step, expected, "{look:?}");
    }
}

#[test]
fn what_cmux_left_is_emptied_once_it_has_stayed_and_seldom_twice() {
    let stale = |empties| Look { holds: Holds::Stale, empties, ..free() };
    for (look, seconds, expected) in [
        (stale(0), 0, Step::Pause(LATER)),
        (stale(0), 1, Step::Empty(1)),
        (stale(1), 14, Step::Pause(LATER)),
        (stale(1), 15, Step::Empty(2)),
        (stale(2), 30, Step::Empty(3)),
        (stale(EMPTIES_MAX), 900, Step::Wait(Waiting::Draft)),
        (Look { is_person_here: true, ..stale(0) }, 9, Step::Wait(Waiting::Person)),
        (Look { doing: Some(Doing::Working), ..stale(0) }, 9, Step::Wait(Waiting::Busy)),
    ] {
        assert_eq!(last(&delivery(), &look, seconds), expected, "{look:?} {seconds}");
    }
}

/// Checks what is done at the first look.
#[track_caller]
fn check(look: &Look, expected: &Step) {
    assert_eq!(last(&delivery(), look, 0), *expected, "{look:?}");
}

/// Returns what is done first that is more than to look again, if it looks so for so many seconds, or what is
/// done then.
fn last(delivery: &Delivery, look: &Look, seconds: u32) -> Step {
    let mut typing = Typing::default();
    for second in 0..seconds {
        let step = typing.next(delivery, look, &pace(), NOW + SECOND * second);
        if !matches!(step, Step::Pause(_) | Step::Wait(_)) {
            return step;
        }
    }
    typing.next(delivery, look, &pace(), NOW + SECOND * seconds)
}

fn free() -> Look {
    Look {
        is_alive: true,
        ticket: Ticket::Open,
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

fn pasted() -> Look {
    Look { is_pasted: true, ..free() }
}

fn pressed() -> Look {
    Look { presses: 1, ..pasted() }
}

fn pace() -> Pace {
    let submit_after = Duration::from_millis(50);
    Pace { submit_after, confirm: Confirm::Hook, has_prompt: true, is_repeated: true }
}

fn delivery() -> Delivery {
    Delivery {
        id: DeliveryId::new(Ulid::from(1_u128)),
        agent: AgentId::new(Ulid::from(1_u128)),
        run: RunId::new(Ulid::from(1_u128)),
        messages: vec![MessageId::new(Ulid::from(1_u128))],
        text: "text".to_owned(),
        attempt: 1,
        state: DeliveryState::Typing,
        mark: 0,
        made_at: NOW,
        since: NOW,
    }
}
