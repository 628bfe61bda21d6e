//! What is tried with every CLI in the same way: it is launched, written to, watched, killed and sat at.

pub(crate) mod alone;
pub(crate) mod block;
pub(crate) mod deaths;
pub(crate) mod launch;
pub(crate) mod mail;
pub(crate) mod people;
pub(crate) mod phases;
pub(crate) mod rules;
pub(crate) mod screens;
pub(crate) mod usage;

use std::path::Path;
use std::time::{Duration, Instant};

use cmux_testkit::model::{Outcome, Visit};
use cmux_wire::agent::{Agent, Phase};
use cmux_wire::event::Event;
use cmux_wire::message::Message;

use crate::stage::{Cli, SUPERVISOR, Stage};

/// How the role of a supervisor begins.
const ROLE: &str = "You are supervisor, the supervisor of the project";

/// For how long one is at its prompt whose role is read, if it was not seen to read it.
const RESTS_FOR: Duration = Duration::from_secs(3);

/// A CLI, and what the same story needs to know of it.
pub(crate) struct Part {
    pub(crate) cli: Cli,
    /// Whether its role is its first prompt, since it has no other way to be told.
    pub(crate) role_is_prompt: bool,
    /// Returns a directive by which its model runs a command in its shell.
    pub(crate) runs: fn(&str) -> String,
    /// Returns directives by which its model puts other words into a file, as it usually does.
    pub(crate) edits: fn(&Path, &str, &str) -> String,
    /// Returns a directive by which its model has a command run about which a person is asked.
    pub(crate) asks: fn(&str) -> String,
    pub(crate) confirms: Confirms,
    /// Who may decide how it is.
    pub(crate) witnesses: &'static [&'static str],
    /// What it asks one after the other before a command is run that changes something outside of the project: what
    /// each question says, and as what its screen is known.
    pub(crate) questions: &'static [(&'static str, &'static str)],
    /// Of which of its hooks what they are told is recorded.
    pub(crate) hooks: &'static [&'static str],
    /// What a model's refusal for now is, if the CLI shows it.
    pub(crate) limit: Option<&'static str>,
}

/// How it is known that a message was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Confirms {
    /// The hook of this name has claimed it.
    Hook(&'static str),
    /// The CLI's own API has answered.
    Api,
    /// Nobody but its screen tells of it.
    Screen,
}

impl Part {
    /// Sets the stage with a supervisor at its prompt.
    #[track_caller]
    fn supervised(&self) -> (Stage, Agent) {
        let stage = Stage::set(&self.cli);
        let supervisor = self.begun(&stage);
        (stage, supervisor)
    }

    /// Launches a supervisor, and waits until it is at its prompt and knows what it is.
    #[track_caller]
    fn begun(&self, stage: &Stage) -> Agent {
        let supervisor = stage.supervisor(&self.cli);
        if !self.role_is_prompt {
            return supervisor;
        }
        let mut rests: Option<Instant> = None;
        stage.eventually("its role is read", || {
            let phases = stage.post.world.events_of("agent.phase");
            if phases.iter().any(|it| it.data["from"] == "busy" && it.data["to"] == "idle") {
                return Some(());
            }
            // Who looks seldom may never have seen it at that.
            let is_idle = stage.post.world.agent(SUPERVISOR).phase == Phase::Idle;
            if !(is_idle && is_role_answered(stage)) {
                rests = None;
                return None;
            }
            (rests.get_or_insert_with(Instant::now).elapsed() > RESTS_FOR).then_some(())
        });
        stage.in_phase(SUPERVISOR, Phase::Idle)
    }

    fn kind(&self) -> &'static str {
        self.cli.kind
    }
}

/// Whether a model has answered to what its agent is.
fn is_role_answered(stage: &Stage) -> bool {
    let is_it = |it: &Visit| {
        let is_role = it.asked.prompt().is_some_and(|(_, text)| text.starts_with(ROLE));
        is_role && it.is_main() && it.outcome == Outcome::Answered
    };
    stage.model.look(|visits| visits.iter().any(is_it))
}

/// Waits until an agent's model is asked something of the conversation, and does not answer.
#[track_caller]
pub(crate) fn asked(stage: &Stage) {
    stage.eventually("its model is asked", || {
        let waits = |it: &Visit| it.is_main() && it.outcome == Outcome::Underway;
        stage.model.look(|visits| visits.iter().any(waits).then_some(()))
    });
}

/// Waits until nobody waits any more for what an agent's model was asked.
#[track_caller]
pub(crate) fn left(stage: &Stage) {
    stage.eventually("it does not wait for its model", || {
        let waits = |it: &Visit| it.outcome == Outcome::Underway;
        stage.model.look(|visits| !visits.iter().any(waits)).then_some(())
    });
}

/// Checks that no agent has asked anybody anything.
#[track_caller]
pub(crate) fn nobody_was_asked(stage: &Stage) {
    let phases = stage.post.world.events_of("agent.phase");
    let asking: Vec<&Event> = phases.iter().filter(|it| it.data["to"] == "asking").collect();
    assert!(asking.is_empty(), "somebody was asked: {asking:?}");
}

/// Returns what the supervisor's model was asked, the oldest first, once it is at rest. A CLI that does not tell
/// its model of sessions must be the only one on the stage. Its role is not among it.
#[track_caller]
fn heard(stage: &Stage) -> Vec<String> {
    let supervisor = stage.in_phase(SUPERVISOR, Phase::Idle);
    let nameless = stage.model.look(|visits| {
        let mut visits = visits.iter().rev();
        let last = visits.find(|it| it.is_main() && it.asked.session.is_none())?;
        Some(last.asked.prompts().into_iter().map(str::to_owned).collect())
    });
    let mut heard: Vec<String> = nameless.unwrap_or_else(|| stage.prompts(&supervisor));
    if heard.first().is_some_and(|it| it.starts_with(ROLE)) {
        heard.remove(0);
    }
    heard
}

/// Checks that the supervisor's model was asked these and nothing else, in this order. What a CLI has taken is
/// delivered, even if it asks its model only later.
#[track_caller]
fn check_heard(stage: &Stage, messages: &[&Message]) {
    if let Some(last) = messages.last() {
        stage.eventually("the last is at its model", || {
            heard(stage).iter().any(|it| it.contains(&last.id)).then_some(())
        });
    }
    stage.post.check_read(&heard(stage), messages);
}
