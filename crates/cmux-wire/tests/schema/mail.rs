//! Samples of what is said of mail.

use cmux_wire::message;
use serde_json::{Value, json};

use crate::{text, time};

/// Returns a sample of each shape, by its name.
pub(crate) fn said_of_mail() -> Vec<(&'static str, Value)> {
    let message = message();
    let turn = message::Turn {
        id: text(),
        run: None,
        began_at: time(),
        ended_at: Some(time()),
        tools: vec![text()],
    };
    let messages = message::Messages { messages: vec![message.clone()], next: Some(text()) };
    let moments = vec![
        message::Moment::Message(Box::new(message.clone())),
        message::Moment::Turn(turn.clone()),
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
    vec![
        ("MessageKind", json!(message.kind)),
        ("MessageState", json!(message.state)),
        ("Message", json!(message)),
        ("Messages", json!(messages)),
        ("Turn", json!(turn)),
        ("Moment", json!(moments[0])),
        ("Moment", json!(moments[1])),
        ("History", json!(message::History { history: moments, next: None })),
        ("MailStatus", json!(message::MailStatus { waiting: 1, unread: 0 })),
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
