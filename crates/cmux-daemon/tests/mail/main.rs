//! Mail, asked of the kernel: each message is taken once, read once, in order, or its sender hears that it
//! is not.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod house;
mod limits;
mod news;
mod schedules;

use std::time::Duration;

use cmux_core::agent::{Doing, Intent, Sighting};
use cmux_core::delivery::{ATTEMPTS_MAX, DeliveryState, Sighted, Unused};
use cmux_core::event::Actor;
use cmux_core::id::{AgentId, DeliveryId, MessageId};
use cmux_core::mail::Waiting;
use cmux_core::message::{
    BadMessage, Body, Evidence, MessageState, NewMessage, Recall, Recipient, TYPED_MAX,
};
use cmux_core::plan::Action;
use cmux_core::project::ProjectId;
use cmux_core::report::{Answer, Ask, Refused, Report};
use cmux_store::{agents, deliveries, messages};
use ulid::Ulid;

use crate::house::{House, at_prompt, by, ended, launched, new, new_agent};

#[test]
fn a_message_is_stored_offered_typed_and_read() {
    let mut house = House::new();
    let (id, run) = house.agent(new_agent("worker"));
    let sent = house.send(new(id, "hush"));
    assert_eq!((sent.state, sent.to.name()), (MessageState::Queued, "worker"));
    assert_eq!(house.actions, [Action::OfferMail { agent: id, run }]);
    let made = house.take(id, run).unwrap();
    assert_eq!((made.messages.clone(), made.mark), (vec![sent.id], 7));
    assert!(made.text.ends_with("hush"), "{}", made.text);
    assert_eq!(house.take(id, run), None, "one is under way at a time");
    let mut after = made.clone();
    for (seen, state) in [
        (Sighted::Submitted, MessageState::Submitted),
        (Sighted::Claimed, MessageState::Claimed),
        (Sighted::Again { why: "it came back".to_owned() }, MessageState::Typing),
        (Sighted::Submitted, MessageState::Submitted),
        (Sighted::Used(Evidence::Transcript), MessageState::Delivered),
    ] {
        let before = after;
        after = house.sight(&before, seen.clone()).unwrap();
        assert_eq!(house.stored(sent.id).state, state, "{seen:?}");
        // What is known, or of an earlier attempt, changes nothing.
        assert_eq!(house.sight(&before, seen), Some(after.clone()));
    }
    assert_eq!(house.stored(sent.id).attempts, 2);
    let nobody = cmux_core::delivery::Delivery { id: DeliveryId::new(Ulid::from(7_u128)), ..made };
    assert_eq!(house.sight(&nobody, Sighted::Claimed), None);
}

#[test]
fn the_log_tells_of_each_state_once_and_not_what_is_said() {
    let mut house = House::new();
    let (id, run) = house.agent(new_agent("worker"));
    let (one, two) = (house.send(new(id, "hush")), house.send(new(id, "hush")));
    let made = house.take(id, run).unwrap();
    assert_eq!(made.messages, [one.id, two.id]);
    for seen in [Sighted::Submitted, Sighted::Submitted, Sighted::Used(Evidence::Turn)] {
        house.sight(&made, seen);
    }
    let expected = [
        "queued",
        "queued",
        "typing",
        "typing",
        "submitted",
        "submitted",
        "delivered",
        "delivered",
    ];
    assert_eq!(house.told(), expected);
    let rows: Vec<_> =
        house.rows().into_iter().filter(|row| row.kind.starts_with("message.")).collect();
    assert_eq!(rows[0].actor, "operator");
    assert!(rows.iter().all(|row| row.agent == Some(id.to_string())));
    assert!(rows[2..].iter().all(|row| row.run == Some(run.to_string())));
    assert_eq!(rows[7].subject, Some(format!("message:{}", two.id)));
}

#[test]
fn the_same_key_is_the_same_message() {
    let mut house = House::new();
    let (id, _) = house.agent(new_agent("worker"));
    let with = |text: &str| NewMessage { key: Some("k".to_owned()), ..new(id, text) };
    let ask = |new: NewMessage| Ask::SendMessage { new: Box::new(new) };
    let first = house.send(with("a"));
    let again = house.ask(ask(with("a"))).unwrap();
    assert_eq!(again, Answer::Message { message: Box::new(first), created: false });
    house.check_refused(ask(with("b")), Refused::KeyConflict);
    // The person may be told the same of several projects.
    house.ask(Ask::AddProject { root: "/b".to_owned(), name: None }).unwrap();
    let to_user = |root: &str| NewMessage {
        to: Recipient::User,
        project: ProjectId::of(root),
        key: Some("u".to_owned()),
        ..new(id, "x")
    };
    house.send(to_user("/a"));
    house.check_refused(ask(to_user("/b")), Refused::KeyConflict);
    // Another's key is another.
    house.send(NewMessage { from: by(id, "worker"), ..with("b") });
    assert_eq!(house.told(), ["queued", "delivered", "queued"]);
}

#[test]
fn what_is_refused_stores_nothing() {
    let mut house = House::new();
    let (id, _) = house.agent(new_agent("worker"));
    let nobody = AgentId::new(Ulid::from(7_u128));
    let none = MessageId::new(Ulid::from(7_u128));
    let unseen = Body { text: None, ..Body::new("x".to_owned()) };
    let before = house.newest();
    for (new, expected) in [
        (new(id, " \n"), BadMessage::Empty.into()),
        (NewMessage { body: unseen, ..new(id, "x") }, BadMessage::Empty.into()),
        (NewMessage { key: Some(String::new()), ..new(id, "x") }, BadMessage::BadKey.into()),
        (NewMessage { ttl: Some(Duration::ZERO), ..new(id, "x") }, BadMessage::BadTtl.into()),
        (new(nobody, "x"), Refused::NoAgent(nobody)),
        (NewMessage { reply_to: Some(none), ..new(id, "x") }, Refused::NoMessage(none)),
    ] {
        house.check_refused(Ask::SendMessage { new: Box::new(new) }, expected);
    }
    for ask in [
        Ask::CancelMessage { id: none },
        Ask::RetryMessage { id: none },
        Ask::ReadMessage { id: none },
    ] {
        house.check_refused(ask, Refused::NoMessage(none));
    }
    assert_eq!(house.newest(), before);
}

#[test]
fn an_answer_belongs_to_the_conversation_that_it_answers() {
    let mut house = House::new();
    let (id, _) = house.agent(new_agent("worker"));
    let first = house.send(new(id, "a"));
    let answer = NewMessage {
        from: by(id, "worker"),
        to: Recipient::User,
        reply_to: Some(first.id),
        ..new(id, "b")
    };
    let answer = house.send(answer);
    let third = house.send(NewMessage { reply_to: Some(answer.id), ..new(id, "c") });
    assert_eq!((first.thread, answer.thread, third.thread), (first.id, first.id, first.id));
}

#[test]
fn mail_to_the_person_is_delivered_when_it_is_stored_and_read_once() {
    let mut house = House::new();
    let (id, _) = house.agent(new_agent("worker"));
    let letter = NewMessage { from: by(id, "worker"), to: Recipient::User, ..new(id, "hush") };
    let letter = house.send(letter);
    assert_eq!((letter.state, letter.evidence), (MessageState::Delivered, Some(Evidence::Stored)));
    for _ in 0..2 {
        let read = house.message(Ask::ReadMessage { id: letter.id });
        assert_eq!(read.read_at, Some(house.now));
    }
    let over = Refused::MessageOver { id: letter.id, state: MessageState::Delivered };
    house.check_refused(Ask::CancelMessage { id: letter.id }, over.clone());
    house.check_refused(Ask::RetryMessage { id: letter.id }, over);
    assert_eq!(house.told(), ["delivered", "read"]);
    // Nobody reads what is not theirs.
    let sent = house.send(new(id, "x"));
    house.check_refused(Ask::ReadMessage { id: sent.id }, Refused::NoMessage(sent.id));
}

#[test]
fn a_message_is_taken_back_while_nobody_has_taken_it() {
    let mut house = House::new();
    let (id, run) = house.agent(new_agent("worker"));
    let (first, second) = (house.send(new(id, "a")), house.send(new(id, "b")));
    let cancel = |id| Ask::CancelMessage { id };
    for _ in 0..2 {
        let over = house.message(cancel(first.id));
        assert_eq!(over.state, MessageState::Cancelled);
    }
    let third = house.send(new(id, "c"));
    let made = house.take(id, run).unwrap();
    assert_eq!(made.messages, [second.id, third.id]);
    house.actions.clear();
    let recalled = house.message(cancel(second.id));
    assert_eq!((recalled.state, recalled.recall), (MessageState::Typing, Some(Recall::Cancelled)));
    let recall = Action::Recall { agent: id, delivery: made.id };
    assert_eq!(house.actions, [recall]);
    // If that is lost, it is told again.
    house.actions.clear();
    house.pass(Duration::from_mins(1));
    let is_told = |it: &Action| matches!(it, Action::Deliver { is_recalled: true, .. });
    assert!(house.actions.iter().any(is_told), "{:?}", house.actions);
    house.sight(&made, Sighted::Unused(Unused::Recalled));
    assert_eq!(house.stored(second.id).state, MessageState::Cancelled);
    assert_eq!(house.stored(third.id).state, MessageState::Queued);
    let made = house.take(id, run).unwrap();
    assert_eq!(made.messages, [third.id]);
    house.sight(&made, Sighted::Claimed);
    // It may come back, unread.
    let recalled = house.message(cancel(third.id));
    assert_eq!((recalled.state, recalled.recall), (MessageState::Claimed, Some(Recall::Cancelled)));
    house.sight(&made, Sighted::Used(Evidence::Turn));
    let over = Refused::MessageOver { id: third.id, state: MessageState::Delivered };
    house.check_refused(cancel(third.id), over);
    assert_eq!(house.inbox(), [], "whoever takes it back knows");
}

#[test]
fn whoever_types_to_an_agent_hears_when_it_is_paused_and_when_it_goes_on() {
    let mut house = House::new();
    let (id, run) = house.agent(new_agent("worker"));
    house.send(new(id, "a"));
    house.take(id, run).unwrap();
    for (intent, expected) in [(Intent::Pause, true), (Intent::Run, false)] {
        house.actions.clear();
        house.ask(Ask::WantAgent { id, intent }).unwrap();
        let is_told =
            |it: &Action| matches!(it, Action::Deliver { is_paused, .. } if *is_paused == expected);
        assert!(house.actions.iter().any(is_told), "{:?}", house.actions);
    }
}

#[test]
fn what_was_given_up_is_read_after_all_behind_what_waits() {
    let mut house = House::new();
    let (id, run) = house.agent(new_agent("worker"));
    let first = house.send(NewMessage { ttl: Some(Duration::from_secs(5)), ..new(id, "a") });
    house.pass(Duration::from_secs(6));
    assert_eq!(house.stored(first.id).state, MessageState::Expired);
    let second = house.send(new(id, "b"));
    for _ in 0..2 {
        let again = house.message(Ask::RetryMessage { id: first.id });
        assert_eq!((again.state, again.expires_at), (MessageState::Queued, None));
    }
    let made = house.take(id, run).unwrap();
    assert_eq!(made.messages, [second.id, first.id]);
    house.sight(&made, Sighted::Used(Evidence::Turn));
    let over = Refused::MessageOver { id: first.id, state: MessageState::Delivered };
    house.check_refused(Ask::RetryMessage { id: first.id }, over);
    let told = house.told();
    assert_eq!(told.iter().filter(|it| *it == "retried").count(), 1, "{told:?}");
}

#[test]
fn mail_is_given_only_to_the_present_life_of_an_agent_that_is_to_run() {
    let mut house = House::new();
    let (id, run) = house.agent(new_agent("worker"));
    assert_eq!(house.take(id, run), None, "nothing waits");
    house.send(new(id, "a"));
    let other = cmux_core::id::RunId::new(Ulid::from(7_u128));
    assert_eq!(house.take(id, other), None);
    assert_eq!(house.take(AgentId::new(Ulid::from(7_u128)), run), None);
    for intent in [Intent::Pause, Intent::Run] {
        house.ask(Ask::WantAgent { id, intent }).unwrap();
        if intent == Intent::Pause {
            assert_eq!(house.take(id, run), None);
        }
    }
    house.ask(Ask::RestartAgent { id }).unwrap();
    assert_eq!(house.take(id, run), None, "it is about to end");
    house.see(id, run, ended());
    assert_eq!(house.take(id, run), None);
    house.actions.clear();
    house.see(id, run, Sighting::Cleared);
    let [Action::LaunchAgent { run: next, .. }] = house.actions[..] else {
        panic!("{:?}", house.actions)
    };
    assert_eq!(house.take(id, next), None, "it is on its way");
    house.see(id, next, launched());
    house.actions.clear();
    house.see(id, next, at_prompt());
    assert_eq!(house.actions, [Action::OfferMail { agent: id, run: next }]);
    assert!(house.take(id, next).is_some());
}

#[test]
fn what_a_life_did_not_read_waits_for_the_next_until_it_was_tried_too_often() {
    let mut house = House::new();
    let (id, mut run) = house.agent(new_agent("worker"));
    let sent = house.send(new(id, "a"));
    for attempt in 1..=ATTEMPTS_MAX {
        assert_eq!(house.stored(sent.id).state, MessageState::Queued);
        let made = house.take(id, run).unwrap();
        assert_eq!(house.stored(sent.id).attempts, attempt);
        house.ask(Ask::RestartAgent { id }).unwrap();
        house.actions.clear();
        house.end(id, run);
        let settles = |it: &Action| matches!(it, Action::SettleDelivery { .. });
        assert!(house.actions.iter().any(settles), "{:?}", house.actions);
        let next = house.actions.iter().find_map(|it| {
            let Action::LaunchAgent { run, .. } = it else { return None };
            Some(*run)
        });
        house.sight(&made, Sighted::Unused(Unused::RunOver));
        run = next.unwrap();
        house.see(id, run, launched());
        house.see(id, run, at_prompt());
    }
    assert_eq!(house.stored(sent.id).state, MessageState::Failed);
    let told = house.inbox();
    assert_eq!(told[0].reply_to, Some(sent.id));
}

#[test]
fn a_long_body_is_named_and_not_typed() {
    let mut house = House::new();
    let (id, run) = house.agent(new_agent("worker"));
    let sent = house.send(new(id, &"x".repeat(TYPED_MAX + 1)));
    let made = house.take(id, run).unwrap();
    assert!(made.text.contains(&format!("/a/.cmux/mail/{}", sent.id)), "{}", made.text);
    assert!(made.text.len() < TYPED_MAX);
}

#[test]
fn a_busy_agent_is_interrupted_for_a_message_until_it_is_busy_no_more() {
    let mut house = House::new();
    let (id, run) = house.agent(new_agent("worker"));
    let first = house.send(new(id, "a"));
    house.see(id, run, Sighting::Doing { doing: Doing::Working, rank: 0 });
    house.actions.clear();
    let from = by(AgentId::new(Ulid::from(9_u128)), "other");
    let second = house.send(NewMessage { interrupt: true, from, ..new(id, "b") });
    let step = format!("interrupt-{}-", second.id);
    let mut before = String::new();
    // The key may be lost, and so may whoever was to press it.
    for is_reborn in [false, false, true] {
        let [Action::InterruptAgent { run: of, step: found, .. }] = &house.actions[..] else {
            panic!("{:?}", house.actions)
        };
        assert_eq!(*of, run);
        assert!(found.starts_with(&step) && *found != before, "{found} after {before}");
        before.clone_from(found);
        house.actions.clear();
        house.pass(Duration::from_secs(10));
        if is_reborn {
            house.rebirth();
            let interrupts = |it: &Action| matches!(it, Action::InterruptAgent { .. });
            assert!(house.actions.iter().any(interrupts), "{:?}", house.actions);
        }
    }
    house.see(id, run, at_prompt());
    assert_eq!(house.take(id, run).unwrap().messages, [second.id, first.id]);
    house.actions.clear();
    house.pass(Duration::from_secs(10));
    let interrupts = |it: &Action| matches!(it, Action::InterruptAgent { .. });
    assert!(!house.actions.iter().any(interrupts), "{:?}", house.actions);
}

#[test]
fn what_is_under_way_when_the_daemon_dies_is_in_doubt_until_it_is_seen() {
    let mut house = House::new();
    let (id, run) = house.agent(new_agent("worker"));
    let sent = house.send(new(id, "a"));
    let made = house.take(id, run).unwrap();
    house.sight(&made, Sighted::Submitted);
    for _ in 0..2 {
        house.actions.clear();
        house.rebirth();
        assert_eq!(house.stored(sent.id).state, MessageState::InDoubt);
        let goes_on = |it: &Action| {
            let Action::Deliver { delivery, .. } = it else { return false };
            delivery.state == DeliveryState::InDoubt
        };
        assert!(house.actions.iter().any(goes_on), "{:?}", house.actions);
    }
    house.sight(&made, Sighted::Used(Evidence::Transcript));
    assert_eq!(house.stored(sent.id).state, MessageState::Delivered);
    assert_eq!(house.told(), ["queued", "typing", "submitted", "in_doubt", "delivered"]);
}

#[test]
fn what_was_read_in_a_life_of_the_store_that_was_lost_is_not_read_again() {
    let mut house = House::new();
    let (id, run) = house.agent(new_agent("worker"));
    let (first, second) = (house.send(new(id, "a")), house.send(new(id, "b")));
    let made = house.take(id, run).unwrap();
    let third = house.send(new(id, "c"));
    let nobody = MessageId::new(Ulid::from(7_u128));
    for read in [vec![first.id, third.id, nobody], vec![second.id, third.id]] {
        house.tell(Report::MailRead { messages: read });
    }
    for id in [first.id, second.id, third.id] {
        let read = house.stored(id);
        assert_eq!((read.state, read.evidence), (MessageState::Delivered, Some(Evidence::Ledger)));
    }
    let open = house.read(|view| deliveries::find(view, made.id)).unwrap();
    assert_eq!(open.state, DeliveryState::Used);
    assert_eq!(house.take(id, run), None);
}

#[test]
fn what_was_in_a_delivery_that_is_lost_waits_again() {
    let mut house = House::new();
    let (id, run) = house.agent(new_agent("worker"));
    let sent = house.send(new(id, "a"));
    let taken_back = house.send(new(id, "b"));
    let made = house.take(id, run).unwrap();
    house.message(Ask::CancelMessage { id: taken_back.id });
    house.tamper(|store| {
        let unused = cmux_core::delivery::Delivery { state: DeliveryState::Unused, ..made };
        store.turn(|tx| deliveries::save(tx, &unused)).unwrap();
    });
    house.rebirth();
    assert_eq!(house.stored(sent.id).state, MessageState::Queued);
    assert_eq!(house.stored(taken_back.id).state, MessageState::Cancelled);
    assert_eq!(house.take(id, run).unwrap().messages, [sent.id]);
}

#[test]
fn what_keeps_mail_from_an_agent_is_known_while_it_is_so() {
    let mut house = House::new();
    let (id, run) = house.agent(new_agent("worker"));
    let held = |house: &House| house.read(|view| agents::held(view, id));
    let other = cmux_core::id::RunId::new(Ulid::from(7_u128));
    let tell = |house: &mut House, run, held| {
        house.tell(Report::MailHeld { agent: id, run, held });
    };
    tell(&mut house, other, Some(Waiting::Draft));
    assert_eq!(held(&house), None);
    tell(&mut house, run, Some(Waiting::Draft));
    tell(&mut house, run, Some(Waiting::Draft));
    assert_eq!(held(&house), Some(Waiting::Draft));
    let told = house.rows().into_iter().filter(|row| row.kind == "agent.held").count();
    assert_eq!(told, 1);
    let sent = house.send(new(id, "a"));
    let is_next = house.read(|view| messages::is_next(view, &sent));
    assert!(is_next);
    house.take(id, run).unwrap();
    assert_eq!(held(&house), None);
    tell(&mut house, run, Some(Waiting::Person));
    house.see(id, run, Sighting::Doing { doing: Doing::Working, rank: 0 });
    assert_eq!(held(&house), None);
}

#[test]
fn mail_that_nobody_waits_for_is_forgotten_after_ninety_days() {
    let mut house = House::new();
    let (id, run) = house.agent(new_agent("worker"));
    let read = house.send(new(id, "a"));
    let made = house.take(id, run).unwrap();
    house.sight(&made, Sighted::Used(Evidence::Turn));
    let letter = NewMessage { from: by(id, "worker"), to: Recipient::User, ..new(id, "b") };
    let letter = house.send(letter);
    house.pass(Duration::from_hours(24 * 89));
    house.rebirth();
    assert_eq!(house.stored(read.id).state, MessageState::Delivered);
    house.pass(Duration::from_hours(24 * 2));
    house.turn(&[]);
    assert_eq!(house.read(|view| messages::find(view, read.id)), None);
    assert_eq!(house.read(|view| deliveries::find(view, made.id)), None);
    assert_eq!(house.stored(letter.id).read_at, None, "nobody has read it");
}

#[test]
fn what_waits_is_offered_as_soon_as_what_was_before_it_is_settled() {
    for seen in [Sighted::Used(Evidence::Turn), Sighted::Unused(Unused::Recalled)] {
        let mut house = House::new();
        let (id, run) = house.agent(new_agent("worker"));
        house.send(new(id, "a"));
        let made = house.take(id, run).unwrap();
        house.send(new(id, "b"));
        house.actions.clear();
        house.sight(&made, seen.clone());
        assert_eq!(house.actions, [Action::OfferMail { agent: id, run }], "{seen:?}");
    }
}

#[test]
fn an_actor_cancels_in_their_own_name() {
    let mut house = House::new();
    let (id, _) = house.agent(new_agent("worker"));
    let sent = house.send(new(id, "a"));
    house.ask_as(Actor::Agent(id), Ask::CancelMessage { id: sent.id }).unwrap();
    let last = house.rows().pop().unwrap();
    assert_eq!((last.kind.as_str(), last.actor), ("message.cancelled", id.to_string()));
}
