//! A survey: all that is in a tmux server beside all that the store has there.

use std::sync::Arc;
use std::time::Duration;

use cmux_core::agent::{Agent, Claim, LifeState, Pid, Place, Sighting, Tagged};
use cmux_core::digest::Digest;
use cmux_core::report::Report;
use cmux_core::time::Timestamp;
use cmux_drivers::process::{Process, variable};
use cmux_drivers::tmux::TmuxError;
use cmux_drivers::tmux::pane::{Life, Pane, Tags};
use cmux_store::{agents, runs};
use tracing::{debug, warn};

use super::house::{House, Surveying};
use super::telling::how;
use super::worker::Job;
use super::{Desk, Order, Orders, clear};

/// How long it may take until a pane that was adopted carries its tags.
const TAGGED_WITHIN: Duration = Duration::from_secs(60);

/// Looks at a server, and reports what is not as the store has it. The store is read first: what is
/// recorded only after the look was begun cannot be missing from it.
pub(super) async fn survey(desk: Arc<Desk>, house: House, orders: Orders, surveying: Surveying) {
    let server = house.socket().display().to_string();
    let wanted = server.clone();
    let stored = match desk.readers.read(move |view| agents::in_server(view, &wanted)).await {
        Ok(stored) => stored,
        Err(error) => {
            warn!(%error, "it could not be read which agents should be where");
            return;
        }
    };
    if house.is_persons() && stored.is_empty() {
        orders.give(Order::Vacant { server: house.socket().to_owned() }).await;
        return;
    }
    let panes = match house.panes().await {
        Ok(panes) => panes,
        Err(TmuxError::NoServer) => {
            if !stored.is_empty() {
                desk.inbox.tell(Report::ServerLost { server });
            }
            return;
        }
        Err(error) => {
            debug!(%error, "nothing is known of a server");
            return;
        }
    };
    for agent in stored {
        check(&desk, &orders, agent, &panes).await;
    }
    // What else is in a person's server is the person's, or another home's.
    for pane in panes.iter().filter(|_| !house.is_persons()) {
        if let Some(tags) = &pane.tags {
            place(&desk, &house, pane, tags, &panes).await;
        }
    }
    drop(surveying);
}

/// Reports that an agent is missing which the store has here, or compares how it is.
async fn check(desk: &Desk, orders: &Orders, agent: Agent, panes: &[Pane]) {
    let Some(life) = agent.live_life() else { return };
    let (LifeState::Alive { place, .. } | LifeState::Ending { place, .. }) = &life.state else {
        return;
    };
    let is_it = |pane: &&Pane| {
        pane.id.to_string() == place.pane
            && pane.tags.as_ref().is_some_and(|tags| tags.run == life.run)
    };
    let Some(pane) = panes.iter().find(is_it) else {
        if !is_being_adopted(&agent, panes, desk.now()) {
            desk.see(agent.id, life.run, Sighting::Missing);
        }
        return;
    };
    if let Some(how) = how(&pane.life) {
        // Whoever watches over it tells that first, if anybody does.
        desk.see(agent.id, life.run, Sighting::Ended { how });
    } else {
        let id = agent.id;
        orders.give(Order::Attend(Box::new(agent.clone()))).await;
        orders.tell(id, Job::Stored(Box::new(agent))).await;
    }
}

/// Returns whether an agent's pane is there and may not carry its tags yet.
fn is_being_adopted(agent: &Agent, panes: &[Pane], now: Timestamp) -> bool {
    let Some(life) = agent.live_life().filter(|_| agent.adopted) else { return false };
    let LifeState::Alive { place, .. } = &life.state else { return false };
    let is_there = panes.iter().any(|pane| pane.id.to_string() == place.pane);
    is_there && now.since(life.began_at) < TAGGED_WITHIN
}

/// Looks whether a pane that carries an agent's tags is where the store has that agent, and if not,
/// reports it, or clears it away if the store has recorded the end of that life.
async fn place(desk: &Desk, house: &House, pane: &Pane, tags: &Tags, panes: &[Pane]) {
    let (id, run) = (tags.agent, tags.run);
    let found = desk.readers.read(move |view| {
        let token = runs::find_by_run(view, run)?;
        Ok((agents::find(view, id)?, token.is_some_and(|token| !token.is_good())))
    });
    let (agent, is_over) = match found.await {
        Ok(found) => found,
        Err(error) => {
            warn!(%error, "it could not be read whose a pane is");
            return;
        }
    };
    let claim = match &agent {
        // Anybody can set tags; where the agent is known to live, it lives.
        Some(agent) if !agent.is_in(run) && lives_in(agent, panes) => Claim::Stranger,
        Some(agent) => agent.claim(run, is_over),
        None if is_over => Claim::Left,
        None => Claim::Unknown,
    };
    match (claim, tagged(house, pane, tags)) {
        (Claim::Unknown, Some(tagged)) => {
            if let Some(report) = report(house, tagged, tags) {
                desk.inbox.tell(report);
            }
        }
        (Claim::Home, Some(tagged)) => {
            // What was launched before the daemon last ended may not have been told.
            let sighting = Sighting::Launched { place: tagged.place, process: tagged.process };
            if is_launching(agent.as_ref()) {
                desk.see(id, run, sighting);
            }
        }
        (Claim::Left, _) => {
            if !is_being_cleared(agent.as_ref(), tags) {
                let houses = [house.clone()];
                if let Err(why) = clear::clear(id, run, &houses).await {
                    warn!(%run, why, "something of a run that is over is left");
                }
            }
        }
        (Claim::Stranger, _) => {
            warn!(%run, agent = %id, "a pane has its tags, and it lives elsewhere: left alone");
        }
        (Claim::Unknown | Claim::Home, None) => {}
    }
}

/// Returns whether an agent lives in one of these panes, where the store has it.
fn lives_in(agent: &Agent, panes: &[Pane]) -> bool {
    let run = agent.live_life().map(|life| life.run);
    let is_it = |tags: &Tags| tags.agent == agent.id && Some(tags.run) == run;
    let is_its = |pane: &Pane| pane.life == Life::Running && pane.tags.as_ref().is_some_and(is_it);
    panes.iter().any(is_its)
}

fn is_launching(agent: Option<&Agent>) -> bool {
    let state = agent.and_then(|agent| agent.life.as_ref()).map(|life| &life.state);
    matches!(state, Some(LifeState::Launching))
}

/// Returns whether the kernel has what a life left cleared away already.
fn is_being_cleared(agent: Option<&Agent>, tags: &Tags) -> bool {
    let life = agent.and_then(|agent| agent.life.as_ref()).filter(|life| life.run == tags.run);
    life.is_some_and(|life| matches!(life.state, LifeState::Ended { .. }))
}

/// Returns what is reported of a pane in which an agent lives that the store has elsewhere.
pub(super) fn report(house: &House, tagged: Tagged, tags: &Tags) -> Option<Report> {
    let secret = variable(tagged.process.pid, "CMUX_TOKEN").map(|it| Digest::of(it.as_bytes()));
    let (name, kind) = (tags.name.clone(), tags.kind.clone());
    // What is in a person's server is not cmux's to know.
    let project = house.project.clone()?;
    Some(Report::PaneFound { tagged, secret, name, kind, project })
}

/// Returns a pane as where an agent lives, if its program runs.
pub(super) fn tagged(house: &House, pane: &Pane, tags: &Tags) -> Option<Tagged> {
    if pane.life != Life::Running {
        return None;
    }
    let process = Process::find(pane.pid?)?;
    let server = house.socket().display().to_string();
    Some(Tagged {
        agent: tags.agent,
        run: tags.run,
        place: Place { server, pane: pane.id.to_string() },
        process: Pid { pid: process.pid, start: process.start },
    })
}
