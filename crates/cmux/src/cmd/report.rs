//! `cmux report`: what a worker tells whoever launched it.

use clap::{Args, ValueEnum};
use cmux_wire::client::Client;
use cmux_wire::message::{MessageKind, NewMessage};
use cmux_wire::who::Principal;

use crate::cli::{Common, wait};
use crate::cmd::agent::find::is_missing;
use crate::cmd::message::once::send_once;
use crate::cmd::message::said;
use crate::fail::{Code, Fail};
use crate::place;
use crate::say::Say;

/// Who is told if nobody else is there to be.
const USER: &str = "user";

#[derive(Debug, Args)]
pub(crate) struct Report {
    /// How it stands
    #[arg(value_enum)]
    how: How,
    /// What to say; `-` reads it from standard input
    #[arg(required = true, value_name = "TEXT")]
    text: Vec<String>,
    /// To send the same again with the same key sends nothing
    #[arg(long, value_name = "KEY")]
    key: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum How {
    /// The task is finished and checked
    Done,
    /// It cannot go on
    Blocked,
    /// Something changed what others do
    Status,
    /// One answer is missing
    Question,
}

impl How {
    /// Returns the kind of message that it is, and what stands before it if the kind does not say it.
    fn message(self) -> (MessageKind, &'static str) {
        match self {
            How::Done => (MessageKind::Response, "Done: "),
            How::Blocked => (MessageKind::Error, "Blocked: "),
            How::Status => (MessageKind::Status, ""),
            How::Question => (MessageKind::Question, ""),
        }
    }
}

impl Report {
    pub(crate) fn run(self, common: &Common, say: Say) -> Result<(), Fail> {
        let home = place::home(common.home.as_deref())?;
        let client = place::client(&home);
        let (kind, before) = self.how.message();
        let body = format!("{before}{}", said::text(&self.text)?);
        wait(async {
            let new = NewMessage {
                to: Some(above(&client).await?),
                body,
                kind: Some(kind),
                project: None,
                reply_to: None,
                key: self.key,
                ttl_s: None,
                interrupt: false,
            };
            let message = send_once(&client, new, say).await?;
            say.show(&message, said::line)
        })
    }
}

/// Returns who launched the agent that this is: another agent if that is still there, or else the person.
async fn above(client: &Client) -> Result<String, Fail> {
    let who = client.whoami().await?;
    let id = match who.principal {
        Principal::Agent => who.id.unwrap_or_default(),
        Principal::Operator | Principal::Token | Principal::Stranger => return Err(nobody()),
    };
    let Some(parent) = client.agent(&id, None).await?.parent else { return Ok(USER.to_owned()) };
    match client.agent(&parent, None).await {
        Ok(parent) => Ok(parent.id),
        Err(error) if is_missing(&error) => Ok(USER.to_owned()),
        Err(error) => Err(error.into()),
    }
}

/// Says that only agents have somebody to report to.
fn nobody() -> Fail {
    let what = "a report is what an agent tells whoever launched it, and this is no agent";
    Fail::new(Code::Refused, what).hint("`cmux send NAME TEXT` writes to an agent")
}
