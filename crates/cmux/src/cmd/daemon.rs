//! `cmux daemon`: the daemon by itself.

use std::env;
use std::io::IsTerminal;
use std::time::Duration;

use clap::{Args, Subcommand};
use cmux_daemon::boot::{self, Life};
use cmux_drivers::home::Home;
use cmux_drivers::lock::{self, Role};
use cmux_wire::client::ClientError;
use cmux_wire::daemon::DaemonStatus;
use cmux_wire::time::Time;
use tracing_subscriber::EnvFilter;

use crate::cli::{Common, wait};
use crate::cmd::{start, stop};
use crate::fail::{Code, Fail};
use crate::place;
use crate::say::{Say, aside, clean};

#[derive(Debug, Subcommand)]
pub(crate) enum Daemon {
    /// Run in the foreground, log to stderr, without a guard
    #[command(
        after_help = "Exits 78 for a wrong configuration and 75 for surroundings at fault (port, \
                            disk, permissions, another daemon), so that a supervisor can tell."
    )]
    Run(Run),
    /// Start in the background, kept alive by a guard; returns when it is ready
    #[command(after_help = "Safe to repeat: a daemon that runs already is only shown.")]
    Start,
    /// Stop: ask, wait, insist
    #[command(
        after_help = "What could not be cleared away, such as a port that somebody else has \
                            taken, is told. If none runs, that is fine too."
    )]
    Stop,
    /// Stop and start
    #[command(after_help = "Brings back a guard that is gone, and leaves safe mode.")]
    Restart,
    /// Tell whether it runs
    #[command(
        after_help = "Exits 3 if none runs.\n\nExample:\n  cmux daemon status --json | jq .pid"
    )]
    Status,
}

#[derive(Debug, Args)]
pub(crate) struct Run {
    /// A guard listens on standard output, and expects a sign of life at least so often
    #[arg(long, hide = true, value_name = "SECONDS")]
    guarded: Option<u64>,
    /// Read only, for this reason
    #[arg(long, hide = true, value_name = "REASON")]
    safe_mode: Option<String>,
}

impl Daemon {
    pub(crate) fn run(self, common: &Common, say: Say) -> Result<(), Fail> {
        let home = place::home(common.home.as_deref())?;
        match self {
            Daemon::Run(run) => {
                place::require_person("run a daemon")?;
                run.run(home)
            }
            Daemon::Start => {
                place::require_person("start a daemon")?;
                show(&start::start(&home)?, say)
            }
            Daemon::Stop => {
                place::require_person("stop the daemon")?;
                say.show(&stop::stop(&home)?, stop::tell)
            }
            Daemon::Restart => {
                place::require_person("restart the daemon")?;
                restart(&home, say)
            }
            Daemon::Status => show(&status(&home)?, say),
        }
    }
}

fn restart(home: &Home, say: Say) -> Result<(), Fail> {
    // What cannot be started again is not stopped.
    let settings = place::settings(home)?;
    boot::may_open(home, &settings).map_err(|failure| Fail::failed(failure.to_string()))?;
    let stopped = stop::stop(home)?;
    if stopped.is_notable() {
        aside(&stop::tell(&stopped));
    }
    show(&start::start(home)?, say)
}

impl Run {
    fn run(self, home: Home) -> Result<(), Fail> {
        let mut settings =
            place::settings(&home).map_err(|fail| Fail { code: Code::Config, ..fail })?;
        log(&settings.log)?;
        let Run { guarded, safe_mode } = self;
        if let Some(silence_max_s) = guarded {
            // The guard has its own, from before the file was last changed.
            settings.guard.heartbeat = Duration::from_secs(silence_max_s);
        }
        let version = env!("CARGO_PKG_VERSION").to_owned();
        let guarded = guarded.is_some();
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
        // A line that cannot be written would otherwise be a panic, where a full disk only costs the line.
        .log_internal_errors(false)
        .try_init()
        .map_err(|error| Fail::failed(error.to_string()))
}

/// Returns how the daemon of `home` is, by its own word or by its lock.
fn status(home: &Home) -> Result<DaemonStatus, Fail> {
    let holder = lock::holder(&home.lock()).ok().flatten();
    let holder = holder.filter(|holder| holder.role == Role::Daemon);
    let guard = lock::holder(&home.guard_lock()).ok().flatten();
    let answer = wait(async { Ok(place::glance(home).daemon().await) })?;
    match answer {
        Ok(status) => Ok(status),
        Err(
            ClientError::NoDaemon
            | ClientError::Unreachable(_)
            | ClientError::Broken(_)
            | ClientError::TimedOut(_),
        ) => Ok(DaemonStatus {
            running: holder.is_some(),
            starting: false,
            address: None,
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
        }),
        Err(error @ (ClientError::Refused(_) | ClientError::Nonsense(_))) => Err(error.into()),
    }
}

/// Says how the daemon is. That none runs is told by the exit code too.
fn show(status: &DaemonStatus, say: Say) -> Result<(), Fail> {
    if status.running {
        return say.show(status, tell);
    }
    if say.json {
        say.json(status)?;
    }
    let what = match status.guard_pid {
        None => format!("no daemon is running in {}", status.home),
        Some(guard) => {
            format!("no daemon is running in {}; its guard {guard} is to start it", status.home)
        }
    };
    let hint = match status.guard_pid {
        None => "`cmux up` starts one for the project here, `cmux daemon start` one by itself",
        Some(_) => "the log says what it waits for; `cmux daemon restart` tries at once",
    };
    Err(Fail::new(Code::NoDaemon, what).hint(hint))
}

fn tell(status: &DaemonStatus) -> String {
    let pid = status.pid.map_or_else(String::new, |pid| format!(" process {pid}"));
    let state = match (&status.safe_mode, status.ready) {
        (Some(why), _) => format!("in safe mode ({why})"),
        (None, true) => "ready".to_owned(),
        (None, false) if status.starting => "starting".to_owned(),
        (None, false) => "running, but not ready".to_owned(),
    };
    let port = status.port.map_or_else(String::new, |port| format!(", port {port}"));
    let guard = status
        .guard_pid
        .map_or_else(|| ", no guard".to_owned(), |guard| format!(", guard {guard}"));
    format!("daemon {state}:{pid}{guard}{port}, home {}", clean(&status.home))
}
