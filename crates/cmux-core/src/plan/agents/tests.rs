//! When agents are launched, ended and cleared away, and what is told of them.

use super::*;
use crate::agent::{AgentName, Pid, Place, Setup};
use crate::id::AgentId;
use crate::project::ProjectId;
use crate::report::NewAgent;
use proptest::prelude::*;
use ulid::Ulid;

const NOW: Timestamp = Timestamp(1_000_000);

#[test]
fn what_is_wanted_is_launched_and_what_is_not_is_ended() {
    for (agent, expected) in [
        (agent(), "launch"),
        (Agent { intent: Intent::Stop, ..agent() }, ""),
        (Agent { intent: Intent::Pause, ..agent() }, ""),
        (Agent { phase: Phase::Down { retry_at: NOW }, ..agent() }, "launch"),
        (Agent { phase: Phase::Down { retry_at: NOW + END_WITHIN }, ..agent() }, ""),
        (Agent { phase: Phase::Failed, ..agent() }, ""),
        (alive(), ""),
        (Agent { intent: Intent::Pause, ..alive() }, ""),
        (Agent { intent: Intent::Stop, ..alive() }, "end"),
        (see(&alive(), ended()), "clear"),
        (Agent { adopted: true, ..agent() }, ""),
        (Agent { adopted: true, intent: Intent::Stop, ..alive() }, "end"),
        (Agent { adopted: true, ..see(&alive(), ended()) }, "clear"),
    ] {
        let names: Vec<&str> = actions(&agent, NOW).iter().map(name_of).collect();
        assert_eq!(names.join(" "), expected, "{:?} {:?}", agent.intent, agent.phase);
    }
}

#[test]
fn nothing_is_launched_before_the_life_before_is_cleared_away() {
    let mut agent = see(&alive(), ended());
    let late = NOW + END_WITHIN * 100;
    for _ in 0..5 {
        let names: Vec<&str> = actions(&agent, late).iter().map(name_of).collect();
        assert_eq!(names, ["clear"]);
        agent = agent.clearing(late);
    }
    let cleared = see(&agent, Sighting::Cleared);
    assert_eq!(actions(&cleared, late).iter().map(name_of).collect::<Vec<_>>(), ["launch"]);
}

#[test]
fn an_action_that_is_lost_is_planned_again_when_it_is_missed() {
    let stopping = Agent { intent: Intent::Stop, ..alive() };
    let plan = plan_at(&stopping, NOW);
    let Some(Record::Agent(ending)) = plan.steps[0].record.clone() else { panic!("none") };
    assert_eq!(plan.wake_at, Some(NOW + END_WITHIN));
    assert!(actions(&ending, NOW).is_empty());
    let names: Vec<_> = actions(&ending, NOW + END_WITHIN).iter().map(name_of).collect();
    assert_eq!(names, ["end"]);
}

#[test]
fn a_life_that_never_gets_to_its_prompt_is_given_up() {
    let late = NOW + START_WITHIN + TOLD_WITHIN;
    let plan = plan_at(&alive(), late);
    let Some(Record::Agent(after)) = plan.steps[0].record.clone() else { panic!("none") };
    assert!(matches!(after.phase, Phase::Down { .. }), "{:?}", after.phase);
    assert!(matches!(after.life.unwrap().state, LifeState::Ended { .. }));
    let told: Vec<&What> =
        plan.steps.iter().filter_map(|step| Some(&step.event.as_ref()?.what)).collect();
    let exited = matches!(told[..], [What::AgentExited { .. }, What::AgentPhase { .. }]);
    assert!(exited, "{told:?}");
}

#[test]
fn a_life_that_was_heard_before_it_was_found_can_be_stopped() {
    let run = RunId::new(Ulid::from(1_u128));
    let heard = see(&agent().launching(run, NOW + START_WITHIN, NOW), at_prompt());
    assert!(plan_at(&heard, NOW).steps.is_empty());
    let plan = plan_at(&heard.asked(Intent::Stop, NOW), NOW);
    let Some(Record::Agent(after)) = plan.steps[0].record.clone() else { panic!("none") };
    assert_eq!((&after.phase, plan.wake_at), (&Phase::Offline, Some(NOW)));
    assert_eq!(actions(&after, NOW).iter().map(name_of).collect::<Vec<_>>(), ["clear"]);
}

#[test]
fn an_agent_that_is_to_begin_another_life_ends_and_is_launched_at_once() {
    let agent = alive().restarted(NOW);
    assert_eq!(actions(&agent, NOW).iter().map(name_of).collect::<Vec<_>>(), ["end"]);
    let agent = see(&agent.ending(NOW + END_WITHIN), ended());
    assert_eq!(actions(&agent, NOW).iter().map(name_of).collect::<Vec<_>>(), ["clear"]);
    let agent = see(&agent, Sighting::Cleared);
    assert_eq!(actions(&agent, NOW).iter().map(name_of).collect::<Vec<_>>(), ["launch"]);
}

#[test]
fn until_when_a_phase_lasts_is_told_as_soon_as_it_is_known() {
    let limited =
        |until| Sighting::Doing { doing: crate::agent::Doing::Limited { until }, rank: 0 };
    let told = |before: &Agent, after: &Agent| {
        let until = |event: Event| {
            let What::AgentPhase { to, until, .. } = event.what else { panic!("{event:?}") };
            (to, until)
        };
        news(before, after).into_iter().map(until).collect::<Vec<_>>()
    };
    let idle = see(&alive(), at_prompt());
    let (vague, known) = (see(&idle, limited(None)), see(&idle, limited(Some(NOW))));
    assert_eq!(told(&idle, &vague), [("limited", None)]);
    assert_eq!(told(&vague, &see(&vague, limited(Some(NOW)))), [("limited", Some(NOW))]);
    assert_eq!(told(&known, &known), []);
    // What counts down is not read at the moment that it changes.
    let (soon, later) = (NOW + COUNTED_LAG, NOW + COUNTED_LAG * 2);
    assert_eq!(told(&known, &see(&known, limited(Some(soon)))), []);
    assert_eq!(told(&known, &see(&known, limited(Some(later)))), [("limited", Some(later))]);
    assert_eq!(told(&known, &see(&known, at_prompt())), [("idle", None)]);
}

#[test]
fn the_end_of_a_life_is_told_once_and_a_phase_when_it_is_another() {
    let kinds = |before: &Agent, after: &Agent| {
        let name = |event: Event| {
            if let What::AgentPhase { from, to, .. } = event.what {
                return format!("{from}-{to}");
            }
            let What::AgentExited { how } = event.what else { panic!("{event:?}") };
            how
        };
        news(before, after).into_iter().map(name).collect::<Vec<_>>()
    };
    let (idle, over) = (see(&alive(), at_prompt()), see(&alive(), ended()));
    assert_eq!(kinds(&alive(), &idle), ["starting-idle"]);
    assert_eq!(kinds(&idle, &idle), [""; 0]);
    assert_eq!(kinds(&idle, &see(&idle, ended())), ["exit 1", "idle-down"]);
    assert_eq!(kinds(&over, &see(&over, Sighting::Cleared)), [""; 0]);
    let told = news(&idle, &over).remove(0);
    let run = alive().life.unwrap().run;
    assert_eq!(
        (told.agent, told.run, told.project),
        (Some(idle.id), Some(run), Some(idle.project))
    );
}

proptest! {
    /// Whatever is lost, late or wrong, an agent that is wanted runs in the end, one that is not is
    /// gone, and never are there two lives at once.
    #[test]
    fn in_the_end_it_is_as_it_is_wanted(
        faults in prop::collection::vec(0_u8..6, 0..60),
        wanted in any::<bool>(),
    ) {
        let (mut agent, mut now, mut lives) = (agent(), NOW, 0_i32);
        let mut faults = faults.into_iter();
        for round in 0..400 {
            now = Timestamp(now.0 + 10_000);
            let fault = faults.next().unwrap_or(0);
            if round == 100 {
                agent = agent.asked(if wanted { Intent::Run } else { Intent::Stop }, now);
            }
            for step in plan_at(&agent, now).steps {
                if let Some(Record::Agent(after)) = step.record {
                    agent = *after;
                }
                let Some(action) = step.action.filter(|_| fault != 1) else { continue };
                let run = agent.life.as_ref().unwrap().run;
                let seen = match action {
                    Action::LaunchAgent { .. } => {
                        lives += 1;
                        prop_assert_eq!(lives, 1, "two lives at once");
                        vec![launched(), at_prompt()]
                    }
                    Action::EndAgent { .. } => vec![ended()],
                    Action::ClearRun { .. } => {
                        lives = 0;
                        vec![Sighting::Cleared]
                    }
                    Action::InterruptAgent { .. }
                    | Action::ForgetAgent { .. }
                    | Action::LookAtProject { .. }
                    | Action::TakeSnapshot { .. }
                    | Action::OfferMail { .. }
                    | Action::Deliver { .. }
                    | Action::SettleDelivery { .. }
                    | Action::Recall { .. } => vec![],
                };
                for sighting in seen.into_iter().filter(|_| fault != 2) {
                    agent = tell(&agent, run, sighting, now);
                }
            }
            if fault == 4 {
                agent = agent.restarted(now);
            }
            if fault == 3 && let Some(life) = agent.life.clone() {
                agent = tell(&agent, life.run, ended(), now);
            }
        }
        let is_up = agent.phase == Phase::Idle;
        prop_assert_eq!(is_up, wanted, "{:?} {:?}", agent.phase, agent.life);
        prop_assert!(wanted || agent.life.is_none_or(|life| life.state == LifeState::Over));
    }
}

fn tell(agent: &Agent, run: RunId, sighting: Sighting, now: Timestamp) -> Agent {
    let policy = RestartPolicy::default();
    agent.after(run, sighting, now, &policy, 0).unwrap_or_else(|_| agent.clone())
}

fn actions(agent: &Agent, now: Timestamp) -> Vec<Action> {
    plan_at(agent, now).steps.into_iter().filter_map(|step| step.action).collect()
}

fn plan_at(agent: &Agent, now: Timestamp) -> Plan {
    plan(agent, &RestartPolicy::default(), now, &mut Count(10))
}

fn name_of(action: &Action) -> &'static str {
    match action {
        Action::LaunchAgent { .. } => "launch",
        Action::EndAgent { .. } => "end",
        Action::ClearRun { .. } => "clear",
        Action::InterruptAgent { .. } => "interrupt",
        Action::ForgetAgent { .. } => "forget",
        Action::LookAtProject { .. }
        | Action::TakeSnapshot { .. }
        | Action::OfferMail { .. }
        | Action::Deliver { .. }
        | Action::SettleDelivery { .. }
        | Action::Recall { .. } => "other",
    }
}

/// Ids one after another.
struct Count(u128);

impl NewIds for Count {
    fn ulid(&mut self) -> Ulid {
        self.0 += 1;
        Ulid::from(self.0)
    }
}

fn see(agent: &Agent, sighting: Sighting) -> Agent {
    let run = agent.life.as_ref().unwrap().run;
    agent.after(run, sighting, NOW, &RestartPolicy::default(), 0).unwrap()
}

fn alive() -> Agent {
    let run = RunId::new(Ulid::from(1_u128));
    see(&agent().launching(run, NOW + START_WITHIN, NOW), launched())
}

fn launched() -> Sighting {
    let place = Place { server: "/tmux/a".to_owned(), pane: "%1".to_owned() };
    Sighting::Launched { place, process: Pid { pid: 7, start: 1 } }
}

fn at_prompt() -> Sighting {
    Sighting::Doing { doing: crate::agent::Doing::AtPrompt, rank: 0 }
}

fn ended() -> Sighting {
    Sighting::Ended { how: "exit 1".to_owned() }
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
