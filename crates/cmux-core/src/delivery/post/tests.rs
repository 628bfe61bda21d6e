//! What follows each look at a delivery that goes in by a door.

use ulid::Ulid;

use super::*;
use crate::id::{AgentId, DeliveryId, MessageId, RunId};

mod sim;

pub(super) const NOW: Timestamp = Timestamp(1_000_000);

#[test]
fn a_delivery_is_recorded_its_ticket_taken_and_then_it_is_posted() {
    tell(&[
        (PostLook { ticket: Ticket::Absent, ..free() }, PostStep::Lay),
        (free(), PostStep::Claim),
        (claimed(), PostStep::Post),
        (came(Came::Taken), used()),
    ]);
    let hooked = |ticket| PostLook { ticket, door: HOOKED, ..free() };
    tell(&[
        (hooked(Ticket::Absent), PostStep::Lay),
        (hooked(Ticket::Open), PostStep::Post),
        (PostLook { came: Some(Came::Taken), ..hooked(Ticket::Claimed) }, used()),
    ]);
}

#[test]
fn nothing_is_posted_to_an_agent_that_is_not_at_its_prompt() {
    for (doing, waiting) in [
        (Some(Doing::Working), Waiting::Busy),
        (Some(Doing::Asking { what: "permission".to_owned() }), Waiting::Asking),
        (Some(Doing::Limited { until: None }), Waiting::Limited),
        (None, Waiting::Screen),
    ] {
        for door in [LISTED, HOOKED, KNOWING] {
            let look = PostLook { doing: doing.clone(), door, ..free() };
            tell(&[(look.clone(), PostStep::Wait(waiting)), (look, PostStep::Wait(waiting))]);
        }
        // Nor is it while it is paused.
        let paused = PostLook { is_paused: true, ..free() };
        tell(&[(paused, PostStep::Wait(Waiting::Paused))]);
        // It began to do something just before.
        let look = PostLook { doing: doing.clone(), ..claimed() };
        tell(&[(free(), PostStep::Claim), (look, PostStep::Wait(waiting))]);
    }
}

#[test]
fn what_became_of_a_post_is_asked_for_and_that_is_the_end() {
    for came in [Came::Queued, Came::Unknown] {
        let look = self::came(came);
        let listed = Some(Listed { at: NOW, has: Some(true) });
        tell(&[
            (free(), PostStep::Claim),
            (claimed(), PostStep::Post),
            (look.clone(), PostStep::Tell(Sighted::Submitted)),
            (PostLook { listed, ..look }, used()),
        ]);
    }
    let mut posting = posted();
    let submitted = in_state(DeliveryState::Submitted);
    assert_eq!(posting.next(&submitted, &came(Came::Unknown), NOW), PostStep::Ask);
    let again = posting.next(&submitted, &came(Came::Unknown), NOW);
    assert!(matches!(again, PostStep::Pause(_)), "{again:?}");
}

#[test]
fn it_is_posted_again_only_when_its_list_was_asked_long_after_and_the_agent_is_at_rest() {
    let lost = came(Came::Unknown);
    let listed =
        |ms: i64, has| PostLook { listed: Some(Listed { at: later(ms), has }), ..lost.clone() };
    let busy = |look| PostLook { doing: Some(Doing::Working), ..look };
    let long = i64::try_from(ABSENT_AFTER.as_millis()).unwrap();
    for (look, is_given_back) in [
        (lost.clone(), false),
        (listed(0, Some(false)), false),
        (listed(long - 1, Some(false)), false),
        (listed(long, None), false),
        (busy(listed(long, Some(false))), false),
        (listed(long, Some(false)), true),
    ] {
        let mut posting = posted();
        let submitted = in_state(DeliveryState::Submitted);
        posting.next(&submitted, &lost, NOW);
        let step = posting.next(&submitted, &look, later(long + 1_000));
        assert_eq!(step == PostStep::GiveBack, is_given_back, "{look:?}: {step:?}");
        assert_ne!(step, PostStep::Post);
        if is_given_back {
            let why = "it was sent, and its reader does not have it".to_owned();
            let step = posting.next(&submitted, &free(), later(long + 1_000));
            assert_eq!(step, PostStep::Tell(Sighted::Again { why }));
        }
    }
}

#[test]
fn what_is_to_be_left_is_not_posted_twice() {
    let door = Door { is_repeated: false, ..LISTED };
    let lost = PostLook { door, ..came(Came::Unknown) };
    let long = i64::try_from(ABSENT_AFTER.as_millis()).unwrap();
    let listed = Some(Listed { at: later(long), has: Some(false) });
    let mut posting = posted();
    let submitted = in_state(DeliveryState::Submitted);
    posting.next(&submitted, &lost, NOW);
    let step = posting.next(&submitted, &PostLook { listed, ..lost.clone() }, later(long));
    assert_eq!(step, unconfirmed());
    let over = PostLook { is_alive: false, ..lost };
    assert_eq!(posting.next(&submitted, &over, later(long)), unconfirmed());
}

#[test]
fn after_a_crash_a_ticket_that_was_taken_means_that_it_may_be_out() {
    let doubted = in_state(DeliveryState::InDoubt);
    for door in [LISTED, HOOKED] {
        let mut posting = Posting::default();
        let look = PostLook { door, ..claimed() };
        let step = match door.confirm {
            Confirm::Hook => PostStep::Tell(Sighted::Claimed),
            Confirm::Sight => PostStep::Ask,
        };
        assert_eq!(posting.next(&doubted, &look, NOW), step);
    }
    // One that nobody has taken is not out, unless it is the hook that takes it.
    for (door, step) in [(LISTED, PostStep::Tell(Sighted::Typing)), (HOOKED, PostStep::Ask)] {
        let look = PostLook { door, ..free() };
        assert_eq!(Posting::default().next(&doubted, &look, NOW), step, "{door:?}");
    }
}

#[test]
fn a_refusal_is_waited_out_and_then_it_is_tried_again_and_given_up_in_the_end() {
    let refused = came(Came::Refused { why: "no".to_owned() });
    let mut posting = posted();
    assert_eq!(posting.next(&delivery(), &refused, NOW), PostStep::Pause(REFUSED_FIRST));
    assert_eq!(posting.next(&delivery(), &refused, later(1_000)), PostStep::GiveBack);
    let why = "its reader refused it: no".to_owned();
    let step = posting.next(&delivery(), &free(), later(1_000));
    assert_eq!(step, PostStep::Tell(Sighted::Again { why }));
    // What the last attempt came to says nothing of this one.
    let second = Delivery { attempt: 2, ..delivery() };
    let stale = PostLook { came: refused.came.clone(), ..free() };
    assert_eq!(posting.next(&second, &stale, later(1_000)), PostStep::Claim);
    let stale = PostLook { ticket: Ticket::Claimed, ..stale };
    assert_eq!(posting.next(&second, &stale, later(1_000)), PostStep::Post);

    let last = Delivery { attempt: ATTEMPTS_MAX, ..delivery() };
    let mut posting = Posting::default();
    posting.next(&last, &free(), NOW);
    assert_eq!(posting.next(&last, &claimed(), NOW), PostStep::Post);
    assert_eq!(posting.next(&last, &refused, NOW), PostStep::Pause(REFUSED_MAX));
    assert_eq!(posting.next(&last, &refused, later(60_000)), PostStep::GiveBack);
    assert_eq!(posting.next(&last, &free(), later(60_000)), PostStep::Void);
    let void = PostLook { ticket: Ticket::Void, ..free() };
    let step = posting.next(&last, &void, later(60_000));
    let PostStep::Done(Sighted::Unused(Unused::Failed { why })) = step else { panic!("{step:?}") };
    assert!(why.contains("20 times") && why.ends_with("refused it: no"), "{why}");
}

#[test]
fn what_a_hook_turns_away_may_be_a_second_copy() {
    let blocked = Some(Came::Refused { why: "twice".to_owned() });
    for (ticket, step) in
        [(Ticket::Open, PostStep::Pause(REFUSED_FIRST)), (Ticket::Claimed, PostStep::Ask)]
    {
        let hooked = PostLook { door: HOOKED, ..free() };
        let mut posting = Posting::default();
        assert_eq!(posting.next(&delivery(), &hooked, NOW), PostStep::Post);
        let look = PostLook { ticket, came: blocked.clone(), ..hooked };
        assert_eq!(posting.next(&in_state(DeliveryState::Claimed), &look, NOW), step);
    }
}

#[test]
fn what_is_taken_back_is_not_posted_and_what_is_out_is_not_taken_back() {
    for (ticket, step) in [
        (Ticket::Absent, PostStep::Void),
        (Ticket::Open, PostStep::Void),
        (Ticket::Void, PostStep::Done(Sighted::Unused(Unused::Recalled))),
        (Ticket::Claimed, PostStep::Ask),
    ] {
        tell(&[(PostLook { ticket, is_recalled: true, ..free() }, step)]);
    }
    // It was taken here, and not sent yet.
    let recalled = PostLook { is_recalled: true, ..claimed() };
    tell(&[(free(), PostStep::Claim), (recalled, PostStep::GiveBack)]);
}

#[test]
fn what_was_given_up_before_a_crash_is_not_sent_anew_after_it() {
    let void = PostLook { ticket: Ticket::Void, ..free() };
    let step = Posting::default().next(&in_state(DeliveryState::InDoubt), &void, NOW);
    let PostStep::Done(Sighted::Unused(Unused::Failed { why })) = step else { panic!("{step:?}") };
    assert!(why.contains("never taken"), "{why}");
}

#[test]
fn when_the_run_is_over_nobody_gets_the_ticket_any_more() {
    for (ticket, step) in [
        (Ticket::Absent, PostStep::Void),
        (Ticket::Open, PostStep::Void),
        (Ticket::Claimed, PostStep::GiveBack),
        (Ticket::Void, PostStep::Done(Sighted::Unused(Unused::RunOver))),
    ] {
        tell(&[(PostLook { ticket, is_alive: false, ..free() }, step)]);
    }
    // What was sent to it may have been taken, where nobody else would have noticed.
    let void = PostLook { ticket: Ticket::Void, is_alive: false, ..free() };
    for (state, door, expected) in [
        (DeliveryState::Typing, void.door, Unused::RunOver),
        (DeliveryState::InDoubt, void.door, Unused::PerhapsRead),
        (DeliveryState::InDoubt, Door { is_repeated: false, ..void.door }, Unused::RunOver),
        (DeliveryState::InDoubt, Door { confirm: Confirm::Hook, ..void.door }, Unused::RunOver),
    ] {
        let look = PostLook { door, ..void.clone() };
        let step = Posting::default().next(&in_state(state), &look, NOW);
        assert_eq!(step, PostStep::Done(Sighted::Unused(expected)), "{state:?} {door:?}");
    }
    let read = PostLook { used: Some(Evidence::Turn), is_alive: false, ..claimed() };
    tell(&[(read, PostStep::Done(Sighted::Used(Evidence::Turn)))]);
}

#[test]
fn a_door_that_knows_what_it_was_sent_is_sent_the_same_again() {
    let lost = PostLook { door: KNOWING, ..came(Came::Unknown) };
    let mut posting = posted();
    let submitted = in_state(DeliveryState::Submitted);
    let step = posting.next(&submitted, &lost, NOW);
    assert!(matches!(step, PostStep::Pause(_)), "{step:?}");
    assert_eq!(posting.next(&submitted, &lost, later(1_000)), PostStep::Post);
    let busy = PostLook { doing: Some(Doing::Working), ..lost };
    let step = posting.next(&submitted, &busy, later(9_000));
    assert!(matches!(step, PostStep::Pause(_)), "{step:?}");
}

/// Checks what follows each look at one delivery.
#[track_caller]
fn tell(story: &[(PostLook, PostStep)]) {
    let mut posting = Posting::default();
    for (look, expected) in story {
        assert_eq!(&posting.next(&delivery(), look, NOW), expected, "{look:?}");
    }
}

/// Returns what is remembered of one that was just posted.
fn posted() -> Posting {
    let mut posting = Posting::default();
    assert_eq!(posting.next(&delivery(), &free(), NOW), PostStep::Claim);
    assert_eq!(posting.next(&delivery(), &claimed(), NOW), PostStep::Post);
    posting
}

fn used() -> PostStep {
    PostStep::Done(Sighted::Used(Evidence::Answer))
}

fn later(ms: i64) -> Timestamp {
    Timestamp(NOW.0 + ms)
}

/// One whose list is asked.
pub(super) const LISTED: Door =
    Door { confirm: Confirm::Sight, knows_again: false, is_repeated: true };

/// One behind which a hook stands.
pub(super) const HOOKED: Door = Door { confirm: Confirm::Hook, ..LISTED };

/// One that takes the same once.
pub(super) const KNOWING: Door = Door { knows_again: true, ..LISTED };

pub(super) fn free() -> PostLook {
    PostLook {
        is_alive: true,
        ticket: Ticket::Open,
        used: None,
        doing: Some(Doing::AtPrompt),
        is_recalled: false,
        is_paused: false,
        came: None,
        listed: None,
        door: LISTED,
    }
}

fn claimed() -> PostLook {
    PostLook { ticket: Ticket::Claimed, ..free() }
}

fn came(came: Came) -> PostLook {
    PostLook { came: Some(came), ..claimed() }
}

fn in_state(state: DeliveryState) -> Delivery {
    Delivery { state, ..delivery() }
}

pub(super) fn delivery() -> Delivery {
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
