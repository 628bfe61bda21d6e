//! `cmux password`: what lets the person in from another machine.

use std::io::{self, BufRead, IsTerminal, Read, Write};
use std::thread;

use clap::Subcommand;
use cmux_drivers::home::Home;
use cmux_drivers::password;
use cmux_wire::client::ClientError;
use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};
use serde::Serialize;
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};
use signal_hook::iterator::{Handle, Signals};
use signal_hook::low_level::emulate_default_handler;

use crate::cli::{Common, wait};
use crate::fail::{Code, Fail};
use crate::place;
use crate::say::{Say, aside, clean};

#[derive(Debug, Subcommand)]
pub(crate) enum Password {
    /// Set the password, typed unseen or read from a pipe
    #[command(
        after_help = "It has at least 12 characters, and only its hash is kept. It is never taken \
                            from an argument, where other processes could see it.\n\nExamples:\n  \
                            cmux password set\n  pass show cmux | cmux password set"
    )]
    Set,
    /// Take the password away
    #[command(
        after_help = "Nobody gets in from another machine without one, and the daemon does not \
                            start if it is to listen there.\n\nExample:\n  cmux password clear"
    )]
    Clear,
    /// Show whether a password is set
    #[command(after_help = "Example:\n  cmux password status --json | jq .set")]
    Status,
}

/// Whether a password is set, as scripts see it.
#[derive(Debug, Serialize)]
struct State {
    set: bool,
}

impl Password {
    pub(crate) fn run(self, common: &Common, say: Say) -> Result<(), Fail> {
        let home = place::home(common.home.as_deref())?;
        match self {
            Password::Set => {
                place::require_person("set a password")?;
                set(&home, say)
            }
            Password::Clear => {
                place::require_person("clear the password")?;
                let was_set = password::clear(&home)?;
                tell_daemon(&home)?;
                say.show(&State { set: false }, |_| match was_set {
                    true => "the password is gone".to_owned(),
                    false => "no password was set".to_owned(),
                })
            }
            Password::Status => {
                let state = State { set: password::is_set(&home)? };
                say.show(&state, |state| match state.set {
                    true => "a password is set".to_owned(),
                    false => "no password is set: `cmux password set` sets one".to_owned(),
                })
            }
        }
    }
}

fn set(home: &Home, say: Say) -> Result<(), Fail> {
    home.prepare()?;
    let password =
        if io::stdin().is_terminal() { typed()? } else { line(&mut io::stdin().lock())? };
    password::set(home, &password)?;
    let address = tell_daemon(home)?;
    say.show(&State { set: true }, |_| match &address {
        Some(address) => {
            format!("the password is set; it is asked for at {}/login", clean(address))
        }
        None => "the password is set".to_owned(),
    })
}

/// Tells the daemon, if one runs, so that whoever came in by another password is put out. Returns where it
/// is found.
fn tell_daemon(home: &Home) -> Result<Option<String>, Fail> {
    wait(async {
        let client = place::client(home);
        match client.note_password().await {
            Ok(()) => Ok(client.daemon().await?.address),
            // The next one to start looks for itself.
            Err(ClientError::NoDaemon) => Ok(None),
            Err(error) => Err(error.into()),
        }
    })
}

/// Asks for a password twice, without showing it.
fn typed() -> Result<String, Fail> {
    let _unseen = Unseen::begin().map_err(|error| {
        Fail::failed(format!("the terminal cannot be kept from showing: {error}"))
    })?;
    let password = ask("New password: ")?;
    if ask("The same again: ")? != password {
        return Err(Fail::failed("the two passwords differ, and nothing was changed")
            .hint("try again: `cmux password set`"));
    }
    Ok(password)
}

fn ask(question: &str) -> Result<String, Fail> {
    let mut screen = io::stderr().lock();
    // If it cannot be seen, it can still be answered.
    let _ = screen.write_all(question.as_bytes()).and_then(|()| screen.flush());
    let answer = line(&mut io::stdin().lock());
    aside("");
    answer
}

/// Returns the next line, without its end.
fn line(input: &mut impl BufRead) -> Result<String, Fail> {
    let unreadable = |why: String| Fail::failed(format!("the password cannot be read: {why}"));
    let mut bytes = Vec::new();
    // One more than the longest with its end, so that what is too long is seen to be.
    let most = password::BYTES_MAX as u64 + 2;
    let read = input.take(most).read_until(b'\n', &mut bytes);
    if read.map_err(|error| unreadable(error.to_string()))? == 0 {
        return Err(Fail::new(Code::Failed, "no password was given, and nothing was changed"));
    }
    let text = String::from_utf8(bytes).map_err(|_| unreadable("it is not UTF-8".to_owned()))?;
    let text = text.strip_suffix('\n').unwrap_or(&text);
    Ok(text.strip_suffix('\r').unwrap_or(text).to_owned())
}

/// A terminal that does not show what is typed, until this is dropped or the process is told to end.
struct Unseen {
    before: Termios,
    signals: Handle,
}

impl Unseen {
    fn begin() -> io::Result<Unseen> {
        let before = tcgetattr(io::stdin())?;
        let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP, SIGQUIT])?;
        let handle = signals.handle();
        let kept = before.clone();
        thread::spawn(move || {
            for signal in &mut signals {
                // Whoever interrupts gets back a terminal that shows what they type.
                let _ = tcsetattr(io::stdin(), OptionalActions::Now, &kept);
                let _ = emulate_default_handler(signal);
            }
        });
        let mut unseen = before.clone();
        unseen.local_modes.remove(LocalModes::ECHO);
        tcsetattr(io::stdin(), OptionalActions::Now, &unseen)?;
        Ok(Unseen { before, signals: handle })
    }
}

impl Drop for Unseen {
    fn drop(&mut self) {
        let _ = tcsetattr(io::stdin(), OptionalActions::Now, &self.before);
        self.signals.close();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_read_without_its_end() {
        for (given, expected) in
            [("a b\n", "a b"), ("a b", "a b"), (" a \r\nrest\n", " a "), ("\n", ""), ("ä\n\n", "ä")]
        {
            assert_eq!(line(&mut given.as_bytes()).unwrap(), expected, "{given:?}");
        }
        assert_eq!(line(&mut [b'x'; 5000].as_slice()).unwrap().len(), password::BYTES_MAX + 2);
        assert!(line(&mut "".as_bytes()).is_err() && line(&mut &b"\xff\n"[..]).is_err());
    }
}
