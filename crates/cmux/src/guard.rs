//! The guard: the daemon's tiny parent, which starts it again when it ends and never dies with it.
//!
//! It has no database and serves nothing. What it does next is decided in [`cmux_core::guard`].

use std::fs::{self, File, OpenOptions};
use std::io::{BufRead, BufReader, PipeReader, Write};
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::process::{Command, ExitCode, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use clap::Args;
use cmux_core::guard::{Exit, GuardSettings, Mode, Verdict, Watch};
use cmux_drivers::clock;
use cmux_drivers::home::Home;
use cmux_drivers::lock::{Holder, Lock, LockError, Role};
use cmux_drivers::process::Process;
use cmux_wire::time::Time;
use rustix::process::Signal;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use crate::cli::Common;
use crate::place;
use crate::say::aside;

/// What the guard says on standard output when the daemon is ready for the first time.
pub(crate) const READY: &str = "ready";

/// In how many slices a beat is waited for.
const SLICES: u32 = 10;

/// The exit code that tells that another guard is there.
pub(crate) const ALREADY_GUARDED: u8 = 64;

/// How long the daemon may take to stop when the guard is told to.
const STOP_WITHIN: Duration = Duration::from_secs(10);

/// The longest log that is written on, in bytes.
const LOG_MAX: u64 = 10 << 20;

/// The guard's own settings, as flags, so that it reads no file.
#[derive(Debug, Args)]
pub(crate) struct Guard {
    #[arg(long)]
    exits_max: u32,
    #[arg(long)]
    window_s: u64,
    #[arg(long)]
    delay_first_ms: u64,
    #[arg(long)]
    delay_max_s: u64,
    #[arg(long)]
    heartbeat_s: u64,
}

/// Returns the arguments that start a guard with `settings`.
pub(crate) fn arguments(settings: &GuardSettings) -> Vec<String> {
    vec![
        "guard".to_owned(),
        format!("--exits-max={}", settings.exits_max),
        format!("--window-s={}", settings.window.as_secs()),
        format!("--delay-first-ms={}", settings.delay_first.as_millis()),
        format!("--delay-max-s={}", settings.delay_max.as_secs()),
        format!("--heartbeat-s={}", settings.heartbeat.as_secs()),
    ]
}

/// Something that the guard hears, of the daemon's `life`th life.
enum News {
    Beat {
        life: u32,
        ready: bool,
    },
    Ended {
        life: u32,
        status: Option<ExitStatus>,
    },
    /// The guard is told to end.
    Told,
}

/// What ended a daemon's life.
enum Death {
    Exited(Option<ExitStatus>),
    /// It was silent for too long.
    Hung,
    /// The guard was told to end, and ended the daemon first.
    Told,
}

impl Guard {
    pub(crate) fn run(self, common: &Common) -> ExitCode {
        let Ok(home) = place::home(common.home.as_deref()) else { return ExitCode::FAILURE };
        // A session of its own, so that closing a terminal does not end it. It fails only for whoever
        // has one already.
        let _ = rustix::process::setsid();
        let mut lock = match Lock::take(&home.guard_lock()) {
            Ok(lock) => lock,
            Err(LockError::Held { .. }) => return ExitCode::from(ALREADY_GUARDED),
            Err(LockError::File(error)) => {
                note(&format!("{}: {error}", home.guard_lock().display()));
                return ExitCode::from(Exit::ENVIRONMENT);
            }
        };
        let me = Holder {
            role: Role::Guard,
            process: Process::myself(),
            since: clock::wall(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            port: None,
        };
        if let Err(error) = lock.note(&me) {
            note(&format!("{}: {error}", home.guard_lock().display()));
        }
        let settings = GuardSettings {
            exits_max: self.exits_max,
            window: Duration::from_secs(self.window_s),
            delay_first: Duration::from_millis(self.delay_first_ms),
            delay_max: Duration::from_secs(self.delay_max_s),
            heartbeat: Duration::from_secs(self.heartbeat_s),
        };
        let Ok(program) = std::env::current_exe() else { return ExitCode::FAILURE };
        let (sender, news) = channel();
        listen_for_signals(sender.clone());
        Keeper { home, program, settings, sender, news, life: 0, said_ready: false }.keep()
    }
}

struct Keeper {
    home: Home,
    program: PathBuf,
    settings: GuardSettings,
    sender: Sender<News>,
    news: Receiver<News>,
    life: u32,
    said_ready: bool,
}

impl Keeper {
    /// Starts the daemon again and again, as the rules have it.
    fn keep(mut self) -> ExitCode {
        let begun = Instant::now();
        let mut watch = Watch::new(self.settings);
        let mut reason = String::new();
        loop {
            let death = match self.start(watch.mode(), &reason) {
                Ok(daemon) => self.attend(&daemon, &mut watch, begun),
                Err(error) => {
                    note(&format!("the daemon could not be started: {error}"));
                    Death::Exited(None)
                }
            };
            let (exit, code) = match &death {
                Death::Told => return ExitCode::SUCCESS,
                Death::Exited(status) => {
                    let code = status.and_then(|status| status.code());
                    (Exit::of(code), code.and_then(|code| u8::try_from(code).ok()).unwrap_or(1))
                }
                Death::Hung => (Exit::Crash, 1),
            };
            reason = told(&death);
            match watch.after(exit, begun.elapsed(), chance()) {
                Verdict::End => {
                    note(&format!("the daemon ended ({reason}) and is not started again"));
                    return ExitCode::from(code);
                }
                Verdict::Restart { after, mode } => {
                    let mode = match mode {
                        Mode::Normal => "",
                        Mode::Safe => " in safe mode",
                    };
                    note(&format!(
                        "the daemon ended ({reason}); next start{mode} in {} ms",
                        after.as_millis()
                    ));
                    if self.is_told_within(after) {
                        return ExitCode::SUCCESS;
                    }
                }
            }
        }
    }

    /// Starts the daemon once.
    fn start(&mut self, mode: Mode, reason: &str) -> std::io::Result<Process> {
        self.life += 1;
        let (reader, writer) = std::io::pipe()?;
        let mut command = Command::new(&self.program);
        command.arg("--home").arg(self.home.root()).args(["daemon", "run", "--guarded"]);
        command.arg(self.settings.heartbeat.as_secs().to_string());
        match mode {
            Mode::Normal => {}
            Mode::Safe => {
                let window = self.settings.window.as_secs();
                let why = format!(
                    "it ended {} times in {window} s, last: {reason}",
                    self.settings.exits_max
                );
                command.arg("--safe-mode").arg(why);
            }
        }
        let mut child = command.stdin(Stdio::null()).stdout(writer).stderr(self.log()).spawn()?;
        // The writing end must be the daemon's alone, for its end to be seen.
        drop(command);
        let process = Process::find(child.id()).unwrap_or(Process { pid: child.id(), start: 0 });
        let (life, sender) = (self.life, self.sender.clone());
        thread::spawn(move || hear_beats(life, reader, &sender));
        let sender = self.sender.clone();
        thread::spawn(move || {
            let status = child.wait().ok();
            let _ = sender.send(News::Ended { life, status });
        });
        Ok(process)
    }

    /// Watches over a daemon until it ends or must be ended.
    fn attend(&mut self, daemon: &Process, watch: &mut Watch, begun: Instant) -> Death {
        loop {
            match self.hear(self.settings.heartbeat) {
                Some(News::Beat { life, ready }) if life == self.life => {
                    if ready {
                        watch.ready(begun.elapsed());
                        self.say_ready();
                    }
                    self.trim_log();
                }
                Some(News::Ended { life, status }) if life == self.life => {
                    return Death::Exited(status);
                }
                Some(News::Beat { .. } | News::Ended { .. }) => {}
                Some(News::Told) => {
                    self.end(daemon, &[Signal::TERM, Signal::KILL]);
                    return Death::Told;
                }
                None => {
                    self.end(daemon, &[Signal::KILL]);
                    return Death::Hung;
                }
            }
        }
    }

    /// Returns the next news, or nothing if there are none for so long.
    fn hear(&self, patience: Duration) -> Option<News> {
        // Time that passes while the whole machine, or only the guard, is suspended proves nothing. So the
        // wait is in slices, each of which counts for no more than itself however long it took.
        let slice = || match self.news.recv_timeout(patience / SLICES) {
            Ok(news) => ControlFlow::Break(news),
            Err(_) => ControlFlow::Continue(()),
        };
        (0..SLICES).try_for_each(|_| slice()).break_value()
    }

    /// Ends the daemon with one signal after another.
    fn end(&self, daemon: &Process, signals: &[Signal]) {
        for signal in signals {
            let _ = daemon.signal(*signal);
            if daemon.wait_end(STOP_WITHIN) {
                return;
            }
        }
        note(&format!("process {} does not end", daemon.pid));
    }

    /// Waits, and returns whether the guard was told to end meanwhile.
    fn is_told_within(&self, wait: Duration) -> bool {
        let begun = Instant::now();
        while let Some(rest) = wait.checked_sub(begun.elapsed()) {
            match self.news.recv_timeout(rest) {
                Ok(News::Told) => return true,
                Ok(News::Beat { .. } | News::Ended { .. }) => {}
                Err(_) => return false,
            }
        }
        false
    }

    /// Tells whoever started the guard, once.
    fn say_ready(&mut self) {
        if !self.said_ready {
            self.said_ready = true;
            // It may not have waited.
            let _ = writeln!(std::io::stdout(), "{READY}");
        }
    }

    /// Opens the log for the daemon. Without it, it says nothing.
    fn log(&self) -> Stdio {
        let log = OpenOptions::new().append(true).create(true).open(self.home.log_file());
        log.map_or_else(|_| Stdio::null(), Stdio::from)
    }

    /// Keeps the log from growing without end. It is written to by appending, so it can be emptied.
    fn trim_log(&self) {
        let path = self.home.log_file();
        if fs::metadata(&path).is_ok_and(|log| log.len() > LOG_MAX)
            && fs::copy(&path, path.with_extension("log.1")).is_ok()
            && let Ok(log) = File::options().write(true).open(&path)
        {
            let _ = log.set_len(0);
        }
    }
}

/// Passes on the daemon's signs of life.
fn hear_beats(life: u32, reader: PipeReader, sender: &Sender<News>) {
    for line in BufReader::new(reader).lines().map_while(Result::ok) {
        let _ = sender.send(News::Beat { life, ready: line == READY });
    }
}

fn listen_for_signals(sender: Sender<News>) {
    match Signals::new([SIGTERM, SIGINT, SIGHUP]) {
        Ok(mut signals) => {
            thread::spawn(move || {
                for signal in &mut signals {
                    if signal != SIGHUP {
                        let _ = sender.send(News::Told);
                    }
                }
            });
        }
        Err(error) => note(&format!("signals cannot be heard: {error}")),
    }
}

fn told(death: &Death) -> String {
    match death {
        Death::Exited(Some(status)) => status.to_string(),
        Death::Exited(None) => "it could not be started".to_owned(),
        Death::Hung => "no sign of life, killed".to_owned(),
        Death::Told => "told to end".to_owned(),
    }
}

/// Returns a number between 0 and 1 that nobody can foresee.
fn chance() -> f64 {
    let number = getrandom::u32().unwrap_or(u32::MAX / 2);
    f64::from(number) / f64::from(u32::MAX)
}

/// Adds a line to the log, which is standard error. A full disk does not end the guard.
fn note(text: &str) {
    aside(&format!("{} guard: {text}", Time::from_millis(clock::wall().0)));
}
