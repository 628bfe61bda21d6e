//! Deliveries that go in by an agent's own door, past its screen.

use std::fs;
use std::time::Duration;

use cmux_core::delivery::{
    Came, Door, Listed, PostLook, PostStep, Posting, Record, Sighted, Ticket, print_of,
};
use cmux_core::digest::Digest;
use cmux_core::kind::Unconfirmed;
use cmux_core::message::Evidence;
use cmux_drivers::channel::{self, Posted, Way};
use cmux_drivers::claims::Claims;
use cmux_drivers::failpoint;
use cmux_drivers::manifest::Place;
use tokio::task::spawn_blocking;
use tracing::{debug, warn};

use super::super::desk::Desk;
use super::super::prepare::{PORT, SECRET};
use super::super::watch::Watch;
use super::sight::Seen;
use super::steps::lay;
use super::{RETRY_AFTER, UnderWay};

/// How long a door may take to answer.
const ANSWER_WITHIN: Duration = Duration::from_secs(5);

/// What is known of a delivery that goes in by a door.
#[derive(Debug, Default)]
pub(super) struct Posts {
    posting: Posting,
    /// What the last post came to, and of which attempt it was.
    came: Option<(u32, Came)>,
    listed: Option<Listed>,
}

impl Watch {
    /// Returns the way in past the screen, if messages go that way.
    pub(in super::super) fn way_in(&self) -> Option<Way> {
        let api = self.kind.manifest.api.as_ref()?;
        let noted = |name| fs::read_to_string(self.folder.join(name)).ok();
        let (port, secret) = (noted(PORT), noted(SECRET));
        let known = |place: Place| match place {
            Place::State => Some(self.state.display().to_string()),
            Place::Port => port.clone(),
            Place::Secret => secret.clone(),
            Place::Program
            | Place::Cmux
            | Place::Home
            | Place::Session
            | Place::SessionHead
            | Place::Cwd
            | Place::Root
            | Place::Settings
            | Place::Prompt
            | Place::Role
            | Place::Name
            | Place::Run
            | Place::Pid => None,
        };
        Way::of(api, known).ok()
    }

    /// Takes steps with a delivery that goes in by a door. Returns it, if it is not settled.
    pub(super) async fn post(
        &mut self,
        mut way: UnderWay,
        seen: &Seen,
        desk: &Desk,
    ) -> Option<UnderWay> {
        let Some(door) = self.way_in() else {
            warn!(agent = %self.agent, "its door is not known");
            self.mail.soon(RETRY_AFTER);
            return Some(way);
        };
        loop {
            let look = match self.post_look(&mut way, seen, &door, desk).await {
                Ok(look) => look,
                Err(error) => {
                    warn!(%error, agent = %self.agent, "its ticket could not be looked at");
                    self.mail.soon(RETRY_AFTER);
                    return Some(way);
                }
            };
            let step = way.posts.posting.next(&way.delivery, &look, self.now());
            match step {
                PostStep::Lay => {
                    if let Err(error) = lay(self.ticket_of(&way.delivery), desk).await {
                        warn!(%error, agent = %self.agent, "a ticket could not be laid");
                        self.mail.soon(RETRY_AFTER);
                        return Some(way);
                    }
                }
                PostStep::Claim => {
                    failpoint::hit("post.claim");
                    if !self.claim(&way, desk).await {
                        self.mail.soon(RETRY_AFTER);
                        return Some(way);
                    }
                }
                PostStep::Post => self.send(&mut way, &door).await,
                PostStep::Ask => self.ask_list(&mut way, &door).await,
                PostStep::Void => {
                    self.change_ticket(desk, way.delivery.id, Claims::void).await;
                    return Some(way);
                }
                PostStep::GiveBack => {
                    self.change_ticket(desk, way.delivery.id, Claims::give_back).await;
                    return Some(way);
                }
                PostStep::Pause(pause) => {
                    self.mail.soon(pause);
                    return Some(way);
                }
                PostStep::Wait(waiting) => {
                    self.wait(waiting, desk);
                    return Some(way);
                }
                PostStep::Tell(again @ Sighted::Again { .. }) => {
                    return self.recorded(way, again, desk).await;
                }
                PostStep::Tell(seen) => self.tell_of(&mut way, seen, desk),
                PostStep::Done(seen) => return self.done(way, seen, desk).await,
            }
        }
    }

    async fn post_look(
        &mut self,
        way: &mut UnderWay,
        seen: &Seen,
        door: &Way,
        desk: &Desk,
    ) -> std::io::Result<PostLook> {
        let is_alive = self.process.is_alive();
        let ticket = desk.claims.state(way.delivery.id)?;
        let is_out =
            way.posts.came.is_some() || ticket == Ticket::Claimed || way.delivery.attempt > 1;
        let is_used = is_out && self.in_transcript(way).await == Record::Read;
        let used = is_used.then_some(Evidence::Transcript);
        let attempt = way.delivery.attempt;
        let came = way.posts.came.clone().filter(|(of, _)| *of == attempt).map(|(_, came)| came);
        Ok(PostLook {
            is_alive,
            ticket,
            used,
            doing: seen.doing(),
            is_recalled: way.is_recalled,
            is_paused: self.mail.is_paused,
            came,
            listed: way.posts.listed,
            door: Door {
                confirm: self.pace().confirm,
                knows_again: door.knows_again(),
                is_repeated: self.unconfirmed == Unconfirmed::Again,
            },
        })
    }

    /// Takes the ticket as a hook would: the agent has none that could.
    async fn claim(&self, way: &UnderWay, desk: &Desk) -> bool {
        let (claims, run, id) = (desk.claims.clone(), self.run, way.delivery.id);
        let print = print_of(&way.delivery.text);
        let event = Digest::of(format!("{id} {}", way.delivery.attempt).as_bytes());
        let claimed = spawn_blocking(move || claims.claim(id, run, print, event)).await;
        match claimed {
            Ok(Ok(_)) => true,
            Ok(Err(error)) => {
                debug!(%error, agent = %self.agent, "its ticket could not be taken");
                false
            }
            Err(_) => false,
        }
    }

    async fn send(&mut self, way: &mut UnderWay, door: &Way) {
        let (id, attempt) = (way.delivery.id, way.delivery.attempt);
        let session = match &self.session {
            None if door.needs_session() => channel::begin(door, ANSWER_WITHIN).await.ok(),
            session => session.clone(),
        };
        if session.is_none() && door.needs_session() {
            let why = "it has no session".to_owned();
            way.posts.came = Some((attempt, Came::Refused { why }));
            return;
        }
        failpoint::hit("post.send");
        let posted =
            channel::post(door, session.as_deref(), id, &way.delivery.text, ANSWER_WITHIN).await;
        let came = match posted {
            Ok(Posted::Taken) => Came::Taken,
            Ok(Posted::Queued) => Came::Queued,
            Ok(Posted::Refused(why)) => Came::Refused { why },
            Err(error) => {
                debug!(%error, agent = %self.agent, "its door did not answer");
                Came::Unknown
            }
        };
        failpoint::hit("post.sent");
        way.posts.came = Some((attempt, came));
    }

    async fn ask_list(&mut self, way: &mut UnderWay, door: &Way) {
        let at = self.now();
        let session = self.session.clone();
        let has = channel::has(door, session.as_deref(), way.delivery.id, ANSWER_WITHIN).await;
        let has = has.inspect_err(|error| debug!(%error, agent = %self.agent, "it has no list"));
        way.posts.listed = Some(Listed { at, has: has.ok().flatten() });
    }
}
