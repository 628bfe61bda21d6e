//! The gate before the model: what becomes of a prompt in which there is something that cmux typed.
//!
//! What cmux typed goes on once, by itself, and only from the CLI that it was typed to. All else passes
//! untouched: a person may well quote an old message.

use std::io;

use cmux_core::delivery::{HEAD, begins_with, delivery_of, letters_of, print_of};
use cmux_core::digest::Digest;
use cmux_core::hook::ClaimOutcome;
use cmux_core::id::{DeliveryId, RunId};

use super::{Claim, ClaimError, Claims, Seen, TicketText, Whose};
use crate::process::Process;

/// How many headers in one prompt are looked at.
const HEADERS_MAX: usize = 64;

/// A prompt on its way to the model, as its hook was told of it.
#[derive(Clone, Copy, Debug)]
pub struct Prompt<'a> {
    /// What it says, or all that the hook was told, if that cannot be understood.
    pub text: &'a str,
    pub is_understood: bool,
    pub run: RunId,
    /// What the call of the hook is known by.
    pub event: Digest,
    /// The hook's process.
    pub process: Process,
}

/// What becomes of a prompt that has to do with a delivery.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    pub delivery: DeliveryId,
    pub outcome: ClaimOutcome,
    /// Why it must not go on, if it must not.
    pub block: Option<String>,
}

impl Verdict {
    fn passed(delivery: DeliveryId, outcome: ClaimOutcome) -> Verdict {
        Verdict { delivery, outcome, block: None }
    }

    fn blocked(delivery: DeliveryId, why: String) -> Verdict {
        Verdict { delivery, outcome: ClaimOutcome::Blocked, block: Some(why) }
    }
}

impl Claims {
    /// Returns what becomes of a prompt, and claims what cmux typed if that is it. Nothing, if it has to do with
    /// no delivery.
    pub fn let_through(&self, prompt: &Prompt<'_>) -> Option<Verdict> {
        let own = delivery_of(prompt.text).filter(|_| prompt.is_understood);
        if let Some(verdict) = own.and_then(|delivery| self.claim_prompt(delivery, prompt)) {
            return Some(verdict);
        }
        headers(prompt.text).find_map(|(delivery, rest)| self.find_in(delivery, rest, prompt))
    }

    /// Claims the delivery whose header `prompt` begins with, if it is that and nothing else.
    fn claim_prompt(&self, delivery: DeliveryId, prompt: &Prompt<'_>) -> Option<Verdict> {
        let seen = match self.look(delivery) {
            Ok(seen) => seen?,
            Err(error) => return Some(unseen(delivery, &error)),
        };
        let print = print_of(prompt.text);
        let blocks = match &seen.text {
            Some(text) if !is_for(text, prompt) => return None,
            Some(text) if text.print != print => {
                // Something of a person's may be in the middle of it.
                let is_more = letters_of(prompt.text) > text.letters;
                return (is_more && is_under_way(&seen) && text.blocks).then(|| merged(delivery));
            }
            Some(text) => text.blocks,
            None => true,
        };
        let (id, passes) = (delivery, !blocks);
        match self.claim(delivery, prompt.run, print, prompt.event) {
            Ok(Claim::Claimed) => Some(Verdict::passed(id, ClaimOutcome::Claimed)),
            Ok(Claim::Again) => Some(Verdict::passed(id, ClaimOutcome::Again)),
            Err(ClaimError::NotOurs) => None,
            Err(ClaimError::File(_)) if passes => None,
            Err(ClaimError::AlreadyClaimed | ClaimError::Void | ClaimError::Used) if passes => {
                Some(Verdict::passed(id, ClaimOutcome::Again))
            }
            Err(ClaimError::AlreadyClaimed) => Some(Verdict::blocked(
                id,
                format!(
                    "cmux: {id} was submitted before, and this is a second copy of it. {EMPTY}"
                ),
            )),
            Err(ClaimError::Used) => Some(Verdict::blocked(
                id,
                format!("cmux: {id} was read before, and this is a second copy of it. {EMPTY}"),
            )),
            Err(ClaimError::Void) => Some(Verdict::blocked(
                id,
                format!("cmux: {id} was taken back before it was submitted. {EMPTY}"),
            )),
            Err(ClaimError::File(error)) => Some(unseen(id, &error)),
        }
    }

    /// Returns what becomes of a prompt in which the header of `delivery` stands, and this from there on.
    fn find_in(&self, delivery: DeliveryId, rest: &str, prompt: &Prompt<'_>) -> Option<Verdict> {
        let seen = match self.look(delivery) {
            Ok(seen) => seen?,
            // It is there, and cannot be told from what must not go on.
            Err(error) => return Some(unseen(delivery, &error)),
        };
        let text = seen.text.as_ref().filter(|text| is_for(text, prompt) && text.blocks)?;
        if !is_under_way(&seen) {
            return None;
        }
        if !prompt.is_understood {
            let why = "what its hook was told could not be read whole. Submit it again";
            return Some(Verdict::blocked(
                delivery,
                format!("cmux: {delivery} is held back: {why}"),
            ));
        }
        begins_with(rest, text.letters, text.print).then(|| merged(delivery))
    }
}

const EMPTY: &str = "Empty the prompt to go on";

/// Returns whether a ticket is for the run and the CLI that a prompt comes from.
fn is_for(text: &TicketText, prompt: &Prompt<'_>) -> bool {
    text.run == prompt.run && prompt.process.is_below(&text.process)
}

/// Returns whether the delivery of a ticket is not yet known to be read.
fn is_under_way(seen: &Seen) -> bool {
    match seen.whose {
        Whose::Open | Whose::Claimed { .. } | Whose::Void => true,
        Whose::Used => false,
    }
}

fn merged(delivery: DeliveryId) -> Verdict {
    let why = format!(
        "cmux: there is more in this prompt than the message that cmux typed ({delivery}), and they would be \
         read as one. Cut out what is yours and submit the rest, or empty the prompt: the message comes again"
    );
    Verdict::blocked(delivery, why)
}

fn unseen(delivery: DeliveryId, error: &io::Error) -> Verdict {
    let why = format!(
        "cmux: {delivery} could not be claimed, and without that it might be read twice: {error}. When that \
         is mended, submit it again"
    );
    Verdict::blocked(delivery, why)
}

/// Returns each header of a delivery in `text`, with the text from there on.
fn headers(text: &str) -> impl Iterator<Item = (DeliveryId, &str)> {
    let at = text.match_indices(HEAD).map(|(at, _)| &text[at..]);
    at.filter_map(|rest| Some((delivery_of(rest)?, rest))).take(HEADERS_MAX)
}
