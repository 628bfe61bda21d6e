//! What is no proper request: it is refused or hung up on, and nobody else notices.

use std::io::{BufReader, Write};
use std::iter::{self, repeat_n};

use crate::house::House;
use crate::knock::{Answer, Door, Request};

#[test]
fn what_is_no_request_is_refused() {
    let house = House::new();
    let (host, head) = (house.port().host(), house.head());
    let get = |rest: &str| format!("GET /api/projects HTTP/1.1\r\nHost: {host}\r\n{rest}\r\n");
    let many: String = repeat_n("X-Many: x\r\n", 200).collect();
    let long = format!("X-Long: {}\r\n", "x".repeat(100 << 10));
    for (what, bytes, status) in [
        ("garbage", b"\x00\x01\x02\x03\r\n\r\n".to_vec(), Some(400)),
        (
            "the start of TLS",
            b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n".to_vec(),
            Some(400),
        ),
        ("HTTP/2", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec(), None),
        ("another protocol", b"SSH-2.0-OpenSSH_9.2\r\n\r\n".to_vec(), Some(400)),
        ("a version that is none", b"GET / HTTP/9.9\r\n\r\n".to_vec(), Some(400)),
        ("no version", b"GET /\r\n\r\n".to_vec(), Some(400)),
        ("no path", b"GET HTTP/1.1\r\n\r\n".to_vec(), Some(400)),
        ("a header without a colon", get("nonsense\r\n").into(), Some(400)),
        ("a header without a name", get(": x\r\n").into(), Some(400)),
        ("a space before the colon", get("X-A : x\r\n").into(), Some(400)),
        ("a header over two lines", get("X-A: x\r\n y\r\n").into(), Some(400)),
        ("a header with a nought", get("X-A: x\0y\r\n").into(), Some(400)),
        ("200 headers", get(&many).into(), Some(431)),
        ("a head of 100 KiB", get(&long).into(), Some(431)),
        ("a negative length", get("Content-Length: -1\r\n").into(), Some(400)),
        ("a length with a sign", get("Content-Length: +1\r\n").into(), Some(400)),
        ("a length that is no number", get("Content-Length: 0x10\r\n").into(), Some(400)),
        (
            "a length that no number holds",
            get("Content-Length: 99999999999999999999\r\n").into(),
            Some(400),
        ),
        ("two lengths", get("Content-Length: 1\r\nContent-Length: 2\r\n").into(), Some(400)),
        ("two lengths in one", get("Content-Length: 1, 2\r\n").into(), Some(400)),
        ("an unknown encoding", get("Transfer-Encoding: gzip\r\n").into(), Some(400)),
        ("chunks that are not last", get("Transfer-Encoding: chunked, gzip\r\n").into(), Some(400)),
    ] {
        for door in [house.port(), house.socket()] {
            let answer = door.try_send(&bytes);
            assert_eq!(answer.as_ref().map(|it| it.status), status, "{what}: {answer:?}");
            assert_eq!(answers(&door, &bytes), usize::from(status.is_some()), "{what}");
        }
    }
    is_well(&house, head);
}

#[test]
fn a_path_that_is_too_long_is_told_so() {
    let house = House::new();
    let head = house.head();
    for door in [house.port(), house.socket()] {
        for path in [
            format!("/api/projects/{}", "x".repeat(20 << 10)),
            format!("/api/events?kind={}", "x".repeat(20 << 10)),
        ] {
            let answer = door.ask(&Request::get(&path));
            assert_eq!((answer.status, answer.problem().as_str()), (414, "uri-too-long"));
        }
        let endless = Request::get(&"/x".repeat(60 << 10)).bytes(&door.host());
        assert_eq!(door.send(&endless).status, 431);
    }
    let told = house.refusal("uri-too-long", "GET", &format!("/api/projects/{}", "x".repeat(86)));
    assert_eq!(told["count"], 1);
    is_well(&house, head);
}

#[test]
fn a_request_that_names_two_hosts_or_none_is_turned_away() {
    let house = House::new();
    let own = house.port().host();
    for (what, head) in [
        ("none", "GET /api/projects HTTP/1.1\r\n".to_owned()),
        ("none in HTTP/1.0", "GET /api/projects HTTP/1.0\r\n".to_owned()),
        ("two", format!("GET /api/projects HTTP/1.1\r\nHost: {own}\r\nHost: {own}\r\n")),
        ("another in the path", format!("GET http://evil.example/ HTTP/1.1\r\nHost: {own}\r\n")),
        ("another user in the path", format!("GET http://x@{own}/ HTTP/1.1\r\nHost: {own}\r\n")),
        ("another beside its own", format!("GET http://{own}/ HTTP/1.1\r\nHost: evil.example\r\n")),
    ] {
        let answer = house.port().send((head + "\r\n").as_bytes());
        assert_eq!((answer.status, answer.problem().as_str()), (421, "foreign-host"), "{what}");
    }
    house.refusal("foreign-host", "GET", "/api/projects");
    let same = format!("GET http://{own}/livez HTTP/1.1\r\nHost: {own}\r\n\r\n");
    assert_eq!(house.port().send(same.as_bytes()).status, 200);
    for (method, status) in [("CONNECT evil.example:80", 421), ("OPTIONS *", 404)] {
        let bytes = format!("{method} HTTP/1.1\r\nHost: {own}\r\n\r\n");
        assert_eq!(house.port().send(bytes.as_bytes()).status, status, "{method}");
    }
}

#[test]
fn nothing_is_smuggled_behind_a_request() {
    let house = House::new();
    let (before, head) = (house.get("/api/projects"), house.head());
    let inner = Request::new("POST", "/api/projects").with_json(r#"{"root":"/smuggled"}"#);
    let inner = inner.bytes("cmux");
    let length = inner.len() + 5;
    for headers in [
        format!("Content-Length: {length}\r\nTransfer-Encoding: chunked\r\n"),
        format!("Transfer-Encoding: chunked\r\nContent-Length: {length}\r\n"),
        format!(
            "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\nContent-Length: {length}\r\n"
        ),
        "Transfer-Encoding: chunked\r\nContent-Length: 0\r\n".to_owned(),
        "Transfer-Encoding: \x0bchunked\r\nContent-Length: 0\r\n".to_owned(),
        "Transfer-Encoding: xchunked\r\nContent-Length: 0\r\n".to_owned(),
    ] {
        let outer = format!("GET /api/daemon HTTP/1.1\r\nHost: cmux\r\n{headers}\r\n0\r\n\r\n");
        let bytes = [outer.as_bytes(), &inner].concat();
        let answer = house.socket().send(&bytes);
        assert!(matches!(answer.status, 200 | 400), "{headers}: {answer:?}");
        assert_eq!(answers(&house.socket(), &bytes), 1, "{headers}");
    }
    assert_eq!(house.get("/api/projects"), before);
    is_well(&house, head);
}

/// Returns how many answers there are to `bytes` before it is hung up on them.
fn answers(door: &Door, bytes: &[u8]) -> usize {
    let mut line = door.open();
    // Whoever has heard enough does not read the rest.
    let _ = line.write_all(bytes);
    let mut line = BufReader::new(line);
    iter::from_fn(|| Answer::read(&mut line)).count()
}

/// Checks that the daemon is as well as before, and has told of nothing but what it turned away.
#[track_caller]
fn is_well(house: &House, head: i64) {
    assert!(house.kinds(head).iter().all(|kind| kind == "door.refused"));
    assert_eq!(house.port().ask(&Request::get("/livez")).status, 200);
    let said = house.daemon.said();
    assert!(!said.contains("panicked"), "{said}");
}
