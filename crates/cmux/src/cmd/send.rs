//! `cmux send`: something to say to an agent, or to the person.

use std::str::FromStr;

use clap::Args;
use cmux_core::id::AgentId;
use cmux_wire::client::Client;
use cmux_wire::message::{MessageKind, NewMessage, TTL_S_MAX};

use crate::cli::{Common, wait};
use crate::cmd::agent::find::Within;
use crate::cmd::message::follow::Waiting;
use crate::cmd::message::once::send_once;
use crate::cmd::message::said::{self, kind};
use crate::fail::Fail;
use crate::place;
use crate::say::Say;

#[derive(Debug, Args)]
pub(crate) struct Send {
    /// An agent by its name or id, `name@project`, or `user`
    to: String,
    /// What to say; `-` reads it from standard input
    #[arg(required = true, value_name = "TEXT")]
    text: Vec<String>,
    #[command(flatten)]
    within: Within,
    /// What it is: task, status, response, question, error or user
    #[arg(long, value_name = "KIND", value_parser = kind)]
    kind: Option<MessageKind>,
    /// The message that it answers
    #[arg(long, value_name = "MSG")]
    reply_to: Option<String>,
    /// To send the same again with the same key sends nothing
    #[arg(long, value_name = "KEY")]
    key: Option<String>,
    /// Give it up if it is not read within this time: 90s, 10m, 12h, 7d
    #[arg(long, value_name = "TIME")]
    ttl: Option<Ttl>,
    /// Have its reader leave what it is doing: this goes first, after what you sent before it
    #[arg(long)]
    interrupt: bool,
    #[command(flatten)]
    waiting: Waiting,
}

impl Send {
    pub(crate) fn run(self, common: &Common, say: Say) -> Result<(), Fail> {
        let home = place::home(common.home.as_deref())?;
        let body = said::text(&self.text)?;
        wait(self.send(&place::client(&home), body, say))
    }

    async fn send(self, client: &Client, body: String, say: Say) -> Result<(), Fail> {
        let new = NewMessage {
            project: project(client, &self.to, self.within.project.as_deref()).await?,
            to: Some(self.to),
            body,
            kind: self.kind,
            reply_to: self.reply_to,
            key: self.key,
            ttl_s: self.ttl.map(|Ttl(seconds)| seconds),
            interrupt: self.interrupt,
        };
        send(client, new, self.waiting, say).await
    }
}

/// Sends a message, waits for it if that is wanted, and tells what came of it.
pub(crate) async fn send(
    client: &Client,
    new: NewMessage,
    waiting: Waiting,
    say: Say,
) -> Result<(), Fail> {
    let sent = send_once(client, new, say).await?;
    let message = waiting.wait(client, sent, say).await?;
    say.show(&message, said::line)
}

/// Returns the project in which a reader is called so, as far as it is said or can be told from here.
pub(crate) async fn project(
    client: &Client,
    to: &str,
    named: Option<&str>,
) -> Result<Option<String>, Fail> {
    let is_clear = to.contains('@') || to.parse::<AgentId>().is_ok();
    match named {
        Some(_) => place::project_id(client, named).await.map(Some),
        None if is_clear => Ok(None),
        // A name that only one has is known wherever this is.
        None => Ok(place::project_id(client, None).await.ok()),
    }
}

/// A time in seconds, as it is said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Ttl(u64);

impl FromStr for Ttl {
    type Err = String;

    fn from_str(text: &str) -> Result<Ttl, String> {
        let unclear = || "say it as 90s, 10m, 12h or 7d".to_owned();
        let unit = text.chars().next_back().ok_or_else(unclear)?;
        let unit_s = match unit {
            's' => 1,
            'm' => 60,
            'h' => 60 * 60,
            'd' => 24 * 60 * 60,
            _ => return Err(unclear()),
        };
        let digits = &text[..text.len() - unit.len_utf8()];
        // A sign would be taken as part of a number otherwise.
        if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(unclear());
        }
        let seconds = digits.parse().ok().and_then(|count: u64| count.checked_mul(unit_s));
        match seconds {
            Some(0) => Err("it would be over before it was sent".to_owned()),
            Some(seconds) if seconds <= TTL_S_MAX => Ok(Ttl(seconds)),
            Some(_) | None => Err(format!("{}d is the longest", TTL_S_MAX / 86_400)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_read_in_the_unit_that_it_is_said_in() {
        for (text, expected) in
            [("1s", 1), ("90s", 90), ("10m", 600), ("12h", 43_200), ("365d", TTL_S_MAX)]
        {
            assert_eq!(text.parse(), Ok(Ttl(expected)), "{text}");
        }
        for (text, told) in [
            ("", "say it as"),
            ("10", "say it as"),
            ("m", "say it as"),
            ("-1m", "say it as"),
            ("+1m", "say it as"),
            ("1.5h", "say it as"),
            ("10 m", "say it as"),
            ("5é", "say it as"),
            ("0m", "over before"),
            ("366d", "365d is the longest"),
            ("99999999999999999999d", "365d is the longest"),
        ] {
            let refused = text.parse::<Ttl>().unwrap_err();
            assert!(refused.contains(told), "{text}: {refused}");
        }
    }
}
