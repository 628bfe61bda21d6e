//! Starts a daemon and waits until it is ready, or says why it is not.

use std::fs::{self, File, OpenOptions};
use std::io::{BufRead, BufReader, IsTerminal, Read, Seek, SeekFrom};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use cmux_drivers::home::Home;
use cmux_drivers::{disk, lock};
use cmux_wire::client::ClientError;
use cmux_wire::daemon::DaemonStatus;

use crate::cli::wait;
use crate::fail::{Code, Fail};
use crate::guard::{ALREADY_GUARDED, READY, arguments};
use crate::place;
use crate::say::aside;

/// How long a daemon may take to become ready before the wait is over.
const READY_WITHIN: Duration = Duration::from_mins(2);

/// How much of the log is shown when it does not.
const LINES_SHOWN: usize = 15;

/// With less than this left on the disk, nothing can be written, in bytes.
const FULL_BELOW: u64 = 64 << 10;

/// Starts the daemon of `home` unless it runs, and returns once it is ready.
pub(crate) fn start(home: &Home) -> Result<DaemonStatus, Fail> {
    match find(home)? {
        Some(running) if running.starting => return wait_for_other(home),
        Some(running) => return Ok(running),
        None => {}
    }
    let settings = place::settings(home)?;
    home.prepare()?;
    let log_before = fs::metadata(home.log_file()).map_or(0, |file| file.len());
    let program = std::env::current_exe().map_err(|error| Fail::failed(error.to_string()))?;
    let mut guard = Command::new(program)
        .arg("--home")
        .arg(home.root())
        .args(arguments(&settings.guard))
        // So that no folder of the person's is in use because of it.
        .current_dir("/")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(log_file(home))
        .spawn()
        .map_err(|error| Fail::failed(format!("the guard could not be started: {error}")))?;
    let output = guard.stdout.take();
    say_waiting();
    match output.map(first_word) {
        Some(Word::Ready) => {}
        Some(Word::Nothing) => return not_ready(home, &mut guard, log_before),
        None | Some(Word::Silence) => {
            return Err(Fail::new(Code::TimedOut, "the daemon is still starting")
                .hint(format!("its log is {}", home.log_file().display())));
        }
    }
    find(home)?.ok_or_else(|| Fail::failed("the daemon was ready, and is gone again"))
}

/// Returns the daemon of `home`, if it answers.
pub(crate) fn find(home: &Home) -> Result<Option<DaemonStatus>, Fail> {
    wait(async {
        match place::client(home).daemon().await {
            Ok(status) => Ok(Some(status)),
            Err(ClientError::NoDaemon) => Ok(None),
            Err(error) => Err(error.into()),
        }
    })
}

/// Opens the log for the guard and the daemon to write to. Without it they say nothing.
fn log_file(home: &Home) -> Stdio {
    let log = OpenOptions::new().append(true).create(true).open(home.log_file());
    log.map_or_else(|_| Stdio::null(), Stdio::from)
}

fn say_waiting() {
    if std::io::stderr().is_terminal() {
        aside("starting the daemon…");
    }
}

/// What the guard says first.
enum Word {
    Ready,
    /// It ended without a word.
    Nothing,
    Silence,
}

fn first_word(output: ChildStdout) -> Word {
    let (sender, word) = mpsc::channel();
    thread::spawn(move || {
        let mut line = String::new();
        let read = BufReader::new(output).read_line(&mut line);
        let _ = sender.send(read.is_ok() && line.trim_end() == READY);
    });
    match word.recv_timeout(READY_WITHIN) {
        Ok(true) => Word::Ready,
        Ok(false) | Err(RecvTimeoutError::Disconnected) => Word::Nothing,
        Err(RecvTimeoutError::Timeout) => Word::Silence,
    }
}

/// Finds out why the guard ended before the daemon was ready.
fn not_ready(home: &Home, guard: &mut Child, log_before: u64) -> Result<DaemonStatus, Fail> {
    let status = guard.wait().map_err(|error| Fail::failed(error.to_string()))?;
    if status.code() == Some(i32::from(ALREADY_GUARDED)) {
        return wait_for_other(home);
    }
    // Another daemon may have been quicker, started by hand.
    if let Some(running) = find(home)? {
        return Ok(running);
    }
    let said = last_lines(home, log_before);
    let reason = said.iter().rev().find_map(|line| line.strip_prefix("error: "));
    let what = match reason {
        Some(reason) => format!("the daemon did not start: {reason}"),
        None if said.is_empty() && is_full(home) => format!(
            "the daemon did not start: there is no room left on the disk under {}",
            home.root().display()
        ),
        None if said.is_empty() => format!("the daemon did not start ({status})"),
        None => {
            format!("the daemon did not start ({status}). Its last words:\n{}", said.join("\n"))
        }
    };
    Err(Fail::failed(what).hint(format!("its log is {}", home.log_file().display())))
}

/// Returns whether the disk is so full that the daemon could not even say so in its log.
fn is_full(home: &Home) -> bool {
    disk::free_bytes(home.root()).is_ok_and(|free| free < FULL_BELOW)
}

/// Waits for a daemon that somebody else is starting.
fn wait_for_other(home: &Home) -> Result<DaemonStatus, Fail> {
    let begun = Instant::now();
    while begun.elapsed() < READY_WITHIN {
        let is_guarded = || lock::holder(&home.guard_lock()).ok().flatten().is_some();
        match find(home)? {
            Some(running) if !running.starting => return Ok(running),
            None if !is_guarded() => {
                let what = "somebody else was starting the daemon, and it did not start";
                return Err(Fail::failed(what).hint("try again"));
            }
            Some(_) | None => {}
        }
        thread::sleep(Duration::from_millis(50));
    }
    Err(Fail::new(
        Code::TimedOut,
        "a guard is there, and the daemon that it starts is not ready yet",
    )
    .hint(format!("{} says why; `cmux daemon restart` tries at once", home.log_file().display())))
}

/// Returns the last lines that were added to the log since it had `from` bytes.
fn last_lines(home: &Home, from: u64) -> Vec<String> {
    let mut text = String::new();
    let read = File::open(home.log_file()).and_then(|mut log| {
        log.seek(SeekFrom::Start(from))?;
        log.take(1 << 20).read_to_string(&mut text)
    });
    let lines: Vec<String> = match read {
        Ok(_) => text.lines().map(ToOwned::to_owned).collect(),
        Err(_) => Vec::new(),
    };
    let skipped = lines.len().saturating_sub(LINES_SHOWN);
    lines.into_iter().skip(skipped).collect()
}
