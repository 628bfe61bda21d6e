//! The log over a WebSocket.
//!
//! A client's whole state is its cursor: the last event it was told, or that its filter held back. It
//! listens to the feed before it reads the log, and takes a batch of the feed only if that joins on, which
//! is to say that it follows on an event that is not after the cursor; of such a batch it skips what is
//! not after the cursor. If a batch does not join on, or the feed says that some were dropped, it reads the
//! log from the cursor. So every event after the cursor comes next, whichever way it comes: there is no gap
//! and nothing comes twice, however slow or late anybody is.
//!
//! A client that may know of its own mail alone reads the log itself, too, where a batch tells of mail: whose it
//! is, only the store knows.
//!
//! How far behind a client is does not matter: it holds a batch and no more, and reads at its own pace.
//! Only one that stops accepting is let go.

use std::future::pending;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use axum::body::Bytes;
use axum::extract::State;
use axum::extract::ws::rejection::WebSocketUpgradeRejection;
use axum::extract::ws::{CloseFrame, Message, Utf8Bytes, WebSocket, WebSocketUpgrade, close_code};
use axum::http::StatusCode;
use axum::response::Response;
use cmux_core::id::EventId;
use cmux_core::principal::Principal;
use cmux_drivers::clock;
use cmux_store::events::{self as store, Filter};
use cmux_store::logs;
use cmux_wire::event::Notice;
use cmux_wire::stream::FRAME_MAX;
use futures_util::{SinkExt, StreamExt};
use schemars::JsonSchema;
use serde::Deserialize;
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, MissedTickBehavior, interval_at, sleep, timeout};
use tracing::info;

use crate::feed::{Batch, Feed, Place};
use crate::http::App;
use crate::http::events;
use crate::http::extract::Query;
use crate::http::gate::Caller;
use crate::http::problem::Oops;
use crate::http::vitals::{Kept, not_for_agents};
use crate::serve::closed;
use crate::tenure::is_let_in;

/// How much is gathered before it is written, in bytes. No message is taken while this much waits, so a
/// client holds this and one message.
const WRITE_BYTES: usize = 64 << 10;

/// The longest message that is heard, in bytes. What clients say is not listened to.
const HEARD_MAX: usize = 4 << 10;

/// How long a client that accepts nothing is waited for when the daemon stops, and how long any is told
/// what it has missed until then.
const STALLED_MAX: Duration = Duration::from_secs(3);
const GOODBYE_WITHIN: Duration = Duration::from_secs(6);

/// How long a client may then take to answer the last word.
const LINGER_MAX: Duration = Duration::from_secs(1);

/// When a client should come back after the daemon has stopped.
const RETRY_MS: u64 = 1000;

/// Which events are to be told.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Wanted {
    /// After this one. Without it, those that are yet to come.
    since: Option<i64>,
    /// A stream has no end, so this has no effect.
    #[schemars(range(min = 1, max = 1000))]
    limit: Option<u32>,
    project: Option<String>,
    agent: Option<String>,
    /// One kind, or all that begin so if it ends with a dot.
    kind: Option<String>,
    /// The log that `since` is a place in.
    log: Option<String>,
    /// Whether to tell how cmux does, too, every few seconds. It is not for agents.
    #[serde(default)]
    vitals: bool,
}

/// What a client may know of what it asks for.
struct Asked {
    wanted: Wanted,
    filter: Filter,
    vitals: Option<watch::Receiver<Kept>>,
}

pub(crate) async fn follow(
    State(app): State<Arc<App>>,
    caller: Caller,
    Query(wanted): Query<Wanted>,
    upgrade: Result<WebSocketUpgrade, WebSocketUpgradeRejection>,
) -> Result<Response, Oops> {
    // A stream has no end, but what makes no sense is refused here as it is elsewhere.
    events::limit(wanted.limit)?;
    let upgrade = upgrade
        .map_err(|why| Oops::new(StatusCode::UPGRADE_REQUIRED, "no-websocket", why.body_text()))?;
    let Wanted { project, agent, kind, .. } = wanted.clone();
    let filter = events::filter(&caller, project, agent, kind)?;
    if wanted.vitals {
        caller.0.may_watch().map_err(|_| not_for_agents())?;
    }
    let vitals = wanted.vitals.then(|| app.pulse.follow());
    let (closing, counted) = (app.ways_out.closing.clone(), app.ways_out.clients.clone());
    let leave = Leave { closing, counted, caller: caller.0 };
    open(app.feed().await?, Asked { wanted, filter, vitals }, leave, upgrade).await
}

/// What a client needs to know of the end.
struct Leave {
    closing: watch::Receiver<bool>,
    /// Held until the client is gone.
    counted: mpsc::Sender<()>,
    /// Who it is, for as long as they are let in.
    caller: Principal,
}

/// Answers that the log is about to be told, or why it is not.
async fn open(
    feed: &Feed,
    asked: Asked,
    leave: Leave,
    upgrade: WebSocketUpgrade,
) -> Result<Response, Oops> {
    let place = feed.enter().ok_or_else(|| too_many(feed.limits.clients_max))?;
    let found = feed.read(|view| Ok((logs::current(view)?, store::head(view)?.id))).await;
    let (log, head) = found.map_err(|error| Oops::from(&error))?;
    let log = log.map_or_else(String::new, |log| log.to_string());
    let feed = feed.clone();
    let upgrade = upgrade
        .read_buffer_size(HEARD_MAX)
        .max_message_size(HEARD_MAX)
        .max_frame_size(HEARD_MAX)
        .write_buffer_size(WRITE_BYTES)
        .max_write_buffer_size(WRITE_BYTES + FRAME_MAX);
    Ok(upgrade.on_upgrade(move |socket| {
        let (Asked { wanted, filter, vitals }, cursor) = (asked, head);
        let telling =
            Telling { feed, socket, wanted, filter, vitals, log, head, cursor, leave, place };
        telling.tell()
    }))
}

fn too_many(max: u64) -> Oops {
    let detail = format!("{max} clients follow the log already: close some and try again");
    Oops::new(StatusCode::SERVICE_UNAVAILABLE, "too-many-clients", detail)
}

/// One client, being told.
struct Telling {
    feed: Feed,
    socket: WebSocket,
    wanted: Wanted,
    filter: Filter,
    vitals: Option<watch::Receiver<Kept>>,
    log: String,
    /// The newest event when it came.
    head: EventId,
    cursor: EventId,
    leave: Leave,
    place: Place,
}

/// Why a client is told no more.
enum Over {
    /// It is gone, or must go.
    Gone,
    /// It does not accept what it is told.
    Slow,
    /// Whoever it is may not know any more.
    Barred,
}

impl Telling {
    async fn tell(mut self) {
        match self.follow().await {
            Ok(()) | Err(Over::Gone) => {}
            Err(Over::Slow) => self.let_go().await,
            Err(Over::Barred) => self.turn_out().await,
        }
        drop((self.place, self.leave.counted));
    }

    /// Tells all there is until the daemon stops.
    async fn follow(&mut self) -> Result<(), Over> {
        let mut live = self.feed.subscribe();
        self.greet().await?;
        self.catch_up().await?;
        let limits = self.feed.limits;
        let mut pings = interval_at(Instant::now() + limits.ping_every, limits.ping_every);
        pings.set_missed_tick_behavior(MissedTickBehavior::Delay);
        // When the oldest ping went out after which nothing was heard.
        let mut asked_at = None;
        loop {
            tokio::select! {
                biased;
                () = closed(self.leave.closing.clone()) => return self.goodbye().await,
                // What waits is heard first: it may be the answer to a ping.
                heard = self.socket.next() => {
                    if !matches!(heard, Some(Ok(_))) {
                        return Err(Over::Gone);
                    }
                    asked_at = None;
                }
                _ = pings.tick() => {
                    let asked_at = asked_at.get_or_insert_with(Instant::now);
                    // It was silent for as long before it was asked.
                    if asked_at.elapsed() + limits.ping_every >= limits.silence_max {
                        return Err(Over::Gone);
                    }
                    self.require_let_in().await?;
                    self.say(Message::Ping(Bytes::new())).await?;
                }
                sample = sampled(&mut self.vitals) => self.say(Message::Text(sample)).await?,
                batch = live.recv() => {
                    if batch.as_ref().is_ok_and(|batch| batch.ends_somebody()) {
                        self.require_let_in().await?;
                    }
                    match batch {
                        Ok(batch) if batch.after <= self.cursor && !self.hides(&batch) => {
                            self.pour(&batch).await?;
                        }
                        Ok(_) | Err(RecvError::Lagged(_)) => self.catch_up().await?,
                        // It is held here, so it is never closed.
                        Err(RecvError::Closed) => return Err(Over::Gone),
                    }
                    if live.is_empty() {
                        self.flush().await?;
                    }
                }
            }
        }
    }

    /// Returns whether there may be something in `batch` that only the store knows to be hidden.
    fn hides(&self, batch: &Batch) -> bool {
        self.filter.mail_of.is_some() && batch.tells_of_mail()
    }

    /// Lets the client go on only if whoever it is would still be let in.
    async fn require_let_in(&mut self) -> Result<(), Over> {
        let (caller, now) = (self.leave.caller.clone(), clock::wall());
        let found = self.feed.read(move |view| is_let_in(view, &caller, now)).await;
        // A store that cannot be read now may be read at the next ping.
        if found.unwrap_or(true) { Ok(()) } else { Err(Over::Barred) }
    }

    /// Says the last word to one who may not know any more.
    async fn turn_out(&mut self) {
        let reason = "no longer let in".into();
        let close = CloseFrame { code: close_code::POLICY, reason };
        let last = self.socket.send(Message::Close(Some(close)));
        let _ = timeout(self.feed.limits.accept_within, last).await;
    }

    /// Says which log this is, and finds the client's place in it.
    async fn greet(&mut self) -> Result<(), Over> {
        self.say(notice(&Notice::Hello { log: self.log.clone(), head: self.head.0 })).await?;
        let Some(since) = self.wanted.since else { return Ok(()) };
        self.cursor = EventId(since);
        let is_other = self.wanted.log.as_ref().is_some_and(|log| *log != self.log);
        if is_other || since > self.head.0 {
            self.cursor = EventId(0);
            self.say(notice(&Notice::Reset)).await?;
        }
        Ok(())
    }

    /// Tells all events after the cursor that are in the store.
    async fn catch_up(&mut self) -> Result<(), Over> {
        loop {
            // There may be hours of it, in which much can be revoked.
            self.require_let_in().await?;
            let (cursor, filter) = (self.cursor, self.filter.clone());
            let found = self.feed.read(move |view| {
                let archived = store::archived_after(view, cursor)?;
                let after = archived.unwrap_or(cursor);
                let batch = Batch::read(view, after, &filter)?;
                let newest = store::newest_id(view)?;
                Ok((archived, batch, newest))
            });
            let (archived, batch, newest) = found.await.map_err(|_| Over::Gone)?;
            if let Some(through) = archived {
                self.say(notice(&Notice::Archived { through: through.0 })).await?;
                self.cursor = through;
            }
            self.pour(&batch).await?;
            if newest.is_none_or(|newest| newest <= self.cursor) {
                return self.flush().await;
            }
        }
    }

    /// Tells of `batch`, which joins on, what comes after the cursor.
    async fn pour(&mut self, batch: &Batch) -> Result<(), Over> {
        let patience = self.patience();
        let pouring = async {
            let cursor = self.cursor;
            for line in batch.lines.iter().skip_while(|line| line.id <= cursor) {
                if line.fits(&self.filter) {
                    self.socket.feed(Message::Text(line.text.clone())).await?;
                    self.feed.counts.sent.fetch_add(1, Ordering::Relaxed);
                }
                self.cursor = line.id;
            }
            self.cursor = self.cursor.max(batch.through);
            Ok(())
        };
        accepted(pouring, patience).await
    }

    async fn say(&mut self, message: Message) -> Result<(), Over> {
        let patience = self.patience();
        accepted(self.socket.send(message), patience).await
    }

    async fn flush(&mut self) -> Result<(), Over> {
        let patience = self.patience();
        accepted(self.socket.flush(), patience).await
    }

    /// Waits until the client has had time enough, which is less when the daemon stops.
    fn patience(&self) -> impl Future<Output = ()> + use<> {
        let (closing, limit) = (self.leave.closing.clone(), self.feed.limits.accept_within);
        let stop = async move {
            closed(closing).await;
            sleep(STALLED_MAX).await;
        };
        async move {
            tokio::select! {
                () = sleep(limit) => {}
                () = stop => {}
            }
        }
    }

    /// Tells a client that accepts nothing from where to go on. Nothing is held for it but that, and what
    /// it was already sent.
    async fn let_go(&mut self) {
        self.feed.counts.evicted.fetch_add(1, Ordering::Relaxed);
        let resume = self.cursor.0;
        info!(resume, "a client was too slow, and is told to come back");
        let close = CloseFrame { code: close_code::AGAIN, reason: "too slow".into() };
        let (closing, limit) = (self.leave.closing.clone(), self.feed.limits.leave_within);
        let leaving = async {
            if self.end(&Notice::Lagged { resume }, Some(close)).await.is_ok() {
                self.linger().await;
            }
        };
        tokio::select! {
            _ = timeout(limit, leaving) => {}
            () = closed(closing) => {}
        }
    }

    /// Tells what was stored before the end, and that this is it.
    async fn goodbye(&mut self) -> Result<(), Over> {
        let last = async {
            self.catch_up().await?;
            self.end(&Notice::Goodbye { retry_ms: RETRY_MS }, None).await
        };
        timeout(GOODBYE_WITHIN, last).await.unwrap_or(Err(Over::Gone))?;
        let _ = timeout(LINGER_MAX, self.linger()).await;
        Ok(())
    }

    /// Says the last word.
    async fn end(&mut self, word: &Notice, close: Option<CloseFrame>) -> Result<(), Over> {
        let said = async {
            self.socket.feed(notice(word)).await?;
            self.socket.send(Message::Close(close)).await
        };
        said.await.map_err(|_| Over::Gone)
    }

    /// Waits until the client has heard the last word: what it has not read when the connection is closed
    /// may be lost.
    async fn linger(&mut self) {
        while let Some(Ok(_)) = self.socket.next().await {}
    }
}

/// Waits for the next sample of how cmux does, for good if none is wanted.
async fn sampled(vitals: &mut Option<watch::Receiver<Kept>>) -> Utf8Bytes {
    if let Some(vitals) = vitals
        && vitals.changed().await.is_ok()
    {
        return vitals.borrow_and_update().told.clone();
    }
    pending().await
}

/// Waits until what is said is accepted, or patience ends.
async fn accepted(
    saying: impl Future<Output = Result<(), axum::Error>>,
    patience: impl Future<Output = ()>,
) -> Result<(), Over> {
    tokio::select! {
        biased;
        said = saying => said.map_err(|_| Over::Gone),
        () = patience => Err(Over::Slow),
    }
}

/// Returns `word` as it is said.
fn notice(word: &Notice) -> Message {
    // Words and numbers can always be written down.
    Message::Text(serde_json::to_string(word).unwrap_or_default().into())
}

#[cfg(test)]
mod tests;
