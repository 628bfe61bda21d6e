//! A disk that fills up while mail is accepted and typed: nothing that was accepted is lost.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use cmux_testkit::dice::Dice;
use cmux_testkit::disk::{BLOCK, SmallDisk};
use cmux_testkit::wait::eventually;
use cmux_wire::agent::{NewAgent, Phase};
use cmux_wire::client::{Client, ClientError};
use cmux_wire::message::{Message, MessageState};
use cmux_wire::project::NewProject;
use serde_json::{Value, json};
use tokio::runtime::{Builder, Runtime};

use crate::PROGRAM;
use crate::post::new_message;

const MB: u64 = 1 << 20;

/// How many messages are sent while the disk is full, or about to be, and how many at most until one is refused:
/// what the store has of it already takes some more.
const TRIES: u64 = 12;
const TRIES_MAX: u64 = 400;

#[test]
fn what_is_accepted_on_a_disk_that_fills_up_is_read_once_and_in_order() {
    let mut dice = Dice::seeded();
    let desk = Desk::new();
    let daemon = desk.disk.daemon();
    let (project, agent) = desk.agent();
    let mut accepted: Vec<Message> = Vec::new();
    for round in 0..3 {
        let fills_at = dice.below(TRIES);
        let mut is_refused = false;
        for n in 0..TRIES_MAX {
            if n >= TRIES && is_refused {
                break;
            }
            if n == fills_at || n > TRIES {
                desk.disk.fill(if n == fills_at { dice.below(4) * BLOCK } else { 0 });
            }
            let body = format!("{n} of {round}\n{}", "some words ".repeat(30));
            let new = new_message(&project, "worker", &body);
            match desk.ask(|client| async move { client.send_message(&new).await }) {
                Ok(message) => accepted.push(message),
                Err(ClientError::Refused(problem)) => {
                    assert_eq!(problem.status, 507, "{problem:?}");
                    is_refused = true;
                }
                Err(error) => panic!("{error:?}: {}", daemon.said()),
            }
            // It has time to type some of it.
            std::thread::sleep(Duration::from_millis(dice.below(100)));
        }
        assert!(is_refused, "the disk never was full in round {round}");
        desk.disk.make_room();
        for message in &accepted {
            eventually("it is delivered", || {
                let id = message.id.clone();
                let now = desk.ask(|client| async move { client.message(&id).await }).unwrap();
                (now.state == MessageState::Delivered).then_some(())
            });
        }
    }
    let read = desk.conversation(&agent);
    let mut at = 0;
    for message in &accepted {
        let copies = read.iter().filter(|prompt| prompt.contains(&message.id)).count();
        assert_eq!(copies, 1, "{message:?}: {read:?}");
        let place = read.iter().position(|prompt| prompt.contains(&message.id)).unwrap();
        assert!(place >= at, "they are in order");
        at = place;
    }
    drop(daemon);
}

/// What is too long to be typed waits for a disk that takes its file, says so, and can be taken back meanwhile.
#[test]
fn a_long_message_waits_for_room_and_can_be_taken_back() {
    let desk = Desk::new();
    let daemon = desk.disk.daemon();
    let (project, agent) = desk.agent_in(&desk.disk.inner_root().join("work"));
    let have = |verb: &str| {
        let (agent, verb) = (agent.clone(), verb.to_owned());
        desk.ask(|client| async move { client.have_agent(&agent, &verb, None).await }).unwrap();
    };
    let send = |letter: &str| {
        let new = new_message(&project, "worker", &letter.repeat(1 << 20));
        desk.ask(|client| async move { client.send_message(&new).await }).unwrap()
    };
    let look = |message: &Message| {
        let id = message.id.clone();
        desk.ask(|client| async move { client.message(&id).await }).unwrap()
    };
    have("pause");
    let first = send("a");
    let second = send("b");
    desk.disk.fill(MB / 2);
    have("resume");
    let waits = eventually("it waits for the disk", || {
        let now = look(&first);
        (now.waiting_for.as_deref() == Some("disk")).then_some(now)
    });
    assert_eq!(waits.state, MessageState::Typing, "{}", daemon.said());
    let id = first.id.clone();
    let taken = desk.ask(|client| async move { client.have_message(&id, "cancel").await }).unwrap();
    assert_eq!(taken.state, MessageState::Cancelled, "{taken:?}");
    desk.disk.make_room();
    eventually("the other is read", || {
        (look(&second).state == MessageState::Delivered).then_some(())
    });
    let read = desk.conversation(&agent);
    let of = |message: &Message| read.iter().filter(|it| it.contains(&message.id)).count();
    assert_eq!((of(&first), of(&second)), (0, 1), "{read:?}");
    drop(daemon);
}

/// A project and an agent on a small disk.
struct Desk {
    disk: SmallDisk,
    runtime: Runtime,
}

impl Desk {
    fn new() -> Desk {
        let disk = SmallDisk::new(PROGRAM, 24 * MB);
        fs::write(disk.root().join("config.toml"), "[store]\nballast_mb = 2\n").unwrap();
        Desk { disk, runtime: Builder::new_current_thread().enable_all().build().unwrap() }
    }

    fn ask<T, F>(&self, question: impl FnOnce(Client) -> F) -> Result<T, ClientError>
    where
        F: Future<Output = Result<T, ClientError>>,
    {
        self.runtime.block_on(question(self.disk.client()))
    }

    /// Returns a folder beside the home, where there is room.
    fn beside(&self, name: &str) -> PathBuf {
        let folder = self.disk.inner_root().with_file_name(name);
        fs::create_dir_all(&folder).unwrap();
        folder
    }

    /// Adds a project where there is room, and launches an agent in it. Returns the project's id and the agent's.
    fn agent(&self) -> (String, String) {
        let root = self.beside("project");
        fs::create_dir_all(root.join(".git")).unwrap();
        self.agent_in(&root)
    }

    /// Adds the project at `root`, and launches an agent in it.
    fn agent_in(&self, root: &Path) -> (String, String) {
        if let Ok(within) = root.strip_prefix(self.disk.inner_root()) {
            fs::create_dir_all(self.disk.root().join(within).join(".git")).unwrap();
        }
        let new = NewProject { root: root.display().to_string(), name: None };
        let project = self.ask(|client| async move { client.add_project(&new).await }).unwrap().id;
        let script = self.beside("scripts").join("worker.json");
        fs::write(&script, r#"{"rules":[{"steps":[{"say":"ok"}]}]}"#).unwrap();
        let new = json!({ "project": project, "name": "worker", "kind": "demo",
                          "env": { "CMUX_DEMO_SCRIPT": script } });
        let new: NewAgent = serde_json::from_value(new).unwrap();
        self.ask(|client| async move { client.spawn_agent(&new).await }).unwrap();
        let agent = eventually("it is at its prompt", || {
            let project = project.clone();
            let agent =
                self.ask(|client| async move { client.agent("worker", Some(&project)).await });
            agent.ok().filter(|agent| agent.phase == Phase::Idle)
        });
        (project, agent.id)
    }

    /// Returns the prompts in all conversations of an agent.
    fn conversation(&self, agent: &str) -> Vec<String> {
        let folder = self.disk.root().join("agents-state").join(agent);
        let files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        let files = files.filter(|path| path.extension().is_some_and(|it| it == "jsonl"));
        let lines: String = files.map(|path| fs::read_to_string(path).unwrap()).collect();
        let prompt = |line: &str| {
            let line: Value = serde_json::from_str(line).ok()?;
            line["message"]["content"]
                .as_str()
                .filter(|_| line["type"] == "user")
                .map(str::to_owned)
        };
        lines.lines().filter_map(prompt).collect()
    }
}
