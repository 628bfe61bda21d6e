//! `cmux daemon`: the daemon by itself.

use std::env;
use std::io::IsTerminal;

use clap::{Args, Subcommand};
use cmux_daemon::boot::{self, Life};
use cmux_drivers::home::Home;
use cmux_drivers::lock;
use cmux_wire::client::ClientError;
use cmux_wire::daemon::DaemonStatus;
use cmux_wire::time::Time;
use tracing_subscriber::EnvFilter;

use crate::cli::{Common, wait};
use crate::cmd::{start, stop};
use crate::fail::{Code, Fail};
use crate::place;
use crate::say::Say;

#[derive(Debug, Subcommand)]
pub(crate) enum Daemon {
    /// Run in the foreground, log to stderr, without a guard
    #[command(
        after_help = "Exits 78 for a wrong configuration and 75 for surroundings at fault (port, \
                            disk, permissions, another daemon), so that a supervisor can tell."
    )]
    Run(Run),
    /// Start in the background, kept alive by a guard; returns when it is ready
    Start,
    /// Stop: ask, wait, insist
    Stop,
    /// Stop and start
    Restart,
    /// Tell whether it runs
    Status,
}

#[derive(Debug, Args)]
pub(crate) struct Run {
    /// A guard listens on standard output
    #[arg(long, hide = true)]
    guarded: bool,
    /// Read only, for this reason
    #[arg(long, hide = true, value_name = "REASON")]
    safe_mode: Option<String>,
}

impl Daemon {
    pub(crate) fn run(self, common: &Common, say: Say) -> Result<(), Fail> {
        let home = place::home(common.home.as_deref())?;
        match self {
            Daemon::Run(run) => run.run(home),
            Daemon::Start => show(&start::start(&home)?, say),
            Daemon::Stop => say.show(&stop::stop(&home)?, stop::tell),
            Daemon::Restart => {
                stop::stop(&home)?;
                show(&start::start(&home)?, say)
            }
            Daemon::Status => show(&status(&home)?, say),
        }
    }
}

impl Run {
    fn run(self, home: Home) -> Result<(), Fail> {
        let settings =
            place::settings(&home).map_err(|fail| Fail { code: Code::Config, ..fail })?;
        log(&settings.log)?;
        let version = env!("CARGO_PKG_VERSION").to_owned();
        let Run { guarded, safe_mode } = self;
        Ok(boot::run(Life { home, settings, version, guarded, safe_mode })?)
    }
}

/// Sends what is worth telling to standard error.
fn log(filter: &str) -> Result<(), Fail> {
    let filter = EnvFilter::try_new(filter).map_err(|error| {
        Fail::new(Code::Config, format!("`log` (or CMUX_LOG) is {filter:?}: {error}"))
            .hint("for instance: info, debug, or cmux_daemon=debug")
    })?;
    let is_terminal = std::io::stderr().is_terminal();
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_ansi(is_terminal && env::var_os("NO_COLOR").is_none())
        .with_writer(std::io::stderr)
        .with_target(false)
        .try_init()
        .map_err(|error| Fail::failed(error.to_string()))
}

/// Returns how the daemon of `home` is, by its own word or by its lock.
fn status(home: &Home) -> Result<DaemonStatus, Fail> {
    let holder = lock::holder(&home.lock()).ok().flatten();
    let guard = lock::holder(&home.guard_lock()).ok().flatten();
    let answer = wait(async { Ok(place::client(home).daemon().await) })?;
    match answer {
        Ok(status) => Ok(status),
        Err(ClientError::NoDaemon | ClientError::Broken(_) | ClientError::TimedOut(_)) => {
            Ok(DaemonStatus {
                running: holder.is_some(),
                ready: false,
                pid: holder.as_ref().map(|holder| holder.process.pid),
                guard_pid: guard.map(|guard| guard.process.pid),
                version: holder.as_ref().map_or_else(
                    || env!("CARGO_PKG_VERSION").to_owned(),
                    |holder| holder.version.clone(),
                ),
                port: holder.as_ref().and_then(|holder| holder.port),
                home: home.root().display().to_string(),
                started_at: holder.map(|holder| Time::from_millis(holder.since.0)),
                safe_mode: None,
            })
        }
        Err(error @ (ClientError::Refused(_) | ClientError::Nonsense(_))) => Err(error.into()),
    }
}

/// Says how the daemon is. That none runs is told by the exit code too.
fn show(status: &DaemonStatus, say: Say) -> Result<(), Fail> {
    say.show(status, tell)?;
    if status.running {
        Ok(())
    } else {
        Err(Fail::new(Code::NoDaemon, "no daemon is running")
            .hint("`cmux up` or `cmux daemon start` starts one"))
    }
}

fn tell(status: &DaemonStatus) -> String {
    let Some(pid) = status.pid else { return format!("home {}", status.home) };
    let state = match (&status.safe_mode, status.ready) {
        (Some(why), _) => format!("in safe mode ({why})"),
        (None, true) => "ready".to_owned(),
        (None, false) => "running, but not ready".to_owned(),
    };
    let port = status.port.map_or_else(String::new, |port| format!(", port {port}"));
    let guard = status
        .guard_pid
        .map_or_else(|| ", no guard".to_owned(), |guard| format!(", guard {guard}"));
    format!("daemon {state}: process {pid}{guard}{port}, home {}", status.home)
}
