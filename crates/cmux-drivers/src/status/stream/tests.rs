//! A stream that a small server of a test's own sends, cuts off and sends again.

use cmux_core::agent::Doing;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::sync::mpsc::{Receiver, Sender, channel};
use tokio::time::error::Elapsed;

use super::*;

const BUSY: &str =
    r#"{"type":"session.status","properties":{"sessionID":"s","status":{"type":"busy"}}}"#;
const ASKED: &str = r#"{"type":"permission.asked","properties":{"id":"p","sessionID":"s"}}"#;
const OVER: &str = r#"{"type":"session.idle","properties":{"sessionID":"s"}}"#;

/// How long a test waits for anything.
const LONG: Duration = Duration::from_secs(120);

#[tokio::test]
async fn what_is_streamed_is_told_and_an_end_is_followed_by_another_beginning() {
    let (listener, address) = listener().await;
    let (events, streamed) = channel(1);
    let server = tokio::spawn(serve(listener, streamed, "{}"));
    let (tell, mut told) = watch::channel(Reading::Unknown);
    let follower = tokio::spawn(async move { follow(&address, tell).await });
    see(&mut told, |it| is(it, &Doing::AtPrompt)).await;
    for (event, doing) in [
        (BUSY, Doing::Working),
        (ASKED, Doing::Asking { what: "permission".to_owned() }),
        (OVER, Doing::AtPrompt),
    ] {
        events.send(Some(event)).await.unwrap();
        see(&mut told, |it| is(it, &doing)).await;
    }
    // The stream is cut off: nothing is known until it is there again.
    events.send(Some(BUSY)).await.unwrap();
    see(&mut told, |it| is(it, &Doing::Working)).await;
    events.send(None).await.unwrap();
    see(&mut told, |it| is(it, &Doing::AtPrompt)).await;
    // Whoever is told no more has nobody follow.
    drop(told);
    within(follower).await.unwrap().unwrap();
    server.abort();
}

#[tokio::test]
async fn a_turn_that_has_begun_before_is_seen() {
    let (listener, address) = listener().await;
    let (_events, streamed) = channel(1);
    let server = tokio::spawn(serve(listener, streamed, r#"{"s":{"type":"busy"}}"#));
    let (tell, mut told) = watch::channel(Reading::Unknown);
    let follower = tokio::spawn(async move { follow(&address, tell).await });
    see(&mut told, |it| is(it, &Doing::Working)).await;
    follower.abort();
    server.abort();
}

#[tokio::test]
async fn nobody_there_is_absent_and_another_server_is_unknown() {
    let (listener, address) = listener().await;
    drop(listener);
    let (tell, mut told) = watch::channel(Reading::Unknown);
    let follower = tokio::spawn(async move { follow(&address, tell).await });
    see(&mut told, |it| *it == Reading::Absent).await;
    follower.abort();

    let (listener, address) = listener_of("[]").await;
    let (tell, mut told) = watch::channel(Reading::Absent);
    let follower = tokio::spawn(async move { follow(&address, tell).await });
    see(&mut told, |it| *it == Reading::Unknown).await;
    follower.abort();
    listener.abort();
}

fn is(told: &Reading, doing: &Doing) -> bool {
    matches!(told, Reading::Said(state) if state.doing == *doing)
}

async fn see(told: &mut watch::Receiver<Reading>, is_so: impl FnMut(&Reading) -> bool) {
    within(told.wait_for(is_so)).await.unwrap().unwrap();
}

async fn within<T>(future: impl Future<Output = T>) -> Result<T, Elapsed> {
    timeout(LONG, future).await
}

async fn listener() -> (TcpListener, String) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}/event", listener.local_addr().unwrap());
    (listener, address)
}

/// Starts a server that has no events and says this of its sessions.
async fn listener_of(statuses: &'static str) -> (tokio::task::JoinHandle<()>, String) {
    let (listener, address) = listener().await;
    let (events, streamed): (Sender<Option<&'static str>>, _) = channel(1);
    let server = tokio::spawn(async move {
        serve(listener, streamed, statuses).await;
        drop(events);
    });
    (server, address)
}

/// Serves `statuses`, and streams what comes; the stream is cut off where nothing does.
async fn serve(
    listener: TcpListener,
    mut streamed: Receiver<Option<&'static str>>,
    statuses: &'static str,
) {
    let (feed, _) = tokio::sync::broadcast::channel(16);
    let relay = feed.clone();
    tokio::spawn(async move {
        while let Some(event) = streamed.recv().await {
            let _ = relay.send(event);
        }
    });
    loop {
        let Ok((mut stream, _)) = listener.accept().await else { return };
        let mut events = feed.subscribe();
        tokio::spawn(async move {
            let mut head = vec![0; 4096];
            let length = stream.read(&mut head).await.unwrap_or(0);
            let head = String::from_utf8_lossy(&head[..length]).into_owned();
            if !head.starts_with("GET /event ") {
                let body = if head.starts_with("GET /session/status ") { statuses } else { "[]" };
                let length = body.len();
                let answer = format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n{body}");
                let _ = stream.write_all(answer.as_bytes()).await;
                return;
            }
            let begun = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n";
            let _ = stream.write_all(begun.as_bytes()).await;
            while let Ok(Some(event)) = events.recv().await {
                let _ = stream.write_all(format!("data: {event}\n\n").as_bytes()).await;
            }
        });
    }
}
