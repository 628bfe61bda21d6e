//! A post office: what is sent, what its readers note, and whether the two are the same.

use std::collections::BTreeMap;
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::time::Duration;

use cmux_core::delivery::{Part, Said, delivery_of, text};
use cmux_core::digest::Digest;
use cmux_core::message::{MessageKind as Kind, TYPED_MAX};
use cmux_testkit::daemon::Daemon;
use cmux_testkit::store::{Delivery, deliveries};
use cmux_testkit::wait::eventually;
use cmux_wire::agent::{Agent, Phase};
use cmux_wire::message::{Message, MessageState, NewMessage};
use serde_json::{Value, json};

use crate::world::World;

/// A daemon with agents that note what they were asked, and are done with it soon.
pub(crate) struct Post {
    pub(crate) world: World,
}

impl Post {
    pub(crate) fn new() -> Post {
        Post::of(World::new())
    }

    pub(crate) fn of(world: World) -> Post {
        Post { world }
    }

    /// Launches an agent that notes what it was asked, and waits until it is at its prompt. In all its lives it
    /// goes wrong as `faults` say.
    #[track_caller]
    pub(crate) fn reader(&self, name: &str, faults: &[&str]) -> Agent {
        self.launch(name, faults, &[]);
        self.world.in_phase(name, Phase::Idle)
    }

    /// Launches an agent that goes wrong in this way in its first life alone.
    #[track_caller]
    pub(crate) fn faulty_once(&self, name: &str, fault: (&str, &str)) -> Agent {
        self.launch(name, &[&format!("{}={}", fault.0, fault.1)], &[]);
        let agent = self.world.in_phase(name, Phase::Idle);
        self.write_script(name, &[]);
        agent
    }

    /// Launches an agent with some more variables set, without waiting for it.
    #[track_caller]
    pub(crate) fn launch(&self, name: &str, faults: &[&str], variables: &[(&str, &str)]) -> Agent {
        self.write_script(name, faults);
        let mut env = json!({
            "CMUX_DEMO_RECORD": self.record_file(name),
            "CMUX_DEMO_SCRIPT": self.script_file(name),
        });
        for (variable, value) in variables {
            env[*variable] = Value::from(*value);
        }
        self.world.spawn_as(name, &json!({ "env": env }))
    }

    /// Writes what an agent does in its next life.
    fn write_script(&self, name: &str, faults: &[&str]) {
        let faults: serde_json::Map<String, Value> = faults
            .iter()
            .filter_map(|fault| fault.split_once('='))
            .map(|(name, value)| (name.to_owned(), value.into()))
            .collect();
        let script = json!({ "faults": faults, "rules": [
            { "when": { "contains": "take your time" }, "steps": [{ "think_ms": 600_000 }] },
            { "when": { "contains": "say nothing" }, "steps": [] },
            { "steps": [{ "think_ms": 10 }, { "say": "ok" }] },
        ]});
        fs::write(self.script_file(name), script.to_string()).unwrap();
    }

    fn script_file(&self, name: &str) -> PathBuf {
        self.world.home.folder("scripts").join(format!("{name}.json"))
    }

    fn record_file(&self, name: &str) -> PathBuf {
        self.world.home.folder("records").join(name)
    }

    /// Returns what an agent was asked so far.
    pub(crate) fn record(&self, name: &str) -> Vec<String> {
        let record = fs::read_to_string(self.record_file(name)).unwrap_or_default();
        let prompt = |line: &str| {
            let line: Value = serde_json::from_str(line).unwrap();
            line["prompt"].as_str().unwrap().to_owned()
        };
        record.lines().map(prompt).collect()
    }

    /// Returns the prompts in an agent's conversation: what it was asked and has not forgotten.
    pub(crate) fn conversation(&self, agent: &Agent) -> Vec<String> {
        let session = self.world.agent(&agent.name).session_id.unwrap();
        let file = format!("agents-state/{}/{session}.jsonl", agent.id);
        let lines = fs::read_to_string(self.world.home.root().join(file)).unwrap_or_default();
        let prompt = |line: &str| {
            let line: Value = serde_json::from_str(line).ok()?;
            line["message"]["content"]
                .as_str()
                .filter(|_| line["type"] == "user")
                .map(str::to_owned)
        };
        lines.lines().filter_map(prompt).collect()
    }

    /// Sends a message as the person does.
    #[track_caller]
    pub(crate) fn send(&self, to: &str, body: &str) -> Message {
        self.send_as(to, body, |_| {})
    }

    #[track_caller]
    pub(crate) fn send_as(
        &self,
        to: &str,
        body: &str,
        change: impl FnOnce(&mut NewMessage),
    ) -> Message {
        let mut new = new_message(&self.world.project, to, body);
        change(&mut new);
        self.world.home.ask(|client| async move { client.send_message(&new).await }).unwrap()
    }

    pub(crate) fn message(&self, id: &str) -> Message {
        let id = id.to_owned();
        self.world.home.ask(|client| async move { client.message(&id).await }).unwrap()
    }

    /// Has something done to a message: `cancel` or `retry`.
    #[track_caller]
    pub(crate) fn have(&self, message: &Message, verb: &str) -> Message {
        let (id, verb) = (message.id.clone(), verb.to_owned());
        self.world.home.ask(|client| async move { client.have_message(&id, &verb).await }).unwrap()
    }

    /// Waits until a message is in this state.
    #[track_caller]
    pub(crate) fn wait(&self, message: &Message, state: MessageState) -> Message {
        self.wait_until(message, &state.to_string(), |it| it.state == state)
    }

    /// Waits until a message is as `is_so` wants it.
    #[track_caller]
    pub(crate) fn wait_until(
        &self,
        message: &Message,
        what: &str,
        is_so: impl Fn(&Message) -> bool,
    ) -> Message {
        let mut last = None;
        let waited = catch_unwind(AssertUnwindSafe(|| {
            eventually(what, || {
                // Whoever asks all the time takes it from those who are waited for.
                std::thread::sleep(Duration::from_millis(10));
                let now = self.message(&message.id);
                last = Some(now.clone());
                is_so(&now).then_some(now)
            })
        }));
        waited.unwrap_or_else(|_| {
            let waits = last.as_ref().and_then(|it| it.waiting_for.clone());
            panic!("it never came to be {what}: {last:?} {waits:?}\n{}", self.told())
        })
    }

    /// Waits until each of `messages` is delivered, and sees that each was read once, in this order, and
    /// nothing else was.
    #[track_caller]
    pub(crate) fn arrived(&self, name: &str, messages: &[&Message]) {
        for message in messages {
            self.wait(message, MessageState::Delivered);
        }
        self.check(name, messages);
    }

    /// Sees that an agent has read `messages` once, in this order, and nothing else.
    #[track_caller]
    pub(crate) fn check(&self, name: &str, messages: &[&Message]) {
        self.check_read(&self.record(name), messages);
    }

    /// Sees that `messages` were read in these prompts once, in this order, and nothing else: each prompt is
    /// one delivery as the store has it, and each message is whole.
    #[track_caller]
    pub(crate) fn check_read(&self, prompts: &[String], messages: &[&Message]) {
        let sent = messages.iter().map(|message| (message.id.as_str(), *message)).collect();
        let bodies = messages.iter().map(|it| (it.id.as_str(), it.body.as_str())).collect();
        let read = self.read(prompts, &sent, &bodies);
        let expected: Vec<&str> = messages.iter().map(|it| it.id.as_str()).collect();
        assert_eq!(read, expected, "{prompts:?}\n{}", self.told());
    }

    /// Returns which messages were read in these prompts, in this order, having seen that each prompt is one
    /// delivery as the store has it, and says what was sent.
    #[track_caller]
    pub(crate) fn read(
        &self,
        prompts: &[String],
        sent: &BTreeMap<&str, &Message>,
        bodies: &BTreeMap<&str, &str>,
    ) -> Vec<String> {
        let stored: BTreeMap<String, Delivery> =
            deliveries(&self.world.home.root().join("cmux.db"))
                .into_iter()
                .map(|delivery| (delivery.id.clone(), delivery))
                .collect();
        let mut read = Vec::new();
        for prompt in prompts {
            let id = delivery_of(prompt).unwrap_or_else(|| panic!("it was asked {prompt:?}"));
            let delivery = &stored[&id.to_string()];
            // As in Claude Code, a tab that is pasted is four blanks.
            let said = |text: &str| text.replace('\t', "    ");
            assert_eq!((prompt, &*delivery.state), (&said(&delivery.text), "used"));
            let files: Vec<String> =
                delivery.messages.iter().map(|id| self.mail_file(id)).collect();
            let parts = delivery.messages.iter().zip(&files).map(|(id, file)| {
                let message = sent[id.as_str()];
                part(message, bodies[id.as_str()], file)
            });
            assert_eq!(prompt, &said(&text(id, &parts.collect::<Vec<_>>())));
            read.extend(delivery.messages.iter().cloned());
        }
        read
    }

    fn mail_file(&self, id: &str) -> String {
        self.world.root.join(".cmux/mail").join(id).display().to_string()
    }

    /// Starts a daemon that is killed at this place, in place of the one that runs.
    #[track_caller]
    pub(crate) fn arm(&mut self, place: &str) {
        if let Some(daemon) = self.world.daemon.take() {
            daemon.kill();
        }
        let mut command = self.world.home.command(&["daemon", "run"]);
        command.env("CMUX_FAILPOINT", place);
        let mut daemon = Daemon::launch(&self.world.home, command);
        // It may come to the place before it is ready.
        eventually("the armed daemon answers", || {
            let status = self.world.home.ask(|client| async move { client.daemon().await });
            let is_ready =
                status.is_ok_and(|it| it.pid == Some(daemon.pid().cast_unsigned()) && !it.starting);
            (is_ready || daemon.ended().is_some()).then_some(())
        });
        self.world.daemon = Some(daemon);
    }

    /// Waits until the daemon is killed where it was to be, and starts another.
    #[track_caller]
    pub(crate) fn strike(&mut self, place: &str) {
        self.await_end(place);
        self.world.daemon = Some(self.world.home.daemon());
    }

    /// Waits until the daemon is killed where it was to be, and starts another that is killed at the `next` place.
    #[track_caller]
    pub(crate) fn strike_and_arm(&mut self, place: &str, next: &str) {
        self.await_end(place);
        self.arm(next);
    }

    #[track_caller]
    fn await_end(&mut self, place: &str) {
        let mut daemon = self.world.daemon.take().unwrap();
        eventually(&format!("the daemon comes to {place}"), || daemon.ended());
    }

    /// Returns the log, for whoever reads of a failure.
    pub(crate) fn told(&self) -> String {
        let events = self.world.events().into_iter();
        let told: String = events
            .map(|it| format!("{} {:?} {} {:?} {}\n", it.id, it.at, it.kind, it.subject, it.data))
            .collect();
        told + &self.world.daemon.as_ref().map(Daemon::said).unwrap_or_default()
    }
}

/// Returns a message that is to be.
pub(crate) fn new_message(project: &str, to: &str, body: &str) -> NewMessage {
    NewMessage {
        to: Some(to.to_owned()),
        body: body.to_owned(),
        kind: None,
        project: Some(project.to_owned()),
        reply_to: None,
        key: None,
        ttl_s: None,
        interrupt: false,
    }
}

/// Returns a message as its reader is to read it.
fn part<'a>(message: &'a Message, body: &'a str, file: &'a str) -> Part<'a> {
    let body = match body.len() > TYPED_MAX {
        true => {
            assert_eq!(fs::read_to_string(file).unwrap(), body, "{file}");
            let bytes = u64::try_from(body.len()).unwrap();
            Said::File { path: file, bytes, sha256: Digest::of(body.as_bytes()) }
        }
        false => Said::Text(body),
    };
    let is_kind = |kind: &&Kind| kind.name() == message.kind.to_string();
    let kind = *Kind::ALL.iter().find(is_kind).unwrap();
    Part { id: message.id.parse().unwrap(), from: &message.from, kind, body }
}
