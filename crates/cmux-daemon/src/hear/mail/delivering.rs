//! What becomes of deliveries, and of the messages in them.

use cmux_core::agent::{Agent, Intent, LifeState};
use cmux_core::delivery::{Delivery, Sighted};
use cmux_core::event::{Actor, Event, What};
use cmux_core::id::{AgentId, DeliveryId, MessageId, NewIds, RunId};
use cmux_core::mail::{self, BATCH_MAX, Waiting};
use cmux_core::message::{Evidence, Message, MessageState};
use cmux_core::plan::Subject;
use cmux_core::report::Answer;
use cmux_core::time::Timestamp;
use cmux_store::{StoreError, Tx, View, agents, deliveries, messages, projects};

use super::change;
use crate::hear::{Heard, kinds};

/// Makes the next delivery to an agent that can take one. Nobody is refused: who asks too late, or for
/// another life, is told that there is nothing.
pub(in crate::hear) fn wanted(
    tx: &mut Tx<'_>,
    id: AgentId,
    run: RunId,
    mark: u64,
    now: Timestamp,
    ids: &mut dyn NewIds,
) -> Result<Heard, StoreError> {
    let nothing = || Heard::told(Answer::Delivery(None));
    let Some(agent) = agents::find(tx.view(), id)?.filter(|it| may_take(it, run)) else {
        return Ok(nothing());
    };
    if deliveries::open_of(tx.view(), id)?.is_some() {
        return Ok(nothing());
    }
    let Some(project) = projects::find(tx.view(), &agent.project)? else { return Ok(nothing()) };
    let mut waiting = candidates(tx.view(), id)?;
    if kinds::is_commanded(tx.view(), &agent.kind)? && turn_away(tx, &agent, &waiting, now, ids)? {
        waiting = candidates(tx.view(), id)?;
        waiting.retain(|it| mail::may_command(&it.from.actor));
    }
    let delivery = DeliveryId::new(ids.ulid());
    let made = mail::make(delivery, &agent, run, waiting, &project.root, mark, now);
    let Some(made) = made else { return Ok(nothing()) };
    deliveries::save(tx, &made)?;
    agents::set_held(tx, id, None)?;
    for message in messages::of_delivery(tx.view(), made.id)? {
        let typed = mail::typed(&message, made.id);
        change(tx, &message, &typed, &Actor::Cmux, Some(run), now, ids)?;
    }
    let answer = Answer::Delivery(Some(Box::new(made)));
    Ok(Heard { answer: Ok(answer), ..Heard::new([Subject::Agent(id)]) })
}

/// Returns what may go next to an agent: what was sent first, and the first of each who has sent something.
fn candidates(view: View<'_>, agent: AgentId) -> Result<Vec<Message>, StoreError> {
    let limit = u32::try_from(BATCH_MAX).unwrap_or(u32::MAX);
    let mut found = messages::next_up(view, agent, limit)?;
    if found.len() == BATCH_MAX {
        let firsts = messages::firsts(view, agent, limit)?;
        let is_new = |it: &Message| found.iter().all(|there| there.id != it.id);
        let more: Vec<Message> = firsts.into_iter().filter(is_new).collect();
        found.extend(more);
    }
    Ok(found)
}

/// Gives up what an agent would run that is not to be run, and returns whether there was any. Nobody could
/// send it that while it was known.
fn turn_away(
    tx: &mut Tx<'_>,
    agent: &Agent,
    waiting: &[Message],
    now: Timestamp,
    ids: &mut dyn NewIds,
) -> Result<bool, StoreError> {
    let mut was_any = false;
    for message in waiting.iter().filter(|it| !mail::may_command(&it.from.actor)) {
        let failed =
            message.in_state(MessageState::Failed, Some(mail::commanded(agent.name.as_str())));
        change(tx, message, &failed, &Actor::Cmux, None, now, ids)?;
        was_any = true;
    }
    Ok(was_any)
}

/// Returns whether the life `run` of `agent` may be given mail.
fn may_take(agent: &Agent, run: RunId) -> bool {
    let is_alive = agent.life.as_ref().is_some_and(|life| match life.state {
        LifeState::Alive { .. } => life.run == run,
        LifeState::Launching
        | LifeState::Ending { .. }
        | LifeState::Ended { .. }
        | LifeState::Over => false,
    });
    is_alive && agent.intent == Intent::Run
}

/// Takes what was seen of a delivery. What is known already, or comes too late, changes nothing.
pub(in crate::hear) fn seen(
    tx: &mut Tx<'_>,
    id: DeliveryId,
    attempt: u32,
    seen: &Sighted,
    now: Timestamp,
    ids: &mut dyn NewIds,
) -> Result<Heard, StoreError> {
    let Some(delivery) = deliveries::find(tx.view(), id)? else {
        return Ok(Heard::told(Answer::Delivery(None)));
    };
    let Ok(after) = delivery.after(attempt, seen, now) else {
        return Ok(Heard::told(Answer::Delivery(Some(Box::new(delivery)))));
    };
    deliveries::save(tx, &after)?;
    for message in in_it(tx, &after)? {
        let next = mail::after(&message, &after, seen, now);
        change(tx, &message, &next, &Actor::Cmux, Some(after.run), now, ids)?;
    }
    let touched = after.state.is_settled().then_some(Subject::Agent(after.agent));
    let answer = Answer::Delivery(Some(Box::new(after)));
    Ok(Heard { answer: Ok(answer), ..Heard::new(touched) })
}

/// Returns the messages of a delivery whose end is not known otherwise.
fn in_it(tx: &Tx<'_>, delivery: &Delivery) -> Result<Vec<Message>, StoreError> {
    let mut found = messages::of_delivery(tx.view(), delivery.id)?;
    found.retain(|it| it.delivery == Some(delivery.id) && is_under_way(it.state));
    Ok(found)
}

fn is_under_way(state: MessageState) -> bool {
    !state.is_over() && state != MessageState::Queued
}

/// Takes note of what keeps mail from an agent that is at its prompt.
pub(in crate::hear) fn held(
    tx: &mut Tx<'_>,
    id: AgentId,
    run: RunId,
    held: Option<Waiting>,
    now: Timestamp,
) -> Result<Heard, StoreError> {
    let agent = agents::find(tx.view(), id)?.filter(|it| it.is_in(run));
    if let Some(agent) = agent
        && agents::held(tx.view(), id)? != held
    {
        agents::set_held(tx, id, held)?;
        let told = Event::own_in(&agent.project, What::AgentHeld { held });
        tx.append(&Event { agent: Some(id), run: Some(run), ..told }, now)?;
    }
    Ok(Heard::new([]))
}

/// Takes note of messages that were read in a life of the store that was lost.
pub(in crate::hear) fn recovered(
    tx: &mut Tx<'_>,
    read: &[MessageId],
    now: Timestamp,
    ids: &mut dyn NewIds,
) -> Result<Heard, StoreError> {
    let mut heard = Heard::new([]);
    for id in read {
        let found = messages::find(tx.view(), *id)?;
        let Some(message) = found.filter(|it| !it.state.is_over()) else { continue };
        let over = Message {
            evidence: Some(Evidence::Ledger),
            delivered_at: Some(now),
            recall: None,
            ..message.in_state(MessageState::Delivered, None)
        };
        change(tx, &message, &over, &Actor::Cmux, None, now, ids)?;
        heard.touched.extend(message.to.agent().map(Subject::Agent));
        settle_if_read(tx, &message, now)?;
    }
    Ok(heard)
}

/// Settles the delivery of a message if nothing in it is left to be read.
fn settle_if_read(tx: &Tx<'_>, message: &Message, now: Timestamp) -> Result<(), StoreError> {
    let Some(id) = message.delivery else { return Ok(()) };
    let Some(delivery) = deliveries::find(tx.view(), id)? else { return Ok(()) };
    if !in_it(tx, &delivery)?.is_empty() {
        return Ok(());
    }
    match delivery.after(delivery.attempt, &Sighted::Used(Evidence::Ledger), now) {
        Ok(used) => deliveries::save(tx, &used),
        Err(_) => Ok(()),
    }
}

/// Whoever was at a delivery died with the life before: how far each has come is to be found out. What was
/// in one that is lost waits again.
pub(in crate::hear) fn doubt(
    tx: &mut Tx<'_>,
    now: Timestamp,
    ids: &mut dyn NewIds,
) -> Result<(), StoreError> {
    for delivery in deliveries::open(tx.view())? {
        let Some(doubted) = delivery.doubted(now) else { continue };
        deliveries::save(tx, &doubted)?;
        for message in in_it(tx, &doubted)? {
            let next = message.in_state(MessageState::InDoubt, None);
            change(tx, &message, &next, &Actor::Cmux, Some(doubted.run), now, ids)?;
        }
    }
    for message in messages::astray(tx.view())? {
        let next = match message.recall {
            Some(recall) => message.in_state(recall.state(), None),
            None => {
                let why = "what was known of its delivery is lost".to_owned();
                message.in_state(MessageState::Queued, Some(why))
            }
        };
        let next = Message { recall: None, ..next };
        change(tx, &message, &next, &Actor::Cmux, None, now, ids)?;
    }
    Ok(())
}
