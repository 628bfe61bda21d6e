//! The password: unseen when it is typed, read from a pipe, never from an argument.

use std::fs;
use std::io::{Read, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use cmux_testkit::home::{Ran, TestHome};
use serde_json::json;

use crate::{PROGRAM, document, home, refused};

const PASSWORD: &str = "correct horse, battery";

#[test]
fn a_password_is_set_from_a_pipe_and_cleared() {
    let home = home();
    assert_eq!(home.json(&["password", "status"]), json!({ "set": false }));
    let ran = piped(&home, &["password", "set", "--json"], format!("{PASSWORD}\n").as_bytes());
    assert_eq!(document(&ran), json!({ "set": true }));
    assert_eq!(home.json(&["password", "status"]), json!({ "set": true }));
    let kept = fs::read_to_string(home.root().join("password")).unwrap();
    assert!(kept.starts_with("$argon2id$") && !kept.contains(PASSWORD), "{kept}");
    assert_eq!(home.json(&["password", "clear"]), json!({ "set": false }));
    assert_eq!(home.run(&["password", "clear"]).stdout, "no password was set\n");
}

#[test]
fn what_is_no_password_is_refused_and_changes_nothing() {
    let home = home();
    piped(&home, &["password", "set"], PASSWORD.as_bytes());
    let before = fs::read(home.root().join("password")).unwrap();
    for (given, told) in [
        (&b""[..], "no password was given"),
        (b"short\n", "at least 12 characters, and this has 5"),
        (b"\n\n", "at least 12 characters, and this has 0"),
        (b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\n", "it is not UTF-8"),
        (&[b'x'; 5000], "at most 1024 bytes"),
        (b"twelve\tchars and more\n", "without control characters"),
    ] {
        refused(&piped(&home, &["password", "set"], given), 1, &[told]);
        assert_eq!(fs::read(home.root().join("password")).unwrap(), before);
    }
}

#[test]
fn a_password_is_not_taken_from_an_argument() {
    let home = home();
    let ran = home.run(&["password", "set", PASSWORD]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""), "{ran:?}");
    assert!(!home.root().join("password").exists());
}

#[test]
fn a_password_that_is_typed_is_not_seen() {
    let home = home();
    let mut terminal = Terminal::open(&home, "password set && stty -a");
    terminal.answer("New password: ", PASSWORD);
    terminal.answer("The same again: ", PASSWORD);
    let seen = terminal.end();
    assert!(seen.contains("the password is set") && !seen.contains(PASSWORD), "{seen:?}");
    assert!(seen.contains(" echo "), "the terminal shows again what is typed: {seen:?}");
    assert_eq!(home.json(&["password", "status"]), json!({ "set": true }));
}

#[test]
fn two_passwords_that_differ_are_refused() {
    let home = home();
    let mut terminal = Terminal::open(&home, "password set");
    terminal.answer("New password: ", PASSWORD);
    terminal.answer("The same again: ", "correct horse, batteri");
    let seen = terminal.end();
    assert!(seen.contains("the two passwords differ, and nothing was changed"), "{seen:?}");
    assert!(!home.root().join("password").exists());
}

#[test]
fn whoever_interrupts_gets_their_terminal_back() {
    let home = home();
    let mut terminal = Terminal::open(&home, "password set; stty -a");
    terminal.answer("New password: ", "\u{3}");
    let seen = terminal.end();
    assert!(seen.contains(" echo "), "{seen:?}");
    assert!(!home.root().join("password").exists());
}

#[test]
fn a_password_that_others_can_read_is_told_with_the_remedy() {
    use std::os::unix::fs::PermissionsExt;
    let home = home();
    piped(&home, &["password", "set"], PASSWORD.as_bytes());
    let file = home.root().join("password");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
    refused(&home.run(&["password", "status"]), 1, &["can be read by others", "chmod 600"]);
}

/// Runs the program with `given` on its standard input.
fn piped(home: &TestHome, arguments: &[&str], given: &[u8]) -> Ran {
    let mut command = home.command(arguments);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    // Whoever has heard enough does not read the rest.
    let _ = child.stdin.take().unwrap().write_all(given);
    child.wait_with_output().unwrap().into()
}

/// The program on a terminal, and a person before it.
struct Terminal {
    script: Child,
    keys: ChildStdin,
    screen: ChildStdout,
    seen: Vec<u8>,
}

impl Terminal {
    fn open(home: &TestHome, command: &str) -> Terminal {
        let mut script = Command::new("script");
        home.equip(&mut script);
        script.args(["-qec", &format!("trap : INT; '{PROGRAM}' {command}"), "/dev/null"]);
        script.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut script = script.spawn().unwrap();
        let (keys, screen) = (script.stdin.take().unwrap(), script.stdout.take().unwrap());
        Terminal { script, keys, screen, seen: Vec::new() }
    }

    /// Waits for a question, and types an answer.
    fn answer(&mut self, question: &str, answer: &str) {
        let mut byte = [0];
        while !self.seen.ends_with(question.as_bytes()) {
            let read = self.screen.read(&mut byte).unwrap();
            assert_ne!(read, 0, "{question} was not asked: {:?}", self.seen());
            self.seen.extend(byte);
        }
        self.keys.write_all(format!("{answer}\n").as_bytes()).unwrap();
        self.keys.flush().unwrap();
    }

    fn seen(&self) -> String {
        String::from_utf8_lossy(&self.seen).into_owned()
    }

    /// Returns all that was seen, once the program has ended.
    fn end(mut self) -> String {
        self.screen.read_to_end(&mut self.seen).unwrap();
        self.script.wait().unwrap();
        self.seen()
    }
}
