//! In which order mail goes, how much of it, and what becomes of each message.

use std::time::Duration;

use proptest::prelude::*;
use ulid::Ulid;

use super::*;
use crate::agent::{AgentName, Setup};
use crate::id::{AgentId, MessageId};
use crate::message::{Evidence, Recall};
use crate::project::ProjectId;
use crate::report::NewAgent;

const NOW: Timestamp = Timestamp(1_000_000);

#[test]
fn messages_are_read_as_they_were_sent_but_whoever_interrupts_comes_first() {
    for (sent, expected) in [
        ("", ""),
        ("a1 b2 a3", "a1 b2 a3"),
        ("a1 b2 a3!", "a1 a3! b2"),
        ("a1 b2! a3", "b2! a1 a3"),
        ("a1! a2 b3", "a1! a2 b3"),
        ("b1 a2! a3 c4 c5!", "a2! c4 c5! b1 a3"),
    ] {
        let ordered: Vec<String> = in_order(sent_as(sent)).iter().map(name_of).collect();
        assert_eq!(ordered.join(" "), expected, "{sent}");
    }
}

proptest! {
    /// Whoever interrupts, nobody's own messages change places.
    #[test]
    fn the_order_of_one_sender_is_kept(sent in prop::collection::vec((0_u8..3, any::<bool>()), 0..30)) {
        let messages = sent.iter().enumerate().map(|(at, (from, interrupt))| {
            let seq = i64::try_from(at).unwrap();
            Message { interrupt: *interrupt, ..message(char::from(b'a' + from), seq) }
        });
        let ordered = in_order(messages.collect());
        prop_assert_eq!(ordered.len(), sent.len());
        for from in ["a", "b", "c"] {
            let of: Vec<i64> =
                ordered.iter().filter(|it| it.from.name == from).map(|it| it.seq).collect();
            prop_assert!(of.is_sorted(), "{:?}", of);
        }
    }
}

#[test]
fn what_waits_together_goes_together_up_to_a_limit() {
    let of_bytes = |bytes: usize| Message { body: Body::new("x".repeat(bytes)), ..message('a', 0) };
    for (waiting, expected) in [
        (vec![], 0),
        (vec![message('a', 1), message('b', 2)], 2),
        ((0..40).map(|seq| message('a', seq)).collect(), BATCH_MAX),
        (vec![of_bytes(8000); 6], 3),
        (vec![of_bytes(100_000); 2], 1),
        (vec![of_bytes(100_000), message('a', 1)], 1),
        (vec![of_bytes(10), Message { seq: 1, ..of_bytes(100_000) }, message('a', 2)], 1),
        (vec![of_bytes(10), Message { seq: 1, ..of_bytes(100_000) }, message('b', 2)], 2),
        (vec![Message { expires_at: Some(NOW), ..message('a', 1) }], 0),
        (vec![Message { expires_at: Some(Timestamp(NOW.0 + 1)), ..message('a', 1) }], 1),
    ] {
        let made = make(delivery().id, &agent(), run(), waiting, "/a/", 7, NOW);
        assert_eq!(made.map_or(0, |it| it.messages.len()), expected);
    }
}

#[test]
fn senders_take_turns_where_not_all_is_read_at_once() {
    let sent = |from: char, seq: i64, bytes: usize| {
        let body = Body::new("x".repeat(bytes));
        Message { body, ..message(from, seq) }
    };
    let flood = |bytes: usize| (0..40).map(move |seq| sent('a', seq, bytes));
    let interrupts = Message { interrupt: true, ..sent('c', 50, 10) };
    for (waiting, expected) in [
        // All of it fits: as it was sent.
        (vec![sent('a', 1, 10), sent('a', 2, 10), sent('b', 3, 10)], "a1 a2 b3"),
        (flood(8000).chain([sent('b', 41, 10), sent('b', 42, 10)]).collect(), "a0 b41 a1 b42 a2"),
        (flood(9000).chain([sent('b', 41, 10)]).collect(), "a0"),
        (flood(9000).skip(1).chain([sent('b', 0, 10)]).collect(), "b0"),
        (flood(8000).chain([sent('b', 41, 10), interrupts]).collect(), "c50 a0 b41 a1 a2"),
    ] {
        let made = make(delivery().id, &agent(), run(), waiting.clone(), "/a/", 7, NOW).unwrap();
        let named = |id: &MessageId| {
            let it = waiting.iter().find(|it| it.id == *id).unwrap();
            format!("{}{}", it.from.name, it.seq)
        };
        let named: Vec<String> = made.messages.iter().map(named).collect();
        assert_eq!(named.join(" "), expected);
    }
}

#[test]
fn what_is_long_is_named_and_not_typed() {
    let long = Message { body: Body::new("x".repeat(9000)), ..message('a', 1) };
    let unread = Message { body: Body { text: None, ..long.body.clone() }, ..long.clone() };
    for message in [long, unread] {
        let made = make(delivery().id, &agent(), run(), vec![message.clone()], "/a/", 0, NOW);
        let text = made.unwrap().text;
        assert!(text.contains(&format!("/a/.cmux/mail/{}", message.id)), "{text}");
        assert!(!text.contains("xxx"));
    }
}

#[test]
fn a_message_follows_its_delivery() {
    let again = || Sighted::Again { why: "late".to_owned() };
    let failed = || Sighted::Unused(Unused::Failed { why: "no".to_owned() });
    let (over, recalled) = (Sighted::Unused(Unused::RunOver), Sighted::Unused(Unused::Recalled));
    let perhaps = Sighted::Unused(Unused::PerhapsRead);
    let typed = Message { state: MessageState::Typing, attempts: 1, ..message('a', 1) };
    let tired = Message { attempts: ATTEMPTS_MAX, ..typed.clone() };
    let unwanted = Message { recall: Some(Recall::Cancelled), ..typed.clone() };
    let late = Message { recall: Some(Recall::Expired), ..typed.clone() };
    for (before, seen, state, attempts) in [
        (&typed, Sighted::Typing, MessageState::Typing, 1),
        (&typed, Sighted::Submitted, MessageState::Submitted, 1),
        (&typed, Sighted::Claimed, MessageState::Claimed, 1),
        (&typed, again(), MessageState::Typing, 2),
        (&typed, Sighted::Used(Evidence::Turn), MessageState::Delivered, 1),
        (&typed, over.clone(), MessageState::Queued, 1),
        (&tired, over.clone(), MessageState::Failed, ATTEMPTS_MAX),
        (&typed, recalled.clone(), MessageState::Queued, 1),
        (&typed, failed(), MessageState::Failed, 1),
        (&unwanted, recalled.clone(), MessageState::Cancelled, 1),
        // Whether it was read is not certain, or is certain for another reason.
        (&unwanted, failed(), MessageState::Failed, 1),
        (&unwanted, perhaps.clone(), MessageState::Failed, 1),
        (&typed, perhaps.clone(), MessageState::Queued, 1),
        (&tired, perhaps, MessageState::Failed, ATTEMPTS_MAX),
        (&late, over, MessageState::Expired, 1),
        (&unwanted, Sighted::Used(Evidence::Turn), MessageState::Delivered, 1),
    ] {
        let after = after(before, &delivery(), &seen, NOW);
        assert_eq!((after.state, after.attempts), (state, attempts), "{seen:?}");
        assert_eq!(after.delivery, Some(delivery().id));
        assert!(!after.state.is_over() || after.recall.is_none(), "{seen:?}");
        assert!(after.state != MessageState::Failed || after.reason.is_some(), "{seen:?}");
        let is_read = after.state == MessageState::Delivered;
        assert_eq!((after.evidence.is_some(), after.delivered_at.is_some()), (is_read, is_read));
    }
    let first = super::typed(&message('a', 1), delivery().id);
    assert_eq!((first.state, first.attempts), (MessageState::Typing, 1));
}

#[test]
fn no_more_is_taken_than_may_wait() {
    let id = |n: u128| AgentId::new(Ulid::from(n));
    let agent = |n: u128| Actor::Agent(id(n));
    let script = || Actor::Token(crate::id::TokenId::new(Ulid::from(1_u128)));
    let load = |messages, bytes| Load { messages, bytes };
    let of = |from: Actor, messages, bytes| Share {
        account: Account::Of(from.clone()),
        from,
        load: load(messages, bytes),
    };
    // Below the first agent, and below one of whom nothing is known.
    let below = |n, messages| Share { account: Account::Of(agent(1)), ..of(agent(n), messages, 0) };
    let orphan = |n, messages| Share { account: Account::Orphans, ..of(agent(n), messages, 0) };
    for (from, waiting, expected) in [
        (agent(1), vec![], "taken"),
        (agent(1), vec![of(agent(1), 199, 0), of(agent(2), 1800, 0)], "taken"),
        (agent(1), vec![of(agent(1), 200, 0)], "sender"),
        (agent(1), vec![of(agent(1), 1, 32 << 20)], "sender"),
        (agent(1), vec![of(agent(2), 200, 0)], "taken"),
        (agent(1), vec![of(agent(2), 2000, 0)], "reader"),
        (agent(1), vec![of(agent(2), 1, u64::MAX)], "reader"),
        // One of a team that sends too much is the others' trouble only if many of them do.
        (agent(1), vec![below(3, 200), below(4, 200), below(5, 200), below(6, 200)], "taken"),
        (agent(1), vec![of(agent(1), 1, 0), below(3, 999)], "sender"),
        (agent(1), vec![of(agent(1), 1, 0), below(3, 998)], "taken"),
        // Whose they were is not known.
        (agent(1), vec![of(agent(1), 100, 0), orphan(7, 899)], "taken"),
        (agent(1), vec![of(agent(1), 100, 0), orphan(7, 900)], "sender"),
        (script(), vec![orphan(7, 1000)], "taken"),
        (script(), vec![of(script(), 200, 0)], "sender"),
        // What cmux says itself takes nobody's room.
        (agent(1), vec![of(Actor::Cmux, 5000, u64::MAX)], "taken"),
        (Actor::Cmux, vec![of(Actor::Cmux, 5000, 0), of(agent(1), 5000, 0)], "taken"),
        // Nobody keeps the person from writing.
        (
            Actor::Operator,
            vec![of(agent(1), 5000, u64::MAX), of(Actor::Operator, 1999, 0)],
            "taken",
        ),
        (Actor::Operator, vec![of(Actor::Operator, 2000, 0)], "sender"),
    ] {
        let account = Account::Of(from.clone());
        let new = NewMessage { from: Sender { actor: from, name: "a".to_owned() }, ..new() };
        let name = match admit(&new, &account, &waiting) {
            Ok(()) => "taken",
            Err(Full::OfSender { .. }) => "sender",
            Err(Full::OfReader { .. }) => "reader",
        };
        assert_eq!(name, expected, "{account:?} {waiting:?}");
    }
    let apart = NewMessage { from: Sender { actor: agent(3), name: "a".to_owned() }, ..new() };
    for (waiting, expected) in
        [(orphan(7, 999), true), (orphan(7, 1000), false), (of(agent(1), 1000, 0), true)]
    {
        let admitted = admit(&apart, &Account::Orphans, std::slice::from_ref(&waiting));
        assert_eq!(admitted.is_ok(), expected, "{waiting:?}");
    }
}

#[test]
fn what_keeps_mail_from_an_agent_is_told() {
    let idle = Agent { phase: Phase::Idle, ..agent() };
    for (agent, expected) in [
        (idle.clone(), None),
        (Agent { intent: Intent::Stop, ..idle.clone() }, Some(Waiting::Stopped)),
        (Agent { intent: Intent::Pause, ..idle.clone() }, Some(Waiting::Paused)),
        (Agent { phase: Phase::Offline, ..agent() }, Some(Waiting::Starting)),
        (Agent { adopted: true, ..agent() }, Some(Waiting::Stopped)),
        (Agent { phase: Phase::Starting { deadline: NOW }, ..agent() }, Some(Waiting::Starting)),
        (Agent { phase: Phase::Busy, ..agent() }, Some(Waiting::Busy)),
        (Agent { phase: Phase::Asking, ..agent() }, Some(Waiting::Asking)),
        (Agent { phase: Phase::Limited { until: None }, ..agent() }, Some(Waiting::Limited)),
        (Agent { phase: Phase::Down { retry_at: NOW }, ..agent() }, Some(Waiting::Down)),
        (Agent { phase: Phase::Failed, ..agent() }, Some(Waiting::Failed)),
    ] {
        assert_eq!(obstacle(&agent), expected, "{:?}", agent.phase);
    }
    let busy = Agent { phase: Phase::Busy, ..agent() };
    for (state, agent, held, is_next, expected) in [
        (MessageState::Queued, Some(&idle), None, true, Some(Waiting::Reading)),
        (MessageState::Queued, Some(&idle), None, false, Some(Waiting::Earlier)),
        (MessageState::Queued, Some(&idle), Some(Waiting::Draft), false, Some(Waiting::Draft)),
        (MessageState::Queued, Some(&busy), Some(Waiting::Draft), true, Some(Waiting::Busy)),
        (MessageState::Typing, Some(&idle), None, false, Some(Waiting::Reading)),
        (MessageState::Typing, Some(&busy), None, false, Some(Waiting::Busy)),
        (MessageState::Claimed, Some(&busy), None, false, Some(Waiting::Reading)),
        (MessageState::Submitted, Some(&idle), Some(Waiting::Busy), true, Some(Waiting::Reading)),
        (MessageState::Claimed, Some(&idle), Some(Waiting::Asking), true, Some(Waiting::Asking)),
        (MessageState::Queued, None, None, true, None),
        (MessageState::Delivered, Some(&busy), None, true, None),
    ] {
        let message = Message { state, ..message('a', 1) };
        assert_eq!(waiting(&message, agent, held, is_next), expected, "{state:?}");
    }
}

#[test]
fn whoever_sent_what_is_not_read_is_told_if_they_can_be() {
    let failed = message('a', 1).in_state(MessageState::Failed, Some("no".to_owned()));
    let from = |actor| Message { from: Sender { actor, name: "a".to_owned() }, ..failed.clone() };
    let sender = agent();
    for (message, sender, expected) in [
        (from(Actor::Cmux), None, None),
        (from(Actor::Agent(sender.id)), None, None),
        (from(Actor::Agent(sender.id)), Some(&sender), Some("worker")),
        (from(Actor::Operator), None, Some("user")),
        (from(Actor::Webhook("hub".to_owned())), None, Some("user")),
    ] {
        let news = bad_news(&message, sender);
        assert_eq!(news.as_ref().map(|it| it.to.name()), expected, "{:?}", message.from.actor);
        let Some(news) = news else { continue };
        assert_eq!((&news.from.actor, news.reply_to), (&Actor::Cmux, Some(message.id)));
        assert!(news.body.text.is_some_and(|it| it.contains("failed") && it.contains("no")));
    }
}

/// Returns messages as `a1 b2!` tells them: who, the how-manieth, and whether it interrupts.
fn sent_as(sent: &str) -> Vec<Message> {
    let one = |word: &str| {
        let (from, rest) = word.split_at(1);
        let seq = rest.trim_end_matches('!').parse().unwrap();
        let from = from.chars().next().unwrap();
        Message { interrupt: rest.ends_with('!'), ..message(from, seq) }
    };
    sent.split_whitespace().map(one).collect()
}

fn name_of(message: &Message) -> String {
    let mark = if message.interrupt { "!" } else { "" };
    format!("{}{}{mark}", message.from.name, message.seq)
}

fn message(from: char, seq: i64) -> Message {
    let id = MessageId::new(Ulid::from(u128::try_from(seq).unwrap() + 1));
    let actor = Actor::Agent(AgentId::new(Ulid::from(u128::from(from))));
    let new = NewMessage { from: Sender { actor, name: from.to_string() }, ..new() };
    Message::new(id, seq, new, None, NOW)
}

fn new() -> NewMessage {
    NewMessage {
        project: ProjectId::of("/a"),
        from: Sender { actor: Actor::Operator, name: "user".to_owned() },
        to: Recipient::Agent { id: agent().id, name: "worker".to_owned() },
        kind: MessageKind::Task,
        body: Body::new("do".to_owned()),
        reply_to: None,
        interrupt: false,
        key: None,
        ttl: None::<Duration>,
    }
}

fn delivery() -> Delivery {
    let id = DeliveryId::new(Ulid::from(5_u128));
    make(id, &agent(), run(), vec![message('a', 1)], "/a", 0, NOW).unwrap()
}

fn run() -> RunId {
    RunId::new(Ulid::from(1_u128))
}

fn agent() -> Agent {
    let setup = Setup {
        cwd: "/a".to_owned(),
        task: None,
        args: Vec::new(),
        env: Vec::new(),
        permanent: false,
    };
    let new = NewAgent {
        project: ProjectId::of("/a"),
        name: AgentName::new("worker").unwrap(),
        role: "worker".to_owned(),
        kind: "demo".to_owned(),
        parent: None,
        setup,
    };
    Agent::new(AgentId::new(Ulid::from(1_u128)), new, NOW)
}
