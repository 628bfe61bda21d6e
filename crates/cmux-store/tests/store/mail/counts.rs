//! How much waits, and from whom, and what was told of it.

use cmux_core::event::{Event, What};
use cmux_core::mail::Load;
use cmux_store::events;
use cmux_store::messages::Waits;

use super::*;

#[test]
fn what_is_not_over_is_counted() {
    let world = World::new();
    let mut store = open(&world);
    add(&mut store, 1, &NewMessage { from: worker(), ..new(1, "12345") });
    add(&mut store, 2, &new(1, "12"));
    let third = add(&mut store, 3, &new(1, "123"));
    add(&mut store, 4, &NewMessage { to: Recipient::User, ..new(1, "1") });
    add(&mut store, 5, &new(2, "1"));
    let elsewhere = NewMessage { project: project(2).id, ..new(1, "1234") };
    add(&mut store, 6, &NewMessage { to: Recipient::User, ..elsewhere });
    let read = third.in_state(MessageState::Delivered, None);
    let read = Message { evidence: Some(Evidence::Turn), delivered_at: Some(NOW), ..read };
    turn(&mut store, |tx| messages::save(tx, &read, NOW));
    let view = store.view();
    let load = |messages, bytes| Load { messages, bytes };
    let (one, other) = (project(1).id, project(2).id);
    let (person, script) = (user().actor, worker().actor);
    for (to, project, expected) in [
        (Some(agent_id(1)), &one, vec![(script, load(1, 5)), (person.clone(), load(1, 2))]),
        (Some(agent_id(3)), &one, vec![]),
        (None, &one, vec![(person.clone(), load(1, 1))]),
        (None, &other, vec![(person, load(1, 4))]),
    ] {
        let found = messages::loads(view, to, project).unwrap();
        assert_eq!(found, expected, "{to:?} {project}");
    }
    assert_eq!(messages::queue_of(view, agent_id(1)).unwrap(), 2);
    let numbers = messages::numbers(view).unwrap();
    let waits = |agent, waiting| Waits { agent, waiting, oldest: NOW };
    assert_eq!(numbers.agents, [waits(agent_id(1), 2), waits(agent_id(2), 1)]);
    assert_eq!(numbers.open, [(MessageState::Queued, 3)]);
    let mut totals = numbers.totals;
    totals.sort_by_key(|(state, _)| state.name());
    assert_eq!(totals, [(MessageState::Delivered, 3), (MessageState::Queued, 4)]);
    assert_eq!(numbers.unread, 2);
    let letter = messages::find(view, id(4)).unwrap().unwrap();
    turn(&mut store, |tx| messages::save(tx, &Message { read_at: Some(NOW), ..letter }, NOW));
    assert_eq!(messages::numbers(store.view()).unwrap().unread, 1);
}

#[test]
fn it_is_known_of_what_a_reader_has_yet_to_read_in_a_conversation() {
    let world = World::new();
    let mut store = open(&world);
    let cmux = || Sender { actor: Actor::Cmux, name: "cmux".to_owned() };
    for (to, first) in [(Some(agent_id(7)), 10_u128), (None, 20)] {
        let failed = add(&mut store, first, &new(1, "x")).in_state(MessageState::Failed, None);
        turn(&mut store, |tx| messages::save(tx, &failed, NOW));
        let told =
            |store: &Store, state| messages::told(store.view(), to, id(first), state, 2).unwrap();
        assert_eq!(told(&store, MessageState::Failed), 0);
        let reader = match to {
            Some(id) => Recipient::Agent { id, name: "a7".to_owned() },
            None => Recipient::User,
        };
        let notice =
            NewMessage { from: cmux(), to: reader, reply_to: Some(id(first)), ..new(1, "no") };
        let (thread, again) = (Some(id(first)), notice.clone());
        let notice =
            store.turn(|tx| messages::add(tx, &notice, id(first + 1), thread, NOW)).unwrap();
        assert_eq!(
            (told(&store, MessageState::Failed), told(&store, MessageState::Expired)),
            (1, 0)
        );
        let others = messages::told(store.view(), Some(agent_id(8)), id(first), failed.state, 2);
        assert_eq!(others.unwrap(), 0);
        let read = match to {
            Some(_) => Message {
                evidence: Some(Evidence::Turn),
                delivered_at: Some(NOW),
                ..notice.in_state(MessageState::Delivered, None)
            },
            None => Message { read_at: Some(NOW), ..notice },
        };
        turn(&mut store, |tx| messages::save(tx, &read, NOW));
        assert_eq!(told(&store, MessageState::Failed), 0);
        for n in 2..6 {
            store.turn(|tx| messages::add(tx, &again, id(first + n), thread, NOW)).unwrap();
        }
        assert_eq!(told(&store, MessageState::Failed), 2, "no more are counted than are asked for");
    }
}

#[test]
fn whoever_may_know_of_their_own_mail_only_is_told_of_no_other() {
    let world = World::new();
    let mut store = open(&world);
    let before = store.head().id;
    let sent = [
        new(7, "to it"),
        NewMessage { from: worker(), ..new(1, "from it") },
        NewMessage { from: worker(), to: Recipient::User, ..new(1, "from it to the person") },
        new(1, "to another"),
        NewMessage { to: Recipient::User, ..new(1, "to the person") },
    ];
    for (n, new) in (1..).zip(sent) {
        let message = add(&mut store, n, &new);
        for what in [mail::told(&message), What::MessageRead { message: message.id }] {
            let event = Event { agent: message.to.agent(), ..Event::own(what) };
            turn(&mut store, |tx| tx.append(&event, NOW).map(drop));
        }
    }
    turn(&mut store, |tx| tx.append(&Event::own(What::ClockJumped { by_ms: 1 }), NOW).map(drop));
    let told = |filter: &events::Filter| {
        let rows = events::after(store.view(), before, 99, filter).unwrap();
        assert_eq!(events::newest(store.view(), 99, filter).unwrap(), rows);
        let stretch = events::stretch(store.view(), before, 1 << 20, filter).unwrap();
        assert_eq!(stretch.rows, rows);
        rows.iter().map(|row| row.id.0 - before.0).collect::<Vec<i64>>()
    };
    let any = events::Filter::default();
    assert_eq!(told(&any).len(), 11);
    let own = events::Filter { mail_of: Some(agent_id(7).to_string()), ..any };
    assert_eq!(told(&own), [1, 2, 3, 4, 5, 6, 11]);
    let of_mail = events::Filter { kind: Some("message.".to_owned()), ..own };
    assert_eq!(told(&of_mail), [1, 2, 3, 4, 5, 6]);
}
