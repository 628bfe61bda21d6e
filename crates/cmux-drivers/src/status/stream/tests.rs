//! A stream that a small server of a test's own sends, cuts off and sends again.

use std::sync::atomic::{AtomicUsize, Ordering};

use cmux_core::agent::Doing;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::sync::mpsc::{Receiver, Sender, channel};
use tokio::time::error::Elapsed;

use super::*;

const BUSY: &str =
    r#"{"type":"session.status","properties":{"sessionID":"s","status":{"type":"busy"}}}"#;
const ASKED: &str = r#"{"type":"permission.asked","properties":{"id":"p","sessionID":"s"}}"#;
const WORKS: &str = r#"{"s":{"type":"busy"}}"#;
const ASKS: &str = r#"[{"id":"it","sessionID":"s"}]"#;
const OVER: &str = r#"{"type":"session.idle","properties":{"sessionID":"s"}}"#;

/// What a server answers that has no such path, or is not well.
const NOT_THERE: &str = "HTTP/1.1 404 Not Found\r\nContent-Length: 2\r\n\r\n{}";
const PAGE: &str =
    "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 15\r\n\r\n<!doctype html>";
const BROKEN: &str = "HTTP/1.1 500 Internal Server Error\r\nContent-Length: 2\r\n\r\n[]";

/// How long a test waits for anything.
const LONG: Duration = Duration::from_secs(120);

#[tokio::test]
async fn what_is_streamed_is_told_and_an_end_is_followed_by_another_beginning() {
    let (listener, address) = listener().await;
    let (events, streamed) = channel(1);
    let server = tokio::spawn(serve(listener, streamed, |path| at_rest(path, "{}")));
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
    let server = tokio::spawn(serve(listener, streamed, |path| at_rest(path, WORKS)));
    let (tell, mut told) = watch::channel(Reading::Unknown);
    let follower = tokio::spawn(async move { follow(&address, tell).await });
    see(&mut told, |it| is(it, &Doing::Working)).await;
    follower.abort();
    server.abort();
}

#[tokio::test]
async fn what_was_asked_before_is_seen_and_an_older_one_does_not_tell_it() {
    for (permissions, questions, doing) in [
        (list(ASKS), list("[]"), Doing::Asking { what: "permission".to_owned() }),
        (list("[]"), list(ASKS), Doing::Asking { what: "question".to_owned() }),
        (NOT_THERE.to_owned(), NOT_THERE.to_owned(), Doing::Working),
        (list("[]"), PAGE.to_owned(), Doing::Working),
    ] {
        let (listener, address) = listener().await;
        let (_events, streamed) = channel(1);
        let server = tokio::spawn(serve(listener, streamed, move |path| match path {
            "/permission" => permissions.clone(),
            "/question" => questions.clone(),
            other => at_rest(other, WORKS),
        }));
        let (tell, mut told) = watch::channel(Reading::Unknown);
        let follower = tokio::spawn(async move { follow(&address, tell).await });
        see(&mut told, |it| is(it, &doing)).await;
        follower.abort();
        server.abort();
    }
}

#[tokio::test]
async fn one_that_cannot_tell_what_it_asks_is_unknown_and_asked_again() {
    for (path, broken, what) in [
        ("/permission", BROKEN.to_owned(), "permission"),
        ("/question", BROKEN.to_owned(), "question"),
        ("/question", list("no list"), "question"),
    ] {
        let (listener, address) = listener().await;
        let (_events, streamed) = channel(1);
        let times = AtomicUsize::new(0);
        let server = tokio::spawn(serve(listener, streamed, move |asked| match asked {
            _ if asked != path => at_rest(asked, WORKS),
            _ if times.fetch_add(1, Ordering::Relaxed) == 0 => broken.clone(),
            _ => list(ASKS),
        }));
        let (tell, mut told) = watch::channel(Reading::Absent);
        let mut all = Vec::new();
        let follower = tokio::spawn(async move { follow(&address, tell).await });
        let asking = Doing::Asking { what: what.to_owned() };
        see(&mut told, |it| {
            all.push(it.clone());
            is(it, &asking)
        })
        .await;
        let is_said = |it: &&Reading| matches!(it, Reading::Said(_));
        assert_eq!(all.iter().filter(is_said).count(), 1, "{path} {all:?}");
        follower.abort();
        server.abort();
    }
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
        serve(listener, streamed, move |path| at_rest(path, statuses)).await;
        drop(events);
    });
    (server, address)
}

/// Returns what a server answers whose sessions are like this, and ask nothing.
fn at_rest(path: &str, statuses: &str) -> String {
    list(if path == "/session/status" { statuses } else { "[]" })
}

/// Returns an answer with something to read in it.
fn list(body: &str) -> String {
    format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}", body.len())
}

/// Serves what `answer` has at each path, and streams what comes; the stream is cut off where nothing does.
async fn serve(
    listener: TcpListener,
    mut streamed: Receiver<Option<&'static str>>,
    answer: impl Fn(&str) -> String,
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
        let mut head = vec![0; 4096];
        let length = stream.read(&mut head).await.unwrap_or(0);
        let head = String::from_utf8_lossy(&head[..length]).into_owned();
        let path = head.split(' ').nth(1).unwrap_or_default();
        if path != "/event" {
            let _ = stream.write_all(answer(path).as_bytes()).await;
            continue;
        }
        tokio::spawn(async move {
            let begun = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n";
            let _ = stream.write_all(begun.as_bytes()).await;
            while let Ok(Some(event)) = events.recv().await {
                let _ = stream.write_all(format!("data: {event}\n\n").as_bytes()).await;
            }
        });
    }
}
