//! `cmux reply`: an answer to a message, to whoever sent it.

use clap::Args;
use cmux_wire::message::{MessageKind, NewMessage};

use crate::cli::{Common, wait};
use crate::cmd::message::follow::Waiting;
use crate::cmd::message::said::{self, kind};
use crate::cmd::send::send;
use crate::fail::Fail;
use crate::place;
use crate::say::Say;

#[derive(Debug, Args)]
pub(crate) struct Reply {
    /// The message that is answered
    #[arg(value_name = "MSG")]
    message: String,
    /// What to say; `-` reads it from standard input
    #[arg(required = true, value_name = "TEXT")]
    text: Vec<String>,
    /// What it is: a response unless it is said
    #[arg(long, value_name = "KIND", value_parser = kind)]
    kind: Option<MessageKind>,
    /// To send the same again with the same key sends nothing
    #[arg(long, value_name = "KEY")]
    key: Option<String>,
    #[command(flatten)]
    waiting: Waiting,
}

impl Reply {
    pub(crate) fn run(self, common: &Common, say: Say) -> Result<(), Fail> {
        let home = place::home(common.home.as_deref())?;
        let new = NewMessage {
            to: None,
            body: said::text(&self.text)?,
            kind: self.kind,
            project: None,
            reply_to: Some(self.message),
            key: self.key,
            ttl_s: None,
            interrupt: false,
        };
        wait(async { send(&place::client(&home), new, self.waiting, say).await })
    }
}
