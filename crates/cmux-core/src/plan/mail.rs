//! Has mail read: offered to agents that can take it, settled when a life ends, taken back when its time is
//! over.

use std::time::Duration;

use crate::agent::{Agent, Intent, LifeState};
use crate::delivery::{Delivery, DeliveryState};
use crate::event::{Actor, Event};
use crate::id::RunId;
use crate::mail::{bad_news, obstacle, told};
use crate::message::{Message, MessageState, Recall};
use crate::phase::Phase;
use crate::plan::agents::event;
use crate::plan::{Action, Plan, Record, Step};
use crate::time::Timestamp;

/// After what time something that was to be done with mail counts as lost, and is done again.
const AGAIN_AFTER: Duration = Duration::from_secs(15);

/// How long apart an agent is interrupted that is still busy, and for how long each time that may be tried:
/// two in one breath could be another key.
const INTERRUPT_EVERY: Duration = Duration::from_secs(10);
const INTERRUPT_WITHIN: Duration = Duration::from_secs(5);

/// For how long a model may have taken what it was asked, and not have begun to answer, before its agent is
/// interrupted for what cannot wait. If it answers, that is known sooner.
const ANSWERS_WITHIN: Duration = Duration::from_secs(30);

/// How soon it is looked again for those whose time is over, if there were too many for once.
const REST_AFTER: Duration = Duration::from_secs(1);

/// What there is to know of an agent's mail.
#[derive(Clone, Debug, Default)]
pub struct World {
    /// Whether messages wait.
    pub has_mail: bool,
    /// The delivery that is under way.
    pub open: Option<Delivery>,
    /// Whether some of its messages are to be taken back.
    pub is_recalled: bool,
    /// The first that waits and for which the agent is to be interrupted.
    pub interrupt: Option<Message>,
    /// Those whose time is over.
    pub expired: Vec<Message>,
    /// When the time of the next is over.
    pub next_expiry: Option<Timestamp>,
    /// Who sent those whose time is over, as far as they are agents that are still there.
    pub senders: Vec<Agent>,
}

/// Returns what is due for the mail of `agent` at `now`.
pub fn plan(agent: &Agent, world: &World, now: Timestamp) -> Plan {
    let mut plan = Plan::default();
    plan.expire(agent, world);
    if let Some(at) = world.next_expiry {
        plan.wake(at.max(now + REST_AFTER));
    }
    match &world.open {
        Some(delivery) => {
            plan.keep_delivery(agent, world, delivery, now);
            plan.make_way(agent, world, delivery, now);
        }
        None if world.has_mail => plan.offer(agent, world, now),
        None => {}
    }
    plan
}

impl Plan {
    /// A delivery is under way, or was when the life that it was typed to ended.
    fn keep_delivery(&mut self, agent: &Agent, world: &World, delivery: &Delivery, now: Timestamp) {
        let is_recalled = world.is_recalled || makes_way(world, delivery, now);
        let is_paused = agent.intent == Intent::Pause;
        let action = match agent.life.as_ref() {
            Some(life) if life.run == delivery.run => match life.state {
                LifeState::Launching | LifeState::Alive { .. } | LifeState::Ending { .. } => {
                    Action::Deliver { delivery: Box::new(delivery.clone()), is_recalled, is_paused }
                }
                // It is not over before every process of it is gone: one of them may still read.
                LifeState::Ended { .. } => return,
                LifeState::Over => settle(agent, delivery),
            },
            Some(_) | None => settle(agent, delivery),
        };
        self.steps.push(Step { action: Some(action), ..Step::default() });
        self.wake(now + AGAIN_AFTER);
    }

    /// A delivery has waited for a while for an agent that works on something else, or for its model to answer, and a
    /// message waits behind it that the agent is to be interrupted for.
    fn make_way(&mut self, agent: &Agent, world: &World, delivery: &Delivery, now: Timestamp) {
        let (Some(life), Some(message)) = (agent.live_life(), &world.interrupt) else { return };
        let is_busy = agent.phase == Phase::Busy && agent.intent == Intent::Run;
        // What is out may be what it works on.
        let is_taken = delivery.state == DeliveryState::Claimed;
        if !is_busy || (delivery.may_be_out() && !is_taken) || delivery.run != life.run {
            return;
        }
        let patience = if is_taken { ANSWERS_WITHIN } else { INTERRUPT_EVERY };
        let due = delivery.since.max(agent.since) + patience;
        if now < due {
            return self.wake(due);
        }
        self.interrupt(agent, life.run, message, now);
    }

    /// Messages wait. If the agent can take them, it is offered them; if it is to be interrupted, it is.
    fn offer(&mut self, agent: &Agent, world: &World, now: Timestamp) {
        let Some(life) = agent.live_life() else { return };
        if obstacle(agent).is_none() {
            let action = Action::OfferMail { agent: agent.id, run: life.run };
            self.steps.push(Step { action: Some(action), ..Step::default() });
            self.wake(now + AGAIN_AFTER);
            return;
        }
        let is_busy = agent.phase == Phase::Busy && agent.intent == Intent::Run;
        if let Some(message) = world.interrupt.as_ref().filter(|_| is_busy) {
            self.interrupt(agent, life.run, message, now);
        }
    }

    /// A message waits that an agent is to be interrupted for until it is busy no more. Each time has a step of
    /// its own, by when the turn began and how long it was waited since: the same plan, made again, has the same.
    fn interrupt(&mut self, agent: &Agent, run: RunId, message: &Message, now: Timestamp) {
        let begun = agent.since.max(message.created_at);
        let waited = now.since(begun);
        let time = u32::try_from(waited.as_secs() / INTERRUPT_EVERY.as_secs()).unwrap_or(u32::MAX);
        let due = begun + INTERRUPT_EVERY.saturating_mul(time);
        if now.since(due) < INTERRUPT_WITHIN {
            let step = format!("interrupt-{}-{}-{time}", message.id, begun.0);
            let action = Action::InterruptAgent { agent: Box::new(agent.clone()), run, step };
            self.steps.push(Step { action: Some(action), ..Step::default() });
        }
        self.wake(due + INTERRUPT_EVERY);
    }

    /// The time of some messages is over. One that is being typed is taken back if that can still be done.
    fn expire(&mut self, agent: &Agent, world: &World) {
        for message in &world.expired {
            if message.state == MessageState::Queued {
                let over = message.in_state(MessageState::Expired, None);
                let sender =
                    world.senders.iter().find(|it| message.from.actor == Actor::Agent(it.id));
                let notice = bad_news(&over, sender);
                let event = Event { agent: Some(agent.id), ..event(agent, told(&over)) };
                self.steps.push(Step {
                    record: Some(Record::Message(Box::new(over))),
                    event: Some(event),
                    action: None,
                });
                let notice = notice.map(|it| Record::Notice(Box::new(it)));
                self.steps.push(Step { record: notice, ..Step::default() });
            } else if message.recall.is_none() {
                let recalled = Message { recall: Some(Recall::Expired), ..message.clone() };
                let record = Some(Record::Message(Box::new(recalled)));
                let action =
                    message.delivery.map(|delivery| Action::Recall { agent: agent.id, delivery });
                self.steps.push(Step { record, event: None, action });
            }
        }
    }
}

/// Returns whether a delivery is to be taken back, if it comes back unread, for a message that is to be read first:
/// they then go together, in the order in which they are read.
fn makes_way(world: &World, delivery: &Delivery, now: Timestamp) -> bool {
    let is_taken = delivery.state == DeliveryState::Claimed;
    world.interrupt.is_some() && is_taken && now >= delivery.since + ANSWERS_WITHIN
}

fn settle(agent: &Agent, delivery: &Delivery) -> Action {
    Action::SettleDelivery { agent: Box::new(agent.clone()), delivery: Box::new(delivery.clone()) }
}

#[cfg(test)]
mod tests;
