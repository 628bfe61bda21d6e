//! What is asked of messages.

mod delivering;
mod notices;

use cmux_core::event::{Actor, Event, What};
use cmux_core::id::{AgentId, EventId, MessageId, NewIds, RunId};
use cmux_core::mail::{self, Account, Full, Share, told};
use cmux_core::message::{BadMessage, Message, MessageState, NewMessage, Recall, Recipient};
use cmux_core::plan::mail::World;
use cmux_core::plan::{Action, Subject};
use cmux_core::report::{Answer, Refused};
use cmux_core::time::Timestamp;
use cmux_store::{StoreError, Tx, agents, deliveries, messages, projects};

pub(super) use self::delivering::{doubt, held, recovered, seen, wanted};
pub(crate) use self::notices::notify;
pub(super) use self::notices::{agent_failed, reader_forgotten, webhook_taken};
use crate::hear::{Heard, kinds};

/// How many messages of an agent are found to be out of time in one turn.
const EXPIRED_MAX: u32 = 64;

/// Stores a message. The same key is the same message.
pub(super) fn send(
    tx: &mut Tx<'_>,
    new: &NewMessage,
    now: Timestamp,
    ids: &mut dyn NewIds,
) -> Result<Heard, StoreError> {
    if let Err(why) = new.check() {
        return Ok(Heard::refused(why));
    }
    if new.body.text.is_none() {
        return Ok(Heard::refused(BadMessage::Empty));
    }
    if let Some(key) = &new.key
        && let Some(sent) = messages::find_by_key(tx.view(), &new.from.actor, key)?
    {
        return Ok(match sent.is_as(new) {
            true => Heard::told(answer(sent, false)),
            false => Heard::refused(Refused::KeyConflict),
        });
    }
    let (new, thread) = match addressed(tx, new)? {
        Ok(addressed) => addressed,
        Err(why) => return Ok(Heard::refused(why)),
    };
    if let Err(why) = admit(tx, &new)? {
        return Ok(Heard::refused(why));
    }
    let message = add(tx, &new, thread, None, now, ids)?;
    Ok(touching(message, true))
}

/// Returns a message as it is once its reader is known to be there, and what it answers.
fn addressed(
    tx: &Tx<'_>,
    new: &NewMessage,
) -> Result<Result<(NewMessage, Option<MessageId>), Refused>, StoreError> {
    let mut new = new.clone();
    if let Some(id) = new.to.agent() {
        let Some(agent) = agents::find(tx.view(), id)? else {
            return Ok(Err(Refused::NoAgent(id)));
        };
        let to = agent.name.to_string();
        if !mail::may_command(&new.from.actor) && kinds::is_commanded(tx.view(), &agent.kind)? {
            return Ok(Err(Refused::Commanded { to }));
        }
        new.to = Recipient::Agent { id, name: to };
        new.project = agent.project;
    } else if projects::find(tx.view(), &new.project)?.is_none() {
        return Ok(Err(Refused::NoProject(new.project)));
    }
    let Some(id) = new.reply_to else { return Ok(Ok((new, None))) };
    Ok(match messages::find(tx.view(), id)? {
        Some(answered) => Ok((new, Some(answered.thread))),
        None => Err(Refused::NoMessage(id)),
    })
}

/// Returns why a message may not wait beside what waits, if it may not.
fn admit(tx: &Tx<'_>, new: &NewMessage) -> Result<Result<(), Full>, StoreError> {
    let mut waiting = Vec::new();
    for (from, load) in messages::loads(tx.view(), new.to.agent(), &new.project)? {
        waiting.push(Share { account: account(tx, &from)?, from, load });
    }
    Ok(mail::admit(new, &account(tx, &new.from.actor)?, &waiting))
}

/// Returns on whose account a sender's mail waits.
fn account(tx: &Tx<'_>, from: &Actor) -> Result<Account, StoreError> {
    let top = match from {
        Actor::Agent(id) => agents::topmost(tx.view(), *id)?.map(Actor::Agent),
        Actor::Operator | Actor::Cmux | Actor::Token(_) | Actor::Webhook(_) => Some(from.clone()),
    };
    Ok(top.map_or(Account::Orphans, Account::Of))
}

/// Stores a new message, and tells of it.
fn add(
    tx: &mut Tx<'_>,
    new: &NewMessage,
    thread: Option<MessageId>,
    cause: Option<EventId>,
    now: Timestamp,
    ids: &mut dyn NewIds,
) -> Result<Message, StoreError> {
    let message = messages::add(tx, new, MessageId::new(ids.ulid()), thread, now)?;
    let event = event(&message, told(&message), None);
    tx.append(&Event { actor: message.from.actor.clone(), cause, ..event }, now)?;
    Ok(message)
}

/// Takes a message back, or has it taken back if it is being typed. Asking twice is asking once.
pub(super) fn cancel(
    tx: &mut Tx<'_>,
    actor: &Actor,
    id: MessageId,
    now: Timestamp,
    ids: &mut dyn NewIds,
) -> Result<Heard, StoreError> {
    let Some(message) = messages::find(tx.view(), id)? else { return Ok(missing(id)) };
    match message.state {
        MessageState::Cancelled => Ok(Heard::told(answer(message, false))),
        MessageState::Delivered | MessageState::Failed | MessageState::Expired => {
            Ok(Heard::refused(Refused::MessageOver { id, state: message.state }))
        }
        MessageState::Queued => {
            let over = message.in_state(MessageState::Cancelled, None);
            change(tx, &message, &over, actor, None, now, ids)?;
            Ok(touching(over, false))
        }
        // What its reader has taken may come back to its prompt, unread.
        MessageState::Typing
        | MessageState::Submitted
        | MessageState::Claimed
        | MessageState::InDoubt => {
            let recall = message.recall.or(Some(Recall::Cancelled));
            let recalled = Message { recall, ..message };
            messages::save(tx, &recalled, now)?;
            let actions = recall_of(&recalled);
            Ok(Heard { actions, ..Heard::told(answer(recalled, false)) })
        }
    }
}

fn recall_of(message: &Message) -> Vec<Action> {
    let typed = message.to.agent().zip(message.delivery);
    typed.map(|(agent, delivery)| Action::Recall { agent, delivery }).into_iter().collect()
}

/// Has a message read after all, behind those that wait, and with all the time there is. Asking twice is
/// asking once.
pub(super) fn retry(
    tx: &mut Tx<'_>,
    actor: &Actor,
    id: MessageId,
    now: Timestamp,
) -> Result<Heard, StoreError> {
    let Some(message) = messages::find(tx.view(), id)? else { return Ok(missing(id)) };
    match message.state {
        MessageState::Failed | MessageState::Cancelled | MessageState::Expired => {}
        MessageState::Delivered => {
            return Ok(Heard::refused(Refused::MessageOver { id, state: message.state }));
        }
        MessageState::Queued
        | MessageState::Typing
        | MessageState::Submitted
        | MessageState::Claimed
        | MessageState::InDoubt => return Ok(Heard::told(answer(message, false))),
    }
    let new = match addressed(tx, &as_new(&message))? {
        Ok((new, _)) => new,
        Err(why) => return Ok(Heard::refused(why)),
    };
    if let Err(why) = admit(tx, &new)? {
        return Ok(Heard::refused(why));
    }
    let state = message.state;
    let queued = message.in_state(MessageState::Queued, None);
    let queued = Message { attempts: 0, expires_at: None, recall: None, ..queued };
    let queued = messages::requeue(tx, &queued, now)?;
    let retried = event(&queued, What::MessageRetried { message: id, state }, None);
    let cause = tx.append(&Event { actor: actor.clone(), ..retried }, now)?;
    let told = Event { cause: Some(cause), ..event(&queued, told(&queued), None) };
    tx.append(&Event { actor: actor.clone(), ..told }, now)?;
    Ok(touching(queued, false))
}

/// Returns a message as whoever sent it asked for it. What it answers may be forgotten by now.
fn as_new(message: &Message) -> NewMessage {
    NewMessage {
        project: message.project.clone(),
        from: message.from.clone(),
        to: message.to.clone(),
        kind: message.kind,
        body: message.body.clone(),
        reply_to: None,
        interrupt: message.interrupt,
        key: message.key.clone(),
        ttl: None,
    }
}

/// Takes note that the person has read a message to them. Reading twice is reading once.
pub(super) fn read(
    tx: &mut Tx<'_>,
    actor: &Actor,
    id: MessageId,
    now: Timestamp,
) -> Result<Heard, StoreError> {
    let letter = messages::find(tx.view(), id)?.filter(|it| it.to == Recipient::User);
    let Some(letter) = letter else { return Ok(missing(id)) };
    if letter.read_at.is_some() {
        return Ok(Heard::told(answer(letter, false)));
    }
    let read = Message { read_at: Some(now), ..letter };
    messages::save(tx, &read, now)?;
    let event = event(&read, What::MessageRead { message: id }, None);
    tx.append(&Event { actor: actor.clone(), ..event }, now)?;
    Ok(Heard::told(answer(read, false)))
}

/// Stores a message as it is from `now` on, tells of it if that is news, and its sender if it will not be
/// read.
fn change(
    tx: &mut Tx<'_>,
    before: &Message,
    after: &Message,
    actor: &Actor,
    run: Option<RunId>,
    now: Timestamp,
    ids: &mut dyn NewIds,
) -> Result<(), StoreError> {
    messages::save(tx, after, now)?;
    if (before.state, before.attempts) == (after.state, after.attempts) {
        return Ok(());
    }
    let event = event(after, told(after), run);
    let cause = tx.append(&Event { actor: actor.clone(), ..event }, now)?;
    match after.state {
        MessageState::Failed | MessageState::Expired => {
            notices::bad_news(tx, after, cause, now, ids)
        }
        MessageState::Queued
        | MessageState::Typing
        | MessageState::Submitted
        | MessageState::Claimed
        | MessageState::Delivered
        | MessageState::Cancelled
        | MessageState::InDoubt => Ok(()),
    }
}

/// Returns an event of cmux's own, of a message on its way to the life `run` of its reader.
fn event(message: &Message, what: What, run: Option<RunId>) -> Event {
    Event { agent: message.to.agent(), run, ..Event::own_in(&message.project, what) }
}

fn missing(id: MessageId) -> Heard {
    Heard::refused(Refused::NoMessage(id))
}

/// Something was changed of a message that its reader is to be planned for.
fn touching(message: Message, created: bool) -> Heard {
    let touched = message.to.agent().map(Subject::Agent).into_iter().collect();
    Heard { answer: Ok(answer(message, created)), touched, actions: Vec::new() }
}

fn answer(message: Message, created: bool) -> Answer {
    Answer::Message { message: Box::new(message), created }
}

/// Returns what there is to know of the mail of the agent `id`.
pub(crate) fn world(tx: &Tx<'_>, id: AgentId, now: Timestamp) -> Result<World, StoreError> {
    let view = tx.view();
    let open = deliveries::open_of(view, id)?;
    // Most agents have no mail at most times, and are planned for often.
    if !messages::has_open(view, id)? {
        return Ok(World { open, ..World::default() });
    }
    let expired = messages::expired(view, id, now, EXPIRED_MAX)?;
    let mut senders = Vec::new();
    for message in &expired {
        if let Actor::Agent(sender) = message.from.actor {
            senders.extend(agents::find(view, sender)?);
        }
    }
    // If there were too many for once, the others are looked for again.
    let is_full = expired.len() >= EXPIRED_MAX as usize;
    let next_expiry = if is_full { Some(now) } else { messages::next_expiry(view, id, now)? };
    let typed = match &open {
        Some(delivery) => messages::of_delivery(view, delivery.id)?,
        None => Vec::new(),
    };
    Ok(World {
        has_mail: messages::has_queued(view, id)?,
        is_recalled: typed.iter().any(|it| it.recall.is_some()),
        open,
        interrupt: messages::to_interrupt_for(view, id)?,
        expired,
        next_expiry,
        senders,
    })
}
