//! The spool, emptied: what hooks had to tell while no daemon could be told is heard as if it had come in
//! time, and each once.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use cmux_core::hook::{Caller, HOOK_KEEP, Hook, Ranks};
use cmux_core::report::Report;
use cmux_core::time::Timestamp;
use cmux_drivers::clock;
use cmux_drivers::spool::{Entry, Letter, Spool};
use cmux_wire::hook::NewHook;
use tokio::task::spawn_blocking;
use tokio::time::sleep;
use tracing::{info, warn};

use crate::http::hooks::hear;
use crate::inbox::{Inbox, since_boot_ms};
use crate::kernel::Denied;
use crate::ranks::HookRanks;

/// How many entries are heard at once.
const BATCH: usize = 256;

/// How often the spool is looked at.
const EVERY: Duration = Duration::from_secs(10);

/// Empties `spool` now, and every so often.
pub(crate) async fn tend(inbox: Inbox, spool: Spool, ranks: Arc<HookRanks>) {
    loop {
        match drain(&inbox, &spool, &ranks).await {
            Ok(0) => {}
            Ok(count) => info!(count, "hooks were heard that had been spooled"),
            Err(error) => warn!(%error, "the spool could not be emptied"),
        }
        sleep(EVERY).await;
    }
}

/// Has the kernel hear what is in `spool`, in the order in which it happened, and removes what is stored.
/// What nobody can make sense of is set aside. Returns how many were heard.
pub(crate) async fn drain(inbox: &Inbox, spool: &Spool, ranks: &HookRanks) -> io::Result<usize> {
    let mut count = 0;
    loop {
        let (entries, letters) = take(spool).await?;
        if entries.is_empty() {
            return Ok(count);
        }
        let outcomes = hear_all(inbox, &entries, letters, &ranks.get().await).await;
        count += outcomes.iter().filter(|it| **it == Outcome::Stored).count();
        let is_over = outcomes.contains(&Outcome::Later);
        put_away(spool, entries, outcomes).await?;
        if is_over {
            return Ok(count);
        }
    }
}

/// What becomes of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outcome {
    Stored,
    /// It is tried again.
    Later,
    /// Nobody can make sense of it.
    Senseless,
}

type Read = io::Result<Option<Letter>>;

async fn take(spool: &Spool) -> io::Result<(Vec<Entry>, Vec<Read>)> {
    let spool = spool.clone();
    let taken = spawn_blocking(move || {
        let entries = spool.entries(BATCH)?;
        let letters = entries.iter().map(|entry| spool.read(entry)).collect();
        Ok((entries, letters))
    });
    taken.await.map_err(io::Error::other)?
}

async fn put_away(spool: &Spool, entries: Vec<Entry>, outcomes: Vec<Outcome>) -> io::Result<()> {
    let spool = spool.clone();
    let done = spawn_blocking(move || {
        // One that cannot be put away does not keep the others.
        let put = entries.iter().zip(outcomes).map(|(entry, outcome)| match outcome {
            Outcome::Stored => spool.remove(entry),
            Outcome::Later => Ok(()),
            Outcome::Senseless => spool.set_aside(entry),
        });
        put.fold(Ok(()), Result::and)
    });
    done.await.map_err(io::Error::other)?
}

/// Has the kernel hear entries, one after another and in few commits.
async fn hear_all(
    inbox: &Inbox,
    entries: &[Entry],
    letters: Vec<Read>,
    ranks: &Ranks,
) -> Vec<Outcome> {
    // Whatever nobody can make sense of stays so.
    let mut outcomes = vec![Outcome::Senseless; entries.len()];
    let (mut places, mut reports) = (Vec::new(), Vec::new());
    for (place, (entry, letter)) in entries.iter().zip(letters).enumerate() {
        let understood = match letter {
            Ok(Some(letter)) => understand(entry, &letter).await.map(|hook| (letter.by, hook)),
            // Somebody else has taken it.
            Ok(None) => {
                outcomes[place] = Outcome::Stored;
                continue;
            }
            Err(error) => Err(error.to_string()),
        };
        match understood {
            Ok((by, hook)) => {
                let (by, hook) = (Caller::Bearer(by), Box::new(hook));
                places.push(place);
                reports.push(Report::Hooked { by, hook, ranks: ranks.clone() });
            }
            Err(why) => complain(entry, &why),
        }
    }
    for (place, answer) in places.into_iter().zip(inbox.ask_all(reports).await) {
        outcomes[place] = match answer {
            Ok(_) => Outcome::Stored,
            Err(Denied::Refused(why)) => {
                complain(&entries[place], &why.to_string());
                Outcome::Senseless
            }
            Err(Denied::Unstored(why)) => {
                complain(&entries[place], &why);
                Outcome::Senseless
            }
            Err(Denied::Full | Denied::Broken(_) | Denied::Stopping | Denied::Busy) => {
                Outcome::Later
            }
        };
    }
    outcomes
}

async fn understand(entry: &Entry, letter: &Letter) -> Result<Hook, String> {
    let new: NewHook = serde_json::from_str(&letter.body).map_err(|error| error.to_string())?;
    if new.hook != entry.id.to_string() {
        return Err("it is not the hook that it is called by".to_owned());
    }
    let age = age(letter, Timestamp(new.at.millis()), new.since_boot_ms);
    if age >= HOOK_KEEP {
        return Err("it is too old to tell whether it was heard before".to_owned());
    }
    hear(new, age).await
}

/// Returns how long ago a hook was called. Only since the last boot can that be told without the wall.
fn age(letter: &Letter, at: Timestamp, since_boot: u64) -> Duration {
    match letter.boot == clock::boot() {
        true => Duration::from_millis(since_boot_ms().saturating_sub(since_boot)),
        false => clock::wall().since(at),
    }
}

fn complain(entry: &Entry, why: &str) {
    warn!(hook = %entry.id, why, "what was spooled cannot be heard, and is set aside");
}
