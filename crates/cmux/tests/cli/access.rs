//! Tokens and links as people and scripts get them, from a daemon that says what a test wants.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::process::{Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread;

use cmux_testkit::home::{Ran, TestHome};
use cmux_testkit::wait::eventually;
use serde_json::{Value, json};

use crate::{PROGRAM, document, home, refused};

const SECRET: &str = "cmux_tok_do-not-tell";
const URL: &str = "http://127.0.0.1:8000/enter?a=1&b=2";

#[test]
fn a_secret_goes_to_standard_output_and_what_to_know_of_it_beside() {
    let (home, heard) = served();
    let ran = home.run(&["token", "create", "ci", "--scope", "read", "--expires", "12h"]);
    assert_eq!((ran.code, ran.stdout), (Some(0), format!("{SECRET}\n")), "{}", ran.stderr);
    for part in ["tok_1", "not shown again", "Authorization: Bearer $TOKEN", "127.0.0.1:8123"] {
        assert!(ran.stderr.contains(part), "{part} is not in {}", ran.stderr);
    }
    assert!(!ran.stderr.contains(SECRET), "{}", ran.stderr);
    let asked = heard.recv().unwrap();
    assert!(asked.ends_with(r#"{"name":"ci","scope":"read","expires_in_s":43200}"#), "{asked}");
    let ran = home.run(&["token", "create", "--scope", "send", "--expires", "never", "--json"]);
    assert_eq!(document(&ran)["secret"], SECRET);
    let asked = heard.iter().find(|asked| asked.starts_with("POST")).unwrap();
    assert!(asked.ends_with(r#"{"scope":"send","expires_in_s":null}"#), "{asked}");
}

#[test]
fn tokens_are_listed_page_by_page_and_revoked_by_name() {
    let (home, heard) = served();
    let listed = home.run(&["token", "list"]);
    assert!(listed.stdout.starts_with("tok_1  ci      read  never expires"), "{listed:?}");
    assert_eq!(listed.stdout.lines().count(), 2, "{listed:?}");
    let all = document(&home.run(&["token", "list", "--json"]));
    assert_eq!((all["tokens"][1]["id"].as_str(), &all["next"]), (Some("tok_2"), &Value::Null));
    let revoked = document(&home.run(&["token", "revoke", "deploy", "--json"]));
    assert_eq!(revoked["id"], "tok_2");
    let asked = heard.try_iter().find(|asked| asked.starts_with("DELETE")).unwrap();
    assert!(asked.starts_with("DELETE /api/tokens/tok_2 HTTP"), "{asked}");
    refused(&home.run(&["token", "revoke", "depoly"]), 4, &["`depoly`", "did you mean `deploy`?"]);
}

#[test]
fn a_link_is_all_that_is_printed() {
    let (home, _heard) = served();
    for command in [&["open"][..], &["open", "--no-browser"]] {
        let ran = home.run(command);
        assert_eq!((ran.stdout, ran.stderr), (format!("{URL}\n"), String::new()));
    }
    let link = document(&home.run(&["open", "--json"]));
    assert_eq!((&link["url"], link["expires_at"].is_string()), (&json!(URL), true));
    assert!(!home.root().join("open").exists());
}

#[test]
fn on_a_desktop_the_link_is_opened_by_a_page_and_is_in_no_argument() {
    let (home, _heard) = served();
    let folder = home.folder("bin");
    let write = "printf '#!/bin/sh\\nprintf %%s \"$*\" > \"$0.new\" && mv \"$0.new\" \"$0.told\"\\n' \
                 > \"$0\" && chmod 700 \"$0\"";
    let written = Command::new("sh").arg("-c").arg(write).arg(folder.join("xdg-open")).status();
    assert!(written.unwrap().success());
    let seen = at_a_desktop(&home, "open --no-browser");
    assert!(seen.contains("follow it in a browser on this machine"), "{seen}");
    let seen = at_a_desktop(&home, "open");
    assert!(seen.starts_with(&format!("{URL}\r\n")) && seen.contains("It works once"), "{seen}");
    let told =
        eventually("the browser is told", || fs::read_to_string(folder.join("xdg-open.told")).ok());
    let page = fs::metadata(&told).unwrap();
    assert_eq!(page.permissions().mode() & 0o777, 0o600);
    assert!(told.starts_with(home.root().join("open").to_str().unwrap()), "{told}");
    assert!(fs::read_to_string(&told).unwrap().contains("enter?a=1&amp;b=2"), "{told}");
}

#[test]
fn an_agents_token_is_shown_to_the_daemon_and_to_nobody_else() {
    let (home, heard) = served();
    let ran: Ran =
        home.command(&["token", "list"]).env("CMUX_TOKEN", SECRET).output().unwrap().into();
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let asked = heard.recv().unwrap();
    assert!(asked.contains(&format!("authorization: Bearer {SECRET}\r\n")), "{asked}");
    let mut wrong = home.command(&["open"]);
    let ran = wrong.env("CMUX_TOKEN", "two words").output().unwrap().into();
    refused(&ran, 5, &["CMUX_TOKEN"]);
    assert!(!ran.stderr.contains("two words"), "{ran:?}");
}

/// Returns what a person at a desktop sees of a command.
fn at_a_desktop(home: &TestHome, command: &str) -> String {
    let mut script = Command::new("script");
    home.equip(&mut script);
    let path = std::env::var("PATH").unwrap();
    script.env("PATH", format!("{}:{path}", home.folder("bin").display())).env("DISPLAY", ":0");
    script.stdin(Stdio::null());
    script.args(["-qec", &format!("'{PROGRAM}' {command}"), "/dev/null"]);
    String::from_utf8(script.output().unwrap().stdout).unwrap()
}

/// Returns a home at whose socket somebody answers, and what that one hears.
fn served() -> (TestHome, Receiver<String>) {
    let home = home();
    let listener = UnixListener::bind(home.root().join("cmux.sock")).unwrap();
    let (sender, heard) = mpsc::channel();
    // It ends with the test, which is a process of its own or ends with one.
    thread::spawn(move || {
        for stream in listener.incoming() {
            let _ = sender.send(serve(stream.unwrap()));
        }
    });
    (home, heard)
}

/// Answers one request, and returns it.
fn serve(mut stream: UnixStream) -> String {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let mut asked = String::new();
    while !asked.ends_with("\r\n\r\n") {
        assert_ne!(reader.read_line(&mut asked).unwrap(), 0, "{asked}");
    }
    let length = asked.lines().find_map(|line| line.strip_prefix("content-length: "));
    let mut body = vec![0; length.map_or(0, |length| length.parse().unwrap())];
    reader.read_exact(&mut body).unwrap();
    let said = answer(asked.lines().next().unwrap()).to_string();
    let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n", said.len());
    stream.write_all((head + &said).as_bytes()).unwrap();
    asked + &String::from_utf8(body).unwrap()
}

fn answer(asked: &str) -> Value {
    let path = asked.rsplit_once(" HTTP").unwrap().0;
    match path {
        "GET /api/tokens" => json!({ "tokens": [token("tok_1", "ci")], "next": "tok_1" }),
        "GET /api/tokens?cursor=tok_1" => {
            json!({ "tokens": [token("tok_2", "deploy")], "next": null })
        }
        "POST /api/tokens" => json!({ "token": token("tok_1", "ci"), "secret": SECRET }),
        "POST /api/links" => {
            json!({ "url": URL, "browser_url": URL, "expires_at": "2026-01-01T00:02:00.000Z" })
        }
        "GET /api/daemon" => json!({
            "running": true, "ready": true, "pid": null, "guard_pid": null, "version": "1",
            "port": 8123, "address": "http://127.0.0.1:8123", "home": "", "started_at": null, "safe_mode": null
        }),
        _ => Value::Null,
    }
}

fn token(id: &str, name: &str) -> Value {
    json!({
        "id": id, "name": name, "scope": "read", "created_at": "2026-01-01T00:00:00.000Z",
        "expires_at": null, "revoked_at": null
    })
}
