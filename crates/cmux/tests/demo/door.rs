//! The second way in: messages that come whole, past the terminal.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;

use cmux_testkit::wait::eventually;
use serde_json::{Value, json};

use crate::pane::Pane;

#[test]
fn a_message_comes_whole_and_once() {
    let (pane, mut door) = opened(&[]);
    pane.type_in("a draft");
    pane.shows("│ > a draft ");
    let text = "line\n\u{1b}[201~ \t 界 ".repeat(1000);
    let message = json!({ "id": "m1", "text": text });
    assert_eq!(door.ask(&message), json!({ "id": "m1", "state": "taken" }));
    assert_eq!(door.ask(&message), json!({ "id": "m1", "state": "taken" }));
    assert_eq!(pane.taken(), [text]);
    pane.shows("│ > a draft ");
}

#[test]
fn it_is_taken_only_once_after_a_crash_and_a_resume() {
    let (pane, mut door) = opened(&["--session-id", "s"]);
    assert_eq!(door.ask(&json!({ "id": "m1", "text": "hello" }))["state"], "taken");
    let pid = pane.tell("#{pane_pid}").parse().ok().and_then(rustix::process::Pid::from_raw);
    rustix::process::kill_process(pid.unwrap(), rustix::process::Signal::KILL).unwrap();
    assert_eq!(pane.exit(), None);
    let socket = pane.path("door").display().to_string();
    pane.start(&["--resume", "s", "--listen", &socket], (80, 24));
    let mut door = Door::open(&pane);
    assert_eq!(door.ask(&json!({ "id": "m1", "text": "hello" }))["state"], "taken");
    assert_eq!(pane.taken(), ["hello"]);
}

#[test]
fn a_hook_may_refuse_it_and_nothing_lands_in_the_composer() {
    let pane = Pane::new();
    let settings = pane.settings(&["UserPromptSubmit"], "cat >/dev/null; echo no >&2; exit 2", 60);
    let (pane, mut door) = opened_in(pane, &["--settings", &settings]);
    let answer = door.ask(&json!({ "id": "m1", "text": "hello" }));
    assert_eq!(answer["state"], "refused");
    assert!(answer["reason"].as_str().unwrap().contains("no"), "{answer}");
    assert!(pane.screen().contains("│ > Try") && pane.taken().is_empty());
}

#[test]
fn what_is_no_message_is_refused() {
    let (pane, mut door) = opened(&[]);
    for (line, told) in [("hello", "not JSON"), ("{}", "no `text`"), (r#"{"text":" "}"#, "nothing")]
    {
        let answer = door.ask_raw(line);
        assert_eq!(answer["state"], "refused", "{line}: {answer}");
        assert!(answer["reason"].as_str().unwrap().contains(told), "{line}: {answer}");
    }
    assert_eq!(door.ask(&json!({ "text": "still there" }))["state"], "taken");
    assert_eq!(pane.taken(), ["still there"]);
}

struct Door {
    stream: BufReader<UnixStream>,
}

impl Door {
    fn open(pane: &Pane) -> Door {
        let path = pane.path("door");
        let stream = eventually("the door is open", || UnixStream::connect(&path).ok());
        Door { stream: BufReader::new(stream) }
    }

    fn ask(&mut self, message: &Value) -> Value {
        self.ask_raw(&message.to_string())
    }

    fn ask_raw(&mut self, line: &str) -> Value {
        self.stream.get_mut().write_all(format!("{line}\n").as_bytes()).unwrap();
        let mut answer = String::new();
        self.stream.read_line(&mut answer).unwrap();
        serde_json::from_str(&answer).unwrap()
    }
}

fn opened(flags: &[&str]) -> (Pane, Door) {
    opened_in(Pane::new(), flags)
}

fn opened_in(pane: Pane, flags: &[&str]) -> (Pane, Door) {
    let socket = pane.path("door").display().to_string();
    pane.start(&[&["--listen", &socket], flags].concat(), (80, 24));
    pane.shows("╰──");
    let door = Door::open(&pane);
    (pane, door)
}
