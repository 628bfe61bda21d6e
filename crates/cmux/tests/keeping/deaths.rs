//! What happens when a part of it is killed.

use std::collections::BTreeSet;

use cmux_testkit::wait::eventually;
use cmux_wire::agent::Phase;
use serde_json::json;

use crate::world::{World, kill};

#[test]
fn a_cli_that_is_killed_comes_back_with_its_session() {
    let world = World::new();
    let agent = world.idle("worker");
    kill(world.cli(agent.pid.unwrap()));
    let back = world.back(&agent);
    assert_eq!(back.session_id, agent.session_id);
    let exited = world.events_of("agent.exited");
    assert_eq!(exited.len(), 1, "{exited:?}");
    assert!(exited[0].data["how"].as_str().unwrap().contains("signal 9"), "{exited:?}");
    assert_eq!(world.of_run(&agent.run.unwrap()), [0; 0]);
}

#[test]
fn a_launcher_that_is_killed_takes_the_cli_with_it_before_another_starts() {
    let world = World::new();
    let agent = world.idle("worker");
    kill(agent.pid.unwrap());
    world.back(&agent);
    assert_eq!(world.of_run(&agent.run.unwrap()), [0; 0]);
}

#[test]
fn agents_do_not_notice_that_the_daemon_was_killed() {
    let mut world = World::new();
    let (one, two) = (world.idle("one"), world.idle("two"));
    world.reborn();
    for before in [&one, &two] {
        let after = world.agent(&before.name);
        assert_eq!((&after.run, after.pid, &after.pane), (&before.run, before.pid, &before.pane));
        assert_eq!(after.phase, Phase::Idle);
    }
    kill(world.cli(one.pid.unwrap()));
    world.back(&one);
    assert_eq!(world.agent("two").run, two.run);
}

#[test]
fn what_died_while_no_daemon_ran_is_brought_back_by_the_next() {
    let mut world = World::new();
    let agent = world.idle("worker");
    world.daemon.take().unwrap().kill();
    kill(world.cli(agent.pid.unwrap()));
    eventually("it is dead", || world.of_run(agent.run.as_ref()?).is_empty().then_some(()));
    world.reborn();
    let back = world.back(&agent);
    assert_eq!(back.session_id, agent.session_id);
}

#[test]
fn a_tmux_that_dies_is_one_event_and_all_come_back_the_supervisor_first() {
    let world = World::new();
    let mut before = vec![world.idle("one"), world.idle("two")];
    world.spawn_as("boss", &json!({ "role": "supervisor" }));
    before.push(world.in_phase("boss", Phase::Idle));
    kill(world.tmux().unwrap());
    for agent in &before {
        world.back(agent);
    }
    let lost = world.events_of("tmux.lost");
    assert_eq!(lost.len(), 1, "{lost:?}");
    assert_eq!(lost[0].data["agents"].as_array().unwrap().len(), 3);
    assert_eq!(world.events_of("agent.exited").len(), 0);
    let lost = lost[0].id;
    let starting: Vec<String> = world
        .events_of("agent.phase")
        .into_iter()
        .filter(|event| event.id > lost && event.data["to"] == "starting")
        .filter_map(|event| event.agent)
        .collect();
    assert_eq!(starting.first(), Some(&before[2].id), "{starting:?}");
    assert_eq!(starting.len(), 3);
    let runs: BTreeSet<_> = before.iter().map(|it| world.agent(&it.name).run).collect();
    assert_eq!(runs.len(), 3);
}

#[test]
fn a_window_that_a_person_closes_is_missed_and_the_agent_comes_back() {
    let world = World::new();
    let agent = world.idle("worker");
    world.at_tmux(&["kill-pane", "-t", agent.pane.as_deref().unwrap()]);
    world.back(&agent);
    assert_eq!(world.of_run(&agent.run.unwrap()), [0; 0]);
}

#[test]
fn a_paused_agent_is_left_as_it_is_when_it_dies() {
    let world = World::new();
    let agent = world.idle("worker");
    world.have("worker", "pause");
    kill(world.cli(agent.pid.unwrap()));
    let gone = world.wait("worker", "gone", |it| it.phase == Phase::Offline && it.run.is_none());
    assert_eq!(gone.pid, None);
    world.have("worker", "resume");
    world.back(&agent);
}
