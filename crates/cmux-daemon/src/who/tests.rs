//! Who is let in as whom, and that finding it out holds up nobody else.

use std::sync::atomic::{AtomicUsize, Ordering};

use axum::routing::get;
use axum::{Extension, Router};
use cmux_core::id::{SessionId, TokenId};
use cmux_core::token::TokenScope;
use cmux_testkit::wait::PATIENCE;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::sync::watch;
use ulid::Ulid;

use super::*;
use crate::serve::{Doors, House};

/// How many come at once who have much to be looked at.
const CROWD: usize = 40;

#[tokio::test]
async fn those_whom_nobody_has_looked_at_hold_up_nobody_else() {
    let hall = Hall::open(PATIENCE).await;
    let turns = hall.site.looks.clone().acquire_many_owned(LOOKS_MAX as u32).await.unwrap();
    let mut crowd = Vec::new();
    for _ in 0..CROWD {
        crowd.push(hall.ask("/who").await);
    }
    assert_eq!(told(hall.ask("/livez").await).await, "200 alive");
    assert_eq!(hall.known.load(Ordering::Relaxed), 0);
    drop(turns);
    for stream in crowd {
        assert_eq!(told(stream).await, "200 known");
    }
    assert_eq!(hall.known.load(Ordering::Relaxed), CROWD);
}

#[tokio::test]
async fn whoever_is_not_looked_at_in_time_is_a_stranger() {
    let hall = Hall::open(Duration::ZERO).await;
    let _turns = hall.site.looks.clone().acquire_many_owned(LOOKS_MAX as u32).await.unwrap();
    assert_eq!(told(hall.ask("/who").await).await, "200 late");
    let port = Connection::at_port(local(), "127.0.0.1:9".parse().unwrap(), &hall.site);
    assert_eq!(port.doubt().await, LATE.doubt());
}

#[tokio::test]
async fn at_the_port_only_who_is_elsewhere_needs_no_line() {
    let site = Hall::open(PATIENCE).await.site;
    for (local, remote, expected) in [
        (local(), "192.0.2.7:9", None),
        (local(), "127.0.0.1:9", Some(Doubt::Gone)),
        (None, "192.0.2.7:9", Some(Doubt::Gone)),
    ] {
        let connection = Connection::at_port(local, remote.parse().unwrap(), &site);
        assert_eq!(connection.doubt().await, expected, "{local:?} {remote}");
    }
}

#[test]
fn what_may_be_an_agents_counts_for_no_more_than_an_agents() {
    let id = TokenId::new(Ulid::from(1_u128));
    let token = |scope| Principal::Token { id, scope };
    let browser = Principal::Browser { session: SessionId::new(Ulid::from(1_u128)) };
    let late = LATE.doubt().unwrap();
    for (who, doubt, need, expected) in [
        (token(TokenScope::Operate), Doubt::Agent, Need::Read, Ok(TokenScope::Send)),
        (token(TokenScope::Operate), Doubt::Hidden, Need::Send, Ok(TokenScope::Send)),
        (token(TokenScope::Operate), Doubt::Agent, Need::Operate, Err("not-allowed")),
        (token(TokenScope::Operate), late, Need::Operate, Err("not-allowed")),
        (browser.clone(), Doubt::Agent, Need::Read, Err("agent-as-person")),
        (browser.clone(), Doubt::Gone, Need::Read, Err("stranger")),
        (browser, late, Need::Person, Err("stranger")),
    ] {
        let left = held_down(who.clone(), doubt, need);
        let left = left.as_ref().map_err(Oops::slug);
        assert_eq!(left, expected.map(token).as_ref().map_err(|slug| *slug), "{who:?} {doubt:?}");
    }
}

/// A socket at which it is asked who is there, or how things are.
struct Hall {
    folder: tempfile::TempDir,
    site: Site,
    /// How many have been told who they are.
    known: Arc<AtomicUsize>,
    _closing: watch::Sender<bool>,
}

impl Hall {
    async fn open(look_within: Duration) -> Hall {
        let folder = tempfile::tempdir().unwrap();
        let looks = Arc::new(Semaphore::new(LOOKS_MAX));
        let uid = rustix::process::geteuid().as_raw();
        let site = Site { uid, tmux: folder.path().join("tmux"), looks, look_within };
        let known = Arc::new(AtomicUsize::new(0));
        let counted = known.clone();
        let who = |Extension(connection): Extension<Arc<Connection>>| async move {
            let standing = connection.standing().await.unwrap();
            counted.fetch_add(1, Ordering::Relaxed);
            if standing == LATE { "late" } else { "known" }
        };
        let router = Router::new().route("/who", get(who));
        let router = router.route("/livez", get(|| async { "alive" }));
        let (closing, closing_seen) = watch::channel(false);
        let house = House {
            router,
            site: site.clone(),
            connections_max: 2 * CROWD,
            tls: None,
            closing: closing_seen,
        };
        let (address, socket) = (local().unwrap(), folder.path().join("socket"));
        let doors = Doors::open(address, &socket, folder.path()).await.unwrap();
        tokio::spawn(doors.serve(house));
        Hall { folder, site, known, _closing: closing }
    }

    async fn ask(&self, path: &str) -> UnixStream {
        let socket = self.folder.path().join("socket");
        let mut stream = UnixStream::connect(socket).await.unwrap();
        let asked = format!("GET {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n");
        stream.write_all(asked.as_bytes()).await.unwrap();
        stream
    }
}

/// Returns the status and the body of the answer.
async fn told(mut stream: UnixStream) -> String {
    let mut answer = String::new();
    timeout(PATIENCE, stream.read_to_string(&mut answer)).await.unwrap().unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    format!("{} {body}", head.split(' ').nth(1).unwrap())
}

fn local() -> Option<SocketAddr> {
    Some("127.0.0.1:0".parse().unwrap())
}

#[test]
fn only_the_cookie_of_this_port_counts() {
    for (said, expected) in [
        ("cmux_8000=abc", Some("abc")),
        ("a=b; cmux_8000=abc; c=d", Some("abc")),
        ("cmux_8001=abc", None),
        ("xcmux_8000=abc", None),
        ("cmux_8000=", None),
        ("cmux_8000", None),
        ("", None),
    ] {
        let headers = HeaderMap::from_iter([(header::COOKIE, said.parse().unwrap())]);
        assert_eq!(cookies(&headers, 8000).next(), expected, "{said}");
    }
    let long = format!("cmux_8000={}", "x".repeat(SECRET_MAX + 1));
    let headers = HeaderMap::from_iter([(header::COOKIE, long.parse().unwrap())]);
    assert_eq!(cookies(&headers, 8000).next(), None);
}
