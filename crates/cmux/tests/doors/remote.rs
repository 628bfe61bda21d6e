//! The port where other machines can reach it: behind TLS and a password.

use std::fs::{self, Permissions};
use std::io::{BufReader, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};
use std::thread;

use cmux_testkit::wait::PATIENCE;
use serde_json::json;

use crate::house::{House, cookie};
use crate::knock::{Answer, Request};

const PASSWORD: &str = "correct horse, battery";

/// A certificate for localhost, and its key.
const CERT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../cmux-drivers/tests/tls/cert.pem");
const KEY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../cmux-drivers/tests/tls/key.pem");

#[test]
fn whoever_knows_the_password_is_let_in_and_nobody_else() {
    let house = exposed();
    let login = |password: &str| {
        let said = json!({ "password": password }).to_string();
        let request = Request::new("POST", "/api/login").with_json(said);
        curl(&house, &request.with("Origin", &origin(&house)))
    };
    let wrong = login("wrong horse, battery");
    assert_eq!((wrong.status, wrong.problem().as_str()), (401, "bad-password"));
    assert_eq!(wrong.header("set-cookie"), None);
    house.refusal("bad-password", "POST", "/api/login");

    let right = login(PASSWORD);
    assert_eq!((right.status, &right.json()["how"]), (201, &json!("password")), "{right:?}");
    let set = right.header("set-cookie").unwrap();
    for part in ["Secure", "HttpOnly", "SameSite=Strict", "Path=/"] {
        assert!(set.contains(part), "{set}");
    }
    let browser = |request: Request| curl(&house, &request.with("Cookie", &cookie(&right)));
    assert_eq!(browser(Request::get("/api/tokens")).status, 200);
    let leave = Request::new("DELETE", "/api/sessions/current");
    assert_eq!(browser(leave.clone()).problem(), "no-origin");
    assert_eq!(browser(leave.with("Origin", &origin(&house))).status, 204);
    assert_eq!(browser(Request::get("/api/tokens")).problem(), "revoked-credential");
    let told = house.get("/api/events?since=0&limit=1000").to_string() + &house.daemon.said();
    assert!(!told.contains("horse"), "a password was told");
}

#[test]
fn whoever_guesses_is_slowed_down() {
    let house = exposed();
    let guess = |n: usize| {
        let said = json!({ "password": format!("a guess, number {n}") }).to_string();
        curl(&house, &Request::new("POST", "/api/login").with_json(said))
    };
    // At once: the longer a guess takes, the fewer there can be.
    let answers: Vec<Answer> = thread::scope(|scope| {
        let guess = &guess;
        let guessers: Vec<_> = (0..24).map(|n| scope.spawn(move || guess(n))).collect();
        guessers.into_iter().map(|guesser| guesser.join().unwrap()).collect()
    });
    let of = |status| answers.iter().filter(|answer| answer.status == status).collect::<Vec<_>>();
    let (wrong, slowed) = (of(401), of(429));
    assert_eq!(wrong.len() + slowed.len(), answers.len(), "{answers:?}");
    assert!(!wrong.is_empty() && !slowed.is_empty(), "{answers:?}");
    for answer in slowed {
        assert_eq!(answer.problem(), "too-fast");
        assert!(answer.header("retry-after").unwrap().parse::<u32>().unwrap() >= 1);
    }
    // Those who need no password are not slowed down.
    assert_eq!(curl(&house, &Request::get("/api/webhooks/health")).status, 200);
}

#[test]
fn whoever_does_not_speak_tls_is_told_nothing() {
    let house = exposed();
    let request = Request::get("/livez").bytes(&format!("localhost:{}", house.port));
    for bytes in [&request[..], b"\x00\x01\x02\x03", b""] {
        let mut line = TcpStream::connect(("127.0.0.1", house.port)).unwrap();
        line.set_read_timeout(Some(PATIENCE)).unwrap();
        line.write_all(bytes).unwrap();
        line.shutdown(Shutdown::Write).unwrap();
        let mut heard = Vec::new();
        // It may be hung up on.
        let _ = line.read_to_end(&mut heard);
        assert!(!String::from_utf8_lossy(&heard).contains("HTTP"), "{heard:?}");
    }
    let answer = curl(&house, &Request::get("/livez"));
    assert_eq!((answer.status, answer.body.as_slice()), (200, &b"ok\n"[..]));
    // By TLS, too, it answers only to its own names, and lets in nobody who shows nothing.
    let foreign = curl(&house, &Request::get("/livez").with("Host", "evil.example"));
    assert_eq!((foreign.status, foreign.problem().as_str()), (421, "foreign-host"));
    let plain = Request::get("/livez").with("Origin", &house.origin());
    assert_eq!(curl(&house, &plain).problem(), "foreign-origin");
    assert_eq!(curl(&house, &Request::get("/api/projects")).problem(), "nobody-known");
}

/// Starts a daemon that other machines can reach.
fn exposed() -> House {
    House::furnished(|home| {
        let key = home.folder("tls").join("key.pem");
        fs::copy(KEY, &key).unwrap();
        fs::set_permissions(&key, Permissions::from_mode(0o600)).unwrap();
        let mut child = home.command(&["password", "set"]).stdin(Stdio::piped()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(PASSWORD.as_bytes()).unwrap();
        assert!(child.wait().unwrap().success());
        format!("host = \"0.0.0.0\"\n[tls]\ncert = {CERT:?}\nkey = {key:?}\n")
    })
}

/// Sends `request` by TLS to a daemon that shows its certificate, and returns what is answered.
#[track_caller]
fn curl(house: &House, request: &Request) -> Answer {
    let Request { method, path, headers, body } = request;
    let mut command = Command::new("curl");
    command.args(["-q", "-s", "-i", "--max-time", "60", "--cacert", CERT, "-X", method]);
    for (name, value) in headers {
        command.arg("-H").arg(format!("{name}: {value}"));
    }
    if !body.is_empty() {
        command.args(["--data-binary", "@-"]);
    }
    command.arg(format!("{}{path}", origin(house)));
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(body).unwrap();
    let said = child.wait_with_output().unwrap();
    assert!(said.status.success(), "{said:?}");
    Answer::read(&mut BufReader::new(said.stdout.as_slice())).unwrap()
}

/// Returns the origin of the daemon's own pages.
fn origin(house: &House) -> String {
    format!("https://localhost:{}", house.port)
}
