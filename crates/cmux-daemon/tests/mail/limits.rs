//! How much may wait, on whose account, and how often the same is told.

use std::time::Duration;

use cmux_core::delivery::Sighted;
use cmux_core::event::Actor;
use cmux_core::id::{AgentId, MessageId};
use cmux_core::mail::{Full, READER_MAX, SENDER_MAX, TEAM_MAX};
use cmux_core::message::{Evidence, Message, MessageState, NewMessage, Recipient, Sender};
use cmux_core::notice::TOLD_MAX;
use cmux_core::project::ProjectId;
use cmux_core::report::{Answer, Ask, NewAgent, Refused};
use cmux_daemon::kernel::Denied;
use cmux_store::messages::{self, Filter};

use crate::house::{House, by, new, new_agent};

#[test]
fn no_more_is_taken_than_may_wait() {
    let mut house = House::new();
    let (id, run) = house.agent(new_agent("worker"));
    let (other, _) = house.agent(new_agent("other"));
    let from = |agent, name: &str| NewMessage { from: by(agent, name), ..new(id, "x") };
    fill(&mut house, &from(other, "other"));
    let full = house.ask(ask(from(other, "other")));
    let Err(Denied::Refused(Refused::MailFull(Full::OfSender { load, .. }))) = full else {
        panic!("{full:?}")
    };
    assert_eq!(load.messages, SENDER_MAX.messages);
    // It is nobody else's trouble.
    house.send(from(id, "worker"));
    house.send(new(id, "x"));
    let made = house.take(id, run).unwrap();
    house.sight(&made, Sighted::Used(Evidence::Turn));
    house.send(from(other, "other"));
}

#[test]
fn whoever_sends_too_much_is_no_trouble_of_those_launched_with_it() {
    let mut house = House::new();
    let (lead, _) = house.agent(new_agent("lead"));
    let below = |name: &str| NewAgent { parent: Some(lead), ..new_agent(name) };
    let (runaway, _) = house.agent(below("runaway"));
    let (worker, _) = house.agent(below("worker"));
    let from = |agent, name: &str| NewMessage { from: by(agent, name), ..new(lead, "x") };
    let to_user = |agent, name: &str| NewMessage { to: Recipient::User, ..from(agent, name) };
    fill(&mut house, &from(runaway, "runaway"));
    fill(&mut house, &to_user(runaway, "runaway"));
    check_full(house.ask(ask(from(runaway, "runaway"))), "200 messages from `runaway` that");
    check_full(house.ask(ask(to_user(runaway, "runaway"))), "200 messages from `runaway` that");
    house.send(from(worker, "worker"));
    house.send(to_user(worker, "worker"));
    house.send(to_user(lead, "lead"));
}

#[test]
fn whoever_launches_others_gets_no_more_room_than_a_team_has() {
    let mut house = House::new();
    let (reader, _) = house.agent(new_agent("reader"));
    let (lead, _) = house.agent(new_agent("lead"));
    let below = |name: &str, parent| NewAgent { parent: Some(parent), ..new_agent(name) };
    let (middle, run) = house.agent(below("middle", lead));
    let (low, _) = house.agent(below("low", middle));
    let (apart, _) = house.agent(new_agent("apart"));
    let from = |agent, name: &str| NewMessage { from: by(agent, name), ..new(reader, "x") };
    let others = TEAM_MAX.messages / SENDER_MAX.messages - 1;
    for n in 0..others {
        let name = format!("low{n}");
        let (other, _) = house.agent(below(&name, if n == 0 { middle } else { low }));
        fill(&mut house, &from(other, &name));
    }
    for n in 0..SENDER_MAX.messages {
        let who =
            [(lead, "lead"), (middle, "middle"), (low, "low")][usize::try_from(n % 3).unwrap()];
        house.send(from(who.0, who.1));
    }
    for (agent, name) in [(lead, "lead"), (middle, "middle"), (low, "low")] {
        check_full(house.ask(ask(from(agent, name))), "the agents above and below it");
    }
    house.send(from(apart, "apart"));
    // Nor by forgetting them: whose it was is not known then, so that it counts for each of them.
    house.forget(middle, run);
    for (agent, name) in [(low, "low"), (apart, "apart")] {
        let sent = (0..=SENDER_MAX.messages).find(|_| house.ask(ask(from(agent, name))).is_err());
        assert!(sent.is_some_and(|it| it < SENDER_MAX.messages), "{name}: {sent:?}");
    }
    house.send(new(reader, "x"));
}

#[test]
fn nobody_keeps_the_person_from_writing() {
    let mut house = House::new();
    let (id, _) = house.agent(new_agent("worker"));
    for n in 0..READER_MAX.messages / SENDER_MAX.messages {
        let (agent, _) = house.agent(new_agent(&format!("a{n}")));
        fill(&mut house, &NewMessage { from: by(agent, "a"), ..new(id, "x") });
    }
    let (last, _) = house.agent(new_agent("last"));
    let full = house.ask(ask(NewMessage { from: by(last, "last"), ..new(id, "x") }));
    check_full(full, "2000 messages wait for `worker`");
    fill(&mut house, &new(id, "x"));
    house.send(new(id, "one more than others may"));
}

#[test]
fn the_persons_mail_is_counted_by_project_and_what_cmux_says_is_not() {
    let mut house = House::new();
    house.ask(Ask::AddProject { root: "/b".to_owned(), name: None }).unwrap();
    let (id, _) = house.agent(new_agent("worker"));
    let script = Sender { actor: Actor::Webhook("hub".to_owned()), name: "hub".to_owned() };
    let to_user = |root: &str| NewMessage {
        from: script.clone(),
        to: Recipient::User,
        project: ProjectId::of(root),
        ..new(id, "x")
    };
    fill(&mut house, &to_user("/a"));
    check_full(house.ask(ask(to_user("/a"))), "`user` has 200 messages");
    fill(&mut house, &to_user("/b"));
    check_full(house.ask(ask(to_user("/b"))), "`user` has 200 messages");
}

#[test]
fn what_is_sent_again_takes_as_much_room_as_what_is_sent() {
    let mut house = House::new();
    let (id, _) = house.agent(new_agent("worker"));
    let (other, _) = house.agent(new_agent("other"));
    let from = || NewMessage { from: by(other, "other"), ..new(id, "x") };
    let first = house.send(from());
    house.message(Ask::CancelMessage { id: first.id });
    fill(&mut house, &from());
    check_full(house.ask(Ask::RetryMessage { id: first.id }), "has 200 messages");
    assert_eq!(house.stored(first.id).state, MessageState::Cancelled);
}

#[test]
fn each_end_in_a_conversation_is_told_up_to_a_limit_until_that_is_read() {
    let mut house = House::new();
    let (lead, run) = house.agent(new_agent("lead"));
    let (worker, _) = house.agent(new_agent("worker"));
    let ttl = Some(Duration::from_secs(5));
    let in_it = |reply_to: Option<MessageId>| NewMessage {
        from: by(lead, "lead"),
        ttl,
        reply_to,
        ..new(worker, "x")
    };
    let first = house.send(in_it(None));
    let expire = |house: &mut House| {
        house.pass(Duration::from_secs(6));
        house.turn(&[]);
    };
    let mut sent = vec![first.id];
    for _ in 0..5 {
        sent.push(house.send(in_it(Some(first.id))).id);
    }
    expire(&mut house);
    let told_of = |house: &House| -> Vec<_> {
        mail_of(house, lead).iter().filter_map(|it| it.reply_to).collect()
    };
    sent.reverse();
    assert_eq!(told_of(&house), sent, "each is told of");
    let most = usize::try_from(TOLD_MAX).unwrap();
    for _ in 0..most {
        house.send(in_it(Some(first.id)));
    }
    expire(&mut house);
    let told = mail_of(&house, lead);
    assert_eq!(told.len(), most, "they have yet to be read");
    let says_more = |it: &Message| {
        let said = house.stored(it.id).body.text;
        said.is_some_and(|text| text.contains("you are not told of each"))
    };
    let last: Vec<bool> = told.iter().map(says_more).collect();
    assert!(last[0] && last[1..].iter().all(|it| !it), "the last of them says so: {last:?}");
    let made = house.take(lead, run).unwrap();
    house.sight(&made, Sighted::Used(Evidence::Turn));
    house.send(in_it(Some(first.id)));
    // Another conversation is another matter.
    let other = house.send(in_it(None));
    expire(&mut house);
    let told = mail_of(&house, lead);
    assert_eq!(told.len(), most + 2);
    assert_eq!(told.iter().filter(|it| it.thread == other.id).count(), 1);
}

/// Sends as much as one sender may have wait.
fn fill(house: &mut House, new: &NewMessage) {
    for _ in 0..SENDER_MAX.messages {
        house.send(new.clone());
    }
}

fn ask(new: NewMessage) -> Ask {
    Ask::SendMessage { new: Box::new(new) }
}

#[track_caller]
fn check_full(answer: Result<Answer, Denied>, told: &str) {
    match answer {
        Err(Denied::Refused(Refused::MailFull(full))) => {
            assert!(full.to_string().contains(told), "{full}");
        }
        other => panic!("{other:?}"),
    }
}

fn mail_of(house: &House, id: AgentId) -> Vec<Message> {
    let filter = Filter { to_agent: Some(id), ..Filter::default() };
    house.read(|view| messages::page(view, &filter, None, 99))
}
