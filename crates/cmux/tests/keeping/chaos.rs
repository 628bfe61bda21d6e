//! Ten agents, and two minutes in which anything may be killed at any time.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use cmux_testkit::dice::Dice;
use cmux_testkit::wait::eventually;
use cmux_wire::agent::{Agent, Phase};

use crate::world::{World, kill};

/// How long things are killed.
const STORM: Duration = Duration::from_secs(120);

#[test]
fn whatever_is_killed_every_agent_that_should_run_runs_once_in_the_end() {
    let mut dice = Dice::seeded();
    let mut world = World::new();
    let names: Vec<String> = (0..10).map(|number| format!("agent-{number}")).collect();
    for name in &names {
        world.spawn(name, "demo", &[]);
    }
    for name in &names {
        world.in_phase(name, Phase::Idle);
    }
    let begun = Instant::now();
    let mut kills = 0;
    while begun.elapsed() < STORM {
        let name = &names[usize::try_from(dice.below(10)).unwrap()];
        match dice.below(20) {
            0..=2 => world.reborn(),
            3 => world.tmux().into_iter().for_each(kill),
            4..=8 => world.agent(name).pid.into_iter().for_each(kill),
            _ => {
                if let Some(cli) = world.agent(name).pid.and_then(child) {
                    kill(cli);
                }
            }
        }
        kills += 1;
        std::thread::sleep(Duration::from_millis(dice.below(1500)));
    }
    // What ended too often is left alone until a person asks for it again.
    for name in &names {
        world.have(name, "resume");
    }
    let agents: Vec<Agent> = names.iter().map(|name| world.in_phase(name, Phase::Idle)).collect();
    eventually("each runs once", || runs_once(&world, &names).then_some(()));
    assert_eq!(agents.iter().map(|it| &it.id).collect::<BTreeSet<_>>().len(), 10);
    let audit = world.home.run(&["audit", "verify"]);
    assert_eq!(audit.code, Some(0), "{audit:?}");
    let ended = world.events_of("agent.exited").len();
    assert!(kills > 20 && ended > 10, "{kills} kills and {ended} ends are no storm");
}

/// Returns whether there is one launcher with one CLI for each agent, and no more.
fn runs_once(world: &World, names: &[String]) -> bool {
    let agents: Vec<Agent> = names.iter().map(|name| world.agent(name)).collect();
    let runs: BTreeSet<String> = agents.iter().filter_map(|it| it.run.clone()).collect();
    let tagged = world.at_tmux(&["list-panes", "-a", "-F", "#{@cmux_run} #{pane_dead}"]);
    let living: Vec<&str> = tagged.lines().filter_map(|it| it.strip_suffix(" 0")).collect();
    let living: Vec<&str> = living.into_iter().filter(|it| !it.is_empty()).collect();
    let is_one_each = runs.iter().all(|run| world.of_run(run).len() == 2);
    let panes: BTreeSet<String> = living.iter().map(|it| (*it).to_owned()).collect();
    is_one_each && runs.len() == names.len() && living.len() == names.len() && panes == runs
}

fn child(launcher: u32) -> Option<u32> {
    let path = format!("/proc/{launcher}/task/{launcher}/children");
    std::fs::read_to_string(path).ok()?.split_whitespace().next()?.parse().ok()
}
