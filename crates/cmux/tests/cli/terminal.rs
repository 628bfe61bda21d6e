//! Colour: on a terminal only, and not for those who do not want it.

use std::process::{Command, Stdio};

use cmux_testkit::home::{Ran, TestHome};

use crate::{PROGRAM, home};

const COMMANDS: [&str; 5] = ["status", "doctor", "events", "project list", "project show nosuch"];

#[test]
fn a_terminal_gets_colour() {
    let home = running();
    for command in COMMANDS {
        let seen = on_terminal(&home, command, &[("TERM", "xterm")]);
        assert!(seen.contains("\u{1b}["), "{command}: {seen:?}");
    }
}

#[test]
fn whoever_wants_no_colour_gets_none() {
    let home = running();
    for variable in [("NO_COLOR", "1"), ("TERM", "dumb")] {
        for command in COMMANDS {
            let seen = on_terminal(&home, command, &[variable]);
            assert!(!seen.contains('\u{1b}'), "{variable:?} {command}: {seen:?}");
        }
        let json = on_terminal(&home, "status --json", &[("TERM", "xterm")]);
        assert!(!json.contains('\u{1b}'), "{json:?}");
    }
}

#[test]
fn a_pipe_gets_no_colour() {
    let home = running();
    for command in COMMANDS {
        let words: Vec<&str> = command.split(' ').collect();
        let mut piped = home.command(&words);
        let ran: Ran = piped.env_remove("NO_COLOR").env("TERM", "xterm").output().unwrap().into();
        assert!(!format!("{}{}", ran.stdout, ran.stderr).contains('\u{1b}'), "{ran:?}");
        assert_ne!(ran.stdout.len() + ran.stderr.len(), 0);
    }
}

#[test]
fn errors_are_coloured_by_where_they_go_and_not_by_where_answers_go() {
    let home = running();
    let seen = on_terminal(&home, "project show nosuch 2>errors", &[("TERM", "xterm")]);
    assert!(!seen.contains('\u{1b}'), "{seen:?}");
    let written = std::fs::read_to_string(home.root().parent().unwrap().join("errors")).unwrap();
    assert!(written.starts_with("error: there is no project"), "{written:?}");
}

/// Returns a home with a daemon and a project in it.
fn running() -> TestHome {
    let home = home();
    home.json(&["up", "--no-supervisor"]);
    home
}

/// Returns what a person sees of a command on a terminal, with `variables` set.
fn on_terminal(home: &TestHome, command: &str, variables: &[(&str, &str)]) -> String {
    let mut script = Command::new("script");
    home.equip(&mut script);
    script.env_remove("NO_COLOR").envs(variables.iter().copied()).stdin(Stdio::null());
    script.args(["-qec", &format!("'{PROGRAM}' {command}"), "/dev/null"]);
    let seen = script.output().unwrap();
    String::from_utf8(seen.stdout).unwrap()
}
