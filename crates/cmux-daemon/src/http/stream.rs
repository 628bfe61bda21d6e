//! The log over a WebSocket. Each client reads by its own cursor: what it was told last is all that is
//! known of it, so there is no gap between what was and what comes.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::State;
use axum::extract::ws::{Message, Utf8Bytes, WebSocket, WebSocketUpgrade};
use axum::response::Response;
use cmux_core::id::EventId;
use cmux_store::{events, logs};
use cmux_wire::event::Notice;
use futures_util::StreamExt;
use serde::Serialize;
use tokio::sync::watch;
use tokio::time::Instant;

use crate::http::App;
use crate::http::events::{Wanted, say};
use crate::http::extract::Query;
use crate::http::problem::Oops;
use crate::serve::closed;

/// How many events are read at once.
const PAGE: u32 = 500;

/// How long a client may take to accept what it is told.
const ACCEPT_WITHIN: Duration = Duration::from_secs(10);

/// How often a quiet connection is tried.
const PING_EVERY: Duration = Duration::from_secs(20);

/// When a client should come back after the daemon has stopped.
const RETRY_MS: u64 = 1000;

pub(crate) async fn follow(
    State(app): State<Arc<App>>,
    Query(wanted): Query<Wanted>,
    upgrade: WebSocketUpgrade,
) -> Result<Response, Oops> {
    let place = app.read(|view| Ok((logs::current(view)?, events::head(view)?.id))).await?;
    let log = place.0.map_or_else(String::new, |log| log.to_string());
    Ok(upgrade.on_upgrade(move |socket| async move {
        let told = Telling { app: app.clone(), socket, wanted, log, head: place.1 };
        // A client that leaves is no error.
        let _ = told.tell().await;
        drop(app);
    }))
}

/// One client, being told.
struct Telling {
    app: Arc<App>,
    socket: WebSocket,
    wanted: Wanted,
    log: String,
    head: EventId,
}

/// The client is gone, or must go.
struct Gone;

impl Telling {
    async fn tell(mut self) -> Result<(), Gone> {
        let _counted = self.app.clients.clone();
        let hello = Notice::Hello { log: self.log.clone(), head: self.head.0 };
        self.say(&hello).await?;
        let mut cursor = match self.wanted.since {
            Some(since) if self.is_elsewhere(since) => {
                self.say(&Notice::Reset).await?;
                EventId(0)
            }
            Some(since) => EventId(since),
            None => self.head,
        };
        // In safe mode nothing new happens.
        let quiet = watch::Sender::new(self.head);
        let mut head = match &self.app.signs {
            Some(signs) => signs.head.clone(),
            None => quiet.subscribe(),
        };
        let mut pings = tokio::time::interval_at(Instant::now() + PING_EVERY, PING_EVERY);
        loop {
            head.mark_unchanged();
            cursor = self.catch_up(cursor).await?;
            tokio::select! {
                changed = head.changed() => if changed.is_err() { self.idle(cursor).await?; },
                () = closed(self.app.closing.clone()) => return self.goodbye(cursor).await,
                _ = pings.tick() => self.send(Message::Ping(axum::body::Bytes::new())).await?,
                heard = self.socket.next() => if !matches!(heard, Some(Ok(_))) { return Err(Gone); },
            }
        }
    }

    /// Returns whether the client's place is in a log that is over.
    fn is_elsewhere(&self, since: i64) -> bool {
        self.wanted.log.as_ref().is_some_and(|log| *log != self.log) || since > self.head.0
    }

    /// Tells all events after `cursor`, and returns the last.
    async fn catch_up(&mut self, mut cursor: EventId) -> Result<EventId, Gone> {
        loop {
            let filter = self.wanted.filter();
            let page = self.app.read(move |view| {
                let head = events::head(view)?.id;
                let rows = events::after(view, cursor, PAGE, &filter)?;
                Ok((rows, head))
            });
            let (rows, head) = page.await.map_err(|_| Gone)?;
            let is_last = rows.len() < PAGE as usize;
            for row in rows {
                cursor = row.id;
                let event = say(row).map_err(|_| Gone)?;
                self.say(&event).await?;
            }
            if is_last {
                // What the filter held back need not be looked at again.
                return Ok(cursor.max(head));
            }
        }
    }

    /// Waits for the end: the kernel is gone, and nothing new happens.
    async fn idle(&mut self, cursor: EventId) -> Result<(), Gone> {
        closed(self.app.closing.clone()).await;
        self.goodbye(cursor).await?;
        Err(Gone)
    }

    async fn goodbye(&mut self, cursor: EventId) -> Result<(), Gone> {
        // What was stored before the end is told before it.
        self.catch_up(cursor).await?;
        self.say(&Notice::Goodbye { retry_ms: RETRY_MS }).await?;
        self.send(Message::Close(None)).await
    }

    async fn say(&mut self, what: &impl Serialize) -> Result<(), Gone> {
        let text = serde_json::to_string(what).map_err(|_| Gone)?;
        self.send(Message::Text(Utf8Bytes::from(text))).await
    }

    async fn send(&mut self, message: Message) -> Result<(), Gone> {
        let sent = tokio::time::timeout(ACCEPT_WITHIN, self.socket.send(message)).await;
        sent.map_err(|_| Gone)?.map_err(|_| Gone)
    }
}
