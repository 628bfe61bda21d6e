//! Agents that are pasted to by hand.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use crate::{REST, World, wait};

/// The pause that the demo agent needs between a paste and Enter.
const GAP: Duration = Duration::from_millis(8);

/// After what time Enter is pressed once more.
const AGAIN: Duration = Duration::from_secs(2);

/// What is on a demo agent's screen when it is at its prompt.
const AT_PROMPT: &str = "accept edits on";

/// Agents that nobody keeps, in a tmux server by themselves.
pub(crate) struct Bare {
    folder: PathBuf,
    count: usize,
}

impl Bare {
    /// Starts so many, and waits until all are at their prompt.
    pub(crate) fn start(world: &World, count: usize) -> Bare {
        let bare = Bare { folder: world.home.folder(&format!("bare-{count}")), count };
        let program = world.home.program().to_str().unwrap();
        bare.tmux(&["-f", "/dev/null", "new-session", "-d", "-x", "200", "-y", "50"]);
        fs::write(bare.folder.join("text"), "[cmux by hand]\nhello").unwrap();
        for number in 0..count {
            let record = format!("CMUX_DEMO_RECORD={}", bare.record(number).display());
            let script = format!("CMUX_DEMO_SCRIPT={}", world.script.display());
            let state = bare.folder.join(number.to_string());
            let start = ["new-window", "-d", "-e", &record, "-e", &script, program, "demo"];
            let flags = ["--permission-mode", "acceptEdits", "--state", state.to_str().unwrap()];
            bare.tmux(&[&start[..], &flags].concat());
        }
        for number in 0..count {
            let target = target(number);
            wait(|| bare.tmux(&["capture-pane", "-p", "-t", &target]).contains(AT_PROMPT));
        }
        bare
    }

    fn record(&self, number: usize) -> PathBuf {
        self.folder.join(format!("record-{number}"))
    }

    fn tmux(&self, words: &[&str]) -> String {
        tmux(&self.folder.join("tmux"), words)
    }

    /// Pastes a text, submits it, and returns how long it took until it was recorded.
    pub(crate) fn say(&self, number: usize) -> Duration {
        thread::sleep(REST);
        let (record, target) = (self.record(number), target(number));
        let (before, text) = (length(&record), self.folder.join("text"));
        let buffer = format!("b{number}");
        let begun = Instant::now();
        self.tmux(&["load-buffer", "-b", &buffer, text.to_str().unwrap()]);
        self.tmux(&["paste-buffer", "-p", "-d", "-b", &buffer, "-t", &target]);
        thread::sleep(GAP);
        loop {
            self.tmux(&["send-keys", "-t", &target, "Enter"]);
            // It may have come too early, and belong to the paste.
            if let Some(at) = grown(&record, before, AGAIN) {
                return at - begun;
            }
        }
    }

    /// Pastes a text to each, all at once.
    pub(crate) fn say_to_all(&self) -> Vec<Duration> {
        thread::scope(|scope| {
            let all = (0..self.count).map(|number| scope.spawn(move || self.say(number)));
            let all: Vec<_> = all.collect();
            all.into_iter().map(|it| it.join().unwrap()).collect()
        })
    }
}

impl Drop for Bare {
    fn drop(&mut self) {
        self.tmux(&["kill-server"]);
    }
}

fn target(number: usize) -> String {
    format!(":{}", number + 1)
}

/// Runs tmux, and returns what it said.
pub(crate) fn tmux(socket: &Path, words: &[&str]) -> String {
    let mut command = Command::new("tmux");
    command.env_remove("TMUX").arg("-S").arg(socket).args(words);
    String::from_utf8_lossy(&command.output().unwrap().stdout).into_owned()
}

pub(crate) fn length(path: &Path) -> u64 {
    fs::metadata(path).map_or(0, |it| it.len())
}

/// Waits until a file is longer than it was, and returns when. Nothing, if that does not come `within` the time.
pub(crate) fn grown(path: &Path, before: u64, within: Duration) -> Option<Instant> {
    let begun = Instant::now();
    while length(path) <= before {
        if begun.elapsed() > within {
            return None;
        }
        thread::sleep(Duration::from_micros(300));
    }
    Some(Instant::now())
}
