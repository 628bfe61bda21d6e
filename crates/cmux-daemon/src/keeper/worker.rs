//! A worker: it launches one agent, watches over it, and ends it, one job after another.

use std::sync::Arc;
use std::time::Duration;

use cmux_core::agent::{Agent, LifeState, Sighting};
use cmux_core::delivery::Delivery;
use cmux_core::id::{AgentId, DeliveryId, RunId};
use cmux_core::plan::Action;
use cmux_drivers::tmux::pane::{Pane, Tags};
use cmux_drivers::tmux::{TmuxError, visit};
use tokio::sync::{mpsc, oneshot};
use tokio::task::spawn_blocking;
use tokio::time::{Instant, sleep};
use tracing::{debug, warn};

use super::adopt::Done;
use super::clear;
use super::house::{ANSWER_WITHIN, House};
use super::launch::{self, NotLaunched};
use super::prepare::make_folder;
use super::watch::{Known, Watch};
use super::{Desk, Order, Orders};

/// When a launch is tried again that tmux did not answer to.
const LAUNCH_AGAIN: Duration = Duration::from_secs(2);

/// What a step begins with by which an agent is interrupted for a message.
const FOR_MAIL: &str = "interrupt-msg_";

/// What a worker is to do.
#[derive(Debug)]
pub(crate) enum Job {
    Launch {
        agent: Box<Agent>,
        run: RunId,
        house: House,
        /// Where else in its project it might live already.
        others: Vec<House>,
    },
    /// Watch over an agent that lives already.
    Attend {
        agent: Box<Agent>,
        house: House,
    },
    End {
        agent: Box<Agent>,
        run: RunId,
        house: Option<House>,
    },
    Interrupt {
        run: RunId,
        step: String,
    },
    /// Have the agent ask for its mail.
    OfferMail {
        run: RunId,
    },
    /// Type a delivery, or go on with it.
    Deliver {
        delivery: Box<Delivery>,
        is_recalled: bool,
        is_paused: bool,
    },
    /// Take a delivery back.
    Recall(DeliveryId),
    /// See to it that nothing is left in these servers.
    Clear {
        agent: Box<Agent>,
        run: RunId,
        houses: Vec<House>,
    },
    /// Have a pane of a person's carry its tags, if it is still as it was seen, and watch over it.
    Adopt {
        agent: Box<Agent>,
        seen: Box<Pane>,
        house: House,
        reply: Done,
    },
    /// Leave an adopted agent to itself.
    Release {
        agent: Box<Agent>,
        house: Option<House>,
        reply: Done,
    },
    /// Do away with all that was kept for an agent that is forgotten.
    Forget {
        agent: Box<Agent>,
        house: Option<House>,
    },
    /// This is how its pane was when it was last looked at.
    Pane(Box<Pane>),
    /// This is what the store has of it.
    Stored(Box<Agent>),
    /// Somebody wants to know what was seen of it.
    Why(oneshot::Sender<Known>),
}

/// Who tends one agent.
pub(super) struct Worker {
    id: AgentId,
    desk: Arc<Desk>,
    orders: Orders,
    watch: Option<Watch>,
}

impl Worker {
    pub(super) fn new(id: AgentId, desk: &Arc<Desk>, orders: Orders) -> Worker {
        Worker { id, desk: desk.clone(), orders, watch: None }
    }

    /// Does each job as it comes, until nothing is left to watch over.
    pub(super) async fn work(mut self, mut jobs: mpsc::Receiver<Job>) {
        loop {
            let is_over = tokio::select! {
                // What was told comes before what is typed.
                biased;
                job = jobs.recv() => match job {
                    Some(job) => self.take(job).await,
                    None => return,
                },
                () = ended(self.watch.as_ref()) => self.died().await,
                () = due(self.watch.as_ref().and_then(Watch::look_at)) => {
                    self.look().await;
                    false
                }
                () = due(self.watch.as_ref().and_then(|watch| watch.mail.at())) => {
                    self.deliver().await;
                    false
                }
                () = due(self.watch.as_ref().and_then(|watch| watch.ledger.at())) => {
                    self.read_usage().await;
                    false
                }
            };
            if is_over && self.watch.is_none() {
                break;
            }
        }
        jobs.close();
        let mut late = Vec::new();
        while let Some(job) = jobs.recv().await {
            late.push(job);
        }
        self.orders.give(Order::Left { agent: self.id, jobs: late }).await;
    }

    /// Does a job, and returns whether it may have been the last.
    async fn take(&mut self, job: Job) -> bool {
        match job {
            Job::Launch { agent, run, house, others } => {
                self.launch(&agent, run, house, &others).await;
            }
            Job::Attend { agent, house } => self.attend(&agent, house),
            Job::End { agent, run, house } => self.end(&agent, run, house).await,
            Job::Interrupt { run, step } => {
                if let Some(watch) = self.watch.as_mut().filter(|watch| watch.run == run) {
                    match step.starts_with(FOR_MAIL) {
                        true => watch.interrupt_for_mail(&step, &self.desk).await,
                        false => watch.interrupt(step).await,
                    }
                }
            }
            Job::OfferMail { run } => {
                if let Some(watch) = self.watch.as_mut().filter(|watch| watch.run == run) {
                    watch.offer_mail();
                }
            }
            Job::Deliver { delivery, is_recalled, is_paused } => {
                if let Some(watch) = self.watch.as_mut() {
                    watch.take_up(*delivery, is_recalled, is_paused);
                }
            }
            Job::Recall(delivery) => {
                if let Some(watch) = self.watch.as_mut() {
                    watch.recall_mail(delivery);
                }
            }
            Job::Clear { agent, run, houses } => return self.clear(&agent, run, &houses).await,
            Job::Adopt { agent, seen, house, reply } => {
                let adopted = self.adopt(&agent, &seen, house).await;
                let _ = reply.send(adopted);
                return true;
            }
            Job::Release { agent, house, reply } => {
                self.watch = None;
                let _ = reply.send(clear::release(&agent, house.as_ref()).await);
                return true;
            }
            Job::Forget { agent, house } => {
                self.forget(&agent, house.as_ref()).await;
                return true;
            }
            Job::Pane(pane) => {
                if let Some(watch) = self.watch.as_mut() {
                    watch.seen(&pane, &self.desk).await;
                }
            }
            Job::Stored(agent) => {
                if let Some(watch) = self.watch.as_mut() {
                    watch.compare(&agent, &self.desk);
                }
            }
            Job::Why(reply) => {
                if let Some(watch) = self.watch.as_ref() {
                    let _ = reply.send(watch.known());
                }
            }
        }
        false
    }

    /// Launches a life, unless it is there already.
    async fn launch(&mut self, agent: &Agent, run: RunId, house: House, others: &[House]) {
        if self.watch.as_ref().is_some_and(|watch| watch.run == run) {
            return;
        }
        match launch::launch(&self.desk, agent, run, &house, others).await {
            Ok(Some(watch)) => {
                let (place, process) = (watch.place(), watch.pid());
                self.desk.see(self.id, run, Sighting::Launched { place, process });
                self.watch = Some(watch);
            }
            Ok(None) => debug!(agent = %self.id, "its launch came too late"),
            Err(NotLaunched::Cannot(why)) => self.desk.not_launched(self.id, run, &why),
            Err(NotLaunched::Later) => {
                let (orders, agent) = (self.orders.clone(), Box::new(agent.clone()));
                tokio::spawn(async move {
                    sleep(LAUNCH_AGAIN).await;
                    orders.give(Order::Act(Action::LaunchAgent { agent, run })).await;
                });
            }
        }
    }

    /// Watches over a life that the store knows.
    fn attend(&mut self, agent: &Agent, house: House) {
        let Some(life) = agent.live_life() else { return };
        if self.watch.as_ref().is_some_and(|watch| watch.run >= life.run) {
            return;
        }
        let (LifeState::Alive { place, process } | LifeState::Ending { place, process, .. }) =
            &life.state
        else {
            return;
        };
        let Ok(pane) = place.pane.parse() else { return };
        // What is typed goes by way of files.
        if agent.adopted
            && let Err(why) = make_folder(&self.desk.home.run(&life.run.to_string()))
        {
            warn!(agent = %self.id, why, "nothing can be typed to it");
        }
        match Watch::new(&self.desk, agent, life.run, house, pane, *process) {
            Ok(watch) => self.watch = Some(watch),
            Err(why) => warn!(agent = %self.id, why, "it cannot be watched over"),
        }
    }

    /// Has a pane carry the agent's tags, and watches over it.
    async fn adopt(&mut self, agent: &Agent, seen: &Pane, house: House) -> Result<(), TmuxError> {
        let Some(life) = agent.live_life() else { return Err(TmuxError::Gone) };
        let (name, kind) = (agent.name.to_string(), agent.kind.clone());
        let tags = Tags { agent: agent.id, run: life.run, name, kind };
        let control = house.control().await?;
        if !visit::tag(&control, seen, &tags, ANSWER_WITHIN).await? {
            return Err(TmuxError::Refused("the pane has changed meanwhile".to_owned()));
        }
        self.attend(agent, house);
        if let Some(watch) = self.watch.as_mut() {
            watch.in_pane(seen);
        }
        Ok(())
    }

    async fn forget(&mut self, agent: &Agent, house: Option<&House>) {
        self.watch = None;
        if agent.adopted
            && let Err(error) = clear::release(agent, house).await
        {
            warn!(agent = %self.id, %error, "its pane still carries its tags");
        }
        let (desk, id, run) =
            (self.desk.clone(), agent.id, agent.life.as_ref().map(|life| life.run));
        let forgotten = spawn_blocking(move || {
            run.into_iter().for_each(|run| desk.forget_run(run));
            desk.forget_agent(id);
        });
        // What is not removed is told.
        let _ = forgotten.await;
    }

    async fn look(&mut self) {
        if let Some(watch) = self.watch.as_mut() {
            watch.look(&self.desk).await;
        }
    }

    async fn deliver(&mut self) {
        if let Some(watch) = self.watch.as_mut() {
            watch.deliver(&self.desk).await;
        }
    }

    async fn read_usage(&mut self) {
        if let Some(watch) = self.watch.as_mut() {
            watch.read_usage(&self.desk).await;
        }
    }

    /// Tells that the process has ended, and how. If the whole server has, that is told by whoever
    /// keeps it.
    async fn died(&mut self) -> bool {
        let Some(mut watch) = self.watch.take() else { return true };
        match watch.how_it_ended().await {
            Some(how) => self.desk.see(self.id, watch.run, Sighting::Ended { how }),
            None => debug!(agent = %self.id, "its server is gone"),
        }
        watch.read_usage_to_the_end(&self.desk).await;
        false
    }

    async fn end(&mut self, agent: &Agent, run: RunId, house: Option<House>) {
        if self.watch.is_none()
            && let Some(house) = house
        {
            self.attend(agent, house);
        }
        match self.watch.as_mut().filter(|watch| watch.run == run) {
            Some(watch) => {
                clear::end(watch, &self.desk).await;
            }
            None => {
                // It is nowhere to be found: what is left of it is cleared away.
                let how = "it was stopped".to_owned();
                self.desk.see(self.id, run, Sighting::Ended { how });
            }
        }
    }

    async fn clear(&mut self, agent: &Agent, run: RunId, houses: &[House]) -> bool {
        if self.watch.as_ref().is_some_and(|watch| watch.run == run) {
            self.watch = None;
        }
        let cleared = if agent.adopted {
            let released = clear::release(agent, houses.first()).await;
            released.map_err(|error| error.to_string())
        } else {
            clear::clear(agent.id, run, houses).await
        };
        match cleared {
            Ok(()) => {
                self.desk.forget_run(run);
                self.desk.see(self.id, run, Sighting::Cleared);
                true
            }
            Err(why) => {
                warn!(agent = %self.id, %run, why, "something of a run is left");
                self.desk.see(self.id, run, Sighting::NotCleared { why });
                false
            }
        }
    }
}

/// Waits until the process that is watched has ended.
async fn ended(watch: Option<&Watch>) {
    match watch {
        Some(watch) => watch.ended().await,
        None => std::future::pending().await,
    }
}

/// Waits until it is time for something, if it ever will be.
async fn due(at: Option<Instant>) {
    match at {
        Some(at) => tokio::time::sleep_until(at).await,
        None => std::future::pending().await,
    }
}
