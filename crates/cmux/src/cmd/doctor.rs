//! `cmux doctor`: everything that cmux depends on.

use std::env;
use std::ffi::OsStr;
use std::io::ErrorKind;
use std::net::{SocketAddr, TcpListener};
use std::process::ExitCode;
use std::thread;

use cmux_core::doctor::{DaemonState, Facts, Finding, Level, PortState, TmuxState, judge};
use cmux_core::settings::Settings;
use cmux_core::time::Timestamp;
use cmux_daemon::boot;
use cmux_drivers::home::Home;
use cmux_drivers::kinds::{Found, Kinds};
use cmux_drivers::lock::{self, Role};
use cmux_drivers::process::port_holder;
use cmux_drivers::tmux::{TmuxError, version};
use cmux_drivers::{clock, disk, tools};
use cmux_wire::client::EventQuery;
use serde::Serialize;

use crate::cli::{Common, wait};
use crate::fail::Fail;
use crate::place;
use crate::say::{Say, Tone, plain, toned};

/// The kind that is on every machine, and no agent CLI.
const SHELL: &str = "shell";

#[derive(Debug, Serialize)]
struct Report {
    ok: bool,
    checks: Vec<Check>,
}

#[derive(Debug, Serialize)]
struct Check {
    name: &'static str,
    /// `ok`, `warning` or `bad`.
    status: &'static str,
    detail: String,
    remedy: Option<String>,
}

pub(crate) fn run(common: &Common, say: Say) -> Result<ExitCode, Fail> {
    let home = place::home(common.home.as_deref())?;
    let findings = judge(&look(&home));
    let ok = findings.iter().all(|finding| finding.level != Level::Bad);
    let report = Report { ok, checks: findings.iter().map(check).collect() };
    say.show(&report, |_| tell(&findings, say))?;
    Ok(if ok { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn look(home: &Home) -> Facts {
    let settings = place::settings(home);
    let config_error = settings.as_ref().err().map(|fail| fail.what.clone());
    let settings = settings.unwrap_or_default();
    let config_error =
        config_error.or(boot::may_open(home, &settings).err().map(|it| it.to_string()));
    let is_there = home.root().exists();
    let tools = Tools::look(&Kinds::load(&home.agents(), &settings.kinds));
    let mut facts = Facts {
        tmux: tools.tmux,
        git: tools.git,
        agents: tools.agents,
        home: home.root().display().to_string(),
        file_system: home.root().ancestors().find(|it| it.exists()).and_then(disk::kind),
        free_bytes: is_there.then(|| disk::free_bytes(home.root()).ok()).flatten(),
        home_error: home.inspect().err().map(|it| it.to_string()),
        port: settings.port,
        port_state: port(home, &settings),
        config_error,
        version: env!("CARGO_PKG_VERSION").to_owned(),
        program: env::current_exe().map_or_else(|_| String::new(), |it| it.display().to_string()),
        on_path: on_path("cmux"),
        wall: clock::wall(),
        ..Facts::default()
    };
    ask_daemon(home, &mut facts);
    facts
}

/// The programs that cmux works with.
struct Tools {
    tmux: TmuxState,
    git: Option<String>,
    /// The kinds of agents that are programs of their own, each with what it says of its version.
    agents: Vec<(String, Option<String>)>,
}

impl Tools {
    /// Asks all of them at once: some take a second to say their version.
    fn look(kinds: &Kinds) -> Tools {
        let path = env::var_os("PATH").unwrap_or_default();
        thread::scope(|scope| {
            let tmux = scope.spawn(|| tmux(&path));
            let git = scope.spawn(|| version_of("git", "--version"));
            let found = kinds.look(&path);
            let is_agent = |found: &&Found| {
                let known = kinds.get(&found.kind).map(|known| &known.manifest.find);
                found.kind.as_str() != SHELL && known.is_some_and(|find| find.program.is_some())
            };
            let agents = found.iter().filter(is_agent);
            let agents = agents.map(|found| (found.kind.to_string(), said(found)));
            Tools {
                agents: agents.collect(),
                // One that cannot be asked has not been found.
                tmux: tmux.join().unwrap_or_default(),
                git: git.join().unwrap_or(None),
            }
        })
    }
}

fn tmux(path: &OsStr) -> TmuxState {
    match version::find(path) {
        Ok(found) => TmuxState::Found { version: found.version.to_string() },
        Err(TmuxError::TooOld { found }) => TmuxState::TooOld { found },
        Err(TmuxError::Garbled(said)) => TmuxState::Garbled { said },
        Err(
            TmuxError::Absent
            | TmuxError::NoServer
            | TmuxError::NoPane(_)
            | TmuxError::Refused(_)
            | TmuxError::Gone
            | TmuxError::Late
            | TmuxError::Unusable { .. }
            | TmuxError::Text(_),
        ) => TmuxState::Absent,
    }
}

/// Returns what a program says of its version, if it is there.
fn said(found: &Found) -> Option<String> {
    let program = found.program.as_ref()?;
    let said = found.version.clone();
    Some(said.unwrap_or_else(|| format!("{}, version unknown", program.display())))
}

/// Adds what the daemon has to say, if there is one.
fn ask_daemon(home: &Home, facts: &mut Facts) {
    let client = place::glance(home);
    let newest = EventQuery { limit: Some(1), ..EventQuery::default() };
    let asked = wait(async {
        let status = client.status().await?;
        Ok((status, client.events(&newest).await?))
    });
    let holder = lock::holder(&home.lock()).ok().flatten();
    match (asked, holder.filter(|holder| holder.role == Role::Daemon)) {
        (Ok((status, events)), _) => {
            facts.daemon = DaemonState::On {
                version: status.daemon.version,
                guarded: status.daemon.guard_pid.is_some(),
                safe_mode: status.daemon.safe_mode,
            };
            facts.newest_event = events.events.last().map(|event| Timestamp(event.at.millis()));
            facts.store_trouble.extend(status.store.why);
            facts.store_trouble.extend(status.store.notices.into_iter().map(|it| it.text));
        }
        (Err(_), Some(holder)) => facts.daemon = DaemonState::Silent { pid: holder.process.pid },
        (Err(_), None) => facts.daemon = DaemonState::Off,
    }
}

fn port(home: &Home, settings: &Settings) -> PortState {
    let address = SocketAddr::new(settings.host, settings.port);
    let ours = lock::holder(&home.lock()).ok().flatten().map(|it| it.process.pid);
    match port_holder(address) {
        Some(holder) if ours == Some(holder.pid) => PortState::Ours,
        Some(holder) => {
            PortState::Taken { by: format!("{} (process {})", holder.name, holder.pid) }
        }
        // Whose it is cannot be seen if it is another user's; that it is taken can.
        None if is_taken(address) => PortState::Taken { by: "another user's process".to_owned() },
        None => PortState::Free,
    }
}

fn is_taken(address: SocketAddr) -> bool {
    TcpListener::bind(address).is_err_and(|error| error.kind() == ErrorKind::AddrInUse)
}

fn version_of(name: &str, argument: &str) -> Option<String> {
    let path = env::var_os("PATH")?;
    let program = tools::find_all(name, &path).into_iter().next()?;
    let said = tools::version(&program, argument);
    Some(said.unwrap_or_else(|| format!("{}, version unknown", program.display())))
}

fn on_path(name: &str) -> Vec<String> {
    let Some(path) = env::var_os("PATH") else { return Vec::new() };
    let found = tools::find_all(name, &path);
    // A link to this program is this program.
    found.into_iter().map(|it| it.canonicalize().unwrap_or(it).display().to_string()).collect()
}

fn check(finding: &Finding) -> Check {
    let status = match finding.level {
        Level::Good => "ok",
        Level::Warning => "warning",
        Level::Bad => "bad",
    };
    let (detail, remedy) = (finding.detail.clone(), finding.remedy.clone());
    Check { name: finding.name, status, detail, remedy }
}

fn tell(findings: &[Finding], say: Say) -> String {
    let mut rows = Vec::new();
    for finding in findings {
        let mark = match finding.level {
            Level::Good => toned("ok", Tone::Good),
            Level::Warning => toned("!", Tone::Warning),
            Level::Bad => toned("✗", Tone::Bad),
        };
        rows.push(vec![mark, toned(finding.name, Tone::Strong), plain(&finding.detail)]);
        if let Some(remedy) = &finding.remedy {
            rows.push(vec![plain(""), plain(""), toned(format!("→ {remedy}"), Tone::Faint)]);
        }
    }
    say.table(&rows)
}
