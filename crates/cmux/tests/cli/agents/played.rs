//! What commands make of agents in every phase, told by a daemon that a test plays.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;

use cmux_testkit::home::TestHome;
use serde_json::{Value, json};

use crate::agents::person::{Person, tmux};
use crate::{document, home, refused};

const ID: &str = "agt_01JD0000000000000000000000";

#[test]
fn a_wait_that_is_over_exits_6_with_what_is_known() {
    let home = played(|path| match path {
        "terminal" => json!({
            "content": "\u{1b}[1mDo you trust this folder?\u{1b}[0m\n❯ 1. Yes\n\n\n",
            "cursor": [0, 1],
            "size": [80, 24],
        }),
        _ => agent("asking", Some("trust")),
    });
    let ran = home.run(&["agent", "resume", ID, "--wait=1"]);
    refused(&ran, 6, &["`api` is not idle after 1 s, but asking for ", ": trust\n"]);
    let screen = "Last on its screen:\nDo you trust this folder?\n❯ 1. Yes\n";
    assert!(ran.stderr.contains(screen), "{ran:?}");
    assert!(ran.stderr.contains("`cmux agent attach api`"), "{ran:?}");
}

#[test]
fn an_agent_that_fails_exits_1_even_if_its_screen_is_gone() {
    let home = played(|path| match path {
        "terminal" => Value::Null,
        _ => agent("failed", Some("it ended with 3")),
    });
    let ran = home.run(&["agent", "resume", ID, "--wait"]);
    refused(&ran, 1, &["`api` is failed for ", ": it ended with 3\n", "`cmux agent why api`"]);
    assert!(!ran.stderr.contains("screen"), "{ran:?}");
}

#[test]
fn an_agent_that_is_idle_ends_the_wait() {
    let home = played(|_| agent("idle", None));
    let told = document(&home.run(&["agent", "resume", ID, "--wait", "--json"]));
    assert_eq!(told, agent("idle", None));
    // The life before is idle, too, and is not meant.
    refused(&home.run(&["agent", "restart", ID, "--wait=1"]), 6, &["not idle after 1 s"]);
}

#[test]
fn why_an_agent_is_in_its_phase_is_told_with_who_said_so() {
    let saying = |witness: &str| {
        json!({
            "witness": witness,
            "says": "asking",
            "rule": "permission",
            "line": "Do you want to\u{1b}[2J",
            "at": "2025-11-15T21:00:00.000Z",
        })
    };
    let why = json!({
        "agent": ID,
        "phase": "asking",
        "since": "2025-11-15T21:00:00.000Z",
        "reason": "permission",
        "decided": saying("hooks"),
        "sayings": [saying("hooks"), saying("screen")],
    });
    let said = why.clone();
    let home = played(move |path| match path {
        "why" => said.clone(),
        _ => agent("asking", None),
    });
    assert_eq!(document(&home.run(&["agent", "why", ID, "--json"])), why);
    let told = home.run(&["agent", "why", ID]);
    assert_eq!((told.code, told.stderr.as_str()), (Some(0), ""), "{told:?}");
    for text in ["api asking for ", ": permission\n", "→  hooks", "rule `permission`: Do you"] {
        assert!(told.stdout.contains(text), "{text} is not in {told:?}");
    }
    assert!(!told.stdout.contains('\u{1b}'), "{told:?}");
}

#[test]
fn a_screen_is_printed_without_tricks_and_in_full_to_scripts() {
    let terminal = json!({
        "content": "one\n\u{1b}[31mtwo\u{1b}]0;x\u{7}\nthree\n\n",
        "cursor": [5, 2],
        "size": [80, 24],
    });
    let said = terminal.clone();
    let home = played(move |path| match path {
        "terminal" => said.clone(),
        _ => agent("idle", None),
    });
    assert_eq!(document(&home.run(&["agent", "output", ID, "--json"])), terminal);
    let told = home.run(&["agent", "output", ID, "-n", "2"]);
    assert_eq!(told.stdout, "two\u{fffd}]0;x\u{fffd}\nthree\n", "{told:?}");
}

#[test]
fn those_who_need_somebody_are_listed_first_with_their_reasons() {
    let home = played(|_| {
        let named = |name: &str, phase: &str| {
            let mut agent = agent(phase, None);
            agent["name"] = json!(name);
            agent
        };
        json!({
            "agents": [named("a", "idle"), named("b", "limited"), named("c", "asking"), named("d", "failed")],
            "next": null,
        })
    });
    let told = home.run(&["agent", "list", "--all"]);
    let names: Vec<&str> = told.stdout.lines().filter_map(|it| it.split("  ").nth(1)).collect();
    assert_eq!(names, ["d", "c", "b", "a"], "{told:?}");
}

#[test]
fn a_window_is_visited_from_within_another_tmux_and_keeps_its_size() {
    let folder = tempfile::tempdir().unwrap();
    let server = folder.path().join("s");
    let window = Window::open(&server);
    let place = json!({ "server": server, "pane": window.pane });
    let home = played(move |path| match path {
        "place" => place.clone(),
        _ => agent("idle", None),
    });
    let person = Person::attach(&home, home.root().as_path(), ID);
    person.sees("hello from the agent");
    person.sees("api");
    person.sees("Ctrl-b Ctrl-b d leaves");
    person.tmux(&["send-keys", "said by the person", "Enter"]);
    person.sees("said by the person");
    let sizes = "#{session_name} #{window_width}x#{window_height} #{window_name}";
    let during = tmux(&server, &["list-windows", "-a", "-F", sizes]);
    let seen: Vec<&str> = during.lines().collect();
    assert_eq!((seen[0], seen.len()), ("cmux 200x50 agent", 2), "{during}");
    assert!(seen[1].starts_with("view-") && seen[1].ends_with(" 200x50 agent"), "{during}");
    // Keys that are sent to its pane are not the person's own: the outer prefix takes no part.
    person.tmux(&["send-keys", "C-b", "d"]);
    person.sees("left with 0");
    let after = tmux(&server, &["list-windows", "-a", "-F", sizes]);
    assert_eq!(after, "cmux 200x50 agent\n");
}

#[test]
fn a_server_that_is_gone_is_not_started() {
    let folder = tempfile::tempdir().unwrap();
    let server = folder.path().join("s");
    let place = json!({ "server": server, "pane": "%1" });
    let home = played(move |path| match path {
        "place" => place.clone(),
        _ => agent("idle", None),
    });
    let person = Person::attach(&home, home.root().as_path(), ID);
    person.sees("tmux could not show `api`");
    person.sees("left with 1");
    assert!(!server.exists());
}

/// A window in a tmux server, as agents have them. It is gone with the test.
struct Window {
    server: PathBuf,
    pane: String,
}

impl Window {
    fn open(server: &Path) -> Window {
        let config = server.with_extension("conf");
        fs::write(&config, "set -g default-size 200x50\nset -g status off\n").unwrap();
        let mut start = Command::new("tmux");
        start.arg("-S").arg(server).arg("-f").arg(config).env_remove("TMUX");
        start.args(["new-session", "-d", "-s", "cmux", "-n", "agent", "-P", "-F", "#{pane_id}"]);
        start.args(["--", "sh", "-c", "echo hello from the agent; exec cat"]);
        let started = start.stdin(Stdio::null()).output().unwrap();
        assert!(started.status.success(), "{started:?}");
        let pane = String::from_utf8(started.stdout).unwrap().trim().to_owned();
        Window { server: server.to_owned(), pane }
    }
}

impl Drop for Window {
    fn drop(&mut self) {
        tmux(&self.server, &["kill-server"]);
    }
}

/// Returns a home whose daemon is played: `answer` says what is at a path, by its last part. What it says
/// nothing about is not there.
fn played(answer: impl Fn(&str) -> Value + Send + 'static) -> TestHome {
    let home = home();
    let listener = UnixListener::bind(home.root().join("cmux.sock")).unwrap();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let _ = serve(&stream.unwrap(), &answer);
        }
    });
    home
}

fn serve(mut stream: &UnixStream, answer: &impl Fn(&str) -> Value) -> std::io::Result<()> {
    let mut asked = BufReader::new(stream);
    let (mut first, mut length) = (String::new(), 0);
    asked.read_line(&mut first)?;
    loop {
        let mut line = String::new();
        asked.read_line(&mut line)?;
        if let Some(value) = line.strip_prefix("content-length: ") {
            length = value.trim().parse().unwrap();
        }
        if line.trim().is_empty() {
            break;
        }
    }
    asked.read_exact(&mut vec![0; length])?;
    let path = first.split(' ').nth(1).unwrap_or_default();
    let path = path.split('?').next().unwrap_or_default();
    let part = path.rsplit('/').next().unwrap_or_default();
    let said = if part == "ws" { Value::Null } else { answer(part) };
    let missing =
        json!({ "type": "/problems/not-found", "title": "", "status": 404, "detail": "" });
    let (status, said) = if said.is_null() { ("404 Not Found", missing) } else { ("200 OK", said) };
    let said = said.to_string();
    write!(stream, "HTTP/1.1 {status}\r\ncontent-length: {}\r\n\r\n{said}", said.len())
}

/// Returns an agent in this phase.
fn agent(phase: &str, reason: Option<&str>) -> Value {
    json!({
        "id": ID,
        "name": "api",
        "project": "shop-1",
        "role": "worker",
        "kind": "demo",
        "parent": null,
        "intent": "run",
        "phase": phase,
        "since": "2025-11-15T21:00:00.000Z",
        "until": null,
        "reason": reason,
        "permanent": false,
        "pid": 7,
        "pane": "%1",
        "run": "run_1",
        "session_id": null,
        "cwd": "/shop",
        "started_at": "2025-11-15T21:00:00.000Z",
        "last_seen_at": null,
        "queue": 0,
        "usage": {
            "tokens": 30,
            "input_tokens": 10,
            "output_tokens": 20,
            "cache_read_tokens": 0,
            "cache_write_tokens": 0,
            "cost_usd": 0.5,
            "unpriced_tokens": 0,
        },
    })
}
