//! Sending once, though the daemon may go away between storing a message and saying so.

use std::time::Duration;

use cmux_drivers::clock;
use cmux_wire::client::{Client, ClientError};
use cmux_wire::message::{Message, NewMessage};
use tokio::time::{Instant, sleep};

use crate::fail::Fail;
use crate::name::ulid;
use crate::place::is_agents;
use crate::say::Say;
use crate::spin::Spinner;

/// For how long it is asked again, and how often: a daemon that was killed is started anew within that.
const AGAIN_FOR: Duration = Duration::from_secs(20);
const AGAIN_EVERY: Duration = Duration::from_millis(200);

/// Sends a message, and returns it once it is known to be stored. It has a key, its own if nobody gave it one:
/// whoever was not answered asks again with that, and it is stored once. An agent, which is no judge of why the
/// daemon is away, waits for it, too.
pub(crate) async fn send_once(client: &Client, new: NewMessage, say: Say) -> Result<Message, Fail> {
    let new = NewMessage { key: Some(new.key.unwrap_or_else(key)), ..new };
    let mut spinner = Spinner::new(say);
    let (mut is_unknown, mut deadline) = (false, None);
    loop {
        let error = match client.send_message(&new).await {
            Ok(message) => return Ok(message),
            Err(error) => error,
        };
        is_unknown |= may_be_stored(&error);
        let waits = (is_unknown || is_agents()) && comes_back(&error);
        let now = Instant::now();
        if !waits || now >= *deadline.get_or_insert(now + AGAIN_FOR) {
            return Err(if is_unknown { unknown(error, &new) } else { error.into() });
        }
        spinner.say("the daemon went away: asking again");
        sleep(AGAIN_EVERY).await;
        spinner.turn();
    }
}

/// Returns a key that nobody else has.
fn key() -> String {
    ulid(clock::wall().0).to_string()
}

/// Returns whether the daemon may have stored what it was asked to, though it did not say so.
fn may_be_stored(error: &ClientError) -> bool {
    match error {
        ClientError::Broken(_) | ClientError::TimedOut(_) | ClientError::Nonsense(_) => true,
        ClientError::NoDaemon | ClientError::Unreachable(_) | ClientError::Refused(_) => false,
    }
}

/// Returns whether it may be otherwise once the daemon is back.
fn comes_back(error: &ClientError) -> bool {
    match error {
        ClientError::NoDaemon | ClientError::Broken(_) | ClientError::TimedOut(_) => true,
        ClientError::Refused(problem) => problem.status == 503,
        ClientError::Unreachable(_) | ClientError::Nonsense(_) => false,
    }
}

/// Says that nobody knows whether it is stored, and how to have it stored once.
fn unknown(error: ClientError, new: &NewMessage) -> Fail {
    let key = new.key.as_deref().unwrap_or_default();
    let fail = Fail::from(error);
    Fail { what: format!("{}; the message may have been taken all the same", fail.what), ..fail }
        .hint(format!(
            "say the same again with `--key {key}`: then it is sent once, whatever became of this"
        ))
}

#[cfg(test)]
mod tests {
    use cmux_wire::problem::Problem;

    use super::*;

    #[test]
    fn what_may_be_stored_is_asked_again_and_what_was_refused_is_not() {
        let refused = |status| {
            let (kind, title, detail) = (String::new(), String::new(), String::new());
            ClientError::Refused(Problem { kind, title, status, detail })
        };
        for (error, expected) in [
            (ClientError::Broken("x".to_owned()), (true, true)),
            (ClientError::TimedOut(AGAIN_FOR), (true, true)),
            (ClientError::Nonsense("x".to_owned()), (true, false)),
            (ClientError::NoDaemon, (false, true)),
            (ClientError::Unreachable("x".to_owned()), (false, false)),
            (refused(503), (false, true)),
            (refused(429), (false, false)),
            (refused(404), (false, false)),
        ] {
            assert_eq!((may_be_stored(&error), comes_back(&error)), expected, "{error:?}");
        }
        assert_ne!(key(), key());
    }
}
