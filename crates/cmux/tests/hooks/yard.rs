//! A daemon, an agent that it knows, and the agent's CLI as far as it calls hooks.

use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::process::Stdio;

use cmux_core::digest::Digest;
use cmux_core::id::HookId;
use cmux_drivers::clock;
use cmux_drivers::spool::{Letter, Spool};
use cmux_testkit::daemon::Daemon;
use cmux_testkit::home::{Ran, TestHome};
use cmux_testkit::store::{Run, add_agent, add_run};
use cmux_testkit::wait::eventually;
use cmux_wire::client::EventQuery;
use cmux_wire::event::Event;
use cmux_wire::project::NewProject;
use serde_json::{Value, json};

use crate::PROGRAM;

pub(crate) const AGENT: &str = "agt_01JZZZZZZZZZZZZZZZZZZZZZZA";
pub(crate) const RUN: &str = "run_01JZZZZZZZZZZZZZZZZZZZZZZZ";
pub(crate) const TOKEN: &str = "cmuxrun_of-the-agent-that-lives";

/// Another agent's run, of the same project.
const OTHER_RUN: &str = "run_01JYYYYYYYYYYYYYYYYYYYYYYY";
pub(crate) const OTHER_TOKEN: &str = "cmuxrun_of-the-agent-next-door";

/// A home with an agent in it.
pub(crate) struct Yard {
    pub(crate) home: TestHome,
    pub(crate) daemon: Option<Daemon>,
    pub(crate) spool: Spool,
}

impl Yard {
    pub(crate) fn new() -> Yard {
        let home = TestHome::new(PROGRAM);
        let daemon = home.daemon();
        let root = home.folder("project").display().to_string();
        let new = NewProject { root, name: None };
        let project = home.ask(|client| async move { client.add_project(&new).await }).unwrap().id;
        daemon.kill();
        let database = home.root().join("cmux.db");
        let other = "agt_01JYYYYYYYYYYYYYYYYYYYYYYA";
        for (secret, run, agent) in [(TOKEN, RUN, AGENT), (OTHER_TOKEN, OTHER_RUN, other)] {
            let secret = Digest::of(secret.as_bytes());
            let (secret, project) = (secret.as_bytes(), project.as_str());
            add_run(&database, &Run { secret, run, agent, project, is_over: false });
        }
        add_agent(&database, AGENT, RUN, &project);
        let (daemon, spool) = (Some(home.daemon()), Spool::at(home.root().join("spool")));
        Yard { home, daemon, spool }
    }

    /// Calls a hook as the agent's CLI does, and returns what came of it.
    pub(crate) fn hook(&self, event: &str, payload: &Value) -> Ran {
        self.call(&["hook", "demo", event], payload.to_string().as_bytes(), TOKEN)
    }

    /// Calls a hook, and sees that it answers nothing.
    #[track_caller]
    pub(crate) fn tell(&self, event: &str, payload: &Value) {
        let ran = self.hook(event, payload);
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), ""), "{event}: {ran:?}");
    }

    /// Runs `cmux` with `words` below the agent's launcher, with `input` and whatever it shows.
    pub(crate) fn call(&self, words: &[&str], input: &[u8], token: &str) -> Ran {
        self.launch(&[&[PROGRAM], words].concat(), input, token)
    }

    /// Runs a program below the agent's launcher.
    pub(crate) fn launch(&self, words: &[&str], input: &[u8], token: &str) -> Ran {
        let mut command = self.home.command(&[&["launch", "--"], words].concat());
        command.env("CMUX_RUN", RUN).env("CMUX_TOKEN", token).env("CMUX_SOCKET", self.socket());
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        // Whoever has heard enough does not read the rest.
        let _ = child.stdin.take().unwrap().write_all(input);
        child.wait_with_output().unwrap().into()
    }

    pub(crate) fn socket(&self) -> PathBuf {
        self.home.root().join("cmux.sock")
    }

    /// Puts what a hook told so long ago into the spool, as `cmux hook` does if no daemon answers.
    pub(crate) fn spool(&self, id: &str, event: &str, age_ms: u64, payload: &Value) {
        let now = clock::read();
        let since_boot = u64::try_from(now.since_boot.as_millis()).unwrap();
        let at = cmux_wire::time::Time::from_millis(now.wall.0 - i64::try_from(age_ms).unwrap());
        let body = json!({
            "hook": id, "kind": "demo", "event": event, "at": at,
            "since_boot_ms": since_boot.saturating_sub(age_ms), "payload": payload.to_string(),
        });
        let by = Digest::of(TOKEN.as_bytes());
        let letter = Letter { by, boot: clock::boot(), body: body.to_string() };
        self.spool.append(id.parse().unwrap(), &letter).unwrap();
    }

    pub(crate) fn spooled(&self) -> Vec<HookId> {
        self.spool.entries(usize::MAX).unwrap().iter().map(|entry| entry.id).collect()
    }

    /// Kills the daemon, if one runs, does `work`, and starts another.
    pub(crate) fn reborn(&mut self, work: impl FnOnce(&Yard)) {
        if let Some(daemon) = self.daemon.take() {
            daemon.kill();
        }
        work(self);
        self.daemon = Some(self.home.daemon());
    }

    /// Returns what the log tells of hooks, oldest first.
    pub(crate) fn told(&self) -> Vec<Value> {
        self.events().into_iter().map(|event| event.data).collect()
    }

    /// Returns the events that tell of hooks, oldest first.
    pub(crate) fn events(&self) -> Vec<Event> {
        let wanted = EventQuery {
            since: Some(0),
            limit: Some(1000),
            kind: Some("hook.received".to_owned()),
            ..EventQuery::default()
        };
        self.home.ask(|client| async move { client.events(&wanted).await }).unwrap().events
    }

    /// Waits until so many hooks were heard, and returns what the log tells of them.
    #[track_caller]
    pub(crate) fn heard(&self, count: usize) -> Vec<Value> {
        eventually(&format!("{count} hooks were heard"), || {
            let told = self.told();
            assert!(told.len() <= count, "one was heard twice: {told:#?}");
            (told.len() == count && self.spooled().is_empty()).then_some(told)
        })
    }

    pub(crate) fn agent(&self) -> cmux_wire::agent::Agent {
        self.home.ask(|client| async move { client.agent(AGENT, None).await }).unwrap()
    }

    /// Returns the agent's phase.
    pub(crate) fn phase(&self) -> String {
        json!(self.agent().phase).as_str().unwrap().to_owned()
    }

    /// Waits until the agent is in a phase.
    #[track_caller]
    pub(crate) fn is(&self, phase: &str) {
        eventually(&format!("it is {phase}"), || (self.phase() == phase).then_some(()));
    }

    /// Returns everything that was written to the home's files.
    pub(crate) fn files(&self) -> Vec<u8> {
        let mut all = Vec::new();
        for name in ["cmux.db", "cmux.db-wal", "logs/daemon.log"] {
            all.extend(fs::read(self.home.root().join(name)).unwrap_or_default());
        }
        all
    }
}

/// Returns a hook's id, by its number.
pub(crate) fn id(n: usize) -> String {
    format!("hk_{n:026}")
}
