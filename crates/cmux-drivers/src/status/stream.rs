//! The stream: OpenCode's events over HTTP on this machine, for as long as somebody wants to know.

use std::io;
use std::time::Duration;

use http_body_util::{BodyExt, Empty, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::client::conn::http1;
use hyper::header::{ACCEPT, CONTENT_TYPE};
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use super::Reading;
use super::events::{Lines, Sessions};
use crate::loopback::Address;

/// How long an answer may take.
const PATIENCE: Duration = Duration::from_secs(5);

/// The longest answer that is not a stream, in bytes.
const ANSWER_MAX: usize = 4 << 20;

/// How long to wait before another try, at first and at most.
const RETRY_FIRST: Duration = Duration::from_millis(100);
const RETRY_MAX: Duration = Duration::from_secs(2);

/// Why there is no stream.
enum Silence {
    /// Nobody is there.
    Absent,
    /// Somebody is, and cannot be understood, or has hung up.
    Unknown,
}

impl From<io::Error> for Silence {
    fn from(error: io::Error) -> Silence {
        let is_refused = error.kind() == io::ErrorKind::ConnectionRefused;
        if is_refused { Silence::Absent } else { Silence::Unknown }
    }
}

impl From<hyper::Error> for Silence {
    fn from(_: hyper::Error) -> Silence {
        Silence::Unknown
    }
}

/// Follows the stream at the address `at`, such as `http://127.0.0.1:4096/event`, and tells what it comes
/// to, until nobody is told any more. While it is connected, what was told last is so; a stream that ends
/// is begun again.
pub async fn follow(at: &str, tell: watch::Sender<Reading>) {
    let Some(address) = Address::parse(at) else {
        tell.send_replace(Reading::Unknown);
        return;
    };
    let mut delay = RETRY_FIRST;
    loop {
        let silence = tokio::select! {
            () = tell.closed() => return,
            silence = listen(&address, &tell) => silence,
        };
        let was_heard = matches!(*tell.borrow(), Reading::Said(_));
        tell.send_replace(match silence {
            Silence::Absent => Reading::Absent,
            Silence::Unknown => Reading::Unknown,
        });
        delay = if was_heard { RETRY_FIRST } else { (delay * 2).min(RETRY_MAX) };
        tokio::select! {
            () = tell.closed() => return,
            () = sleep(delay) => {}
        }
    }
}

/// Tells what the stream says until it ends, and returns why it did.
async fn listen(address: &Address, tell: &watch::Sender<Reading>) -> Silence {
    match heard(address, tell).await {
        Ok(()) => Silence::Unknown,
        Err(silence) => silence,
    }
}

async fn heard(address: &Address, tell: &watch::Sender<Reading>) -> Result<(), Silence> {
    // They end with this function, whatever becomes of it.
    let mut connections = JoinSet::new();
    // The stream first: what happens while the rest is asked for is heard after it.
    let stream = ask(address, &address.path, &mut connections).await?;
    let statuses = whole(ask(address, "/session/status", &mut connections).await?).await?;
    let permissions = asked(address, "/permission", &mut connections).await?;
    let questions = asked(address, "/question", &mut connections).await?;
    let told = Sessions::told(&statuses, &permissions, &questions);
    let mut sessions = told.ok_or(Silence::Unknown)?;
    tell.send_replace(Reading::Said(sessions.state()));
    let mut body = stream.into_body();
    let mut lines = Lines::default();
    while let Some(frame) = body.frame().await {
        let Ok(bytes) = frame?.into_data() else { continue };
        for event in lines.feed(&bytes) {
            sessions.hear(&event);
        }
        let state = Reading::Said(sessions.state());
        tell.send_if_modified(|told| {
            let is_news = *told != state;
            *told = state;
            is_news
        });
    }
    Ok(())
}

/// Asks for what is at `path`, and returns the beginning of the answer.
async fn ask(
    address: &Address,
    path: &str,
    connections: &mut JoinSet<()>,
) -> Result<Response<Incoming>, Silence> {
    let answer = answered(address, path, connections).await?;
    if answer.status() == StatusCode::OK { Ok(answer) } else { Err(Silence::Unknown) }
}

/// Asks for the list at `path` of what is asked and waits for a person. One that has no such list knows nothing
/// there, or has its page for people there: what it asks, its events alone tell.
async fn asked(
    address: &Address,
    path: &str,
    connections: &mut JoinSet<()>,
) -> Result<Value, Silence> {
    let answer = answered(address, path, connections).await?;
    let sort = answer.headers().get(CONTENT_TYPE).map_or(&b""[..], |sort| sort.as_bytes());
    match answer.status() {
        StatusCode::NOT_FOUND => Ok(json!([])),
        StatusCode::OK if sort.starts_with(b"text/html") => Ok(json!([])),
        StatusCode::OK => whole(answer).await,
        _ => Err(Silence::Unknown),
    }
}

/// Asks for what is at `path`, and returns the beginning of any answer.
async fn answered(
    address: &Address,
    path: &str,
    connections: &mut JoinSet<()>,
) -> Result<Response<Incoming>, Silence> {
    let asked = timeout(PATIENCE, request(address, path, connections));
    asked.await.map_err(|_| Silence::Unknown)?
}

async fn request(
    address: &Address,
    path: &str,
    connections: &mut JoinSet<()>,
) -> Result<Response<Incoming>, Silence> {
    let stream = TcpStream::connect(address.socket).await?;
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
    connections.spawn(async move {
        // How it ends is seen by whoever waits for the answer.
        let _ = connection.await;
    });
    let request = address
        .greet(Request::get(path))
        .header(ACCEPT, "text/event-stream, application/json")
        .body(Empty::<Bytes>::new())
        .map_err(|_| Silence::Unknown)?;
    Ok(sender.send_request(request).await?)
}

/// Returns the whole of an answer.
async fn whole(answer: Response<Incoming>) -> Result<Value, Silence> {
    let read = Limited::new(answer.into_body(), ANSWER_MAX).collect();
    let read = timeout(PATIENCE, read).await.map_err(|_| Silence::Unknown)?;
    let bytes = read.map_err(|_| Silence::Unknown)?.to_bytes();
    serde_json::from_slice(&bytes).map_err(|_| Silence::Unknown)
}

#[cfg(test)]
mod tests;
