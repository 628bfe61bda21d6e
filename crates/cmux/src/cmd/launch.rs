//! `cmux launch -- PROGRAM ARGS…`: the parent of every agent, from which nothing that it starts gets away.
//!
//! It adopts whoever is orphaned below it, so that everything an agent starts stays in the agent's line
//! of descent, and it ends only when all of that is gone.

use std::ffi::OsString;
use std::io::{self, ErrorKind};
use std::process::{Command, ExitCode};
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use clap::Args;
use cmux_drivers::process::{Process, descendants};
use rustix::io::Errno;
use rustix::process::{
    DumpableBehavior, Pid, Signal, WaitOptions, WaitStatus, getpid, kill_process,
    set_child_subreaper, set_dumpable_behavior, wait,
};
use signal_hook::consts::{SIGCHLD, SIGHUP, SIGINT, SIGQUIT, SIGTERM};
use signal_hook::iterator::Signals;

use crate::fail::{Code, Fail};
use crate::place;
use crate::say::{aside, say_error};

/// The exit code that tells that the program is there and could not be run, as shells have it.
const NOT_RUN: u8 = 126;

/// The exit code that tells that there is no such program, as shells have it.
const NOT_FOUND: u8 = 127;

/// How long what a program leaves behind may take to end when it is asked to.
const GRACE: Duration = Duration::from_secs(2);

/// How long it is given to end when it is killed, before it is looked for again.
const PAUSE: Duration = Duration::from_millis(50);

/// Killed for so long without ending, it is complained of.
const COMPLAIN_AFTER: Duration = Duration::from_secs(5);

/// How many signals may wait. More of them are told as one.
const SIGNALS_MAX: usize = 16;

/// What is launched.
#[derive(Debug, Args)]
pub(crate) struct Launch {
    #[arg(last = true, required = true, value_name = "PROGRAM")]
    words: Vec<OsString>,
}

impl Launch {
    /// Runs the program to its end, and returns its exit code, or 128 and the signal that ended it.
    pub(crate) fn run(self) -> ExitCode {
        if place::launcher_above().is_some() {
            say_error(&Fail::new(
                Code::Refused,
                "an agent may not launch programs past what it is allowed to run",
            ));
            return ExitCode::from(NOT_RUN);
        }
        let mut words = self.words.into_iter();
        let program = words.next().unwrap_or_default();
        match launch(Command::new(&program).args(words)) {
            Ok(launched) => launched.see_out(),
            Err(error) => {
                let what = format!("cannot start `{}`: {error}", program.display());
                let is_missing = error.kind() == ErrorKind::NotFound;
                say_error(&Fail::failed(what).hint(if is_missing {
                    "is it installed, and on the PATH that cmux has? If it is a script, is what its \
                     first line names there?"
                } else {
                    "is it a program, and may you run it?"
                }));
                ExitCode::from(if is_missing { NOT_FOUND } else { NOT_RUN })
            }
        }
    }
}

/// A program that was launched, and all that comes of it.
struct Launched {
    program: Pid,
    signals: Receiver<i32>,
}

/// Starts the program that `command` names, with this process's own terminal.
fn launch(command: &mut Command) -> io::Result<Launched> {
    set_child_subreaper(Some(getpid()))?;
    // The daemon knows an agent by this process's environment, so it must not be kept from reading it.
    set_dumpable_behavior(DumpableBehavior::Dumpable)?;
    let signals = listen()?;
    // The server an agent lives in is not the agent's to command. With the pane alone, tmux would mean
    // the pane of that number in the person's own server.
    let child = command.env_remove("TMUX").env_remove("TMUX_PANE").spawn()?;
    Ok(Launched { program: Pid::from_child(&child), signals })
}

/// Returns the signals that come from here on.
///
/// What is typed at the terminal reaches the program by itself, as it is in the same group: to be
/// interrupted is its business and not the launcher's. The signals are listened to rather than ignored,
/// since it would inherit that. Those that stop and resume the group, or tell of a new size, do the
/// same to both, or nothing.
fn listen() -> io::Result<Receiver<i32>> {
    let mut signals = Signals::new([SIGCHLD, SIGHUP, SIGINT, SIGQUIT, SIGTERM])?;
    let (sender, receiver) = sync_channel(SIGNALS_MAX);
    thread::spawn(move || {
        for signal in &mut signals {
            let _ = sender.send(signal);
        }
    });
    Ok(receiver)
}

/// What a look for children that have ended has shown.
enum Reaped {
    /// The program itself has ended.
    Program(WaitStatus),
    /// Nobody more has ended; somebody still lives.
    Nobody,
    /// There is nobody left.
    AllGone,
}

impl Launched {
    /// Waits until the program has ended, ends what it leaves behind, and returns its exit code.
    fn see_out(&self) -> ExitCode {
        let status = self.attend();
        self.end_the_rest();
        let signal = status.and_then(|status| status.terminating_signal());
        let code = status.and_then(|status| status.exit_status());
        let code = code.or(signal.map(|signal| 128 + signal));
        ExitCode::from(code.and_then(|code| u8::try_from(code).ok()).unwrap_or(1))
    }

    /// Waits until the program has ended, and returns how.
    fn attend(&self) -> Option<WaitStatus> {
        loop {
            match self.reap() {
                Reaped::Program(status) => return Some(status),
                Reaped::Nobody => {}
                Reaped::AllGone => return None,
            }
            match self.signals.recv().ok()? {
                SIGTERM => self.pass_on(Signal::TERM),
                SIGHUP => self.pass_on(Signal::HUP),
                _ => {}
            }
        }
    }

    /// Sends the program a signal that was meant for it. Until it is reaped, its number is its own.
    fn pass_on(&self, signal: Signal) {
        // It may have ended just now.
        let _ = kill_process(self.program, signal);
    }

    /// Lets go of children that have ended, orphans included, up to the program itself.
    fn reap(&self) -> Reaped {
        loop {
            match wait(WaitOptions::NOHANG) {
                Ok(Some((pid, status))) if pid == self.program => return Reaped::Program(status),
                Ok(Some(_)) | Err(Errno::INTR) => {}
                Ok(None) => return Reaped::Nobody,
                Err(_) => return Reaped::AllGone,
            }
        }
    }

    /// Ends all that comes of the program, and returns when it is gone.
    ///
    /// Whoever loses its parent becomes a child of the launcher: without children, nobody is left.
    fn end_the_rest(&self) {
        if self.is_alone_within(Duration::ZERO) {
            return;
        }
        for process in below() {
            let _ = process.signal(Signal::TERM);
            // A stopped one hears it when it goes on.
            let _ = process.signal(Signal::CONT);
        }
        if self.is_alone_within(GRACE) {
            return;
        }
        let begun = Instant::now();
        let mut has_complained = false;
        loop {
            for process in below() {
                let killed = process.signal(Signal::KILL);
                let is_gone = killed.as_ref().is_err_and(|it| it.kind() == ErrorKind::NotFound);
                if begun.elapsed() > COMPLAIN_AFTER && !is_gone && !has_complained {
                    has_complained = true;
                    complain(process, killed);
                }
            }
            if self.is_alone_within(PAUSE) {
                return;
            }
        }
    }

    /// Waits until there is nobody left, and returns whether that is so when `patience` is over.
    fn is_alone_within(&self, patience: Duration) -> bool {
        let begun = Instant::now();
        loop {
            match self.reap() {
                Reaped::AllGone => return true,
                Reaped::Program(_) | Reaped::Nobody => {}
            }
            let Some(rest) = patience.checked_sub(begun.elapsed()) else { return false };
            if self.signals.recv_timeout(rest).is_err() {
                return false;
            }
        }
    }
}

/// Returns all that comes of this process. Without /proc it would be nobody, and the launcher stay.
fn below() -> Vec<Process> {
    descendants(std::process::id()).unwrap_or_default()
}

/// Says, once, what keeps the launcher from ending.
fn complain(process: Process, killed: io::Result<()>) {
    let why = killed.err().map_or_else(|| "it does not end".to_owned(), |error| error.to_string());
    aside(&format!(
        "cmux: the program has ended, but not process {}, which it left behind: {why}. End it \
         yourself; until then the run is not over.",
        process.pid
    ));
}
