//! Channels: the ways into an agent that go past its screen and take a message whole.
//!
//! What is told of one is certain or not told: a request whose answer is lost may have been taken.

mod door;
mod opencode;

use std::collections::BTreeSet;
use std::fmt;
use std::time::Duration;

use cmux_core::id::DeliveryId;
use cmux_core::usage::Spent;

use crate::manifest::{Api, ApiShape, Place, Unfilled};

/// What stands in an address for the session, which may change from one message to the next.
const SESSION: &str = "{session}";

/// A way in to one run of an agent.
#[derive(Clone, PartialEq, Eq)]
pub struct Way {
    shape: ApiShape,
    /// An address or a socket, but for the session.
    at: String,
}

impl fmt::Debug for Way {
    /// Its address may hold a password.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Way").field("shape", &self.shape).finish_non_exhaustive()
    }
}

/// What came of a message that was sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Posted {
    /// The agent has it.
    Taken,
    /// It waits there, and may still be lost.
    Queued,
    /// It was not taken, for this reason.
    Refused(String),
}

/// Why something is not known.
#[derive(Debug, thiserror::Error)]
pub enum ChannelError {
    /// It may have been done, and it may not.
    #[error("it is not known whether it was taken: {0}")]
    NotKnown(String),
}

impl Way {
    /// Returns the way that a manifest names, where `known` fills the places.
    pub fn of(api: &Api, known: impl Fn(Place) -> Option<String>) -> Result<Way, Unfilled> {
        let known = |place| match place == Place::Session {
            true => Some(SESSION.to_owned()),
            false => known(place),
        };
        Ok(Way { shape: api.shape, at: api.at.fill(known)? })
    }

    /// Returns whether it takes the same delivery once, however often it is sent, and says that it has it.
    pub fn knows_again(&self) -> bool {
        match self.shape {
            ApiShape::OpencodePrompt => false,
            ApiShape::DemoDoor => true,
        }
    }

    /// Returns whether a message goes into a session, which must be known to send it.
    pub fn needs_session(&self) -> bool {
        self.at.contains(SESSION)
    }
}

/// Begins a session for an agent that has none yet, shows it on its screen, and returns it. Done twice, there
/// is one more that is empty, and no harm done.
pub async fn begin(way: &Way, within: Duration) -> Result<String, ChannelError> {
    match way.shape {
        ApiShape::OpencodePrompt => opencode::begin(&way.at, within).await,
        ApiShape::DemoDoor => Err(ChannelError::NotKnown("it has one session alone".to_owned())),
    }
}

/// Sends the text of a delivery. An error means that it is not known whether it was taken.
pub async fn post(
    way: &Way,
    session: Option<&str>,
    delivery: DeliveryId,
    text: &str,
    within: Duration,
) -> Result<Posted, ChannelError> {
    match way.shape {
        ApiShape::OpencodePrompt => opencode::post(&way.at, session, text, within).await,
        ApiShape::DemoDoor => door::post(&way.at, delivery, text, within).await,
    }
}

/// Returns whether an agent has a delivery, by its own list; nothing if that cannot be told.
pub async fn has(
    way: &Way,
    session: Option<&str>,
    delivery: DeliveryId,
    within: Duration,
) -> Result<Option<bool>, ChannelError> {
    match way.shape {
        ApiShape::OpencodePrompt => opencode::has(&way.at, session, delivery, within).await,
        // It is sent the same again, and says what became of it.
        ApiShape::DemoDoor => Ok(None),
    }
}

/// What a session of an agent has used, by its own list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Used {
    /// What each answer took that is not known yet.
    pub spent: Vec<Spent>,
    /// By what it is known again that it was told: the keys of answers, and names of what is over.
    pub known: BTreeSet<String>,
}

/// Returns what an agent's session and those that it has begun have used beside what is `known`.
pub async fn used(
    way: &Way,
    session: &str,
    known: &BTreeSet<String>,
    within: Duration,
) -> Result<Used, ChannelError> {
    match way.shape {
        ApiShape::OpencodePrompt => opencode::used(&way.at, session, known, within).await,
        ApiShape::DemoDoor => Ok(Used::default()),
    }
}

fn not_known(why: impl Into<String>) -> ChannelError {
    ChannelError::NotKnown(why.into())
}

#[cfg(test)]
mod tests;
