//! A person is at its keyboard.

use std::time::Instant;

use cmux_testkit::person::Person;
use cmux_wire::agent::{Agent, Phase};
use cmux_wire::client::Client;
use cmux_wire::message::{Message, MessageState, NewMessage};

use super::{asked, left, sit_down, supervised};
use crate::proof::{self, Shown};
use crate::stage::{PRESS_AGAIN, SUPERVISOR, Stage};
use crate::story::rules::composer;

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

/// However long it is at work for a model that does not answer, nothing has been read; whoever then takes it back, and
/// says something of their own, does not have it taken for read either.
#[test]
fn what_its_model_did_not_answer_is_read_after_what_a_person_said_in_its_place() {
    let (stage, supervisor) = supervised();
    let person = sit_down(&stage, &supervisor);
    let first = stage.post.send(SUPERVISOR, "@@ say read\n@= hold=answer");
    asked(&stage);
    stage.eventually("it works for long", || (seconds_at_work(&stage)? >= WORKS_S).then_some(()));
    assert_eq!(stage.post.message(&first.id).state, MessageState::Claimed, "nothing was read");
    taken_back(&stage, &supervisor, &person);
    person.presses("C-c");
    gone(&stage, &supervisor);
    stage.say_as(&person, &supervisor, "something of my own");
    stage.model.release("answer");
    let first = stage.delivered(&first);
    assert!(first.attempts >= 2, "{first:?}");
    stage.in_phase(SUPERVISOR, Phase::Idle);
    let prompts = stage.prompts(&supervisor);
    assert_eq!(prompts[0], "something of my own");
    stage.post.check_read(&prompts[1..], &[&first]);
}

#[test]
fn what_was_taken_back_is_never_read_once_it_is_cancelled() {
    let (stage, supervisor) = supervised();
    let person = sit_down(&stage, &supervisor);
    let first = stage.post.send(SUPERVISOR, "@@ say read\n@= hold=answer");
    asked(&stage);
    taken_back(&stage, &supervisor, &person);
    let id = &first.id;
    let cancel = |client: Client| async move { client.have_message(id, "cancel").await };
    let asked_back = stage.post.world.home.ask(cancel).unwrap();
    assert_eq!(asked_back.state, MessageState::Claimed);
    stage.post.wait(&first, MessageState::Cancelled);
    gone(&stage, &supervisor);
    stage.model.release("answer");
    let second = stage.tell("And this.");
    stage.in_phase(SUPERVISOR, Phase::Idle);
    stage.post.check_read(&stage.prompts(&supervisor), &[&second]);
}

/// Nobody waits at its keyboard: cmux itself has it leave what its model does not answer.
#[test]
fn what_cannot_wait_is_read_though_its_model_does_not_answer_what_was_sent_before() {
    let (stage, supervisor) = supervised();
    let first = stage.post.send(SUPERVISOR, "@@ say read\n@= hold=answer");
    asked(&stage);
    let urgent = |new: &mut NewMessage| new.interrupt = true;
    let second = stage.post.send_as(SUPERVISOR, "This cannot wait.", urgent);
    left(&stage);
    stage.model.release("answer");
    let (first, second) = (stage.delivered(&first), stage.delivered(&second));
    stage.in_phase(SUPERVISOR, Phase::Idle);
    stage.post.check_read(&stage.prompts(&supervisor), &[&first, &second]);
}

/// For how many seconds a model is waited for in vain: longer than cmux waits for one that thinks.
const WORKS_S: u64 = 35;

/// Returns for how many seconds it has been at work, as it says itself.
fn seconds_at_work(stage: &Stage) -> Option<u64> {
    let screen = stage.screen(SUPERVISOR);
    let told = screen.lines().find_map(|line| line.split_once("… (")?.1.split_once("s)"));
    told?.0.parse().ok()
}

/// Has a person take back what its model was asked, and sees it at the prompt again.
#[track_caller]
fn taken_back(stage: &Stage, supervisor: &Agent, person: &Person) {
    person.presses("Escape");
    left(stage);
    let is_back = || composer(stage, supervisor).is_some_and(|it| it.contains("[cmux dlv_"));
    stage.eventually("it is back", || is_back().then_some(()));
}

/// Waits until nothing is at its prompt.
#[track_caller]
fn gone(stage: &Stage, supervisor: &Agent) {
    stage.eventually("it is gone", || composer(stage, supervisor).is_none().then_some(()));
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
