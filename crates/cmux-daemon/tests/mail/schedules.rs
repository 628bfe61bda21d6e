//! The kernel with its real store, and a world in which anything comes late, twice or never.
//!
//! Each schedule throws dice for what happens next: mail is sent, taken back and tried again, reports and
//! actions are lost, doubled and mixed up, the agent dies and the daemon does. Then all is quiet, and what
//! was promised must hold. `CMUX_SEED` tells one schedule again, `CMUX_STORE_SCHEDULES` tells so many.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use cmux_core::agent::{Intent, Sighting};
use cmux_core::delivery::{Delivery, Sighted, Ticket, Unused};
use cmux_core::event::Actor;
use cmux_core::id::{AgentId, DeliveryId, MessageId, RunId, TokenId};
use cmux_core::message::{Evidence, Message, MessageState, NewMessage, Sender};
use cmux_core::plan::Action;
use cmux_core::report::{Ask, Report};
use cmux_store::{deliveries, events, messages};
use ulid::Ulid;

use crate::house::{House, at_prompt, by, ended, launched, new, new_agent};

/// How many schedules are told in all if nobody says otherwise, in how many parts, so that they run side by side,
/// and how many are told in one house.
const SCHEDULES: u64 = 2_000;
const PARTS: u64 = 4;
const IN_ONE_HOUSE: u64 = 100;

/// How many things happen in one before all is quiet.
const STEPS: usize = 40;

#[test]
fn none_is_lost_none_is_read_twice_and_order_is_kept_whatever_happens_1() {
    tell_all(0);
}

#[test]
fn none_is_lost_none_is_read_twice_and_order_is_kept_whatever_happens_2() {
    tell_all(1);
}

#[test]
fn none_is_lost_none_is_read_twice_and_order_is_kept_whatever_happens_3() {
    tell_all(2);
}

#[test]
fn none_is_lost_none_is_read_twice_and_order_is_kept_whatever_happens_4() {
    tell_all(3);
}

/// Tells the schedules of one part, or the one that was asked for, after those before it in its house: what these
/// left there may have to do with it.
fn tell_all(part: u64) {
    let seeds = match std::env::var("CMUX_SEED") {
        Ok(seed) => {
            let seed: u64 = seed.parse().unwrap();
            seed / IN_ONE_HOUSE * IN_ONE_HOUSE..seed + 1
        }
        Err(_) => {
            let said = std::env::var("CMUX_STORE_SCHEDULES").map(|it| it.parse().unwrap());
            let share = said.unwrap_or(SCHEDULES).div_ceil(PARTS).next_multiple_of(IN_ONE_HOUSE);
            part * share..(part + 1) * share
        }
    };
    let mut house = House::new();
    for seed in seeds {
        if seed % IN_ONE_HOUSE == 0 {
            house = House::new();
        }
        let told = std::panic::AssertUnwindSafe(|| tell(&mut house, seed));
        if let Err(why) = std::panic::catch_unwind(told) {
            // It is printed where whoever reads the failure looks.
            assert!(why.is::<()>(), "this was the schedule of CMUX_SEED={seed}");
        }
    }
}

/// Tells one schedule, and checks that all is well when it is quiet.
fn tell(house: &mut House, seed: u64) {
    let mut world = World::new(house, seed);
    for _ in 0..STEPS {
        world.step();
        world.check_now();
    }
    world.come_to_rest();
    world.check_in_the_end();
    let World { agent, run, .. } = world;
    house.forget(agent, run);
    house.now = house.now + Duration::from_secs(60);
}

/// An agent, what lies at its prompt and on the disk, and what is on its way to and from the kernel.
struct World<'a> {
    house: &'a mut House,
    dice: Dice,
    agent: AgentId,
    /// The life that the store knows of, and whether its process is there.
    run: RunId,
    is_up: bool,
    /// What is at the prompt.
    holds: Option<DeliveryId>,
    /// The attempts at which something was pasted.
    pasted: BTreeSet<(DeliveryId, u32)>,
    tickets: BTreeMap<DeliveryId, Ticket>,
    /// What the model has read, in its order, by delivery.
    transcript: Vec<(DeliveryId, Vec<MessageId>)>,
    texts: BTreeMap<DeliveryId, Vec<MessageId>>,
    actions: Vec<Action>,
    reports: Vec<Report>,
    sent: Vec<MessageId>,
    keys: u64,
}

impl World<'_> {
    fn new(house: &mut House, seed: u64) -> World<'_> {
        house.start = house.newest();
        let (agent, run) = house.agent(new_agent(&format!("w{seed}")));
        World {
            house,
            dice: Dice(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1),
            agent,
            run,
            is_up: true,
            holds: None,
            pasted: BTreeSet::new(),
            tickets: BTreeMap::new(),
            transcript: Vec::new(),
            texts: BTreeMap::new(),
            actions: Vec::new(),
            reports: Vec::new(),
            sent: Vec::new(),
            keys: seed << 32,
        }
    }

    /// Something happens.
    fn step(&mut self) {
        match self.dice.below(24) {
            0..5 => self.send(),
            5 => self.cancel(),
            6 => self.retry(),
            7..12 => self.act_on_any(),
            12..17 => self.hear_any(),
            17..20 => self.read(),
            20 => self.die(),
            21 => {
                // Whoever was about to do or to say something dies with the daemon.
                self.actions.clear();
                self.reports.clear();
                self.house.rebirth();
                self.collect();
            }
            22 => {
                let seconds = 1 + self.dice.below(20);
                self.pass(seconds);
            }
            _ => self.pause(),
        }
    }

    fn send(&mut self) {
        self.keys += 1;
        let from = match self.dice.below(3) {
            0 => Sender { actor: Actor::Operator, name: "user".to_owned() },
            1 => by(AgentId::new(Ulid::from(3_u128)), "peer"),
            _ => {
                let actor = Actor::Token(TokenId::new(Ulid::from(4_u128)));
                Sender { actor, name: "ci".to_owned() }
            }
        };
        let ttl = (self.dice.below(8) == 0).then_some(Duration::from_secs(10));
        let new = NewMessage {
            from,
            ttl,
            interrupt: self.dice.below(6) == 0,
            key: Some(format!("k{}", self.keys)),
            ..new(self.agent, "text")
        };
        let ask = Ask::SendMessage { new: Box::new(new) };
        let mut ids = BTreeSet::new();
        for _ in 0..=self.dice.below(2) {
            ids.insert(self.message(ask.clone()).id);
        }
        assert_eq!(ids.len(), 1, "the same key was another message");
        self.sent.extend(ids);
    }

    fn cancel(&mut self) {
        let Some(id) = self.any_sent() else { return };
        // It may be too late.
        drop(self.house.ask(Ask::CancelMessage { id }));
        self.collect();
    }

    fn retry(&mut self) {
        let Some(id) = self.any_sent() else { return };
        drop(self.house.ask(Ask::RetryMessage { id }));
        self.collect();
    }

    fn any_sent(&mut self) -> Option<MessageId> {
        let n = self.dice.below(self.sent.len().max(1));
        self.sent.get(n).copied()
    }

    #[track_caller]
    fn message(&mut self, ask: Ask) -> Message {
        let message = self.house.message(ask);
        self.collect();
        message
    }

    /// Does something that is to be done: any of it, and maybe once more later. Some is never done.
    fn act_on_any(&mut self) {
        if self.actions.is_empty() {
            return;
        }
        let n = self.dice.below(self.actions.len());
        let action = match self.dice.below(4) {
            0 => self.actions[n].clone(),
            _ => self.actions.remove(n),
        };
        if self.dice.below(6) != 0 {
            self.act(action);
        }
    }

    /// Tells the kernel something that was seen: any of it, and maybe once more later. Some is never told.
    fn hear_any(&mut self) {
        if self.reports.is_empty() {
            return;
        }
        let n = self.dice.below(self.reports.len());
        let report = match self.dice.below(5) {
            0 => self.reports[n].clone(),
            _ => self.reports.remove(n),
        };
        if self.dice.below(8) != 0 {
            self.hear(report);
        }
    }

    fn hear(&mut self, report: Report) {
        self.house.tell(report);
        self.collect();
    }

    /// Takes note of what is to be done. The agent's life is kept in order; its mail is not.
    fn collect(&mut self) {
        while !self.house.actions.is_empty() {
            match self.house.actions.remove(0) {
                Action::LaunchAgent { run, .. } => {
                    (self.run, self.is_up, self.holds) = (run, true, None);
                    self.house.see(self.agent, run, launched());
                    self.house.see(self.agent, run, at_prompt());
                }
                Action::ClearRun { run, .. } => {
                    assert!(!(self.is_up && run == self.run), "what runs was cleared away");
                    self.house.see(self.agent, run, Sighting::Cleared);
                }
                action @ (Action::OfferMail { .. }
                | Action::Deliver { .. }
                | Action::SettleDelivery { .. }
                | Action::Recall { .. }) => self.actions.push(action),
                Action::LookAtProject { .. }
                | Action::EndAgent { .. }
                | Action::InterruptAgent { .. }
                | Action::ForgetAgent { .. }
                | Action::TakeSnapshot { .. } => {}
            }
        }
    }

    /// Does as a worker does who has just looked.
    fn act(&mut self, action: Action) {
        match action {
            Action::OfferMail { agent, run } => {
                if self.is_up && run == self.run && self.holds.is_none() {
                    self.reports.push(Report::MailWanted { agent, run, mark: 0 });
                }
            }
            Action::Deliver { delivery, .. } => self.deliver(&delivery),
            Action::SettleDelivery { delivery, .. } => {
                let ticket = self.ticket(delivery.id);
                let seen = match self.is_read(delivery.id) {
                    true => Sighted::Used(Evidence::Transcript),
                    false => Sighted::Unused(Unused::RunOver),
                };
                if ticket == Ticket::Open {
                    self.tickets.insert(delivery.id, Ticket::Void);
                }
                self.saw(delivery.id, delivery.attempt, seen);
            }
            Action::Recall { delivery, .. } => {
                let ticket = self.ticket(delivery);
                if ticket == Ticket::Claimed {
                    return;
                }
                self.tickets.insert(delivery, Ticket::Void);
                if self.holds == Some(delivery) {
                    self.holds = None;
                }
                self.saw(delivery, 1, Sighted::Unused(Unused::Recalled));
            }
            Action::LookAtProject { .. }
            | Action::LaunchAgent { .. }
            | Action::EndAgent { .. }
            | Action::InterruptAgent { .. }
            | Action::ClearRun { .. }
            | Action::ForgetAgent { .. }
            | Action::TakeSnapshot { .. } => {}
        }
    }

    /// Takes the step that is missing of a delivery.
    fn deliver(&mut self, delivery: &Delivery) {
        let Delivery { id, attempt, .. } = *delivery;
        if !self.is_up || delivery.run != self.run {
            return;
        }
        self.texts.insert(id, delivery.messages.clone());
        if self.is_read(id) {
            return self.saw(id, attempt, Sighted::Used(Evidence::Transcript));
        }
        match self.ticket(id) {
            Ticket::Void => self.saw(id, attempt, Sighted::Unused(Unused::Recalled)),
            Ticket::Absent | Ticket::Open | Ticket::Claimed if self.holds == Some(id) => {
                let seen = [Sighted::Typing, Sighted::Submitted][self.dice.below(2)].clone();
                self.saw(id, attempt, seen);
            }
            Ticket::Absent | Ticket::Open | Ticket::Claimed => {
                if !self.pasted.insert((id, attempt)) {
                    let why = "it is not at the prompt".to_owned();
                    return self.saw(id, attempt, Sighted::Again { why });
                }
                self.tickets.insert(id, Ticket::Open);
                // It may get lost on its way, or a person may take it away.
                self.holds = (self.dice.below(5) != 0).then_some(id);
            }
        }
    }

    /// The agent submits what is at its prompt: its hook takes the ticket, or the model does not get it.
    fn read(&mut self) {
        let Some(id) = self.holds.take().filter(|_| self.is_up) else { return };
        if self.ticket(id) != Ticket::Open {
            return;
        }
        self.tickets.insert(id, Ticket::Claimed);
        self.transcript.push((id, self.texts[&id].clone()));
        let seen = [Sighted::Claimed, Sighted::Used(Evidence::Turn)][self.dice.below(2)].clone();
        self.saw(id, 1, seen);
    }

    fn saw(&mut self, delivery: DeliveryId, attempt: u32, seen: Sighted) {
        self.reports.push(Report::DeliverySeen { delivery, attempt, seen });
    }

    fn ticket(&self, id: DeliveryId) -> Ticket {
        self.tickets.get(&id).copied().unwrap_or(Ticket::Absent)
    }

    fn is_read(&self, id: DeliveryId) -> bool {
        self.transcript.iter().any(|(read, _)| *read == id)
    }

    fn die(&mut self) {
        if self.is_up {
            (self.is_up, self.holds) = (false, None);
            self.house.see(self.agent, self.run, ended());
            self.collect();
        }
    }

    fn pause(&mut self) {
        let intent = if self.dice.below(2) == 0 { Intent::Pause } else { Intent::Run };
        self.want(intent);
    }

    fn want(&mut self, intent: Intent) {
        drop(self.house.ask(Ask::WantAgent { id: self.agent, intent }));
        self.collect();
    }

    fn pass(&mut self, seconds: usize) {
        self.house.pass(Duration::from_secs(seconds as u64));
        self.collect();
    }

    /// From here on nothing is lost, until there is nothing more to do.
    fn come_to_rest(&mut self) {
        self.want(Intent::Run);
        for _ in 0..400 {
            for report in std::mem::take(&mut self.reports) {
                self.hear(report);
            }
            for action in std::mem::take(&mut self.actions) {
                self.act(action);
                self.read();
            }
            let open = self.house.read(|view| messages::open_of(view, self.agent));
            if open.is_empty() && self.reports.is_empty() && self.is_up {
                return;
            }
            self.pass(16);
        }
        let open = self.house.read(|view| messages::open_of(view, self.agent));
        panic!("it does not come to rest: {open:?}");
    }

    /// What holds at every moment: nothing was read twice, and what is delivered was read.
    fn check_now(&self) {
        let read: Vec<MessageId> = self.transcript.iter().flat_map(|(_, it)| it.clone()).collect();
        let once: BTreeSet<MessageId> = read.iter().copied().collect();
        assert_eq!(once.len(), read.len(), "something was read twice: {:?}", self.transcript);
        let read = |it: &Message| it.state == MessageState::Delivered;
        for message in self.mail().into_iter().filter(read) {
            assert!(once.contains(&message.id), "{message:?} was not read");
        }
    }

    /// Returns all mail of the agent.
    fn mail(&self) -> Vec<Message> {
        let filter = messages::Filter { to_agent: Some(self.agent), ..messages::Filter::default() };
        self.house.read(|view| messages::page(view, &filter, None, 1000))
    }

    fn check_in_the_end(&self) {
        self.check_now();
        let mut last: BTreeMap<String, i64> = BTreeMap::new();
        for id in self.transcript.iter().flat_map(|(_, it)| it) {
            let message = self.house.stored(*id);
            assert_eq!(message.state, MessageState::Delivered, "{message:?} was read");
            let before = last.insert(message.from.name.clone(), message.seq).unwrap_or_default();
            assert!(before < message.seq, "{message:?} was read too late");
        }
        let open = self.house.read(|view| deliveries::open_of(view, self.agent));
        assert_eq!(open, None);
        let mail = self.mail();
        let kept: BTreeSet<MessageId> = mail.iter().map(|it| it.id).collect();
        assert_eq!(kept, self.sent.iter().copied().collect(), "not all is there");
        for message in &mail {
            assert!(message.state.is_over(), "{message:?}");
            self.check_told(message);
        }
    }

    /// No state comes out of nothing, and the last that was told is the one that is stored.
    fn check_told(&self, message: &Message) {
        let subject = Some(format!("message:{}", message.id));
        let any =
            events::Filter { agent: Some(self.agent.to_string()), ..events::Filter::default() };
        let rows = self.house.read(|view| events::after(view, self.house.start, 1000, &any));
        let mut state = "";
        for row in rows.iter().filter(|row| row.subject == subject) {
            let next = row.kind.trim_start_matches("message.");
            assert!(follows(state, next), "{state} -> {next}: {message:?}");
            state = next;
        }
        assert_eq!(state, message.state.name());
    }
}

/// Returns whether a message may be told to be in the state `next` after what was told `before`.
fn follows(before: &str, next: &str) -> bool {
    match before {
        "" | "retried" => next == "queued",
        "queued" => ["typing", "cancelled", "expired", "failed"].contains(&next),
        "failed" | "cancelled" | "expired" => next == "retried",
        "delivered" => false,
        _ => next != "retried",
    }
}

/// A row of dice that falls the same way each time: what fails once fails again.
struct Dice(u64);

impl Dice {
    /// Returns a number below `end`.
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % end as u64).unwrap()
    }
}
