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
        let script = json!({ "rules": [
            { "when": { "contains": "take your time" }, "steps": [{ "think_ms": 600_000 }] },
            { "steps": [{ "think_ms": 10 }, { "say": "ok" }] },
        ]});
        fs::write(world.home.folder("records").join("script.json"), script.to_string()).unwrap();
        Post { world }
    }

    /// Launches an agent that notes what it was asked, and waits until it is at its prompt. It goes wrong as
    /// `faults` say.
    #[track_caller]
    pub(crate) fn reader(&self, name: &str, faults: &[&str]) -> Agent {
        self.reader_with(name, faults, &[])
    }

    /// Launches such an agent with some more variables set.
    #[track_caller]
    pub(crate) fn reader_with(
        &self,
        name: &str,
        faults: &[&str],
        variables: &[(&str, &str)],
    ) -> Agent {
        self.launch(name, faults, variables);
        self.world.in_phase(name, Phase::Idle)
    }

    /// Launches such an agent without waiting for it.
    #[track_caller]
    pub(crate) fn launch(&self, name: &str, faults: &[&str], variables: &[(&str, &str)]) -> Agent {
        let script = self.world.home.folder("records").join("script.json");
        let mut env = json!({
            "CMUX_DEMO_RECORD": self.record_file(name),
            "CMUX_DEMO_SCRIPT": script,
        });
        for (variable, value) in variables {
            env[*variable] = Value::from(*value);
        }
        let args: Vec<String> = faults.iter().map(|fault| format!("--fault={fault}")).collect();
        self.world.spawn_as(name, &json!({ "env": env, "args": args }))
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

    /// Sees that an agent has read `messages` once, in this order, and nothing else: each prompt is one
    /// delivery as the store has it, and each message is whole.
    #[track_caller]
    pub(crate) fn check(&self, name: &str, messages: &[&Message]) {
        let sent: BTreeMap<&str, &Message> =
            messages.iter().map(|message| (message.id.as_str(), *message)).collect();
        let bodies = messages.iter().map(|it| (it.id.as_str(), it.body.as_str())).collect();
        let read = self.read(name, &sent, &bodies);
        let expected: Vec<&str> = messages.iter().map(|it| it.id.as_str()).collect();
        assert_eq!(read, expected, "{name}: {:?}\n{}", self.record(name), self.told());
    }

    /// Returns which messages an agent has read, in this order, having seen that each prompt is one delivery
    /// as the store has it, and says what was sent.
    #[track_caller]
    pub(crate) fn read(
        &self,
        name: &str,
        sent: &BTreeMap<&str, &Message>,
        bodies: &BTreeMap<&str, &str>,
    ) -> Vec<String> {
        let stored: BTreeMap<String, Delivery> =
            deliveries(&self.world.home.root().join("cmux.db"))
                .into_iter()
                .map(|delivery| (delivery.id.clone(), delivery))
                .collect();
        let mut read = Vec::new();
        for prompt in self.record(name) {
            let id = delivery_of(&prompt).unwrap_or_else(|| panic!("{name} was asked {prompt:?}"));
            let delivery = &stored[&id.to_string()];
            // As in Claude Code, a tab that is pasted is four blanks.
            let said = |text: &str| text.replace('\t', "    ");
            assert_eq!((prompt.clone(), &*delivery.state), (said(&delivery.text), "used"));
            let files: Vec<String> =
                delivery.messages.iter().map(|id| self.mail_file(id)).collect();
            let parts = delivery.messages.iter().zip(&files).map(|(id, file)| {
                let message = sent[id.as_str()];
                part(message, bodies[id.as_str()], file)
            });
            assert_eq!(prompt, said(&text(id, &parts.collect::<Vec<_>>())));
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
        let mut daemon = self.world.daemon.take().unwrap();
        eventually(&format!("the daemon comes to {place}"), || daemon.ended());
        self.world.daemon = Some(self.world.home.daemon());
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
