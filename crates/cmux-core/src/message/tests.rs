//! What can be a message, and what it is at first.

use ulid::Ulid;

use super::*;

const NOW: Timestamp = Timestamp(1_000_000);

#[test]
fn what_cannot_be_a_message_is_refused() {
    let body = |text: &str| NewMessage { body: Body::new(text.to_owned()), ..new() };
    let key = |key: &str| NewMessage { key: Some(key.to_owned()), ..new() };
    let ttl = |ttl| NewMessage { ttl: Some(ttl), ..new() };
    let long = Body { bytes: BODY_MAX as u64 + 1, ..Body::new("x".to_owned()) };
    for (new, expected) in [
        (new(), Ok(())),
        (body(""), Err(BadMessage::Empty)),
        (body(" \n\t "), Err(BadMessage::Empty)),
        (NewMessage { body: long, ..new() }, Err(BadMessage::TooLong(BODY_MAX as u64 + 1))),
        (key("a-1"), Ok(())),
        (key(&"k".repeat(KEY_MAX)), Ok(())),
        (key(""), Err(BadMessage::BadKey)),
        (key("a b"), Err(BadMessage::BadKey)),
        (key("ä"), Err(BadMessage::BadKey)),
        (key(&"k".repeat(KEY_MAX + 1)), Err(BadMessage::BadKey)),
        (ttl(TTL_MIN), Ok(())),
        (ttl(TTL_MAX), Ok(())),
        (ttl(Duration::from_millis(999)), Err(BadMessage::BadTtl)),
        (ttl(TTL_MAX + TTL_MIN), Err(BadMessage::BadTtl)),
    ] {
        assert_eq!(new.check(), expected, "{new:?}");
    }
}

#[test]
fn mail_to_the_person_is_delivered_when_it_is_stored() {
    let with_ttl = NewMessage { ttl: Some(TTL_MIN), interrupt: true, ..new() };
    let to_agent = message(with_ttl.clone());
    let to_user = message(NewMessage { to: Recipient::User, ..with_ttl });
    assert_eq!((to_agent.state, to_agent.evidence), (MessageState::Queued, None));
    assert_eq!((to_agent.expires_at, to_agent.interrupt), (Some(NOW + TTL_MIN), true));
    assert_eq!(to_user.state, MessageState::Delivered);
    assert_eq!((to_user.evidence, to_user.delivered_at), (Some(Evidence::Stored), Some(NOW)));
    assert_eq!((to_user.expires_at, to_user.interrupt), (None, false));
    assert_eq!(to_user.thread, to_user.id);
}

#[test]
fn a_key_stands_for_the_same_message_only() {
    let reply = Some(MessageId::new(Ulid::from(9_u128)));
    for (again, expected) in [
        (new(), true),
        (NewMessage { ttl: Some(TTL_MIN), ..new() }, true),
        (NewMessage { body: Body::new("other".to_owned()), ..new() }, false),
        (NewMessage { kind: MessageKind::Status, ..new() }, false),
        (NewMessage { to: Recipient::User, ..new() }, false),
        (NewMessage { reply_to: reply, ..new() }, false),
    ] {
        assert_eq!(message(new()).is_as(&again), expected, "{again:?}");
    }
}

#[test]
fn what_a_message_says_is_not_shown_by_accident() {
    let shown =
        format!("{:?}", message(NewMessage { body: Body::new("hush".to_owned()), ..new() }));
    assert!(!shown.contains("hush"), "{shown}");
}

#[test]
fn every_name_is_of_one_thing() {
    let states = MessageState::ALL.map(MessageState::name);
    let over: Vec<_> = MessageState::ALL.into_iter().filter(|it| it.is_over()).collect();
    assert_eq!(over.len(), 4);
    assert!(Recall::ALL.iter().all(|it| over.contains(&it.state())));
    for names in
        [&states[..], &MessageKind::ALL.map(MessageKind::name), &Evidence::ALL.map(Evidence::name)]
    {
        let mut sorted = names.to_vec();
        sorted.sort_unstable();
        sorted.dedup();
        assert_eq!(sorted.len(), names.len());
    }
}

fn message(new: NewMessage) -> Message {
    Message::new(MessageId::new(Ulid::from(1_u128)), 1, new, None, NOW)
}

fn new() -> NewMessage {
    NewMessage {
        project: ProjectId::of("/a"),
        from: Sender { actor: Actor::Operator, name: USER.to_owned() },
        to: Recipient::Agent { id: AgentId::new(Ulid::from(1_u128)), name: "worker".to_owned() },
        kind: MessageKind::Task,
        body: Body::new("do".to_owned()),
        reply_to: None,
        interrupt: false,
        key: None,
        ttl: None,
    }
}
