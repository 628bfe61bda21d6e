//! The scripted agent: a small real terminal program that behaves as Claude Code does, but for its model,
//! which is a script. Tests give it faults; a release has it as the `demo` kind.
//!
//! `session` decides and touches nothing; `runner` does as it says.

#![warn(clippy::unwrap_used)]

mod composer;
mod dialog;
mod door;
mod errand;
mod fault;
mod flags;
mod hook;
mod key;
mod painter;
mod permission;
mod persona;
mod record;
mod runner;
mod screen;
mod script;
mod session;
mod start;
mod status;
mod terminal;
mod transcript;
mod worker;

use std::ffi::OsString;
use std::io::Write;
use std::process::ExitCode;

use self::flags::{Flags, HELP};

/// The exit code of wrong usage.
const USAGE: u8 = 2;

/// Plays an agent in this terminal, as the words after `cmux demo` say, and returns how it ended.
pub fn main(words: impl IntoIterator<Item = OsString>) -> ExitCode {
    let flags = match Flags::parse(words) {
        Ok(flags) if flags.help => {
            let said = std::io::stdout().write_all(HELP.as_bytes());
            return ExitCode::from(u8::from(said.is_err()));
        }
        Ok(flags) => flags,
        Err(error) => return complain(&error, USAGE),
    };
    match start::start(&flags) {
        Ok(code) => ExitCode::from(code),
        Err(error) => complain(&error, 1),
    }
}

fn complain(error: &str, code: u8) -> ExitCode {
    // Whoever does not listen is not told.
    let _ = writeln!(std::io::stderr(), "error: {error}");
    ExitCode::from(code)
}
