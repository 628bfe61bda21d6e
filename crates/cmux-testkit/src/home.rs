//! A home of a test's own, and the real program in it.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use cmux_wire::client::{Client, ClientError};
use rustix::process::{Pid, Signal, getpid, kill_process};
use serde_json::Value;
use tempfile::TempDir;

use crate::daemon::Daemon;

/// A kind of agent that never runs.
pub const GHOST: &str = "ghost";

const GHOST_MANIFEST: &str = r#"
kind = "ghost"
title = "Ghost"
witnesses = ["screen"]

[find]
built_in = true
install = "it is never seen"

[launch]
session = "theirs"
command = ["{pid}"]

[launch.ask]
args = []

[prompt]
frame = ["mark"]
mark = ["ghost>"]
cursor = true
below_max = 0

[[rules]]
name = "prompt"
phase = "idle"
region = "last 1"
prompt = true
any = ["^ghost>"]

[keys]
paste = "plain"
submit = ["Enter"]
interrupt = ["C-c"]
empty = ["C-u"]
exit = "quit"

[cannot]
resume = "it remembers nothing"
clear = "there is nothing to clear"
compact = "there is nothing to shorten"
hooks = "it has none"
block = "it has no hooks"
transcript = "it keeps none"
status = "it does not say how it is"
title = "it sets none"
api = "it has none"
"#;

/// A home that is gone with the test, and with it every process that was started in it.
#[derive(Debug)]
pub struct TestHome {
    folder: TempDir,
    program: PathBuf,
    /// What is set for whatever runs in it.
    variables: Vec<(OsString, OsString)>,
    /// Whether nothing else is set but what every program needs.
    is_bare: bool,
}

/// What a program needs to be found, to know its letters, and to know its terminal.
const NEEDED: [&str; 3] = ["PATH", "LANG", "TERM"];

/// What a command said and how it ended.
#[derive(Clone, Debug)]
pub struct Ran {
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl TestHome {
    /// Makes a home for `program`, which a test knows as `env!("CARGO_BIN_EXE_cmux")`.
    pub fn new(program: &str) -> TestHome {
        let folder = tempfile::Builder::new().prefix("cmux-").tempdir().unwrap();
        fs::create_dir(folder.path().join("home")).unwrap();
        TestHome { folder, program: program.into(), variables: Vec::new(), is_bare: false }
    }

    /// Sets a variable for all that is run in this home from now on.
    pub fn set(&mut self, name: &str, value: impl AsRef<OsStr>) {
        self.variables.push((name.into(), value.as_ref().into()));
    }

    /// Has nothing of the person's environment in this home from now on, but what every program needs.
    pub fn empty_environment(&mut self) {
        self.is_bare = true;
    }

    /// Returns the home itself, which is `$CMUX_HOME`.
    pub fn root(&self) -> PathBuf {
        self.folder.path().join("home")
    }

    /// Returns a folder beside the home, made if it is not there.
    pub fn folder(&self, name: &str) -> PathBuf {
        let path = self.folder.path().join(name);
        fs::create_dir_all(&path).unwrap();
        path
    }

    /// Returns the real program, about to be run in this home with `arguments`, on a port of its own.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(&self.program);
        self.equip(&mut command);
        command.args(arguments);
        command
    }

    /// Gives `command` this home and nothing of the person's.
    pub fn equip(&self, command: &mut Command) {
        for (name, _) in std::env::vars_os() {
            let is_kept = match self.is_bare {
                true => NEEDED.iter().any(|it| name == *it),
                false => !name.to_string_lossy().starts_with("CMUX_"),
            };
            if !is_kept {
                command.env_remove(name);
            }
        }
        command
            .env("CMUX_HOME", self.root())
            .env("CMUX_PORT", "0")
            .env("NO_COLOR", "1")
            .envs(self.variables.iter().map(|(name, value)| (name, value)))
            .current_dir(self.folder.path());
    }

    pub fn program(&self) -> &Path {
        &self.program
    }

    /// Runs the program to its end.
    pub fn run(&self, arguments: &[&str]) -> Ran {
        self.command(arguments).output().unwrap().into()
    }

    /// Runs the program with `--json`, sees that it did well, and returns what it printed.
    #[track_caller]
    pub fn json(&self, arguments: &[&str]) -> Value {
        let ran = self.run(&[arguments, &["--json"]].concat());
        assert_eq!(ran.code, Some(0), "{arguments:?}: {ran:?}");
        serde_json::from_str(&ran.stdout).unwrap()
    }

    /// Starts `cmux daemon run`, without a guard, and waits until it is ready.
    pub fn daemon(&self) -> Daemon {
        Daemon::start(self)
    }

    pub fn client(&self) -> Client {
        Client::new(&self.root().join("cmux.sock"))
    }

    /// Asks the daemon something, on a runtime of its own.
    pub fn ask<T, F>(&self, question: impl FnOnce(Client) -> F) -> Result<T, ClientError>
    where
        F: Future<Output = Result<T, ClientError>>,
    {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(question(self.client()))
    }

    /// Adds a kind of agent called [`GHOST`] that is there and never runs: what it would be started with
    /// cannot be told.
    pub fn add_ghost(&self) {
        let folder = self.root().join("agents");
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("ghost.toml"), GHOST_MANIFEST).unwrap();
    }

    /// Returns the number that is noted in a lock of this home, such as `cmux.lock`.
    pub fn noted_pid(&self, lock: &str) -> Option<i32> {
        let note = fs::read_to_string(self.root().join(lock)).ok()?;
        note.lines().find_map(|line| line.strip_prefix("pid=")?.parse().ok())
    }

    /// Returns the guarded daemon's log.
    pub fn log(&self) -> String {
        fs::read_to_string(self.root().join("logs/daemon.log")).unwrap_or_default()
    }
}

impl Drop for TestHome {
    /// Ends the daemon, its guard, the tmux servers and the agents of this home. What a test has started
    /// itself is the test's to end.
    fn drop(&mut self) {
        let noted: Vec<Pid> = ["guard.lock", "cmux.lock"]
            .iter()
            .filter_map(|lock| Pid::from_raw(self.noted_pid(lock)?))
            .collect();
        let servers = format!("{}/tmux/", self.root().display());
        for pid in self.processes() {
            let read = |file: &str| fs::read(format!("/proc/{pid}/{file}")).unwrap_or_default();
            let has = |file: &str, text: &str| String::from_utf8_lossy(&read(file)).contains(text);
            let is_kept = has("cmdline", &servers) || has("environ", "CMUX_AGENT=");
            if noted.contains(&pid) || is_kept {
                let _ = kill_process(pid, Signal::KILL);
            }
        }
    }
}

impl TestHome {
    /// Returns every process that runs in this very home: daemons, guards, tmux servers, and agents.
    pub fn processes(&self) -> Vec<Pid> {
        let home = self.root().display().to_string();
        let mut found = Vec::new();
        for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
            let Some(pid) = entry.file_name().to_str().and_then(|it| it.parse().ok()) else {
                continue;
            };
            let Some(pid) = Pid::from_raw(pid).filter(|pid| *pid != getpid()) else { continue };
            let is_ours = ["cmdline", "environ"].iter().any(|file| {
                let bytes = fs::read(entry.path().join(file)).unwrap_or_default();
                String::from_utf8_lossy(&bytes).contains(&home)
            });
            if is_ours {
                found.push(pid);
            }
        }
        found
    }
}

impl From<Output> for Ran {
    fn from(output: Output) -> Ran {
        Ran {
            code: output.status.code(),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn of_the_persons_environment_a_home_has_what_it_is_to_have() {
        // Cargo sets this for whoever runs a test.
        let (theirs, own) = ("CARGO_MANIFEST_DIR", "CMUX_HOME");
        let mut home = TestHome::new("env");
        let names = names(&home);
        assert!(names.contains(theirs) && names.contains(own), "{names:?}");
        home.empty_environment();
        home.set("HOME", "/somewhere");
        let known = ["HOME", "CMUX_HOME", "CMUX_PORT", "NO_COLOR"];
        let names = self::names(&home);
        let others =
            names.iter().filter(|it| !known.iter().chain(&NEEDED).any(|known| known == it));
        assert_eq!(others.collect::<Vec<_>>(), [""; 0]);
        assert!(known.iter().all(|it| names.contains(*it)), "{names:?}");
    }

    /// Returns what is set in a home.
    fn names(home: &TestHome) -> BTreeSet<String> {
        let told = home.run(&[]).stdout;
        let names = told.lines().filter_map(|line| line.split_once('='));
        names.map(|(name, _)| name.to_owned()).collect()
    }
}
