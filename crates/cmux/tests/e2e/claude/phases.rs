//! Its phases follow what really happens, and `cmux agent why` says by what.

use cmux_wire::agent::Phase;
use cmux_wire::why::{Saying, Why};

use super::{asked, sit_down, supervised};
use crate::proof::{self, Shown};
use crate::record;
use crate::stage::SUPERVISOR;
use crate::story::rules::know;

#[test]
fn it_is_busy_while_its_model_thinks() {
    let (stage, supervisor) = supervised();
    let message = stage.post.send(SUPERVISOR, "@@ say done with it\n@= hold=answer");
    stage.in_phase(SUPERVISOR, Phase::Busy);
    stage.explained(SUPERVISOR, Phase::Busy, &["status", "hooks"]);
    asked(&stage);
    know(&stage, &supervisor, "busy");
    stage.model.release("answer");
    stage.in_phase(SUPERVISOR, Phase::Idle);
    stage.explained(SUPERVISOR, Phase::Idle, &["status", "hooks"]);
    know(&stage, &supervisor, "idle");
    stage.delivered(&message);
}

#[test]
fn it_is_seen_to_be_answered_before_that_is_written_down() {
    let (stage, supervisor) = supervised();
    let thought = "This is hard, and I turn it over in my mind for as long as it takes.";
    let message = stage
        .post
        .send(SUPERVISOR, &format!("@@ think {thought}\n@+ say done with it\n@= chunk=1"));
    know(&stage, &supervisor, "busy-thinking");
    stage.delivered(&message);
    stage.in_phase(SUPERVISOR, Phase::Idle);
}

#[test]
fn it_asks_at_a_real_dialog_and_goes_on_when_it_is_answered() {
    let (stage, supervisor) = supervised();
    stage.tell("@@ tool Bash {\"command\":\"sh -c 'touch made-by-bash'\"}\n@@ say made");
    stage.in_phase(SUPERVISOR, Phase::Asking);
    stage.explained(SUPERVISOR, Phase::Asking, &["status", "hooks"]);
    know(&stage, &supervisor, "asking");
    stage.answer(&supervisor, "Do you want to proceed?", "Enter");
    stage.in_phase(SUPERVISOR, Phase::Idle);
    record::hooks(
        &stage,
        "claude",
        &[("PermissionRequest", "PermissionRequest"), ("PostToolUse", "PostToolUse")],
    );
    assert!(stage.post.world.root.join("made-by-bash").exists());
    proof::shown(&stage, "claude", Shown::Asking);
}

#[test]
fn it_is_limited_when_its_model_refuses_for_now_until_somebody_has_it_go_on() {
    let (stage, supervisor) = supervised();
    stage.post.send(SUPERVISOR, "@@ fail 429\n@= retry=1 msg=no_more_for_now");
    stage.in_phase(SUPERVISOR, Phase::Limited);
    stage.explained(SUPERVISOR, Phase::Limited, &["screen"]);
    know(&stage, &supervisor, "limited");
    record::hooks(&stage, "claude", &[("StopFailure", "StopFailure-limit")]);
    let message = stage.post.send(SUPERVISOR, "When you can.");
    stage.post.wait_until(&message, "held", |it| it.waiting_for.as_deref() == Some("limited"));
    let person = sit_down(&stage, &supervisor);
    stage.say_as(&person, &supervisor, "go on");
    stage.delivered(&message);
    stage.in_phase(SUPERVISOR, Phase::Idle);
    assert_eq!(stage.prompts(&supervisor)[1], "go on");
}

#[test]
fn it_is_at_its_prompt_when_its_model_fails_and_its_screen_says_why() {
    let (stage, supervisor) = supervised();
    for (status, rule, screen) in
        [("529", "api-error", "idle-error"), ("401", "login", "idle-login")]
    {
        stage.tell(&format!("@@ fail {status}"));
        stage.in_phase(SUPERVISOR, Phase::Idle);
        stage.eventually(rule, || {
            let why: Why =
                serde_json::from_value(stage.told(&["agent", "why", SUPERVISOR])).ok()?;
            let says = |it: &Saying| {
                let is_line = it.line.as_ref().is_some_and(|line| line.contains(status));
                it.rule.as_deref() == Some(rule) && it.says == "idle" && is_line
            };
            (why.phase == Phase::Idle && why.sayings.iter().any(says)).then_some(())
        });
        know(&stage, &supervisor, screen);
    }
    record::hooks(&stage, "claude", &[("StopFailure", "StopFailure")]);
    // Nothing of it keeps it from what comes next.
    stage.tell("Go on.");
}
