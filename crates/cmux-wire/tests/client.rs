//! The typed client, against a daemon that says what a test wants.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::io::{Read, Write};
use std::os::unix::net::UnixListener;
use std::thread;

use cmux_wire::agent::Register;
use cmux_wire::client::{Client, ClientError, EventQuery};
use cmux_wire::health::{Condition, Health, Part};
use cmux_wire::link::Link;
use cmux_wire::session::Login;
use cmux_wire::time::Time;
use cmux_wire::token::{MadeToken, NewToken, Token, TokenScope};
use futures_util::{SinkExt, StreamExt};
use hyper::body::Bytes;
use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::Message;

const SECRET: &str = "cmux_tok_do-not-tell";

#[test]
fn a_degraded_daemon_still_says_how_it_is() {
    let degraded = health(Part::degraded("no room left"));
    let (answered, _) =
        ask("503 Service Unavailable", &json!(degraded), async |it| it.health().await);
    assert_eq!(answered.unwrap(), degraded);
    let healthy = health(Part::healthy());
    let (answered, _) = ask("200 OK", &json!(healthy), async |it| it.health().await);
    assert_eq!(answered.unwrap(), healthy);
}

#[test]
fn health_that_is_no_health_is_a_refusal_or_nonsense() {
    let (answered, _) = ask("503 Service Unavailable", &problem(503), async |it| it.health().await);
    assert!(matches!(answered, Err(ClientError::Refused(it)) if it.status == 503));
    for status in ["503 Service Unavailable", "200 OK", "500 Internal Server Error"] {
        let (answered, _) = ask(status, &json!({ "status": "well" }), async |it| it.health().await);
        assert!(matches!(answered, Err(ClientError::Nonsense(_))), "{status}: {answered:?}");
    }
}

#[test]
fn each_question_goes_to_its_route() {
    let page = json!({ "tokens": [], "next": null });
    let (answered, asked) = ask("200 OK", &page, async |it| it.tokens(Some("a/b")).await);
    assert_eq!(answered.unwrap().tokens, []);
    assert!(asked.starts_with("GET /api/tokens?cursor=a%2Fb HTTP"), "{asked}");

    let new = NewToken { name: None, scope: TokenScope::Read, expires_in_s: None };
    let made = json!(MadeToken { token: token(), secret: SECRET.to_owned() });
    let (answered, asked) = ask("201 Created", &made, async |it| it.create_token(&new).await);
    assert_eq!(answered.unwrap().secret, SECRET);
    assert!(asked.starts_with("POST /api/tokens HTTP"), "{asked}");
    assert!(asked.ends_with(r#"{"scope":"read","expires_in_s":null}"#), "{asked}");

    let (answered, asked) = ask("200 OK", &Value::Null, async |it| it.revoke_token("tok_1").await);
    answered.unwrap();
    assert!(asked.starts_with("DELETE /api/tokens/tok_1 HTTP"), "{asked}");

    let page = json!({ "agents": [], "next": null });
    let (answered, asked) = ask("200 OK", &page, async |it| it.agents(Some("p"), None).await);
    assert_eq!(answered.unwrap().agents, []);
    assert!(asked.starts_with("GET /api/agents?project=p HTTP"), "{asked}");
    let (_, asked) = ask("200 OK", &page, async |it| it.have_agent("a/b", "stop", Some("p")).await);
    assert!(asked.starts_with("POST /api/agents/a%2Fb/stop?project=p HTTP"), "{asked}");
    let (answered, asked) = ask("200 OK", &page, async |it| it.remove_agent("agt_1", None).await);
    answered.unwrap();
    assert!(asked.starts_with("DELETE /api/agents/agt_1 HTTP"), "{asked}");

    let register = Register {
        pane: "/s:%1".to_owned(),
        name: "n".to_owned(),
        kind: "k".to_owned(),
        project: "p".to_owned(),
    };
    let (_, asked) = ask("200 OK", &page, async |it| it.register_agent(&register).await);
    assert!(asked.starts_with("POST /api/agents/register HTTP"), "{asked}");
    assert!(asked.ends_with(r#"{"pane":"/s:%1","name":"n","kind":"k","project":"p"}"#), "{asked}");
    let (_, asked) = ask("200 OK", &page, async |it| it.why("a", Some("p")).await);
    assert!(asked.starts_with("GET /api/agents/a/why?project=p HTTP"), "{asked}");
    let place = json!({ "server": "/s", "pane": "%1" });
    let (answered, asked) = ask("200 OK", &place, async |it| it.place("a", None).await);
    assert_eq!(answered.unwrap().pane, "%1");
    assert!(asked.starts_with("GET /api/agents/a/place HTTP"), "{asked}");
    let screen = json!({ "content": "x", "cursor": [1, 2], "size": [80, 24] });
    let (answered, asked) =
        ask("200 OK", &screen, async |it| it.terminal("a", Some("p"), Some(9)).await);
    assert_eq!(answered.unwrap().size, [80, 24]);
    assert!(asked.starts_with("GET /api/agents/a/terminal?project=p&lines=9 HTTP"), "{asked}");
    let (refused, asked) =
        ask("404 Not Found", &problem(404), async |it| it.follow_terminal("a", Some("p")).await);
    assert!(matches!(refused, Err(ClientError::Refused(it)) if it.status == 404));
    assert!(asked.starts_with("GET /api/agents/a/terminal/ws?project=p HTTP"), "{asked}");

    let link = json!({ "url": "http://127.0.0.1:1/x", "browser_url": "http://cmux.localhost:1/x", "expires_at": Time::from_millis(0) });
    let (answered, asked) = ask("201 Created", &link, async |it| it.make_link().await);
    assert_eq!(answered.unwrap().url, "http://127.0.0.1:1/x");
    assert!(asked.starts_with("POST /api/links HTTP"), "{asked}");

    let who = json!({ "principal": "agent", "id": "agt_1", "scopes": ["send"] });
    let (answered, asked) = ask("200 OK", &who, async |it| it.whoami().await);
    assert_eq!(answered.unwrap().scopes, [TokenScope::Send]);
    assert!(asked.starts_with("GET /api/whoami HTTP"), "{asked}");

    let (answered, asked) =
        ask("200 OK", &json!({ "openapi": "3.1.0" }), async |it| it.openapi().await);
    assert_eq!(answered.unwrap()["openapi"], "3.1.0");
    assert!(asked.starts_with("GET /api/openapi.json HTTP"), "{asked}");

    let (answered, asked) = ask("200 OK", &json!(1), async |it| it.metrics().await);
    assert_eq!(answered.unwrap(), "1");
    assert!(asked.starts_with("GET /metrics HTTP"), "{asked}");
}

#[test]
fn a_terminal_is_told_byte_for_byte_until_the_daemon_closes_it() {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("s");
    run(async {
        let listener = tokio::net::UnixListener::bind(&socket).unwrap();
        let daemon = async {
            let (stream, _) = listener.accept().await.unwrap();
            let mut told = tokio_tungstenite::accept_async(stream).await.unwrap();
            for message in [
                Message::binary(b"\xff\x1b[2J".to_vec()),
                Message::text("{}"),
                Message::Ping(Bytes::new()),
                Message::binary(b"".to_vec()),
                Message::binary(b"\xe2\x82".to_vec()),
                Message::Close(None),
            ] {
                told.send(message).await.unwrap();
            }
            // The client says that it has heard.
            while let Some(Ok(_)) = told.next().await {}
        };
        let client = async {
            let mut terminal = Client::new(&socket).follow_terminal("a", None).await.unwrap();
            let mut told = Vec::new();
            while let Some(bytes) = terminal.next().await.unwrap() {
                told.push(bytes.to_vec());
            }
            told
        };
        let ((), told) = tokio::join!(daemon, client);
        assert_eq!(told, [&b"\xff\x1b[2J"[..], b"", b"\xe2\x82"]);
    });
}

#[test]
fn a_token_is_sent_with_every_question_if_there_is_one() {
    let line = format!("authorization: Bearer {SECRET}\r\n");
    let said = json!({ "principal": "agent", "id": null, "scopes": [] });
    let (_, asked) = ask("200 OK", &said, async |it| it.whoami().await);
    assert!(!asked.to_lowercase().contains("authorization"), "{asked}");
    let (_, asked) =
        ask("200 OK", &said, async |it| it.with_token(Some(SECRET.to_owned())).whoami().await);
    assert!(asked.contains(&line), "{asked}");
    let (refused, asked) = ask("401 Unauthorized", &problem(401), async |it| {
        it.with_token(Some(SECRET.to_owned())).follow(&EventQuery::default()).await
    });
    assert!(asked.starts_with("GET /api/ws HTTP") && asked.contains(&line), "{asked}");
    assert!(matches!(refused, Err(ClientError::Refused(it)) if it.status == 401));
}

#[test]
fn what_cannot_be_a_token_is_refused_without_telling_it() {
    for token in ["", "two words", "a\r\nHost: b", "größe", "\u{7f}"] {
        let client = Client::new("/no/such/socket".as_ref()).with_token(Some(token.to_owned()));
        let refused = run(client.whoami()).unwrap_err();
        let ClientError::Refused(problem) = &refused else { panic!("{refused:?}") };
        assert_eq!((problem.status, problem.slug()), (401, "bad-token"));
        assert!(token.is_empty() || !format!("{refused:?} {refused}").contains(token));
    }
}

#[test]
fn no_secret_is_shown_when_something_is_printed_for_debugging() {
    let client = Client::new("/s".as_ref()).with_token(Some(SECRET.to_owned()));
    let made = MadeToken { token: token(), secret: SECRET.to_owned() };
    let link = Link {
        url: SECRET.to_owned(),
        browser_url: SECRET.to_owned(),
        expires_at: Time::from_millis(0),
    };
    let login = Login { password: SECRET.to_owned() };
    let shown = format!("{client:?} {made:#?} {link:?} {login:?}");
    assert!(!shown.contains(SECRET), "{shown}");
    for part in ["/s", "has_token: true", "tok_1", "expires_at", "Login"] {
        assert!(shown.contains(part), "{part} is not in {shown}");
    }
}

/// Returns what the client makes of it if the daemon answers so, and what it had asked.
fn ask<T>(status: &str, body: &Value, question: impl AsyncFnOnce(Client) -> T) -> (T, String) {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("s");
    let listener = UnixListener::bind(&socket).unwrap();
    let body = body.to_string();
    let answer = format!("HTTP/1.1 {status}\r\ncontent-length: {}\r\n\r\n{body}", body.len());
    let daemon = thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut asked = Vec::new();
        while !is_whole(&asked) {
            let mut bytes = [0; 1024];
            let count = stream.read(&mut bytes).unwrap();
            assert_ne!(count, 0, "it went away after {asked:?}");
            asked.extend(&bytes[..count]);
        }
        stream.write_all(answer.as_bytes()).unwrap();
        String::from_utf8(asked).unwrap()
    });
    let answered = run(question(Client::new(&socket)));
    (answered, daemon.join().unwrap())
}

/// Returns whether a request is there to its end.
fn is_whole(asked: &[u8]) -> bool {
    let text = String::from_utf8_lossy(asked);
    let Some((head, body)) = text.split_once("\r\n\r\n") else { return false };
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
    body.len() >= length.map_or(0, |length| length.parse().unwrap())
}

fn run<T>(work: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(work)
}

fn health(store: Part) -> Health {
    Health {
        status: store.status,
        api: Condition::Healthy,
        frontend: Part::healthy(),
        store,
        tmux: Part::healthy(),
        router: Part::healthy(),
        kernel: Part::healthy(),
        version: "1".to_owned(),
        timestamp: Time::from_millis(0),
    }
}

fn token() -> Token {
    Token {
        id: "tok_1".to_owned(),
        name: "ci".to_owned(),
        scope: TokenScope::Read,
        created_at: Time::from_millis(0),
        expires_at: None,
        revoked_at: None,
    }
}

fn problem(status: u16) -> Value {
    json!({ "type": "/problems/x", "title": "x", "status": status, "detail": "y" })
}
