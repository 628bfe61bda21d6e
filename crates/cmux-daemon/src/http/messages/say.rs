//! Messages as clients see them: in full, or in a list that cuts what is long.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use cmux_core::agent::Agent;
use cmux_core::id::AgentId;
use cmux_core::mail::{Waiting, waiting};
use cmux_core::message::{Evidence, Message, MessageKind, MessageState};
use cmux_core::time::Timestamp;
use cmux_store::{StoreError, View, agents, messages};
use cmux_wire::message as wire;
use cmux_wire::time::Time;

/// Returns a message with all that it says.
pub(crate) fn in_full(view: View<'_>, message: Message) -> Result<wire::Message, StoreError> {
    let waits = Readers::default().waits(view, &message)?;
    let text = match message.body.text.clone() {
        Some(text) => text,
        None => messages::text_of(view, message.id)?.unwrap_or_default(),
    };
    Ok(say(message, text, waits))
}

/// Returns messages with as much of what they say as a list tells.
pub(crate) fn listed(view: View<'_>, page: Vec<Message>) -> Result<Vec<wire::Message>, StoreError> {
    let mut readers = Readers::default();
    let say_one = |message: Message| {
        let waits = readers.waits(view, &message)?;
        let text = match message.body.text.clone() {
            Some(text) => text,
            None => messages::head_of(view, message.id, wire::BODY_LISTED)?.unwrap_or_default(),
        };
        Ok(say(message, begun(text), waits))
    };
    page.into_iter().map(say_one).collect()
}

/// Returns as much of `text` as a list tells.
fn begun(mut text: String) -> String {
    let end = text.floor_char_boundary(wire::BODY_LISTED);
    text.truncate(end);
    text
}

/// Those who are to read, as they are looked up.
#[derive(Default)]
struct Readers(BTreeMap<AgentId, (Option<Agent>, Option<Waiting>)>);

impl Readers {
    /// Returns what a message waits for, if it does.
    fn waits(&mut self, view: View<'_>, message: &Message) -> Result<Option<Waiting>, StoreError> {
        let Some(id) = message.to.agent().filter(|_| !message.state.is_over()) else {
            return Ok(None);
        };
        if let Entry::Vacant(place) = self.0.entry(id) {
            place.insert((agents::find(view, id)?, agents::held(view, id)?));
        }
        let (agent, held) =
            self.0.get(&id).map_or((None, None), |(agent, held)| (agent.as_ref(), *held));
        Ok(waiting(message, agent, held, messages::is_next(view, message)?))
    }
}

fn say(message: Message, body: String, waits: Option<Waiting>) -> wire::Message {
    let time = |at: Timestamp| Time::from_millis(at.0);
    wire::Message {
        id: message.id.to_string(),
        project: message.project.to_string(),
        to: message.to.name().to_owned(),
        from: message.from.name,
        kind: say_kind(message.kind),
        body_cut: (body.len() as u64) < message.body.bytes,
        body,
        body_bytes: message.body.bytes,
        reply_to: message.reply_to.map(|id| id.to_string()),
        thread: message.thread.to_string(),
        task: None,
        data: None,
        state: say_state(message.state),
        waiting_for: waits.map(|it| it.name().to_owned()),
        attempts: message.attempts,
        reason: message.reason,
        evidence: message.evidence.map(|it| Evidence::name(it).to_owned()),
        created_at: time(message.created_at),
        expires_at: message.expires_at.map(time),
        delivered_at: message.delivered_at.map(time),
        read_at: message.read_at.map(time),
    }
}

fn say_kind(kind: MessageKind) -> wire::MessageKind {
    match kind {
        MessageKind::Task => wire::MessageKind::Task,
        MessageKind::Status => wire::MessageKind::Status,
        MessageKind::Response => wire::MessageKind::Response,
        MessageKind::Question => wire::MessageKind::Question,
        MessageKind::Error => wire::MessageKind::Error,
        MessageKind::User => wire::MessageKind::User,
        MessageKind::System => wire::MessageKind::System,
    }
}

fn say_state(state: MessageState) -> wire::MessageState {
    match state {
        MessageState::Queued => wire::MessageState::Queued,
        MessageState::Typing => wire::MessageState::Typing,
        MessageState::Submitted => wire::MessageState::Submitted,
        MessageState::Claimed => wire::MessageState::Claimed,
        MessageState::Delivered => wire::MessageState::Delivered,
        MessageState::Failed => wire::MessageState::Failed,
        MessageState::Cancelled => wire::MessageState::Cancelled,
        MessageState::Expired => wire::MessageState::Expired,
        MessageState::InDoubt => wire::MessageState::InDoubt,
    }
}

#[cfg(test)]
mod tests {
    use cmux_core::message::{BODY_MAX, TTL_MAX, TYPED_MAX};

    use super::*;

    #[test]
    fn kinds_and_states_are_called_the_same_everywhere() {
        for kind in MessageKind::ALL {
            assert_eq!(say_kind(kind).to_string(), kind.name());
        }
        for state in MessageState::ALL {
            assert_eq!(say_state(state).to_string(), state.name());
        }
    }

    #[test]
    fn what_is_long_is_long_everywhere() {
        assert_eq!((wire::BODY_MAX, wire::BODY_LISTED), (BODY_MAX, TYPED_MAX));
        assert_eq!(wire::TTL_S_MAX, TTL_MAX.as_secs());
    }

    #[test]
    fn what_is_long_is_cut_between_letters() {
        let short = "x".repeat(wire::BODY_LISTED);
        assert_eq!(begun(short.clone()), short);
        let long = format!("{}€€", &short[1..]);
        assert_eq!(begun(long), short[1..]);
    }
}
