//! Ends turns of whose end no hook has told: a key that stops one calls none, nor does a program that dies.

use crate::agent::Agent;
use crate::event::Event;
use crate::phase::Phase;
use crate::plan::agents::event;
use crate::plan::{Plan, Record, Step};
use crate::time::Timestamp;
use crate::turn::{SILENT_END, Turn, TurnEnd};
use crate::usage::Usage;

/// Returns what is due at `now` for the turn that `agent` is in, if it is in one, which has used so much.
pub fn plan(agent: &Agent, turn: Option<(&Turn, Usage)>, now: Timestamp) -> Plan {
    let mut plan = Plan::default();
    let Some((turn, usage)) = turn else { return plan };
    if agent.live_life().is_none_or(|life| life.run != turn.run) {
        plan.steps.push(end(agent, turn, usage, TurnEnd::Died));
        return plan;
    }
    match agent.phase {
        Phase::Idle => {
            let due = agent.since + SILENT_END;
            match now < due {
                true => plan.wake(due),
                false => plan.steps.push(end(agent, turn, usage, TurnEnd::Interrupted)),
            }
        }
        Phase::Offline
        | Phase::Starting { .. }
        | Phase::Busy
        | Phase::Asking
        | Phase::Limited { .. }
        | Phase::Down { .. }
        | Phase::Failed => {}
    }
    plan
}

/// Returns the step that ends `turn`. It ended when its agent was first seen not to be at it.
fn end(agent: &Agent, turn: &Turn, usage: Usage, how: TurnEnd) -> Step {
    let over = turn.over(how, agent.since.max(turn.began_at));
    let event = over.ended(usage).map(|what| Event { run: Some(turn.run), ..event(agent, what) });
    Step { record: Some(Record::TurnOver(Box::new(over))), event, action: None }
}

#[cfg(test)]
mod tests {
    use ulid::Ulid;

    use super::*;
    use crate::agent::{AgentName, Life, LifeState, Pid, Place, Setup};
    use crate::event::What;
    use crate::id::{AgentId, RunId, TurnId};
    use crate::project::ProjectId;
    use crate::report::NewAgent;
    use crate::turn::{Ended, Turned};

    const NOW: Timestamp = Timestamp(100_000);

    #[test]
    fn a_turn_whose_agent_rests_was_interrupted() {
        let rested = Timestamp(NOW.0 - 5_000);
        check(&agent(Phase::Busy, rested), None, None, None);
        check(&agent(Phase::Asking, rested), None, None, None);
        let due = Timestamp(rested.0 + 1 + 5_000);
        check(&agent(Phase::Idle, Timestamp(rested.0 + 1)), None, None, Some(due));
        let end = Some((TurnEnd::Interrupted, rested));
        check(&agent(Phase::Idle, rested), None, end, None);
    }

    #[test]
    fn a_turn_whose_program_is_gone_died_with_it() {
        for state in [LifeState::Over, LifeState::Ended { place: None, deadline: NOW }] {
            let mut agent = agent(Phase::Down { retry_at: NOW }, NOW);
            agent.life = agent.life.map(|life| Life { state, ..life });
            check(&agent, None, Some((TurnEnd::Died, NOW)), None);
        }
        let mut agent = agent(Phase::Busy, NOW);
        agent.life = agent.life.map(|life| Life { run: RunId::new(Ulid::from(9_u128)), ..life });
        check(&agent, None, Some((TurnEnd::Died, NOW)), None);
    }

    #[test]
    fn what_a_hook_told_of_its_end_is_known_better() {
        let done = Ended { at: Timestamp(50_000), how: TurnEnd::Done };
        let rests = agent(Phase::Idle, Timestamp(60_000));
        check(&rests, Some(done), Some((TurnEnd::Done, done.at)), None);
    }

    #[track_caller]
    fn check(
        agent: &Agent,
        end: Option<Ended>,
        expected: Option<(TurnEnd, Timestamp)>,
        wake_at: Option<Timestamp>,
    ) {
        let plan = plan(agent, Some((&turn(end), Usage::default())), NOW);
        let told = plan.steps.iter().find_map(|step| match (&step.record, &step.event) {
            (
                Some(Record::TurnOver(over)),
                Some(Event { what: What::Turned(Turned::Ended { how, .. }), .. }),
            ) => over.end.filter(|end| end.how == *how),
            (_, _) => None,
        });
        assert_eq!((told.map(|it| (it.how, it.at)), plan.wake_at), (expected, wake_at));
    }

    fn turn(end: Option<Ended>) -> Turn {
        Turn {
            id: TurnId::new(Ulid::from(1_u128)),
            agent: AgentId::new(Ulid::from(3_u128)),
            run: RunId::new(Ulid::from(2_u128)),
            began_at: Timestamp(40_000),
            wall_at: Timestamp(40_000),
            deliveries: Vec::new(),
            tools: Vec::new(),
            calls: 0,
            end,
        }
    }

    fn agent(phase: Phase, since: Timestamp) -> Agent {
        let setup =
            Setup { cwd: "/".into(), task: None, args: vec![], env: vec![], permanent: false };
        let new = NewAgent {
            project: ProjectId::of("/a"),
            name: AgentName::new("w").unwrap(),
            role: "worker".into(),
            kind: "demo".into(),
            parent: None,
            setup,
        };
        let place = Place { server: "/s".into(), pane: "%1".into() };
        let state = LifeState::Alive { place, process: Pid { pid: 1, start: 1 } };
        let run = RunId::new(Ulid::from(2_u128));
        let life = Some(Life { run, began_at: Timestamp(0), state });
        let new = Agent::new(AgentId::new(Ulid::from(3_u128)), new, Timestamp(0));
        Agent { life, phase, since, ..new }
    }
}
