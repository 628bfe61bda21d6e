//! `cmux message`: one message, looked at, taken back, or sent after all.

pub(crate) mod follow;
pub(crate) mod once;
pub(crate) mod said;
pub(crate) mod show;

use clap::Subcommand;
use cmux_wire::client::Client;
use cmux_wire::message::{Message as Wire, MessageState};

use crate::cli::{Common, wait};
use crate::fail::{Code, Fail};
use crate::place;
use crate::say::Say;

#[derive(Debug, Subcommand)]
pub(crate) enum Message {
    /// Show all of a message, how far it came, and what it waits for
    #[command(after_help = "Exits 4 if there is none, or if it is not for you.\n\nExamples:\n  \
                      cmux message show msg_01J…\n  cmux message show msg_01J… --json | jq -r .body")]
    Show { id: String },
    /// Have a message read after all that failed, expired or was cancelled
    #[command(
        after_help = "It goes behind what waits already.\n\nExample:\n  cmux message retry msg_01J…"
    )]
    Retry { id: String },
    /// Take a message back that was not read yet
    #[command(
        after_help = "Exits 0 only if it was taken back and will not be read. Exits 1 if its reader has \
                      read it, and 6 if it is being typed and that is not decided yet.\n\nExample:\n  \
                      cmux message cancel msg_01J…"
    )]
    Cancel { id: String },
}

impl Message {
    pub(crate) fn run(self, common: &Common, say: Say) -> Result<(), Fail> {
        let home = place::home(common.home.as_deref())?;
        wait(self.ask(&place::client(&home), say))
    }

    async fn ask(self, client: &Client, say: Say) -> Result<(), Fail> {
        match self {
            Message::Show { id } => show::run(&id, client, say).await,
            Message::Retry { id } => {
                let message = client.have_message(&id, "retry").await?;
                say.show(&message, said::line)
            }
            Message::Cancel { id } => {
                let message = client.have_message(&id, "cancel").await?;
                taken_back(&message)?;
                say.show(&message, said::line)
            }
        }
    }
}

/// Refuses to say that a message was taken back that was not.
fn taken_back(message: &Wire) -> Result<(), Fail> {
    let Wire { id, state, .. } = message;
    match state {
        MessageState::Cancelled | MessageState::Expired => Ok(()),
        // Why it failed says whether it may have been read all the same.
        MessageState::Failed => Err(Fail::failed(said::line(message))),
        MessageState::Delivered => {
            Err(Fail::failed(format!("{id} was read before it could be taken back")))
        }
        MessageState::Queued
        | MessageState::Typing
        | MessageState::Submitted
        | MessageState::Claimed
        | MessageState::InDoubt => {
            let what = format!("{id} is {state}, and it is not decided yet whether it is read");
            Err(Fail::new(Code::TimedOut, what).hint(format!(
                "it is taken back if that can still be done: `cmux message show {id}` tells"
            )))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::said::tests::message;
    use super::*;

    #[test]
    fn a_message_counts_as_taken_back_only_if_it_will_not_be_read() {
        use MessageState::{Cancelled, Claimed, Delivered, Expired, Failed, InDoubt};
        use MessageState::{Queued, Submitted, Typing};
        for (states, expected) in [
            (&[Cancelled, Expired][..], None),
            (&[Delivered, Failed], Some(Code::Failed)),
            (&[Queued, Typing, Submitted, Claimed, InDoubt], Some(Code::TimedOut)),
        ] {
            for &state in states {
                let refused = taken_back(&Wire { state, ..message() }).err();
                assert_eq!(refused.map(|fail| fail.code), expected, "{state}");
            }
        }
    }
}
