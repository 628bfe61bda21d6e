//! The store and the kernel, in memory: each report is one turn, which is kept as a whole or not at all.

use cmux_core::agent::{Agent, AgentName, Intent, LifeState, Setup, Sighting};
use cmux_core::delivery::{Delivery, DeliveryState, Sighted};
use cmux_core::event::Actor;
use cmux_core::id::{AgentId, DeliveryId, MessageId, NewIds, RunId};
use cmux_core::mail;
use cmux_core::message::{
    Body, Message, MessageKind, MessageState, NewMessage, Recall, Recipient, Sender,
};
use cmux_core::plan::{self, Action, Record};
use cmux_core::project::ProjectId;
use cmux_core::report::NewAgent;
use cmux_core::restart::RestartPolicy;
use cmux_core::time::Timestamp;
use ulid::Ulid;

/// What is kept.
#[derive(Clone, Debug)]
pub(crate) struct Store {
    pub(crate) agent: Agent,
    pub(crate) messages: Vec<Message>,
    pub(crate) deliveries: Vec<Delivery>,
    /// What senders were told of messages that will not be read.
    notices: Vec<NewMessage>,
    /// What somebody wanted to have read after all.
    pub(crate) retried: Vec<MessageId>,
    pub(crate) wake_at: Option<Timestamp>,
    seq: i64,
    ids: Ids,
}

/// Ids one after another.
#[derive(Clone, Debug)]
pub(crate) struct Ids(u128);

impl NewIds for Ids {
    fn ulid(&mut self) -> Ulid {
        self.0 += 1;
        Ulid::from(self.0)
    }
}

/// What the kernel is told.
#[derive(Clone, Debug)]
pub(crate) enum Heard {
    Started,
    Due,
    Sent {
        from: u128,
        interrupt: bool,
        ttl_ms: Option<u64>,
    },
    Cancelled {
        message: MessageId,
    },
    Retried {
        message: MessageId,
    },
    Agent {
        run: RunId,
        sighting: Sighting,
    },
    /// The person has the agent run from now on.
    Wanted,
    /// The person has it begin another life.
    Restarted,
    MailWanted {
        run: RunId,
        mark: u64,
    },
    Seen {
        delivery: DeliveryId,
        attempt: u32,
        seen: Sighted,
    },
}

/// What came of a turn.
#[derive(Clone, Debug, Default)]
pub(crate) struct Turn {
    pub(crate) actions: Vec<Action>,
    pub(crate) delivery: Option<Delivery>,
    /// Which messages were given up.
    pub(crate) failed: Vec<MessageId>,
    /// What is wrong with what senders were told.
    pub(crate) unfair: Option<String>,
}

impl Store {
    pub(crate) fn new(now: Timestamp) -> Store {
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
        let agent = Agent::new(AgentId::new(Ulid::from(1_u128)), new, now);
        Store {
            agent,
            messages: Vec::new(),
            deliveries: Vec::new(),
            notices: Vec::new(),
            retried: Vec::new(),
            wake_at: Some(now),
            seq: 0,
            ids: Ids(100),
        }
    }

    /// Takes what was heard, and what is due, into one commit.
    pub(crate) fn turn(&mut self, heard: Heard, now: Timestamp, dice: u64) -> Turn {
        let mut turn = Turn::default();
        let before: Vec<MessageState> = self.messages.iter().map(|it| it.state).collect();
        self.notices.clear();
        match heard {
            Heard::Started => self.doubt(now),
            Heard::Due => {}
            Heard::Sent { from, interrupt, ttl_ms } => self.send(from, interrupt, ttl_ms, now),
            Heard::Cancelled { message } => turn.actions.extend(self.cancel(message)),
            Heard::Retried { message } => self.retry(message),
            Heard::Agent { run, sighting } => {
                let policy = RestartPolicy::default();
                if let Ok(agent) = self.agent.after(run, sighting, now, &policy, dice) {
                    self.agent = agent;
                }
            }
            Heard::Restarted => self.agent = self.agent.restarted(now),
            Heard::Wanted => self.agent = self.agent.asked(Intent::Run, now),
            Heard::MailWanted { run, mark } => turn.delivery = self.wanted(run, mark, now),
            Heard::Seen { delivery, attempt, seen } => {
                self.seen(delivery, attempt, &seen, now);
                turn.delivery = self.delivery(delivery).cloned();
            }
        }
        self.plan(&mut turn, now);
        self.judge(&mut turn, &before);
        turn
    }

    /// Sees which messages were given up since `before`, and whether just the senders of those that will not be
    /// read were told.
    fn judge(&self, turn: &mut Turn, before: &[MessageState]) {
        let mut told: Vec<(MessageId, &Recipient)> =
            self.notices.iter().map(|it| (it.reply_to.unwrap(), &it.to)).collect();
        for (message, before) in self.messages.iter().zip(before) {
            let is_unread = matches!(message.state, MessageState::Failed | MessageState::Expired);
            if !is_unread || message.state == *before {
                continue;
            }
            if message.state == MessageState::Failed {
                turn.failed.push(message.id);
            }
            let is_told = |(of, to): &(MessageId, &Recipient)| {
                *of == message.id && to.agent() == sender_of(&message.from.actor)
            };
            match told.iter().position(is_told) {
                Some(at) => drop(told.remove(at)),
                None => turn.unfair = Some(format!("nobody told who sent {}", message.id)),
            }
        }
        if let Some((of, _)) = told.first() {
            turn.unfair = Some(format!("it was told of {of} that it is not read"));
        }
    }

    pub(crate) fn delivery(&self, id: DeliveryId) -> Option<&Delivery> {
        self.deliveries.iter().find(|it| it.id == id)
    }

    pub(crate) fn open(&self) -> Option<&Delivery> {
        self.deliveries.iter().find(|it| !it.state.is_settled())
    }

    /// Returns the latest delivery to a life.
    pub(crate) fn last_of(&self, run: RunId) -> Option<&Delivery> {
        self.deliveries.iter().rev().find(|it| it.run == run)
    }

    pub(crate) fn is_recalled(&self, delivery: &Delivery) -> bool {
        self.messages.iter().any(|it| delivery.messages.contains(&it.id) && it.recall.is_some())
    }

    /// Loses what nobody wrote down: a delivery of which nothing was told yet, as if there had been none.
    pub(crate) fn lose_untold(&mut self) {
        for delivery in &mut self.deliveries {
            if delivery.state != DeliveryState::Typing || delivery.attempt > 1 {
                continue;
            }
            delivery.state = DeliveryState::Unused;
            for message in self.messages.iter_mut().filter(|it| delivery.messages.contains(&it.id))
            {
                *message = message.in_state(MessageState::Queued, None);
            }
        }
    }

    fn doubt(&mut self, now: Timestamp) {
        for delivery in &mut self.deliveries {
            let Some(doubted) = delivery.doubted(now) else { continue };
            for message in self.messages.iter_mut().filter(|it| doubted.messages.contains(&it.id)) {
                *message = message.in_state(MessageState::InDoubt, None);
            }
            *delivery = doubted;
        }
    }

    fn send(&mut self, from: u128, interrupt: bool, ttl_ms: Option<u64>, now: Timestamp) {
        let actor = match from {
            0 => Actor::Operator,
            _ => Actor::Agent(sender(from)),
        };
        let new = NewMessage {
            project: self.agent.project.clone(),
            from: Sender { actor, name: format!("from{from}") },
            to: Recipient::Agent { id: self.agent.id, name: "worker".to_owned() },
            kind: MessageKind::Task,
            body: Body::new("do".to_owned()),
            reply_to: None,
            interrupt,
            key: None,
            ttl: ttl_ms.map(std::time::Duration::from_millis),
        };
        self.add(new, now);
    }

    fn add(&mut self, new: NewMessage, now: Timestamp) {
        self.seq += 1;
        let id = MessageId::new(self.ids.ulid());
        self.messages.push(Message::new(id, self.seq, new, None, now));
    }

    fn cancel(&mut self, id: MessageId) -> Option<Action> {
        let agent = self.agent.id;
        let message = self.messages.iter_mut().find(|it| it.id == id)?;
        match message.state {
            MessageState::Queued => {
                *message = message.in_state(MessageState::Cancelled, None);
                None
            }
            MessageState::Typing
            | MessageState::Submitted
            | MessageState::Claimed
            | MessageState::InDoubt => {
                message.recall = Some(Recall::Cancelled);
                Some(Action::Recall { agent, delivery: message.delivery? })
            }
            MessageState::Delivered
            | MessageState::Failed
            | MessageState::Cancelled
            | MessageState::Expired => None,
        }
    }

    fn retry(&mut self, id: MessageId) {
        let Some(message) = self.messages.iter_mut().find(|it| it.id == id) else { return };
        match message.state {
            MessageState::Failed | MessageState::Cancelled | MessageState::Expired => {
                self.seq += 1;
                self.retried.push(id);
                let again = message.in_state(MessageState::Queued, None);
                *message = Message { seq: self.seq, expires_at: None, attempts: 0, ..again };
            }
            MessageState::Queued
            | MessageState::Typing
            | MessageState::Submitted
            | MessageState::Claimed
            | MessageState::Delivered
            | MessageState::InDoubt => {}
        }
    }

    fn wanted(&mut self, run: RunId, mark: u64, now: Timestamp) -> Option<Delivery> {
        let is_live = self.agent.live_life().is_some_and(|life| life.run == run);
        if !is_live || self.agent.intent != Intent::Run || self.open().is_some() {
            return None;
        }
        let is_queued = |it: &&Message| it.state == MessageState::Queued;
        let waiting: Vec<Message> = self.messages.iter().filter(is_queued).cloned().collect();
        let id = DeliveryId::new(self.ids.ulid());
        let made = mail::make(id, &self.agent, run, waiting, "/a", mark, now)?;
        for message in self.messages.iter_mut().filter(|it| made.messages.contains(&it.id)) {
            *message = mail::typed(message, id);
        }
        self.deliveries.push(made.clone());
        Some(made)
    }

    fn seen(&mut self, id: DeliveryId, attempt: u32, seen: &Sighted, now: Timestamp) {
        let Some(delivery) = self.deliveries.iter_mut().find(|it| it.id == id) else { return };
        let Ok(after) = delivery.after(attempt, seen, now) else { return };
        *delivery = after.clone();
        let senders = self.senders();
        for message in self.messages.iter_mut().filter(|it| after.messages.contains(&it.id)) {
            *message = mail::after(message, &after, seen, now);
            if matches!(message.state, MessageState::Failed | MessageState::Expired) {
                let is_it = |it: &&Agent| sender_of(&message.from.actor) == Some(it.id);
                self.notices.extend(mail::bad_news(message, senders.iter().find(is_it)));
            }
        }
    }

    fn plan(&mut self, turn: &mut Turn, now: Timestamp) {
        let policy = RestartPolicy::default();
        let lives = plan::agents::plan(&self.agent, &policy, now, &mut self.ids);
        let mail = plan::mail::plan(&self.agent, &self.mail(now), now);
        let plan = lives.and(mail);
        self.wake_at = plan.wake_at;
        for step in plan.steps {
            match step.record {
                Some(Record::Agent(agent)) => self.agent = *agent,
                Some(Record::Message(after)) => {
                    let at = self.messages.iter().position(|it| it.id == after.id).unwrap();
                    self.messages[at] = *after;
                }
                Some(Record::Notice(new)) => self.notices.push(*new),
                Some(other) => panic!("{other:?}"),
                None => {}
            }
            turn.actions.extend(step.action);
        }
    }

    fn mail(&self, now: Timestamp) -> plan::mail::World {
        let queued = || self.messages.iter().filter(|it| it.state == MessageState::Queued);
        let timed = || self.messages.iter().filter(|it| !it.state.is_over() && it.recall.is_none());
        plan::mail::World {
            has_mail: queued().next().is_some(),
            open: self.open().cloned(),
            is_recalled: self.open().is_some_and(|it| self.is_recalled(it)),
            interrupt: queued().find(|it| it.interrupt).cloned(),
            expired: timed()
                .filter(|it| it.expires_at.is_some_and(|at| at <= now))
                .cloned()
                .collect(),
            next_expiry: timed().filter_map(|it| it.expires_at).filter(|at| *at > now).min(),
            senders: self.senders(),
        }
    }

    /// Returns the agents that send.
    fn senders(&self) -> Vec<Agent> {
        (1..=2).map(|from| Agent { id: sender(from), ..self.agent.clone() }).collect()
    }

    /// Returns whether the agent's process should be there by what is stored.
    pub(crate) fn live_run(&self) -> Option<(RunId, bool)> {
        let life = self.agent.live_life()?;
        Some((life.run, life.state == LifeState::Launching))
    }

    /// Returns whether all mail has come to its end.
    pub(crate) fn is_at_rest(&self) -> bool {
        self.messages.iter().all(|it| it.state.is_over())
            && self
                .deliveries
                .iter()
                .all(|it| matches!(it.state, DeliveryState::Used | DeliveryState::Unused))
    }
}

/// Returns the agent that sends as number `from`.
fn sender(from: u128) -> AgentId {
    AgentId::new(Ulid::from(from + 10))
}

/// Returns the agent that somebody is, if they are one.
fn sender_of(actor: &Actor) -> Option<AgentId> {
    match actor {
        Actor::Agent(id) => Some(*id),
        Actor::Operator | Actor::Token(_) | Actor::Webhook(_) | Actor::Cmux => None,
    }
}
