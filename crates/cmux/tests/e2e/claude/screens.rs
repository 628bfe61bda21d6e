//! Screens that it comes by seldom, and what its hooks tell then.

use std::fs;

use cmux_wire::agent::Phase;
use serde_json::json;

use super::{CLAUDE, asked, furnish, sit_down, supervised};
use crate::record;
use crate::stage::{Cli, Furnishing, SUPERVISOR, Stage};
use crate::story::rules::{know, seen};
use crate::story::screens::{dialog, paste, permitted};

/// What a person has begun to write.
const DRAFT: &str = "please wait,\nI am still typing";

#[test]
fn what_is_in_its_composer_is_known() {
    let (stage, supervisor) = supervised();
    let person = sit_down(&stage, &supervisor);
    let shows = |text: &str| {
        stage.eventually(text, || stage.screen(SUPERVISOR).contains(text).then_some(()));
    };
    let long = "A line.\n".repeat(12);
    for (text, last, screen) in
        [(DRAFT, "typing", "draft"), (&long, "[Pasted text #", "draft-folded")]
    {
        paste(&stage, &supervisor, text);
        shows(last);
        know(&stage, &supervisor, screen);
        person.presses("C-c");
        seen(&stage, &supervisor, "idle");
    }
}

#[test]
fn what_waits_while_it_is_busy_is_no_draft() {
    let (stage, supervisor) = supervised();
    let person = sit_down(&stage, &supervisor);
    let message = stage.post.send(SUPERVISOR, "@@ say done with it\n@= hold=answer");
    asked(&stage);
    stage.say_as(&person, &supervisor, "And then this.");
    let queued = "edit queued messages";
    stage.eventually(queued, || stage.screen(SUPERVISOR).contains(queued).then_some(()));
    know(&stage, &supervisor, "busy-queued");
    stage.model.release("answer");
    stage.delivered(&message);
    stage.eventually("both are read", || (stage.prompts(&supervisor).len() == 2).then_some(()));
}

#[test]
fn a_question_of_its_model_is_asked() {
    let (stage, supervisor) = supervised();
    let question = json!({ "questions": [{
        "question": "Which color?", "header": "Color", "multiSelect": false,
        "options": [
            { "label": "Red", "description": "Like a rose" },
            { "label": "Blue", "description": "Like the sky" },
        ],
    }] });
    stage.tell(&format!("@@ tool AskUserQuestion {question}\n@@ say so be it"));
    stage.in_phase(SUPERVISOR, Phase::Asking);
    know(&stage, &supervisor, "asking-question");
    record::hooks(&stage, "claude", &[("PermissionRequest", "PermissionRequest-question")]);
    // What is asked stays on the screen when it is answered.
    stage.answer(&supervisor, "Enter to select", "Enter");
    stage.in_phase(SUPERVISOR, Phase::Idle);
}

#[test]
fn an_edit_is_asked_about_if_that_is_wanted() {
    let mut stage = Stage::set(&CLAUDE);
    permitted(&mut stage, &CLAUDE, "ask");
    let supervisor = stage.supervisor(&CLAUDE);
    let file = stage.post.world.root.join("greeting.txt");
    fs::write(&file, "hello\n").unwrap();
    let read = json!({ "file_path": file });
    let edit = json!({ "file_path": file, "old_string": "hello", "new_string": "goodbye" });
    stage.tell(&format!("@@ tool Read {read}\n@@ tool Edit {edit}\n@@ say changed"));
    stage.in_phase(SUPERVISOR, Phase::Asking);
    know(&stage, &supervisor, "asking-edit");
    assert_eq!(fs::read_to_string(&file).unwrap(), "hello\n");
    stage.answer(&supervisor, "Do you want to make this edit", "Enter");
    stage.in_phase(SUPERVISOR, Phase::Idle);
    assert_eq!(fs::read_to_string(&file).unwrap(), "goodbye\n");
}

#[test]
fn that_it_tries_again_is_no_failure() {
    let (stage, supervisor) = supervised();
    let message = stage.post.send(SUPERVISOR, "@@ fail 529\n@= retry=20 times=1");
    stage.in_phase(SUPERVISOR, Phase::Busy);
    know(&stage, &supervisor, "busy-retrying");
    stage.delivered(&message);
    stage.in_phase(SUPERVISOR, Phase::Idle);
}

#[test]
fn what_it_asks_before_its_first_prompt_is_known_and_not_answered_unasked() {
    let stage = Stage::set(&CLAUDE);
    dialog(&stage, &CLAUDE, &[], "dialog-trust");
    drop(stage);
    for (furnish, args, screen) in [
        (with_key as Furnish, &[][..], "dialog-api-key"),
        (new, &[], "dialog-onboarding"),
        (in_a_box, &["--permission-mode", "bypassPermissions"], "dialog-bypass"),
    ] {
        let cli = Cli { furnish, ..CLAUDE };
        let stage = Stage::set(&cli);
        stage.told(&["project", "trust", "--yes"]);
        dialog(&stage, &cli, args, screen);
        assert_eq!(stage.model.look(|visits| visits.len()), 0);
    }
}

type Furnish = fn(&Furnishing<'_>) -> Vec<(&'static str, String)>;

/// With a key in its environment in place of a token.
fn with_key(there: &Furnishing<'_>) -> Vec<(&'static str, String)> {
    let mut variables = furnish(there);
    variables.retain(|(name, _)| *name != "ANTHROPIC_AUTH_TOKEN");
    variables.push(("ANTHROPIC_API_KEY", "dummy".to_owned()));
    variables
}

/// As somebody has it who has never started it.
fn new(there: &Furnishing<'_>) -> Vec<(&'static str, String)> {
    let variables = furnish(there);
    fs::remove_file(there.person.join(".claude.json")).unwrap();
    variables
}

/// It believes that it can do no harm: as root it would refuse to be permitted all.
fn in_a_box(there: &Furnishing<'_>) -> Vec<(&'static str, String)> {
    let mut variables = furnish(there);
    variables.push(("IS_SANDBOX", "1".to_owned()));
    variables
}

#[test]
fn what_its_hooks_tell_is_kept() {
    let (stage, supervisor) = supervised();
    let person = sit_down(&stage, &supervisor);
    stage.tell("@@ tool Bash {\"command\":\"cmux agent show nobody\"}\n@@ say nobody is there");
    stage.in_phase(SUPERVISOR, Phase::Idle);
    record::hooks(
        &stage,
        "claude",
        &[
            ("SessionStart", "SessionStart"),
            ("UserPromptSubmit", "UserPromptSubmit"),
            ("PreToolUse", "PreToolUse"),
            ("PostToolUseFailure", "PostToolUseFailure"),
            ("Stop", "Stop"),
        ],
    );
    stage.say_as(&person, &supervisor, "/compact");
    let told = |name: &str| {
        let hooks = stage.post.world.events_of("hook.received");
        hooks.iter().any(|it| it.data["name"] == name).then_some(())
    };
    stage.eventually("it is made shorter", || told("PostCompact"));
    stage.in_phase(SUPERVISOR, Phase::Idle);
    stage.told(&["agent", "stop", SUPERVISOR]);
    stage.in_phase(SUPERVISOR, Phase::Offline);
    stage.eventually("its end is told", || told("SessionEnd"));
    record::hooks(
        &stage,
        "claude",
        &[
            ("PreCompact", "PreCompact"),
            ("PostCompact", "PostCompact"),
            ("SessionEnd", "SessionEnd"),
        ],
    );
}
