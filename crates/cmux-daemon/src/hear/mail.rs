//! What becomes of mail.

use cmux_core::delivery::Sighted;
use cmux_core::event::Actor;
use cmux_core::id::{AgentId, DeliveryId, MessageId, NewIds, RunId};
use cmux_core::mail::Waiting;
use cmux_core::message::NewMessage;
use cmux_core::report::{Answer, Refused};
use cmux_core::time::Timestamp;
use cmux_store::{StoreError, Tx};

use crate::hear::Heard;

/// Stores a message. The same key is the same message.
pub(super) fn send(
    _tx: &mut Tx<'_>,
    _new: &NewMessage,
    _now: Timestamp,
    _ids: &mut dyn NewIds,
) -> Result<Heard, StoreError> {
    Ok(Heard::new([]))
}

/// Takes a message back, or has it taken back if it is being typed.
pub(super) fn cancel(
    _tx: &mut Tx<'_>,
    _actor: &Actor,
    id: MessageId,
    _now: Timestamp,
) -> Result<Heard, StoreError> {
    Ok(Heard::refused(Refused::NoMessage(id)))
}

pub(super) fn retry(
    _tx: &mut Tx<'_>,
    _actor: &Actor,
    id: MessageId,
    _now: Timestamp,
) -> Result<Heard, StoreError> {
    Ok(Heard::refused(Refused::NoMessage(id)))
}

pub(super) fn read(
    _tx: &mut Tx<'_>,
    _actor: &Actor,
    id: MessageId,
    _now: Timestamp,
) -> Result<Heard, StoreError> {
    Ok(Heard::refused(Refused::NoMessage(id)))
}

/// Makes the next delivery to an agent that can take one.
pub(super) fn wanted(
    _tx: &mut Tx<'_>,
    _agent: AgentId,
    _run: RunId,
    _mark: u64,
    _now: Timestamp,
    _ids: &mut dyn NewIds,
) -> Result<Heard, StoreError> {
    Ok(Heard::told(Answer::Delivery(None)))
}

/// Takes what was seen of a delivery.
pub(super) fn seen(
    _tx: &mut Tx<'_>,
    _delivery: DeliveryId,
    _attempt: u32,
    _seen: &Sighted,
    _now: Timestamp,
    _ids: &mut dyn NewIds,
) -> Result<Heard, StoreError> {
    Ok(Heard::told(Answer::Delivery(None)))
}

pub(super) fn held(
    _tx: &mut Tx<'_>,
    _agent: AgentId,
    _run: RunId,
    _held: Option<Waiting>,
) -> Result<Heard, StoreError> {
    Ok(Heard::new([]))
}

pub(super) fn recovered(
    _tx: &mut Tx<'_>,
    _messages: &[MessageId],
    _now: Timestamp,
) -> Result<Heard, StoreError> {
    Ok(Heard::new([]))
}
