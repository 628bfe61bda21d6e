//! A tmux server of a test's own, with the scripted agent in its one pane.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use cmux_testkit::wait::eventually;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tempfile::TempDir;

use crate::PROGRAM;

/// An agent in a pane. It is gone with the test, and so is the server.
pub(crate) struct Pane {
    folder: TempDir,
}

impl Pane {
    /// Starts an agent with these flags in a pane of 80 by 24, and waits until its composer is there.
    pub(crate) fn ready(flags: &[&str]) -> Pane {
        let pane = Pane::new();
        pane.start(flags, (80, 24));
        pane.wait_for("it is ready", |screen| screen.contains("╰──"));
        pane
    }

    /// Makes a folder for an agent that is not started yet.
    pub(crate) fn new() -> Pane {
        Pane { folder: tempfile::Builder::new().prefix("demo-").tempdir().unwrap() }
    }

    /// Starts an agent with these flags in a pane of this size, in the place of the one before.
    pub(crate) fn start(&self, flags: &[&str], size: (u16, u16)) {
        let state = self.path("state").display().to_string();
        self.run(&[&[PROGRAM, "demo", "--state", &state], flags].concat(), size);
    }

    /// Runs these words in a pane of this size, in the place of what ran before.
    pub(crate) fn run(&self, words: &[&str], (cols, rows): (u16, u16)) {
        let (cols, rows) = (cols.to_string(), rows.to_string());
        let mut command = self.command();
        if self.tmux(&["has-session"]).status.success() {
            self.resize(&cols, &rows);
            command.args(["respawn-pane", "-k"]);
        } else {
            let config = "set -g remain-on-exit on\nset -g exit-empty off\n";
            command.arg("-f").arg(self.write("tmux.conf", config));
            command.args(["new-session", "-d", "-x", &cols, "-y", &rows]);
        }
        command.arg("--").args(words);
        command.env("CMUX_DEMO_RECORD", self.path("record")).env("CMUX_AGENT", "agt_1");
        command.env("CMUX_DEMO_APPROVALS", self.path("approvals"));
        let started = command.output().unwrap();
        assert!(started.status.success(), "{started:?}");
    }

    /// Starts an agent with these flags that is refused before it draws anything, and returns why.
    pub(crate) fn refused(&self, flags: &[&str]) -> String {
        let mut command = Command::new(PROGRAM);
        command.args(["demo", "--state"]).arg(self.path("state")).args(flags);
        let ran = command.stdin(Stdio::null()).output().unwrap();
        assert_eq!((ran.status.code(), ran.stdout.len()), (Some(1), 0), "{ran:?}");
        String::from_utf8(ran.stderr).unwrap()
    }

    /// Writes a file into the folder, and returns its path.
    pub(crate) fn write(&self, name: &str, text: &str) -> PathBuf {
        fs::write(self.path(name), text).unwrap();
        self.path(name)
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Returns what is in a file, or nothing if there is none.
    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap_or_default()
    }

    /// Types keys, by tmux's names for them.
    pub(crate) fn keys(&self, keys: &[&str]) {
        self.expect(&[&["send-keys", "--"], keys].concat());
    }

    /// Types a text, letter by letter.
    pub(crate) fn type_in(&self, text: &str) {
        self.expect(&["send-keys", "-l", "--", text]);
    }

    /// Pastes a text in brackets, as cmux does.
    pub(crate) fn paste(&self, text: &str) {
        let file = self.write("paste", text);
        self.expect(&["load-buffer", "-b", "b", &file.display().to_string()]);
        self.expect(&["paste-buffer", "-p", "-r", "-d", "-b", "b"]);
    }

    /// Gives the pane another size.
    pub(crate) fn resize(&self, cols: &str, rows: &str) {
        self.expect(&["resize-window", "-x", cols, "-y", rows]);
    }

    /// Presses Enter, and waits until what was in the composer is taken.
    pub(crate) fn submit(&self) {
        let before = self.taken().len();
        self.keys(&["Enter"]);
        self.takes(before + 1);
    }

    /// Presses Enter until `text` is taken, as one must who does not see whether it was a part of the paste.
    pub(crate) fn submit_late(&self, text: &str) {
        let taken = eventually("it takes what was pasted", || {
            self.keys(&["Enter"]);
            self.taken().into_iter().next()
        });
        assert_eq!(taken.trim_end(), text);
    }

    /// Returns what the pane shows.
    pub(crate) fn screen(&self) -> String {
        String::from_utf8(self.expect(&["capture-pane", "-p"]).stdout).unwrap()
    }

    /// Returns what a tmux format says of the pane.
    pub(crate) fn tell(&self, format: &str) -> String {
        let told = self.expect(&["list-panes", "-F", format]).stdout;
        String::from_utf8(told).unwrap().trim_end().to_owned()
    }

    /// Waits until the screen is as it should be, and returns it.
    #[track_caller]
    pub(crate) fn wait_for(&self, what: &str, is_so: impl Fn(&str) -> bool) -> String {
        let mut last = String::new();
        let seen = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            eventually(what, || {
                last = self.screen();
                is_so(&last).then(|| last.clone())
            })
        }));
        seen.unwrap_or_else(|_| panic!("it never came to be: {what}, but:\n{last}"))
    }

    /// Waits until the screen shows `text`.
    #[track_caller]
    pub(crate) fn shows(&self, text: &str) -> String {
        self.wait_for(&format!("it shows {text:?}"), |screen| screen.contains(text))
    }

    /// Waits until the agent has ended, and returns its exit code, or nothing if it was killed.
    pub(crate) fn exit(&self) -> Option<u8> {
        let how = "#{pane_dead} #{pane_dead_status}/#{pane_dead_signal}";
        let ended = eventually("it has ended", || match self.tell(how) {
            // On a busy machine, tmux 3.3a may miss that its child has ended, and never wait for it.
            how if how == "1 /" => {
                let server = self.tell("#{pid}").parse().ok().and_then(Pid::from_raw);
                kill_process(server.unwrap(), Signal::CHILD).unwrap();
                None
            }
            how => how.starts_with("1 ").then_some(how),
        });
        ended.trim_start_matches("1 ").trim_end_matches('/').parse().ok()
    }

    /// Returns the prompts that it has recorded.
    pub(crate) fn taken(&self) -> Vec<String> {
        let record = self.read("record");
        // The last line may be on its way.
        let lines = record.split_inclusive('\n').filter(|line| line.ends_with('\n'));
        let lines = lines.map(|line| serde_json::from_str::<Value>(line).unwrap());
        lines.map(|line| line["prompt"].as_str().unwrap().to_owned()).collect()
    }

    /// Returns what it was allowed to do by a key.
    pub(crate) fn approved(&self) -> Vec<Value> {
        self.read("approvals").lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// Waits until it has recorded so many prompts, and returns them.
    #[track_caller]
    pub(crate) fn takes(&self, count: usize) -> Vec<String> {
        eventually("it takes what was said", || {
            let taken = self.taken();
            (taken.len() >= count).then_some(taken)
        })
    }

    /// Returns what its status file says of it, if it is there.
    pub(crate) fn status(&self) -> Option<Value> {
        let pid = self.tell("#{pane_pid}");
        let file = self.path("state").join("sessions").join(format!("{pid}.json"));
        serde_json::from_str(&fs::read_to_string(file).ok()?).ok()
    }

    /// Waits until its status file says this of it.
    pub(crate) fn is(&self, status: &str) -> Value {
        eventually(&format!("it is {status}"), || self.status().filter(|it| it["status"] == status))
    }

    /// Writes settings whose hooks run `command` on each of `events`, and returns the file.
    pub(crate) fn settings(&self, events: &[&str], command: &str, timeout_s: u32) -> String {
        let hook = serde_json::json!([{ "hooks": [
            { "type": "command", "command": command, "timeout": timeout_s },
        ]}]);
        let hooks: serde_json::Map<String, Value> =
            events.iter().map(|event| ((*event).to_owned(), hook.clone())).collect();
        let text = serde_json::json!({ "hooks": hooks }).to_string();
        self.write("settings.json", &text).display().to_string()
    }

    /// Returns what hooks were told, if they append it to the file `hooks`.
    pub(crate) fn hooks(&self) -> Vec<Value> {
        let told = self.read("hooks");
        let lines = told.split_inclusive('\n').filter(|line| line.ends_with('\n'));
        lines.filter_map(|line| serde_json::from_str(line).ok()).collect()
    }

    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    #[track_caller]
    fn expect(&self, arguments: &[&str]) -> Output {
        let output = self.tmux(arguments);
        assert!(output.status.success(), "{arguments:?}: {output:?}");
        output
    }

    fn tmux(&self, arguments: &[&str]) -> Output {
        self.command().args(arguments).output().unwrap()
    }

    fn command(&self) -> Command {
        let mut command = Command::new("tmux");
        command.arg("-S").arg(self.path("tmux.sock")).current_dir(self.folder.path());
        for (name, _) in std::env::vars_os() {
            let name = name.to_string_lossy().into_owned();
            if name.starts_with("CMUX_") || name.starts_with("TMUX") {
                command.env_remove(name);
            }
        }
        command.stdin(Stdio::null()).env("LC_ALL", "C.UTF-8").env("TERM", "xterm-256color");
        command
    }
}

impl Drop for Pane {
    fn drop(&mut self) {
        let pids = self.tmux(&["list-panes", "-a", "-F", "#{pane_pid} #{pid}"]).stdout;
        let pids = String::from_utf8_lossy(&pids).into_owned();
        // The agent first, by its number: one that hangs does not end with its terminal.
        if let Some((agent, _)) = pids.trim().split_once(' ') {
            let raw = agent.parse().ok().and_then(Pid::from_raw);
            let is_dead = self.tmux(&["list-panes", "-F", "#{pane_dead}"]).stdout == b"1\n";
            if let Some(pid) = raw.filter(|_| !is_dead) {
                let _ = kill_process(pid, Signal::KILL);
            }
        }
        let _ = self.tmux(&["kill-server"]);
    }
}
