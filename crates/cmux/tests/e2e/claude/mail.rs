//! What is sent reaches the model.

use std::fs;

use cmux_core::digest::Digest;
use cmux_core::message::TYPED_MAX;
use cmux_wire::agent::Phase;
use cmux_wire::event::Event;
use cmux_wire::message::Message;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;

use super::supervised;
use crate::proof::{self, Shown};
use crate::stage::{SUPERVISOR, Stage};

#[test]
fn a_message_reaches_the_model_whole_and_its_hook_claims_it() {
    let (stage, supervisor) = supervised();
    let long = "0123456789abcde\n".repeat(TYPED_MAX / 16);
    assert_eq!(long.len(), TYPED_MAX);
    let mut sent = Vec::new();
    for body in [
        "Hello there.",
        "Several lines:\n\n    one that is indented,\n* a list,\n\nand an end.",
        "Grüße aus Zürich, 日本語のテキスト, עברית, 👩\u{200d}👩\u{200d}👧 and 🍏.",
        &long,
    ] {
        let message = stage.tell(body);
        check_claimed(&stage, &message);
        sent.push(message);
    }
    stage.in_phase(SUPERVISOR, Phase::Idle);
    stage.post.check_read(&stage.prompts(&supervisor), &sent.iter().collect::<Vec<_>>());
    assert_eq!(stage.model.strays(), [""; 0]);
    proof::shown(&stage, "claude", Shown::Deliver);
    proof::shown(&stage, "claude", Shown::Confirm);
}

#[test]
fn what_it_composes_of_letters_and_accents_is_still_known_as_sent() {
    let (stage, supervisor) = supervised();
    let message = stage.tell("Das Cafe\u{301} hat geo\u{308}ffnet.");
    check_claimed(&stage, &message);
    let prompts = stage.prompts(&supervisor);
    assert_eq!(prompts.len(), 1, "{prompts:?}");
    assert!(prompts[0].ends_with("\nDas Caf\u{e9} hat ge\u{f6}ffnet."), "{prompts:?}");
}

#[test]
fn what_was_typed_twice_while_it_stood_still_is_read_once() {
    let (stage, supervisor) = supervised();
    let world = &stage.post.world;
    let cli = Pid::from_raw(world.cli(supervisor.pid.unwrap()).cast_signed()).unwrap();
    kill_process(cli, Signal::STOP).unwrap();
    let message = stage.post.send(SUPERVISOR, "Read this,\nand only once.");
    let pane = supervisor.pane.as_deref().unwrap();
    stage.eventually("it is typed again", || {
        world.at_tmux(&["show-options", "-p", "-t", pane]).contains("-2-paste").then_some(())
    });
    kill_process(cli, Signal::CONT).unwrap();
    let message = stage.delivered(&message);
    stage.in_phase(SUPERVISOR, Phase::Idle);
    stage.post.check_read(&stage.prompts(&supervisor), &[&message]);
}

#[test]
fn a_megabyte_is_a_file_that_the_model_is_told_of() {
    let (stage, supervisor) = supervised();
    let body = "A line of a long message.\n".repeat((1 << 20) / 26);
    let message = stage.tell(&body);
    check_claimed(&stage, &message);
    let prompts = stage.prompts(&supervisor);
    stage.post.check_read(&prompts, &[&message]);
    let sha256 = Digest::of(body.as_bytes());
    assert!(prompts[0].contains(&sha256.hex()), "{prompts:?}");
    let file = prompts[0].lines().find(|line| line.starts_with('/')).unwrap();
    assert_eq!(Digest::of(&fs::read(file).unwrap()), sha256);
    // It may look into the file, and nobody is asked whether it may.
    let look = json!({ "file_path": file, "limit": 3 });
    stage.tell(&format!("@@ tool Read {look}\n@@ say read"));
    let supervisor = stage.in_phase(SUPERVISOR, Phase::Idle);
    let session = supervisor.session_id.as_deref().unwrap();
    let read = stage.model.conversation(session).unwrap();
    let read = read.results();
    assert!(read.iter().any(|it| it.contains("A line of a long message.")), "{read:?}");
    let phases = stage.post.world.events_of("agent.phase");
    assert!(phases.iter().all(|it| it.data["to"] != "asking"), "{phases:?}");
}

/// Checks that a message was claimed by the CLI's own hook, and then seen to be used.
#[track_caller]
fn check_claimed(stage: &Stage, message: &Message) {
    let evidence = message.evidence.as_deref().unwrap_or_default();
    assert!(["transcript", "turn"].contains(&evidence), "{message:?} by {evidence:?}");
    let events = stage.post.world.events();
    let is_delivered =
        |it: &&Event| it.kind == "message.delivered" && it.data["message"] == message.id.as_str();
    let delivered = events.iter().find(is_delivered).unwrap();
    // It may be seen to be used so soon that it is never told to be claimed and nothing more.
    let hook = events.iter().filter(|event| event.kind == "hook.received").find(|event| {
        let claim = &event.data["claim"];
        claim["outcome"] == "claimed" && claim["delivery"] == delivered.data["delivery"]
    });
    let hook = hook.unwrap_or_else(|| panic!("nobody claimed {message:?}"));
    assert!(hook.data["name"] == "UserPromptSubmit" && hook.id < delivered.id, "{hook:?}");
}
