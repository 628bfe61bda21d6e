//! Whoever is no longer let in is told no more of the log, and is put out.

use std::io::{Read, Write};
use std::process::Stdio;

use serde_json::json;

use crate::house::{House, cookie};
use crate::knock::{Line, Request};

const PASSWORD: &str = "correct horse, battery";

#[test]
fn a_token_that_is_revoked_ends_what_it_follows() {
    let house = House::new();
    let made = house.token("read", None);
    let line = follow(&house, Request::get("/api/ws").with_token(&made.secret));
    house.ask(&Request::new("DELETE", &format!("/api/tokens/{}", made.id)), 204);
    is_told_no_more(&house, line);
}

#[test]
fn a_browser_that_is_sent_away_follows_no_more() {
    let house = House::new();
    let line = follow(&house, browser(&house, &house.cookie()));
    let sessions = house.get("/api/sessions");
    let id = sessions["sessions"][0]["id"].as_str().unwrap();
    house.ask(&Request::new("DELETE", &format!("/api/sessions/{id}")), 204);
    is_told_no_more(&house, line);
    let over = house.events(0).into_iter().find(|event| event["kind"] == "session.over").unwrap();
    assert_eq!(over["data"]["why"], "revoked");
}

#[test]
fn who_came_in_by_a_password_goes_with_it() {
    let house = House::new();
    for change in ["set", "clear"] {
        password(&house, "set");
        let cookie = login(&house);
        let line = follow(&house, browser(&house, &cookie));
        let kept = house.cookie();
        password(&house, change);
        is_told_no_more(&house, line);
        let whoami =
            |cookie: &str| house.port().ask(&Request::get("/api/whoami").with("Cookie", cookie));
        assert_eq!(whoami(&cookie).problem(), "revoked-credential", "{change}");
        // Who came by a link needed no password.
        assert_eq!(whoami(&kept).status, 200, "{change}");
    }
    let kinds = house.kinds(0);
    assert_eq!(kinds.iter().filter(|kind| *kind == "password.changed").count(), 4, "{kinds:?}");
}

#[test]
fn a_password_that_is_changed_while_no_daemon_runs_counts_at_the_next_start() {
    let house = House::new();
    password(&house, "set");
    let cookie = login(&house);
    let home = house.home.root();
    let house = house.reborn(|_| std::fs::remove_file(home.join("password")).unwrap());
    let cookie = format!("cmux_{}={}", house.port, cookie.split_once('=').unwrap().1);
    let answer = house.port().ask(&Request::get("/api/whoami").with("Cookie", &cookie));
    assert_eq!((answer.status, answer.problem().as_str()), (401, "revoked-credential"));
}

/// Returns what a browser of `house` asks that wants to follow the log.
fn browser(house: &House, cookie: &str) -> Request {
    Request::get("/api/ws").with("Cookie", cookie).with("Origin", &house.origin())
}

/// Begins to follow the log, and returns the connection once it does.
#[track_caller]
fn follow(house: &House, request: Request) -> Box<dyn Line> {
    let request = request
        .with("Connection", "Upgrade")
        .with("Upgrade", "websocket")
        .with("Sec-WebSocket-Version", "13")
        .with("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ==");
    let mut line = house.port().open();
    line.write_all(&request.bytes(&house.port().host())).unwrap();
    let mut said = Vec::new();
    while !said.windows(7).any(|it| it == b"\"hello\"") {
        let mut byte = [0];
        line.read_exact(&mut byte).unwrap();
        said.push(byte[0]);
    }
    assert!(said.starts_with(b"HTTP/1.1 101"), "{}", String::from_utf8_lossy(&said));
    line
}

/// Checks that the connection ends without a word of what happens now.
#[track_caller]
fn is_told_no_more(house: &House, mut line: Box<dyn Line>) {
    house.projects(1);
    let mut rest = Vec::new();
    // The other side may hang up on what it has not read.
    let _ = line.read_to_end(&mut rest);
    let rest = String::from_utf8_lossy(&rest);
    assert!(!rest.contains("project.added"), "{rest}");
    assert!(rest.contains("no longer let in"), "{rest}");
    let added = house.get("/api/projects")["projects"][0]["id"].as_str().unwrap().to_owned();
    house.ask(&Request::new("DELETE", &format!("/api/projects/{added}")), 204);
}

/// Changes the password with the real command.
#[track_caller]
fn password(house: &House, what: &str) {
    let mut command = house.home.command(&["password", what]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    if what == "set" {
        writeln!(stdin, "{PASSWORD}").unwrap();
    }
    drop(stdin);
    assert!(child.wait().unwrap().success(), "{what}");
}

#[track_caller]
fn login(house: &House) -> String {
    let said = json!({ "password": PASSWORD }).to_string();
    let request = Request::new("POST", "/api/login").with_json(said);
    let answer = house.port().ask(&request.with("Origin", &house.origin()));
    assert_eq!(answer.status, 201, "{answer:?}");
    cookie(&answer)
}
