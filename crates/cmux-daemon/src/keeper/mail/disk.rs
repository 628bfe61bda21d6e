//! What of a delivery lies on the disk: what is too long to be typed, and its ticket in the end.

use std::path::Path;

use cmux_core::delivery::{Delivery, DeliveryState, Sighted, Ticket, Unused};
use cmux_core::kind::Channel;
use cmux_core::mail::Waiting;
use cmux_core::message::Message;
use cmux_drivers::mail_file;
use cmux_store::{deliveries, messages, projects};
use tokio::task::spawn_blocking;
use tracing::{debug, warn};

use super::super::desk::Desk;
use super::super::watch::Watch;
use super::sight::Seen;
use super::{RETRY_AFTER, UnderWay};

/// Why what is too long to be typed does not lie where its reader finds it.
#[derive(Debug)]
pub(super) enum NotFiled {
    /// It is known what became of the delivery: it was handed out too late.
    Settled,
    /// The store could not be asked, or the disk is full, which may be otherwise soon.
    Yet(String),
    /// It cannot be put there.
    Unwritten(String),
}

/// Puts what is too long to be typed where its reader finds it, and hears which messages are taken back.
pub(super) async fn file(way: &mut UnderWay, desk: &Desk) -> Result<(), NotFiled> {
    let (id, agent) = (way.delivery.id, way.delivery.agent);
    let found = desk.readers.read(move |view| {
        let agent = cmux_store::agents::find(view, agent)?;
        let project = match &agent {
            Some(agent) => projects::find(view, &agent.project)?,
            None => None,
        };
        let mut found = messages::of_delivery(view, id)?;
        for message in found.iter_mut().filter(|it| it.body.is_long()) {
            message.body.text = messages::text_of(view, message.id)?;
        }
        let is_open = deliveries::find(view, id)?.is_some_and(|it| !it.state.is_settled());
        Ok((found, project, is_open))
    });
    let (found, project, is_open) =
        found.await.map_err(|error| NotFiled::Yet(error.to_string()))?;
    if !is_open {
        return Err(NotFiled::Settled);
    }
    way.is_recalled |= found.iter().any(|message| message.recall.is_some());
    let long: Vec<Message> = found.into_iter().filter(|it| it.body.is_long()).collect();
    if !long.is_empty() {
        let root = project.map(|project| project.root).unwrap_or_default();
        let written = spawn_blocking(move || {
            long.iter().try_for_each(|message| {
                let text = message.body.text.as_deref().unwrap_or_default();
                mail_file::write(Path::new(&root), message.id, text.as_bytes()).map(|_| ())
            })
        });
        let written = written.await.map_err(|error| NotFiled::Yet(error.to_string()))?;
        written.map_err(|error| {
            let why = format!("it is too long to be typed, and {error}");
            if error.is_passing() { NotFiled::Yet(why) } else { NotFiled::Unwritten(why) }
        })?;
    }
    way.is_filed = true;
    Ok(())
}

impl Watch {
    /// Goes on without what its agent would be told to read. What was typed may be read all the same; what was not
    /// is not typed.
    pub(super) async fn go_on_without(
        &mut self,
        mut way: UnderWay,
        not_filed: NotFiled,
        seen: &Seen,
        desk: &Desk,
    ) -> Option<UnderWay> {
        let is_out = match way.delivery.state {
            DeliveryState::Typing => false,
            DeliveryState::InDoubt if self.channel == Channel::Paste => {
                let Ok(look) = self.look_of(&mut way, seen, desk).await else {
                    self.wait(Waiting::Disk, desk);
                    return Some(way.unlocked());
                };
                let is_taken = matches!(look.ticket, Ticket::Claimed | Ticket::Void);
                look.is_pasted || look.presses > 0 || is_taken
            }
            DeliveryState::InDoubt
            | DeliveryState::Submitted
            | DeliveryState::Claimed
            | DeliveryState::Used
            | DeliveryState::Unused => true,
        };
        match not_filed {
            NotFiled::Settled => None,
            NotFiled::Yet(why) | NotFiled::Unwritten(why) if is_out => {
                warn!(why, agent = %self.agent, "what it is told to read is not there");
                self.take_steps(way, seen, desk).await
            }
            NotFiled::Yet(_) if way.is_recalled => self.give_up(way, Unused::Recalled, desk).await,
            NotFiled::Yet(why) => {
                debug!(why, agent = %self.agent, "what is typed to it is not at hand yet");
                self.wait(Waiting::Disk, desk);
                Some(way.unlocked())
            }
            NotFiled::Unwritten(why) => self.give_up(way, Unused::Failed { why }, desk).await,
        }
    }

    /// Gives up a delivery of which nothing was typed yet, unless somebody has it all the same.
    async fn give_up(&mut self, way: UnderWay, why: Unused, desk: &Desk) -> Option<UnderWay> {
        let (claims, id) = (desk.claims.clone(), way.delivery.id);
        match spawn_blocking(move || claims.void(id)).await {
            Ok(Ok(true)) => self.done(way, Sighted::Unused(why), desk).await,
            Ok(Ok(false)) => Some(UnderWay { is_filed: true, ..way }),
            Ok(Err(_)) | Err(_) => {
                self.mail.soon(RETRY_AFTER);
                Some(way.unlocked())
            }
        }
    }
}

/// What became of a delivery, as far as its ticket is concerned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum Ended {
    Used,
    /// It was not read, and a copy of it may still come to the hook.
    Typed,
    /// It was not read, and nobody is left who could.
    Untyped,
}

/// Puts away the ticket of a delivery that is settled. A copy that may still come is to be known.
pub(in super::super) async fn put_away(desk: &Desk, delivery: &Delivery, ended: Ended) {
    let (claims, id, delivery) = (desk.claims.clone(), delivery.id, delivery.clone());
    let put = spawn_blocking(move || match ended {
        Ended::Used => claims.settle(&delivery, delivery.attempt > 1),
        Ended::Typed => claims.retire(id),
        Ended::Untyped => claims.forget(id),
    });
    if let Ok(Err(error)) = put.await {
        warn!(%error, "the ticket of {id} could not be put away");
    }
}
