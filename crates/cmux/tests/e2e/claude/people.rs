//! A person is at its keyboard.

use std::time::Instant;

use cmux_testkit::person::Person;
use cmux_wire::agent::Phase;
use cmux_wire::message::Message;

use super::{asked, left, sit_down, supervised};
use crate::proof::{self, Shown};
use crate::stage::{PRESS_AGAIN, SUPERVISOR, Stage};

#[test]
fn a_draft_survives_a_message_that_is_read_when_the_draft_is_gone() {
    let (stage, supervisor) = supervised();
    let person = sit_down(&stage, &supervisor);
    person.types("half a thou");
    shown(&stage, "half a thou");
    let message = stage.post.send(SUPERVISOR, "Read this.");
    held(&stage, &message, "draft");
    person.types("ght");
    shown(&stage, "half a thought");
    assert_eq!(stage.model.look(|visits| visits.len()), 0);
    stage.submit_as(&person, &supervisor, "half a thought");
    stage.delivered(&message);
    stage.in_phase(SUPERVISOR, Phase::Idle);
    let prompts = stage.prompts(&supervisor);
    assert_eq!(prompts[0], "half a thought");
    stage.post.check_read(&prompts[1..], &[&message]);
    proof::shown(&stage, "claude", Shown::Draft);
}

#[test]
fn mail_comes_through_whatever_hint_is_below_its_prompt() {
    let (stage, supervisor) = supervised();
    let person = sit_down(&stage, &supervisor);
    let mut sent = Vec::new();
    for (draft, key, hint) in [
        ("", "C-c", "Press Ctrl-C again to exit"),
        ("", "C-d", "Press Ctrl-D again to exit"),
        ("never mind", "Escape", "Esc again to clear"),
    ] {
        person.types(draft);
        shown(&stage, draft);
        hinted(&stage, &person, key, hint);
        let message = stage.post.send(SUPERVISOR, &format!("Read this after {key}."));
        if !draft.is_empty() {
            held(&stage, &message, "draft");
            person.presses("C-c");
        }
        sent.push(stage.delivered(&message));
    }
    stage.in_phase(SUPERVISOR, Phase::Idle);
    stage.post.check_read(&stage.prompts(&supervisor), &sent.iter().collect::<Vec<_>>());
}

#[test]
fn taken_back_before_its_model_answers_a_message_is_read_once() {
    let (stage, supervisor) = supervised();
    let person = sit_down(&stage, &supervisor);
    let first = stage.post.send(SUPERVISOR, "@@ say read\n@= hold=answer");
    asked(&stage);
    person.presses("Escape");
    left(&stage);
    stage.model.release("answer");
    // It was asked for in vain, and not called delivered: it is submitted again.
    let first = stage.delivered(&first);
    assert!(first.attempts >= 2, "{first:?}");
    let events = stage.post.world.events();
    let became: Vec<&str> = events
        .iter()
        .filter(|it| it.kind.starts_with("message.") && it.data["message"] == first.id.as_str())
        .map(|it| it.kind.as_str())
        .collect();
    let delivered = became.iter().filter(|it| **it == "message.delivered").count();
    assert_eq!((delivered, became.last()), (1, Some(&"message.delivered")), "{became:?}");
    let typed = became.iter().filter(|it| **it == "message.typing").count();
    assert!(typed >= 2, "{became:?}");
    let second = stage.tell("And this.");
    stage.in_phase(SUPERVISOR, Phase::Idle);
    stage.post.check_read(&stage.prompts(&supervisor), &[&first, &second]);
}

/// Waits until the supervisor's screen shows this.
#[track_caller]
fn shown(stage: &Stage, text: &str) {
    stage.eventually(text, || stage.screen(SUPERVISOR).contains(text).then_some(()));
}

/// Has a person press a key until a hint is to be seen. It goes by itself within a second, so that a look may have
/// missed it; pressed twice within that second the key would do what the hint says.
#[track_caller]
fn hinted(stage: &Stage, person: &Person, key: &str, hint: &str) {
    let mut pressed: Option<Instant> = None;
    stage.eventually(hint, || {
        if pressed.is_none_or(|at| at.elapsed() > PRESS_AGAIN) {
            person.presses(key);
            pressed = Some(Instant::now());
        }
        stage.screen(SUPERVISOR).contains(hint).then_some(())
    });
}

/// Waits until it is told that a message waits for this.
#[track_caller]
fn held(stage: &Stage, message: &Message, what: &str) {
    stage.post.wait_until(message, what, |it| it.waiting_for.as_deref() == Some(what));
}
