//! What is due for the mail of an agent.

use ulid::Ulid;

use super::*;
use crate::agent::{AgentName, Doing, Intent, Pid, Place, Setup, Sighting};
use crate::delivery::{Delivery, DeliveryState};
use crate::event::What;
use crate::id::{AgentId, DeliveryId, MessageId, RunId};
use crate::mail::make;
use crate::message::{Body, MessageKind, NewMessage, Recipient, Sender};
use crate::plan::agents::START_WITHIN;
use crate::project::ProjectId;
use crate::report::NewAgent;
use crate::restart::RestartPolicy;

const NOW: Timestamp = Timestamp(1_000_000);

#[test]
fn mail_is_offered_to_an_agent_that_is_at_its_prompt() {
    let waits = World { has_mail: true, ..World::default() };
    let interrupts = World { interrupt: Some(message()), ..waits.clone() };
    let busy = Agent { phase: Phase::Busy, ..idle() };
    for (agent, world, expected) in [
        (idle(), World::default(), ""),
        (idle(), waits.clone(), "offer"),
        (idle(), interrupts.clone(), "offer"),
        (Agent { intent: Intent::Pause, ..idle() }, waits.clone(), ""),
        (Agent { intent: Intent::Stop, ..idle() }, waits.clone(), ""),
        (busy.clone(), waits.clone(), ""),
        (busy.clone(), interrupts.clone(), "interrupt"),
        (Agent { intent: Intent::Pause, ..busy }, interrupts.clone(), ""),
        (Agent { phase: Phase::Asking, ..idle() }, interrupts, ""),
        (agent(), waits.clone(), ""),
        (see(&idle(), ended()), waits, ""),
    ] {
        check(&agent, &world, expected);
    }
}

#[test]
fn a_busy_agent_is_interrupted_again_and_again_but_never_in_one_breath() {
    let world = World { has_mail: true, interrupt: Some(message()), ..World::default() };
    let busy = Agent { phase: Phase::Busy, since: NOW - Duration::from_mins(1), ..idle() };
    let mut times: Vec<(Timestamp, String)> = Vec::new();
    let mut at = NOW;
    // It is planned for whenever something happens, and not only when it wakes.
    while at < NOW + Duration::from_mins(1) {
        let plan = plan(&busy, &world, at);
        assert!(plan.wake_at.is_some_and(|wake| wake > at && wake <= at + INTERRUPT_EVERY));
        let step = plan.steps.into_iter().find_map(|step| match step.action {
            Some(Action::InterruptAgent { step, .. }) => Some(step),
            Some(_) | None => None,
        });
        if let Some(step) = step.filter(|step| times.last().is_none_or(|(_, last)| last != step)) {
            times.push((at, step));
        }
        at = at + Duration::from_millis(700);
    }
    assert_eq!((times.len(), times[0].0), (6, NOW));
    for pair in times.windows(2) {
        assert!(pair[1].0.since(pair[0].0) >= INTERRUPT_WITHIN, "{times:?}");
    }
    let next_turn = Agent { since: at, ..busy };
    let Some(Action::InterruptAgent { step, .. }) = &plan(&next_turn, &world, at).steps[0].action
    else {
        panic!("it is not interrupted in its next turn");
    };
    assert!(!times.iter().any(|(_, it)| it == step), "{step}");
}

#[test]
fn an_open_delivery_is_gone_on_with_until_its_life_is_over_and_then_settled() {
    let open = World { has_mail: true, open: Some(delivery()), ..World::default() };
    let gone = see(&idle(), ended());
    let other = agent().launching(RunId::new(Ulid::from(2_u128)), NOW + START_WITHIN, NOW);
    for (agent, expected) in [
        (idle(), "deliver"),
        (Agent { phase: Phase::Busy, ..idle() }, "deliver"),
        (Agent { intent: Intent::Pause, ..idle() }, "deliver"),
        (idle().ending(NOW), "deliver"),
        (gone.clone(), ""),
        (see(&gone, Sighting::Cleared), "settle"),
        (other, "settle"),
        (agent(), "settle"),
    ] {
        check(&agent, &open, expected);
    }
}

#[test]
fn what_is_stuck_behind_a_turn_is_no_reason_not_to_interrupt_it() {
    let long_ago = NOW - INTERRUPT_EVERY;
    let stuck = Delivery { since: long_ago, ..delivery() };
    let out = Delivery { state: DeliveryState::Submitted, ..stuck.clone() };
    let taken = Delivery { state: DeliveryState::Claimed, ..stuck.clone() };
    let unanswered = Delivery { since: NOW - ANSWERS_WITHIN, ..taken.clone() };
    let doubtful = Delivery { state: DeliveryState::InDoubt, ..stuck.clone() };
    let other = Delivery { run: RunId::new(Ulid::from(9_u128)), ..stuck.clone() };
    let busy = Agent { phase: Phase::Busy, since: long_ago, ..idle() };
    let long_busy = Agent { since: NOW - ANSWERS_WITHIN, ..busy.clone() };
    let just_busy = Agent { since: NOW, ..busy.clone() };
    let paused = Agent { intent: Intent::Pause, ..busy.clone() };
    for (agent, open, interrupt, expected) in [
        (&busy, &stuck, Some(message()), "deliver interrupt"),
        (&busy, &stuck, None, "deliver"),
        // It may be at what it was just given.
        (&just_busy, &stuck, Some(message()), "deliver"),
        (&busy, &delivery(), Some(message()), "deliver"),
        (&busy, &out, Some(message()), "deliver"),
        (&busy, &doubtful, Some(message()), "deliver"),
        (&busy, &taken, Some(message()), "deliver"),
        (&long_busy, &unanswered, Some(message()), "deliver interrupt"),
        (&long_busy, &unanswered, None, "deliver"),
        (&busy, &other, Some(message()), "settle"),
        (&paused, &stuck, Some(message()), "deliver"),
        (&idle(), &stuck, Some(message()), "deliver"),
    ] {
        let world =
            World { has_mail: true, open: Some(open.clone()), interrupt, ..World::default() };
        check(agent, &world, expected);
    }
    let world =
        World { open: Some(stuck), interrupt: Some(message()), has_mail: true, ..World::default() };
    let wake = plan(&just_busy, &world, NOW).wake_at;
    assert_eq!(wake, Some(NOW + INTERRUPT_EVERY), "nothing else has to happen first");
}

#[test]
fn that_a_delivery_is_taken_back_is_told_with_every_plan() {
    let taken = Delivery { state: DeliveryState::Claimed, ..delivery() };
    let unanswered = Delivery { since: NOW - ANSWERS_WITHIN, ..taken.clone() };
    for (open, is_recalled, interrupt, expected) in [
        (delivery(), false, None, false),
        (delivery(), true, None, true),
        (unanswered.clone(), false, None, false),
        // What cannot wait is read first, if the model has not begun with what was taken before.
        (unanswered, false, Some(message()), true),
        (taken, false, Some(message()), false),
    ] {
        let world = World { open: Some(open), is_recalled, interrupt, ..World::default() };
        let steps = plan(&idle(), &world, NOW).steps;
        let told = steps.iter().find_map(|step| match step.action {
            Some(Action::Deliver { is_recalled, .. }) => Some(is_recalled),
            Some(_) | None => None,
        });
        assert_eq!(told, Some(expected));
    }
}

#[test]
fn that_an_agent_is_paused_is_told_with_what_is_typed_to_it() {
    for (intent, expected) in [(Intent::Run, false), (Intent::Pause, true), (Intent::Stop, false)] {
        let world = World { open: Some(delivery()), ..World::default() };
        let steps = plan(&Agent { intent, ..idle() }, &world, NOW).steps;
        let told = steps.iter().find_map(|step| match step.action {
            Some(Action::Deliver { is_paused, .. }) => Some(is_paused),
            Some(_) | None => None,
        });
        assert_eq!(told, Some(expected), "{intent:?}");
    }
}

#[test]
fn what_is_lost_is_done_again() {
    for world in [
        World { has_mail: true, ..World::default() },
        World { open: Some(delivery()), ..World::default() },
    ] {
        assert_eq!(plan(&idle(), &world, NOW).wake_at, Some(NOW + AGAIN_AFTER));
    }
}

#[test]
fn what_waits_too_long_expires_and_what_is_typed_is_taken_back_once() {
    let typed = Message { state: MessageState::Typing, delivery: Some(delivery().id), ..message() };
    let recalled = Message { recall: Some(Recall::Cancelled), ..typed.clone() };
    for (message, state, recall, expected) in [
        (message(), Some(MessageState::Expired), None, ""),
        (typed, Some(MessageState::Typing), Some(Recall::Expired), "recall"),
        (recalled, None, None, ""),
    ] {
        let world = World { expired: vec![message], ..World::default() };
        check(&idle(), &world, expected);
        let steps = plan(&idle(), &world, NOW).steps;
        let stored = steps.iter().find_map(|step| {
            let Some(Record::Message(it)) = &step.record else { return None };
            Some((it.state, it.recall))
        });
        assert_eq!(stored, state.map(|state| (state, recall)));
    }
}

#[test]
fn whoever_sent_what_expired_is_told() {
    let world = World { expired: vec![message()], ..World::default() };
    let steps = plan(&idle(), &world, NOW).steps;
    let is_told = steps.iter().any(|step| matches!(step.record, Some(Record::Notice(_))));
    let is_logged = steps
        .iter()
        .filter_map(|step| step.event.as_ref())
        .any(|event| matches!(event.what, What::MessageIs { state: MessageState::Expired, .. }));
    assert!(is_told && is_logged, "{steps:?}");
}

#[test]
fn it_wakes_when_the_next_expires_and_never_without_end() {
    let wake_at = |at: i64| {
        let world = World { next_expiry: Some(Timestamp(at)), ..World::default() };
        plan(&idle(), &world, NOW).wake_at
    };
    assert_eq!(wake_at(NOW.0 + 5000), Some(Timestamp(NOW.0 + 5000)));
    assert_eq!(wake_at(NOW.0 - 5000), Some(NOW + REST_AFTER));
}

/// Checks what is to be done outside.
#[track_caller]
fn check(agent: &Agent, world: &World, expected: &str) {
    let actions = plan(agent, world, NOW).steps.into_iter().filter_map(|step| step.action);
    let names: Vec<&str> = actions
        .map(|action| match action {
            Action::OfferMail { .. } => "offer",
            Action::Deliver { .. } => "deliver",
            Action::SettleDelivery { .. } => "settle",
            Action::Recall { .. } => "recall",
            Action::InterruptAgent { .. } => "interrupt",
            Action::LookAtProject { .. }
            | Action::LaunchAgent { .. }
            | Action::EndAgent { .. }
            | Action::ClearRun { .. }
            | Action::ForgetAgent { .. }
            | Action::TakeSnapshot { .. } => "other",
        })
        .collect();
    assert_eq!(names.join(" "), expected, "{:?} {:?}", agent.phase, agent.life);
}

fn message() -> Message {
    let new = NewMessage {
        project: ProjectId::of("/a"),
        from: Sender { actor: Actor::Operator, name: "user".to_owned() },
        to: Recipient::Agent { id: agent().id, name: "worker".to_owned() },
        kind: MessageKind::Task,
        body: Body::new("do".to_owned()),
        reply_to: None,
        interrupt: true,
        key: None,
        ttl: None,
    };
    Message::new(MessageId::new(Ulid::from(1_u128)), 1, new, None, NOW)
}

fn delivery() -> Delivery {
    let id = DeliveryId::new(Ulid::from(1_u128));
    make(id, &agent(), run(), vec![message()], "/a", 0, NOW).unwrap()
}

fn run() -> RunId {
    RunId::new(Ulid::from(1_u128))
}

fn idle() -> Agent {
    let place = Place { server: "/tmux/a".to_owned(), pane: "%1".to_owned() };
    let launched = Sighting::Launched { place, process: Pid { pid: 7, start: 1 } };
    let alive = see(&agent().launching(run(), NOW + START_WITHIN, NOW), launched);
    see(&alive, Sighting::Doing { doing: Doing::AtPrompt, rank: 0 })
}

fn ended() -> Sighting {
    Sighting::Ended { how: "exit 1".to_owned() }
}

fn see(agent: &Agent, sighting: Sighting) -> Agent {
    let run = agent.life.as_ref().unwrap().run;
    agent.after(run, sighting, NOW, &RestartPolicy::default(), 0).unwrap()
}

fn agent() -> Agent {
    let setup = Setup {
        cwd: "/a".to_owned(),
        task: None,
        args: Vec::new(),
        env: Vec::new(),
        permanent: false,
    };
    let new = NewAgent {
        project: ProjectId::of("/a"),
        name: AgentName::new("worker").unwrap(),
        role: "worker".to_owned(),
        kind: "demo".to_owned(),
        parent: None,
        setup,
    };
    Agent::new(AgentId::new(Ulid::from(1_u128)), new, NOW)
}
