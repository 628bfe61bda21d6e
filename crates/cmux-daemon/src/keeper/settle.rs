//! What became of a delivery to a life that is over. Nothing of that life can read any more, so that what is
//! on the disk is the last word.

use std::io;
use std::time::Duration;

use cmux_core::agent::Agent;
use cmux_core::delivery::{
    Confirm, Delivery, Door, Holds, Look, Pace, PostLook, PostStep, Posting, Record, Sighted, Step,
    Ticket, Typing,
};
use cmux_core::id::DeliveryId;
use cmux_core::kind::{Channel, Unconfirmed};
use cmux_core::message::Evidence;
use cmux_core::report::Report;
use cmux_core::time::Timestamp;
use cmux_drivers::claims::Claims;
use cmux_drivers::failpoint;
use tokio::task::spawn_blocking;
use tracing::{debug, warn};

use super::desk::Desk;
use super::mail::{Ended, Whereabouts, answered, put_away};

/// How long it is tried to find out whether a text was read that a hook had taken.
const UNKNOWN_FOR: Duration = Duration::from_mins(5);

/// How many steps it may take: the ticket given back, and taken.
const STEPS_MAX: usize = 8;

/// Finds out what became of `delivery`, and has that recorded. What fails is tried again when it is missed.
pub(super) async fn settle(desk: &Desk, agent: &Agent, delivery: Delivery) {
    let whereabouts = whereabouts(desk, agent);
    let is_answered = answered(agent.id, delivery.id, desk).await;
    let (claims, looked) = (desk.claims.clone(), delivery.clone());
    let now = desk.now();
    let found = spawn_blocking(move || {
        let record = whereabouts.map_or(Record::Untold, |at| at.has(&looked));
        let is_taken = claims.state(looked.id)? == Ticket::Claimed;
        let used = record.of_the_dead(is_taken, is_answered == Some(true));
        // What cannot be told now may be at the next try. Not for ever: others wait.
        let is_told = match record {
            Record::Read | Record::Without | Record::Said => true,
            Record::Missing => is_answered.is_some(),
            Record::Untold => used.is_some(),
        };
        if !is_told && is_taken && now.since(looked.since) < UNKNOWN_FOR {
            return Ok(None);
        }
        find_out(&claims, &looked, used, now)
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
    failpoint::hit("settled.found");
    match desk.inbox.ask(Report::DeliverySeen { delivery: id, attempt, seen }).await {
        Ok(_) => {
            failpoint::hit("settled.told");
            put_away(desk, &delivery, ended).await;
            failpoint::hit("settled.over");
        }
        Err(error) => debug!(%error, "what became of {id} could not be recorded"),
    }
}

fn whereabouts(desk: &Desk, agent: &Agent) -> Option<Whereabouts> {
    let kind = desk.kind(&agent.kind).ok()?;
    let transcript = kind.manifest.transcript.as_ref()?;
    let state = desk.home.agent_state(&agent.id.to_string());
    Some(Whereabouts::of(transcript, agent.session.clone()?, &agent.setup.cwd, state))
}

/// Takes the ticket back and returns what became of the delivery, by the terms on which it was laid.
fn find_out(
    claims: &Claims,
    delivery: &Delivery,
    used: Option<Evidence>,
    now: Timestamp,
) -> io::Result<Option<Sighted>> {
    let terms = Terms::of(claims, delivery.id);
    let (mut typing, mut posting) = (Typing::default(), Posting::default());
    for _ in 0..STEPS_MAX {
        let ticket = claims.state(delivery.id)?;
        let next = match terms.channel {
            Channel::Paste => {
                let look = Look { ticket, used, ..OVER };
                next_typed(typing.next(delivery, &look, &terms.pace(), now))
            }
            Channel::Api => {
                let look = PostLook { ticket, used, door: terms.door(), ..CLOSED };
                next_posted(posting.next(delivery, &look, now))
            }
        };
        match next {
            Next::Void => drop(claims.void(delivery.id)?),
            Next::GiveBack => drop(claims.give_back(delivery.id)?),
            Next::Done(seen) => return Ok(Some(seen)),
            Next::Nothing => return Ok(None),
        }
    }
    Ok(None)
}

/// What there is to do about a delivery that nobody reads any more.
enum Next {
    Void,
    GiveBack,
    Done(Sighted),
    Nothing,
}

fn next_typed(step: Step) -> Next {
    match step {
        Step::Void => Next::Void,
        Step::GiveBack => Next::GiveBack,
        Step::Done(seen) => Next::Done(seen),
        Step::Lay
        | Step::Paste
        | Step::Press(_)
        | Step::Empty(_)
        | Step::Pause(_)
        | Step::Wait(_)
        | Step::Tell(_) => Next::Nothing,
    }
}

fn next_posted(step: PostStep) -> Next {
    match step {
        PostStep::Void => Next::Void,
        PostStep::GiveBack => Next::GiveBack,
        PostStep::Done(seen) => Next::Done(seen),
        PostStep::Lay
        | PostStep::Claim
        | PostStep::Post
        | PostStep::Ask
        | PostStep::Pause(_)
        | PostStep::Wait(_)
        | PostStep::Tell(_) => Next::Nothing,
    }
}

/// On which terms a delivery was given to its agent, as its ticket says: what is configured now may be
/// otherwise, and what was written for the run is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Terms {
    channel: Channel,
    confirm: Confirm,
    unconfirmed: Unconfirmed,
}

impl Terms {
    /// Returns them. What has no ticket was never given to anybody.
    fn of(claims: &Claims, delivery: DeliveryId) -> Terms {
        let text = claims.look(delivery).ok().flatten().and_then(|seen| seen.text);
        let default = Terms {
            channel: Channel::Paste,
            confirm: Confirm::Hook,
            unconfirmed: Unconfirmed::Again,
        };
        text.map_or(default, |text| Terms {
            channel: text.channel,
            confirm: if text.blocks { Confirm::Hook } else { Confirm::Sight },
            unconfirmed: text.unconfirmed,
        })
    }

    fn pace(self) -> Pace {
        let is_repeated = self.unconfirmed == Unconfirmed::Again;
        Pace { submit_after: Duration::ZERO, confirm: self.confirm, has_prompt: true, is_repeated }
    }

    fn door(self) -> Door {
        let is_repeated = self.unconfirmed == Unconfirmed::Again;
        Door { confirm: self.confirm, knows_again: false, is_repeated }
    }
}

/// What is seen of an agent whose life is over, …
const OVER: Look = Look {
    is_alive: false,
    ticket: Ticket::Absent,
    used: None,
    is_pasted: false,
    presses: 0,
    empties: 0,
    holds: Holds::Unknown,
    is_shown: false,
    doing: None,
    is_person_here: false,
    is_scrolled: false,
    is_deaf: false,
    is_in_front: false,
    is_recalled: false,
    is_paused: false,
};

/// … and of its door.
const CLOSED: PostLook = PostLook {
    is_alive: false,
    ticket: Ticket::Absent,
    used: None,
    doing: None,
    is_recalled: false,
    is_paused: false,
    came: None,
    listed: None,
    door: Door { confirm: Confirm::Hook, knows_again: false, is_repeated: true },
};

#[cfg(test)]
mod tests {
    use cmux_core::delivery::{DeliveryState, Unused};
    use cmux_core::digest::Digest;
    use cmux_drivers::claims::TicketText;
    use cmux_drivers::process::Process;

    use super::*;

    #[test]
    fn what_may_have_been_read_is_settled_by_the_terms_on_which_it_was_given() {
        let (left, over, perhaps) = ("unconfirmed", "over", "perhaps read");
        for (channel, blocks, unconfirmed, state, is_claimed, expected) in [
            (Channel::Paste, true, Unconfirmed::Leave, DeliveryState::InDoubt, true, over),
            (Channel::Paste, false, Unconfirmed::Again, DeliveryState::InDoubt, false, perhaps),
            (Channel::Paste, false, Unconfirmed::Leave, DeliveryState::Typing, false, over),
            (Channel::Paste, false, Unconfirmed::Leave, DeliveryState::Submitted, false, left),
            (Channel::Paste, false, Unconfirmed::Leave, DeliveryState::InDoubt, true, left),
            (Channel::Api, false, Unconfirmed::Again, DeliveryState::Submitted, true, perhaps),
            (Channel::Api, false, Unconfirmed::Leave, DeliveryState::InDoubt, false, over),
            (Channel::Api, false, Unconfirmed::Leave, DeliveryState::InDoubt, true, left),
        ] {
            let folder = tempfile::tempdir().unwrap();
            let claims = Claims::at(folder.path().join("claims"));
            let of = Delivery { state, ..delivery() };
            let ticket = TicketText::of(&of, Process::myself(), blocks);
            claims.lay(&TicketText { channel, unconfirmed, ..ticket.clone() }).unwrap();
            if is_claimed {
                claims.claim(of.id, of.run, ticket.print, Digest::of(b"event")).unwrap();
            }
            let seen = find_out(&claims, &of, None, of.since).unwrap();
            let told = match seen {
                Some(Sighted::Unused(Unused::RunOver)) => over.to_owned(),
                Some(Sighted::Unused(Unused::PerhapsRead)) => perhaps.to_owned(),
                Some(Sighted::Unused(Unused::Failed { why })) => why,
                seen => panic!("{seen:?}"),
            };
            let is_so = told.starts_with(expected);
            assert!(is_so, "{channel:?} {blocks} {unconfirmed:?} {state:?}: {told}");
        }
    }

    #[test]
    fn what_was_never_laid_waits_for_the_next_life() {
        let folder = tempfile::tempdir().unwrap();
        let claims = Claims::at(folder.path().join("claims"));
        let of = Delivery { state: DeliveryState::InDoubt, ..delivery() };
        let seen = find_out(&claims, &of, None, of.since).unwrap();
        assert_eq!(seen, Some(Sighted::Unused(Unused::RunOver)));
    }

    fn delivery() -> Delivery {
        Delivery {
            id: "dlv_00000000000000000000000001".parse().unwrap(),
            agent: "agt_00000000000000000000000001".parse().unwrap(),
            run: "run_00000000000000000000000001".parse().unwrap(),
            messages: vec!["msg_00000000000000000000000001".parse().unwrap()],
            text: "text".to_owned(),
            attempt: 1,
            state: DeliveryState::Typing,
            mark: 0,
            made_at: Timestamp(0),
            since: Timestamp(0),
        }
    }
}
