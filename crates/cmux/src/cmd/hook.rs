//! `cmux hook KIND EVENT`: what an agent's CLI calls at every step, with what it has to tell on standard
//! input.
//!
//! It is handed to the daemon, or spooled if none takes it in time. Whatever goes wrong here, the agent
//! goes on: a hook of cmux's never makes one fail by accident. What cmux typed itself is the exception: it
//! reaches the model once, or not at all.

mod gate;
mod line;

use std::env;
use std::ffi::OsString;
use std::io::{self, IsTerminal, Write};
use std::panic::catch_unwind;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::Args;
use cmux_core::digest::Digest;
use cmux_core::hook::{Gate, PAYLOAD_MAX, Reply, cut, redact};
use cmux_core::id::HookId;
use cmux_drivers::home::Home;
use cmux_drivers::hooks::{READ_MAX, Said, answer, is_event, shape, shorten};
use cmux_drivers::spool::{Letter, Spool};
use cmux_drivers::{clock, failpoint};
use cmux_wire::hook::{HookReply, HookTaken, NewHook};
use cmux_wire::time::Time;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

use self::gate::Passage;
use self::line::Broken;
use crate::name::ulid;

/// How long the CLI may take to say what it has to.
const SAY_WITHIN: Duration = Duration::from_secs(2);

/// How much is read at once, in bytes.
const CHUNK: usize = 64 << 10;

const USAGE: &str = "usage: cmux hook KIND EVENT, where KIND is claude, codex, gemini or demo";

/// Which hook is called.
#[derive(Debug, Args)]
pub(crate) struct Hook {
    /// Whose hook it is: claude, codex, gemini or demo
    kind: OsString,
    /// What the CLI calls the event, such as `PreToolUse`
    event: OsString,
}

impl Hook {
    pub(crate) fn run(self) -> ExitCode {
        run(&[self.kind, self.event])
    }
}

/// Does as the words of a command line say, if they call a hook, without reading any further into them.
pub(crate) fn called(words: impl Iterator<Item = OsString>) -> Option<ExitCode> {
    let mut words = words.skip(1);
    if words.next()? != "hook" {
        return None;
    }
    let words: Vec<OsString> = words.collect();
    if words.iter().any(|word| word.to_string_lossy().starts_with('-')) {
        return None;
    }
    match <[OsString; 2]>::try_from(words) {
        Ok(words) => Some(run(&words)),
        // Another code than 0 would be taken for an answer.
        Err(_) => Some(complain(USAGE)),
    }
}

fn run(words: &[OsString; 2]) -> ExitCode {
    catch_unwind(|| hook(words)).unwrap_or(ExitCode::SUCCESS)
}

fn hook([kind, event]: &[OsString; 2]) -> ExitCode {
    let called = clock::read();
    let payload = listen(Instant::now() + SAY_WITHIN);
    let (kind, event) = (kind.to_string_lossy(), event.to_string_lossy());
    let Some(shape) = shape(&kind).filter(|_| is_event(&event)) else { return complain(USAGE) };
    // A person's own CLI that has come by our settings is nobody's agent.
    let Some(caller) = Caller::found() else { return ExitCode::SUCCESS };
    let id = HookId::new(ulid(called.wall.0));
    let passage = Passage::of(&caller, shape, &event, &payload, id);
    let new = NewHook {
        hook: id.to_string(),
        kind: kind.into_owned(),
        event: event.clone().into_owned(),
        at: Time::from_millis(called.wall.0),
        since_boot_ms: u64::try_from(called.since_boot.as_millis()).unwrap_or(u64::MAX),
        payload,
        claim: passage.claim(),
    };
    // Nothing waits for the daemon to decide as yet.
    let gate = Gate::ORDINARY;
    let reply = match caller.tell(&new, gate.within) {
        Ok(reply) => reply,
        Err(Untold::Refused(why)) => {
            warn(&format!("the daemon refused what {event} told: {why}"));
            Reply::Pass
        }
        Err(Untold::Broken(why)) => {
            if let Err(error) = caller.spool(id, new) {
                warn(&format!("what {event} told is lost: {why}, and {error}"));
            }
            gate.without_reply(&why)
        }
    };
    let reply = passage.answer(reply);
    failpoint::hit("hook.answer");
    say(&answer(shape, &event, &reply))
}

/// Whose hook it is, and where the daemon is.
struct Caller {
    run: String,
    token: String,
    socket: PathBuf,
}

/// Why the daemon does not know of a hook.
enum Untold {
    /// It was told, and will not have it.
    Refused(String),
    Broken(String),
}

impl Caller {
    /// Returns who calls, by what every agent is given.
    fn found() -> Option<Caller> {
        let given = |name: &str| env::var_os(name).filter(|value| !value.is_empty());
        let (run, token) = (given("CMUX_RUN")?, given("CMUX_TOKEN")?);
        let (run, token) = (run.into_string().ok()?, token.into_string().ok()?);
        let socket = given("CMUX_SOCKET").map(PathBuf::from);
        let of_home = || given("CMUX_HOME").map(|home| PathBuf::from(home).join("cmux.sock"));
        Some(Caller { run, token, socket: socket.or_else(of_home)? })
    }

    /// Returns the home of the agent's daemon.
    fn home(&self) -> Home {
        Home::at(self.socket.parent().unwrap_or(Path::new("/")).to_owned())
    }

    /// Hands a hook to the daemon, and returns what is to be answered.
    fn tell(&self, new: &NewHook, within: Duration) -> Result<Reply, Untold> {
        let broken = |why: &dyn ToString| Untold::Broken(why.to_string());
        let body = serde_json::to_vec(new).map_err(|error| broken(&error))?;
        let said = line::post(&self.socket, "/api/hooks", &self.token, &body, within);
        let said = said.map_err(|why: Broken| broken(&why))?;
        match said.status {
            200..=299 => {
                let taken: HookTaken =
                    serde_json::from_slice(&said.body).map_err(|error| broken(&error))?;
                Ok(hear(taken.reply))
            }
            // To ask again would change nothing.
            400..=499 if !matches!(said.status, 408 | 429) => Err(Untold::Refused(said.detail())),
            _ => Err(Untold::Broken(said.detail())),
        }
    }

    /// Leaves a hook where the next daemon looks.
    fn spool(&self, id: HookId, mut new: NewHook) -> Result<(), String> {
        new.payload = shorten(redact(&new.payload), PAYLOAD_MAX);
        let body = serde_json::to_string(&new).map_err(|error| error.to_string())?;
        let letter = Letter { by: Digest::of(self.token.as_bytes()), boot: clock::boot(), body };
        let spool = Spool::at(self.home().spool());
        spool.append(id, &letter).map_err(|error| error.to_string())
    }
}

/// Returns what the CLI has to say, in full or as far as it came until `deadline`. Of more than is ever
/// understood, only the beginning.
fn listen(deadline: Instant) -> String {
    let mut bytes = Vec::new();
    if !io::stdin().is_terminal() {
        while let Some(more) = read_more(deadline) {
            let room = (READ_MAX + 1).saturating_sub(bytes.len());
            bytes.extend_from_slice(&more[..more.len().min(room)]);
        }
    }
    let text = match String::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => String::from_utf8_lossy(error.as_bytes()).into_owned(),
    };
    if text.len() > READ_MAX { cut(text, PAYLOAD_MAX) } else { text }
}

/// Returns what comes next on standard input. Nothing, if that is all or it takes too long.
fn read_more(deadline: Instant) -> Option<Vec<u8>> {
    let (mut chunk, input) = (vec![0; CHUNK], io::stdin());
    loop {
        let left = Timespec::try_from(deadline.saturating_duration_since(Instant::now())).ok()?;
        let mut ready = [PollFd::new(&input, PollFlags::IN)];
        match poll(&mut ready, Some(&left)) {
            Ok(0) => return None,
            Ok(_) => {}
            Err(Errno::INTR) => continue,
            Err(_) => return None,
        }
        match rustix::io::read(&input, &mut chunk) {
            Ok(0) => return None,
            Ok(length) => {
                chunk.truncate(length);
                return Some(chunk);
            }
            Err(Errno::INTR | Errno::AGAIN) => {}
            Err(_) => return None,
        }
    }
}

fn hear(reply: HookReply) -> Reply {
    match reply {
        HookReply::Pass => Reply::Pass,
        HookReply::Block { why } => Reply::Block { why },
        HookReply::Allow => Reply::Allow,
        HookReply::Deny { why } => Reply::Deny { why },
        HookReply::Ask => Reply::Ask,
        HookReply::Context { text } => Reply::Context { text },
    }
}

/// Says what the CLI waits for.
fn say(said: &Said) -> ExitCode {
    // Whoever does not listen has decided already.
    let _ = io::stdout().write_all(said.stdout.as_bytes());
    if !said.stderr.is_empty() {
        let _ = writeln!(io::stderr(), "{}", said.stderr);
    }
    ExitCode::from(said.code)
}

fn complain(what: &str) -> ExitCode {
    warn(what);
    ExitCode::SUCCESS
}

fn warn(what: &str) {
    let _ = writeln!(io::stderr(), "cmux hook: {what}");
}
