//! Panes of a person's own tmux server, which become agents, and are let go again.

use std::path::{Path, PathBuf};
use std::time::Duration;

use cmux_core::agent::Agent;
use cmux_drivers::tmux::TmuxError;
use cmux_drivers::tmux::pane::Pane;
use cmux_drivers::tmux::server::Server;
use tokio::sync::oneshot;
use tokio::time::timeout;
use tracing::warn;

use super::worker::Job;
use super::{House, Keeper, Orders};

/// How long a worker may take to tag a pane, or to let go of it: it may be busy with ending its agent.
const DONE_WITHIN: Duration = Duration::from_secs(30);

/// What comes of it.
pub(super) type Done = oneshot::Sender<Result<(), TmuxError>>;

/// What is wanted of a person's server.
#[derive(Debug)]
pub(super) enum Order {
    /// To go there.
    Visit { socket: PathBuf, reply: oneshot::Sender<Result<Server, TmuxError>> },
    /// To have a pane carry the tags of an agent that is stored, if it is still as it was seen.
    Tag { agent: Box<Agent>, seen: Box<Pane>, reply: Done },
    /// To have its pane carry none.
    Release { agent: Box<Agent>, reply: Done },
}

impl Orders {
    /// Returns the tmux server of a person's own at `socket`, whether or not it runs.
    pub(crate) async fn visit(&self, socket: &Path) -> Result<Server, TmuxError> {
        let (reply, answer) = oneshot::channel();
        self.give(super::Order::Adopt(Order::Visit { socket: socket.to_owned(), reply })).await;
        answer.await.unwrap_or(Err(TmuxError::Gone))
    }

    /// Has the pane of an adopted `agent` carry its tags, if it is as it was `seen`, and watches over it.
    pub(crate) async fn adopt(&self, agent: Agent, seen: Pane) -> Result<(), TmuxError> {
        let (agent, seen) = (Box::new(agent), Box::new(seen));
        self.done(|reply| Order::Tag { agent, seen, reply }).await
    }

    /// Lets go of an adopted `agent`: it goes on, and its pane carries nothing of cmux any more.
    pub(crate) async fn release(&self, agent: Agent) -> Result<(), TmuxError> {
        self.done(|reply| Order::Release { agent: Box::new(agent), reply }).await
    }

    async fn done(&self, order: impl FnOnce(Done) -> Order) -> Result<(), TmuxError> {
        let (reply, answer) = oneshot::channel();
        self.give(super::Order::Adopt(order(reply))).await;
        match timeout(DONE_WITHIN, answer).await {
            Ok(done) => done.unwrap_or(Err(TmuxError::Gone)),
            Err(_) => Err(TmuxError::Late),
        }
    }
}

impl Keeper {
    pub(super) async fn adopt(&mut self, order: Order) {
        match order {
            Order::Visit { socket, reply } => {
                let _ = reply.send(self.desk.persons_server(&socket));
            }
            Order::Tag { agent, seen, reply } => match self.house_of(&agent) {
                Some(house) => {
                    self.lives.insert(agent.id, house.socket().to_owned());
                    self.tell(agent.id, Job::Adopt { agent, seen, house, reply }).await;
                }
                None => drop(reply.send(Err(TmuxError::NoServer))),
            },
            Order::Release { agent, reply } => {
                let house = self.house_of(&agent);
                self.tell(agent.id, Job::Release { agent, house, reply }).await;
            }
        }
    }

    /// Returns the tmux server of a person's own at `socket`, as one to talk to.
    pub(super) fn visit(&mut self, socket: &Path) -> Option<House> {
        if let Some(house) = self.houses.get(socket) {
            return Some(house.clone());
        }
        let server = self.desk.persons_server(socket);
        let server =
            server.inspect_err(|error| warn!(%error, "a tmux server is not visited")).ok()?;
        let house = House::open(server, None, &self.desk, self.orders.clone());
        self.houses.insert(socket.to_owned(), house.clone());
        Some(house)
    }
}
