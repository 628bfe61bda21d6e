//! The keeper: it has agents launched, watched over and ended, each by a worker of its own.
//!
//! It decides nothing: what is to be done comes from the kernel, and what is seen goes to it. What it
//! knows can be lost at any time; a survey finds it again.

mod adopt;
mod clear;
mod desk;
mod house;
mod launch;
mod mail;
mod prepare;
mod saying;
mod settle;
mod starting;
mod status;
mod survey;
mod telling;
mod tickets;
mod typing;
mod usage;
mod watch;
mod worker;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use cmux_core::agent::{Agent, Intent, LifeState};
use cmux_core::id::AgentId;
use cmux_core::plan::Action;
use cmux_core::project::ProjectId;
use cmux_core::report::Report;
use cmux_drivers::tmux::TmuxError;
use cmux_drivers::tmux::pane::Pane;
use cmux_store::{agents, projects};
use tokio::sync::{mpsc, oneshot};
use tokio::time::{MissedTickBehavior, interval, timeout};
use tracing::{error, warn};

pub(crate) use self::desk::{Desk, path};
pub(crate) use self::house::House;
pub(crate) use self::mail::transcript_of;
pub(crate) use self::watch::Known;
use self::worker::{Job, Worker};

/// How many orders may wait.
const ORDERS_MAX: usize = 1024;

/// How many jobs may wait for one worker.
const JOBS_MAX: usize = 64;

/// How often everything is looked at, whatever was heard.
const SURVEY_EVERY: Duration = Duration::from_secs(10);

/// How often what nobody needs any more is cleared away.
const CLEAR_EVERY: Duration = Duration::from_hours(1);

/// How long a worker may take to tell what it knows: it may be busy with ending its agent.
const WHY_WITHIN: Duration = Duration::from_secs(3);

/// How many agents live in one tmux server, before the next gets a server of its own.
const SERVER_AGENTS_MAX: usize = 100;

/// How many servers a project may have.
const SERVERS_MAX: usize = 16;

/// What the keeper is told.
#[derive(Debug)]
enum Order {
    /// What the kernel has planned.
    Act(Action),
    /// A server's panes were looked at.
    Seen { server: PathBuf, panes: Vec<Pane> },
    /// A server that was there is gone.
    Lost { server: PathBuf },
    /// An agent lives, and should be watched over.
    Attend(Box<Agent>),
    /// A worker has nothing more to do, and this was told to it too late.
    Left { agent: AgentId, jobs: Vec<Job> },
    /// Somebody wants to talk to the server at this socket.
    House { server: PathBuf, reply: oneshot::Sender<Option<House>> },
    /// Somebody wants to talk to an agent's worker.
    Tell { agent: AgentId, job: Job },
    /// A pane of a person's server is an agent's from now on, or is not any more.
    Adopt(adopt::Order),
    /// No agent lives in this server of a person's any more.
    Vacant { server: PathBuf },
}

/// A way to the keeper.
#[derive(Clone, Debug)]
pub(crate) struct Orders(mpsc::Sender<Order>);

impl Orders {
    /// Hands over what the kernel has planned, unless too much waits already.
    pub(crate) fn act(&self, action: Action) -> bool {
        self.0.try_send(Order::Act(action)).is_ok()
    }

    async fn give(&self, order: Order) {
        // Nobody is there to take it when the daemon ends.
        let _ = self.0.send(order).await;
    }

    /// Returns the tmux server at `socket`, if there are agents in it.
    pub(crate) async fn house(&self, socket: &Path) -> Option<House> {
        let (reply, answer) = oneshot::channel();
        self.give(Order::House { server: socket.to_owned(), reply }).await;
        answer.await.ok().flatten()
    }

    /// Returns what is known of how `agent` is, if it is watched over.
    pub(crate) async fn why(&self, agent: AgentId) -> Option<Known> {
        let (reply, answer) = oneshot::channel();
        self.tell(agent, Job::Why(reply)).await;
        timeout(WHY_WITHIN, answer).await.ok()?.ok()
    }

    /// Has the worker of `agent` know what its hooks have just told.
    pub(crate) async fn hooked(&self, agent: Agent) {
        self.tell(agent.id, Job::Stored(Box::new(agent))).await;
    }

    /// Tells the worker of `agent` something.
    async fn tell(&self, agent: AgentId, job: Job) {
        self.give(Order::Tell { agent, job }).await;
    }
}

/// Starts the keeper, and returns the way to it.
pub(crate) fn start(desk: Desk) -> Orders {
    let (sender, receiver) = mpsc::channel(ORDERS_MAX);
    let orders = Orders(sender);
    let keeper = Keeper {
        desk: Arc::new(desk),
        orders: orders.clone(),
        houses: BTreeMap::new(),
        workers: BTreeMap::new(),
        lives: BTreeMap::new(),
        knows_what_was_read: false,
    };
    tokio::spawn(keeper.work(receiver));
    orders
}

struct Keeper {
    desk: Arc<Desk>,
    orders: Orders,
    houses: BTreeMap<PathBuf, House>,
    workers: BTreeMap<AgentId, mpsc::Sender<Job>>,
    /// Which server each agent was last put into, or found in.
    lives: BTreeMap<AgentId, PathBuf>,
    /// Whether the store knows what was read before it was restored.
    knows_what_was_read: bool,
}

impl Keeper {
    async fn work(mut self, mut orders: mpsc::Receiver<Order>) {
        self.knows_what_was_read = tickets::tend(&self.desk).await;
        self.find_all().await;
        let mut survey = interval(SURVEY_EVERY);
        survey.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut clear = interval(CLEAR_EVERY);
        clear.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                order = orders.recv() => match order {
                    Some(order) => self.take(order).await,
                    None => return,
                },
                _ = survey.tick() => {
                    if !self.knows_what_was_read {
                        self.knows_what_was_read = tickets::tend(&self.desk).await;
                    }
                    self.survey_all();
                }
                _ = clear.tick() => {
                    let desk = self.desk.clone();
                    tokio::spawn(async move { tickets::clear_away(&desk).await });
                }
            }
        }
    }

    /// Finds the servers that there may be, and the agents that there should be.
    async fn find_all(&mut self) {
        let found =
            self.desk.readers.read(|view| Ok((projects::all(view)?, agents::living(view)?)));
        let (projects, living) = match found.await {
            Ok(found) => found,
            Err(error) => {
                error!(%error, "it could not be read which agents there are");
                return;
            }
        };
        for project in projects {
            for number in 1..=SERVERS_MAX {
                let Ok(socket) = self.desk.socket(&project.id, number) else { break };
                if socket.exists()
                    && let Err(error) = self.open(&project.id, number)
                {
                    warn!(%error, "agents may live where they cannot be looked for");
                }
            }
        }
        for agent in living {
            self.attend(agent).await;
        }
        let desk = self.desk.clone();
        tokio::spawn(async move { usage::read_what_was_left(&desk).await });
    }

    async fn take(&mut self, order: Order) {
        match order {
            Order::Act(action) => self.act(action).await,
            Order::Seen { server, panes } => self.seen(&server, panes),
            Order::Lost { server } => {
                let server = server.display().to_string();
                self.desk.inbox.tell(Report::ServerLost { server });
            }
            Order::Attend(agent) => self.attend(*agent).await,
            Order::Left { agent, jobs } => {
                if self.workers.get(&agent).is_some_and(mpsc::Sender::is_closed) {
                    self.workers.remove(&agent);
                    self.lives.remove(&agent);
                }
                for job in jobs {
                    self.tell(agent, job).await;
                }
            }
            Order::House { server, reply } => {
                let _ = reply.send(self.houses.get(&server).cloned());
            }
            Order::Tell { agent, job } => self.tell_if_there(agent, job),
            Order::Adopt(order) => self.adopt(order).await,
            Order::Vacant { server } => {
                if !self.lives.values().any(|it| *it == server) {
                    self.houses.remove(&server);
                }
            }
        }
    }

    async fn act(&mut self, action: Action) {
        match action {
            Action::LaunchAgent { agent, run } => match self.place(&agent) {
                Ok(house) => {
                    self.lives.insert(agent.id, house.socket().to_owned());
                    let is_other = |it: &&House| {
                        it.project.as_ref() == Some(&agent.project) && it.socket() != house.socket()
                    };
                    let others = self.houses.values().filter(is_other).cloned().collect();
                    self.tell(agent.id, Job::Launch { agent, run, house, others }).await;
                }
                Err(error) => self.desk.not_launched(agent.id, run, &error),
            },
            Action::EndAgent { agent, run } => {
                let house = self.house_of(&agent);
                self.tell(agent.id, Job::End { agent, run, house }).await;
            }
            Action::InterruptAgent { agent, run, step } => {
                self.tell(agent.id, Job::Interrupt { run, step }).await;
            }
            Action::ClearRun { agent, run } => {
                let houses = self.houses_of(&agent);
                self.tell(agent.id, Job::Clear { agent, run, houses }).await;
            }
            Action::ForgetAgent { agent } => {
                let house = self.house_of(&agent);
                self.tell(agent.id, Job::Forget { agent, house }).await;
            }
            // It is planned again, until it is known what was read.
            Action::OfferMail { .. } | Action::Deliver { .. } | Action::SettleDelivery { .. }
                if !self.knows_what_was_read => {}
            Action::OfferMail { agent, run } => self.tell_if_there(agent, Job::OfferMail { run }),
            Action::Deliver { delivery, is_recalled, is_paused } => {
                let agent = delivery.agent;
                self.tell_if_there(agent, Job::Deliver { delivery, is_recalled, is_paused });
            }
            Action::Recall { agent, delivery } => self.tell_if_there(agent, Job::Recall(delivery)),
            Action::SettleDelivery { agent, delivery } => {
                let desk = self.desk.clone();
                tokio::spawn(async move { settle::settle(&desk, &agent, *delivery).await });
            }
            Action::LookAtProject { .. } | Action::TakeSnapshot { .. } => {}
        }
    }

    /// Has an agent watched over that lives already, or was about to.
    async fn attend(&mut self, agent: Agent) {
        let Some(life) = agent.live_life().cloned() else { return };
        match life.state {
            // What is not wanted any more is not launched; the kernel gives it up.
            LifeState::Launching if agent.intent != Intent::Run => {}
            LifeState::Launching => {
                let run = life.run;
                self.act(Action::LaunchAgent { agent: Box::new(agent), run }).await;
            }
            LifeState::Alive { .. } | LifeState::Ending { .. } => {
                if let Some(house) = self.house_of(&agent) {
                    self.lives.insert(agent.id, house.socket().to_owned());
                    self.tell(agent.id, Job::Attend { agent: Box::new(agent), house }).await;
                }
            }
            LifeState::Ended { .. } | LifeState::Over => {}
        }
    }

    /// Returns the server that an agent is to live in: the first of its project's with room.
    fn place(&mut self, agent: &Agent) -> Result<House, TmuxError> {
        let mut number = 1;
        loop {
            let socket = self.desk.socket(&agent.project, number)?;
            let others = self.lives.iter().filter(|(id, it)| **id != agent.id && **it == socket);
            if others.count() < SERVER_AGENTS_MAX || number >= SERVERS_MAX {
                break;
            }
            number += 1;
        }
        self.open(&agent.project, number)
    }

    /// Returns the server in the `number`th place of `project`, as one to talk to.
    fn open(&mut self, project: &ProjectId, number: usize) -> Result<House, TmuxError> {
        let server = self.desk.server(project, number)?;
        if let Some(house) = self.houses.get(server.socket()) {
            return Ok(house.clone());
        }
        let house = House::open(server, Some(project.clone()), &self.desk, self.orders.clone());
        self.houses.insert(house.socket().to_owned(), house.clone());
        Ok(house)
    }

    /// Returns the server that the store has an agent in.
    fn house_of(&mut self, agent: &Agent) -> Option<House> {
        let place = match &agent.life.as_ref()?.state {
            LifeState::Alive { place, .. } | LifeState::Ending { place, .. } => Some(place),
            LifeState::Ended { place, .. } => place.as_ref(),
            LifeState::Launching | LifeState::Over => None,
        }?;
        let socket = Path::new(&place.server);
        if agent.adopted {
            return self.visit(socket);
        }
        for number in 1..=SERVERS_MAX {
            if self.desk.socket(&agent.project, number).ok()? == socket {
                return self.open(&agent.project, number).ok();
            }
        }
        self.houses.get(socket).cloned()
    }

    /// Returns the servers in which something of an agent may be left.
    fn houses_of(&mut self, agent: &Agent) -> Vec<House> {
        let known = self.house_of(agent);
        if let Some(house) = known {
            return vec![house];
        }
        let is_its = |house: &&House| house.project.as_ref() == Some(&agent.project);
        self.houses.values().filter(is_its).filter(|_| !agent.adopted).cloned().collect()
    }

    /// Tells each worker how its pane is.
    fn seen(&self, server: &Path, panes: Vec<Pane>) {
        for pane in panes {
            let Some(tags) = &pane.tags else { continue };
            let is_here = self.lives.get(&tags.agent).is_some_and(|it| it == server);
            if let Some(worker) = self.workers.get(&tags.agent).filter(|_| is_here) {
                // The next look is as good.
                let _ = worker.try_send(Job::Pane(Box::new(pane)));
            }
        }
    }

    /// Gives a worker a job. One that has just left is followed by another.
    async fn tell(&mut self, agent: AgentId, job: Job) {
        let mut job = job;
        for _ in 0..2 {
            let worker = self.workers.entry(agent).or_insert_with(|| {
                let (sender, jobs) = mpsc::channel(JOBS_MAX);
                tokio::spawn(Worker::new(agent, &self.desk, self.orders.clone()).work(jobs));
                sender
            });
            match worker.try_send(job) {
                Ok(()) => return,
                Err(mpsc::error::TrySendError::Full(_)) => {
                    warn!(%agent, "too much waits for it; it is planned again when it is missed");
                    return;
                }
                Err(mpsc::error::TrySendError::Closed(back)) => {
                    self.workers.remove(&agent);
                    job = back;
                }
            }
        }
    }

    /// Gives a worker a job, if there is one: who is not watched over has nothing to hear.
    fn tell_if_there(&self, agent: AgentId, job: Job) {
        if let Some(worker) = self.workers.get(&agent) {
            let _ = worker.try_send(job);
        }
    }

    fn survey_all(&self) {
        for house in self.houses.values() {
            if let Some(survey) = house.begin_survey() {
                let (desk, orders) = (self.desk.clone(), self.orders.clone());
                tokio::spawn(survey::survey(desk, house.clone(), orders, survey));
            }
        }
    }
}
