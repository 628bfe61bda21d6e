//! A prompt that its hook refuses never reaches the model.

use std::time::Instant;

use cmux_core::delivery::{Delivery, DeliveryState, delivery_of};
use cmux_core::time::Timestamp;
use cmux_drivers::claims::{Claims, TicketText};
use cmux_drivers::process::Process;
use cmux_wire::agent::Agent;

use super::{Part, heard};
use crate::proof::{Shown, shown};
use crate::stage::{PRESS_AGAIN, SUPERVISOR, Stage};

/// Of two copies of what cmux typed, the first is read; and what cmux has taken back is not read at all. What
/// was refused is in no later request, either, and does not stay at the prompt.
pub(crate) fn refuses(part: &Part) {
    let (stage, supervisor) = part.supervised();
    // Before its first prompt, a CLI may have no session yet.
    let before = stage.tell("Hello.");
    heard(&stage);
    let claims = Claims::at(stage.post.world.home.root().join("claims"));
    let (once, back) = (copy(&stage, &supervisor, 1), copy(&stage, &supervisor, 2));
    let of = Process::find(stage.post.world.cli(supervisor.pid.unwrap())).unwrap();
    for delivery in [&once, &back] {
        claims.lay(&TicketText::of(delivery, of, true)).unwrap();
    }
    submit(&stage, &supervisor, &once.text);
    stage.eventually("the first is read", || (heard(&stage).len() == 2).then_some(()));
    for (delivery, why) in [(&once, "was submitted before"), (&back, "was taken back")] {
        if delivery.id == back.id {
            assert!(claims.void(delivery.id).unwrap());
        }
        submit(&stage, &supervisor, &delivery.text);
        stage.eventually(why, || stage.screen(SUPERVISOR).contains(why).then_some(()));
    }
    // The next comes by itself, as nothing is at the prompt.
    let after = stage.tell("And now?");
    let mut told = heard(&stage);
    assert_eq!(told.remove(1), once.text);
    stage.post.check_read(&told, &[&before, &after]);
    shown(&stage, part.kind(), Shown::Block);
}

/// Returns a delivery to an agent that is in no store.
fn copy(stage: &Stage, agent: &Agent, n: usize) -> Delivery {
    let text = format!("[cmux dlv_{n:026} from worker · task · msg_{n:026}]\nthe copy number {n}");
    let run = stage.post.world.agent(&agent.name).run.unwrap();
    Delivery {
        id: delivery_of(&text).unwrap(),
        agent: agent.id.parse().unwrap(),
        run: run.parse().unwrap(),
        messages: vec![format!("msg_{n:026}").parse().unwrap()],
        text,
        attempt: 1,
        state: DeliveryState::Typing,
        mark: 0,
        made_at: Timestamp(0),
        since: Timestamp(0),
    }
}

/// Pastes a text at an agent's prompt, and submits it as a person does.
#[track_caller]
fn submit(stage: &Stage, agent: &Agent, text: &str) {
    let world = &stage.post.world;
    let pane = agent.pane.as_deref().unwrap();
    let hooks =
        || world.events_of("hook.received").iter().filter(|it| !it.data["claim"].is_null()).count();
    let before = hooks();
    let last = text.lines().last().unwrap();
    let times = || stage.screen(&agent.name).matches(last).count();
    let shown = times();
    world.at_tmux(&["set-buffer", "-b", "copy", "--", text]);
    world.at_tmux(&["paste-buffer", "-p", "-r", "-b", "copy", "-t", pane]);
    stage.eventually("it is pasted", || (times() > shown).then_some(()));
    // What comes too soon after a paste is not taken for a key.
    let mut pressed: Option<Instant> = None;
    stage.eventually("its hook is called", || {
        if hooks() > before {
            return Some(());
        }
        if pressed.is_none_or(|at| at.elapsed() > PRESS_AGAIN) {
            world.at_tmux(&["send-keys", "-t", pane, "Enter"]);
            pressed = Some(Instant::now());
        }
        None
    });
}
