//! The command line as people and scripts meet it, through the real program.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod access;
mod agents;
mod doctor;
mod help;
mod kinds;
mod mail;
mod output;
mod password;
mod projects;
mod store;
mod terminal;
mod trust;

use cmux_testkit::home::{Ran, TestHome};
use serde_json::Value;

const PROGRAM: &str = env!("CARGO_BIN_EXE_cmux");

/// Returns a home in which no daemon runs.
fn home() -> TestHome {
    TestHome::new(PROGRAM)
}

/// Checks that a command failed as scripts and people expect it: with `code`, nothing on standard
/// output, and on standard error what happened and what to do, which includes all of `told`.
#[track_caller]
fn refused(ran: &Ran, code: i32, told: &[&str]) {
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(code), ""), "{ran:?}");
    assert!(ran.stderr.starts_with("error: "), "{ran:?}");
    assert!(!ran.stderr.trim_end().contains(|c: char| c.is_control() && c != '\n'), "{ran:?}");
    for text in told {
        assert!(ran.stderr.contains(text), "{text} is not in {ran:?}");
    }
}

/// Returns the one JSON document that a command has printed, and nothing else.
#[track_caller]
fn document(ran: &Ran) -> Value {
    let lines: Vec<&str> = ran.stdout.lines().collect();
    assert_eq!((lines.len(), ran.stderr.as_str()), (1, ""), "{ran:?}");
    assert!(!ran.stdout.contains('\u{1b}'), "{ran:?}");
    serde_json::from_str(lines[0]).unwrap()
}
