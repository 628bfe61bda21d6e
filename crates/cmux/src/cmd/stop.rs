//! Stops the daemon of a home: asks, waits, insists, and looks whether anything is left.

use std::net::SocketAddr;
use std::path::Path;
use std::time::{Duration, Instant};

use cmux_core::settings::Settings;
use cmux_drivers::home::Home;
use cmux_drivers::lock::{Holder, Lock, Role};
use cmux_drivers::process::{PortHolder, Process, port_holder};
use cmux_drivers::{config, lock};
use rustix::process::Signal;
use serde::Serialize;

use crate::cli::wait;
use crate::fail::Fail;
use crate::place;
use crate::say::clean;

/// How long each step may take before the next, harder one.
const PATIENCE: Duration = Duration::from_secs(10);

/// How often it looks whether anything is left: a guard may have started a daemon just before it ended.
const ROUNDS_MAX: u32 = 3;

/// How long the daemon may take to say that it heard.
const HEARD_WITHIN: Duration = Duration::from_secs(2);

/// What came of it.
#[derive(Debug, Default, Serialize)]
pub(crate) struct Stopped {
    /// The daemon's process, if one ran.
    pid: Option<u32>,
    /// Whether it had to be ended by force.
    forced: bool,
    /// What could not be cleared away.
    pub(crate) left: Vec<String>,
}

impl Stopped {
    /// Returns whether a person should know more than that it has stopped.
    pub(crate) fn is_notable(&self) -> bool {
        self.forced || !self.left.is_empty()
    }
}

/// Stops the daemon and the guard of `home`, and no other process.
pub(crate) fn stop(home: &Home) -> Result<Stopped, Fail> {
    let mut stopped = Stopped::default();
    let mut port = None;
    for _ in 0..ROUNDS_MAX {
        let (guard, daemon) = (holder(&home.guard_lock())?, daemon(home)?);
        stopped.pid = stopped.pid.or(daemon.as_ref().map(|it| it.process.pid));
        port = port.or(daemon.as_ref().and_then(|it| it.port));
        // The guard first: it must not start again what is being stopped.
        let all: Vec<Process> = guard.iter().chain(&daemon).map(|it| it.process).collect();
        if all.is_empty() {
            break;
        }
        stopped.forced |= end(home, all)?;
    }
    stopped.left = left(home, port);
    Ok(stopped)
}

/// Returns the daemon of `home`. What else works there is left alone, and told.
fn daemon(home: &Home) -> Result<Option<Holder>, Fail> {
    let holder = holder(&home.lock())?;
    match holder.as_ref().map(|holder| (holder.role, holder.process.pid)) {
        Some((Role::Command, pid)) => {
            let what = format!("process {pid} works on the store of {}", home.root().display());
            Err(Fail::failed(what).hint("no daemon runs meanwhile; wait until it is done"))
        }
        Some((Role::Daemon | Role::Guard, _)) | None => Ok(holder),
    }
}

fn holder(path: &Path) -> Result<Option<Holder>, Fail> {
    lock::holder(path).map_err(|error| Fail::failed(format!("{}: {error}", path.display())))
}

/// Ends `processes`, gently if they let it. Returns whether force was needed.
fn end(home: &Home, mut processes: Vec<Process>) -> Result<bool, Fail> {
    let asked = wait(async {
        let client = place::client(home).patient(HEARD_WITHIN);
        Ok(client.stop().await.is_ok())
    })?;
    if asked {
        wait_end(&mut processes);
    }
    for signal in [Signal::TERM, Signal::KILL] {
        if processes.is_empty() {
            return Ok(false);
        }
        for process in &processes {
            // If it has ended meanwhile, so much the better.
            let _ = process.signal(signal);
        }
        wait_end(&mut processes);
    }
    if processes.is_empty() {
        return Ok(true);
    }
    let pids: Vec<String> = processes.iter().map(|process| process.pid.to_string()).collect();
    Err(Fail::failed(format!("these processes do not end, not even by force: {}", pids.join(", ")))
        .hint("they hang in the kernel, most likely on a disk that does not answer"))
}

/// Waits for all of `processes` to end, and leaves those that did not.
fn wait_end(processes: &mut Vec<Process>) {
    let begun = Instant::now();
    processes.retain(|process| !process.wait_end(PATIENCE.saturating_sub(begun.elapsed())));
}

/// Returns what is still there that should be gone.
fn left(home: &Home, port: Option<u16>) -> Vec<String> {
    let mut left = Vec::new();
    // A daemon that was killed leaves its socket. Under the lock it can be nobody else's.
    if home.socket().exists()
        && let Ok(_lock) = Lock::take(&home.lock())
        && let Err(error) = std::fs::remove_file(home.socket())
    {
        left.push(format!("the socket {}: {error}", home.socket().display()));
    }
    let settings = config::load(&home.config(), |name| std::env::var(name).ok());
    let settings = settings.unwrap_or_else(|_| Settings::default());
    let port = port.unwrap_or(settings.port);
    if let Some(holder) = port_holder(SocketAddr::new(settings.host, port)) {
        let PortHolder { name, pid } = holder;
        left.push(format!(
            "port {port} is held by {name} (process {pid}), which is not of this home"
        ));
    }
    left
}

/// Returns what came of it in words.
pub(crate) fn tell(stopped: &Stopped) -> String {
    let mut text = match (stopped.pid, stopped.forced) {
        (None, false) => "no daemon was running".to_owned(),
        (None, true) => "the guard was ended by force".to_owned(),
        (Some(pid), false) => format!("the daemon (process {pid}) has stopped"),
        (Some(pid), true) => {
            format!("the daemon (process {pid}) did not stop when asked and was ended by force")
        }
    };
    for it in &stopped.left {
        text += &format!("\nstill there: {}", clean(it));
    }
    text
}
