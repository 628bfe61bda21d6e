//! Scripted agents that record what they read, and those who write to them.

use std::fs;
use std::path::PathBuf;
use std::thread::sleep;
use std::time::Duration;

use cmux_testkit::home::TestHome;
use cmux_testkit::person::Person;
use cmux_testkit::wait::eventually;
use cmux_wire::agent::{Agent, Phase};
use cmux_wire::client::{ClientError, MessageQuery};
use cmux_wire::message::{Message, MessageState, NewMessage};
use serde_json::{Value, json};

use crate::world::World;

/// How often it is asked what has become of something: whoever asks all the time takes it from those who are
/// waited for.
const ASK_EVERY: Duration = Duration::from_millis(30);

/// A script that has a word said to any prompt.
pub(crate) const SHORT: &str = r#"{"rules":[{"steps":[{"say":"ok"}]}]}"#;

/// A daemon with agents that write down what they read and what somebody allowed them.
pub(crate) struct Scene {
    pub(crate) world: World,
}

impl Scene {
    pub(crate) fn new() -> Scene {
        Scene { world: World::new() }
    }

    pub(crate) fn furnished(furnish: impl FnOnce(&mut TestHome)) -> Scene {
        Scene { world: World::furnished(furnish) }
    }

    /// Returns where something of an agent's is written down.
    pub(crate) fn path(&self, name: &str, what: &str) -> PathBuf {
        self.world.home.folder("scene").join(format!("{name}.{what}"))
    }

    /// Launches a scripted agent that goes wrong in these ways and says little, and waits until it is at its
    /// prompt.
    #[track_caller]
    pub(crate) fn agent(&self, name: &str, faults: &[&str]) -> Agent {
        self.scripted(name, SHORT, faults)
    }

    /// Launches a scripted agent, and waits until it is at its prompt.
    #[track_caller]
    pub(crate) fn scripted(&self, name: &str, script: &str, faults: &[&str]) -> Agent {
        let path = |what: &str| self.path(name, what).display().to_string();
        fs::write(path("json"), script).unwrap();
        let env = json!({
            "CMUX_DEMO_RECORD": path("record"),
            "CMUX_DEMO_APPROVALS": path("approvals"),
            "CMUX_DEMO_SCRIPT": path("json"),
            "CMUX_DEMO_FAULTS": faults.join("\n"),
        });
        self.world.spawn_as(name, &json!({ "env": env }));
        self.world.in_phase(name, Phase::Idle)
    }

    /// Sends a message, or returns why it is not taken.
    pub(crate) fn try_send(&self, to: &str, body: &str) -> Result<String, ClientError> {
        let new = json!({ "to": to, "body": body, "project": self.world.project });
        let new: NewMessage = serde_json::from_value(new).unwrap();
        let sent = self.world.home.ask(|client| async move { client.send_message(&new).await });
        sent.map(|message| message.id)
    }

    /// Sends a message, and returns its id.
    #[track_caller]
    pub(crate) fn send(&self, to: &str, body: &str) -> String {
        self.try_send(to, body).unwrap()
    }

    pub(crate) fn message(&self, id: &str) -> Message {
        let id = id.to_owned();
        self.world.home.ask(|client| async move { client.message(&id).await }).unwrap()
    }

    /// Waits until a message is as `is_so` wants it.
    #[track_caller]
    pub(crate) fn wait(&self, id: &str, what: &str, is_so: impl Fn(&Message) -> bool) -> Message {
        let mut last = None;
        let waited = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            eventually(what, || {
                sleep(ASK_EVERY);
                let message = self.message(id);
                last = Some(message.clone());
                is_so(&message).then_some(message)
            })
        }));
        waited.unwrap_or_else(|_| {
            let last =
                last.map(|it| format!("{:?} {:?} {:?}", it.state, it.waiting_for, it.reason));
            let screen = self.screen_of(id);
            let said = self.world.daemon.as_ref().map(|it| it.said()).unwrap_or_default();
            panic!("{id} never came to be {what}: {last:?}\n{screen}\n{said}")
        })
    }

    /// Waits until a message is read.
    #[track_caller]
    pub(crate) fn read(&self, id: &str) -> Message {
        self.wait(id, "read", |it| it.state == MessageState::Delivered)
    }

    /// Waits until a message waits for this.
    #[track_caller]
    pub(crate) fn waits_for(&self, id: &str, what: &str) {
        self.wait(id, what, |it| it.waiting_for.as_deref() == Some(what));
    }

    /// Returns whether any message to an agent waits for this now.
    pub(crate) fn is_held(&self, to: &str, what: &str) -> bool {
        let wanted = MessageQuery {
            to: Some(to.to_owned()),
            project: Some(self.world.project.clone()),
            ..MessageQuery::default()
        };
        let asked = self.world.home.ask(|client| async move { client.messages(&wanted).await });
        asked.unwrap().messages.iter().any(|it| it.waiting_for.as_deref() == Some(what))
    }

    fn screen_of(&self, id: &str) -> String {
        let to = self.message(id).to;
        self.screen(&self.world.agent(&to))
    }

    /// Returns what is on an agent's screen.
    pub(crate) fn screen(&self, agent: &Agent) -> String {
        self.world.at_tmux(&["capture-pane", "-p", "-t", agent.pane.as_deref().unwrap_or("%")])
    }

    /// Waits until this is on an agent's screen.
    #[track_caller]
    pub(crate) fn sees(&self, agent: &Agent, text: &str) {
        eventually(&format!("`{text}` is seen"), || {
            sleep(ASK_EVERY);
            self.screen(agent).contains(text).then_some(())
        });
    }

    /// Returns all that an agent has read so far.
    pub(crate) fn prompts(&self, name: &str) -> Vec<String> {
        let lines = fs::read_to_string(self.path(name, "record")).unwrap_or_default();
        let prompt = |line: &str| {
            let line: Value = serde_json::from_str(line).unwrap();
            line["prompt"].as_str().unwrap().to_owned()
        };
        lines.lines().map(prompt).collect()
    }

    /// Returns all that somebody has allowed an agent by a key.
    pub(crate) fn approvals(&self, name: &str) -> String {
        fs::read_to_string(self.path(name, "approvals")).unwrap_or_default()
    }

    /// Has somebody sit down at an agent.
    pub(crate) fn person(&self, agent: &Agent) -> Person {
        let server = format!("{}/tmux/{}", self.world.home.root().display(), self.world.project);
        Person::at(server.as_ref(), "cmux", agent.pane.as_deref().unwrap())
    }
}

/// Returns the messages of a prompt that cmux typed: which they are, and what was typed of each.
#[track_caller]
pub(crate) fn messages(prompt: &str) -> Vec<(String, String)> {
    let mut found: Vec<(String, Vec<&str>)> = Vec::new();
    for line in prompt.split('\n') {
        match header(line) {
            Some(id) => {
                // Between two of them there is an empty line.
                if let Some((_, before)) = found.last_mut() {
                    assert_eq!(before.pop(), Some(""), "{prompt:?}");
                }
                found.push((id.to_owned(), Vec::new()));
            }
            None => found.last_mut().unwrap_or_else(|| panic!("{prompt:?}")).1.push(line),
        }
    }
    found.into_iter().map(|(id, lines)| (id, lines.join("\n"))).collect()
}

/// Returns the message that a line is the header of.
fn header(line: &str) -> Option<&str> {
    let inside = line.strip_prefix("[cmux ")?.strip_suffix(']')?;
    inside.rsplit(" · ").next().filter(|last| last.starts_with("msg_"))
}

/// What is at an empty prompt.
const PLACEHOLDER: &str = "Try \"explain this folder\"";

/// Returns what is at the prompt of the scripted agent, if its screen shows that.
pub(crate) fn composer(screen: &str) -> Option<String> {
    let lines: Vec<&str> = screen.lines().collect();
    let bottom = lines.iter().rposition(|line| line.starts_with('╰'))?;
    let top = lines[..bottom].iter().rposition(|line| line.starts_with('╭'))?;
    let inside = lines[top + 1..bottom].iter().map(|line| line.trim_matches('│').trim());
    let text = inside.collect::<Vec<_>>().join("\n");
    let text = text.strip_prefix('>')?.trim();
    Some(if text == PLACEHOLDER { String::new() } else { text.to_owned() })
}
