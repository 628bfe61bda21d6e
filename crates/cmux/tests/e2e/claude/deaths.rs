//! It dies, and goes on where it was.

use std::fs;

use cmux_testkit::model::asked::Said;
use cmux_wire::agent::Phase;
use serde_json::json;

use super::{asked, left, supervised};
use crate::proof::{self, Shown};
use crate::stage::SUPERVISOR;
use crate::story::deaths::check_not_asked_again;
use crate::world::kill;

#[test]
fn killed_it_comes_back_and_knows_what_was_said() {
    let (stage, before) = supervised();
    let first = stage.tell("The word is swordfish.\n@@ say I keep it in mind.");
    stage.in_phase(SUPERVISOR, Phase::Idle);
    kill(stage.post.world.cli(before.pid.unwrap()));
    let after = stage.back(&before);
    assert_eq!(after.session_id, before.session_id);
    let second = stage.tell("What is the word?");
    stage.in_phase(SUPERVISOR, Phase::Idle);
    stage.post.check_read(&stage.prompts(&after), &[&first, &second]);
    let conversation = stage.model.conversation(after.session_id.as_deref().unwrap()).unwrap();
    let answer = Said::Model("I keep it in mind.".to_owned());
    assert!(conversation.said.contains(&answer), "{conversation:?}");
    proof::shown(&stage, "claude", Shown::Resume);
}

#[test]
fn killed_when_its_session_had_no_more_than_a_name_it_begins_another() {
    let (stage, before) = supervised();
    let world = &stage.post.world;
    let session = before.session_id.clone().unwrap();
    let project = world.root.display().to_string().replace(|it: char| !it.is_alphanumeric(), "-");
    let folder = world.home.folder("person").join(".claude/projects").join(project);
    fs::create_dir_all(&folder).unwrap();
    let name = json!({ "type": "custom-title", "customTitle": "supervisor", "sessionId": session });
    fs::write(folder.join(format!("{session}.jsonl")), format!("{name}\n")).unwrap();
    kill(world.cli(before.pid.unwrap()));
    stage.back(&before);
    let message = stage.tell("Read this.");
    stage.in_phase(SUPERVISOR, Phase::Idle);
    let after = stage.post.world.agent(SUPERVISOR);
    assert_ne!(after.session_id, before.session_id);
    stage.post.check_read(&stage.prompts(&after), &[&message]);
}

#[test]
fn killed_before_its_model_answers_it_reads_what_it_claimed_once() {
    let (stage, before) = supervised();
    let first = stage.post.send(SUPERVISOR, "@@ say read\n@= hold=answer");
    asked(&stage);
    kill(stage.post.world.cli(before.pid.unwrap()));
    left(&stage);
    stage.model.release("answer");
    stage.back(&before);
    let (first, second) = (stage.delivered(&first), stage.tell("And this."));
    // It goes on with its session, unless nothing of it was written down.
    let after = stage.in_phase(SUPERVISOR, Phase::Idle);
    stage.post.check_read(&stage.prompts(&after), &[&first, &second]);
    check_not_asked_again(&stage, &first);
    // It was not called delivered as long as it could be lost.
    let events = stage.post.world.events();
    let at = |kind: &str| events.iter().position(|event| event.kind == kind).unwrap();
    let is_claimed = events.iter().any(|event| event.data["claim"]["outcome"] == "claimed");
    assert!(is_claimed, "{}", stage.post.told());
    assert!(at("agent.exited") < at("message.delivered"), "{}", stage.post.told());
}
