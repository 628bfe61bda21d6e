//! What became of a delivery to a life that is over. Nothing of that life can read any more, so that what is
//! on the disk is the last word.

use std::time::Duration;

use cmux_core::agent::Agent;
use cmux_core::delivery::{Confirm, Delivery, Holds, Look, Pace, Sighted, Step, Ticket, Typing};
use cmux_core::message::Evidence;
use cmux_core::report::Report;
use cmux_core::time::Timestamp;
use cmux_drivers::claims::Claims;
use tokio::task::spawn_blocking;
use tracing::{debug, warn};

use super::desk::Desk;
use super::mail::{Ended, Whereabouts, put_away};

/// How long it is tried to find out whether a text was read that a hook had taken.
const UNKNOWN_FOR: Duration = Duration::from_mins(5);

/// How many steps it may take: the ticket given back, and taken.
const STEPS_MAX: usize = 8;

/// Finds out what became of `delivery`, and has that recorded. What fails is tried again when it is missed.
pub(super) async fn settle(desk: &Desk, agent: &Agent, delivery: Delivery) {
    let whereabouts = whereabouts(desk, agent);
    let (claims, looked) = (desk.claims.clone(), delivery.clone());
    let now = desk.now();
    let found = spawn_blocking(move || {
        let told = whereabouts.and_then(|at| at.has(looked.id));
        let is_taken = claims.state(looked.id)? == Ticket::Claimed;
        // What cannot be told now may be at the next try. Not for ever: others wait.
        if told.is_none() && is_taken && now.since(looked.since) < UNKNOWN_FOR {
            return Ok(None);
        }
        let is_used = told == Some(true);
        find_out(&claims, &looked, is_used.then_some(Evidence::Transcript), now)
    });
    let seen = match found.await {
        Ok(Ok(Some(seen))) => seen,
        Ok(Ok(None)) => return,
        Ok(Err(error)) => {
            warn!(%error, "it is not known what became of {}", delivery.id);
            return;
        }
        Err(error) => {
            warn!(%error, "it is not known what became of {}", delivery.id);
            return;
        }
    };
    let ended = if matches!(seen, Sighted::Used(_)) { Ended::Used } else { Ended::Untyped };
    let (id, attempt) = (delivery.id, delivery.attempt);
    match desk.inbox.ask(Report::DeliverySeen { delivery: id, attempt, seen }).await {
        Ok(_) => put_away(desk, &delivery, ended).await,
        Err(error) => debug!(%error, "what became of {id} could not be recorded"),
    }
}

fn whereabouts(desk: &Desk, agent: &Agent) -> Option<Whereabouts> {
    let kind = desk.kind(&agent.kind).ok()?;
    let transcript = kind.manifest.transcript.as_ref()?;
    let state = desk.home.agent_state(&agent.id.to_string());
    Some(Whereabouts::of(transcript, agent.session.clone()?, &agent.setup.cwd, state))
}

/// Takes the ticket back and returns what became of the delivery.
fn find_out(
    claims: &Claims,
    delivery: &Delivery,
    used: Option<Evidence>,
    now: Timestamp,
) -> std::io::Result<Option<Sighted>> {
    let pace = Pace {
        submit_after: Duration::ZERO,
        confirm: Confirm::Hook,
        has_prompt: true,
        is_repeated: true,
    };
    let mut typing = Typing::default();
    for _ in 0..STEPS_MAX {
        let look = Look {
            is_alive: false,
            ticket: claims.state(delivery.id)?,
            used,
            is_pasted: false,
            presses: 0,
            empties: 0,
            holds: Holds::Unknown,
            doing: None,
            is_person_here: false,
            is_scrolled: false,
            is_deaf: false,
            is_in_front: false,
            is_recalled: false,
            is_paused: false,
        };
        match typing.next(delivery, &look, &pace, now) {
            Step::Void => drop(claims.void(delivery.id)?),
            Step::GiveBack => drop(claims.give_back(delivery.id)?),
            Step::Done(seen) => return Ok(Some(seen)),
            Step::Lay
            | Step::Paste
            | Step::Press(_)
            | Step::Empty(_)
            | Step::Pause(_)
            | Step::Wait(_)
            | Step::Tell(_) => return Ok(None),
        }
    }
    Ok(None)
}
