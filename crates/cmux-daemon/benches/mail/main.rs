//! What mail costs: to accept it, to have it read by one idle agent and by many, and what an agent that is
//! stuck costs all others. Each beside a baseline in the same run: raw SQLite commits, a paste into an equal
//! agent by hand, and the same without the one that is stuck.
//!
//! `CMUX_PROGRAM` names the release build that is measured. The agents are demo agents.

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a bench prints, and fails by panicking"
)]

mod accept;
mod bare;
mod table;

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

use cmux_drivers::process::{Process, children};
use cmux_testkit::home::TestHome;
use cmux_wire::agent::{Agent, NewAgent, Phase};
use cmux_wire::client::EventQuery;
use cmux_wire::event::Event;
use cmux_wire::message::NewMessage;
use rustix::process::Signal;
use serde_json::{Value, json};
use tokio::runtime::Runtime;
use tokio::sync::mpsc;
use tokio::time::timeout;

use crate::bare::{Bare, grown, length, tmux};
use crate::table::{tell, tell_crowd};

/// How often each side has its turn. The figures are the middle ones.
const ROUNDS: usize = 5;

/// How many messages are delivered one by one.
const ONE_BY_ONE: usize = 60;

/// How many agents are written to at once, at first and then, and beside one that is stuck.
const FEW: usize = 50;
const MANY: usize = 200;
const OTHERS: usize = 10;

/// How often it is tried beside one that is stuck, and without.
const TRIES: usize = 10;

/// How long an agent rests before it is written to.
const REST: Duration = Duration::from_millis(50);

/// How long anything may take.
const PATIENCE: Duration = Duration::from_secs(300);

fn main() {
    let Ok(program) = std::env::var("CMUX_PROGRAM") else {
        println!("CMUX_PROGRAM is not set: `make bench` sets it");
        return;
    };
    // A part of it may be named.
    let named: Vec<String> = std::env::args().skip(1).filter(|it| !it.starts_with('-')).collect();
    let is_wanted = |part: &str| named.is_empty() || named.iter().any(|it| it == part);
    if is_wanted("accept") {
        println!("mail, each message on the disk before it is acknowledged\n");
        World::new(&program).measure_accepting();
    }
    println!("\nmail, from acknowledged to read\n");
    if is_wanted("one") {
        World::new(&program).measure_one();
    }
    if is_wanted("many") {
        World::new(&program).measure_many();
    }
    if is_wanted("stuck") {
        println!("\n{OTHERS} agents, and one more that is stuck\n");
        World::new(&program).measure_stuck();
    }
}

struct World {
    home: TestHome,
    runtime: Runtime,
    _daemon: cmux_testkit::daemon::Daemon,
    project: String,
    script: PathBuf,
}

impl World {
    fn new(program: &str) -> World {
        let home = TestHome::new(program);
        let script = home.folder("script").join("script.json");
        let work = json!({ "when": { "contains": "work" }, "steps": [{ "think_ms": 5000 }] });
        let rules = json!({ "rules": [work, { "steps": [{ "say": "ok" }] }] });
        fs::write(&script, rules.to_string()).unwrap();
        let daemon = home.daemon();
        let project = project(&home, "project");
        World { home, runtime: Runtime::new().unwrap(), _daemon: daemon, project, script }
    }

    /// Measures one idle agent, one message after another, in turns with one that is pasted to by hand.
    fn measure_one(&self) {
        let record = self.home.folder("record").join("record");
        self.spawn_as("one", &self.project, &json!({ "CMUX_DEMO_RECORD": record }));
        self.wait_idle(&["one".to_owned()]);
        let bare = Bare::start(self, 1);
        let (mut by_hand, mut recorded, mut read) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..ONE_BY_ONE {
            by_hand.push(bare.say(0));
            let before = length(&record);
            let watched = record.clone();
            let watch = thread::spawn(move || grown(&watched, before, PATIENCE).unwrap());
            let (accepted, seen) = self.deliver(&["one".to_owned()]).remove(0);
            recorded.push(watch.join().unwrap().saturating_duration_since(accepted));
            read.push(seen.saturating_duration_since(accepted));
            self.wait_idle(&["one".to_owned()]);
        }
        let pasted = tell("pasted by hand, to the agent's record", &mut by_hand, None, "");
        tell("one idle agent, to its record", &mut recorded, Some(pasted), "");
        let goal = "goal: at most 2.5×";
        tell("one idle agent, to delivered", &mut read, Some(pasted), goal);
    }

    /// Measures many idle agents at once, one message each.
    fn measure_many(&self) {
        let all: Vec<String> = (0..MANY).map(name).collect();
        self.spawn((0..MANY).map(name));
        self.wait_idle(&all);
        let bare = Bare::start(self, FEW);
        let mut by_hand = Vec::new();
        let (mut few, mut many): (Vec<Vec<Duration>>, Vec<Vec<Duration>>) = Default::default();
        for _ in 0..ROUNDS {
            by_hand.push(bare.say_to_all());
            few.push(self.deliver_all(&all[..FEW]));
            many.push(self.deliver_all(&all));
        }
        let bare = tell_crowd(&format!("{FEW} pasted by hand at once"), by_hand, None, "");
        let few = tell_crowd(&format!("{FEW} idle agents at once"), few, Some(bare), "");
        let goal = format!("of {FEW}'s, goal: at most 5×");
        tell_crowd(&format!("{MANY} idle agents at once"), many, Some(few), &goal);
    }

    /// Measures agents beside one to which nothing gets through, and without it.
    fn measure_stuck(&self) {
        self.spawn((0..OTHERS).map(name));
        let elsewhere = project(&self.home, "elsewhere");
        let stuck = "stuck".to_owned();
        for project in [&self.project, &elsewhere] {
            self.spawn_as(&stuck, project, &json!({}));
        }
        self.wait_idle(std::slice::from_ref(&stuck));
        wait(|| self.agent(&stuck, &elsewhere).phase == Phase::Idle);
        let cli = children(self.agent(&stuck, &self.project).pid.unwrap()).pop().unwrap();
        let socket = self.home.root().join("tmux").join(&elsewhere);
        let server = tmux(&socket, &["display-message", "-p", "#{pid}"]);
        let server = Process::find(server.trim().parse().unwrap()).unwrap();
        let stop = |process: Process| move || process.signal(Signal::STOP).unwrap();
        let go_on = |process: Process| move || process.signal(Signal::CONT).unwrap();
        self.beside("its CLI is stopped", &self.project, stop(cli), go_on(cli));
        let work = || {
            self.send(&stuck, "work", &self.project);
            wait(|| self.agent(&stuck, &self.project).phase == Phase::Busy);
        };
        self.beside("it is busy", &self.project, work, || ());
        self.beside("its tmux server is stopped", &elsewhere, stop(server), go_on(server));
    }

    /// Measures the others with the one in `project` stuck, and without.
    fn beside(&self, what: &str, project: &str, begin: impl Fn(), end: impl Fn()) {
        let others: Vec<String> = (0..OTHERS).map(name).collect();
        let (mut without, mut with) = (Vec::new(), Vec::new());
        for _ in 0..TRIES {
            self.wait_idle(&others);
            without.extend(self.deliver_all(&others));
            self.wait_idle(&others);
            begin();
            self.send("stuck", "this waits", project);
            with.extend(self.deliver_all(&others));
            end();
            wait(|| {
                let agent = self.agent("stuck", project);
                agent.phase == Phase::Idle && agent.queue == 0
            });
        }
        let without = tell("the others alone", &mut without, None, "");
        tell(&format!("the others while {what}"), &mut with, Some(without), "");
    }

    fn send(&self, to: &str, body: &str, project: &str) {
        let new = message(to, body, project);
        self.runtime.block_on(self.home.client().send_message(&new)).unwrap();
    }

    /// Sends a message to each agent, all at once. Returns when each was acknowledged, and when it was told that
    /// it was read.
    fn deliver(&self, to: &[String]) -> Vec<(Instant, Instant)> {
        let wanted = EventQuery { since: Some(i64::MAX), ..EventQuery::default() };
        let mut stream = self.runtime.block_on(self.home.client().follow(&wanted)).unwrap();
        // It says hello first.
        assert!(self.runtime.block_on(stream.next_text()).unwrap().is_some());
        let (heard, mut read) = mpsc::channel(2 * MANY);
        self.runtime.spawn(async move {
            while let Ok(Some(text)) = stream.next_text().await {
                let at = Instant::now();
                let Some(id) = delivered(&text) else { continue };
                if heard.send((id, at)).await.is_err() {
                    return;
                }
            }
        });
        let sends = to.iter().map(|to| {
            let (client, new) = (self.home.client(), message(to, "hello", &self.project));
            self.runtime.spawn(async move {
                let id = client.send_message(&new).await.unwrap().id;
                (id, Instant::now())
            })
        });
        let sends: Vec<_> = sends.collect();
        let sent = sends.into_iter().map(|it| self.runtime.block_on(it).unwrap());
        let mut sent: BTreeMap<String, Instant> = sent.collect();
        let mut times = Vec::new();
        while !sent.is_empty() {
            let told = async { timeout(PATIENCE, read.recv()).await };
            let (id, at) = self.runtime.block_on(told).unwrap().unwrap();
            times.extend(sent.remove(&id).map(|accepted| (accepted, at)));
        }
        times
    }

    /// Sends a message to each agent, all at once. Returns how long each took from its acknowledgement on,
    /// once all are idle again.
    fn deliver_all(&self, to: &[String]) -> Vec<Duration> {
        let times = self.deliver(to).into_iter();
        let took = times.map(|(accepted, read)| read.saturating_duration_since(accepted)).collect();
        self.wait_idle(to);
        took
    }

    fn spawn(&self, names: impl Iterator<Item = String>) {
        for name in names {
            self.spawn_as(&name, &self.project, &json!({}));
        }
    }

    fn spawn_as(&self, name: &str, project: &str, env: &Value) {
        let mut env = env.clone();
        env["CMUX_DEMO_SCRIPT"] = json!(self.script);
        let new = json!({ "project": project, "name": name, "kind": "demo", "env": env });
        let new: NewAgent = serde_json::from_value(new).unwrap();
        self.runtime.block_on(self.home.client().spawn_agent(&new)).unwrap();
    }

    fn agent(&self, name: &str, project: &str) -> Agent {
        self.runtime.block_on(self.home.client().agent(name, Some(project))).unwrap()
    }

    /// Returns how each agent is, by its name.
    fn agents(&self) -> BTreeMap<String, Phase> {
        let (mut all, mut after) = (BTreeMap::new(), None);
        loop {
            let asked = self.home.client();
            let page = asked.agents(Some(&self.project), after.as_deref());
            let page = self.runtime.block_on(page).unwrap();
            all.extend(page.agents.into_iter().map(|agent| (agent.name, agent.phase)));
            after = page.next;
            if after.is_none() {
                return all;
            }
        }
    }

    /// Waits until agents are at their prompt, and have rested.
    fn wait_idle(&self, names: &[String]) {
        wait(|| {
            let all = self.agents();
            names.iter().all(|name| all.get(name) == Some(&Phase::Idle))
        });
        thread::sleep(REST);
    }
}

fn name(number: usize) -> String {
    format!("agent-{number}")
}

/// Adds a project in a folder of its own, and returns its id.
fn project(home: &TestHome, folder: &str) -> String {
    let root = home.folder(folder);
    fs::create_dir_all(root.join(".git")).unwrap();
    let added = home.json(&["project", "add", root.to_str().unwrap()]);
    added["id"].as_str().unwrap().to_owned()
}

fn message(to: &str, body: &str, project: &str) -> NewMessage {
    let new = json!({ "to": to, "body": body, "project": project });
    serde_json::from_value(new).unwrap()
}

/// Returns which message was delivered, if that is told.
fn delivered(text: &str) -> Option<String> {
    let event: Event = serde_json::from_str(text).ok()?;
    let id = event.data["message"].as_str()?;
    (event.kind == "message.delivered").then(|| id.to_owned())
}

#[track_caller]
fn wait(mut is_so: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < PATIENCE, "it never came to be");
        thread::sleep(Duration::from_millis(20));
    }
}
