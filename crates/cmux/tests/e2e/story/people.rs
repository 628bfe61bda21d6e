//! A person sits at it while mail comes.

use cmux_testkit::person::Person;
use cmux_wire::agent::Agent;

use super::{Confirms, Part, asked, check_heard, heard, left};
use crate::proof::{Shown, shown};
use crate::stage::{SUPERVISOR, Stage};

const DRAFT: &str = "please wait for me";

/// What a person has begun to write survives a message that comes meanwhile, and neither is mixed with the
/// other.
pub(crate) fn draft_survives(part: &Part) {
    let (stage, supervisor) = part.supervised();
    let person = sit_down(&stage, &supervisor);
    person.types(DRAFT);
    stage.eventually(DRAFT, || stage.screen(SUPERVISOR).contains(DRAFT).then_some(()));
    let message = stage.post.send(SUPERVISOR, "A message from elsewhere.");
    match part.confirms {
        Confirms::Hook(_) | Confirms::Screen => {
            let is_held =
                |it: &cmux_wire::message::Message| it.waiting_for.as_deref() == Some("draft");
            stage.post.wait_until(&message, "held", is_held);
        }
        // Nothing is typed to it, so nothing has to wait.
        Confirms::Api => {
            stage.delivered(&message);
        }
    }
    assert!(stage.screen(SUPERVISOR).contains(DRAFT), "{}", stage.screen(SUPERVISOR));
    stage.submit_as(&person, &supervisor, DRAFT);
    let message = stage.delivered(&message);
    let told =
        stage.eventually("both are read", || Some(heard(&stage)).filter(|told| told.len() > 1));
    let (theirs, ours): (Vec<_>, Vec<_>) = told.into_iter().partition(|it| it.contains(DRAFT));
    assert_eq!(theirs.iter().map(|it| it.trim()).collect::<Vec<_>>(), [DRAFT]);
    stage.post.check_read(&ours, &[&message]);
    shown(&stage, part.kind(), Shown::Draft);
}

/// What a person takes back before the model answers is read once in the end.
pub(crate) fn taken_back(part: &Part) {
    let (stage, supervisor) = part.supervised();
    let warm = stage.tell("Hello.");
    heard(&stage);
    let person = sit_down(&stage, &supervisor);
    let first = stage.post.send(SUPERVISOR, "@@ say read\n@= hold=answer");
    asked(&stage);
    person.presses("Escape");
    left(&stage);
    stage.model.release("answer");
    let (first, second) = (stage.delivered(&first), stage.tell("And this."));
    check_heard(&stage, &[&warm, &first, &second]);
}

/// What the model refuses to answer is read once in the end, whether it stays in the conversation or has to be given
/// to it again.
pub(crate) fn refused(part: &Part) {
    let (stage, _) = part.supervised();
    let first = stage.tell("@@ fail 400\n@= times=1");
    let second = stage.tell("And this.");
    check_heard(&stage, &[&first, &second]);
}

/// Has a person look at an agent's pane.
pub(crate) fn sit_down(stage: &Stage, agent: &Agent) -> Person {
    let world = &stage.post.world;
    let pane = agent.pane.as_deref().unwrap();
    let session = world.at_tmux(&["display-message", "-p", "-t", pane, "#{session_name}"]);
    let server = world.home.root().join("tmux").join(&world.project);
    Person::at(&server, session.trim(), pane)
}
