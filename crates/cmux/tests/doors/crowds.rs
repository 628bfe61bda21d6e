//! Too many, too fast and too slow: whoever takes up more than their share holds up nobody else.

use std::io::{BufRead, BufReader, Write};

use cmux_testkit::wait::eventually;

use crate::house::House;
use crate::knock::{Door, Line, Request};

/// How many connect to the port and say nothing. To the socket, fewer: each is looked at closely.
const CROWD: usize = 1000;
const SMALL_CROWD: usize = 200;

/// How many of them there is a place for.
const PLACES: &str = "[limits]\nconnections = 100\n";

#[test]
fn a_crowd_at_one_door_is_told_so_and_the_other_door_stays_open() {
    let house = House::configured(PLACES);
    let health = Request::get("/api/webhooks/health");
    let (port, socket) = (house.port(), house.socket());
    for (crowded, size, other) in [(&port, CROWD, &socket), (&socket, SMALL_CROWD, &port)] {
        let crowd: Vec<Box<dyn Line>> = (0..size).map(|_| crowded.open()).collect();
        let projects = Request::get("/api/projects");
        for _ in 0..20 {
            // Where there is a place left in reserve it is told how cmux is, and nothing else.
            let answer = crowded.ask(&projects);
            assert_eq!((answer.status, answer.problem().as_str()), (503, "too-many-connections"));
            assert_eq!(answer.header("retry-after"), Some("5"));
            assert!(matches!(crowded.ask(&health).status, 200 | 503));
            assert_eq!(other.ask(&health).status, 200, "{other:?}");
        }
        assert_eq!(other.ask(&Request::get("/livez")).status, 200);
        drop(crowd);
        eventually("there is room again", || (crowded.ask(&health).status == 200).then_some(()));
    }
    assert!(house.daemon.stop().success());
}

#[test]
fn half_a_request_and_then_silence_holds_up_nobody() {
    let house = House::new();
    let (before, head) = (house.get("/api/projects"), house.head());
    let secret = house.token("operate", None).secret;
    let new =
        Request::new("POST", "/api/projects").with_token(&secret).with_json(r#"{"root":"/"}"#);
    let mut waiting = Vec::new();
    for door in [house.port(), house.socket()] {
        let whole = new.bytes(&door.host());
        let chunked = new.clone().with("Transfer-Encoding", "chunked").bytes(&door.host());
        // A word of the head, all but the last byte of it, and all but the last byte of the body.
        let (heads, body) = (whole.len() - r#"{"root":"/"}"#.len(), whole.len() - 1);
        for part in [&b"P"[..], &whole[..heads - 1], &whole[..heads], &whole[..body], &chunked] {
            waiting.extend((0..5).map(|_| begun(&door, part)));
        }
    }
    for door in [house.port(), house.socket()] {
        for path in ["/livez", "/readyz", "/api/webhooks/health"] {
            assert_eq!(door.ask(&Request::get(path)).status, 200, "{path}");
        }
    }
    assert_eq!(house.get("/api/projects"), before);
    assert_eq!(house.kinds(head), ["token.created"]);
    // One that goes on after all is served as ever.
    let mut slow = begun(&house.port(), &new.bytes(&house.port().host())[..10]);
    slow.write_all(&new.bytes(&house.port().host())[10..]).unwrap();
    let mut first = String::new();
    BufReader::new(slow).read_line(&mut first).unwrap();
    assert_eq!(first, "HTTP/1.1 201 Created\r\n");
    drop(waiting);
    assert!(house.daemon.stop().success());
}

#[test]
fn what_is_promised_and_not_sent_holds_up_nobody() {
    let house = House::new();
    let script = house.token("operate", None).secret;
    let promise = Request::new("POST", "/api/projects")
        .with_token(&script)
        .with("Content-Type", "application/json")
        .with("Content-Length", "10485760");
    let door = house.port();
    let head = promise.bytes(&door.host());
    let promised: Vec<Box<dyn Line>> = (0..40).map(|_| begun(&door, &head)).collect();
    // One who has a share of their own is served, and so is what is short.
    house.projects(1);
    let long = format!(r#"{{"root":"/{}"}}"#, "x".repeat(9 << 20));
    let answer = house.socket().ask(&Request::new("POST", "/api/projects").with_json(long));
    assert_eq!(answer.status, 400, "{answer:?}");
    drop(promised);
    assert!(house.daemon.stop().success());
}

#[test]
fn whoever_asks_too_fast_is_told_when_to_come_again() {
    // The person, who asks fifty times as fast, looks into the log meanwhile.
    let house = House::configured("[limits]\nrequests_per_s = 40\nburst = 60\n");
    let (fast, other) = (house.token("read", None).secret, house.token("read", None).secret);
    let ask = |secret: &str| house.port().ask(&Request::get("/api/whoami").with_token(secret));
    let limit = |secret: &str| {
        let slowed = (0..200).map(|_| ask(secret)).find(|answer| answer.status == 429);
        let answer = slowed.expect("it is never slowed down");
        assert_eq!(answer.problem(), "too-fast");
        let wait: u64 = answer.header("retry-after").unwrap().parse().unwrap();
        assert!((1..=2).contains(&wait), "{wait}");
    };
    limit(&fast);
    house.refusal("too-fast", "GET", "/api/whoami");
    assert_eq!(ask(&other).status, 200, "another is not held up by it");
    // To guess is no way around it.
    limit("cmux_made-up");
    house.get("/api/status");
    assert_eq!(house.port().ask(&Request::get("/api/webhooks/health")).status, 200);
    eventually("it is served again", || (ask(&fast).status == 200).then_some(()));
}

/// Begins to say something, and leaves it at that.
fn begun(door: &Door, part: &[u8]) -> Box<dyn Line> {
    let mut line = door.open();
    line.write_all(part).unwrap();
    line
}
