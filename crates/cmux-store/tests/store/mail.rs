//! What is remembered of messages and their deliveries, and what their rows cannot hold.

mod counts;

use std::time::Duration;

use cmux_core::delivery::{Delivery, DeliveryState};
use cmux_core::event::Actor;
use cmux_core::id::{AgentId, DeliveryId, MessageId, RunId, TokenId};
use cmux_core::mail::{self, Waiting};
use cmux_core::message::{
    Body, Evidence, Message, MessageKind, MessageState, NewMessage, Recall, Recipient, Sender,
    TYPED_MAX,
};
use cmux_core::phase::Phase;
use cmux_core::time::Timestamp;
use cmux_store::messages::Filter;
use cmux_store::{Store, StoreError, Tx, View, agents, deliveries, messages};
use rusqlite::ErrorCode;
use ulid::Ulid;

use crate::agents::{agent, open};
use crate::world::{LATER, NOW, World, project};

#[test]
fn a_message_is_read_back_in_each_of_its_states() {
    let world = World::new();
    let mut store = open(&world);
    let senders = [
        Actor::Operator,
        Actor::Cmux,
        Actor::Agent(AgentId::new(Ulid::from(9_u128))),
        Actor::Token(TokenId::new(Ulid::from(9_u128))),
        Actor::Webhook("a:b".to_owned()),
    ];
    for (n, (actor, kind)) in (0..).zip(senders.iter().cycle().zip(MessageKind::ALL)) {
        let from = Sender { actor: actor.clone(), name: "ä".to_owned() };
        add(&mut store, n, &NewMessage { from, kind, ..new(1, "a\u{0}\n\"b\"") });
    }
    let to = Recipient::User;
    let full = NewMessage { to, reply_to: Some(id(1)), ..new(1, "x") };
    let read = Message { read_at: Some(LATER), ..add(&mut store, 20, &full) };
    check(&mut store, &read);
    let ttl = Some(Duration::from_secs(9));
    let (key, interrupt) = (Some("k".to_owned()), true);
    let first = add(&mut store, 30, &NewMessage { ttl, key, interrupt, ..new(1, "x") });
    for state in MessageState::ALL {
        let is_read = state == MessageState::Delivered;
        for recall in [None, Some(Recall::Cancelled), Some(Recall::Expired)] {
            let after = Message {
                evidence: is_read.then_some(Evidence::Ledger),
                delivered_at: is_read.then_some(LATER),
                attempts: u32::MAX,
                delivery: Some(delivery_id(1)),
                recall,
                ..first.in_state(state, Some("so".to_owned()))
            };
            check(&mut store, &after);
        }
    }
    for evidence in Evidence::ALL {
        let read = first.in_state(MessageState::Delivered, None);
        check(&mut store, &Message { evidence: Some(evidence), delivered_at: Some(NOW), ..read });
    }
}

#[test]
fn a_long_body_is_kept_and_read_only_when_it_is_asked_for() {
    let world = World::new();
    let mut store = open(&world);
    for (n, bytes, is_long) in [(1, TYPED_MAX, false), (2, TYPED_MAX + 1, true), (3, 1 << 20, true)]
    {
        let text = "x".repeat(bytes);
        let kept = add(&mut store, n, &new(1, &text));
        let view = store.view();
        assert_eq!(messages::find(view, kept.id).unwrap(), Some(kept.clone()));
        assert_eq!(messages::text_of(view, kept.id).unwrap(), Some(text));
        let listed = messages::page(view, &Filter::default(), None, 1).unwrap();
        assert_eq!(listed[0].body.text.is_none(), is_long, "{bytes}");
        assert_eq!(listed[0].body.sha256, kept.body.sha256);
        let over = kept.in_state(MessageState::Failed, None);
        turn(&mut store, |tx| messages::save(tx, &over, NOW));
        assert_eq!(messages::find(store.view(), over.id).unwrap(), Some(over));
    }
    turn(&mut store, |tx| messages::prune(tx, LATER, 9).map(drop));
    assert_eq!(messages::text_of(store.view(), id(3)).unwrap(), None);
    let left: u32 =
        world.raw().query_row("SELECT count(*) FROM message_bodies", [], |row| row.get(0)).unwrap();
    assert_eq!(left, 0);
}

#[test]
fn a_key_is_one_message_s_of_its_sender() {
    let world = World::new();
    let mut store = open(&world);
    let with =
        |from: Sender, key: &str| NewMessage { from, key: Some(key.to_owned()), ..new(1, "x") };
    let first = add(&mut store, 1, &with(user(), "k"));
    add(&mut store, 2, &with(worker(), "k"));
    add(&mut store, 3, &new(1, "x"));
    add(&mut store, 4, &new(1, "x"));
    let taken = store.turn(|tx| messages::add(tx, &with(user(), "k"), id(5), None, NOW));
    assert!(taken.is_err(), "{taken:?}");
    for (actor, key, expected) in [
        (Actor::Operator, "k", Some(&first)),
        (Actor::Operator, "K", None),
        (Actor::Cmux, "k", None),
    ] {
        let found = messages::find_by_key(store.view(), &actor, key).unwrap();
        assert_eq!(found.as_ref(), expected, "{actor:?} {key}");
    }
}

#[test]
fn whoever_interrupts_is_read_first_after_what_they_sent_before() {
    for (waiting, expected) in [
        (vec![("a", false), ("b", false), ("a", false)], "1 2 3"),
        (vec![("a", false), ("b", true)], "2 1"),
        (vec![("a", false), ("b", false), ("a", false), ("b", true), ("b", false)], "2 4 1 3 5"),
        (vec![("a", false), ("b", true), ("a", true), ("b", false)], "1 2 3 4"),
    ] {
        let world = World::new();
        let mut store = open(&world);
        for (n, (from, interrupt)) in (1..).zip(&waiting) {
            let actor = Actor::Webhook((*from).to_owned());
            let from = Sender { actor, name: (*from).to_owned() };
            add(&mut store, n, &NewMessage { from, interrupt: *interrupt, ..new(1, "x") });
        }
        add(&mut store, 90, &new(2, "x"));
        let view = store.view();
        let all = messages::next_up(view, agent_id(1), 99).unwrap();
        assert_eq!(names(&all), expected, "{waiting:?}");
        assert_eq!(names(&mail::in_order(all.clone())), expected, "{waiting:?}");
        for limit in 0..all.len() {
            let some = messages::next_up(view, agent_id(1), u32::try_from(limit).unwrap()).unwrap();
            assert_eq!(some, all[..limit], "{waiting:?}");
        }
        for (place, message) in all.iter().enumerate() {
            assert_eq!(messages::is_next(view, message).unwrap(), place == 0);
        }
    }
}

#[test]
fn it_is_known_for_what_an_agent_is_to_be_interrupted() {
    let world = World::new();
    let mut store = open(&world);
    add(&mut store, 1, &new(1, "x"));
    for n in [2, 3] {
        add(&mut store, n, &NewMessage { interrupt: true, ..new(1, "x") });
    }
    for expected in ["2", "3"] {
        let found = messages::to_interrupt_for(store.view(), agent_id(1)).unwrap().unwrap();
        assert_eq!(names(std::slice::from_ref(&found)), expected);
        let expired = found.in_state(MessageState::Expired, None);
        turn(&mut store, |tx| messages::save(tx, &expired, NOW));
    }
    assert_eq!(messages::to_interrupt_for(store.view(), agent_id(1)).unwrap(), None);
}

#[test]
fn what_waits_again_is_read_after_all_others() {
    let world = World::new();
    let mut store = open(&world);
    let first = add(&mut store, 1, &new(1, "x"));
    add(&mut store, 2, &new(1, "x"));
    let failed = first.in_state(MessageState::Failed, None);
    turn(&mut store, |tx| messages::save(tx, &failed, NOW));
    let again = store.turn(|tx| messages::requeue(tx, &first, NOW)).unwrap();
    add(&mut store, 3, &new(1, "x"));
    let up = messages::next_up(store.view(), agent_id(1), 9).unwrap();
    assert_eq!(names(&up), "2 1 3");
    assert_eq!(up[1], again);
    // It is not over any more, so that it is not forgotten.
    turn(&mut store, |tx| messages::prune(tx, LATER, 9).map(drop));
    assert_eq!(messages::next_up(store.view(), agent_id(1), 9).unwrap(), up);
}

#[test]
fn it_is_known_whose_time_is_over_and_whose_is_next() {
    let world = World::new();
    let mut store = open(&world);
    for (n, seconds) in [(1, 3), (2, 1), (3, 2)] {
        add(&mut store, n, &NewMessage { ttl: Some(Duration::from_secs(seconds)), ..new(1, "x") });
    }
    add(&mut store, 4, &new(1, "x"));
    let at = |seconds| NOW + Duration::from_secs(seconds);
    let expired = |store: &Store, seconds, limit| {
        names(&messages::expired(store.view(), agent_id(1), at(seconds), limit).unwrap())
    };
    for (seconds, limit, expected) in [(0, 9, ""), (1, 9, "2"), (2, 9, "2 3"), (9, 2, "2 3")] {
        assert_eq!(expired(&store, seconds, limit), expected, "{seconds}");
    }
    let second = messages::find(store.view(), id(2)).unwrap().unwrap();
    let recalled = Message { recall: Some(Recall::Expired), ..second };
    turn(&mut store, |tx| messages::save(tx, &recalled, NOW));
    assert_eq!(expired(&store, 9, 9), "3 1");
    for (now, expected) in [(0, Some(2)), (2, Some(3)), (3, None)] {
        let next = messages::next_expiry(store.view(), agent_id(1), at(now)).unwrap();
        assert_eq!(next, expected.map(at), "{now}");
    }
}

#[test]
fn messages_are_listed_by_all_that_can_be_asked_for() {
    let world = World::new();
    let mut store = open(&world);
    add(&mut store, 1, &new(1, "x"));
    add(&mut store, 2, &NewMessage { from: worker(), ..new(2, "x") });
    add(&mut store, 3, &NewMessage { to: Recipient::User, ..new(1, "x") });
    let fourth = add(&mut store, 4, &NewMessage { project: project(2).id, ..new(1, "x") });
    store.turn(|tx| messages::add(tx, &new(1, "x"), id(5), Some(id(1)), NOW)).unwrap();
    turn(&mut store, |tx| messages::save(tx, &fourth.in_state(MessageState::Failed, None), NOW));
    let none = Filter::default;
    let from = |from: &str| Filter { from: Some(from.to_owned()), ..none() };
    for (filter, expected) in [
        (none(), "5 4 3 2 1"),
        (Filter { project: Some(project(2).id), ..none() }, "4"),
        (Filter { to_agent: Some(agent_id(2)), ..none() }, "2"),
        (Filter { to_user: true, ..none() }, "3"),
        (from("operator"), "5 4 3 1"),
        (from("User"), "5 4 3 1"),
        (from("worker"), "2"),
        (from(&agent_id(7).to_string()), "2"),
        (from("nobody"), ""),
        (Filter { state: Some(MessageState::Queued), ..none() }, "5 2 1"),
        (Filter { state: Some(MessageState::Typing), ..none() }, ""),
        (Filter { state: Some(MessageState::Failed), to_agent: Some(agent_id(1)), ..none() }, "4"),
        (Filter { state: Some(MessageState::Delivered), ..none() }, "3"),
        (Filter { thread: Some(id(1)), ..none() }, "5 1"),
        (Filter { unread: true, project: Some(project(1).id), ..none() }, "3"),
        (Filter { unread: true, state: Some(MessageState::Queued), ..none() }, ""),
    ] {
        let page = |before, limit| messages::page(store.view(), &filter, before, limit).unwrap();
        let all = page(None, 9);
        assert_eq!(names(&all), expected, "{filter:?}");
        let mut turned: Vec<Message> = Vec::new();
        for _ in 0..=all.len() {
            turned.extend(page(turned.last().map(|last| last.seq), 1));
        }
        assert_eq!(turned, all, "{filter:?}");
    }
}

#[test]
fn what_nobody_waits_for_is_forgotten_in_time() {
    let world = World::new();
    let mut store = open(&world);
    let first = add(&mut store, 1, &new(1, "x"));
    let letter = add(&mut store, 2, &NewMessage { to: Recipient::User, ..new(1, "x") });
    assert_eq!(messages::oldest_over(store.view()).unwrap(), None);
    let over = first.in_state(MessageState::Cancelled, None);
    turn(&mut store, |tx| messages::save(tx, &over, LATER));
    turn(&mut store, |tx| messages::save(tx, &over, LATER + Duration::from_secs(9)));
    assert_eq!(messages::oldest_over(store.view()).unwrap(), Some(LATER));
    let read = Message { read_at: Some(NOW), ..letter };
    turn(&mut store, |tx| messages::save(tx, &read, NOW));
    assert_eq!(messages::oldest_over(store.view()).unwrap(), Some(NOW));
    for (before, gone) in [(NOW, 0), (LATER, 1), (LATER, 0), (Timestamp(LATER.0 + 1), 1)] {
        assert_eq!(store.turn(|tx| messages::prune(tx, before, 9)).unwrap(), gone);
    }
    let used = Delivery { state: DeliveryState::Used, since: LATER, ..delivery(1) };
    turn(&mut store, |tx| deliveries::save(tx, &used));
    assert_eq!(deliveries::oldest_settled(store.view()).unwrap(), Some(LATER));
    for (before, gone) in [(LATER, 0), (Timestamp(LATER.0 + 1), 1)] {
        assert_eq!(store.turn(|tx| deliveries::prune(tx, before, 9)).unwrap(), gone);
    }
}

#[test]
fn a_delivery_is_read_back_in_each_of_its_states() {
    let world = World::new();
    let mut store = open(&world);
    for n in [1, 2] {
        add(&mut store, n, &new(1, "x"));
    }
    for (attempt, state) in (1..).zip(DeliveryState::ALL) {
        let now = Delivery { attempt, state, since: LATER, ..delivery(1) };
        turn(&mut store, |tx| deliveries::save(tx, &now));
        let view = store.view();
        assert_eq!(deliveries::find(view, now.id).unwrap(), Some(now.clone()));
        let open = (!state.is_settled()).then_some(now);
        assert_eq!(deliveries::open_of(view, agent_id(1)).unwrap(), open);
        assert_eq!(deliveries::open(view).unwrap(), open.into_iter().collect::<Vec<_>>());
    }
    assert_eq!(names(&messages::of_delivery(store.view(), delivery_id(1)).unwrap()), "2 1");
    turn(&mut store, |tx| deliveries::save(tx, &delivery(2)));
    assert_eq!(messages::of_delivery(store.view(), delivery_id(9)).unwrap(), []);
    // One is under way at a time.
    assert!(store.turn(|tx| deliveries::save(tx, &delivery(3))).is_err());
    let recent = |limit| deliveries::recent_of(store.view(), agent_id(1), run(1), limit).unwrap();
    let ids: Vec<DeliveryId> = recent(9).into_iter().map(|it| it.id).collect();
    assert_eq!(ids, [delivery_id(2), delivery_id(1)]);
    assert_eq!(recent(1).len(), 1);
    assert_eq!(deliveries::recent_of(store.view(), agent_id(1), run(2), 9).unwrap(), []);
    let waiting = messages::find(store.view(), id(1)).unwrap().unwrap();
    assert!(!messages::is_next(store.view(), &waiting).unwrap());
}

#[test]
fn what_keeps_mail_from_an_agent_is_known_until_it_does_something_else() {
    let world = World::new();
    let mut store = open(&world);
    let idle = cmux_core::agent::Agent { phase: Phase::Idle, ..agent(1, "worker") };
    turn(&mut store, |tx| agents::save(tx, &idle));
    assert_eq!(agents::held(store.view(), idle.id).unwrap(), None);
    for waiting in Waiting::ALL {
        turn(&mut store, |tx| agents::set_held(tx, idle.id, Some(waiting)));
        assert_eq!(agents::held(store.view(), idle.id).unwrap(), Some(waiting));
    }
    turn(&mut store, |tx| agents::save(tx, &idle));
    assert_eq!(agents::held(store.view(), idle.id).unwrap(), Waiting::ALL.last().copied());
    let busy = cmux_core::agent::Agent { phase: Phase::Busy, ..idle.clone() };
    for other in [busy, idle.launching(run(2), LATER, NOW)] {
        turn(&mut store, |tx| {
            agents::save(tx, &idle)?;
            agents::set_held(tx, idle.id, Some(Waiting::Draft))?;
            agents::save(tx, &other)
        });
        assert_eq!(agents::held(store.view(), idle.id).unwrap(), None);
    }
}

#[test]
fn a_row_of_mail_cannot_hold_what_the_core_cannot_express() {
    let world = World::new();
    let mut store = open(&world);
    add(&mut store, 1, &new(1, "x"));
    add(&mut store, 2, &NewMessage { to: Recipient::User, ..new(1, "x") });
    turn(&mut store, |tx| deliveries::save(tx, &delivery(1)));
    drop(store);
    let db = world.raw();
    db.pragma_update(None, "foreign_keys", true).unwrap();
    for change in [
        "messages SET kind = 'x'",
        "messages SET state = 'x'",
        "messages SET state = 'delivered'",
        "messages SET state = 'typing'",
        "messages SET evidence = 'turn'",
        "messages SET delivered_at = 1",
        "messages SET recall = 'x'",
        "messages SET attempts = -1",
        "messages SET body_bytes = 0",
        "messages SET body_sha256 = x'00'",
        "messages SET interrupt = 2",
        "messages SET interrupted_at = 1",
        "messages SET read_at = 1",
        "messages SET to_agent = NULL",
        "deliveries SET state = 'x'",
        "deliveries SET attempt = 0",
        "deliveries SET mark = -1",
        "deliveries SET messages = '[]'",
        "deliveries SET messages = '{}'",
    ] {
        let sql = match change.starts_with("messages") {
            true => format!("UPDATE {change} WHERE to_agent IS NOT NULL"),
            false => format!("UPDATE {change}"),
        };
        let code = db.execute(&sql, []).unwrap_err().sqlite_error_code();
        assert_eq!(code, Some(ErrorCode::ConstraintViolation), "{change}");
    }
}

/// Puts messages and a delivery into the store.
pub(crate) fn furnish(tx: &Tx<'_>) -> Result<(), StoreError> {
    messages::add(tx, &new(1, "short"), id(1), None, NOW)?;
    messages::add(tx, &new(1, &"x".repeat(TYPED_MAX + 1)), id(2), None, NOW)?;
    deliveries::save(tx, &delivery(1))
}

/// Checks that all of it was saved but for what the `damage`, `UPDATE table …`, was done to.
#[track_caller]
pub(crate) fn check_salvaged(view: View<'_>, damage: &str) {
    let is_lost = |table: &str| damage.starts_with(&format!("UPDATE {table} "));
    let found = |n| messages::find(view, id(n)).unwrap();
    assert_eq!(found(1).is_none(), is_lost("messages"), "{damage}");
    let long = found(2).map(|it| it.body.text.is_some());
    let expected = (!is_lost("messages")).then_some(!is_lost("message_bodies"));
    assert_eq!(long, expected, "{damage}");
    let kept = deliveries::find(view, delivery_id(1)).unwrap();
    assert_eq!(kept.is_none(), is_lost("deliveries"), "{damage}");
    let numbers = messages::numbers(view).unwrap();
    assert_eq!(numbers.totals.is_empty(), is_lost("message_tally"), "{damage}");
}

/// Remembers a message, and checks that it is read back.
#[track_caller]
fn add(store: &mut Store, n: u128, new: &NewMessage) -> Message {
    let added = store.turn(|tx| messages::add(tx, new, id(n), None, NOW)).unwrap();
    assert_eq!(messages::find(store.view(), id(n)).unwrap().as_ref(), Some(&added));
    added
}

/// Checks that a message is read back as it is written.
#[track_caller]
fn check(store: &mut Store, message: &Message) {
    turn(store, |tx| messages::save(tx, message, LATER));
    assert_eq!(messages::find(store.view(), message.id).unwrap().as_ref(), Some(message));
}

fn new(to: u128, text: &str) -> NewMessage {
    NewMessage {
        project: project(1).id,
        from: user(),
        to: Recipient::Agent { id: agent_id(to), name: format!("a{to}") },
        kind: MessageKind::Task,
        body: Body::new(text.to_owned()),
        reply_to: None,
        interrupt: false,
        key: None,
        ttl: None,
    }
}

fn user() -> Sender {
    Sender { actor: Actor::Operator, name: "user".to_owned() }
}

fn worker() -> Sender {
    Sender { actor: Actor::Agent(agent_id(7)), name: "Worker".to_owned() }
}

fn delivery(n: u128) -> Delivery {
    Delivery {
        id: delivery_id(n),
        agent: agent_id(1),
        run: run(1),
        messages: vec![id(2), id(1)],
        text: "ä\u{0}\n".to_owned(),
        attempt: 1,
        state: DeliveryState::Typing,
        mark: 7,
        made_at: NOW,
        since: NOW,
    }
}

/// Returns the numbers that messages were made with, in their order.
fn names(messages: &[Message]) -> String {
    let number = |it: &Message| (0..100).find(|&n| id(n) == it.id).unwrap_or_default().to_string();
    messages.iter().map(number).collect::<Vec<_>>().join(" ")
}

fn id(n: u128) -> MessageId {
    MessageId::new(Ulid::from(n))
}

fn agent_id(n: u128) -> AgentId {
    AgentId::new(Ulid::from(n))
}

fn delivery_id(n: u128) -> DeliveryId {
    DeliveryId::new(Ulid::from(n))
}

fn run(n: u128) -> RunId {
    RunId::new(Ulid::from(n))
}

#[track_caller]
fn turn(store: &mut Store, work: impl FnOnce(&mut Tx<'_>) -> Result<(), StoreError>) {
    store.turn(work).unwrap();
}
