//! A daemon that keeps agents, and what can be seen of them from outside.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use cmux_testkit::daemon::Daemon;
use cmux_testkit::home::TestHome;
use cmux_testkit::wait::eventually;
use cmux_wire::agent::{Agent, NewAgent, Phase};
use cmux_wire::event::Event;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::PROGRAM;

/// A home with a project in it, and a daemon that can be killed.
pub(crate) struct World {
    pub(crate) home: TestHome,
    pub(crate) daemon: Option<Daemon>,
    pub(crate) project: String,
    pub(crate) root: PathBuf,
}

impl World {
    pub(crate) fn new() -> World {
        World::furnished(|_| {})
    }

    /// Starts a daemon in a home that was furnished.
    pub(crate) fn furnished(furnish: impl FnOnce(&mut TestHome)) -> World {
        let mut home = TestHome::new(PROGRAM);
        furnish(&mut home);
        let root = home.folder("project");
        fs::create_dir_all(root.join(".git")).unwrap();
        let daemon = Some(home.daemon());
        let path = root.to_str().unwrap().to_owned();
        let added = home.json(&["project", "add", &path]);
        let project = added["id"].as_str().unwrap().to_owned();
        World { home, daemon, project, root }
    }

    /// Launches an agent of `kind`, with arguments, without waiting for it.
    #[track_caller]
    pub(crate) fn spawn(&self, name: &str, kind: &str, args: &[&str]) -> Agent {
        self.spawn_as(name, &json!({ "kind": kind, "args": args }))
    }

    /// Launches an agent that is otherwise as `more` says.
    #[track_caller]
    pub(crate) fn spawn_as(&self, name: &str, more: &Value) -> Agent {
        let mut new = json!({ "project": self.project, "name": name, "kind": "demo" });
        for (key, value) in more.as_object().unwrap() {
            new[key] = value.clone();
        }
        let new: NewAgent = serde_json::from_value(new).unwrap();
        self.home.ask(|client| async move { client.spawn_agent(&new).await }).unwrap()
    }

    /// Launches a demo agent, and waits until it is at its prompt.
    #[track_caller]
    pub(crate) fn idle(&self, name: &str) -> Agent {
        self.spawn(name, "demo", &[]);
        self.in_phase(name, Phase::Idle)
    }

    pub(crate) fn agent(&self, name: &str) -> Agent {
        let (name, project) = (name.to_owned(), self.project.clone());
        self.home.ask(|client| async move { client.agent(&name, Some(&project)).await }).unwrap()
    }

    /// Returns all agents.
    pub(crate) fn agents(&self) -> Value {
        let agents = self.home.ask(|client| async move { client.agents(None, None).await });
        serde_json::to_value(agents.unwrap()).unwrap()
    }

    /// Has an agent do `verb` from now on.
    #[track_caller]
    pub(crate) fn have(&self, name: &str, verb: &str) -> Agent {
        let (name, verb) = (name.to_owned(), verb.to_owned());
        let project = self.project.clone();
        let asked = self
            .home
            .ask(|client| async move { client.have_agent(&name, &verb, Some(&project)).await });
        asked.unwrap()
    }

    /// Waits until an agent is as `is_so` wants it.
    #[track_caller]
    pub(crate) fn wait(&self, name: &str, what: &str, is_so: impl Fn(&Agent) -> bool) -> Agent {
        let mut last = None;
        let waited = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            eventually(what, || {
                // Whoever asks all the time takes it from those who are waited for.
                std::thread::sleep(Duration::from_millis(20));
                let agent = self.agent(name);
                last = Some(agent.clone());
                is_so(&agent).then_some(agent)
            })
        }));
        waited.unwrap_or_else(|_| {
            panic!("{name} never came to be {what}: {last:?}\n{}\n{}", self.told(), self.said())
        })
    }

    #[track_caller]
    pub(crate) fn in_phase(&self, name: &str, phase: Phase) -> Agent {
        self.wait(name, &format!("{phase:?}"), |agent| agent.phase == phase)
    }

    /// Waits until an agent is at its prompt in another run than `before`.
    #[track_caller]
    pub(crate) fn back(&self, before: &Agent) -> Agent {
        self.wait(&before.name, "back", |agent| {
            agent.phase == Phase::Idle && agent.run != before.run && agent.pid.is_some()
        })
    }

    /// Returns all events so far.
    pub(crate) fn events(&self) -> Vec<Event> {
        let mut all: Vec<Event> = Vec::new();
        loop {
            let since = all.last().map_or(0, |event| event.id);
            let wanted = cmux_wire::client::EventQuery { since: Some(since), ..Default::default() };
            let page = self.home.ask(|client| async move { client.events(&wanted).await });
            let page = page.unwrap().events;
            if page.is_empty() {
                return all;
            }
            all.extend(page);
        }
    }

    /// Returns all events of a kind.
    pub(crate) fn events_of(&self, kind: &str) -> Vec<Event> {
        self.events().into_iter().filter(|event| event.kind == kind).collect()
    }

    fn told(&self) -> String {
        let events = self.events().into_iter();
        events.map(|event| format!("{} {} {}\n", event.id, event.kind, event.data)).collect()
    }

    fn said(&self) -> String {
        self.daemon.as_ref().map(Daemon::said).unwrap_or_default()
    }

    /// Kills the daemon and starts another.
    pub(crate) fn reborn(&mut self) {
        if let Some(daemon) = self.daemon.take() {
            daemon.kill();
        }
        self.daemon = Some(self.home.daemon());
    }

    /// Returns the number of the tmux server that the project's agents live in.
    pub(crate) fn tmux(&self) -> Option<u32> {
        let socket = format!("{}/tmux/{}", self.home.root().display(), self.project);
        let server = self.home.processes().into_iter().find(|pid| {
            let words = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            let words: Vec<&[u8]> = words.split(|&byte| byte == 0).collect();
            words.contains(&socket.as_bytes()) && words.contains(&&b"start-server"[..])
        });
        server.map(|pid| pid.as_raw_pid().cast_unsigned())
    }

    /// Runs tmux at the project's own server, and returns what it said.
    pub(crate) fn at_tmux(&self, words: &[&str]) -> String {
        let socket = format!("{}/tmux/{}", self.home.root().display(), self.project);
        let ran = std::process::Command::new("tmux").arg("-S").arg(socket).args(words).output();
        String::from_utf8_lossy(&ran.unwrap().stdout).into_owned()
    }

    /// Returns every process of a run.
    pub(crate) fn of_run(&self, run: &str) -> Vec<u32> {
        let wanted = format!("CMUX_RUN={run}");
        let all = self.home.processes().into_iter().filter(|pid| {
            let environ = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
            environ.split(|&byte| byte == 0).any(|it| it == wanted.as_bytes())
        });
        all.map(|pid| pid.as_raw_pid().cast_unsigned()).collect()
    }

    /// Returns the CLI that a launcher has launched.
    #[track_caller]
    pub(crate) fn cli(&self, launcher: u32) -> u32 {
        let path = format!("/proc/{launcher}/task/{launcher}/children");
        eventually("it has a child", || {
            fs::read_to_string(&path).ok()?.split_whitespace().next()?.parse().ok()
        })
    }
}

/// Kills a process. It may have ended just now.
pub(crate) fn kill(pid: u32) {
    let _ = kill_process(Pid::from_raw(pid.cast_signed()).unwrap(), Signal::KILL);
}
