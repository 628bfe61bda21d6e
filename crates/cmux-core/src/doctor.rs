//! What a person should know about the machine, and what to do about it.

use crate::disk::refuses;
use crate::time::Timestamp;

/// The room below which a disk is nearly full, in bytes.
const ROOM_MIN: u64 = 1 << 30;

/// How far the log may be ahead of the clock on the wall, in milliseconds.
const AHEAD_MAX_MS: i64 = 60_000;

/// All that was found out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    pub tmux: TmuxState,
    pub git: Option<String>,
    /// The kinds of agents that cmux knows, each with what it says of its version if it is there.
    pub agents: Vec<(String, Option<String>)>,
    pub home: String,
    /// Why the home cannot be used, if that is so.
    pub home_error: Option<String>,
    pub file_system: Option<String>,
    pub free_bytes: Option<u64>,
    pub port: u16,
    pub port_state: PortState,
    pub config_error: Option<String>,
    pub daemon: DaemonState,
    /// The version of this program.
    pub version: String,
    /// Where this program is.
    pub program: String,
    /// The programs called `cmux` on the path, in the order in which they are found.
    pub on_path: Vec<String>,
    pub wall: Timestamp,
    /// When the newest event was written.
    pub newest_event: Option<Timestamp>,
    pub store_trouble: Vec<String>,
}

/// Which tmux there is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum TmuxState {
    #[default]
    Absent,
    TooOld {
        found: String,
    },
    /// It says this when it is asked for its version.
    Garbled {
        said: String,
    },
    Found {
        version: String,
    },
}

/// Who has the port.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum PortState {
    #[default]
    Free,
    /// The daemon of this home.
    Ours,
    Taken {
        by: String,
    },
}

/// How the daemon is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum DaemonState {
    #[default]
    Off,
    /// It lives, but does not answer.
    Silent {
        pid: u32,
    },
    On {
        version: String,
        guarded: bool,
        safe_mode: Option<String>,
    },
}

/// One thing that was looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    pub name: &'static str,
    pub level: Level,
    pub detail: String,
    /// What to do about it.
    pub remedy: Option<String>,
}

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    Good,
    /// cmux works, but a person should know.
    Warning,
    /// cmux does not work, or not for long.
    Bad,
}

impl Finding {
    fn good(name: &'static str, detail: impl Into<String>) -> Finding {
        Finding { name, level: Level::Good, detail: detail.into(), remedy: None }
    }

    fn warning(name: &'static str, detail: impl Into<String>, remedy: &str) -> Finding {
        let remedy = Some(remedy.to_owned());
        Finding { name, level: Level::Warning, detail: detail.into(), remedy }
    }

    fn bad(name: &'static str, detail: impl Into<String>, remedy: &str) -> Finding {
        let remedy = Some(remedy.to_owned());
        Finding { name, level: Level::Bad, detail: detail.into(), remedy }
    }
}

/// Returns what is to be said of `facts`.
pub fn judge(facts: &Facts) -> Vec<Finding> {
    vec![
        tmux(&facts.tmux),
        git(facts.git.as_deref()),
        agents(&facts.agents),
        config(facts.config_error.as_deref()),
        home(facts),
        disk(facts.free_bytes),
        port(facts),
        daemon(facts),
        path(facts),
        clock(facts),
        store(&facts.store_trouble),
    ]
}

fn tmux(state: &TmuxState) -> Finding {
    match state {
        TmuxState::Found { version } => Finding::good("tmux", format!("tmux {version}")),
        TmuxState::Absent => {
            let remedy = "install it with the system's packages, e.g. `apt install tmux`";
            Finding::bad("tmux", "not found", remedy)
        }
        TmuxState::TooOld { found } => {
            let remedy = "upgrade it, from the system's backports or https://github.com/tmux/tmux";
            Finding::bad("tmux", format!("{found} is too old: 3.2 is needed"), remedy)
        }
        TmuxState::Garbled { said } => {
            let remedy = "run `tmux -V` and see what is wrong: the first tmux on PATH may be broken, or \
                          another program";
            Finding::bad("tmux", format!("it cannot tell its version, but says `{said}`"), remedy)
        }
    }
}

fn git(found: Option<&str>) -> Finding {
    match found {
        Some(said) => Finding::good("git", said),
        None => {
            let remedy = "install it with the system's packages, e.g. `apt install git`";
            Finding::bad("git", "not found", remedy)
        }
    }
}

fn agents(kinds: &[(String, Option<String>)]) -> Finding {
    let found: Vec<String> = kinds
        .iter()
        .filter_map(|(kind, said)| said.as_ref().map(|said| format!("{kind} ({said})")))
        .collect();
    if found.is_empty() {
        let known: Vec<&str> = kinds.iter().map(|(kind, _)| kind.as_str()).collect();
        let remedy =
            "install one of them and log in to it once by hand: `cmux agent kinds` tells how";
        return Finding::warning("agents", format!("none of {} found", known.join(", ")), remedy);
    }
    Finding::good("agents", found.join(", "))
}

fn config(error: Option<&str>) -> Finding {
    match error {
        None => Finding::good("configuration", "in order"),
        Some(error) => Finding::bad("configuration", error, "mend the line that is named"),
    }
}

fn home(facts: &Facts) -> Finding {
    let remedy = "choose another folder on a local disk with CMUX_HOME";
    if let Some(error) = &facts.home_error {
        return Finding::bad("home", error, remedy);
    }
    match facts.file_system.as_deref() {
        Some(kind) => match refuses(kind) {
            Some(why) => Finding::bad("home", why, remedy),
            None => Finding::good("home", format!("{} on {kind}", facts.home)),
        },
        None => Finding::good("home", facts.home.clone()),
    }
}

fn disk(free_bytes: Option<u64>) -> Finding {
    match free_bytes {
        Some(free) if free < ROOM_MIN => {
            let detail = format!("{} MB left", free / 1_000_000);
            Finding::warning("disk", detail, "make room: cmux stops taking messages at 0")
        }
        Some(free) => Finding::good("disk", format!("{} GB left", free / 1_000_000_000)),
        None => Finding::good("disk", "not looked at: there is no home yet"),
    }
}

fn port(facts: &Facts) -> Finding {
    let port = facts.port;
    match &facts.port_state {
        PortState::Free if port == 0 => Finding::good("port", "left to the system"),
        PortState::Free => Finding::good("port", format!("{port} is free")),
        PortState::Ours => Finding::good("port", format!("{port}, held by the daemon")),
        PortState::Taken { by } => {
            let remedy =
                "choose another with CMUX_PORT or `port` in config.toml, or end that process";
            Finding::bad("port", format!("{port} is taken by {by}"), remedy)
        }
    }
}

fn daemon(facts: &Facts) -> Finding {
    match &facts.daemon {
        DaemonState::Off => Finding::good("daemon", "not running; `cmux up` starts it"),
        DaemonState::Silent { pid } => {
            let detail = format!("process {pid} lives but does not answer");
            Finding::bad("daemon", detail, "`cmux daemon restart`")
        }
        DaemonState::On { safe_mode: Some(why), .. } => {
            let detail = format!("in safe mode, read-only: {why}");
            Finding::bad("daemon", detail, "look into its log, then `cmux daemon restart`")
        }
        DaemonState::On { version, .. } if *version != facts.version => {
            let detail = format!("version {version}, but this is {}", facts.version);
            Finding::warning("daemon", detail, "`cmux daemon restart` to run this one")
        }
        DaemonState::On { guarded: false, .. } => {
            let detail = "running without a guard: nobody starts it again if it ends";
            Finding::warning(
                "daemon",
                detail,
                "`cmux daemon restart`, or leave it to your own supervisor",
            )
        }
        DaemonState::On { version, .. } => {
            Finding::good("daemon", format!("running, version {version}"))
        }
    }
}

/// Others have called their programs `cmux` too, on npm and PyPI for instance.
fn path(facts: &Facts) -> Finding {
    match facts.on_path.first() {
        None => {
            let remedy = "`make install`, or add its folder to PATH: agents call it by name";
            Finding::warning("path", "no `cmux` is on PATH", remedy)
        }
        Some(first) if *first != facts.program => {
            let detail = format!("`cmux` means {first}, but this is {}", facts.program);
            let remedy = "put this one's folder first on PATH, or remove the other: it may be \
                          another program of that name";
            Finding::warning("path", detail, remedy)
        }
        Some(first) => Finding::good("path", format!("`cmux` means {first}")),
    }
}

fn clock(facts: &Facts) -> Finding {
    let ahead_ms = facts.newest_event.map_or(0, |newest| newest.0 - facts.wall.0);
    if ahead_ms > AHEAD_MAX_MS {
        let detail = format!("the log is {} s ahead of the clock", ahead_ms / 1000);
        let remedy = "the clock was set back, or was wrong once. Times in the log go on from there; \
                      nothing is lost";
        return Finding::warning("clock", detail, remedy);
    }
    Finding::good("clock", "in step with the log")
}

fn store(trouble: &[String]) -> Finding {
    match trouble.first() {
        None => Finding::good("store", "in order"),
        Some(first) => {
            Finding::warning("store", first, "`cmux status` and `cmux db check` tell more")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tmux_that_is_missing_too_old_or_broken_is_bad_each_in_its_own_words() {
        let text = |it: &str| it.to_owned();
        for (state, level, told) in [
            (TmuxState::Absent, Level::Bad, "not found"),
            (TmuxState::TooOld { found: text("3.1c") }, Level::Bad, "3.1c is too old"),
            (TmuxState::Garbled { said: text("Killed") }, Level::Bad, "`Killed`"),
            (TmuxState::Found { version: text("3.5a") }, Level::Good, "tmux 3.5a"),
        ] {
            let finding = tmux(&state);
            assert_eq!(finding.level, level, "{state:?}");
            assert!(finding.detail.contains(told), "{finding:?}");
        }
    }

    #[test]
    fn another_program_of_the_name_is_told() {
        let facts = |on_path: &[&str]| Facts {
            program: "/a/cmux".to_owned(),
            on_path: on_path.iter().map(ToString::to_string).collect(),
            ..Facts::default()
        };
        assert_eq!(path(&facts(&["/a/cmux", "/b/cmux"])).level, Level::Good);
        assert_eq!(path(&facts(&["/b/cmux", "/a/cmux"])).level, Level::Warning);
        assert_eq!(path(&facts(&[])).level, Level::Warning);
    }

    #[test]
    fn everything_bad_comes_with_a_remedy() {
        let facts = Facts {
            home_error: Some("gone".to_owned()),
            free_bytes: Some(5),
            port_state: PortState::Taken { by: "nginx".to_owned() },
            config_error: Some("line 1".to_owned()),
            daemon: DaemonState::Silent { pid: 1 },
            newest_event: Some(Timestamp(1_000_000)),
            store_trouble: vec!["damaged".to_owned()],
            agents: vec![("claude".to_owned(), None)],
            ..Facts::default()
        };
        for finding in judge(&facts) {
            assert_ne!(finding.level, Level::Good, "{finding:?}");
            assert!(finding.remedy.is_some(), "{finding:?}");
        }
    }

    #[test]
    fn a_daemon_is_judged_by_what_matters_most() {
        let on = |version: &str, guarded, safe_mode: Option<&str>| DaemonState::On {
            version: version.to_owned(),
            guarded,
            safe_mode: safe_mode.map(ToOwned::to_owned),
        };
        for (state, level) in [
            (DaemonState::Off, Level::Good),
            (on("1", true, None), Level::Good),
            (on("1", false, None), Level::Warning),
            (on("2", true, None), Level::Warning),
            (on("1", true, Some("crashes")), Level::Bad),
        ] {
            let facts = Facts { version: "1".to_owned(), daemon: state, ..Facts::default() };
            assert_eq!(daemon(&facts).level, level, "{facts:?}");
        }
    }
}
