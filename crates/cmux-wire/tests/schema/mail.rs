//! Samples of what is said of mail.

use cmux_wire::usage::Usage;
use cmux_wire::{message, turn};
use serde_json::{Value, json};

use crate::{text, time};

/// Returns a sample of each shape, by its name.
pub(crate) fn said_of_mail() -> Vec<(&'static str, Value)> {
    let message = message();
    let turn = turn::Turn {
        id: text(),
        run: None,
        began_at: time(),
        ended_at: Some(time()),
        how: Some(turn::TurnEnd::Done),
        messages: vec![text()],
        tools: vec![text()],
        calls: 1,
        usage: Usage::default(),
    };
    let messages = message::Messages { messages: vec![message.clone()], next: Some(text()) };
    let moments = vec![
        message::Moment::Message(Box::new(message.clone())),
        message::Moment::Turn(Box::new(turn.clone())),
    ];
    let new = message::NewMessage {
        to: Some(text()),
        body: text(),
        kind: Some(message::MessageKind::Question),
        project: None,
        reply_to: Some(text()),
        key: Some(text()),
        ttl_s: Some(60),
        interrupt: true,
    };
    let counted = message::MailCounts {
        attempts: 2,
        duplicates_blocked: 1,
        delivered: vec![message::EvidenceCount { evidence: text(), messages: 1 }],
        mean_ms: Some(7),
    };
    let oldest_at = Some(time());
    let mail = message::MailStatus { waiting: 1, oldest_at, unread: 0, counted: counted.clone() };
    vec![
        ("MessageKind", json!(message.kind)),
        ("MessageState", json!(message.state)),
        ("Message", json!(message)),
        ("Messages", json!(messages)),
        ("Turn", json!(turn)),
        ("TurnEnd", json!(turn.how)),
        ("Usage", json!(turn.usage)),
        ("Moment", json!(moments[0])),
        ("Moment", json!(moments[1])),
        ("History", json!(message::History { history: moments, next: None })),
        ("EvidenceCount", json!(counted.delivered[0])),
        ("MailCounts", json!(counted)),
        ("MailStatus", json!(mail)),
        ("NewMessage", json!(new)),
    ]
}

fn message() -> message::Message {
    message::Message {
        id: text(),
        project: text(),
        from: text(),
        to: text(),
        kind: message::MessageKind::Task,
        body: text(),
        body_bytes: 4,
        body_cut: false,
        reply_to: None,
        thread: text(),
        task: None,
        data: None,
        state: message::MessageState::InDoubt,
        waiting_for: Some(text()),
        attempts: 1,
        reason: None,
        evidence: None,
        created_at: time(),
        expires_at: Some(time()),
        delivered_at: None,
        read_at: None,
    }
}
