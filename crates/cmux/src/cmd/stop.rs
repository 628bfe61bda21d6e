//! Stops the daemon of a home: asks, waits, insists, and looks whether anything is left.

use std::net::SocketAddr;
use std::time::Duration;

use cmux_core::settings::Settings;
use cmux_drivers::home::Home;
use cmux_drivers::process::{Process, port_holder};
use cmux_drivers::{config, lock};
use rustix::process::Signal;
use serde::Serialize;

use crate::cli::wait;
use crate::fail::Fail;
use crate::place;

/// How long each step may take before the next, harder one.
const PATIENCE: Duration = Duration::from_secs(10);

/// How long the daemon may take to say that it heard.
const HEARD_WITHIN: Duration = Duration::from_secs(2);

/// What came of it.
#[derive(Debug, Serialize)]
pub(crate) struct Stopped {
    /// The daemon's process, if one ran.
    pid: Option<u32>,
    /// Whether it had to be ended by force.
    forced: bool,
    /// What could not be cleared away.
    left: Vec<String>,
}

/// Stops the daemon and the guard of `home`, and no other process.
pub(crate) fn stop(home: &Home) -> Result<Stopped, Fail> {
    let failed =
        |error: std::io::Error| Fail::failed(format!("{}: {error}", home.root().display()));
    let daemon = lock::holder(&home.lock()).map_err(failed)?;
    let guard = lock::holder(&home.guard_lock()).map_err(failed)?;
    let port = daemon.as_ref().and_then(|holder| holder.port);
    // The guard first: it must not start again what is being stopped.
    let all = guard.iter().chain(&daemon).map(|holder| holder.process).collect();
    let forced = end(home, all)?;
    let left = left(home, port);
    Ok(Stopped { pid: daemon.map(|holder| holder.process.pid), forced, left })
}

/// Ends `processes`, gently if they let it. Returns whether force was needed.
fn end(home: &Home, mut processes: Vec<Process>) -> Result<bool, Fail> {
    if processes.is_empty() {
        return Ok(false);
    }
    let asked = wait(async {
        let client = place::client(home).patient(HEARD_WITHIN);
        Ok(client.stop().await.is_ok())
    })?;
    if asked {
        processes.retain(|process| !process.wait_end(PATIENCE));
    }
    for signal in [Signal::TERM, Signal::KILL] {
        for process in &processes {
            // If it has ended meanwhile, so much the better.
            let _ = process.signal(signal);
        }
        processes.retain(|process| !process.wait_end(PATIENCE));
        if processes.is_empty() {
            return Ok(signal == Signal::KILL);
        }
    }
    let pids: Vec<String> = processes.iter().map(|process| process.pid.to_string()).collect();
    Err(Fail::failed(format!("these processes do not end, not even by force: {}", pids.join(", ")))
        .hint("they hang in the kernel, most likely on a disk that does not answer"))
}

/// Returns what is still there that should be gone.
fn left(home: &Home, port: Option<u16>) -> Vec<String> {
    let mut left = Vec::new();
    // A daemon that was killed leaves its socket; nobody listens there any more.
    if let Err(error) = std::fs::remove_file(home.socket())
        && error.kind() != std::io::ErrorKind::NotFound
    {
        left.push(format!("the socket {}: {error}", home.socket().display()));
    }
    let settings = config::load(&home.config(), |name| std::env::var(name).ok());
    let host = settings.unwrap_or_else(|_| Settings::default()).host;
    if let Some(port) = port
        && let Some(holder) = port_holder(SocketAddr::new(host, port))
    {
        left.push(format!("port {port} is held by {} (process {})", holder.name, holder.pid));
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
        text += &format!("\nleft behind: {it}");
    }
    text
}
