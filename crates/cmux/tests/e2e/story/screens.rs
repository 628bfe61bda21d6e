//! Screens that a story comes by seldom: dialogs before the first prompt, and what somebody has begun to write.

use std::fs;

use cmux_wire::agent::{Agent, Phase};
use cmux_wire::message::MessageState;
use cmux_wire::why::{Saying, Why};
use serde_json::json;

use super::Part;
use super::rules::know;
use crate::stage::{Cli, SUPERVISOR, Stage};

/// What is in the composer.
const DRAFT: &str = "please wait,\nI am still typing";

/// What a person has begun to write is known from an empty prompt.
pub(crate) fn draft(part: &Part) {
    let (stage, supervisor) = part.supervised();
    paste(&stage, &supervisor, DRAFT);
    let last = DRAFT.lines().last().unwrap();
    stage.eventually(last, || stage.screen(SUPERVISOR).contains(last).then_some(()));
    know(&stage, &supervisor, "draft");
}

/// Pastes a text at an agent's prompt.
pub(crate) fn paste(stage: &Stage, agent: &Agent, text: &str) {
    let (world, pane) = (&stage.post.world, agent.pane.as_deref().unwrap());
    world.at_tmux(&["set-buffer", "-b", "draft", "--", text]);
    world.at_tmux(&["paste-buffer", "-p", "-r", "-d", "-b", "draft", "-t", pane]);
}

/// A question of its model's is known, by a daemon that comes later, too, and nothing is given to it until it is
/// answered with this key, which it says `words` about.
pub(crate) fn question(part: &Part, prompt: &str, (words, key): (&str, &str)) {
    let (mut stage, supervisor) = part.supervised();
    stage.tell(prompt);
    stage.in_phase(SUPERVISOR, Phase::Asking);
    know(&stage, &supervisor, "asking-question");
    let next = stage.post.send(SUPERVISOR, "Go on.");
    let said_before = said(&stage, part).unwrap().at;
    stage.post.world.reborn();
    // It has heard of no question, and is told of it all the same before it believes anything.
    let told = stage.eventually("it is told anew how it is", || {
        said(&stage, part).filter(|it| it.at > said_before && it.says != "unknown")
    });
    assert_eq!(told.says, "asking: question");
    stage.explained(SUPERVISOR, Phase::Asking, part.witnesses);
    let next = stage.post.message(&next.id);
    assert_eq!(next.state, MessageState::Queued, "{}", stage.post.told());
    stage.answer(&supervisor, words, key);
    stage.delivered(&next);
    let phases = stage.post.world.events_of("agent.phase");
    let asked = phases.iter().filter(|it| it.data["to"] == "asking").count();
    assert_eq!(asked, 1, "it was thought to have gone on: {phases:?}");
}

/// Returns what the one whom cmux believes first says of the supervisor, if it has said anything.
fn said(stage: &Stage, part: &Part) -> Option<Saying> {
    let why: Why = serde_json::from_value(stage.told(&["agent", "why", SUPERVISOR])).unwrap();
    why.sayings.into_iter().find(|it| it.witness == part.witnesses[0])
}

/// Launches an agent whose start is held up by a dialog that cmux may not answer, and waits until that is known.
#[track_caller]
pub(crate) fn dialog(stage: &Stage, cli: &Cli, args: &[&str], screen: &str) -> Agent {
    stage.post.world.spawn_as(SUPERVISOR, &json!({ "kind": cli.kind, "args": args }));
    let agent = stage.in_phase(SUPERVISOR, Phase::Asking);
    know(stage, &agent, screen);
    agent
}

/// Has agents of a kind ask as this says from now on.
#[track_caller]
pub(crate) fn permitted(stage: &mut Stage, cli: &Cli, permissions: &str) {
    let config = stage.post.world.home.root().join("config.toml");
    let written = fs::read_to_string(&config).unwrap();
    let head = format!("[kinds.{}]\n", cli.kind);
    let said = format!("{head}permissions = \"{permissions}\"\n");
    assert!(written.contains(&head), "{written}");
    fs::write(&config, written.replace(&head, &said)).unwrap();
    stage.post.world.reborn();
}
