//! Waiting for a message to be read, woken by the log.

use std::time::Duration;

use clap::Args;
use cmux_wire::client::{Client, EventQuery};
use cmux_wire::message::{Message, MessageState};
use cmux_wire::stream::{Stream, Told};
use tokio::time::{Instant, interval, sleep_until, timeout};

use crate::cmd::events::passes;
use crate::cmd::message::said::{is_over, line, waits_for};
use crate::fail::{Code, Fail};
use crate::say::Say;
use crate::spin::{Spinner, TURN};

/// How long it may take to begin to follow the log.
const OPEN_WITHIN: Duration = Duration::from_secs(2);

/// How often it looks if it cannot follow the log.
const LOOK_EVERY: Duration = Duration::from_millis(500);

/// How often it looks though nothing is told, as what is waited for may change without that.
const LOOK_AGAIN: Duration = Duration::from_secs(5);

/// Whether to wait for a message to be read, and for how long.
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct Waiting {
    /// Return when it is delivered, or after so many seconds
    #[arg(long, value_name = "SECONDS", num_args = 0..=1, require_equals = true,
          default_missing_value = "120", value_parser = clap::value_parser!(u64).range(1..=86_400))]
    wait: Option<u64>,
}

impl Waiting {
    /// Returns the message as it is when it was delivered, or at once if nobody wants to wait.
    pub(crate) async fn wait(
        self,
        client: &Client,
        message: Message,
        say: Say,
    ) -> Result<Message, Fail> {
        let Some(seconds) = self.wait else { return Ok(message) };
        let within = Duration::from_secs(seconds);
        let message = until_over(client, message, within, &mut Spinner::new(say)).await?;
        came_of(message, seconds)
    }
}

/// Returns that it came to nothing, and what can be done about that.
fn over(what: String, id: &str) -> Fail {
    Fail::failed(what).hint(format!("`cmux message retry {id}` has it sent after all"))
}

/// Returns `message` if it was delivered, or else why that cannot be said.
fn came_of(message: Message, seconds: u64) -> Result<Message, Fail> {
    let Message { id, state, .. } = &message;
    match state {
        MessageState::Delivered => Ok(message),
        // Why it failed says whether it may have been read all the same.
        MessageState::Failed => Err(over(line(&message), id)),
        MessageState::Cancelled | MessageState::Expired => {
            Err(over(format!("{} and was not read", line(&message)), id))
        }
        MessageState::Queued
        | MessageState::Typing
        | MessageState::Submitted
        | MessageState::Claimed
        | MessageState::InDoubt => {
            let waits = waits_for(&message).unwrap_or_else(|| "its reader has not read it".into());
            let what = format!("{id} is not delivered after {seconds} s, but {state}: {waits}");
            Err(Fail::new(Code::TimedOut, what).hint(format!(
                "it goes on waiting; `cmux message show {id}` tells how far it is, `cmux message cancel {id}` \
                 takes it back"
            )))
        }
    }
}

/// Waits until it is settled what becomes of a message, at most so long.
async fn until_over(
    client: &Client,
    mut message: Message,
    within: Duration,
    spinner: &mut Spinner,
) -> Result<Message, Fail> {
    let deadline = Instant::now() + within;
    let query = EventQuery {
        project: Some(message.project.clone()),
        kind: Some("message.".to_owned()),
        ..EventQuery::default()
    };
    let mut log = None;
    while !is_over(message.state) {
        if log.is_none() {
            // Before the look: what happens after it is told.
            let opened = timeout(OPEN_WITHIN, client.follow(&query)).await;
            log = opened.ok().and_then(Result::ok);
        }
        match client.message(&message.id).await {
            Ok(seen) => message = seen,
            // It starts again, most likely.
            Err(error) if passes(&error) => {}
            Err(error) => return Err(error.into()),
        }
        if is_over(message.state) || Instant::now() >= deadline {
            break;
        }
        spinner.say(&line(&message));
        let look_at = Instant::now() + if log.is_some() { LOOK_AGAIN } else { LOOK_EVERY };
        wait_for_news(&mut log, &message.id, deadline.min(look_at), spinner).await;
    }
    Ok(message)
}

/// Waits until something is told of a message, or until then.
async fn wait_for_news(log: &mut Option<Stream>, id: &str, then: Instant, spinner: &mut Spinner) {
    let mut turns = interval(TURN);
    let about = format!("message:{id}");
    loop {
        let told = async {
            match log {
                Some(log) => log.next().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            told = told => match told {
                Ok(Some(Told::Event(event))) if event.subject.as_ref() == Some(&about) => return,
                Ok(Some(Told::Event(_) | Told::Notice(_))) => {}
                Ok(None) | Err(_) => {
                    *log = None;
                    return sleep_until(then.min(Instant::now() + LOOK_EVERY)).await;
                }
            },
            _ = turns.tick() => spinner.turn(),
            () = sleep_until(then) => return,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cmd::message::said::tests::message;

    #[test]
    fn only_what_was_read_counts_as_delivered() {
        use MessageState::{Cancelled, Claimed, Delivered, Expired, Failed, InDoubt};
        use MessageState::{Queued, Submitted, Typing};
        for (states, expected) in [
            (&[Delivered][..], None),
            (&[Failed, Cancelled, Expired], Some(Code::Failed)),
            (&[Queued, Typing, Submitted, Claimed, InDoubt], Some(Code::TimedOut)),
        ] {
            for &state in states {
                let waiting_for = Some("draft".to_owned()).filter(|_| !is_over(state));
                let came = came_of(Message { state, waiting_for, ..message() }, 7);
                let code = came.as_ref().err().map(|fail| fail.code);
                assert_eq!(code, expected, "{state}");
                if let (Err(fail), Some(Code::TimedOut)) = (came, expected) {
                    assert!(fail.what.contains("somebody has begun to write"), "{fail:?}");
                }
            }
        }
    }
}
