//! The agent's mail in the story: what lies at its prompt and on the disk, and what must be true in the end.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use cmux_core::delivery::{Delivery, Sighted, Unused};
use cmux_core::event::Actor;
use cmux_core::id::{DeliveryId, MessageId};
use cmux_core::message::{
    Body, Evidence, Message, MessageKind, MessageState, NewMessage, Recipient, Sender, USER,
};
use cmux_core::plan::Action;
use cmux_core::project::ProjectId;
use cmux_core::report::{Ask, Report};
use cmux_store::{StoreError, View, deliveries, messages};

use crate::{Fault, World};

/// How long the agent takes from what is pasted to having read it, in seconds.
const READS_AFTER_S: i64 = 3;

/// What was typed, taken and read, as the world has it.
#[derive(Default)]
pub(crate) struct Desk {
    /// What is at the prompt, and since when.
    holds: Option<(Delivery, i64)>,
    /// Those whose ticket the hook has, or nobody can have any more.
    claimed: BTreeSet<DeliveryId>,
    void: BTreeSet<DeliveryId>,
    /// What the model has read, in its order.
    transcript: Vec<(DeliveryId, Vec<MessageId>)>,
    /// What was sent, by key.
    sent: BTreeMap<&'static str, Option<Duration>>,
}

impl Desk {
    /// The process is gone, and what was at its prompt with it.
    pub(crate) fn clear(&mut self) {
        self.holds = None;
    }

    fn is_read(&self, id: DeliveryId) -> bool {
        self.transcript.iter().any(|(read, _)| *read == id)
    }
}

impl World {
    /// What is said to the agent, and what it reads.
    pub(crate) fn happen_to_mail(&mut self, second: i64) {
        match second {
            45 => self.send("first", None),
            // Together, and in order.
            60 => {
                self.send("second", None);
                self.send("third", None);
            }
            // It dies before it has read the one, and while the other waits, which nobody waits for long.
            88 => self.send("fourth", None),
            91 => self.send("short", Some(Duration::from_secs(1))),
            149 => self.send("fifth", None),
            200 => self.send("taken back", None),
            202 => self.cancel("taken back"),
            346 => self.send("too late", None),
            348 => self.send("regretted", None),
            352 => self.cancel("regretted"),
            _ => {}
        }
        self.read_on(second);
    }

    fn send(&mut self, key: &'static str, ttl: Option<Duration>) {
        self.desk.sent.insert(key, ttl);
        let new = NewMessage {
            project: ProjectId::of("/a"),
            from: Sender { actor: Actor::Operator, name: USER.to_owned() },
            to: Recipient::Agent { id: self.agent(), name: "worker".to_owned() },
            kind: MessageKind::Task,
            body: Body::new(key.to_owned()),
            reply_to: None,
            interrupt: false,
            key: Some(key.replace(' ', "-")),
            ttl,
        };
        self.wanted.push(Ask::SendMessage { new: Box::new(new) });
    }

    fn cancel(&mut self, key: &str) {
        if let Some(message) = self.sent(key) {
            self.wanted.push(Ask::CancelMessage { id: message.id });
        }
    }

    fn sent(&self, key: &str) -> Option<Message> {
        let key = key.replace(' ', "-");
        self.read(|view| messages::find_by_key(view, &Actor::Operator, &key))
    }

    /// The agent reads what was submitted, if its hook gets the ticket.
    fn read_on(&mut self, second: i64) {
        let is_due = |since: i64| second - since >= READS_AFTER_S;
        let Some((delivery, since)) = self.desk.holds.clone() else { return };
        if !is_due(since) {
            return;
        }
        self.desk.holds = None;
        if self.desk.void.contains(&delivery.id) || !self.desk.claimed.insert(delivery.id) {
            return;
        }
        self.desk.transcript.push((delivery.id, delivery.messages.clone()));
        self.report(vec![
            saw(&delivery, Sighted::Submitted),
            saw(&delivery, Sighted::Claimed),
            saw(&delivery, Sighted::Used(Evidence::Transcript)),
        ]);
    }

    /// Does as a worker does who has just looked.
    pub(crate) fn act_on_mail(&mut self, action: Action) -> Vec<Report> {
        match action {
            Action::OfferMail { agent, run } if self.lives.is_up(run) => {
                vec![Report::MailWanted { agent, run, mark: 0 }]
            }
            Action::Deliver { delivery, .. } if self.lives.is_up(delivery.run) => {
                self.deliver(&delivery)
            }
            Action::SettleDelivery { delivery, .. } => {
                let seen = match self.desk.is_read(delivery.id) {
                    true => Sighted::Used(Evidence::Transcript),
                    false => Sighted::Unused(Unused::RunOver),
                };
                self.desk.void.insert(delivery.id);
                vec![saw(&delivery, seen)]
            }
            Action::Recall { delivery, .. } => {
                let delivery = self.read(|view| deliveries::find(view, delivery));
                let delivery = delivery.filter(|it| !self.desk.claimed.contains(&it.id));
                let Some(delivery) = delivery else { return Vec::new() };
                self.desk.void.insert(delivery.id);
                vec![saw(&delivery, Sighted::Unused(Unused::Recalled))]
            }
            Action::OfferMail { .. }
            | Action::Deliver { .. }
            | Action::LookAtProject { .. }
            | Action::LaunchAgent { .. }
            | Action::EndAgent { .. }
            | Action::InterruptAgent { .. }
            | Action::ClearRun { .. }
            | Action::ForgetAgent { .. }
            | Action::TakeSnapshot { .. } => Vec::new(),
        }
    }

    /// Takes the step that is missing of a delivery.
    fn deliver(&mut self, delivery: &Delivery) -> Vec<Report> {
        if self.desk.is_read(delivery.id) {
            return vec![saw(delivery, Sighted::Used(Evidence::Transcript))];
        }
        if self.desk.void.contains(&delivery.id) {
            return vec![saw(delivery, Sighted::Unused(Unused::Recalled))];
        }
        if self.desk.holds.is_none() {
            self.desk.holds = Some((delivery.clone(), self.now.0 / 1_000));
        }
        vec![saw(delivery, Sighted::Typing)]
    }

    /// Whatever was lost between, none was lost, none was read twice, their order was kept, and who sent
    /// what was not read was told.
    pub(crate) fn check_mail(&self) {
        let fault = self.fault;
        let read: Vec<MessageId> =
            self.desk.transcript.iter().flat_map(|(_, it)| it.clone()).collect();
        let read: Vec<Message> = read
            .into_iter()
            .map(|id| self.read(|view| messages::find(view, id)).unwrap())
            .collect();
        assert!(
            read.is_sorted_by(|a, b| a.seq < b.seq),
            "{fault:?}: twice, or out of order: {read:?}"
        );
        for (&key, ttl) in &self.desk.sent {
            let message = self.sent(key).unwrap_or_else(|| panic!("{fault:?}: {key} is lost"));
            let is_read = read.iter().any(|it| it.id == message.id);
            let is_told = message.state == MessageState::Delivered;
            assert_eq!(is_read, is_told, "{fault:?}: {key}: {message:?}");
            let may_be = match key {
                "taken back" => [MessageState::Delivered, MessageState::Cancelled],
                "too late" => [MessageState::Failed; 2],
                "regretted" => [MessageState::Cancelled, MessageState::Failed],
                _ if ttl.is_some() => [MessageState::Delivered, MessageState::Expired],
                _ => [MessageState::Delivered; 2],
            };
            assert!(may_be.contains(&message.state), "{fault:?}: {key}: {message:?}");
            self.check_told_of(&message);
        }
        assert_eq!(self.read(deliveries::open), [], "{fault:?}");
        if fault == Fault::None {
            assert_eq!(self.rows("message.queued").len(), self.desk.sent.len() + 1);
            assert_eq!(self.desk.transcript.len(), 4, "{:?}", self.desk.transcript);
        }
    }

    /// Its sender was told once if it was not read and not taken back, and the log ends as it did.
    fn check_told_of(&self, message: &Message) {
        let fault = self.fault;
        let thread = messages::Filter { thread: Some(message.id), ..messages::Filter::default() };
        let thread = self.read(|view| messages::page(view, &thread, None, 9));
        let news = thread.iter().filter(|it| it.reply_to == Some(message.id)).count();
        let is_bad = [MessageState::Failed, MessageState::Expired].contains(&message.state);
        assert_eq!(news, usize::from(is_bad), "{fault:?}: {message:?}");
        let subject = Some(format!("message:{}", message.id));
        let rows = self.rows("message.");
        let kinds: Vec<&str> =
            rows.iter().filter(|row| row.subject == subject).map(|row| row.kind.as_str()).collect();
        assert_eq!(kinds.first(), Some(&"message.queued"), "{fault:?}: {kinds:?}");
        let last = format!("message.{}", message.state.name());
        assert_eq!(kinds.last(), Some(&last.as_str()), "{fault:?}: {kinds:?}");
        assert_eq!(kinds.iter().filter(|kind| **kind == last).count(), 1, "{fault:?}: {kinds:?}");
    }
}

/// Returns whether it is stored what is to be done with mail.
pub(crate) fn is_stored(view: View<'_>, action: &Action) -> Result<bool, StoreError> {
    match action {
        Action::Deliver { delivery, .. } | Action::SettleDelivery { delivery, .. } => {
            Ok(deliveries::find(view, delivery.id)?.as_ref() == Some(&**delivery))
        }
        Action::Recall { delivery, .. } => {
            let messages = messages::of_delivery(view, *delivery)?;
            Ok(messages.iter().any(|it| it.recall.is_some()))
        }
        Action::OfferMail { agent, .. } => messages::has_queued(view, *agent),
        Action::LookAtProject { .. }
        | Action::LaunchAgent { .. }
        | Action::EndAgent { .. }
        | Action::InterruptAgent { .. }
        | Action::ClearRun { .. }
        | Action::ForgetAgent { .. }
        | Action::TakeSnapshot { .. } => Ok(true),
    }
}

fn saw(delivery: &Delivery, seen: Sighted) -> Report {
    Report::DeliverySeen { delivery: delivery.id, attempt: delivery.attempt, seen }
}
